/* SPDX-License-Identifier: MIT
 *
 * Kinds of attention that ONNX and ONNX Runtime have (Attention, MultiHeadAttention,
 * GroupQueryAttention), and what turns heads by their places (RotaryEmbedding), against plain loops
 * over single numbers, written from onnx/docs/Operators.md and ONNX Runtime's ContribOperators.md;
 * and what is refused of them.
 */
#include "support/onnx-node.h"

#define MICROSOFT "com.microsoft."
#define PACKED MICROSOFT "Attention"
#define MULTI_HEAD MICROSOFT "MultiHeadAttention"
#define GROUP_QUERY MICROSOFT "GroupQueryAttention"
#define ROTARY MICROSOFT "RotaryEmbedding"

enum { MOST_SCORES = 2 * MOST_ELEMENTS };

/* ---- Heads ---- */

/* [batch, n, length, size] */
typedef struct heads {
  int batch, n, length, size;
  double x[MOST_SCORES];
} heads;

static double *at(heads *t, int b, int h, int s, int d) {
  return &t->x[((b * t->n + h) * t->length + s) * t->size + d];
}

static void make(heads *t, int batch, int n, int length, int size) {
  *t = (heads){batch, n, length, size, {0}};
  CT_CHECK(batch * n * length * size <= MOST_SCORES);
}

/* FROM of 4 axes, or the N heads from element FIRST of its last axis on, SIZE elements each. */
static void split(heads *t, const numbers *from, int n, int first, int size) {
  const int64_t *s = from->shape;
  int packed = from->rank == 3;
  make(t, (int)s[0], packed ? n : (int)s[1], (int)s[packed ? 1 : 2], packed ? size : (int)s[3]);
  for (int k = 0; k < t->batch * t->n * t->length * t->size; k++) {
    int d = k % t->size, i = k / t->size % t->length, h = k / t->size / t->length % t->n;
    int row = k / t->size / t->length / t->n * t->length + i;
    t->x[k] = from->values[packed ? row * (int)s[2] + first + h * t->size + d : k];
  }
}

/* FROM of 4 axes, or N heads of all its last axis. */
static void by_heads(heads *t, const numbers *from, int n) {
  split(t, from, n, 0, from->rank == 3 ? (int)from->shape[2] / n : 0);
}

/* OUT is T, by heads or together. */
static void store(heads *t, numbers *out) {
  for (int k = 0; k < t->batch * t->n * t->length * t->size; k++) {
    int d = k % t->size, i = k / t->size % t->length, h = k / t->size / t->length % t->n;
    int row = k / t->size / t->length / t->n * t->length + i;
    out->values[out->rank == 3 ? (row * t->n + h) * t->size + d : k] = t->x[k];
  }
}

/* T behind PAST, if that is given; element FIRST on. */
static void behind(heads *t, const numbers *past, int64_t first) {
  static heads all;
  if (!past->is_given) {
    return;
  }
  int before = (int)past->shape[past->rank - 2];
  make(&all, t->batch, t->n, before + t->length, t->size);
  for (int k = 0; k < all.batch * all.n * all.length * all.size; k++) {
    int d = k % all.size, i = k / all.size % all.length, g = k / all.size / all.length;
    all.x[k] = i < before ? past->values[first + (g * before + i) * all.size + d]
                          : t->x[(g * t->length + i - before) * t->size + d];
  }
  *t = all;
}

/* ---- Scores ---- */

/* All [batch, heads, queries, keys]; BIAS is -INFINITY where a query doesn't see a key. */
typedef struct scores {
  double scale, cap, filler;
  int has_sink;
  double sink[8];
  double raw[MOST_SCORES], soft[MOST_SCORES], bias[MOST_SCORES], biased[MOST_SCORES],
      p[MOST_SCORES];
} scores;

/* The shares P of N scores X and one more, SINK; all 0 where every score is -INFINITY. */
static void softmax(const double *x, int n, const double *sink, double *p) {
  double most = sink != NULL ? *sink : -(double)INFINITY, sum = 0;
  for (int k = 0; k < n; k++) {
    most = fmax(most, x[k]);
  }
  for (int k = 0; k < n; k++) {
    p[k] = most == -(double)INFINITY ? 0 : exp(x[k] - most);
    sum += p[k];
  }
  sum += sink != NULL ? exp(*sink - most) : 0;
  for (int k = 0; k < n && sum > 0; k++) {
    p[k] /= sum;
  }
}

/* Query I of head H of sample B. */
static void attend_one(scores *s, heads *q, heads *k, heads *v, heads *y, const int place[3]) {
  int b = place[0], h = place[1], i = place[2], group = h / (q->n / k->n);
  int row = ((b * q->n + h) * q->length + i) * k->length;
  for (int j = 0; j < k->length; j++) {
    double dot = 0;
    for (int d = 0; d < q->size; d++) {
      dot += *at(q, b, h, i, d) * *at(k, b, group, j, d);
    }
    s->raw[row + j] = s->scale * dot;
    s->soft[row + j] = s->cap != 0 ? s->cap * tanh(s->raw[row + j] / s->cap) : s->raw[row + j];
    s->biased[row + j] = s->soft[row + j] + s->bias[row + j];
  }
  softmax(s->biased + row, k->length, s->has_sink ? &s->sink[h] : NULL, s->p + row);
  for (int j = 0; j < k->length; j++) {
    for (int d = 0; d < v->size; d++) {
      *at(y, b, h, i, d) += s->p[row + j] * *at(v, b, group, j, d);
    }
  }
}

static void attend(scores *s, heads *q, heads *k, heads *v, heads *y) {
  make(y, q->batch, q->n, q->length, v->size);
  for (int g = 0; g < q->batch * q->n * q->length; g++) {
    const int place[3] = {g / q->length / q->n, g / q->length % q->n, g % q->length};
    attend_one(s, q, k, v, y, place);
  }
}

/* The element of T that belongs to PLACE of 4 axes; OUTSIDE behind its last axis, which isn't
 * repeated. */
