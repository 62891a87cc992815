/* SPDX-License-Identifier: MIT
 *
 * NPY files: a magic, a version, the length of a header, the header (the text of a Python dict with
 * the keys descr, fortran_order and shape), then the elements. The reader takes exactly what NumPy
 * writes, in any order of keys and with any white space, and nothing else: no objects, no
 * structures, no big-endian numbers, no byte too few or too many. Source: numpy.lib.format, NEP 1.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "text/file.h"
#include "text/npy.h"

#define MAGIC "\x93NUMPY"

enum { MAX_RANK = 16, MAGIC_BYTES = 6, ALIGNMENT = 64 };

/* NumPy's name of a dtype; NULL: it has none. */
static const char *const descriptions[GEMEL_DTYPE_COUNT] = {
    [GEMEL_BOOL] = "|b1", [GEMEL_I8] = "|i1",  [GEMEL_I16] = "<i2", [GEMEL_I32] = "<i4",
    [GEMEL_I64] = "<i8",  [GEMEL_U8] = "|u1",  [GEMEL_U16] = "<u2", [GEMEL_U32] = "<u4",
    [GEMEL_U64] = "<u8",  [GEMEL_F16] = "<f2", [GEMEL_F32] = "<f4", [GEMEL_F64] = "<f8"};

typedef struct header {
  char description[40]; /* as the file has it */
  gemel_dtype dtype;
  int fortran_order;
  int rank;
  int64_t shape[MAX_RANK];
} header;

/* The header's text while it is read. */
typedef struct npy_reader {
  const char *at, *end;
} npy_reader;

/* ---- Reading the header ---- */

static void skip_space(npy_reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\n')) {
    r->at++;
  }
}

/* Goes past TEXT, and the white space before it, if it comes next. */
static int accept(npy_reader *r, const char *text) {
  size_t n = strlen(text);
  skip_space(r);
  if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0) {
    return 0;
  }
  r->at += n;
  return 1;
}

/* A word in quotes of either kind; 0, or -1. */
static int read_quoted(npy_reader *r, char *word, size_t bytes) {
  char quote = accept(r, "'") ? '\'' : accept(r, "\"") ? '"' : 0;
  const char *stop = quote ? (const char *)memchr(r->at, quote, (size_t)(r->end - r->at)) : NULL;
  if (!stop || (size_t)(stop - r->at) >= bytes) {
    return -1;
  }
  memcpy(word, r->at, (size_t)(stop - r->at));
  word[stop - r->at] = 0;
  r->at = stop + 1;
  return 0;
}

static int read_size(npy_reader *r, int64_t *size) {
  skip_space(r);
  const char *start = r->at;
  *size = 0;
  while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
    if (__builtin_mul_overflow(*size, (int64_t)10, size) ||
        __builtin_add_overflow(*size, (int64_t)(*r->at - '0'), size)) {
      return -1;
    }
    r->at++;
  }
  return r->at == start ? -1 : 0;
}

/* (), (3,), (2, 3) */
static int read_shape(npy_reader *r, header *h) {
  int comma = 1;
  h->rank = 0;
  if (!accept(r, "(")) {
    return -1;
  }
  while (!accept(r, ")")) {
    if (!comma || h->rank == MAX_RANK || read_size(r, &h->shape[h->rank++])) {
      return -1;
    }
    comma = accept(r, ",");
  }
  return h->rank == 1 && !comma ? -1 : 0; /* (3) is no tuple */
}

static int read_description(npy_reader *r, header *h) {
  char *word = h->description;
  if (accept(r, "[")) {
    snprintf(word, sizeof h->description, "of several fields");
    return -2;
  }
  if (read_quoted(r, word, sizeof h->description)) {
    return -1;
  }
  for (int k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    const char *d = descriptions[k];
    /* of one byte, any mark of the order of bytes will do */
    if (d && (strcmp(word, d) == 0 ||
              (d[0] == '|' && word[0] && strchr("<>=", word[0]) && strcmp(word + 1, d + 1) == 0))) {
      h->dtype = (gemel_dtype)k;
      return 0;
    }
  }
  return -2;
}

