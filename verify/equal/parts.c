/* SPDX-License-Identifier: MIT
 *
 * `gemel equal`, divided into parts. Most of the nodes of two graphs are often the same: an
 * optimiser changes few of them, a second export writes most alike. Both graphs go into one
 * (pairs/joint.h), where equal nodes are one node. What differs is settled from the inputs on. If a
 * value of the second graph agrees with one of the first when both are run (candidates.h), the
 * nodes between them and the nearest values in common are a pair of small graphs. That part is
 * asked about in all tiers (equal.c). If it passes, the first graph's value replaces the second's
 * from there on. Loops whose bodies pass are settled likewise (loops.h). If all outputs are equal
 * in the end, the pair passes, with the evidence of its parts.
 *
 * A part that doesn't pass isn't refuted, as relations between its inputs may matter. It is
 * extended towards the inputs and asked about again. What stays unsettled is asked about as a
 * whole.
 */
#include "equal/equal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "equal/asked.h"
#include "equal/candidates.h"
#include "equal/constants.h"
#include "equal/gathered.h"
#include "equal/loops.h"
#include "equal/question.h"
#include "equal/signs.h"
#include "equal/small.h"
#include "equal/whole.h"
#include "core/alloc.h"
#include "core/error.h"
#include "pairs/joint.h"
#include "pairs/scout.h"
#include "pairs/needs.h"
#include "pairs/pair.h"
#include "harness/saved.h"

enum {
  SMALL_PAIR = 40,   /* nodes: up to this a pair isn't divided */
  LARGE_PAIR = 1000, /* nodes: above, a counterexample shows only a part */
  PART_NODES = 120,  /* of a part, at most */
  IN_A_ROW = 32,     /* so many without one that did, in a heavy pair, are enough too */
  FAILURES = 48,     /* after so many parts that didn't pass no more are tried */
  USUAL_PARTS = 24,  /* if more nodes differ, parts get fewer points, */
  LEAST_EFFORT = 4,  /* at least 1 ÷ LEAST_EFFORT of them */
  CANDIDATES = 3     /* for one node */
};
/* Elements of all values: a pair of more is divided, and a part isn't asked about at its own sizes.
 */
#define MOST_ELEMENTS 3e5
/* The same of a part of a heavy pair, which has many. */
#define MOST_HEAVY 3e4
/* How far a part is extended, in turn. */
static const int depths[] = {0, 1, 3};

struct parts {
  gemel__run *run;
  const gemel_graph *a, *b;
  const char *name;
  unsigned allow;
  gemel_pair_result *result;
  gemel__joint joint;
  gemel__candidates candidates;
  gemel__gathered tiers[GEMEL_TIER_COUNT]; /* sum of all parts that passed */
  gemel__gathered one[GEMEL_TIER_COUNT];   /* the part that is asked about */
  size_t proven, failures;                 /* parts that passed, and that didn't */
  size_t in_a_row;                         /* that didn't since one passed */
  size_t loops;                            /* parts that passed and are bodies of loops */
  double effort;      /* share of the points for a part, as gemel__run has it */
  gemel__asked asked; /* the parts that were asked about */
  gemel__asked held;  /* the parts that were run at their own sizes, after they passed at others */
  uint32_t *anchors;  /* a node each: see find_anchor */
  unsigned char *facts;  /* a node each: what is known of a value that depends on no input */
  unsigned needs;        /* words of the parts that passed */
  int improves;          /* one of them improves */
  gemel_graph *unfolded; /* the first graph or the second without folded constants; NULL: neither */
  int first;             /* 1: the first */
  int heavy;             /* 1: the constants are too many for the models */
  size_t n_unfolded;     /* how many constants were replaced */
  int64_t symbols_up_to; /* of all parts that passed the least; 0: none */
  char scaled[GEMEL__MOST_SCALED_TEXT]; /* sizes that were scaled in parts that passed */
  int unjoined;                         /* 1: the graphs themselves were asked about */
  gemel__flip flip;                     /* what was found at last: integers, digits lost */
};

/* ---- A part ---- */

/* Asks about PAIR and keeps the records in KEPT. TIERS 0: the tiers that the caller wants. */
static gemel_status ask_kept(const struct parts *p, const gemel__part_graphs *pair, unsigned tiers,
                             gemel__gathered *kept, gemel_pair_result *result, gemel_error *error) {
  gemel__run run = *p->run;
  gemel__gathered_forget(kept);
  run.options.sink = gemel__gathered_keep;
  run.options.user = kept;
  run.options.tiers = tiers != 0 ? tiers : run.options.tiers;
  run.brief = tiers == 0 && !pair->whole;
  run.effort = run.brief ? p->effort : 0;
  run.scaled = pair->scaled;
  gemel__ticker_part(run.ticker, pair->whole ? 0 : p->asked.n + 1);
  if (!pair->whole) {
    run.point = NULL;
    /* a part that doesn't pass is no counterexample, unless TIERS asks for one */
    run.options.replay_folder = tiers != 0 ? run.options.replay_folder : NULL;
  }
  return pair->bodies ? gemel__equal_divided(&run, pair, p->name, p->allow, result, error)
                      : gemel__equal_ask(&run, pair->a, pair->b, p->name, p->allow, result, error);
}