static double broadcast(const numbers *t, const int place[4], double outside) {
  int64_t offset = 0;
  for (int k = 0; k < t->rank; k++) {
    int index = place[4 - t->rank + k];
    if (k == t->rank - 1 && index >= t->shape[k]) {
      return outside;
    }
    offset = offset * t->shape[k] + (t->shape[k] == 1 ? 0 : index);
  }
  return t->values[offset];
}

/* ---- ONNX's Attention ---- */

static double seen_if(int is_seen) {
  return is_seen ? 0 : -(double)INFINITY;
}

/* What inputs 3 (mask), 4 (past) and 6 (lengths) make of key PLACE[3] for query PLACE[2]. */
static double attention_bias(const node *of, const numbers *in, const int place[4], int queries) {
  double bias = 0, left = attribute_number(of, "left_window_size", -1);
  double right = attribute_number(of, "right_window_size", -1);
  int p = place[2], j = place[3];
  p += in[4].is_given   ? (int)in[4].shape[2]
       : in[6].is_given ? (int)in[6].values[place[0]] - queries
                        : 0;
  if (in[3].is_given) {
    double mask = broadcast(&in[3], place, in[3].dtype == GEMEL_BOOL ? 0 : -(double)INFINITY);
    bias += in[3].dtype == GEMEL_BOOL ? seen_if(mask != 0) : mask;
  }
  bias += seen_if(!attribute_number(of, "is_causal", 0) || j <= p);
  bias += seen_if(left < 0 || j >= p - left) + seen_if(right < 0 || j <= p + right);
  return bias + seen_if(!in[6].is_given || j < in[6].values[place[0]]);
}

static void attention(const node *of, const numbers *in, numbers *out) {
  static heads q, k, v, y;
  static scores s;
  int few = (int)attribute_number(of, "kv_num_heads", 0);
  by_heads(&q, &in[0], (int)attribute_number(of, "q_num_heads", 0));
  by_heads(&k, &in[1], few);
  by_heads(&v, &in[2], few);
  behind(&k, &in[4], 0);
  behind(&v, &in[5], 0);
  s = (scores){.scale = attribute_number(of, "scale", 1 / sqrt(q.size)),
               .cap = attribute_number(of, "softcap", 0)};
  for (int g = 0; g < q.batch * q.n * q.length * k.length; g++) {
    const int place[4] = {g / k.length / q.length / q.n, g / k.length / q.length % q.n,
                          g / k.length % q.length, g % k.length};
    s.bias[g] = attention_bias(of, in, place, q.length);
  }
  attend(&s, &q, &k, &v, &y);
  store(&y, &out[0]);
  store(&k, &out[1]);
  store(&v, &out[2]);
  const double *ways[4] = {s.raw, s.soft, s.biased, s.p};
  memcpy(out[3].values, ways[(int)attribute_number(of, "qk_matmul_output_mode", 0)],
         sizeof out[3].values);
}

#define SEEN "b 2 4: 1 0 1 1 0 0 0 0"
#define ADDED "f 1 2 2 4: 0.5 -1 2 0 -inf -inf -inf -inf -inf 1 -inf 0.25 -3 -inf -inf -inf"
#define FOUR_BY_HEADS "f 1 2 2 3, f 1 2 4 3, f 1 2 4 2"
#define MODE(k)                                                                                    \
  {                                                                                                \
    "attention_mode_" #k, "Attention<softcap=0.75, qk_matmul_output_mode=" #k                      \
                          ">(f 1 2 2 3, f 1 2 3 3, f 1 2 3 2, " ADDED                              \
                          ", f 1 2 1 3, f 1 2 1 2) => f 1 2 2 2, f 1 2 4 3, f 1 2 4 2, f 1 2 2 4"  \
  }