static int read_order(npy_reader *r, header *h) {
  h->fortran_order = accept(r, "True");
  return h->fortran_order || accept(r, "False") ? 0 : -1;
}

/* 0; -1 malformed, -2 a dtype that gemel doesn't have. */
static int read_header(npy_reader *r, header *h) {
  static const char *const keys[] = {"descr", "fortran_order", "shape"};
  int (*const readers[])(npy_reader *, header *) = {read_description, read_order, read_shape};
  unsigned seen = 0;
  char word[32];
  if (!accept(r, "{")) {
    return -1;
  }
  while (!accept(r, "}")) {
    int key = 0, result;
    if (read_quoted(r, word, sizeof word) || !accept(r, ":")) {
      return -1;
    }
    while (key < 3 && strcmp(word, keys[key]) != 0) {
      key++;
    }
    if (key == 3 || (seen >> key & 1)) {
      return -1;
    }
    seen |= 1u << key;
    result = readers[key](r, h);
    if (result) {
      return result;
    }
    if (!accept(r, ",")) {
      if (!accept(r, "}")) {
        return -1;
      }
      break;
    }
  }
  skip_space(r);
  return seen == 7 && r->at == r->end ? 0 : -1;
}

static gemel_status bad(gemel_error *error, const char *what, const char *why) {
  return gemel__fail(error, GEMEL_BAD_FILE, "%s: %s", what, why);
}

static gemel_status bad_dtype(gemel_error *error, const char *what, const header *h) {
  char names[8 * GEMEL_DTYPE_COUNT];
  size_t used = 0;
  for (int k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    if (descriptions[k] != NULL) {
      used += (size_t)snprintf(names + used, sizeof names - used, " %s", descriptions[k]);
    }
  }
  return gemel__fail(error, GEMEL_BAD_FILE,
                     "%s: NumPy's dtype %s is not supported; those that are:%s", what,
                     h->description, names);
}

/* Finds and reads the header; *DATA is what follows it. */
static gemel_status parse_head(const char *bytes, size_t length, const char *what, header *h,
                               const char **data, gemel_error *error) {
  const unsigned char *b = (const unsigned char *)bytes;
  size_t prefix, n;
  if (length < 10 || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0) {
    return bad(error, what, "this is no NPY file");
  }
  if (b[6] < 1 || b[6] > 3 || b[7] != 0) {
    return bad(error, what, "the version of NPY is not 1.0, 2.0 or 3.0");
  }
  prefix = b[6] == 1 ? 10 : 12;
  if (length < prefix) {
    return bad(error, what, "the file is cut off in its header");
  }
  n = (size_t)b[8] | (size_t)b[9] << 8;
  if (b[6] > 1) {
    n |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
  }
  if (n > length - prefix) {
    return bad(error, what, "the file is cut off in its header");
  }
  npy_reader r = {bytes + prefix, bytes + prefix + n};
  int result = n > 0 && r.end[-1] == '\n' ? read_header(&r, h) : -1;
  if (result) {
    return result == -2 ? bad_dtype(error, what, h) : bad(error, what, "malformed header");
  }
  *data = bytes + prefix + n;
  return GEMEL_OK;
}

/* ---- Reading the elements ---- */

/* Bytes of all elements; -1 if they don't fit. */
static int element_bytes(const header *h, uint64_t *bytes) {
  *bytes = gemel_dtype_size(h->dtype);
  for (int k = 0; k < h->rank; k++) {
    if (h->shape[k] == 0) {
      *bytes = 0;
      return 0;
    }
  }
  for (int k = 0; k < h->rank; k++) {
    if (__builtin_mul_overflow(*bytes, (uint64_t)h->shape[k], bytes)) {
      return -1;
    }
  }
  return 0;
}

/* A tensor with elements that lie at DATA in the header's order. */
static gemel_tensor *make_tensor(const header *h, const char *data, gemel_error *error) {
  int64_t strides[MAX_RANK], step = (int64_t)gemel_dtype_size(h->dtype);
  for (int i = 0; i < h->rank; i++) {
    int k = h->fortran_order ? i : h->rank - 1 - i;
    strides[k] = step;
    step *= h->shape[k] > 0 ? h->shape[k] : 1;
  }
  gemel_view view = {h->dtype, h->rank, h->shape, strides, (void *)data};
  return gemel_tensor_copy(&view, error);
}

