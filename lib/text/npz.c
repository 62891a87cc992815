/* SPDX-License-Identifier: MIT
 *
 * NPZ files: ZIP archives of NPY files. Entries are stored, not compressed, so all that is needed
 * of ZIP is its directory and CRC-32. The reader starts from the record at the end, walks the
 * directory, and holds each entry against its local header, its checksum and the bytes that there
 * are; the 64-bit extension (ZIP64), which NumPy uses for entries of 4 GiB and in streamed ones, is
 * read and, for large archives, written. Source: APPNOTE.TXT of PKWARE, version 6.3.10.
 */
#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/tensor.h"
#include "text/file.h"
#include "text/npy.h"
#include "text/write.h"

enum {
  LOCAL_HEADER = 0x04034b50,
  DIRECTORY_HEADER = 0x02014b50,
  END_RECORD = 0x06054b50,
  END_RECORD_64 = 0x06064b50,
  END_LOCATOR_64 = 0x07064b50,
  LOCAL_BYTES = 30,
  DIRECTORY_BYTES = 46,
  END_BYTES = 22,
  END_64_BYTES = 56,
  LOCATOR_BYTES = 20,
  EXTRA_64 = 1, /* tag of the 64-bit sizes */
  MAX_NAME = 65535,
  SUFFIX = 4 /* ".npy" */
};

#define UNKNOWN 0xffffffffu /* the size is in the 64-bit extension */

/* ---- CRC-32, polynomial 0xEDB88320, by a table for each of eight bytes ---- */

typedef uint32_t crc_table[8][256];

static void make_crc_table(crc_table table) {
  for (uint32_t k = 0; k < 256; k++) {
    uint32_t c = k;
    for (int bit = 0; bit < 8; bit++) {
      c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
    }
    table[0][k] = c;
  }
  for (uint32_t k = 0; k < 256; k++) {
    for (int i = 1; i < 8; i++) {
      table[i][k] = table[0][table[i - 1][k] & 255] ^ table[i - 1][k] >> 8;
    }
  }
}