/* The smaller of two sizes, where 0 means none. */
static int64_t least_known(int64_t a, int64_t b) {
  return a == 0 || (b != 0 && b < a) ? b : a;
}

/* Asks all tiers about a part. Returns 1 if it passes, and adds its evidence; 0 if not; −1 out of
 * memory. */
static int ask_part(struct parts *p, const gemel__part_graphs *part, gemel_pair_result *result,
                    gemel_error *error) {
  gemel_status status = ask_kept(p, part, 0, p->one, result, error);
  size_t k;
  if (status == GEMEL_NO_MEMORY) {
    return -1;
  }
  if (status != GEMEL_OK || result->verdict != GEMEL_VERDICT_PASSED || result->refused != 0) {
    return 0;
  }
  for (k = 0; k < GEMEL_TIER_COUNT; k++) {
    gemel__gathered_add(&p->tiers[k], &p->one[k]);
  }
  p->needs |= result->needs;
  p->improves |= result->improves;
  p->symbols_up_to = least_known(p->symbols_up_to, result->symbols_up_to);
  gemel__equal_note_scaled(p->scaled, result->scaled);
  return 1;
}

/* Like ask_part, but asks only once about parts that are the same, as repeated layers are. */
static int ask_once(struct parts *p, const gemel__part_graphs *part, gemel_error *error) {
  uint64_t hash = gemel__asked_hash(part);
  int passed = gemel__asked_answer(&p->asked, part, hash);
  gemel_pair_result result = {.size = sizeof result};
  if (passed < 0) {
    passed = ask_part(p, part, &result, error);
    if (passed >= 0 && gemel__asked_keep(&p->asked, part, hash, passed) != 0) {
      return -1;
    }
  }
  return passed;
}

/* Asks about small versions of PART. 1 if one passes, 0 if none does or there is none, −1 out of
 * memory. */
static int ask_small(struct parts *p, const gemel__part_graphs *part, gemel_error *error) {
  int passed = 0;
  for (int version = 0; version < GEMEL__SMALL_VERSIONS && passed == 0; version++) {
    gemel__part_graphs small;
    gemel_status status = gemel__part_small(part, version, &small, error);
    if (status == GEMEL_NO_MEMORY) {
      return -1;
    }
    if (status == GEMEL_OK) {
      passed = ask_once(p, &small, error);
      gemel__part_clear(&small);
    }
  }
  return passed;
}

/* Runs PART at its own sizes, after it passed at others. 1 if the results agree, 0 if not, -1 out
 * of memory. */
static int holds(struct parts *p, const gemel__part_graphs *part, gemel_error *error) {
  uint64_t hash = gemel__asked_hash(part);
  int agree = gemel__asked_answer(&p->held, part, hash);
  if (agree >= 0) {
    return agree;
  }
  gemel__random random;
  gemel__scouted scouted;
  gemel__run_random(p->run, p->name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_HOLD), &random);
  gemel_status status =
      gemel__scout(part->a, part->b, GEMEL__SCOUT_FIRST, &random, p->run->ticker, &scouted, error);
  agree = scouted.found == GEMEL__SCOUT_NOTHING;
  gemel__scouted_clear(&scouted);
  return status == GEMEL_NO_MEMORY || gemel__asked_keep(&p->held, part, hash, agree) != 0 ? -1
                                                                                          : agree;
}

/* 1 if value V of the second graph is proved equal to U of the first, 0 if not, −1 out of
 * memory. */
