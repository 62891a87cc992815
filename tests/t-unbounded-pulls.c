/*
 * What proofs take operations for: their pulls (verify/unbounded/pull.c and its like), against the
 * references. Instances of each operation with a pull are drawn as for `gemel verify --ops`. First
 * sizes, attributes and indices are numbers, and the operation is pulled at every index of its
 * result; then they are symbols, and what was pulled once, at a symbol for each index, is evaluated
 * for every index. An element must be the reference's; what a pull has assumed on the way must
 * hold, at indices outside of the result too; and of the scenes that it chose between one must be
 * the instance's. Then a number of an attribute, or a size of an operand, becomes another one:
 * where gemel refuses the operation, a proof must not take it for valid on the right side.
 *
 * GEMEL_PULL_SEEDS says how often (2). GEMEL_PULL_SEEDS=40 tests/t-unbounded-pulls are 12,000
 * instances.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/graph.h"
#include "domains/special.h"
#include "instances/instance.h"
#include "support/near.h"
#include "support/term-numbers.h"
#include "unbounded/pull.h"

enum {
  SEEDS = 2,
  PATIENCE = 200,  /* draws until an instance of an operation is there */
  MOVING = 10,     /* instances of an operation that isn't elementwise, for each of one that is */
  SYMBOLIC = 4,    /* one in so many has symbols too */
  OUTSIDE = 4,     /* indices outside of a result */
  ALTERED = 24,    /* numbers of an instance, one at a time */
  ELEMENTS = 40,   /* of an operand */
  MOST_ATTRS = 12, /* of an operation */
  MOST_SCENES = 3000
};

/* An instance, its results by the reference, and the scene in which it is pulled. */
typedef struct world {
  numbers n;
  gemel__special *special;
  gemel__random random;
  gemel__instance instance;
  gemel_tensor **values;
  uint32_t n_operands; /* the first inputs; behind them, sizes that are known at run time */
  int written;         /* attributes that weren't given stay absent */
  int symbolic;        /* sizes and numbers are symbols */
  gemel__pscene scene;
  gemel__ptensor operands[GEMEL__PPARTS], result;
  gemel__pvalue attrs[MOST_ATTRS];
} world;

/* ---- The scene ---- */

/* NUMBER, or a symbol for it. */
static gemel__pterm number_or_symbol(world *w, const char *name, int k, int64_t number) {
  gemel__pterms *t = &w->scene.terms;
  char text[60];
  if (!w->symbolic) {
    return gemel__p_number(t, number);
  }
  snprintf(text, sizeof text, "%s.%d", name, k);
  gemel__pterm symbol = gemel__p_symbol(t, GEMEL__PSORT_INTEGER, text);
  set_symbol(&w->n, symbol, number);
  return symbol;
}

static void set_operands(world *w) {
  gemel__pscene *s = &w->scene;
  static const char *const names[] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"};
  for (uint32_t k = 0; k < w->n_operands; k++) {
    gemel__ptensor *t = &w->operands[k];
    const gemel__rtensor *x = &w->n.inputs[k];
    *t = (gemel__ptensor){.name = names[k], .dtype = gemel_dtype_name(x->dtype), .rank = x->rank};
    t->sort = s->pass == GEMEL__PASS_ANY ? GEMEL__PSORT_ELEMENT : gemel__psort_of(x->dtype);
    for (int axis = 0; axis < x->rank; axis++) {
      t->shape[axis] = number_or_symbol(w, names[k], axis, x->shape[axis]);
      gemel__pscene_assume(
          s, gemel__p_at_least(&s->terms, t->shape[axis], gemel__p_number(&s->terms, 0)), 0);
    }
    w->result.operands[k] = t;
  }
}

/* The size that an operand holds. */
static int look_up(void *user, const gemel__atom *atom, int64_t *value) {
  const world *w = user;
  return atom->kind != GEMEL__ATOM_INPUT || atom->a >= w->n.n_inputs ||
         !w->n.d->to_integer(w->n.d, gemel__rtensor_at(&w->n.inputs[atom->a], 0), value);
}

