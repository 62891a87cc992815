/* SPDX-License-Identifier: MIT
 *
 * ONNX's LinearAttention and the causal convolution that stands before it, against plain loops over
 * single numbers, written from onnx/docs/Operators.md; and what is refused of them.
 */
#include "support/onnx-node.h"

#define LINEAR "LinearAttention-27"
#define CAUSAL "CausalConvWithState-27"
#define ONE_HEAD LINEAR "<q_num_heads=1, kv_num_heads=1"

/* ---- LinearAttention ---- */

/* Element D of head H at place I of sample B of what is one number for all heads, for each, or for
 * each element of each. */
static double gate(const numbers *t, int n, int b, int h, int i, int d) {
  int width = (int)t->shape[2];
  int k = width == 1 ? 0 : width == n ? h : h * (width / n) + d;
  return t->values[(b * t->shape[1] + i) * width + k];
}

/* Element D of head H of N at place I of sample B. */
static double at(const numbers *t, int n, int b, int h, int i, int d) {
  return t->values[((b * t->shape[1] + i) * n + h) * (t->shape[2] / n) + d];
}

/* The MEMORY [keys][values] of head PLACE[1] of N of sample PLACE[0] behind place PLACE[2]. */
static void remember(const numbers *in, int n, const int place[3], double *memory) {
  int b = place[0], h = place[1], i = place[2];
  int keys = (int)in[1].shape[2] / n, values = (int)in[2].shape[2] / n;
  for (int g = 0; g < keys * values && in[4].is_given; g++) {
    memory[g] *= exp(gate(&in[4], n, b, h, i, g / values));
  }
  for (int e = 0; e < values; e++) {
    double value = at(&in[2], n, b, h, i, e);
    for (int d = 0; d < keys && in[5].is_given; d++) {
      value -= memory[d * values + e] * at(&in[1], n, b, h, i, d);
    }
    value *= in[5].is_given ? gate(&in[5], n, b, h, i, 0) : 1;
    for (int d = 0; d < keys; d++) {
      memory[d * values + e] += at(&in[1], n, b, h, i, d) * value;
    }
  }
}

/* What query head H reads in MEMORY at place I of sample B: element E. */
static double recall(const numbers *q, int n, const int place[3], const double *memory, int values,
                     int e) {
  double sum = 0;
  for (int d = 0; d < q->shape[2] / n; d++) {
    sum += at(q, n, place[0], place[1], place[2], d) * memory[d * values + e];
  }
  return sum;
}

static void linear_attention(const node *of, const numbers *in, numbers *out) {
  int n = (int)attribute_number(of, "q_num_heads", 0), length = (int)in[0].shape[1];
  int few = (int)attribute_number(of, "kv_num_heads", 0), values = (int)in[2].shape[2] / few;
  int elements = (int)in[0].shape[2] / n * values;
  double scale = attribute_number(of, "scale", 0);
  scale = scale != 0 ? scale : 1 / sqrt((double)in[0].shape[2] / n);
  for (int g = 0; g < in[0].shape[0] * few; g++) {
    double memory[MOST_ELEMENTS] = {0};
    memcpy(memory, in[3].values + g * elements, (size_t)elements * sizeof *memory);
    for (int i = 0; i < length; i++) {
      const int place[3] = {g / few, g % few, i};
      remember(in, few, place, memory);
      for (int r = 0; r < n / few * values; r++) {
        const int reader[3] = {g / few, g % few * (n / few) + r / values, i};
        int to = ((reader[0] * length + i) * n + reader[1]) * values + r % values;
        out[0].values[to] = scale * recall(&in[0], n, reader, memory, values, r % values);
      }
    }
    memcpy(out[1].values + g * elements, memory, (size_t)elements * sizeof *memory);
  }
}

#define ROWS "f 2N 3 8, f 2N 3 4, f 2N 3 6"

