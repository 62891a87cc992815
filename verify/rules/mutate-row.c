/* SPDX-License-Identifier: MIT
 *
 * Mutants of scalar operations. A derivative is a text. It is made the right side of a rule whose
 * left side has its variables, and the generator of mutants of rules changes it. A kernel is
 * replaced by the kernels of other operations with the same types. A mutant is a copy of the
 * operation's row in a context of its own, where the harness compares it with the operation's
 * reference.
 */
#include <stdio.h>
#include <string.h>
#include "core/context.h"
#include "core/error.h"
#include "core/registry.h"
#include "core/words.h"
#include "harness/run.h"
#include "rules/mutate.h"
#include "ops/ops.h"
#include "text/expr.h"
#include <gemel/verify.h>

struct row_hunt {
  gemel__mutate_options options;
  gemel__mutate_summary summary;
  size_t seen; /* mutants, judged or not */
};

/* What was changed: the derivative by input 0, 1, …, or the kernel, or nothing. */
enum { OF_KERNEL = -1, OF_NOTHING = -2 };

/* One mutant and what is found out about it. */
struct row_mutant {
  const gemel__scalar_row *row; /* as it is */
  gemel__scalar_row changed;
  int input; /* what was changed */
  gemel__fate fate;
  const char *tier;
  char detail[400];
};

/* ---- The harness's verdict ---- */

static void note(void *user, const gemel_record *record) {
  struct row_mutant *m = user;
  if (m->fate != GEMEL__FATE_KILLED && (record->verdict == GEMEL_VERDICT_REFUTED ||
                                        record->verdict == GEMEL_VERDICT_UNINFORMATIVE)) {
    m->fate = GEMEL__FATE_KILLED;
    m->tier = gemel_tier_name(record->tier);
    snprintf(m->detail, sizeof m->detail, "%s: %s", record->kind, record->detail);
  }
}

/* Verifies the changed row in place of the operation's own, in CONTEXT, which nobody else uses. */
static gemel_status verify_row(const struct row_hunt *h, gemel_context *context,
                               struct row_mutant *m, gemel_error *error) {
  gemel__op *op = (gemel__op *)gemel__op_at(context, gemel__op_find(context, m->row->name));
  gemel_verify_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.seed = h->options.seed;
  options.instances = h->options.instances;
  options.ops = m->row->name;
  options.tiers =
      (m->input != OF_KERNEL ? 1u << GEMEL_TIER_GRADIENT : 0) |
      (m->input < 0 ? 1u << GEMEL_TIER_INTEGER | 1u << GEMEL_TIER_FLOAT | 1u << GEMEL_TIER_SPECIAL
                    : 0);
  options.sink = note;
  options.user = m;
  op->record.data = &m->changed;
  gemel_status status = gemel_verify_operations(context, &options, NULL, error);
  op->record.data = m->row;
  return status;
}

/* ---- Equivalence ---- */

/* Derivative TEXT of ROW as a graph, whose inputs are scalars: g and the operands. NULL: memory is
 * out, or the text gives no graph. */
static gemel_graph *graph_of(gemel_context *context, const gemel__scalar_row *row, const char *text,
                             gemel_error *error) {
  static const char *const names[] = {"x", "y", "z", "r", "g"};
  gemel__expr *expr = gemel__expr_compile(context, text, 5, names, error);
  gemel_graph *graph = expr != NULL ? gemel_graph_new(context, error) : NULL;
  const gemel_location nowhere = {NULL, 0};
  gemel_value values[5] = {{NULL, 0, 0}};
  gemel_type type = gemel_type_of_shape(context, GEMEL_F64, 0, NULL);
  if (graph != NULL) {
    for (int k = 0; k < row->n_inputs; k++) {
      values[k] = gemel_input(graph, names[k], type);
    }
    values[4] = gemel_input(graph, "g", type);
    values[3] = gemel_apply_at(graph, row->name, (size_t)row->n_inputs, values, 0, NULL, nowhere);
    gemel_value made = gemel__expr_build(expr, graph, values, nowhere);
    if (gemel_is_null(made) || gemel_output(made, "d") != GEMEL_OK) {
      *error = *gemel_graph_error(graph);
      gemel_graph_unref(graph);
      graph = NULL;
    }
  }
  gemel__expr_free(expr);
  return graph;
}

