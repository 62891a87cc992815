/* SPDX-License-Identifier: MIT
 *
 * Graphs: append-only arrays of nodes. A node's inputs have smaller ids than it has, equal nodes
 * are one node, and nothing has hidden state. A value is one output of one node, a small struct
 * passed by value. A builder that fails returns the null value and records the first error on the
 * graph; builders given a null value return it. So write an expression and check once.
 *
 * A graph belongs to one thread at a time, or to several that only look at it: what takes a `const
 * gemel_graph *`, here or in another header, and what looks at a value (gemel_value_type and its
 * like) changes nothing in it. Graphs of one context may be used on several threads.
 *
 * NULL for a graph, and values that are null or made up, are harmless everywhere, as NULL for any
 * pointer is (see <gemel/gemel.h>).
 */
#ifndef GEMEL_GRAPH_H
#define GEMEL_GRAPH_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/context.h>
#include <gemel/status.h>
#include <gemel/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gemel_graph gemel_graph;

typedef struct gemel_value {
  gemel_graph *graph; /* NULL: the null value */
  uint32_t node;
  uint32_t output;
} gemel_value;

/* Where in the user's program a node was created. */
typedef struct gemel_location {
  const char *file; /* copied and interned when it is first seen */
  int line;
} gemel_location;

/* The place of the call, for the functions whose name ends in _at. gemel's own lines, which say
 * nothing to its users, are no place: where a node is made for one of theirs, it takes that one's.
 */
#if defined(GEMEL__NOWHERE)
#define GEMEL_HERE ((gemel_location){"", 0})
#elif defined(__cplusplus)
#define GEMEL_HERE (gemel_location{__FILE__, __LINE__})
#else
#define GEMEL_HERE ((gemel_location){__FILE__, __LINE__})
#endif

/* ---- Attributes ---- */

typedef enum gemel_attr_kind {
  GEMEL_ATTR_NONE, /* absent optional attribute */
  GEMEL_ATTR_INT,
  GEMEL_ATTR_DIM,
  GEMEL_ATTR_FLOAT,
  GEMEL_ATTR_DTYPE,
  GEMEL_ATTR_STRING,
  GEMEL_ATTR_TENSOR,
  GEMEL_ATTR_GRAPH,
  GEMEL_ATTR_LIST = 16 /* GEMEL_ATTR_LIST | kind: a list of that kind */
} gemel_attr_kind;

/* One attribute value. For a list, COUNT elements stand in the array member of the union; for a
 * string, TEXT is NUL-terminated. What the pointers point at is copied or referenced when a node is
 * built from it. */
typedef struct gemel_attr {
  const char *name;
  int kind;
  size_t count;
  union {
    int64_t i;
    gemel_dim dim;
    double f;
    gemel_dtype dtype;
    const char *text;
    gemel_tensor *tensor;
    gemel_graph *graph;
    const int64_t *ints;
    const gemel_dim *dims;
    const double *floats;
    const gemel_dtype *dtypes;
    const char *const *texts;
    gemel_tensor *const *tensors;
    gemel_graph *const *graphs;
  } u;
} gemel_attr;

/* Lists among the options of builders (<gemel/ops.h>): absent where VALUES is NULL, as in {0}. The
 * arrays are borrowed for the time of the call. */
typedef struct gemel_ints {
  size_t count;
  const int64_t *values;
} gemel_ints;

typedef struct gemel_dims {
  size_t count;
  const gemel_dim *values;
} gemel_dims;

/* In C: GEMEL_INTS(0, -1) is a list of two integers, GEMEL_NO_INTS one that is there and empty.
 * GEMEL_LIST(int64_t, 2, 3) stands for the two arguments of a function that takes a count, or a
 * rank, and an array: gemel_tensor_new(GEMEL_F32, GEMEL_LIST(int64_t, 2, 3), &error),
 * gemel_apply(graph, "add", GEMEL_LIST(gemel_value, x, y), 0, NULL), gemel_call(function,
 * GEMEL_LIST(gemel_tensor *, a, b), 1, &result, &error). What they make is const, and lives as long
 * as the block that they stand in. */
#ifndef __cplusplus
#define GEMEL_LIST(type, ...)                                                                      \
  (sizeof((type const[]){__VA_ARGS__}) / sizeof(type)), ((type const[]){__VA_ARGS__})
#define GEMEL_INTS(...)                                                                            \
  ((gemel_ints){sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                          \
                (const int64_t[]){__VA_ARGS__}})