static int prove(struct parts *p, gemel__ref u, gemel__ref v, gemel_error *error) {
  size_t nodes = 0, k;
  int passed = 0;
  for (k = 0; k < sizeof depths / sizeof *depths && passed == 0; k++) {
    gemel__part_graphs region;
    gemel_status status =
        gemel__joint_part(&p->joint, 1, &u, &v, NULL, depths[k], PART_NODES, &region, error);
    if (status == GEMEL_NO_MEMORY) {
      return -1;
    }
    if (status != GEMEL_OK) {
      break;
    }
    if (region.nodes > nodes) { /* otherwise it couldn't be extended */
      nodes = region.nodes;
      passed = ask_small(p, &region, error);
      passed = passed == 1 ? holds(p, &region, error) : passed;
      double elements = gemel__graphs_elements(region.a, region.b, 4);
      if (passed == 0 && elements <= (p->heavy ? MOST_HEAVY : MOST_ELEMENTS)) {
        size_t asked = p->asked.n;
        passed = ask_once(p, &region, error);
        p->failures += passed == 0 && p->asked.n > asked; /* another layer's costs nothing */
      }
    }
    gemel__part_clear(&region);
  }
  p->proven += passed == 1;
  p->in_a_row = passed == 1 ? 0 : p->in_a_row + 1;
  if (p->heavy && p->in_a_row >= IN_A_ROW) { /* the graphs have parted: what follows differs too */
    p->failures = FAILURES;
  }
  return passed;
}

/* ---- The sweep ---- */

/* The largest node of the first graph on which NODE of the second depends. */
static uint32_t find_anchor(struct parts *p, uint32_t node) {
  uint32_t count, k, anchor = 0;
  const gemel__ref *inputs = gemel__node_inputs(p->joint.graph, node, &count);
  for (k = 0; k < count; k++) {
    uint32_t from = p->joint.stands_for[inputs[k].node];
    from = p->joint.second[from] ? p->anchors[from] : from;
    anchor = from > anchor ? from : anchor;
  }
  p->anchors[node] = anchor;
  return anchor;
}

static int try_candidates(struct parts *p, uint32_t node, gemel_error *error) {
  uint32_t like[CANDIDATES];
  size_t n = gemel__candidates_for(&p->candidates, node, find_anchor(p, node), like, CANDIDATES), k;
  int passed = 0;
  for (k = 0; k < n && passed == 0 && p->failures < FAILURES; k++) {
    gemel__ref u = {like[k], 0}, v = {node, 0};
    passed = prove(p, u, v, error);
    if (passed == 1) {
      gemel__joint_merge(&p->joint, like[k], node);
    }
  }
  return passed < 0 ? -1 : 0;
}

/* Tries to prove NODE, a loop of the second graph, equal to a loop of the first. */
static int try_loops(struct parts *p, uint32_t node, gemel_error *error) {
  int passed = 0;
  for (uint32_t k = 0; k < node && passed == 0 && p->failures < FAILURES; k++) {
    gemel__part_graphs bodies;
    gemel_status status = p->joint.second[k]
                              ? GEMEL_DECLINED
                              : gemel__loop_bodies(&p->joint, k, node, &bodies, error);
    if (status == GEMEL_NO_MEMORY) {
      return -1;
    }
    if (status == GEMEL_OK) {
      passed = ask_once(p, &bodies, error);
      p->failures += passed == 0;
      gemel__part_clear(&bodies);
    }
    if (passed == 1) {
      gemel__joint_merge(&p->joint, p->joint.stands_for[k], node);
      p->proven++;
      p->loops++;
    }
  }
  return passed < 0 ? -1 : 0;
}

static int try_node(struct parts *p, uint32_t node, gemel_error *error) {
  if (p->failures >= FAILURES || !gemel__run_wants(p->run, GEMEL_TIER_REAL) ||
      gemel__stopped(p->run->ticker)) {
    return 0;
  }
  if (gemel__node_at(p->joint.graph, node)->op == GEMEL__OP_scan) {
    return try_loops(p, node, error);
  }
  return p->candidates.n > 0 ? try_candidates(p, node, error) : 0;
}

static int may_go_on(struct parts *p, size_t node) {
  gemel__ticker *ticker = p->run->ticker;
  gemel__ticker_part(ticker, 0);
  gemel__ticker_stage(ticker, "equal nodes");
  gemel__ticker_at(ticker, node, p->joint.n_nodes);
  return gemel__tick(ticker) == GEMEL_OK;
}

/* Finds equal nodes, from the inputs on. The first sweep asks about loops only; once there are
 * candidates, it asks about other parts too. */
static gemel_status sweep(struct parts *p, gemel_error *error) {
  enum { OFTEN = 64 };
  for (size_t k = 0; k < p->joint.n_nodes && (k % OFTEN != 0 || may_go_on(p, k)); k++) {
    int met = gemel__joint_meet(&p->joint, (uint32_t)k);
    if (met == 0 && p->joint.second[k]) {
      met = try_node(p, (uint32_t)k, error);
    }
    if (met < 0) {
      return gemel__no_memory(error, "the parts of two graphs");
    }
  }
  return GEMEL_OK;
}

/* Tries to prove equal what both graphs have, but as results of their own: the sweep asks about
 * nodes that only the second has. */
