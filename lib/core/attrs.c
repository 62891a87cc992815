/* SPDX-License-Identifier: MIT
 *
 * Attributes, interned: what an operation is given besides its inputs, checked against its schema,
 * in the schema's order, deep-copied into the context. Two nodes have equal attributes if and only
 * if the ids are equal. Tensors compare by dtype, shape and bytes, graphs by structure.
 */
#include "core/attrs.h"
#include "core/tensor.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/intern.h"
#include "core/schema.h"

enum { MAX_ATTRS = GEMEL__MAX_ATTRS };

/* Attributes on their way in. Tensors are row-major copies (see struct copies). */
struct attrs_candidate {
  gemel_context *context;
  const gemel__op *op;
  gemel_attr values[MAX_ATTRS];
  uint64_t hash;
  int has_runtime;
};

static int is_list(int kind) {
  return (kind & GEMEL_ATTR_LIST) != 0;
}

static int base_kind(int kind) {
  return kind & ~GEMEL_ATTR_LIST;
}

const char *gemel__attr_kind_name(int kind) {
  static const char *const names[] = {"none",  "int",    "dim",    "float",
                                      "dtype", "string", "tensor", "graph"};
  int base = base_kind(kind);
  return base >= 0 && base <= GEMEL_ATTR_GRAPH ? names[base] : "?";
}

/* Bytes of one element of a list of this kind. */
static size_t element_bytes(int kind) {
  switch (base_kind(kind)) {
  case GEMEL_ATTR_INT:
    return sizeof(int64_t);
  case GEMEL_ATTR_DIM:
    return sizeof(gemel_dim);
  case GEMEL_ATTR_FLOAT:
    return sizeof(double);
  case GEMEL_ATTR_DTYPE:
    return sizeof(gemel_dtype);
  default:
    return sizeof(void *);
  }
}

/* Where the elements of an attribute lie: the list, or the single value itself. */
static const void *elements_of(const gemel_attr *a) {
  return is_list(a->kind) ? (const void *)a->u.ints : (const void *)&a->u;
}

static size_t count_of(const gemel_attr *a) {
  return is_list(a->kind) ? a->count : 1;
}

/* ---- Hash and equality ---- */

static uint64_t hash_tensor(uint64_t hash, const gemel_tensor *tensor) {
  gemel_view v = gemel_tensor_view(tensor);
  hash = gemel__hash_bytes(hash ^ v.dtype, v.shape, (size_t)v.rank * sizeof *v.shape);
  return gemel__hash_bytes(hash, v.data,
                           (size_t)gemel_tensor_elements(tensor) * gemel_dtype_size(v.dtype));
}

static int same_tensor(const gemel_tensor *a, const gemel_tensor *b) {
  gemel_view x = gemel_tensor_view(a), y = gemel_tensor_view(b);
  return x.dtype == y.dtype && x.rank == y.rank &&
         memcmp(x.shape, y.shape, (size_t)x.rank * sizeof *x.shape) == 0 &&
         memcmp(x.data, y.data, (size_t)gemel_tensor_elements(a) * gemel_dtype_size(x.dtype)) == 0;
}

static uint64_t hash_attr(uint64_t hash, const gemel_attr *a) {
  size_t k, n = count_of(a);
  hash = gemel__mix(hash ^ (uint64_t)(unsigned)a->kind ^ (uint64_t)n << 8);
  switch (base_kind(a->kind)) {
  case GEMEL_ATTR_NONE:
    return hash;
  case GEMEL_ATTR_STRING:
    for (k = 0; k < n; k++) {
      const char *text = ((const char *const *)elements_of(a))[k];
      hash = gemel__hash_bytes(hash, text, strlen(text));
    }
    return hash;
  case GEMEL_ATTR_TENSOR:
    for (k = 0; k < n; k++) {
      hash = hash_tensor(hash, ((gemel_tensor *const *)elements_of(a))[k]);
    }
    return hash;
  case GEMEL_ATTR_GRAPH:
    for (k = 0; k < n; k++) {
      hash = gemel__mix(hash ^ gemel__graph_hash(((gemel_graph *const *)elements_of(a))[k]));
    }
    return hash;
  default:
    return gemel__hash_bytes(hash, elements_of(a), n * element_bytes(a->kind));
  }
}

