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

/* What one text has. */
struct gemel__composites {
  gemel__arena arena;
  const gemel__composite *first;
  struct gemel__composites *next; /* behind gemel's own: what the program defines, in that order */
};

static void release(struct gemel__composites *set) {
  while (set != NULL) {
    struct gemel__composites *next = set->next;
    gemel__arena_clear(&set->arena);
    gemel__free(set, sizeof *set);
    set = next;
  }
}

static struct gemel__composites *parse(const char *text, size_t length, const char *file,
                                       gemel_error *error) {
  struct gemel__composites *set = gemel__alloc_zeroed(sizeof *set);
  file = set != NULL ? gemel__arena_string(&set->arena, file) : NULL;
  if (file == NULL) {
    gemel__no_memory(error, "composites");
    release(set);
    return NULL;
  }
  if (gemel__composites_parse(&set->arena, text, length, file, &set->first, error) != GEMEL_OK) {
    release(set);
    return NULL;
  }
  return set;
}

/* *PLACE, one of the context's, in which text NUMBER of gemel's own is parsed at first; NULL with
 * ERROR. */
static struct gemel__composites *parsed(gemel_context *context, struct gemel__composites **place,
                                        int number, gemel_error *error) {
  struct gemel__composites *set = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  const gemel__builtin_text *from = &gemel__builtin_composites[number];
  if (set != NULL) {
    return set;
  }
  pthread_mutex_lock(&context->lock); /* not DEFINING, which is held while a definition is read */
  set = *place;
  if (set == NULL) {
    set = parse(from->text, strlen(from->text), from->file, error);
    context->release_composites = release;
    __atomic_store_n(place, set, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&context->lock);
  return set;
}

/* numpy.composites, and behind them what the program has defined. */
static struct gemel__composites *all(gemel_context *context, gemel_error *error) {
  return parsed(context, &context->composites, 0, error);
}

static const struct gemel__composites *behind(const struct gemel__composites *set) {
  return __atomic_load_n(&set->next, __ATOMIC_ACQUIRE);
}

const gemel__composite *gemel__composite_called(const gemel__composite *c, const char *name) {
  while (c != NULL && (c->domain != NULL || strcmp(c->name, name) != 0)) {
    c = c->next;
  }
  return c;
}

const gemel__composite *gemel__composite_find(gemel_context *context, const char *name,
                                              gemel_error *error) {
  gemel_error mine = {0};
  const gemel__composite *c = NULL;
  const struct gemel__composites *set = all(context, &mine);
  for (; set != NULL && c == NULL; set = behind(set)) {
    c = gemel__composite_called(set->first, name);
  }
  if (error != NULL) {
    *error = mine;
  }
  return c;
}

static int is_text(const char *text, const char *bytes, size_t length) {
  return strlen(text) == length && (length == 0 || memcmp(text, bytes, length) == 0);
}

/* The first from C on that is this operator. */
static const gemel__composite *operator_called(const gemel__composite *c, const char *domain,
                                               size_t domain_length, const char *name,
                                               size_t length) {
  while (c != NULL && (c->domain == NULL || !is_text(c->name, name, length) ||
                       !is_text(c->domain, domain, domain_length))) {
    c = c->next;
  }
  return c;
}

/* gemel's own operators of a language that has this DOMAIN. */
static const struct gemel__composites *operators_of(gemel_context *context, const char *domain,
                                                    size_t length, gemel_error *error) {
  int is_hlo = length == 3 && memcmp(domain, "hlo", 3) == 0;
  return is_hlo ? parsed(context, &context->opcodes, 2, error)
                : parsed(context, &context->operators, 1, error);
}

const gemel__composite *gemel__operator_find(gemel_context *context, const char *domain,
                                             size_t domain_length, const char *name, size_t length,
                                             gemel_error *error) {
  gemel_error mine = {0};
  const gemel__composite *c = NULL;
  const struct gemel__composites *own = operators_of(context, domain, domain_length, &mine);
  const struct gemel__composites *set = own != NULL ? all(context, &mine) : NULL;
  if (set != NULL) {
    c = operator_called(own->first, domain, domain_length, name, length);
  }
  for (; set != NULL && c == NULL; set = behind(set)) {
    c = operator_called(set->first, domain, domain_length, name, length);
  }
  if (error != NULL) {
    *error = mine;
  }
  return c;
}

int gemel__is_own_operator(gemel_context *context, const gemel__composite *operator_) {
  const struct gemel__composites *own = parsed(context, &context->operators, 1, NULL);
  return own != NULL && operator_->set == own->first;
}

/* ---- A program's own ---- */

/* What C, of a text that is to be added, must not have the name of. Operators that are written in C
 * are found before those here, so TAKEN tells of them. */
static gemel_status check_name(gemel_context *context, const gemel__composite *c,
                               gemel__operator_taken *taken, gemel_error *error) {
  gemel_error failed = {0};
  const gemel__composite *other = c->domain != NULL
                                      ? gemel__operator_find(context, c->domain, strlen(c->domain),
                                                             c->name, strlen(c->name), &failed)
                                      : gemel__composite_find(context, c->name, &failed);
  if (failed.status != GEMEL_OK) {
    return gemel__fail(error, failed.status, "%s", failed.text);
  }
  if (other == NULL && c->domain == NULL && gemel__op_find(context, c->name) == 0) {
    other = gemel__composite_called(c->next, c->name); /* twice in the same text */
    return other == NULL
               ? GEMEL_OK
               : gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s:%d: there are two composites called %s",
                             other->file, other->line, c->name);
  }
  if (other == NULL && c->domain != NULL && !taken(c->domain, c->name)) {
    other = operator_called(c->next, c->domain, strlen(c->domain), c->name, strlen(c->name));
    return other == NULL
               ? GEMEL_OK
               : gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s:%d: there are two operators called %s",
                             other->file, other->line, c->name);
  }
  return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s:%d: there is %s called %s already", c->file,
                     c->line, c->domain != NULL ? "an operator" : "an operation or composite",
                     c->name);
}