static const node_case attentions[] = {
    {"attention_of_one", "Attention-25(f 1 1 1 1, f 1 1 1 1, f 1 1 1 1) => f 1 1 1 1"},
    {"attention_packed",
     "Attention-25<q_num_heads=2, kv_num_heads=2>(f 2N 3 4, f 2N 5 4, f 2N 5 6) => f 2 3 6"},
    {"attention_groups",
     "Attention-25<q_num_heads=4, kv_num_heads=2>(f 1 2 8, f 1 3 4, f 1 3 2) => f 1 2 4"},
    {"attention_of_one_key_head", "Attention-25(f 2 4 2 2, f 2 1 3 2, f 2 1 3 1) => f 2 4 2 1"},
    {"attention_scaled", "Attention-25<scale=2.5>(" FOUR_BY_HEADS ") => f 1 2 2 2"},
    {"attention_scaled_by_symbol",
     "Attention-25<scale=0.5>(f 1 1 2 3N, f 1 1 2 3N, f 1 1 2 1) => f 1 1 2 1"},
    {"attention_large",
     "Attention-25(f 1 2 2 3 *1e4, f 1 2 4 3 *1e4, f 1 2 4 2 *1e4) => f 1 2 2 2"},
    {"attention_capped", "Attention-25<softcap=0.5>(" FOUR_BY_HEADS ") => f 1 2 2 2"},
    {"attention_no_batch", "Attention-25(f 0 1 2 3, f 0 1 2 3, f 0 1 2 1) => f 0 1 2 1"},
    {"attention_no_queries",
     "Attention-25<is_causal=1>(f 1 1 0 3, f 1 1 2 3, f 1 1 2 1) => f 1 1 0 1"},
    {"attention_no_keys", "Attention-25(f 1 1 2 3, f 1 1 0 3, f 1 1 0 1) => f 1 1 2 1"},
    {"attention_no_keys_in_order",
     "Attention-25<is_causal=1>(f 1 1 2 3, f 1 1 0 3, f 1 1 0 1) => f 1 1 2 1"},
    {"attention_seen", "Attention-25(" FOUR_BY_HEADS ", " SEEN ") => f 1 2 2 2"},
    {"attention_nothing_seen", "Attention-25(" FOUR_BY_HEADS ", b 1 1: 0) => f 1 2 2 2"},
    {"attention_added", "Attention-25(" FOUR_BY_HEADS ", " ADDED ") => f 1 2 2 2"},
    {"attention_added_to_all", "Attention-25(" FOUR_BY_HEADS ", f: 3.5) => f 1 2 2 2"},
    {"attention_added_to_first",
     "Attention-25(" FOUR_BY_HEADS ", f 1 2 2 1: 0.5 -1 2 -inf) => f 1 2 2 2"},
    {"attention_first_seen", "Attention-25(" FOUR_BY_HEADS ", b 2 1: 1 0) => f 1 2 2 2"},
    {"attention_nothing_added", "Attention-25(" FOUR_BY_HEADS ", f 1: -inf) => f 1 2 2 2"},
    {"attention_short_seen", "Attention-25(" FOUR_BY_HEADS ", b 2 3: 1 0 1 0 0 0) => f 1 2 2 2"},
    {"attention_short_added",
     "Attention-25<is_causal=1>(" FOUR_BY_HEADS ", f 2 3: 0.5 -inf 2 -inf 0 1) => f 1 2 2 2"},
    {"attention_in_order", "Attention-25<is_causal=1>(" FOUR_BY_HEADS ") => f 1 2 2 2"},
    {"attention_in_order_added",
     "Attention-25<is_causal=1>(" FOUR_BY_HEADS ", " ADDED ") => f 1 2 2 2"},
    {"attention_in_order_seen",
     "Attention-25<is_causal=1>(" FOUR_BY_HEADS ", " SEEN ") => f 1 2 2 2"},
    {"attention_left",
     "Attention-25<left_window_size=1>(f 1 1 5 2, f 1 1 5 2, f 1 1 5 1) => f 1 1 5 1"},
    {"attention_right",
     "Attention-25<right_window_size=0>(f 1 1 5 2, f 1 1 5 2, f 1 1 5 1) => f 1 1 5 1"},
    {"attention_window", "Attention-25<left_window_size=2, right_window_size=1>(f 1 1 4 2, "
                         "f 1 1 6 2, f 1 1 6 1) => f 1 1 4 1"},
    {"attention_window_in_order", "Attention-25<left_window_size=0, right_window_size=2, "
                                  "is_causal=1>(f 1 1 3 2, f 1 1 3 2, f 1 1 3 1) => f 1 1 3 1"},
    {"attention_window_of_nothing",
     "Attention-25<left_window_size=0>(f 1 1 4 2, f 1 1 2 2, f 1 1 2 1) => f 1 1 4 1"},
    {"attention_of_half", "Attention-25<is_causal=1>(h 1 2 2 3, h 1 2 4 3, h 1 2 4 2, "
                          "h 2 4: 0.5 -1 2 0 1 -inf 2 3) => h 1 2 2 2"},
    {"attention_of_bf16", "Attention-25(B 1 2 2 3, B 1 2 4 3, B 1 2 4 2) => B 1 2 2 2"},
    {"attention_of_double",
     "Attention-25<softmax_precision=11>(d 1 2 2 3, d 1 2 4 3, d 1 2 4 2) => d 1 2 2 2"},
    {"attention_wide_softmax",
     "Attention-25<softmax_precision=1>(h 1 2 2 3, h 1 2 4 3, h 1 2 4 2) => h 1 2 2 2"},
    {"attention_lengths",
     "Attention-25(f 2N 1 2 2, f 2N 1 4 2, f 2N 1 4 1, , , , i 2: 4 1) => f 2 1 2 1"},
    {"attention_lengths_in_order",
     "Attention-25<is_causal=1>(f 3 1 3 2, f 3 1 5 2, f 3 1 5 1, , , , i 3: 5 1 0) => f 3 1 3 1"},
    {"attention_lengths_window", "Attention-25<left_window_size=1, right_window_size=0>("
                                 "f 2 1 2 2, f 2 1 4 2, f 2 1 4 1, , , , i 2: 4 2) => f 2 1 2 1"},
    {"attention_lengths_short_mask", "Attention-25(f 2 1 2 2, f 2 1 4 2, f 2 1 4 1, "
                                     "f 2 3: 0 1 2 3 4 5, , , i 2: 3 2) => f 2 1 2 1"},
    {"attention_past", "Attention<is_causal=1, q_num_heads=4, kv_num_heads=2>(f 2 2 8, f 2 2 4, "
                       "f 2 2 6, , f 2 2 3 2, f 2 2 3 3) => f 2 2 12, f 2 2 5 2, f 2 2 5 3"},
    {"attention_past_of_symbol",
     "Attention<left_window_size=1, right_window_size=0>(f 1 1 2 2, f 1 1 2 2, f 1 1 2 3, , "
     "f 1 1 3N 2, f 1 1 3N 3) => f 1 1 2 3, f 1 1 5 2, f 1 1 5 3"},
    {"attention_past_of_0", "Attention<is_causal=1>(f 1 1 2 2, f 1 1 2 2, f 1 1 2 3, , f 1 1 0 2, "
                            "f 1 1 0 3) => f 1 1 2 3, f 1 1 2 2, f 1 1 2 3"},
    MODE(0),
    MODE(1),
    MODE(2),
    MODE(3),
};

/* ---- ONNX Runtime's Attention and MultiHeadAttention ---- */

/* Whether key J counts for query I of sample B, by MASK: 1 where it does, of two or three axes, or
 * the numbers of keys in each sample, or their ends and then their starts. */
static int counts(const numbers *mask, int batch, int b, int i, int j) {
  const double *v = mask->values;
  const int64_t *s = mask->shape;
  return mask->rank == 3   ? v[(b * s[1] + i) * s[2] + j] != 0
         : mask->rank == 2 ? v[b * s[1] + j] != 0
                           : j < v[b] && (s[0] == batch || j >= v[batch + b]);
}

/* Attends to K and V with what is ADDED to scores and the MASK. */
static void attend_masked(const node *of, heads parts[3], const numbers *added, const numbers *mask,
                          numbers *out) {
  static heads y;
  static scores s;
  heads *q = &parts[0], *k = &parts[1];
  double scale = attribute_number(of, "scale", 0);
  s = (scores){.scale = scale != 0 ? scale : 1 / sqrt(q->size)};
  for (int g = 0; g < q->batch * q->n * q->length * k->length; g++) {
    const int place[4] = {g / k->length / q->length / q->n, g / k->length / q->length % q->n,
                          g / k->length % q->length, g % k->length};
    int last = place[2] + k->length - q->length;
    s.bias[g] = added->is_given ? broadcast(added, place, 0) : 0;
    s.bias[g] += mask->is_given && !counts(mask, q->batch, place[0], place[2], place[3])
                     ? attribute_number(of, "mask_filter_value", -10000)
                     : 0;
    s.bias[g] += seen_if(!attribute_number(of, "unidirectional", 0) || place[3] <= last);
  }
  attend(&s, q, k, &parts[2], &y);
  store(&y, out);
}