static const node_case linear[] = {
    {"linear_linear",
     LINEAR "<q_num_heads=4, kv_num_heads=2, update_rule=linear>(" ROWS ") => f 2 3 12, f 2 2 2 3"},
    {"linear_past", LINEAR "<q_num_heads=4, kv_num_heads=2, update_rule=linear, scale=0.75>(" ROWS
                           ", f 2 2 2 3) => f 2 3 12, f 2 2 2 3"},
    {"linear_gated", LINEAR "<q_num_heads=4, kv_num_heads=2, update_rule=gated>(" ROWS
                            ", , f 2 3 2) => f 2 3 12, f 2 2 2 3"},
    {"linear_gated_by_element", LINEAR "<q_num_heads=4, kv_num_heads=2, update_rule=gated>(" ROWS
                                       ", f 2 2 2 3, f 2 3 4) => f 2 3 12, f 2 2 2 3"},
    {"linear_delta", LINEAR "<q_num_heads=4, kv_num_heads=2, update_rule=delta>(" ROWS
                            ", , , f 2 3 2) => f 2 3 12, f 2 2 2 3"},
    {"linear_delta_of_one", LINEAR "<q_num_heads=4, kv_num_heads=2, update_rule=delta>(" ROWS
                                   ", f 2 2 2 3, , f 2 3 1) => f 2 3 12, f 2 2 2 3"},
    {"linear_both",
     LINEAR "<q_num_heads=4, kv_num_heads=2, update_rule=gated_delta, chunk_size=2>(" ROWS
            ", f 2 2 2 3, f 2 3 4, f 2 3 2) => f 2 3 12, f 2 2 2 3"},
    {"linear_both_unsaid", LINEAR "<q_num_heads=4, kv_num_heads=2>(" ROWS
                                  ", f 2 2 2 3, f 2 3 2, f 2 3 1) => f 2 3 12, f 2 2 2 3"},
    {"linear_of_one_head", LINEAR "<q_num_heads=1, kv_num_heads=1>(f 1 4 1, f 1 4 1, f 1 4 1, , "
                                  "f 1 4 1, f 1 4 1) => f 1 4 1"},
    {"linear_of_no_steps", LINEAR "<q_num_heads=2, kv_num_heads=1, update_rule=linear>(f 1 0 4, "
                                  "f 1 0 2, f 1 0 3, f 1 1 2 3) => f 1 0 6, f 1 1 2 3"},
    {"linear_half", LINEAR "<q_num_heads=2, kv_num_heads=1>(h 1 2 4, h 1 2 2, h 1 2 2, f 1 1 2 2, "
                           "h 1 2 2, h 1 2 1) => h 1 2 4, f 1 1 2 2"},
    {"linear_half_without_past", LINEAR "<q_num_heads=1, kv_num_heads=1, update_rule=linear>("
                                        "h 1 2 2, h 1 2 2, h 1 2 2) => h 1 2 2, h 1 1 2 2"},
};

/* ---- CausalConvWithState ---- */

static void causal_conv(const node *of, const numbers *in, numbers *out) {
  int n = (int)in[0].shape[0], channels = (int)in[0].shape[1], length = (int)in[0].shape[2];
  int k = (int)in[1].shape[2], is_silu = !attribute_is(of, "activation", "none");
  is_silu = is_silu && attribute_text(of, "activation") != NULL;
  for (int g = 0; g < n * channels; g++) {
    double padded[MOST_ELEMENTS] = {0};
    for (int i = 0; i < length + k - 1; i++) {
      padded[i] = i >= k - 1       ? in[0].values[g * length + i - k + 1]
                  : in[3].is_given ? in[3].values[g * (k - 1) + i]
                                   : 0;
    }
    for (int i = 0; i < length; i++) {
      double sum = in[2].is_given ? in[2].values[g % channels] : 0;
      for (int w = 0; w < k; w++) {
        sum += in[1].values[g % channels * k + w] * padded[i + w];
      }
      out[0].values[g * length + i] = is_silu ? sum / (1 + exp(-sum)) : sum;
    }
    memcpy(out[1].values + g * (k - 1), padded + length, (size_t)(k - 1) * sizeof *padded);
  }
}

static const node_case causal[] = {
    {"causal_plain", CAUSAL "(f 2N 3 4, f 3 1 3, ) => f 2 3 4, f 2 3 2"},
    {"causal_bias", CAUSAL "<activation=none>(f 2N 3 4, f 3 1 3, f 3) => f 2 3 4, f 2 3 2"},
    {"causal_past", CAUSAL "<activation=silu>(f 2N 3 4, f 3 1 3, , f 2N 3 2) => f 2 3 4, f 2 3 2"},
    {"causal_bias_past",
     CAUSAL "<activation=swish>(f 2N 3 4, f 3 1 3, f 3, f 2N 3 2) => f 2 3 4, f 2 3 2"},
    {"causal_of_one", CAUSAL "(f 1 2 3, f 2 1 1) => f 1 2 3"},
    {"causal_short", CAUSAL "(f 1 2 1, f 2 1 4, , f 1 2 3) => f 1 2 1, f 1 2 3"},
    {"causal_half", CAUSAL "<activation=silu>(h 1 2 3, h 2 1 2, h 2, h 1 2 1) => h 1 2 3, h 1 2 1"},
};