static int same_pointers(const gemel_attr *a, const gemel_attr *b) {
  size_t k, n = count_of(a);
  void *const *x = elements_of(a), *const *y = elements_of(b);
  for (k = 0; k < n; k++) {
    int same;
    if (base_kind(a->kind) == GEMEL_ATTR_STRING) {
      same = strcmp(x[k], y[k]) == 0;
    } else if (base_kind(a->kind) == GEMEL_ATTR_TENSOR) {
      same = same_tensor(x[k], y[k]);
    } else {
      same = gemel__graph_same(x[k], y[k]);
    }
    if (!same) {
      return 0;
    }
  }
  return 1;
}

int gemel__attr_same(const gemel_attr *a, const gemel_attr *b) {
  if (a->kind != b->kind || count_of(a) != count_of(b)) {
    return 0;
  }
  switch (base_kind(a->kind)) {
  case GEMEL_ATTR_NONE:
    return 1;
  case GEMEL_ATTR_STRING:
  case GEMEL_ATTR_TENSOR:
  case GEMEL_ATTR_GRAPH:
    return same_pointers(a, b);
  default:
    return count_of(a) == 0 ||
           memcmp(elements_of(a), elements_of(b), count_of(a) * element_bytes(a->kind)) == 0;
  }
}

static int same_attrs(const void *user, uint32_t id) {
  const struct attrs_candidate *c = user;
  const struct gemel__attrs *stored = gemel__attrs_at(c->context, id);
  if (stored->hash != (uint32_t)c->hash || stored->op != c->op->id) {
    return 0;
  }
  for (size_t k = 0; k < stored->count; k++) {
    if (!gemel__attr_same(&c->values[k], &stored->values[k])) {
      return 0;
    }
  }
  return 1;
}

static uint64_t stored_hash(const void *user, uint32_t id) {
  const struct attrs_candidate *c = user;
  return gemel__attrs_at(c->context, id)->hash;
}

/* ---- Checking against the schema ---- */

static gemel_status fallback_value(struct attrs_candidate *c, const gemel_attr_spec *spec,
                                   gemel_attr *a, gemel_error *error) {
  if (spec->fallback == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s: attribute %s is missing", c->op->record.name,
                       spec->name);
  }
  if (gemel__schema_fallback(spec, a) != 0) {
    return gemel__fail(error, GEMEL_INTERNAL, "%s: attribute %s has a malformed fallback",
                       c->op->record.name, spec->name);
  }
  return GEMEL_OK;
}

enum { DEFECT = 40 };

/* What is wrong with the elements of an attribute (TEXT has room for it), or NULL: those that must
 * not be null, dims and graphs that must be this context's, dtypes that must exist. */
static const char *defect_of(gemel_context *context, const gemel_attr *a, char text[DEFECT]) {
  size_t k, n = count_of(a);
  int kind = base_kind(a->kind);
  if (is_list(a->kind) && a->count > 0 && a->u.ints == NULL) {
    return "is null";
  }
  for (k = 0; k < n; k++) {
    const void *elements = elements_of(a);
    if (kind >= GEMEL_ATTR_STRING && ((void *const *)elements)[k] == NULL) {
      return "is null";
    }
    if (kind == GEMEL_ATTR_DIM && !gemel__dim_exists(context, ((const gemel_dim *)elements)[k])) {
      return "holds no dim";
    }
    if (kind == GEMEL_ATTR_DTYPE &&
        (unsigned)((const gemel_dtype *)elements)[k] >= GEMEL_DTYPE_COUNT) {
      snprintf(text, DEFECT, "holds %d, which is no dtype",
               (int)((const gemel_dtype *)elements)[k]);
      return text;
    }
    if (kind == GEMEL_ATTR_GRAPH && ((gemel_graph *const *)elements)[k]->context != context) {
      return "is a graph of another context";
    }
  }
  return NULL;
}

