/* SPDX-License-Identifier: MIT
 *
 * The question of `gemel equal` from outside: inputs and outputs are matched, it is asked where the
 * graphs are defined, and what is left is whether they are the same function (parts.c).
 *
 * A graph may be undefined in two ways. A call ends in an error (pairs/defined.h), or the format
 * that the graph comes from leaves elements of results open (equal/undefined.h). The same words say
 * which graph is defined on less. Where both leave elements open, any numbers will do: graphs that
 * gemel's conventions tell apart are compared once more, where both are defined.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "equal/apart.h"
#include "equal/equal.h"
#include "equal/example.h"
#include "equal/gathered.h"
#include "equal/undefined.h"
#include "harness/saved.h"
#include "pairs/defined.h"
#include "pairs/joint.h"
#include "pairs/match.h"

struct posed {
  gemel__run *run;
  const gemel_graph *a, *b;
  const char *name;
  unsigned allow;
  gemel_pair_result *result;
  gemel__apart apart;
};

/* ---- Where calls end in errors ---- */

/* Asks about A and B, unless one is defined on less and that refutes. */
static gemel_status ask_defined(struct posed *p, gemel_error *error) {
  gemel__random random;
  gemel__defined defined;
  gemel__run_random(p->run, p->name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_DEFINED), &random);
  gemel_status status =
      gemel__defined_compare(p->a, p->b, &random, p->run->ticker, &defined, error);
  unsigned words = (defined.narrows ? GEMEL_PAIR_BIT(NARROWS) : 0) |
                   (defined.widens ? GEMEL_PAIR_BIT(WIDENS) : 0);
  if (status == GEMEL_OK && (words & ~p->allow) != 0) {
    gemel__equal_undefined(p->run, p->name, &defined, words, words & ~p->allow, p->result);
  } else if (status == GEMEL_OK) {
    gemel__part_graphs pair = {.a = (gemel_graph *)p->a, .b = (gemel_graph *)p->b};
    status = gemel__equal_divided(p->run, &pair, p->name, p->allow, p->result, error);
    p->result->needs |= words;
    p->result->bitwise &= words == 0;
  }
  gemel__defined_clear(&defined);
  return status;
}

/* ---- Where results are undefined ---- */

/* What was said of a pair, before it is told. */
struct said {
  gemel__gathered *kept; /* a record a tier */
  gemel__point point;    /* what refutes it */
};

/* Asks about A and B. What is said is SAID. */
static gemel_status ask_quietly(const struct posed *p, const gemel_graph *a, const gemel_graph *b,
                                struct said *said, gemel_error *error) {
  gemel__run run = *p->run;
  struct posed quiet = *p;
  gemel__gathered_forget(said->kept);
  gemel__point_clear(&said->point);
  run.options.sink = gemel__gathered_keep;
  run.options.user = said->kept;
  run.point = &said->point;
  run.samples = a != p->a; /* masks cost a solver minutes */
  quiet.run = &run;
  quiet.a = a;
  quiet.b = b;
  return ask_defined(&quiet, error);
}

static void tell(struct posed *p, struct said *said) {
  for (size_t k = 0; k < GEMEL_TIER_COUNT; k++) {
    gemel_record record = said->kept[k].record;
    record.name = p->name;
    record.detail = said->kept[k].detail;
    record.counterexample = said->kept[k].counterexample;
    record.replay = said->kept[k].replay;
    if (said->kept[k].used) {
      gemel__record_emit(p->run, &record);
    }
  }
  if (p->run->point != NULL) {
    gemel__point_clear(p->run->point);
    *p->run->point = said->point;
    memset(&said->point, 0, sizeof said->point);
  }
}

static int is_refused(const struct posed *p) {
  return !gemel__stopped(p->run->ticker) &&
         (p->result->verdict == GEMEL_VERDICT_REFUTED || p->result->refused != 0);
}

