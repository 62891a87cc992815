/*
 * Memory inside the library: the containers that everything is kept in, and what happens when an
 * allocation is refused. Each sweep builds something from nothing with one allocation after another
 * refused: the status says so, nothing leaks, and the graph that is left is well-formed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/alloc.h"
#include "core/arena.h"
#include "core/graph.h"
#include "core/intern.h"
#include "ct.h"
#include "support/operation.h"

/* ---- Containers ---- */

static void arena(const void *data) {
  enum { MANY = 2000 };
  static unsigned char *objects[MANY];
  gemel__arena a = {NULL, 0};
  size_t k, j;
  (void)data;
  for (k = 0; k < MANY; k++) {
    objects[k] = gemel__arena_alloc(&a, k * 7 % 3000);
    CT_REQUIRE(objects[k] != NULL);
    CT_CHECK((uintptr_t)objects[k] % 16 == 0);
    memset(objects[k], (int)(k & 255), k * 7 % 3000);
  }
  for (k = 0; k < MANY; k++) {
    for (j = 0; j < k * 7 % 3000; j++) {
      CT_REQUIRE(objects[k][j] == (k & 255));
    }
  }
  CT_CHECK(a.bytes >= 2000 * 1000);
  CT_CHECK(gemel__arena_alloc(&a, SIZE_MAX) == NULL);
  CT_CHECK(gemel__arena_alloc(&a, SIZE_MAX - 20) == NULL);
  CT_EQ_STR(gemel__arena_string(&a, "some words"), "some words");
  gemel__arena_clear(&a);
  CT_CHECK(a.last == NULL && a.bytes == 0);
}

static void stable_array(const void *data) {
  enum { MANY = 100000 };
  gemel__stable array;
  uint64_t **at = malloc(MANY * sizeof *at);
  uint32_t k;
  (void)data;
  memset(&array, 0, sizeof array);
  array.element_bytes = sizeof(uint64_t);
  for (k = 0; k < MANY; k++) {
    at[k] = gemel__stable_push(&array);
    CT_REQUIRE(at[k] != NULL && *at[k] == 0);
    *at[k] = k * (uint64_t)0x9e3779b97f4a7c15u;
  }
  CT_CHECK(gemel__stable_has(&array, MANY - 1) && !gemel__stable_has(&array, MANY));
  for (k = 0; k < MANY; k++) {
    CT_REQUIRE(gemel__stable_at(&array, k) == at[k]);
    CT_REQUIRE(*at[k] == k * (uint64_t)0x9e3779b97f4a7c15u);
  }
  gemel__stable_pop(&array);
  CT_CHECK(!gemel__stable_has(&array, MANY - 1));
  gemel__stable_clear(&array);
  CT_EQ_INT(gemel__stable_count(&array), 0);
  free(at);
}

/* A table in which HASHES different hashes are all there are. */
struct crowd {
  uint64_t hashes;
  uint32_t wanted;
};

static uint64_t crowded(const void *user, uint32_t id) {
  return id % ((const struct crowd *)user)->hashes;
}

static int is_wanted(const void *user, uint32_t id) {
  return ((const struct crowd *)user)->wanted == id;
}

static void id_table(const void *data) {
  enum { MANY = 3000 };
  struct crowd crowd = {7, 0};
  gemel__idtable table;
  uint32_t k;
  (void)data;
  memset(&table, 0, sizeof table);
  crowd.wanted = 1;
  CT_EQ_INT(gemel__idtable_find(&table, 1, is_wanted, &crowd), 0);
  gemel__idtable_remove_last(&table, 1, 1);
  for (k = 1; k <= MANY; k++) {
    CT_REQUIRE(gemel__idtable_add(&table, crowded(&crowd, k), k, crowded, &crowd) == 0);
  }
  for (crowd.wanted = 1; crowd.wanted <= MANY; crowd.wanted++) {
    CT_REQUIRE(gemel__idtable_find(&table, crowded(&crowd, crowd.wanted), is_wanted, &crowd) ==
               crowd.wanted);
  }
  CT_EQ_INT(gemel__idtable_find(&table, 3, is_wanted, &crowd), 0);
  crowd.wanted = MANY;
  gemel__idtable_remove_last(&table, crowded(&crowd, MANY), MANY);
  CT_EQ_INT(gemel__idtable_find(&table, crowded(&crowd, MANY), is_wanted, &crowd), 0);
  crowd.wanted = MANY - 1;
  CT_EQ_INT(gemel__idtable_find(&table, crowded(&crowd, MANY - 1), is_wanted, &crowd), MANY - 1);
  gemel__idtable_clear(&table);
}