const char *gemel__attr_suggestion(const gemel__op *op, const char *written, size_t length,
                                   gemel__suggestion *near) {
  gemel__suggestion_start(near, written, length);
  for (size_t k = 0; k < op->n_attrs; k++) {
    gemel__suggestion_offer(near, op->record.attrs[k].name, strlen(op->record.attrs[k].name));
  }
  return gemel__suggestion_text(near);
}

static gemel_status no_attribute(const struct attrs_candidate *c, const char *written,
                                 gemel_error *error) {
  gemel__suggestion near;
  written = written != NULL ? written : "(null)";
  return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s has no attribute called %s%s",
                     c->op->record.name, written,
                     gemel__attr_suggestion(c->op, written, strlen(written), &near));
}

static gemel_status take_given(struct attrs_candidate *c, const gemel_attr *given,
                               gemel_error *error) {
  const gemel_attr_spec *schema = c->op->record.attrs;
  const char *name = c->op->record.name, *defect;
  char text[DEFECT];
  size_t k;
  for (k = 0; k < c->op->n_attrs; k++) {
    if (given->name != NULL && strcmp(schema[k].name, given->name) == 0) {
      break;
    }
  }
  if (k == c->op->n_attrs) {
    return no_attribute(c, given->name, error);
  }
  if (c->values[k].name != NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s: attribute %s is given twice", name,
                       given->name);
  }
  if (given->kind == GEMEL_ATTR_NONE && schema[k].fallback != NULL) {
    return fallback_value(c, &schema[k], &c->values[k], error);
  }
  c->values[k] = *given;
  c->values[k].name = schema[k].name;
  if (given->kind != schema[k].kind &&
      !(is_list(schema[k].kind) && is_list(given->kind) && given->count == 0)) {
    return gemel__fail(
        error, GEMEL_BAD_ARGUMENT, "%s: attribute %s must be %s%s, not %s%s", name, given->name,
        is_list(schema[k].kind) ? "a list of " : "", gemel__attr_kind_name(schema[k].kind),
        is_list(given->kind) ? "a list of " : "", gemel__attr_kind_name(given->kind));
  }
  c->values[k].kind = schema[k].kind;
  if (!is_list(schema[k].kind)) {
    c->values[k].count = 0;
  }
  defect = defect_of(c->context, &c->values[k], text);
  if (defect != NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s: attribute %s %s", name, given->name, defect);
  }
  return GEMEL_OK;
}

static int holds_runtime(gemel_context *context, const gemel_attr *a) {
  const gemel_dim *dims = elements_of(a);
  int found = 0;
  for (size_t k = 0; k < count_of(a); k++) {
    found |= gemel__dim_has_runtime(context, dims[k]);
  }
  return found;
}

static gemel_status gather(struct attrs_candidate *c, size_t n_given, const gemel_attr *given,
                           gemel_error *error) {
  size_t k;
  gemel_status status = GEMEL_OK;
  memset(c->values, 0, c->op->n_attrs * sizeof *c->values);
  for (k = 0; k < n_given && status == GEMEL_OK; k++) {
    status = take_given(c, &given[k], error);
  }
  c->hash = gemel__mix(c->op->id);
  for (k = 0; k < c->op->n_attrs && status == GEMEL_OK; k++) {
    gemel_attr *a = &c->values[k];
    if (a->name == NULL) {
      status = fallback_value(c, &c->op->record.attrs[k], a, error);
    }
    if (status == GEMEL_OK) {
      c->has_runtime |= base_kind(a->kind) == GEMEL_ATTR_DIM && holds_runtime(c->context, a);
      c->hash = hash_attr(c->hash, a);
    }
  }
  return status;
}

/* ---- Storing ---- */

/* Replaces the pointers of a stored list by copies that the context owns; on failure those made so
 * far are released. */
