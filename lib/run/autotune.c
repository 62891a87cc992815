/* SPDX-License-Identifier: MIT
 *
 * Timing of kernels (autotune.h). The file is read whole when a choice is looked for first, and
 * lines are found by a hash; the last line for a key counts. A choice that is new is appended in
 * one write, behind a line break if a writer before it was interrupted. A line that names no kernel
 * of the operation, because it is damaged or another gemel wrote it, is as none.
 *
 * Kernels run on scratch operands with small numbers in them, 0 where they are integers (which may
 * be indices). Times are the best of some runs, for a machine that others use is slow at times.
 */
#include "run/autotune.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <gemel/version.h>
#include "core/alloc.h"
#include "core/cache.h"
#include "core/dtype.h"
#include "core/error.h"
#include "device/kernels.h"
#include "core/intern.h"
#include "core/tensor.h"
#include "core/isa.h"
#include "ops/rule.h"
#include "run/record.h"

enum { KEY = 4096, PATTERN = 1024, ROUNDS = 20, CANDIDATES = 16, CPU = 128 };
enum { MOST_BYTES = 64 << 20 }; /* of the file that are read */
static const double ENOUGH_SECONDS = 0.03, MOST_FOR_PLAIN = 1e7;

struct gemel__tuner {
  pthread_mutex_t lock;
  char *file; /* NULL: the default */
  int opened;
  char cpu[CPU];
  char *text; /* lines with their ends, those of the file first */
  size_t used, capacity;
  gemel__map lines; /* of a key's hash: 1 + where its last line begins */
};

/* ---- Keys ---- */

/* Text that fits or is given up. */
typedef struct tuner_key {
  char text[KEY];
  size_t used;
  int failed;
} tuner_key;

static void add(tuner_key *key, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(tuner_key *key, const char *format, ...) {
  size_t left = sizeof key->text - key->used;
  va_list args;
  va_start(args, format);
  int n = vsnprintf(key->text + key->used, left, format, args);
  va_end(args);
  key->failed |= n < 0 || (size_t)n >= left;
  key->used += key->failed ? 0 : (size_t)n;
}

static void add_list(tuner_key *key, const int64_t *values, size_t count) {
  for (size_t k = 0; k < count; k++) {
    add(key, "%s%lld", k == 0 ? "[" : ",", (long long)values[k]);
  }
  add(key, "%s", count == 0 ? "[]" : "]");
}

/* Tensors, graphs and lists of what isn't an integer are attributes of operations that have nothing
 * to choose. */
static void add_attr(tuner_key *key, const gemel_attr *attr) {
  add(key, " %s=", attr->name);
  switch (attr->kind) {
  case GEMEL_ATTR_NONE:
    add(key, "none");
    break;
  case GEMEL_ATTR_INT:
    add(key, "%lld", (long long)attr->u.i);
    break;
  case GEMEL_ATTR_FLOAT:
    add(key, "%a", attr->u.f);
    break;
  case GEMEL_ATTR_DTYPE:
    add(key, "%s", gemel_dtype_name(attr->u.dtype));
    break;
  case GEMEL_ATTR_STRING:
    add(key, "%s", attr->u.text);
    break;
  case GEMEL_ATTR_LIST | GEMEL_ATTR_INT:
    add_list(key, attr->u.ints, attr->count);
    break;
  default:
    key->failed = 1;
  }
}

static void add_view(tuner_key *key, const gemel_view *view) {
  add(key, " %s", gemel_dtype_name(view->dtype));
  add_list(key, view->shape, (size_t)view->rank);
  add_list(key, view->strides, (size_t)view->rank);
}

static void make_key(tuner_key *key, const gemel__tuner *tuner, const gemel_kernel_call *call) {
  const gemel_operation *o = call->operation;
  key->used = 0;
  key->failed = 0;
  add(key, "%s %d", o->name, o->version);
  for (int k = 0; o->attrs != NULL && o->attrs[k].name != NULL; k++) {
    add_attr(key, &call->attrs[k]);
  }
  for (size_t k = 0; k < call->n_inputs; k++) {
    add_view(key, &call->inputs[k]);
  }
  add(key, " ->");
  for (size_t k = 0; k < call->n_outputs; k++) {
    add_view(key, &call->outputs[k]);
    add(key, "%s", call->unread != NULL && call->unread[k] ? " unread" : "");
  }
  add(key, "; %d threads; gemel %s; %s", call->threads, gemel_version(), tuner->cpu);
  for (size_t k = 0; k < key->used; k++) { /* strings may hold anything */
    key->text[k] = (unsigned char)key->text[k] < ' ' ? '?' : key->text[k];
  }
}

static uint64_t hash_of(const char *key, size_t bytes) {
  return gemel__hash_bytes(0, key, bytes);
}

/* ---- The file ---- */

/* The processor's name, which a virtual machine may not tell, and what gemel uses of it. */
static void find_cpu(char cpu[CPU]) {
  char line[256];
  FILE *file = fopen("/proc/cpuinfo", "r");
  snprintf(cpu, CPU, "processor");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    const char *name = strchr(line, ':');
    if (strncmp(line, "model name", 10) == 0 && name != NULL) {
      snprintf(cpu, CPU - 8, "%.*s", (int)strcspn(name + 1, "\n"), name + 1);
      break;
    }
  }
  if (file != NULL) {
    fclose(file);
  }
  snprintf(cpu + strlen(cpu), 8, " %d", (int)gemel__isa_best());
}