#define GEMEL_NO_INTS ((gemel_ints){0, (const int64_t[]){0}})
#endif

/* Shorthands that make a gemel_attr. The arrays are borrowed until the node is built. */
static inline gemel_attr gemel_attr_int(const char *name, int64_t value) {
  gemel_attr a = {name, GEMEL_ATTR_INT, 0, {0}};
  a.u.i = value;
  return a;
}
static inline gemel_attr gemel_attr_ints(const char *name, size_t count, const int64_t *values) {
  gemel_attr a = {name, GEMEL_ATTR_LIST | GEMEL_ATTR_INT, count, {0}};
  a.u.ints = values;
  return a;
}
static inline gemel_attr gemel_attr_dims(const char *name, size_t count, const gemel_dim *values) {
  gemel_attr a = {name, GEMEL_ATTR_LIST | GEMEL_ATTR_DIM, count, {0}};
  a.u.dims = values;
  return a;
}
static inline gemel_attr gemel_attr_dim(const char *name, gemel_dim value) {
  gemel_attr a = {name, GEMEL_ATTR_DIM, 0, {0}};
  a.u.dim = value;
  return a;
}
static inline gemel_attr gemel_attr_float(const char *name, double value) {
  gemel_attr a = {name, GEMEL_ATTR_FLOAT, 0, {0}};
  a.u.f = value;
  return a;
}
static inline gemel_attr gemel_attr_dtype(const char *name, gemel_dtype value) {
  gemel_attr a = {name, GEMEL_ATTR_DTYPE, 0, {0}};
  a.u.dtype = value;
  return a;
}
static inline gemel_attr gemel_attr_string(const char *name, const char *value) {
  gemel_attr a = {name, GEMEL_ATTR_STRING, 0, {0}};
  a.u.text = value;
  return a;
}
static inline gemel_attr gemel_attr_tensor(const char *name, gemel_tensor *value) {
  gemel_attr a = {name, GEMEL_ATTR_TENSOR, 0, {0}};
  a.u.tensor = value;
  return a;
}
static inline gemel_attr gemel_attr_graph(const char *name, gemel_graph *value) {
  gemel_attr a = {name, GEMEL_ATTR_GRAPH, 0, {0}};
  a.u.graph = value;
  return a;
}

/* Graphs in graphs (the bodies of invoke) may be nested as deep as memory allows, and be built,
 * checked, printed and stored; to be differentiated, run or verified, no more than this. */
#define GEMEL_MAX_NESTING 32

/* Nor may a body to be run or differentiated invoke others, and they others, more often in all. */
#define GEMEL_MAX_BODIES 65536

/* ---- Building ---- */

/* Creates an empty graph with one reference, owned by the caller; it holds a reference to CONTEXT.
 * NULL on failure (GEMEL_NO_MEMORY; GEMEL_BAD_ARGUMENT if CONTEXT is NULL). Thread-safe. */
gemel_graph *gemel_graph_new(gemel_context *context, gemel_error *error);

/* Takes one more reference and returns GRAPH (NULL for NULL) / gives one back (NULL is ignored).
 * Thread-safe. The graph of an attribute (gemel_value_attr) is the context's own frozen copy:
 * builders on it return the null value. */
gemel_graph *gemel_graph_ref(gemel_graph *graph);
void gemel_graph_unref(gemel_graph *graph);

/* The context of the graph (borrowed); NULL for NULL. */
gemel_context *gemel_graph_context(const gemel_graph *graph);

/* The graph's first error, or one with status GEMEL_OK. Borrowed; valid as long as the graph. For
 * NULL, an error that says so. */
const gemel_error *gemel_graph_error(const gemel_graph *graph);

/* Forgets the error, so that building can go on; what was built before it is all there. */
void gemel_graph_clear_error(gemel_graph *graph);

/* Adds an input called NAME (unique among the graph's inputs, [A-Za-z_][A-Za-z0-9_]*, shorter than
 * 1024). TYPE holds no size that a node produces. Null value on failure: GEMEL_BAD_ARGUMENT,
 * GEMEL_NO_MEMORY. */
gemel_value gemel_input_at(gemel_graph *graph, const char *name, gemel_type type,
                           gemel_location where);
#define gemel_input(graph, name, type) gemel_input_at(graph, name, type, GEMEL_HERE)

