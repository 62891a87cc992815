/* SPDX-License-Identifier: MIT
 *
 * Registration of operations: gemel's own rows when a context is made, a program's at any time.
 * Records are copied; an operation is never taken out again, so ids stay valid.
 */
#include "core/registry.h"

#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/intern.h"
#include "core/schema.h"
#include "core/rows.h"

void gemel__op_release(gemel__op *op) {
  if (op->record.release != NULL) {
    op->record.release(op->record.data);
  }
  if (op->row != NULL && op->row->hooks->release != NULL) {
    op->row->hooks->release(op->derived);
  }
}

struct op_key {
  const gemel_context *context;
  const char *name;
};

static int same_op(const void *user, uint32_t id) {
  const struct op_key *key = user;
  return strcmp(gemel__op_at(key->context, id)->record.name, key->name) == 0;
}

static uint64_t op_hash(const void *user, uint32_t id) {
  const struct op_key *key = user;
  const char *name = gemel__op_at(key->context, id)->record.name;
  return gemel__hash_bytes(0, name, strlen(name));
}

static uint32_t find_locked(const gemel_context *context, const char *name) {
  struct op_key key = {context, name};
  return gemel__idtable_find(&context->op_table, gemel__hash_bytes(0, name, strlen(name)), same_op,
                             &key);
}

uint32_t gemel__op_find(gemel_context *context, const char *name) {
  if (context == NULL || name == NULL) {
    return 0;
  }
  pthread_mutex_lock(&context->lock);
  uint32_t id = find_locked(context, name);
  pthread_mutex_unlock(&context->lock);
  return id;
}

int gemel__is_name(const char *text) {
  size_t k;
  if (text == NULL || text[0] == '\0' || (text[0] >= '0' && text[0] <= '9')) {
    return 0;
  }
  for (k = 0; text[k] != '\0'; k++) {
    char c = text[k];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) {
      return 0;
    }
  }
  return k < 1024;
}

/* Copies the schema and counts it; 0, or -1 when memory is out. */
static int copy_schema(gemel_context *context, gemel__op *op) {
  const gemel_attr_spec *given = op->record.attrs;
  gemel_attr_spec *copy;
  size_t n = 0, k;
  while (given != NULL && given[n].name != NULL) {
    n++;
  }
  copy = gemel__arena_copy(&context->arena, given, given != NULL ? (n + 1) * sizeof *copy : 0);
  if (copy == NULL) {
    return -1;
  }
  for (k = 0; k < n; k++) {
    copy[k].name = gemel__intern_string_locked(context, given[k].name);
    if (given[k].fallback != NULL) {
      copy[k].fallback = gemel__intern_string_locked(context, given[k].fallback);
    }
    if (copy[k].name == NULL || (given[k].fallback != NULL && copy[k].fallback == NULL)) {
      return -1;
    }
  }
  op->record.attrs = n > 0 ? copy : NULL;
  op->n_attrs = n;
  return 0;
}

/* 1 if there is a kernel, or something that takes its place, and each kernel can run. */
static int has_kernel(const gemel_operation *r) {
  const gemel_kernel *kernel = r->kernels;
  while (kernel != NULL && kernel->name != NULL) {
    if ((kernel++)->run == NULL) {
      return 0;
    }
  }
  return kernel != r->kernels || r->view != NULL ||
         (r->flags & (GEMEL_OP_ELEMENTWISE | GEMEL_OP_SOURCE)) != 0;
}

static gemel_status check_record(const gemel_operation *r, gemel_error *error) {
  if (r == NULL || r->size < sizeof *r) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the operation's record is too small");
  }
  if (!gemel__is_name(r->name)) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "malformed name of an operation: %s",
                       r->name != NULL ? r->name : "(null)");
  }
  if (r->infer == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "operation %s has no type rule", r->name);
  }
  if (!has_kernel(r)) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "operation %s has no kernel", r->name);
  }
  if (r->min_inputs < 0 || (r->max_inputs >= 0 && r->max_inputs < r->min_inputs)) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "operation %s can't have %d to %d inputs",
                       r->name, r->min_inputs, r->max_inputs);
  }
  return gemel__schema_check(r->name, r->attrs, error);
}

