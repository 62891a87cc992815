/* SPDX-License-Identifier: MIT
 *
 * Shared variables: tensors that live between calls. A graph names them as its states (gemel_state)
 * and says what they become (gemel_update); gemel_compile binds each state to a shared variable
 * (gemel_options.states). Several functions may be bound to one variable, and what one of them
 * makes of it the others see at their next call.
 *
 * Variables, and functions that are bound to them, may be used on several threads at once: each
 * call sees its states as they are after a whole number of other calls. They are bound on several
 * threads at once, too.
 *
 * A variable lives where it is used. A call whose state's type names another device than the value
 * lies on moves the value there first, as a whole, and it stays: so a function that was lifted with
 * its states (<gemel/lift.h>) transfers them once, and two functions that want a variable in
 * different places transfer it whenever they take turns.
 */
#ifndef GEMEL_SHARED_H
#define GEMEL_SHARED_H

#include <gemel/status.h>
#include <gemel/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gemel_shared gemel_shared;

/* A shared variable with one reference, owned by the caller, and a copy of VALUE (any strides).
 * The copy lies on VALUE's device. NULL on failure: GEMEL_BAD_ARGUMENT (no value),
 * GEMEL_NO_MEMORY, what the device says. */
gemel_shared *gemel_shared_new(const gemel_tensor *value, gemel_error *error);

/* Takes one more reference and returns SHARED (NULL for NULL) / gives one back (NULL is ignored).
 * Thread-safe. A function holds a reference to each variable that it is bound to. */
gemel_shared *gemel_shared_ref(gemel_shared *shared);
void gemel_shared_unref(gemel_shared *shared);

/* The variable's value: one more reference to its tensor, to be given back with gemel_tensor_unref.
 * It is not to be written to, and it stays as it is when the variable changes: a call then puts the
 * next value elsewhere. Give it back before the next call to spare that memory. It lies where the
 * last call had it (gemel_tensor_device, gemel_tensor_transfer). NULL for NULL. */
gemel_tensor *gemel_shared_get(const gemel_shared *shared);

/* The variable's value becomes a copy of VALUE, on VALUE's device. The dtype and rank that a
 * function's state wants are compared when it is called. On failure the value is as before:
 * GEMEL_BAD_ARGUMENT (NULL), GEMEL_NO_MEMORY, what the device says. */
gemel_status gemel_shared_set(gemel_shared *shared, const gemel_tensor *value, gemel_error *error);

#ifdef __cplusplus
}
#endif
#endif
