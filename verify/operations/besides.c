/* SPDX-License-Identifier: MIT
 *
 * What is tried besides the instances that chance gives. Each aim is a kind of mistake that shows
 * on few instances only, and says for which operations, how many, how they are drawn and what
 * judges them. So an operation meets each of them for every seed. A run of few instances draws a
 * share of them. No slow reference is needed: results are small integers, which domain M has at
 * once, or are compared with each other.
 */
#include <string.h>
#include "core/graph.h"
#include "operations/arrange.h"
#include "operations/subject.h"
#include "ops/ops.h"
#include "sample/sampling.h"
#include "reference/twin.h"

#define NUMBER_OF(array) (sizeof array / sizeof *array)

static const gemel_dtype float_dtypes[] = {GEMEL_F32, GEMEL_F64, GEMEL_F16, GEMEL_BF16};
static const gemel_dtype whole_dtypes[] = {GEMEL_I32, GEMEL_U8,  GEMEL_I64, GEMEL_BOOL, GEMEL_I8,
                                           GEMEL_U32, GEMEL_I16, GEMEL_U64, GEMEL_U16};
static const gemel_dtype all_dtypes[] = {GEMEL_F32,  GEMEL_F64, GEMEL_I32, GEMEL_F16, GEMEL_BF16,
                                         GEMEL_BOOL, GEMEL_I64, GEMEL_U8,  GEMEL_I8,  GEMEL_U32,
                                         GEMEL_I16,  GEMEL_U64, GEMEL_U16};

/* ---- Larger ones ---- */

enum { HUGE_ELEMENTS = 90000, BLOCKS_ELEMENTS = GEMEL__LONG_ELEMENTS + 1 };
/* One huge instance for each HUGE_SHARE usual ones; one of several blocks for each BLOCKS_SHARE. */
enum { HUGE_SHARE = 4, BLOCKS_SHARE = 12 };

static const gemel_dtype block_dtypes[] = {GEMEL_F64, GEMEL_F32, GEMEL_F64, GEMEL_I32};

/* Drawn in tiers float and integer: instances on which threads share the work, or kernels work in
 * several blocks. They are too large for references, so only the variants are compared. */
static const struct tier_plan huge_plan = {
    GEMEL_TIER_FLOAT,        GEMEL__FILL_FULL,     gemel__check_agreement, float_dtypes,
    NUMBER_OF(float_dtypes), GEMEL_EVIDENCE_BOUND, HUGE_ELEMENTS};
static const struct tier_plan blocks_plan = {
    GEMEL_TIER_INTEGER, GEMEL__FILL_INTEGERS,    gemel__check_exact_agreement,
    block_dtypes,       NUMBER_OF(block_dtypes), GEMEL_EVIDENCE_BITS,
    BLOCKS_ELEMENTS};

static int family_of(const struct subject *s) {
  const struct gemel__row *row =
      gemel__op_at(s->run->context, gemel__op_find(s->run->context, s->op->name))->row;
  return row != NULL ? (int)row->family : GEMEL__FAMILY_source;
}

/* 1 if the operation adds up or compares many elements and divides nothing. Kernels do that in
 * blocks, and on small integers every order of additions gives the same result. */
static int works_in_blocks(const struct subject *s) {
  uint32_t id = gemel__op_find(s->run->context, s->op->name);
  unsigned arithmetic = gemel__twin_of(id)->arithmetic;
  int family = family_of(s);
  return (family == GEMEL__FAMILY_conv || family == GEMEL__FAMILY_linalg ||
          family == GEMEL__FAMILY_pool || family == GEMEL__FAMILY_reduce) &&
         (arithmetic == GEMEL__EXACT || (arithmetic & ~(unsigned)GEMEL__PRODUCTS) == GEMEL__SUMS);
}

const struct tier_plan *gemel__subject_larger(const struct subject *s, const struct tier_plan *plan,
                                              size_t *count) {
  size_t instances = s->kernel == NULL ? s->run->options.instances : 0;
  int blocks = plan->tier == GEMEL_TIER_INTEGER && !s->derivative && works_in_blocks(s);
  *count = blocks                           ? instances / BLOCKS_SHARE
           : plan->tier == GEMEL_TIER_FLOAT ? instances / HUGE_SHARE
                                            : 0;
  return blocks ? &blocks_plan : &huge_plan;
}

/* ---- Aims ---- */

/* Where instance K of an aim stands: PLACE counts from a random number on if a run is short, so
 * that seeds take different shares. */
