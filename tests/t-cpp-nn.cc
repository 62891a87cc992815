/*
 * C++'s forms of the composites, indices, slices, reductions along axes, attributes by name and
 * optimisers. Equal nodes are one node, so a form is right if it gives the node that C's gives.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cpp.h"

static bool same(const value &a, const gemel_value &b) {
  return a.graph != nullptr && a.graph == b.graph && a.node == b.node && a.output == b.output;
}
#define SAME(cpp, c) CT_CHECK(same(cpp, c))
#define NO_PLACE                                                                                   \
  gemel_location {                                                                                 \
    "", 0                                                                                          \
  }
#define LIST(name, ...)                                                                            \
  const int64_t name##_numbers[] = {__VA_ARGS__};                                                  \
  const gemel_ints name = {sizeof name##_numbers / sizeof *name##_numbers, name##_numbers}

static void activations(const void *) {
  gemel::graph g;
  value x = g.input("x: f64[N, 3]");
  LIST(first, 0);
  gemel_gelu_options approximate = {1};
  gemel_logsumexp_options over = {first, 1}, whole = {{0, nullptr}, 0};
  SAME(gemel::isnan(x), gemel_isnan(x));
  SAME(gemel::isinf(x), gemel_isinf(x));
  SAME(gemel::isfinite(x), gemel_isfinite(x));
  SAME(gemel::silu(x), gemel_silu(x));
  SAME(gemel::softplus(x), gemel_softplus(x));
  SAME(gemel::gelu(x), gemel_gelu(x));
  SAME(gemel::gelu(x, true), gemel_gelu_at(x, &approximate, NO_PLACE));
  SAME(gemel::logsumexp(x), gemel_logsumexp_at(x, &whole, NO_PLACE));
  SAME(gemel::logsumexp(x, 0, true), gemel_logsumexp_at(x, &over, NO_PLACE));
  SAME(gemel::logsumexp(x, {0}, true), gemel_logsumexp_at(x, &over, NO_PLACE));
  SAME(gemel::log_softmax(x), gemel_log_softmax(x, -1));
  SAME(gemel::log_softmax(x, 0), gemel_log_softmax(x, 0));
  SAME(gemel::softmax(x, 0), gemel_softmax(x, 0));
}

/* Operands and options that are given, by place and by name, and those that aren't. */
static void norms(const void *) {
  gemel::graph g;
  value x = g.input("x: f64[2, 4, 3]"), s = g.input("s: f64[3]"), b = g.input("b: f64[3]");
  value c = g.input("c: f64[4]"), d = g.input("d: f64[4]"), two = g.input("two: f64[2]");
  const gemel_value none = {nullptr, 0, 0};
  gemel_layer_norm_options both = {s, b, 0}, wide = {none, none, 0.5}, shift = {none, b, 0};
  gemel_rms_norm_options root = {s, 0.25};
  gemel_batch_norm_options batch = {c, d, 1, 0};
  gemel_group_norm_options group = {c, d, 0.5};
  SAME(gemel::layer_norm(x), gemel_layer_norm(x, -1));
  SAME(gemel::layer_norm(x, s, b), gemel_layer_norm_at(x, -1, &both, NO_PLACE));
  SAME(gemel::layer_norm(x, {}, b), gemel_layer_norm_at(x, -1, &shift, NO_PLACE));
  SAME(gemel::layer_norm(x, {}, {}, 1, 0.5), gemel_layer_norm_at(x, 1, &wide, NO_PLACE));
  SAME(gemel::layer_norm(x, {}, {}, 0), gemel_layer_norm(x, 0));
  gemel::layer_norm_options named;
  named.epsilon = 0.5;
  named.axis = 1;
  SAME(gemel::layer_norm(x, named), gemel_layer_norm_at(x, 1, &wide, NO_PLACE));
  SAME(gemel::rms_norm(x, s, -1, 0.25), gemel_rms_norm_at(x, -1, &root, NO_PLACE));
  SAME(gemel::batch_norm(x, c, d), gemel_batch_norm(x, c, d));
  SAME(gemel::batch_norm(x, c, d, c, d), gemel_batch_norm_at(x, c, d, &batch, NO_PLACE));
  SAME(gemel::group_norm(x, 2), gemel_group_norm(x, 2));
  SAME(gemel::group_norm(x, 2, c, d, 0.5), gemel_group_norm_at(x, 2, &group, NO_PLACE));
  /* 0 is what is given: C's option would be 1 */
  CT_EQ_STR(gemel::batch_norm(x, two, two, two, two, 0).type().c_str(), "f64[2, 4, 3]");
  CT_CHECK(!same(gemel::layer_norm(x, {}, {}, -1, 0), gemel_layer_norm(x, -1)));
  /* numbers beside values */
  SAME(gemel::rms_norm(x, 2), gemel::rms_norm(x, g.full(GEMEL_F64, 2)));
}

