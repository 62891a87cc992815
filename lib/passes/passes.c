/* SPDX-License-Identifier: MIT
 *
 * See passes.h. A context keeps what a program registers in a list that only grows, so a pass's
 * address holds as long as the context.
 */
#include "passes/passes.h"

#include <string.h>
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"

static const gemel_pass own[] = {
#define PASS(name, phase, before, needs, summary)                                                  \
  {sizeof(gemel_pass),                                                                             \
   #name,                                                                                          \
   GEMEL_PHASE_##phase,                                                                            \
   before,                                                                                         \
   NULL,                                                                                           \
   0,                                                                                              \
   needs,                                                                                          \
   summary,                                                                                        \
   gemel__pass_##name,                                                                             \
   gemel__generate_##name,                                                                         \
   NULL},
#include "passes/passes.def"
#undef PASS
};
enum { N_OWN = sizeof own / sizeof *own };

struct gemel__passes {
  struct gemel__passes *next;
  gemel_pass pass;
};

static void release(void *list) {
  struct gemel__passes *p = list;
  while (p != NULL) {
    struct gemel__passes *next = p->next;
    gemel__free(p, sizeof *p);
    p = next;
  }
}

const gemel_pass *gemel_pass_at(gemel_context *context, size_t k) {
  const struct gemel__passes *p;
  if (context == NULL || k < N_OWN) {
    return context != NULL ? &own[k] : NULL;
  }
  pthread_mutex_lock(&context->lock);
  p = context->passes;
  pthread_mutex_unlock(&context->lock);
  for (k -= N_OWN; p != NULL && k > 0; k--) {
    p = p->next;
  }
  return p != NULL ? &p->pass : NULL;
}

int gemel__pass_is_own(const gemel_pass *pass) {
  for (size_t k = 0; k < N_OWN; k++) {
    if (pass == &own[k]) {
      return 1;
    }
  }
  return 0;
}

size_t gemel_pass_count(gemel_context *context) {
  size_t n = 0;
  while (gemel_pass_at(context, n) != NULL) {
    n++;
  }
  return n;
}

static gemel_status check(gemel_context *context, const gemel_pass *pass, gemel_error *error) {
  if (context == NULL || pass == NULL || pass->size < sizeof *pass) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the %s is null or malformed",
                       context == NULL ? "context" : "pass");
  }
  if (pass->name == NULL || pass->name[0] == '\0' || (unsigned)pass->phase >= GEMEL_PHASE_COUNT ||
      (pass->needs & ~GEMEL_NEEDS_ALL) != 0 || (pass->n_tags > 0 && pass->tags == NULL)) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "a pass has a name, a phase, and known needs");
  }
  if (pass->rewrite == NULL || pass->generate == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "pass %s has no %s", pass->name,
                       pass->rewrite == NULL ? "function" : "generator of instances");
  }
  for (size_t k = 0; k < gemel_pass_count(context); k++) {
    if (strcmp(gemel_pass_at(context, k)->name, pass->name) == 0) {
      return gemel__fail(error, GEMEL_BAD_ARGUMENT, "there is a pass %s already", pass->name);
    }
  }
  return GEMEL_OK;
}

gemel_status gemel_register_pass(gemel_context *context, const gemel_pass *pass,
                                 gemel_error *error) {
  struct gemel__passes *added, **end;
  gemel_status status = check(context, pass, error);
  const char *name = status == GEMEL_OK ? gemel__intern_string(context, pass->name) : NULL;
  if (status != GEMEL_OK) {
    return status;
  }
  added = gemel__alloc_zeroed(sizeof *added);
  if (added == NULL || name == NULL) {
    gemel__free(added, sizeof *added);
    return gemel__no_memory(error, "a pass");
  }
  added->pass = *pass;
  added->pass.name = name;
  pthread_mutex_lock(&context->lock);
  for (end = &context->passes; *end != NULL; end = &(*end)->next) {
  }
  *end = added;
  context->release_passes = release;
  pthread_mutex_unlock(&context->lock);
  return GEMEL_OK;
}

/* ---- Running ---- */

static int same_port(gemel_value a, gemel_value b, const char *name_a, const char *name_b) {
  gemel_context *context = gemel_graph_context(a.graph);
  gemel_type s = gemel_value_type(a), t = gemel_value_type(b);
  return strcmp(name_a, name_b) == 0 &&
         gemel_type_dtype(context, s) == gemel_type_dtype(context, t) &&
         gemel_type_rank(context, s) == gemel_type_rank(context, t);
}

/* 1 if both have the same inputs and outputs. */
static int same_ports(const gemel_graph *a, const gemel_graph *b) {
  int same = gemel_graph_context(a) == gemel_graph_context(b) &&
             gemel_graph_input_count(a) == gemel_graph_input_count(b) &&
             gemel_graph_output_count(a) == gemel_graph_output_count(b);
  for (size_t k = 0; same && k < gemel_graph_input_count(a); k++) {
    same = same_port(gemel_graph_input(a, k), gemel_graph_input(b, k), gemel_graph_input_name(a, k),
                     gemel_graph_input_name(b, k));
  }
  for (size_t k = 0; same && k < gemel_graph_output_count(a); k++) {
    same = same_port(gemel_graph_output(a, k), gemel_graph_output(b, k),
                     gemel_graph_output_name(a, k), gemel_graph_output_name(b, k));
  }
  return same;
}

gemel_status gemel__pass_run(const gemel_pass *pass, gemel_graph **graph, uint64_t *applied,
                             gemel_error *error) {
  gemel_error said = {GEMEL_OK, 0, 0, ""};
  gemel_graph *next = pass->rewrite(*graph, pass->data, applied, &said);
  if (next == NULL) {
    if (said.status == GEMEL_OK) {
      gemel__fail(&said, GEMEL_INTERNAL, "it gives no graph");
    }
    *error = said;
    gemel__error_prefix(error, "pass %s", pass->name);
    return error->status;
  }
  if (!same_ports(*graph, next)) {
    gemel_graph_unref(next);
    return gemel__fail(error, GEMEL_INTERNAL, "pass %s changes inputs or outputs", pass->name);
  }
  gemel_graph_unref(*graph);
  *graph = next;
  return GEMEL_OK;
}
