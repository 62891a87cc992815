/* SPDX-License-Identifier: MIT
 *
 * Writing a call to a folder. The files are written into a folder beside it, which is renamed when
 * all of them are there; after an error they are removed again.
 */
#include "run/dump.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/tensor.h"
#include "run/execution.h"
#include "text/file.h"
#include "text/write.h"

typedef struct dump_writer {
  const gemel_graph *graph;
  gemel_dumped what; /* options and rewrite only */
  gemel_tensor *const *inputs;
  gemel_tensor *const *outputs;
  const char *folder; /* the one aside */
  gemel_error *error;
} dump_writer;

gemel_status gemel__dump_path(const char *folder, const char *name, char path[GEMEL__DUMP_PATH],
                              gemel_error *error) {
  int length = snprintf(path, GEMEL__DUMP_PATH, "%s/%s", folder, name);
  return length < GEMEL__DUMP_PATH ? GEMEL_OK
                                   : gemel__fail(error, GEMEL_IO,
                                                 "the name of the folder is longer "
                                                 "than %d bytes",
                                                 GEMEL__DUMP_PATH - 64);
}

/* ---- Options ---- */

static void put_integer(gemel__writer *out, const char *name, int value) {
  char line[80];
  snprintf(line, sizeof line, "%s = %d\n", name, value);
  gemel__put_text(out, line);
}

/* A list of names; a line's end would end it. */
static gemel_status put_list(gemel__writer *out, const char *name, const char *list,
                             gemel_error *error) {
  if (list == NULL) {
    return GEMEL_OK;
  }
  if (strchr(list, '\n') != NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s has a line's end in it", name);
  }
  gemel__put_text(out, name);
  gemel__put_text(out, " = ");
  gemel__put_text(out, list);
  gemel__put_text(out, "\n");
  return GEMEL_OK;
}

static gemel_status put_rewrite(gemel__writer *out, const gemel_rewrite_options *o,
                                gemel_error *error) {
  if (o->has_mode) {
    gemel__put_text(out, "mode = ");
    gemel__put_text(out, gemel_mode_name(o->mode) != NULL ? gemel_mode_name(o->mode) : "?");
    gemel__put_text(out, "\n");
  }
  if (o->has_allow) {
    gemel__put_text(out, "allow =");
    for (int k = 0; k < GEMEL_NEEDS_COUNT; k++) {
      if (o->allow & 1u << k) {
        gemel__put_text(out, " ");
        gemel__put_text(out, gemel_needs_word(k));
      }
    }
    gemel__put_text(out, "\n");
  }
  gemel_status status = put_list(out, "include", o->include, error);
  return status == GEMEL_OK ? put_list(out, "exclude", o->exclude, error) : status;
}

/* The strides of the inputs that are not in row-major order, in bytes. */
static void put_strides(const dump_writer *w, gemel__writer *out) {
  char number[32];
  for (size_t k = 0; k < w->graph->n_inputs; k++) {
    const gemel_tensor *t = w->inputs[k];
    if (gemel__is_row_major(gemel_dtype_size(t->dtype), t->rank, t->shape, t->strides) ||
        gemel_tensor_elements(t) == 0) {
      continue;
    }
    gemel__put_text(out, "strides ");
    gemel__put_text(out, gemel_graph_input_name(w->graph, k));
    gemel__put_text(out, " =");
    for (int axis = 0; axis < t->rank; axis++) {
      snprintf(number, sizeof number, " %lld", (long long)t->strides[axis]);
      gemel__put_text(out, number);
    }
    gemel__put_text(out, "\n");
  }
}

static gemel_status put_lift(const gemel_dumped *d, gemel__writer *out, gemel_error *error) {
  if (d->lift.space == GEMEL_SPACE_HOST) {
    return GEMEL_OK;
  }
#define PUT_INTEGER(name, member) put_integer(out, name, (int)d->member);
  GEMEL__DUMP_LIFT_INTEGERS(PUT_INTEGER)
#undef PUT_INTEGER
  gemel_status status = put_list(out, "lift", gemel_lift_strategy_name(d->lift.strategy), error);
  status = status ? status : put_list(out, "lift_inputs", d->lift.inputs, error);
  return status ? status : put_list(out, "lift_outputs", d->lift.outputs, error);
}