static int64_t entry_of(world *w, const gemel_attr *attr, size_t k) {
  int64_t value = 0;
  gemel_error error = {0};
  switch (attr->kind) {
  case GEMEL_ATTR_INT:
    return attr->u.i;
  case GEMEL_ATTR_INT | GEMEL_ATTR_LIST:
    return attr->u.ints[k];
  case GEMEL_ATTR_DIM:
    CT_EQ_INT(gemel__dim_evaluate(w->n.context, attr->u.dim, look_up, w, &value, &error), GEMEL_OK);
    return value;
  case GEMEL_ATTR_DIM | GEMEL_ATTR_LIST:
    CT_EQ_INT(gemel__dim_evaluate(w->n.context, attr->u.dims[k], look_up, w, &value, &error),
              GEMEL_OK);
    return value;
  default:
    return fails(&w->n, "attribute %s", attr->name);
  }
}

static int is_one_of(const char *name, const char *const *names, size_t n) {
  size_t k = 0;
  while (k < n && strcmp(names[k], name) != 0) {
    k++;
  }
  return k < n;
}

/* Flags are 0 or 1 when they come to a pull. */
static int is_flag(const char *name) {
  static const char *const names[] = {"keepdims", "exclusive", "reverse",
                                      "flip",     "unshared",  "descending"};
  return is_one_of(name, names, CT_COUNT(names));
}

/* Axes, their order and flags are structure. */
static int is_structure(const char *name) {
  static const char *const names[] = {"order",      "axes",    "axis",   "contract_x",
                                      "contract_y", "batch_x", "batch_y"};
  return is_flag(name) || is_one_of(name, names, CT_COUNT(names));
}

static void set_list(world *w, const gemel_attr *attr, gemel__pvalue *v) {
  gemel__pterms *t = &w->scene.terms;
  int is_interior = strcmp(attr->name, "interior") == 0; /* a step less 1 */
  v->kind = attr->kind & GEMEL_ATTR_LIST ? GEMEL__PV_LIST : GEMEL__PV_INTEGER;
  v->count = attr->kind & GEMEL_ATTR_LIST ? (uint32_t)attr->count : 1;
  for (uint32_t k = 0; k < v->count; k++) {
    int64_t number = entry_of(w, attr, k) + is_interior;
    v->list[k] = is_structure(attr->name) ? gemel__p_number(t, number)
                                          : number_or_symbol(w, attr->name, (int)k, number);
    if (is_interior) {
      gemel__pscene_assume(&w->scene, gemel__p_at_least(t, v->list[k], gemel__p_number(t, 1)), 0);
      v->list[k] = gemel__p_plus(t, v->list[k], -1);
    }
  }
}

static void set_attribute(world *w, const gemel_attr *attr, gemel__pvalue *v) {
  static const char *const paddings[] = {"valid", "full", "half"};
  memset(v, 0, sizeof *v);
  if (attr->kind == GEMEL_ATTR_NONE) {
    v->kind = GEMEL__PV_ABSENT;
  } else if (attr->kind == GEMEL_ATTR_DTYPE) {
    v->kind = GEMEL__PV_DTYPE;
    v->name = gemel_dtype_name(attr->u.dtype);
    v->sort =
        w->scene.pass == GEMEL__PASS_ANY ? GEMEL__PSORT_ELEMENT : gemel__psort_of(attr->u.dtype);
  } else if (attr->kind == GEMEL_ATTR_STRING) {
    int k = 0;
    while (k < 2 && strcmp(attr->u.text, paddings[k]) != 0) {
      k++;
    }
    v->kind = GEMEL__PV_OTHER;
    v->count = 1;
    v->list[0] = gemel__p_number(&w->scene.terms, k);
  } else {
    set_list(w, attr, v);
  }
}

/* Attributes in their normal form, as rules meet them. */
static const gemel_attr *normal_attributes(const world *w) {
  const gemel_graph *graph = w->instance.graph;
  uint32_t node = gemel_graph_output(graph, 0).node, normal = 0;
  gemel_type types[GEMEL_SAMPLE_MAX_INPUTS];
  gemel_error error;
  for (uint32_t k = 0; k < w->n.n_inputs; k++) {
    types[k] = gemel_value_type(gemel_graph_input(graph, k));
  }
  CT_EQ_INT(gemel__normal_attrs(w->n.context, w->n.op, graph->nodes[node].attrs, w->n.n_inputs,
                                types, &normal, &error),
            GEMEL_OK);
  return gemel__attrs_at(w->n.context, normal)->values;
}

