/* SPDX-License-Identifier: MIT
 *
 * Operators of ONNX that normalise, and those that ONNX Runtime's optimiser puts in the place of
 * several (products with activations, sums that are normalised, forms of GELU), against plain loops
 * over single numbers, written from onnx/docs/Operators.md, its Changelog.md and ONNX Runtime's
 * ContribOperators.md; and what is refused of them.
 */
#include "support/onnx-node.h"

#define MICROSOFT "com.microsoft."
#define SKIP MICROSOFT "SkipLayerNormalization"
#define SKIP_RMS MICROSOFT "SkipSimplifiedLayerNormalization"
#define EMBED MICROSOFT "EmbedLayerNormalization"
#define FUSED_CONV MICROSOFT "FusedConv"
#define FUSED_GEMM MICROSOFT "FusedGemm"
#define FUSED_MATMUL MICROSOFT "FusedMatMul"

/* ---- Elements ---- */

/* The place of element K of T along each axis. */
static void places(const numbers *t, int64_t k, int64_t *place) {
  for (int axis = t->rank; axis-- > 0; k /= t->shape[axis]) {
    place[axis] = k % t->shape[axis];
  }
}

/* The element of T, whose last axes are those of SHAPE or 1, at element K of X. */
static double beside(const numbers *t, const numbers *x, int64_t k) {
  int64_t place[8], offset = 0;
  places(x, k, place);
  for (int axis = 0; axis < t->rank; axis++) {
    int64_t at = place[x->rank - t->rank + axis];
    offset = offset * t->shape[axis] + (t->shape[axis] == 1 ? 0 : at);
  }
  return t->values[offset];
}

/* Which of the groups of X element K belongs to: elements at the same place along the axes KEPT. */
static int64_t group_of(const numbers *x, int64_t k, unsigned kept) {
  int64_t place[8], group = 0;
  places(x, k, place);
  for (int axis = 0; axis < x->rank; axis++) {
    group = kept >> axis & 1 ? group * x->shape[axis] + place[axis] : group;
  }
  return group;
}

/* Of the group of element K: how many there are, the largest, the mean of those less CENTRE, of
 * their sizes, their squares and their exponentials. */
typedef struct group {
  double n, largest, mean, size, square, exponential;
} group;

static group about(const numbers *x, int64_t k, unsigned kept, double centre) {
  group g = {.largest = -(double)INFINITY};
  for (int pass = 0; pass < 2; pass++) {
    for (int64_t i = 0; i < x->elements; i++) {
      double v = x->values[i] - centre;
      if (group_of(x, i, kept) == group_of(x, k, kept)) {
        g.n += pass == 0;
        g.largest = fmax(g.largest, v);
        g.mean += pass == 0 ? 0 : v / g.n;
        g.size += pass == 0 ? 0 : fabs(v) / g.n;
        g.square += pass == 0 ? 0 : v * v / g.n;
        g.exponential += pass == 0 ? 0 : exp(v) / g.n;
      }
    }
  }
  return g;
}

/* All axes before AXIS, which may be counted from the back; and all but AXIS. */
static unsigned before(const numbers *x, double axis) {
  return (1U << (int)(axis < 0 ? axis + x->rank : axis)) - 1;
}

static unsigned but(const numbers *x, double axis) {
  return ~(1U << (int)(axis < 0 ? axis + x->rank : axis));
}

static double mean_of(const numbers *x, int64_t k, unsigned kept) {
  return about(x, k, kept, 0).mean;
}

static double variance_of(const numbers *x, int64_t k, unsigned kept) {
  return about(x, k, kept, mean_of(x, k, kept)).square;
}

static double normal(const numbers *x, int64_t k, unsigned kept, double epsilon) {
  return (x->values[k] - mean_of(x, k, kept)) / sqrt(variance_of(x, k, kept) + epsilon);
}

static int operator_is(const node *of, const char *name) {
  return strncmp(of->operator_, name, strlen(name)) == 0;
}

/* ---- What normalises ---- */

/* Scale (1) and bias (2) of the channel of element K of X, of Y. */
static double by_channel(const numbers *in, const numbers *x, int64_t k, double y) {
  int64_t place[8];
  places(x, k, place);
  int64_t channel = x->rank > 1 ? place[1] : 0;
  return y * in[1].values[channel] + in[2].values[channel];
}

static void batch_normalization(const node *of, const numbers *in, numbers *out) {
  const numbers *x = &in[0];
  double epsilon = attribute_number(of, "epsilon", 1e-5), m = attribute_number(of, "momentum", 0.9);
  int trains = attribute_number(of, "training_mode", 0) != 0;
  for (int64_t k = 0; k < x->elements; k++) {
    int64_t place[8], channel;
    places(x, k, place);
    channel = x->rank > 1 ? place[1] : 0;
    double mean = trains ? mean_of(x, k, 2) : in[3].values[channel];
    double variance = trains ? variance_of(x, k, 2) : in[4].values[channel];
    out[0].values[k] = by_channel(in, x, k, (x->values[k] - mean) / sqrt(variance + epsilon));
    out[1].values[channel] = m * in[3].values[channel] + (1 - m) * mean;
    out[2].values[channel] = m * in[4].values[channel] + (1 - m) * variance;
  }
}

