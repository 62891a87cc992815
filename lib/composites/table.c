/* SPDX-License-Identifier: MIT
 *
 * Composites of a context: gemel's own, which are parsed when the first is asked for, and how
 * gemel_apply comes to them.
 */
#include <string.h>
#include "composites/composites.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"
#include "rules/builtin.h"

struct gemel__composites {
  gemel__arena arena;
  const gemel__composite *first;
};

static void release(struct gemel__composites *set) {
  gemel__arena_clear(&set->arena);
  gemel__free(set, sizeof *set);
}

static struct gemel__composites *parse(gemel_error *error) {
  struct gemel__composites *set = gemel__alloc_zeroed(sizeof *set);
  const gemel__builtin_text *from = gemel__builtin_composites;
  if (set == NULL) {
    gemel__no_memory(error, "composites");
    return NULL;
  }
  if (gemel__composites_parse(&set->arena, from->text, strlen(from->text), from->file, &set->first,
                              error) != GEMEL_OK) {
    release(set);
    return NULL;
  }
  return set;
}

/* gemel's own; NULL with ERROR. */
static const struct gemel__composites *own(gemel_context *context, gemel_error *error) {
  struct gemel__composites *set = __atomic_load_n(&context->composites, __ATOMIC_ACQUIRE);
  if (set != NULL) {
    return set;
  }
  pthread_mutex_lock(&context->lock); /* not DEFINING, which is held while a definition is read */
  set = context->composites;
  if (set == NULL) {
    set = parse(error);
    context->release_composites = release;
    __atomic_store_n(&context->composites, set, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&context->lock);
  return set;
}

const gemel__composite *gemel__composite_find(gemel_context *context, const char *name,
                                              gemel_error *error) {
  gemel_error mine = {0};
  const struct gemel__composites *set = own(context, &mine);
  const gemel__composite *c = set != NULL ? set->first : NULL;
  while (c != NULL && strcmp(c->name, name) != 0) {
    c = c->next;
  }
  if (error != NULL) {
    *error = mine;
  }
  return c;
}

static int apply_by_name(gemel_graph *graph, const char *name, size_t n_inputs,
                         const gemel_value *inputs, size_t n_attrs, const gemel_attr *attrs,
                         gemel_location where, gemel_value *result) {
  gemel_error error;
  const gemel__composite *c = gemel__composite_find(gemel_graph_context(graph), name, &error);
  *result = gemel__no_value;
  if (c == NULL && error.status != GEMEL_OK) {
    gemel__graph_take_error(graph, &error);
    return 1;
  }
  if (c == NULL) {
    return 0;
  }
  for (size_t k = 0; k < n_inputs; k++) {
    if (gemel_is_null(inputs[k]) &&
        (k >= c->n_operands || c->params[k].kind != GEMEL__PARAM_OPTIONAL)) {
      return 1; /* what should have made it has failed */
    }
  }
  gemel__composite_expand(graph, c, n_inputs, inputs, n_attrs, attrs, 1, result, where);
  return 1;
}

static uint32_t find_number(gemel_context *context, const char *name) {
  const struct gemel__composites *set = own(context, NULL);
  uint32_t number = 1;
  const gemel__composite *c = set != NULL ? set->first : NULL;
  for (; c != NULL && strcmp(c->name, name) != 0; c = c->next) {
    number++;
  }
  return c != NULL ? number : 0;
}

static const gemel_operation *record_of(gemel_context *context, uint32_t number) {
  const gemel__composite *c = own(context, NULL)->first;
  while (--number > 0) {
    c = c->next;
  }
  return &c->record;
}

const gemel__composing gemel__composing_by_name = {apply_by_name, find_number, record_of};
