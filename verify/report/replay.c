/* SPDX-License-Identifier: MIT
 *
 * Replaying: reads what report/report.c wrote and asks the same question again, on the graph and
 * the values in the file. Needs neither the sampler nor the seed that found it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "harness/run.h"

struct replay {
  char *text;
  size_t bytes;
  char kind[32], name[160], tier[32];
  unsigned long long seed;
  double ulp;
  int elementwise;
  size_t calls;
  int in_sequence;
  gemel_graph *graph, *other;
  gemel__instance instance;
  gemel_tensor **values;
  int lacks_values; /* the file has none, and its tier can be asked without */
};

/* ---- Reading ---- */

static gemel_status read_file(const char *path, struct replay *r, gemel_error *error) {
  FILE *file = fopen(path, "rb");
  size_t capacity = 0, used = 0, n = 1;
  if (file == NULL) {
    return gemel__fail(error, GEMEL_BAD_FILE, "%s: %s", path, strerror(errno));
  }
  while (n > 0) {
    if (used > (size_t)1 << 28 || gemel__grow(&r->text, &capacity, used + 65537, 1) != 0) {
      fclose(file);
      r->bytes = capacity;
      return gemel__no_memory(error, "a replay file");
    }
    n = fread(r->text + used, 1, 65536, file);
    used += n;
  }
  r->bytes = capacity;
  r->text[used] = '\0';
  n = (size_t)ferror(file);
  fclose(file);
  if (n != 0 || strncmp(r->text, "# gemel replay 1\n", 17) != 0 || strlen(r->text) != used) {
    return gemel__fail(error, GEMEL_BAD_FILE, "%s is not a replay file", path);
  }
  return GEMEL_OK;
}

/* The rest of the K-th line that begins with PREFIX, or NULL. */
static const char *find_line(const char *text, const char *prefix, size_t k) {
  size_t length = strlen(prefix);
  const char *line = text;
  while (line != NULL && *line != '\0') {
    if (strncmp(line, prefix, length) == 0 && k-- == 0) {
      return line + length;
    }
    line = strchr(line, '\n');
    line = line != NULL ? line + 1 : NULL;
  }
  return NULL;
}

static int take_word(const char *text, const char *prefix, char *word, size_t bytes) {
  const char *at = find_line(text, prefix, 0);
  size_t n = at != NULL ? strcspn(at, "\n") : 0;
  if (at == NULL || n == 0 || n >= bytes) {
    return 0;
  }
  memcpy(word, at, n);
  word[n] = '\0';
  return 1;
}

static int take_header(struct replay *r) {
  char number[64];
  if (!take_word(r->text, "# kind: ", r->kind, sizeof r->kind) ||
      !take_word(r->text, "# name: ", r->name, sizeof r->name) ||
      !take_word(r->text, "# tier: ", r->tier, sizeof r->tier) ||
      !take_word(r->text, "# seed: ", number, sizeof number)) {
    return 0;
  }
  r->seed = strtoull(number, NULL, 10);
  if (!take_word(r->text, "# ulp: ", number, sizeof number)) {
    return 0;
  }
  r->ulp = strtod(number, NULL);
  r->elementwise = take_word(r->text, "# elementwise: ", number, sizeof number) && number[0] == '1';
  /* as many as any instance has; a damaged file isn't to keep us for hours */
  r->calls = take_word(r->text, "# calls: ", number, sizeof number) && number[0] > '0' &&
                     number[0] <= '9' && number[1] == '\0'
                 ? (size_t)(number[0] - '0')
                 : 0;
  r->in_sequence = take_word(r->text, "# sequence: ", number, sizeof number) && number[0] == '1';
  return 1;
}

