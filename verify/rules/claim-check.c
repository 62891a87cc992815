/* SPDX-License-Identifier: MIT
 *
 * Checks claims, see check.h. Values claimed of an instance are compared in domain O (reals and
 * wrapping integers), bits in domain S (IEEE). Where a claim covers any elements, floats in S are
 * told apart by what they are (NaN, an infinity and its sign, a zero and its sign, a number), since
 * sums may be rounded in another order; the zero's sign only where nothing is summed. Some left
 * sides are rewritten with symbols for their sizes, too.
 */
#include "rules/claim-check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "rules/claim-left.h"
#include "rules/claim-right.h"
#include "rules/claim-symbols.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/intern.h"
#include "domains/ordered.h"
#include "domains/special.h"
#include "instances/assumed.h"
#include "ops/ops.h"
#include "harness/report.h"
#include "rules/rule.h"

/* How many left sides are built at most, and at most without an instance of the rule; how many
 * instances are wanted, and how many elements they may have. */
enum { MOST_TRIED = 4000, MOST_IN_VAIN = 1500, WANTED = 400, ELEMENTS = 1200 };

struct check {
  gemel_context *context;
  const struct gemel_rule *rule;
  const gemel_proof *proof;
  gemel__ordered *ordered;
  gemel__special *special;
  gemel__random random;
  gemel__claim_range range;
  unsigned claimed; /* of the instance at hand */
  int sums;         /* 1: it has operations that aren't elementwise and don't only move elements */
  gemel__contradiction *found;
  gemel_error *error;
};

/* ---- What is drawn from ---- */

/* How many parts and operands are tried at least, and up to which numbers those of the rule count.
 */
enum { LEAST = 6, SMALL = 12, LARGE = 512 };

static void note_number(gemel__claim_range *range, int64_t n) {
  n = n < 0 ? -n : n;
  range->longest = n > range->longest && n <= SMALL ? n : range->longest;
  if (n > GEMEL__CLAIM_SIZE && n <= LARGE && range->n_numbers < GEMEL__CLAIM_NUMBERS) {
    range->numbers[range->n_numbers++] = n;
  }
}

static void read_numbers(gemel__claim_range *range, const gemel__termexpr *expr) {
  for (uint32_t k = 0; k < expr->count; k++) {
    const gemel__termcode *code = &expr->code[k];
    if (code->kind == GEMEL__TERMCODE_NUMBER) {
      note_number(range, code->value);
    } else if (code->kind == GEMEL__TERMCODE_LIST) {
      note_number(range, code->count);
    }
  }
}

static void read_rule(gemel__claim_range *range, const struct gemel_rule *rule) {
  const gemel__rule_side *sides[] = {&rule->left, &rule->right};
  for (int side = 0; side < 2; side++) {
    for (uint32_t k = 0; k < sides[side]->count; k++) {
      const gemel__pattern *p = &sides[side]->nodes[k];
      for (uint32_t j = 0; j < p->n_attrs; j++) {
        read_numbers(range, &p->attrs[j]);
      }
      if (p->any_output) {
        read_numbers(range, &p->output);
      }
    }
  }
  for (uint32_t k = 0; k < rule->n_conditions; k++) {
    read_numbers(range, &rule->conditions[k]);
  }
}

static gemel__claim_range range_of(const gemel_proof *proof, const struct gemel_rule *rule) {
  gemel__claim_range range = {.axes = GEMEL__CLAIM_AXES, .longest = LEAST};
  read_rule(&range, rule);
  for (int k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    range.dtypes |= gemel__claimed_of_dtype(proof->elements, (gemel_dtype)k) != 0 ? 1u << k : 0;
  }
  for (size_t k = 0; k < range.n_numbers; k++) {
    int64_t n = range.numbers[k];
    range.axes = n > range.axes && n <= GEMEL__CLAIM_MOST_AXES ? (int)n : range.axes;
  }
  if (!proof->all_ranks && proof->ranks < range.axes) {
    range.axes = proof->ranks;
  }
  return range;
}

