/* SPDX-License-Identifier: MIT
 *
 * Reading a model: the file is mapped and checked as a whole, and its weights are listed. What they
 * hold is looked at when somebody asks.
 */
#include "onnx/model.h"

#include <ctype.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "onnx/names.h"

char *gemel__onnx_name_of(gemel__arena *arena, gemel__wire_span span) {
  size_t room = span.length + 2, at = 0;
  char *name = gemel__arena_alloc(arena, room);
  if (name == NULL) {
    return NULL;
  }
  if (span.length == 0 || isdigit(span.bytes[0])) {
    name[at++] = '_';
  }
  for (size_t k = 0; k < span.length; k++) {
    int fits = span.bytes[k] < 0x80 && (isalnum(span.bytes[k]) || span.bytes[k] == '_');
    name[at++] = fits ? (char)span.bytes[k] : '_';
  }
  name[at] = '\0';
  return name;
}

/* ---- Reading ---- */

static gemel_status list_weights(gemel_onnx *model, gemel_error *error) {
  gemel__wire_span rest = model->graph;
  gemel__wire_field field;
  size_t n = gemel__proto_count(model->graph, GEMEL__GRAPH_INITIALIZER);
  model->weights = gemel__arena_alloc(&model->arena, n * sizeof *model->weights);
  if (model->weights == NULL) {
    return gemel__no_memory(error, "weights");
  }
  while (gemel__proto_next(&rest, GEMEL__GRAPH_INITIALIZER, &field)) {
    struct gemel__onnx_weight *weight = &model->weights[model->n_weights++];
    weight->tensor = field.span;
    weight->name =
        gemel__onnx_name_of(&model->arena, gemel__proto_span(field.span, GEMEL__TENSOR_NAME));
    if (weight->name == NULL) {
      return gemel__no_memory(error, "weights");
    }
  }
  return GEMEL_OK;
}

/* Keeps the names of the model's inputs that aren't among WEIGHTS. */
static gemel_status keep_inputs(gemel_onnx *model, const gemel__onnx_names *weights,
                                gemel_error *error) {
  gemel__wire_span rest = model->graph;
  gemel__wire_field field;
  while (gemel__proto_next(&rest, GEMEL__GRAPH_INPUT, &field)) {
    gemel__wire_span name = gemel__proto_span(field.span, GEMEL__VALUE_NAME);
    if (gemel__onnx_names_find(weights, name, 0) != NULL) {
      continue;
    }
    size_t k = model->n_inputs++;
    char *spelled = gemel__arena_alloc(&model->arena, name.length + 1);
    model->inputs[k].name = gemel__onnx_name_of(&model->arena, name);
    model->inputs[k].spelled = spelled;
    if (model->inputs[k].name == NULL || spelled == NULL) {
      return gemel__no_memory(error, "inputs");
    }
    memcpy(spelled, name.bytes, name.length);
    spelled[name.length] = '\0';
  }
  return GEMEL_OK;
}

static gemel_status list_inputs(gemel_onnx *model, gemel_error *error) {
  const gemel__onnx_value nothing = {0};
  gemel__onnx_names weights = {0};
  gemel__arena arena = {0};
  size_t n = gemel__proto_count(model->graph, GEMEL__GRAPH_INPUT);
  gemel_status status = GEMEL_OK;
  model->inputs = gemel__arena_alloc(&model->arena, n * sizeof *model->inputs);
  for (size_t k = 0; k < model->n_weights && status == GEMEL_OK; k++) {
    gemel__wire_span name = gemel__proto_span(model->weights[k].tensor, GEMEL__TENSOR_NAME);
    if (gemel__onnx_names_add(&weights, &arena, name, nothing) == NULL) {
      status = gemel__no_memory(error, "weights");
    }
  }
  if (status == GEMEL_OK) {
    status = model->inputs != NULL ? keep_inputs(model, &weights, error)
                                   : gemel__no_memory(error, "inputs");
  }
  gemel__onnx_names_clear(&weights);
  gemel__arena_clear(&arena);
  return status;
}

static gemel_status read_model(gemel_onnx *model, gemel_error *error) {
  int64_t version;
  GEMEL__TRY(gemel__proto_check(model->bytes, GEMEL__PROTO_MODEL, error));
  model->graph = gemel__proto_span(model->bytes, GEMEL__MODEL_GRAPH);
  if (model->graph.bytes == NULL ||
      !gemel__proto_int(model->bytes, GEMEL__MODEL_IR_VERSION, &version)) {
    return gemel__fail(error, GEMEL_BAD_FILE,
                       "no model of ONNX: it has no graph, or no ir_version");
  }
  model->graph_name =
      gemel__onnx_name_of(&model->arena, gemel__proto_span(model->graph, GEMEL__GRAPH_NAME));
  if (model->graph_name == NULL) {
    return gemel__no_memory(error, "a model");
  }
  GEMEL__TRY(list_weights(model, error));
  return list_inputs(model, error);
}

/* A model of BYTES; NAME and FOLDER (which may be NULL) are copied. It takes over the reference to
 * MAP where that succeeds. */
static gemel_onnx *new_model(gemel__wire_span bytes, const char *name, const char *folder,
                             gemel_error *error) {
  gemel_onnx *model = gemel__alloc_zeroed(sizeof *model);
  if (model == NULL) {
    gemel__no_memory(error, "a model");
    return NULL;
  }
  model->bytes = bytes;
  model->name = gemel__arena_string(&model->arena, name);
  model->folder = folder != NULL ? gemel__arena_string(&model->arena, folder) : NULL;
  gemel_status status = model->name == NULL || (folder != NULL && model->folder == NULL)
                            ? gemel__no_memory(error, "a model")
                            : read_model(model, error);
  if (status != GEMEL_OK) {
    gemel__error_prefix(error, "%s", name);
    gemel_onnx_free(model);
    return NULL;
  }
  return model;
}

