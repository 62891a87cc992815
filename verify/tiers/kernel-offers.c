/* SPDX-License-Identifier: MIT
 *
 * What a program's own kernel was offered and what it took: instances by dtype and rank, variants,
 * and its reasons for declining. gemel__kernel_probe asks about many instances at once: one child
 * process only calls `prepare`, without memory for a call.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "tiers/kernel.h"

/* ---- Counting ---- */

/* The first operand (or result): its dtype and rank count as the instance's. */
static const gemel__leaf *first_of(const gemel__kernel_case *c) {
  return c->n_in > 0 ? &c->in[0] : &c->out[0];
}

/* Keeps C as an example of what was declined, unless there is one of its dtype or rank. */
static void keep(gemel__kernel_offers *o, const gemel__kernel_case *c) {
  const gemel__leaf *leaf = first_of(c);
  int known = o->n_shown == GEMEL__KERNEL_SHOWN || leaf->count == 0;
  for (size_t k = 0; k < o->n_shown; k++) {
    known |= o->shown[k].dtype == leaf->dtype || o->shown[k].rank == leaf->rank;
  }
  if (!known) {
    o->shown[o->n_shown].dtype = leaf->dtype;
    o->shown[o->n_shown].rank = leaf->rank;
    gemel__kernel_case_text(c, o->shown[o->n_shown++].text, GEMEL__KERNEL_SHOWN_BYTES);
  }
}

void gemel__kernel_offered(gemel__kernel_offers *o, const gemel__kernel_case *c, int taken) {
  const gemel__leaf *leaf = first_of(c);
  if (!taken) {
    keep(o, c);
  }
  o->offered[leaf->dtype][leaf->rank]++;
  o->taken[leaf->dtype][leaf->rank] += taken != 0;
}

void gemel__kernel_reason(gemel__kernel_offers *o, const char *reason) {
  size_t k = 0;
  while (k < o->n_reasons && strcmp(o->reasons[k].text, reason) != 0) {
    k++;
  }
  if (reason[0] == '\0' || k == GEMEL__KERNEL_REASONS) {
    return;
  }
  if (k == o->n_reasons) {
    o->n_reasons++;
    snprintf(o->reasons[k].text, sizeof o->reasons[k].text, "%s", reason);
  }
  o->reasons[k].count++;
}

/* ---- In words ---- */

/* How many instances of DTYPE and RANK (−1: any) were taken (TAKEN) or offered. */
static size_t total(const gemel__kernel_offers *o, int taken, int dtype, int rank) {
  size_t n = 0;
  for (int d = 0; d < GEMEL_DTYPE_COUNT; d++) {
    for (int r = 0; r <= GEMEL_MAX_RANK; r++) {
      if ((dtype < 0 || d == dtype) && (rank < 0 || r == rank)) {
        n += taken ? o->taken[d][r] : o->offered[d][r];
      }
    }
  }
  return n;
}

size_t gemel__kernel_taken(const gemel__kernel_offers *o) {
  return total(o, 1, -1, -1);
}

/* Appends WORD to a list; BEFORE precedes the first word. */
static void add(char *text, size_t bytes, int *n, const char *before, const char *word) {
  size_t used = strlen(text);
  snprintf(text + used, bytes - used, "%s%s", *n == 0 ? before : ", ", word);
  ++*n;
}

/* Writes which dtypes and ranks were TAKEN, or offered: "f64 of ranks 0 to 9". */
static void say_types(const gemel__kernel_offers *o, int taken, char *text, size_t bytes) {
  int n = 0, least = GEMEL_MAX_RANK, most = 0;
  for (int d = 0; d < GEMEL_DTYPE_COUNT; d++) {
    if (total(o, taken, d, -1) > 0) {
      add(text, bytes, &n, ": ", gemel_dtype_name((gemel_dtype)d));
    }
  }
  for (int r = 0; r <= GEMEL_MAX_RANK; r++) {
    if (total(o, taken, -1, r) > 0) {
      least = r < least ? r : least;
      most = r;
    }
  }
  size_t used = strlen(text);
  snprintf(text + used, bytes - used, least < most ? " of ranks %d to %d" : " of rank %d", least,
           most);
}

/* 1 if no instance of RANK was taken, though some were offered in dtypes that the kernel takes. */
static int never_ranked(const gemel__kernel_offers *o, int rank) {
  size_t offered = 0, taken = 0;
  for (int d = 0; d < GEMEL_DTYPE_COUNT; d++) {
    if (total(o, 1, d, -1) > 0) {
      offered += o->offered[d][rank];
      taken += o->taken[d][rank];
    }
  }
  return offered > 0 && taken == 0;
}

static void say_never(const gemel__kernel_offers *o, char *text, size_t bytes) {
  static const char before[] = "; never taken: ";
  char word[16];
  int n = 0;
  for (int d = 0; d < GEMEL_DTYPE_COUNT; d++) {
    if (total(o, 0, d, -1) > 0 && total(o, 1, d, -1) == 0) {
      add(text, bytes, &n, before, gemel_dtype_name((gemel_dtype)d));
    }
  }
  for (int r = 0; r <= GEMEL_MAX_RANK; r++) {
    snprintf(word, sizeof word, "rank %d", r);
    if (never_ranked(o, r)) {
      add(text, bytes, &n, before, word);
    }
  }
  for (int v = 0; v < GEMEL__KERNEL_VARIANTS; v++) {
    if (o->asked[v] > 0 && o->declined[v] == o->asked[v]) {
      add(text, bytes, &n, before, gemel__kernel_variants[v].name);
    }
  }
}