static gemel_status settle_outputs(struct parts *p, gemel_error *error) {
  if (p->candidates.n == 0) { /* stopped before there were any */
    return GEMEL_OK;
  }
  for (size_t k = 0; k < p->joint.n_outputs && p->failures < FAILURES; k++) {
    gemel__ref u = p->joint.left[k], v = p->joint.right[k];
    v.node = p->joint.stands_for[v.node];
    if (gemel__joint_same(&p->joint, k) || p->joint.second[v.node] || u.output + v.output > 0 ||
        gemel__digests_agree(&p->candidates.of[u.node], &p->candidates.of[v.node]) != 1 ||
        gemel__stopped(p->run->ticker)) {
      continue;
    }
    int passed = prove(p, u, v, error);
    if (passed < 0) {
      return gemel__no_memory(error, "the parts of two graphs");
    }
    p->joint.right[k] = passed ? u : p->joint.right[k];
  }
  return GEMEL_OK;
}

static void forget_sweep(struct parts *p) {
  for (size_t k = 0; k < p->joint.n_nodes; k++) {
    p->joint.stands_for[k] = (uint32_t)k;
  }
  gemel__idtable_clear(&p->joint.known);
  p->proven = p->loops = p->failures = 0;
}

static int all_same(const struct parts *p) {
  size_t k = 0;
  while (k < p->joint.n_outputs && gemel__joint_same(&p->joint, k)) {
    k++;
  }
  return k == p->joint.n_outputs;
}

/* ---- Answers ---- */

static void emit(struct parts *p, gemel_tier tier, gemel_verdict verdict, gemel_evidence how,
                 const char *detail) {
  gemel_record record;
  if (!gemel__run_wants(p->run, tier)) {
    return;
  }
  gemel__record_init(&record, p->run, "pair", p->name, tier);
  record.verdict = verdict;
  record.how = how;
  record.detail = detail;
  gemel__record_emit(p->run, &record);
}

/* Stopped before the graphs were asked about as a whole: all tiers are not run. */
static void say_stopped(struct parts *p) {
  char text[60];
  gemel__stopped_text(p->run->ticker, text, sizeof text);
  for (size_t k = 0; k < GEMEL_TIER_COUNT; k++) {
    emit(p, (gemel_tier)k, GEMEL_VERDICT_NOT_RUN, GEMEL_EVIDENCE_NONE, text);
  }
}

/* Writes how many constants were replaced before; "" if none were. */
static void say_unfolded(const struct parts *p, char *text, size_t bytes) {
  text[0] = '\0';
  if (p->n_unfolded > 0) {
    snprintf(text, bytes, "; folded: %zu constants taken for what they stand for", p->n_unfolded);
  }
}

/* Each output is one node of both graphs. */
static void say_identical(struct parts *p) {
  char detail[200], words[100] = "bitwise";
  size_t used = (size_t)snprintf(detail, sizeof detail,
                                 "one node is what both graphs return, for each of %zu outputs",
                                 p->joint.n_outputs);
  say_unfolded(p, detail + used, sizeof detail - used);
  if (p->needs != 0) {
    snprintf(words, sizeof words, "told apart by ");
    gemel__needs_text(p->needs, words + strlen(words), sizeof words - strlen(words));
  }
  emit(p, GEMEL_TIER_REAL, GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_IDENTITY, detail);
  emit(p, GEMEL_TIER_INTEGER, GEMEL_VERDICT_NOT_APPLICABLE, GEMEL_EVIDENCE_NONE,
       "nothing differs that could be run");
  emit(p, GEMEL_TIER_FLOAT, GEMEL_VERDICT_NOT_APPLICABLE, GEMEL_EVIDENCE_NONE,
       "nothing differs that could be run");
  emit(p, GEMEL_TIER_GRADIENT, GEMEL_VERDICT_NOT_APPLICABLE, GEMEL_EVIDENCE_NONE,
       gemel__loops_derivatives(p->a, p->b));
  emit(p, GEMEL_TIER_SPECIAL, GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_IDENTITY, words);
  if (gemel__run_wants(p->run, GEMEL_TIER_REAL) || gemel__run_wants(p->run, GEMEL_TIER_SPECIAL)) {
    p->result->verdict = GEMEL_VERDICT_PASSED; /* else no tier that was wanted applies */
  }
  p->result->needs = p->needs;
  p->result->bitwise = p->needs == 0 && gemel__run_wants(p->run, GEMEL_TIER_SPECIAL);
}

