/* SPDX-License-Identifier: MIT
 *
 * Reading a dumped call. Nothing in the folder is trusted: what its files say is compared with the
 * graph, and what is wrong is named with its file and line.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/arena.h"
#include "core/error.h"
#include "core/tensor.h"
#include "device/device.h"
#include "lift/lift.h"
#include "run/dump.h"
#include "text/file.h"

/* A dumped call and what it owns besides. */
typedef struct dump_reader {
  gemel_dumped dumped;
  gemel__arena arena; /* strings */
  gemel_rules **rules;
  size_t n_rules, rule_capacity;
  gemel_context *context;
  const char *folder;
  gemel_error *error;
  int line;          /* of the options */
  size_t next_input; /* strides are those of this input or one behind it */
} dump_reader;

/* ---- Options ---- */

static gemel_status bad_line(dump_reader *r, const char *what, const char *text) {
  return gemel__fail(r->error, GEMEL_BAD_FILE, "%s/%s:%d: %s: '%s'", r->folder, GEMEL__DUMP_OPTIONS,
                     r->line, what, text);
}

static gemel_status read_integer(dump_reader *r, const char *text, void *to) {
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  int number = (int)value;
  if (end == text || *end != '\0' || errno != 0 || value < 0 || value > INT_MAX) {
    return bad_line(r, "no whole number from 0 on", text);
  }
  memcpy(to, &number, sizeof number);
  return GEMEL_OK;
}

static gemel_status read_mode(dump_reader *r, const char *text) {
  gemel_rewrite_options *o = &r->dumped.rewrite;
  for (int k = 0; k < GEMEL_MODE_COUNT; k++) {
    if (strcmp(gemel_mode_name((gemel_mode)k), text) == 0) {
      o->mode = (gemel_mode)k;
      o->has_mode = 1;
      return GEMEL_OK;
    }
  }
  return bad_line(r, "no mode", text);
}

static gemel_status read_strategy(dump_reader *r, const char *text) {
  for (int k = 0; k < GEMEL_LIFT_STRATEGY_COUNT; k++) {
    if (strcmp(gemel_lift_strategy_name((gemel_lift_strategy)k), text) == 0) {
      r->dumped.lift.strategy = (gemel_lift_strategy)k;
      return GEMEL_OK;
    }
  }
  return bad_line(r, "no strategy", text);
}

static gemel_status read_allow(dump_reader *r, char *text) {
  gemel_rewrite_options *o = &r->dumped.rewrite;
  char *rest = NULL;
  o->has_allow = 1;
  for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
    int k = 0;
    while (k < GEMEL_NEEDS_COUNT && strcmp(gemel_needs_word(k), word) != 0) {
      k++;
    }
    if (k == GEMEL_NEEDS_COUNT) {
      return bad_line(r, "no word of what rules need", word);
    }
    o->allow |= 1u << k;
  }
  return GEMEL_OK;
}

static gemel_status read_text(dump_reader *r, const char *text, const char **to) {
  *to = gemel__arena_string(&r->arena, text);
  return *to != NULL ? GEMEL_OK : gemel__no_memory(r->error, "a dumped call");
}

/* The next set of rules, which came from the file NAME. */
static gemel_status read_rules(dump_reader *r, const char *name) {
  char file[64], path[GEMEL__DUMP_PATH], *bytes;
  size_t length;
  snprintf(file, sizeof file, GEMEL__DUMP_RULES, r->n_rules);
  GEMEL__TRY(gemel__dump_path(r->folder, file, path, r->error));
  GEMEL__TRY(gemel__file_read(path, GEMEL__MOST_TEXT, &bytes, &length, r->error));
  gemel_rules *set = gemel_rules_parse(r->context, bytes, length, name, r->error);
  gemel__free(bytes, length + 1);
  if (set == NULL) {
    return r->error->status;
  }
  if (gemel__grow(&r->rules, &r->rule_capacity, r->n_rules + 1, sizeof *r->rules) != 0) {
    gemel_rules_unref(set);
    return gemel__no_memory(r->error, "a dumped call");
  }
  r->rules[r->n_rules++] = set;
  return GEMEL_OK;
}

/* ---- Strides ---- */

/* Adds N × STRIDE to one of *LOW and *HIGH; -1 if that is out of all bounds. */
static int widen(int64_t n, int64_t stride, int64_t *low, int64_t *high) {
  int64_t reach, *end = stride < 0 ? low : high;
  return n > 0 && (__builtin_mul_overflow(n, stride, &reach) ||
                   __builtin_add_overflow(*end, reach, end) || *end > GEMEL__MAX_BYTES ||
                   *end < -GEMEL__MAX_BYTES)
             ? -1
             : 0;
}

