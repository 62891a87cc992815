/*
 * Joins without copies: functions whose joins have operands that are made in place give, bit for
 * bit, what the plain functions give, where each join copies; and their listings say how many joins
 * and copies are left. Networks of a few lines say what is in place and what isn't, random ones try
 * what nobody thought of, poisoned ones show what is read before it is made.
 *
 * SPDX-License-Identifier: MIT
 */
#include "support/network.h"

enum { RANDOM = 60, NODES = 16 };

typedef struct network {
  const char *name;
  const char *text;
  int joins, copies; /* that are left, as the listing says */
} network;

#define TWO "x: f32[6, 5], y: f32[6, 4]"

static const network networks[] = {
    {"loops", "graph f(" TWO ") { return z = join(x * 2, y + 1, axis = 1) * 3 }", 0, 0},
    {"one_loop", "graph f(x: f32[40, 7]) { return z = 3 * join(x * 2, x + 1, axis = 1) }", 0, 0},
    {"rows", "graph f(x: f32[3, 5], y: f32[2, 5]) { return z = sum(join(x + 1, -y), axes = [1]) }",
     0, 0},
    {"kernels_without_gaps",
     "graph f(x: f32[3, 5], y: f32[2, 5]) {"
     "  return z = join(softmax(x), cumsum(y, axis = 1)) * 2 }",
     0, 0},
    {"kernels_with_gaps", "graph f(" TWO ") { return z = join(softmax(x), y + 1, axis = 1) * 2 }",
     1, 0},
    {"twice", "graph f(x: f32[6, 5]) { a = x * 2  return z = join(a, a, axis = 1) + 1 }", 1, 0},
    {"twice_apart", "graph f(" TWO ") { a = x * 2  return z = join(a, y + 1, a, axis = 1) - 1 }", 1,
     0},
    {"other_reader",
     "graph f(" TWO ") {"
     "  a = x * 2  return z = join(a, y + 1, axis = 1) * 3, s = softmax(a) }",
     1, 0},
    {"result", "graph f(" TWO ") { return z = join(x * 2, y + 1, axis = 1) }", 1, 0},
    {"operand_is_result",
     "graph f(" TWO ") { a = x * 2  return z = join(a, y + 1, axis = 1) * 3, a = a }", 1, 0},
    {"inputs", "graph f(" TWO ") { return z = join(x, y, axis = 1) * 3 }", 1, 0},
    {"parts_of_an_input",
     "graph f(x: f32[6, 5]) {"
     "  a = subtensor(x, start = [0, 0], size = [6, 2])"
     "  b = subtensor(x, start = [0, 2], size = [6, 3])"
     "  return z = join(a, b, axis = 1) * 3, y = join(b, a, axis = 1) + 1 }",
     1, 0},
    {"nested",
     "graph f(" TWO ") {"
     "  a = x * 2  b = y + 1  j = join(a, b, axis = 1)"
     "  c = exp(sum(j * 2, axes = [1], keepdims = 1))  k = join(a, b, c, axis = 1)"
     "  d = -c  l = join(a, b, c, d, axis = 1)"
     "  return s = sum(k * 3, axes = [0]), t = l + 1 }",
     0, 0},
    {"nested_kernels",
     "graph f(" TWO ") {"
     "  a = softmax(x)  b = cumsum(y, axis = 1)  j = join(a, b, axis = 1)"
     "  c = sum(j + 1, axes = [1], keepdims = 1)"
     "  return s = join(a, b, c, axis = 1) * 2, t = a + 1 }",
     1, 2},
    {"nested_otherwise",
     "graph f(" TWO ") {"
     "  a = x * 2  b = y + 1"
     "  return s = join(b, a, axis = 1) * 2, t = join(a, b, axis = 1) - 1 }",
     1, 0},
    {"nested_for_a_kernel",
     "graph f(" TWO ", z: f32[6, 1]) {"
     "  a = x * 2  b = y + 1"
     "  return s = softmax(join(a, b, axis = 1)), t = join(a, b, -z, axis = 1) - 1 }",
     1, 0},
    {"join_of_a_join",
     "graph f(" TWO ", z: f32[6, 9]) {"
     "  j = join(x * 2, y + 1, axis = 1)  return k = sum(join(j, -z), axes = [1]) }",
     1, 0},
    {"overwritten",
     "graph f(" TWO ") {"
     "  j = join(x * 2, y + 1, axis = 1)  k = exp(j)  return z = softmax(k + j), s = sum(k) }",
     0, 0},
    {"read_while_another_begins",
     "graph f(" TWO ") {"
     "  j = softmax(join(x * 2, y + 1, axis = 1))"
     "  k = softmax(join(y - 1, x * x, axis = 1))"
     "  l = softmax(join(x / 2, y * y, axis = 1))"
     "  return z = join(j + l, k * l) * 2 }",
     0, 0},
    {"empty",
     "graph f(" TWO ", e: f32[6, 0]) { return z = join(e + 1, x * 2, e - 1, y, axis = 1) * 3 }", 1,
     0},
    {"bools", "graph f(" TWO ") { return z = where(join(x < 0, y < 1, axis = 1), 1, 2) }", 0, 0},
    {"halves",
     "graph f(" TWO ") {"
     "  a = cast(x, dtype = f16)  b = cast(y, dtype = f16)"
     "  return z = join(a * a, b + b, axis = 1) * 3 }",
     0, 0},
    {"broadcast_rows",
     "graph f(x: f32[700, 30], b: f32[30], c: f32[30]) {"
     "  return z = join(x + b, exp(x) * c - b, axis = 1) * 3 }",
     0, 0},
    {"broadcast_rows_turned",
     "graph f(x: f32[200, 180], b: f32[200]) {"
     "  t = dimshuffle(x, order = [1, 0])"
     "  return z = join(t + b, exp(t) * b, axis = 1) * 3 }",
     0, 0},
    {"middle_axis",
     "graph f(x: f32[3, 4, 5], y: f32[3, 2, 5]) {"
     "  return z = join(x * 2, y + 1, axis = 1) * 3, t = join(-x, x / 2, axis = 2) + 1 }",
     0, 0},
    {"sizes_of_a_call",
     "graph f(x: f32[N, 5], y: f32[M, 5]) {"
     "  return z = join(x * 2, y + 1) * 3, t = sum(join(-y, y / 2, axis = 1), axes = [0]) }",
     0, 0},
    {"several_segments",
     "graph f(" TWO ", n: i64) {"
     "  a = x * 2  k = n * n  r = arange(n = k)"
     "  return z = join(a, y + 1, axis = 1) * 3, s = sum(join(r, r + 1) * 2) }",
     2, 0},
#ifdef HAVE_DNNL
#define IMAGES "x: f32[2, 16, 9, 8], w: f32[32, 16, 3, 3], v: f32[24, 16, 3, 3]"
    {"images",
     "graph f(" IMAGES ", u: f32[8, 56, 3, 3]) {"
     "  j = join(relu(corr(x, w) + 1), corr(x, v) * 2, axis = 1)  return y = corr(j, u) }",
     0, 0},
    {"images_of_kernels",
     "graph f(" IMAGES ", u: f32[8, 56, 3, 3]) {"
     "  j = join(relu(corr(x, w)), corr(x, v), axis = 1)  return y = corr(j, u) }",
     1, 0},
    {"dense_images",
     "graph f(" IMAGES ") {"
     "  a = corr(x, w)  b = corr(x, v)  j = relu(join(a, b, axis = 1))  c = max(j, axes = [1], "
     "keepdims = 1)"
     "  k = relu(join(a, b, c, axis = 1) - 2)  return y = max(k, axes = [0]), z = sum(j, axes = "
     "[1]) }",
     1, 2},
#endif
};

