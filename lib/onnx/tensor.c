/* SPDX-License-Identifier: MIT
 *
 * Tensors of ONNX: a shape, and elements as raw bytes, in a file of their own (external data), or
 * as numbers in the list that belongs to the dtype. Raw bytes that are aligned are used where they
 * lie, others are copied. The number of bytes must be what the shape needs, so nothing is allocated
 * for a shape that lies.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/tensor.h"
#include "onnx/model.h"

/* ---- Dtypes ---- */

/* X(ONNX's name, its number, gemel's dtype, the list of its elements, that list's kind) */
#define ONNX_DTYPE_TABLE(X)                                                                        \
  X(FLOAT, 1, F32, FLOATS, FLOAT)                                                                  \
  X(UINT8, 2, U8, INT32S, INT)                                                                     \
  X(INT8, 3, I8, INT32S, INT)                                                                      \
  X(UINT16, 4, U16, INT32S, INT)                                                                   \
  X(INT16, 5, I16, INT32S, INT)                                                                    \
  X(INT32, 6, I32, INT32S, INT)                                                                    \
  X(INT64, 7, I64, INT64S, INT)                                                                    \
  X(BOOL, 9, BOOL, INT32S, INT)                                                                    \
  X(FLOAT16, 10, F16, INT32S, INT)                                                                 \
  X(DOUBLE, 11, F64, DOUBLES, DOUBLE)                                                              \
  X(UINT32, 12, U32, UINT64S, INT)                                                                 \
  X(UINT64, 13, U64, UINT64S, INT)                                                                 \
  X(BFLOAT16, 16, BF16, INT32S, INT)

typedef struct dtype_row {
  int64_t number;
  gemel_dtype dtype;
  uint32_t list;
  gemel__proto_kind kind;
} dtype_row;

static const dtype_row dtypes[] = {
#define ROW(name, number, dtype, list, kind)                                                       \
  {number, GEMEL_##dtype, GEMEL__TENSOR_##list, GEMEL__PROTO_##kind},
    ONNX_DTYPE_TABLE(ROW)
#undef ROW
};

static const dtype_row *dtype_of(int64_t number, gemel_error *error) {
  for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
    if (dtypes[k].number == number) {
      return &dtypes[k];
    }
  }
  gemel__fail(error, GEMEL_UNSUPPORTED,
              "elements of ONNX's type %lld (%s) aren't gemel's: it has bool, integers of 8 to 64 "
              "bits, f16, bf16, f32, f64",
              (long long)number,
              number == 8                    ? "string"
              : number == 14 || number == 15 ? "complex"
              : number >= 17 && number <= 20 ? "float8"
              : number >= 21 && number <= 25 ? "4 bits"
                                             : "none that is known");
  return NULL;
}

gemel_status gemel__onnx_dtype(int64_t number, gemel_dtype *dtype, gemel_error *error) {
  const dtype_row *row = dtype_of(number, error);
  if (row == NULL) {
    return GEMEL_UNSUPPORTED;
  }
  *dtype = row->dtype;
  return GEMEL_OK;
}

int64_t gemel__onnx_dtype_number(gemel_dtype dtype) {
  size_t k = 0;
  while (dtypes[k].dtype != dtype) { /* each dtype of gemel's is there */
    k++;
  }
  return dtypes[k].number;
}

/* ---- Shapes ---- */

typedef struct described {
  const dtype_row *row;
  int rank;
  int64_t shape[GEMEL_MAX_RANK], elements, bytes;
} described;

static gemel_status describe(gemel__wire_span proto, described *d, gemel_error *error) {
  gemel__numbers dims = {.message = proto, .number = GEMEL__TENSOR_DIMS, .kind = GEMEL__PROTO_INT};
  int64_t strides[GEMEL_MAX_RANK], number = 0;
  uint64_t bits;
  gemel__proto_int(proto, GEMEL__TENSOR_DTYPE, &number);
  d->row = dtype_of(number, error);
  if (d->row == NULL) {
    return GEMEL_UNSUPPORTED;
  }
  for (d->rank = 0; gemel__numbers_next(&dims, &bits); d->rank++) {
    if (d->rank == GEMEL_MAX_RANK) {
      return gemel__fail(error, GEMEL_BAD_SHAPE, "a tensor has more than %d axes", GEMEL_MAX_RANK);
    }
    d->shape[d->rank] = (int64_t)bits;
  }
  return gemel__row_major(d->row->dtype, d->rank, d->shape, strides, &d->elements, &d->bytes,
                          error);
}

