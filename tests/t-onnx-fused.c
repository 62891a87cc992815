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

static int operator_is(const node_case *of, const char *name) {
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

static void batch_normalization(const node_case *of, const numbers *in, numbers *out) {
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

static void instance_normalization(const node_case *of, const numbers *in, numbers *out) {
  for (int64_t k = 0; k < in[0].elements; k++) {
    double y = normal(&in[0], k, 3, attribute_number(of, "epsilon", 1e-5));
    out[0].values[k] = by_channel(in, &in[0], k, y);
  }
}

/* Scale and bias are each group's in opset 18, and each channel's in 21. */
static void group_normalization(const node_case *of, const numbers *in, numbers *out) {
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

static void layer_normalization(const node_case *of, const numbers *in, numbers *out) {
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

static void rms_normalization(const node_case *of, const numbers *in, numbers *out) {
  const numbers *x = &in[0];
  unsigned kept = before(x, attribute_number(of, "axis", -1));
  for (int64_t k = 0; k < x->elements; k++) {
    double square = about(x, k, kept, 0).square + attribute_number(of, "epsilon", 1e-5);
    out[0].values[k] = x->values[k] / sqrt(square) * beside(&in[1], x, k);
  }
}

/* By (x - mean) / (deviation + 1e-9), as the operator's function has it. */
static void mean_variance(const node_case *of, const numbers *in, numbers *out) {
  unsigned kept = ~0U;
  const char *axes = attribute_text(of, "axes");
  axes = axes != NULL ? axes : "0,2,3";
  while (*axes == ',' || *axes == '-' || (*axes >= '0' && *axes <= '9')) {
    kept &= but(&in[0], (double)strtol(axes, (char **)&axes, 10));
    axes += *axes == ',';
  }
  for (int64_t k = 0; k < in[0].elements; k++) {
    double deviation = sqrt(variance_of(&in[0], k, kept));
    out[0].values[k] = (in[0].values[k] - mean_of(&in[0], k, kept)) / (deviation + 1e-9);
  }
}

static void lp_normalization(const node_case *of, const numbers *in, numbers *out) {
  unsigned kept = but(&in[0], attribute_number(of, "axis", -1));
  for (int64_t k = 0; k < in[0].elements; k++) {
    group g = about(&in[0], k, kept, 0);
    double norm = attribute_number(of, "p", 2) == 1 ? g.size * g.n : sqrt(g.square * g.n);
    out[0].values[k] = norm == 0 ? 0 : in[0].values[k] / norm;
  }
}

/* Softmax, LogSoftmax and Hardmax; before opset 13 of all axes from AXIS on at once. */
static void to_distribution(const node_case *of, const numbers *in, numbers *out) {
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

/* OF(operator, twin, name, attributes, result, inputs…) */
#define OF(operator_, twin, name, attributes, result, ...)                                         \
  { {name, operator_, attributes, {__VA_ARGS__}, {result}}, twin }
#define BATCH "f 2N 3 2 2", "f 3", "f 3", "f 3", "f 3: 0.5 2 1.5"
#define LAYER(name, attributes, ...)                                                               \
  OF("LayerNormalization", layer_normalization, name, attributes, "f 2 3 4", __VA_ARGS__)
#define RMS(name, attributes, ...)                                                                 \
  OF("RMSNormalization", rms_normalization, name, attributes, "f 2 3 4", __VA_ARGS__)
#define NEAR "f 1 2 4: 10001 10002 10003 10004 -5000 -5000 -5001 -5001"

static const twin_case normalizations[] = {
    OF("BatchNormalization", batch_normalization, "batch", "", "f 2 3 2 2", BATCH),
    OF("BatchNormalization-9", batch_normalization, "batch_9", "epsilon=0.5", "f 2 3 2 2", BATCH),
    OF("BatchNormalization-6", batch_normalization, "batch_6", "is_test=1", "f 2 3 2 2", BATCH),
    OF("BatchNormalization", batch_normalization, "batch_of_vector", "", "f 4", "f 4N", "f 1",
       "f 1", "f 1", "f 1: 2"),
    OF("BatchNormalization", batch_normalization, "batch_of_nothing", "", "f 0 2", "f 0 2", "f 2",
       "f 2", "f 2", "f 2: 1 2"),
    OF("BatchNormalization", batch_normalization, "batch_of_half", "", "h 2 2", "h 2 2", "h 2",
       "h 2", "f 2", "f 2: 1 2"),
    {{"batch_training",
      "BatchNormalization-14",
      "training_mode=1",
      {BATCH},
      {"f 2 3 2 2", "f 3", "f 3"}},
     batch_normalization},
    {{"batch_training_half",
      "BatchNormalization-15",
      "training_mode=1 momentum=0.25 epsilon=0.125",
      {"h 4 2", "h 2", "h 2", "f 2", "f 2: 1 2"},
      {"h 4 2", "f 2", "f 2"}},
     batch_normalization},
    OF("BatchNormalization", batch_normalization, "batch_training_alone", "training_mode=1",
       "f 2 3 2 2", BATCH),
    OF("InstanceNormalization", instance_normalization, "instance", "", "f 2 3 4", "f 2N 3 4",
       "f 3", "f 3"),
    OF("InstanceNormalization", instance_normalization, "instance_of_images", "epsilon=0.25",
       "f 2 2 2 3", "f 2 2 2 3", "f 2", "f 2"),
    OF("InstanceNormalization", instance_normalization, "instance_of_half", "", "h 1 2 4",
       "h 1 2 4 *8", "h 2", "h 2"),
    OF("InstanceNormalization", instance_normalization, "instance_near", "", "f 1 2 4", NEAR, "f 2",
       "f 2"),
    OF("GroupNormalization-21", group_normalization, "group", "num_groups=2", "f 2 4 3", "f 2N 4 3",
       "f 4", "f 4"),
    OF("GroupNormalization-21", group_normalization, "group_of_all", "num_groups=1 epsilon=0.5",
       "f 2 4 1 3", "f 2 4 1 3", "f 4", "f 4"),
    OF("GroupNormalization-18", group_normalization, "group_18", "num_groups=2", "f 2 4 3",
       "f 2N 4 3", "f 2", "f 2"),
    OF("GroupNormalization-21", group_normalization, "group_of_half", "num_groups=4", "h 1 4 3",
       "h 1 4 3", "h 4", "h 4"),
    LAYER("layer", "", "f 2N 3 4", "f 4", "f 4"),
    LAYER("layer_without_bias", "epsilon=0.5", "f 2N 3 4", "f 4"),
    LAYER("layer_of_two_axes", "axis=1", "f 2N 3 4", "f 3 4", "f 4"),
    LAYER("layer_of_all", "axis=-3 epsilon=0.0", "f 2 3 4 *1e4", "f 3 1", "f 1"),
    LAYER("layer_small", "", "f 2 3 4 *1e-3", "f 4", "f 2 3 4"),
    OF("LayerNormalization", layer_normalization, "layer_near", "", "f 1 2 4", NEAR, "f 4"),
    OF("LayerNormalization", layer_normalization, "layer_constant", "", "f 1 3", "f 1 3: 7 7 7",
       "f 3", "f 3"),
    OF("LayerNormalization", layer_normalization, "layer_of_no_rows", "", "f 0 3", "f 0 3", "f 3"),
    {{"layer_statistics",
      "LayerNormalization",
      "axis=1",
      {"f 2N 3 2", "f 3 2", "f 3 2"},
      {"f 2 3 2", "f 2 1 1", "f 2 1 1"}},
     layer_normalization},
    {{"layer_statistics_of_half",
      "LayerNormalization",
      "",
      {"h 2 4 *64", "h 4", "h 4"},
      {"h 2 4", "f 2 1", "f 2 1"}},
     layer_normalization},
    {{"layer_statistics_of_double",
      "LayerNormalization",
      "",
      {"d 2 4", "d 4", "d 4"},
      {"d 2 4", "f 2 1", "f 2 1"}},
     layer_normalization},
    {{"layer_statistics_in_bf16",
      "LayerNormalization",
      "stash_type=16",
      {"B 2 4", "B 4", "B 4"},
      {"B 2 4", "B 2 1", "B 2 1"}},
     layer_normalization},
    RMS("rms", "", "f 2N 3 4", "f 4"),
    RMS("rms_of_two_axes", "axis=1 epsilon=0.5", "f 2N 3 4", "f 3 4"),
    RMS("rms_small", "", "f 2N 3 4 *1e-3", "f 1"),
    OF("RMSNormalization", rms_normalization, "rms_of_half", "", "h 2 4", "h 2 4 *64", "h 4"),
    OF("RMSNormalization", rms_normalization, "rms_of_zero", "", "f 1 3", "f 1 3: 0 0 0", "f 3"),
    OF("SimplifiedLayerNormalization", rms_normalization, "simplified", "", "f 2 3", "f 2 3",
       "f 3"),
    OF("MeanVarianceNormalization", mean_variance, "mean_variance", "", "f 2 2 2 2", "f 2N 2 2 2"),
    OF("MeanVarianceNormalization", mean_variance, "mean_variance_axes", "axes=-1,0", "f 2 2 3",
       "f 2N 2 3"),
    OF("MeanVarianceNormalization", mean_variance, "mean_variance_small", "axes=1,", "f 2 4",
       "f 2 4 *1e-6"),
    OF("LpNormalization", lp_normalization, "lp", "", "f 2 3", "f 2N 3"),
    OF("LpNormalization", lp_normalization, "lp_1", "p=1 axis=0", "f 2 3", "f 2N 3"),
    OF("LpNormalization", lp_normalization, "lp_of_zeros", "", "f 2 2", "f 2 2: 0 0 3 -4"),
    OF("LpNormalization", lp_normalization, "lp_1_of_zeros", "p=1", "f 2 2", "f 2 2: 0 0 3 -4"),
    OF("Softmax", to_distribution, "softmax", "", "f 2 3 2", "f 2N 3 2"),
    OF("Softmax", to_distribution, "softmax_axis", "axis=-2", "f 2 3 2", "f 2N 3 2 *100"),
    OF("Softmax-11", to_distribution, "softmax_11", "", "f 2 3 2", "f 2N 3 2"),
    OF("Softmax-11", to_distribution, "softmax_11_of_all", "axis=0", "f 2 3 2", "f 2 3 2"),
    OF("Softmax-11", to_distribution, "softmax_11_last", "axis=2", "f 2 3 2", "f 2 3 2"),
    OF("Softmax", to_distribution, "softmax_of_nothing", "", "f 2 0", "f 2 0"),
    OF("LogSoftmax", to_distribution, "log_softmax", "axis=0", "f 2 3 2", "f 2 3 2"),
    OF("LogSoftmax", to_distribution, "log_softmax_large", "", "f 2 4", "f 2 4 *1000"),
    OF("LogSoftmax-11", to_distribution, "log_softmax_11", "", "f 2 3 2", "f 2N 3 2"),
    OF("Hardmax", to_distribution, "hardmax", "axis=1", "f 2 3 2", "f 2N 3 2"),
    OF("Hardmax", to_distribution, "hardmax_tie", "", "f 2 3", "f 2 3: 1 4 4 -2 -2 -3"),
    OF("Hardmax-11", to_distribution, "hardmax_11", "", "f 2 2 3", "f 2N 2 3"),
};

/* ---- Activations ---- */

static double activated(const node_case *of, double x, const double *fallback) {
  const char *name = attribute_text(of, "activation"),
             *list = attribute_text(of, "activation_params");
  double p[2] = {attribute_number(of, "activation_alpha", fallback[0]),
                 attribute_number(of, "activation_beta", fallback[1])};
  for (int k = 0; k < 2 && list != NULL; k++) {
    p[k] = strtod(list, (char **)&list);
    list = *list == ',' ? list + 1 : NULL;
  }
  return name == NULL                            ? x
         : strcspn(name, " ") == 0               ? x
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
static const double *fallback_of(const node_case *of) {
  static const double all[4][2] = {{1, 1}, {0.2, 0.5}, {0.01, 0}, {1, 0}};
  int k = attribute_is(of, "activation", "HardSigmoid") ? 1
          : attribute_is(of, "activation", "LeakyRelu") ? 2
          : attribute_is(of, "activation", "Affine")    ? 3
                                                        : 0;
  return all[k];
}

/* ---- Products ---- */

/* A correlation along one axis, [N, C, L] with weights [M, C, W], plus input 3. */
static void fused_conv(const node_case *of, const numbers *in, numbers *out) {
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

/* Product I, J of matrices number B of A, or its transpose, and of B. */
static double product(const node_case *of, const numbers *in, int64_t b, int64_t i, int64_t j) {
  const int64_t *a = in[0].shape + in[0].rank - 2, *c = in[1].shape + in[1].rank - 2;
  int of_a = attribute_number(of, "transA", 0) != 0, of_b = attribute_number(of, "transB", 0) != 0;
  int64_t inner = a[!of_a], first = in[0].rank > 2 ? b * a[0] * a[1] : 0;
  int64_t second = in[1].rank > 2 ? b * c[0] * c[1] : 0;
  double sum = 0;
  for (int64_t k = 0; k < inner; k++) {
    sum += in[0].values[first + (of_a ? k * a[1] + i : i * a[1] + k)] *
           in[1].values[second + (of_b ? j * c[1] + k : k * c[1] + j)];
  }
  return sum;
}

static void fused_gemm(const node_case *of, const numbers *in, numbers *out) {
  for (int64_t k = 0; k < out[0].elements; k++) {
    int64_t width = out[0].shape[1];
    double sum = attribute_number(of, "alpha", 1) * product(of, in, 0, k / width, k % width);
    sum += in[2].is_given ? attribute_number(of, "beta", 1) * beside(&in[2], &out[0], k) : 0;
    out[0].values[k] = activated(of, sum, fallback_of(of));
  }
}

static void fused_matmul(const node_case *of, const numbers *in, numbers *out) {
  const int64_t *y = out[0].shape + out[0].rank - 2;
  for (int64_t k = 0; k < out[0].elements; k++) {
    int64_t matrix = k / y[1] / y[0];
    out[0].values[k] =
        attribute_number(of, "alpha", 1) * product(of, in, matrix, k / y[1] % y[0], k % y[1]);
  }
}

/* A vector times a matrix: there is nothing in it to transpose. */
static void fused_vector(const node_case *of, const numbers *in, numbers *out) {
  for (int64_t j = 0; j < out[0].elements; j++) {
    out[0].values[j] = 0;
    for (int64_t k = 0; k < in[0].elements; k++) {
      out[0].values[j] += attribute_number(of, "alpha", 1) * in[0].values[k] *
                          in[1].values[k * out[0].elements + j];
    }
  }
}

#define CONV(name, attributes, ...)                                                                \
  OF(FUSED_CONV, fused_conv, "conv_" name, attributes, "f 2 3 3", "f 2N 2 4", "f 3 2 2",           \
     __VA_ARGS__)
#define GEMM(name, attributes, ...)                                                                \
  OF(FUSED_GEMM, fused_gemm, "gemm_" name, attributes, "f 2 3", __VA_ARGS__)
#define ACTIVATED(activation) GEMM(activation, "activation=" activation, "f 2 4", "f 4 3")

static const twin_case products[] = {
    CONV("plain", "", ""),
    CONV("bias", "activation=Relu", "f 3"),
    CONV("sum", "activation=Tanh", "f 3", "f 2N 3 3"),
    CONV("sum_alone", "activation=", "", "f 2N 3 3"),
    CONV("leaky", "activation=LeakyRelu activation_params=0.25,", ""),
    CONV("clip", "activation=Clip activation_params=-0.5,1.25", ""),
    CONV("hard", "activation=HardSigmoid activation_params=0.5,0.25", ""),
    GEMM("plain", "", "f 2N 4", "f 4 3"),
    GEMM("turned", "transA=1 transB=1 alpha=0.5 beta=-2.0 activation=Relu", "f 4 2N", "f 3 4",
         "f 3"),
    GEMM("columns", "activation=Affine activation_alpha=0.5 activation_beta=2.0", "f 2 4", "f 4 3",
         "f 2 1"),
    GEMM("elu", "activation=Elu activation_alpha=0.5", "f 2 4", "f 4 3"),
    GEMM("threshold", "activation=ThresholdedRelu activation_alpha=0.75", "f 2 4", "f 4 3"),
    GEMM("scaled_tanh", "activation=ScaledTanh activation_alpha=0.5 activation_beta=0.25", "f 2 4",
         "f 4 3"),
    ACTIVATED("Affine"),
    ACTIVATED("Elu"),
    ACTIVATED("HardSigmoid"),
    ACTIVATED("LeakyRelu"),
    ACTIVATED("ScaledTanh"),
    ACTIVATED("Sigmoid"),
    ACTIVATED("Softplus"),
    ACTIVATED("Softsign"),
    ACTIVATED("ThresholdedRelu"),
    OF(FUSED_MATMUL, fused_matmul, "matmul", "", "f 2 3", "f 2N 4", "f 4 3"),
    OF(FUSED_MATMUL, fused_matmul, "matmul_turned", "transA=1 alpha=-0.5", "f 2 2 3", "f 2N 4 2",
       "f 2N 4 3"),
    OF(FUSED_MATMUL, fused_matmul, "matmul_of_one", "transA=1 transB=1", "f 3 2 2", "f 3 1 2",
       "f 2 1"),
    OF(FUSED_MATMUL, fused_vector, "matmul_of_vector", "transA=1 alpha=2.0", "f 3", "f 4", "f 4 3"),
    OF(FUSED_MATMUL, fused_matmul, "matmul_of_nothing", "", "f 2 3", "f 2 0", "f 0 3"),
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
static void skip_layer(const node_case *of, const numbers *in, numbers *out) {
  static numbers sum;
  add_up(in, 4, &sum);
  for (int64_t k = 0; k < sum.elements; k++) {
    double y = normal(&sum, k, before(&sum, -1), attribute_number(of, "epsilon", 1e-12));
    out[0].values[k] = y * beside(&in[2], &sum, k) + (in[3].is_given ? beside(&in[3], &sum, k) : 0);
  }
  memcpy(out[1].values, sum.values, sizeof sum.values);
}

static void skip_rms(const node_case *of, const numbers *in, numbers *out) {
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

static void embed(const node_case *of, const numbers *in, numbers *out) {
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

#define LAYER_OF(name, attributes, ...)                                                            \
  {                                                                                                \
    {"skip_" name, SKIP, attributes, {"f 2N 3 4", __VA_ARGS__}, {"f 2 3 4", "-", "-", "f 2 3 4"}}, \
        skip_layer                                                                                 \
  }
#define RMS_OF(name, attributes, ...)                                                              \
  {                                                                                                \
    {"skip_rms_" name,                                                                             \
     SKIP_RMS,                                                                                     \
     attributes,                                                                                   \
     {"f 2N 3 4", __VA_ARGS__},                                                                    \
     {"f 2 3 4", "-", "-", "f 2 3 4"}},                                                            \
        skip_rms                                                                                   \
  }
#define EMBED_OF(name, attributes, ...)                                                            \
  { {"embed_" name, EMBED, attributes, {__VA_ARGS__}, {"f 2 3 4", "w 2", "f 2 3 4"}}, embed }
#define TOKENS "w 2N 3: 1 0 4 2 2 3"
#define SEGMENTS "w 2N 3: 0 0 1 1 0 1"

static const twin_case sums[] = {
    LAYER_OF("plain", "", "f 2N 3 4", "f 4"),
    LAYER_OF("bias", "epsilon=0.25", "f 2N 3 4", "f 4", "f 4"),
    LAYER_OF("three", "", "f 2N 3 4", "f 4", "f 4", "f 4"),
    LAYER_OF("three_without_beta", "", "f 2N 3 4", "f 4", "", "f 4"),
    LAYER_OF("of_rows", "", "f 3 4", "f 4", "f 4"),
    LAYER_OF("of_one_sample", "", "f 1 3 4", "f 4", "f 4"),
    OF(SKIP, skip_layer, "skip_small", "", "f 1 2 3", "f 1 2 3 *1e-4", "f 1 2 3 *1e-4", "f 3"),
    OF(SKIP, skip_layer, "skip_constant", "", "f 1 1 3", "f 1 1 3: 1 2 3", "f 1 1 3: 2 1 0", "f 3",
       "f 3"),
    OF(SKIP, skip_layer, "skip_of_half", "", "h 1 2 4", "h 1 2 4", "h 1 2 4", "h 4", "h 4"),
    RMS_OF("plain", "", "f 2N 3 4", "f 4"),
    RMS_OF("three", "epsilon=0.5", "f 2N 3 4", "f 4", "f 4"),
    OF(SKIP_RMS, skip_rms, "skip_rms_small", "", "f 2 3", "f 2 3 *1e-4", "f 2 3 *1e-4", "f 3"),
    OF(SKIP_RMS, skip_rms, "skip_rms_of_half", "", "h 2 4", "h 2 4", "h 2 4", "h 4", "h 4"),
    EMBED_OF("plain", "", TOKENS, SEGMENTS, "f 5 4", "f 4 4", "f 2 4", "f 4", "f 4"),
    EMBED_OF("without_segments", "epsilon=0.25", TOKENS, "", "f 5 4", "f 4 4", "", "f 4", "f 4"),
    EMBED_OF("mask", "mask_index_type=1", TOKENS, SEGMENTS, "f 5 4", "f 4 4", "f 2 4", "f 4", "f 4",
             "w 2N 3: 1 1 0 0 0 0"),
    EMBED_OF("places", "", TOKENS, "", "f 5 4", "f 4 4", "", "f 4", "f 4", "",
             "w 2N 3: 3 0 1 2 2 0"),
    EMBED_OF("places_of_all", "", TOKENS, "", "f 5 4", "f 4 4", "", "f 4", "f 4", "",
             "w 1 3: 3 0 2"),
    OF(EMBED, embed, "embed_alone", "", "f 1 1 2", "w 1 1: 2", "", "f 3 2", "f 1 2", "", "f 2",
       "f 2"),
};

/* ---- GELU ---- */

static void gelu(const node_case *of, const numbers *in, numbers *out) {
  for (int64_t k = 0; k < in[0].elements; k++) {
    double x = in[0].values[k] + (in[1].is_given ? beside(&in[1], &in[0], k) : 0);
    double turn = operator_is(of, MICROSOFT "Fast")
                      ? tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x))
                      : erf(x / sqrt(2));
    double quick = 1 / (1 + exp(-attribute_number(of, "alpha", 1.702) * x));
    out[0].values[k] = operator_is(of, MICROSOFT "Quick") ? x * quick : 0.5 * x * (1 + turn);
  }
}

static const twin_case gelus[] = {
    OF(MICROSOFT "Gelu", gelu, "gelu", "", "f 2 3", "f 2N 3"),
    OF(MICROSOFT "Gelu", gelu, "gelu_large", "", "f 2 3", "f 2N 3 *1e4"),
    OF(MICROSOFT "BiasGelu", gelu, "bias_gelu", "", "f 2 3", "f 2N 3", "f 3"),
    OF(MICROSOFT "FastGelu", gelu, "fast_gelu", "", "f 2 3", "f 2N 3"),
    OF(MICROSOFT "FastGelu", gelu, "fast_gelu_bias", "", "f 2 3", "f 2N 3 *100", "f 3"),
    OF(MICROSOFT "QuickGelu", gelu, "quick_gelu", "", "f 2 3", "f 2N 3"),
    OF(MICROSOFT "QuickGelu", gelu, "quick_gelu_alpha", "alpha=0.5", "f 2 3", "f 2N 3"),
    OF(MICROSOFT "QuickGelu", gelu, "quick_gelu_large", "", "f 2 3", "f 2N 3 *1e4"),
    OF(MICROSOFT "QuickGelu", gelu, "quick_gelu_half", "", "h 2 3", "h 2 3"),
};

/* ---- What is refused ---- */

#define CHANNELS "f 2", "f 2", "f 2", "f 2"

static const node_case refused[] = {
    {"batch_of_6_training", "BatchNormalization-6", "", {"f 1 2", CHANNELS}, {"training_mode"}},
    {"batch_results", "BatchNormalization", "", {"f 1 2", CHANNELS}, {"training_mode", "", ""}},
    {"batch_results_of_9",
     "BatchNormalization-9",
     "",
     {"f 1 2", CHANNELS},
     {"output 1, 'w', isn't computed", "", ""}},
    {"batch_training_vector",
     "BatchNormalization",
     "training_mode=1",
     {"f 2", CHANNELS},
     {"it takes [N, C, ...]"}},
    {"batch_channels", "BatchNormalization", "", {"f 1 3", CHANNELS}, {"sizes 3 and 2"}},
    {"batch_inputs", "BatchNormalization", "", {"f 1 2", "f 2"}, {"it has 2 inputs"}},
    {"instance_of_matrix",
     "InstanceNormalization",
     "",
     {"f 2 2", "f 2", "f 2"},
     {"it takes [N, C, D, ...]"}},
    {"layer_axis", "LayerNormalization", "axis=2", {"f 2 2", "f 2"}, {"axis 2 of 2 axes"}},
    {"layer_stash", "LayerNormalization", "stash_type=8", {"f 2 2", "f 2"}, {"stash_type", "", ""}},
    {"rms_axis", "RMSNormalization", "axis=-3", {"f 2 2", "f 2"}, {"axis -3 of 2 axes"}},
    {"group_of_vector",
     "GroupNormalization",
     "num_groups=1",
     {"f 2 2", "f 2", "f 2"},
     {"it takes images and groups above 0"}},
    {"group_of_0",
     "GroupNormalization",
     "num_groups=0",
     {"f 2 2 2", "f 2", "f 2"},
     {"it takes images and groups above 0"}},
    {"group_of_3",
     "GroupNormalization",
     "num_groups=3",
     {"f 2 4 2", "f 4", "f 4"},
     {"16 elements"}},
    {"mean_variance_axes",
     "MeanVarianceNormalization",
     "axes=0,4",
     {"f 2 2"},
     {"axis 4 of 2 axes"}},
    {"mean_variance_usual", "MeanVarianceNormalization", "", {"f 2 2"}, {"axis 2 is out of range"}},
    {"lp_power", "LpNormalization", "p=3", {"f 2 2"}, {"p must be 1 or 2"}},
    {"lp_axis", "LpNormalization", "axis=2", {"f 2 2"}, {"axis 2 of 2 axes"}},
    {"softmax_axis", "Softmax", "axis=-3", {"f 2 2"}, {"axis -3 of 2 axes"}},
    {"softmax_of_integers", "Softmax", "", {"w 2: 1 2"}, {"i32 is no float dtype"}},
    {"conv_activation",
     FUSED_CONV,
     "activation=Cube",
     {"f 1 1 2", "f 1 1 1"},
     {"the activation Cube"}},
    {"conv_sum", FUSED_CONV, "", {"f 1 1 2", "f 1 1 1", "", "f 1 1 3"}, {"sizes 2 and 3"}},
    {"gemm_activation", FUSED_GEMM, "activation=relu", {"f 1 2", "f 2 1"}, {"the activation relu"}},
    {"matmul_batch", FUSED_MATMUL, "transBatchA=1", {"f 2 2 2", "f 2 2 2"}, {"transBatchA or"}},
    {"matmul_other_batch", FUSED_MATMUL, "transBatchB=1", {"f 2 2 2", "f 2 2 2"}, {"transBatchB"}},
    {"matmul_sizes",
     FUSED_MATMUL,
     "transB=1",
     {"f 2 2", "f 3 4"},
     {"axis 1 of x and axis 0 of y differ in size"}},
    {"skip_mean", SKIP, "", {"f 1 2 2", "f 1 2 2", "f 2"}, {"output 1, 'w', isn't computed", ""}},
    {"skip_rms_deviation",
     SKIP_RMS,
     "",
     {"f 1 2 2", "f 1 2 2", "f 2"},
     {"output 2, 'x', isn't computed", "-", ""}},
    {"skip_sizes", SKIP, "", {"f 1 2 2", "f 1 3 2", "f 2"}, {"sizes 2 and 3"}},
    {"embed_rank",
     EMBED,
     "",
     {"w 2: 0 0", "", "f 3 2", "f 2 2", "", "f 2", "f 2"},
     {"it takes tokens [batch, length]"}},
    {"embed_of_floats",
     EMBED,
     "",
     {"f 1 2", "", "f 3 2", "f 2 2", "", "f 2", "f 2"},
     {"indices of dtype f32 are no integers"}},
    {"embed_without_gamma",
     EMBED,
     "",
     {"w 1 2: 0 0", "", "f 3 2", "f 2 2", "", "", "f 2"},
     {"input 5 is left out"}},
};

static const node_case failing[] = {
    {"embed_token",
     EMBED,
     "",
     {"w 1 2: 0 3", "", "f 3 2", "f 2 2", "", "f 2", "f 2"},
     {"index 3 (element 1 of the indices) is outside of axis 0"}},
    {"embed_too_long",
     EMBED,
     "",
     {"w 1 3: 0 1 2", "", "f 3 2", "f 2 2", "", "f 2", "f 2"},
     {"index 2 (element 2 of the indices) is outside of axis 0"}},
    {"batch_of_symbols",
     "BatchNormalization",
     "",
     {"f 1 3N", CHANNELS},
     {"axis 1 of operand 0 has size N = 3, which should be 2"}},
};

void ct_register(void) {
  static const struct {
    const char *suite;
    const twin_case *cases;
    size_t n;
  } suites[] = {{"onnx_normalize", normalizations, CT_COUNT(normalizations)},
                {"onnx_fused", products, CT_COUNT(products)},
                {"onnx_fused_sums", sums, CT_COUNT(sums)},
                {"onnx_gelu", gelus, CT_COUNT(gelus)}};
  for (size_t s = 0; s < CT_COUNT(suites); s++) {
    for (size_t k = 0; k < suites[s].n; k++) {
      const twin_case *of = &suites[s].cases[k];
      CT_ADD(suites[s].suite, of->node.name, node_is_as_twin, of);
      if (k % 8 == 7) {
        CT_ADD("onnx_fused_memory", of->node.name, node_without_memory, &of->node);
      }
    }
  }
  for (size_t k = 0; k < CT_COUNT(refused); k++) {
    CT_ADD("onnx_fused_refused", refused[k].name, node_is_refused, &refused[k]);
  }
  for (size_t k = 0; k < CT_COUNT(failing); k++) {
    CT_ADD("onnx_fused_fails", failing[k].name, node_fails, &failing[k]);
  }
}
