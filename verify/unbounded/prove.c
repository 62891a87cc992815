/* SPDX-License-Identifier: MIT
 *
 * Proofs of many rules, some at a time. Each worker takes the next rule; the calling thread waits
 * for the rules in their order and passes on what came out.
 */
#include <gemel/verify.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/words.h"
#include "rewrite/choice.h"
#include "unbounded/unbounded.h"

enum { MOST_WORKERS = 256 };

typedef struct proof_task {
  const gemel_rule *rule;
  gemel__claim claim;
  gemel_error error;
  gemel_status status;
  int done;
} proof_task;

typedef struct proof_queue {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  proof_task *tasks;
  size_t count, next;
  int ranks;
} proof_queue;

/* Takes the next rule and proves it: 0 if there is none. */
static int work(proof_queue *q) {
  pthread_mutex_lock(&q->lock);
  proof_task *t = q->next < q->count ? &q->tasks[q->next++] : NULL;
  pthread_mutex_unlock(&q->lock);
  if (t == NULL) {
    return 0;
  }
  t->status = gemel__prove_rule(t->rule, q->ranks, &t->claim, &t->error);
  pthread_mutex_lock(&q->lock);
  t->done = 1;
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->lock);
  return 1;
}

static void *worker(void *user) {
  while (work(user)) {
  }
  return NULL;
}

static void pass_on(const proof_task *t, gemel_proof_sink sink, void *user) {
  gemel_proof proof = {.size = sizeof proof, .rule = gemel_rule_describe(t->rule)->name};
  proof.elements = t->claim.rank == 0 ? NULL : t->claim.pass == GEMEL__PASS_ANY ? "any" : "values";
  proof.ranks = t->claim.rank;
  proof.all_ranks = t->claim.all_ranks;
  proof.scenes = t->claim.scenes;
  proof.questions = t->claim.questions;
  proof.why = t->claim.why;
  sink(user, &proof);
}

/* Passes on what came out of each rule; the first that fails ends it. */
static gemel_status collect(proof_queue *q, int alone, gemel_proof_sink sink, void *user,
                            gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < q->count && status == GEMEL_OK; k++) {
    proof_task *t = &q->tasks[k];
    while (alone && !t->done) {
      work(q);
    }
    pthread_mutex_lock(&q->lock);
    while (!t->done) {
      pthread_cond_wait(&q->changed, &q->lock);
    }
    pthread_mutex_unlock(&q->lock);
    status = t->status;
    if (status == GEMEL_OK) {
      pass_on(t, sink, user);
    } else if (error != NULL) {
      *error = t->error;
    }
  }
  pthread_mutex_lock(&q->lock);
  q->next = q->count;
  pthread_mutex_unlock(&q->lock);
  return status;
}

static gemel_status prove(proof_queue *q, int jobs, gemel_proof_sink sink, void *user,
                          gemel_error *error) {
  pthread_t threads[MOST_WORKERS];
  int started = 0;
  gemel_status status;
  pthread_mutex_init(&q->lock, NULL);
  pthread_cond_init(&q->changed, NULL);
  while (jobs > 1 && started < jobs && started < MOST_WORKERS &&
         pthread_create(&threads[started], NULL, worker, q) == 0) {
    started++;
  }
  status = collect(q, started == 0, sink, user, error);
  for (int k = 0; k < started; k++) {
    pthread_join(threads[k], NULL);
  }
  pthread_cond_destroy(&q->changed);
  pthread_mutex_destroy(&q->lock);
  return status;
}

/* 1 if a word of a list names one of the rules. */
static int names_any(const void *user, const char *word, size_t length) {
  const gemel_rules *rules = user;
  for (size_t k = 0; k < gemel_rules_count(rules); k++) {
    if (gemel__word_names_rule(word, length, gemel_rule_describe(gemel_rules_at(rules, k)))) {
      return 1;
    }
  }
  return 0;
}

static gemel_status prove_matching(const gemel_rules *rules, const char *glob, proof_queue *q,
                                   int jobs, gemel_proof_sink sink, void *user,
                                   gemel_error *error) {
  size_t most = gemel_rules_count(rules);
  gemel_status status =
      gemel__list_check(glob, "rule, tag, family or phase", names_any, rules, error);
  if (status != GEMEL_OK) {
    return status;
  }
  q->tasks = gemel__alloc_zeroed((most + 1) * sizeof *q->tasks);
  if (q->tasks == NULL) {
    return gemel__no_memory(error, "rules");
  }
  for (size_t k = 0; k < most; k++) {
    const gemel_rule *rule = gemel_rules_at(rules, k);
    if (glob == NULL || gemel__list_names_rule(glob, gemel_rule_describe(rule))) {
      q->tasks[q->count++].rule = rule;
    }
  }
  status = prove(q, jobs, sink, user, error);
  gemel__free(q->tasks, (most + 1) * sizeof *q->tasks);
  return status;
}

/* ---- JSON ---- */

size_t gemel_proof_json(const gemel_proof *proof, char *text, size_t bytes) {
  gemel__buffer b = {text, text != NULL ? bytes : 0, 0, 0};
  char ranks[20];
  if (b.bytes > 0) {
    text[0] = '\0';
  }
  if (proof == NULL) {
    return 0;
  }
  gemel__buffer_text(&b, "{\"kind\": \"rule\"");
  gemel__json_field(&b, "name", proof->rule);
  if (proof->elements == NULL) {
    gemel__buffer_text(&b, ", \"proof\": null");
  } else {
    snprintf(ranks, sizeof ranks, proof->all_ranks ? "all" : "%d", proof->ranks);
    gemel__buffer_text(&b, ", \"proof\": {\"elements\": ");
    gemel__json_string(&b, proof->elements);
    gemel__json_field(&b, "sizes", "all");
    gemel__json_field(&b, "ranks", ranks);
    gemel__buffer_text(&b, "}");
  }
  gemel__buffer_format(&b, ", \"scenes\": %zu, \"questions\": %zu", proof->scenes,
                       proof->questions);
  gemel__json_field(&b, "why", proof->why);
  gemel__buffer_text(&b, "}");
  return b.used;
}

/* ---- Rules that are asked for ---- */

gemel_status gemel_prove_rules(gemel_context *context, const gemel_rules *rules, const char *glob,
                               int ranks, int jobs, gemel_proof_sink sink, void *user,
                               gemel_error *error) {
  proof_queue q = {.ranks = ranks == 0 ? GEMEL__CLAIM_RANK : ranks};
  gemel_rules *builtin = NULL;
  gemel_status status;
  if (context == NULL || sink == NULL || ranks < 0 || ranks > GEMEL__CLAIM_MOST_RANK || jobs < 0) {
    return gemel__fail(
        error, GEMEL_BAD_ARGUMENT,
        "proofs need a context, a sink, up to %d ranks, and jobs that aren't negative",
        GEMEL__CLAIM_MOST_RANK);
  }
  if (rules == NULL) {
    rules = builtin = gemel_rules_builtin(context, error);
  }
  status = rules == NULL ? GEMEL_NO_MEMORY
                         : prove_matching(rules, glob, &q,
                                          jobs == 0 ? (int)sysconf(_SC_NPROCESSORS_ONLN) : jobs,
                                          sink, user, error);
  gemel_rules_unref(builtin);
  return status;
}