static void made_of_sizes(const void *) {
  gemel::graph g;
  value x = g.input("x: f64[N, 3]"), i = g.input("i: i64[2]");
  gemel_dim three = gemel::dim(3).in(gemel_graph_context(g.get()));
  gemel_dim n = g.symbol("N").in(gemel_graph_context(g.get()));
  gemel_eye_options wide = {n, -1};
  gemel_causal_mask_options keys = {n};
  gemel_tril_options below = {-1};
  gemel_triu_options above = {1};
  gemel_repeat_options along = {1};
  const int64_t reps[] = {2, 1};
  SAME(gemel::eye(g, 3, GEMEL_F32), gemel_eye(g.get(), three, GEMEL_F32));
  SAME(gemel::eye(g, 3, GEMEL_F32, g.symbol("N"), -1),
       gemel_eye_at(g.get(), three, GEMEL_F32, &wide, NO_PLACE));
  SAME(gemel::causal_mask(g, 3), gemel_causal_mask(g.get(), three));
  SAME(gemel::causal_mask(g, 3, x.shape(0)), gemel_causal_mask_at(g.get(), three, &keys, NO_PLACE));
  SAME(gemel::tril(x, -1), gemel_tril_at(x, &below, NO_PLACE));
  SAME(gemel::triu(x, 1), gemel_triu_at(x, &above, NO_PLACE));
  SAME(gemel::diag(x), gemel_diag(x));
  SAME(gemel::linspace(g.full(GEMEL_F64, 0), 1, 5),
       gemel_linspace(gemel_scalar(g.get(), GEMEL_F64, 0), gemel_scalar(g.get(), GEMEL_F64, 1), 5));
  SAME(gemel::one_hot(i, 3, GEMEL_F32), gemel_one_hot(i, three, GEMEL_F32, -1));
  SAME(gemel::one_hot(i, 3, GEMEL_F32, 0), gemel_one_hot(i, three, GEMEL_F32, 0));
  SAME(gemel::tile(x, {2, 1}), gemel_tile(x, 2, reps));
  SAME(gemel::repeat(x, 3, 1), gemel_repeat_at(x, three, &along, NO_PLACE));
  SAME(gemel::embedding(i, x), gemel_embedding(i, x));
}

static void layers(const void *) {
  gemel::graph g;
  value q = g.input("q: f64[5, 4]"), k = g.input("k: f64[5, 4]"), m = g.input("m: bool[5, 5]");
  value x = g.input("x: f64[1, 2, 5]"), w = g.input("w: f64[2, 1, 3]");
  const gemel_value none = {nullptr, 0, 0};
  LIST(two, 2);
  LIST(one, 1);
  gemel_attention_options masked = {m, 0.5, 0}, causal = {none, 0, 1};
  gemel_conv_transpose_options wide = {two, {0, nullptr}, {0, nullptr}, {0, nullptr}, one, 2};
  SAME(gemel::attention(q, k, k), gemel_attention(q, k, k));
  SAME(gemel::attention(q, k, k, m, 0.5), gemel_attention_at(q, k, k, &masked, NO_PLACE));
  gemel::attention_options how;
  how.causal = true;
  SAME(gemel::attention(q, k, k, how), gemel_attention_at(q, k, k, &causal, NO_PLACE));
  SAME(gemel::conv_transpose(x, w), gemel_conv_transpose(x, w));
  gemel::conv_transpose_options steps;
  steps.stride = {2};
  steps.extra = {1};
  steps.groups = 2;
  SAME(gemel::conv_transpose(x, w, steps), gemel_conv_transpose_at(x, w, &wide, NO_PLACE));
}