typedef struct turn {
  size_t place;
  gemel__random *random;
} turn;

typedef struct aim {
  struct tier_plan plan;
  size_t count; /* for a usual run */
  size_t least; /* for a short one */
  int arranged; /* 1: the instances are none of the sampler's, and simpler ones aren't drawn */
  int (*applies)(const struct subject *s);
  gemel_status (*draw)(struct subject *s, const struct aim *aim, turn t, gemel__instance *instance,
                       gemel_error *error);
  /* Makes the graph smaller that refuted at output OUTPUT; NULL: it is small. */
  gemel_status (*reduce)(struct subject *s, const struct aim *aim, turn t, size_t output,
                         gemel__instance *instance, gemel_error *error);
} aim;

/* Draws an instance of the operation in the K-th dtype or one that it takes. */
static gemel_status draw_one(struct subject *s, const aim *a, size_t k, int64_t most,
                             gemel__wanted wanted, gemel__random *random, gemel__instance *instance,
                             gemel_error *error) {
  s->wanted = wanted;
  gemel_status status =
      gemel__subject_draw(s, a->plan.dtypes, a->plan.n_dtypes, k, most, random, instance, error);
  memset(&s->wanted, 0, sizeof s->wanted);
  return status;
}

/* ---- Elementwise: every remainder, chains ---- */

static int is_elementwise(const struct subject *s) {
  return !s->derivative && gemel__scalar_row_of(s->op) != NULL;
}

/* 1 if the first N operands have LENGTH elements. */
static int are_long(const gemel__instance *instance, size_t n, int64_t length) {
  size_t k = 0;
  while (k < n && instance->leaves[k].count == (size_t)length) {
    k++;
  }
  return k == n;
}

/* An instance with vectors of LENGTH elements: ALL operands, or the first and perhaps others. */
static gemel_status draw_vector(struct subject *s, const aim *a, turn t, int64_t length, int all,
                                gemel__instance *instance, gemel_error *error) {
  enum { DRAWS = 60 };
  gemel_status status = GEMEL_DECLINED;
  for (int k = 0; k < DRAWS && status == GEMEL_DECLINED; k++) {
    status =
        draw_one(s, a, t.place, length, (gemel__wanted){1, length, 0}, t.random, instance, error);
    if (status == GEMEL_OK && !are_long(instance, all ? instance->n_leaves : 1, length)) {
      gemel__instance_clear(instance);
      status = GEMEL_DECLINED;
    }
  }
  return status;
}

/* The lengths of a graph: all of a usual run, every SHORT_STEP-th of a short one. */
static gemel__lengths lengths_for(const struct subject *s, gemel__random *random, size_t step) {
  if (s->run->options.instances >= GEMEL__USUAL_INSTANCES) {
    return (gemel__lengths){0, 1};
  }
  return (gemel__lengths){(size_t)gemel__random_below(random, step), step};
}

/* The graph of LENGTHS of a vector that is drawn. */
static gemel_status draw_lengths_of(struct subject *s, const aim *a, turn t, gemel__lengths lengths,
                                    gemel__instance *instance, gemel_error *error) {
  gemel__instance base;
  gemel_status status = draw_vector(s, a, t, GEMEL__LENGTHS_ROOM, 0, &base, error);
  if (status == GEMEL_OK) {
    status = gemel__arrange_lengths(instance, &base, lengths, error);
    gemel__instance_clear(&base);
  }
  return status;
}

static gemel_status draw_lengths(struct subject *s, const aim *a, turn t, gemel__instance *instance,
                                 gemel_error *error) {
  return draw_lengths_of(s, a, t, (gemel__lengths){0, 1}, instance, error);
}

static gemel_status reduce_lengths(struct subject *s, const aim *a, turn t, size_t output,
                                   gemel__instance *instance, gemel_error *error) {
  return draw_lengths_of(s, a, t, (gemel__lengths){output / 2, GEMEL__BLOCK}, instance, error);
}

static gemel_status draw_chains(struct subject *s, const aim *a, turn t, gemel__instance *instance,
                                gemel_error *error) {
  enum { SHORT_STEP = 16 };
  gemel__instance base;
  gemel_status status = draw_vector(s, a, t, GEMEL__CHAIN_ROOM, 1, &base, error);
  if (status == GEMEL_OK) {
    status = gemel__arrange_chains(instance, &base, lengths_for(s, t.random, SHORT_STEP), error);
    gemel__instance_clear(&base);
  }
  if (status == GEMEL_OK) {
    instance->variants = gemel__few_variants;
  }
  return status;
}

