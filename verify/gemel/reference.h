/* SPDX-License-Identifier: MIT
 *
 * References for a program's own operations: what an operation that was registered with
 * gemel_register_operation should compute, said a second time and plainly, so that the harness has
 * something to hold its kernels and derivatives to. There are two ways to say it.
 *
 * By other operations: a graph, or a function that builds one for the types at hand.
 *
 * By a function over elements. An element stands for a number, and what kind of number it is
 * differs from tier to tier: a residue in a prime field, an exact rational or an interval, a number
 * with the error that rounding may have given it, an IEEE value with NaN and infinities, a pair of
 * a value and its derivative. So the function can't look inside; it computes with the functions
 * below, which also model what storing each intermediate result in the working dtype costs. Write
 * the definition as a textbook has it, in an arithmetic order that an implementation may take too.
 *
 * doc/verify.md says how each tier uses references; examples/my_operation.c has one of each kind,
 * examples/my_backward.c one that is a gradient.
 *
 * A reference may be called on several threads at once. What it is handed, a call and its elements,
 * is for the thread that it is called on, until it returns.
 */
#ifndef GEMEL_REFERENCE_H
#define GEMEL_REFERENCE_H

#include <gemel/gemel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Giving a reference ---- */

typedef struct gemel_reference_call gemel_reference_call;

/* What a building reference sees: input values of a graph, whose sizes are constant, and the node's
 * attributes (in schema order, defaults filled in). It sets OUTPUTS[0..N_OUTPUTS) to values of the
 * same graph. */
typedef struct gemel_reference_build {
  size_t size;
  gemel_graph *graph;
  size_t n_inputs;
  const gemel_value *inputs;
  const gemel_attr *attrs;
  size_t n_outputs;
  gemel_value *outputs;
  const void *data;   /* the reference's DATA */
  gemel_error *error; /* what one that fails may fill in */
} gemel_reference_build;

/* One of FUNCTION, BUILD and GRAPH; the others are NULL. Start from {0} and set SIZE. */
typedef struct gemel_reference {
  size_t size;
  /* Computes the outputs from the inputs, element by element; GEMEL_OK, or a status that ends the
   * verification. */
  gemel_status (*function)(gemel_reference_call *call);
  /* Builds the formula. What it fails with is the graph's error, or ERROR and the status that it
   * returns. */
  gemel_status (*build)(gemel_reference_build *call);
  /* The formula for inputs of just these dtypes and ranks (sizes may be symbols): inputs and
   * outputs in the operation's order. It is copied. Attributes play no part in it. */
  const gemel_graph *graph;
  const void *data; /* for the functions; must stay valid as long as the context */
  /* Called once with DATA when the context is freed; not where the reference wasn't taken. NULL:
   * nothing is. */
  void (*release)(const void *data);
  /* Words of fast arithmetic by which the operation's kernels may differ from the reference, bits
   * GEMEL_NEEDS_BIT(…): as ALLOW of gemel_verify_options, for all kernels of the operation and
   * wherever it is computed. 0: none. */
  unsigned allow;
} gemel_reference;

/* Gives the program's operation NAME of CONTEXT a reference, for gemel_verify_operations and for
 * every graph that contains it. Several graphs may be given, for different dtypes and ranks: the
 * first that fits is taken; what one of them allows, all do. Errors: GEMEL_NOT_FOUND (no such
 * operation), GEMEL_BAD_ARGUMENT (it is gemel's own; not exactly one of the three is given; ALLOW
 * has bits that are no words; it has a function already; a graph of another context, or one with
 * NAME in it), GEMEL_BAD_TYPE (the graph's outputs aren't what the type rule says for its inputs),
 * GEMEL_NO_MEMORY. References that are defined through each other are an error when they are
 * evaluated. Thread-safe, but not while NAME is being verified. */
gemel_status gemel_verify_reference(gemel_context *context, const char *name,
                                    const gemel_reference *reference, gemel_error *error);

/* ---- What a function sees ---- */

/* A number of whatever kind the tier computes with. */
typedef struct gemel_element gemel_element;

/* Dtype and shape of an operand. */
typedef struct gemel_reference_shape {
  gemel_dtype dtype;
  int rank;
  const int64_t *sizes; /* RANK of them, valid during the call */
  size_t count;         /* of elements */
} gemel_reference_shape;

