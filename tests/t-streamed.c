/* SPDX-License-Identifier: MIT
 *
 * Results that loops write past the cache, as they do big ones: random elementwise graphs of
 * several results, with operands that are broadcast along any axes or transposed, in all sizes from
 * one tile on, give the bits of plain kernels, whatever the dtype and the number of threads.
 */
#include <gemel/gemel.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "core/stream.h"
#include "ct.h"

static gemel_error error;

#include "support/small-integers.h"

enum { AXES = 3, MOST = 40, RESULTS = 4 };

/* Inputs of the shape [A, B, C], with axes of 1 where AXES has no letter. */
static const char *const inputs[] = {"ABC", "ABC", "AB.", "A.C", "..C", ".B.", "A..", "...", "CBA"};
enum { INPUTS = sizeof inputs / sizeof *inputs };

typedef struct drawn {
  gemel__random *random;
  char text[6000];
  int at, values;
  gemel_dtype dtype;
  int64_t sizes[AXES];
} drawn;

static void say(drawn *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(drawn *d, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  d->at += vsnprintf(d->text + d->at, sizeof d->text - (size_t)d->at, format, arguments);
  va_end(arguments);
}

static int below(drawn *d, int n) {
  return (int)gemel__random_below(d->random, (uint64_t)n);
}

static int64_t size_of(const drawn *d, char axis) {
  return axis == '.' ? 1 : d->sizes[axis - 'A'];
}

/* An input, transposed back where it is, or what was computed before. */
static void say_operand(drawn *d) {
  int k = below(d, 2 * INPUTS);
  if (k >= INPUTS && d->values > 0) {
    say(d, "v%d", below(d, d->values));
  } else if (inputs[k % INPUTS][0] == 'C') {
    say(d, "dimshuffle(x%d, order = [2, 1, 0])", k % INPUTS);
  } else {
    say(d, "x%d", k % INPUTS);
  }
}

static void say_statement(drawn *d) {
  static const char *const before[] = {"abs(", "", "", "maximum(", "where(", ""};
  static const char *const between[] = {" - ", " - ", " + ", ", ", " > ", " * "};
  int form = below(d, 6);
  say(d, "  v%d = (%s", d->values, before[form]);
  say_operand(d);
  say(d, "%s", between[form]);
  say_operand(d);
  if (form == 4) {
    say(d, ", ");
    say_operand(d);
    say(d, ", ");
    say_operand(d);
  }
  say(d, "%s) %% 7\n", before[form][0] != '\0' ? ")" : "");
  d->values++;
}

static void draw(drawn *d) {
  static const int64_t longest[] = {3, 40, 1000, 5000};
  d->at = d->values = 0;
  d->sizes[2] = gemel__random_between(d->random, 1, longest[below(d, 4)]);
  d->sizes[1] = gemel__random_between(d->random, 1, d->sizes[2] > 100 ? 8 : 90);
  d->sizes[0] = gemel__random_between(d->random, 1, 12);
  say(d, "graph f(");
  for (int k = 0; k < INPUTS; k++) {
    say(d, "%sx%d: %s[%lld, %lld, %lld]", k > 0 ? ", " : "", k, gemel_dtype_name(d->dtype),
        (long long)size_of(d, inputs[k][0]), (long long)size_of(d, inputs[k][1]),
        (long long)size_of(d, inputs[k][2]));
  }
  say(d, ") {\n");
  for (int statements = 2 + below(d, 12); statements > 0; statements--) {
    say_statement(d);
  }
  say(d, "  return a = v%d, b = v%d * 2, c = v%d, d = v%d - 1\n}\n", d->values - 1, d->values - 1,
      below(d, d->values), below(d, d->values));
}

static void compare(gemel_context *context, drawn *d) {
  const gemel_options plain = {.size = sizeof plain, .threads = 1, .plain = 1};
  gemel_tensor *in[INPUTS], *expected[RESULTS] = {NULL}, *got[RESULTS] = {NULL};
  draw(d);
  gemel_graph *graph = gemel_parse(context, d->text, (size_t)d->at, "streamed", NULL, &error);
  ct_context("%s\n%s", d->text, error.text);
  CT_REQUIRE(graph != NULL);
  for (int k = 0; k < INPUTS; k++) {
    int64_t shape[AXES];
    for (int axis = 0; axis < AXES; axis++) {
      shape[axis] = size_of(d, inputs[k][axis]);
    }
    in[k] = small_integers(d->dtype, AXES, shape, d->random);
  }
  call_once(graph, &plain, INPUTS, in, RESULTS, expected);
  for (int threads = 1; threads < 3; threads++) {
    const gemel_options options = {
        .size = sizeof options, .threads = threads, .as_written = below(d, 2)};
    call_once(graph, &options, INPUTS, in, RESULTS, got);
    for (int k = 0; k < RESULTS; k++) {
      ct_context("result %d, %d threads, of\n%s", k, threads, d->text);
      CT_EQ_INT(gemel_tensor_elements(got[k]), gemel_tensor_elements(expected[k]));
      CT_EQ_MEM(gemel_tensor_data(got[k]), gemel_tensor_data(expected[k]),
                (size_t)gemel_tensor_elements(expected[k]) * gemel_dtype_size(d->dtype));
    }
    drop(got, RESULTS);
  }
  drop(expected, RESULTS);
  drop(in, INPUTS);
  gemel_graph_unref(graph);
}

static void random_graphs(const void *data) {
  static const gemel_dtype dtypes[] = {GEMEL_F32, GEMEL_F64, GEMEL_I32, GEMEL_BF16, GEMEL_F16};
  enum { GRAPHS = 300 };
  gemel__random random;
  gemel_context *context = gemel_context_new(&error);
  CT_REQUIRE(context != NULL);
  const char *seed = getenv("GEMEL_STREAMED_SEED");
  gemel__random_seed(&random, *(const uint64_t *)data + (seed ? strtoull(seed, NULL, 10) : 0));
  gemel__stream_from(*(const uint64_t *)data > 1 ? 1 : 20000);
  for (int k = 0; k < GRAPHS; k++) {
    static drawn d;
    d.random = &random;
    d.dtype = dtypes[k % 5];
    compare(context, &d);
  }
  gemel__stream_from(0);
  gemel_context_unref(context);
}

void ct_register(void) {
  static const uint64_t some = 1, all = 2;
  static const ct_test tests[] = {CT_TEST("some", random_graphs, &some),
                                  CT_TEST("all", random_graphs, &all)};
  ct_suite("streamed", tests, CT_COUNT(tests));
}