static int own_pointers(gemel_context *context, int kind, size_t n, void **p) {
  for (size_t k = 0; k < n; k++) {
    void *copy;
    if (kind == GEMEL_ATTR_STRING) {
      copy = (void *)gemel__intern_string_locked(context, p[k]);
    } else if (kind == GEMEL_ATTR_TENSOR) {
      copy = gemel_tensor_ref(p[k]);
    } else {
      copy = gemel__graph_freeze_copy(p[k]);
    }
    if (copy == NULL) {
      gemel__release_pointers(kind, k, p);
      return -1;
    }
    p[k] = copy;
  }
  return 0;
}

void gemel__release_pointers(int kind, size_t n, void **p) {
  for (size_t k = 0; k < n; k++) {
    if (kind == GEMEL_ATTR_TENSOR) {
      gemel_tensor_unref(p[k]);
    } else if (kind == GEMEL_ATTR_GRAPH) {
      gemel__graph_free_frozen(p[k]);
    }
  }
}

static void **pointers_of(gemel_attr *a) {
  return is_list(a->kind) ? (void **)a->u.ints : (void **)&a->u;
}

static int own_attr(gemel_context *context, gemel_attr *a) {
  int kind = base_kind(a->kind);
  if (is_list(a->kind)) {
    void *copy = gemel__arena_copy(&context->arena, a->u.ints, a->count * element_bytes(kind));
    if (copy == NULL) {
      return -1;
    }
    a->u.ints = copy;
  }
  return kind < GEMEL_ATTR_STRING ? 0 : own_pointers(context, kind, count_of(a), pointers_of(a));
}

void gemel__attrs_release(struct gemel__attrs *attrs) {
  gemel_attr *values = (gemel_attr *)attrs->values;
  for (size_t k = 0; k < attrs->count; k++) {
    if (base_kind(values[k].kind) > GEMEL_ATTR_STRING) {
      gemel__release_pointers(base_kind(values[k].kind), count_of(&values[k]),
                              pointers_of(&values[k]));
    }
  }
}

/* How deep graphs are nested in the N values: 0 if they hold none; and how many run with one. */
static uint32_t deepest(gemel_attr *values, size_t n, uint32_t *expanded) {
  uint32_t most = 0;
  *expanded = 0;
  for (size_t k = 0; k < n; k++) {
    void **p = pointers_of(&values[k]);
    for (size_t j = 0; base_kind(values[k].kind) == GEMEL_ATTR_GRAPH && j < count_of(&values[k]);
         j++) {
      uint32_t nesting = ((const gemel_graph *)p[j])->nesting;
      uint32_t bodies = ((const gemel_graph *)p[j])->expanded;
      most = nesting > most ? nesting : most;
      *expanded = bodies > *expanded ? bodies : *expanded;
    }
  }
  return most;
}

/* Appends the candidate; 0 when memory is out, with nothing left behind but arena space. */
static uint32_t add_attrs(struct attrs_candidate *c) {
  gemel_context *context = c->context;
  uint32_t id = context->attrs.count;
  size_t bytes = c->op->n_attrs * sizeof *c->values;
  gemel_attr *values = gemel__arena_copy(&context->arena, c->values, bytes);
  struct gemel__attrs *stored;
  struct gemel__attrs made = {(uint32_t)c->hash, c->op->id, 0, values, c->has_runtime, 0, 0};
  if (values == NULL) {
    return 0;
  }
  while (made.count < c->op->n_attrs && own_attr(context, &values[made.count]) == 0) {
    made.count++;
  }
  if (made.count == c->op->n_attrs && (stored = gemel__stable_push(&context->attrs)) != NULL) {
    *stored = made;
    stored->nesting = deepest(values, made.count, &stored->expanded);
    if (gemel__idtable_add(&context->attr_table, (uint32_t)c->hash, id, stored_hash, c) == 0) {
      return id;
    }
    gemel__stable_pop(&context->attrs);
  }
  gemel__attrs_release(&made);
  return 0;
}