static void growing(const void *data) {
  int *array = NULL;
  size_t capacity = 0;
  (void)data;
  CT_EQ_INT(gemel__grow(&array, &capacity, SIZE_MAX / 2, sizeof *array), -1);
  CT_EQ_INT(gemel__grow(&array, &capacity, SIZE_MAX, 1), -1);
  CT_CHECK(array == NULL && capacity == 0);
  CT_EQ_INT(gemel__grow(&array, &capacity, 3, sizeof *array), 0);
  CT_CHECK(capacity >= 3);
  CT_CHECK(gemel__alloc_array(SIZE_MAX / 2, 4) == NULL);
  gemel__free(array, capacity * sizeof *array);
}

static void hooks(const void *data) {
  gemel_allocator a;
  (void)data;
  memset(&a, 0, sizeof a);
  CT_EQ_INT(gemel_set_allocator(&a), GEMEL_BAD_ARGUMENT);
  a.size = sizeof a;
  CT_EQ_INT(gemel_set_allocator(&a), GEMEL_BAD_ARGUMENT);
}

/* Blocks of sizes on both sides of where they come from another place: contents stay, and what is
 * said to be zero is. */
static void big_blocks(const void *data) {
  static const size_t sizes[] = {40u << 20, 41u << 20, 170u << 20, 9u << 20,
                                 1u << 20,  64u << 20, 5};
  const size_t step = 4099;
  size_t k, j, kept = 3u << 20, bytes = 3u << 20;
  unsigned char *block = gemel__alloc_zeroed(bytes), *zeros = gemel__alloc_array(36u << 20, 1);
  (void)data;
  CT_CHECK(block != NULL && zeros != NULL);
  for (j = 0; j < bytes; j += step) {
    block[j] = (unsigned char)(j / step);
  }
  for (k = 0; k < CT_COUNT(sizes); k++) {
    size_t wrong = 0;
    block = gemel__realloc(block, bytes, sizes[k]);
    CT_CHECK(block != NULL);
    bytes = sizes[k];
    kept = bytes < kept ? bytes : kept;
    for (j = 0; j < kept; j += step) {
      wrong += block[j] != (unsigned char)(j / step);
    }
    CT_EQ_INT(wrong, 0);
    memset(block + kept, 0xa5, bytes - kept);
  }
  for (j = k = 0; j < 36u << 20; j += 8) {
    k += zeros[j] != 0;
  }
  CT_EQ_INT(k, 0);
  gemel__free(block, bytes);
  gemel__free(zeros, 36u << 20);
}

static size_t asked;

static void *asking_allocate(void *user, size_t bytes) {
  gemel_allocator *below = user;
  asked++;
  return below->allocate(below->user, bytes);
}

/* Hooks that hand on to what was there; big blocks come through them too. */
static void hooks_on_hooks(const void *data) {
  CT_EQ_INT(gemel_set_allocator(NULL), GEMEL_OK);
  gemel_allocator below = gemel_get_allocator(), mine = below;
  void *block;
  (void)data;
  mine.allocate = asking_allocate;
  mine.user = &below;
  CT_EQ_INT(gemel_set_allocator(&mine), GEMEL_OK);
  CT_CHECK(gemel_get_allocator().allocate == asking_allocate);
  asked = 0;
  block = gemel__alloc_zeroed(80u << 20);
  CT_CHECK(block != NULL);
  CT_EQ_INT(asked, 1);
  gemel__free(block, 80u << 20);
  CT_EQ_INT(gemel_set_allocator(NULL), GEMEL_OK);
  CT_CHECK(gemel_get_allocator().allocate == below.allocate);
}