/* Writes how many parts passed, and by how many questions: parts that are the same share one. */
static void say_part_count(const struct parts *p, const char *rest, const char *more, char *text,
                           size_t bytes) {
  size_t questions = p->asked.passed;
  char loops[80] = "";
  if (p->loops > 0) {
    snprintf(loops, sizeof loops, ", %zu of them bodies of loops, for any number of steps",
             p->loops);
  }
  snprintf(text, bytes, "%zu part%s, by %zu distinct question%s%s; %s%s%s", p->proven,
           p->proven == 1 ? "" : "s", questions, questions == 1 ? "" : "s", loops, rest,
           more[0] != '\0' ? "; " : "", more);
}

/* Emits the records of the parts that passed. REST says what became of the rest of the graphs.
 * Words of a part count as words of the graphs. */
static void emit_parts(struct parts *p, const char *rest) {
  char words[200] = "bitwise", list[160];
  gemel__needs_text(p->result->needs, list, sizeof list);
  if (p->result->needs != 0) {
    snprintf(words, sizeof words, "told apart by %s", list);
  }
  for (size_t k = 0; k < GEMEL_TIER_COUNT; k++) {
    gemel_record record = p->tiers[k].record;
    char detail[800], folded[80];
    if (!p->tiers[k].used) {
      continue;
    }
    if (k == GEMEL_TIER_SPECIAL && p->result->refused != 0) {
      gemel__equal_shown(p->run, p->name, &p->flip.witness, p->result);
      continue;
    }
    say_part_count(p, rest, k == GEMEL_TIER_SPECIAL ? words : p->tiers[k].detail, detail,
                   sizeof detail);
    say_unfolded(p, folded, sizeof folded);
    size_t used = k == GEMEL_TIER_REAL ? strlen(detail) : sizeof detail - 1;
    snprintf(detail + used, sizeof detail - used, "%s", folded);
    record.name = p->name;
    record.detail = k == GEMEL_TIER_GRADIENT ? gemel__loops_derivatives(p->a, p->b)
                    : record.verdict == GEMEL_VERDICT_NOT_APPLICABLE ? p->tiers[k].detail
                                                                     : detail;
    gemel__record_emit(p->run, &record);
  }
}

/* The graphs agree up to rounding. Looks at them as a whole. */
static gemel_status look_at_whole(struct parts *p, gemel_error *error) {
  if (!gemel__run_wants(p->run, GEMEL_TIER_SPECIAL)) {
    return GEMEL_OK;
  }
  GEMEL__TRY(gemel__whole_look(p->run, p->name, p->a, p->b, p->needs | p->result->needs, p->allow,
                               &p->flip, error));
  p->needs |= p->flip.words;
  return GEMEL_OK;
}

/* All outputs are equal, by the parts and by the REST, what of it has gone into the result. */
static gemel_status say_parts(struct parts *p, const char *rest, gemel_error *error) {
  gemel_pair_result *result = p->result;
  GEMEL__TRY(look_at_whole(p, error));
  result->needs |= p->needs;
  result->refused |= p->flip.words & ~p->allow;
  result->improves |= p->improves;
  result->bitwise = result->needs == 0 && gemel__run_wants(p->run, GEMEL_TIER_SPECIAL);
  result->symbols_up_to = least_known(p->symbols_up_to, result->symbols_up_to);
  gemel__equal_note_scaled(result->scaled, p->scaled);
  emit_parts(p, rest);
  return GEMEL_OK;
}

/* All outputs are the same, by identity or by parts that passed. */
static gemel_status say_same(struct parts *p, gemel_error *error) {
  if (p->proven == 0) {
    say_identical(p);
    return GEMEL_OK;
  }
  p->result->verdict = GEMEL_VERDICT_PASSED;
  return say_parts(p, "the rest is alike", error);
}

/* ---- Large graphs that differ ---- */

/* Goes from U and V, which apply the same operation, to two of their operands that aren't known to
 * be equal; preferably such as came out differently when both were run. */
static int unequal_operands(const struct parts *p, gemel__ref *u, gemel__ref *v) {
  const gemel_graph *graph = p->joint.graph;
  const gemel__node *x = gemel__node_at(graph, u->node), *y = gemel__node_at(graph, v->node);
  uint32_t n, m, k;
  const gemel__ref *left = gemel__node_inputs(graph, u->node, &n);
  const gemel__ref *right = gemel__node_inputs(graph, v->node, &m);
  int found = 0;
  for (k = 0; x->op == y->op && x->attrs == y->attrs && n == m && k < n; k++) {
    gemel__ref a = gemel__joint_value(&p->joint, left[k]),
               b = gemel__joint_value(&p->joint, right[k]);
    int apart = gemel__digests_agree(&p->candidates.of[a.node], &p->candidates.of[b.node]) == 0;
    if (p->joint.second[b.node] && (!found || apart)) { /* only the second graph has it */
      *u = a;
      *v = b;
      found = 1;
      if (apart) {
        return 1;
      }
    }
  }
  return found;
}

