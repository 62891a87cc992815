/*
 * Procedural passes: what a program's pass may do and what is refused, the normal forms of sums and
 * products, and what every pass must hold: it fires on what its generator makes, costs no more, is
 * found nothing to do a second time, takes linear time and little stack, and gives the same for the
 * same.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <gemel/gemel.h>
#include "ct.h"
#include "sample/generators.h"
#include "support/graph-text.h"
#include "support/small-stack.h"
#include "support/operation.h"

/* GRAPH rewritten with everything allowed by what INCLUDE names; *APPLIED: by the pass of that
 * name.
 */
static gemel_graph *rewrite_by(const gemel_graph *graph, const char *include, uint64_t *applied,
                               gemel_error *error) {
  gemel_rewrite_profile *profile = gemel_rewrite_profile_new();
  gemel_rewrite_options options = {.size = sizeof options,
                                   .include = include,
                                   .has_allow = 1,
                                   .allow = GEMEL_FASTMATH_ALL,
                                   .profile = profile};
  gemel_graph *result = gemel_rewrite(graph, &options, error);
  if (applied != NULL) {
    *applied = 0;
    for (size_t k = 0; k < gemel_rewrite_profile_count(profile); k++) {
      const gemel_rewrite_row *row = gemel_rewrite_profile_at(profile, k);
      *applied += row->name != NULL && strcmp(row->name, include) == 0 ? row->applied : 0;
    }
  }
  gemel_rewrite_profile_free(profile);
  return result;
}

static uint64_t next_random(void *user) {
  uint64_t *s = user;
  *s ^= *s << 13;
  *s ^= *s >> 7;
  *s ^= *s << 17;
  return *s;
}

/* ---- Normal forms ---- */

typedef struct form {
  const char *pass, *graph, *wanted; /* wanted NULL: as it is */
} form;

#define DOTS                                                                                       \
  "(x: f32[64, 256], y: f32[64, 256], s: f32[256, 1], t: f32[256, 1], u: f32[256, 2], "            \
  "v: f32[256, 3], w: f32[256, 17]) { "