gemel_tensor *gemel__npy_parse(const char *bytes, size_t length, const char *what,
                               gemel_error *error) {
  header h;
  const char *data = NULL;
  uint64_t expected;
  memset(&h, 0, sizeof h);
  if (parse_head(bytes, length, what, &h, &data, error)) {
    return NULL;
  }
  uint64_t left = (uint64_t)(bytes + length - data);
  if (element_bytes(&h, &expected) || expected > left) {
    bad(error, what, "the file has fewer elements than its shape");
    return NULL;
  }
  if (expected < left) {
    bad(error, what, "bytes follow the last element");
    return NULL;
  }
  for (uint64_t k = 0; h.dtype == GEMEL_BOOL && k < expected; k++) {
    if ((unsigned char)data[k] > 1) {
      bad(error, what, "a bool is neither 0 nor 1");
      return NULL;
    }
  }
  return make_tensor(&h, data, error);
}

gemel_tensor *gemel_npy_load(const char *path, gemel_error *error) {
  char *bytes;
  size_t length;
  if (gemel__file_read(path, GEMEL__MOST_BYTES, &bytes, &length, error)) {
    return NULL;
  }
  gemel_tensor *tensor = gemel__npy_parse(bytes, length, path, error);
  gemel__free(bytes, length + 1);
  return tensor;
}

/* ---- Writing ---- */

gemel_status gemel__npy_head(const gemel_view *view, char head[GEMEL__NPY_HEAD], size_t *length,
                             gemel_error *error) {
  const char *description =
      (unsigned)view->dtype < GEMEL_DTYPE_COUNT ? descriptions[view->dtype] : NULL;
  size_t used = 10;
  if (!description || view->rank > MAX_RANK) {
    return gemel__fail(error, GEMEL_UNSUPPORTED, "NPY has no name for %s",
                       gemel_dtype_name(view->dtype));
  }
  used += (size_t)snprintf(head + used, GEMEL__NPY_HEAD - used,
                           "{'descr': '%s', 'fortran_order': False, 'shape': (", description);
  for (int k = 0; k < view->rank; k++) {
    used += (size_t)snprintf(head + used, GEMEL__NPY_HEAD - used,
                             k + 1 < view->rank ? "%lld, "
                             : view->rank == 1  ? "%lld,"
                                                : "%lld",
                             (long long)view->shape[k]);
  }
  used += (size_t)snprintf(head + used, GEMEL__NPY_HEAD - used, "), }");
  while ((used + 1) % ALIGNMENT) {
    head[used++] = ' ';
  }
  head[used++] = '\n';
  memcpy(head, MAGIC "\x01", 8); /* version 1.0: the string's own NUL is the minor part */
  head[8] = (char)((used - 10) & 255);
  head[9] = (char)((used - 10) >> 8);
  *length = used;
  return GEMEL_OK;
}

gemel_status gemel_npy_save(const gemel_view *view, const char *path, gemel_error *error) {
  char head[GEMEL__NPY_HEAD];
  size_t length;
  gemel__file file;
  gemel_error why = {GEMEL_OK, 0, 0, ""};
  gemel_tensor *packed = gemel_tensor_copy(view, &why);
  if (!packed) {
    return gemel__fail(error, why.status, "%s", why.text);
  }
  gemel_status status = gemel__npy_head(view, head, &length, error);
  if (status) {
    gemel_tensor_unref(packed);
    return status;
  }
  status = gemel__file_create(&file, path, error);
  if (!status) {
    size_t bytes = (size_t)gemel_tensor_elements(packed) * gemel_dtype_size(view->dtype);
    if (gemel__file_write(&file, head, length) ||
        gemel__file_write(&file, gemel_tensor_data(packed), bytes)) {
      status = GEMEL_IO;
    }
    status = gemel__file_commit(&file, status, error);
  }
  gemel_tensor_unref(packed);
  return status;
}