/* X [batch, length, size] times W [size, all] plus BIAS. */
static void project(const numbers *x, const numbers *w, const numbers *bias, numbers *all) {
  int size = (int)w->shape[0], width = (int)w->shape[1];
  *all = (numbers){.rank = 3, .shape = {x->shape[0], x->shape[1], width}};
  for (int k = 0; k < x->shape[0] * x->shape[1] * width; k++) {
    all->values[k] = bias->is_given ? bias->values[k % width] : 0;
    for (int d = 0; d < size; d++) {
      all->values[k] += x->values[k / width * size + d] * w->values[d * width + k % width];
    }
  }
}

static void packed_attention(const node *of, const numbers *in, numbers *out) {
  static heads parts[3];
  static numbers all;
  project(&in[0], &in[1], &in[2], &all);
  const char *sizes = attribute_text(of, "qkv_hidden_sizes");
  int n = (int)attribute_number(of, "num_heads", 0), first = 0;
  for (int k = 0; k < 3; k++) {
    int size = sizes != NULL ? (int)strtol(sizes, (char **)&sizes, 10) : (int)all.shape[2] / 3;
    sizes += sizes != NULL;
    split(&parts[k], &all, n, first, size / n);
    first += size;
  }
  for (int k = 1; k < 3; k++) {
    behind(&parts[k], &in[4], (k - 1) * in[4].elements / 2);
    int elements = parts[k].batch * n * parts[k].length * parts[k].size;
    memcpy(out[1].values + (k - 1) * elements, parts[k].x, (size_t)elements * sizeof(double));
  }
  attend_masked(of, parts, &in[5], &in[3], out);
}

static void multi_head_attention(const node *of, const numbers *in, numbers *out) {
  static heads parts[3];
  static numbers x;
  int n = (int)attribute_number(of, "num_heads", 0), first = 0;
  for (int k = 0; k < 3; k++) {
    int width = (int)in[k].shape[2];
    x = in[k];
    for (int g = 0; in[3].is_given && g < x.elements; g++) {
      x.values[g] += in[3].values[first + g % width];
    }
    first += width;
    by_heads(&parts[k], &x, n);
    if (k > 0) {
      behind(&parts[k], &in[5 + k], 0);
      store(&parts[k], &out[k]);
    }
  }
  attend_masked(of, parts, &in[5], &in[4], out);
}

static const node_case of_runtime[] = {
    {"packed_without_bias", PACKED "<num_heads=2>(f 2N 3 3, f 3 12, ) => f 2 3 4"},
    {"packed_bias", PACKED "<num_heads=2>(f 2N 3 3, f 3 12, f 12) => f 2 3 4"},
    {"packed_scale", PACKED "<num_heads=2, scale=0.75>(f 2N 3 3, f 3 12, f 12) => f 2 3 4"},
    {"packed_in_order",
     PACKED "<num_heads=2, unidirectional=1>(f 2N 3 3, f 3 12, f 12) => f 2 3 4"},
    {"packed_mask", PACKED "<num_heads=2>(f 2N 3 3, f 3 12, f 12, w 2N 3: 1 1 0 0 1 1) => f 2 3 4"},
    {"packed_mask_of_queries", PACKED "<num_heads=2>(f 2N 3 3, f 3 12, f 12, "
                                      "w 2N 3 3: 1 1 0 0 1 1 0 0 1 1 0 0 0 1 0 1 1 1) => f 2 3 4"},
    {"packed_mask_of_nothing", PACKED "<num_heads=2, mask_filter_value=-16.0>(f 2N 3 3, f 3 12, "
                                      "f 12, w 2N 3: 0 0 0 1 0 0) => f 2 3 4"},
    {"packed_filter", PACKED "<num_heads=2, mask_filter_value=-1.5>(f 2N 3 3, f 3 12, f 12, "
                             "w 2N 3: 1 1 0 0 0 1) => f 2 3 4"},
    {"packed_lengths", PACKED "<num_heads=2>(f 2N 3 3, f 3 12, f 12, w 2N: 3 1) => f 2 3 4"},
    {"packed_ends",
     PACKED "<num_heads=2, unidirectional=1>(f 2 3 3, f 3 12, f 12, w 4: 3 2 0 0) => f 2 3 4"},
    {"packed_starts", PACKED "<num_heads=2, mask_filter_value=-16.0>(f 2 3 3, f 3 12, f 12, "
                             "w 4: 3 2 1 2) => f 2 3 4"},
    {"packed_added", PACKED "<num_heads=2>(f 2N 3 3, f 3 12, f 12, , , f 2N 2 3 3) => f 2 3 4"},
    {"packed_added_to_all",
     PACKED "<num_heads=2>(f 2N 3 3, f 3 12, f 12, w 2N 3: 1 1 0 0 1 1, , f 1 1 3 3) => f 2 3 4"},
    {"packed_sizes",
     PACKED "<num_heads=2, qkv_hidden_sizes=[4, 4, 2]>(f 1 2 3, f 3 10, f 10) => f 1 2 2"},
    {"packed_usual_filter", PACKED "<num_heads=1, scale=1.0>(f 1 2 1: 1 -1, f 1 3: 1 2 1, , "
                                   "w 1 2: 0 1, , f 1 1 2 2: 10000 0 10001 0) => f 1 2 1"},
    {"packed_half", PACKED "<num_heads=1, unidirectional=1>(h 1 2 3, h 3 6, h 6) => h 1 2 2"},
    {"packed_past",
     PACKED "<num_heads=2, unidirectional=1>(f 2 2 3, f 3 12, f 12, w 2 5: 1 0 1 1 1 0 1 1 1 1, "
            "f 2 2 2 3 2, f 1 2 2 5) => f 2 2 4, f 2 2 2 5 2"},
    {"packed_past_of_0",
     PACKED "<num_heads=1>(f 1 2 3, f 3 6, f 6, , f 2 1 1 0 2) => f 1 2 2, f 2 1 1 2 2"},
    {"heads_plain", MULTI_HEAD "<num_heads=2>(f 2N 3 4, f 2N 5 4, f 2N 5 6) => f 2 3 6"},
    {"heads_scaled", MULTI_HEAD "<num_heads=2, scale=2.0, unidirectional=1>(f 2N 3 4, f 2N 5 4, "
                                "f 2N 5 6) => f 2 3 6"},
    {"heads_bias", MULTI_HEAD "<num_heads=2>(f 2N 3 4, f 2N 5 4, f 2N 5 6, f 14) => f 2 3 6"},
    {"heads_mask", MULTI_HEAD "<num_heads=2>(f 2N 3 4, f 2N 5 4, f 2N 5 6, f 14, "
                              "w 2N 5: 1 1 0 1 0 0 1 1 1 1) => f 2 3 6"},
    {"heads_lengths", MULTI_HEAD "<num_heads=2, mask_filter_value=-2.5>(f 2N 3 4, f 2N 5 4, "
                                 "f 2N 5 6, , w 2N: 4 2) => f 2 3 6"},
    {"heads_added",
     MULTI_HEAD "<num_heads=2>(f 2N 3 4, f 2N 5 4, f 2N 5 6, , , f 1 2 3 5) => f 2 3 6"},
    {"heads_keys_by_heads",
     MULTI_HEAD "<num_heads=2>(f 2N 3 4, f 2N 2 5 2, f 2N 2 5 3) => f 2 3 6"},
    {"heads_past",
     MULTI_HEAD "<num_heads=2>(f 1 2 4, f 1 2 4, f 1 2 6, f 14, w 1 2 5: 1 0 1 1 1 0 1 1 1 1, "
                "f 1 1 2 5, f 1 2 3 2, f 1 2 3 3) => f 1 2 6, f 1 2 5 2, f 1 2 5 3"},
};