/* ---- Elements ---- */

enum fill { FILL_SMALL, FILL_EXTREME, FILL_SPECIAL, FILLS };

static long double extreme(gemel_dtype dtype, uint64_t k) {
  int is_float = gemel__is_float(dtype);
  long double top = is_float ? (long double)gemel__largest(dtype)
                             : ldexpl(1, gemel__dtype_format(dtype)->digits) - 1;
  switch (k) {
  case 0:
    return top;
  case 1:
    return -top;
  case 2:
    return is_float ? (long double)gemel__least_subnormal(dtype) : -top - 1;
  case 3:
    return is_float ? -0.5L : top - 1;
  default:
    return is_float ? 0.25L : 7;
  }
}

static long double draw_element(gemel_dtype dtype, enum fill fill, gemel__random *random) {
  static const long double specials[] = {NAN, INFINITY, -INFINITY, -0.0L, 0, 1, -1, -0.0L};
  if (fill == FILL_SPECIAL && gemel__is_float(dtype) && gemel__random_chance(random, 1, 2)) {
    return specials[gemel__random_below(random, sizeof specials / sizeof *specials)];
  }
  if (fill != FILL_SMALL && gemel__random_chance(random, 1, 2) && dtype != GEMEL_BOOL) {
    return extreme(dtype, gemel__random_below(random, 5));
  }
  return gemel__random_between(random, -1, 3);
}

/* Half of the integers are 0 and 1 only, and so indices that are inside. */
static void fill_leaf(const gemel__leaf *leaf, enum fill fill, gemel__random *random,
                      void *elements) {
  size_t bytes = gemel_dtype_size(leaf->dtype);
  int inside = !gemel__is_float(leaf->dtype) && gemel__random_chance(random, 1, 2);
  for (size_t k = 0; k < leaf->count; k++) {
    long double x = inside || leaf->dtype == GEMEL_BOOL
                        ? (long double)gemel__random_below(random, 2)
                        : draw_element(leaf->dtype, fill, random);
    gemel__leaf_put(leaf, (char *)elements + k * bytes, x);
  }
}

static gemel_status draw_values(const gemel__instance *instance, enum fill fill,
                                gemel__random *random, gemel_tensor ***values, gemel_error *error) {
  *values = gemel__alloc_zeroed(instance->n_leaves * sizeof **values);
  if (*values == NULL) {
    return gemel__no_memory(error, "values");
  }
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    (*values)[k] = gemel_tensor_new(leaf->dtype, leaf->rank, leaf->shape, error);
    if ((*values)[k] == NULL) {
      return GEMEL_NO_MEMORY;
    }
    fill_leaf(leaf, fill, random, gemel_tensor_data((*values)[k]));
  }
  return GEMEL_OK;
}

/* ---- Comparing ---- */

/* 1 if X and Y, elements of domain S, are the same; unless they are rounded, all numbers are. */
static int same_special(const struct check *c, const void *x, const void *y) {
  gemel__domain *d = &c->special->domain;
  double a = gemel__special_value(d, x), b = gemel__special_value(d, y);
  if (d->state(d, x) != GEMEL__DEFINED || d->state(d, y) != GEMEL__DEFINED) {
    return 1;
  }
  if (gemel__special_is_nan(d, x) || gemel__special_is_nan(d, y)) {
    return gemel__special_is_nan(d, x) == gemel__special_is_nan(d, y);
  }
  if (gemel__special_is_infinite(d, x) || gemel__special_is_infinite(d, y)) {
    return a == b;
  }
  if (a == 0 && b == 0) {
    return c->sums || gemel__special_sign_bit(d, x) == gemel__special_sign_bit(d, y);
  }
  return c->special->unrounded || d->equal(d, x, y) != 0;
}

