/* SPDX-License-Identifier: MIT
 *
 * The pipeline: which rules the options choose, the phases in their order, and the last copy, which
 * leaves out what nothing uses any more.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "core/alloc.h"
#include "passes/engine.h"
#include "passes/passes.h"
#include "passes/profile.h"
#include "passes/rule-names.h"

struct pipeline {
  gemel_rewrite_options options;
  gemel_context *context;
  gemel_rules *builtin;
  gemel__certifier *certifier; /* NULL: applications aren't checked */
  void *session;               /* of the certifier */
  gemel_error *error;
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Choosing ---- */

/* 1 if the word of LENGTH characters at WORD names the rule: itself, its family, phase or a tag. */
static int names_rule(const char *word, size_t length, const gemel_rule_info *info) {
  char pattern[128];
  if (length >= sizeof pattern) {
    return 0;
  }
  memcpy(pattern, word, length);
  pattern[length] = '\0';
  if (fnmatch(pattern, info->name, 0) == 0 || fnmatch(pattern, info->family, 0) == 0 ||
      fnmatch(pattern, gemel_phase_name(info->phase), 0) == 0) {
    return 1;
  }
  for (size_t k = 0; k < info->n_tags; k++) {
    if (fnmatch(pattern, info->tags[k], 0) == 0) {
      return 1;
    }
  }
  return 0;
}

/* The next word of a list; its length is 0 at the end. */
static const char *next_word(const char *at, size_t *length) {
  at += strspn(at, ",: ");
  *length = strcspn(at, ",: ");
  return at;
}

static int in_list(const char *list, const gemel_rule_info *info) {
  size_t length;
  for (list = next_word(list, &length); length > 0; list = next_word(list + length, &length)) {
    if (names_rule(list, length, info)) {
      return 1;
    }
  }
  return 0;
}

static int has_tag(const gemel_rule_info *info, const char *tag) {
  for (size_t k = 0; k < info->n_tags; k++) {
    if (strcmp(info->tags[k], tag) == 0) {
      return 1;
    }
  }
  return 0;
}

static int chosen(const struct pipeline *p, const gemel_rule_info *info) {
  const gemel_rewrite_options *o = &p->options;
  if ((info->needs & ~o->allow) != 0) {
    return 0;
  }
  if (o->mode == GEMEL_MODE_FAST_COMPILE &&
      (info->phase == GEMEL_PHASE_SPECIALIZE || has_tag(info, "slow"))) {
    return 0;
  }
  if (o->include != NULL && o->include[0] != '\0' && !in_list(o->include, info)) {
    return 0;
  }
  return o->exclude == NULL || !in_list(o->exclude, info);
}

/* ---- Sets of rules ---- */

static size_t n_sets(const struct pipeline *p) {
  return p->options.n_rules + (p->builtin != NULL);
}

static const gemel_rules *set_at(const struct pipeline *p, size_t k) {
  return p->builtin != NULL && k == 0 ? p->builtin : p->options.rules[k - (p->builtin != NULL)];
}

/* No rule of gemel's own, or in NAMES, is called as RULE is, which goes there. */
static gemel_status check_name(const struct pipeline *p, gemel__rule_names *names,
                               const gemel_rule *rule) {
  const char *name = rule->info.name;
  const gemel_rule *known = gemel__rule_names_find(names, name);
  known = known != NULL ? known : gemel_rules_find(p->builtin, name);
  if (known != NULL) {
    return gemel__fail(p->error, GEMEL_BAD_ARGUMENT, "two rules are called %s (%s:%d and %s:%d)",
                       name, known->info.file, known->info.line, rule->info.file, rule->info.line);
  }
  return gemel__rule_names_add(names, rule) == 0 ? GEMEL_OK : gemel__no_memory(p->error, "rules");
}

/* Two rules of one name can't be told apart by who chooses them, and would make the order, and so
 * the result, depend on which came first. Within a set there are none. */
static gemel_status check_names(const struct pipeline *p) {
  gemel__rule_names names = {NULL, 0, 0};
  gemel_status status = GEMEL_OK;
  for (size_t s = 0; s < p->options.n_rules && status == GEMEL_OK; s++) {
    for (size_t k = 0; k < gemel_rules_count(p->options.rules[s]) && status == GEMEL_OK; k++) {
      status = check_name(p, &names, gemel_rules_at(p->options.rules[s], k));
    }
  }
  gemel__rule_names_clear(&names);
  return status;
}

/* What a pass is chosen by. */
static gemel_rule_info info_of(const gemel_pass *pass) {
  return (gemel_rule_info){.name = pass->name,
                           .family = "passes",
                           .phase = pass->phase,
                           .tags = pass->tags,
                           .n_tags = pass->n_tags,
                           .needs = pass->needs};
}