/* ---- Sweeps ---- */

/* What a sweep works with, and the first status that isn't GEMEL_OK. */
struct life {
  gemel_context *c;
  gemel_graph *g;
  gemel_status status;
  gemel_error error;
};

static void saw(struct life *l, gemel_status status) {
  l->status = l->status != GEMEL_OK ? l->status : status;
}

static gemel_type floats(struct life *l, const char *symbol, int64_t n) {
  gemel_dim dim = symbol ? gemel_dim_symbol(l->c, symbol) : gemel_dim_constant(l->c, n);
  gemel_type type = gemel_type_new(l->c, GEMEL_F32, 1, &dim, GEMEL_SPACE_HOST);
  saw(l, gemel_type_is_none(type) ? GEMEL_NO_MEMORY : GEMEL_OK); /* nothing else can be wrong */
  return type;
}

/* Runs WORK on a new context and graph, checks what is left and frees it. */
static gemel_status live(void (*work)(struct life *)) {
  struct life l;
  memset(&l, 0, sizeof l);
  l.c = gemel_context_new(&l.error);
  l.g = l.c != NULL ? gemel_graph_new(l.c, &l.error) : NULL;
  if (l.g == NULL) {
    gemel_context_unref(l.c);
    return l.error.status;
  }
  work(&l);
  saw(&l, gemel_graph_error(l.g)->status);
  {
    gemel_status checked = gemel_graph_check(l.g, &l.error);
    if (checked != GEMEL_OK && checked != GEMEL_NO_MEMORY) {
      CT_FAIL("%s", l.error.text);
    }
    saw(&l, checked);
  }
  gemel_graph_unref(l.g);
  gemel_context_unref(l.c);
  return l.status;
}

/* More outputs than the funnel has room for at first. */
static gemel_status forty_types(gemel_infer *call) {
  size_t k;
  call->n_outputs = 40;
  for (k = 0; k < 40 && call->max_outputs >= 40; k++) {
    call->outputs[k] = call->inputs[0];
  }
  return GEMEL_OK;
}

static void register_own(struct life *l, const char *name, const gemel_attr_spec *schema,
                         gemel_status (*infer)(gemel_infer *call)) {
  static const gemel_kernel kernels[] = {{"none", NULL, no_run}, {NULL, NULL, NULL}};
  gemel_operation op;
  size_t before = gemel_operation_count(l->c);
  gemel_status status;
  memset(&op, 0, sizeof op);
  op.size = sizeof op;
  op.name = name;
  op.summary = "an operation of the test's own";
  op.min_inputs = op.version = 1;
  op.max_inputs = -1;
  op.attrs = schema;
  op.infer = infer;
  op.kernels = kernels;
  status = gemel_register_operation(l->c, &op, &l->error);
  /* there or not, nothing in between */
  CT_EQ_INT(gemel_operation_count(l->c), before + (status == GEMEL_OK));
  CT_EQ_INT(gemel_operation_find(l->c, name) != NULL, status == GEMEL_OK);
  saw(l, status);
}

static void register_many(struct life *l) {
  static const gemel_attr_spec schema[] = {{"a", GEMEL_ATTR_INT, "3"},
                                           {"b", GEMEL_ATTR_STRING, "words"},
                                           {"c", GEMEL_ATTR_LIST | GEMEL_ATTR_GRAPH, "[]"},
                                           {NULL, 0, NULL}};
  int k;
  for (k = 0; k < 70 && l->status == GEMEL_OK; k++) {
    char name[24];
    snprintf(name, sizeof name, "own_%d", k);
    register_own(l, name, schema, same_type);
  }
}

