/* SPDX-License-Identifier: MIT
 *
 * Collects the instances of a rule or pass. Each dtype of which there are instances gets as many
 * draws as the others. Each way in which the conditions can hold is aimed at in turn (goal.c). If
 * conditions ask about constants, every third draw has constants of all magnitudes, and a few more
 * have infinite or NaN ones. More are drawn if too few results have elements, or too few instances
 * have an operand without any.
 */
#include <stdio.h>
#include <string.h>
#include "instances/assumed.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "ops/ops.h"
#include "pairs/lengths.h"
#include "passes/passes.h"
#include "rules/arms.h"
#include "instances/aims.h"
#include "rules/judge.h"
#include "unbounded/hint.h"

enum { DRAW_TRIES = 60, FEW_TRIES = 8, GIVE_UP = 4, ELEMENTS = 24 };

/* ---- Instances ---- */

static const gemel_dtype schedule[] = {
    GEMEL_F64, GEMEL_F32, GEMEL_I32, GEMEL_F64, GEMEL_F32,  GEMEL_BOOL, GEMEL_F64, GEMEL_F16,
    GEMEL_U8,  GEMEL_F32, GEMEL_I64, GEMEL_F64, GEMEL_BF16, GEMEL_I8,   GEMEL_F32, GEMEL_U64,
    GEMEL_F64, GEMEL_I16, GEMEL_F32, GEMEL_U16, GEMEL_F64,  GEMEL_U32};
enum { SCHEDULED = sizeof schedule / sizeof *schedule };

/* 1 if a result of LEFT has elements and an input has none. */
static int is_edge(const gemel_graph *left) {
  size_t n = gemel_graph_input_count(left), k = 0;
  while (k < n &&
         !gemel__type_is_empty(left->context, gemel_value_type(gemel_graph_input(left, k)))) {
    k++;
  }
  return k < n && gemel__rule_has_elements(left);
}

/* Makes E of DRAWN, which is moved. Release with gemel__example_clear, after an error too. */
gemel_status gemel__example_make(struct gemel__example *e, gemel__rule_instance *drawn,
                                 gemel_error *error) {
  gemel_status status;
  memset(e, 0, sizeof *e);
  e->drawn = *drawn;
  memset(drawn, 0, sizeof *drawn);
  status = gemel__instance_of_graph(&e->pair.a, e->drawn.left, NULL, error);
  if (status == GEMEL_OK && e->drawn.right != NULL) {
    status = gemel__instance_of_graph(&e->pair.b, e->drawn.right, NULL, error);
  }
  for (size_t k = 0; k < e->pair.a.n_leaves; k++) {
    e->real |= gemel__is_float(e->pair.a.leaves[k].dtype);
  }
  if (e->pair.a.n_leaves == 0) {
    e->real = e->drawn.floats || gemel__is_float(e->drawn.dtype);
  }
  e->integral = !e->real && e->drawn.special == 0;
  e->real &= e->drawn.special == 0;
  if (status == GEMEL_OK) {
    status = gemel__aims_of_graphs(e->drawn.left, e->drawn.right, &e->aims, error);
  }
  e->full = gemel__rule_has_elements(e->drawn.left);
  e->edge = is_edge(e->drawn.left);
  return status;
}

void gemel__example_clear(struct gemel__example *e) {
  gemel__rule_instance_clear(&e->drawn);
  gemel__pair_clear(&e->pair);
  if (e->folded) {
    gemel__pair_clear(&e->reals);
  }
  gemel__aims_clear(&e->aims);
}

gemel_status gemel__example_values(const struct gemel__example *e, gemel__fill fill, size_t round,
                                   gemel__random *random, gemel_tensor ***values,
                                   gemel_error *error) {
  gemel_status status = gemel__values_draw(&e->pair.a, fill, random, values, error);
  if (status == GEMEL_OK && round > 0) {
    gemel__aims_plant(&e->aims, round - 1, random, *values);
    for (size_t k = 0; k < e->pair.a.n_leaves; k++) {
      gemel__tensor_settle(&e->pair.a.leaves[k], (*values)[k]);
    }
  }
  return status;
}