static void instance_normalization(const node *of, const numbers *in, numbers *out) {
  for (int64_t k = 0; k < in[0].elements; k++) {
    double y = normal(&in[0], k, 3, attribute_number(of, "epsilon", 1e-5));
    out[0].values[k] = by_channel(in, &in[0], k, y);
  }
}

/* Scale and bias are each group's in opset 18, and each channel's in 21. */
static void group_normalization(const node *of, const numbers *in, numbers *out) {
  numbers grouped = in[0];
  double groups = attribute_number(of, "num_groups", 0);
  grouped.rank = 3;
  grouped.shape[1] = (int64_t)groups;
  grouped.shape[2] = in[0].elements / in[0].shape[0] / (int64_t)groups;
  for (int64_t k = 0; k < in[0].elements; k++) {
    double y = normal(&grouped, k, 3, attribute_number(of, "epsilon", 1e-5));
    out[0].values[k] =
        by_channel(in, operator_is(of, "GroupNormalization-18") ? &grouped : &in[0], k, y);
  }
}

static void layer_normalization(const node *of, const numbers *in, numbers *out) {
  const numbers *x = &in[0];
  double epsilon = attribute_number(of, "epsilon", 1e-5);
  unsigned kept = before(x, attribute_number(of, "axis", -1));
  for (int64_t k = 0; k < x->elements; k++) {
    out[0].values[k] = normal(x, k, kept, epsilon) * beside(&in[1], x, k);
    out[0].values[k] += in[2].is_given ? beside(&in[2], x, k) : 0;
    out[1].values[group_of(x, k, kept)] = mean_of(x, k, kept);
    out[2].values[group_of(x, k, kept)] = 1 / sqrt(variance_of(x, k, kept) + epsilon);
  }
}

static void rms_normalization(const node *of, const numbers *in, numbers *out) {
  const numbers *x = &in[0];
  unsigned kept = before(x, attribute_number(of, "axis", -1));
  for (int64_t k = 0; k < x->elements; k++) {
    double square = about(x, k, kept, 0).square + attribute_number(of, "epsilon", 1e-5);
    out[0].values[k] = x->values[k] / sqrt(square) * beside(&in[1], x, k);
  }
}

/* By (x - mean) / (deviation + 1e-9), as the operator's function has it. */
static void mean_variance(const node *of, const numbers *in, numbers *out) {
  unsigned kept = ~0U;
  const char *axes = attribute_text(of, "axes");
  axes = axes != NULL ? axes : "0, 2, 3]";
  while (*axes != ']') {
    kept &= but(&in[0], (double)strtol(axes, (char **)&axes, 10));
    axes += *axes == ',';
  }
  for (int64_t k = 0; k < in[0].elements; k++) {
    double deviation = sqrt(variance_of(&in[0], k, kept));
    out[0].values[k] = (in[0].values[k] - mean_of(&in[0], k, kept)) / (deviation + 1e-9);
  }
}

static void lp_normalization(const node *of, const numbers *in, numbers *out) {
  unsigned kept = but(&in[0], attribute_number(of, "axis", -1));
  for (int64_t k = 0; k < in[0].elements; k++) {
    group g = about(&in[0], k, kept, 0);
    double norm = attribute_number(of, "p", 2) == 1 ? g.size * g.n : sqrt(g.square * g.n);
    out[0].values[k] = norm == 0 ? 0 : in[0].values[k] / norm;
  }
}

/* Softmax, LogSoftmax and Hardmax; before opset 13 of all axes from AXIS on at once. */
static void to_distribution(const node *of, const numbers *in, numbers *out) {
  const numbers *x = &in[0];
  int is_old = strstr(of->operator_, "-11") != NULL;
  double axis = attribute_number(of, "axis", is_old ? 1 : -1);
  unsigned kept = is_old ? before(x, axis) : but(x, axis);
  for (int64_t k = 0; k < x->elements; k++) {
    double largest = about(x, k, kept, 0).largest;
    group g = about(x, k, kept, largest);
    double logarithm = x->values[k] - largest - log(g.exponential * g.n);
    int64_t first = 0;
    while (group_of(x, first, kept) != group_of(x, k, kept) || x->values[first] != largest) {
      first++;
    }
    out[0].values[k] = operator_is(of, "Log")    ? logarithm
                       : operator_is(of, "Hard") ? k == first
                                                 : exp(logarithm);
  }
}

#define BATCH "f 2N 3 2 2, f 3, f 3, f 3, f 3: 0.5 2 1.5"
#define NEAR "f 1 2 4: 10001 10002 10003 10004 -5000 -5000 -5001 -5001"