/* The graph called NAME: from its line to the closing brace that begins a line. */
static gemel_graph *take_graph(gemel_context *context, struct replay *r, const char *name,
                               const char *path, gemel_error *error) {
  char head[64];
  const char *at, *end;
  for (at = strstr(r->text, "\noperation "); at != NULL; at = strstr(at + 1, "\noperation ")) {
    if (gemel_define_operations(context, at, strlen(at), path, error) != GEMEL_OK) {
      return NULL;
    }
  }
  snprintf(head, sizeof head, "\ngraph %s(", name);
  at = strstr(r->text, head);
  end = at != NULL ? strstr(at, "\n}") : NULL;
  if (end == NULL) {
    return NULL;
  }
  return gemel_parse(context, at + 1, (size_t)(end + 3 - (at + 1)), path, NULL, error);
}

static int store_number(gemel_dtype dtype, const char *word, char **end, void *at) {
  if (!gemel__is_float(dtype)) {
    int64_t x = dtype == GEMEL_U64 ? (int64_t)strtoull(word, end, 10) : strtoll(word, end, 10);
    gemel__points_store(dtype, 1, NULL, &x, at);
  } else {
    double x = strtod(word, end);
    gemel__store_real(dtype, x, at);
  }
  return *end != word;
}

static gemel_status take_values(struct replay *r, gemel_error *error) {
  r->values = gemel__alloc_array(r->instance.n_leaves, sizeof *r->values);
  if (r->values == NULL) {
    return gemel__no_memory(error, "values");
  }
  for (size_t k = 0; k < r->instance.n_leaves; k++) {
    const gemel__leaf *leaf = &r->instance.leaves[k];
    const char *line = find_line(r->text, "# input ", k);
    const char *domain = find_line(r->text, "# domain: ", k);
    const char *at = line != NULL ? strchr(line, '=') : NULL;
    int number = 0;
    r->values[k] = gemel_tensor_new(leaf->dtype, leaf->rank, leaf->shape, error);
    if (r->values[k] == NULL) {
      return GEMEL_NO_MEMORY;
    }
    if (domain != NULL) {
      long long low = 0, high = 0;
      sscanf(domain, "%d %lld %lld", &number, &low, &high);
      r->instance.leaves[k].domain = (gemel_domain)number;
      r->instance.leaves[k].low = low;
      r->instance.leaves[k].high = high;
    }
    at = at != NULL ? at + 1 : NULL;
    for (size_t i = 0; i < leaf->count; i++) {
      char *end = NULL;
      void *to = (char *)gemel_tensor_data(r->values[k]) + i * gemel_dtype_size(leaf->dtype);
      if (at == NULL || !store_number(leaf->dtype, at, &end, to)) {
        /* the models of these tiers refute without values, too */
        r->lacks_values = strcmp(r->tier, "gradient") == 0 || strcmp(r->tier, "real") == 0;
        return r->lacks_values
                   ? GEMEL_OK
                   : gemel__fail(error, GEMEL_BAD_FILE, "input %zu has too few values", k);
      }
      at = end;
    }
  }
  return GEMEL_OK;
}

static gemel_status parse_replay(gemel_context *context, const char *path, struct replay *r,
                                 gemel_error *error) {
  gemel_error mine = {GEMEL_OK, 0, 0, ""};
  gemel_status status = read_file(path, r, error);
  if (status != GEMEL_OK) {
    return status;
  }
  if (!take_header(r)) {
    return gemel__fail(error, GEMEL_BAD_FILE, "%s: the header of the replay file is damaged", path);
  }
  r->graph = take_graph(context, r, "instance", path, &mine);
  r->other = r->graph != NULL ? take_graph(context, r, "other", path, &mine) : NULL;
  if (r->graph == NULL || mine.status != GEMEL_OK) {
    if (mine.status == GEMEL_OK) {
      return gemel__fail(error, GEMEL_BAD_FILE, "%s: the replay file has no graph", path);
    }
    if (error != NULL) {
      *error = mine;
    }
    return mine.status;
  }
  status = gemel__instance_of_graph(&r->instance, r->graph, NULL, error);
  r->instance.ulp = r->ulp;
  r->instance.elementwise = r->elementwise;
  r->instance.calls = r->calls;
  r->instance.in_sequence = r->in_sequence && r->calls == 0;
  return status == GEMEL_OK ? take_values(r, error) : status;
}