static gemel_status wrong_bytes(const described *d, uint64_t there, gemel_error *error) {
  char shape[128];
  return gemel__fail(error, GEMEL_BAD_FILE, "%s%s needs %lld bytes, and there are %llu",
                     gemel_dtype_name(d->row->dtype),
                     gemel__format_shape(d->rank, d->shape, shape, sizeof shape),
                     (long long)d->bytes, (unsigned long long)there);
}

/* ---- Elements ---- */

/* A truth is one byte, 0 or 1, and nothing else. */
static gemel_status check_truths(const described *d, const uint8_t *bytes, gemel_error *error) {
  for (int64_t k = 0; d->row->dtype == GEMEL_BOOL && k < d->elements; k++) {
    if (bytes[k] > 1) {
      return gemel__fail(error, GEMEL_BAD_FILE, "element %lld, of bools, is the byte %d",
                         (long long)k, bytes[k]);
    }
  }
  return GEMEL_OK;
}

/* The tensor of elements as raw BYTES, which MAP (NULL: the program) keeps. */
static gemel_tensor *from_raw(const described *d, gemel__wire_span bytes, gemel__file_map *map,
                              gemel_error *error) {
  size_t width = gemel_dtype_size(d->row->dtype);
  if (bytes.length != (uint64_t)d->bytes) {
    wrong_bytes(d, bytes.length, error);
    return NULL;
  }
  if (check_truths(d, bytes.bytes, error) != GEMEL_OK) {
    return NULL;
  }
  if (d->bytes > 0 && (uintptr_t)bytes.bytes % width == 0) {
    gemel__file_map_ref(map);
    gemel_tensor *tensor =
        gemel_tensor_wrap(d->row->dtype, d->rank, d->shape, NULL, (void *)(uintptr_t)bytes.bytes,
                          gemel__file_map_unref, map, error);
    if (tensor == NULL) {
      gemel__file_map_unref(map);
    }
    return tensor;
  }
  gemel_tensor *tensor = gemel_tensor_new(d->row->dtype, d->rank, d->shape, error);
  if (tensor != NULL && d->bytes > 0) {
    memcpy(gemel_tensor_data(tensor), bytes.bytes, bytes.length);
  }
  return tensor;
}

/* The tensor of elements in the list of their dtype; each takes the lowest bytes of its number. */
static gemel_tensor *from_list(const described *d, gemel__wire_span proto, gemel_error *error) {
  gemel__numbers numbers = {.message = proto, .number = d->row->list, .kind = d->row->kind};
  int64_t there = (int64_t)gemel__numbers_count(numbers);
  size_t width = gemel_dtype_size(d->row->dtype);
  if (there != d->elements) {
    wrong_bytes(d, (uint64_t)there * width, error);
    return NULL;
  }
  gemel_tensor *tensor = gemel_tensor_new(d->row->dtype, d->rank, d->shape, error);
  uint8_t *element = tensor != NULL ? gemel_tensor_data(tensor) : NULL;
  uint64_t bits;
  while (tensor != NULL && gemel__numbers_next(&numbers, &bits)) {
    memcpy(element, &bits, width);
    element += width;
  }
  if (tensor != NULL && check_truths(d, gemel_tensor_data(tensor), error) != GEMEL_OK) {
    gemel_tensor_unref(tensor);
    return NULL;
  }
  return tensor;
}

/* ---- External data ---- */

/* The text of KEY among the entries of external data. */
static gemel__wire_span entry(gemel__wire_span proto, const char *key) {
  gemel__wire_field field;
  while (gemel__proto_next(&proto, GEMEL__TENSOR_EXTERNAL, &field)) {
    if (gemel__wire_is(gemel__proto_span(field.span, GEMEL__ENTRY_KEY), key)) {
      return gemel__proto_span(field.span, GEMEL__ENTRY_VALUE);
    }
  }
  return (gemel__wire_span){NULL, 0};
}

/* *NUMBER = the decimal number in TEXT, or FALLBACK if there is no text: 1, or 0. */
static int read_number(gemel__wire_span text, uint64_t fallback, uint64_t *number) {
  *number = text.bytes == NULL ? fallback : 0;
  for (size_t k = 0; k < text.length; k++) {
    unsigned digit = (unsigned)text.bytes[k] - '0';
    if (digit > 9 || *number > (UINT64_MAX - digit) / 10) {
      return 0;
    }
    *number = *number * 10 + digit;
  }
  return text.bytes == NULL || text.length > 0;
}