/* These; what wasn't given may be absent, too. */
static void set_attributes(world *w) {
  const gemel_graph *graph = w->instance.graph;
  uint32_t node = gemel_graph_output(graph, 0).node;
  const gemel_attr *attrs = normal_attributes(w);
  const gemel_attr *written = gemel__attrs_at(w->n.context, graph->nodes[node].attrs)->values;
  for (size_t k = 0; k < w->n.op->n_attrs; k++) {
    int as_written =
        w->written && (written[k].kind == GEMEL_ATTR_NONE || written[k].kind == GEMEL_ATTR_STRING);
    set_attribute(w, as_written ? &written[k] : &attrs[k], &w->attrs[k]);
  }
  w->result.attrs = w->attrs;
}

/* Sizes that operands have in common are symbols. The fact that one is what D is without it, D
 * being 0, gives it its number; of two the later one. */
static void set_common_size(world *w, gemel__pterm d) {
  gemel__pterms *t = &w->scene.terms;
  uint32_t first = t->nodes[d].first;
  for (uint32_t k = t->nodes[d].count; t->nodes[d].kind == GEMEL__P_SUM && k > 0; k--) {
    gemel__pterm symbol = t->operands[first + k - 1];
    if (t->nodes[symbol].kind == GEMEL__P_SYMBOL &&
        strncmp(t->nodes[symbol].name, "size!", 5) == 0) {
      set_symbol(&w->n, symbol, 0);
      set_symbol(&w->n, symbol, -integer_of(&w->n, d) * t->coefficients[first + k - 1]);
      return;
    }
  }
}

static void set_common_sizes(world *w) {
  gemel__pterms *t = &w->scene.terms;
  for (size_t k = 0; k < w->scene.n_known; k++) {
    gemel__pterm truth = w->scene.known[k];
    if (t->nodes[truth].kind == GEMEL__P_ZERO) {
      set_common_size(w, gemel__p_operand(t, truth, 0));
    }
  }
}

/* The operation as a tensor, of which this is output OUTPUT, ready to be pulled. */
static void set_result(world *w, int output, int right) {
  gemel__pscene *s = &w->scene;
  gemel__ptensor *t = &w->result;
  memset(t, 0, sizeof *t);
  t->op = w->n.op;
  t->pull = gemel__ppull_of(w->n.op);
  t->count = w->n_operands;
  t->output = output;
  t->dtype = gemel_dtype_name(w->n.outputs[output].dtype);
  set_operands(w);
  set_attributes(w);
  t->sort = GEMEL__PSORT_ELEMENT;
  if (s->pass != GEMEL__PASS_ANY) {
    gemel_dtype dtype = t->pull->dtype != NULL ? t->pull->dtype(t) : gemel__pull_dtype(t, 0);
    t->sort = gemel__psort_of(w->n.outputs[output].dtype);
    if (dtype != w->n.outputs[output].dtype) {
      fails(&w->n, "another dtype, %s",
            dtype < GEMEL_DTYPE_COUNT ? gemel_dtype_name(dtype) : "which is refused");
    }
  }
  t->pull->shape(s, t);
  set_common_sizes(w);
  if (right && s->flow == GEMEL__P_GO) { /* what it needs is known by now */
    const gemel__ptensor left = *t;
    s->right = 1;
    t->pull->shape(s, t);
    if (s->flow == GEMEL__P_OPEN) {
      *t = left;
      s->right = 0;
      s->flow = GEMEL__P_GO;
    }
  }
}

/* ---- Comparing ---- */

/* 1 if all that is assumed, from number FROM on, and the lemmas hold. */
static int assumptions_hold(world *w, size_t from) {
  gemel__pscene *s = &w->scene;
  int hold = 1;
  for (size_t k = from; k < s->n_known && hold; k++) {
    hold = truth_of(&w->n, s->known[k]);
  }
  gemel__pscene_lemmas(s);
  for (size_t k = 0; k < s->n_lemmas && hold; k++) {
    hold = truth_of(&w->n, s->lemmas[k]) || fails(&w->n, "lemma %zu isn't so", k);
  }
  return hold;
}

