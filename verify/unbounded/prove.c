/* SPDX-License-Identifier: MIT
 *
 * Proofs of many rules, some at a time. Each worker takes the next rule; the calling thread waits
 * for the rules in their order, passes on what came out, and lists it in the record's index.
 */
#include <gemel/verify.h>
#include <errno.h>
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
  const gemel_prove_options *options;
  FILE *index; /* NULL: no record is kept */
} proof_queue;

/* Takes the next rule and proves it: 0 if there is none. */
static int work(proof_queue *q) {
  pthread_mutex_lock(&q->lock);
  proof_task *t = q->next < q->count ? &q->tasks[q->next++] : NULL;
  pthread_mutex_unlock(&q->lock);
  if (t == NULL) {
    return 0;
  }
  t->status = gemel__prove_rule(t->rule, q->options->ranks, q->options->record_folder, &t->claim,
                                &t->error);
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

/* Adds a line to the index. */
static gemel_status list_proof(proof_queue *q, const gemel_proof *proof, gemel_error *error) {
  size_t bytes = gemel_proof_json(proof, NULL, 0) + 1;
  char *line = q->index != NULL ? gemel__alloc(bytes) : NULL;
  if (q->index == NULL || line == NULL) {
    return q->index == NULL ? GEMEL_OK : gemel__no_memory(error, "a record");
  }
  gemel_proof_json(proof, line, bytes);
  int failed = fprintf(q->index, "%s\n", line) < 0;
  gemel__free(line, bytes);
  return failed ? gemel__fail(error, GEMEL_IO, "index.jsonl can't be written") : GEMEL_OK;
}

static gemel_status pass_on(proof_queue *q, const proof_task *t, gemel_error *error) {
  gemel_proof proof = {.size = sizeof proof, .rule = gemel_rule_describe(t->rule)->name};
  proof.elements = t->claim.rank == 0 ? NULL : t->claim.pass == GEMEL__PASS_ANY ? "any" : "values";
  proof.ranks = t->claim.rank;
  proof.all_ranks = t->claim.all_ranks;
  proof.scenes = t->claim.scenes;
  proof.questions = t->claim.questions;
  proof.why = t->claim.why;
  q->options->sink(q->options->user, &proof);
  return list_proof(q, &proof, error);
}

/* Passes on what came out of each rule; the first that fails ends it. */
static gemel_status collect(proof_queue *q, int alone, gemel_error *error) {
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
      status = pass_on(q, t, error);
    } else if (error != NULL) {
      *error = t->error;
    }
  }
  pthread_mutex_lock(&q->lock);
  q->next = q->count;
  pthread_mutex_unlock(&q->lock);
  return status;
}

static gemel_status prove(proof_queue *q, gemel_error *error) {
  pthread_t threads[MOST_WORKERS];
  size_t started = 0, jobs = q->options->jobs;
  gemel_status status;
  pthread_mutex_init(&q->lock, NULL);
  pthread_cond_init(&q->changed, NULL);
  while (jobs > 1 && started < jobs && started < MOST_WORKERS &&
         pthread_create(&threads[started], NULL, worker, q) == 0) {
    started++;
  }
  status = collect(q, started == 0, error);
  for (size_t k = 0; k < started; k++) {
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
  status = prove(q, error);
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

/* The options with their defaults. */
static gemel_status take_options(gemel_prove_options *taken, const gemel_prove_options *given,
                                 gemel_error *error) {
  gemel_status status =
      gemel__take_options(taken, sizeof *taken, given, "gemel_prove_options", error);
  if (status == GEMEL_OK &&
      (taken->sink == NULL || taken->ranks < 0 || taken->ranks > GEMEL__CLAIM_MOST_RANK)) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "proofs need a sink, and up to %d ranks",
                       GEMEL__CLAIM_MOST_RANK);
  }
  taken->ranks = taken->ranks == 0 ? GEMEL__CLAIM_RANK : taken->ranks;
  return status;
}

/* *INDEX = a new file for a line a rule; NULL if no record is wanted. */
static gemel_status open_index(const char *folder, FILE **index, gemel_error *error) {
  char path[600];
  *index = NULL;
  if (folder == NULL) {
    return GEMEL_OK;
  }
  snprintf(path, sizeof path, "%s/index.jsonl", folder);
  if (access(path, F_OK) == 0) {
    return gemel__fail(error, GEMEL_IO, "%s is there: a record begins in an empty folder", path);
  }
  *index = fopen(path, "w");
  return *index != NULL ? GEMEL_OK : gemel__fail(error, GEMEL_IO, "%s: %s", path, strerror(errno));
}

static gemel_status prove_rules(const gemel_rules *rules, const char *glob,
                                const gemel_prove_options *options, gemel_error *error) {
  proof_queue q = {.options = options};
  gemel_status status = open_index(options->record_folder, &q.index, error);
  status = status == GEMEL_OK ? prove_matching(rules, glob, &q, error) : status;
  if (q.index != NULL && fclose(q.index) != 0 && status == GEMEL_OK) {
    return gemel__fail(error, GEMEL_IO, "%s: %s", options->record_folder, strerror(errno));
  }
  return status;
}

gemel_status gemel_prove_rules(gemel_context *context, const gemel_rules *rules, const char *glob,
                               const gemel_prove_options *options, gemel_error *error) {
  gemel_prove_options taken;
  gemel_status status = take_options(&taken, options, error);
  if (status == GEMEL_OK && context == NULL) {
    status = gemel__fail(error, GEMEL_BAD_ARGUMENT, "the context is null");
  }
  if (status != GEMEL_OK) {
    return status;
  }
  gemel_rules *builtin = rules == NULL ? gemel_rules_builtin(context, error) : NULL;
  const gemel_rules *set = rules != NULL ? rules : builtin;
  status = set == NULL ? GEMEL_NO_MEMORY : prove_rules(set, glob, &taken, error);
  gemel_rules_unref(builtin);
  return status;
}
