/* SPDX-License-Identifier: MIT
 *
 * Your own operations, with references, judged by the harness in all five tiers, derivatives too:
 * gelu and leaky relu, whose references are their formulas as graphs, and layer normalisation,
 * whose reference is a C function over elements. Then the same with mistakes: gelu by an
 * approximation that isn't its formula, and a layer normalisation with epsilon in the wrong place.
 * The first three must pass and the others be refuted; the program succeeds if that is what
 * happened.
 *
 *   cc -std=c11 my_operation.c $(pkg-config --cflags --libs gemel-verify gemel) && ./a.out
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/ops.h>
#include <gemel/verify.h>

#define EPSILON 0.0009765625 /* 2^-10 */

/* ---- What all have: one operand, f32 or f64, and a result of its type ---- */

static gemel_status infer(gemel_infer *call) {
  gemel_dtype dtype = gemel_type_dtype(call->context, call->inputs[0]);
  if (dtype != GEMEL_F32 && dtype != GEMEL_F64) {
    call->error->status = GEMEL_BAD_TYPE;
    snprintf(call->error->text, sizeof call->error->text, "it takes f32 or f64");
    return GEMEL_BAD_TYPE;
  }
  call->n_outputs = 1;
  call->outputs[0] = call->inputs[0];
  return GEMEL_OK;
}

/* A kernel takes any strides. */
static void *element(const gemel_view *view, int64_t i) {
  char *at = view->data;
  for (int axis = view->rank - 1; axis >= 0; axis--) {
    at += i % view->shape[axis] * view->strides[axis];
    i /= view->shape[axis];
  }
  return at;
}

static double load(const gemel_view *view, int64_t i) {
  const void *at = element(view, i);
  return view->dtype == GEMEL_F32 ? (double)*(const float *)at : *(const double *)at;
}

static void store(const gemel_view *view, int64_t i, double x) {
  void *at = element(view, i);
  if (view->dtype == GEMEL_F32) {
    *(float *)at = (float)x;
  } else {
    *(double *)at = x;
  }
}

static int64_t count(const gemel_view *view) {
  int64_t n = 1;
  for (int axis = 0; axis < view->rank; axis++) {
    n *= view->shape[axis];
  }
  return n;
}

static gemel_value number(gemel_value like, double x) {
  gemel_context *context = gemel_graph_context(like.graph);
  return gemel_scalar(like.graph, gemel_type_dtype(context, gemel_value_type(like)), x);
}

/* ---- gelu(x) = x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))) ---- */

static gemel_value gelu_tanh(gemel_value x) {
  gemel_value cube = gemel_mul(gemel_mul(x, gemel_mul(x, x)), number(x, 0.044715));
  return gemel_tanh(gemel_mul(gemel_add(x, cube), number(x, 0.7978845608028654)));
}

/* The reference: other operations, whatever the operand's type. */
static gemel_status gelu_formula(gemel_reference_build *call) {
  gemel_value x = call->inputs[0];
  gemel_value gate = gemel_add(gelu_tanh(x), number(x, 1));
  call->outputs[0] = gemel_mul(gemel_mul(x, number(x, 0.5)), gate);
  return GEMEL_OK;
}

static gemel_status gelu_kernel(const gemel_kernel_call *call) {
  for (int64_t i = 0; i < count(&call->outputs[0]); i++) {
    double x = load(&call->inputs[0], i);
    double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
    store(&call->outputs[0], i, 0.5 * x * (1 + t));
  }
  return GEMEL_OK;
}

/* Nearly the same function, and not the same. */
static gemel_status gelu_other(const gemel_kernel_call *call) {
  for (int64_t i = 0; i < count(&call->outputs[0]); i++) {
    double x = load(&call->inputs[0], i);
    store(&call->outputs[0], i, 0.5 * x * (1 + erf(x * 0.7071067811865476)));
  }
  return GEMEL_OK;
}

/* (1 + t)/2 + x/2 · (1 − t²) · √(2/π) (1 + 3 · 0.044715 x²) */
static gemel_value gelu_slope(gemel_value x) {
  gemel_value one = number(x, 1), t = gelu_tanh(x);
  gemel_value inner = gemel_add(one, gemel_mul(number(x, 0.134145), gemel_mul(x, x)));
  gemel_value bell = gemel_mul(gemel_sub(one, gemel_mul(t, t)), inner);
  gemel_value second = gemel_mul(gemel_mul(x, bell), number(x, 0.3989422804014327));
  return gemel_add(gemel_mul(gemel_add(one, t), number(x, 0.5)), second);
}

static gemel_status gelu_grad(gemel_derive *call) {
  call->d_inputs[0] = gemel_mul(call->d_outputs[0], gelu_slope(call->inputs[0]));
  return gemel_graph_error(call->graph)->status;
}

static gemel_status gelu_jvp(gemel_derive *call) {
  call->d_outputs[0] = gemel_mul(call->d_inputs[0], gelu_slope(call->inputs[0]));
  return gemel_graph_error(call->graph)->status;
}