/* Puts the lines from FROM on into the map. A line without an end isn't whole. */
static gemel_status index_lines(gemel__tuner *tuner, size_t from) {
  const char *end;
  while ((end = memchr(tuner->text + from, '\n', tuner->used - from)) != NULL) {
    const char *line = tuner->text + from, *tab = memchr(line, '\t', (size_t)(end - line));
    if (tab != NULL && gemel__map_put(&tuner->lines, hash_of(line, (size_t)(tab - line)),
                                      (uint32_t)from + 1) != 0) {
      return GEMEL_NO_MEMORY;
    }
    from = (size_t)(end - tuner->text) + 1;
  }
  return GEMEL_OK;
}

/* Room for BYTES more. */
static char *extend(gemel__tuner *tuner, size_t bytes) {
  return gemel__grow(&tuner->text, &tuner->capacity, tuner->used + bytes, 1) == 0
             ? tuner->text + tuner->used
             : NULL;
}

static int path_of(const gemel__tuner *tuner, char *path, size_t bytes) {
  if (tuner->file == NULL) {
    return gemel__cache_path("autotune", path, bytes);
  }
  return (size_t)snprintf(path, bytes, "%s", tuner->file) < bytes;
}

/* What is behind the last whole line is left. */
static gemel_status read_lines(gemel__tuner *tuner, int file, size_t bytes) {
  char *to = extend(tuner, bytes + 1);
  ssize_t n = to != NULL ? read(file, to, bytes) : 0;
  tuner->used = n > 0 ? (size_t)n : 0;
  while (tuner->used > 0 && tuner->text[tuner->used - 1] != '\n') {
    tuner->used--;
  }
  return to == NULL ? GEMEL_NO_MEMORY : index_lines(tuner, 0);
}

static gemel_status read_file(gemel__tuner *tuner) {
  char path[KEY];
  struct stat about;
  gemel_status status = GEMEL_OK;
  int file = path_of(tuner, path, sizeof path)
                 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
                 : -1;
  if (file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
      about.st_size <= MOST_BYTES) {
    status = read_lines(tuner, file, (size_t)about.st_size);
  }
  if (file >= 0) {
    close(file);
  }
  return status;
}

/* Appends LINE to the file. What can't be kept is found anew by the next function. */
static void append(const gemel__tuner *tuner, const char *line, size_t bytes) {
  char path[KEY], last = '\n', whole[KEY + 256];
  struct stat about;
  int file =
      path_of(tuner, path, sizeof path)
          ? open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0600)
          : -1;
  if (file < 0) {
    return;
  }
  if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && bytes + 1 < sizeof whole) {
    int broken = about.st_size > 0 && pread(file, &last, 1, about.st_size - 1) == 1 && last != '\n';
    whole[0] = '\n';
    memcpy(whole + 1, line, bytes);
    if (write(file, whole + !broken, bytes + (size_t)broken) < 0) {
      errno = 0; /* a full disk, say */
    }
  }
  close(file);
}

