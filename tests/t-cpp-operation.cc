/*
 * <gemel/operation.hpp> and <gemel/verify.hpp>: operations of lambdas, what they capture and throw,
 * their derivatives, and the harness's verdict on right ones and wrong ones.
 *
 * SPDX-License-Identifier: MIT
 */
#include <gemel/verify.hpp>

#include "cpp.h"

#include <memory>
#include <stdexcept>

using values = std::vector<value>;

static values slopes_of(const values &x) {
  return values{x[1], x[0], gemel::ones_like(x[2])};
}

/* a x + b, and the same with a mistake in the kernel or in the slopes. */
static gemel::operation scale_shift(const std::string &name, double wrong = 0) {
  return gemel::operation(name)
      .elementwise([wrong](double x, double a, double b) { return a * x + (1 + wrong) * b; })
      .slopes(slopes_of);
}

static void elementwise(const void *) {
  gemel::context c;
  scale_shift("scale_shift").register_in(c);
  gemel::graph g(c);
  value x = g.input("x: f64[N, 3]"), b = g.input("b: f64[3]"), s = g.input("s: f32[2, 1]");
  value t = g.input("t: f32[]");
  g.output(gemel::apply("scale_shift", {x, 2, b}), "y");
  g.output(gemel::apply("scale_shift", {s, s.T(), 1}), "z");
  g.output(gemel::apply("scale_shift", {t, t, t}), "t2");
  g.output(gemel::apply("scale_shift", {x.T(), 1, 0}), "flipped");
  CT_EQ_STR(gemel_graph_output(g.get(), 0).graph == nullptr
                ? ""
                : value(gemel_graph_output(g.get(), 0)).type().c_str(),
            "f64[N, 3]");
  auto r = gemel::evaluate(g, {tensor(numbers{1, 2, 3, 4, 5, 6}, {2, 3}), tensor(numbers{1, 0, -1}),
                               tensor(std::vector<float>{2, 3}, {2, 1}), tensor(4.0f)});
  CT_CHECK((r[0].elements<double>() == numbers{3, 4, 5, 9, 10, 11}));
  CT_CHECK((r[1].shape() == std::vector<int64_t>{2, 2}));
  CT_CHECK((r[1].elements<float>() == std::vector<float>{5, 7, 7, 10}));
  CT_CHECK(r[2].item<float>() == 20);
  CT_CHECK((r[3].elements<double>() == numbers{1, 4, 2, 5, 3, 6}));
  auto none = gemel::evaluate(g, {tensor(GEMEL_F64, {0, 3}), tensor(numbers{1, 0, -1}),
                                  tensor(std::vector<float>{2, 3}, {2, 1}), tensor(4.0f)});
  CT_CHECK((none[0].shape() == std::vector<int64_t>{0, 3}));
}

/* Operands that broadcast: the gradient has their shape, the tangent the result's. */
static void derivatives(const void *) {
  gemel::context c;
  scale_shift("scale_shift").register_in(c);
  gemel::graph g(c);
  value x = g.input("x: f64[2, 3]"), a = g.input("a: f64[]"), b = g.input("b: f64[1, 3]");
  value y = gemel::apply("scale_shift", {x, a, b});
  for (const value &d : gemel::gradients(gemel::sum(y * y), {x, a, b})) {
    g.output(d, "d" + std::to_string(gemel_graph_output_count(g.get())));
  }
  g.output(gemel::jvp(y, b, gemel::ones_like(b)), "db");
  g.output(gemel::jvp({y}, {x, a}, {x, gemel::ones_like(a)})[0], "dxa");
  auto r = gemel::evaluate(g, {tensor(numbers{1, 2, 3, 4, 5, 6}, {2, 3}), tensor(2.0),
                               tensor(numbers{0, 1, 2}, {1, 3})});
  /* y = 2 5 8; 8 11 14 */
  CT_CHECK((r[0].elements<double>() == numbers{8, 20, 32, 32, 44, 56}));
  CT_CHECK(r[1].item<double>() == 2 * (2 * 1 + 5 * 2 + 8 * 3 + 8 * 4 + 11 * 5 + 14 * 6));
  CT_CHECK((r[2].shape() == std::vector<int64_t>{1, 3}));
  CT_CHECK((r[2].elements<double>() == numbers{20, 32, 44}));
  CT_CHECK((r[3].elements<double>() == numbers{1, 1, 1, 1, 1, 1}));
  CT_CHECK((r[4].elements<double>() == numbers{3, 6, 9, 12, 15, 18}));
}