static gemel_status find_or_add(struct attrs_candidate *c, int add, uint32_t *id,
                                gemel_error *error) {
  pthread_mutex_lock(&c->context->lock);
  *id = gemel__idtable_find(&c->context->attr_table, (uint32_t)c->hash, same_attrs, c);
  if (*id == 0 && add) {
    *id = add_attrs(c);
  }
  pthread_mutex_unlock(&c->context->lock);
  return *id != 0 || !add ? GEMEL_OK : gemel__no_memory(error, "attributes");
}

/* Puts row-major copies of the tensors of A in their place, since hash and equality read them as
 * plain bytes; if KEPT is 0, only of those that aren't row-major. A list lives in ARENA. Null ones
 * stay null, for the schema's check to find. What A holds afterwards is to be released, whatever is
 * returned. */
static gemel_status copy_tensors(gemel_attr *a, int kept, gemel__arena *arena, gemel_error *error) {
  gemel_tensor *const *from = elements_of(a);
  size_t n = count_of(a);
  if (base_kind(a->kind) != GEMEL_ATTR_TENSOR || n == 0 || from == NULL) {
    return GEMEL_OK;
  }
  gemel_tensor **copies = n <= SIZE_MAX / 16 ? gemel__arena_alloc(arena, n * sizeof *copies) : NULL;
  gemel_status status = copies != NULL ? GEMEL_OK : gemel__no_memory(error, "a list of tensors");
  for (size_t k = 0; k < n && copies != NULL; k++) {
    gemel_view view = {0};
    copies[k] = NULL;
    if (from[k] != NULL && from[k]->device != NULL) {
      status = gemel__fail(error, GEMEL_BAD_ARGUMENT,
                           "the tensor of attribute %s isn't on the host", a->name);
    }
    if (from[k] != NULL && status == GEMEL_OK) {
      view = gemel_tensor_view(from[k]);
      int plain = !kept && gemel__is_row_major(gemel_dtype_size(view.dtype), view.rank, view.shape,
                                               view.strides);
      copies[k] = plain ? gemel_tensor_ref(from[k]) : gemel_tensor_copy(&view, error);
      status = copies[k] != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
    }
  }
  if (copies == NULL) {
    a->kind = GEMEL_ATTR_NONE;
  } else if (is_list(a->kind)) {
    a->u.tensors = copies;
  } else {
    a->u.tensor = copies[0];
  }
  return status;
}

/* *ID: the attributes GIVEN; 0 if they aren't there yet and ADD is 0. */
static gemel_status intern(struct attrs_candidate *c, size_t n_given, const gemel_attr *given,
                           int add, uint32_t *id, gemel_error *error) {
  gemel__arena arena = {0};
  gemel_attr own[MAX_ATTRS];
  gemel_status status = GEMEL_OK;
  size_t copied = 0;
  for (; copied < n_given && status == GEMEL_OK; copied++) {
    own[copied] = given[copied];
    status = copy_tensors(&own[copied], add, &arena, error);
  }
  status = status ? status : gather(c, n_given, own, error);
  status = status ? status : find_or_add(c, add, id, error);
  for (size_t k = 0; k < copied; k++) {
    if (base_kind(own[k].kind) == GEMEL_ATTR_TENSOR && elements_of(&own[k]) != NULL) {
      gemel__release_pointers(GEMEL_ATTR_TENSOR, count_of(&own[k]), pointers_of(&own[k]));
    }
  }
  gemel__arena_clear(&arena);
  return status;
}

/* Tensors are first looked for as they are: what is there already, such as the weights of a network
 * that is read twice, isn't copied. */
gemel_status gemel__attrs_intern(gemel_context *context, const gemel__op *op, size_t n_given,
                                 const gemel_attr *given, uint32_t *id, gemel_error *error) {
  struct attrs_candidate c = {.context = context, .op = op};
  gemel_status status = GEMEL_OK;
  int tensors = 0;
  *id = 0;
  if (op->n_attrs == 0 && n_given == 0) {
    return GEMEL_OK;
  }
  if (n_given > MAX_ATTRS || (n_given > 0 && given == NULL)) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s: %s", op->record.name,
                       given == NULL ? "the attributes are null" : "too many attributes");
  }
  for (size_t k = 0; k < n_given; k++) {
    tensors |= base_kind(given[k].kind) == GEMEL_ATTR_TENSOR;
  }
  status = tensors ? intern(&c, n_given, given, 0, id, error) : GEMEL_OK;
  return status == GEMEL_OK && *id == 0 ? intern(&c, n_given, given, 1, id, error) : status;
}