/* ---- Rotation ---- */

/* Turns element pairs of T, whose place P has the angle PLACES[batch, length]; both TABLES have
 * WIDTH angles for each. */
static void turn(heads *t, const double *places, const double *cosines, const double *sines,
                 int width, int interleaved) {
  for (int g = 0; g < t->batch * t->n * t->length * width; g++) {
    int p = g % width, i = g / width % t->length, h = g / width / t->length % t->n;
    int b = g / width / t->length / t->n, row = (int)places[b * t->length + i] * width + p;
    double *x = at(t, b, h, i, interleaved ? 2 * p : p);
    double *y = at(t, b, h, i, interleaved ? 2 * p + 1 : p + width);
    double turned = *x * cosines[row] - *y * sines[row];
    *y = *x * sines[row] + *y * cosines[row];
    *x = turned;
  }
}

/* Places, as input PLACES has them, one that the sequence begins with, or rows of the tables. */
static void rotary(const node *of, const numbers *in, numbers *out) {
  static heads t;
  double places[MOST_ELEMENTS];
  int is_other = strcmp(of->operator_, ROTARY) == 0;
  const numbers *given = &in[is_other ? 1 : 3], *cosines = &in[is_other ? 2 : 1];
  by_heads(&t, &in[0], (int)attribute_number(of, "num_heads", 0));
  for (int k = 0; k < t.batch * t.length; k++) {
    places[k] = !given->is_given   ? k
                : given->rank == 1 ? given->values[0] + k % t.length
                                   : given->values[k];
  }
  turn(&t, places, cosines->values, cosines[1].values, (int)cosines->shape[cosines->rank - 1],
       attribute_number(of, "interleaved", 0) != 0);
  store(&t, out);
}

#define PLACES "i 2N 3: 4 0 2 1 1 3"

static const node_case rotations[] = {
    {"rotary_halves",
     "RotaryEmbedding<num_heads=2>(f 2N 3 8, f 5 2, f 5 2, " PLACES ") => f 2 3 8"},
    {"rotary_neighbours",
     "RotaryEmbedding<num_heads=2, interleaved=1>(f 2N 3 8, f 5 2, f 5 2, " PLACES ") => f 2 3 8"},
    {"rotary_rows", "RotaryEmbedding<num_heads=2>(f 2 3 8, f 2 3 2, f 2 3 2) => f 2 3 8"},
    {"rotary_part",
     "RotaryEmbedding<num_heads=1, rotary_embedding_dim=4>(f 2 3 8, f 5 2, f 5 2, " PLACES
     ") => f 2 3 8"},
    {"rotary_neighbours_part", "RotaryEmbedding<num_heads=1, rotary_embedding_dim=4, "
                               "interleaved=1>(f 2 3 8, f 5 2, f 5 2, " PLACES ") => f 2 3 8"},
    {"rotary_other_halves", ROTARY "<num_heads=2>(f 2N 3 8, " PLACES ", f 5 2, f 5 2) => f 2 3 8"},
    {"rotary_other_first",
     ROTARY "<num_heads=2, interleaved=1, scale=1.0>(f 2N 3 8, i 1: 2, f 5 2, f 5 2) => f 2 3 8"},
    {"rotary_other_part",
     ROTARY "<num_heads=1, rotary_embedding_dim=4>(f 2 3 8, " PLACES ", f 5 2, f 5 2) => f 2 3 8"},
    {"rotary_by_heads", "RotaryEmbedding(f 2 3 3 4, f 5 2, f 5 2, " PLACES ") => f 2 3 3 4"},
    {"rotary_half", ROTARY "(h 1 2 2 4, i 1: 3, h 5 2, h 5 2) => h 1 2 2 4"},
};

/* ---- GroupQueryAttention ---- */

/* The cache PAST with the new T of sample B behind what is BEFORE it, for as many keys as OUT has.
 */