static gemel_graph *body(struct life *l, double number) {
  gemel_graph *g = gemel_graph_new(l->c, &l->error);
  if (g == NULL) {
    saw(l, l->error.status);
    return NULL;
  }
  gemel_type type = floats(l, "N", 0);
  if (!gemel_type_is_none(type)) {
    gemel_value x = gemel_input(g, "x", type);
    gemel_value y = gemel_tanh(gemel_mul(x, gemel_scalar(g, GEMEL_F32, number)));
    saw(l, gemel_output(y, "y") == GEMEL_BAD_ARGUMENT ? gemel_graph_error(g)->status : GEMEL_OK);
    saw(l, gemel_graph_error(g)->status);
  }
  return g;
}

static const gemel_attr_spec every_list[] = {{"tensor", GEMEL_ATTR_TENSOR, "none"},
                                             {"graph", GEMEL_ATTR_GRAPH, "none"},
                                             {"string", GEMEL_ATTR_STRING, "none"},
                                             {"tensors", GEMEL_ATTR_LIST | GEMEL_ATTR_TENSOR, "[]"},
                                             {"graphs", GEMEL_ATTR_LIST | GEMEL_ATTR_GRAPH, "[]"},
                                             {"strings", GEMEL_ATTR_LIST | GEMEL_ATTR_STRING, "[]"},
                                             {"floats", GEMEL_ATTR_LIST | GEMEL_ATTR_FLOAT, "[]"},
                                             {NULL, 0, NULL}};

static gemel_attr list(const char *name, int kind, size_t count, const void *elements) {
  gemel_attr a = gemel_attr_ints(name, count, elements);
  a.kind = GEMEL_ATTR_LIST | kind;
  return a;
}

static void attributes(struct life *l) {
  static const double numbers[] = {1, 2, 3};
  static const char *const words[] = {"one", "two", "three", "four"};
  int64_t three = 3;
  gemel_tensor *t[3] = {gemel_tensor_new(GEMEL_F32, 1, &three, &l->error),
                        gemel_tensor_new(GEMEL_F64, 1, &three, &l->error),
                        gemel_tensor_new(GEMEL_I8, 1, &three, &l->error)};
  gemel_graph *g[2] = {body(l, 2), body(l, 3)};
  gemel_attr a[8];
  register_own(l, "every_list", every_list, same_type);
  saw(l, t[0] && t[1] && t[2] ? GEMEL_OK : GEMEL_NO_MEMORY);
  a[0] = gemel_attr_tensor("tensor", t[0]);
  a[1] = gemel_attr_graph("graph", g[0]);
  a[2] = gemel_attr_string("string", "a word or two");
  a[3] = list("tensors", GEMEL_ATTR_TENSOR, 3, t);
  a[4] = list("graphs", GEMEL_ATTR_GRAPH, 2, g);
  a[5] = list("strings", GEMEL_ATTR_STRING, 4, words);
  a[6] = list("floats", GEMEL_ATTR_FLOAT, 3, numbers);
  if (l->status == GEMEL_OK) {
    gemel_type type = floats(l, NULL, 3);
    gemel_value x =
        gemel_type_is_none(type) ? (gemel_value){NULL, 0, 0} : gemel_input(l->g, "x", type);
    if (!gemel_type_is_none(type)) {
      gemel_apply(l->g, "every_list", 1, &x, 7, a);
    }
  }
  gemel_graph_unref(g[0]);
  gemel_graph_unref(g[1]);
  gemel_tensor_unref(t[0]);
  gemel_tensor_unref(t[1]);
  gemel_tensor_unref(t[2]);
}

/* A body applied, and both derivatives through it: bodies are copied, inlined and frozen. */
static void derivatives(struct life *l) {
  gemel_graph *b = body(l, 2);
  gemel_type type = floats(l, NULL, 3);
  if (l->status == GEMEL_OK) {
    gemel_value x = gemel_input(l->g, "x", type), y = gemel_invoke(1, &x, b), d;
    saw(l, gemel_graph_error(l->g)->status);
    if (l->status == GEMEL_OK) {
      saw(l, gemel_grad(1, &y, &x, 1, &x, &d, &l->error));
    }
    if (l->status == GEMEL_OK) {
      saw(l, gemel_jvp(1, &d, 1, &x, &x, &y, &l->error));
    }
    if (l->status == GEMEL_OK) {
      saw(l, gemel_output(y, "y"));
    }
  }
  gemel_graph_unref(b);
}

