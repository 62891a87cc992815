/* SPDX-License-Identifier: MIT
 *
 * Each load and store of a kernel. Kernels are compiled with -fsanitize=thread, which makes the
 * compiler call a function of libtsan's before each access to memory; libtsan isn't linked, but the
 * functions below, as the Linux kernel does for KCSAN. They find out what the address belongs to,
 * and check.c does the rest. Likewise -fsanitize=bounds,alignment,shift,integer-divide-by-zero
 * calls some functions of libubsan's where a value is wrong.
 */
#include <link.h>
#include <string.h>
#include "sim/inside.h"

/* The stretch of device memory that was used last. */
static struct {
  uintptr_t from, to;
  gemel__sim_cell *cells;
  long generation;
  int device;
} last;

void gemel__sim_hooks(void) {
}

static const char *verb(gemel__sim_how how) {
  return how.atomic ? "updates" : how.write ? "writes" : "reads";
}

static void out_of_bounds(size_t bytes, const char *what, gemel__sim_how how) {
  gemel__sim_say(GEMEL__SIM_BOUNDS, how.place, "thread %d of block %u %s %zu bytes at %s",
                 gemel__sim_self->id, gemel__sim_block_now.number, verb(how), bytes, what);
  gemel__sim_end_kernel(cudaErrorIllegalAddress);
}

static void device_memory(uintptr_t address, size_t bytes, gemel__sim_how how) {
  if (address < last.from || address + bytes > last.to ||
      last.generation != gemel__sim_generation || last.device != gemel__sim_now.device) {
    gemel__sim_allocation *found;
    uintptr_t from;
    char why[160];
    if (!gemel__sim_inside(address, bytes, &found, &from, why, sizeof why))
      out_of_bounds(bytes, why, how);
    last.from = from;
    last.to = address + bytes; /* grows with what is found to be inside */
    last.cells = found->cells + (from - found->at);
    last.generation = gemel__sim_generation;
    last.device = gemel__sim_now.device;
  }
  gemel__sim_check(&last.cells[address - last.from], bytes, address, false, how);
  if (gemel__sim_counting)
    gemel__sim_count_access(address, bytes, false, how);
}

static void near_shared(const gemel__sim_array *array, uintptr_t address, size_t bytes,
                        gemel__sim_how how) {
  gemel__sim_say(GEMEL__SIM_BOUNDS, how.place,
                 "thread %d of block %u %s %zu bytes at offset %td of shared array %s (%zu bytes)",
                 gemel__sim_self->id, gemel__sim_block_now.number, verb(how), bytes,
                 (ptrdiff_t)(address - array->at), array->name, array->bytes);
  gemel__sim_end_kernel(cudaErrorIllegalAddress);
}

static bool shared_memory(uintptr_t address, size_t bytes, gemel__sim_how how) {
  gemel__sim_array *near, *array = gemel__sim_array_at(address, &near);
  if (array == NULL && near == NULL)
    return false;
  if (array == NULL || address - array->at + bytes > array->bytes)
    near_shared(array != NULL ? array : near, address, bytes, how);
  gemel__sim_check(&array->cells[address - array->at], bytes, address, true, how);
  if (gemel__sim_counting)
    gemel__sim_count_access(address, bytes, true, how);
  return true;
}

/* Constants: part of the program or of a library. */

typedef struct {
  uintptr_t address, from, to;
} segment;

static int find_segment(struct dl_phdr_info *info, size_t size, void *data) {
  segment *wanted = data;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (info->dlpi_phdr[i].p_type == PT_LOAD &&
        wanted->address - from < info->dlpi_phdr[i].p_memsz) {
      wanted->from = from;
      wanted->to = from + info->dlpi_phdr[i].p_memsz;
      return 1;
    }
  }
  return 0;
}

static bool is_constant(uintptr_t address) {
  static segment known;
  static uint32_t known_in;
  if (known_in == gemel__sim_now.position && address >= known.from && address < known.to)
    return true;
  known.address = address;
  known_in = gemel__sim_now.position;
  known.from = known.to = 0;
  return dl_iterate_phdr(find_segment, &known) != 0;
}