static const node_case normalizations[] = {
    {"batch", "BatchNormalization(" BATCH ") => f 2 3 2 2"},
    {"batch_9", "BatchNormalization-9<epsilon=0.5>(" BATCH ") => f 2 3 2 2"},
    {"batch_6", "BatchNormalization-6<is_test=1>(" BATCH ") => f 2 3 2 2"},
    {"batch_of_vector", "BatchNormalization(f 4N, f 1, f 1, f 1, f 1: 2) => f 4"},
    {"batch_of_nothing", "BatchNormalization(f 0 2, f 2, f 2, f 2, f 2: 1 2) => f 0 2"},
    {"batch_of_half", "BatchNormalization(h 2 2, h 2, h 2, f 2, f 2: 1 2) => h 2 2"},
    {"batch_training", "BatchNormalization-14<training_mode=1>(" BATCH ") => f 2 3 2 2, f 3, f 3"},
    {"batch_training_half", "BatchNormalization-15<training_mode=1, momentum=0.25, epsilon=0.125>("
                            "h 4 2, h 2, h 2, f 2, f 2: 1 2) => h 4 2, f 2, f 2"},
    {"batch_training_alone", "BatchNormalization<training_mode=1>(" BATCH ") => f 2 3 2 2"},
    {"instance", "InstanceNormalization(f 2N 3 4, f 3, f 3) => f 2 3 4"},
    {"instance_of_images", "InstanceNormalization<epsilon=0.25>(f 2 2 2 3, f 2, f 2) => f 2 2 2 3"},
    {"instance_of_half", "InstanceNormalization(h 1 2 4 *8, h 2, h 2) => h 1 2 4"},
    {"instance_near", "InstanceNormalization(" NEAR ", f 2, f 2) => f 1 2 4"},
    {"group", "GroupNormalization-21<num_groups=2>(f 2N 4 3, f 4, f 4) => f 2 4 3"},
    {"group_of_all",
     "GroupNormalization-21<num_groups=1, epsilon=0.5>(f 2 4 1 3, f 4, f 4) => f 2 4 1 3"},
    {"group_18", "GroupNormalization-18<num_groups=2>(f 2N 4 3, f 2, f 2) => f 2 4 3"},
    {"group_of_half", "GroupNormalization-21<num_groups=4>(h 1 4 3, h 4, h 4) => h 1 4 3"},
    {"layer", "LayerNormalization(f 2N 3 4, f 4, f 4) => f 2 3 4"},
    {"layer_without_bias", "LayerNormalization<epsilon=0.5>(f 2N 3 4, f 4) => f 2 3 4"},
    {"layer_of_two_axes", "LayerNormalization<axis=1>(f 2N 3 4, f 3 4, f 4) => f 2 3 4"},
    {"layer_of_all",
     "LayerNormalization<axis=-3, epsilon=0.0>(f 2 3 4 *1e4, f 3 1, f 1) => f 2 3 4"},
    {"layer_small", "LayerNormalization(f 2 3 4 *1e-3, f 4, f 2 3 4) => f 2 3 4"},
    {"layer_near", "LayerNormalization(" NEAR ", f 4) => f 1 2 4"},
    {"layer_constant", "LayerNormalization(f 1 3: 7 7 7, f 3, f 3) => f 1 3"},
    {"layer_of_no_rows", "LayerNormalization(f 0 3, f 3) => f 0 3"},
    {"layer_statistics",
     "LayerNormalization<axis=1>(f 2N 3 2, f 3 2, f 3 2) => f 2 3 2, f 2 1 1, f 2 1 1"},
    {"layer_statistics_of_half", "LayerNormalization(h 2 4 *64, h 4, h 4) => h 2 4, f 2 1, f 2 1"},
    {"layer_statistics_of_double", "LayerNormalization(d 2 4, d 4, d 4) => d 2 4, f 2 1, f 2 1"},
    {"layer_statistics_in_bf16",
     "LayerNormalization<stash_type=16>(B 2 4, B 4, B 4) => B 2 4, B 2 1, B 2 1"},
    {"rms", "RMSNormalization(f 2N 3 4, f 4) => f 2 3 4"},
    {"rms_of_two_axes", "RMSNormalization<axis=1, epsilon=0.5>(f 2N 3 4, f 3 4) => f 2 3 4"},
    {"rms_small", "RMSNormalization(f 2N 3 4 *1e-3, f 1) => f 2 3 4"},
    {"rms_of_half", "RMSNormalization(h 2 4 *64, h 4) => h 2 4"},
    {"rms_of_zero", "RMSNormalization(f 1 3: 0 0 0, f 3) => f 1 3"},
    {"simplified", "SimplifiedLayerNormalization(f 2 3, f 3) => f 2 3"},
    {"mean_variance", "MeanVarianceNormalization(f 2N 2 2 2) => f 2 2 2 2"},
    {"mean_variance_axes", "MeanVarianceNormalization<axes=[-1, 0]>(f 2N 2 3) => f 2 2 3"},
    {"mean_variance_small", "MeanVarianceNormalization<axes=[1]>(f 2 4 *1e-6) => f 2 4"},
    {"lp", "LpNormalization(f 2N 3) => f 2 3"},
    {"lp_1", "LpNormalization<p=1, axis=0>(f 2N 3) => f 2 3"},
    {"lp_of_zeros", "LpNormalization(f 2 2: 0 0 3 -4) => f 2 2"},
    {"lp_1_of_zeros", "LpNormalization<p=1>(f 2 2: 0 0 3 -4) => f 2 2"},
    {"softmax", "Softmax(f 2N 3 2) => f 2 3 2"},
    {"softmax_axis", "Softmax<axis=-2>(f 2N 3 2 *100) => f 2 3 2"},
    {"softmax_11", "Softmax-11(f 2N 3 2) => f 2 3 2"},
    {"softmax_11_of_all", "Softmax-11<axis=0>(f 2 3 2) => f 2 3 2"},
    {"softmax_11_last", "Softmax-11<axis=2>(f 2 3 2) => f 2 3 2"},
    {"softmax_of_nothing", "Softmax(f 2 0) => f 2 0"},
    {"log_softmax", "LogSoftmax<axis=0>(f 2 3 2) => f 2 3 2"},
    {"log_softmax_large", "LogSoftmax(f 2 4 *1000) => f 2 4"},
    {"log_softmax_11", "LogSoftmax-11(f 2N 3 2) => f 2 3 2"},
    {"hardmax", "Hardmax<axis=1>(f 2N 3 2) => f 2 3 2"},
    {"hardmax_tie", "Hardmax(f 2 3: 1 4 4 -2 -2 -3) => f 2 3"},
    {"hardmax_11", "Hardmax-11(f 2N 2 3) => f 2 2 3"},
};

