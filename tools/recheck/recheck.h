/* SPDX-License-Identifier: MIT
 *
 * gemel-recheck: what its files share. A certificate holds instances of a rule: both sides as graph
 * text, inputs, and what came out. Each is evaluated here once more, by code that has nothing in
 * common with gemel's: a reader of JSON (json.c), a reader of graph text that evaluates as it reads
 * (text.c), numbers (number.c), and the operations (elementwise.c, moving.c, reducing.c,
 * convolving.c).
 *
 * There are three models, that is kinds of numbers that stand for floats: residues in a chain of
 * prime fields p0 = 2 p1 + 1, p1 = 2 p2 + 1, …, on which exp lifts by one field and log lowers;
 * exact rationals; and IEEE doubles. Integers and truths are themselves in all of them.
 */
#ifndef RECHECK_H
#define RECHECK_H

#include <stddef.h>
#include <stdint.h>

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

enum { RINGS = 5, MAX_RANK = 16, MAX_OPERANDS = 256, MAX_ATTRS = 16, MOST_ELEMENTS = 1 << 16 };

/* ---- Memory: a pool that is emptied after each instance; running out ends the program ---- */

typedef struct pool {
  void **blocks;
  size_t n, capacity;
} pool;

void *pool_take(pool *p, size_t count, size_t bytes); /* zeroed */
void pool_empty(pool *p);

/* ---- JSON (json.c) ---- */

typedef struct json {
  enum { JSON_NULL, JSON_TRUTH, JSON_NUMBER, JSON_STRING, JSON_LIST, JSON_OBJECT } kind;
  const char *key;  /* in an object; else NULL */
  const char *text; /* of a string, decoded; of a number or truth, as it stands there */
  struct json *first, *next;
} json;

/* The value that TEXT is, in P; NULL if it isn't JSON or is nested deeper than 16. */
json *json_read(pool *p, const char *text);
const json *json_find(const json *object, const char *key); /* NULL: isn't there */
const char *json_text(const json *object, const char *key); /* of a string; "" if it isn't there */

/* ---- Numbers (number.c) ---- */

typedef enum model { MODEL_FIELD, MODEL_EXACT, MODEL_FLOAT } model;

/* X(name, kind, bits): b bool, i signed, u unsigned, f float with BITS of significand. */
#define DTYPE_TABLE(X)                                                                             \
  X(bool, 'b', 1)                                                                                  \
  X(i8, 'i', 8)                                                                                    \
  X(i16, 'i', 16)                                                                                  \
  X(i32, 'i', 32)                                                                                  \
  X(i64, 'i', 64)                                                                                  \
  X(u8, 'u', 8)                                                                                    \
  X(u16, 'u', 16)                                                                                  \
  X(u32, 'u', 32)                                                                                  \
  X(u64, 'u', 64)                                                                                  \
  X(f16, 'f', 11)                                                                                  \
  X(bf16, 'f', 8)                                                                                  \
  X(f32, 'f', 24)                                                                                  \
  X(f64, 'f', 53)

typedef enum dtype {
#define DTYPE_ENUM(name, kind, bits) DTYPE_##name,
  DTYPE_TABLE(DTYPE_ENUM)
#undef DTYPE_ENUM
      DTYPES
} dtype;

typedef struct dtype_facts {
  const char *name;
  char kind;
  int bits;
} dtype_facts;
extern const dtype_facts dtypes[];

/* UNKNOWN: beyond what is computed here, though there may well be a result. */
typedef enum state { GOOD, UNDEFINED, UNKNOWN } state;

typedef struct cell {
  state state;
  wide n, d;         /* integers: N; exact floats: N / D in lowest terms, D > 0 */
  double f;          /* MODEL_FLOAT */
  uint64_t r[RINGS]; /* MODEL_FIELD: residues in the rings whose bit is in RINGS */
  unsigned rings;
} cell;