/* What may be assumed of the elements of an input. X(enum, word in text, bit, meaning). */
#define GEMEL_FACT_TABLE(X)                                                                        \
  X(NONNEGATIVE, nonnegative, 1, "no element is below 0; -0 and NaN may be among them")            \
  X(NONZERO, nonzero, 2, "no element is 0; NaN may be among them")                                 \
  X(NOT_NAN, not_nan, 4, "no element is NaN")                                                      \
  X(FINITE, finite, 8, "no element is NaN or infinite")

typedef enum gemel_fact {
#define GEMEL_FACT_ENUM(E, word, bit, meaning) GEMEL_FACT_##E = bit,
  GEMEL_FACT_TABLE(GEMEL_FACT_ENUM)
#undef GEMEL_FACT_ENUM
      GEMEL_FACT_POSITIVE = 3 /* above 0, or NaN: nonnegative and nonzero */
} gemel_fact;

/* Assumes FACTS (bits GEMEL_FACT_…) of the elements of INPUT, an input of its graph, besides what
 * is assumed already. Rewrite rules that ask for a fact may then fire. A call with elements that
 * violate an assumption isn't checked, and its results mean nothing; nor is what follows for other
 * inputs. The graph of an operation's attribute keeps what was assumed when it was made. Returns
 * GEMEL_OK, GEMEL_NULL_VALUE, GEMEL_BAD_ARGUMENT (no input, a frozen graph, an unknown bit),
 * GEMEL_NO_MEMORY. */
gemel_status gemel_assume(gemel_value input, unsigned facts);

/* What is assumed of INPUT: bits; finite implies not_nan. 0 for all other values. */
unsigned gemel_assumed(gemel_value input);

/* Adds a state called NAME: an input whose value lives in a shared variable and can be replaced by
 * calls (<gemel/function.h>). To all that doesn't compile for shared variables it is an input as
 * any other, and its update an output. As gemel_input_at; besides, GEMEL_BAD_ARGUMENT if there is
 * an output of that name. */
gemel_value gemel_state_at(gemel_graph *graph, const char *name, gemel_type type,
                           gemel_location where);
#define gemel_state(graph, name, type) gemel_state_at(graph, name, type, GEMEL_HERE)

/* 1 if INPUT is a state. */
int gemel_is_state(gemel_value input);

/* The state whose update the K-th output is; the null value if it is an output as any other. */
gemel_value gemel_graph_updated_state(const gemel_graph *graph, size_t k);

/* Makes VALUE what STATE, of the same graph and of the same type, becomes when a call is done: an
 * output that is called as the state. A state that has no update stays as it is. Errors: as
 * gemel_output; GEMEL_BAD_ARGUMENT (STATE is none, an update of it is there), GEMEL_BAD_TYPE (the
 * types differ: sizes too must provably be the same). */
gemel_status gemel_update_at(gemel_value state, gemel_value value, gemel_location where);
#define gemel_update(...) gemel_update_at(__VA_ARGS__, GEMEL_HERE)

/* Makes VALUE an output called NAME (unique among outputs); outputs keep the order of these calls.
 * One that is called as a state is that state's update. Returns the graph's error status, GEMEL_OK
 * if it has no error (an older one doesn't keep the output from being added), or GEMEL_NULL_VALUE:
 * a null value has no graph to keep an error on. Errors: GEMEL_BAD_ARGUMENT (no such value, name
 * malformed or taken), GEMEL_BAD_TYPE (a state of that name has another type), GEMEL_NO_MEMORY. */
gemel_status gemel_output_at(gemel_value value, const char *name, gemel_location where);
#define gemel_output(...) gemel_output_at(__VA_ARGS__, GEMEL_HERE)

/* A constant that holds a copy of TENSOR. */
gemel_value gemel_constant_at(gemel_graph *graph, gemel_tensor *tensor, gemel_location where);
#define gemel_constant(graph, tensor) gemel_constant_at(graph, tensor, GEMEL_HERE)

/* A scalar constant of this dtype: VALUE rounded to it (to nearest, ties to even); a value that an
 * integer dtype can't hold is an error (GEMEL_BAD_VALUE). */
gemel_value gemel_scalar_at(gemel_graph *graph, gemel_dtype dtype, double value,
                            gemel_location where);
#define gemel_scalar(graph, dtype, value) gemel_scalar_at(graph, dtype, value, GEMEL_HERE)