/* ---- Activations ---- */

static double activated(const node *of, double x, const double *fallback) {
  const char *name = attribute_text(of, "activation"),
             *list = attribute_text(of, "activation_params");
  double p[2] = {attribute_number(of, "activation_alpha", fallback[0]),
                 attribute_number(of, "activation_beta", fallback[1])};
  for (int k = 0; k < 2 && list != NULL; k++) {
    p[k] = strtod(list, (char **)&list);
    list = *list == ',' ? list + 1 : NULL;
  }
  return name == NULL                            ? x
         : strncmp(name, "''", 2) == 0           ? x
         : strncmp(name, "Affine", 6) == 0       ? p[0] * x + p[1]
         : strncmp(name, "Clip", 4) == 0         ? fmin(fmax(x, p[0]), p[1])
         : strncmp(name, "Elu", 3) == 0          ? (x < 0 ? p[0] * (exp(x) - 1) : x)
         : strncmp(name, "HardSigmoid", 11) == 0 ? fmin(fmax(p[0] * x + p[1], 0), 1)
         : strncmp(name, "LeakyRelu", 9) == 0    ? (x < 0 ? p[0] * x : x)
         : strncmp(name, "Relu", 4) == 0         ? fmax(x, 0)
         : strncmp(name, "ScaledTanh", 10) == 0  ? p[0] * tanh(p[1] * x)
         : strncmp(name, "Sigmoid", 7) == 0      ? 1 / (1 + exp(-x))
         : strncmp(name, "Softplus", 8) == 0     ? log(1 + exp(x))
         : strncmp(name, "Softsign", 8) == 0     ? x / (1 + fabs(x))
         : strncmp(name, "Tanh", 4) == 0         ? tanh(x)
                                                 : (x > p[0] ? x : 0);
}

/* What the parameters of the activation are where they are absent. */
static const double *fallback_of(const node *of) {
  static const double all[4][2] = {{1, 1}, {0.2, 0.5}, {0.01, 0}, {1, 0}};
  int k = attribute_is(of, "activation", "HardSigmoid") ? 1
          : attribute_is(of, "activation", "LeakyRelu") ? 2
          : attribute_is(of, "activation", "Affine")    ? 3
                                                        : 0;
  return all[k];
}

/* ---- Products ---- */

/* A correlation along one axis, [N, C, L] with weights [M, C, W], plus input 3. */
static void fused_conv(const node *of, const numbers *in, numbers *out) {
  const int64_t *x = in[0].shape, *w = in[1].shape, *y = out[0].shape;
  for (int64_t k = 0; k < out[0].elements; k++) {
    int64_t place[8];
    places(&out[0], k, place);
    double sum = in[2].is_given ? in[2].values[place[1]] : 0;
    for (int64_t i = 0; i < w[1] * w[2]; i++) {
      int64_t at = place[2] + i % w[2];
      sum += in[1].values[place[1] * w[1] * w[2] + i] *
             in[0].values[(place[0] * x[1] + i / w[2]) * x[2] + at];
    }
    sum += in[3].is_given ? in[3].values[k] : 0;
    out[0].values[k] = activated(of, sum, fallback_of(of));
  }
  CT_CHECK(y[2] == x[2] - w[2] + 1);
}

/* Operand K as matrices: the first axis may stand before those of the batch. */
typedef struct matrices {
  const numbers *in;
  int64_t rows, columns, between; /* matrices, where the rows' axis is the first */
} matrices;

static matrices matrices_of(const node *of, const numbers *in, int k) {
  int batch = attribute_number(of, k == 0 ? "transBatchA" : "transBatchB", 0) != 0;
  matrices m = {&in[k], in[k].shape[in[k].rank - 2], in[k].shape[in[k].rank - 1], 0};
  if (batch && in[k].rank > 2) {
    m.rows = in[k].shape[0];
    m.between = in[k].elements / m.rows / m.columns;
  }
  return m;
}

/* Element ROW, COLUMN of matrix B, or of its transpose. */
static double element_of(const matrices *m, int transposed, int64_t b, int64_t row,
                         int64_t column) {
  int64_t i = transposed ? column : row, j = transposed ? row : column;
  int64_t at = m->between > 0 ? i * m->between + b : (m->in->rank > 2 ? b : 0) * m->rows + i;
  return m->in->values[at * m->columns + j];
}