static int is_same(const struct check *c, int bits, const void *x, const void *y) {
  return bits ? same_special(c, x, y) : gemel__ordered_overlap(&c->ordered->domain, x, y);
}

/* Compares the results L and R. */
static void compare(struct check *c, int bits, const gemel__rtensor *l, const gemel__rtensor *r) {
  gemel__contradiction *f = c->found;
  gemel__domain *d = bits ? &c->special->domain : &c->ordered->domain;
  for (size_t i = 0; i < l->count && i < r->count && !f->found; i++) {
    void *x = gemel__rtensor_at(l, i), *y = gemel__rtensor_at(r, i);
    if (!is_same(c, bits, x, y)) {
      f->found = 1;
      f->bits = bits;
      snprintf(f->place, sizeof f->place, "element %zu%s", i, bits ? ", bit for bit" : "");
      d->format(d, x, f->left, sizeof f->left);
      d->format(d, y, f->right, 80);
    }
  }
}

/* Computes both sides at VALUES and compares them. A left side that isn't defined there, by an
 * index outside, says nothing; a right side that isn't where the left is, is a contradiction. */
static gemel_status compare_at(struct check *c, int bits, const gemel__pair *pair,
                               gemel_tensor *const *values) {
  gemel__domain *d = bits ? &c->special->domain : &c->ordered->domain;
  gemel__rtensor left, right;
  gemel_error reason = {GEMEL_OK, 0, 0, ""};
  memset(&left, 0, sizeof left);
  memset(&right, 0, sizeof right);
  gemel_status status = gemel__instance_reference(&pair->a, d, values, &left, &reason);
  if (status == GEMEL_OK) {
    status = gemel__instance_reference(&pair->b, d, values, &right, &reason);
    if (gemel__is_no_point(status)) {
      c->found->found = 1;
      snprintf(c->found->place, sizeof c->found->place, "result");
      snprintf(c->found->left, sizeof c->found->left, "has a value");
      snprintf(c->found->right, sizeof c->found->right, "ends the call: %.200s", reason.text);
    } else if (status == GEMEL_OK) {
      compare(c, bits, &left, &right);
      c->found->compared++;
    }
  }
  gemel__rtensor_clear(&left);
  gemel__rtensor_clear(&right);
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(c->error, "a comparison") : GEMEL_OK;
}

/* ---- An instance ---- */

/* Operations that move elements, of the families whose results have no sum of several. */
static int moves(const gemel__op *op) {
  return (op->record.flags & (GEMEL_OP_ELEMENTWISE | GEMEL_OP_VIEW | GEMEL_OP_SOURCE)) != 0 ||
         (op->row != NULL && op->row->family == GEMEL__FAMILY_shape);
}

static int has_sums(const gemel_graph *graph) {
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    if (!moves(gemel__op_at(graph->context, gemel__node_at(graph, k)->op))) {
      return 1;
    }
  }
  return 0;
}

/* Asks about PAIR at values of all kinds. */
static gemel_status check_pair(struct check *c, gemel__pair *pair) {
  gemel_status status = GEMEL_OK;
  for (int fill = 0; fill < FILLS && status == GEMEL_OK && !c->found->found; fill++) {
    gemel_tensor **values;
    int bits = fill == FILL_SPECIAL;
    status = draw_values(&pair->a, (enum fill)fill, &c->random, &values, c->error);
    if (status == GEMEL_OK &&
        (c->claimed & (bits ? GEMEL__CLAIMS_BITS : GEMEL__CLAIMS_VALUES)) != 0) {
      status = compare_at(c, bits, pair, values);
    }
    if (c->found->found) {
      c->found->pair = *pair;
      c->found->values = values;
      memset(pair, 0, sizeof *pair);
    } else {
      gemel__values_free(&pair->a, values);
    }
  }
  return status;
}

