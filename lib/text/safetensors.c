/* SPDX-License-Identifier: MIT
 *
 * safetensors: eight bytes with the length of a header, the header, which is JSON and says name,
 * dtype, shape and place of each tensor, then the elements of all of them, one after the other.
 * The reader has only the JSON that such a header can be, so it needs neither a tree nor recursion;
 * unlike Hugging Face's it refuses names that come twice and members that the format doesn't have.
 * Then it sorts the tensors by place and holds each to be what its shape needs and to begin where
 * the one before ends: so no byte belongs to two, and none to nobody. Source:
 * github.com/huggingface/safetensors, version 0.8.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/lex.h"
#include "core/tensor.h"
#include "text/file.h"
#include "text/npy.h"
#include "text/write.h"

enum { LENGTH_BYTES = 8, MAX_HEADER = 100000000, SHOWN = 200 };

#define METADATA "__metadata__"

/* In the order of the format's own list, at whose end the largest elements stand. */
static const struct {
  const char *name;
  gemel_dtype dtype;
} dtypes[] = {{"BOOL", GEMEL_BOOL}, {"U8", GEMEL_U8},   {"I8", GEMEL_I8},     {"I16", GEMEL_I16},
              {"U16", GEMEL_U16},   {"F16", GEMEL_F16}, {"BF16", GEMEL_BF16}, {"I32", GEMEL_I32},
              {"U32", GEMEL_U32},   {"F32", GEMEL_F32}, {"F64", GEMEL_F64},   {"I64", GEMEL_I64},
              {"U64", GEMEL_U64}};

enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };
_Static_assert((int)N_DTYPES == (int)GEMEL_DTYPE_COUNT, "each dtype has a name in the format");

/* A tensor as the header has it: its data is bytes BEGIN to END behind the header. */
typedef struct stored_tensor {
  char *name;
  gemel_dtype dtype;
  int rank;
  int64_t shape[GEMEL_MAX_RANK];
  uint64_t begin, end;
} stored_tensor;

/* The header's text while it is read, and what was found in it. */
typedef struct json_header {
  const char *what; /* for messages */
  const char *text, *at, *end;
  stored_tensor *all;
  size_t count, capacity;
  int metadata; /* has come */
  gemel_error *error;
} json_header;

/* A name for messages: not too long, and on one line. */
static const char *shown(const char *name, char text[SHOWN]) {
  snprintf(text, SHOWN, "%s", name);
  for (char *p = text; *p; p++) {
    *p = (unsigned char)*p < 32 || *p == 0x7f ? '?' : *p;
  }
  return text;
}

static gemel_status malformed(const json_header *h, const char *expected) {
  return gemel__fail(h->error, GEMEL_BAD_FILE, "%s: malformed header at byte %zu: expected %s",
                     h->what, LENGTH_BYTES + (size_t)(h->at - h->text), expected);
}

static gemel_status bad_tensor(const json_header *h, const stored_tensor *t, gemel_status status,
                               const char *why) {
  char name[SHOWN];
  return gemel__fail(h->error, status, "%s: tensor '%s' %s", h->what, shown(t->name, name), why);
}

/* ---- JSON ---- */

static void skip_space(json_header *h) {
  while (h->at < h->end && *h->at && strchr(" \t\r\n", *h->at)) {
    h->at++;
  }
}

/* Goes past C, and the white space before it, if it comes next. */
static int accept(json_header *h, char c) {
  skip_space(h);
  int there = h->at < h->end && *h->at == c;
  h->at += there;
  return there;
}

static gemel_status expect(json_header *h, char c, const char *what) {
  return accept(h, c) ? GEMEL_OK : malformed(h, what);
}

/* Goes past a string, behind its opening quote, and writes what it means to OUT, unless that is
 * NULL. */
static gemel_status read_characters(json_header *h, char *out, size_t *length) {
  const char *p = h->at;
  for (*length = 0; p < h->end && *p != '"';) {
    char piece[4] = {*p};
    h->at = p;
    if ((unsigned char)*p < 32) {
      return malformed(h, "a string without control characters");
    }
    size_t n = 1;
    if (*p != '\\') {
      p++;
    } else if ((n = gemel__json_unescape(&p, h->end, piece)) == 0) {
      return malformed(h, "an escape sequence of JSON");
    }
    if (out) {
      memcpy(out + *length, piece, n);
    }
    *length += n;
  }
  h->at = p < h->end ? p + 1 : h->end;
  return p < h->end ? GEMEL_OK : malformed(h, "the end of a string");
}