static void foreign(uintptr_t address, size_t bytes, gemel__sim_how how) {
  const gemel__sim_thread *other = gemel__sim_owner_of_stack(address);
  int id = gemel__sim_self->id;
  if (other == NULL && !how.write && is_constant(address))
    return;
  if (other != NULL)
    gemel__sim_say(GEMEL__SIM_BOUNDS, how.place,
                   "thread %d of block %u %s a local variable of thread %d", id,
                   gemel__sim_block_now.number, verb(how), other->id);
  else
    gemel__sim_say(GEMEL__SIM_HOST_MEMORY, how.place,
                   "thread %d of block %u %s %zu bytes of the host's memory at %p", id,
                   gemel__sim_block_now.number, verb(how), bytes, (void *)address);
  gemel__sim_end_kernel(cudaErrorIllegalAddress);
}

static void look_at(const void *pointer, size_t bytes, bool aligned, gemel__sim_how how) {
  uintptr_t address = (uintptr_t)pointer;
  if (gemel__sim_me() == NULL || bytes == 0 ||
      address - (uintptr_t)gemel__sim_self->stack < GEMEL__SIM_STACK_BYTES)
    return;
  if (aligned && address % bytes != 0) {
    gemel__sim_say(GEMEL__SIM_BOUNDS, how.place,
                   "thread %d of block %u %s %zu bytes at %p, misaligned", gemel__sim_self->id,
                   gemel__sim_block_now.number, verb(how), bytes, pointer);
    gemel__sim_end_kernel(cudaErrorMisalignedAddress);
  }
  if (gemel__sim_is_device(pointer))
    device_memory(address, bytes, how);
  else if (!shared_memory(address, bytes, how))
    foreign(address, bytes, how);
}

GEMEL__SIM_HOOK static void touched(const void *pointer, size_t bytes, bool aligned,
                                    gemel__sim_how how) {
  if (!gemel__sim_counting) {
    look_at(pointer, bytes, aligned, how);
    return;
  }
  bool counted = gemel__sim_steps_rest();
  look_at(pointer, bytes, aligned, how);
  gemel__sim_steps_go(counted);
}

#define CALLER ((gemel__sim_place){__builtin_return_address(0), NULL, 0})

GEMEL__SIM_HOOK void gemel__sim_reads(const void *pointer, size_t bytes, const char *file,
                                      int line) {
  touched(pointer, bytes, false,
          (gemel__sim_how){((gemel__sim_place){NULL, file, line}), false, false});
}

GEMEL__SIM_HOOK void gemel__sim_writes(void *pointer, size_t bytes, const char *file, int line) {
  touched(pointer, bytes, false,
          (gemel__sim_how){((gemel__sim_place){NULL, file, line}), true, false});
}

void gemel__sim_updates(void *pointer, size_t bytes, const char *file, int line) {
  touched(pointer, bytes, true,
          (gemel__sim_how){((gemel__sim_place){NULL, file, line}), true, true});
  if (gemel__sim_me() != NULL)
    gemel__sim_check_update((uintptr_t)pointer);
}

/* What the compilers call. */

#define HOOK(name, bytes, aligned, write)                                                          \
  GEMEL__SIM_HOOK void name(void *pointer);                                                        \
  void name(void *pointer) {                                                                       \
    touched(pointer, bytes, aligned, (gemel__sim_how){CALLER, write, false});                      \
  }