/* Decides the fate of a changed derivative that the harness passes: is it the same function as the
 * row's own? */
static gemel_status acquit(const struct row_hunt *h, gemel_context *context, struct row_mutant *m,
                           gemel_error *error) {
  gemel__decision d = {0, 0, 0};
  gemel_error problem;
  gemel_status status = GEMEL_OK;
  snprintf(m->detail, sizeof m->detail, "verified");
  if (m->input < 0) {
    return GEMEL_OK;
  }
  gemel_graph *a = graph_of(context, m->row, m->row->grads[m->input], &problem);
  gemel_graph *b = graph_of(context, m->row, m->changed.grads[m->input], &problem);
  if (a != NULL && b != NULL) {
    status = gemel__mutant_decide(a, b, h->options.seed, 96, &d, error);
  }
  if (d.exact && !d.vague && !d.refuted) {
    m->fate = GEMEL__FATE_EQUIVALENT;
    snprintf(m->detail, sizeof m->detail, "the same function as the row's, decided exactly");
  }
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  return status;
}

/* ---- A mutant ---- */

/* Decides the fate of M, in a context of its own. */
static gemel_status find_fate(struct row_hunt *h, struct row_mutant *m, const char *text,
                              gemel_error *error) {
  gemel_context *context = gemel_context_new(error);
  gemel_error problem;
  m->fate = GEMEL__FATE_SURVIVED;
  m->tier = "";
  if (context == NULL) {
    return GEMEL_NO_MEMORY;
  }
  if (m->input >= 0) {
    gemel_graph *graph = graph_of(context, m->row, text, &problem);
    m->fate = graph != NULL ? GEMEL__FATE_SURVIVED : GEMEL__FATE_STILLBORN;
    snprintf(m->detail, sizeof m->detail, "%.300s", graph != NULL ? "" : problem.text);
    gemel_graph_unref(graph);
  }
  gemel_status status =
      m->fate == GEMEL__FATE_SURVIVED ? verify_row(h, context, m, error) : GEMEL_OK;
  if (status == GEMEL_OK && m->fate == GEMEL__FATE_SURVIVED) {
    status = acquit(h, context, m, error);
  }
  gemel_context_unref(context);
  return status;
}

static void tell(struct row_hunt *h, const struct row_mutant *m, const char *mutation,
                 const char *text, double started) {
  static const char *const kinds[] = {"operation", "kernel", "derivative"};
  h->summary.fates[m->fate]++;
  if (h->options.sink != NULL) {
    gemel__mutant mutant = {kinds[(m->input < 0 ? m->input : 0) - OF_NOTHING],
                            m->row->name,
                            mutation,
                            text,
                            m->fate,
                            m->tier,
                            m->detail,
                            "",
                            "",
                            0,
                            h->options.seed,
                            gemel__clock() - started};
    h->options.sink(h->options.user, &mutant);
  }
}

static gemel_status judge(struct row_hunt *h, struct row_mutant *m, const char *mutation,
                          const char *text, gemel_error *error) {
  double started = gemel__clock();
  if (!gemel__mutant_chosen(h->options.seed, h->options.one_in, h->seen++)) {
    return GEMEL_OK;
  }
  GEMEL__TRY(find_fate(h, m, text, error));
  tell(h, m, mutation, text, started);
  return GEMEL_OK;
}

/* Judges the operation itself. *SOUND: it is passed. Every mutant of a wrong operation would be
 * killed for the operation's own fault. */
static gemel_status judge_row(struct row_hunt *h, const gemel__scalar_row *row, int *sound,
                              gemel_error *error) {
  double started = gemel__clock();
  struct row_mutant m = {row, *row, OF_NOTHING, GEMEL__FATE_SURVIVED, "", ""};
  gemel_status status = find_fate(h, &m, row->c_text, error);
  *sound = m.fate != GEMEL__FATE_KILLED;
  if (status == GEMEL_OK && !*sound) {
    m.fate = GEMEL__FATE_REFUTED;
    tell(h, &m, "none: the operation itself", row->c_text, started);
  }
  return status;
}