gemel_onnx *gemel_onnx_parse(const void *bytes, size_t length, const char *name, const char *folder,
                             gemel_error *error) {
  if (bytes == NULL && length > 0) {
    gemel__null(error, "the model");
    return NULL;
  }
  return new_model((gemel__wire_span){bytes != NULL ? bytes : "", length},
                   name != NULL ? name : "model", folder, error);
}

/* The folder of PATH, in new memory of *BYTES bytes. */
static char *folder_of(const char *path, size_t *bytes) {
  const char *slash = strrchr(path, '/');
  size_t length = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
  char *folder = gemel__alloc(length + 1);
  *bytes = length + 1;
  if (folder != NULL) {
    memcpy(folder, slash == NULL ? "." : path, length);
    folder[length] = '\0';
  }
  return folder;
}

gemel_onnx *gemel_onnx_load(const char *path, gemel_error *error) {
  size_t bytes;
  if (path == NULL) {
    gemel__null(error, "the path");
    return NULL;
  }
  gemel__file_map *map = gemel__file_map_new(path, error);
  char *folder = map != NULL ? folder_of(path, &bytes) : NULL;
  gemel_onnx *model = NULL;
  if (folder != NULL) {
    model = new_model(gemel__onnx_bytes(map), path, folder, error);
    gemel__free(folder, bytes);
  } else if (map != NULL) {
    gemel__no_memory(error, "a path");
  }
  if (model == NULL) {
    gemel__file_map_unref(map);
    return NULL;
  }
  model->map = map;
  return model;
}

void gemel_onnx_free(gemel_onnx *model) {
  if (model != NULL) {
    gemel__file_map_unref(model->map);
    gemel__arena_clear(&model->arena);
    gemel__free(model, sizeof *model);
  }
}

gemel_tensor *gemel_onnx_tensor_load(const char *path, gemel_error *error) {
  gemel_onnx model = {0};
  gemel_tensor *tensor = NULL;
  if (path == NULL) {
    gemel__null(error, "the path");
    return NULL;
  }
  model.map = gemel__file_map_new(path, error);
  if (model.map != NULL &&
      gemel__proto_check(gemel__onnx_bytes(model.map), GEMEL__PROTO_TENSOR, error) == GEMEL_OK) {
    tensor = gemel__onnx_tensor(&model, gemel__onnx_bytes(model.map), error);
  }
  if (model.map != NULL && tensor == NULL) {
    gemel__error_prefix(error, "%s", path);
  }
  gemel__file_map_unref(model.map);
  return tensor;
}

/* ---- Looking ---- */

size_t gemel_onnx_weight_count(const gemel_onnx *model) {
  return model != NULL ? model->n_weights : 0;
}

const char *gemel_onnx_weight_name(const gemel_onnx *model, size_t k) {
  return k < gemel_onnx_weight_count(model) ? model->weights[k].name : NULL;
}

size_t gemel_onnx_input_count(const gemel_onnx *model) {
  return model != NULL ? model->n_inputs : 0;
}

const char *gemel_onnx_input_name(const gemel_onnx *model, size_t k) {
  return k < gemel_onnx_input_count(model) ? model->inputs[k].name : NULL;
}

const char *gemel_onnx_input_spelled(const gemel_onnx *model, size_t k) {
  return k < gemel_onnx_input_count(model) ? model->inputs[k].spelled : NULL;
}

/* 1 if A and B have the same fields of NUMBER, one after the other. */
static int same_fields(gemel__wire_span a, gemel__wire_span b, uint32_t number) {
  gemel__wire_field x, y;
  int more, too;
  do {
    more = gemel__proto_next(&a, number, &x);
    too = gemel__proto_next(&b, number, &y);
  } while (more && too && gemel__wire_same(x.span, y.span));
  return !more && !too;
}

int gemel__onnx_has_files(const gemel_onnx *model) {
  gemel__wire_span bytes = model->bytes;
  static const char word[] = "location";
  size_t length = sizeof word - 1;
  const uint8_t *at = bytes.bytes, *end = at + bytes.length;
  while ((size_t)(end - at) >= length && (at = memchr(at, 'l', (size_t)(end - at))) != NULL) {
    if ((size_t)(end - at) >= length && memcmp(at, word, length) == 0) {
      return 1;
    }
    at++;
  }
  return 0;
}

int gemel__onnx_same(const gemel_onnx *a, const gemel_onnx *b) {
  static const uint32_t numbers[] = {GEMEL__GRAPH_NODE, GEMEL__GRAPH_INITIALIZER,
                                     GEMEL__GRAPH_INPUT, GEMEL__GRAPH_OUTPUT,
                                     GEMEL__GRAPH_SPARSE_INITIALIZER};
  int same = same_fields(a->bytes, b->bytes, GEMEL__MODEL_OPSET) &&
             same_fields(a->bytes, b->bytes, GEMEL__MODEL_FUNCTION) && !gemel__onnx_has_files(b);
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
    same = same && same_fields(a->graph, b->graph, numbers[k]);
  }
  return same;
}

gemel_tensor *gemel_onnx_weight(const gemel_onnx *model, size_t k, gemel_error *error) {
  if (k >= gemel_onnx_weight_count(model)) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "there is no weight %zu", k);
    return NULL;
  }
  gemel_tensor *tensor = gemel__onnx_tensor(model, model->weights[k].tensor, error);
  if (tensor == NULL) {
    gemel__error_prefix(error, "%s: weight %s", model->name, model->weights[k].name);
  }
  return tensor;
}
