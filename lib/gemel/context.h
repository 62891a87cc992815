/* SPDX-License-Identifier: MIT
 *
 * The context: what graphs share. It interns strings, dims, types and attributes, so that equality
 * of any of them is equality of a number, and it holds the table of operations. It is counted and
 * locked: graphs of one context may be built on several threads (each graph on one at a time), and
 * all functions below may be called on several at once.
 */
#ifndef GEMEL_CONTEXT_H
#define GEMEL_CONTEXT_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/dtype.h>
#include <gemel/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The dim or type with this id, in C and in C++. */
#ifdef __cplusplus
#define GEMEL__ID(type, number) (type{number})
#else
#define GEMEL__ID(type, number) ((type){number})
#endif

typedef struct gemel_context gemel_context;

/* Creates a context with gemel's operations registered and one reference, owned by the caller;
 * NULL on failure, with *ERROR filled in (GEMEL_NO_MEMORY). Thread-safe. */
gemel_context *gemel_context_new(gemel_error *error);

/* Takes one more reference and returns CONTEXT, NULL for NULL. Graphs hold one each. Thread-safe.
 */
gemel_context *gemel_context_ref(gemel_context *context);

/* Gives a reference back; the last one frees everything. NULL is ignored. Thread-safe. */
void gemel_context_unref(gemel_context *context);

/* ---- Dims -------------------------------------------------------------------------------------
 * A dim is a size along one axis: an integer expression over symbols, in a normal form, interned:
 * two dims of a context are provably equal if and only if their ids are equal. Id 0 is "no dim",
 * what a failed function returns. Symbols stand for sizes, so they are never negative. */
typedef struct gemel_dim {
  uint32_t id;
} gemel_dim;
#define GEMEL_DIM_NONE GEMEL__ID(gemel_dim, 0)

/* 1 if A and B are the same dim, both of one context, else 0; no dim is the same as no dim.
 * Thread-safe, as all below. */
static inline int gemel_dim_equal(gemel_dim a, gemel_dim b) {
  return a.id == b.id;
}

/* 1 if DIM is no dim, else 0. */
static inline int gemel_dim_is_none(gemel_dim dim) {
  return dim.id == 0;
}

/* The constant VALUE. GEMEL_DIM_NONE when memory is out. */
gemel_dim gemel_dim_constant(gemel_context *context, int64_t value);

/* The symbol NAME ([A-Za-z_][A-Za-z0-9_]*). GEMEL_DIM_NONE if the name is malformed or longer than
 * 4000 bytes, or memory out. */
gemel_dim gemel_dim_symbol(gemel_context *context, const char *name);

/* a + b, a - b, a * b, floor(a / b), min(a, b), max(a, b), in normal form. GEMEL_DIM_NONE if either
 * is, if memory is out, if a constant overflows 64 bits, if b is the constant 0 in a quotient, or
 * if the result is too large: it has at most 4000 bytes as text, 128 terms, 32 factors in a term,
 * and 32 sizes in a min or max. Where b is 0 at a call, a quotient is an error of the call, unless
 * the normal form has none: N / N is 1. */
gemel_dim gemel_dim_add(gemel_context *context, gemel_dim a, gemel_dim b);
gemel_dim gemel_dim_sub(gemel_context *context, gemel_dim a, gemel_dim b);
gemel_dim gemel_dim_mul(gemel_context *context, gemel_dim a, gemel_dim b);
gemel_dim gemel_dim_floordiv(gemel_context *context, gemel_dim a, gemel_dim b);
gemel_dim gemel_dim_min(gemel_context *context, gemel_dim a, gemel_dim b);
gemel_dim gemel_dim_max(gemel_context *context, gemel_dim a, gemel_dim b);

/* 1 and *VALUE (which may be NULL) if DIM is a constant, else 0. */
int gemel_dim_is_constant(gemel_context *context, gemel_dim dim, int64_t *value);

/* Writes DIM as text that parses back ("2*N + 1"; "?" for no dim), truncated to BYTES bytes with
 * its NUL; returns the length that the whole text has, as snprintf does. */
size_t gemel_dim_format(gemel_context *context, gemel_dim dim, char *text, size_t bytes);

/* ---- Types ------------------------------------------------------------------------------------
 * A type is a dtype, a rank, a dim for each axis, and a memory space. Interned: two types of a
 * context are equal if and only if their ids are equal. Id 0 is "no type". The inputs of a node lie
 * in one space: others are GEMEL_BAD_TYPE. <gemel/device.h> has more. */
typedef struct gemel_type {
  uint32_t id;
} gemel_type;
#define GEMEL_TYPE_NONE GEMEL__ID(gemel_type, 0)
#define GEMEL_MAX_RANK 16
#define GEMEL_SPACE_HOST 0

/* 1 if A and B are the same type, both of one context, else 0; no type is the same as no type. */
static inline int gemel_type_equal(gemel_type a, gemel_type b) {
  return a.id == b.id;
}

/* 1 if TYPE is no type, else 0. */
static inline int gemel_type_is_none(gemel_type type) {
  return type.id == 0;
}

/* The type with these parts; SPACE is GEMEL_SPACE_HOST or a device's number (1..255).
 * GEMEL_TYPE_NONE if RANK is outside 0..GEMEL_MAX_RANK, a dim is none or a negative constant, or
 * memory is out. */
gemel_type gemel_type_new(gemel_context *context, gemel_dtype dtype, int rank,
                          const gemel_dim *dims, int space);

/* Shorthand: constant dims, host memory. */
gemel_type gemel_type_of_shape(gemel_context *context, gemel_dtype dtype, int rank,
                               const int64_t *shape);

/* Parts of a type of this context (those of a scalar of bools for an id that is none).
 * gemel_type_dims returns RANK dims, owned by the context; NULL for a NULL context. */
gemel_dtype gemel_type_dtype(gemel_context *context, gemel_type type);
int gemel_type_rank(gemel_context *context, gemel_type type);
const gemel_dim *gemel_type_dims(gemel_context *context, gemel_type type);
int gemel_type_space(gemel_context *context, gemel_type type);

/* Writes TYPE as text ("f32[N, 3]", "no type"); as gemel_dim_format. */
size_t gemel_type_format(gemel_context *context, gemel_type type, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
