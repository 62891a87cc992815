/* SPDX-License-Identifier: MIT
 *
 * The pipeline: the phases in their order, with the rules that the options choose, and the passes
 * before and behind them. The last phase has all rules that are chosen. It is repeated until it
 * does nothing, then all passes are, and so on until neither finds anything to do: so a result is
 * left alone when it is rewritten again. That ends because the last phase's rules that make a graph
 * grow are declined after a while (GROWTH in engine.c), and after ROUNDS it is an error.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/clock.h"
#include "core/error.h"
#include "rewrite/engine.h"
#include "rewrite/choice.h"
#include "passes/passes.h"
#include "rewrite/profile.h"
#include "rewrite/uses.h"

enum { ROUNDS = 50 };

struct pipeline {
  gemel_rewrite_options options;
  gemel_context *context;
  const gemel_graph *source; /* the program's: it stays as it is */
  gemel__choice *choice;
  uint64_t *done;   /* what passes, rules in the last phase, and rules in bodies have done since it
                       was 0 */
  uint64_t *unseen; /* what passes have done since the last phase's rules ran */
  gemel__certifier *certifier; /* NULL: applications aren't checked */
  void *session;               /* of the certifier */
  gemel_error *error;
};

/* ---- Phases ---- */

static gemel_status count_live(const struct pipeline *p, const gemel_graph *graph, uint64_t *n) {
  gemel__uses uses;
  gemel_status status = gemel__uses_find(&uses, graph, p->error);
  *n = uses.live;
  gemel__uses_clear(&uses);
  return status;
}

/* BEFORE: the nodes that were live. */
static gemel_status report(const struct pipeline *p, gemel_phase phase,
                           const gemel__selection *selection, uint64_t before,
                           const gemel_graph *after, const gemel__pass_options *pass,
                           double seconds) {
  gemel_rewrite_row row = {
      .phase = phase, .seconds = seconds, .created = pass->created, .before = before};
  for (size_t k = 0; k < selection->n_rules; k++) {
    row.applied += selection->tallies[k].applied;
    row.declined += selection->tallies[k].declined;
  }
  gemel_status status = count_live(p, after, &row.after);
  status = status ? status : gemel__profile_add(p->options.profile, &row, p->error);
  gemel_rewrite_row folding = {.phase = phase, .name = "fold", .applied = pass->folded};
  if (status == GEMEL_OK && pass->folded > 0) {
    status = gemel__profile_add(p->options.profile, &folding, p->error);
  }
  return status ? status : gemel__profile_rules(p->options.profile, phase, selection, p->error);
}

/* 1 if something in GRAPH could change: constants are folded in the first phase, and a node is the
 * root of a rule, or has a body. */
static int has_work(const gemel_graph *graph, gemel_phase phase,
                    const gemel__selection *selection) {
  if (phase == GEMEL_PHASE_CANONICALIZE) {
    return 1;
  }
  for (size_t k = 0; k < graph->n_nodes && selection->n_rules > 0; k++) {
    const gemel__node *node = &graph->nodes[k];
    if (gemel__selection_has_root(selection, node->op) ||
        (node->attrs != 0 && gemel__attrs_at(graph->context, node->attrs)->nesting > 0)) {
      return 1;
    }
  }
  return 0;
}

/* How much rules have done so far. */
static uint64_t work_of(const gemel__selection *selection, const gemel__pass_options *pass) {
  uint64_t n = pass->folded;
  for (size_t k = 0; k < selection->n_rules; k++) {
    n += selection->tallies[k].applied;
  }
  return n;
}

static int any_declined(const gemel__selection *selection) {
  for (size_t k = 0; k < selection->n_rules; k++) {
    if (selection->tallies[k].declined > 0) {
      return 1;
    }
  }
  return 0;
}

/* The rules that have been applied in each of ROUNDS passes, or at least as often. */
static gemel_status endless(const struct pipeline *p, const gemel__selection *selection) {
  char names[400] = "";
  size_t used = 0;
  for (size_t k = 0; k < selection->n_rules && used < sizeof names; k++) {
    if (selection->tallies[k].applied >= ROUNDS) {
      int n = snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
                       selection->rules[k]->info.name);
      used += n > 0 ? (size_t)n : 0;
    }
  }
  return gemel__fail(p->error, GEMEL_WRONG_RULE,
                     "rules go in circles (%d passes leave something to do): %s", (int)ROUNDS,
                     names);
}

/* *GRAPH, a reference, becomes what one pass makes of it; *DONE: whether that did nothing. */
static gemel_status run_round(const struct pipeline *p, gemel__pass_options *pass,
                              gemel_graph **graph, int *done) {
  uint64_t before = work_of(pass->selection, pass);
  gemel_graph *next = gemel__rewrite_phase(*graph, pass, p->error);
  if (next == NULL) {
    return p->error->status;
  }
  gemel_graph_unref(*graph);
  *graph = next;
  *done = work_of(pass->selection, pass) == before;
  pass->tight |= any_declined(pass->selection);
  return GEMEL_OK;
}