/* 1 if any rule or pass is called so. */
static int names_any(const struct pipeline *p, const char *word, size_t length) {
  const gemel_pass *pass;
  for (size_t k = 0; (pass = gemel_pass_at(p->context, k)) != NULL; k++) {
    gemel_rule_info info = info_of(pass);
    if (names_rule(word, length, &info)) {
      return 1;
    }
  }
  for (size_t s = 0; s < n_sets(p); s++) {
    for (size_t k = 0; k < gemel_rules_count(set_at(p, s)); k++) {
      if (names_rule(word, length, gemel_rule_describe(gemel_rules_at(set_at(p, s), k)))) {
        return 1;
      }
    }
  }
  return 0;
}

/* A word that names nothing is a mistake, unless it is a phase's or an agreed tag. */
static gemel_status check_list(const struct pipeline *p, const char *list, const char *what) {
  size_t length;
  if (list == NULL) {
    return GEMEL_OK;
  }
  for (list = next_word(list, &length); length > 0; list = next_word(list + length, &length)) {
    int known = length == 4 && memcmp(list, "slow", 4) == 0;
    for (int k = 0; k < GEMEL_PHASE_COUNT && !known; k++) {
      const char *phase = gemel_phase_name((gemel_phase)k);
      known = strlen(phase) == length && memcmp(phase, list, length) == 0;
    }
    if (!known && !names_any(p, list, length)) {
      return gemel__fail(p->error, GEMEL_NOT_FOUND,
                         "%s: no rule, tag, family or phase is called %.*s", what, (int)length,
                         list);
    }
  }
  return GEMEL_OK;
}

static gemel_status check_sets(const struct pipeline *p) {
  for (size_t k = 0; k < p->options.n_rules; k++) {
    const gemel_rules *set = p->options.rules[k];
    if (set == NULL ||
        (gemel_rules_count(set) > 0 && gemel_rules_at(set, 0)->context != p->context)) {
      return gemel__fail(p->error, GEMEL_BAD_ARGUMENT, "rule set %zu is %s", k,
                         set == NULL ? "null" : "of another context");
    }
  }
  return GEMEL_OK;
}

static gemel_status select_rules(const struct pipeline *p, gemel_phase phase,
                                 gemel__selection *selection) {
  gemel_status status = gemel__selection_start(selection, p->context, p->error);
  for (size_t s = 0; s < n_sets(p) && status == GEMEL_OK; s++) {
    for (size_t k = 0; k < gemel_rules_count(set_at(p, s)) && status == GEMEL_OK; k++) {
      const gemel_rule *rule = gemel_rules_at(set_at(p, s), k);
      if (rule->info.phase == phase && chosen(p, &rule->info)) {
        status = gemel__selection_add(selection, rule, p->error);
      }
    }
  }
  return status ? status : gemel__selection_finish(selection, p->error);
}

/* ---- Phases ---- */

static gemel_status count_live(const gemel_graph *graph, uint64_t *n, gemel_error *error) {
  unsigned char *live = gemel__alloc_array(graph->n_nodes, 1);
  if (live == NULL) {
    return gemel__no_memory(error, "rewriting");
  }
  gemel__graph_live(graph, live);
  *n = 0;
  for (size_t k = 0; k < graph->n_nodes; k++) {
    *n += live[k];
  }
  gemel__free(live, graph->n_nodes);
  return GEMEL_OK;
}

static gemel_status report(const struct pipeline *p, gemel_phase phase,
                           const gemel__selection *selection, const gemel_graph *before,
                           const gemel_graph *after, const gemel__pass_options *pass,
                           double seconds) {
  gemel_profile_row row = {.phase = phase, .seconds = seconds, .created = pass->created};
  for (size_t k = 0; k < selection->n_rules; k++) {
    row.applied += selection->tallies[k].applied;
    row.declined += selection->tallies[k].declined;
  }
  gemel_status status = count_live(before, &row.before, p->error);
  status = status ? status : count_live(after, &row.after, p->error);
  status = status ? status : gemel__profile_add(p->options.profile, &row, p->error);
  gemel_profile_row folding = {.phase = phase, .name = "fold", .applied = pass->folded};
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
    if ((node->op < selection->n_ops && (selection->roots[node->op] & GEMEL__OP_ROOT)) ||
        (node->attrs != 0 && gemel__attrs_at(graph->context, node->attrs)->nesting > 0)) {
      return 1;
    }
  }
  return 0;
}

