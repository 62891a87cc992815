/* SPDX-License-Identifier: MIT
 *
 * Status names and error messages. The message lies in the caller's struct, so none of this
 * allocates.
 */
#include "core/error.h"

#include <stdio.h>
#include <string.h>

const char *gemel_status_text(gemel_status status) {
  switch (status) {
#define STATUS_CASE(name, code, text)                                                              \
  case GEMEL_##name:                                                                               \
    return text;
    GEMEL_STATUS_TABLE(STATUS_CASE)
#undef STATUS_CASE
  }
  return "unknown status";
}

gemel_status gemel__fail_va(gemel_error *error, gemel_status status, const char *format,
                            va_list args) {
  if (error != NULL) {
    error->status = status;
    error->line = 0;
    error->column = 0;
    vsnprintf(error->text, sizeof error->text, format, args);
  }
  return status;
}

gemel_status gemel__fail(gemel_error *error, gemel_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  gemel__fail_va(error, status, format, args);
  va_end(args);
  return status;
}

gemel_status gemel__wrong_count(gemel_error *error, const char *who, const char *what, size_t given,
                                size_t wanted) {
  return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s takes %zu %s%s, and %zu %s given", who, wanted,
                     what, wanted == 1 ? "" : "s", given, given == 1 ? "is" : "are");
}

gemel_status gemel__null(gemel_error *error, const char *what) {
  return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s is null", what);
}

gemel_status gemel__told(gemel_error *error, gemel_status status) {
  return status == GEMEL_OK || (error != NULL && error->status == status)
             ? status
             : gemel__fail(error, status, "%s", gemel_status_text(status));
}

gemel_status gemel__check_result(const void *result, const char *name, gemel_error *error) {
  return result == NULL || *(const size_t *)result != 0
             ? GEMEL_OK
             : gemel__fail(error, GEMEL_BAD_ARGUMENT, "the size of %s is 0: set it to sizeof(%s)",
                           name, name);
}

void gemel__give_result(void *result, const void *made, size_t bytes) {
  size_t size = result != NULL ? *(size_t *)result : 0;
  if (size > sizeof size) {
    size_t given = size < bytes ? size : bytes;
    memcpy((char *)result + sizeof size, (const char *)made + sizeof size, given - sizeof size);
  }
}

gemel_status gemel__take_options(void *taken, size_t bytes, const void *given, const char *name,
                                 gemel_error *error) {
  size_t size = given != NULL ? *(const size_t *)given : 0;
  memset(taken, 0, bytes);
  GEMEL__TRY(gemel__check_result(given, name, error));
  if (given != NULL) {
    memcpy(taken, given, size < bytes ? size : bytes);
  }
  return GEMEL_OK;
}

gemel_status gemel__no_memory(gemel_error *error, const char *what) {
  return gemel__fail(error, GEMEL_NO_MEMORY, "out of memory for %s", what);
}

void gemel__error_add(gemel_error *error, const char *format, ...) {
  if (error != NULL) {
    size_t used = strlen(error->text);
    va_list args;
    va_start(args, format);
    vsnprintf(error->text + used, sizeof error->text - used, format, args);
    va_end(args);
  }
}

void gemel__error_prefix(gemel_error *error, const char *format, ...) {
  char old[sizeof error->text];
  va_list args;
  if (error == NULL) {
    return;
  }
  memcpy(old, error->text, sizeof old);
  va_start(args, format);
  vsnprintf(error->text, sizeof error->text, format, args);
  va_end(args);
  size_t used = strlen(error->text);
  snprintf(error->text + used, sizeof error->text - used, ": %s", old);
}

/* How many bytes "file:line: " takes at the beginning of the message; 0: it isn't there. */
static size_t place_length(const gemel_error *error, gemel_location where) {
  char place[sizeof error->text];
  if (error == NULL || !gemel__is_place(where)) {
    return 0;
  }
  snprintf(place, sizeof place, "%s:%d: ", where.file, where.line);
  size_t length = strlen(place);
  return strncmp(error->text, place, length) == 0 ? length : 0;
}

void gemel__error_place(gemel_error *error, gemel_location where) {
  if (gemel__is_place(where) && place_length(error, where) == 0) {
    gemel__error_prefix(error, "%s:%d", where.file, where.line);
  }
}

void gemel__error_unplace(gemel_error *error, gemel_location where) {
  size_t length = place_length(error, where);
  if (length > 0) {
    memmove(error->text, error->text + length, strlen(error->text + length) + 1);
  }
}