static void axes(const void *) {
  gemel::graph g;
  value x = g.input("x: f64[N, 3, 4]");
  LIST(second, 1);
  LIST(several, 0, -1);
  const gemel_ints empty = {0, second_numbers};
  gemel_sum_options over = {second, 0}, kept = {several, 1}, nothing = {empty, 0};
  gemel_max_options largest = {second, 1};
  SAME(gemel::sum(x), gemel_sum(x));
  SAME(gemel::sum(x, 1), gemel_sum_at(x, &over, NO_PLACE));
  SAME(gemel::sum(x, {1}), gemel_sum_at(x, &over, NO_PLACE));
  SAME(gemel::sum(x, std::vector<int64_t>{1}), gemel_sum_at(x, &over, NO_PLACE));
  SAME(gemel::sum(x, {0, -1}, true), gemel_sum_at(x, &kept, NO_PLACE));
  SAME(gemel::sum(x, {}), gemel_sum_at(x, &nothing, NO_PLACE));
  SAME(gemel::mean(x, 1), gemel_mean_at(x, &over, NO_PLACE));
  SAME(gemel::max(x, 1, true), gemel_max_at(x, &largest, NO_PLACE));
  CT_EQ_STR(gemel::var(x, 0).type().c_str(), "f64[3, 4]");
  CT_EQ_STR(gemel::stddev(x, -1, true, 1).type().c_str(), "f64[N, 3, 1]");
  SAME(gemel::reverse(x), gemel::reverse(x, {0, 1, 2}));
  SAME(gemel::reverse(x, 2), gemel::reverse(x, {2}));
}

static void indices(const void *) {
  gemel::graph g;
  value x = g.input("x: f64[N, 3, 4]"), i = g.input("i: i64[2]");
  SAME(x[0], gemel_index(x, 0, 0));
  SAME(x[-1], gemel_index(x, 0, -1));
  SAME(x[{0}], gemel_index(x, 0, 0));
  SAME(x[i], gemel_take(x, i));
  SAME((x[{1, 2}]), gemel_index(gemel_index(x, 0, 1), 0, 2));
  SAME((x[{{}, -1}]), gemel_index(x, 1, -1));
  SAME((x[{{1, 3}}]), gemel_slice(x, 0, 1, 3));
  SAME((x[{{}, {1, gemel::to_end}, 0}]), gemel_index(gemel_slice(x, 1, 1, GEMEL_TO_END), 2, 0));
  SAME((x[{{}, {}, {-1, gemel::to_end, -1}}]), gemel_slice_step(x, 2, -1, GEMEL_TO_END, -1));
  SAME(x.slice(1), gemel_slice(x, 0, 1, GEMEL_TO_END));
  SAME(x.slice(0, 3, 2, 1), gemel_slice_step(x, 1, 0, 3, 2));
  SAME(x.T(), gemel_transpose(x));
  CT_EQ_INT(x.rank(), 3);
  CT_EQ_INT(x.dtype(), GEMEL_F64);
  CT_EQ_STR(x.shape(0).text().c_str(), "N");
  CT_EQ_STR(x.shape(-1).text().c_str(), "4");
  CT_CHECK(x.shape(0) == g.symbol("N") && x.shape(1) == gemel::dim(3) && x.shape(1) != x.shape(2));
  GIVES(x[-1] * y, 8, -12);
  GIVES((gemel::stack({x, y})[{{}, 1}]), 4, -3);
  CT_EQ_INT(thrown_by([&] { x.shape(3); }), GEMEL_BAD_SHAPE);
  CT_EQ_INT(thrown_by([&] { x.shape(-4); }), GEMEL_BAD_SHAPE);
  CT_EQ_INT(thrown_by([&] { x[{{}, {}, {}, {}}]; }), GEMEL_BAD_SHAPE);
  THROWS((x[{0, 3}]), GEMEL_BAD_VALUE);
  THROWS((x[{{}, {1, 4}}]), GEMEL_BAD_VALUE);
  THROWS(x[0][3], GEMEL_BAD_VALUE);
  THROWS(x[0.5], GEMEL_BAD_TYPE);
  THROWS(x[x], GEMEL_BAD_TYPE);
  THROWS(x.slice(1, 2, 0), GEMEL_BAD_VALUE);
  THROWS(x.slice(0, 5, 1, 1), GEMEL_BAD_VALUE);
  THROWS(value()[0], GEMEL_NULL_VALUE);
}