/* ---- Choices ---- */

static const gemel_kernel *named(const gemel_kernel *candidates, const char *name, size_t bytes) {
  const gemel_kernel *k = candidates;
  while (k->name != NULL && (strlen(k->name) != bytes || memcmp(k->name, name, bytes) != 0)) {
    k++;
  }
  return k->name != NULL ? k : NULL;
}

static const gemel_kernel *look_up(const gemel__tuner *tuner, const tuner_key *key,
                                   const gemel_kernel *candidates) {
  uint32_t found = gemel__map_find(&tuner->lines, hash_of(key->text, key->used));
  if (found == 0 || found + key->used > tuner->used) {
    return NULL;
  }
  const char *line = tuner->text + found - 1;
  if (memcmp(line, key->text, key->used) != 0 || line[key->used] != '\t') {
    return NULL;
  }
  const char *name = line + key->used + 1;
  return named(candidates, name, strcspn(name, "\n"));
}

static gemel_status keep(gemel__tuner *tuner, const tuner_key *key, const gemel_kernel *kernel) {
  size_t bytes = key->used + strlen(kernel->name) + 2;
  char *line = extend(tuner, bytes + 1);
  if (line == NULL || tuner->used + bytes >= UINT32_MAX) {
    return GEMEL_NO_MEMORY;
  }
  snprintf(line, bytes + 1, "%s\t%s\n", key->text, kernel->name);
  append(tuner, line, bytes);
  tuner->used += bytes;
  return index_lines(tuner, tuner->used - bytes);
}

/* ---- Trials ---- */

/* A call with operands of its own. */
typedef struct tuner_trial {
  gemel_kernel_call call;
  gemel_error error;
  gemel_view *views; /* inputs, then outputs */
  void **blocks;     /* of their memory */
  size_t *bytes, n;
  _Alignas(max_align_t) char prepared[GEMEL_KERNEL_PREPARED_BYTES];
} tuner_trial;

/* From the first byte of a view to its last; *BEFORE: of these, those before element 0. */
static size_t span_of(const gemel_view *view, size_t *before) {
  size_t after = (size_t)gemel__view_item(view);
  *before = 0;
  for (int k = 0; k < view->rank; k++) {
    int64_t reach = view->strides[k] * (view->shape[k] - 1);
    *(reach < 0 ? before : &after) += (size_t)(reach < 0 ? -reach : reach);
  }
  return *before + after;
}

/* Fills BYTES bytes: floats get 0.25 to 1.75, all else 0. */
static void fill(gemel_dtype dtype, char *data, size_t bytes) {
  size_t item = gemel_dtype_size(dtype), done = 0;
  memset(data, 0, bytes);
  for (size_t k = 0; gemel__is_float(dtype) && k < PATTERN && done + item <= bytes; k++) {
    gemel__dtype_store(dtype, 0.25 * (double)(1 + k % 7), data + done);
    done += item;
  }
  while (done > 0 && done < bytes) {
    size_t n = done < bytes - done ? done : bytes - done;
    memcpy(data + done, data, n);
    done += n;
  }
}

static gemel_status place(tuner_trial *t, size_t k) {
  gemel_view *view = &t->views[k];
  size_t before;
  t->bytes[k] = span_of(view, &before) + GEMEL__DATA_ALIGNMENT;
  char *block = t->blocks[k] = gemel__alloc(t->bytes[k]);
  if (block == NULL) {
    return GEMEL_NO_MEMORY;
  }
  block += -(uintptr_t)block & (GEMEL__DATA_ALIGNMENT - 1);
  fill(view->dtype, block, t->bytes[k] - GEMEL__DATA_ALIGNMENT);
  view->data = block + before;
  return GEMEL_OK;
}