static void update(heads *t, const numbers *past, const int *before, int keys) {
  static heads all;
  int had = past->is_given ? (int)past->shape[2] : 0;
  make(&all, t->batch, t->n, keys, t->size);
  for (int k = 0; k < t->batch * t->n * keys * t->size; k++) {
    int d = k % t->size, j = k / t->size % keys, g = k / t->size / keys, i = j - before[g / t->n];
    all.x[k] = i >= 0 && i < t->length ? t->x[(g * t->length + i) * t->size + d]
               : j < had               ? past->values[(g * had + j) * t->size + d]
                                       : 0;
  }
  *t = all;
}

static void group_bias(const node *of, const numbers *in, const heads *q, const int *before,
                       int keys, double *bias) {
  double window = attribute_number(of, "local_window_size", -1);
  for (int g = 0; g < q->batch * q->n * q->length * keys; g++) {
    const int place[4] = {g / keys / q->length / q->n, g / keys / q->length % q->n,
                          g / keys % q->length, g % keys};
    int p = before[place[0]] + place[2], j = place[3];
    bias[g] = in[10].is_given ? broadcast(&in[10], place, 0) : 0;
    bias[g] += seen_if(j <= p && (window < 0 || j > p - window));
  }
}

/* How many keys are BEFORE the new ones of each sample, and the PLACES of its queries. */
static void place_queries(const numbers *in, int batch, int length, int *before, double *places) {
  for (int b = 0; b < batch; b++) {
    int is_first = !in[3].is_given || in[6].values[0] == length;
    before[b] = is_first ? 0 : (int)in[5].values[b] + 1 - length;
    for (int i = 0; i < length; i++) {
      places[b * length + i] = in[9].is_given ? in[9].values[b * length + i] : before[b] + i;
    }
  }
}

static void group_query(const node *of, const numbers *in, numbers *out) {
  static heads parts[3], y;
  static scores s;
  int n = (int)attribute_number(of, "num_heads", 0), before[8];
  int few = (int)attribute_number(of, "kv_num_heads", 0), is_packed = !in[1].is_given;
  int size = (int)in[0].shape[2] / (is_packed ? n + 2 * few : n), length = (int)in[0].shape[1];
  double places[MOST_ELEMENTS], scale = attribute_number(of, "scale", 0);
  for (int k = 0; k < 3; k++) {
    split(&parts[k], &in[is_packed ? 0 : k], k == 0 ? n : few,
          is_packed && k > 0 ? (n + (k - 1) * few) * size : 0, size);
  }
  place_queries(in, parts[0].batch, length, before, places);
  for (int k = 0; k < 2 && attribute_number(of, "do_rotary", 0) != 0; k++) {
    turn(&parts[k], places, in[7].values, in[8].values, (int)in[7].shape[1],
         attribute_number(of, "rotary_interleaved", 0) != 0);
  }
  int had = in[3].is_given ? (int)in[3].shape[2] : 0, total = (int)in[6].values[0];
  int keys = total > had ? total : had;
  for (int k = 1; k < 3; k++) {
    update(&parts[k], &in[2 + k], before, keys);
    store(&parts[k], &out[k]);
  }
  s = (scores){.scale = scale != 0 ? scale : 1 / sqrt(size),
               .cap = attribute_number(of, "softcap", 0),
               .has_sink = in[11].is_given || attribute_number(of, "smooth_softmax", 0) != 0};
  memcpy(s.sink, in[11].values, sizeof s.sink);
  group_bias(of, in, &parts[0], before, keys, s.bias);
  attend(&s, &parts[0], &parts[1], &parts[2], &y);
  store(&y, out);
}

#define GROUPS GROUP_QUERY "<num_heads=4, kv_num_heads=2"

static const node_case groups[] = {
    {"group_without_past",
     GROUPS ">(f 2 3 8, f 2 3 4, f 2 3 4, , , w 2: 2 2, w: 3) => f 2 3 8, f 2 2 3 2, f 2 2 3 2"},
    {"group_packed", GROUPS ", local_window_size=2>(f 2 3 16, , , , , w 2: 2 2, w: 3) => f 2 3 8, "
                            "f 2 2 3 2, f 2 2 3 2"},
    {"group_one_prompt", GROUPS ">(f 2 2 8, f 2 2 4, f 2 2 4, f 2 2 0 2, f 2 2 0 2, w 2: 1 1, "
                                "w: 2) => f 2 2 8, f 2 2 2 2, f 2 2 2 2"},
    {"group_prompt_in_cache", GROUPS ">(f 2 2 8, f 2 2 4, f 2 2 4, f 2 2 5 2, f 2 2 5 2, "
                                     "w 2: 1 1, w: 2) => f 2 2 8, f 2 2 5 2, f 2 2 5 2"},
    {"group_step", GROUPS ">(f 2 1 8, f 2 1 4, f 2 1 4, f 2 2 3 2, f 2 2 3 2, w 2: 3 3, w: 4)"
                          " => f 2 1 8, f 2 2 4 2, f 2 2 4 2"},
    {"group_known_total", GROUPS ">(f 2 1 8, f 2 1 4, f 2 1 4, f 2 2 3 2, f 2 2 3 2, w 2: 3 3, "
                                 "=w: 4) => f 2 1 8, f 2 2 4 2, f 2 2 4 2"},
    {"group_step_in_cache",
     GROUPS ", scale=0.5, softcap=1.5>(f 2 1 8, f 2 1 4, f 2 1 4, f 2 2 5 2, f 2 2 5 2, w 2: 3 1, "
            "w: 4) => f 2 1 8, f 2 2 5 2, f 2 2 5 2"},
    {"group_steps", GROUPS ", local_window_size=3>(f 2 2 8, f 2 2 4, f 2 2 4, f 2 2 5 2, "
                           "f 2 2 5 2, w 2: 4 3, w: 5) => f 2 2 8, f 2 2 5 2, f 2 2 5 2"},
    {"group_rotary", GROUPS ", do_rotary=1>(f 2 1 8, f 2 1 4, f 2 1 4, f 2 2 5 2, f 2 2 5 2, "
                            "w 2: 4 2, w: 5, f 6 1, f 6 1) => f 2 1 8, f 2 2 5 2, f 2 2 5 2"},
    {"group_neighbours",
     GROUPS ", do_rotary=1, rotary_interleaved=1>(f 2 2 8, f 2 2 4, f 2 2 4, , , w 2: 1 1, w: 2, "
            "f 6 1, f 6 1) => f 2 2 8, f 2 2 2 2, f 2 2 2 2"},
    {"group_places",
     GROUPS ", do_rotary=1>(f 2 1 8, f 2 1 4, f 2 1 4, f 2 2 5 2, f 2 2 5 2, w 2: 4 2, w: 5, "
            "f 6 1, f 6 1, i 2 1: 5 0) => f 2 1 8, f 2 2 5 2, f 2 2 5 2"},
    {"group_added", GROUPS ">(f 2 2 8, f 2 2 4, f 2 2 4, f 2 2 5 2, f 2 2 5 2, w 2: 3 2, w: 4, , "
                           ", , f 1 4 2 4) => f 2 2 8, f 2 2 5 2, f 2 2 5 2"},
    {"group_added_to_all", GROUPS ">(f 2 2 8, f 2 2 4, f 2 2 4, , , w 2: 1 1, w: 2, , , , "
                                  "f 2 1 2 2) => f 2 2 8, f 2 2 2 2, f 2 2 2 2"},
    {"group_smooth", GROUPS ", smooth_softmax=1>(f 2 2 8, f 2 2 4, f 2 2 4, , , w 2: 1 1, w: 2)"
                            " => f 2 2 8, f 2 2 2 2, f 2 2 2 2"},
    {"group_sink", GROUPS ">(f 2 2 8, f 2 2 4, f 2 2 4, , , w 2: 1 1, w: 2, , , , , f 4)"
                          " => f 2 2 8, f 2 2 2 2, f 2 2 2 2"},
};

