/* SPDX-License-Identifier: MIT
 *
 * Status codes and error texts. Functions that can fail return a gemel_status and take a
 * `gemel_error *` as their last argument; it may be NULL. The error text lies inside the struct,
 * so reporting an error needs no memory. On success the struct is left as it was. A struct is
 * one thread's at a time.
 */
#ifndef GEMEL_STATUS_H
#define GEMEL_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Codes come in ranges, so that a caller can tell kinds apart: 0 is success, 1..19 the caller's
 * input, 20..39 something that gemel does not do, 40..59 resources, 60..79 devices, 80.. a defect
 * in gemel itself. GEMEL_DECLINED is no error: a kernel or rule says "not me, try the next". */
#define GEMEL_STATUS_TABLE(X)                                                                      \
  X(OK, 0, "success")                                                                              \
  X(BAD_ARGUMENT, 1, "bad argument")                                                               \
  X(BAD_TYPE, 2, "types don't fit")                                                                \
  X(BAD_SHAPE, 3, "shapes don't fit")                                                              \
  X(BAD_TEXT, 4, "text can't be parsed")                                                           \
  X(BAD_FILE, 5, "file can't be read")                                                             \
  X(BAD_VALUE, 6, "value out of range")                                                            \
  X(NOT_FOUND, 7, "no such thing")                                                                 \
  X(NULL_VALUE, 8, "null value: what should have made it failed, and its graph may say why")       \
  X(WRONG_RULE, 9, "a rewrite rule or pass is wrong")                                              \
  X(UNSUPPORTED, 20, "not supported")                                                              \
  X(NOT_DIFFERENTIABLE, 21, "not differentiable")                                                  \
  X(DECLINED, 22, "declined")                                                                      \
  X(NO_MEMORY, 40, "out of memory")                                                                \
  X(IO, 41, "input or output failed")                                                              \
  X(TOO_LONG, 42, "too many steps")                                                                \
  X(DEVICE, 60, "device failed")                                                                   \
  X(INTERNAL, 80, "internal error")

typedef enum gemel_status {
#define GEMEL_STATUS_ENUM(name, code, text) GEMEL_##name = code,
  GEMEL_STATUS_TABLE(GEMEL_STATUS_ENUM)
#undef GEMEL_STATUS_ENUM
} gemel_status;

/* An error: STATUS, then LINE and COLUMN (both from 1; 0 where there is none) of the text that was
 * parsed, and a message. It is one line without a newline at its end; where text can't be parsed,
 * three: the place and what is wrong, the line of the text, and a caret below its column; where a
 * rewrite doesn't hold, up to eleven: the region before and after (more says
 * gemel_certify_report). A message that is too long ends
 * early. Initialise with {0} or leave uninitialised: it is only written on failure. */
typedef struct gemel_error {
  gemel_status status;
  int line;
  int column;
  char text[1012];
} gemel_error;

/* Returns a short English description of STATUS ("out of memory"), never NULL; static storage.
 * Thread-safe. */
const char *gemel_status_text(gemel_status status);

#ifdef __cplusplus
}
#endif
#endif