static void unref_tensor(void *tensor) {
  gemel_tensor_unref(tensor);
}

/* TENSOR's elements in memory with these strides. */
static gemel_tensor *lay_out(dump_reader *r, const gemel_tensor *tensor, const int64_t *strides) {
  int64_t low = 0, high = (int64_t)gemel_dtype_size(tensor->dtype);
  for (int axis = 0; axis < tensor->rank; axis++) {
    if (widen(tensor->shape[axis] - 1, strides[axis], &low, &high) != 0) {
      bad_line(r, "these strides", "too large");
      return NULL;
    }
  }
  const int64_t span = high - low;
  gemel_tensor *memory = gemel_tensor_new(GEMEL_U8, 1, &span, r->error);
  gemel_tensor *laid =
      memory == NULL
          ? NULL
          : gemel_tensor_wrap(tensor->dtype, tensor->rank, tensor->shape, strides,
                              (char *)memory->data - low, unref_tensor, memory, r->error);
  if (laid == NULL) {
    gemel_tensor_unref(memory);
  } else if (gemel__tensor_copy_elements(laid, tensor, 1, r->error) != GEMEL_OK) {
    gemel_tensor_unref(laid);
    return NULL;
  }
  return laid;
}

/* "strides NAME" = "4 12": inputs are named in their order. */
static gemel_status read_strides(dump_reader *r, const char *name, char *text) {
  int64_t strides[GEMEL_MAX_RANK];
  gemel_dumped *d = &r->dumped;
  char *rest = NULL, *end = NULL;
  int rank = 0;
  while (r->next_input < d->n_inputs &&
         strcmp(gemel_graph_input_name(d->graph, r->next_input), name) != 0) {
    r->next_input++;
  }
  if (r->next_input == d->n_inputs) {
    return bad_line(r, "no input of that name here", name);
  }
  gemel_tensor **input = &d->inputs[r->next_input++];
  for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
    errno = 0;
    long long stride = strtoll(word, &end, 10);
    if (*end != '\0' || errno != 0 || rank == (*input)->rank) {
      return bad_line(r, "no stride", word);
    }
    strides[rank++] = stride;
  }
  if (rank != (*input)->rank || gemel_tensor_elements(*input) == 0) {
    return bad_line(r, "not a stride for each axis", name);
  }
  gemel_tensor *laid = lay_out(r, *input, strides);
  if (laid == NULL) {
    return r->error->status;
  }
  gemel_tensor_unref(*input);
  *input = laid;
  return GEMEL_OK;
}

/* ---- Lines ---- */

static gemel_status read_option(dump_reader *r, const char *name, char *value) {
  gemel_rewrite_options *o = &r->dumped.rewrite;
#define READ_INTEGER(text, member)                                                                 \
  if (strcmp(name, text) == 0) {                                                                   \
    return read_integer(r, value, &r->dumped.member);                                              \
  }
  GEMEL__DUMP_INTEGERS(READ_INTEGER)
  GEMEL__DUMP_LIFT_INTEGERS(READ_INTEGER)
#undef READ_INTEGER
  if (strcmp(name, "mode") == 0) {
    return read_mode(r, value);
  }
  if (strcmp(name, "allow") == 0) {
    return read_allow(r, value);
  }
  if (strcmp(name, "include") == 0 || strcmp(name, "exclude") == 0) {
    return read_text(r, value, name[0] == 'i' ? &o->include : &o->exclude);
  }
  if (strcmp(name, "lift") == 0) {
    return read_strategy(r, value);
  }
  if (strcmp(name, "lift_inputs") == 0 || strcmp(name, "lift_outputs") == 0) {
    gemel_lift_options *lift = &r->dumped.lift;
    return read_text(r, value, name[5] == 'i' ? &lift->inputs : &lift->outputs);
  }
  if (strcmp(name, "rules") == 0) {
    return read_rules(r, value);
  }
  if (strncmp(name, "strides ", 8) == 0) {
    return read_strides(r, name + 8, value);
  }
  return bad_line(r, "no such option", name);
}

/* "name = value", of which value may be empty. */
static gemel_status read_line(dump_reader *r, char *line) {
  char *equals = strstr(line, " =");
  if (line[0] == '\0') {
    return GEMEL_OK;
  }
  if (equals == NULL) {
    return bad_line(r, "no name = value", line);
  }
  *equals = '\0';
  return read_option(r, line, equals + 2 + (equals[2] == ' '));
}