/* How many inputs there are; dtype and shape of input K, of no elements if there is none; its
 * element I, in row-major order, borrowed, NULL if there is none. */
size_t gemel_reference_input_count(const gemel_reference_call *call);
gemel_reference_shape gemel_reference_input(const gemel_reference_call *call, size_t k);
const gemel_element *gemel_reference_at(const gemel_reference_call *call, size_t k, size_t i);

/* The attribute called NAME, dims in it as integers; NULL if the schema has none. Borrowed. */
const gemel_attr *gemel_reference_attr(const gemel_reference_call *call, const char *name);

/* The reference's DATA; NULL for NULL. */
const void *gemel_reference_data(const gemel_reference_call *call);

/* Makes output K, of this dtype and shape, which the harness compares with what the type rule says.
 * Output 0 sets the working dtype: its own, f32 for f16 and bf16, which are computed in f32.
 * Errors, which end the call: GEMEL_BAD_TYPE (no such output, or it is made already),
 * GEMEL_BAD_VALUE (a rank or size that no tensor has, or more than 2^24 elements),
 * GEMEL_NO_MEMORY. */
gemel_status gemel_reference_output(gemel_reference_call *call, size_t k, gemel_dtype dtype,
                                    int rank, const int64_t *sizes);

/* Says in which dtype the next steps are computed, where that isn't output 0's: the inputs' where
 * the result is a truth, say. */
void gemel_reference_work_in(gemel_reference_call *call, gemel_dtype dtype);

/* Stores X as element I of output K: rounded once more where that is of a half type. An element
 * that isn't there ends the call with GEMEL_BAD_ARGUMENT. */
void gemel_reference_store(gemel_reference_call *call, size_t k, size_t i, const gemel_element *x);

/* ---- Computing ----
 *
 * A result E may be one of the operands. Nothing here fails by itself: what has no value (an
 * inverse of 0, a comparison that can't be decided) is an element without one, and memory that runs
 * out ends the call with GEMEL_NO_MEMORY when the function returns. E may be NULL then; elsewhere
 * an element that is NULL ends it with GEMEL_BAD_ARGUMENT. */

/* A new element, 0, which lives until the function returns. NULL if memory is out. */
gemel_element *gemel_element_new(gemel_reference_call *call);

/* e = a; e = a number, exactly. */
void gemel_element_set(gemel_reference_call *call, gemel_element *e, const gemel_element *a);
void gemel_element_number(gemel_reference_call *call, gemel_element *e, double x);
void gemel_element_integer(gemel_reference_call *call, gemel_element *e, int64_t x);

/* e = a + b, a − b, a · b, a ÷ b, each rounded once in the working dtype. */
void gemel_element_add(gemel_reference_call *call, gemel_element *e, const gemel_element *a,
                       const gemel_element *b);
void gemel_element_sub(gemel_reference_call *call, gemel_element *e, const gemel_element *a,
                       const gemel_element *b);
void gemel_element_mul(gemel_reference_call *call, gemel_element *e, const gemel_element *a,
                       const gemel_element *b);
void gemel_element_div(gemel_reference_call *call, gemel_element *e, const gemel_element *a,
                       const gemel_element *b);

/* e = the sum of N elements in any order, 0 if there are none. */
void gemel_element_sum(gemel_reference_call *call, gemel_element *e, size_t n,
                       const gemel_element *const *terms);

/* e = what the scalar operation NAME of gemel gives ("exp", "sqrt", "maximum", "lt", "where", …;
 * "cast" isn't one of them), with the accuracy of its row. Comparisons give 1 or 0, and `where`
 * chooses by one: a choice is made so, and not by an `if`, wherever it can be. An unknown name, or
 * another number of operands, ends the call with GEMEL_BAD_ARGUMENT. */
void gemel_element_apply(gemel_reference_call *call, gemel_element *e, const char *name, size_t n,
                         const gemel_element *const *operands);

/* −1, 0 or 1, or GEMEL_SIGN_UNKNOWN: of NaN, and where this kind of number can't tell. Where the
 * function branches on a sign, it does the same for every kind of number. */
#define GEMEL_SIGN_UNKNOWN 2
int gemel_element_sign(gemel_reference_call *call, const gemel_element *a);

#ifdef __cplusplus
}
#endif
#endif