static void close_trial(tuner_trial *t) {
  for (size_t k = 0; k < t->n && t->blocks != NULL && t->bytes != NULL; k++) {
    gemel__free(t->blocks[k], t->bytes[k]);
  }
  gemel__free(t->views, t->n * sizeof *t->views);
  gemel__free(t->blocks, t->n * sizeof *t->blocks);
  gemel__free(t->bytes, t->n * sizeof *t->bytes);
}

/* GEMEL_DECLINED if there are no elements. To be closed in any case. */
static gemel_status open_trial(tuner_trial *t, const gemel_kernel_call *call) {
  gemel_status status = GEMEL_OK;
  memset(t, 0, sizeof *t);
  t->n = call->n_inputs + call->n_outputs;
  t->views = gemel__alloc_array(t->n, sizeof *t->views);
  t->blocks = gemel__alloc_array(t->n, sizeof *t->blocks);
  t->bytes = gemel__alloc_array(t->n, sizeof *t->bytes);
  if (t->views == NULL || t->blocks == NULL || t->bytes == NULL) {
    return GEMEL_NO_MEMORY;
  }
  for (size_t k = 0; k < t->n && status == GEMEL_OK; k++) {
    t->views[k] = k < call->n_inputs ? call->inputs[k] : call->outputs[k - call->n_inputs];
    int unread = k >= call->n_inputs && call->unread != NULL && call->unread[k - call->n_inputs];
    status = unread                                    ? GEMEL_OK
             : gemel__view_elements(&t->views[k]) == 0 ? GEMEL_DECLINED
                                                       : place(t, k);
  }
  t->call = *call;
  t->call.inputs = t->views;
  t->call.outputs = t->views + call->n_inputs;
  t->call.prepared = t->prepared;
  t->call.error = &t->error;
  t->call.timed = 1;
  t->call.nested = NULL;
  return status;
}

static gemel_status prepare(tuner_trial *t, const gemel_kernel *kernel) {
  memset(t->prepared, 0, sizeof t->prepared);
  t->call.scratch = NULL;
  t->call.release = NULL;
  return gemel__call_prepare(&t->call, kernel);
}

static void release(tuner_trial *t) {
  if (t->call.release != NULL) {
    t->call.release(t->call.prepared);
  }
}

/* *BEST = the shortest of some runs. */
static gemel_status time_runs(tuner_trial *t, const gemel_kernel *kernel, double *best) {
  double all = 0;
  for (int round = 0; round < ROUNDS && all < ENOUGH_SECONDS; round++) {
    double began = gemel__seconds();
    GEMEL__TRY(gemel__call_runner(&t->call, kernel)(&t->call));
    double seconds = gemel__seconds() - began;
    *best = round == 0 || seconds < *best ? seconds : *best;
    all += seconds;
  }
  return GEMEL_OK;
}

/* *SECONDS = how long KERNEL takes. */
static gemel_status time_kernel(tuner_trial *t, const gemel_kernel *kernel, double *seconds) {
  gemel_status status = prepare(t, kernel);
  if (status != GEMEL_OK) {
    return status;
  }
  size_t bytes = t->call.scratch_bytes + GEMEL__DATA_ALIGNMENT;
  char *block = gemel__alloc(bytes);
  status = GEMEL_NO_MEMORY;
  if (block != NULL) {
    t->call.scratch = block + (-(uintptr_t)block & (GEMEL__DATA_ALIGNMENT - 1));
    status = time_runs(t, kernel, seconds);
  }
  gemel__free(block, bytes);
  release(t);
  return status;
}

/* Which of CANDIDATES take the call: their numbers, *N of them. */
static gemel_status find_takers(tuner_trial *t, const gemel_kernel *candidates, int *takers,
                                int *n) {
  gemel_status status = GEMEL_OK;
  *n = 0;
  for (int k = 0; candidates[k].name != NULL && *n < CANDIDATES && status == GEMEL_OK; k++) {
    status = prepare(t, &candidates[k]);
    if (status == GEMEL_OK) {
      takers[(*n)++] = k;
      release(t);
    }
    status = status == GEMEL_DECLINED ? GEMEL_OK : status;
  }
  return status;
}