static void clear_replay(struct replay *r) {
  if (r->values != NULL) {
    gemel__tensors_release(r->instance.n_leaves, r->values);
    gemel__free(r->values, r->instance.n_leaves * sizeof *r->values);
  }
  gemel__instance_clear(&r->instance);
  gemel_graph_unref(r->graph);
  gemel_graph_unref(r->other);
  gemel__free(r->text, r->bytes);
}

/* ---- Asking again ---- */

static int same_leaf(const gemel__leaf *a, const gemel__leaf *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         (a->rank == 0 || memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0);
}

/* But for sizes that only a run shows. */
static int same_type(gemel_context *context, gemel_type x, gemel_type y) {
  int rank = gemel_type_rank(context, x), k;
  int same = gemel_type_dtype(context, x) == gemel_type_dtype(context, y) &&
             rank == gemel_type_rank(context, y);
  for (k = 0; k < rank && same; k++) {
    int64_t m, n;
    same = !gemel_dim_is_constant(context, gemel_type_dims(context, x)[k], &m) ||
           !gemel_dim_is_constant(context, gemel_type_dims(context, y)[k], &n) || m == n;
  }
  return same;
}

/* The values in the file are read for both graphs, and their results are compared one by one. */
static gemel_status check_fit(const gemel__instance *a, const gemel__instance *b,
                              gemel_error *error) {
  size_t n = gemel_graph_output_count(a->graph), k;
  int fits = a->n_leaves == b->n_leaves && n == gemel_graph_output_count(b->graph);
  for (k = 0; k < a->n_leaves && fits; k++) {
    fits = same_leaf(&a->leaves[k], &b->leaves[k]);
  }
  for (k = 0; k < n && fits; k++) {
    fits = same_type(a->graph->context, gemel_value_type(gemel_graph_output(a->graph, k)),
                     gemel_value_type(gemel_graph_output(b->graph, k)));
  }
  return fits ? GEMEL_OK
              : gemel__fail(error, GEMEL_BAD_FILE,
                            "the two graphs of the replay file have other inputs or outputs");
}

static gemel_status replay_check(gemel__run *run, struct replay *r, gemel_record *record,
                                 gemel__check check, gemel_error *error) {
  gemel__random random;
  gemel__instance other;
  gemel__trial trial = {NULL, &random, NULL};
  gemel__outcome o;
  gemel_status status = GEMEL_OK;
  memset(&o, 0, sizeof o);
  memset(&other, 0, sizeof other);
  gemel__random_seed(&random, r->seed);
  if (r->other != NULL) {
    status = gemel__instance_of_graph(&other, r->other, NULL, error);
    trial.other = &other;
  }
  if (status == GEMEL_OK && r->other != NULL) {
    status = check_fit(&r->instance, &other, error);
  }
  if (status == GEMEL_OK) {
    status = check(&r->instance, r->values, &trial, &o, error);
  }
  gemel__instance_clear(&other);
  if (status != GEMEL_OK) {
    return status;
  }
  record->elements = o.compared;
  record->worst = o.worst;
  record->instances = 1;
  if (o.refuted) {
    char place[160];
    size_t used = gemel__outcome_place(&o, place, sizeof place);
    snprintf(place + used, sizeof place - used, " (%s)", o.variant != NULL ? o.variant : "exact");
    record->detail = place;
    gemel__record_refuted(run, record, &r->instance, r->other, r->values, place, o.expected, o.got,
                          r->seed);
  } else {
    record->verdict = GEMEL_PASSED;
    gemel__record_emit(run, record);
  }
  return GEMEL_OK;
}