static int agree(world *w, const void *a, const void *b, gemel_dtype dtype) {
  double x = gemel__special_value(w->n.d, a), y = gemel__special_value(w->n.d, b);
  double size = fabs(x) > fabs(y) ? fabs(x) : fabs(y);
  if (gemel_dtype_kind(dtype) != GEMEL_KIND_FLOAT) {
    return w->n.d->equal(w->n.d, a, b) == 1;
  }
  return w->n.d->equal(w->n.d, a, b) == 1 || is_near_or_nan(x, y, 1e-12 * size + 1e-40);
}

/* ELEMENT is that of the reference at INDEX. */
static void compare_element(world *w, const gemel__rtensor *expected, const int64_t *index,
                            gemel__pterm element) {
  void *e = gemel__elements_new(w->n.d, 1);
  const void *other = gemel__rtensor_index(expected, index);
  gemel_dtype dtype = element_of(&w->n, element, e);
  if (w->n.wrong[0] == 0 && !agree(w, e, other, expected->dtype)) {
    fails(&w->n, "%.17g instead of %.17g", gemel__special_value(w->n.d, e),
          gemel__special_value(w->n.d, other));
  }
  if (dtype != expected->dtype) {
    fails(&w->n, "an element of another dtype");
  }
  gemel__elements_free(w->n.d, e, 1);
}

/* Pulls at INDEX, in numbers; ELEMENT gets the term. What was assumed on the way must hold. */
static gemel__pterm pull_at(world *w, const int64_t *index) {
  gemel__pscene *s = &w->scene;
  gemel__pterm at[GEMEL__PAXES];
  size_t before = s->n_known;
  for (int k = 0; k < w->result.rank; k++) {
    at[k] = gemel__p_number(&s->terms, index[k]);
  }
  gemel__pterm element = gemel__ptensor_pull(s, &w->result, at);
  if (s->flow != GEMEL__P_GO) {
    fails(&w->n, "%s", s->why);
  } else if (!assumptions_hold(w, before)) {
    fails(&w->n, "what is assumed isn't so");
  }
  s->n_known = before;
  return element;
}

static void compare_numbers(world *w, const gemel__rtensor *expected) {
  int64_t index[GEMEL__PAXES] = {0};
  for (size_t i = 0; i < expected->count && w->n.wrong[0] == 0; i++) {
    compare_element(w, expected, index, pull_at(w, index));
    gemel__index_next(expected->rank, expected->shape, index);
  }
  for (int i = 0; i < OUTSIDE && w->n.wrong[0] == 0 && expected->rank > 0; i++) {
    for (int k = 0; k < expected->rank; k++) {
      index[k] = gemel__random_between(&w->random, -2, expected->shape[k] + 1);
    }
    pull_at(w, index);
  }
}

/* The same of what is pulled at a symbol for each index. */
static void compare_symbols(world *w, const gemel__rtensor *expected) {
  gemel__pscene *s = &w->scene;
  gemel__pterm at[GEMEL__PAXES];
  int64_t index[GEMEL__PAXES] = {0};
  size_t before = s->n_known;
  for (int k = 0; k < w->result.rank; k++) {
    at[k] = gemel__p_fresh(&s->terms, GEMEL__PSORT_INTEGER, "index");
    gemel__pscene_index(s, at[k], w->result.shape[k]);
  }
  gemel__pterm element = gemel__ptensor_pull(s, &w->result, at);
  if (s->flow != GEMEL__P_GO) {
    fails(&w->n, "%s", s->why);
  }
  for (size_t i = 0; i < expected->count && w->n.wrong[0] == 0; i++) {
    for (int k = 0; k < expected->rank; k++) {
      set_symbol(&w->n, at[k], index[k]);
    }
    if (!assumptions_hold(w, before)) {
      fails(&w->n, "what is assumed isn't so");
    }
    compare_element(w, expected, index, element);
    gemel__index_next(expected->rank, expected->shape, index);
  }
}

