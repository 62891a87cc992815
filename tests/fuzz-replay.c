/* SPDX-License-Identifier: MIT
 *
 * A target for libFuzzer (ci/fuzz): any bytes as the files of a folder that gemel verify --replay
 * is given. A line "== NAME" begins a file, such as question, or options in first/. What follows
 * "== first" or "== second" is the text of a graph, whose call is written as a dump: so that the
 * inputs fit however the graph changes. Files that come behind it replace those of the dump; in
 * archives of tensors the checksums, which would stop nearly all of them, are made right.
 */
#include "fuzz.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_INPUTS = 8, MOST_BYTES = 1 << 14 };

/* The folder that is made, and the bytes of which values are made. */
typedef struct folder {
  gemel_context *context;
  char path[64];
  const char *bytes;
  size_t length;
} folder;

static uint32_t number(const char *at, int bytes) {
  uint32_t n = 0;
  for (int k = 0; k < bytes; k++) {
    n |= (uint32_t)(unsigned char)at[k] << 8 * k;
  }
  return n;
}

static uint32_t checksum(const char *bytes, size_t length) {
  uint32_t crc = UINT32_MAX;
  for (size_t k = 0; k < 8 * length; k++) {
    crc ^= k % 8 == 0 ? (unsigned char)bytes[k / 8] : 0;
    crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
  }
  return ~crc;
}

/* Makes the checksums right of the entries whose records "PK\1\2" are among BYTES. */
static void sign(char *bytes, size_t length) {
  for (size_t k = 0; k + 46 <= length; k++) {
    size_t at = number(bytes + k + 42, 4), size = number(bytes + k + 24, 4);
    if (memcmp(bytes + k, "PK\1\2", 4) == 0 && at + 30 <= length) {
      at += 30 + number(bytes + at + 26, 2) + number(bytes + at + 28, 2);
      if (at <= length && size <= length - at) {
        uint32_t crc = checksum(bytes + at, size);
        for (int j = 0; j < 4; j++) {
          bytes[k + 16 + (size_t)j] = (char)(crc >> 8 * j);
        }
      }
    }
  }
}

static void write_file(const char *path, const char *name, const char *body, size_t length) {
  char *copy = malloc(length + 1);
  FILE *file = fopen(path, "wb");
  if (copy != NULL && file != NULL) {
    memcpy(copy, body, length);
    if (strstr(name, ".npz") != NULL) {
      sign(copy, length);
    }
    fwrite(copy, 1, length, file);
  }
  if (file != NULL) {
    fclose(file);
  }
  free(copy);
}

/* A value for INPUT; its symbols are 2, and its elements are made of the folder's bytes. */
static gemel_tensor *make_value(const folder *f, gemel_value input) {
  gemel_type type = gemel_value_type(input);
  gemel_dtype dtype = gemel_type_dtype(f->context, type);
  int rank = gemel_type_rank(f->context, type);
  int64_t shape[GEMEL_MAX_RANK], bytes = (int64_t)gemel_dtype_size(dtype);
  for (int k = 0; k < rank; k++) {
    if (!gemel_dim_is_constant(f->context, gemel_type_dims(f->context, type)[k], &shape[k])) {
      shape[k] = 2;
    }
    bytes = shape[k] > MOST_BYTES ? MOST_BYTES + 1 : bytes * shape[k];
    if (bytes > MOST_BYTES) {
      return NULL;
    }
  }
  gemel_tensor *tensor = gemel_tensor_new(dtype, rank, shape, NULL);
  char *data = tensor != NULL ? gemel_tensor_data(tensor) : NULL;
  for (size_t k = 0; data != NULL && k < (size_t)bytes; k++) {
    data[k] = f->bytes[k % f->length];
    data[k] = dtype == GEMEL_BOOL ? data[k] & 1 : data[k];
  }
  return tensor;
}

/* Writes the graph of TEXT, called with some values, to the dump PATH. */
static void write_dump(const folder *f, const char *path, const char *text, size_t length) {
  gemel_error error;
  gemel_tensor *values[MOST_INPUTS] = {NULL};
  gemel_graph *graph = gemel_parse(f->context, text, length, "f.gmt", NULL, &error);
  size_t n = graph != NULL ? gemel_graph_input_count(graph) : 0, made = 0;
  while (made < n && n <= MOST_INPUTS &&
         (values[made] = make_value(f, gemel_graph_input(graph, made))) != NULL) {
    made++;
  }
  if (graph != NULL && made == n) {
    gemel_dump(graph, NULL, n, values, 0, NULL, path, &error);
  }
  for (size_t k = 0; k < made; k++) {
    gemel_tensor_unref(values[k]);
  }
  gemel_graph_unref(graph);
}

/* Writes the file whose head, "NAME\n", is at AT; returns what is behind it. */
static const char *write_part(const folder *f, const char *at, const char *end) {
  char name[40], path[160];
  const char *line = memchr(at, '\n', (size_t)(end - at));
  const char *body = line != NULL ? line + 1 : end;
  const char *next = memmem(body, (size_t)(end - body), "\n== ", 4);
  snprintf(name, sizeof name, "%.*s", (int)((line != NULL ? line : end) - at), at);
  next = next != NULL ? next : end;
  snprintf(path, sizeof path, "%s/%s", f->path, name);
  if (strcmp(name, "first") == 0 || strcmp(name, "second") == 0) {
    write_dump(f, path, body, (size_t)(next - body));
  } else if (name[0] != '\0' && strstr(name, "..") == NULL) {
    char *slash = strrchr(path + strlen(f->path) + 1, '/');
    if (slash != NULL) {
      *slash = '\0';
      mkdir(path, 0777);
      *slash = '/';
    }
    write_file(path, name, body, (size_t)(next - body));
  }
  return next < end ? next + 4 : end;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place) {
  (void)about;
  (void)kind;
  (void)place;
  return remove(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  gemel_error error;
  double until;
  folder f = {gemel_context_new(&error), "folder-XXXXXX", (const char *)bytes, length};
  const char *at = f.bytes, *end = at + length;
  const gemel_verify_options options = fuzz_options(0, &until);
  if (f.context == NULL || mkdtemp(f.path) == NULL) {
    abort();
  }
  at = length > 3 && memcmp(at, "== ", 3) == 0 ? at + 3 : end;
  while (at < end) {
    at = write_part(&f, at, end);
  }
  gemel_verify_replay(f.context, f.path, &options, NULL, &error);
  nftw(f.path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  gemel_context_unref(f.context);
  return 0;
}
