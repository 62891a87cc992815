/* SPDX-License-Identifier: MIT
 *
 * One instance through a program's own kernel, in all variants: layouts, places in memory, numbers
 * of threads, garbage in memory. A child process calls the kernel. It writes the results of each
 * variant into shared memory, and notes which variants gave the same bits. This process makes
 * tensors of those that differ, for the reference to judge.
 */
#include "tiers/kernel.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "base/clock.h"

enum { SLOW_SECONDS = 3 };

#define DENSE GEMEL__LIE_DENSE
#define AT_END GEMEL__AT_END
#define AT_START GEMEL__AT_START

/* The garbage is 0xff bytes, which are NaN in every float dtype, or bytes that make an ordinary
 * number. */
const gemel__kernel_variant gemel__kernel_variants[GEMEL__KERNEL_VARIANTS] = {
    {"dense", DENSE, AT_END, 1, 1, 0xff, 1, 0},
    {"other garbage", DENSE, AT_END, 1, 1, 0x41, 1, 0},
    {"2 threads", DENSE, AT_END, 2, 1, 0xff, 1, 0},
    {"3 threads", DENSE, AT_END, 3, 1, 0x41, 1, 0},
    {"8 threads", DENSE, AT_END, 8, 1, 0xff, 1, 0},
    {"any order", DENSE, AT_START, 1, 0, 0x41, 0, 0},
    {"2 threads, any order", DENSE, AT_START, 2, 0, 0xff, 0, 0},
    {"3 threads, any order", DENSE, GEMEL__AT_ODD, 3, 0, 0x41, 0, 0},
    {"8 threads, any order", DENSE, AT_END, 8, 0, 0xff, 0, 0},
    {"odd alignment", DENSE, GEMEL__AT_ODD, 1, 1, 0xff, 0, 0},
    {"scattered", GEMEL__LIE_SCATTERED, AT_END, 1, 1, 0xff, 2, 0},
    {"scattered, 3 threads", GEMEL__LIE_SCATTERED, AT_END, 3, 1, 0x41, 2, 0},
    {"scattered, 8 threads", GEMEL__LIE_SCATTERED, AT_START, 8, 0, 0xff, 0, 0},
    {"backwards", GEMEL__LIE_BACKWARDS, AT_START, 1, 0, 0xff, 0, 0},
    {"backwards, 2 threads", GEMEL__LIE_BACKWARDS, AT_END, 2, 0, 0x41, 0, 0},
    {"permuted", GEMEL__LIE_PERMUTED, AT_END, 2, 0, 0xff, 0, 0},
    {"repeated", GEMEL__LIE_REPEATED, AT_END, 1, 0, 0xff, 0, 0},
    {"rows apart", GEMEL__LIE_ROWS, AT_END, 1, 0, 0xff, 0, 0},
    {"columns apart", GEMEL__LIE_COLUMNS, AT_END, 2, 0, 0x41, 0, 0},
    {"channels last", GEMEL__LIE_CHANNELS, AT_END, 2, 0, 0xff, 0, 0},
    {"shared memory", GEMEL__LIE_SHARED, AT_END, 2, 0, 0x41, 0, 0},
    {"in place of an operand", GEMEL__LIE_IN_PLACE, AT_END, 2, 0, 0xff, 0, 0}};

/* ---- In the process of the kernel ---- */

/* What came of a variant. */
struct tried {
  gemel_status status; /* GEMEL_DECLINED: by the kernel, or the layout doesn't exist */
  int skipped;         /* the layout doesn't exist for this case */
  int as;              /* an earlier variant with the same results; −1: none */
  char text[160];      /* of an error */
  char reason[100];    /* why the kernel declined, in its words */
};

/* The shared memory of both processes. A row of results for each variant follows. */
struct kernel_shared {
  gemel__report report;
  struct tried tried[GEMEL__KERNEL_VARIANTS];
  _Alignas(64) char rows[];
};

struct kernel_job {
  const gemel__kernel_case *c;
  struct kernel_shared *shared;
  uint64_t seed;
  unsigned wanted; /* bit 1 << variant */
};

static char *row_of(const struct kernel_job *job, int v) {
  return job->shared->rows + (size_t)v * job->c->out_bytes;
}

/* Has malloc fill the memory that it gives, and what it gets back, with GARBAGE. */
static void soil_heap(unsigned char garbage) {
#ifdef M_PERTURB
  mallopt(M_PERTURB, garbage ^ 0xa5);
#else
  (void)garbage;
#endif
}