/* ---- What is refused ---- */

#define GQ_PAST "f 1 1 4, f 1 1 2, f 1 1 2, f 1 1 3 2, f 1 1 3 2, w 1: 3, w: 4"
#define TWO_HEADS GROUP_QUERY "<num_heads=2, kv_num_heads=1"

static const refused_case refused[] = {
    {"rank", "Attention(f 2 2, f 2 2, f 2 2)", "it takes tensors of 4 axes, or of 3"},
    {"no_heads", "Attention(f 1 2 2, f 1 2 2, f 1 2 2)", "and numbers of heads"},
    {"heads_size", "Attention<q_num_heads=2, kv_num_heads=1>(f 1 2 3, f 1 2 1, f 1 2 1)",
     "6 elements don't make f32[1, 2, 2, 1]"},
    {"heads_of_keys", "Attention(f 1 3 1 1, f 1 2 1 1, f 1 2 1 1)",
     "2 elements don't make f32[1, 3, 1, 1]"},
    {"size_of_keys", "Attention(f 1 1 2 2, f 1 1 2 3, f 1 1 2 2)",
     "axis 3 of x and axis 2 of y differ in size"},
    {"mask_of_symbol", "Attention(f 1 1 2 2, f 1 1 2 2, f 1 1 2 2, b 2 2N: 1 1 1 1)",
     "isn't known to be"},
    {"mask_too_long", "Attention(f 1 1 2 2, f 1 1 2 2, f 1 1 2 2, b 2 3: 1 1 1 1 1 1)",
     "a mask of 3 keys, where there are 2"},
    {"mask_of_integers", "Attention(f 1 1 2 2, f 1 1 2 2, f 1 1 2 2, i 2 1: 0 1)",
     "i64 can't hold -inf"},
    {"size_of_symbol", "Attention(f 1 1 2 2N, f 1 1 2 2N, f 1 1 2 2)", "a size of heads"},
    {"of_integers", "Attention(w 1 1 2 2: 1 2 3 4, f 1 1 2 2, f 1 1 2 2)", "i32 can't hold 0.84"},
    {"places_of_floats", ROTARY "<num_heads=1>(f 1 2 4, f 1: 0, f 5 2, f 5 2)",
     "indices of dtype f64 are no integers"},
    {"group_total_of_floats",
     TWO_HEADS ">(f 1 1 4, f 1 1 2, f 1 1 2, f 1 1 3 2, f 1 1 3 2, w 1: 3, f)",
     "a size must be an integer scalar"},
    {"precision", "Attention<softmax_precision=8>(f 1 1 2 2, f 1 1 2 2, f 1 1 2 2)",
     "softmax_precision: "},
    {"past_keys_alone", "Attention(f 1 1 2 2, f 1 1 2 2, f 1 1 2 2, , f 1 1 2 2)",
     "matmul: axis 3 of x and axis 2 of y differ"},
    {"mode", "Attention<qk_matmul_output_mode=4>(f 1 1 2 2, f 1 1 2 2, f 1 1 2 2) => ?, ?, ?, ?",
     "qk_matmul_output_mode 4"},
    {"rotary_rank", ROTARY "<num_heads=1>(f 2 2, i 1: 0, f 5 2, f 5 2)", "it takes tensors of 4"},
    {"rotary_too_many",
     ROTARY "<num_heads=1, rotary_embedding_dim=4>(f 1 2 2, i 1: 0, f 5 2, f 5 2)",
     "4 of 2 elements"},
    {"rotary_odd", ROTARY "<num_heads=1>(f 1 2 3, i 1: 0, f 5 2, f 5 2)", "3 of 3 elements"},
    {"rotary_symbol", ROTARY "(f 1 1 2 4N, i 1: 0, f 5 2, f 5 2)", "a size of heads"},
    {"rotary_angles", "RotaryEmbedding(f 1 1 2 4, f 5 1, f 5 1, i 1 2: 0 1)", "angles for 1 pairs"},
    {"rotary_scale", ROTARY "<scale=2.0>(f 1 1 2 4, i 1: 0, f 5 2, f 5 2)", "scale"},
    {"rotary_ragged", ROTARY "<is_packed_batching=1>(f 1 1 2 4, i 1: 0, f 5 2, f 5 2)", "ragged"},
    {"packed_rotary", PACKED "<num_heads=1, do_rotary=1>(f 1 2 2, f 2 6)", "do_rotary"},
    {"packed_rank", PACKED "<num_heads=1>(f 2 2, f 2 6)", "it takes [batch, length, size]"},
    {"packed_size", PACKED "<num_heads=1>(f 1 2 2, f 2 6N)", "of a known size"},
    {"packed_two_sizes", PACKED "<num_heads=1, qkv_hidden_sizes=[3, 3]>(f 1 2 2, f 2 6)",
     "of a known size"},
    {"packed_thirds", PACKED "<num_heads=1>(f 1 2 2, f 2 7)", "of other sizes than all 7"},
    {"packed_sum", PACKED "<num_heads=1, qkv_hidden_sizes=[2, 2, 1]>(f 1 2 2, f 2 6)",
     "of other sizes than all 6"},
    {"packed_below_0", PACKED "<num_heads=1, qkv_hidden_sizes=[4, -2, 4]>(f 1 2 2, f 2 6)",
     "of other sizes than all 6"},
    {"packed_no_heads", PACKED "(f 1 2 2, f 2 6)", "numbers of heads"},
    {"packed_mask", PACKED "<num_heads=1>(f 1 2 2, f 2 6, , w: 1)", "a mask of 0 axes"},
    {"packed_mask_of_4", PACKED "<num_heads=1>(f 1 2 2, f 2 6, , w 1 1 1 2: 1 1)",
     "a mask of 4 axes"},
    {"packed_lengths", PACKED "<num_heads=1>(f 2 2 2, f 2 6, , w 3: 1 1 1)",
     "a mask of 3 numbers for a batch of 2"},
    {"heads_without_keys", MULTI_HEAD "<num_heads=1>(f 1 2 2)", "it takes queries of 3 axes"},
    {"heads_by_heads", MULTI_HEAD "<num_heads=1>(f 1 1 2 2, f 1 1 2 2, f 1 1 2 2)",
     "it takes queries of 3 axes"},
    {"heads_past_length",
     MULTI_HEAD "<num_heads=1>(f 1 2 2, f 1 2 2, f 1 2 2, , , , f 1 1 2 2, f 1 1 2 2, w 1: 1)",
     "a past as long as it is"},
    {"heads_of_beams",
     MULTI_HEAD "<num_heads=1>(f 1 2 2, f 1 2 2, f 1 2 2, , , , f 1 1 2 2, "
                "f 1 1 2 2, , w 1 1 2: 0 0)",
     "a past as long as it is"},
    {"heads_scores", MULTI_HEAD "<num_heads=1>(f 1 2 2, f 1 2 2, f 1 2 2) => ?, ?, ?, ?",
     "gives no scores"},
    {"heads_bias", MULTI_HEAD "<num_heads=1>(f 1 2 2, f 1 1 2 2, f 1 1 2 2, f 6)",
     "a bias of keys that are by heads"},
    {"heads_short_bias", MULTI_HEAD "<num_heads=1>(f 1 2 2, f 1 2 2, f 1 2 2, f 5)",
     "the parts have 6 in all, axis 0 has 5"},
    {"heads_size_of_symbol", MULTI_HEAD "<num_heads=1>(f 1 2 2N, f 1 2 2N, f 1 2 2)",
     "a size of heads"},
    {"group_window", TWO_HEADS ", local_window_size=0>(" GQ_PAST ")", "a window of 0"},
    {"group_quantized", TWO_HEADS ", k_quant_type=PER_TENSOR>(" GQ_PAST ")", "quantized"},
    {"group_quantized_values", TWO_HEADS ", v_quant_type=ALL_>(" GQ_PAST ")", "quantized"},
    {"group_keys_alone", TWO_HEADS ", k_quant_type=NONE>(f 1 1 4, f 1 1 2, , , , w 1: 0, w: 1)",
     "keys without values"},
    {"group_past_keys_alone", TWO_HEADS ">(f 1 1 4, f 1 1 2, f 1 1 2, f 1 1 3 2, , w 1: 3, w: 4)",
     "past keys without values"},
    {"group_rank", TWO_HEADS ">(f 1 4, , , , , w 1: 0, w: 1)", "3 axes"},
    {"group_past_rank", TWO_HEADS ">(f 1 1 4, f 1 1 2, f 1 1 2, f 1 3 2, f 1 3 2, w 1: 3, w: 4)",
     "a past of other than 4 axes"},
    {"group_angles", TWO_HEADS ", do_rotary=1>(" GQ_PAST ", f 5 1N, f 5 1N)",
     "angles of a size not known"},
    {"group_size_of_symbol", TWO_HEADS ">(f 1 1 4N, f 1 1 2N, f 1 1 2, , , w 1: 0, w: 1)",
     "a size of heads"},
};