/* Output K in the scene of the choices given: 1 if it is the instance's. */
static int compare_scene(world *w, int k, int right) {
  gemel__pscene *s = &w->scene;
  const gemel__rtensor *expected = &w->n.outputs[k];
  set_result(w, k, right);
  if (s->flow == GEMEL__P_SKIP || (s->flow == GEMEL__P_GO && !assumptions_hold(w, 0))) {
    return 0;
  }
  if (s->flow != GEMEL__P_GO) {
    fails(&w->n, "%s", s->why);
  } else if (w->result.rank != expected->rank) {
    fails(&w->n, "rank %d instead of %d", w->result.rank, expected->rank);
  }
  for (int axis = 0; axis < expected->rank && w->n.wrong[0] == 0; axis++) {
    if (integer_of(&w->n, w->result.shape[axis]) != expected->shape[axis]) {
      fails(&w->n, "another size of axis %d", axis);
    }
  }
  if (w->n.wrong[0] == 0 && w->symbolic) {
    compare_symbols(w, expected);
  } else if (w->n.wrong[0] == 0) {
    compare_numbers(w, expected);
  }
  return 1;
}

/* The next list of choices; 0: that was the last. */
static int next_choices(const gemel__pscene *s, unsigned char *given, uint32_t *count) {
  uint32_t n = s->n_chosen;
  memcpy(given, s->given, sizeof s->given);
  while (n > 0 && given[n - 1] + 1 == s->limits[n - 1]) {
    n--;
  }
  *count = n;
  given[n > 0 ? n - 1 : 0]++;
  return n > 0;
}

/* Output K of the instance, in one scene after another until one is the instance's. */
static void compare_output(world *w, int k, gemel__ppass pass, int symbolic, int right) {
  unsigned char given[GEMEL__PCHOICES] = {0};
  uint32_t count = 0, tried = 0;
  int found = 0, more = 1;
  for (; more && !found && w->n.wrong[0] == 0; tried++) {
    gemel__pscene *s = &w->scene;
    memset(s, 0, sizeof *s);
    gemel__pterms_init(&s->terms);
    gemel__ask_init(&s->ask, &s->terms);
    s->pass = pass;
    memcpy(s->given, given, sizeof given);
    s->n_given = count;
    w->n.terms = &s->terms;
    w->n.n_symbols = 0;
    w->symbolic = symbolic;
    found = compare_scene(w, k, right);
    more = next_choices(s, given, &count) && tried < MOST_SCENES;
    gemel__pscene_clear(s);
  }
  if (!found) {
    fails(&w->n, "no scene is this instance, of %u", tried);
  }
  if (w->n.wrong[0] != 0) {
    CT_FAIL("output %d, pass %d%s%s, scene %u: %s", k, pass, symbolic ? ", symbols" : "",
            right ? ", right" : "", tried, w->n.wrong);
  }
}

/* ---- Instances ---- */

/* 1 if inputs are the operands as they are: no builder has put a cast there. */
static int is_plain(const gemel_graph *graph) {
  uint32_t node = gemel_graph_output(graph, 0).node, count;
  const gemel__ref *operands = gemel__node_inputs(graph, node, &count);
  int plain = count == gemel_graph_input_count(graph);
  for (uint32_t k = 0; k < count && plain; k++) {
    plain = operands[k].node == gemel_graph_input(graph, k).node;
  }
  return plain;
}

/* 1 if the reference has results for the instance. */
static int evaluate(world *w) {
  gemel_error error = {0};
  const gemel__instance *i = &w->instance;
  int fill = gemel__random_chance(&w->random, 1, 2) ? GEMEL__FILL_INTEGERS : GEMEL__FILL_FULL;
  w->n.n_inputs = (uint32_t)i->n_leaves;
  int sizes = w->n.op->record.max_inputs < 0 && strcmp(w->n.op->record.name, "join") != 0;
  w->n_operands = sizes ? (uint32_t)w->n.op->record.min_inputs : w->n.n_inputs;
  if (gemel_graph_output_count(i->graph) > MOST_OUTPUTS || w->n_operands > GEMEL__PPARTS ||
      gemel__values_draw(i, (gemel__fill)fill, &w->random, &w->values, &error) != GEMEL_OK) {
    return 0;
  }
  gemel_status status = gemel__rtensors_read(w->n.n_inputs, w->n.inputs, w->n.d, w->values, &error);
  if (status == GEMEL_OK) {
    status = gemel__instance_reference(i, w->n.d, w->values, w->n.outputs, &error);
  }
  CT_CHECK(status == GEMEL_OK || gemel__is_no_point(status));
  return status == GEMEL_OK;
}