size_t gemel__example_rounds(const struct gemel__example *e) {
  return gemel__aims_rounds(&e->aims, &e->pair.a);
}

static gemel_status add_example(struct gemel__rule_subject *p, gemel__rule_instance *drawn,
                                gemel_error *error) {
  struct gemel__example *e = &p->examples[p->n];
  gemel_status status = gemel__example_make(e, drawn, error);
  size_t k;
  p->n++;
  for (k = 0; k + 1 < p->n && p->examples[k].drawn.shapes != e->drawn.shapes; k++) {
  }
  p->n_shapes += k + 1 == p->n;
  p->n_symbolic += e->drawn.symbolic_right != NULL;
  p->ranks |= 1u << e->drawn.rank;
  for (k = 0; k < e->pair.a.n_leaves; k++) {
    p->dtypes |= 1u << e->pair.a.leaves[k].dtype;
  }
  p->n_full += e->real && e->full;
  return status;
}

/* 1 if the same instance was drawn OFTEN times already. Some rules have few different ones. */
static int has_often(const struct gemel__rule_subject *p, const gemel__rule_instance *drawn) {
  enum { OFTEN = 6 };
  size_t k, same = 0;
  for (k = 0; k < p->n; k++) {
    same += p->examples[k].drawn.content == drawn->content;
  }
  return same >= OFTEN;
}

/* Dtypes take turns, except those of which no instance is found in GIVE_UP draws. */
struct dtype_turn {
  size_t at;
  size_t missed[GEMEL_DTYPE_COUNT], found[GEMEL_DTYPE_COUNT];
};

/* The next dtype; GEMEL_DTYPE_COUNT: no dtype has instances. */
static gemel_dtype next_dtype(struct dtype_turn *turn) {
  for (int k = 0; k < SCHEDULED; k++) {
    gemel_dtype dtype = schedule[turn->at++ % SCHEDULED];
    if (turn->missed[dtype] < GIVE_UP || turn->found[dtype] > 0) {
      return dtype;
    }
  }
  return GEMEL_DTYPE_COUNT;
}

/* The kind of constants in draw K, wide ones only if the rule asks about constants. */
static gemel__constants_kind constants_of(const struct gemel__rule_subject *p, size_t k) {
  return p->rule != NULL && k % 3 == 2 && gemel__rule_asks_constants(p->rule)
             ? GEMEL__CONSTANTS_WIDE
             : GEMEL__CONSTANTS_SHORT;
}

static gemel__rule_wish wish_of(const struct gemel__rule_subject *p, gemel_dtype dtype, size_t k) {
  gemel__rule_wish wish = {.dtype = dtype,
                           .max_elements = p->pass != NULL ? INT64_MAX : ELEMENTS,
                           .empty = k % 7 == 6,
                           .tries = DRAW_TRIES,
                           .constants = constants_of(p, k)};
  return wish;
}

static gemel_status collect(struct gemel__rule_subject *p, struct dtype_turn *turn,
                            gemel_error *error) {
  size_t wanted = p->wanted, k;
  gemel_dtype dtype = next_dtype(turn);
  gemel_status status = GEMEL_OK;
  for (k = 0; k < 3 * wanted && p->n < wanted && dtype != GEMEL_DTYPE_COUNT && status == GEMEL_OK;
       k++, dtype = next_dtype(turn)) {
    gemel__rule_wish wish = wish_of(p, dtype, k);
    gemel__rule_instance drawn;
    gemel__random random;
    gemel__run_random(p->run, p->info->name, GEMEL_TIER_COUNT, k, &random);
    status = gemel__rule_draw_again(p, &wish, &random, &drawn, &p->draws, error);
    turn->found[dtype] += status == GEMEL_OK;
    turn->missed[dtype] += status == GEMEL_DECLINED;
    if (status == GEMEL_OK && has_often(p, &drawn)) {
      gemel__rule_instance_clear(&drawn);
    } else if (status == GEMEL_OK) {
      status = add_example(p, &drawn, error);
    }
    status = status == GEMEL_DECLINED ? GEMEL_OK : status;
  }
  return status;
}