static gemel_status put_options(const dump_writer *w, gemel__writer *out) {
  const gemel_dumped *d = &w->what;
#define PUT_INTEGER(name, member) put_integer(out, name, (int)d->member);
  GEMEL__DUMP_INTEGERS(PUT_INTEGER)
#undef PUT_INTEGER
  gemel_status status = put_rewrite(out, &d->rewrite, w->error);
  status = status == GEMEL_OK ? put_lift(d, out, w->error) : status;
  for (size_t k = 0; k < d->rewrite.n_rules && status == GEMEL_OK; k++) {
    const gemel_rule_info *first = gemel_rule_describe(gemel_rules_at(d->rewrite.rules[k], 0));
    status = put_list(out, "rules", first != NULL ? first->file : "", w->error);
  }
  put_strides(w, out);
  return status;
}

/* Runs BODY on the file NAME of the folder. */
static gemel_status write_file(dump_writer *w, const char *name,
                               gemel_status (*body)(const dump_writer *, gemel__writer *)) {
  char path[GEMEL__DUMP_PATH];
  gemel__file file;
  gemel__writer out;
  gemel_status status = gemel__dump_path(w->folder, name, path, w->error);
  status = status == GEMEL_OK ? gemel__file_create(&file, path, w->error) : status;
  if (status != GEMEL_OK) {
    return status;
  }
  status = gemel__writer_open(&out, gemel__file_write, &file, w->error);
  if (status == GEMEL_OK) {
    status = body(w, &out);
    gemel_status closed = gemel__writer_close(&out, w->error);
    status = status == GEMEL_OK ? closed : status;
  }
  return gemel__file_commit(&file, status, w->error);
}

/* ---- Rules ---- */

static gemel_status write_rules(dump_writer *w, size_t k) {
  char name[64], path[GEMEL__DUMP_PATH];
  const gemel_rules *set = w->what.rewrite.rules[k];
  gemel__file file;
  snprintf(name, sizeof name, GEMEL__DUMP_RULES, k);
  GEMEL__TRY(gemel__dump_path(w->folder, name, path, w->error));
  GEMEL__TRY(gemel__file_create(&file, path, w->error));
  int failed = 0;
  for (size_t j = 0; j < gemel_rules_count(set) && !failed; j++) {
    const char *text = gemel_rule_describe(gemel_rules_at(set, j))->text;
    failed = gemel__file_write(&file, text, strlen(text)) != 0 ||
             gemel__file_write(&file, "\n\n", 2) != 0;
  }
  return gemel__file_commit(&file, failed ? GEMEL_IO : GEMEL_OK, w->error);
}

/* ---- Tensors ---- */

static void unref_tensor(void *tensor) {
  gemel_tensor_unref(tensor);
}

/* TENSOR on the host, with a name in NPY: bf16 as its bits. */
static gemel_tensor *storable(gemel_tensor *tensor, gemel_error *error) {
  gemel_tensor *t = gemel_tensor_device(tensor) == gemel_host()
                        ? gemel_tensor_ref(tensor)
                        : gemel_tensor_transfer(tensor, gemel_host(), error);
  if (t == NULL || t->dtype != GEMEL_BF16) {
    return t;
  }
  gemel_tensor *bits =
      gemel_tensor_wrap(GEMEL_U16, t->rank, t->shape, t->strides, t->data, unref_tensor, t, error);
  if (bits == NULL) {
    gemel_tensor_unref(t);
  }
  return bits;
}