static void clear_instance(world *w) {
  gemel__rtensors_clear(MOST_OUTPUTS, w->n.outputs);
  gemel__rtensors_clear(GEMEL_SAMPLE_MAX_INPUTS, w->n.inputs);
  gemel__values_free(&w->instance, w->values);
  w->values = NULL;
  gemel__instance_clear(&w->instance);
}

static int open_world(world *w) {
  gemel_error error;
  w->n.context = gemel_context_new(&error);
  w->special = gemel__special_new();
  if (w->n.context == NULL || w->special == NULL) {
    return 0;
  }
  w->n.d = &w->special->domain;
  w->special->unrounded = 1;
  return 1;
}

static void close_world(world *w) {
  gemel__special_free(w->special);
  gemel_context_unref(w->n.context);
  free(w);
}

/* Draws an instance, number NUMBER of OP; 0: there is none. */
static int draw(world *w, const gemel__op *op, uint64_t number) {
  gemel_error error;
  w->n.op = op;
  for (uint64_t tries = 0; tries < PATIENCE; tries++) {
    gemel_dtype dtype = (gemel_dtype)((number + tries) % GEMEL_DTYPE_COUNT);
    gemel__random_split(&w->random, 31 + op->id, number * PATIENCE + tries);
    if (gemel__instance_draw(&w->instance, w->n.context, &op->record, dtype, ELEMENTS, &w->random,
                             &error) == GEMEL_OK) {
      if (is_plain(w->instance.graph) && evaluate(w)) {
        return 1;
      }
      clear_instance(w);
    }
  }
  return 0;
}

static void compare_instance(world *w, uint64_t number) {
  int any = strcmp(w->n.op->record.name, "cross_entropy") != 0; /* its pull depends on dtypes */
  w->n.wrong[0] = 0;
  w->written = gemel__random_chance(&w->random, 1, 2);
  for (size_t k = 0; k < gemel_graph_output_count(w->instance.graph); k++) {
    for (int pass = any ? GEMEL__PASS_ANY : GEMEL__PASS_VALUES; pass <= GEMEL__PASS_VALUES;
         pass++) {
      int right = gemel__random_chance(&w->random, 1, 2);
      compare_output(w, (int)k, (gemel__ppass)pass, 0, right);
      if (number % SYMBOLIC == 0 && gemel__ask_has_solver()) {
        compare_output(w, (int)k, (gemel__ppass)pass, 1, right);
      }
    }
  }
}

/* ---- What is refused ---- */

/* An operation with one number changed: entry ENTRY of attribute ATTR, or, if that is -1, of the
 * shape of operand OPERAND, is NUMBER, or there are LONGER entries more, the last of which is. */
typedef struct change {
  int attr, entry, longer;
  uint32_t operand;
  int64_t number;
} change;

static int entries_of(const gemel_attr *attr) {
  switch (attr->kind) {
  case GEMEL_ATTR_INT:
  case GEMEL_ATTR_DIM:
    return 1;
  case GEMEL_ATTR_INT | GEMEL_ATTR_LIST:
  case GEMEL_ATTR_DIM | GEMEL_ATTR_LIST:
    return (int)attr->count;
  default:
    return 0;
  }
}

static int64_t changed_number(world *w, int64_t number) {
  return gemel__random_chance(&w->random, 1, 2) ? number + gemel__random_between(&w->random, -2, 2)
                                                : gemel__random_between(&w->random, -3, 3);
}

/* A change of a number; 0: the operation has none at the place that was drawn. */
static int draw_change(world *w, const gemel_attr *attrs, change *c) {
  uint64_t places = w->n.op->n_attrs + w->n_operands;
  uint64_t place = gemel__random_below(&w->random, places);
  int is_attr = place < w->n.op->n_attrs;
  c->attr = is_attr ? (int)place : -1;
  c->operand = is_attr ? 0 : (uint32_t)(place - w->n.op->n_attrs);
  int count = is_attr ? entries_of(&attrs[place]) : w->n.inputs[c->operand].rank;
  if (count == 0 || (is_attr && is_flag(attrs[place].name))) {
    return 0;
  }
  c->entry = (int)gemel__random_below(&w->random, (uint64_t)count);
  int list = !is_attr || (attrs[place].kind & GEMEL_ATTR_LIST) != 0;
  c->longer = list && gemel__random_chance(&w->random, 1, 4)
                  ? (gemel__random_chance(&w->random, 1, 2) ? 1 : -1)
                  : 0;
  c->number = changed_number(w, is_attr ? entry_of(w, &attrs[place], (size_t)c->entry)
                                        : w->n.inputs[c->operand].shape[c->entry]);
  return is_attr || c->number >= 0;
}