/* ---- Others: every remainder ---- */

static int is_exact(const struct subject *s) {
  switch (s->derivative ? GEMEL__FAMILY_source : family_of(s)) {
  case GEMEL__FAMILY_along:
  case GEMEL__FAMILY_bits:
  case GEMEL__FAMILY_conv:
  case GEMEL__FAMILY_index:
  case GEMEL__FAMILY_linalg:
  case GEMEL__FAMILY_pool:
  case GEMEL__FAMILY_reduce:
  case GEMEL__FAMILY_search:
  case GEMEL__FAMILY_shape:
  case GEMEL__FAMILY_take:
    return 1;
  default:
    return 0;
  }
}

static int is_random(const struct subject *s) {
  return !s->derivative && family_of(s) == GEMEL__FAMILY_random;
}

static int is_softmax(const struct subject *s) {
  return !s->derivative && family_of(s) == GEMEL__FAMILY_softmax;
}

/* A vector, the last axis of a matrix, its first: each with every remainder, in two dtypes, and
 * once more in others. */
static gemel_status draw_remainder(struct subject *s, const aim *a, turn t,
                                   gemel__instance *instance, gemel_error *error) {
  enum { WAYS = 3, USUAL_DTYPES = 2 };
  size_t pass = t.place / GEMEL__BLOCK, way = pass / USUAL_DTYPES % WAYS;
  int64_t length = GEMEL__BLOCK + (int64_t)(t.place % GEMEL__BLOCK);
  size_t dtype = pass < USUAL_DTYPES * WAYS ? pass % USUAL_DTYPES : USUAL_DTYPES + t.place;
  gemel__wanted wanted = {way == 0 ? 1 : 2, length, (int)way};
  gemel_status status = draw_one(s, a, dtype, 3 * length, wanted, t.random, instance, error);
  if (status == GEMEL_OK) {
    instance->variants = gemel__few_variants;
  }
  return status;
}

/* ---- Logits that are −∞ ---- */

static int has_logits(const struct subject *s) {
  return family_of(s) == GEMEL__FAMILY_softmax;
}

/* 1 if what softmax goes along is axis AXIS, with elements. Of a derivative nothing is asked. */
static int goes_along(const struct subject *s, const gemel__instance *instance, int axis) {
  const gemel__leaf *x = &instance->leaves[0];
  if (s->derivative) {
    return x->count > 0;
  }
  uint32_t node = gemel_graph_output(instance->graph, 0).node;
  const struct gemel__attrs *attrs = gemel__attrs_at(gemel_graph_context(instance->graph),
                                                     gemel__node_at(instance->graph, node)->attrs);
  int64_t along = attrs->values[0].u.i;
  return x->count > 0 && x->shape[axis] > 1 && (along < 0 ? along + x->rank : along) == axis;
}

/* Few lanes, lanes of which many lie side by side, and lanes longer than what a kernel holds. */
static gemel__wanted masked_as(size_t place, int axis, gemel__random *random, int64_t *most) {
  enum { RANK = 3, SIDE_BY_SIDE = 12, LONG = 24, LONGEST = 2200 };
  gemel__wanted wanted = {RANK, 0, RANK - 1};
  *most = GEMEL__SMALL_ELEMENTS;
  if (place >= LONG) {
    wanted.length = *most = LONGEST;
    wanted.axis = axis;
  } else if (place >= SIDE_BY_SIDE) {
    wanted.length = gemel__random_between(random, 17, 40);
    *most = wanted.length * 6;
  }
  return wanted;
}

static gemel_status draw_masked(struct subject *s, const aim *a, turn t, gemel__instance *instance,
                                gemel_error *error) {
  enum { DRAWS = 60, AXES = 3 };
  int axis = (int)(t.place % AXES);
  int64_t most;
  gemel_status status = GEMEL_DECLINED;
  for (int k = 0; k < DRAWS && status == GEMEL_DECLINED; k++) {
    gemel__wanted wanted = masked_as(t.place, axis, t.random, &most);
    status = draw_one(s, a, t.place / AXES, most, wanted, t.random, instance, error);
    if (status == GEMEL_OK && !goes_along(s, instance, axis)) {
      gemel__instance_clear(instance);
      status = GEMEL_DECLINED;
    }
  }
  return status;
}

/* ---- Batches, many operands, indices that meet ---- */

