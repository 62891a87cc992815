/*
 * <gemel/gemel.hpp>: what operators and functions compute, by hand-made numbers; which line an
 * exception names; handles that are copied, moved and thrown over; every allocation refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cpp.h"

static void operators(const void *) {
  GIVES(x + y, 3, 1);
  GIVES(x - y, -1, 7);
  GIVES(x * y, 2, -12);
  GIVES(x / y, 0.5, 4 / -3.0);
  GIVES(-x, -1, -4);
  GIVES(x + 2.5, 3.5, 6.5);
  GIVES(10 - x, 9, 6);
  GIVES(x - 10, -9, -6);
  GIVES(1 / x, 1, 0.25);
  GIVES(2.0f * x * y + 1u, 5, -23);
  GIVES(x % 3, 1, 1);
  GIVES(gemel::where(x < y, 1, 0) * x, 1, 0);
  GIVES(gemel::cast(x < y, GEMEL_F64), 1, 0);
  GIVES(gemel::cast(x <= 1, GEMEL_F64), 1, 0);
  GIVES(gemel::cast(2 > y, GEMEL_F64), 0, 1);
  GIVES(gemel::cast(y >= 2, GEMEL_F64), 1, 0);
  GIVES(gemel::cast(x == 4, GEMEL_F64), 0, 1);
  GIVES(gemel::cast(x != 4.0, GEMEL_F64), 1, 0);
  GIVES(x += y, 3, 1);
  GIVES((x -= 1) -= y, -2, 6);
  GIVES(x *= x, 1, 16);
  GIVES(y /= 2, 1, -1.5);
  GIVES(y %= 2, 0, 1);
}

static void functions(const void *) {
  GIVES(gemel::sqrt(x), 1, 2);
  GIVES(gemel::maximum(x, y), 2, 4);
  GIVES(gemel::maximum(0, y), 2, 0);
  GIVES(gemel::where(gemel::lt(x, y), x, 7), 1, 7);
  GIVES(gemel::clip(x, 2, 3), 2, 3);
  GIVES(gemel::sum(x), 5);
  GIVES(gemel::mean(x, {0}, true), 2.5);
  GIVES(gemel::sum(x, {}), 1, 4);
  GIVES(gemel::var(x), 2.25);
  GIVES(gemel::min(y), -3);
  GIVES(gemel::max(y, {-1}), 2);
  GIVES(gemel::cast(gemel::any(x), GEMEL_F64), 1);
  GIVES(gemel::cast(gemel::argmin(y, 0), GEMEL_F64), 1);
  GIVES(gemel::cast(gemel::argmax(y, 0), GEMEL_F64), 0);
  GIVES(gemel::matmul(x, y), -10);
#define GIVES_OF_MATRICES(expression, ...)                                                         \
  GIVES((x = gemel::reshape(x, {2, 1, 1}), y = gemel::reshape(y, {2, 1, 1}),                       \
         gemel::flatten(expression)),                                                              \
        __VA_ARGS__)
  GIVES_OF_MATRICES(gemel::solve(x, y), 2, -0.75);
  GIVES_OF_MATRICES(gemel::triangular_solve(x, y, true), 2, -0.75);
  GIVES_OF_MATRICES(gemel::triangular_solve(x, y, false, false, true), 2, -3);
  GIVES_OF_MATRICES(gemel::cholesky(x), 1, 2);
  GIVES_OF_MATRICES(gemel::inv(x), 1, 0.25);
  GIVES_OF_MATRICES(gemel::det(y), 2, -3);
  GIVES_OF_MATRICES(gemel::log_abs_det(y / y), 0, 0);
  GIVES(gemel::flatten(gemel::transpose(gemel::stack({x, y}))), 1, 2, 4, -3);
  GIVES(gemel::permute(gemel::reshape(gemel::concatenate({x, y}), {2, 2}), {1, 0}), 1, 2, 4, -3);
  GIVES(gemel::slice(x, 0, 1), 4);
  GIVES(gemel::slice(gemel::concatenate({x, y}), -1, 3, 0, -2), -3, 4);
  GIVES(gemel::index(x, 0, -1), 4);
  GIVES(gemel::gradient(gemel::sum(x * x * y), x), 4, -24);
  GIVES(gemel::gradients(gemel::sum(x * y), {x, y})[1], 1, 4);
  GIVES(gemel::mean_squared_error(x, y), 25);
  GIVES(gemel::softmax(x * 1000), 0, 1);
  GIVES(gemel::checked(gemel_sqr(x), x), 1, 16);
  GIVES(gemel::stddev(x), 1.5);
  GIVES(gemel::var(x, {0}, false, 1), 4.5);
  GIVES(gemel::stddev(x * 2, {0}, true, 1) / gemel::stddev(x, {0}, true, 1), 2);
  GIVES(gemel::dot(x, y), -10);
  GIVES(gemel::flatten(gemel::dot(x, y, {}, {})), 2, -3, 8, -12);
  GIVES(gemel::dot(x, y, {}, {}, {0}, {0}), 2, -12);
}

static void shapes(const void *) {
  GIVES(gemel::flatten(gemel::broadcast_to(x, {2, x.shape()[0]})), 1, 4, 1, 4);
  GIVES(gemel::sum(gemel::expand_dims(x, 0) + gemel::expand_dims(y, 1), {0}), 1, 7);
  GIVES(gemel::squeeze(gemel::expand_dims(x, 1), 1), 1, 4);
  GIVES(gemel::flatten(gemel::swapaxes(gemel::stack({x, y}), 0, 1)), 1, 2, 4, -3);
  GIVES(gemel::einsum("i,j->ji", {x, y}), 2, 8, -3, -12);
  GIVES(gemel::reverse(x, {0}), 4, 1);
  GIVES(gemel::pad(x, {1}, {2}), 0, 1, 4, 0, 0);
  GIVES(gemel::pad(x, {1}, {0}, 0.5, {1}), 0.5, 1, 0.5, 4);
  GIVES(gemel::pad(x, {-1}, {1}, gemel::sum(y)), 4, -1);
  GIVES(gemel::full_like(x, 7) + gemel::ones_like(y) + gemel::zeros_like(x), 8, 8);
  GIVES(gemel::subtensor(gemel::concatenate({x, y}), {3}, {2}, {-2}), -3, 4);
  GIVES(gemel::set_subtensor(x, gemel::reshape(8.0 + gemel::sum(y), {1}), {1}), 1, 7);
  GIVES(gemel::inc_subtensor(x, y, {1}, {-1}), -2, 6);
  GIVES(gemel::cumsum(x), 1, 5);
  GIVES(gemel::cumprod(y, 0, false, true), -6, -3);
  GIVES(gemel::cast(gemel::argsort(y), GEMEL_F64), 1, 0);
  GIVES(gemel::cast(gemel::searchsorted(x, y, true), GEMEL_F64), 1, 0);
  GIVES(gemel::bitcast(gemel::bitcast(x, GEMEL_I64), GEMEL_F64), 1, 4);
  GIVES(gemel::sort(y, 0, true), 2, -3);
  GIVES(gemel::top_k(x, 1).first, 4);
  GIVES(gemel::cast(gemel::top_k(x, 1, 0, true).second, GEMEL_F64), 0);
  GIVES(gemel::take(y, gemel::stack({gemel::argmax(x, 0), gemel::argmax(x, 0) - 3})), -3, 2);
  GIVES(gemel::take_along_axis(y, gemel::reshape(gemel::argmax(x, 0), {1}), 0), -3);
  GIVES(gemel::put_along_axis(x, gemel::reshape(gemel::argmax(x, 0), {1}), gemel::slice(y, 0, 0, 1),
                              0, "max"),
        1, 4);
  GIVES(gemel::put(x, gemel::reshape(gemel::argmax(y, 0), {1}), gemel::slice(y, 0, 1, 2), 0, "add"),
        -2, 4);
  GIVES(gemel::split(gemel::concatenate({x, y}), {x.shape()[0], 2})[1], 2, -3);
  GIVES(gemel::reshape(x, {x.shape()[0] * 2 / 2 - 1 + 1, 1}) * gemel::reshape(y, {-1, 1}), 2, -12);
}

/* A 1-dimensional image of one channel, X, and a kernel, Y. */
static value image(const value &v) {
  return gemel::reshape(v, {1, 1, -1});
}