static gemel_status add_op(gemel_context *context, const gemel_operation *record,
                           const struct gemel__row *row, gemel_error *error) {
  struct op_key key = {context, record->name};
  uint64_t hash = gemel__hash_bytes(0, record->name, strlen(record->name));
  uint32_t id = context->ops.count;
  gemel__op *op;
  gemel__op made;
  memset(&made, 0, sizeof made);
  made.record = *record;
  made.record.flags &= ~(unsigned)GEMEL__OP_SCALAR;
  made.record.flags |= gemel__is_scalar_row(record->data) ? GEMEL__OP_SCALAR : 0;
  made.row = row;
  made.id = id;
  made.record.name = gemel__intern_string_locked(context, record->name);
  made.record.summary =
      gemel__intern_string_locked(context, record->summary != NULL ? record->summary : "");
  if (made.record.name == NULL || made.record.summary == NULL || copy_schema(context, &made) != 0 ||
      (op = gemel__stable_push(&context->ops)) == NULL) {
    return gemel__no_memory(error, "an operation");
  }
  *op = made;
  if (gemel__idtable_add(&context->op_table, hash, id, op_hash, &key) != 0) {
    gemel__stable_pop(&context->ops);
    return gemel__no_memory(error, "an operation");
  }
  return GEMEL_OK;
}

gemel_status gemel__register(gemel_context *context, const gemel_operation *operation,
                             const struct gemel__row *row, gemel_error *error) {
  gemel_status status;
  if (context == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the context is null");
  }
  status = check_record(operation, error);
  if (status != GEMEL_OK) {
    return status;
  }
  pthread_mutex_lock(&context->lock);
  if (find_locked(context, operation->name) != 0) {
    status = gemel__fail(error, GEMEL_BAD_ARGUMENT, "there is an operation called %s already",
                         operation->name);
  } else if (context->ops.count > UINT16_MAX) {
    status = gemel__fail(error, GEMEL_UNSUPPORTED, "too many operations");
  } else {
    status = add_op(context, operation, row, error);
  }
  pthread_mutex_unlock(&context->lock);
  return status;
}

gemel_status gemel_register_operation(gemel_context *context, const gemel_operation *operation,
                                      gemel_error *error) {
  return gemel__register(context, operation, NULL, error);
}

const gemel_operation *gemel_operation_find(gemel_context *context, const char *name) {
  uint32_t id = gemel__op_find(context, name);
  return id != 0 ? &gemel__op_at(context, id)->record : NULL;
}

size_t gemel_operation_count(gemel_context *context) {
  size_t count = 0;
  if (context != NULL) {
    pthread_mutex_lock(&context->lock); /* a record is counted before it is written */
    count = context->ops.count - 1;
    pthread_mutex_unlock(&context->lock);
  }
  return count;
}

const gemel_operation *gemel_operation_at(gemel_context *context, size_t k) {
  return k < gemel_operation_count(context) ? &gemel__op_at(context, (uint32_t)k + 1)->record
                                            : NULL;
}

const char *gemel__op_suggestion(gemel_context *context, const char *written, size_t length,
                                 gemel__suggestion *near) {
  size_t n = gemel_operation_count(context);
  gemel__suggestion_start(near, written, length);
  for (uint32_t id = 1; id <= n; id++) {
    const char *name = gemel__op_at(context, id)->record.name;
    gemel__suggestion_offer(near, name, strlen(name));
  }
  return gemel__suggestion_text(near);
}

uint32_t gemel__callee_find(gemel_context *context, const char *name, int composites) {
  uint32_t op = gemel__op_find(context, name);
  if (op == 0 && composites && context->composing != NULL) {
    uint32_t number = context->composing->find(context, name);
    op = number > 0 ? number | GEMEL__COMPOSITE : 0;
  }
  return op;
}

const gemel_operation *gemel__callee(gemel_context *context, uint32_t callee) {
  return callee & GEMEL__COMPOSITE ? context->composing->record(context, callee & ~GEMEL__COMPOSITE)
                                   : &gemel__op_at(context, callee)->record;
}