/* A string that is one of a few words; WORD gets "" if it is too long for that. */
static gemel_status read_word(json_header *h, char word[32]) {
  size_t length;
  GEMEL__TRY(expect(h, '"', "a string"));
  const char *start = h->at;
  GEMEL__TRY(read_characters(h, NULL, &length));
  word[0] = 0;
  if (length < 32) {
    h->at = start;
    GEMEL__TRY(read_characters(h, word, &length));
    word[length] = 0;
  }
  return GEMEL_OK;
}

/* A string in memory of its own. */
static gemel_status read_string(json_header *h, char **string) {
  size_t length;
  GEMEL__TRY(expect(h, '"', "a name"));
  const char *start = h->at;
  GEMEL__TRY(read_characters(h, NULL, &length));
  char *made = (char *)gemel__alloc(length + 1);
  if (!made) {
    return gemel__no_memory(h->error, "a name");
  }
  h->at = start;
  read_characters(h, made, &length);
  made[length] = 0;
  if (memchr(made, 0, length)) {
    gemel__free(made, length + 1);
    return malformed(h, "a name without the character U+0000 before this");
  }
  *string = made;
  return GEMEL_OK;
}

static gemel_status read_number(json_header *h, uint64_t *number) {
  skip_space(h);
  const char *start = h->at;
  *number = 0;
  while (h->at < h->end && *h->at >= '0' && *h->at <= '9') {
    if (__builtin_mul_overflow(*number, (uint64_t)10, number) ||
        __builtin_add_overflow(*number, (uint64_t)(*h->at - '0'), number)) {
      return malformed(h, "a number below 2^64");
    }
    h->at++;
  }
  return h->at == start || (*start == '0' && h->at > start + 1)
             ? malformed(h, "a whole number without a sign")
             : GEMEL_OK;
}

/* ---- The header ---- */

static gemel_status read_dtype(json_header *h, stored_tensor *t) {
  char word[32], text[SHOWN], found[SHOWN], names[8 * N_DTYPES];
  size_t used = 0;
  GEMEL__TRY(read_word(h, word));
  for (int k = 0; k < N_DTYPES; k++) {
    if (strcmp(word, dtypes[k].name) == 0) {
      t->dtype = dtypes[k].dtype;
      return GEMEL_OK;
    }
    used += (size_t)snprintf(names + used, sizeof names - used, " %s", dtypes[k].name);
  }
  return gemel__fail(h->error, GEMEL_UNSUPPORTED,
                     "%s: tensor '%s': the dtype %s is not supported; those that are:%s", h->what,
                     shown(t->name, text), shown(word, found), names);
}

static gemel_status read_shape(json_header *h, stored_tensor *t) {
  GEMEL__TRY(expect(h, '[', "'['"));
  for (t->rank = 0; !accept(h, ']'); t->rank++) {
    uint64_t size;
    if (t->rank > 0) {
      GEMEL__TRY(expect(h, ',', "',' or ']'"));
    }
    if (t->rank == GEMEL_MAX_RANK) {
      return bad_tensor(h, t, GEMEL_UNSUPPORTED, "has more than 16 axes");
    }
    GEMEL__TRY(read_number(h, &size));
    if (size > INT64_MAX) {
      return bad_tensor(h, t, GEMEL_BAD_FILE, "has an axis of 2^63 or more");
    }
    t->shape[t->rank] = (int64_t)size;
  }
  return GEMEL_OK;
}

static gemel_status read_offsets(json_header *h, stored_tensor *t) {
  GEMEL__TRY(expect(h, '[', "'['"));
  GEMEL__TRY(read_number(h, &t->begin));
  GEMEL__TRY(expect(h, ',', "','"));
  GEMEL__TRY(read_number(h, &t->end));
  return expect(h, ']', "']'");
}

/* What stands behind a tensor's name. */
static gemel_status read_tensor(json_header *h, stored_tensor *t) {
  static const char *const keys[] = {"dtype", "shape", "data_offsets"};
  gemel_status (*const readers[])(json_header *, stored_tensor *) = {read_dtype, read_shape,
                                                                     read_offsets};
  unsigned seen = 0;
  char word[32];
  GEMEL__TRY(expect(h, '{', "'{'"));
  while (seen == 0 || !accept(h, '}')) {
    int key = 0;
    if (seen != 0) {
      GEMEL__TRY(expect(h, ',', "',' or '}'"));
    }
    GEMEL__TRY(read_word(h, word));
    while (key < 3 && strcmp(word, keys[key]) != 0) {
      key++;
    }
    if (key == 3 || (seen >> key & 1)) {
      return malformed(h, "dtype, shape and data_offsets, each once, before this");
    }
    seen |= 1u << key;
    GEMEL__TRY(expect(h, ':', "':'"));
    GEMEL__TRY(readers[key](h, t));
  }
  return seen == 7 ? GEMEL_OK : malformed(h, "dtype, shape and data_offsets before this");
}