static const form forms[] = {
    /* like terms, whatever their place */
    {"integer_sums", "(x: i32, y: i32) { return r = x + y - x }",
     "(x: i32, y: i32) { return r = y }"},
    {"integer_sums", "(x: i32, y: i32) { return r = (x + y) + (x - y) }",
     "(x: i32, y: i32) { c = 2:i32 return r = x * c }"},
    {"integer_sums", "(x: i32) { return r = x - (x + 1:i32) }", "(x: i32) { return r = -1:i32 }"},
    {"integer_sums", "(x: i32[2]) { return r = x - x }",
     "(x: i32[2]) { c = 0:i32 return r = broadcast_to(c, shape = [2]) }"},
    {"integer_sums", "(x: u8) { return r = x * 200:u8 + x * 57:u8 }",
     "(x: u8) { return r = x }"}, /* 257 wraps */
    {"integer_sums", "(x: i32, y: i32) { return r = -x - y + 3:i32 + y }",
     "(x: i32, y: i32) { c = 3:i32 return r = c - x }"},
    {"integer_sums", "(x: f32) { return r = x + x + x }", NULL},
    {"normalize_sums", "(x: f32) { return r = x + x + x }",
     "(x: f32) { c = 3:f32 return r = x * c }"},
    {"normalize_sums", "(x: f32, y: f32) { return r = x * 0.5:f32 + y + x * 1.5:f32 }",
     "(x: f32, y: f32) { c = 2:f32 m = x * c return r = m + y }"},
    {"normalize_sums", "(x: f32, y: f32) { return r = x + 1:f32 + y + 2:f32 }",
     "(x: f32, y: f32) { return r = x + y + 3:f32 }"},
    /* only where the dtype holds the sum of coefficients, or of constants */
    {"normalize_sums", "(x: f32) { return r = x * 0.1:f32 + x * 1e9:f32 }", NULL},
    {"normalize_sums", "(x: f32, y: f32) { return r = x + 0.1:f32 + y + 1e9:f32 }", NULL},
    {"normalize_sums", "(x: f16, y: f16) { return r = x + 6e4:f16 + y + 6e4:f16 }", NULL},
    {"normalize_sums", "(x: f16) { return r = x * 2047:f16 + x + x + x }",
     "(x: f16) { c = 2050:f16 return r = x * c }"},
    {"normalize_sums", "(x: f16) { return r = x * 2047:f16 + x + x }", NULL}, /* 2049 */
    /* what cancels: a NaN is lost */
    {"normalize_sums", "(x: f32, y: f32) { return r = x + y - x }", NULL},
    {"normalize_sums", "(x: f32, y: f32) { return r = x + y - x + x - x }",
     "(x: f32, y: f32) { z = x - x return r = y + z }"},
    {"cancel_sums", "(x: f32, y: f32) { return r = x + y - x }",
     "(x: f32, y: f32) { return r = y }"},
    {"cancel_sums", "(x: f32, y: f32) { return r = x + inf:f32 - inf:f32 }",
     "(x: f32, y: f32) { return r = x }"},
    /* what else uses a part of a sum keeps it */
    {"integer_sums", "(x: i32, y: i32) { s = x + y r = s - x return r, s }", NULL},
    {"integer_sums", "(x: i32, y: i32) { s = x + y return r = (s - x) * (s - y) }", NULL},
    /* a smaller type inside is another sum */
    {"integer_sums", "(x: i32, y: i32[2]) { return r = (x + x + x) + y }",
     "(x: i32, y: i32[2]) { c = 3:i32 m = x * c return r = m + y }"},
    {"integer_products", "(x: i32) { return r = x * 3:i32 * x * 5:i32 }",
     "(x: i32) { c = 15:i32 return r = sqr(x) * c }"},
    {"integer_products", "(x: i32) { return r = x * x * x * x * x * x * x * x }",
     "(x: i32) { a = sqr(x) b = sqr(a) return r = sqr(b) }"},
    {"integer_products", "(x: i32, y: i32) { return r = -x * -y * y }",
     "(x: i32, y: i32) { a = sqr(y) return r = a * x }"},
    {"normalize_products", "(x: f32, y: f32) { return r = x / y / y }",
     "(x: f32, y: f32) { s = sqr(y) return r = x / s }"},
    {"normalize_products", "(x: f32, y: f32) { return r = x * 6:f32 / y / 2:f32 }",
     "(x: f32, y: f32) { c = 3:f32 m = x * c return r = m / y }"},
    {"normalize_products", "(x: f32, y: f32) { return r = 1:f32 / x * y / -1:f32 }",
     "(x: f32, y: f32) { return r = -(y / x) }"},
    /* a factor that may be 0 stays, also where all is allowed: x y / y isn't x there */
    {"cancel_products", "(x: f32, y: f32) { return r = x * y / y }", NULL},
    {"cancel_products", "(x: f32, y: f32) { u = maximum(y, 1:f32) return r = x * u / u }",
     "(x: f32, y: f32) { return r = x }"},
    {"normalize_products", "(x: f32, y: f32) { u = maximum(y, 1:f32) return r = x * u / u }", NULL},
    {"normalize_products", "(x: f32, y: f32) { u = maximum(y, 1:f32) return r = x * u * u / u }",
     "(x: f32, y: f32) { c = 1:f32 u = maximum(y, c) return r = x * u }"},
    /* products of one operand, on either side; what isn't worth it stays */
    {"merge_dots", DOTS "return p = dot(x, u), q = dot(x, v) }",
     DOTS "z = dot(x, join(u, v, axis = 1)) "
          "return p = subtensor(z, start = [0, 0], size = [64, 2]), "
          "q = subtensor(z, start = [0, 2], size = [64, 3]) }"},
    {"merge_dots",
     DOTS "return p = dot(v, x, contract_x = [0], contract_y = [1]), "
          "q = dot(u, x, contract_x = [0], contract_y = [1]) }",
     DOTS "z = dot(join(v, u, axis = 1), x, contract_x = [0], contract_y = [1]) "
          "return p = subtensor(z, start = [0, 0], size = [3, 64]), "
          "q = subtensor(z, start = [3, 0], size = [2, 64]) }"},
    {"merge_dots", DOTS "return p = dot(x, u), q = dot(v, x, contract_x = [0], contract_y = [1]) }",
     NULL},
    {"merge_dots", DOTS "return p = dot(x, u), q = dot(y, v) }", NULL},
    {"merge_dots", DOTS "return p = dot(x, s), q = dot(x, t) }", NULL},
    {"merge_dots", DOTS "return p = dot(x, w), q = dot(x, w + 1:f32) }", NULL},
    {"merge_dots",
     DOTS "c = subtensor(x, start = [0, 0], size = [32, 256]) "
          "return p = dot(c, u), q = dot(c, v) }",
     NULL},
    /* one that depends on the other, by a way, or crosswise */
    {"merge_dots", DOTS "p = dot(x, u) return p = p, q = dot(x, v + sum(p)) }", NULL},
    {"merge_dots",
     DOTS "a = dot(x, u) b = dot(y, u) "
          "return p = dot(y, v + sum(a)), q = dot(x, v + sum(b)) }",
     NULL},
    {"merge_dots", DOTS "p = dot(x, u) return p = p, q = dot(x, v + sum(p)), r = dot(x, v) }",
     DOTS "z = dot(x, join(u, v, axis = 1)) "
          "p = subtensor(z, start = [0, 0], size = [64, 2]) "
          "r = subtensor(z, start = [0, 2], size = [64, 3]) "
          "return p = p, q = dot(x, v + sum(p)), r = r }"},
};