/* What lambdas capture lives as long as the context, which a function keeps too, and no longer. */
static void captures(const void *) {
  auto factor = std::make_shared<double>(3);
  std::weak_ptr<double> left = factor;
  {
    gemel::function f = [&factor] {
      gemel::context c;
      gemel::operation op("times");
      op.elementwise([factor](double x) { return *factor * x; });
      op.register_in(c);
      CT_EQ_INT(thrown_by([&] { op.register_in(c); }), GEMEL_BAD_ARGUMENT);
      gemel::graph g(c);
      g.output(gemel::apply("times", {g.input("x: f64[N]")}), "y");
      return gemel::function(g);
    }();
    factor.reset();
    CT_EQ_INT(left.use_count(), 1);
    CT_CHECK((f({tensor(numbers{1, 2})})[0].elements<double>() == numbers{3, 6}));
  }
  CT_CHECK(left.expired());
}

/* Rows and columns of any strides, attributes, two outputs; sizes that the type rule looks at. */
static void kernels(const void *) {
  gemel::context c;
  gemel::operation("ends")
      .attribute("alpha", 0.5)
      .attribute<int64_t>("column")
      .attribute("mode", "plain")
      .attribute("dtype", GEMEL_F64)
      .attribute<std::vector<int64_t>>("list")
      .infer([](const gemel::infer_call &call) {
        const gemel::type &x = call.inputs[0];
        if (x.shape.size() != 2) {
          gemel::fail(GEMEL_BAD_SHAPE, "it takes a matrix");
        }
        if (x.shape[1].known() && *x.shape[1].known() <= call.attribute<int64_t>("column")) {
          throw std::out_of_range("there is no such column");
        }
        return std::vector<gemel::type>{{x.dtype, {x.shape[0]}}, {GEMEL_I64, {x.shape[1], 2}}};
      })
      .kernel([](const gemel::kernel_call &call) {
        const gemel::view &x = call.inputs[0], &y = call.outputs[0], &n = call.outputs[1];
        int64_t column = call.attribute<int64_t>("column");
        CT_CHECK(call.attribute<std::string>("mode") == "plain");
        CT_EQ_INT(call.attribute<gemel_dtype>("dtype"), GEMEL_F64);
        CT_CHECK((call.attribute<std::vector<int64_t>>("list") == std::vector<int64_t>{4, 5}));
        CT_EQ_INT(x.rank(), 2);
        CT_EQ_INT(x.size(), x.size(0) * x.size(-1));
        for (int64_t i = 0; i < y.size(); i++) {
          y.store(i, call.attribute<double>("alpha") * x.at<double>(i, column));
          CT_CHECK(&x.at<double>(i, column) == &x.element<double>(i * x.size(1) + column));
        }
        for (int64_t i = 0; i < n.size(); i++) {
          n.element<int64_t>(i) = i;
        }
      })
      .register_in(c);
  gemel::graph g(c);
  value x = g.input("x: f64[N, 3]");
  value y = gemel::apply("ends", {x}, {{"column", 2}, {"list", {4, 5}}});
  value z = gemel::apply("ends", {x.T()}, {{"column", 0}, {"alpha", 2.0}, {"list", {4, 5}}});
  g.output(y, "y");
  g.output(y.output_at(1), "n");
  g.output(z, "z");
  auto r = gemel::evaluate(g, {tensor(numbers{1, 2, 3, 4, 5, 6}, {2, 3})});
  CT_CHECK((r[0].elements<double>() == numbers{1.5, 3}));
  CT_CHECK((r[1].elements<int64_t>() == std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  CT_CHECK((r[2].elements<double>() == numbers{2, 4, 6}));
  const std::vector<gemel::attribute> third = {{"column", 3}, {"list", {4, 5}}};
  THROWS(gemel::apply("ends", {x}, third), GEMEL_BAD_ARGUMENT);
  THROWS(gemel::apply("ends", {x[0]}, third), GEMEL_BAD_SHAPE);
  THROWS(gemel::apply("ends", {x}, {{"column", 1.5}}), GEMEL_BAD_ARGUMENT);
  THROWS(gemel::apply("ends", {x}), GEMEL_BAD_ARGUMENT);
}

/* What F throws, as text; "" if it throws nothing. The status must be this one. */
static std::string message(gemel_status status, const std::function<void()> &f) {
  try {
    f();
  } catch (const gemel::error &e) {
    CT_EQ_INT(e.status(), status);
    return e.what();
  }
  return "";
}

/* An exception of each kind out of each lambda. */
static void exceptions(const void *) {
  enum where { INFER, KERNEL, GRAD, JVP };
  struct {
    std::function<void()> raise;
    gemel_status status;
    const char *says;
  } kinds[] = {{[] { throw std::runtime_error("odd weather"); }, GEMEL_BAD_ARGUMENT, "odd weather"},
               {[] { gemel::fail(GEMEL_UNSUPPORTED, "not on Sundays"); }, GEMEL_UNSUPPORTED,
                "not on Sundays"},
               {[] { throw std::bad_alloc(); }, GEMEL_NO_MEMORY, "out of memory"},
               {[] { throw 42; }, GEMEL_BAD_ARGUMENT, "no std::exception"}};
  for (const auto &kind : kinds) {
    for (where at : {INFER, KERNEL, GRAD, JVP}) {
      gemel::context c;
      const auto raise = [at, &kind](where here) { here == at ? kind.raise() : void(); };
      gemel::operation("f")
          .infer([raise](const gemel::infer_call &call) {
            raise(INFER);
            return call.inputs[0];
          })
          .kernel([raise](const gemel::kernel_call &call) {
            raise(KERNEL);
            call.outputs[0].store(0, call.inputs[0].load(0));
          })
          .grad([raise](const gemel::derive_call &call) {
            raise(GRAD);
            return call.given[0];
          })
          .jvp([raise](const gemel::derive_call &call) {
            raise(JVP);
            return call.given[0];
          })
          .register_in(c);
      gemel::graph g(c);
      value x = g.input("x: f64[]");
      int line = 0;
      std::string text = message(kind.status, [&] {
        line = __LINE__ + 1;
        value y = gemel::apply("f", {x});
        at == GRAD ? gemel::gradient(y, x) : at == JVP ? gemel::jvp(y, x, x) : value();
        g.output(y, "y");
        CT_CHECK(gemel::evaluate(g, {tensor(1.0)})[0].item<double>() == 1);
      });
      CT_HAS_STR(text.c_str(), kind.says);
      CT_HAS_STR(text.c_str(), ("t-cpp-operation.cc:" + std::to_string(line) + ": ").c_str());
      CT_EQ_INT(gemel_graph_error(g.get())->status, GEMEL_OK);
      CT_EQ_STR((x + 1).type().c_str(), "f64[]");
    }
  }
}

/* An operation of one operand whose gradient is GRAD. */
static std::string gradient_says(gemel_status status,
                                 std::function<values(const gemel::derive_call &)> grad) {
  gemel::context c;
  gemel::operation("f")
      .infer([](const gemel::infer_call &call) { return call.inputs[0]; })
      .kernel([](const gemel::kernel_call &) {})
      .grad(grad)
      .register_in(c);
  gemel::graph g(c);
  value x = g.input("x: f64[2, 3]");
  return message(status, [&] { gemel::gradient(gemel::sum(gemel::apply("f", {x})), x); });
}

static void mistakes(const void *) {
  using gemel::derive_call;
  CT_HAS_STR(
      gradient_says(GEMEL_BAD_ARGUMENT, [](const derive_call &) { return values(); }).c_str(),
      "gives 0 values, not 1");
  CT_HAS_STR(gradient_says(GEMEL_BAD_TYPE,
                           [](const derive_call &d) { return values{gemel::sum(d.given[0])}; })
                 .c_str(),
             "derivative of f");
  CT_HAS_STR(
      gradient_says(GEMEL_BAD_SHAPE,
                    [](const derive_call &d) { return values{d.given[0] * d.inputs[0].T()}; })
          .c_str(),
      "t-cpp-operation.cc");
  CT_EQ_STR(
      gradient_says(GEMEL_OK, [](const derive_call &d) { return values{d.given[0]}; }).c_str(), "");
  gemel::context c;
  scale_shift("scale_shift").register_in(c);
  const auto nothing = [](const gemel::kernel_call &) {};
  const auto first = [](const gemel::infer_call &call) { return call.inputs[0]; };
  CT_HAS_STR(
      message(GEMEL_BAD_ARGUMENT, [&] { gemel::operation("f").kernel(nothing).register_in(c); })
          .c_str(),
      "no type rule");
  CT_HAS_STR(message(GEMEL_BAD_ARGUMENT, [&] { gemel::operation("f").infer(first).register_in(c); })
                 .c_str(),
             "no kernel");
  CT_EQ_INT(thrown_by([&] { gemel::operation("9").infer(first).kernel(nothing).register_in(c); }),
            GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(thrown_by([&] { gemel::operation("sum").infer(first).kernel(nothing).register_in(c); }),
            GEMEL_BAD_ARGUMENT);
  gemel::graph g(c);
  value x = g.input("x: f64[2, 3]"), y = g.input("y: f32[2, 3]"), i = g.input("i: i64[3]");
  value n = g.input("n: f64[N]"), m = g.input("m: f64[M]");
  THROWS(gemel::apply("scale_shift", {x, x, x.T()}), GEMEL_BAD_SHAPE);
  THROWS(gemel::apply("scale_shift", {x, x, y}), GEMEL_BAD_TYPE);
  THROWS(gemel::apply("scale_shift", {i, i, i}), GEMEL_BAD_TYPE);
  THROWS(gemel::apply("scale_shift", {x, x}), GEMEL_BAD_ARGUMENT);
  CT_EQ_STR(gemel::apply("scale_shift", {n, 1, m}).type().c_str(), "f64[N]");
  CT_EQ_STR(gemel::apply("scale_shift", {n, x, 1}).type().c_str(), "f64[2, 3]");
  CT_EQ_STR(gemel::apply("scale_shift", {n, gemel::index(x, 0, 0).slice(0, 1), 1}).type().c_str(),
            "f64[N]");
  /* sizes that may be the same, and a 1 that only turns up when it is called */
  g.output(gemel::apply("scale_shift", {n, m, 0}), "sum");
  const auto call = [&](const numbers &a, const numbers &b) {
    return gemel::evaluate(g, {tensor(numbers(6), {2, 3}), tensor(std::vector<float>(6), {2, 3}),
                               tensor(std::vector<int64_t>(3)), tensor(a), tensor(b)})[0]
        .elements<double>();
  };
  CT_CHECK((call({1, 2}, {3, 4}) == numbers{3, 8}));
  CT_EQ_INT(thrown_by([&] { call({1, 2}, {1, 2, 3}); }), GEMEL_BAD_SHAPE);
  CT_EQ_INT(thrown_by([&] { call({1, 2}, {1}); }), GEMEL_BAD_SHAPE);
  CT_EQ_INT(thrown_by([&] { call({1}, {1, 2}); }), GEMEL_BAD_SHAPE);
}

static void views(const void *) {
  float memory[] = {1, 0, 2, 0, 3, 0};
  int64_t shape[] = {3}, strides[] = {8};
  gemel::view odd(gemel_view{GEMEL_F32, 1, shape, strides, memory});
  CT_CHECK(odd.element<float>(2) == 3 && odd.at<float>(1) == 2 && odd.load(1) == 2);
  odd.store(0, 5);
  CT_CHECK(memory[0] == 5 && odd.size() == 3 && odd.get().data == memory);
  CT_EQ_INT(thrown_by([&] { odd.element<double>(0); }), GEMEL_BAD_TYPE);
  CT_EQ_INT(thrown_by([&] { odd.element<int>(0); }), GEMEL_BAD_TYPE);
  CT_EQ_INT(thrown_by([&] { odd.at<float>(0, 0); }), GEMEL_BAD_SHAPE);
  CT_EQ_INT(thrown_by([&] { odd.size(1); }), GEMEL_BAD_SHAPE);
  gemel_attr list[] = {gemel_attr_float("alpha", 0.5)};
  gemel::attributes a(list, 1);
  CT_CHECK(a.attribute<double>("alpha") == 0.5);
  CT_EQ_INT(thrown_by([&] { a.attribute<int>("alpha"); }), GEMEL_BAD_TYPE);
  CT_EQ_INT(thrown_by([&] { a.attribute<std::string>("alpha"); }), GEMEL_BAD_TYPE);
  CT_EQ_INT(thrown_by([&] { a.attribute<gemel_dtype>("alpha"); }), GEMEL_BAD_TYPE);
  CT_EQ_INT(thrown_by([&] { a.attribute<std::vector<int64_t>>("alpha"); }), GEMEL_BAD_TYPE);
  CT_EQ_INT(thrown_by([&] { a.attribute<double>("beta"); }), GEMEL_BAD_ARGUMENT);
}

/* ---- The harness ---- */

static void keep(void *user, const gemel_record *record) {
  if (record->counterexample != nullptr) {
    *static_cast<std::string *>(user) += record->counterexample;
  }
}

/* REPORT gets the counterexamples. */
static gemel_verify_summary verify(const gemel::context &c, const char *name, std::string &report) {
  gemel_verify_options options = {};
  gemel_verify_summary summary = {};
  gemel_error e;
  options.size = sizeof options;
  options.ops = name;
  options.sink = keep;
  options.user = &report;
  options.instances = 8;
  summary.size = sizeof summary;
  gemel::check(gemel_verify_operations(c.get(), &options, &summary, &e), e);
  return summary;
}

static value formula(const gemel::formula_call &c) {
  return c.inputs[0] * c.inputs[1] + c.inputs[2];
}

static void verdicts(const void *) {
  gemel::context c;
  scale_shift("right").register_in(c);
  scale_shift("wrong", 0.01).register_in(c);
  scale_shift("wrong_slopes")
      .slopes([](const values &x) {
        return values{x[1], x[0] + 0.01, gemel::ones_like(x[2])};
      })
      .register_in(c);
  for (const char *name : {"right", "wrong", "wrong_slopes"}) {
    gemel::reference(c, name, formula);
  }
  std::string report;
  gemel_verify_summary right = verify(c, "right", report);
  CT_EQ_STR(report.c_str(), "");
  CT_CHECK(right.verdicts[GEMEL_VERDICT_PASSED] > 0 && right.verdicts[GEMEL_VERDICT_REFUTED] == 0);
  CT_CHECK(verify(c, "wrong", report).verdicts[GEMEL_VERDICT_REFUTED] > 0);
  CT_CHECK(verify(c, "wrong_slopes", report).verdicts[GEMEL_VERDICT_REFUTED] > 0);
  CT_EQ_INT(thrown_by([&] { gemel::reference(c, "right", formula); }), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(thrown_by([&] { gemel::reference(c, "none", formula); }), GEMEL_NOT_FOUND);
}

/* A sampler of one's own, with an attribute; a reference of one's own that looks at it. */
static void samplers(const void *) {
  gemel::context c;
  gemel::operation("column")
      .attribute("k", 0)
      .infer([](const gemel::infer_call &call) {
        return gemel::type{call.inputs[0].dtype, {call.inputs[0].shape.at(0)}};
      })
      .kernel([](const gemel::kernel_call &call) {
        const gemel::view &x = call.inputs[0], &y = call.outputs[0];
        for (int64_t i = 0; i < y.size(); i++) {
          y.store(i, x.load(i * x.size(1) + call.attribute<int64_t>("k")));
        }
      })
      .sample([](gemel::sample_call &call) {
        if (call.dtype() != GEMEL_F32 && call.dtype() != GEMEL_F64) {
          call.decline();
        }
        std::vector<int64_t> shape = call.shape(2);
        shape[1] = shape[1] + 1;
        call.input(call.dtype(), shape, GEMEL_RANGE_POSITIVE);
        call.attribute("k", call.below(shape[1]));
      })
      .register_in(c);
  auto kept = std::make_shared<int>(1);
  std::weak_ptr<int> left = kept;
  gemel::reference(c, "column", [kept](const gemel::formula_call &call) {
    return call.inputs[0][{{}, call.attribute<int64_t>("k")}];
  });
  kept.reset();
  std::string report;
  gemel_verify_summary summary = verify(c, "column", report);
  CT_CHECK(summary.verdicts[GEMEL_VERDICT_PASSED] > 0);
  CT_EQ_UINT(summary.verdicts[GEMEL_VERDICT_REFUTED], 0);
  CT_EQ_INT(left.use_count(), 1);
  c = gemel::context();
  CT_CHECK(left.expired());
}

static void thrown_in_the_harness(const void *) {
  gemel::context c;
  std::string report;
  scale_shift("drawn")
      .sample([](gemel::sample_call &) { throw std::runtime_error("odd weather"); })
      .register_in(c);
  gemel::reference(c, "drawn", formula);
  CT_CHECK(verify(c, "drawn", report).verdicts[GEMEL_VERDICT_REFUTED] > 0);
  CT_HAS_STR(report.c_str(), "the sampler of drawn failed: odd weather");
  scale_shift("f").register_in(c);
  gemel::reference(c, "f", [](const gemel::formula_call &call) -> value {
    return call.inputs[0].rank() >= 0 ? throw std::runtime_error("odd weather") : value();
  });
  CT_HAS_STR(message(GEMEL_BAD_ARGUMENT, [&] { verify(c, "f", report); }).c_str(),
             "the reference of f can't be built: odd weather");
}

/* ---- Memory ---- */

static int everything(void *) {
  try {
    gemel::context c;
    scale_shift("scale_shift").register_in(c);
    gemel::reference(c, "scale_shift", formula);
    gemel::graph g(c);
    value x = g.input("x: f64[]"), y = gemel::apply("scale_shift", {x, 2, 1});
    g.output(y, "y");
    g.output(gemel::gradient(y, x), "d");
    gemel_options options = {};
    options.as_written = 1;
    CT_CHECK(gemel::function(g, {}, options)({tensor(3.0)})[1].item<double>() == 2);
  } catch (const gemel::error &e) {
    return e.status();
  }
  return GEMEL_OK;
}

static void memory(const void *) {
  CT_CHECK(ct_oom(everything, nullptr) > 50);
}

static const ct_test tests[] = {CT_TEST("elementwise", elementwise, nullptr),
                                CT_TEST("derivatives", derivatives, nullptr),
                                CT_TEST("captures", captures, nullptr),
                                CT_TEST("kernels", kernels, nullptr),
                                CT_TEST("exceptions", exceptions, nullptr),
                                CT_TEST("mistakes", mistakes, nullptr),
                                CT_TEST("views", views, nullptr),
                                CT_TEST("verdicts", verdicts, nullptr),
                                CT_TEST("samplers", samplers, nullptr),
                                CT_TEST("thrown", thrown_in_the_harness, nullptr),
                                CT_TEST("memory", memory, nullptr)};

void ct_register(void) {
  ct_suite("cpp-operation", tests, CT_COUNT(tests));
}
