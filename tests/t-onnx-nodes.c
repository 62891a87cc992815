/* SPDX-License-Identifier: MIT
 *
 * The tests of ONNX's operators, as Debian's libonnx-testdata has them: a model of few nodes,
 * inputs and the results that belong to them, compared as ONNX's own runner does. A model that
 * gemel reads must give those results; one that it doesn't read is refused with the node and the
 * reason, and how many there are of these is asserted, so that a model that is no longer read is
 * seen, of the versions of the package that are known. GEMEL_ONNX_DATA names another folder of such
 * tests, of which those that are refused or differ are printed.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/dtype.h"
#include "ct.h"
#include "support/near.h"

#define ROOT "/usr/share/libonnx-testdata/data/"

enum { MOST = 32 };

/* A model with the tensors of its first set of data. */
typedef struct node_test {
  char folder[700];
  gemel_context *context;
  gemel_onnx *model;
  size_t n_inputs, n_outputs;
  gemel_tensor *inputs[MOST], *outputs[MOST], *results[MOST];
  gemel_error error;
} node_test;

static size_t read_count, refused_count, other_count;
static int is_shown; /* refusals are printed */

/* ---- Reading ---- */

/* 1 and *N tensors WHAT_0.pb, WHAT_1.pb, ...; 0 if one is of a kind that gemel doesn't have. */
static int load_tensors(node_test *t, const char *what, gemel_tensor **tensors, size_t *n) {
  char path[900];
  for (*n = 0; *n < MOST; ++*n) {
    snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", t->folder, what, *n);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
      return 1;
    }
    fclose(file);
    tensors[*n] = gemel_onnx_tensor_load(path, &t->error);
    if (tensors[*n] == NULL) {
      return 0;
    }
  }
  return 1;
}

/* Shapes, axes, sizes, scales and conditions are short vectors at most. */
static int may_be_constant(const gemel_tensor *t) {
  return gemel_tensor_rank(t) == 0 ||
         (gemel_tensor_rank(t) == 1 && gemel_tensor_elements(t) <= 2 * GEMEL_MAX_RANK);
}

/* The model's graph; with CONSTANTS the inputs that may be are bound to their tensors. */
static gemel_graph *graph_of(node_test *t, int constants) {
  const char *names[MOST];
  gemel_tensor *tensors[MOST];
  gemel_onnx_options options = {.size = sizeof options, .names = names, .tensors = tensors};
  for (size_t k = 0; constants && k < t->n_inputs; k++) {
    if (may_be_constant(t->inputs[k]) && gemel_onnx_input_name(t->model, k) != NULL) {
      names[options.n_constants] = gemel_onnx_input_name(t->model, k);
      tensors[options.n_constants++] = t->inputs[k];
    }
  }
  return gemel_onnx_graph(t->model, t->context, &options, NULL, &t->error);
}

/* ---- Comparing ---- */

static double element(const gemel_tensor *t, int64_t k) {
  gemel_dtype dtype = gemel_tensor_dtype(t);
  const char *data = gemel_tensor_data(t);
  return gemel__dtype_load(dtype, data + (size_t)k * gemel_dtype_size(dtype));
}

/* Relative 1e-3 and absolute 1e-7, as ONNX's own runner, of f16 and bf16 two units in the last
 * place; NaN is NaN and infinity itself. */
static int is_close(gemel_dtype dtype, double is, double should) {
  double relative = dtype == GEMEL_BF16 ? 0x1p-6 : dtype == GEMEL_F16 ? 0x1p-9 : 1e-3;
  return is_near_or_nan(is, should, 1e-7 + relative * fabs(should));
}