/* ATTR with C's number, in the arrays given. */
static gemel_attr changed_attribute(world *w, const gemel_attr *attr, const change *c,
                                    int64_t *ints, gemel_dim *dims) {
  gemel_attr a = *attr;
  int count = entries_of(attr) + c->longer;
  for (int i = 0; i < count; i++) {
    int here = c->longer ? i + 1 == count : i == c->entry;
    ints[i] = here ? c->number : entry_of(w, attr, (size_t)i);
    dims[i] = gemel_dim_constant(w->n.context, ints[i]);
  }
  a.count = a.kind & GEMEL_ATTR_LIST ? (size_t)count : a.count;
  switch (a.kind) {
  case GEMEL_ATTR_INT:
    a.u.i = c->number;
    break;
  case GEMEL_ATTR_DIM:
    a.u.dim = dims[0];
    break;
  case GEMEL_ATTR_INT | GEMEL_ATTR_LIST:
    a.u.ints = ints;
    break;
  default:
    a.u.dims = dims;
  }
  return a;
}

/* 1 if gemel makes a node of the operation on the operands, with ATTRS. */
static int is_taken(world *w, const gemel_attr *attrs) {
  gemel_attr given[MOST_ATTRS];
  gemel_value operands[GEMEL__PPARTS];
  gemel_error error = {0};
  size_t n = 0;
  gemel_graph *graph = gemel_graph_new(w->n.context, &error);
  for (uint32_t k = 0; k < w->n_operands; k++) {
    const gemel__rtensor *x = &w->n.inputs[k];
    char name[20];
    snprintf(name, sizeof name, "x%u", k);
    operands[k] =
        gemel_input(graph, name, gemel_type_of_shape(w->n.context, x->dtype, x->rank, x->shape));
  }
  for (size_t k = 0; k < w->n.op->n_attrs; k++) {
    given[n] = attrs[k];
    n += attrs[k].kind != GEMEL_ATTR_NONE;
  }
  gemel_apply(graph, w->n.op->record.name, w->n_operands, operands, n, given);
  gemel_status status = gemel_graph_error(graph)->status;
  CT_CHECK(status != GEMEL_NO_MEMORY && status != GEMEL_NOT_FOUND);
  gemel_graph_unref(graph);
  return status == GEMEL_OK;
}

/* 1 if a proof takes the operation with ATTRS on the operands for valid on the right side. Indices
 * are looked up on the left, too. */
static int is_valid(world *w, const gemel_attr *attrs) {
  gemel__pscene *s = &w->scene;
  gemel__ptensor *t = &w->result;
  memset(s, 0, sizeof *s);
  gemel__pterms_init(&s->terms);
  gemel__ask_init(&s->ask, &s->terms);
  s->pass = GEMEL__PASS_VALUES;
  s->right = 1;
  w->n.terms = &s->terms;
  w->symbolic = 0;
  *t = (gemel__ptensor){.op = w->n.op, .count = w->n_operands, .attrs = w->attrs};
  t->pull = gemel__ppull_of(w->n.op);
  t->dtype = "result";
  t->sort = gemel__psort_of(w->n.outputs[0].dtype);
  set_operands(w);
  for (size_t k = 0; k < w->n.op->n_attrs; k++) {
    set_attribute(w, &attrs[k], &w->attrs[k]);
  }
  for (int axis = 0; w->n_operands == 2 && axis < w->operands[0].rank; axis++) {
    s->looked_up[s->n_looked_up++] = (gemel__plookup){&w->operands[1], w->operands[0].shape[axis]};
  }
  t->pull->shape(s, t);
  int valid = s->flow == GEMEL__P_GO;
  gemel__pscene_clear(s);
  return valid;
}