/* Attributes of each kind. */
static void by_name(const void *) {
  gemel::graph g;
  value x = g.input("x: f64[N, 3]"), i = g.input("i: i64[2]");
  gemel_put_options added = {0, "add"};
  SAME(gemel::apply("exp", {x}), gemel_exp(x));
  SAME(gemel::apply("add", {x, 1.5}), x + 1.5);
  SAME(gemel::apply("sum", {x}, {{"axes", {0}}, {"keepdims", 1}}), gemel::sum(x, 0, true));
  SAME(gemel::apply("sum", {x}, {{"axes", {0, 1}}}), gemel::sum(x, {0, 1}));
  SAME(gemel::apply("cast", {x}, {{"dtype", GEMEL_F32}}), gemel_cast(x, GEMEL_F32));
  SAME(gemel::apply("put", {x, i, x.slice(0, 2)}, {{"axis", 0}, {"mode", "add"}}),
       gemel_put_at(x, i, gemel_slice(x, 0, 0, 2), &added, NO_PLACE));
  SAME(gemel::apply("reshape", {x}, {{"shape", gemel::dims{x.shape(0) * 3}}}),
       gemel::reshape(x, {x.shape(0) * 3}));
  SAME(gemel::apply("layer_norm", {x}, {{"epsilon", 0.5}}), gemel::layer_norm(x, {}, {}, -1, 0.5));
  SAME(gemel::apply("repeat", {x}, {{"n", gemel::dim(2)}}), gemel::repeat(x, 2));
  value key = g.input("key: u64[2]"), bits = gemel::random_bits(key, {3}).first;
  SAME(bits.output_at(1), gemel_value_output(bits, 1));
  CT_EQ_INT(thrown_by([&] { bits.output_at(2); }), GEMEL_BAD_ARGUMENT);
  THROWS(gemel::apply("no_such", {x}), GEMEL_NOT_FOUND);
  THROWS(gemel::apply("exp", {x, x}), GEMEL_BAD_ARGUMENT);
  THROWS(gemel::apply("exp", {1, 2}), GEMEL_NULL_VALUE);
  CT_EQ_INT(thrown_by([] { gemel::apply("exp", {}); }), GEMEL_NULL_VALUE);
}

static void lines(const void *) {
  gemel::graph g;
  value x = g.input("x: f32[2, 3]"), v = g.input("v: f32[4]");
  THROWS(gemel::layer_norm(x, v), GEMEL_BAD_SHAPE);
  THROWS(gemel::layer_norm(x, {}, v), GEMEL_BAD_SHAPE);
  THROWS(gemel::group_norm(x, 2), GEMEL_BAD_VALUE);
  THROWS(gemel::attention(x, v, v), GEMEL_BAD_VALUE);
  THROWS(gemel::eye(g, -1, GEMEL_F32), GEMEL_BAD_SHAPE);
  THROWS(gemel::tril(value()), GEMEL_NULL_VALUE);
  THROWS(gemel::sum(x, 2), GEMEL_BAD_ARGUMENT);
  THROWS(gemel::reverse(x, 2), GEMEL_BAD_SHAPE);
  CT_EQ_INT(gemel_graph_error(g.get())->status, GEMEL_OK);
}