/* {"any": "text", ...} */
static gemel_status skip_metadata(json_header *h) {
  size_t length;
  GEMEL__TRY(expect(h, '{', "'{'"));
  for (int first = 1; !accept(h, '}'); first = 0) {
    if (!first) {
      GEMEL__TRY(expect(h, ',', "',' or '}'"));
    }
    GEMEL__TRY(expect(h, '"', "a string"));
    GEMEL__TRY(read_characters(h, NULL, &length));
    GEMEL__TRY(expect(h, ':', "':'"));
    GEMEL__TRY(expect(h, '"', "a string"));
    GEMEL__TRY(read_characters(h, NULL, &length));
  }
  return GEMEL_OK;
}

/* A member of the header: a tensor, or the metadata. */
static gemel_status read_member(json_header *h) {
  if (gemel__grow(&h->all, &h->capacity, h->count + 1, sizeof *h->all)) {
    return gemel__no_memory(h->error, "the header of a file");
  }
  stored_tensor *t = &h->all[h->count];
  memset(t, 0, sizeof *t);
  GEMEL__TRY(read_string(h, &t->name));
  if (strcmp(t->name, METADATA) != 0) {
    h->count++;
    GEMEL__TRY(expect(h, ':', "':'"));
    return read_tensor(h, t);
  }
  gemel__free_string(t->name);
  if (h->metadata++) {
    return malformed(h, METADATA " only once");
  }
  GEMEL__TRY(expect(h, ':', "':'"));
  return skip_metadata(h);
}

static gemel_status check_utf8(json_header *h) {
  for (h->at = h->text; h->at < h->end;) {
    size_t n = gemel__utf8_bytes(h->at, h->end);
    if (n == 0) {
      return malformed(h, "UTF-8");
    }
    h->at += n;
  }
  h->at = h->text;
  return GEMEL_OK;
}

static gemel_status read_header(json_header *h) {
  GEMEL__TRY(check_utf8(h));
  if (h->at == h->end || *h->at != '{') {
    return malformed(h, "'{'");
  }
  h->at++;
  for (int first = 1; !accept(h, '}'); first = 0) {
    if (!first) {
      GEMEL__TRY(expect(h, ',', "',' or '}'"));
    }
    GEMEL__TRY(read_member(h));
  }
  skip_space(h);
  return h->at == h->end ? GEMEL_OK : malformed(h, "nothing but spaces behind the last '}'");
}

/* ---- Places ---- */

static int by_name(const void *a, const void *b) {
  return strcmp(((const stored_tensor *)a)->name, ((const stored_tensor *)b)->name);
}

static int by_place(const void *a, const void *b) {
  const stored_tensor *s = (const stored_tensor *)a, *t = (const stored_tensor *)b;
  int order = (s->begin > t->begin) - (s->begin < t->begin);
  order = order ? order : (s->end > t->end) - (s->end < t->end);
  return order ? order : by_name(a, b);
}

/* T's data is what its shape needs, and lies within DATA bytes. */
static gemel_status check_size(const json_header *h, const stored_tensor *t, uint64_t data) {
  int64_t strides[GEMEL_MAX_RANK], elements, bytes;
  char shape[400], why[600], name[SHOWN];
  if (t->begin > t->end || t->end > data) {
    snprintf(why, sizeof why, "is at [%llu, %llu] of %llu bytes of data",
             (unsigned long long)t->begin, (unsigned long long)t->end, (unsigned long long)data);
    return bad_tensor(h, t, GEMEL_BAD_FILE, why);
  }
  if (gemel__row_major(t->dtype, t->rank, t->shape, strides, &elements, &bytes, h->error)) {
    gemel__error_prefix(h->error, "%s: tensor '%s'", h->what, shown(t->name, name));
    return h->error->status;
  }
  if (t->end - t->begin != (uint64_t)bytes) {
    snprintf(why, sizeof why, "of %s%s needs %lld bytes, and its place [%llu, %llu] has %llu",
             gemel_dtype_name(t->dtype),
             gemel__format_shape(t->rank, t->shape, shape, sizeof shape), (long long)bytes,
             (unsigned long long)t->begin, (unsigned long long)t->end,
             (unsigned long long)(t->end - t->begin));
    return bad_tensor(h, t, GEMEL_BAD_FILE, why);
  }
  return GEMEL_OK;
}