static void windows(const void *) {
  GIVES(gemel::flatten(gemel::corr(image(x), image(y))), -10);
  GIVES(gemel::flatten([](const value &a, const value &b) {
          gemel::corr_options o;
          o.padding = "full";
          o.flip = true;
          o.stride = {2};
          return gemel::corr(image(a), image(b), o);
        }(x, y)),
        2, -12);
  GIVES(gemel::flatten(gemel::corr(image(x), image(y), {{{}, {}, {1}, {0}}, "", 1})), -3, -10);
  GIVES(gemel::flatten(gemel::max_pool(image(x), {2})), 4);
  GIVES(gemel::flatten(gemel::max_pool(image(x), {1}, {{2}, {}, {}, {}})), 1);
  GIVES(gemel::flatten(gemel::avg_pool(image(y), {2}, {{2}, {}, {1}, {1}}, true)), 1, -1.5);
  GIVES(gemel::flatten(gemel::avg_pool(image(y), {2}, {{2}, {}, {1}, {1}})), 2, -3);
}

static void derivatives(const void *) {
  GIVES(gemel::jvp(x * x * y, x, y), 8, 72); /* 2 x y · y */
  GIVES(gemel::jvp({x * y, x}, {x, y}, {gemel::ones_like(x), 2 * x})[0], 4, 29);
  GIVES(gemel::gradients({x * y, x}, {y, y}, {x})[0], 6, 6);
}