/* The last round that there may be: *FELL: whether there are fewer nodes after it. */
static gemel_status run_last_round(const struct pipeline *p, gemel__pass_options *pass,
                                   gemel_graph **graph, int *done, int *fell) {
  uint64_t before = 0, after = 0;
  gemel_status status = count_live(p, *graph, &before);
  status = status ? status : run_round(p, pass, graph, done);
  status = status ? status : count_live(p, *graph, &after);
  *fell = after < before;
  return status;
}

/* The passes of PHASE: one, but of the last phase as many as do something, and one more. What was
 * declined for growth once isn't tried in the next. ROUNDS of them are enough: rules that still
 * make the graph smaller then are left at that (a thousand slices in a long chain move on by one
 * operation a round), others go in circles. */
static gemel_status run_rounds(const struct pipeline *p, gemel_phase phase,
                               gemel__pass_options *pass, gemel_graph **graph) {
  int done = !has_work(*graph, phase, pass->selection), fell = 0;
  int last = phase == gemel__last_phase(p->options.mode);
  gemel_status status = GEMEL_OK;
  for (int round = 0; !done && status == GEMEL_OK && round < ROUNDS; round++) {
    status = round + 1 < ROUNDS ? run_round(p, pass, graph, &done)
                                : run_last_round(p, pass, graph, &done, &fell);
    done |= !last;
  }
  if (last) {
    *p->done += work_of(pass->selection, pass);
    *p->unseen = 0;
  }
  return status || done || fell ? status : endless(p, pass->selection);
}

/* *GRAPH goes through PHASE: its reference is given back, and *GRAPH is the new one. */
static gemel_status run_phase(const struct pipeline *p, gemel_phase phase, gemel_graph **graph) {
  gemel__selection *selection = &p->choice->phases[phase];
  gemel__pass_options pass;
  gemel_graph *next = gemel_graph_ref(*graph);
  double start = gemel__thread_seconds();
  uint64_t before = 0;
  memset(&pass, 0, sizeof pass);
  pass.selection = selection;
  pass.fold = 1;
  pass.timed = p->options.profile != NULL;
  pass.witness = p->certifier != NULL ? p->certifier->witness : NULL;
  pass.user = p->session;
  pass.bodies = gemel__bodies_new(gemel__rewrite_body, &pass);
  gemel_status status = pass.bodies != NULL ? GEMEL_OK : gemel__no_memory(p->error, "bodies");
  if (status == GEMEL_OK && p->options.profile != NULL) {
    status = count_live(p, *graph, &before);
  }
  status = status ? status : run_rounds(p, phase, &pass, &next);
  *p->done += status == GEMEL_OK && gemel__bodies_changed(pass.bodies);
  if (status == GEMEL_OK && p->options.profile != NULL) {
    status = report(p, phase, selection, before, next, &pass, gemel__thread_seconds() - start);
  }
  gemel__bodies_free(pass.bodies);
  gemel_graph_unref(*graph);
  *graph = next;
  return status;
}

static gemel_status report_pass(const struct pipeline *p, const gemel_pass *pass,
                                const gemel__pass_run *run, double seconds) {
  gemel_rewrite_row row = {.phase = pass->phase,
                           .name = pass->name,
                           .seconds = seconds,
                           .applied = run->applied,
                           .created = run->created};
  return p->options.profile == NULL || run->applied == 0
             ? GEMEL_OK
             : gemel__profile_add(p->options.profile, &row, p->error);
}

/* Runs the passes of PHASE that stand BEFORE its rules, or behind. */
static gemel_status run_passes(const struct pipeline *p, gemel_phase phase, int before,
                               gemel_graph **graph) {
  const gemel_pass *pass;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; status == GEMEL_OK && (pass = gemel_pass_at(p->context, k)) != NULL; k++) {
    gemel__pass_run run = {.witness = p->certifier != NULL ? p->certifier->witness_change : NULL,
                           .user = p->session};
    double start = gemel__thread_seconds();
    if (pass->phase == phase && (pass->before != 0) == before &&
        gemel__chooses_pass(&p->options, pass)) {
      status = gemel__pass_apply(pass, graph, &run, p->error);
      *p->done += run.applied;
      *p->unseen += run.applied;
      status = status ? status : report_pass(p, pass, &run, gemel__thread_seconds() - start);
    }
  }
  return status;
}

/* All passes once more, in their order. */
static gemel_status repeat_passes(const struct pipeline *p, gemel_graph **graph) {
  for (int phase = 0; phase < GEMEL_PHASE_COUNT; phase++) {
    GEMEL__TRY(run_passes(p, (gemel_phase)phase, 1, graph));
    GEMEL__TRY(run_passes(p, (gemel_phase)phase, 0, graph));
  }
  return GEMEL_OK;
}

/* Where passes, the rules of the last phase, or rules in bodies have done something, the passes may
 * find more to do (an operand of a loop that its body no longer reads), and after them the rules;
 * until neither does. */