/* Draws an instance and adds it if SUITS accepts its left side. */
static gemel_status add_if(struct gemel__rule_subject *p, const gemel__rule_wish *wish,
                           int (*suits)(const gemel_graph *left), gemel__random *random,
                           gemel_error *error) {
  gemel__rule_instance drawn;
  gemel_status status = gemel__rule_draw_again(p, wish, random, &drawn, &p->draws, error);
  if (status == GEMEL_OK && suits(drawn.left) && !has_often(p, &drawn)) {
    return add_example(p, &drawn, error);
  }
  gemel__rule_instance_clear(&drawn);
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

/* Adds float instances whose results have elements, if there are too few: empty results show
 * nothing. */
static gemel_status collect_full(struct gemel__rule_subject *p, gemel_error *error) {
  enum { WANTED = 8, DRAWS = 64 };
  gemel_status status = GEMEL_OK;
  gemel__random random;
  int any_real = 0;
  for (size_t k = 0; k < p->n; k++) {
    any_real |= p->examples[k].real;
  }
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_COUNT, gemel__aside(GEMEL__ASIDE_FULL),
                    &random);
  for (size_t k = 0; k < DRAWS && any_real && p->n_full < WANTED && p->n < p->room && !status;
       k++) {
    gemel__rule_wish wish = {.dtype = k % 2 ? GEMEL_F32 : GEMEL_F64,
                             .max_elements = ELEMENTS,
                             .empty = 0,
                             .tries = DRAW_TRIES};
    status = add_if(p, &wish, gemel__rule_has_elements, &random, error);
  }
  return status;
}

/* The dtype to ask for in an instance like E. */
static gemel_dtype dtype_like(const struct gemel__example *e) {
  return e->pair.a.n_leaves > 0 ? e->pair.a.leaves[0].dtype : e->drawn.dtype;
}

int gemel__rule_all_empty(const struct gemel__rule_subject *p, gemel_tier tier) {
  size_t examples = 0, full = 0;
  for (size_t k = 0; k < p->n; k++) {
    const struct gemel__example *e = &p->examples[k];
    int concerned = tier == GEMEL_TIER_INTEGER ? e->integral : e->real;
    examples += (size_t)concerned;
    full += concerned && e->full;
  }
  return examples > 0 && full == 0;
}

/* If the results of all instances for tier integer are empty: adds one that isn't. */
static gemel_status collect_full_integers(struct gemel__rule_subject *p, gemel_error *error) {
  enum { DRAWS = 24 };
  gemel_status status = GEMEL_OK;
  gemel__random random;
  size_t n = p->n, draws = gemel__rule_all_empty(p, GEMEL_TIER_INTEGER) ? DRAWS : 0;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_COUNT,
                    gemel__aside(GEMEL__ASIDE_FULL_INTEGERS), &random);
  for (size_t k = 0; draws > 0 && p->n < p->room && status == GEMEL_OK; k++) {
    const struct gemel__example *like = &p->examples[k % n];
    gemel__rule_wish wish = {
        .dtype = dtype_like(like), .max_elements = ELEMENTS, .tries = DRAW_TRIES, .plain = 1};
    if (like->integral) {
      status = add_if(p, &wish, gemel__rule_has_elements, &random, error);
      draws = gemel__rule_all_empty(p, GEMEL_TIER_INTEGER) ? draws - 1 : 0;
    }
  }
  return status;
}

/* Adds instances with an empty input and a result that isn't empty, such as the mean over an empty
 * axis, which is 0 ÷ 0. Such instances are rarely drawn by chance. */