/* Product I, J of matrices number B of A and B, or of their transposes. */
static double product(const node *of, const numbers *in, int64_t b, int64_t i, int64_t j) {
  matrices x = matrices_of(of, in, 0), y = matrices_of(of, in, 1);
  int of_a = attribute_number(of, "transA", 0) != 0, of_b = attribute_number(of, "transB", 0) != 0;
  double sum = 0;
  for (int64_t k = 0; k < (of_a ? x.rows : x.columns); k++) {
    sum += element_of(&x, of_a, b, i, k) * element_of(&y, of_b, b, k, j);
  }
  return sum;
}

static void fused_gemm(const node *of, const numbers *in, numbers *out) {
  for (int64_t k = 0; k < out[0].elements; k++) {
    int64_t width = out[0].shape[1];
    double sum = attribute_number(of, "alpha", 1) * product(of, in, 0, k / width, k % width);
    sum += in[2].is_given ? attribute_number(of, "beta", 1) * beside(&in[2], &out[0], k) : 0;
    out[0].values[k] = activated(of, sum, fallback_of(of));
  }
}

/* A vector times a matrix: there is nothing in it to transpose. */
static void fused_vector(const node *of, const numbers *in, numbers *out) {
  for (int64_t j = 0; j < out[0].elements; j++) {
    out[0].values[j] = 0;
    for (int64_t k = 0; k < in[0].elements; k++) {
      out[0].values[j] += attribute_number(of, "alpha", 1) * in[0].values[k] *
                          in[1].values[k * out[0].elements + j];
    }
  }
}

static void fused_matmul(const node *of, const numbers *in, numbers *out) {
  const int64_t *y = out[0].shape + out[0].rank - 2;
  if (in[0].rank == 1) {
    fused_vector(of, in, out);
    return;
  }
  for (int64_t k = 0; k < out[0].elements; k++) {
    int64_t matrix = k / y[1] / y[0];
    out[0].values[k] =
        attribute_number(of, "alpha", 1) * product(of, in, matrix, k / y[1] % y[0], k % y[1]);
  }
}

#define ACTIVATED(activation)                                                                      \
  { "gemm_" activation, FUSED_GEMM "<activation=" activation ">(f 2 4, f 4 3) => f 2 3" }

static const node_case products[] = {
    {"conv_plain", FUSED_CONV "(f 2N 2 4, f 3 2 2, ) => f 2 3 3"},
    {"conv_bias", FUSED_CONV "<activation=Relu>(f 2N 2 4, f 3 2 2, f 3) => f 2 3 3"},
    {"conv_sum", FUSED_CONV "<activation=Tanh>(f 2N 2 4, f 3 2 2, f 3, f 2N 3 3) => f 2 3 3"},
    {"conv_sum_alone", FUSED_CONV "<activation=''>(f 2N 2 4, f 3 2 2, , f 2N 3 3) => f 2 3 3"},
    {"conv_leaky", FUSED_CONV "<activation=LeakyRelu, activation_params=[0.25]>(f 2N 2 4, "
                              "f 3 2 2, ) => f 2 3 3"},
    {"conv_clip", FUSED_CONV "<activation=Clip, activation_params=[-0.5, 1.25]>(f 2N 2 4, "
                             "f 3 2 2, ) => f 2 3 3"},
    {"conv_hard", FUSED_CONV "<activation=HardSigmoid, activation_params=[0.5, 0.25]>(f 2N 2 4, "
                             "f 3 2 2, ) => f 2 3 3"},
    {"gemm_plain", FUSED_GEMM "(f 2N 4, f 4 3) => f 2 3"},
    {"gemm_turned", FUSED_GEMM "<transA=1, transB=1, alpha=0.5, beta=-2.0, activation=Relu>("
                               "f 4 2N, f 3 4, f 3) => f 2 3"},
    {"gemm_columns", FUSED_GEMM "<activation=Affine, activation_alpha=0.5, activation_beta=2.0>("
                                "f 2 4, f 4 3, f 2 1) => f 2 3"},
    {"gemm_elu", FUSED_GEMM "<activation=Elu, activation_alpha=0.5>(f 2 4, f 4 3) => f 2 3"},
    {"gemm_threshold",
     FUSED_GEMM "<activation=ThresholdedRelu, activation_alpha=0.75>(f 2 4, f 4 3) => f 2 3"},
    {"gemm_scaled_tanh", FUSED_GEMM "<activation=ScaledTanh, activation_alpha=0.5, "
                                    "activation_beta=0.25>(f 2 4, f 4 3) => f 2 3"},
    ACTIVATED("Affine"),
    ACTIVATED("Elu"),
    ACTIVATED("HardSigmoid"),
    ACTIVATED("LeakyRelu"),
    ACTIVATED("ScaledTanh"),
    ACTIVATED("Sigmoid"),
    ACTIVATED("Softplus"),
    ACTIVATED("Softsign"),
    ACTIVATED("ThresholdedRelu"),
    {"matmul", FUSED_MATMUL "(f 2N 4, f 4 3) => f 2 3"},
    {"matmul_turned", FUSED_MATMUL "<transA=1, alpha=-0.5>(f 2N 4 2, f 2N 4 3) => f 2 2 3"},
    {"matmul_of_one", FUSED_MATMUL "<transA=1, transB=1>(f 3 1 2, f 2 1) => f 3 2 2"},
    {"matmul_of_vector", FUSED_MATMUL "<transA=1, alpha=2.0>(f 4, f 4 3) => f 3"},
    {"matmul_batch", FUSED_MATMUL "<transBatchA=1>(f 4 2 3, f 2 3 2) => f 2 4 2"},
    {"matmul_batches", FUSED_MATMUL "<transBatchA=1, transBatchB=1, transA=1>(f 3 2 4, f 3 2 2) "
                                    "=> f 2 4 2"},
    {"matmul_two_batches", FUSED_MATMUL "<transBatchB=1, transB=1>(f 2 3 2 4, f 5 2 3 4) => "
                                        "f 2 3 2 5"},
    {"matmul_no_batch", FUSED_MATMUL "<transBatchA=1>(f 2 3, f 3 2) => f 2 2"},
    {"matmul_of_nothing", FUSED_MATMUL "(f 2 0, f 0 3) => f 2 3"},
};

