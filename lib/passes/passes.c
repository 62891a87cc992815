/* SPDX-License-Identifier: MIT
 *
 * The list of passes. gemel's own are an array made of passes.def. A context keeps what a program
 * registers in a list that only grows, so a pass stays at its address as long as the context lives.
 */
#include "passes/passes.h"

#include <string.h>
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"

#define TAGS(...)                                                                                  \
  { __VA_ARGS__ }
#define PASS(name, phase, before, tags, needs, summary)                                            \
  static const char *const tags_of_##name[] = tags;
#include "passes/passes.def"
#undef PASS

#define N(word) GEMEL_NEEDS_BIT(word)
static const gemel_pass own[] = {
#define PASS(name, phase, before, tags, needs, summary)                                            \
  {sizeof(gemel_pass),                                                                             \
   #name,                                                                                          \
   GEMEL_PHASE_##phase,                                                                            \
   before,                                                                                         \
   tags_of_##name,                                                                                 \
   sizeof tags_of_##name / sizeof *tags_of_##name,                                                 \
   needs,                                                                                          \
   summary,                                                                                        \
   gemel__pass_##name,                                                                             \
   NULL, /* the harness knows them all (verify/sample/generators.c) */                             \
   NULL},
#include "passes/passes.def"
#undef PASS
};
#undef N
#undef TAGS
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
  if (context == NULL || k < N_OWN) {
    return context != NULL ? &own[k] : NULL;
  }
  const struct gemel__passes *p = __atomic_load_n(&context->passes, __ATOMIC_ACQUIRE);
  for (k -= N_OWN; p != NULL && k > 0; k--) {
    p = __atomic_load_n(&p->next, __ATOMIC_ACQUIRE);
  }
  return p != NULL ? &p->pass : NULL;
}

gemel_rule_info gemel__pass_info(const gemel_pass *pass) {
  return (gemel_rule_info){.name = pass->name,
                           .family = "passes",
                           .phase = pass->phase,
                           .tags = pass->tags,
                           .n_tags = pass->n_tags,
                           .needs = pass->needs,
                           .documentation = pass->summary,
                           .text = "",
                           .file = ""};
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
  return GEMEL_OK;
}

/* Appends ADDED unless there is a pass of its name: -1. Others read the list at the same time. */
static int append(gemel_context *context, struct gemel__passes *added) {
  struct gemel__passes **end;
  const gemel_pass *other;
  int taken = 0;
  pthread_mutex_lock(&context->lock);
  for (size_t k = 0; !taken && (other = gemel_pass_at(context, k)) != NULL; k++) {
    taken = strcmp(other->name, added->pass.name) == 0;
  }
  for (end = &context->passes; *end != NULL; end = &(*end)->next) {
  }
  if (!taken) {
    context->release_passes = release;
    __atomic_store_n(end, added, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&context->lock);
  return taken ? -1 : 0;
}

gemel_status gemel_register_pass(gemel_context *context, const gemel_pass *pass,
                                 gemel_error *error) {
  struct gemel__passes *added;
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
  if (append(context, added) != 0) {
    gemel__free(added, sizeof *added);
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "there is a pass %s already", pass->name);
  }
  return GEMEL_OK;
}