gemel_status gemel__composites_define(gemel_context *context, const char *text, size_t length,
                                      const char *file, gemel__operator_taken *taken,
                                      gemel_error *error) {
  gemel_error local;
  error = error != NULL ? error : &local;
  struct gemel__composites *last = all(context, error);
  struct gemel__composites *set = last != NULL ? parse(text, length, file, error) : NULL;
  gemel_status status = set != NULL ? GEMEL_OK : error->status;
  pthread_mutex_lock(&context->defining);
  for (const gemel__composite *c = set != NULL ? set->first : NULL; c != NULL; c = c->next) {
    status = status == GEMEL_OK ? check_name(context, c, taken, error) : status;
  }
  while (status == GEMEL_OK && last->next != NULL) {
    last = last->next;
  }
  if (status == GEMEL_OK) {
    __atomic_store_n(&last->next, set, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&context->defining);
  if (status != GEMEL_OK) {
    release(set);
  }
  return status;
}

/* ---- By name ---- */

static int apply_by_name(gemel_graph *graph, const char *name, size_t n_inputs,
                         const gemel_value *inputs, size_t n_attrs, const gemel_attr *attrs,
                         size_t n_outputs, gemel_value *outputs, gemel_location where) {
  gemel_error error;
  const gemel__composite *c = gemel__composite_find(gemel_graph_context(graph), name, &error);
  for (size_t k = 0; k < n_outputs; k++) {
    outputs[k] = gemel__no_value;
  }
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
  gemel__composite_expand(graph, c, NULL, n_inputs, inputs, n_attrs, attrs, n_outputs, outputs,
                          where);
  return 1;
}

/* Composites are numbered through all texts; new ones come last. */
static uint32_t find_number(gemel_context *context, const char *name) {
  uint32_t number = 1;
  for (const struct gemel__composites *set = all(context, NULL); set != NULL; set = behind(set)) {
    for (const gemel__composite *c = set->first; c != NULL; c = c->next, number++) {
      if (c->domain == NULL && strcmp(c->name, name) == 0) {
        return number;
      }
    }
  }
  return 0;
}

static const gemel_operation *record_of(gemel_context *context, uint32_t number) {
  const struct gemel__composites *set = all(context, NULL);
  const gemel__composite *c = set->first;
  while (--number > 0 || c == NULL) {
    c = c->next;
    while (c == NULL) {
      set = behind(set);
      c = set->first;
    }
  }
  return &c->record;
}

const gemel__composing gemel__composing_by_name = {apply_by_name, find_number, record_of};