/* Asks about P where both graphs are defined. */
static gemel_status ask_masked(struct posed *p, const gemel__undefined *u, struct said *said,
                               gemel_error *error) {
  gemel_status status = ask_quietly(p, u->defined[0], u->defined[1], said, error);
  if (status == GEMEL_OK && p->result->verdict == GEMEL_VERDICT_PASSED &&
      !gemel__undefined_leaves_enough(p->run, p->name, u)) {
    p->result->verdict = GEMEL_VERDICT_UNINFORMATIVE;
  }
  return status;
}

/* The graphs are the same where both are defined, as was SAID. Tells so, unless one is defined on
 * less and that refutes. */
static gemel_status ask_words(struct posed *p, const gemel__undefined *u, struct said *said,
                              gemel_error *error) {
  gemel__undefinedness found;
  gemel_status status = gemel__undefined_compare(p->run, p->a, p->b, p->name, u, &found, error);
  p->result->bitwise &= found.words == 0;
  if (status == GEMEL_OK && (found.words & ~p->allow) != 0) {
    gemel__equal_open(p->run, p->name, &found, found.words & ~p->allow, p->result);
  } else if (status == GEMEL_OK) {
    p->result->needs |= found.words;
    if (found.unsure && p->result->verdict == GEMEL_VERDICT_PASSED) {
      p->result->verdict = GEMEL_VERDICT_UNINFORMATIVE;
    }
    tell(p, said);
  }
  gemel__undefinedness_clear(&found);
  return status;
}

/* Where gemel's conventions make the graphs the same, they are. A difference counts if it shows at
 * inputs that leave nothing undefined, or else if it is left when what is undefined is left out. */
static gemel_status ask_open(struct posed *p, const gemel__undefined *u, struct said *said,
                             gemel_error *error) {
  gemel_status status = ask_quietly(p, p->a, p->b, said, error);
  if (status == GEMEL_OK && is_refused(p) &&
      gemel__undefined_some(p->run, p->name, u, &said->point)) {
    status = ask_masked(p, u, said, error);
  }
  if (status == GEMEL_OK && !is_refused(p) && !gemel__stopped(p->run->ticker)) {
    return ask_words(p, u, said, error);
  }
  if (status == GEMEL_OK) {
    tell(p, said);
  }
  return status;
}

/* The pair P, refuted or not, was decided with U (NULL: no masks). */
static void show(struct posed *p, const gemel__undefined *u) {
  if (is_refused(p)) {
    gemel__ticker_stage(p->run->ticker, "an example");
    gemel__example_find(p->run, p->name, p->a, p->b, u, p->result->refused, p->run->point,
                        &p->result->example);
  }
}

static gemel_status ask_undefined(struct posed *p, gemel_error *error) {
  gemel__undefined u;
  struct said said = {.point = {.taken = 0}};
  gemel_status status = gemel__undefined_make(p->a, p->b, &u, error);
  int is_masked = status == GEMEL_OK;
  if (status == GEMEL_DECLINED) {
    status = ask_defined(p, error);
  } else if (status == GEMEL_OK) {
    said.kept = gemel__alloc_zeroed(GEMEL_TIER_COUNT * sizeof *said.kept);
    if (said.kept == NULL) {
      status = gemel__no_memory(error, "two graphs");
    } else {
      status = ask_open(p, &u, &said, error);
      gemel__gathered_forget(said.kept);
      gemel__point_clear(&said.point);
    }
    gemel__free(said.kept, GEMEL_TIER_COUNT * sizeof *said.kept);
  }
  if (status == GEMEL_OK) {
    show(p, is_masked ? &u : NULL);
  }
  gemel__undefined_clear(&u);
  return status;
}

/* ---- The pair ---- */