typedef struct world {
  pool *pool;
  model model;
  int n_rings;
  uint64_t prime[RINGS], generator[RINGS];
  uint32_t *logs[RINGS]; /* 1 + the logarithm of each square of a small ring; NULL: none */
  const char *uncovered; /* what isn't covered, or the operation whose result is unknown */
  char problem[200];     /* what is wrong with the certificate itself; "" */
} world;

static inline int is_float(dtype t) {
  return dtypes[t].kind == 'f';
}

cell number_of_integer(const world *w, dtype t, wide n);
cell number_of_double(const world *w, dtype t, double x); /* X is a number of T */
cell number_wrapped(dtype t, wide n);
cell number_unknown(void);
int number_sign(const world *w, dtype t, const cell *a, int *sign); /* 0: can't be told */
int number_compare(const world *w, dtype t, const cell *a, const cell *b, int *sign);
/* 1: the same number, bit for bit of floats but for NaNs; 0; −1: nothing that can be compared. */
int number_equal(const world *w, dtype t, const cell *a, const cell *b);

cell number_add(const world *w, dtype t, cell a, cell b);
cell number_sub(const world *w, dtype t, cell a, cell b);
cell number_mul(const world *w, dtype t, cell a, cell b);
cell number_div(const world *w, dtype t, cell a, cell b);
cell number_neg(const world *w, dtype t, cell a);
cell number_floor(const world *w, cell a); /* of an exact float */
cell number_sqrt(const world *w, dtype t, cell a);
cell number_exp(const world *w, dtype t, cell a);
cell number_log(const world *w, dtype t, cell a);
cell number_cast(const world *w, dtype from, dtype to, cell a);

/* Reads one number of dtype T at *TEXT and goes on behind it; 0: there is none. SHORT: as in a
 * graph, where floats are decimals; else as in a certificate's lists. */
int number_read(const world *w, dtype t, const char **text, cell *a);
int literal_read(const world *w, dtype t, const char **text, cell *a);

/* The tables of logarithms of the small rings. 0: the primes are no chain. */
int world_prepare(world *w);

/* ---- Tensors and operations ---- */

typedef struct tensor {
  dtype dtype;
  int rank;
  int64_t shape[MAX_RANK];
  size_t count;
  cell *at; /* in row-major order */
} tensor;

/* A tensor of zeros-to-be; NULL (with W->problem) if it is too large. */
tensor *tensor_new(world *w, dtype t, int rank, const int64_t *shape);

typedef struct attr {
  char name[24];
  enum { ATTR_NONE, ATTR_INTEGER, ATTR_LIST, ATTR_DTYPE, ATTR_OTHER } kind;
  int64_t list[MAX_RANK];
  int n;
  dtype dtype;
} attr;

typedef struct call {
  char op[32];
  const tensor *in[MAX_OPERANDS];
  int n_in;
  attr attrs[MAX_ATTRS];
  int n_attrs;
  tensor *out[MAX_OPERANDS];
  int n_out; /* how many are wanted */
} call;

const attr *call_attr(const call *c, const char *name); /* NULL: not given, or none */
int64_t call_integer(const call *c, const char *name, int64_t fallback);

/* 1: done; 0: not covered; −1: W->problem says what is wrong. */
typedef int operation(world *w, call *c);
int bad(world *w, const char *format, ...) __attribute__((format(printf, 2, 3))); /* −1 */

typedef struct operation_row {
  const char *name;
  operation *run;
} operation_row;
/* Up to a NULL name. */
extern const operation_row moving_operations[], reducing_operations[], convolving_operations[];

/* Operations that act element by element; 0: NAME is none of them. */
int elementwise_run(world *w, call *c);

/* Offsets of an index in a tensor of this shape. */
size_t offset_of(const tensor *t, const int64_t *index);
/* The next index in row-major order; 0 behind the last. */
int next_index(int rank, const int64_t *shape, int64_t *index);

/* ---- Graph text (text.c) ---- */

/* An input by name; made from a certificate's lists. */
typedef struct given {
  const char *name;
  const char *values;
} given;

/* Evaluates the graph; *OUT is its first output. 1, 0 (not covered), −1. */
int graph_evaluate(world *w, const char *text, const given *inputs, size_t n, tensor **out);

#endif