/* Applies the operation called OPERATION to N_INPUTS values of GRAPH with these attributes (any
 * order; absent optional ones take their default). Elementwise operands are promoted by inserting
 * casts. Returns output 0; the others are (node, 1), (node, 2), …: see gemel_value_output. Cost:
 * constant, for a fixed number of inputs. Every builder in <gemel/ops.h> is this. Null value on
 * failure: GEMEL_NOT_FOUND (no such operation), GEMEL_BAD_ARGUMENT (number of inputs, an input that
 * is null or of another graph, attributes missing, unknown, given twice, of the wrong kind; inputs
 * are made by gemel_input only), GEMEL_BAD_TYPE, GEMEL_BAD_SHAPE, GEMEL_BAD_VALUE (the operation's
 * type rule), GEMEL_UNSUPPORTED (2^31 nodes, 2^32 inputs), GEMEL_NO_MEMORY. */
gemel_value gemel_apply_at(gemel_graph *graph, const char *operation, size_t n_inputs,
                           const gemel_value *inputs, size_t n_attrs, const gemel_attr *attrs,
                           gemel_location where);
#define gemel_apply(...) gemel_apply_at(__VA_ARGS__, GEMEL_HERE)

/* The same, with all results: OUTPUTS[k] for each k below N_OUTPUTS, null beyond those that there
 * are. For composites (doc/composites.md), whose results are values of several nodes. Returns
 * OUTPUTS[0]. On failure all are null; also GEMEL_BAD_ARGUMENT (no place for any). */
gemel_value gemel_apply_all_at(gemel_graph *graph, const char *operation, size_t n_inputs,
                               const gemel_value *inputs, size_t n_attrs, const gemel_attr *attrs,
                               size_t n_outputs, gemel_value *outputs, gemel_location where);
#define gemel_apply_all(...) gemel_apply_all_at(__VA_ARGS__, GEMEL_HERE)

/* ---- Looking ---- */

/* The size that VALUE, an integer scalar, holds at run time, as a dim to build types and shapes
 * with, in VALUE's graph and no other. GEMEL_DIM_NONE (and the error on the graph, GEMEL_BAD_TYPE
 * or GEMEL_NO_MEMORY) if VALUE is not an integer scalar. */
gemel_dim gemel_dim_of(gemel_value value);

/* 1 if the value is null. */
static inline int gemel_is_null(gemel_value value) {
  return value.graph == NULL;
}

/* Output K of the node that VALUE belongs to; null if there is none. */
gemel_value gemel_value_output(gemel_value value, uint32_t k);

/* Type of a value; GEMEL_TYPE_NONE for the null value. */
gemel_type gemel_value_type(gemel_value value);

/* Name of the operation that made the value ("add", "input", …); "" for the null value, never NULL.
 * Borrowed from the context. */
const char *gemel_value_operation(gemel_value value);

/* Where the value's node was created; file is "" when unknown. Borrowed from the graph. */
gemel_location gemel_value_where(gemel_value value);

/* Number of inputs of the value's node, and its K-th input (null if out of range). */
size_t gemel_value_input_count(gemel_value value);
gemel_value gemel_value_input(gemel_value value, size_t k);

/* Attribute NAME of the value's node; pointers inside are borrowed from the context.
 * GEMEL_NOT_FOUND if the operation has no such attribute; an absent optional one has kind
 * GEMEL_ATTR_NONE. */
gemel_status gemel_value_attr(gemel_value value, const char *name, gemel_attr *attr);

/* Counts of nodes, inputs, outputs. */
size_t gemel_graph_node_count(const gemel_graph *graph);
size_t gemel_graph_input_count(const gemel_graph *graph);
size_t gemel_graph_output_count(const gemel_graph *graph);

/* K-th input or output, and its name (borrowed); null value and NULL when out of range. */
gemel_value gemel_graph_input(const gemel_graph *graph, size_t k);
gemel_value gemel_graph_output(const gemel_graph *graph, size_t k);
const char *gemel_graph_input_name(const gemel_graph *graph, size_t k);
const char *gemel_graph_output_name(const gemel_graph *graph, size_t k);

/* Bytes that the graph holds (arrays at their reserved size, names and provenance included; what it
 * shares with others through the context not). */
size_t gemel_graph_bytes(const gemel_graph *graph);

/* Proves the graph well-formed: ids ordered, inputs in range, types as the operations' rules give
 * them, no two nodes equal, names unique, and the inputs listed just those that are nodes; the same
 * of the bodies among its attributes. GEMEL_INTERNAL with the first node at fault, GEMEL_NO_MEMORY.
 * Linear time. */
gemel_status gemel_graph_check(const gemel_graph *graph, gemel_error *error);

#ifdef __cplusplus
}
#endif
#endif