static void same_tensor(const gemel_tensor *is, const gemel_tensor *should) {
  CT_EQ_STR(gemel_dtype_name(gemel_tensor_dtype(is)), gemel_dtype_name(gemel_tensor_dtype(should)));
  CT_REQUIRE(gemel_tensor_rank(is) == gemel_tensor_rank(should));
  for (int k = 0; k < gemel_tensor_rank(is); k++) {
    CT_REQUIRE(gemel_tensor_shape(is)[k] == gemel_tensor_shape(should)[k]);
  }
  for (int64_t k = 0; k < gemel_tensor_elements(is); k++) {
    if (!is_close(gemel_tensor_dtype(is), element(is, k), element(should, k))) {
      CT_FAIL("element %lld is %.9g, should be %.9g", (long long)k, element(is, k),
              element(should, k));
      return;
    }
  }
}

/* The input of T's model that is called NAME. */
static gemel_tensor *input_called(const node_test *t, const char *name) {
  for (size_t k = 0; k < t->n_inputs; k++) {
    const char *other = gemel_onnx_input_name(t->model, k);
    if (other != NULL && strcmp(other, name) == 0) {
      return t->inputs[k];
    }
  }
  return NULL;
}

static void run_graph(node_test *t, const gemel_graph *graph) {
  gemel_tensor *inputs[MOST];
  size_t n = gemel_graph_input_count(graph), outputs = gemel_graph_output_count(graph);
  CT_REQUIRE(n <= MOST && outputs <= MOST && outputs >= t->n_outputs);
  for (size_t k = 0; k < n; k++) {
    inputs[k] = input_called(t, gemel_graph_input_name(graph, k));
    CT_REQUIRE(inputs[k] != NULL);
  }
  if (!CT_EQ_INT(gemel_evaluate(graph, n, inputs, outputs, t->results, &t->error), GEMEL_OK)) {
    CT_EQ_STR(t->error.text, "");
    return;
  }
  for (size_t k = 0; k < t->n_outputs; k++) {
    same_tensor(t->results[k], t->outputs[k]);
  }
}

/* ---- One test ---- */

/* Data of types that gemel doesn't have, and bf16, which this package writes as u16. */
static int has_other_types(node_test *t) {
  return strstr(t->folder, "BFLOAT16") != NULL ||
         !load_tensors(t, "input", t->inputs, &t->n_inputs) ||
         !load_tensors(t, "output", t->outputs, &t->n_outputs);
}

static void judge(node_test *t) {
  char path[900];
  snprintf(path, sizeof path, "%s/model.onnx", t->folder);
  t->model = gemel_onnx_load(path, &t->error);
  if (t->model == NULL || has_other_types(t)) {
    CT_CHECK(t->model != NULL);
    other_count++;
    return;
  }
  gemel_graph *graph = graph_of(t, 0);
  graph = graph != NULL ? graph : graph_of(t, 1);
  if (graph != NULL) {
    read_count++;
    run_graph(t, graph);
  } else {
    refused_count++;
    if (is_shown) {
      printf("%s\n", t->error.text);
    }
    CT_HAS_STR(t->error.text, "model.onnx: ");
  }
  gemel_graph_unref(graph);
}

static void release(gemel_tensor **tensors) {
  for (size_t k = 0; k < MOST; k++) {
    gemel_tensor_unref(tensors[k]);
  }
}

/* The package: 0 of ONNX 1.12, which Debian 12 has, 1 of 1.17, Debian 13's; -1: another. */
static int package_version(void) {
  static int version = -2;
  if (version == -2) {
    char line[200] = "";
    FILE *said = popen("dpkg-query -W -f '${Version}' libonnx-testdata 2>/dev/null", "r");
    if (said != NULL) {
      (void)!fgets(line, sizeof line, said);
      pclose(said);
    }
    version = strncmp(line, "1.12.", 5) == 0 ? 0 : strncmp(line, "1.17.", 5) == 0 ? 1 : -1;
  }
  return version;
}

/* Tests whose results aren't those of their models, and two that can't be met: all in the package
 * of ONNX 1.17 but for the first, which is in both. */