static gemel_status collect_edges(struct gemel__rule_subject *p, gemel_error *error) {
  enum { WANTED = 6, DRAWS = 192 };
  gemel_status status = GEMEL_OK;
  gemel__random random;
  size_t draws = p->n_full > 0 && p->pass == NULL ? DRAWS : 0, most = p->n + WANTED;
  most = most < p->room ? most : p->room;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_COUNT, gemel__aside(GEMEL__ASIDE_EDGES),
                    &random);
  for (size_t k = 0; k < draws && p->n < most && status == GEMEL_OK; k++) {
    gemel__rule_wish wish = {.dtype = k % 2 ? GEMEL_F32 : GEMEL_F64,
                             .max_elements = ELEMENTS,
                             .empty = 1,
                             .tries = FEW_TRIES,
                             .plain = 1};
    status = add_if(p, &wish, is_edge, &random, error);
  }
  return status;
}

/* Adds instances with constants of KIND, a few of each dtype of which there are instances. If there
 * are none at all, of every dtype, since the rule may need such constants. */
static gemel_status collect_constants(struct gemel__rule_subject *p, gemel__constants_kind kind,
                                      const struct dtype_turn *turn, gemel_error *error) {
  enum { LEAST = 4, MOST = 24, ALL = 48 };
  gemel_status status = GEMEL_OK;
  gemel__random random;
  int any = p->n == 0;
  size_t dtypes = 0, each;
  for (int k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    dtypes += any || turn->found[k] > 0;
  }
  each = ALL / (dtypes > 0 ? dtypes : 1);
  each = kind != GEMEL__CONSTANTS_WIDE || each < LEAST ? LEAST : each > MOST ? MOST : each;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_COUNT,
                    gemel__aside(GEMEL__ASIDE_CONSTANTS + (size_t)kind), &random);
  for (size_t k = 0; k < each * GEMEL_DTYPE_COUNT && p->n < p->room && !status; k++) {
    gemel__rule_wish wish = {.dtype = (gemel_dtype)(k / each),
                             .max_elements = ELEMENTS,
                             .tries = DRAW_TRIES,
                             .plain = 1,
                             .constants = kind};
    if ((any || turn->found[wish.dtype] > 0) &&
        (kind == GEMEL__CONSTANTS_WIDE || gemel__is_float(wish.dtype))) {
      status = add_if(p, &wish, gemel__rule_has_elements, &random, error);
    }
  }
  return status;
}

/* Adds instances that hints of an open proof suggest, of floats, integers and truths. */
static gemel_status collect_hints(struct gemel__rule_subject *p, gemel_error *error) {
  static const gemel_dtype dtypes[] = {GEMEL_F64, GEMEL_I32, GEMEL_BOOL};
  enum { DTYPES = sizeof dtypes / sizeof *dtypes };
  const gemel__hints *hints = p->run->hints;
  size_t wanted = hints != NULL ? DTYPES * hints->count : 0;
  gemel_status status = GEMEL_OK;
  gemel__random random;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_COUNT, gemel__aside(GEMEL__ASIDE_HINTS),
                    &random);
  for (size_t k = 0; k < wanted && p->n < p->room && status == GEMEL_OK; k++) {
    gemel__rule_wish wish = {.dtype = dtypes[k % DTYPES],
                             .max_elements = ELEMENTS,
                             .tries = DRAW_TRIES,
                             .plain = 1,
                             .hint = &hints->at[k / DTYPES]};
    status = add_if(p, &wish, gemel__rule_has_elements, &random, error);
  }
  return status;
}

/* ---- Arms ---- */

/* How many examples with elements throughout take arm K; alone, if it is an arm and not a boundary.
 */