/* ---- leaky(x) = x where x > 0, x/8 elsewhere ---- */

static gemel_value positive(gemel_value x) {
  return gemel_gt(x, number(x, 0));
}

/* A reference that decides: which way an element went is looked at as well. */
static gemel_status leaky_formula(gemel_reference_build *call) {
  gemel_value x = call->inputs[0];
  call->outputs[0] = gemel_where(positive(x), x, gemel_mul(x, number(x, 0.125)));
  return GEMEL_OK;
}

static gemel_status leaky_kernel(const gemel_kernel_call *call) {
  for (int64_t i = 0; i < count(&call->outputs[0]); i++) {
    double x = load(&call->inputs[0], i);
    store(&call->outputs[0], i, x > 0 ? x : 0.125 * x);
  }
  return GEMEL_OK;
}

static gemel_value leaky_slope(gemel_value x) {
  return gemel_where(positive(x), number(x, 1), number(x, 0.125));
}

static gemel_status leaky_grad(gemel_derive *call) {
  call->d_inputs[0] = gemel_mul(call->d_outputs[0], leaky_slope(call->inputs[0]));
  return gemel_graph_error(call->graph)->status;
}

static gemel_status leaky_jvp(gemel_derive *call) {
  call->d_outputs[0] = gemel_mul(call->d_inputs[0], leaky_slope(call->inputs[0]));
  return gemel_graph_error(call->graph)->status;
}

/* ---- layer_norm(x) = (x − mean) / √(variance + ε) of each row ---- */

/* The mean of N elements: their sum in any order, divided by N. */
static void mean(gemel_reference_call *call, gemel_element *result, size_t n,
                 gemel_element *const *terms) {
  gemel_element *size = gemel_element_new(call);
  gemel_element_integer(call, size, (int64_t)n);
  gemel_element_sum(call, result, n, (const gemel_element *const *)terms);
  gemel_element_div(call, result, result, size);
}

/* The reference: a textbook's definition, over whatever numbers a tier computes with. */
static gemel_status norm_function(gemel_reference_call *call) {
  gemel_reference_shape x = gemel_reference_input(call, 0);
  gemel_element **row, **squares, *average, *scale, *epsilon;
  size_t columns = (size_t)x.sizes[x.rank - 1];
  gemel_status status = gemel_reference_output(call, 0, x.dtype, x.rank, x.sizes);
  row = malloc(2 * columns * sizeof *row);
  squares = row + columns;
  if (status != GEMEL_OK || row == NULL) {
    free(row);
    return status != GEMEL_OK ? status : GEMEL_NO_MEMORY;
  }
  average = gemel_element_new(call);
  scale = gemel_element_new(call);
  epsilon = gemel_element_new(call);
  gemel_element_number(call, epsilon, EPSILON);
  for (size_t k = 0; k < columns; k++) {
    row[k] = gemel_element_new(call);
    squares[k] = gemel_element_new(call);
  }
  for (size_t first = 0; first < x.count; first += columns) {
    const gemel_element *operand = scale;
    for (size_t k = 0; k < columns; k++) {
      gemel_element_set(call, row[k], gemel_reference_at(call, 0, first + k));
    }
    mean(call, average, columns, row);
    for (size_t k = 0; k < columns; k++) {
      gemel_element_sub(call, row[k], row[k], average);
      gemel_element_mul(call, squares[k], row[k], row[k]);
    }
    mean(call, scale, columns, squares);
    gemel_element_add(call, scale, scale, epsilon);
    gemel_element_apply(call, scale, "sqrt", 1, &operand);
    for (size_t k = 0; k < columns; k++) {
      gemel_element_div(call, row[k], row[k], scale);
      gemel_reference_store(call, 0, first + k, row[k]);
    }
  }
  free(row);
  return GEMEL_OK;
}

static void norm(const gemel_kernel_call *call, double inside, double outside) {
  const gemel_view *x = &call->inputs[0], *y = &call->outputs[0];
  int64_t columns = x->shape[x->rank - 1];
  for (int64_t first = 0; first < count(y); first += columns) {
    double sum = 0, squares = 0;
    for (int64_t k = 0; k < columns; k++) {
      sum += load(x, first + k);
    }
    sum /= (double)columns;
    for (int64_t k = 0; k < columns; k++) {
      double d = load(x, first + k) - sum;
      squares += d * d;
    }
    squares = sqrt(squares / (double)columns + inside) + outside;
    for (int64_t k = 0; k < columns; k++) {
      store(y, first + k, (load(x, first + k) - sum) / squares);
    }
  }
}

static gemel_status norm_kernel(const gemel_kernel_call *call) {
  norm(call, EPSILON, 0);
  return GEMEL_OK;
}

static gemel_status norm_outside(const gemel_kernel_call *call) {
  norm(call, 0, EPSILON);
  return GEMEL_OK;
}