/* ---- What is refused ---- */

static const refused_case refused[] = {
    {"linear_heads", LINEAR "<q_num_heads=3, kv_num_heads=2>(f 1 1 3, f 1 1 2, f 1 1 2)",
     "3 heads of queries for 2 of keys"},
    {"linear_without_heads", LINEAR "(f 1 1 3, f 1 1 2, f 1 1 2)", "0 heads of queries"},
    {"linear_rule", ONE_HEAD ", update_rule=cubic>(f 1 1 2, f 1 1 2, f 1 1 2)",
     "update_rule cubic"},
    {"linear_without_decay", ONE_HEAD ", update_rule=gated>(f 1 1 2, f 1 1 2, f 1 1 2)",
     "decay or beta don't belong"},
    {"linear_with_beta", ONE_HEAD ", update_rule=linear>(f 1 1 2, f 1 1 2, f 1 1 2, , , f 1 1 1)",
     "decay or beta don't belong"},
    {"linear_by_heads", ONE_HEAD ", update_rule=linear>(f 1 1 2 2, f 1 2 2, f 1 2 2)",
     "input 0 must be [batch, length, heads * size]"},
    {"linear_decay_rank", ONE_HEAD ", update_rule=gated>(f 1 1 2, f 1 1 2, f 1 1 2, , f 1 2)",
     "input 4 must be [batch, length, heads * size]"},
    {"linear_size_of_symbol", ONE_HEAD ", update_rule=linear>(f 1 1 2N, f 1 1 2N, f 1 1 2)",
     "a size of heads"},
    {"linear_past", ONE_HEAD ", update_rule=linear>(f 1 1 2, f 1 1 2, f 1 1 2, f 1 1 3 2)",
     "sizes 3 and 2 along axis 2"},
    {"causal_rank", CAUSAL "(f 2 3, f 2 1 2)", "it takes [batch, channels, length]"},
    {"causal_weights", CAUSAL "(f 1 2 3, f 2 2)", "weights of known sizes"},
    {"causal_channels", CAUSAL "(f 1 2N 3, f 2 1 2)", "weights of known sizes"},
    {"causal_no_weights", CAUSAL "(f 1 2 3, f 2 1 0)", "weights of known sizes"},
    {"causal_activation", CAUSAL "<activation=relu>(f 1 2 3, f 2 1 2)", "activation relu"},
    {"causal_not_depthwise", CAUSAL "(f 1 2 3, f 2 2 2)",
     "the number of channels is 2 and should be 4"},
    {"causal_past", CAUSAL "(f 1 2 3, f 2 1 2, , f 1 2 2)", "a past of 2 places"},
    {"linear_beta",
     LINEAR "<q_num_heads=2, kv_num_heads=2, update_rule=delta>(f 1 1 4, f 1 1 4, "
            "f 1 1 4, , , f 1 1 4)",
     "4 numbers a place for 2 heads"},
    {"linear_decay_of_one",
     LINEAR "<q_num_heads=2, kv_num_heads=2, update_rule=gated>(f 1 1 4, "
            "f 1 1 4, f 1 1 4, , f 1 1 1)",
     "1 numbers a place for 2 heads"},
};

static const onnx_definition definitions[] = {
    {"LinearAttention", linear_attention}, {"CausalConvWithState", causal_conv}, {NULL, NULL}};

void ct_register(void) {
  onnx_definitions = definitions;
  NODE_SUITE("onnx_linear_attention", linear, node_is_as_twin);
  NODE_SUITE("onnx_causal_conv", causal, node_is_as_twin);
  NODE_MEMORY("onnx_linear_memory", linear, CT_COUNT(linear) - 2, 2);
  NODE_MEMORY("onnx_linear_memory", causal, CT_COUNT(causal) - 1, 1);
  NODE_SUITE("onnx_linear_refused", refused, node_is_refused);
}