static gemel_status replay_gradient(gemel__run *run, struct replay *r, gemel_record *record,
                                    gemel_error *error) {
  gemel__answer answer;
  gemel__partial parts[GEMEL__MOST_PARTIALS];
  size_t n = gemel__instance_partials(&r->instance, parts), k;
  gemel_status status = gemel__decide_gradient(&r->instance, r->seed, 5, 2, &answer, error);
  for (k = 0; k < n && status == GEMEL_OK && answer.verdict != GEMEL_REFUTED; k++) {
    gemel__answer_clear(&answer);
    status = gemel__decide_gradient_part(&r->instance, parts[k], r->seed, 3, 1, 0, &answer, error);
  }
  if (status == GEMEL_OK) {
    record->instances = 1;
    gemel__record_answer(run, record, &answer, &r->instance, NULL, r->seed);
    gemel__answer_clear(&answer);
  } else if (status == GEMEL_DECLINED) {
    return gemel__fail(error, GEMEL_BAD_FILE,
                       "the graph has nothing of a float dtype to differentiate");
  }
  return status;
}

/* A pair that was refuted without a witness: the tier is asked again as a whole. */
static gemel_status replay_pair(gemel__run *run, const struct replay *r, gemel_tier tier,
                                gemel_error *error) {
  gemel_verify_options options = run->options;
  gemel_pair_result result = {.size = sizeof result};
  gemel_status status;
  options.size = sizeof options;
  options.tiers = 1u << tier;
  options.seed = r->seed;
  status =
      gemel_verify_pair(r->graph, r->other, r->name, GEMEL_NEEDS_ALL, &options, &result, error);
  if (status == GEMEL_OK) {
    run->summary.records++;
    run->summary.verdicts[result.verdict]++;
  }
  return status;
}

static gemel_tier tier_of(const char *name) {
  int k;
  for (k = 0; k < GEMEL_TIER_COUNT; k++) {
    if (strcmp(name, gemel_tier_name((gemel_tier)k)) == 0) {
      break;
    }
  }
  return (gemel_tier)k;
}

gemel_status gemel_verify_replay(gemel_context *context, const char *path,
                                 const gemel_verify_options *options, gemel_verify_summary *summary,
                                 gemel_error *error) {
  gemel__check checks[GEMEL_TIER_COUNT] = {gemel__check_pair, gemel__check_integer,
                                           gemel__check_float, NULL, gemel__check_special};
  struct replay r;
  gemel__run run;
  gemel_record record;
  gemel_tier tier;
  memset(&r, 0, sizeof r);
  gemel_status status = gemel__run_init(&run, context, options, error);
  status = status ? status : parse_replay(context, path, &r, error);
  tier = tier_of(r.tier);
  if (r.other != NULL) { /* a pair: bits are compared, or the derivatives of both sides */
    checks[GEMEL_TIER_SPECIAL] = gemel__check_contrast_ways;
    checks[GEMEL_TIER_INTEGER] = gemel__check_contrast_ways;
    checks[GEMEL_TIER_GRADIENT] = gemel__check_derivatives;
  }
  if (status == GEMEL_OK && strcmp(r.kind, "kernel") == 0) {
    status =
        gemel__fail(error, GEMEL_UNSUPPORTED,
                    "%s: the kernel is the program's own, so only the program can repeat it", path);
  }
  if (status == GEMEL_OK &&
      (tier == GEMEL_TIER_COUNT || (tier == GEMEL_TIER_REAL && r.other == NULL))) {
    status = gemel__fail(error, GEMEL_BAD_FILE, "%s: tier %s can't be replayed", path, r.tier);
  }
  if (status == GEMEL_OK) {
    gemel__record_init(&record, &run, r.kind, r.name, tier);
    record.seed = r.seed;
    status = r.lacks_values && r.other != NULL ? replay_pair(&run, &r, tier, error)
             : checks[tier] == NULL            ? replay_gradient(&run, &r, &record, error)
                                    : replay_check(&run, &r, &record, checks[tier], error);
  }
  clear_replay(&r);
  gemel__run_finish(&run, summary);
  return status;
}