static void drawing(const void *) {
  gemel::graph g;
  value key = g.input("key: u64[2]"), x = g.input("x: f32[N, 2]");
  auto [bits, second] = gemel::random_bits(key, {3});
  auto [uniform, third] = gemel::random_uniform(second, x.shape());
  auto [normal, last] = gemel::random_normal(third, {g.symbol("N") + 1, 4}, GEMEL_F16);
  CT_EQ_STR(bits.type().c_str(), "u32[3]");
  CT_EQ_STR(uniform.type().c_str(), "f32[N, 2]");
  CT_EQ_STR(normal.type().c_str(), "f16[N + 1, 4]");
  g.output(gemel::sum(uniform), "sum");
  g.output(last, "last");
  tensor seed(std::vector<uint64_t>{7, 0}), shape(std::vector<float>(10), {5, 2});
  std::vector<tensor> results = gemel::evaluate(g, {seed, shape});
  float sum = results[0].item<float>();
  CT_CHECK(sum > 1 && sum < 9);
  CT_CHECK((results[1].elements<uint64_t>() == std::vector<uint64_t>{7, 3}));
}

/* Sizes by symbols and at run time, bodies, operations of a text, rules. */
static void graphs(const void *) {
  gemel::context c;
  c.define("operation twice(x) { return x + x }");
  gemel::graph g(c), body(c);
  value b = body.input("b: f64[N]");
  body.output(b * 3, "y");
  body.output(-b, "z");
  value x = g.input("x: f64[N]"), n = g.input("n: i64[]");
  gemel::assume(x, GEMEL_FACT_FINITE);
  CT_EQ_UINT(gemel_assumed(x), GEMEL_FACT_FINITE | GEMEL_FACT_NOT_NAN);
  CT_EQ_STR((g.symbol("N") * 2 - 1).text().c_str(), "2*N - 1");
  CT_EQ_STR(gemel::dim(3).text().c_str(), "3");
  CT_CHECK(x.shape()[0].in(c.get()) == g.symbol("N").in(c.get()));
  CT_CHECK(g.symbol("N").in(c.get()) != GEMEL_DIM_NONE);
  CT_CHECK(gemel_value_type(x) != gemel_value_type(n) &&
           gemel_value_type(x) == gemel_value_type(-x));
  g.output(gemel::invoke(body, {x})[1], "z");
  g.output(g.arange(gemel::size_of(n), GEMEL_F64), "r");
  g.output(g.size(x.shape()[0]), "size");
  gemel::rules mine = gemel::rules::parse("rule r in canonicalize: twice(x) => x * 2", c);
  const gemel_rules *sets[] = {mine.get()};
  gemel_rewrite_options options = {};
  options.size = sizeof options;
  options.rules = sets;
  options.n_rules = 1;
  gemel::graph parsed = gemel::graph::parse("graph f(x: f64[2]) { return y = twice(x) }", c);
  CT_HAS_STR(gemel::rewrite(parsed, &options).text().c_str(), "n0 = 2:f64");
  std::vector<tensor> results = gemel::evaluate(g, {tensor(numbers{1, 2}), tensor(int64_t(3))});
  CT_CHECK((results[0].elements<double>() == numbers{-1, -2}));
  CT_CHECK((results[1].elements<double>() == numbers{0, 1, 2}));
  CT_EQ_INT(results[2].item<int64_t>(), 2);
}