static size_t taken_by(const struct gemel__rule_subject *p, const gemel__arms *arms, size_t k) {
  size_t count = 0;
  for (size_t j = 0; j < p->n; j++) {
    const gemel__rule_instance *drawn = &p->examples[j].drawn;
    count += p->examples[j].full && !p->examples[j].edge &&
             ((k < arms->n_arms ? drawn->alone : drawn->taken) >> k & 1);
  }
  return count;
}

/* The dtype for instances of arm K: often one that the arm names. */
static gemel_dtype arm_dtype(const gemel__arms *arms, size_t k, gemel__random *random) {
  const gemel__termexpr *expr = &arms->rule->conditions[arms->at[k].condition];
  gemel_dtype dtype = schedule[gemel__random_below(random, SCHEDULED)];
  uint32_t from = gemel__operand_start(expr, arms->at[k].end), named = 0;
  int keep = gemel__random_chance(random, 1, 4);
  for (uint32_t j = from; j < arms->at[k].end && !keep; j++) {
    if (expr->code[j].kind == GEMEL__TERMCODE_DTYPE && gemel__random_below(random, ++named) == 0) {
      dtype = (gemel_dtype)expr->code[j].index;
    }
  }
  return dtype;
}

/* Adds instances that take arm K, if there are fewer than WANTED: FIRST draws for one, and MORE for
 * the others. */
static gemel_status collect_arm(struct gemel__rule_subject *p, const gemel__arms *arms, size_t k,
                                gemel__random *random, gemel_error *error) {
  enum { WANTED = 3, FIRST = 48, MORE = 12 };
  gemel_status status = GEMEL_OK;
  size_t taken = taken_by(p, arms, k), last = k < arms->n_arms ? FIRST : MORE;
  for (size_t j = 0; j < (taken > 0 ? MORE : last) && taken < WANTED && p->n < p->room && !status;
       j++) {
    gemel__rule_wish wish = {.dtype = arm_dtype(arms, k, random),
                             .max_elements = ELEMENTS,
                             .empty = j % 4 == 3,
                             .tries = k < arms->n_arms ? DRAW_TRIES : DRAW_TRIES / 3,
                             .constants = constants_of(p, j),
                             .plain = 1,
                             .arm = 1 + k};
    status = add_if(p, &wish, gemel__rule_has_elements, random, error);
    taken = taken_by(p, arms, k);
  }
  return status;
}

/* Notes which arms examples take, and one that none takes. */
static void note_untaken(struct gemel__rule_subject *p, const gemel__arms *arms) {
  size_t k = 0;
  char text[160];
  p->taken = 0;
  for (size_t j = 0; j < p->n; j++) {
    p->taken |= p->examples[j].full ? p->examples[j].drawn.taken : 0;
  }
  while (k < arms->n_arms && (p->taken >> k & 1)) {
    k++;
  }
  p->untaken[0] = '\0';
  if (k < arms->n_arms) {
    gemel__arm_text(arms, k, text, sizeof text);
    snprintf(p->untaken, sizeof p->untaken, "no instance takes the arm %s", text);
  }
}

/* Adds instances for arms and boundaries that too few of the others take. */
static gemel_status collect_arms(struct gemel__rule_subject *p, gemel_error *error) {
  const gemel__arms *arms = gemel__rule_arms(p->engine);
  gemel_status status = GEMEL_OK;
  gemel__random random;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_COUNT, gemel__aside(GEMEL__ASIDE_ARMS),
                    &random);
  for (size_t k = 0; k < arms->count && p->n > 0 && status == GEMEL_OK; k++) {
    status = collect_arm(p, arms, k, &random, error);
  }
  note_untaken(p, arms);
  return status;
}

