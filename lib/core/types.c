/* SPDX-License-Identifier: MIT
 *
 * Types, interned: a dtype, a rank, dims, a memory space. Two types are equal if and only if their
 * ids are.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/context.h"
#include "core/intern.h"

struct type_key {
  const gemel_context *context;
  struct gemel__type type;
};

static uint32_t hash_type(const struct gemel__type *type) {
  uint64_t head = (uint64_t)type->dtype | (uint64_t)type->rank << 8 | (uint64_t)type->space << 16;
  return (uint32_t)gemel__hash_bytes(head, type->dims, type->rank * sizeof(gemel_dim));
}

static int same_type(const void *user, uint32_t id) {
  const struct type_key *key = user;
  const struct gemel__type *a = &key->type;
  const struct gemel__type *b = gemel__type_at(key->context, (gemel_type){id});
  return a->hash == b->hash && a->dtype == b->dtype && a->rank == b->rank && a->space == b->space &&
         memcmp(a->dims, b->dims, a->rank * sizeof(gemel_dim)) == 0;
}

static uint64_t stored_type_hash(const void *user, uint32_t id) {
  const struct type_key *key = user;
  return gemel__type_at(key->context, (gemel_type){id})->hash;
}

/* Appends the key's type; its dims are copied. Call with the lock held. */
static gemel_type add_type(gemel_context *context, struct type_key *key) {
  uint32_t id = context->types.count;
  size_t bytes = key->type.rank * sizeof(gemel_dim);
  gemel_dim *dims = gemel__arena_copy(&context->arena, key->type.dims, bytes);
  struct gemel__type *type;
  if (dims == NULL || (type = gemel__stable_push(&context->types)) == NULL) {
    gemel__dim_count_memory_failure(context);
    return GEMEL_TYPE_NONE;
  }
  *type = key->type;
  type->dims = dims;
  if (gemel__idtable_add(&context->type_table, type->hash, id, stored_type_hash, key) != 0) {
    gemel__stable_pop(&context->types);
    gemel__dim_count_memory_failure(context);
    return GEMEL_TYPE_NONE;
  }
  return (gemel_type){id};
}

static int dims_valid(gemel_context *context, int rank, const gemel_dim *dims, int *runtime) {
  *runtime = 0;
  for (int k = 0; k < rank; k++) {
    int64_t value;
    if (!gemel__dim_exists(context, dims[k]) ||
        (gemel_dim_is_constant(context, dims[k], &value) && value < 0)) {
      return 0;
    }
    *runtime |= gemel__dim_has_runtime(context, dims[k]);
  }
  return 1;
}

gemel_type gemel_type_new(gemel_context *context, gemel_dtype dtype, int rank,
                          const gemel_dim *dims, int space) {
  static const gemel_dim no_dims[1];
  struct type_key key;
  int runtime;
  gemel_type type;
  if (context == NULL || rank < 0 || rank > GEMEL_MAX_RANK || (rank > 0 && dims == NULL) ||
      space < 0 || space > 255 || (unsigned)dtype >= GEMEL_DTYPE_COUNT ||
      !dims_valid(context, rank, dims, &runtime)) {
    return GEMEL_TYPE_NONE;
  }
  memset(&key, 0, sizeof key);
  key.context = context;
  key.type.dtype = (uint8_t)dtype;
  key.type.rank = (uint8_t)rank;
  key.type.space = (uint8_t)space;
  key.type.has_runtime = (uint8_t)runtime;
  key.type.dims = rank > 0 ? dims : no_dims;
  key.type.hash = hash_type(&key.type);
  pthread_mutex_lock(&context->lock);
  type.id = gemel__idtable_find(&context->type_table, key.type.hash, same_type, &key);
  if (gemel_type_is_none(type)) {
    type = add_type(context, &key);
  }
  pthread_mutex_unlock(&context->lock);
  return type;
}

gemel_type gemel_type_of_shape(gemel_context *context, gemel_dtype dtype, int rank,
                               const int64_t *shape) {
  gemel_dim dims[GEMEL_MAX_RANK];
  int k;
  if (context == NULL || rank < 0 || rank > GEMEL_MAX_RANK || (rank > 0 && shape == NULL)) {
    return GEMEL_TYPE_NONE;
  }
  for (k = 0; k < rank; k++) {
    dims[k] = gemel_dim_constant(context, shape[k]);
  }
  return gemel_type_new(context, dtype, rank, dims, GEMEL_SPACE_HOST);
}