static void normal_form(const void *data) {
  const form *f = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = graph_of(context, f->graph);
  gemel_graph *wanted = graph_of(context, f->wanted != NULL ? f->wanted : f->graph);
  gemel_error error = {0};
  uint64_t applied = 0;
  gemel_graph *result = rewrite_by(graph, f->pass, &applied, &error);
  ct_context("%s: %s", f->pass, f->graph);
  CT_EQ_STR(error.text, "");
  CT_CHECK((applied > 0) == (f->wanted != NULL));
  if (CT_CHECK(result != NULL)) {
    same_plain_text(result, wanted);
  }
  gemel_graph_unref(result);
  gemel_graph_unref(wanted);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Products that share an operand ---- */

/* x U and x V, with V what is given, and how many products are left. Added, independent ones are
 * one of the sum; if V is made of x U, that is needed first, and no order but its own is possible.
 */
typedef struct siblings {
  const char *name, *graph;
  size_t left;
} siblings;

static const siblings sibling_cases[] = {
    {"siblings/independent", "{ a = dot(x, u) b = dot(x, v) return r = a + b }", 1},
    {"siblings/apart", "{ a = dot(x, u) b = dot(x, v) return r = a * b, a }", 2},
    {"siblings/dependent", "{ a = dot(x, u) w = v * sum(a) b = dot(x, w) return r = a + b }", 2},
    {"siblings/chained",
     "{ a = dot(x, u) b = dot(x, v * a) c = dot(x, u - b) return r = a + b + c, a }", 3},
    {"siblings/both_ways",
     "{ a = dot(x, u) b = dot(x, v * a) c = dot(u * b, a) d = dot(v, a) return r = b + c + d }", 4},
};

/* Products, those that add among them. */
static size_t dots_of(const gemel_graph *graph) {
  char *text = gemel_print_string(graph, "g", NULL);
  size_t count = 0;
  for (const char *at = text; (at = strstr(at, " = dot")) != NULL; at++) {
    count++;
  }
  gemel_text_free(text);
  return count;
}

/* GRAPH's first result where inputs are small integers, so that any order of a sum is exact. */
static gemel_tensor *at_integers(const gemel_graph *graph) {
  int64_t shape[2] = {3, 3};
  gemel_tensor *in[3], *out[2] = {NULL};
  gemel_error error = {0};
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    in[k] = gemel_tensor_new(GEMEL_F64, 2, shape, &error);
    for (size_t j = 0; j < 9; j++) {
      ((double *)gemel_tensor_data(in[k]))[j] = (double)((5 * k + 3 * j) % 7) - 3;
    }
  }
  CT_EQ_INT(gemel_evaluate(graph, gemel_graph_input_count(graph), in,
                           gemel_graph_output_count(graph), out, &error),
            GEMEL_OK);
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    gemel_tensor_unref(in[k]);
  }
  gemel_tensor_unref(out[1]);
  return out[0];
}

/* What a rule of the last phase leaves may give a pass something to do that had nothing before: it
 * looks again at what is new or used otherwise, and at all that is one sum with it, however old. */
static void looks_again(const void *data) {
  static const char rule[] = "rule b in specialize: tanh(x + y) => tanh(y)";
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_rules *rules = gemel_rules_parse(context, rule, strlen(rule), "b.rules", &error);
  gemel_graph *graph = graph_of(context, "(x: f32, y: f32, z: f32) { e = x + z d = e + y "
                                         "return p = tanh(d), q = d - x, r = exp(x - z) }");
  gemel_graph *wanted = graph_of(context, "(x: f32, y: f32, z: f32) { q = y + z p = tanh(z) "
                                          "u = x - z return p, q, r = exp(u) }");
  gemel_rewrite_options options = {.size = sizeof options,
                                   .include = "cancel_sums,b",
                                   .has_allow = 1,
                                   .allow = GEMEL_FASTMATH_ALL,
                                   .rules = (const gemel_rules *const *)&rules,
                                   .n_rules = 1};
  gemel_graph *result = gemel_rewrite(graph, &options, &error);
  (void)data;
  CT_EQ_STR(error.text, "");
  same_text(result, wanted);
  gemel_graph_unref(result);
  gemel_graph_unref(wanted);
  gemel_graph_unref(graph);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

static void siblings_are_right(const void *data) {
  const siblings *s = data;
  gemel_context *context = gemel_context_new(NULL);
  char text[400];
  gemel_error error = {0};
  snprintf(text, sizeof text, "(x: f64[3, 3], u: f64[3, 3], v: f64[3, 3]) %s", s->graph);
  gemel_graph *graph = graph_of(context, text), *result = rewrite_by(graph, NULL, NULL, &error);
  CT_EQ_STR(error.text, "");
  if (CT_CHECK(result != NULL)) {
    gemel_tensor *a = at_integers(graph), *b = at_integers(result);
    CT_EQ_INT(gemel_graph_check(result, &error), GEMEL_OK);
    CT_EQ_UINT(dots_of(result), s->left);
    CT_EQ_MEM(gemel_tensor_data(a), gemel_tensor_data(b), 9 * sizeof(double));
    gemel_tensor_unref(a);
    gemel_tensor_unref(b);
  }
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- What every pass must hold ---- */

static gemel_tensor *random_tensor(gemel_context *context, gemel_type type, uint64_t *seed) {
  const gemel_dim *dims = gemel_type_dims(context, type);
  int64_t shape[8];
  gemel_dtype dtype = gemel_type_dtype(context, type);
  for (int k = 0; k < gemel_type_rank(context, type); k++) {
    gemel_dim_is_constant(context, dims[k], &shape[k]);
  }
  gemel_tensor *tensor = gemel_tensor_new(dtype, gemel_type_rank(context, type), shape, NULL);
  size_t bytes = (size_t)gemel_tensor_elements(tensor) * gemel_dtype_size(dtype);
  for (size_t k = 0; k < bytes; k++) {
    ((unsigned char *)gemel_tensor_data(tensor))[k] = (unsigned char)next_random(seed);
  }
  return tensor;
}

enum { MOST_PORTS = 40 };

/* GRAPH's first result at random bits. */
static gemel_tensor *result_of(const gemel_graph *graph, uint64_t seed) {
  gemel_context *context = gemel_graph_context(graph);
  gemel_tensor *in[MOST_PORTS], *out[MOST_PORTS] = {NULL};
  gemel_error error = {0};
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    in[k] = random_tensor(context, gemel_value_type(gemel_graph_input(graph, k)), &seed);
  }
  CT_EQ_INT(gemel_evaluate(graph, gemel_graph_input_count(graph), in,
                           gemel_graph_output_count(graph), out, &error),
            GEMEL_OK);
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    gemel_tensor_unref(in[k]);
  }
  for (size_t k = 1; k < gemel_graph_output_count(graph); k++) {
    gemel_tensor_unref(out[k]);
  }
  return out[0];
}