/* ---- Sums that are normalised ---- */

/* Inputs 0, 1 and LAST added, in SUM. */
static void add_up(const numbers *in, int last, numbers *sum) {
  *sum = in[0];
  for (int64_t k = 0; k < sum->elements; k++) {
    sum->values[k] += beside(&in[1], &in[0], k);
    sum->values[k] += in[last].is_given ? beside(&in[last], &in[0], k) : 0;
  }
}

/* The second result, if there is one, is the sum: those between are left out. */
static void skip_layer(const node *of, const numbers *in, numbers *out) {
  static numbers sum;
  add_up(in, 4, &sum);
  for (int64_t k = 0; k < sum.elements; k++) {
    double y = normal(&sum, k, before(&sum, -1), attribute_number(of, "epsilon", 1e-12));
    out[0].values[k] = y * beside(&in[2], &sum, k) + (in[3].is_given ? beside(&in[3], &sum, k) : 0);
  }
  memcpy(out[1].values, sum.values, sizeof sum.values);
}

static void skip_rms(const node *of, const numbers *in, numbers *out) {
  static numbers sum;
  add_up(in, 3, &sum);
  for (int64_t k = 0; k < sum.elements; k++) {
    double square = about(&sum, k, before(&sum, -1), 0).square;
    square += attribute_number(of, "epsilon", 1e-12);
    out[0].values[k] = sum.values[k] / sqrt(square) * beside(&in[2], &sum, k);
  }
  memcpy(out[1].values, sum.values, sizeof sum.values);
}

/* Row ID of TABLE, element D. */
static double row(const numbers *table, double id, int64_t d) {
  return table->values[(int64_t)id * table->shape[1] + d];
}

static void embed(const node *of, const numbers *in, numbers *out) {
  int64_t length = in[0].shape[1], size = in[2].shape[1];
  numbers *sum = &out[2];
  sum->rank = 3;
  sum->elements = out[0].elements;
  memcpy(sum->shape, out[0].shape, sizeof sum->shape);
  for (int64_t k = 0; k < sum->elements; k++) {
    int64_t token = k / size, d = k % size, i = token % length;
    double place = !in[8].is_given ? (double)i : in[8].values[in[8].shape[0] == 1 ? i : token];
    sum->values[k] = row(&in[2], in[0].values[token], d) + row(&in[3], place, d);
    sum->values[k] += in[1].is_given ? row(&in[4], in[1].values[token], d) : 0;
  }
  for (int64_t k = 0; k < sum->elements; k++) {
    double y = normal(sum, k, 3, attribute_number(of, "epsilon", 1e-12));
    out[0].values[k] = y * in[5].values[k % size] + in[6].values[k % size];
  }
  for (int64_t k = 0; k < in[0].elements; k++) {
    out[1].values[k / length] = k % length == 0 ? 0 : out[1].values[k / length];
    out[1].values[k / length] += in[7].is_given ? in[7].values[k] : 0;
  }
}

#define TOKENS "w 2N 3: 1 0 4 2 2 3"
#define SEGMENTS "w 2N 3: 0 0 1 1 0 1"