/* ---- Tests ---- */

static void as_plain(const void *data) {
  const network *n = data;
  gemel_context *context = context_new();
  program c;
  if (open_call(&c, context, n->name, n->text)) {
    const char *listing = NULL;
    CT_EQ_UINT(wrong(&c, as_written(2, 0, 0), NULL), 0);
    CT_EQ_UINT(wrong(&c, as_written(1, 0, 1), NULL), 0);
    CT_EQ_UINT(wrong(&c, as_written(1, 0, 0), &listing), 0);
    const char *instructions = listing != NULL ? strstr(listing, "\ninstructions") : NULL;
    CT_REQUIRE(instructions != NULL);
    CT_EQ_INT(times_in(instructions, " = join("), n->joins);
    CT_EQ_INT(times_in(instructions, " copy of"), n->copies);
  }
  close_call(&c);
  gemel_context_unref(context);
}

/* Text of a random graph: each node has 3 rows and some columns, and reads what is there already,
 * mostly what came last. */
static void write_random(char *text, size_t bytes) {
  int columns[NODES + 2] = {2, 3};
  size_t used = (size_t)snprintf(text, bytes, "graph f(v0: f32[3, 2], v1: f32[3, 3]) {");
  for (int k = 2; k < NODES; k++) {
    int a = k - 1 - (int)pick(k < 5 ? k : 5), b = k - 1 - (int)pick(k < 5 ? k : 5);
    int what = (int)pick(6);
    columns[k] = columns[a];
    if (what < 3 && columns[a] + columns[b] < 40) {
      columns[k] = columns[a] + columns[b];
      used +=
          (size_t)snprintf(text + used, bytes - used, " v%d = join(v%d, v%d, axis = 1)", k, a, b);
    } else {
      const char *forms[] = {"v%d = v%d * 2", "v%d = 3 - v%d", "v%d = reverse(v%d, axes = [0])"};
      used += (size_t)snprintf(text + used, bytes - used, " ");
      used += (size_t)snprintf(text + used, bytes - used, forms[what % 3], k, a);
    }
  }
  snprintf(text + used, bytes - used, " return y = v%d * 1, z = sum(v%d, axes = [0]), t = v%d }",
           NODES - 1, NODES - 2, NODES - 3);
}