gemel_status gemel__rule_collect(struct gemel__rule_subject *p, gemel_error *error) {
  static const gemel__constants_kind kinds[] = {GEMEL__CONSTANTS_WIDE, GEMEL__CONSTANTS_INFINITE,
                                                GEMEL__CONSTANTS_NAN};
  struct dtype_turn turn = {0, {0}, {0}};
  gemel_status status = collect(p, &turn, error);
  int asks = p->rule != NULL && gemel__rule_asks_constants(p->rule);
  status = status == GEMEL_OK ? collect_full(p, error) : status;
  status = status == GEMEL_OK ? collect_full_integers(p, error) : status;
  status = status == GEMEL_OK ? collect_edges(p, error) : status;
  for (size_t k = 0; asks && k < sizeof kinds / sizeof *kinds && status == GEMEL_OK; k++) {
    status = collect_constants(p, kinds[k], &turn, error);
  }
  status = status || p->rule == NULL ? status : collect_hints(p, error);
  return status || p->rule == NULL ? status : collect_arms(p, error);
}

gemel_status gemel__rule_collect_usual(struct gemel__rule_subject *p, gemel_error *error) {
  for (size_t k = 0; k < p->n; k++) {
    gemel__example_clear(&p->examples[k]);
  }
  p->n = p->n_shapes = p->n_symbolic = p->n_full = 0;
  p->wanted = GEMEL__USUAL_INSTANCES;
  return gemel__rule_collect(p, error);
}

/* ---- What examples have ---- */

int gemel__rule_computes_floats(const struct gemel__rule_subject *p) {
  int found = 0;
  for (size_t k = 0; k < p->n && !found; k++) {
    const gemel_graph *left = p->examples[k].drawn.left;
    for (uint32_t node = 0; node < left->n_nodes && !found; node++) {
      found = gemel__is_float(gemel_type_dtype(left->context, gemel__node_type(left, node, 0)));
    }
  }
  return found;
}

/* ---- Long axes ---- */

/* The narrow dtypes in which a side of DRAWN counts, a bit each. */
static unsigned narrow_counts(const gemel__rule_instance *drawn) {
  return drawn->right == NULL || drawn->special != 0
             ? 0
             : gemel__narrow_counts(drawn->left) | gemel__narrow_counts(drawn->right);
}

enum { LONG_TURNS = GEMEL__LENGTHS * GEMEL__LENGTH_ROUNDS }; /* of each narrow dtype */

size_t gemel__rule_long_turns(const struct gemel__rule_subject *p) {
  unsigned dtypes = 0;
  for (size_t k = 0; k < p->n && p->rule != NULL; k++) {
    dtypes |= narrow_counts(&p->examples[k].drawn);
  }
  return LONG_TURNS * (size_t)__builtin_popcount(dtypes);
}

/* The dtype of TURN: those in which examples count take turns. */
static gemel_dtype long_dtype(const struct gemel__rule_subject *p, size_t turn) {
  unsigned dtypes = 0;
  for (size_t k = 0; k < p->n; k++) {
    dtypes |= narrow_counts(&p->examples[k].drawn);
  }
  for (size_t k = turn / LONG_TURNS; k > 0; k--) {
    dtypes &= dtypes - 1;
  }
  return (gemel_dtype)__builtin_ctz(dtypes);
}

/* The example that TURN's instance is like: those that count in DTYPE take turns. */
static const struct gemel__example *long_like(const struct gemel__rule_subject *p, size_t turn,
                                              gemel_dtype dtype) {
  size_t which = turn / GEMEL__LENGTHS % GEMEL__LENGTH_ROUNDS, k = 0;
  while (!(narrow_counts(&p->examples[k].drawn) >> dtype & 1) || which-- > 0) {
    k = (k + 1) % p->n;
  }
  return &p->examples[k];
}

/* 1 if DRAWN, whose sizes are LENGTH or 1, counts up to LENGTH and isn't too large. */
static int is_long(const gemel__rule_instance *drawn, int64_t length) {
  return drawn->right != NULL && gemel__graph_elements(drawn->left, 1) <= GEMEL__LENGTH_ELEMENTS &&
         gemel__graph_elements(drawn->right, 1) <= GEMEL__LENGTH_ELEMENTS &&
         (gemel__counts_up_to(drawn->left, length) || gemel__counts_up_to(drawn->right, length));
}