/* Makes a pair of both sides, with the inputs of the left one. RIGHT may be NULL. */
static gemel_status make_pair(gemel_graph *left, gemel_graph *right, gemel__pair *pair,
                              gemel_error *error) {
  memset(pair, 0, sizeof *pair);
  GEMEL__TRY(gemel__instance_of_graph(&pair->a, left, NULL, error));
  return right == NULL ? GEMEL_OK : gemel__instance_of_graph(&pair->b, right, NULL, error);
}

static gemel_status check_refused(struct check *c, gemel_graph *left, const gemel_error *problem) {
  c->found->found = 1;
  snprintf(c->found->place, sizeof c->found->place, "there is no right side");
  snprintf(c->found->right, sizeof c->found->right, "%.230s", problem->text);
  return make_pair(left, NULL, &c->found->pair, c->error);
}

/* Asks about LEFT and RIGHT, which is what the rule makes of it. */
static gemel_status check_sides(struct check *c, gemel_graph *left, gemel_graph *right) {
  gemel__pair pair;
  if (gemel__graph_elements(right, 1) > 4 * ELEMENTS) {
    return GEMEL_OK;
  }
  c->sums = has_sums(left) || has_sums(right);
  gemel_status status = make_pair(left, right, &pair, c->error);
  status = status ? status : check_pair(c, &pair);
  gemel__pair_clear(&pair);
  return status;
}

/* What of RIGHT is claimed. */
static void narrow_claim(struct check *c, const gemel_graph *right) {
  c->claimed &= gemel__claims_bits_of_graph(c->proof, right) ? c->claimed : GEMEL__CLAIMS_VALUES;
}

/* Asks about what the rule makes of SYMBOLIC, at SIZES, at which it is LEFT. */
static gemel_status check_at_sizes(struct check *c, gemel_graph *left, gemel_graph *symbolic,
                                   const gemel__claim_sizes *sizes) {
  gemel_graph *right;
  gemel_error problem;
  gemel__pair pair;
  gemel_status status =
      gemel__claim_right(c->rule, symbolic, &c->random, &right, &problem, c->error);
  if (right == NULL) {
    return status == GEMEL_OK && problem.status != GEMEL_OK ? check_refused(c, left, &problem)
                                                            : status;
  }
  narrow_claim(c, right);
  memset(&pair, 0, sizeof pair);
  status = gemel__pair_draw_at(&pair, symbolic, right, sizes->count, sizes->names, sizes->sizes,
                               &c->random, &problem);
  if (status == GEMEL_OK) {
    status = check_sides(c, pair.a.graph, pair.b.graph);
  } else if (status != GEMEL_NO_MEMORY) {
    status = check_refused(c, left, &problem);
  }
  if (c->found->found) {
    size_t n = strlen(c->found->place);
    snprintf(c->found->place + n, sizeof c->found->place - n, ", applied where sizes are symbols");
  }
  gemel__pair_clear(&pair);
  gemel_graph_unref(right);
  return status;
}

/* The same rule where LEFT's sizes are symbols. */
static gemel_status check_symbols(struct check *c, gemel_graph *left) {
  gemel__claim_sizes sizes;
  gemel_graph *symbolic;
  gemel_status status = gemel__claim_symbolic(left, &c->random, &sizes, &symbolic);
  if (symbolic != NULL) {
    status = check_at_sizes(c, left, symbolic, &sizes);
    gemel_graph_unref(symbolic);
  }
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(c->error, "symbols") : status;
}

/* LEFT, rewritten by the rule, if the claim covers it; now and then with symbols for its sizes. */
static gemel_status check_left(struct check *c, gemel_graph *left) {
  gemel_graph *right;
  gemel_error problem;
  c->claimed = gemel__claimed_of_graph(c->proof, left);
  if (c->claimed == 0 || gemel__graph_elements(left, 1) > ELEMENTS) {
    return GEMEL_OK;
  }
  gemel_status status = gemel__claim_right(c->rule, left, &c->random, &right, &problem, c->error);
  if (right == NULL && status == GEMEL_OK && problem.status != GEMEL_OK) {
    return check_refused(c, left, &problem);
  }
  if (right != NULL) {
    unsigned claimed = c->claimed;
    c->found->fired++;
    narrow_claim(c, right);
    status = check_sides(c, left, right);
    c->claimed = claimed;
  }
  if (status == GEMEL_OK && !c->found->found && gemel__random_chance(&c->random, 1, 4)) {
    status = check_symbols(c, left);
  }
  gemel_graph_unref(right);
  return status;
}