/* Loops: states that begin as the numbers of y, rows and their neighbours, what leaves them. */
static void loops(const void *) {
  const auto add = [](auto s, auto row, auto c) {
    return gemel::step{{s[0] * c[0] + row[0]}, {s[0] - row[0]}};
  };
  const auto sum_of = [&](value x, value y, gemel::scan_options o) {
    return gemel::scan({gemel::index(y, 0, 0)}, {x}, {gemel::index(y, 0, 1)}, add, o);
  };
  gemel::scan_options plain, back, once;
  back.reverse = true;
  once.every = 1;
  GIVES(sum_of(x, y, plain).rows[0], -5, 19);
  GIVES(sum_of(x, y, plain).history[0], 2, -5, 19);
  GIVES(sum_of(x, y, plain).last[0], 19);
  GIVES(sum_of(x, y, plain).stacks[0], 1, -9);
  GIVES(gemel::cast(sum_of(x, y, plain).count, GEMEL_F64), 2);
  GIVES(sum_of(x, y, back).rows[0], 7, -2);
  GIVES(sum_of(x, y, once).history[0], 2, -5, 19);
  GIVES(sum_of(x, y, once).stacks[0], 1, -9);
  GIVES(gemel::gradient(gemel::sum(sum_of(x, y, plain).rows[0]), x), -2, 1);
}

/* Without rows: a length, which may be a symbol, a number of steps, a condition; nothing but rows.
 */
static void loops_of_other_lengths(const void *) {
  const auto twice = [](auto s, auto, auto) { return gemel::step{{s[0] + s[0]}, {}}; };
  const auto until = [](auto s, auto, auto c) {
    return gemel::step{{s[0] + s[0]}, {}, gemel::any(s[0] > c[0])};
  };
  const auto central = [](auto, auto row, auto) { return gemel::step{{}, {row[1] - row[0]}}; };
  gemel::scan_options three;
  three.length = 3;
  three.truncate = 2;
  GIVES(gemel::scan({x}, {}, {}, twice, three).last[0], 8, 32);
  GIVES(gemel::scan({x}, {}, {x}, until, three).last[0], 4, 16);
  GIVES(gemel::scan({x}, {}, {x + 20}, until).last[0], 16, 64);
  GIVES(gemel::cast(gemel::scan({x}, {}, {x + 20}, until).count, GEMEL_F64), 4);
  gemel::graph g;
  value z = g.input("z: f64[]");
  CT_CHECK(gemel::scan({z}, {}, {z}, until).rows.empty());
  GIVES(gemel::scan({}, {{gemel::concatenate({x, y}), -1}, {gemel::concatenate({x, y}), 1}}, {},
                    central)
            .stacks[0],
        1, -7);
}

static void files(const void *) {
  std::string folder = ct_scratch(), npy = folder + "/a.npy", npz = folder + "/b.npz";
  gemel::save_npy(npy, tensor(numbers{1, 2, 3, 4}, {2, 2}));
  tensor a = gemel::load_npy(npy);
  CT_CHECK((a.shape() == std::vector<int64_t>{2, 2} && a.elements<double>()[3] == 4));
  gemel::save_npz(npz, {{"w", a}, {"n", tensor(int64_t(5))}});
  gemel::tensors all = gemel::load_npz(npz);
  gemel::save_safetensors(folder + "/c.safetensors", all);
  all = gemel::load_safetensors(folder + "/c.safetensors");
  CT_EQ_UINT(all.size(), 2);
  CT_CHECK(all.at("w").elements<double>() == a.elements<double>());
  CT_EQ_INT(all.at("n").item<int64_t>(), 5);
  const gemel::tensors &same = all;
  CT_EQ_INT(same.at("n").item<int64_t>(), 5);
  for (bool constant : {false, true}) {
    try {
      CT_CHECK(!(constant ? same.at("v") : all.at("v")));
      CT_FAIL("nothing was thrown");
    } catch (const gemel::error &e) {
      CT_EQ_INT(e.status(), GEMEL_NOT_FOUND);
      CT_EQ_STR(e.what(), "there is no tensor called 'v'; there are n, w");
    }
  }
  tensor half(GEMEL_F16, {2, 3});
  CT_EQ_INT(half.dtype(), GEMEL_F16);
  gemel::graph g = gemel::graph::parse("graph f(x: f32[N]) { return y = x + x }");
  g.save(folder + "/f.gmt", "f");
  CT_EQ_STR(gemel::graph::load(folder + "/f.gmt").text("f").c_str(), g.text("f").c_str());
}