static const refused_case failing[] = {
    {"mask_of_other_queries", "Attention(f 1 1 2N 2, f 1 1 2 2, f 1 1 2 2, b 3 2: 1 1 1 1 1 1)",
     "axis 2 of operand 1 has size N = 2, which should be 3"},
    {"rotary_place", ROTARY "(f 1 1 2 4, i 1: 4, f 5 2, f 5 2)",
     "index 5 (element 1 of the indices) is outside of axis 0"},
};

static const onnx_definition definitions[] = {{"Attention", attention},
                                              {PACKED, packed_attention},
                                              {MULTI_HEAD, multi_head_attention},
                                              {"RotaryEmbedding", rotary},
                                              {ROTARY, rotary},
                                              {GROUP_QUERY, group_query},
                                              {NULL, NULL}};

void ct_register(void) {
  onnx_definitions = definitions;
  NODE_SUITE("onnx_attention", attentions, node_is_as_twin);
  NODE_MEMORY("onnx_attention_memory", attentions, 7, 8);
  NODE_SUITE("onnx_attention_of_runtime", of_runtime, node_is_as_twin);
  NODE_MEMORY("onnx_attention_memory", of_runtime, 7, 8);
  NODE_SUITE("onnx_rotary", rotations, node_is_as_twin);
  NODE_MEMORY("onnx_attention_memory", rotations, 7, 8);
  NODE_SUITE("onnx_group_query", groups, node_is_as_twin);
  NODE_MEMORY("onnx_attention_memory", groups, 7, 8);
  NODE_SUITE("onnx_attention_refused", refused, node_is_refused);
  NODE_SUITE("onnx_attention_fails", failing, node_fails);
}