/* Sorts the tensors by place, and checks that they fill the DATA bytes behind the header. */
static gemel_status check_places(json_header *h, uint64_t data) {
  uint64_t at = 0;
  if (h->count > 0) { /* qsort takes no NULL */
    qsort(h->all, h->count, sizeof *h->all, by_name);
  }
  for (size_t k = 1; k < h->count; k++) {
    if (by_name(&h->all[k - 1], &h->all[k]) == 0) {
      return bad_tensor(h, &h->all[k], GEMEL_BAD_FILE, "is there twice");
    }
  }
  if (h->count > 0) {
    qsort(h->all, h->count, sizeof *h->all, by_place);
  }
  for (size_t k = 0; k < h->count; k++) {
    const stored_tensor *t = &h->all[k];
    GEMEL__TRY(check_size(h, t, data));
    if (t->begin != at) {
      return bad_tensor(h, t, GEMEL_BAD_FILE,
                        t->begin < at ? "overlaps the one before it"
                                      : "has bytes before it that are no tensor's");
    }
    at = t->end;
  }
  return at == data ? GEMEL_OK
                    : gemel__fail(h->error, GEMEL_BAD_FILE, "%s: %llu bytes follow the last tensor",
                                  h->what, (unsigned long long)(data - at));
}

/* ---- Reading ---- */

/* Finds the header in LENGTH bytes, and all tensors; *DATA is what follows it. */
static gemel_status parse_head(json_header *h, const char *bytes, size_t length,
                               const char **data) {
  uint64_t n = 0;
  if (length < LENGTH_BYTES) {
    return gemel__fail(h->error, GEMEL_BAD_FILE,
                       "%s: this is no safetensors file: it has %zu bytes", h->what, length);
  }
  for (int k = LENGTH_BYTES; k-- > 0;) {
    n = n << 8 | (unsigned char)bytes[k];
  }
  if (n > MAX_HEADER || n > length - LENGTH_BYTES) {
    return gemel__fail(
        h->error, GEMEL_BAD_FILE, "%s: this is no safetensors file, or it is cut off: %s is %llu",
        h->what, n > MAX_HEADER ? "the header's length, at most 100000000," : "the header's length",
        (unsigned long long)n);
  }
  h->text = bytes + LENGTH_BYTES;
  h->end = *data = h->text + n;
  GEMEL__TRY(read_header(h));
  return check_places(h, length - LENGTH_BYTES - n);
}

/* The tensor T, whose data is at P: in MAP if that can be. */
static gemel_tensor *make_tensor(const json_header *h, const stored_tensor *t, const char *p,
                                 gemel__file_map *map) {
  size_t bytes = (size_t)(t->end - t->begin);
  for (size_t k = 0; t->dtype == GEMEL_BOOL && k < bytes; k++) {
    if ((unsigned char)p[k] > 1) {
      bad_tensor(h, t, GEMEL_BAD_FILE, "has a bool that is neither 0 nor 1");
      return NULL;
    }
  }
  if (map && bytes > 0 && (uintptr_t)p % gemel_dtype_size(t->dtype) == 0) {
    gemel_tensor *tensor =
        gemel_tensor_wrap(t->dtype, t->rank, t->shape, NULL, (void *)(uintptr_t)p,
                          gemel__file_map_unref, gemel__file_map_ref(map), h->error);
    if (!tensor) {
      gemel__file_map_unref(map);
    }
    return tensor;
  }
  gemel_tensor *tensor = gemel__tensor_raw(t->dtype, t->rank, t->shape, h->error);
  if (tensor) {
    memcpy(gemel_tensor_data(tensor), p, bytes);
  }
  return tensor;
}