/* *GRAPH goes through PHASE: its reference is given back, and *GRAPH is the new one. */
static gemel_status run_phase(const struct pipeline *p, gemel_phase phase, gemel_graph **graph) {
  gemel__selection selection;
  gemel__pass_options pass;
  gemel_graph *next = NULL;
  double start = now();
  gemel_status status = select_rules(p, phase, &selection);
  memset(&pass, 0, sizeof pass);
  pass.selection = &selection;
  pass.fold = 1;
  pass.timed = p->options.profile != NULL;
  pass.witness = p->certifier != NULL ? p->certifier->witness : NULL;
  pass.user = p->session;
  pass.bodies = gemel__bodies_new();
  status =
      status != GEMEL_OK || pass.bodies != NULL ? status : gemel__no_memory(p->error, "bodies");
  if (status == GEMEL_OK) {
    next = has_work(*graph, phase, &selection) ? gemel__rewrite_phase(*graph, &pass, p->error)
                                               : gemel_graph_ref(*graph);
    status = next != NULL ? GEMEL_OK : p->error->status;
  }
  if (status == GEMEL_OK && p->options.profile != NULL) {
    status = report(p, phase, &selection, *graph, next, &pass, now() - start);
  }
  gemel__bodies_free(pass.bodies);
  gemel__selection_clear(&selection);
  if (next != NULL) {
    gemel_graph_unref(*graph);
    *graph = next;
  }
  return status;
}

static gemel_status report_pass(const struct pipeline *p, const gemel_pass *pass, uint64_t applied,
                                double seconds) {
  gemel_profile_row row = {
      .phase = pass->phase, .name = pass->name, .seconds = seconds, .applied = applied};
  return p->options.profile == NULL || applied == 0
             ? GEMEL_OK
             : gemel__profile_add(p->options.profile, &row, p->error);
}

/* Runs the passes of PHASE that stand BEFORE its rules, or behind. */
static gemel_status run_passes(const struct pipeline *p, gemel_phase phase, int before,
                               gemel_graph **graph) {
  const gemel_pass *pass;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; status == GEMEL_OK && (pass = gemel_pass_at(p->context, k)) != NULL; k++) {
    gemel_rule_info info = info_of(pass);
    uint64_t applied = 0;
    double start = now();
    if (p->options.without_builtin && gemel__pass_is_own(pass)) {
      continue;
    }
    if (pass->phase == phase && (pass->before != 0) == before && chosen(p, &info)) {
      status = gemel__pass_run(pass, graph, &applied, p->error);
      status = status ? status : report_pass(p, pass, applied, now() - start);
    }
  }
  return status;
}

/* *GRAPH, SOURCE at first, goes through all phases and is a new graph in the end. */
static gemel_status run_all(const struct pipeline *p, const gemel_graph *source,
                            gemel_graph **graph) {
  gemel_status status = GEMEL_OK;
  int phases = p->options.mode == GEMEL_MODE_NONE ? 0 : GEMEL_PHASE_COUNT;
  for (int phase = 0; phase < phases && status == GEMEL_OK; phase++) {
    status = run_passes(p, (gemel_phase)phase, 1, graph);
    status = status ? status : run_phase(p, (gemel_phase)phase, graph);
    status = status ? status : run_passes(p, (gemel_phase)phase, 0, graph);
  }
  uint64_t live = 0;
  status = status ? status : count_live(*graph, &live, p->error);
  if (status == GEMEL_OK && (*graph == source || live < (*graph)->n_nodes)) {
    gemel_graph *copy = gemel__rewrite_compact(*graph, p->error);
    if (copy == NULL) {
      return p->error->status;
    }
    gemel_graph_unref(*graph);
    *graph = copy;
  }
  return status ? status : gemel__debug_check(*graph, p->error);
}

/* ---- Entry ---- */

static gemel_status read_options(struct pipeline *p, const gemel_rewrite_options *options) {
  if (options != NULL) {
    memcpy(&p->options, options,
           options->size < sizeof p->options ? options->size : sizeof p->options);
  }
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

gemel_graph *gemel_rewrite(const gemel_graph *graph, const gemel_rewrite_options *options,
                           gemel_error *error) {
  struct pipeline p;
  gemel_error local;
  gemel_graph *current = NULL;
  gemel_status status;
  memset(&p, 0, sizeof p);
  p.error = error != NULL ? error : &local;
  if (graph == NULL) {
    gemel__fail(p.error, GEMEL_BAD_ARGUMENT, "the graph is null");
    return NULL;
  }
  p.context = graph->context;
  status = read_options(&p, options);
  if (status == GEMEL_OK && !p.options.without_builtin) {
    p.builtin = gemel_rules_builtin(p.context, p.error);
    status = p.builtin != NULL ? GEMEL_OK : p.error->status;
  }
  status = status ? status : check_sets(&p);
  status = status ? status : check_names(&p);
  status = status ? status : check_list(&p, p.options.include, "include");
  status = status ? status : check_list(&p, p.options.exclude, "exclude");
  status = status ? status : begin_certifying(&p);
  if (status == GEMEL_OK) {
    current = gemel_graph_ref((gemel_graph *)graph);
    status = run_all(&p, graph, &current);
  }
  if (p.session != NULL) {
    p.certifier->end(p.certifier, p.session);
  }
  gemel_rules_unref(p.builtin);
  if (status != GEMEL_OK) {
    gemel_graph_unref(current);
    return NULL;
  }
  return current;
}