static int is_product(const struct subject *s) {
  return !s->derivative && family_of(s) == GEMEL__FAMILY_linalg;
}

static gemel_status draw_batches(struct subject *s, const aim *a, turn t, gemel__instance *instance,
                                 gemel_error *error) {
  gemel_status status = draw_one(s, a, t.place, GEMEL__BATCHES_ELEMENTS, (gemel__wanted){0, 0, 0},
                                 t.random, instance, error);
  if (status == GEMEL_OK) {
    instance->variants = gemel__few_variants;
  }
  return status;
}

static int takes_many(const struct subject *s) {
  return !s->derivative && s->op->max_inputs < 0;
}

static gemel_status draw_many(struct subject *s, const aim *a, turn t, gemel__instance *instance,
                              gemel_error *error) {
  enum { LEAST = 7, SPAN = 12 };
  gemel__instance base;
  gemel_status status = draw_one(s, a, t.place, GEMEL__SMALL_ELEMENTS, (gemel__wanted){0, 0, 0},
                                 t.random, &base, error);
  if (status == GEMEL_OK) {
    status = base.n_leaves == 0
                 ? GEMEL_DECLINED
                 : gemel__arrange_many(instance, &base, LEAST + t.place % SPAN, error);
    gemel__instance_clear(&base);
  }
  return status;
}

static int takes_indices(const struct subject *s) {
  return family_of(s) == GEMEL__FAMILY_take;
}

/* 1 if there are more indices than places that they can mean, and enough elements for threads. */
static int meets(const gemel__instance *instance) {
  enum { ENOUGH = 1 << 16 };
  int enough = 0, meet = 0;
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    enough |= leaf->count >= ENOUGH;
    meet |= leaf->range == GEMEL_RANGE_INDEX && leaf->rank > 0 &&
            (int64_t)leaf->count > leaf->high - leaf->low;
  }
  return enough && meet;
}

static gemel_status draw_meeting(struct subject *s, const aim *a, turn t, gemel__instance *instance,
                                 gemel_error *error) {
  enum { DRAWS = 200, LONGEST = 40 };
  gemel_status status = GEMEL_DECLINED;
  for (int k = 0; k < DRAWS && status == GEMEL_DECLINED; k++) {
    int64_t length = gemel__random_between(t.random, 1, LONGEST);
    gemel__wanted wanted = {1 + (int)(t.place % 3), length, 0};
    status = draw_one(s, a, t.place, HUGE_ELEMENTS, wanted, t.random, instance, error);
    if (status == GEMEL_OK && !meets(instance)) {
      gemel__instance_clear(instance);
      status = GEMEL_DECLINED;
    }
  }
  if (status == GEMEL_OK) {
    instance->variants = gemel__repeated_variants;
  }
  return status;
}

/* ---- The table ---- */