static int same_bits(const gemel_tensor *a, const gemel_tensor *b) {
  size_t n = (size_t)gemel_tensor_elements(a);
  return n == 0 || memcmp(gemel_tensor_data(a), gemel_tensor_data(b),
                          n * gemel_dtype_size(gemel_tensor_dtype(a))) == 0;
}

/* Nodes of GRAPH that aren't views. */
static size_t operations_of(const gemel_graph *graph) {
  gemel_context *context = gemel_graph_context(graph);
  size_t n = 0;
  for (size_t k = 0; k < gemel_graph_node_count(graph); k++) {
    const char *name = gemel_value_operation((gemel_value){(gemel_graph *)graph, (uint32_t)k, 0});
    n += (gemel_operation_find(context, name)->flags & GEMEL_OP_VIEW) == 0;
  }
  return n;
}

/* The same of the bodies of loops, without their inputs. */
static size_t operations_of_bodies(const gemel_graph *graph) {
  size_t n = 0;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    gemel_attr body = {NULL, GEMEL_ATTR_NONE, 0, {0}};
    gemel_value_attr((gemel_value){(gemel_graph *)graph, k, 0}, "body", &body);
    n += body.kind == GEMEL_ATTR_GRAPH
             ? operations_of(body.u.graph) - gemel_graph_input_count(body.u.graph)
             : 0;
  }
  return n;
}

/* ONCE has no more operations than PLAIN, constants apart, and those that left a body, TIMES each.
 */
static int grows_nothing(const gemel_graph *once, const gemel_graph *plain, size_t times) {
  size_t before = operations_of_bodies(plain), after = operations_of_bodies(once);
  return operations_of(once) <=
         operations_of(plain) + 2 + (before > after ? times * (before - after) : 0);
}

/* An instance of PASS: fires, grows nothing, changes no bit if it needs nothing, and leaves nothing
 * to do. */
static void hold_instance(const gemel_pass *pass, gemel_context *context, uint64_t *state) {
  gemel_graph *graph = gemel_graph_new(context, NULL), *plain, *once, *twice;
  gemel_error error = {0};
  uint64_t applied = 0, again = 0;
  CT_EQ_INT(gemel__generator_of(pass)(graph, next_random, state, pass->data), GEMEL_OK);
  once = rewrite_by(graph, pass->name, &applied, &error);
  CT_REQUIRE(once != NULL);
  plain = rewritten_plainly(graph);
  CT_CHECK(applied > 0);
  CT_EQ_INT(gemel_graph_check(once, &error), GEMEL_OK);
  CT_CHECK(grows_nothing(once, plain, strcmp(pass->name, "scan_unroll") == 0 ? 4 : 1));
  twice = rewrite_by(once, pass->name, &again, &error);
  CT_EQ_UINT(again, 0);
  if (pass->needs == 0) {
    gemel_tensor *a = result_of(graph, *state), *b = result_of(once, *state);
    CT_CHECK(same_bits(a, b));
    gemel_tensor_unref(a);
    gemel_tensor_unref(b);
  }
  gemel_graph_unref(twice);
  gemel_graph_unref(once);
  gemel_graph_unref(plain);
  gemel_graph_unref(graph);
}

static void generated(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  const gemel_pass *pass;
  uint64_t state = 88172645463325252u;
  (void)data;
  CT_CHECK(gemel_pass_count(context) > 0);
  for (size_t k = 0; (pass = gemel_pass_at(context, k)) != NULL; k++) {
    for (int run = 0; run < 300; run++) {
      ct_context("%s, %d", pass->name, run);
      hold_instance(pass, context, &state);
    }
  }
  gemel_context_unref(context);
}