static void constants(const void *) {
  gemel::graph g;
  value x = g.input("x: f32[N]");
  SAME(g.zeros(GEMEL_F64, {2, 3}), g.full(GEMEL_F64, 0, {2, 3}));
  SAME(g.ones(GEMEL_F64, {2}), g.full(GEMEL_F64, 1, {2}));
  SAME(gemel::scalar_like(x, 2), gemel_scalar_like(x, 2));
  g.output(g.vector(GEMEL_F64, {1, 2.5}), "v");
  CT_CHECK((gemel::evaluate(g, {tensor(std::vector<float>{1})})[0].elements<double>() ==
            numbers{1, 2.5}));
}

/* w becomes x: a step of each optimiser, by hand; then a file of the states. */
static void optimisers(const void *) {
  gemel::graph slow, fast;
  for (gemel::graph *g : {&slow, &fast}) {
    value x = g->input("x: f64[2]"), w = g->input("state w: f64[2]");
    value loss = gemel::sum(gemel::sqr(w - x));
    g->output(loss, "loss");
    if (g == &slow) {
      gemel::sgd_options how;
      how.rate = 0.25;
      how.momentum = 0.5;
      gemel::sgd(loss, how);
    } else {
      gemel::adam(loss);
    }
    THROWS(gemel::sgd(loss), GEMEL_BAD_ARGUMENT);
    THROWS(gemel::adam(loss), GEMEL_BAD_ARGUMENT);
  }
  THROWS(gemel::sgd(value()), GEMEL_NULL_VALUE);
  gemel::states s(slow), t(fast);
  CT_EQ_UINT(s.size(), 2);
  CT_CHECK(s["w"].get() == s[0].get());
  gemel::function f(slow, s), h(fast, t);
  tensor goal(numbers{1, -2});
  f({goal});
  CT_CHECK((s["w"].value().elements<double>() == numbers{0.5, -1}));
  f({goal});
  CT_CHECK((s["w"].value().elements<double>() == numbers{1, -2}));
  CT_CHECK((s["w_momentum"].value().elements<double>() == numbers{-2, 4}));
  h({goal});
  numbers w = t["w"].value().elements<double>(); /* Adam's first step is rate, either way */
  CT_CHECK(w[0] > 0.000999 && w[0] < 0.001001 && w[1] < -0.000999 && w[1] > -0.001001);
  std::string file = ct_scratch() + std::string("/w.safetensors");
  s.save(file);
  gemel::states again(slow);
  again.load(file);
  CT_CHECK((again["w"].value().elements<double>() == numbers{1, -2}));
  CT_EQ_INT(thrown_by([&] { s["v"]; }), GEMEL_NOT_FOUND);
  CT_EQ_INT(thrown_by([&] { t.load(file); }), GEMEL_NOT_FOUND);
  CT_EQ_INT(thrown_by([&] { s.save("no/such/folder/w"); }), GEMEL_IO);
  gemel::graph symbols;
  value many = symbols.input("state w: f64[N]");
  THROWS(gemel::adam(many), GEMEL_BAD_TYPE);
  CT_EQ_INT(thrown_by([&] { gemel::states none(symbols); }), GEMEL_BAD_SHAPE);
}

static const ct_test tests[] = {CT_TEST("activations", activations, nullptr),
                                CT_TEST("norms", norms, nullptr),
                                CT_TEST("made_of_sizes", made_of_sizes, nullptr),
                                CT_TEST("layers", layers, nullptr),
                                CT_TEST("axes", axes, nullptr),
                                CT_TEST("indices", indices, nullptr),
                                CT_TEST("by_name", by_name, nullptr),
                                CT_TEST("lines", lines, nullptr),
                                CT_TEST("constants", constants, nullptr),
                                CT_TEST("optimisers", optimisers, nullptr)};

void ct_register(void) {
  ct_suite("cpp-nn", tests, CT_COUNT(tests));
}