static void call_once(const struct kernel_job *job, int v, gemel__kernel_prepared *p) {
  struct tried *t = &job->shared->tried[v];
  gemel__report *report = &job->shared->report;
  gemel__kernel_memory m;
  if (gemel__kernel_memory_new(&m, p, job->c->values) != 0) {
    t->status = GEMEL_NO_MEMORY;
    snprintf(t->text, sizeof t->text, "no memory for a call with %zu bytes of scratch memory",
             p->call.scratch_bytes);
    gemel__kernel_memory_free(&m);
    return;
  }
  gemel__process_at(report, p, &m, GEMEL__STAGE_RUN);
  t->status = gemel__kernel_call(p, &m, p->v->garbage);
  gemel__process_at(report, p, &m, GEMEL__STAGE_NONE);
  const gemel__block *spoilt = gemel__kernel_memory_spoilt(p, &m);
  if (t->status != GEMEL_OK) {
    snprintf(t->text, sizeof t->text, "run returned \"%s\"%s%.80s", gemel_status_text(t->status),
             p->error.text[0] != '\0' ? ": " : "", p->error.text);
  } else if (spoilt != NULL) {
    t->status = GEMEL_INTERNAL;
    snprintf(t->text, sizeof t->text, "it wrote to memory beside %s", spoilt->name);
  } else {
    gemel__kernel_memory_results(p, &m, row_of(job, v));
  }
  gemel__kernel_memory_free(&m);
}

static void find_equal(const struct kernel_job *job, int v) {
  struct tried *t = job->shared->tried;
  size_t output, element;
  for (int k = 0; k < v; k++) {
    if (t[k].status == GEMEL_OK && t[k].as < 0 &&
        gemel__kernel_case_same(job->c, row_of(job, k), row_of(job, v), &output, &element)) {
      t[v].as = k;
      return;
    }
  }
}

static void try_variant(const struct kernel_job *job, int v) {
  const gemel__kernel_variant *variant = &gemel__kernel_variants[v];
  struct tried *t = &job->shared->tried[v];
  gemel__report *report = &job->shared->report;
  gemel__kernel_prepared p;
  report->doing = v;
  t->as = -1;
  if (!gemel__kernel_lie_differs(job->c, variant->lie) || !(job->wanted >> v & 1)) {
    t->status = GEMEL_DECLINED;
    t->skipped = 1;
    return;
  }
  soil_heap(variant->garbage);
  memset(&p, 0, sizeof p);
  gemel__process_at(report, &p, NULL, GEMEL__STAGE_PREPARE);
  if (gemel__kernel_prepare(&p, job->c, variant, job->seed, &t->status) != 0) {
    snprintf(t->text, sizeof t->text, "no memory is left");
  } else if (t->status == GEMEL_OK) {
    call_once(job, v, &p);
  } else if (t->status == GEMEL_DECLINED) {
    snprintf(t->reason, sizeof t->reason, "%.99s", p.error.text);
  } else {
    snprintf(t->text, sizeof t->text, "prepare returned \"%s\"%s%.80s",
             gemel_status_text(t->status), p.error.text[0] != '\0' ? ": " : "", p.error.text);
  }
  gemel__process_at(report, &p, NULL, GEMEL__STAGE_RELEASE);
  gemel__kernel_release(&p);
  gemel__process_at(report, NULL, NULL, GEMEL__STAGE_NONE);
  if (t->status == GEMEL_OK) {
    find_equal(job, v);
  } else if (t->status == GEMEL_DECLINED && t->text[0] != '\0') {
    t->status = GEMEL_INTERNAL; /* it declined in run */
  }
}

static void try_all(void *user) {
  const struct kernel_job *job = user;
  for (int v = 0; v < GEMEL__KERNEL_VARIANTS; v++) {
    try_variant(job, v);
    if (job->shared->tried[v].status != GEMEL_OK &&
        job->shared->tried[v].status != GEMEL_DECLINED) {
      return; /* one refutation is enough */
    }
  }
}

/* ---- In the process that judges ---- */

static void refute_call(const gemel__kernel_case *c, int v, uint64_t seed, const char *got,
                        gemel__outcome *outcome) {
  outcome->refuted = 1;
  outcome->whole = 1;
  outcome->variant = gemel__kernel_variants[v].name;
  snprintf(outcome->expected, sizeof outcome->expected, "results");
  snprintf(outcome->got, sizeof outcome->got, "%s", got);
  gemel__kernel_describe(c, &gemel__kernel_variants[v], seed, outcome->manner,
                         sizeof outcome->manner);
}

/* Which variants are tried: all, or a FEW, or (while shrinking) the refuted one and the first of
 * its group. */
