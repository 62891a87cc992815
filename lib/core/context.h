/* SPDX-License-Identifier: MIT
 *
 * Inside a context: tables of interned things. Each table appends to a "stable array", whose
 * elements never move, so that an id can be read without the lock once it is known; only interning
 * takes the lock.
 */
#ifndef GEMEL__CORE_CONTEXT_H
#define GEMEL__CORE_CONTEXT_H

#include <pthread.h>
#include <stdint.h>
#include <gemel/context.h>
#include <gemel/graph.h>
#include <gemel/operation.h>
#include "core/arena.h"
#include "core/ids.h"

/* Elements never move: chunk k holds 64 << k of them. COUNT is written under the lock only, and
 * read without it only by gemel__stable_count. */
typedef struct gemel__stable {
  size_t element_bytes;
  uint32_t count;
  void *chunks[27];
} gemel__stable;

/* Appends a zeroed element; NULL when memory is out. Call with the context locked. */
void *gemel__stable_push(gemel__stable *array);
/* Takes the last element out again. Call with the context locked. */
void gemel__stable_pop(gemel__stable *array);
/* Chunk k holds GEMEL__FIRST_CHUNK << k elements: element id lies in the chunk that the top bit of
 * id + GEMEL__FIRST_CHUNK says. */
#define GEMEL__FIRST_CHUNK 64u
#define GEMEL__FIRST_CHUNK_BIT 6
static inline unsigned gemel__stable_chunk(uint32_t id, uint32_t *offset) {
  uint32_t moved = id + GEMEL__FIRST_CHUNK, top = 31u ^ (uint32_t)__builtin_clz(moved);
  *offset = moved - (1u << top);
  return top - GEMEL__FIRST_CHUNK_BIT;
}
/* Element ID (< count). Lock-free. */
static inline void *gemel__stable_at(const gemel__stable *array, uint32_t id) {
  uint32_t offset;
  unsigned chunk = gemel__stable_chunk(id, &offset);
  return (char *)array->chunks[chunk] + offset * array->element_bytes;
}
/* How many elements there are, and whether ID is one. Lock-free. */
static inline uint32_t gemel__stable_count(const gemel__stable *array) {
  return __atomic_load_n(&array->count, __ATOMIC_ACQUIRE);
}
static inline int gemel__stable_has(const gemel__stable *array, uint32_t id) {
  return id < gemel__stable_count(array);
}
void gemel__stable_clear(gemel__stable *array);

/* Open-addressed table of ids (0: empty) keyed by hash; the owner compares. */
typedef struct gemel__idtable {
  uint32_t *slots;
  size_t capacity; /* power of two, or 0 */
  size_t used;
} gemel__idtable;

/* Calls SAME(user, id) for each id whose hash collides; returns the id for which it is true, or 0.
 */
uint32_t gemel__idtable_find(const gemel__idtable *table, uint64_t hash,
                             int (*same)(const void *user, uint32_t id), const void *user);
/* Adds ID under HASH; HASH_OF gives any stored id's hash, for growth. 0, or -1 when memory is out.
 */
int gemel__idtable_add(gemel__idtable *table, uint64_t hash, uint32_t id,
                       uint64_t (*hash_of)(const void *user, uint32_t id), const void *user);
/* Takes out ID, which was added last of all under HASH: no later search has to pass its slot. */
void gemel__idtable_remove_last(gemel__idtable *table, uint64_t hash, uint32_t id);
void gemel__idtable_clear(gemel__idtable *table);

struct gemel__type {
  uint32_t hash;
  uint8_t dtype;
  uint8_t rank;
  uint8_t space;
  uint8_t has_runtime; /* a dim of it holds a size that a node produces */
  const gemel_dim *dims;
};

struct gemel__attrs {
  uint32_t hash;
  uint32_t op;
  size_t count;
  const gemel_attr *values; /* in schema order, deep copies owned by the context */
  int has_runtime;          /* a dim of it holds an INPUT atom */
  uint32_t nesting;         /* of its most nested graph; 0: it holds none */
  uint32_t expanded;        /* of its largest graph, as in gemel_graph */
};

typedef struct gemel__op {
  gemel_operation record;       /* copied; strings in the context's arena */
  const struct gemel__row *row; /* of ops.def or scalar.def; NULL: a program's operation */
  size_t n_attrs;
  uint32_t id;
  void *derived; /* what grad/ compiled from the row's derivative text; freed with the context */
} gemel__op;

