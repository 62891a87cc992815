/* SPDX-License-Identifier: MIT
 *
 * Life of a context: create, count references, destroy. Element 0 of every table is a dummy, so
 * that id 0 can mean "none".
 */
#include "core/context.h"

#include <string.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/error.h"
#include "core/intern.h"
#include "core/registry.h"

static int push_dummies(gemel_context *context) {
  const char **text;
  struct gemel__type *type;
  static const gemel_dim no_dims[1];
  if ((type = gemel__stable_push(&context->types)) == NULL ||
      gemel__stable_push(&context->attrs) == NULL ||
      (text = gemel__stable_push(&context->strings)) == NULL ||
      gemel__stable_push(&context->ops) == NULL) {
    return -1;
  }
  type->dims = no_dims;
  *text = "";
  return 0;
}

static void destroy(gemel_context *context) {
  if (context->passes != NULL) {
    context->release_passes(context->passes);
  }
  if (context->choices != NULL) {
    context->release_choices(context->choices);
  }
  if (context->rules != NULL) {
    context->release_rules(context->rules);
  }
  if (context->certifier != NULL) {
    context->release_certifier(context->certifier);
  }
  if (context->definitions != NULL) {
    context->release_definitions(context->definitions);
  }
  if (context->composites != NULL) {
    context->release_composites(context->composites);
  }
  if (context->operators != NULL) {
    context->release_composites(context->operators);
  }
  if (context->opcodes != NULL) {
    context->release_composites(context->opcodes);
  }
  if (context->own_references != NULL) {
    context->release_own_references(context->own_references);
  }
  for (uint32_t k = 1; k < context->attrs.count; k++) {
    gemel__attrs_release((struct gemel__attrs *)gemel__attrs_at(context, k));
  }
  for (uint32_t k = 1; k < context->ops.count; k++) {
    gemel__op_release((gemel__op *)gemel__op_at(context, k));
  }
  gemel__stable_clear(&context->types);
  gemel__stable_clear(&context->attrs);
  gemel__stable_clear(&context->strings);
  gemel__stable_clear(&context->ops);
  gemel__idtable_clear(&context->type_table);
  gemel__idtable_clear(&context->attr_table);
  gemel__idtable_clear(&context->string_table);
  gemel__idtable_clear(&context->op_table);
  gemel__dims_free(context->dims);
  gemel__arena_clear(&context->arena);
  pthread_mutex_destroy(&context->lock);
  pthread_mutex_destroy(&context->defining);
  gemel__free(context, sizeof *context);
}

/* What the lock guards takes less time than to put a thread to sleep and to wake it: where the C
 * library has locks that wait a while first, it is one of those. */
static int make_lock(pthread_mutex_t *lock) {
#ifdef __GLIBC__
  pthread_mutexattr_t attributes;
  if (pthread_mutexattr_init(&attributes) != 0) {
    return -1;
  }
  int failed = pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP) != 0 ||
               pthread_mutex_init(lock, &attributes) != 0;
  pthread_mutexattr_destroy(&attributes);
  return failed ? -1 : 0;
#else
  return pthread_mutex_init(lock, NULL) != 0 ? -1 : 0;
#endif
}

static int make_locks(gemel_context *context) {
  if (make_lock(&context->lock) != 0) {
    return -1;
  }
  if (pthread_mutex_init(&context->defining, NULL) != 0) {
    pthread_mutex_destroy(&context->lock);
    return -1;
  }
  return 0;
}

gemel_context *gemel__context_bare(gemel_error *error) {
  gemel_context *context = gemel__alloc_zeroed(sizeof *context);
  if (context == NULL) {
    gemel__no_memory(error, "a context");
    return NULL;
  }
  if (make_locks(context) != 0) {
    gemel__free(context, sizeof *context);
    gemel__no_memory(error, "a lock");
    return NULL;
  }
  context->references = 1;
  context->types.element_bytes = sizeof(struct gemel__type);
  context->attrs.element_bytes = sizeof(struct gemel__attrs);
  context->strings.element_bytes = sizeof(const char *);
  context->ops.element_bytes = sizeof(gemel__op);
  context->dims = gemel__dims_new();
  if (context->dims == NULL || push_dummies(context) != 0) {
    destroy(context);
    gemel__no_memory(error, "a context");
    return NULL;
  }
  return context;
}

gemel_context *gemel_context_ref(gemel_context *context) {
  if (context != NULL) {
    __atomic_add_fetch(&context->references, 1, __ATOMIC_RELAXED);
  }
  return context;
}

void gemel_context_unref(gemel_context *context) {
  if (context != NULL && __atomic_sub_fetch(&context->references, 1, __ATOMIC_ACQ_REL) == 0) {
    destroy(context);
  }
}