/* The derivative text for input K, as the right side of a rule. */
static gemel_rules *as_rule(gemel_context *context, const gemel__scalar_row *row, int k,
                            gemel_error *error) {
  static const char *const bound[] = {"x", "x + y", "clip(x, y, z)"};
  char text[1000];
  int length = snprintf(text, sizeof text, "rule d in canonicalize:\n clip(g, r, %s) => %s",
                        bound[row->n_inputs - 1], row->grads[k]);
  return gemel_rules_parse(context, text, (size_t)length, "", error);
}

static gemel_status mutate_derivative(struct row_hunt *h, gemel_context *context,
                                      const gemel__scalar_row *row, int k, gemel_error *error) {
  gemel__mutants mutants;
  gemel_rules *rule = as_rule(context, row, k, error);
  gemel_status status = GEMEL_NO_MEMORY;
  memset(&mutants, 0, sizeof mutants);
  if (rule != NULL) {
    status = gemel__mutants_of_rule(gemel_rules_at(rule, 0), h->options.seed, &mutants, error);
  }
  for (size_t j = 0; j < mutants.count && status == GEMEL_OK; j++) {
    char mutation[500];
    struct row_mutant m;
    if (strncmp(mutants.list[j].mutation, "right: ", 7) == 0) {
      memset(&m, 0, sizeof m);
      m.row = row;
      m.changed = *row;
      m.input = k;
      m.changed.grads[k] = strstr(mutants.list[j].text, " => ") + 4;
      snprintf(mutation, sizeof mutation, "derivative by input %d: %s", k,
               mutants.list[j].mutation + 7);
      status = judge(h, &m, mutation, m.changed.grads[k], error);
    }
  }
  gemel__mutants_clear(&mutants);
  gemel_rules_unref(rule);
  return status;
}

static gemel_status mutate_kernel(struct row_hunt *h, const gemel__scalar_row *row,
                                  gemel_error *error) {
  for (int k = 0; k < GEMEL__SCALAR_COUNT; k++) {
    const gemel__scalar_row *other = &gemel__scalar_rows[k];
    char mutation[100];
    struct row_mutant m;
    if (other != row && other->code == row->code && other->n_inputs == row->n_inputs) {
      memset(&m, 0, sizeof m);
      m.row = row;
      m.changed = *row;
      m.changed.index = k;
      m.input = OF_KERNEL;
      snprintf(mutation, sizeof mutation, "kernel: computes %s", other->name);
      GEMEL__TRY(judge(h, &m, mutation, other->c_text, error));
    }
  }
  return GEMEL_OK;
}

static gemel_status mutate_row(struct row_hunt *h, gemel_context *context,
                               const gemel__scalar_row *row, gemel_error *error) {
  int sound;
  GEMEL__TRY(judge_row(h, row, &sound, error));
  if (!sound) {
    return GEMEL_OK;
  }
  h->summary.subjects++;
  GEMEL__TRY(mutate_kernel(h, row, error));
  for (int k = 0; k < row->n_inputs; k++) {
    GEMEL__TRY(row->grads[k][0] != '\0' && row->code != GEMEL__TYPE_CAST
                   ? mutate_derivative(h, context, row, k, error)
                   : GEMEL_OK);
  }
  return GEMEL_OK;
}

static int names_any(const void *user, const char *word, size_t length, gemel__suggestion *near) {
  (void)user;
  for (int r = 0; r < GEMEL__SCALAR_COUNT; r++) {
    if (gemel__word_names_or_offers(word, length, gemel__scalar_rows[r].name, near)) {
      return 1;
    }
  }
  return 0;
}

gemel_status gemel__mutate_operations(const char *glob, const gemel__mutate_options *options,
                                      gemel__mutate_summary *summary, gemel_error *error) {
  gemel_error local;
  struct row_hunt h;
  error = error != NULL ? error : &local;
  memset(&h, 0, sizeof h);
  h.options = gemel__mutate_take(options);
  gemel_context *context = gemel_context_new(error);
  gemel_status status = context != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
  status = status ? status : gemel__list_check(glob, "scalar operation", names_any, NULL, error);
  for (int r = 0; r < GEMEL__SCALAR_COUNT && status == GEMEL_OK; r++) {
    const gemel__scalar_row *row = &gemel__scalar_rows[r];
    if (gemel__list_names(glob, row->name)) {
      status = mutate_row(&h, context, row, error);
    }
  }
  gemel_context_unref(context);
  gemel__mutate_finish(&h.summary, summary);
  return status;
}
