/* SPDX-License-Identifier: MIT
 *
 * Tier real of an operation: its row's law, an identity "left == right" that relates it to other
 * operations, such as softplus(x) - softplus(-x) == x. Both sides are built as graphs and decided
 * by the models. A row without a law is defined by its reference.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "ops/ops.h"
#include "harness/run.h"
#include "operations/subject.h"
#include "text/expr.h"

enum { MAX_NAMES = 3, LEAST_POINTS = 48 };

/* Where " == " stands outside parentheses, or NULL. */
static const char *find_equality(const char *law) {
  int depth = 0;
  for (; *law != '\0'; law++) {
    depth += (*law == '(' || *law == '[') - (*law == ')' || *law == ']');
    if (depth == 0 && strncmp(law, " == ", 4) == 0) {
      return law;
    }
  }
  return NULL;
}

/* The names of ordinary inputs in a list such as "x, y, sizes*"; returns their number (at most
 * MAX_NAMES). */
static size_t split_names(const char *inputs, char names[MAX_NAMES][16]) {
  size_t n = 0;
  while (*inputs != '\0' && n < MAX_NAMES) {
    size_t length = strcspn(inputs, ",");
    if (length > 0 && length < 16 && inputs[length - 1] != '*' && inputs[length - 1] != '.') {
      memcpy(names[n], inputs, length);
      names[n++][length] = '\0';
    }
    inputs += length;
    inputs += strspn(inputs, ", ");
  }
  return n;
}

/* Builds one side as a graph: inputs f64[3, 3] with these names, output "r". */
static gemel_graph *build_side(gemel_context *context, const char *text, size_t length, size_t n,
                               char names[MAX_NAMES][16], gemel_error *error) {
  static const int64_t shape[2] = {3, 3};
  gemel_graph *graph = gemel_graph_new(context, error);
  gemel_type type = gemel_type_of_shape(context, GEMEL_F64, 2, shape);
  gemel_value values[MAX_NAMES];
  const char *labels[MAX_NAMES];
  char side[400];
  gemel__expr *expr;
  size_t k;
  if (graph == NULL || length >= sizeof side) {
    gemel_graph_unref(graph);
    return NULL;
  }
  if (gemel_type_is_none(type)) {
    gemel__no_memory(error, "a type");
    gemel_graph_unref(graph);
    return NULL;
  }
  memcpy(side, text, length);
  side[length] = '\0';
  for (k = 0; k < n; k++) {
    values[k] = gemel_input(graph, names[k], type);
    labels[k] = names[k];
  }
  expr = gemel__expr_compile(context, side, n, labels, error);
  if (expr == NULL) {
    gemel_graph_unref(graph);
    return NULL;
  }
  gemel_output(gemel__expr_build(expr, graph, values, GEMEL_HERE), "r");
  gemel__expr_free(expr);
  if (gemel_graph_error(graph)->status != GEMEL_OK) {
    if (error != NULL) {
      *error = *gemel_graph_error(graph);
    }
    gemel_graph_unref(graph);
    return NULL;
  }
  return graph;
}

static gemel_status ask(gemel__inquiry *asking, const gemel_operation *op, gemel_graph *left,
                        gemel_graph *right, gemel_error *error) {
  const gemel__run *run = asking->run;
  const gemel__scalar_row *row = gemel__scalar_row_of(op);
  gemel__model_side sides[2] = {{gemel__side_graph, left}, {gemel__side_graph, right}};
  gemel__instance leaves;
  gemel__question q;
  gemel__answer a;
  gemel__random random;
  double constants[16];
  gemel_status status =
      gemel__instance_of_graph(&leaves, left, row != NULL ? row->ranges : NULL, error);
  if (status != GEMEL_OK) {
    return status;
  }
  leaves.elementwise = row != NULL;
  memset(&q, 0, sizeof q);
  gemel__run_random(run, op->name, GEMEL_TIER_REAL, 0, &random);
  q.leaves = &leaves;
  q.left = &sides[0];
  q.right = &sides[1];
  q.n_outputs = 1;
  q.points = run->options.instances > LEAST_POINTS ? run->options.instances : LEAST_POINTS;
  q.trials = 4;
  q.seed = gemel__random_bits(&random);
  gemel__constants(left, constants, 16, &q.n_constants);
  gemel__constants(right, constants, 16, &q.n_constants);
  q.constants = constants;
  status = gemel__decide(&q, &a, error);
  if (status == GEMEL_OK) {
    asking->record.instances = a.points;
    gemel__inquiry_answer(asking, &a, &leaves, right, q.seed);
    gemel__answer_clear(&a);
  }
  gemel__instance_clear(&leaves);
  return status;
}

gemel_status gemel__verify_law(gemel__run *run, const gemel_operation *op, const char *name,
                               gemel_error *error) {
  const struct gemel__row *row =
      gemel__op_at(run->context, gemel__op_find(run->context, op->name))->row;
  const char *equality = row != NULL ? find_equality(row->law) : NULL;
  char names[MAX_NAMES][16];
  gemel__inquiry asking;
  gemel_graph *left, *right = NULL;
  gemel_status status = GEMEL_INTERNAL;
  size_t n;
  gemel__inquiry_begin(&asking, run, "operation", name, GEMEL_TIER_REAL);
  if (equality == NULL) {
    gemel__inquiry_end(&asking, GEMEL_VERDICT_NOT_APPLICABLE, GEMEL_EVIDENCE_NONE,
                       "its reference is its definition");
    return GEMEL_OK;
  }
  n = split_names(row->inputs, names);
  if (n == 0) {
    /* An operation of any number of operands: its law is written for two, x and y. */
    strcpy(names[0], "x");
    strcpy(names[1], "y");
    n = 2;
  }
  left = build_side(run->context, row->law, (size_t)(equality - row->law), n, names, error);
  if (left != NULL) {
    right = build_side(run->context, equality + 4, strlen(equality + 4), n, names, error);
  }
  if (right != NULL) {
    status = ask(&asking, op, left, right, error);
  } else if (error != NULL) {
    status = error->status;
    gemel__error_prefix(error, "law of %s", name);
  }
  gemel_graph_unref(left);
  gemel_graph_unref(right);
  return status;
}