/* How composites are applied by name (composites/table.c), for what stands in rows above them. */
typedef struct gemel__composing {
  /* As gemel_apply_all_at: 0 if there is no composite called NAME. */
  int (*apply)(gemel_graph *graph, const char *name, size_t n_inputs, const gemel_value *inputs,
               size_t n_attrs, const gemel_attr *attrs, size_t n_outputs, gemel_value *outputs,
               gemel_location where);
  /* The number from 1 of the composite called NAME; 0: there is none. */
  uint32_t (*find)(gemel_context *context, const char *name);
  /* The name, operands and attributes of composite NUMBER. */
  const gemel_operation *(*record)(gemel_context *context, uint32_t number);
} gemel__composing;

struct gemel__kernel_list;
struct gemel__dims; /* lib/core/dims.c */

struct gemel_context {
  long references;
  const struct gemel__body_runner *runner; /* core/runner.h */
  pthread_mutex_t lock;
  gemel__arena arena; /* strings, dim lists, attribute copies */
  struct gemel__dims *dims;
  gemel__stable types; /* struct gemel__type; element 0 unused */
  gemel__idtable type_table;
  gemel__stable attrs; /* struct gemel__attrs; element 0: no attributes */
  gemel__idtable attr_table;
  gemel__stable strings; /* const char * */
  gemel__idtable string_table;
  gemel__stable ops; /* gemel__op; element 0 unused */
  gemel__idtable op_table;
  uint32_t n_builtins;       /* operations up to this id are gemel's own */
  struct gemel_rules *rules; /* gemel's own, when they have been asked for (rules/rules.c) */
  void (*release_rules)(void *rules);
  struct gemel__choice
      *choices; /* of rules, by options, that no rewriting has (rewrite/choice.c) */
  void (*release_choices)(struct gemel__choice *choices);
  struct gemel__certifier *certifier; /* if the harness has been asked for (rewrite/engine.h) */
  void (*release_certifier)(struct gemel__certifier *certifier);
  struct gemel__passes *passes; /* what a program registered (passes/passes.c) */
  void (*release_passes)(void *passes);
  const struct gemel_device *devices[255]; /* of the spaces from 1 on; NULL: none */
  struct gemel__kernel_list *kernels; /* what a program registered, the last one first (device/) */
  struct gemel__definition *definitions; /* of operations, by text (text/define.c) */
  pthread_mutex_t defining;              /* held by whoever adds one; taken before LOCK */
  void (*release_definitions)(struct gemel__definition *first);
  struct gemel__composites *composites; /* once one has been asked for (composites/table.c) */
  struct gemel__composites *operators;  /* of ONNX, once a model has been read */
  struct gemel__composites *opcodes;    /* of HLO, once a module has been read */
  void (*release_composites)(struct gemel__composites *composites);
  const struct gemel__composing *composing;
  struct gemel__own_references *own_references; /* of a program's operations, for the harness */
  void (*release_own_references)(struct gemel__own_references *references);
};

/* Interned copy of TEXT (equal texts, equal pointers), or NULL. Takes the lock. */
const char *gemel__intern_string(gemel_context *context, const char *text);

/* ---- dims.c ---- */

/* Creates and frees the dims of a context. */
struct gemel__dims *gemel__dims_new(void);
void gemel__dims_free(struct gemel__dims *dims);

/* A size that output OUTPUT of node NODE produces at run time, and (in attributes only) the size
 * that input K of the node that has the attribute holds. GEMEL_DIM_NONE when memory is out. */
gemel_dim gemel__dim_value(gemel_context *context, uint32_t node, uint32_t output);
gemel_dim gemel__dim_input(gemel_context *context, uint32_t k);

/* How often an operation on dims or types has failed for want of memory: whoever gets
 * GEMEL_DIM_NONE and must say why compares this with what it was before. */
unsigned gemel__dim_memory_failures(gemel_context *context);
void gemel__dim_count_memory_failure(gemel_context *context);

/* What an atom of a dim is. */
typedef enum gemel__atom_kind {
  GEMEL__ATOM_SYMBOL, /* NAME */
  GEMEL__ATOM_VALUE,  /* A = node, B = output */
  GEMEL__ATOM_INPUT   /* A = k */
} gemel__atom_kind;