/* 1 if KERNEL is the plain one and the call asks for so much that running it would take seconds. */
static int never_ends(const tuner_trial *t, const gemel_kernel *kernel) {
  double flops = 0, bytes = 0;
  if (kernel[1].name == NULL && t->call.operation->cost != NULL) {
    t->call.operation->cost(&t->call, &flops, &bytes);
  }
  return flops > MOST_FOR_PLAIN;
}

static gemel_status find_fastest(tuner_trial *t, const gemel_kernel *candidates,
                                 const gemel_kernel **chosen) {
  int takers[CANDIDATES], n;
  double best = 0, seconds;
  gemel_status status = find_takers(t, candidates, takers, &n);
  for (int k = 0; k < n && n > 1 && status == GEMEL_OK; k++) {
    const gemel_kernel *kernel = &candidates[takers[k]];
    if (*chosen != NULL && never_ends(t, kernel)) {
      continue;
    }
    status = time_kernel(t, kernel, &seconds);
    if (status == GEMEL_OK && (*chosen == NULL || seconds < best)) {
      *chosen = kernel;
      best = seconds;
    }
  }
  *chosen = status == GEMEL_OK ? *chosen : NULL;
  return status;
}

/* ---- The tuner ---- */

gemel__tuner *gemel__tuner_new(const char *file) {
  gemel__tuner *tuner = gemel__alloc_zeroed(sizeof *tuner);
  char *copy = file != NULL ? gemel__copy_string(file) : NULL;
  if (tuner == NULL || (file != NULL && copy == NULL)) {
    gemel__free_string(copy);
    gemel__free(tuner, sizeof *tuner);
    return NULL;
  }
  tuner->file = copy;
  pthread_mutex_init(&tuner->lock, NULL);
  return tuner;
}

void gemel__tuner_free(gemel__tuner *tuner) {
  if (tuner != NULL) {
    gemel__free_string(tuner->file);
    gemel__free(tuner->text, tuner->capacity);
    gemel__map_clear(&tuner->lines);
    pthread_mutex_destroy(&tuner->lock);
    gemel__free(tuner, sizeof *tuner);
  }
}

static gemel_status find_and_keep(gemel__tuner *tuner, const tuner_key *key,
                                  const gemel_kernel *candidates, const gemel_kernel_call *call,
                                  const gemel_kernel **chosen) {
  tuner_trial trial;
  gemel_status status = open_trial(&trial, call);
  if (status == GEMEL_OK) {
    status = find_fastest(&trial, candidates, chosen);
  }
  close_trial(&trial);
  return status == GEMEL_OK && *chosen != NULL ? keep(tuner, key, *chosen) : status;
}

/* With the lock held, so that kernels aren't timed two at a time. */
static gemel_status tune(gemel__tuner *tuner, const gemel_kernel *candidates,
                         const gemel_kernel_call *call, const gemel_kernel **chosen) {
  tuner_key key;
  gemel_status status = GEMEL_OK;
  if (!tuner->opened) {
    find_cpu(tuner->cpu);
    status = read_file(tuner);
    tuner->opened = status == GEMEL_OK;
  }
  make_key(&key, tuner, call);
  if (status != GEMEL_OK || key.failed) {
    return status;
  }
  *chosen = look_up(tuner, &key, candidates);
  return *chosen != NULL ? GEMEL_OK : find_and_keep(tuner, &key, candidates, call, chosen);
}

gemel_status gemel__tune(gemel__tuner *tuner, const gemel_kernel *candidates,
                         const gemel_kernel_call *call, const gemel_kernel **chosen) {
  gemel_status status = GEMEL_OK;
  *chosen = NULL;
  if (candidates[0].name != NULL && candidates[1].name != NULL && call->operation != NULL) {
    pthread_mutex_lock(&tuner->lock);
    status = tune(tuner, candidates, call, chosen);
    pthread_mutex_unlock(&tuner->lock);
  }
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}