static gemel_status come_to_rest(const struct pipeline *p, gemel_graph **graph) {
  gemel_phase last = gemel__last_phase(p->options.mode);
  for (int round = 0; *p->done > 0; round++) {
    if (round == ROUNDS) {
      return gemel__fail(p->error, GEMEL_WRONG_RULE,
                         "passes and rules go in circles (after %d rounds there is more to do)",
                         (int)ROUNDS);
    }
    *p->done = 0;
    GEMEL__TRY(repeat_passes(p, graph));
    if (*p->unseen > 0) {
      gemel__selection_reset(&p->choice->phases[last]);
      GEMEL__TRY(run_phase(p, last, graph));
    }
  }
  return GEMEL_OK;
}

/* Leaves unused nodes out of *GRAPH, and makes the source a graph of its own. */
static gemel_status finish(const struct pipeline *p, gemel_graph **graph) {
  uint64_t live = 0;
  gemel_status status = count_live(p, *graph, &live);
  if (status != GEMEL_OK || (*graph != p->source && live == (*graph)->n_nodes)) {
    return status;
  }
  gemel_graph *copy = gemel__rewrite_copy(*graph, p->error);
  if (copy == NULL) {
    return p->error->status;
  }
  gemel_graph_unref(*graph);
  *graph = copy;
  return GEMEL_OK;
}

/* *GRAPH, the source at first, goes through all phases and is a new graph in the end. */
static gemel_status run_all(const struct pipeline *p, gemel_graph **graph) {
  int phases = p->options.mode == GEMEL_MODE_NONE ? 0 : GEMEL_PHASE_COUNT;
  for (int phase = 0; phase < phases; phase++) {
    GEMEL__TRY(run_passes(p, (gemel_phase)phase, 1, graph));
    GEMEL__TRY(run_phase(p, (gemel_phase)phase, graph));
    GEMEL__TRY(run_passes(p, (gemel_phase)phase, 0, graph));
  }
  GEMEL__TRY(come_to_rest(p, graph));
  GEMEL__TRY(finish(p, graph));
  return gemel__debug_check(*graph, p->error);
}

/* ---- Entry ---- */

static gemel_status read_options(struct pipeline *p, const gemel_rewrite_options *options) {
  GEMEL__TRY(gemel__take_options(&p->options, sizeof p->options, options, "gemel_rewrite_options",
                                 p->error));
  if (!p->options.has_mode) {
    p->options.mode = GEMEL_MODE_FAST_RUN;
  }
  if (!p->options.has_allow) {
    p->options.allow = GEMEL_FASTMATH_DEFAULT;
  }
  if ((unsigned)p->options.mode >= GEMEL_MODE_COUNT) {
    return gemel__fail(p->error, GEMEL_BAD_ARGUMENT, "there is no mode %d", (int)p->options.mode);
  }
  return GEMEL_OK;
}

static gemel_status begin_certifying(struct pipeline *p) {
  if (!p->options.certify) {
    return GEMEL_OK;
  }
  p->certifier = __atomic_load_n(&p->context->certifier, __ATOMIC_ACQUIRE);
  if (p->certifier == NULL) {
    return gemel__fail(p->error, GEMEL_UNSUPPORTED,
                       "certify needs libgemel-verify: call gemel_certify_enable first");
  }
  p->session = p->certifier->begin(p->certifier, p->error);
  return p->session != NULL ? GEMEL_OK : p->error->status;
}

/* 1 if a value lies on a device. What rules and passes build anew lies on the host, so such a graph
 * is left as it is: graphs are rewritten before transfers are put into them. */
static int has_devices(const gemel_graph *graph) {
  for (uint32_t node = 0; node < graph->n_nodes; node++) {
    const gemel__node *n = gemel__node_at(graph, node);
    for (uint32_t k = 0; k < n->n_outputs; k++) {
      if (gemel__type_at(graph->context, gemel__node_type(graph, node, k))->space !=
          GEMEL_SPACE_HOST) {
        return 1;
      }
    }
  }
  return 0;
}

gemel_graph *gemel_rewrite(const gemel_graph *graph, const gemel_rewrite_options *options,
                           gemel_error *error) {
  struct pipeline p;
  gemel_error local;
  gemel_graph *current = NULL;
  gemel_status status;
  uint64_t done = 0, unseen = 0;
  memset(&p, 0, sizeof p);
  p.done = &done;
  p.unseen = &unseen;
  p.error = error != NULL ? error : &local;
  if (graph == NULL) {
    gemel__fail(p.error, GEMEL_BAD_ARGUMENT, "the graph is null");
    return NULL;
  }
  p.context = graph->context;
  p.source = graph;
  status = read_options(&p, options);
  status = status ? status : gemel__choice_take(p.context, &p.options, &p.choice, p.error);
  status = status ? status : begin_certifying(&p);
  if (status == GEMEL_OK) {
    current = gemel_graph_ref((gemel_graph *)graph);
    status = has_devices(graph) ? GEMEL_OK : run_all(&p, &current);
  }
  if (p.session != NULL) {
    p.certifier->end(p.certifier, p.session);
  }
  gemel__choice_give_back(p.context, p.choice);
  if (status != GEMEL_OK) {
    gemel_graph_unref(current);
    return NULL;
  }
  return current;
}