/* Random expressions of sums and products: operations of the result under all passes. */
static gemel_graph *random_expression(gemel_context *context, uint64_t *state) {
  static const char *const binary[] = {"add", "sub", "mul", "div", "add", "sub", "mul"};
  static const double numbers[] = {1, 2, 0.5, -3, 0.1, 1e-3, 7};
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_value values[40];
  size_t n = 2;
  values[0] = gemel_input(graph, "x", gemel_type_of_shape(context, GEMEL_F32, 0, NULL));
  values[1] = gemel_input(graph, "y", gemel_type_of_shape(context, GEMEL_F32, 0, NULL));
  while (n < CT_COUNT(values)) {
    size_t near = n < 6 ? n : 6;
    gemel_value two[2] = {values[n - 1 - next_random(state) % near],
                          next_random(state) % 3 == 0
                              ? gemel_scalar(graph, GEMEL_F32, numbers[next_random(state) % 7])
                              : values[next_random(state) % n]};
    values[n++] = next_random(state) % 8 == 0
                      ? gemel_apply(graph, "neg", 1, two, 0, NULL)
                      : gemel_apply(graph, binary[next_random(state) % 7], 2, two, 0, NULL);
  }
  gemel_output(values[n - 1], "z");
  gemel_output(values[n - 7], "w");
  return graph;
}

/* Operations that compute, divisions four times. */
static size_t work_of(const gemel_graph *graph) {
  size_t work = 0;
  for (size_t k = 0; k < gemel_graph_node_count(graph); k++) {
    gemel_value v = {(gemel_graph *)graph, (uint32_t)k, 0};
    const char *op = gemel_value_operation(v);
    work += strcmp(op, "div") == 0 ? 4 : strcmp(op, "input") != 0 && strcmp(op, "constant") != 0;
  }
  return work;
}

/* No graph costs more, a second time changes nothing, and the same graph gives the same, in another
 * context too. */
static void expressions(const void *data) {
  static const char *const passes[] = {"*_sums", "*_products", "passes"};
  gemel_context *contexts[2] = {gemel_context_new(NULL), gemel_context_new(NULL)};
  uint64_t seed = 4101842887655102017u;
  (void)data;
  for (int run = 0; run < 600; run++) {
    uint64_t state[2] = {seed, seed};
    gemel_graph *graph = random_expression(contexts[0], &state[0]);
    gemel_graph *other = random_expression(contexts[1], &state[1]);
    gemel_error error = {0};
    const char *include = passes[run % 3];
    gemel_graph *plain = rewritten_plainly(graph);
    gemel_graph *a = rewrite_by(graph, include, NULL, &error);
    gemel_graph *b = rewrite_by(other, include, NULL, &error);
    seed = state[0];
    ct_context("%s, %d", include, run);
    CT_REQUIRE(a != NULL && b != NULL);
    CT_CHECK(work_of(a) <= work_of(plain));
    same_text(a, b);
    gemel_graph_unref(a);
    gemel_graph_unref(b);
    gemel_graph_unref(plain);
    gemel_graph_unref(graph);
    gemel_graph_unref(other);
  }
  gemel_context_unref(contexts[0]);
  gemel_context_unref(contexts[1]);
}

/* ---- Size and depth ---- */

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct deep {
  const char *include;
  gemel_dtype dtype;
  const char *ops[2];
  size_t most; /* nodes left */
} deep;

static const deep deeps[] = {{"integer_sums", GEMEL_I32, {"add", "sub"}, 8},
                             {"normalize_sums", GEMEL_F32, {"add", "add"}, 8},
                             {"cancel_sums", GEMEL_F32, {"add", "sub"}, 8},
                             {"integer_products", GEMEL_I32, {"mul", "mul"}, 100},
                             {"normalize_products", GEMEL_F32, {"mul", "div"}, 100}};

/* COUNT operations, one on the other. */
static gemel_graph *chain_of(gemel_context *context, const deep *d, size_t count) {
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_type type = gemel_type_of_shape(context, d->dtype, 0, NULL);
  gemel_value x = gemel_input(graph, "x", type), y = gemel_input(graph, "y", type), all = x;
  for (size_t k = 0; k < count; k++) {
    gemel_value two[2] = {all, k % 2 ? x : y};
    all = gemel_apply(graph, d->ops[k % 3 == 0], 2, two, 0, NULL);
  }
  gemel_output(all, "z");
  return graph;
}

/* Rewrites a chain; gives the seconds it took, the least of two. */
static double rewrite_chain(const deep *d, size_t count) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = chain_of(context, d, count);
  double least = 1e9;
  for (int run = 0; run < 2; run++) {
    gemel_error error = {0};
    uint64_t applied = 0;
    double start = seconds();
    gemel_graph *result = rewrite_by(graph, d->include, &applied, &error);
    double took = seconds() - start;
    least = took < least ? took : least;
    CT_EQ_STR(error.text, "");
    CT_CHECK(applied > 0);
    CT_CHECK(gemel_graph_node_count(result) <= d->most);
    gemel_graph_unref(result);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return least;
}

/* A million take ten times as long as a hundred thousand, with room for caches that are too small:
 * were each root looked at, or each inner node, it would be a hundred times. */
static void *million_on_thread(void *data) {
  int slow = getenv("GEMEL_VALGRIND") != NULL;
  double small = rewrite_chain(data, slow ? 2000 : 100000);
  double large = rewrite_chain(data, slow ? 20000 : 1000000);
  ct_context("%g s, %g s", small, large);
  CT_CHECK(slow || large < 40 * small);
  return NULL;
}