static const node_case sums[] = {
    {"skip_plain", SKIP "(f 2N 3 4, f 2N 3 4, f 4) => f 2 3 4, -, -, f 2 3 4"},
    {"skip_bias", SKIP "<epsilon=0.25>(f 2N 3 4, f 2N 3 4, f 4, f 4) => f 2 3 4, -, -, f 2 3 4"},
    {"skip_three", SKIP "(f 2N 3 4, f 2N 3 4, f 4, f 4, f 4) => f 2 3 4, -, -, f 2 3 4"},
    {"skip_three_without_beta", SKIP "(f 2N 3 4, f 2N 3 4, f 4, , f 4) => f 2 3 4, -, -, f 2 3 4"},
    {"skip_of_rows", SKIP "(f 2N 3 4, f 3 4, f 4, f 4) => f 2 3 4, -, -, f 2 3 4"},
    {"skip_of_one_sample", SKIP "(f 2N 3 4, f 1 3 4, f 4, f 4) => f 2 3 4, -, -, f 2 3 4"},
    {"skip_small", SKIP "(f 1 2 3 *1e-4, f 1 2 3 *1e-4, f 3) => f 1 2 3"},
    {"skip_constant", SKIP "(f 1 1 3: 1 2 3, f 1 1 3: 2 1 0, f 3, f 3) => f 1 1 3"},
    {"skip_of_half", SKIP "(h 1 2 4, h 1 2 4, h 4, h 4) => h 1 2 4"},
    {"skip_rms_plain", SKIP_RMS "(f 2N 3 4, f 2N 3 4, f 4) => f 2 3 4, -, -, f 2 3 4"},
    {"skip_rms_three",
     SKIP_RMS "<epsilon=0.5>(f 2N 3 4, f 2N 3 4, f 4, f 4) => f 2 3 4, -, -, f 2 3 4"},
    {"skip_rms_small", SKIP_RMS "(f 2 3 *1e-4, f 2 3 *1e-4, f 3) => f 2 3"},
    {"skip_rms_of_half", SKIP_RMS "(h 2 4, h 2 4, h 4, h 4) => h 2 4"},
    {"embed_plain",
     EMBED "(" TOKENS ", " SEGMENTS ", f 5 4, f 4 4, f 2 4, f 4, f 4) => f 2 3 4, w 2, f 2 3 4"},
    {"embed_without_segments",
     EMBED "<epsilon=0.25>(" TOKENS ", , f 5 4, f 4 4, , f 4, f 4) => f 2 3 4, w 2, f 2 3 4"},
    {"embed_mask",
     EMBED "<mask_index_type=1>(" TOKENS ", " SEGMENTS
           ", f 5 4, f 4 4, f 2 4, f 4, f 4, w 2N 3: 1 1 0 0 0 0) => f 2 3 4, w 2, f 2 3 4"},
    {"embed_places", EMBED
     "(" TOKENS ", , f 5 4, f 4 4, , f 4, f 4, , w 2N 3: 3 0 1 2 2 0) => f 2 3 4, w 2, f 2 3 4"},
    {"embed_places_of_all",
     EMBED "(" TOKENS ", , f 5 4, f 4 4, , f 4, f 4, , w 1 3: 3 0 2) => f 2 3 4, w 2, f 2 3 4"},
    {"embed_alone", EMBED "(w 1 1: 2, , f 3 2, f 1 2, , f 2, f 2) => f 1 1 2"},
};

/* ---- GELU ---- */

static void gelu(const node *of, const numbers *in, numbers *out) {
  for (int64_t k = 0; k < in[0].elements; k++) {
    double x = in[0].values[k] + (in[1].is_given ? beside(&in[1], &in[0], k) : 0);
    double turn = operator_is(of, MICROSOFT "Fast")
                      ? tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x))
                      : erf(x / sqrt(2));
    double quick = 1 / (1 + exp(-attribute_number(of, "alpha", 1.702) * x));
    out[0].values[k] = operator_is(of, MICROSOFT "Quick") ? x * quick : 0.5 * x * (1 + turn);
  }
}

static const node_case gelus[] = {
    {"gelu", MICROSOFT "Gelu(f 2N 3) => f 2 3"},
    {"gelu_large", MICROSOFT "Gelu(f 2N 3 *1e4) => f 2 3"},
    {"bias_gelu", MICROSOFT "BiasGelu(f 2N 3, f 3) => f 2 3"},
    {"fast_gelu", MICROSOFT "FastGelu(f 2N 3) => f 2 3"},
    {"fast_gelu_bias", MICROSOFT "FastGelu(f 2N 3 *100, f 3) => f 2 3"},
    {"quick_gelu", MICROSOFT "QuickGelu(f 2N 3) => f 2 3"},
    {"quick_gelu_alpha", MICROSOFT "QuickGelu<alpha=0.5>(f 2N 3) => f 2 3"},
    {"quick_gelu_large", MICROSOFT "QuickGelu(f 2N 3 *1e4) => f 2 3"},
    {"quick_gelu_half", MICROSOFT "QuickGelu(h 2 3) => h 2 3"},
};

/* ---- What is refused ---- */