/* Goes from outputs that differ down to where the graphs part, and asks tier real about the part
 * there. Returns 1 if it is refuted, with the record in ONE; 0 if not; −1 when memory is out. */
static int find_parting(struct parts *p, gemel__ref u, gemel__ref v, gemel_error *error) {
  gemel_pair_result result = {.size = sizeof result};
  gemel__part_graphs part;
  u = gemel__joint_value(&p->joint, u);
  v = gemel__joint_value(&p->joint, v);
  while (unequal_operands(p, &u, &v)) {
  }
  gemel_status status = gemel__joint_part(&p->joint, 1, &u, &v, NULL, 0, PART_NODES, &part, error);
  if (status == GEMEL_OK) {
    status = ask_kept(p, &part, 1u << GEMEL_TIER_REAL, p->one, &result, error);
    gemel__part_clear(&part);
  }
  return status == GEMEL_NO_MEMORY
             ? -1
             : status == GEMEL_OK && result.verdict == GEMEL_VERDICT_REFUTED &&
                   p->one[GEMEL_TIER_REAL].counterexample != NULL;
}

/* Emits the records KEPT. If PARTED, the refutation in tier real shows the part in ONE instead of
 * thousands of nodes. */
static void emit_kept(struct parts *p, const gemel__gathered *kept, int parted) {
  for (size_t k = 0; k < GEMEL_TIER_COUNT; k++) {
    int part = k == GEMEL_TIER_REAL && parted;
    gemel_record record = kept[k].record;
    char detail[800];
    if (!kept[k].used) {
      continue;
    }
    snprintf(detail, sizeof detail, "%s", kept[k].detail);
    if (part) {
      snprintf(detail, sizeof detail, "%s; of %zu nodes, these parts differ", kept[k].detail,
               p->joint.n_nodes);
    }
    record.name = p->name;
    record.detail = detail;
    record.counterexample = part ? p->one[k].counterexample : kept[k].counterexample;
    record.replay = part ? p->one[k].replay : kept[k].replay;
    gemel__record_emit(p->run, &record);
  }
}

/* The rest of the graphs passed as a whole: adds its evidence to that of the parts. */
static gemel_status say_both(struct parts *p, const gemel__gathered *kept, gemel_error *error) {
  for (size_t k = 0; k < GEMEL_TIER_COUNT; k++) {
    gemel__gathered_add(&p->tiers[k], &kept[k]);
  }
  return say_parts(p, "the rest as a whole", error);
}

/* Asks about the graphs themselves. Where parts passed, the rest of the second graph has the first
 * one's values in the place of its own, and a word that is refused there may be theirs. */
static gemel_status ask_unjoined(struct parts *p, gemel_error *error) {
  p->unjoined = 1;
  gemel__ticker_part(p->run->ticker, 0);
  return gemel__equal_ask(p->run, p->a, p->b, p->name, p->allow, p->result, error);
}

/* Asks about the rest of the graphs, PAIR. U and V are its first outputs. */
static gemel_status ask_whole(struct parts *p, const gemel__part_graphs *pair, gemel__ref u,
                              gemel__ref v, gemel_error *error) {
  gemel__gathered *kept = gemel__alloc_array(GEMEL_TIER_COUNT, sizeof *kept);
  gemel_status status;
  int parted = 0;
  if (kept == NULL) {
    return gemel__no_memory(error, "the parts of two graphs");
  }
  status = ask_kept(p, pair, 0, kept, p->result, error);
  if (status == GEMEL_OK && !gemel__stopped(p->run->ticker) && p->proven > 0 &&
      p->unfolded == NULL && p->result->refused != 0) {
    status = ask_unjoined(p, error);
  } else if (status == GEMEL_OK && !gemel__stopped(p->run->ticker) && pair->nodes > LARGE_PAIR &&
             kept[GEMEL_TIER_REAL].used &&
             kept[GEMEL_TIER_REAL].record.verdict == GEMEL_VERDICT_REFUTED) {
    parted = find_parting(p, u, v, error);
    status = parted < 0 ? GEMEL_NO_MEMORY : GEMEL_OK;
  }
  if (status == GEMEL_OK && !p->unjoined && p->proven > 0 &&
      p->result->verdict == GEMEL_VERDICT_PASSED) {
    status = say_both(p, kept, error);
  } else if (status == GEMEL_OK && !p->unjoined) {
    emit_kept(p, kept, parted);
  }
  gemel__gathered_forget(kept);
  gemel__free(kept, GEMEL_TIER_COUNT * sizeof *kept);
  return status;
}

/* Asks about the outputs that aren't known to be equal, with all that they depend on, as one
 * pair. */