/* *PATH, to be released with free, = where LOCATION leads from FOLDER, once links are followed;
 * GEMEL_BAD_FILE if that is outside of FOLDER. */
static gemel_status find_external(const char *folder, gemel__wire_span location, char **path,
                                  gemel_error *error) {
  char joined[PATH_MAX];
  int length = snprintf(joined, sizeof joined, "%s/%.*s", folder,
                        (int)(location.length < PATH_MAX ? location.length : PATH_MAX),
                        (const char *)location.bytes);
  if (location.length == 0 || memchr(location.bytes, '\0', location.length) != NULL ||
      length >= (int)sizeof joined || location.bytes[0] == '/') {
    return gemel__fail(
        error, GEMEL_BAD_FILE, "external data: '%.*s' is no path in the model's folder",
        (int)(location.length < 200 ? location.length : 200), (const char *)location.bytes);
  }
  char *root = realpath(folder, NULL);
  *path = root != NULL ? realpath(joined, NULL) : NULL;
  size_t inside = root != NULL ? strlen(root) : 0;
  gemel_status status = GEMEL_OK;
  if (*path == NULL) {
    status = gemel__fail(error, errno == ENOMEM ? GEMEL_NO_MEMORY : GEMEL_IO,
                         "external data: %s: %s", joined, strerror(errno));
  } else if (strncmp(*path, root, inside) != 0 || ((*path)[inside] != '/' && inside > 1)) {
    status = gemel__fail(error, GEMEL_BAD_FILE,
                         "external data: %s is outside of the model's folder", joined);
    free(*path);
    *path = NULL;
  }
  free(root);
  return status;
}

/* *PART = the bytes of MAP that the entries name. */
static gemel_status cut_external(const described *d, gemel__wire_span proto, gemel__wire_span whole,
                                 gemel__wire_span *part, gemel_error *error) {
  uint64_t offset, length;
  if (!read_number(entry(proto, "offset"), 0, &offset) ||
      !read_number(entry(proto, "length"), (uint64_t)d->bytes, &length)) {
    return gemel__fail(error, GEMEL_BAD_FILE, "external data: offset or length is no number");
  }
  if (offset > whole.length || length > whole.length - offset) {
    return gemel__fail(
        error, GEMEL_BAD_FILE, "external data: bytes %llu to %llu of a file that has %zu",
        (unsigned long long)offset, (unsigned long long)(offset + length), whole.length);
  }
  *part = (gemel__wire_span){whole.bytes + offset, (size_t)length};
  return GEMEL_OK;
}

static gemel_tensor *from_external(const gemel_onnx *model, const described *d,
                                   gemel__wire_span proto, gemel_error *error) {
  gemel_tensor *tensor = NULL;
  gemel__wire_span part;
  char *path = NULL;
  if (model->folder == NULL) {
    gemel__fail(error, GEMEL_BAD_FILE, "external data, and the model in memory has no folder");
    return NULL;
  }
  if (find_external(model->folder, entry(proto, "location"), &path, error) != GEMEL_OK) {
    return NULL;
  }
  gemel__file_map *map = gemel__file_map_new(path, error);
  if (map != NULL && cut_external(d, proto, gemel__onnx_bytes(map), &part, error) == GEMEL_OK) {
    tensor = from_raw(d, part, map, error);
  }
  gemel__file_map_unref(map);
  free(path);
  return tensor;
}

gemel_tensor *gemel__onnx_tensor(const gemel_onnx *model, gemel__wire_span proto,
                                 gemel_error *error) {
  enum { EXTERNAL = 1 };
  described d;
  int64_t location = 0;
  if (describe(proto, &d, error) != GEMEL_OK) {
    return NULL;
  }
  if (gemel__proto_span(proto, GEMEL__TENSOR_SEGMENT).bytes != NULL) {
    gemel__fail(error, GEMEL_UNSUPPORTED, "a tensor in segments");
    return NULL;
  }
  gemel__proto_int(proto, GEMEL__TENSOR_LOCATION, &location);
  if (location == EXTERNAL) {
    return from_external(model, &d, proto, error);
  }
  gemel__wire_span raw = gemel__proto_span(proto, GEMEL__TENSOR_RAW);
  return raw.bytes != NULL ? from_raw(&d, raw, model->map, error) : from_list(&d, proto, error);
}