/* gemel__graph_inline by itself, with symbols to bind. */
static void inlining(struct life *l) {
  gemel_graph *b = body(l, 2);
  gemel_type type = floats(l, "M", 0);
  if (l->status == GEMEL_OK) {
    gemel_value x = gemel_input(l->g, "x", type), y;
    saw(l, gemel_graph_error(l->g)->status);
    if (l->status == GEMEL_OK) {
      saw(l, gemel__graph_inline(l->g, b, &x, &y, &l->error));
    }
    if (l->status == GEMEL_OK) {
      CT_CHECK(gemel_type_equal(gemel_value_type(y), type));
    }
  }
  gemel_graph_unref(b);
}

static void several_outputs(struct life *l) {
  gemel_type type = floats(l, NULL, 6);
  gemel_dim sizes[3];
  sizes[0] = sizes[1] = sizes[2] = gemel_dim_constant(l->c, 2);
  saw(l, gemel_dim_is_none(sizes[0]) ? GEMEL_NO_MEMORY : GEMEL_OK);
  register_own(l, "forty", NULL, forty_types);
  if (l->status == GEMEL_OK) {
    gemel_value x = gemel_input(l->g, "x", type), parts = gemel_split(x, 3, sizes), y, d;
    gemel_value forty[40], last;
    size_t k;
    y = gemel_mul(gemel_value_output(parts, 0), gemel_value_output(parts, 2));
    if (!gemel_is_null(y)) {
      saw(l, gemel_grad(1, &y, &y, 1, &x, &d, &l->error));
    }
    last = gemel_apply(l->g, "forty", 1, &x, 0, NULL);
    for (k = 0; k < 40; k++) {
      forty[k] = gemel_value_output(last, (uint32_t)k);
    }
    gemel_join(40, forty);
  }
}

static void runtime_sizes(struct life *l) {
  gemel_type type = gemel_type_of_shape(l->c, GEMEL_I64, 0, NULL);
  saw(l, gemel_type_is_none(type) ? GEMEL_NO_MEMORY : GEMEL_OK);
  if (l->status == GEMEL_OK) {
    gemel_value n = gemel_input(l->g, "n", type), r;
    gemel_dim size = gemel_dim_of(gemel_add(n, n));
    if (!gemel_dim_is_none(size)) {
      r = gemel_arange_with(l->g, size, .dtype = GEMEL_F32);
      gemel_output(gemel_mul(r, r), "r");
    }
  }
}

static int sweep(void *user) {
  return live(*(void (**)(struct life *))user);
}

struct sweep {
  const char *name;
  void (*work)(struct life *);
};

static void refused(const void *data) {
  const struct sweep *s = data;
  void (*work)(struct life *) = s->work;
  CT_CHECK(ct_oom(sweep, &work) > 50);
}

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("arena", arena, NULL),           CT_TEST("stable_array", stable_array, NULL),
      CT_TEST("id_table", id_table, NULL),     CT_TEST("growing", growing, NULL),
      CT_TEST("hooks", hooks, NULL),           CT_TEST("hooks_on_hooks", hooks_on_hooks, NULL),
      CT_TEST("big_blocks", big_blocks, NULL),
  };
  static const struct sweep sweeps[] = {
      {"register", register_many},          {"attributes", attributes},
      {"derivatives", derivatives},         {"inline", inlining},
      {"several_outputs", several_outputs}, {"runtime_sizes", runtime_sizes},
  };
  size_t k;
  ct_suite("memory", tests, CT_COUNT(tests));
  for (k = 0; k < CT_COUNT(sweeps); k++) {
    CT_ADD_TO("memory", "refused", sweeps[k].name, refused, &sweeps[k]);
  }
}