static gemel_status ask_rest(struct parts *p, gemel_error *error) {
  size_t n = p->joint.n_outputs, k, m = 0;
  gemel__ref *refs = gemel__alloc_array(2 * n, sizeof *refs);
  const char **names = gemel__alloc_array(n, sizeof *names);
  gemel__ref u = {0, 0}, v = {0, 0};
  gemel__part_graphs region;
  gemel_status status = refs == NULL || names == NULL ? GEMEL_NO_MEMORY : GEMEL_OK;
  for (k = 0; k < n && status == GEMEL_OK; k++) {
    if (!gemel__joint_same(&p->joint, k)) {
      refs[m] = p->joint.left[k];
      refs[n + m] = p->joint.right[k];
      names[m++] = gemel_graph_output_name(p->a, k);
    }
  }
  if (status == GEMEL_OK) {
    status =
        gemel__joint_part(&p->joint, m, refs, refs + n, names, INT32_MAX, SIZE_MAX, &region, error);
  }
  u = m > 0 ? refs[0] : u;
  v = m > 0 ? refs[n] : v;
  gemel__free(refs, 2 * n * sizeof *refs);
  gemel__free(names, n * sizeof *names);
  if (status == GEMEL_NO_MEMORY) {
    return gemel__no_memory(error, "the parts of two graphs");
  }
  if (status != GEMEL_OK) { /* a run-time size: asks about the graphs themselves */
    return ask_unjoined(p, error);
  }
  region.whole = !p->run->brief;
  status = ask_whole(p, &region, u, v, error);
  gemel__part_clear(&region);
  return status;
}

/* Sets the effort for a part by the number of nodes that only the second graph has. */
static void share_effort(struct parts *p) {
  size_t k, n = 0;
  for (k = 0; k < p->joint.n_nodes; k++) {
    n += p->joint.second[k] && p->joint.stands_for[k] == k;
  }
  p->effort = n > USUAL_PARTS ? fmax((double)USUAL_PARTS / (double)n, 1.0 / LEAST_EFFORT) : 1;
}

/* Runs A and B a few times. *DIFFER: their results do. If the pair is heavy, that refutes it. */
static gemel_status look(struct parts *p, const gemel_graph *a, const gemel_graph *b,
                         gemel__scouting how, int *differ, gemel_error *error) {
  gemel__random random;
  gemel__scouted scouted;
  gemel__run_random(p->run, p->name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_LOOK), &random);
  gemel_status status = gemel__scout(a, b, how, &random, p->run->ticker, &scouted, error);
  *differ = scouted.found != GEMEL__SCOUT_NOTHING;
  if (*differ && p->heavy) {
    gemel__equal_apart(p->run, p->name, &scouted, p->result);
  }
  gemel__scouted_clear(&scouted);
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK; /* an error will show again later */
}

/* Not all outputs of a heavy pair were shown to be equal: runs it in f64, with folded constants
 * replaced. */
static gemel_status ask_heavy(struct parts *p, gemel_error *error) {
  int differ, first = p->unfolded != NULL && p->first;
  gemel_status status =
      look(p, first ? p->unfolded : p->a, p->unfolded != NULL && !first ? p->unfolded : p->b,
           GEMEL__SCOUT_WIDE, &differ, error);
  for (size_t k = 0; k < GEMEL_TIER_COUNT && status == GEMEL_OK && !differ; k++) {
    emit(p, (gemel_tier)k, GEMEL_VERDICT_NOT_RUN, GEMEL_EVIDENCE_NONE,
         "some parts weren't shown to be equal, and the graphs are too large to be asked about as "
         "a whole");
  }
  return status;
}

/* In a large pair, takes constants of one graph for what they were folded from, and joins the
 * graphs once more. */
static gemel_status unfold(struct parts *p, gemel_error *error) {
  gemel_error own = {GEMEL_OK, 0, 0, ""};
  size_t rounded = 0;
  if (!(p->allow & GEMEL_PAIR_BIT(FOLDED)) ||
      gemel__graphs_elements(p->a, p->b, 1) <= MOST_ELEMENTS) {
    return GEMEL_OK;
  }
  gemel__ticker_stage(p->run->ticker, "looking for folded constants");
  for (int first = 0; first < 2 && p->unfolded == NULL && own.status == GEMEL_OK; first++) {
    p->unfolded = gemel__constants_unfold(first ? p->a : p->b, first ? p->b : p->a, p->run->ticker,
                                          &p->n_unfolded, &rounded, &own);
    p->first = first;
  }
  if (own.status == GEMEL_NO_MEMORY) {
    return gemel__no_memory(error, "constants");
  }
  if (p->unfolded == NULL) {
    return GEMEL_OK;
  }
  p->needs |= rounded > 0 ? GEMEL_PAIR_BIT(FOLDED) : 0;
  gemel__joint_clear(&p->joint);
  gemel_status status = gemel__joint_make(&p->joint, p->first ? p->unfolded : p->a,
                                          p->first ? p->b : p->unfolded, error);
  return status ? status : sweep(p, error);
}