static gemel_status read_options(dump_reader *r) {
  char path[GEMEL__DUMP_PATH], *bytes;
  size_t length;
  gemel_dumped *d = &r->dumped;
  gemel_status status = gemel__dump_path(r->folder, GEMEL__DUMP_OPTIONS, path, r->error);
  status = status == GEMEL_OK ? gemel__file_read(path, GEMEL__MOST_TEXT, &bytes, &length, r->error)
                              : status;
  if (status != GEMEL_OK) {
    return status;
  }
  for (char *line = bytes, *end; status == GEMEL_OK && line < bytes + length; line = end + 1) {
    end = memchr(line, '\n', (size_t)(bytes + length - line));
    end = end != NULL ? end : bytes + length;
    *end = '\0';
    r->line++;
    status = read_line(r, line);
  }
  gemel__free(bytes, length + 1);
  d->options.size = sizeof d->options;
  d->options.rewrite = &d->rewrite;
  d->rewrite.size = sizeof d->rewrite;
  d->rewrite.rules = (const gemel_rules *const *)r->rules;
  d->rewrite.n_rules = r->n_rules;
  d->lift.size = sizeof d->lift;
  d->options.lift = d->lift.space != GEMEL_SPACE_HOST ? &d->lift : NULL;
  return status;
}

/* ---- Tensors ---- */

static gemel_status no_device(dump_reader *r, const char *what, int space) {
  return gemel__fail(r->error, GEMEL_UNSUPPORTED, "%s: %s memory space %d, which has no device",
                     r->folder, what, space);
}

/* STORED as a value of TYPE: bf16 from its bits, on the device that the type says. */
static gemel_tensor *revive(dump_reader *r, gemel_tensor *stored, gemel_type type) {
  const gemel_device *device =
      gemel_device_of_space(r->context, gemel_type_space(r->context, type));
  int is_bf16 = gemel_type_dtype(r->context, type) == GEMEL_BF16 && stored->dtype == GEMEL_U16;
  gemel_tensor *host = gemel_tensor_ref(stored), *value;
  if (is_bf16) {
    host = gemel_tensor_wrap(GEMEL_BF16, stored->rank, stored->shape, stored->strides, stored->data,
                             unref_tensor, host, r->error);
    if (host == NULL) {
      gemel_tensor_unref(stored);
      return NULL;
    }
  }
  if (device == NULL) {
    no_device(r, "a value lies in", gemel_type_space(r->context, type));
    gemel_tensor_unref(host);
    return NULL;
  }
  if (device == gemel_host()) {
    return host;
  }
  value = gemel_tensor_transfer(host, device, r->error);
  gemel_tensor_unref(host);
  return value;
}

/* The file's tensors for the N inputs or outputs of the graph, in their order. */
static gemel_status revive_all(dump_reader *r, const char *file, size_t n, char *const *names,
                               gemel_tensor *const *stored, int inputs, gemel_tensor **values) {
  const gemel_graph *g = r->dumped.graph;
  for (size_t k = 0; k < n; k++) {
    const char *name = inputs ? gemel_graph_input_name(g, k) : gemel_graph_output_name(g, k);
    gemel_value value = inputs ? gemel_graph_input(g, k) : gemel_graph_output(g, k);
    if (strcmp(names[k], name) != 0) {
      return gemel__fail(r->error, GEMEL_BAD_FILE, "%s/%s: entry %zu is %s, and the graph has %s",
                         r->folder, file, k, names[k], name);
    }
    values[k] = revive(r, stored[k], gemel_value_type(value));
    if (values[k] == NULL) {
      return r->error->status;
    }
  }
  return GEMEL_OK;
}

static gemel_status read_tensors(dump_reader *r, const char *file, int inputs, size_t n,
                                 gemel_tensor ***values) {
  char path[GEMEL__DUMP_PATH], **names;
  gemel_tensor **stored;
  size_t count;
  gemel_status status = gemel__dump_path(r->folder, file, path, r->error);
  status = status == GEMEL_OK ? gemel_npz_load(path, &count, &names, &stored, r->error) : status;
  if (status != GEMEL_OK) {
    return status;
  }
  *values = gemel__alloc_array(n, sizeof **values);
  if (*values == NULL) {
    status = gemel__no_memory(r->error, "a dumped call");
  } else if (count != n) {
    status =
        gemel__fail(r->error, GEMEL_BAD_FILE, "%s: there are %zu tensors for the graph's %zu %s",
                    path, count, n, inputs ? "inputs" : "outputs");
  } else {
    status = revive_all(r, file, n, names, stored, inputs, *values);
  }
  gemel_npz_free(count, names, stored);
  return status;
}

/* ---- Lifted calls ---- */