static const char *const mistaken[] = {
    /* of an epsilon of 0.01, which its model doesn't have */
    "node/test_adam_multiple",
    /* numbers beyond i8 are wrapped, where QLinearMatMul saturates; ONNX 1.23 has other results */
    "node/test_qlinearmatmul_2D_int8_float16", "node/test_qlinearmatmul_2D_int8_float32",
    "node/test_qlinearmatmul_3D_int8_float16", "node/test_qlinearmatmul_3D_int8_float32",
    /* the last windows are divided by places beyond the padding; ONNX 1.23 has other results */
    "node/test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True",
    /* sums of ten numbers in f32 whose value is 0, and which should be 0 but for 1e-7 */
    "node/test_dft_inverse", "node/test_dft_inverse_opset19"};

static int is_mistaken(const char *folder) {
  size_t n = package_version() == 0 ? 1 : CT_COUNT(mistaken);
  for (size_t k = 0; k < n && strncmp(folder, ROOT, strlen(ROOT)) == 0; k++) {
    if (strcmp(folder + strlen(ROOT), mistaken[k]) == 0) {
      return 1;
    }
  }
  return 0;
}

static void judge_folder(const char *folder) {
  node_test *t = calloc(1, sizeof *t);
  CT_REQUIRE(t != NULL);
  snprintf(t->folder, sizeof t->folder, "%s", folder);
  ct_context("%s", folder);
  t->context = gemel_context_new(&t->error);
  judge(t);
  release(t->inputs);
  release(t->outputs);
  release(t->results);
  gemel_onnx_free(t->model);
  gemel_context_unref(t->context);
  free(t);
}

/* ---- All ---- */

/* Of those whose data are of gemel's types: how many are read, and how many refused. */
typedef struct counts {
  size_t read, refused;
} counts;

/* A collection, with its counts in the packages of ONNX 1.12 and 1.17. */
typedef struct collection {
  const char *name;
  counts known[2];
} collection;

static const collection collections[] = {{"node", {{854, 35}, {1095, 58}}},
                                         {"pytorch-converted", {{82, 0}, {82, 0}}},
                                         {"pytorch-operator", {{35, 0}, {35, 0}}},
                                         {"simple", {{7, 10}, {7, 10}}}};

/* Judges each test of a folder: 1, or 0 if there is no such folder. */
static int judge_all(const char *root) {
  char folder[700];
  DIR *all = opendir(root);
  read_count = refused_count = other_count = 0;
  if (all == NULL) {
    return 0;
  }
  for (struct dirent *entry; (entry = readdir(all)) != NULL;) {
    snprintf(folder, sizeof folder, "%s/%s", root, entry->d_name);
    if (strncmp(entry->d_name, "test_", 5) == 0 && !is_mistaken(folder)) {
      judge_folder(folder);
    }
  }
  closedir(all);
  ct_context(NULL);
  return 1;
}

static void all_of(const void *data) {
  const collection *of = data;
  char root[100];
  snprintf(root, sizeof root, ROOT "%s", of->name);
  if (!judge_all(root)) {
    CT_SKIP("libonnx-testdata isn't installed");
  }
  int version = package_version();
  if (version >= 0) {
    CT_EQ_INT(read_count, of->known[version].read);
    CT_EQ_INT(refused_count, of->known[version].refused);
  } else {
    printf("read %zu, refused %zu of an unknown version\n", read_count, refused_count);
  }
}

static void others(const void *data) {
  is_shown = 1;
  CT_CHECK(judge_all(data));
  printf("read %zu, refused %zu, of other types %zu\n", read_count, refused_count, other_count);
}

void ct_register(void) {
  const char *data = getenv("GEMEL_ONNX_DATA");
  if (data != NULL) {
    CT_ADD("onnx", "others", others, data);
  }
  for (size_t k = 0; k < CT_COUNT(collections); k++) {
    CT_ADD("onnx", collections[k].name, all_of, &collections[k]);
  }
}
