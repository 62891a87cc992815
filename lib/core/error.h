/* SPDX-License-Identifier: MIT
 *
 * Filling in gemel_error. All of these return the status given, so that a caller writes
 * `return gemel__fail(error, GEMEL_BAD_SHAPE, "…")`. ERROR may be NULL everywhere.
 */
#ifndef GEMEL__CORE_ERROR_H
#define GEMEL__CORE_ERROR_H

#include <stdarg.h>
#include <gemel/graph.h>
#include <gemel/status.h>

#if defined(__GNUC__)
#define GEMEL__PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define GEMEL__PRINTF(format, first)
#endif

/* Sets status and message (printf's language; cut off at the buffer's end). */
gemel_status gemel__fail(gemel_error *error, gemel_status status, const char *format, ...)
    GEMEL__PRINTF(3, 4);
gemel_status gemel__fail_va(gemel_error *error, gemel_status status, const char *format,
                            va_list args) GEMEL__PRINTF(3, 0);

/* GEMEL_BAD_ARGUMENT: "WHO takes 2 inputs, and 1 is given", where WHAT is "input"; the caller adds
 * which are wanted. */
gemel_status gemel__wrong_count(gemel_error *error, const char *who, const char *what, size_t given,
                                size_t wanted);

/* GEMEL_BAD_ARGUMENT: "WHAT is null", for what a public function can't do without. */
gemel_status gemel__null(gemel_error *error, const char *what);

/* STATUS, which a function returned that was given ERROR (may be NULL), and may be a program's: if
 * it is a failure of which ERROR says nothing, ERROR becomes it, with the words of the status. */
gemel_status gemel__told(gemel_error *error, gemel_status status);

/* Options of a public function, which begin with their size: the BYTES of TAKEN become GIVEN, whose
 * end may be missing, or zeros if GIVEN is null. GEMEL_BAD_ARGUMENT: the size is 0; NAME is what
 * the options are called. */
gemel_status gemel__take_options(void *taken, size_t bytes, const void *given, const char *name,
                                 gemel_error *error);

/* A struct that a public function fills, which begins with its size, set by the caller, and is
 * older or newer than MADE, of BYTES: what fits becomes MADE, but for the size; the rest stays.
 * NULL: nothing to do. */
void gemel__give_result(void *result, const void *made, size_t bytes);

/* GEMEL_BAD_ARGUMENT: the size of RESULT, which may be NULL, is 0; NAME is what it is called. */
gemel_status gemel__check_result(const void *result, const char *name, gemel_error *error);

/* Sets GEMEL_NO_MEMORY; WHAT names what there was no memory for. Needs none itself. */
gemel_status gemel__no_memory(gemel_error *error, const char *what);

/* 1 if WHERE is known. */
static inline int gemel__is_place(gemel_location where) {
  return where.file != NULL && where.file[0] != '\0';
}

/* Puts "file:line: " before the message that is already there, if WHERE is known and the message
 * doesn't begin so: what several functions on the way out place, has its place once. */
void gemel__error_place(gemel_error *error, gemel_location where);

/* Takes that "file:line: " away, for a message that is to stand behind other words. */
void gemel__error_unplace(gemel_error *error, gemel_location where);

/* Puts more behind the message that is already there. */
void gemel__error_add(gemel_error *error, const char *format, ...) GEMEL__PRINTF(2, 3);

/* Puts "PREFIX: " before the message that is already there. */
void gemel__error_prefix(gemel_error *error, const char *format, ...) GEMEL__PRINTF(2, 3);

/* Returns from the calling function with what STEP, a gemel_status, says if that isn't GEMEL_OK:
 * for functions that have nothing to clean up. */
#define GEMEL__TRY(step)                                                                           \
  do {                                                                                             \
    gemel_status gemel__tried = (step);                                                            \
    if (gemel__tried != GEMEL_OK) {                                                                \
      return gemel__tried;                                                                         \
    }                                                                                              \
  } while (0)

#endif