/* Moves the inputs of a lifted call that it wants on the device there. */
static gemel_status move_inputs(dump_reader *r) {
  gemel_dumped *d = &r->dumped;
  const gemel_device *device = gemel_device_of_space(r->context, d->lift.space);
  unsigned char *inputs = gemel__alloc_array(d->n_inputs, 1);
  unsigned char *outputs = gemel__alloc_array(d->n_outputs, 1);
  gemel_status status = inputs != NULL && outputs != NULL
                            ? gemel__lift_ports(d->graph, &d->lift, inputs, outputs, r->error)
                            : gemel__no_memory(r->error, "a dumped call");
  status = status == GEMEL_OK && device == NULL ? no_device(r, "it was lifted to", d->lift.space)
                                                : status;
  for (size_t k = 0; k < d->n_inputs && status == GEMEL_OK; k++) {
    gemel_tensor *there = inputs[k] ? gemel_tensor_transfer(d->inputs[k], device, r->error) : NULL;
    status = inputs[k] && there == NULL ? r->error->status : GEMEL_OK;
    if (there != NULL) {
      gemel_tensor_unref(d->inputs[k]);
      d->inputs[k] = there;
    }
  }
  gemel__free(inputs, d->n_inputs);
  gemel__free(outputs, d->n_outputs);
  return status;
}

/* ---- Calls ---- */

static int has_outputs(dump_reader *r) {
  char path[GEMEL__DUMP_PATH];
  FILE *file = gemel__dump_path(r->folder, GEMEL__DUMP_OUTPUTS, path, NULL) == GEMEL_OK
                   ? fopen(path, "rb")
                   : NULL;
  if (file != NULL) {
    fclose(file);
  }
  return file != NULL || errno != ENOENT;
}

static gemel_status read_all(dump_reader *r) {
  gemel_dumped *d = &r->dumped;
  char path[GEMEL__DUMP_PATH];
  gemel_status status = gemel__dump_path(r->folder, GEMEL__DUMP_GRAPH, path, r->error);
  if (status != GEMEL_OK) {
    return status;
  }
  d->graph = gemel_load(r->context, path, NULL, r->error);
  if (d->graph == NULL) {
    return r->error->status;
  }
  d->n_inputs = gemel_graph_input_count(d->graph);
  d->n_outputs = gemel_graph_output_count(d->graph);
  status = gemel__dump_path(r->folder, GEMEL__DUMP_LINES, path, r->error);
  if (status == GEMEL_OK) {
    status = gemel__dump_read_lines(d->graph, path, r->error);
  }
  if (status != GEMEL_OK) {
    return status;
  }
  status = read_tensors(r, GEMEL__DUMP_INPUTS, 1, d->n_inputs, &d->inputs);
  if (status == GEMEL_OK) {
    status = read_options(r);
  }
  if (status == GEMEL_OK && d->options.lift != NULL) {
    status = move_inputs(r);
  }
  return status == GEMEL_OK && has_outputs(r)
             ? read_tensors(r, GEMEL__DUMP_OUTPUTS, 0, d->n_outputs, &d->outputs)
             : status;
}

gemel_dumped *gemel_dump_load(gemel_context *context, const char *folder, gemel_error *error) {
  gemel_error local;
  if (context == NULL || folder == NULL) {
    gemel__null(error, context == NULL ? "the context" : "the folder");
    return NULL;
  }
  dump_reader *r = gemel__alloc_zeroed(sizeof *r);
  if (r == NULL) {
    gemel__no_memory(error, "a dumped call");
    return NULL;
  }
  r->context = context;
  r->folder = folder;
  r->error = error != NULL ? error : &local;
  gemel_status status = read_all(r);
  r->folder = NULL;
  r->error = NULL;
  if (status != GEMEL_OK) {
    gemel_dump_free(&r->dumped);
    return NULL;
  }
  return &r->dumped;
}

static void release(gemel_tensor **tensors, size_t n) {
  for (size_t k = 0; k < n && tensors != NULL; k++) {
    gemel_tensor_unref(tensors[k]);
  }
  gemel__free(tensors, n * sizeof *tensors);
}

void gemel_dump_free(gemel_dumped *dumped) {
  dump_reader *r = (dump_reader *)dumped; /* whose first member it is */
  if (r == NULL) {
    return;
  }
  release(dumped->inputs, dumped->n_inputs);
  release(dumped->outputs, dumped->n_outputs);
  for (size_t k = 0; k < r->n_rules; k++) {
    gemel_rules_unref(r->rules[k]);
  }
  gemel__free(r->rules, r->rule_capacity * sizeof *r->rules);
  gemel__arena_clear(&r->arena);
  gemel_graph_unref(dumped->graph);
  gemel__free(r, sizeof *r);
}