/* 1 + the arm that E alone takes; 0: none. */
static size_t arm_like(const struct gemel__rule_subject *p, const struct gemel__example *e) {
  size_t n = gemel__rule_arms(p->engine)->n_arms, k = 0;
  while (k < n && !(e->drawn.alone >> k & 1)) {
    k++;
  }
  return k < n ? k + 1 : 0;
}

gemel_status gemel__rule_draw_long(struct gemel__rule_subject *p, size_t turn,
                                   gemel__random *random, struct gemel__example *e,
                                   gemel_error *error) {
  enum { DRAWS = 8 };
  gemel_dtype dtype = long_dtype(p, turn);
  const struct gemel__example *like = long_like(p, turn, dtype);
  gemel__rule_wish wish = {.length = gemel__length(turn),
                           .max_elements = gemel__length(turn),
                           .tries = DRAW_TRIES,
                           .plain = 1,
                           .arm = arm_like(p, like)};
  gemel_status status = GEMEL_DECLINED;
  memset(e, 0, sizeof *e);
  for (int draw = 0; draw < DRAWS && status == GEMEL_DECLINED && gemel__length_matters(turn, dtype);
       draw++) {
    gemel__rule_instance drawn;
    wish.dtype = like->pair.a.n_leaves == 0 && draw % 2 == 0 ? dtype : dtype_like(like);
    status = gemel__rule_draw_again(p, &wish, random, &drawn, &p->draws, error);
    if (status == GEMEL_OK) {
      int fits = is_long(&drawn, wish.length) && narrow_counts(&drawn) >> dtype & 1;
      status = fits ? gemel__example_make(e, &drawn, error) : GEMEL_DECLINED;
    }
    gemel__rule_instance_clear(&drawn);
  }
  return status;
}

/* ---- Long sums ---- */

/* 1 if some input of E is of bytes or of integers of two bytes, and E counts in f32, i32 or u32. */
static int sums_in_32_bits(const struct gemel__example *e) {
  size_t k = 0;
  while (k < e->pair.a.n_leaves && (!gemel__is_integer_leaf(&e->pair.a.leaves[k]) ||
                                    gemel_dtype_size(e->pair.a.leaves[k].dtype) > 2)) {
    k++;
  }
  return k < e->pair.a.n_leaves && e->integral && e->drawn.right != NULL &&
         (gemel__counts_in_32_bits(e->drawn.left) || gemel__counts_in_32_bits(e->drawn.right));
}

gemel_status gemel__rule_draw_sum(struct gemel__rule_subject *p, size_t turn, gemel__random *random,
                                  struct gemel__example *e, gemel_error *error) {
  enum { DRAWS = 8 };
  /* sums of bytes beyond 2^31; the second one is for rules that allow no more elements */
  static const int64_t lengths[] = {140001, 66400};
  size_t k = 0, n = 0;
  gemel_status status = GEMEL_DECLINED;
  memset(e, 0, sizeof *e);
  while (k < p->n && (p->rule == NULL || !sums_in_32_bits(&p->examples[k]) || n++ < turn)) {
    k++;
  }
  for (int draw = 0; draw < DRAWS && k < p->n && status == GEMEL_DECLINED; draw++) {
    const struct gemel__example *like = &p->examples[k];
    int64_t length = lengths[2 * draw / DRAWS];
    gemel__rule_wish wish = {.dtype = dtype_like(like),
                             .length = length,
                             .max_elements = length,
                             .tries = DRAW_TRIES,
                             .plain = 1,
                             .arm = arm_like(p, like)};
    gemel__rule_instance drawn;
    status = gemel__rule_draw_again(p, &wish, random, &drawn, &p->draws, error);
    if (status == GEMEL_OK) {
      status = is_long(&drawn, length) ? gemel__example_make(e, &drawn, error) : GEMEL_DECLINED;
    }
    gemel__rule_instance_clear(&drawn);
  }
  return status;
}