#define HOOKS(n)                                                                                   \
  HOOK(__tsan_read##n, n, true, false)                                                             \
  HOOK(__tsan_write##n, n, true, true)                                                             \
  HOOK(__tsan_unaligned_read##n, n, false, false)                                                  \
  HOOK(__tsan_unaligned_write##n, n, false, true)
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

/* Clang: a read that is followed by a write of the same. */
#define HOOK_BOTH(n)                                                                               \
  void __tsan_read_write##n(void *pointer);                                                        \
  void __tsan_read_write##n(void *pointer) {                                                       \
    touched(pointer, n, true, (gemel__sim_how){CALLER, false, false});                             \
    touched(pointer, n, true, (gemel__sim_how){CALLER, true, false});                              \
  }
HOOK_BOTH(1)
HOOK_BOTH(2)
HOOK_BOTH(4)
HOOK_BOTH(8)
HOOK_BOTH(16)

void __tsan_read_range(void *pointer, unsigned long bytes);
void __tsan_write_range(void *pointer, unsigned long bytes);
GEMEL__SIM_HOOK void __tsan_func_entry(void *caller);
GEMEL__SIM_HOOK void __tsan_func_exit(void);
void __tsan_init(void);

void __tsan_read_range(void *pointer, unsigned long bytes) {
  touched(pointer, bytes, false, (gemel__sim_how){CALLER, false, false});
}

void __tsan_write_range(void *pointer, unsigned long bytes) {
  touched(pointer, bytes, false, (gemel__sim_how){CALLER, true, false});
}

void __tsan_func_entry(void *caller) {
  (void)caller;
}

void __tsan_func_exit(void) {
}

void __tsan_init(void) {
}

/* Clang calls these for memcpy and the like. */
void *__tsan_memcpy(void *to, const void *from, size_t bytes);
void *__tsan_memmove(void *to, const void *from, size_t bytes);
void *__tsan_memset(void *to, int value, size_t bytes);

static void move(void *to, const void *from, size_t bytes, gemel__sim_place place) {
  touched(from, bytes, false, (gemel__sim_how){place, false, false});
  touched(to, bytes, false, (gemel__sim_how){place, true, false});
}

void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
  move(to, from, bytes, CALLER);
  return memcpy(to, from, bytes);
}

void *__tsan_memmove(void *to, const void *from, size_t bytes) {
  move(to, from, bytes, CALLER);
  return memmove(to, from, bytes);
}

void *__tsan_memset(void *to, int value, size_t bytes) {
  touched(to, bytes, false, (gemel__sim_how){CALLER, true, false});
  return memset(to, value, bytes);
}

#ifndef GEMEL_SANITIZED /* libubsan has its own, and kernels are compiled without those flags */

typedef struct {
  const char *file;
  uint32_t line, column;
} ubsan_place;
typedef struct {
  ubsan_place place;
  const void *type;
  unsigned char log_alignment;
} ubsan_mismatch;

void __ubsan_handle_out_of_bounds(ubsan_place *place, void *index);
void __ubsan_handle_type_mismatch_v1(ubsan_mismatch *mismatch, uintptr_t address);
void __ubsan_handle_shift_out_of_bounds(ubsan_place *place, void *left, void *right);
void __ubsan_handle_divrem_overflow(ubsan_place *place, void *left, void *right);

static void wrong(gemel__sim_kind kind, const ubsan_place *place, const char *what, uintptr_t value,
                  cudaError_t error) {
  gemel__sim_say(kind, (gemel__sim_place){NULL, place->file, (int)place->line},
                 "thread %d of block %u: %s (%#lx)",
                 gemel__sim_self != NULL ? gemel__sim_self->id : -1, gemel__sim_block_now.number,
                 what, (unsigned long)value);
  if (gemel__sim_me() != NULL)
    gemel__sim_end_kernel(error);
}

void __ubsan_handle_out_of_bounds(ubsan_place *place, void *index) {
  wrong(GEMEL__SIM_BOUNDS, place, "the index is outside its array", (uintptr_t)index,
        cudaErrorIllegalAddress);
}

/* A GPU faults where an x86 is only slower. */
void __ubsan_handle_type_mismatch_v1(ubsan_mismatch *mismatch, uintptr_t address) {
  if ((address & ((1ul << mismatch->log_alignment) - 1)) != 0)
    wrong(GEMEL__SIM_BOUNDS, &mismatch->place, "misaligned address", address,
          cudaErrorMisalignedAddress);
}

void __ubsan_handle_shift_out_of_bounds(ubsan_place *place, void *left, void *right) {
  (void)left;
  wrong(GEMEL__SIM_UNDEFINED, place, "shift by too much, or of a negative number", (uintptr_t)right,
        cudaErrorLaunchFailure);
}

void __ubsan_handle_divrem_overflow(ubsan_place *place, void *left, void *right) {
  (void)left;
  wrong(GEMEL__SIM_UNDEFINED, place, "division by zero, or overflow", (uintptr_t)right,
        cudaErrorLaunchFailure);
}

#endif