static gemel_status write_tensors(const dump_writer *w, const char *file, size_t n,
                                  const char *(*name)(const gemel_graph *, size_t),
                                  gemel_tensor *const *tensors) {
  char path[GEMEL__DUMP_PATH];
  const char **names = gemel__alloc_array(n, sizeof *names);
  gemel_tensor **stored = gemel__alloc_array(n, sizeof *stored);
  gemel_status status = names != NULL && stored != NULL
                            ? gemel__dump_path(w->folder, file, path, w->error)
                            : gemel__no_memory(w->error, "a dump");
  for (size_t k = 0; k < n && status == GEMEL_OK; k++) {
    names[k] = name(w->graph, k);
    stored[k] = storable(tensors[k], w->error);
    status = stored[k] != NULL ? GEMEL_OK : w->error->status;
  }
  if (status == GEMEL_OK) {
    status = gemel_npz_save(n, names, stored, path, w->error);
  }
  for (size_t k = 0; k < n && stored != NULL; k++) {
    gemel_tensor_unref(stored[k]);
  }
  gemel__free(names, n * sizeof *names);
  gemel__free(stored, n * sizeof *stored);
  return status;
}

/* ---- The folder ---- */

static gemel_status put_lines(const dump_writer *w, gemel__writer *out) {
  return gemel__dump_put_lines(w->graph, out, w->error);
}

static gemel_status write_all(dump_writer *w) {
  char path[GEMEL__DUMP_PATH];
  GEMEL__TRY(gemel__dump_path(w->folder, GEMEL__DUMP_GRAPH, path, w->error));
  GEMEL__TRY(gemel_save(w->graph, "dumped", path, w->error));
  GEMEL__TRY(write_file(w, GEMEL__DUMP_LINES, put_lines));
  GEMEL__TRY(write_file(w, GEMEL__DUMP_OPTIONS, put_options));
  for (size_t k = 0; k < w->what.rewrite.n_rules; k++) {
    GEMEL__TRY(write_rules(w, k));
  }
  GEMEL__TRY(
      write_tensors(w, GEMEL__DUMP_INPUTS, w->graph->n_inputs, gemel_graph_input_name, w->inputs));
  if (w->outputs != NULL) {
    GEMEL__TRY(write_tensors(w, GEMEL__DUMP_OUTPUTS, w->graph->n_outputs, gemel_graph_output_name,
                             w->outputs));
  }
  return GEMEL_OK;
}

static void remove_file(const dump_writer *w, const char *name) {
  char path[GEMEL__DUMP_PATH];
  if (gemel__dump_path(w->folder, name, path, NULL) == GEMEL_OK) {
    remove(path);
  }
}

/* Removes the folder aside and what may be in it. */
static void take_back(const dump_writer *w) {
  static const char *const names[] = {GEMEL__DUMP_GRAPH, GEMEL__DUMP_LINES, GEMEL__DUMP_OPTIONS,
                                      GEMEL__DUMP_INPUTS, GEMEL__DUMP_OUTPUTS};
  char name[64];
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    remove_file(w, names[k]);
  }
  for (size_t k = 0; k < w->what.rewrite.n_rules; k++) {
    snprintf(name, sizeof name, GEMEL__DUMP_RULES, k);
    remove_file(w, name);
  }
  rmdir(w->folder);
}

static gemel_status system_failed(const char *path, gemel_error *error) {
  return gemel__fail(error, GEMEL_IO, "%s: can't be written: %s", path, strerror(errno));
}

static gemel_status write_folder(dump_writer *w, const char *folder) {
  struct stat about;
  char aside[GEMEL__DUMP_PATH];
  size_t length = strlen(folder);
  while (length > 1 && folder[length - 1] == '/') {
    length--;
  }
  if (lstat(folder, &about) == 0) {
    return gemel__fail(w->error, GEMEL_IO, "%s: is there already", folder);
  }
  if (length + 40 > sizeof aside) {
    return gemel__dump_path(folder, "name", aside, w->error);
  }
  snprintf(aside, sizeof aside, "%.*s.%ld.tmp", (int)length, folder, (long)getpid());
  if (mkdir(aside, 0777) != 0) {
    return system_failed(folder, w->error);
  }
  w->folder = aside;
  gemel_status status = write_all(w);
  if (status == GEMEL_OK && rename(aside, folder) != 0) {
    status = system_failed(folder, w->error);
  }
  if (status != GEMEL_OK) {
    take_back(w);
  }
  return status;
}

/* ---- Calls ---- */