static void say_reason(const gemel__kernel_offers *o, char *text, size_t bytes) {
  size_t best = 0, used = strlen(text);
  for (size_t k = 1; k < o->n_reasons; k++) {
    best = o->reasons[k].count > o->reasons[best].count ? k : best;
  }
  if (o->n_reasons > 0) {
    snprintf(text + used, bytes - used, "; its reason (%zu times): %s", o->reasons[best].count,
             o->reasons[best].text);
  }
}

/* Some of what was declined. */
static void say_examples(const gemel__kernel_offers *o, char *text, size_t bytes) {
  for (size_t k = 0; k < o->n_shown; k++) {
    size_t used = strlen(text);
    snprintf(text + used, bytes - used, "%s (%zu) %s", k == 0 ? "; declined, for example:" : ",",
             k + 1, o->shown[k].text);
  }
}

void gemel__kernel_offers_text(const gemel__kernel_offers *o, char *text, size_t bytes) {
  size_t offered = total(o, 0, -1, -1), taken = gemel__kernel_taken(o);
  if (taken == 0) {
    snprintf(text, bytes, "the kernel declined all %zu instances that it was offered", offered);
    say_types(o, 0, text, bytes);
    size_t used = strlen(text);
    snprintf(text + used, bytes - used, ", each in up to %d ways", GEMEL__KERNEL_VARIANTS);
  } else {
    snprintf(text, bytes, "%zu instances taken in %zu calls", taken, o->calls);
    say_types(o, 1, text, bytes);
    size_t used = strlen(text);
    if (taken < offered) {
      snprintf(text + used, bytes - used, "; the kernel declined %zu instances", offered - taken);
    }
    say_never(o, text, bytes);
  }
  say_reason(o, text, bytes);
  if (2 * taken < offered) {
    say_examples(o, text, bytes);
  }
}

/* ---- Asking ---- */

struct asked {
  int answered, taken;
  char reason[sizeof(gemel__kernel_reasons){0}.text];
};

struct asked_shared {
  gemel__report report;
  struct asked asked[GEMEL__KERNEL_PROBES];
};

struct kernel_probe {
  const gemel__kernel_case *cases;
  size_t n;
  uint64_t seed;
  struct asked_shared *shared;
};

/* 1 if the kernel's `prepare` doesn't decline case K in variant V. */
static int takes(const struct kernel_probe *job, size_t k, const gemel__kernel_variant *v) {
  struct asked *a = &job->shared->asked[k];
  gemel__kernel_prepared p;
  gemel_status status;
  memset(&p, 0, sizeof p);
  gemel__process_at(&job->shared->report, &p, NULL, GEMEL__STAGE_PREPARE);
  gemel__kernel_prepare(&p, &job->cases[k], v, job->seed, &status);
  if (status == GEMEL_DECLINED) {
    snprintf(a->reason, sizeof a->reason, "%.99s", p.error.text);
  }
  gemel__process_at(&job->shared->report, &p, NULL, GEMEL__STAGE_RELEASE);
  gemel__kernel_release(&p);
  gemel__process_at(&job->shared->report, NULL, NULL, GEMEL__STAGE_NONE);
  return status != GEMEL_DECLINED;
}

static void ask_all(void *user) {
  const struct kernel_probe *job = user;
  for (size_t k = 0; k < job->n; k++) {
    int taken = 0;
    for (int v = 0; v < GEMEL__KERNEL_VARIANTS && !taken; v++) {
      const gemel__kernel_variant *variant = &gemel__kernel_variants[v];
      taken = gemel__kernel_lie_differs(&job->cases[k], variant->lie) && takes(job, k, variant);
    }
    job->shared->asked[k].taken = taken;
    job->shared->asked[k].answered = 1;
    if (taken) {
      return;
    }
  }
}

gemel_status gemel__kernel_probe(gemel__kernel_trial *trial, const gemel__kernel_case *cases,
                                 size_t n, uint64_t seed, size_t *first, gemel_error *error) {
  struct kernel_probe job = {cases, n, seed, gemel__process_memory(sizeof(struct asked_shared))};
  gemel__end end;
  if (job.shared == NULL) {
    return gemel__no_memory(error, "a kernel's answers");
  }
  gemel_status status = gemel__process_run(ask_all, &job, &job.shared->report, trial->seconds,
                                           trial->in_process, &end, error);
  size_t k = 0;
  for (; k < n && status == GEMEL_OK; k++) {
    const struct asked *a = &job.shared->asked[k];
    /* no answer: `prepare` crashed or didn't return, which the run will refute */
    if (a->taken || !a->answered) {
      break;
    }
    gemel__kernel_offered(&trial->offers, &cases[k], 0);
    gemel__kernel_reason(&trial->offers, a->reason);
  }
  *first = k;
  gemel__process_memory_free(job.shared, sizeof *job.shared);
  return status;
}