/* Makes the lists of names, which it takes, and of tensors. */
static gemel_status make_tensors(json_header *h, const char *data, gemel__file_map *map,
                                 char ***names, gemel_tensor ***tensors) {
  char **list = (char **)gemel__alloc_array(h->count, sizeof *list);
  gemel_tensor **made = (gemel_tensor **)gemel__alloc_array(h->count, sizeof *made);
  gemel_status status = list && made ? GEMEL_OK : gemel__no_memory(h->error, "a list of tensors");
  for (size_t k = 0; k < h->count && !status; k++) {
    made[k] = make_tensor(h, &h->all[k], data + h->all[k].begin, map);
    status = made[k] ? GEMEL_OK : h->error->status;
  }
  for (size_t k = 0; k < h->count && !status; k++) {
    list[k] = h->all[k].name;
    h->all[k].name = NULL;
  }
  if (status) {
    for (size_t k = 0; made && k < h->count; k++) {
      gemel_tensor_unref(made[k]);
    }
    gemel__free(list, h->count * sizeof *list);
    gemel__free(made, h->count * sizeof *made);
    return status;
  }
  *names = list;
  *tensors = made;
  return GEMEL_OK;
}

gemel_status gemel__safetensors_parse(const char *bytes, size_t length, gemel__file_map *map,
                                      const char *what, char ***names, gemel_tensor ***tensors,
                                      size_t *count, gemel_error *error) {
  gemel_error local;
  json_header h = {.what = what, .error = error ? error : &local};
  const char *data = NULL;
  gemel_status status = parse_head(&h, bytes, length, &data);
  status = status ? status : make_tensors(&h, data, map, names, tensors);
  if (!status) {
    *count = h.count;
  }
  for (size_t k = 0; k < h.count; k++) {
    gemel__free_string(h.all[k].name);
  }
  gemel__free(h.all, h.capacity * sizeof *h.all);
  return status;
}

gemel_status gemel_safetensors_load(const char *path, size_t *count, char ***names,
                                    gemel_tensor ***tensors, gemel_error *error) {
  gemel_error local;
  error = error ? error : &local;
  if (!names || !tensors || !count) {
    return gemel__null(error, "the room for names, tensors or their count");
  }
  gemel__file_map *map = gemel__file_map_new(path, error);
  if (!map) {
    return error->status;
  }
  gemel_status status = gemel__safetensors_parse((const char *)map->bytes, map->length, map, path,
                                                 names, tensors, count, error);
  gemel__file_map_unref(map);
  return status;
}

/* ---- Writing ---- */

typedef struct named_tensor {
  const char *name;
  const gemel_tensor *tensor;
  int order; /* of its dtype, in the format's list */
} named_tensor;

static int by_own_name(const void *a, const void *b) {
  return strcmp(((const named_tensor *)a)->name, ((const named_tensor *)b)->name);
}

/* The largest elements first, so that all are aligned. */
static int by_dtype(const void *a, const void *b) {
  const named_tensor *s = (const named_tensor *)a, *t = (const named_tensor *)b;
  return s->order != t->order ? t->order - s->order : by_own_name(a, b);
}

static gemel_status check_name(const char *name, gemel_error *error) {
  char text[SHOWN];
  const char *end = name + strlen(name);
  if (strcmp(name, METADATA) == 0) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "no tensor of safetensors can be called '%s'",
                       name);
  }
  for (const char *p = name; p < end;) {
    size_t n = gemel__utf8_bytes(p, end);
    if (n == 0) {
      return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the name '%s' of a tensor is no UTF-8",
                         shown(name, text));
    }
    p += n;
  }
  return GEMEL_OK;
}

/* Puts COUNT tensors into the order of the file. */
static gemel_status sort_named(named_tensor *all, size_t count, gemel_error *error) {
  for (size_t k = 0; k < count; k++) {
    GEMEL__TRY(check_name(all[k].name, error));
    while (dtypes[all[k].order].dtype != all[k].tensor->dtype) {
      all[k].order++;
    }
  }
  qsort(all, count, sizeof *all, by_dtype);
  return GEMEL_OK;
}