static unsigned wanted_variants(const gemel__kernel_trial *trial) {
  int v = trial->only, k;
  unsigned wanted = trial->few > 0 ? 1u << trial->few | 1u : (1u << GEMEL__KERNEL_VARIANTS) - 1;
  if (v >= 0) {
    wanted = 1u << v;
    for (k = 0; k < v && gemel__kernel_variants[v].group > 0; k++) {
      if (gemel__kernel_variants[k].group == gemel__kernel_variants[v].group) {
        wanted |= 1u << k;
        break;
      }
    }
  }
  return wanted;
}

/* Finds the first variant whose results differ in a bit from those of an earlier one of its group.
 */
static void hold_together(const struct kernel_job *job, gemel__outcome *outcome) {
  const gemel__kernel_variant *variants = gemel__kernel_variants;
  const struct tried *t = job->shared->tried;
  int first[3] = {-1, -1, -1}, v;
  for (v = 0; v < GEMEL__KERNEL_VARIANTS; v++) {
    int group = variants[v].group, f = first[group];
    size_t output, element, at;
    gemel_dtype dtype;
    if (t[v].status != GEMEL_OK || group == 0) {
      continue;
    }
    if (f < 0) {
      first[group] = v;
    } else if (!gemel__kernel_case_same(job->c, row_of(job, f), row_of(job, v), &output,
                                        &element)) {
      char as[100];
      dtype = job->c->out[output].dtype;
      at = job->c->out_at[output] + element * gemel_dtype_size(dtype);
      outcome->refuted = 1;
      outcome->output = output;
      outcome->element = element;
      outcome->variant = variants[v].name;
      snprintf(as, sizeof as, " in every bit, as in \"%s\"", variants[f].name);
      gemel__outcome_numbers(outcome, dtype, row_of(job, f) + at, as, row_of(job, v) + at);
      gemel__kernel_describe(job->c, &variants[v], job->seed, outcome->manner,
                             sizeof outcome->manner);
      return;
    }
  }
}

static gemel_status count(const struct kernel_job *job, gemel__kernel_trial *trial) {
  const struct tried *t = job->shared->tried;
  gemel__kernel_offers *o = &trial->offers;
  int v, taken = 0;
  for (v = 0; v < GEMEL__KERNEL_VARIANTS; v++) {
    if (!t[v].skipped) {
      o->asked[v]++;
      o->declined[v] += t[v].status == GEMEL_DECLINED;
      taken |= t[v].status != GEMEL_DECLINED;
      gemel__kernel_reason(o, t[v].reason);
    }
  }
  o->calls += job->shared->report.runs;
  gemel__kernel_offered(o, job->c, taken);
  return taken ? GEMEL_OK : GEMEL_DECLINED;
}

/* Makes tensors of the results that differ from all earlier ones. */
static gemel_status collect(const struct kernel_job *job, gemel__kernel_results *results,
                            gemel_error *error) {
  for (int v = 0; v < GEMEL__KERNEL_VARIANTS; v++) {
    const struct tried *t = &job->shared->tried[v];
    if (t->status == GEMEL_OK && t->as < 0) {
      GEMEL__TRY(
          gemel__kernel_case_tensors(job->c, row_of(job, v), results->outputs[results->n], error));
      results->variants[results->n] = v;
      results->names[results->n++] = gemel__kernel_variants[v].name;
    }
  }
  return GEMEL_OK;
}

static gemel_status conclude(const struct kernel_job *job, gemel__kernel_trial *trial,
                             const gemel__end *end, gemel__kernel_results *results,
                             gemel__outcome *outcome, gemel_error *error) {
  const struct tried *t = job->shared->tried;
  if (!end->good) {
    trial->hung |= end->hung;
    refute_call(job->c, job->shared->report.doing, job->seed, end->text, outcome);
    return GEMEL_OK;
  }
  for (int v = 0; v < GEMEL__KERNEL_VARIANTS; v++) {
    if (t[v].status != GEMEL_OK && t[v].status != GEMEL_DECLINED) {
      refute_call(job->c, v, job->seed, t[v].text, outcome);
      return GEMEL_OK;
    }
  }
  GEMEL__TRY(count(job, trial));
  GEMEL__TRY(collect(job, results, error));
  hold_together(job, &results->apart);
  return GEMEL_OK;
}