static const refused_case refused[] = {
    {"batch_of_6_training", "BatchNormalization-6(f 1 2, f 2, f 2, f 2, f 2)", "training_mode"},
    {"batch_results", "BatchNormalization(f 1 2, f 2, f 2, f 2, f 2) => ?, ?, ?", "training_mode"},
    {"batch_results_of_9", "BatchNormalization-9(f 1 2, f 2, f 2, f 2, f 2) => ?, ?, ?",
     "output 1, 'w', isn't computed"},
    {"batch_training_vector", "BatchNormalization<training_mode=1>(f 2, f 2, f 2, f 2, f 2)",
     "it takes [N, C, ...]"},
    {"batch_channels", "BatchNormalization(f 1 3, f 2, f 2, f 2, f 2)", "sizes 3 and 2"},
    {"batch_inputs", "BatchNormalization(f 1 2, f 2)", "it has 2 inputs"},
    {"instance_of_matrix", "InstanceNormalization(f 2 2, f 2, f 2)", "it takes [N, C, D, ...]"},
    {"layer_axis", "LayerNormalization<axis=2>(f 2 2, f 2)", "axis 2 is out of range for rank 2"},
    {"layer_stash", "LayerNormalization<stash_type=8>(f 2 2, f 2) => ?, ?, ?", "stash_type"},
    {"rms_axis", "RMSNormalization<axis=-3>(f 2 2, f 2)", "axis -3 is out of range for rank 2"},
    {"group_of_vector", "GroupNormalization<num_groups=1>(f 2 2, f 2, f 2)",
     "it takes images and groups above 0"},
    {"group_of_0", "GroupNormalization<num_groups=0>(f 2 2 2, f 2, f 2)",
     "it takes images and groups above 0"},
    {"group_of_3", "GroupNormalization<num_groups=3>(f 2 4 2, f 4, f 4)", "16 elements"},
    {"mean_variance_axes", "MeanVarianceNormalization<axes=[0, 4]>(f 2 2)",
     "axis 4 is out of range for rank 2"},
    {"mean_variance_usual", "MeanVarianceNormalization(f 2 2)", "axis 2 is out of range"},
    {"lp_power", "LpNormalization<p=3>(f 2 2)", "p must be 1 or 2"},
    {"lp_axis", "LpNormalization<axis=2>(f 2 2)", "axis 2 is out of range for rank 2"},
    {"softmax_axis", "Softmax<axis=-3>(f 2 2)", "axis -3 is out of range for rank 2"},
    {"softmax_of_integers", "Softmax(w 2: 1 2)", "i32 is no float dtype"},
    {"conv_activation", FUSED_CONV "<activation=Cube>(f 1 1 2, f 1 1 1)", "the activation Cube"},
    {"conv_sum", FUSED_CONV "(f 1 1 2, f 1 1 1, , f 1 1 3)", "sizes 2 and 3"},
    {"gemm_activation", FUSED_GEMM "<activation=relu>(f 1 2, f 2 1)", "the activation relu"},
    {"matmul_sizes", FUSED_MATMUL "<transB=1>(f 2 2, f 3 4)",
     "axis 1 of x and axis 0 of y differ in size"},
    {"skip_mean", SKIP "(f 1 2 2, f 1 2 2, f 2) => ?, ?", "output 1, 'w', isn't computed"},
    {"skip_rms_deviation", SKIP_RMS "(f 1 2 2, f 1 2 2, f 2) => ?, -, ?",
     "output 2, 'x', isn't computed"},
    {"skip_sizes", SKIP "(f 1 2 2, f 1 3 2, f 2)", "sizes 2 and 3"},
    {"embed_rank", EMBED "(w 2: 0 0, , f 3 2, f 2 2, , f 2, f 2)",
     "it takes tokens [batch, length]"},
    {"embed_of_floats", EMBED "(f 1 2, , f 3 2, f 2 2, , f 2, f 2)",
     "indices of dtype f32 are no integers"},
    {"embed_without_gamma", EMBED "(w 1 2: 0 0, , f 3 2, f 2 2, , , f 2)", "input 5 is left out"},
};

static const refused_case failing[] = {
    {"embed_token", EMBED "(w 1 2: 0 3, , f 3 2, f 2 2, , f 2, f 2)",
     "index 3 (element 1 of the indices) is outside of axis 0"},
    {"embed_too_long", EMBED "(w 1 3: 0 1 2, , f 3 2, f 2 2, , f 2, f 2)",
     "index 2 (element 2 of the indices) is outside of axis 0"},
    {"batch_of_symbols", "BatchNormalization(f 1 3N, f 2, f 2, f 2, f 2)",
     "axis 1 of operand 0 has size N = 3, which should be 2"},
};

static const onnx_definition definitions[] = {{"BatchNormalization", batch_normalization},
                                              {"InstanceNormalization", instance_normalization},
                                              {"GroupNormalization", group_normalization},
                                              {"LayerNormalization", layer_normalization},
                                              {"RMSNormalization", rms_normalization},
                                              {"SimplifiedLayerNormalization", rms_normalization},
                                              {"MeanVarianceNormalization", mean_variance},
                                              {"LpNormalization", lp_normalization},
                                              {"Softmax", to_distribution},
                                              {"LogSoftmax", to_distribution},
                                              {"Hardmax", to_distribution},
                                              {FUSED_CONV, fused_conv},
                                              {FUSED_GEMM, fused_gemm},
                                              {FUSED_MATMUL, fused_matmul},
                                              {SKIP, skip_layer},
                                              {SKIP_RMS, skip_rms},
                                              {EMBED, embed},
                                              {MICROSOFT "Gelu", gelu},
                                              {MICROSOFT "BiasGelu", gelu},
                                              {MICROSOFT "FastGelu", gelu},
                                              {MICROSOFT "QuickGelu", gelu},
                                              {NULL, NULL}};

void ct_register(void) {
  onnx_definitions = definitions;
  NODE_SUITE("onnx_normalize", normalizations, node_is_as_twin);
  NODE_MEMORY("onnx_fused_memory", normalizations, 7, 8);
  NODE_SUITE("onnx_fused", products, node_is_as_twin);
  NODE_MEMORY("onnx_fused_memory", products, 7, 8);
  NODE_SUITE("onnx_fused_sums", sums, node_is_as_twin);
  NODE_MEMORY("onnx_fused_memory", sums, 7, 8);
  NODE_SUITE("onnx_gelu", gelus, node_is_as_twin);
  NODE_MEMORY("onnx_fused_memory", gelus, 7, 8);
  NODE_SUITE("onnx_fused_refused", refused, node_is_refused);
  NODE_SUITE("onnx_fused_fails", failing, node_fails);
}