/* A number takes the dtype of what it is combined with; f64 where an integer meets 0.5. */
static void numbers_have_dtypes(const void *) {
  gemel::graph g;
  value i = g.input("i: i32[2]"), h = g.input("h: f16[2]"), b = g.input("b: bool[]");
  CT_EQ_STR((i * 2).type().c_str(), "i32[2]");
  CT_EQ_STR((i * 0.5).type().c_str(), "f64[2]");
  CT_EQ_STR((h * 0.5).type().c_str(), "f16[2]");
  CT_EQ_STR((h + 1).type().c_str(), "f16[2]");
  CT_EQ_STR((b + 2).type().c_str(), "i64[]");
  auto [left, next] = gemel::dropout(h, g.input("key: u64[2]"), 0.5);
  CT_EQ_STR(left.type().c_str(), "f16[2]");
  CT_EQ_STR(next.type().c_str(), "u64[2]");
  CT_EQ_STR(gemel::where(b, 2, 3).type().c_str(), "i64[]");
  CT_EQ_STR(gemel::where(b, 2, h).type().c_str(), "f16[2]");
  CT_EQ_STR(gemel::where(b, i, 1).type().c_str(), "i32[2]");
  CT_EQ_STR((g.input("d: f32[2]@1") * 2).type().c_str(), "f32[2]@1");
  CT_EQ_STR(g.full(GEMEL_F32, 0.5, {2, 3}).type().c_str(), "f32[2, 3]");
}

/* ---- Exceptions ---- */

static void lines(const void *) {
  gemel::graph g, other;
  value x = g.input("x: f32[2]"), y = g.input("y: f32[3]"), i = g.input("i: i8[]");
  value stranger = other.input("x: f32[2]");
  THROWS(x + y, GEMEL_BAD_SHAPE);
  THROWS(x - y, GEMEL_BAD_SHAPE);
  THROWS(2 * x * y, GEMEL_BAD_SHAPE);
  THROWS(static_cast<void>(x < y), GEMEL_BAD_SHAPE);
  THROWS(x += y, GEMEL_BAD_SHAPE);
  THROWS(x *= i + 1000, GEMEL_BAD_VALUE);
  THROWS(gemel::pad(x, {1, 1}, {1}), GEMEL_BAD_SHAPE);
  THROWS(gemel::corr(x, y), GEMEL_BAD_SHAPE);
  THROWS(gemel::max_pool(x, {2}), GEMEL_BAD_SHAPE);
  THROWS(gemel::expand_dims(x, 7), GEMEL_BAD_SHAPE);
  THROWS(gemel::random_uniform(x, {2}), GEMEL_BAD_TYPE);
  THROWS(gemel::random_uniform(value(), {2}), GEMEL_NULL_VALUE);
  THROWS(gemel::broadcast_to(x, {3}), GEMEL_BAD_SHAPE);
  THROWS(gemel::split(x, {5}), GEMEL_BAD_SHAPE);
  THROWS(gemel::invoke(other, {x}), GEMEL_BAD_ARGUMENT);
  THROWS(-(x / y), GEMEL_BAD_SHAPE);
  THROWS(i + 1000, GEMEL_BAD_VALUE);
  THROWS(1000 + i, GEMEL_BAD_VALUE);
  THROWS(gemel::maximum(x, y), GEMEL_BAD_SHAPE);
  THROWS(gemel::where(x, x, y), GEMEL_BAD_SHAPE);
  THROWS(gemel::sum(x, {1}), GEMEL_BAD_ARGUMENT);
  THROWS(gemel::matmul(x, y), GEMEL_BAD_SHAPE);
  THROWS(gemel::reshape(x, {3}), GEMEL_BAD_SHAPE);
  THROWS(gemel::slice(x, 0, 7), GEMEL_BAD_VALUE);
  THROWS(gemel::concatenate({x, i}), GEMEL_BAD_SHAPE);
  THROWS(gemel::gradient(x, x), GEMEL_BAD_TYPE);
  THROWS(gemel::gradient(x * x, x), GEMEL_BAD_TYPE);
  THROWS(gemel::gradient(gemel::sum(x), gemel::cast(x, GEMEL_I8)), GEMEL_BAD_TYPE);
  THROWS(g.update(x, x), GEMEL_BAD_ARGUMENT);
  THROWS(g.update(value(), x), GEMEL_BAD_ARGUMENT);
  THROWS(g.update(value(), value()), GEMEL_NULL_VALUE);
  THROWS(g.output(x, "9"), GEMEL_BAD_ARGUMENT);
  THROWS(g.output(stranger, "9"), GEMEL_BAD_ARGUMENT);
  THROWS(g.output(stranger, "good"), GEMEL_BAD_ARGUMENT);
  THROWS(g.update(stranger, stranger), GEMEL_BAD_ARGUMENT);
  CT_EQ_UINT(gemel_graph_output_count(other.get()), 0);
  THROWS(gemel::concatenate({}), GEMEL_NULL_VALUE);
  THROWS(gemel::stack({value(), value()}), GEMEL_NULL_VALUE);
  THROWS(gemel::einsum("ij->ji", {}), GEMEL_NULL_VALUE);
  THROWS(g.output(value(), "r"), GEMEL_NULL_VALUE);
  THROWS(g.input("x: f32[2]"), GEMEL_BAD_ARGUMENT);
  THROWS(g.input("z: f32[2"), GEMEL_BAD_TEXT);
  THROWS(x + stranger, GEMEL_BAD_ARGUMENT);
  THROWS(x + value(), GEMEL_BAD_ARGUMENT);
  THROWS(value() + 1, GEMEL_NULL_VALUE);
  THROWS(gemel::exp(value()), GEMEL_NULL_VALUE);
  THROWS(gemel::add(1, 2), GEMEL_NULL_VALUE);
  const auto same = [](auto s, auto, auto) { return gemel::step{s, {}}; };
  const auto more = [](auto s, auto, auto) { return gemel::step{{s[0], s[0]}, {}}; };
  THROWS(gemel::scan({}, {}, {}, same), GEMEL_NULL_VALUE);
  THROWS(gemel::scan({x}, {}, {}, same), GEMEL_BAD_ARGUMENT);
  THROWS(gemel::scan({x}, {i}, {}, same), GEMEL_BAD_SHAPE);
  THROWS(gemel::scan({x}, {stranger}, {}, same), GEMEL_BAD_ARGUMENT);
  THROWS(gemel::scan({x}, {y}, {}, more), GEMEL_BAD_ARGUMENT);
  THROWS(gemel::scan({x}, {y}, {},
                     [&](auto s, auto, auto) {
                       return gemel::step{{s[0] * y}, {}};
                     }),
         GEMEL_BAD_ARGUMENT);
  /* what was thrown is no longer the graph's error */
  CT_EQ_INT(gemel_graph_error(g.get())->status, GEMEL_OK);
  CT_EQ_INT(gemel_graph_error(other.get())->status, GEMEL_OK);
  CT_EQ_STR((x + x).type().c_str(), "f32[2]");
}

