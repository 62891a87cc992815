/* SPDX-License-Identifier: MIT
 *
 * Your own operations from C++17, of lambdas: softsign, element by element, and centred, which
 * takes the mean of each row away. They are differentiated and run, and judged by the harness;
 * then so is softsign with a mistake in its slope. The first two must pass and the last be refuted;
 * the program succeeds if that is what happened.
 *
 *   c++ -std=c++17 my_operation.cpp $(pkg-config --cflags --libs gemel-verify gemel) && ./a.out
 */
#include <cmath>
#include <cstdio>
#include <gemel/verify.hpp>

using gemel::value;

/* x / (1 + |x|), and (1 + |x|)^-2, which a mistake makes twice that. */
static void add_softsign(const gemel::context &context, const std::string &name, int mistake) {
  gemel::operation(name)
      .elementwise([](double x) { return x / (1 + std::fabs(x)); })
      .slopes([mistake](const std::vector<value> &x) {
        value d = 1 + gemel::abs(x[0]);
        return (1 + mistake) / (d * d);
      })
      .sample({GEMEL_RANGE_MODERATE})
      .register_in(context);
  gemel::reference(context, name, [](const gemel::formula_call &call) {
    return call.inputs[0] / (1 + gemel::abs(call.inputs[0]));
  });
}

static value minus_mean(const value &x) {
  return x - gemel::mean(x, 1, true);
}

/* A kernel over rows, of f32 or f64 in any layout. Its derivative is itself, either way. */
static void add_centred(const gemel::context &context) {
  gemel::operation("centred")
      .infer([](const gemel::infer_call &call) {
        const gemel::type &x = call.inputs[0];
        if (x.shape.size() != 2 || (x.dtype != GEMEL_F32 && x.dtype != GEMEL_F64)) {
          gemel::fail(GEMEL_BAD_TYPE, "it takes a matrix of f32 or f64");
        }
        return x;
      })
      .kernel([](const gemel::kernel_call &call) {
        const gemel::view &x = call.inputs[0], &y = call.outputs[0];
        int64_t columns = x.size(1);
        for (int64_t first = 0; first < x.size(); first += columns) {
          double sum = 0;
          for (int64_t k = 0; k < columns; k++) {
            sum += x.load(first + k);
          }
          for (int64_t k = 0; k < columns; k++) {
            y.store(first + k, x.load(first + k) - sum / static_cast<double>(columns));
          }
        }
      })
      .grad([](const gemel::derive_call &call) { return minus_mean(call.given[0]); })
      .jvp([](const gemel::derive_call &call) { return minus_mean(call.given[0]); })
      .sample([](gemel::sample_call &call) {
        if (call.dtype() != GEMEL_F32 && call.dtype() != GEMEL_F64) {
          call.decline();
        }
        call.input(call.dtype(), call.shape(2));
      })
      .register_in(context);
  gemel::reference(context, "centred",
                   [](const gemel::formula_call &call) { return minus_mean(call.inputs[0]); });
}

/* 1 if the harness finds nothing. */
static bool holds(const gemel::context &context, const char *name) {
  gemel_verify_options options = {};
  gemel_verify_summary summary = {};
  gemel_error e;
  options.size = sizeof options;
  options.ops = name;
  summary.size = sizeof summary;
  gemel::check(gemel_verify_operations(context.get(), &options, &summary, &e), e);
  bool good =
      summary.verdicts[GEMEL_VERDICT_PASSED] + summary.verdicts[GEMEL_VERDICT_NOT_APPLICABLE] ==
      summary.records;
  std::printf("%-14s %s\n", name, good ? "passed" : "REFUTED");
  return good;
}

int main() {
  try {
    gemel::context context;
    add_softsign(context, "softsign", 0);
    add_softsign(context, "softsign_wrong", 1);
    add_centred(context);

    gemel::graph g(context);
    value x = g.input("x: f64[N, 2]");
    value y = gemel::apply("softsign", {gemel::apply("centred", {x})});
    g.output(y, "y");
    g.output(gemel::gradient(gemel::sum(y[{{}, 0}]), x), "slope");
    auto results = gemel::evaluate(g, {gemel::tensor(std::vector<double>{5, 3}, {1, 2})});
    auto slope = results[1].elements<double>();
    std::printf("%g, slope %g %g\n", results[0].elements<double>()[0], slope[0], slope[1]);

    bool right = holds(context, "softsign") && holds(context, "centred");
    return right && !holds(context, "softsign_wrong") ? 0 : 1;
  } catch (const gemel::error &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