/* Runs the job's case, which RESULTS own from now on. */
static gemel_status run_case(struct kernel_job *job, gemel__kernel_case *c,
                             gemel__kernel_trial *trial, gemel__kernel_results *results,
                             gemel__outcome *outcome, gemel_error *error) {
  double started = gemel__clock();
  gemel__end end;
  results->c = c;
  results->n_out = c->n_out;
  results->seed = job->seed;
  results->memory_bytes = sizeof(struct kernel_shared) + GEMEL__KERNEL_VARIANTS * c->out_bytes;
  results->memory = job->shared = gemel__process_memory(results->memory_bytes);
  if (job->shared == NULL) {
    return gemel__no_memory(error, "a kernel's results");
  }
  gemel_status status = gemel__process_run(try_all, job, &job->shared->report, trial->seconds,
                                           trial->in_process, &end, error);
  trial->slow |= gemel__clock() - started > SLOW_SECONDS;
  GEMEL__TRY(status);
  return conclude(job, trial, &end, results, outcome, error);
}

gemel_status gemel__kernel_run(const gemel__instance *instance, gemel__kernel_trial *trial,
                               gemel_tensor *const *values, gemel__random *random,
                               gemel__kernel_results *results, gemel__outcome *outcome,
                               gemel_error *error) {
  gemel__kernel_case *c = gemel__alloc(sizeof *c);
  struct kernel_job job = {c, NULL, gemel__random_bits(random), wanted_variants(trial)};
  memset(results, 0, sizeof *results);
  if (c == NULL) {
    return gemel__no_memory(error, "a kernel's call");
  }
  gemel_status status = trial->hung || (trial->narrowing && trial->slow)
                            ? GEMEL_DECLINED
                            : gemel__kernel_case_init(c, instance, trial->kernel, values);
  if (status != GEMEL_OK) {
    gemel__free(c, sizeof *c);
    return status;
  }
  return run_case(&job, c, trial, results, outcome, error);
}

void gemel__kernel_results_clear(gemel__kernel_results *results) {
  for (size_t k = 0; k < results->n; k++) {
    gemel__tensors_release(results->n_out, results->outputs[k]);
  }
  gemel__process_memory_free(results->memory, results->memory_bytes);
  gemel__free(results->c, sizeof *results->c);
  memset(results, 0, sizeof *results);
}

/* ---- For who judges ---- */

void gemel__kernel_say(const gemel__kernel_results *results, size_t k, gemel__outcome *outcome) {
  gemel__kernel_describe(results->c, &gemel__kernel_variants[results->variants[k]], results->seed,
                         outcome->manner, sizeof outcome->manner);
}

void gemel__kernel_hold(const gemel__kernel_results *results, gemel__outcome *outcome) {
  const gemel__outcome *apart = &results->apart;
  if (apart->refuted) {
    outcome->refuted = 1;
    outcome->output = apart->output;
    outcome->element = apart->element;
    outcome->variant = apart->variant;
    memcpy(outcome->expected, apart->expected, sizeof outcome->expected);
    memcpy(outcome->got, apart->got, sizeof outcome->got);
    memcpy(outcome->manner, apart->manner, sizeof outcome->manner);
  }
}

void gemel__kernel_narrow(gemel__kernel_trial *trial, const gemel__outcome *outcome) {
  trial->only = -1;
  trial->narrowing = 1;
  for (int v = 0; v < GEMEL__KERNEL_VARIANTS; v++) {
    if (outcome->variant == gemel__kernel_variants[v].name) {
      trial->only = v;
    }
  }
}

void gemel__kernel_widen(gemel__kernel_trial *trial) {
  trial->only = -1;
  trial->narrowing = 0;
}

void gemel__kernel_repeat(const gemel__instance *instance, gemel__random *random,
                          gemel_tensor *const *values) {
  const gemel__leaf *leaf;
  size_t k = (size_t)gemel__random_below(random, instance->n_leaves), inner, outer = 1, o, j;
  char *data;
  int axis, i;
  if (instance->n_leaves == 0 || instance->leaves[k].rank == 0 || instance->leaves[k].count == 0) {
    return;
  }
  leaf = &instance->leaves[k];
  data = gemel_tensor_data(values[k]);
  inner = gemel_dtype_size(leaf->dtype);
  axis = (int)gemel__random_below(random, (uint64_t)leaf->rank);
  for (i = 0; i < leaf->rank; i++) {
    *(i < axis ? &outer : &inner) *= i == axis ? 1 : (size_t)leaf->shape[i];
  }
  for (o = 0; o < outer; o++) {
    char *first = data + o * inner * (size_t)leaf->shape[axis];
    for (j = 1; j < (size_t)leaf->shape[axis]; j++) {
      memcpy(first + j * inner, first, inner);
    }
  }
}