/* The type, or for an id that is none "no type", which looks like a scalar of bools. */
static const struct gemel__type *look_at(const gemel_context *context, gemel_type type) {
  static const struct gemel__type none = {0};
  if (context == NULL) {
    return &none;
  }
  return gemel__type_at(context, gemel__type_exists(context, type) ? type : GEMEL_TYPE_NONE);
}

gemel_dtype gemel_type_dtype(gemel_context *context, gemel_type type) {
  return (gemel_dtype)look_at(context, type)->dtype;
}

int gemel_type_rank(gemel_context *context, gemel_type type) {
  return look_at(context, type)->rank;
}

const gemel_dim *gemel_type_dims(gemel_context *context, gemel_type type) {
  return look_at(context, type)->dims;
}

int gemel_type_space(gemel_context *context, gemel_type type) {
  return look_at(context, type)->space;
}

gemel_type gemel__type_with_dtype(gemel_context *context, gemel_type type, gemel_dtype dtype) {
  const struct gemel__type *t = gemel__type_at(context, type);
  if (t->dtype == dtype) {
    return type;
  }
  return gemel_type_new(context, dtype, t->rank, t->dims, t->space);
}

gemel_type gemel__type_with_dims(gemel_context *context, gemel_type type, int rank,
                                 const gemel_dim *dims) {
  const struct gemel__type *t = gemel__type_at(context, type);
  return gemel_type_new(context, (gemel_dtype)t->dtype, rank, dims, t->space);
}

/* Appends to TEXT at *USED as snprintf would, keeping count of the full length. */
static void append(char *text, size_t bytes, size_t *used, const char *piece) {
  size_t length = strlen(piece);
  if (*used < bytes) {
    snprintf(text + *used, bytes - *used, "%s", piece);
  }
  *used += length;
}

static void append_dim(gemel_context *context, gemel_dim dim, char *text, size_t bytes,
                       size_t *used) {
  int room = *used < bytes;
  *used += gemel_dim_format(context, dim, room ? text + *used : NULL, room ? bytes - *used : 0);
}

size_t gemel_type_format(gemel_context *context, gemel_type type, char *text, size_t bytes) {
  size_t used = 0;
  char piece[16];
  if (text == NULL) {
    bytes = 0;
  }
  if (bytes > 0) {
    text[0] = '\0';
  }
  if (context == NULL || !gemel__type_exists(context, type)) {
    append(text, bytes, &used, "no type");
    return used;
  }
  const struct gemel__type *t = gemel__type_at(context, type);
  append(text, bytes, &used, gemel_dtype_name((gemel_dtype)t->dtype));
  append(text, bytes, &used, "[");
  for (int k = 0; k < t->rank; k++) {
    append(text, bytes, &used, k > 0 ? ", " : "");
    append_dim(context, t->dims[k], text, bytes, &used);
  }
  append(text, bytes, &used, "]");
  if (t->space != GEMEL_SPACE_HOST) {
    snprintf(piece, sizeof piece, "@%d", t->space);
    append(text, bytes, &used, piece);
  }
  return used;
}

void gemel__format_types(gemel_context *context, size_t count, const gemel_type *types, char *text,
                         size_t bytes) {
  size_t used = 0;
  size_t k;
  if (bytes > 0) {
    text[0] = '\0';
  }
  for (k = 0; k < count; k++) {
    char piece[512];
    gemel_type_format(context, types[k], piece, sizeof piece);
    if (k == 8 && count > 9) {
      append(text, bytes, &used, ", …");
      return;
    }
    append(text, bytes, &used, k > 0 ? ", " : "");
    append(text, bytes, &used, piece);
  }
}

double gemel__guess_elements(gemel_context *context, gemel_type type) {
  double elements = 1;
  for (int axis = 0; axis < gemel_type_rank(context, type); axis++) {
    int64_t size = GEMEL__SIZE_GUESS;
    gemel_dim_is_constant(context, gemel_type_dims(context, type)[axis], &size);
    elements *= (double)size;
  }
  return elements;
}