/* TEXT as a string of JSON, as serde_json writes it. */
static void put_string(gemel__writer *w, const char *text) {
  static const char meant[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
  gemel__put_text(w, "\"");
  for (const char *p = text; *p; p++) {
    char piece[8] = {*p};
    const char *known = strchr(meant, *p);
    if (known) {
      snprintf(piece, sizeof piece, "\\%c", letters[known - meant]);
    } else if ((unsigned char)*p < 32) {
      snprintf(piece, sizeof piece, "\\u%04x", (unsigned)*p);
    }
    gemel__put_text(w, piece);
  }
  gemel__put_text(w, "\"");
}

static uint64_t bytes_of(const gemel_tensor *tensor) {
  return (uint64_t)gemel_tensor_elements(tensor) * gemel_dtype_size(tensor->dtype);
}

/* The entry of T, whose data begins at byte *AT; *AT becomes its end. */
static void put_entry(gemel__writer *w, const named_tensor *t, uint64_t *at) {
  put_string(w, t->name);
  gemel__put_text(w, ":{\"dtype\":\"");
  gemel__put_text(w, dtypes[t->order].name);
  gemel__put_text(w, "\",\"shape\":[");
  for (int k = 0; k < t->tensor->rank; k++) {
    gemel__put_text(w, k > 0 ? "," : "");
    gemel__put_number(w, (uint64_t)t->tensor->shape[k]);
  }
  gemel__put_text(w, "],\"data_offsets\":[");
  gemel__put_number(w, *at);
  gemel__put_text(w, ",");
  *at += bytes_of(t->tensor);
  gemel__put_number(w, *at);
  gemel__put_text(w, "]}");
}

/* The length and the header, padded to a multiple of 8 bytes, in MEMORY. */
static gemel_status make_header(const named_tensor *all, size_t count, gemel__text_memory *memory,
                                gemel_error *error) {
  gemel__writer w;
  uint64_t at = 0;
  GEMEL__TRY(gemel__writer_open(&w, gemel__memory_write, memory, error));
  gemel__put(&w, "\0\0\0\0\0\0\0\0{", LENGTH_BYTES + 1);
  for (size_t k = 0; k < count; k++) {
    gemel__put_text(&w, k > 0 ? "," : "");
    put_entry(&w, &all[k], &at);
  }
  gemel__put_text(&w, "}");
  if (gemel__writer_close(&w, NULL) ||
      gemel__memory_write(memory, "       ", (LENGTH_BYTES - memory->count % 8) % 8)) {
    return gemel__no_memory(error, "the header of a file");
  }
  uint64_t length = memory->count - LENGTH_BYTES;
  for (int k = 0; k < LENGTH_BYTES; k++) {
    memory->bytes[k] = (char)(length >> 8 * k);
  }
  return length <= MAX_HEADER
             ? GEMEL_OK
             : gemel__fail(error, GEMEL_UNSUPPORTED,
                           "the names of %zu tensors need %llu bytes; safetensors allows %d", count,
                           (unsigned long long)length, MAX_HEADER);
}

static gemel_status write_elements(gemel__file *file, const gemel_tensor *tensor,
                                   gemel_error *error) {
  gemel_tensor *packed = NULL;
  if (!gemel__is_row_major(gemel_dtype_size(tensor->dtype), tensor->rank, tensor->shape,
                           tensor->strides)) {
    gemel_view view = gemel_tensor_view(tensor);
    packed = gemel_tensor_copy(&view, error);
    if (!packed) {
      return gemel__no_memory(error, "a tensor");
    }
  }
  size_t bytes = (size_t)bytes_of(tensor);
  int failed = bytes > 0 && gemel__file_write(file, packed ? packed->data : tensor->data, bytes);
  gemel_tensor_unref(packed);
  return failed ? GEMEL_IO : GEMEL_OK;
}

/* Sorts ALL, and writes them to the file PATH. */
static gemel_status write_named(named_tensor *all, size_t count, const char *path,
                                gemel_error *error) {
  gemel__text_memory header = {0};
  gemel__file file;
  gemel_status status = sort_named(all, count, error);
  status = status ? status : make_header(all, count, &header, error);
  status = status ? status : gemel__file_create(&file, path, error);
  if (!status) {
    status = gemel__file_write(&file, header.bytes, header.count) ? GEMEL_IO : GEMEL_OK;
    for (size_t k = 0; k < count && !status; k++) {
      status = write_elements(&file, all[k].tensor, error);
    }
    status = gemel__file_commit(&file, status, error);
  }
  gemel__free(header.bytes, header.capacity);
  return status;
}

gemel_status gemel_safetensors_save(size_t count, const char *const *names,
                                    gemel_tensor *const *tensors, const char *path,
                                    gemel_error *error) {
  GEMEL__TRY(gemel__check_named(count, names, tensors, error));
  named_tensor *all = (named_tensor *)gemel__alloc_array(count, sizeof *all);
  if (!all) {
    return gemel__no_memory(error, "a list of tensors");
  }
  for (size_t k = 0; k < count; k++) {
    all[k] = (named_tensor){names[k], tensors[k], 0};
  }
  gemel_status status = write_named(all, count, path, error);
  gemel__free(all, count * sizeof *all);
  return status;
}