static void exceptions(const void *) {
  gemel::graph g;
  value x = g.input("x: f32[N]");
  g.output(x * 2, "y");
  gemel::function f(g);
  tensor two(std::vector<float>{1, 2});
  CT_EQ_INT(thrown_by([&] { g.output(x, "y"); }), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(thrown_by([&] { g.update(x, x); }), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(thrown_by([&] { f({}); }), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(thrown_by([&] { f({two, two}); }), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(thrown_by([&] { f({tensor()}); }), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(thrown_by([&] { f({tensor(1.0f)}); }), GEMEL_BAD_SHAPE);
  CT_EQ_INT(thrown_by([&] { f({tensor(numbers{1})}); }), GEMEL_BAD_TYPE);
  CT_EQ_INT(thrown_by([&] { two.elements<double>(); }), GEMEL_BAD_TYPE);
  CT_EQ_INT(thrown_by([&] { tensor().elements<double>(); }), GEMEL_BAD_TYPE);
  CT_EQ_INT(thrown_by([&] { two.item<float>(); }), GEMEL_BAD_SHAPE);
  CT_EQ_INT(thrown_by([&] { tensor(numbers{1, 2, 3}, {2, 2}); }), GEMEL_BAD_SHAPE);
  CT_EQ_INT(thrown_by([&] { tensor(numbers{1}, {-1}); }), GEMEL_BAD_SHAPE);
  CT_EQ_INT(thrown_by([&] { gemel::gradients(x, {x}); }), GEMEL_BAD_TYPE);
  CT_EQ_INT(thrown_by([&] { gemel::jvp({x}, {x}, {}); }), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(thrown_by([&] { gemel::jvp(x, x, gemel::cast(x, GEMEL_F64)); }), GEMEL_BAD_TYPE);
  CT_EQ_INT(thrown_by([&] { gemel::gradients({x}, {x, x}, {x}); }), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(thrown_by([&] { gemel::size_of(x); }), GEMEL_BAD_TYPE);
  CT_EQ_INT(thrown_by([&] { gemel::assume(x + x, GEMEL_FACT_FINITE); }), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(thrown_by([&] { g.symbol("2"); }), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(thrown_by([&] { x.shape()[0] / 0; }), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(thrown_by([&] { gemel::load_npy("no/such/file"); }), GEMEL_IO);
  CT_EQ_INT(thrown_by([&] { gemel::load_npz("no/such/file"); }), GEMEL_IO);
  CT_EQ_INT(thrown_by([&] { gemel::save_npy("no/such/folder", two); }), GEMEL_IO);
  CT_EQ_INT(thrown_by([&] { gemel::save_npy("x.npy", tensor()); }), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(thrown_by([&] { gemel::save_npz("no/such/folder", {{"a", two}}); }), GEMEL_IO);
  CT_EQ_INT(thrown_by([&] { gemel::graph::parse("graph"); }), GEMEL_BAD_TEXT);
  CT_EQ_INT(thrown_by([&] { gemel::graph::load("no/such/file"); }), GEMEL_IO);
  CT_EQ_INT(thrown_by([&] { gemel::function(g, {gemel::shared(two)}); }), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(thrown_by([&] { gemel::shared(tensor{}); }), GEMEL_BAD_ARGUMENT);
  CT_CHECK((f({two})[0].elements<float>() == std::vector<float>{2, 4}));
}

/* An operand that is null leaves no error on the graph, whichever it is. */
static void null_operands(const void *) {
  gemel::graph g;
  value x = g.input("x: f32[3]"), none;
  const std::function<void()> calls[] = {
      [&] { gemel::concatenate({none, x}); },   [&] { gemel::stack({none, x}); },
      [&] { gemel::einsum("i,i", {none, x}); }, [&] { gemel::cross_entropy(none, x); },
      [&] { gemel::cross_entropy(x, none); },   [&] { gemel::searchsorted(x, none); },
      [&] { gemel::searchsorted(none, x); }};
  for (const auto &call : calls) {
    CT_CHECK(thrown_by(call) != GEMEL_OK);
    CT_EQ_INT(gemel_graph_error(g.get())->status, GEMEL_OK);
  }
}

/* ---- Handles ---- */

static void tensors(const void *) {
  static double memory[] = {1, 0, 2, 0};
  int64_t shape[] = {2}, strides[] = {16};
  gemel_error e;
  tensor m(std::vector<int16_t>{1, 2, 3, 4, 5, 6}, {2, 3});
  tensor every_second(gemel_tensor_wrap(GEMEL_F64, 1, shape, strides, memory, nullptr, nullptr, &e),
                      e);
  tensor bools(std::vector<bool>{true, false});
  tensor copy = m, moved = std::move(m);
  CT_CHECK(copy.get() == moved.get());
  CT_CHECK(!m && copy);
  copy = tensor(uint64_t(7));
  CT_EQ_INT(copy.dtype(), GEMEL_U64);
  CT_EQ_UINT(copy.item<uint64_t>(), 7);
  CT_CHECK(copy.shape().empty());
  tensor &itself = moved;
  moved = itself;
  CT_CHECK((moved.shape() == std::vector<int64_t>{2, 3}));
  CT_CHECK((moved.elements<int16_t>() == std::vector<int16_t>{1, 2, 3, 4, 5, 6}));
  CT_CHECK((every_second.elements<double>() == numbers{1, 2}));
  CT_CHECK((bools.elements<bool>() == std::vector<bool>{true, false}));
  CT_EQ_INT(gemel::dtype_of<long long>(), GEMEL_I64);
  CT_EQ_INT(gemel::dtype_of<signed char>(), GEMEL_I8);
  CT_EQ_INT(gemel::dtype_of<unsigned short>(), GEMEL_U16);
  CT_EQ_INT(gemel::dtype_of<int>(), GEMEL_I32);
}

/* A function outlives its graph; a state's update is seen by the next call and by value(). */
static void states(const void *) {
  gemel::shared total(tensor(10.0));
  gemel::shared same = total;
  std::vector<tensor> results;
  {
    gemel::graph g;
    value x = g.input("x: f64[]"), w = g.input("state w: f64[]");
    g.output(x * 2, "y");
    g.update(w, w + x);
    gemel::function f(g, {total});
    gemel::function mine = std::move(f);
    mine({tensor(1.0)}, results);
    gemel_tensor *first = results[0].get();
    mine({tensor(5.0)}, results);
    CT_EQ_UINT(results.size(), 1);
    CT_CHECK(results[0].get() == first); /* filled again */
    gemel::function without(g);
    CT_EQ_UINT(without({tensor(1.0), tensor(2.0)}).size(), 2);
  }
  CT_CHECK(results[0].item<double>() == 10);
  CT_CHECK(same.value().item<double>() == 16);
  same.set(tensor(1.0));
  CT_CHECK(total.value().item<double>() == 1);
}

static void texts(const void *) {
  gemel::context c;
  gemel::graph g = gemel::graph::parse("graph f(x: f32[N]) { return y = x + x }", c), h(c);
  value x = h.input("x: f32[N]");
  h.output(x + x, "y");
  h.constant(tensor(1.0f)); /* not needed by an output, so not printed */
  CT_EQ_STR(h.text("f").c_str(), g.text("f").c_str());
  CT_HAS_STR(g.text().c_str(), "graph graph(x: f32[N])");
  gemel::dim sum = x.shape()[0];
  for (int k = 0; k < 100; k++) {
    sum = sum + h.symbol("symbol_" + std::to_string(k));
  }
  CT_CHECK(sum.text().size() > 900);
  CT_HAS_STR(sum.text().c_str(), "symbol_99");
  CT_EQ_INT(thrown_by([] { gemel::dim(3) + gemel::dim(4); }), GEMEL_BAD_ARGUMENT);
}

/* ---- Memory ---- */

static int everything(void *) {
  try {
    gemel::context c;
    gemel::graph g(c);
    value x = g.input("x: f64[2, N]"), w = g.input("state w: f64[]");
    value y = gemel::mean(gemel::matmul(x, gemel::transpose(x)) * w + 0.5);
    g.output(y, "y");
    g.output(gemel::scan({w}, {x}, {y},
                         [](auto s, auto row, auto c) {
                           return gemel::step{{s[0] * c[0]}, {row[0]}};
                         })
                 .last[0],
             "z");
    g.update(w, w - 0.1 * gemel::gradient(y, w));
    gemel::shared v(tensor(1.0));
    gemel_options options = {};
    options.as_written = 1; /* rewriting is tested elsewhere, and has many allocations */
    gemel::function f(g, {v}, options);
    tensor result = f({tensor(numbers{1, 2, 3, 4, 5, 6}, {2, 3})})[0];
    CT_CHECK(result.item<double>() == (14 + 32 + 32 + 77) / 4.0 + 0.5);
  } catch (const gemel::error &e) {
    return e.status();
  }
  return GEMEL_OK;
}

static void memory(const void *) {
  CT_CHECK(ct_oom(everything, nullptr) > 50);
}

/* Beyond 2^53, where not every integer is a double. */
static void whole_numbers(const void *) {
  gemel::context c;
  gemel::graph g(c);
  value i = g.input("i: i64[]"), u = g.input("u: u64[]");
  g.output(i + 9007199254740993, "odd");
  g.output(i - INT64_MAX, "least");
  g.output(i + INT64_MIN, "below");
  g.output(u + UINT64_MAX, "most");
  g.output(gemel::maximum(u, UINT64_C(18446744073709551613)), "maximum");
  std::vector<tensor> r = gemel::evaluate(g, {tensor(int64_t(0)), tensor(uint64_t(0))});
  CT_EQ_INT(r[0].item<int64_t>(), 9007199254740993);
  CT_EQ_INT(r[1].item<int64_t>(), -INT64_MAX);
  CT_EQ_INT(r[2].item<int64_t>(), INT64_MIN);
  CT_EQ_UINT(r[3].item<uint64_t>(), UINT64_MAX);
  CT_EQ_UINT(r[4].item<uint64_t>(), UINT64_C(18446744073709551613));
}

static const ct_test tests[] = {CT_TEST("whole_numbers", whole_numbers, nullptr),
                                CT_TEST("operators", operators, nullptr),
                                CT_TEST("functions", functions, nullptr),
                                CT_TEST("shapes", shapes, nullptr),
                                CT_TEST("windows", windows, nullptr),
                                CT_TEST("derivatives", derivatives, nullptr),
                                CT_TEST("drawing", drawing, nullptr),
                                CT_TEST("graphs", graphs, nullptr),
                                CT_TEST("loops", loops, nullptr),
                                CT_TEST("loops_of_other_lengths", loops_of_other_lengths, nullptr),
                                CT_TEST("files", files, nullptr),
                                CT_TEST("numbers", numbers_have_dtypes, nullptr),
                                CT_TEST("lines", lines, nullptr),
                                CT_TEST("exceptions", exceptions, nullptr),
                                CT_TEST("null_operands", null_operands, nullptr),
                                CT_TEST("tensors", tensors, nullptr),
                                CT_TEST("states", states, nullptr),
                                CT_TEST("texts", texts, nullptr),
                                CT_TEST("memory", memory, nullptr)};

void ct_register(void) {
  ct_suite("cpp", tests, CT_COUNT(tests));
}