static gemel_status divide(struct parts *p, gemel_error *error) {
  gemel__random random;
  p->heavy = gemel__constant_elements(p->a) + gemel__constant_elements(p->b) > MOST_ELEMENTS;
  gemel_status status = unfold(p, error);
  if (status != GEMEL_OK) {
    return status;
  }
  share_effort(p);
  forget_sweep(p);
  p->anchors = gemel__alloc_array(p->joint.n_nodes, sizeof *p->anchors);
  p->facts = gemel__alloc_zeroed(p->joint.n_nodes);
  p->joint.facts = p->facts;
  if (p->anchors == NULL || p->facts == NULL) {
    return gemel__no_memory(error, "the parts of two graphs");
  }
  status = gemel__closed_facts(p->joint.graph, p->facts, error);
  if (status != GEMEL_OK) {
    return status;
  }
  gemel__run_random(p->run, p->name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_DIVIDE), &random);
  gemel__ticker_stage(p->run->ticker, "running both");
  status = gemel__tick(p->run->ticker) != GEMEL_OK
               ? GEMEL_OK
               : gemel__candidates_make(&p->candidates, &p->joint, p->a, p->b, &random, error);
  int differ = 0;
  if (status == GEMEL_OK) {
    status = look(p, p->a, p->b, GEMEL__SCOUT_FIRST, &differ, error);
  }
  if (status != GEMEL_OK || (differ && p->heavy)) {
    return status;
  }
  p->failures = differ ? FAILURES : 0; /* no parts are asked about */
  status = sweep(p, error);
  status = status ? status : settle_outputs(p, error);
  if (status == GEMEL_OK && gemel__stopped(p->run->ticker)) {
    say_stopped(p);
    return GEMEL_OK;
  }
  if (status == GEMEL_OK && all_same(p)) {
    return say_same(p, error);
  }
  if (status != GEMEL_OK) {
    return status;
  }
  return p->heavy ? ask_heavy(p, error) : ask_rest(p, error);
}

static gemel_status ask(struct parts *p, gemel_error *error) {
  gemel_status status = gemel__joint_make(&p->joint, p->a, p->b, error);
  if (status == GEMEL_OK) {
    status = sweep(p, error);
  }
  if (status == GEMEL_OK && gemel__stopped(p->run->ticker)) {
    say_stopped(p);
    return status;
  }
  if (status == GEMEL_OK && all_same(p)) {
    return say_same(p, error);
  }
  if (status != GEMEL_OK) {
    return status;
  }
  /* if loops were proved equal, the rest is asked about without them */
  int small = p->joint.n_nodes <= SMALL_PAIR && p->proven == 0 &&
              gemel__graphs_elements(p->a, p->b, 1) <= MOST_ELEMENTS;
  if (small || !gemel__run_wants(p->run, GEMEL_TIER_REAL)) {
    return gemel__equal_ask(p->run, p->a, p->b, p->name, p->allow, p->result, error);
  }
  return divide(p, error);
}

static void clear(struct parts *p) {
  gemel__gathered_forget(p->one);
  gemel__free(p->anchors, p->joint.n_nodes * sizeof *p->anchors);
  gemel__free(p->facts, p->joint.n_nodes);
  gemel__candidates_clear(&p->candidates);
  gemel__joint_clear(&p->joint);
  gemel__asked_clear(&p->asked);
  gemel__asked_clear(&p->held);
  gemel__witness_clear(&p->flip.witness);
  gemel_graph_unref(p->unfolded);
  gemel__free(p, sizeof *p);
}

/* Asks about the bodies of two loops, divided like any pair: they may be large or have loops in
 * them. */
gemel_status gemel__equal_divided(gemel__run *run, const gemel__part_graphs *pair, const char *name,
                                  unsigned allow, gemel_pair_result *result, gemel_error *error) {
  struct parts *p = gemel__alloc_zeroed(sizeof *p);
  if (p == NULL) {
    return gemel__no_memory(error, "the parts of two graphs");
  }
  *result = (gemel_pair_result){.size = sizeof *result, .verdict = GEMEL_VERDICT_NOT_RUN};
  p->run = run;
  p->a = pair->a;
  p->b = pair->b;
  p->name = name;
  p->allow = allow;
  p->result = result;
  gemel_status status = ask(p, error);
  clear(p);
  return status;
}