/* On a stack of 256 KiB. */
static void million(const void *data) {
  on_small_stack(million_on_thread, data);
}

/* LENGTH times tanh, and a thousand slices, each of what the last one left: behind the chain, or
 * (BETWEEN) one behind every other tanh of its end. */
static gemel_graph *sliced(gemel_context *context, size_t length, size_t slices, int between) {
  gemel_graph *graph = gemel_graph_new(context, NULL);
  int64_t size = 5 + (int64_t)slices, start = 1;
  gemel_value x = gemel_input(graph, "x", gemel_type_of_shape(context, GEMEL_F32, 1, &size));
  size_t first = between ? length - 2 * slices : length;
  for (size_t k = 0; k < length + (between ? 0 : slices); k++) {
    x = k < length ? gemel_tanh(x) : x;
    if (k >= first && (!between || (k - first) % 2)) {
      gemel_dim to = gemel_dim_constant(context, --size), from = gemel_dim_constant(context, start);
      gemel_attr attrs[2] = {gemel_attr_dims("start", 1, &from), gemel_attr_dims("size", 1, &to)};
      x = gemel_apply(graph, "subtensor", 1, &x, 2, attrs);
    }
  }
  gemel_output(x, "y");
  return graph;
}

static double rewrite_sliced(size_t length, size_t slices, int between) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = sliced(context, length, slices, between);
  double least = 1e9;
  for (int run = 0; run < 2; run++) {
    gemel_error error = {0};
    double start = seconds();
    gemel_graph *result = gemel_rewrite(graph, NULL, &error);
    double took = seconds() - start;
    least = took < least ? took : least;
    CT_EQ_STR(error.text, "");
    if (CT_CHECK(result != NULL) && !between) { /* the first is pushed down, the rest are one */
      CT_CHECK(gemel_graph_node_count(result) <= length + 3);
    }
    gemel_graph_unref(result);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return least;
}

/* COUNT products with one operand, of which each depends on the one before it if IN_A_ROW. */
static double rewrite_products(size_t count, int in_a_row) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL), *result;
  int64_t large[] = {64, 256}, narrow[] = {256, 2};
  gemel_value x = gemel_input(graph, "x", gemel_type_of_shape(context, GEMEL_F32, 2, large)), y,
              all;
  gemel_error error = {0};
  gemel_rewrite_options options = {
      .size = sizeof options, .include = "merge_dots", .has_allow = 1, .allow = GEMEL_FASTMATH_ALL};
  double start;
  y = gemel_input(graph, "y", gemel_type_of_shape(context, GEMEL_F32, 2, narrow));
  all = gemel_scalar(graph, GEMEL_F32, 0);
  for (size_t k = 0; k < count; k++) {
    gemel_value by = in_a_row ? all : gemel_scalar(graph, GEMEL_F32, (double)k);
    gemel_value product = gemel_dot(x, gemel_add(y, by));
    all = gemel_add(all, gemel_sum(product));
  }
  gemel_output(all, "z");
  start = seconds();
  result = gemel_rewrite(graph, &options, &error);
  start = seconds() - start;
  CT_EQ_STR(error.text, "");
  CT_CHECK(result != NULL &&
           (gemel_graph_node_count(result) > gemel_graph_node_count(graph)) == !in_a_row);
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return start;
}

/* Ten times as many products that share an operand take ten times as long. */
static void *products_on_thread(void *data) {
  size_t count = getenv("GEMEL_VALGRIND") != NULL ? 20 : 1000;
  (void)data;
  for (int in_a_row = 0; in_a_row < 2; in_a_row++) {
    double small = rewrite_products(count, in_a_row),
           large = rewrite_products(10 * count, in_a_row);
    ct_context("in a row %d: %g s, %g s", in_a_row, small, large);
    CT_CHECK(count < 1000 || large < 40 * small);
  }
  return NULL;
}

static void products(const void *data) {
  on_small_stack(products_on_thread, data);
}

/* Slices go down a chain: a chain ten times as long takes ten times as long. (Those between its
 * operations move on a little in each round, of which there are only so many.) */
static void *slices_on_thread(void *data) {
  int slow = getenv("GEMEL_VALGRIND") != NULL;
  (void)data;
  for (int between = 0; between < 2; between++) {
    size_t slices = slow ? 20 : between ? 200 : 1000, length = slow ? 200 : 2000;
    double small = rewrite_sliced(length, slices, between);
    double large = rewrite_sliced(10 * length, slices, between);
    ct_context("between %d: %g s, %g s", between, small, large);
    CT_CHECK(slow || large < 40 * small);
  }
  return NULL;
}

static void slices(const void *data) {
  on_small_stack(slices_on_thread, data);
}

/* ---- Choosing ---- */