typedef struct gemel__atom {
  gemel__atom_kind kind;
  const char *name;
  uint32_t a, b;
} gemel__atom;

/* Rebuilds DIM with each atom replaced by what REPLACE returns for it (GEMEL_DIM_NONE: failure).
 * Recurses as deep as quotients, mins and maxes nest, at most GEMEL__DIM_DEPTH. */
gemel_dim gemel__dim_substitute(gemel_context *context, gemel_dim dim,
                                gemel_dim (*replace)(void *user, const gemel__atom *atom,
                                                     gemel_dim self),
                                void *user);

/* Evaluates DIM; LOOKUP gives each atom's value and returns 0, or non-zero if it has none. Errors:
 * GEMEL_NOT_FOUND (an atom without value, named), GEMEL_BAD_VALUE (overflow, division by zero). */
gemel_status gemel__dim_evaluate(gemel_context *context, gemel_dim dim,
                                 int (*lookup)(void *user, const gemel__atom *atom, int64_t *value),
                                 void *user, int64_t *value, gemel_error *error);

/* 1 if DIM is a dim of CONTEXT. */
int gemel__dim_exists(gemel_context *context, gemel_dim dim);

/* 1 if DIM holds a VALUE or INPUT atom. */
int gemel__dim_has_runtime(gemel_context *context, gemel_dim dim);

/* If DIM is one atom by itself, fills in ATOM and returns 1. */
int gemel__dim_is_atom(gemel_context *context, gemel_dim dim, gemel__atom *atom);

/* How two sizes relate: provably equal, provably different, or not known. */
typedef enum gemel__relation { GEMEL__EQUAL, GEMEL__DIFFERENT, GEMEL__UNKNOWN } gemel__relation;
gemel__relation gemel__dim_compare(gemel_context *context, gemel_dim a, gemel_dim b);

/* Bounds of A - B, both dims of CONTEXT; INT64_MIN and INT64_MAX mean that none is known. */
void gemel__dim_difference(gemel_context *context, gemel_dim a, gemel_dim b, int64_t *low,
                           int64_t *high);

/* ---- types.c, attrs.c, registry.c ---- */

/* Elements along an axis whose size isn't known, where costs are weighed. */
enum { GEMEL__SIZE_GUESS = 64 };

/* Elements of a value of TYPE, by such guesses. */
double gemel__guess_elements(gemel_context *context, gemel_type type);

static inline const struct gemel__type *gemel__type_at(const gemel_context *context,
                                                       gemel_type type) {
  return (const struct gemel__type *)gemel__stable_at(&context->types, type.id);
}
/* 1 if TYPE is a type of CONTEXT. */
static inline int gemel__type_exists(const gemel_context *context, gemel_type type) {
  return !gemel_type_is_none(type) && gemel__stable_has(&context->types, type.id);
}
static inline const struct gemel__attrs *gemel__attrs_at(const gemel_context *context,
                                                         uint32_t attrs) {
  return (const struct gemel__attrs *)gemel__stable_at(&context->attrs, attrs);
}
static inline const gemel__op *gemel__op_at(const gemel_context *context, uint32_t op) {
  return (const gemel__op *)gemel__stable_at(&context->ops, op);
}

/* The same type with another dtype / other dims / in another space; GEMEL_TYPE_NONE: no memory. */
gemel_type gemel__type_with_dtype(gemel_context *context, gemel_type type, gemel_dtype dtype);
gemel_type gemel__type_with_dims(gemel_context *context, gemel_type type, int rank,
                                 const gemel_dim *dims);

/* Interns N_GIVEN attributes against OP's schema: checks names and kinds, fills in fallbacks. *ID
 * is set on success. */
gemel_status gemel__attrs_intern(gemel_context *context, const gemel__op *op, size_t n_given,
                                 const gemel_attr *given, uint32_t *id, gemel_error *error);

/* Id of the operation called NAME, 0 if there is none. */
uint32_t gemel__op_find(gemel_context *context, const char *name);

/* A context without operations; NULL, and an error, when memory is out. */
gemel_context *gemel__context_bare(gemel_error *error);

/* Writes "f32[N, 3], i64[], …" of COUNT types, for messages. */
void gemel__format_types(gemel_context *context, size_t count, const gemel_type *types, char *text,
                         size_t bytes);

#endif