static uint32_t crc_of(crc_table table, uint32_t crc, const void *bytes, size_t count) {
  const unsigned char *p = (const unsigned char *)bytes;
  crc = ~crc;
  for (; count >= 8; count -= 8, p += 8) {
    crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    crc = table[7][crc & 255] ^ table[6][crc >> 8 & 255] ^ table[5][crc >> 16 & 255] ^
          table[4][crc >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
  }
  for (; count > 0; count--) {
    crc = table[0][(crc ^ *p++) & 255] ^ crc >> 8;
  }
  return ~crc;
}

/* ---- Little-endian numbers ---- */

static uint64_t get(const char *p, int bytes) {
  uint64_t value = 0;
  for (int k = bytes; k-- > 0;) {
    value = value << 8 | (unsigned char)p[k];
  }
  return value;
}

static char *put(char *p, uint64_t value, int bytes) {
  for (int k = 0; k < bytes; k++) {
    *p++ = (char)(value >> 8 * k);
  }
  return p;
}

/* ---- Reading ---- */

typedef struct archive {
  const char *path;
  const char *bytes;
  uint64_t length;
  uint64_t directory, directory_end; /* offsets */
  uint64_t count;
  char **names;
  gemel_tensor **tensors;
  size_t read; /* entries complete so far */
  crc_table table;
  gemel_error *error;
} archive;

typedef struct archive_entry {
  const char *name;
  size_t name_length;
  uint64_t size, offset;
  uint32_t crc;
} archive_entry;

static gemel_status bad(const archive *a, const char *why) {
  return gemel__fail(a->error, GEMEL_BAD_FILE, "%s: %s", a->path, why);
}

/* Follows the locator before the end record to the 64-bit one. */
static gemel_status read_end_64(archive *a, uint64_t end) {
  if (end < LOCATOR_BYTES + END_64_BYTES) {
    return bad(a, "malformed end of the archive");
  }
  const char *locator = a->bytes + end - LOCATOR_BYTES;
  uint64_t at = get(locator + 8, 8);
  if (get(locator, 4) != END_LOCATOR_64 || at != end - LOCATOR_BYTES - END_64_BYTES) {
    return bad(a, "malformed end of the archive");
  }
  const char *record = a->bytes + at;
  if (get(record, 4) != END_RECORD_64 || get(record + 24, 8) != get(record + 32, 8)) {
    return bad(a, "malformed end of the archive");
  }
  a->count = get(record + 32, 8);
  a->directory_end = at;
  a->directory = get(record + 48, 8);
  return get(record + 40, 8) == at - a->directory && a->directory <= at
             ? GEMEL_OK
             : bad(a, "malformed end of the archive");
}

static gemel_status read_end(archive *a) {
  if (a->length < END_BYTES) {
    return bad(a, "this is no NPZ file");
  }
  uint64_t end = a->length - END_BYTES;
  const char *record = a->bytes + end;
  if (get(record, 4) != END_RECORD || get(record + 20, 2) != 0) {
    return bad(a, "this is no NPZ file, or it is cut off");
  }
  a->count = get(record + 10, 2);
  if (get(record + 8, 2) != a->count || get(record + 4, 4) != 0) {
    return bad(a, "malformed end of the archive");
  }
  a->directory_end = end;
  a->directory = get(record + 16, 4);
  if (a->count == 0xffff || a->directory == UNKNOWN) {
    return read_end_64(a, end);
  }
  if (a->directory > end || get(record + 12, 4) != end - a->directory) {
    return bad(a, "malformed end of the archive");
  }
  return GEMEL_OK;
}

/* Takes the sizes that stand in the 64-bit extension: those whose 32-bit field says so, in order.
 */
static gemel_status read_extension(const archive *a, const char *extra, size_t length,
                                   uint64_t *packed, archive_entry *e) {
  while (length >= 4) {
    size_t n = (size_t)get(extra + 2, 2);
    if (n > length - 4) {
      break;
    }
    if (get(extra, 2) == EXTRA_64) {
      uint64_t *const fields[] = {&e->size, packed, &e->offset};
      const char *p = extra + 4;
      for (int k = 0; k < 3; k++) {
        if (*fields[k] == UNKNOWN && p + 8 <= extra + 4 + n) {
          *fields[k] = get(p, 8);
          p += 8;
        }
      }
    }
    extra += 4 + n;
    length -= 4 + n;
  }
  return length == 0 ? GEMEL_OK : bad(a, "malformed entry of the archive");
}

/* Reads the directory's record at *AT and goes on to the next. */
static gemel_status read_entry(const archive *a, uint64_t *at, archive_entry *e) {
  const char *p = a->bytes + *at;
  if (a->directory_end - *at < DIRECTORY_BYTES || get(p, 4) != DIRECTORY_HEADER) {
    return bad(a, "malformed directory of the archive");
  }
  size_t extra = (size_t)get(p + 30, 2), comment = (size_t)get(p + 32, 2);
  uint64_t packed = get(p + 20, 4);
  e->name_length = (size_t)get(p + 28, 2);
  e->name = p + DIRECTORY_BYTES;
  e->crc = (uint32_t)get(p + 16, 4);
  e->size = get(p + 24, 4);
  e->offset = get(p + 42, 4);
  if (a->directory_end - *at - DIRECTORY_BYTES < e->name_length + extra + comment) {
    return bad(a, "malformed directory of the archive");
  }
  *at += DIRECTORY_BYTES + e->name_length + extra + comment;
  if (get(p + 8, 2) & 1 || get(p + 10, 2) != 0) {
    return gemel__fail(a->error, GEMEL_UNSUPPORTED, "%s: the entries are %s", a->path,
                       get(p + 8, 2) & 1 ? "encrypted" : "compressed; use numpy.savez");
  }
  gemel_status status = read_extension(a, e->name + e->name_length, extra, &packed, e);
  if (!status && packed != e->size) {
    status = bad(a, "malformed directory of the archive");
  }
  return status;
}

/* The entry's bytes; NULL if its local header doesn't fit, or its checksum. */
static const char *entry_bytes(archive *a, const archive_entry *e) {
  const char *p = a->bytes + (e->offset <= a->directory ? e->offset : 0);
  if (e->offset > a->directory || a->directory - e->offset < LOCAL_BYTES ||
      get(p, 4) != LOCAL_HEADER || get(p + 26, 2) != e->name_length) {
    bad(a, "malformed entry of the archive");
    return NULL;
  }
  uint64_t skip = LOCAL_BYTES + e->name_length + get(p + 28, 2);
  if (a->directory - e->offset < skip || a->directory - e->offset - skip < e->size ||
      memcmp(p + LOCAL_BYTES, e->name, e->name_length) != 0) {
    bad(a, "malformed entry of the archive");
    return NULL;
  }
  if (crc_of(a->table, 0, p + skip, (size_t)e->size) != e->crc) {
    bad(a, "the checksum of an entry does not fit");
    return NULL;
  }
  return p + skip;
}

/* The entry's name without ".npy". */
static char *entry_name(const archive *a, const archive_entry *e) {
  size_t n = e->name_length;
  if (n > SUFFIX && memcmp(e->name + n - SUFFIX, ".npy", SUFFIX) == 0) {
    n -= SUFFIX;
  }
  if (memchr(e->name, 0, n)) {
    bad(a, "malformed name of an entry");
    return NULL;
  }
  char *name = (char *)gemel__alloc(n + 1);
  if (!name) {
    gemel__no_memory(a->error, "a name");
    return NULL;
  }
  memcpy(name, e->name, n);
  name[n] = 0;
  return name;
}

static gemel_status read_entries(archive *a) {
  uint64_t at = a->directory;
  for (; a->read < a->count; a->read++) {
    archive_entry e;
    gemel_status status = read_entry(a, &at, &e);
    const char *bytes = status ? NULL : entry_bytes(a, &e);
    char *name = bytes ? entry_name(a, &e) : NULL;
    if (!name) {
      return status ? status : a->error->status;
    }
    gemel_tensor *tensor = gemel__npy_parse(bytes, (size_t)e.size, name, a->error);
    if (!tensor) {
      gemel__error_prefix(a->error, "%s", a->path);
      gemel__free_string(name);
      return a->error->status;
    }
    a->names[a->read] = name;
    a->tensors[a->read] = tensor;
  }
  return at == a->directory_end ? GEMEL_OK : bad(a, "malformed directory of the archive");
}

void gemel_npz_free(size_t count, char **names, gemel_tensor **tensors) {
  for (size_t k = 0; k < count; k++) {
    gemel__free_string(names ? names[k] : NULL);
    gemel_tensor_unref(tensors ? tensors[k] : NULL);
  }
  gemel__free(names, count * sizeof *names);
  gemel__free(tensors, count * sizeof *tensors);
}

/* Reads the archive in A->bytes. */
static gemel_status read_archive(archive *a) {
  gemel_status status = read_end(a);
  if (status) {
    return status;
  }
  if (a->count > (a->directory_end - a->directory) / DIRECTORY_BYTES) {
    return bad(a, "malformed directory of the archive");
  }
  a->names = (char **)gemel__alloc_array((size_t)a->count, sizeof *a->names);
  a->tensors = (gemel_tensor **)gemel__alloc_array((size_t)a->count, sizeof *a->tensors);
  status = a->names && a->tensors ? read_entries(a) : gemel__no_memory(a->error, "an archive");
  if (status) {
    size_t all = (size_t)a->count;
    for (size_t k = 0; k < a->read; k++) {
      gemel__free_string(a->names[k]);
      gemel_tensor_unref(a->tensors[k]);
    }
    gemel__free(a->names, all * sizeof *a->names);
    gemel__free(a->tensors, all * sizeof *a->tensors);
  }
  return status;
}

gemel_status gemel__npz_parse(const char *bytes, size_t length, const char *what, char ***names,
                              gemel_tensor ***tensors, size_t *count, gemel_error *error) {
  archive a;
  gemel_error local;
  memset(&a, 0, sizeof a);
  a.error = error ? error : &local;
  a.path = what;
  a.bytes = bytes;
  a.length = length;
  make_crc_table(a.table);
  gemel_status status = read_archive(&a);
  if (!status) {
    *names = a.names;
    *tensors = a.tensors;
    *count = (size_t)a.count;
  }
  return status;
}

gemel_status gemel_npz_load(const char *path, size_t *count, char ***names, gemel_tensor ***tensors,
                            gemel_error *error) {
  char *bytes;
  size_t length;
  if (!names || !tensors || !count) {
    return gemel__null(error, "the room for names, tensors or their count");
  }
  gemel_status status = gemel__file_read(path, GEMEL__MOST_BYTES, &bytes, &length, error);
  if (!status) {
    status = gemel__npz_parse(bytes, length, path, names, tensors, count, error);
    gemel__free(bytes, length + 1);
  }
  return status;
}

/* ---- Writing ---- */

typedef struct archive_maker {
  gemel__file file;
  gemel__text_memory directory;
  uint64_t offset;
  gemel_error *error;
  crc_table table;
} archive_maker;

static gemel_status emit(archive_maker *m, const void *bytes, size_t count) {
  m->offset += count;
  return count && gemel__file_write(&m->file, bytes, count) ? GEMEL_IO : GEMEL_OK;
}

/* The fields that local and directory headers share: version to the length of the extension. */
static char *put_common(char *p, uint32_t crc, uint64_t size, size_t name_length, int large,
                        size_t extension) {
  p = put(p, large ? 45 : 20, 2);
  p = put(p, 0, 2);          /* flags */
  p = put(p, 0, 2);          /* stored */
  p = put(p, 0x00210000, 4); /* 1 January 1980 */
  p = put(p, crc, 4);
  p = put(p, large ? UNKNOWN : size, 4);
  p = put(p, large ? UNKNOWN : size, 4);
  p = put(p, name_length, 2);
  return put(p, extension, 2);
}

static gemel_status add_to_directory(archive_maker *m, const char *name, size_t n, uint64_t size,
                                     uint64_t offset, uint32_t crc) {
  char record[DIRECTORY_BYTES + 32], *p = record;
  int large = size >= UNKNOWN || offset >= UNKNOWN;
  p = put(p, DIRECTORY_HEADER, 4);
  p = put(p, large ? 45 : 20, 2);
  p = put_common(p, crc, size, n + SUFFIX, large, large ? 28 : 0);
  p = put(p, 0, 2); /* comment */
  p = put(p, 0, 2); /* disk */
  p = put(p, 0, 2); /* internal attributes */
  p = put(p, 0, 4); /* external attributes */
  p = put(p, large ? UNKNOWN : offset, 4);
  int failed = gemel__memory_write(&m->directory, record, DIRECTORY_BYTES) ||
               gemel__memory_write(&m->directory, name, n) ||
               gemel__memory_write(&m->directory, ".npy", SUFFIX);
  if (large) {
    p = put(put(record, EXTRA_64, 2), 24, 2);
    p = put(put(put(p, size, 8), size, 8), offset, 8);
    failed = failed || gemel__memory_write(&m->directory, record, (size_t)(p - record));
  }
  return failed ? gemel__no_memory(m->error, "an archive") : GEMEL_OK;
}

static gemel_status add_packed(archive_maker *m, const char *name, const gemel_tensor *tensor) {
  gemel_view view = gemel_tensor_view(tensor);
  char head[GEMEL__NPY_HEAD], local[LOCAL_BYTES + 32], *p = local;
  size_t head_bytes, n = strlen(name);
  gemel_status status = gemel__npy_head(&view, head, &head_bytes, m->error);
  if (status) {
    return status;
  }
  uint64_t data = (uint64_t)gemel_tensor_elements(tensor) * gemel_dtype_size(view.dtype);
  uint64_t size = head_bytes + data, offset = m->offset;
  int large = size >= UNKNOWN;
  uint32_t crc = crc_of(m->table, crc_of(m->table, 0, head, head_bytes), view.data, (size_t)data);
  p = put(p, LOCAL_HEADER, 4);
  p = put_common(p, crc, size, n + SUFFIX, large, large ? 20 : 0);
  status = emit(m, local, (size_t)(p - local));
  status = status ? status : emit(m, name, n);
  status = status ? status : emit(m, ".npy", SUFFIX);
  if (large && !status) {
    p = put(put(put(put(local, EXTRA_64, 2), 16, 2), size, 8), size, 8);
    status = emit(m, local, (size_t)(p - local));
  }
  status = status ? status : emit(m, head, head_bytes);
  status = status ? status : emit(m, view.data, (size_t)data);
  return status ? status : add_to_directory(m, name, n, size, offset, crc);
}

static gemel_status add_entry(archive_maker *m, const char *name, const gemel_tensor *tensor) {
  gemel_view view = gemel_tensor_view(tensor);
  if (!name || !*name || strlen(name) > MAX_NAME - SUFFIX) {
    return gemel__fail(m->error, GEMEL_BAD_ARGUMENT, "malformed name of an entry");
  }
  gemel_tensor *packed = gemel_tensor_copy(&view, m->error);
  if (!packed) {
    return gemel__no_memory(m->error, "a tensor");
  }
  gemel_status status = add_packed(m, name, packed);
  gemel_tensor_unref(packed);
  return status;
}

/* Directory and end records. */
static gemel_status finish(archive_maker *m, uint64_t count) {
  uint64_t start = m->offset, size = m->directory.count;
  char record[END_64_BYTES + LOCATOR_BYTES + END_BYTES], *p = record;
  int large = count >= 0xffff || start >= UNKNOWN || size >= UNKNOWN;
  gemel_status status = emit(m, m->directory.bytes, m->directory.count);
  if (large) {
    uint64_t at = m->offset;
    p = put(put(p, END_RECORD_64, 4), END_64_BYTES - 12, 8);
    p = put(put(put(put(p, 45, 2), 45, 2), 0, 4), 0, 4);
    p = put(put(put(put(p, count, 8), count, 8), size, 8), start, 8);
    p = put(put(put(put(p, END_LOCATOR_64, 4), 0, 4), at, 8), 1, 4);
  }
  p = put(put(put(p, END_RECORD, 4), 0, 2), 0, 2);
  p = put(put(p, large ? 0xffff : count, 2), large ? 0xffff : count, 2);
  p = put(put(p, large ? UNKNOWN : size, 4), large ? UNKNOWN : start, 4);
  p = put(p, 0, 2);
  return status ? status : emit(m, record, (size_t)(p - record));
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* GEMEL_BAD_ARGUMENT: two of the COUNT NAMES, none of them NULL, are the same. */
static gemel_status check_distinct(size_t count, const char *const *names, gemel_error *error) {
  const char **sorted = (const char **)gemel__alloc_array(count, sizeof *sorted);
  gemel_status status = GEMEL_OK;
  if (!sorted) {
    return gemel__no_memory(error, "names of tensors");
  }
  for (size_t k = 0; k < count; k++) {
    sorted[k] = names[k];
  }
  qsort(sorted, count, sizeof *sorted, by_text);
  for (size_t k = 1; k < count && !status; k++) {
    if (by_text(&sorted[k - 1], &sorted[k]) == 0) {
      status = gemel__fail(error, GEMEL_BAD_ARGUMENT, "two tensors to save are called '%.100s'",
                           sorted[k]);
    }
  }
  gemel__free((void *)sorted, count * sizeof *sorted);
  return status;
}

gemel_status gemel__check_named(size_t count, const char *const *names,
                                gemel_tensor *const *tensors, gemel_error *error) {
  for (size_t k = 0; k < count; k++) {
    if (!names || !names[k]) {
      return gemel__null(error, "the name of a tensor to save");
    }
    if (!tensors || !tensors[k]) {
      return gemel__null(error, "a tensor to save");
    }
    if (tensors[k]->device) {
      return gemel__fail(error, GEMEL_BAD_ARGUMENT, "tensor '%.100s' to save is not on the host",
                         names[k]);
    }
  }
  return check_distinct(count, names, error);
}

gemel_status gemel_npz_save(size_t count, const char *const *names, gemel_tensor *const *tensors,
                            const char *path, gemel_error *error) {
  archive_maker m;
  memset(&m, 0, sizeof m);
  m.error = error;
  make_crc_table(m.table);
  gemel_status status = gemel__check_named(count, names, tensors, error);
  status = status ? status : gemel__file_create(&m.file, path, error);
  if (status) {
    return status;
  }
  for (size_t k = 0; k < count && !status; k++) {
    status = add_entry(&m, names[k], tensors[k]);
  }
  status = status ? status : finish(&m, count);
  gemel__free(m.directory.bytes, m.directory.capacity);
  return gemel__file_commit(&m.file, status, error);
}