/* The values of bound states for the inputs that are missing; VALUES own all of them. */
static gemel_status complete_inputs(const dump_writer *w, gemel_tensor *const *given,
                                    gemel_tensor **values) {
  const gemel_options *o = &w->what.options;
  size_t state = 0;
  for (size_t k = 0; k < w->graph->n_inputs; k++) {
    int is_state = gemel_is_state(gemel_graph_input(w->graph, k));
    int is_bound = is_state && o->states != NULL && state < o->n_states;
    values[k] = given != NULL && given[k] != NULL ? gemel_tensor_ref(given[k])
                : is_bound                        ? gemel_shared_get(o->states[state])
                                                  : NULL;
    state += (size_t)is_state;
    if (values[k] == NULL) {
      return gemel__fail(w->error, GEMEL_BAD_ARGUMENT, "input %s is missing",
                         gemel_graph_input_name(w->graph, k));
    }
  }
  return GEMEL_OK;
}

/* An array of the caller's, if there is one: as many as the graph has. */
static gemel_status check_count(const dump_writer *w, const char *what, size_t given,
                                const void *array, size_t wanted, const char *const *names) {
  if (array == NULL || given == wanted) {
    return GEMEL_OK;
  }
  gemel__wrong_count(w->error, "a dump", what, given, wanted);
  for (size_t k = 0; k < wanted; k++) {
    gemel__error_add(w->error, "%s%s", k == 0 ? ": " : ", ", names[k]);
  }
  return GEMEL_BAD_ARGUMENT;
}

static gemel_status check_outputs(const dump_writer *w) {
  for (size_t k = 0; w->outputs != NULL && k < w->graph->n_outputs; k++) {
    if (w->outputs[k] == NULL) {
      return gemel__fail(w->error, GEMEL_BAD_ARGUMENT, "output %s is missing",
                         gemel_graph_output_name(w->graph, k));
    }
  }
  return GEMEL_OK;
}

/* W's options, completed from what the caller GIVES. */
static gemel_status read_options(dump_writer *w, const gemel_options *given) {
  gemel_options *o = &w->what.options;
  gemel_status status = gemel__options_read(o, given, w->error);
  if (status == GEMEL_OK && o->rewrite != NULL) {
    size_t size =
        o->rewrite->size < sizeof w->what.rewrite ? o->rewrite->size : sizeof w->what.rewrite;
    memcpy(&w->what.rewrite, o->rewrite, size);
  }
  if (status == GEMEL_OK && o->lift != NULL) {
    status = gemel__take_options(&w->what.lift, sizeof w->what.lift, o->lift, "gemel_lift_options",
                                 w->error);
  }
  o->threads = gemel__thread_count(o->threads);
  return status;
}

gemel_status gemel_dump(const gemel_graph *graph, const gemel_options *options, size_t n_inputs,
                        gemel_tensor *const *inputs, size_t n_outputs, gemel_tensor *const *outputs,
                        const char *folder, gemel_error *error) {
  gemel_error local;
  dump_writer w = {.graph = graph, .outputs = outputs, .error = error != NULL ? error : &local};
  if (graph == NULL || folder == NULL) {
    return gemel__null(error, graph == NULL ? "the graph" : "the folder");
  }
  gemel_status status =
      check_count(&w, "input", n_inputs, inputs, graph->n_inputs, graph->input_names);
  if (status == GEMEL_OK) {
    status = check_count(&w, "output", n_outputs, outputs, graph->n_outputs, graph->output_names);
  }
  status = status == GEMEL_OK ? read_options(&w, options) : status;
  gemel_tensor **values = gemel__alloc_array(graph->n_inputs, sizeof *values);
  if (values == NULL) {
    return gemel__no_memory(error, "a dump");
  }
  status = status == GEMEL_OK ? complete_inputs(&w, inputs, values) : status;
  status = status == GEMEL_OK ? check_outputs(&w) : status;
  if (status == GEMEL_OK) {
    w.inputs = values;
    status = write_folder(&w, folder);
  }
  for (size_t k = 0; k < graph->n_inputs; k++) {
    gemel_tensor_unref(values[k]);
  }
  gemel__free(values, graph->n_inputs * sizeof *values);
  return status;
}