/* Changes one number of the instance: what gemel refuses must not be valid. */
static void compare_change(world *w, const gemel_attr *attrs, size_t *refused, size_t *taken) {
  gemel_attr changed[MOST_ATTRS];
  int64_t ints[GEMEL__PLIST];
  gemel_dim dims[GEMEL__PLIST];
  change c;
  if (!draw_change(w, attrs, &c)) {
    return;
  }
  gemel__rtensor *x = &w->n.inputs[c.operand];
  const gemel__rtensor before = *x;
  memcpy(changed, attrs, w->n.op->n_attrs * sizeof *attrs);
  if (c.attr >= 0) {
    changed[c.attr] = changed_attribute(w, &attrs[c.attr], &c, ints, dims);
  } else {
    x->rank += c.longer;
    x->shape[c.longer > 0 ? x->rank - 1 : c.entry] = c.number;
  }
  int takes = is_taken(w, changed), valid = is_valid(w, changed);
  *refused += !takes;
  *taken += takes && valid;
  if (valid && !takes) {
    CT_FAIL("valid on the right side, but refused: %s %u, entry %d is %lld (%+d)",
            c.attr >= 0 ? attrs[c.attr].name : "operand", c.operand, c.entry, (long long)c.number,
            c.longer);
  }
  x->rank = before.rank;
  memcpy(x->shape, before.shape, sizeof before.shape);
}

/* 1 if sizes of the instance are known when it runs only. */
static int has_sizes_of_values(const world *w) {
  return w->n.n_inputs != w->n_operands;
}

static void compare_validity(const void *data) {
  world *w = calloc(1, sizeof *w);
  size_t refused = 0, taken = 0;
  CT_REQUIRE(w != NULL && open_world(w));
  const gemel__op *op = gemel__op_at(w->n.context, *(const uint32_t *)data);
  uint64_t wanted = ct_seeds("GEMEL_PULL_SEEDS", SEEDS) * MOVING;
  for (uint64_t number = 0; number < wanted && draw(w, op, number); number++) {
    const gemel_attr *attrs = normal_attributes(w);
    ct_context("%s, instance %d", op->record.name, (int)number);
    for (int k = 0; k < ALTERED && !has_sizes_of_values(w); k++) {
      compare_change(w, attrs, &refused, &taken);
    }
    clear_instance(w);
  }
  ct_context("%s", op->record.name);
  CT_CHECK(taken > 0);
  CT_CHECK(refused > 0 || strcmp(op->record.name, "size") == 0); /* which takes any number */
  ct_property("refused", (long long)refused);
  ct_property("taken", (long long)taken);
  close_world(w);
}

/* All instances of an operation. */
static void compare_operation(const void *data) {
  world *w = calloc(1, sizeof *w);
  uint64_t seen = 0;
  CT_REQUIRE(w != NULL && open_world(w));
  const gemel__op *op = gemel__op_at(w->n.context, *(const uint32_t *)data);
  int moves = !(op->record.flags & GEMEL_OP_ELEMENTWISE);
  uint64_t wanted = ct_seeds("GEMEL_PULL_SEEDS", SEEDS) * (moves ? MOVING : 1);
  CT_REQUIRE(op->n_attrs <= MOST_ATTRS);
  for (uint64_t number = 0; number < wanted && draw(w, op, number); number++, seen++) {
    ct_context("%s, instance %d", op->record.name, (int)number);
    compare_instance(w, number);
    clear_instance(w);
  }
  ct_context("%s", op->record.name);
  CT_EQ_UINT(seen, wanted);
  ct_property("instances", (long long)seen);
  close_world(w);
}

void ct_register(void) {
  static uint32_t ids[GEMEL__OP_COUNT];
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  for (uint32_t op = 1; context != NULL && op < GEMEL__OP_COUNT; op++) {
    ids[op] = op;
    if (gemel__ppull_of(gemel__op_at(context, op)) != NULL) {
      CT_ADD("pulls", gemel__rows[op].name, compare_operation, &ids[op]);
    }
    if (gemel__ppull_of(gemel__op_at(context, op)) != NULL &&
        !(gemel__op_at(context, op)->record.flags & GEMEL_OP_ELEMENTWISE)) {
      CT_ADD("validity", gemel__rows[op].name, compare_validity, &ids[op]);
    }
  }
  gemel_context_unref(context);
}