/* What is excluded, or not included, or not allowed, leaves the graph as it is. */
static void choosing(const void *data) {
  static const struct {
    const char *include, *exclude;
    unsigned allow;
    int fires;
  } rows[] = {{NULL, NULL, GEMEL_FASTMATH_ALL, 1},
              {"normalize_sums", NULL, GEMEL_FASTMATH_ALL, 1},
              {"passes", NULL, GEMEL_FASTMATH_ALL, 1},
              {"arithmetic", NULL, GEMEL_FASTMATH_DEFAULT, 1},
              {"stabilize", NULL, GEMEL_FASTMATH_ALL, 1},
              {"specialize", NULL, GEMEL_FASTMATH_ALL, 0},
              {NULL, "normalize_sums,cancel_sums", GEMEL_FASTMATH_ALL, 0},
              {NULL, "*_sums", GEMEL_FASTMATH_ALL, 0},
              {NULL, "passes", GEMEL_FASTMATH_ALL, 0},
              {NULL, "canonicalize,stabilize", GEMEL_FASTMATH_ALL, 0},
              {NULL, "arithmetic", GEMEL_FASTMATH_ALL, 0},
              {NULL, NULL, GEMEL_FASTMATH_NONE, 0},
              {"passes", "stabilize", GEMEL_FASTMATH_ALL, 0}};
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = graph_of(context, "(x: f32, y: f32) { return r = x + y + x + y + x }");
  (void)data;
  for (size_t k = 0; k < CT_COUNT(rows); k++) {
    gemel_error error = {0};
    gemel_rewrite_options options = {.size = sizeof options,
                                     .include = rows[k].include,
                                     .exclude = rows[k].exclude,
                                     .has_allow = 1,
                                     .allow = rows[k].allow};
    gemel_graph *result = gemel_rewrite(graph, &options, &error);
    ct_context("row %zu", k);
    CT_EQ_STR(error.text, "");
    CT_CHECK((work_of(result) < work_of(graph)) == rows[k].fires);
    gemel_graph_unref(result);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Passes go into bodies, each body once. */
static void bodies(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  const char *text = "graph b(x: i32) { return y = x + x + x } graph g(x: i32) { "
                     "p = invoke(x, body = b) q = invoke(p, body = b) return r = q }";
  gemel_error error = {0};
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "test", NULL, &error);
  uint64_t applied;
  (void)data;
  gemel_graph *result = rewrite_by(graph, "integer_sums", &applied, &error);
  CT_EQ_STR(error.text, "");
  CT_EQ_UINT(applied, 1);
  CT_EQ_INT(gemel_graph_check(result, &error), GEMEL_OK);
  char *printed = gemel_print_string(result, "g", NULL);
  CT_CHECK(printed != NULL && strstr(printed, "mul") != NULL && strstr(printed, "add") == NULL);
  gemel_text_free(printed);
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- A program's own ---- */

/* Replaces exp(x) by something that DATA says. */
static gemel_status replace_exp(gemel_edit *edit, const void *data, gemel_error *error) {
  const gemel_graph *graph = gemel_edit_graph(edit);
  const char *how = data;
  (void)error;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    gemel_value old = {(gemel_graph *)graph, k, 0}, by;
    if (strcmp(gemel_value_operation(old), "exp") != 0) {
      continue;
    }
    CT_EQ_UINT(gemel_edit_uses(edit, old), strcmp(how, "dead") == 0 ? 0 : 1);
    by = gemel_edit_value(edit, gemel_value_input(old, 0));
    by = strcmp(how, "type") == 0     ? gemel_cast(by, GEMEL_F64)
         : strcmp(how, "copied") == 0 ? gemel_edit_value(edit, old)
         : strcmp(how, "graph") == 0  ? old
         : strcmp(how, "null") == 0
             ? gemel_add(by, gemel_edit_value(edit, (gemel_value){NULL, 0, 0}))
             : gemel_tanh(by);
    gemel_edit_replace(edit, strcmp(how, "old") == 0 ? by : old, by);
  }
  return GEMEL_OK;
}

static gemel_status say_no(gemel_edit *edit, const void *data, gemel_error *error) {
  (void)edit, (void)data;
  error->status = GEMEL_UNSUPPORTED;
  snprintf(error->text, sizeof error->text, "no");
  return error->status;
}

static gemel_status say_nothing(gemel_edit *edit, const void *data, gemel_error *error) {
  (void)edit, (void)data, (void)error;
  return GEMEL_UNSUPPORTED;
}

static void registered(const void *data) {
  static const struct {
    const char *name, *how, *says;
    gemel_status (*rewrite)(gemel_edit *, const void *, gemel_error *);
  } rows[] = {
      {"fine", "tanh", "", replace_exp},
      {"wide", "type", "pass wide: replaces f32[] (node 1) by f64[]", replace_exp},
      {"late", "copied", "pass late: replaces node 1, which is copied or replaced already",
       replace_exp},
      {"other", "graph", "pass other: replaces node 1 by a value of another graph", replace_exp},
      {"old", "old", "pass old: replaces a value of another graph", replace_exp},
      {"null", "null", "input 1 of add is null", replace_exp},
      {"no", "", "pass no: no", say_no},
      {"mute", "", "pass mute: it fails and says nothing", say_nothing}};
  static const char *const tags[] = {"mine"};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(rows); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_graph *graph = graph_of(context, "(x: f32) { r = exp(x) return r }");
    gemel_error error = {0};
    gemel_pass pass = {.size = sizeof pass,
                       .name = rows[k].name,
                       .tags = tags,
                       .n_tags = 1,
                       .rewrite = rows[k].rewrite,
                       .generate = no_instance,
                       .data = rows[k].how};
    gemel_rewrite_options options = {.size = sizeof options, .without_builtin = 1};
    ct_context("%s", rows[k].name);
    CT_EQ_INT(gemel_register_pass(context, &pass, &error), GEMEL_OK);
    gemel_graph *result = gemel_rewrite(graph, &options, &error);
    CT_CHECK(rows[k].says[0] == '\0' ? error.text[0] == '\0'
                                     : strstr(error.text, rows[k].says) != NULL);
    CT_CHECK((result != NULL) == (rows[k].says[0] == '\0'));
    if (result != NULL) {
      CT_EQ_STR(gemel_value_operation(gemel_graph_output(result, 0)), "tanh");
    }
    gemel_graph_unref(result);
    options.exclude = "mine";
    result = gemel_rewrite(graph, &options, &error);
    CT_CHECK(result != NULL);
    gemel_graph_unref(result);
    gemel_graph_unref(graph);
    gemel_context_unref(context);
  }
}