#define PLAN(E, fill, check, dtypes, how)                                                          \
  { GEMEL_TIER_##E, GEMEL__FILL_##fill, check, dtypes, NUMBER_OF(dtypes), GEMEL_EVIDENCE_##how, 0 }

static const aim aims[] = {
    {PLAN(FLOAT, FULL, gemel__check_twofold, float_dtypes, BITS), 6, 1, 1, is_elementwise,
     draw_lengths, reduce_lengths},
    {PLAN(INTEGER, INTEGERS, gemel__check_twofold, whole_dtypes, BITS), 9, 1, 1, is_elementwise,
     draw_lengths, reduce_lengths},
    {PLAN(FLOAT, FULL, gemel__check_agreement, float_dtypes, BITS), 4, 1, 1, is_elementwise,
     draw_chains, NULL},
    {PLAN(INTEGER, INTEGERS, gemel__check_agreement, whole_dtypes, BITS), 2, 0, 1, is_elementwise,
     draw_chains, NULL},
    {PLAN(INTEGER, SMALL, gemel__check_machine, all_dtypes, BITS), 7 * GEMEL__BLOCK, 12, 0,
     is_exact, draw_remainder, NULL},
    {PLAN(INTEGER, FULL, gemel__check_agreement, all_dtypes, BITS), 2 * GEMEL__BLOCK, 8, 0,
     is_random, draw_remainder, NULL},
    {PLAN(FLOAT, FULL, gemel__check_float, float_dtypes, BOUND), 2 * GEMEL__BLOCK, 2, 0, is_softmax,
     draw_remainder, NULL},
    {PLAN(FLOAT, MASKED, gemel__check_float, float_dtypes, BOUND), 27, 3, 0, has_logits,
     draw_masked, NULL},
    {PLAN(INTEGER, SMALL, gemel__check_machine, all_dtypes, BITS), 12, 2, 0, is_product,
     draw_batches, NULL},
    {PLAN(INTEGER, SMALL, gemel__check_machine, all_dtypes, BITS), 24, 3, 1, takes_many, draw_many,
     NULL},
    {PLAN(INTEGER, SMALL, gemel__check_machine, all_dtypes, BITS), 6, 1, 0, takes_indices,
     draw_meeting, NULL},
};
#undef PLAN

enum { APART = 800000, AIM_APART = 10000 }; /* of random streams */

static void start_stream(const struct subject *s, const aim *a, size_t k, gemel__random *random) {
  size_t number = (size_t)(a - aims);
  gemel__run_random(s->run, s->name, a->plan.tier, APART + number * AIM_APART + k, random);
}

/* Instance K of the aim. A short run takes a share of the places, not the same for each seed. */
static turn turn_of(const struct subject *s, const aim *a, size_t k, size_t count,
                    gemel__random *random) {
  turn t = {k, random};
  if (count < a->count) {
    start_stream(s, a, AIM_APART - 1, random);
    t.place = (gemel__random_below(random, a->count) + k * (a->count / count)) % a->count;
  }
  start_stream(s, a, k, random);
  return t;
}

static size_t count_of(const struct subject *s, const aim *a) {
  size_t more = gemel__subject_instances(s) / s->run->options.instances;
  return s->run->options.instances >= GEMEL__USUAL_INSTANCES ? a->count * more : a->least;
}

/* Judges INSTANCE, which stands for many. If it is refuted, it becomes what was refuted alone, to
 * be judged and reported like any other; *PASSED = 1 if it isn't. */
static gemel_status judge_all(struct subject *s, const aim *a, size_t k, size_t count,
                              gemel__random *random, gemel__instance *instance, gemel__inquiry *q,
                              int *passed, gemel_error *error) {
  gemel__instance small;
  gemel__outcome outcome = {0};
  gemel_tensor **values;
  gemel__trial trial = {NULL, random, NULL};
  gemel_status status = gemel__values_draw(instance, s->fill, random, &values, error);
  if (status == GEMEL_OK) {
    status = a->plan.check(instance, values, &trial, &outcome, error);
    gemel__values_free(instance, values);
  }
  *passed = status == GEMEL_OK && !outcome.refuted;
  if (*passed) {
    q->record.instances++;
    gemel__inquiry_add(q, &outcome);
  } else if (status == GEMEL_OK) {
    turn t = turn_of(s, a, k, count, random);
    status = a->reduce(s, a, t, outcome.output, &small, error);
    if (status == GEMEL_OK) {
      gemel__instance_clear(instance);
      *instance = small;
    }
  }
  return status;
}

static gemel_status try_aim(struct subject *s, const aim *a, size_t k, size_t count,
                            gemel__inquiry *q, gemel_error *error) {
  gemel__random random;
  gemel__instance instance;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  int passed = 0;
  gemel_status status = a->draw(s, a, turn_of(s, a, k, count, &random), &instance, &problem);
  if (status != GEMEL_OK) {
    status = gemel__subject_refuse(q, status, &problem);
  } else {
    s->fill = a->plan.fill;
    s->arranged = a->arranged;
    status = a->reduce != NULL ? judge_all(s, a, k, count, &random, &instance, q, &passed, &problem)
                               : GEMEL_OK;
    if (status == GEMEL_OK && !passed) {
      status = gemel__subject_judge(s, &a->plan, a->plan.check, &instance, &random, q, &problem);
    }
    gemel__instance_clear(&instance);
  }
  if (status != GEMEL_OK && status != GEMEL_DECLINED && error != NULL) {
    *error = problem;
  }
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

gemel_status gemel__subject_besides(struct subject *s, const struct tier_plan *plan,
                                    gemel__inquiry *q, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  s->embedded = s->stateful = s->in_sequence = s->decides = 0;
  for (size_t i = 0; i < NUMBER_OF(aims); i++) {
    const aim *a = &aims[i];
    size_t count = plan->tier == a->plan.tier && a->applies(s) ? count_of(s, a) : 0;
    for (size_t k = 0; k < count && status == GEMEL_OK && !q->refuted; k++) {
      status = try_aim(s, a, k, count, q, error);
    }
  }
  s->arranged = 0;
  return status;
}