static gemel_value row_mean(gemel_value x) {
  gemel_context *context = gemel_graph_context(x.graph);
  gemel_type type = gemel_value_type(x);
  int64_t last = gemel_type_rank(context, type) - 1, columns = 1;
  gemel_dim_is_constant(context, gemel_type_dims(context, type)[last], &columns);
  return gemel_div(gemel_sum_with(x, .axes = {1, &last}, .keepdims = 1),
                   number(x, (double)columns));
}

/* (g − mean g − y · mean(g y)) / √(variance + ε), which is its own transpose. */
static gemel_value norm_pull(gemel_value x, gemel_value g) {
  gemel_value centred = gemel_sub(x, row_mean(x));
  gemel_value variance = row_mean(gemel_mul(centred, centred));
  gemel_value scale = gemel_sqrt(gemel_add(variance, number(x, EPSILON)));
  gemel_value y = gemel_div(centred, scale);
  gemel_value rest = gemel_sub(gemel_sub(g, row_mean(g)), gemel_mul(y, row_mean(gemel_mul(g, y))));
  return gemel_div(rest, scale);
}

static gemel_status norm_grad(gemel_derive *call) {
  call->d_inputs[0] = norm_pull(call->inputs[0], call->d_outputs[0]);
  return gemel_graph_error(call->graph)->status;
}

static gemel_status norm_jvp(gemel_derive *call) {
  call->d_outputs[0] = norm_pull(call->inputs[0], call->d_inputs[0]);
  return gemel_graph_error(call->graph)->status;
}

/* ---- The verdicts ---- */

static void print(void *user, const gemel_record *record) {
  (void)user;
  printf("%-16s %-9s %-15s %s %s\n", record->name, gemel_tier_name(record->tier),
         gemel_verdict_name(record->verdict), gemel_evidence_name(record->how), record->detail);
  if (record->verdict == GEMEL_VERDICT_REFUTED) {
    printf("%s\n", record->counterexample);
  }
}

/* Registers the operation, gives it its reference, verifies it. 1 if it went as it should. */
static int judge(gemel_context *context, const gemel_operation *operation,
                 const gemel_reference *reference, int right) {
  gemel_verify_options options = {0};
  gemel_verify_summary summary = {.size = sizeof summary};
  gemel_error error = {0};
  options.size = sizeof options;
  options.instances = 48;
  options.ops = operation->name;
  options.sink = print;
  summary.size = sizeof summary;
  if (gemel_register_operation(context, operation, &error) != GEMEL_OK ||
      gemel_verify_reference(context, operation->name, reference, &error) != GEMEL_OK ||
      gemel_verify_operations(context, &options, &summary, &error) != GEMEL_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 0;
  }
  return right ? summary.verdicts[GEMEL_VERDICT_PASSED] +
                         summary.verdicts[GEMEL_VERDICT_NOT_APPLICABLE] ==
                     summary.records
               : summary.verdicts[GEMEL_VERDICT_REFUTED] > 0;
}

int main(void) {
  static const gemel_kernel gelu[] = {{"gelu", NULL, gelu_kernel}, {0}};
  static const gemel_kernel leaky[] = {{"leaky", NULL, leaky_kernel}, {0}};
  static const gemel_kernel other[] = {{"erf", NULL, gelu_other}, {0}};
  static const gemel_kernel layer_norm[] = {{"norm", NULL, norm_kernel}, {0}};
  static const gemel_kernel outside[] = {{"outside", NULL, norm_outside}, {0}};
  gemel_context *context = gemel_context_new(NULL);
  gemel_reference formula = {.size = sizeof formula, .build = gelu_formula};
  gemel_reference decision = {.size = sizeof decision, .build = leaky_formula};
  gemel_reference function = {.size = sizeof function, .function = norm_function};
  gemel_operation op = {.size = sizeof op,
                        .name = "gelu",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .flags = GEMEL_OP_ELEMENTWISE,
                        .version = 1,
                        .infer = infer,
                        .grad = gelu_grad,
                        .jvp = gelu_jvp,
                        .sample = gemel_sample_elementwise,
                        .kernels = gelu};
  int good = judge(context, &op, &formula, 1);
  op.name = "gelu_erf";
  op.kernels = other;
  good &= judge(context, &op, &formula, 0);
  op.name = "leaky";
  op.kernels = leaky;
  op.grad = leaky_grad;
  op.jvp = leaky_jvp;
  good &= judge(context, &op, &decision, 1);
  op.name = "layer_norm";
  op.flags = 0;
  op.sample = gemel_sample_rows; /* along the last axis, which isn't empty */
  op.kernels = layer_norm;
  op.grad = norm_grad;
  op.jvp = norm_jvp;
  good &= judge(context, &op, &function, 1);
  op.name = "norm_outside";
  op.kernels = outside;
  good &= judge(context, &op, &function, 0);
  gemel_context_unref(context);
  return good ? 0 : 1;
}