/* What can't be run, for the reason WHY, stays open. */
static void leave_open(struct posed *p, gemel_error *why) {
  gemel_record record;
  gemel__record_init(&record, p->run, "pair", p->name, GEMEL_TIER_REAL);
  record.verdict = GEMEL_VERDICT_NOT_RUN;
  record.detail = why->text;
  gemel__record_emit(p->run, &record);
  *p->result = (gemel_pair_result){.size = sizeof *p->result, .verdict = GEMEL_VERDICT_NOT_RUN};
  *why = (gemel_error){GEMEL_OK, 0, 0, ""};
}

/* Asks about A and B, whose inputs and outputs are matched. */
static gemel_status ask_pair(struct posed *p, gemel_error *error) {
  gemel__run *run = p->run;
  const char *folder = run->options.counterexample_folder;
  void *user = run->options.user;
  gemel__point point = {.taken = 0};
  gemel_status status = gemel__pair_check(p->a, p->b, error);
  if (status == GEMEL_OK && folder != NULL) {
    status = gemel__saved_check(folder, error);
  }
  if (status != GEMEL_OK) {
    return status;
  }
  gemel__apart_watch(&p->apart, run, p->a, p->b);
  run->point = &point;
  gemel_error mine, *why = error != NULL ? error : &mine;
  status = ask_undefined(p, why);
  if (status == GEMEL_UNSUPPORTED) {
    status = GEMEL_OK;
    leave_open(p, why);
  }
  if (status == GEMEL_OK && p->result->verdict == GEMEL_VERDICT_REFUTED && point.taken &&
      folder != NULL) {
    gemel_record record;
    gemel__record_init(&record, run, "pair", p->name, point.tier);
    status = gemel__saved_write(folder, &record, record.seed, &point, NULL, p->a, p->b, error);
    p->result->written = status == GEMEL_OK;
  }
  gemel__point_clear(&point);
  return status == GEMEL_OK && p->result->verdict == GEMEL_VERDICT_REFUTED
             ? gemel__equal_outputs(run, user, p->a, p->b, p->allow, error)
             : status;
}

gemel_status gemel_verify_pair(const gemel_graph *a, const gemel_graph *b, const char *name,
                               unsigned allow, const gemel_verify_options *options,
                               gemel_pair_result *result, gemel_error *error) {
  gemel__run run;
  gemel_pair_result mine = {.size = sizeof mine, .verdict = GEMEL_VERDICT_NOT_RUN};
  gemel_graph *matched = NULL;
  gemel__ticker ticker;
  struct posed p = {.run = &run, .a = a, .allow = allow};
  gemel_status status = gemel__run_init(&run, gemel_graph_context(a), options, NULL, error);
  status = status ? status : gemel__check_result(result, "gemel_pair_result", error);
  gemel__ticker_init(&ticker, run.options.tick, run.options.user);
  run.ticker = &ticker;
  if (status == GEMEL_OK && run.options.match != NULL) {
    gemel_error unheard, *why = error != NULL ? error : &unheard;
    matched = gemel__graph_matched(a, b, run.options.match, why);
    status = matched == NULL ? why->status : GEMEL_OK;
  }
  if (status == GEMEL_OK) {
    p.b = matched != NULL ? matched : b;
    p.name = name != NULL ? name : "pair";
    p.allow |= (allow & GEMEL_PAIR_DEFAULT) == GEMEL_PAIR_DEFAULT
                   ? GEMEL_PAIR_BIT(FOLDED) | GEMEL_PAIR_BIT(WIDENS)
                   : 0;
    p.result = &mine;
    gemel__ticker_watch(&ticker);
    status = ask_pair(&p, error);
    gemel__ticker_watch(NULL);
    mine.unfollowed = atomic_load(&ticker.unfollowed);
  }
  if (status != GEMEL_OK) {
    mine = (gemel_pair_result){.size = sizeof mine, .verdict = GEMEL_VERDICT_NOT_RUN};
  }
  gemel__give_result(result, &mine, sizeof mine);
  gemel_graph_unref(matched);
  return status;
}