static void refused(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  size_t count = gemel_pass_count(context);
  gemel_error error = {0};
  gemel_pass pass = {.size = sizeof pass, .name = "own", .rewrite = say_no};
  (void)data;
  CT_EQ_INT(gemel_register_pass(context, &pass, &error), GEMEL_BAD_ARGUMENT);
  CT_CHECK(strstr(error.text, "no generator") != NULL);
  pass.generate = no_instance;
  pass.rewrite = NULL;
  CT_EQ_INT(gemel_register_pass(context, &pass, &error), GEMEL_BAD_ARGUMENT);
  pass.rewrite = say_no;
  CT_EQ_INT(gemel_register_pass(context, &pass, &error), GEMEL_OK);
  CT_EQ_INT(gemel_register_pass(context, &pass, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_UINT(gemel_pass_count(context), count + 1);
  CT_EQ_STR(gemel_pass_at(context, count)->name, "own");
  pass.name = "integer_sums";
  CT_EQ_INT(gemel_register_pass(context, &pass, &error), GEMEL_BAD_ARGUMENT);
  gemel_context_unref(context);
}

/* ---- Memory ---- */

/* gemel's own passes under other names, without the rules, whose parsing would take most of the
 * allocations. */
static gemel_status register_copies(gemel_context *context, gemel_error *error) {
  static const char *const copies[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  size_t count = gemel_pass_count(context);
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < count && k < CT_COUNT(copies) && status == GEMEL_OK; k++) {
    gemel_pass pass = *gemel_pass_at(context, k);
    pass.name = copies[k];
    pass.generate = no_instance;
    status = gemel_register_pass(context, &pass, error);
  }
  return status;
}

static int rewrite_in_little_memory(void *data) {
  const char *text = data;
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = NULL;
  gemel_rewrite_options options = {
      .size = sizeof options, .without_builtin = 1, .has_allow = 1, .allow = GEMEL_FASTMATH_ALL};
  if (context != NULL && register_copies(context, &error) == GEMEL_OK) {
    graph = gemel_parse(context, text, strlen(text), "test", NULL, &error);
  }
  if (graph != NULL) {
    gemel_graph_unref(gemel_rewrite(graph, &options, &error));
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return error.status;
}

static void memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(rewrite_in_little_memory,
                  "graph g(x: f32[2, 3], y: i32[2]) { r = x * x * x * x + x + x "
                  "s = invoke(y - y, body = graph (x: i32[2]) { return y = x + x + x }) "
                  "return r, s }") > 50);
  CT_CHECK(ct_oom(rewrite_in_little_memory,
                  "graph g" DOTS
                  "p = dot(x, u) return p = p, q = dot(x, v), r = dot(x, v + sum(p)) }") > 50);
}

static const ct_test tests[] = {
    CT_TEST("generated", generated, NULL), CT_TEST("expressions", expressions, NULL),
    CT_TEST("slices", slices, NULL),       CT_TEST("choosing", choosing, NULL),
    CT_TEST("bodies", bodies, NULL),       CT_TEST("registered", registered, NULL),
    CT_TEST("refused", refused, NULL),     CT_TEST("memory", memory, NULL),
    CT_TEST("products", products, NULL),   CT_TEST("looks_again", looks_again, NULL),
};

void ct_register(void) {
  static char names[CT_COUNT(forms)][40];
  ct_suite("passes", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(forms); k++) {
    snprintf(names[k], sizeof names[k], "form/%zu", k);
    CT_ADD("passes", names[k], normal_form, &forms[k]);
  }
  for (size_t k = 0; k < CT_COUNT(deeps); k++) {
    static char deep_names[CT_COUNT(deeps)][60];
    snprintf(deep_names[k], sizeof deep_names[k], "million/%s", deeps[k].include);
    CT_ADD("passes", deep_names[k], million, &deeps[k]);
  }
  for (size_t k = 0; k < CT_COUNT(sibling_cases); k++) {
    CT_ADD("passes", sibling_cases[k].name, siblings_are_right, &sibling_cases[k]);
  }
}