/* ---- Substitution ---- */

static gemel_status substitute_attr(gemel_context *context, gemel_attr *a, gemel_dim *room,
                                    size_t n_room, gemel__replace replace, void *user,
                                    gemel_error *error) {
  const gemel_dim *dims = elements_of(a);
  size_t k, n = count_of(a);
  unsigned failures = gemel__dim_memory_failures(context);
  if (n > n_room) {
    return gemel__fail(error, GEMEL_UNSUPPORTED, "attribute %s has more than %zu dims", a->name,
                       n_room);
  }
  for (k = 0; k < n; k++) {
    room[k] = gemel__dim_substitute(context, dims[k], replace, user);
    if (gemel_dim_is_none(room[k])) {
      return gemel__dim_memory_failures(context) != failures
                 ? gemel__no_memory(error, "dims")
                 : gemel__fail(error, GEMEL_BAD_SHAPE, "attribute %s: a size can't be represented",
                               a->name);
    }
  }
  if (is_list(a->kind)) {
    a->u.dims = room;
  } else {
    a->u.dim = room[0];
  }
  return GEMEL_OK;
}

gemel_status gemel__attrs_substitute(gemel_context *context, uint32_t attrs, gemel__replace replace,
                                     void *user, uint32_t *id, gemel_error *error) {
  const struct gemel__attrs *stored = gemel__attrs_at(context, attrs);
  gemel_attr values[MAX_ATTRS];
  gemel_dim room[MAX_ATTRS * 8];
  size_t used = 0, k;
  int found = 0;
  for (k = 0; k < stored->count; k++) {
    values[k] = stored->values[k];
    if (base_kind(values[k].kind) == GEMEL_ATTR_DIM) {
      gemel_status status =
          substitute_attr(context, &values[k], room + used, sizeof room / sizeof *room - used,
                          replace, user, error);
      if (status != GEMEL_OK) {
        return status;
      }
      used += count_of(&values[k]);
      found = 1;
    }
  }
  if (!found) {
    *id = attrs;
    return GEMEL_OK;
  }
  return gemel__attrs_intern(context, gemel__op_at(context, stored->op), stored->count, values, id,
                             error);
}

/* ---- Normal form ---- */

gemel_status gemel__normal_attrs(gemel_context *context, const gemel__op *op, uint32_t attrs,
                                 size_t n_inputs, const gemel_type *types, uint32_t *normal,
                                 gemel_error *error) {
  const struct gemel__attrs *stored = gemel__attrs_at(context, attrs);
  gemel_attr values[MAX_ATTRS];
  gemel_normalize call;
  gemel_status status;
  int same = 1;
  size_t k;
  *normal = attrs;
  if (op->record.normalize == NULL || attrs == 0 || n_inputs < (size_t)op->record.min_inputs) {
    return GEMEL_OK;
  }
  for (k = 0; k < stored->count; k++) {
    values[k] = stored->values[k];
    values[k].name = op->record.attrs[k].name;
  }
  call.size = sizeof call;
  call.context = context;
  call.n_inputs = n_inputs;
  call.inputs = types;
  call.n_attrs = stored->count;
  call.attrs = values;
  call.storage_used = 0;
  call.error = error;
  call.data = op->record.data;
  status = op->record.normalize(&call);
  for (k = 0; k < stored->count; k++) {
    same &= gemel__attr_same(&values[k], &stored->values[k]);
  }
  return status != GEMEL_OK || same
             ? status
             : gemel__attrs_intern(context, op, stored->count, values, normal, error);
}