/* ---- A claim ---- */

/* How many left sides are looked at: all tensors of the first variable, and as many as are wanted
 * where few are instances. */
static int goes_on(const struct check *c, uint64_t k) {
  return !c->found->found && k < (c->found->fired > 0 ? MOST_TRIED : MOST_IN_VAIN) &&
         (c->found->fired < WANTED || k < gemel__claim_tensors(&c->range));
}

static gemel_status check_all(struct check *c) {
  uint64_t seed = gemel__hash_bytes(0, c->rule->info.text, strlen(c->rule->info.text));
  for (uint64_t k = 0; goes_on(c, k); k++) {
    gemel_graph *left = NULL;
    gemel__random_split(&c->random, seed, k);
    GEMEL__TRY(gemel__claim_left(c->context, c->rule, &c->range,
                                 k % gemel__claim_tensors(&c->range), &c->random, &left, c->error));
    if (left != NULL) {
      c->found->tried++;
      gemel_status status = check_left(c, left);
      gemel_graph_unref(left);
      GEMEL__TRY(status);
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__check_claim(gemel_context *context, const gemel_rule *rule,
                                const gemel_proof *proof, gemel__contradiction *found,
                                gemel_error *error) {
  struct check c = {
      .context = context, .rule = rule, .proof = proof, .found = found, .error = error};
  memset(found, 0, sizeof *found);
  if (proof->elements == NULL) {
    return GEMEL_OK;
  }
  c.range = range_of(proof, rule);
  c.ordered = gemel__ordered_new(128);
  c.special = gemel__special_new();
  gemel_status status = c.ordered == NULL || c.special == NULL
                            ? gemel__no_memory(error, "a claim's check")
                            : GEMEL_OK;
  if (status == GEMEL_OK) {
    c.ordered->finite = 1; /* as to the prover */
    c.special->unrounded = strncmp(proof->elements, "any", 3) == 0;
    status = check_all(&c);
  }
  gemel__ordered_free(c.ordered);
  gemel__special_free(c.special);
  return status;
}

void gemel__contradiction_clear(gemel__contradiction *found) {
  gemel__values_free(&found->pair.a, found->values);
  gemel__pair_clear(&found->pair);
  memset(found, 0, sizeof *found);
}

char *gemel__contradiction_text(const gemel__contradiction *found) {
  char place[400];
  if (found->pair.b.graph == NULL) {
    snprintf(place, sizeof place, "%s: %s", found->place, found->right);
    return gemel__counterexample(&found->pair.a, NULL, NULL, place, NULL, NULL);
  }
  return gemel__counterexample(&found->pair.a, found->pair.b.graph, found->values, found->place,
                               found->left, found->right);
}

gemel_status gemel__keep_claim(gemel_context *context, const gemel_rule *rule, gemel_proof *proof,
                               char **text, gemel_error *error) {
  gemel__contradiction found;
  gemel_status status = gemel__check_claim(context, rule, proof, &found, error);
  *text = NULL;
  proof->checked = found.fired;
  if (status == GEMEL_OK && found.found) {
    *text = gemel__contradiction_text(&found);
    status = *text != NULL ? GEMEL_OK : gemel__no_memory(error, "a counterexample");
    gemel__withdraw(proof, *text, 0);
  }
  gemel__drop_unchecked(proof);
  gemel__contradiction_clear(&found);
  return status;
}