static void random_graphs(const void *data) {
  gemel_context *context = context_new();
  char text[4000];
  (void)data;
  for (int k = 0; k < RANDOM; k++) {
    program c;
    write_random(text, sizeof text);
    if (open_call(&c, context, "random", text) && wrong(&c, as_written(1, 0, k % 2), NULL) != 0) {
      CT_FAIL("%s", text);
    }
    close_call(&c);
  }
  gemel_context_unref(context);
}

/* Operands whose sizes don't fit are the join's error, though the first was placed in its result.
 */
static void misfits(const void *data) {
  static const char text[] = "graph f(x: f32[N, 5], y: f32[M, 4]) {"
                             "  a = exp(x)  return z = join(a, y + 1, axis = 1) * 3 }";
  gemel_context *context = context_new();
  gemel_tensor *outputs[MAX_OUTPUTS];
  program c;
  (void)data;
  CT_CHECK(begin_call(&c, context, "misfits", text));
  CT_EQ_INT(run_call(&c, as_written(1, 0, 0), outputs, NULL), GEMEL_BAD_SHAPE);
  CT_CHECK(strstr(error.text, "join(") != NULL);
  close_call(&c);
  gemel_context_unref(context);
}

static int poisoned(void *data) {
  const network *n = data;
  return (int)call_once(n->name, n->text, as_written(1, 0, 1));
}

static void without_memory(const void *data) {
  ct_oom(poisoned, (void *)(uintptr_t)data);
}

void ct_register(void) {
  const network *nested = networks;
  for (size_t k = 0; k < CT_COUNT(networks); k++) {
    CT_ADD("join", networks[k].name, as_plain, &networks[k]);
    nested = strcmp(networks[k].name, "nested_kernels") == 0 ? &networks[k] : nested;
  }
  CT_ADD("join", "random_graphs", random_graphs, NULL);
  CT_ADD("join", "misfits", misfits, NULL);
  CT_ADD("join", "without_memory", without_memory, nested);
}
