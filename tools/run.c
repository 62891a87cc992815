/* SPDX-License-Identifier: MIT
 *
 * gemel run: a graph file on tensors from NPY, NPZ and safetensors files. Everything that can be
 * said about the inputs is checked before anything is computed, and everything is computed before
 * anything is written.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tool.h"

static const gemel__option options[] = {
    GEMEL__MODEL_OPTIONS,
    {"in", 'i', "NAME=F.npy",
     "the input called NAME; or F.npz or F.safetensors, whose entries are named as inputs; may be "
     "repeated"},
    {"out", 'o', "NAME=F.npy",
     "write the output called NAME to F.npy instead of printing it; or F.npz or F.safetensors: "
     "all of them, under their names; or DIR: each to DIR/NAME.npy (DIR is made if it isn't "
     "there); may be repeated"},
    {"state", 's', "F.npz",
     "the graph's states: read from F, also F.safetensors, if it is there, and written back, with "
     "what the updates make of them, when all has been computed; updates are then no outputs"},
    {"threads", 't', "N", "how many threads to use (default: as OpenMP would choose)"},
    {"deterministic", 0, NULL, "use only what doesn't depend on the number of threads"},
    {"autotune", 0, NULL,
     "choose among kernels by timing them; what was found is kept, for other runs too"},
    {"plain", 'p', NULL,
     "no rewriting, no fusion, no reuse of memory, the plain kernel of each operation"},
    {"dump", 'd', "DIR",
     "write the call to the new folder DIR: graph, options, inputs, results; gemel run DIR does it "
     "again"},
    GEMEL__OBSERVE_OPTIONS,
    GEMEL__REWRITE_OPTIONS(0),
    GEMEL__DEVICE_OPTIONS,
    {NULL, 0, NULL, NULL}};

/* A graph and what is bound to its inputs. */
typedef struct graph_binding {
  gemel_graph *graph;
  gemel_context *context;
  size_t n_inputs, n_outputs;
  gemel_tensor **inputs; /* NULL: not given yet */
  gemel_tensor **outputs;
  char **files; /* where each output is written; NULL: nowhere */
  const char
      *named; /* the file where those are written that have no file of their own; NULL: nowhere */
  uint64_t calls;
  const char *state; /* the states' file; NULL: states are inputs as all others */
} graph_binding;

/* ---- Inputs ---- */

/* Does TENSOR fit TYPE, as far as can be said without the other inputs? */
static int fits(const graph_binding *b, gemel_type type, const gemel_tensor *tensor) {
  int k, rank = gemel_type_rank(b->context, type);
  if (gemel_tensor_dtype(tensor) != gemel_type_dtype(b->context, type) ||
      gemel_tensor_rank(tensor) != rank) {
    return 0;
  }
  for (k = 0; k < rank; k++) {
    int64_t size;
    if (gemel_dim_is_constant(b->context, gemel_type_dims(b->context, type)[k], &size) &&
        size != gemel_tensor_shape(tensor)[k]) {
      return 0;
    }
  }
  return 1;
}

/* Binds TENSOR, read from PATH, to the input called NAME. */
static int bind_input(graph_binding *b, const char *path, const char *name, gemel_tensor *tensor) {
  char wanted[512], found[512];
  size_t k = 0;
  while (k < b->n_inputs && strcmp(gemel_graph_input_name(b->graph, k), name) != 0) {
    k++;
  }
  if (k == b->n_inputs) {
    return gemel__complain("%s: the graph has no input called '%s'", path, name);
  }
  if (b->inputs[k] != NULL) {
    return gemel__complain("%s: input %s is given twice", path, name);
  }
  gemel_type type = gemel_value_type(gemel_graph_input(b->graph, k));
  if (!fits(b, type, tensor)) {
    gemel_type_format(b->context, type, wanted, sizeof wanted);
    gemel__format_tensor_type(tensor, found, sizeof found);
    return gemel__complain("%s: input %s is %s, the file holds %s", path, name, wanted, found);
  }
  b->inputs[k] = gemel_tensor_ref(tensor);
  return GEMEL__GOOD;
}

static int read_named(graph_binding *b, const char *path) {
  gemel_error error;
  char **names;
  gemel_tensor **tensors;
  size_t count, k;
  int status = GEMEL__GOOD;
  if (!gemel__readable(path)) {
    return GEMEL__BAD;
  }
  if (gemel__tensors_load(path, &count, &names, &tensors, &error) != GEMEL_OK) {
    return gemel__complain_unread(path, &error);
  }
  for (k = 0; k < count && status == GEMEL__GOOD; k++) {
    status = bind_input(b, path, names[k], tensors[k]);
  }
  gemel_npz_free(count, names, tensors);
  return status;
}

static int read_npy(graph_binding *b, const char *name, const char *path) {
  gemel_error error;
  if (!gemel__readable(path)) {
    return GEMEL__BAD;
  }
  gemel_tensor *tensor = gemel_npy_load(path, &error);
  if (tensor == NULL) {
    return gemel__complain_unread(path, &error);
  }
  int status = bind_input(b, path, name, tensor);
  gemel_tensor_unref(tensor);
  return status;
}

/* One --in: "name=path" or the path of a file of named tensors. */
static int read_input(graph_binding *b, const char *text) {
  const char *equals = strchr(text, '=');
  if (equals == NULL) {
    return gemel__is_tensors_file(text)
               ? read_named(b, text)
               : gemel__complain("--in: '%s' is neither NAME=F.npy nor F.npz nor F.safetensors",
                                 text);
  }
  char *name = gemel__need_text("%.*s", (int)(equals - text), text);
  int status = read_npy(b, name, equals + 1);
  free(name);
  return status;
}

static int read_inputs(graph_binding *b, const gemel__args *args) {
  char type[512];
  for (int j = 0; j < args->n_given; j++) {
    if (strcmp(args->given[j].option->name, "in") == 0 &&
        read_input(b, args->given[j].value) != GEMEL__GOOD) {
      return GEMEL__BAD;
    }
  }
  if (b->state != NULL && access(b->state, F_OK) == 0 && read_named(b, b->state) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  for (size_t k = 0; k < b->n_inputs; k++) {
    if (b->inputs[k] == NULL) {
      gemel_type_format(b->context, gemel_value_type(gemel_graph_input(b->graph, k)), type,
                        sizeof type);
      return gemel__complain("%s: input %s (%s) is not given: --in %s=F.npy", args->operands[0],
                             gemel_graph_input_name(b->graph, k), type,
                             gemel_graph_input_name(b->graph, k));
    }
  }
  return GEMEL__GOOD;
}

/* ---- States ---- */

/* 1 if output K goes into the states' file. */
static int is_kept(const graph_binding *b, size_t k) {
  return b->state != NULL && !gemel_is_null(gemel_graph_updated_state(b->graph, k));
}

/* VALUES[k] = what input K is after the call: of a state, what its update made of it. */
static void values_after(const graph_binding *b, gemel_tensor **values) {
  size_t *input_of = gemel__need(NULL, (gemel_graph_node_count(b->graph) + 1) * sizeof *input_of);
  for (size_t k = 0; k < b->n_inputs; k++) {
    input_of[gemel_graph_input(b->graph, k).node] = k;
    values[k] = b->inputs[k];
  }
  for (size_t k = 0; k < b->n_outputs; k++) {
    if (is_kept(b, k)) {
      values[input_of[gemel_graph_updated_state(b->graph, k).node]] = b->outputs[k];
    }
  }
  free(input_of);
}

static int write_states(const graph_binding *b) {
  const char **names = gemel__need(NULL, (b->n_inputs + 1) * sizeof *names);
  gemel_tensor **values = gemel__need(NULL, (b->n_inputs + 1) * sizeof *values);
  gemel_error error;
  size_t n = 0;
  int status = GEMEL__GOOD;
  values_after(b, values);
  for (size_t k = 0; k < b->n_inputs; k++) {
    if (gemel_is_state(gemel_graph_input(b->graph, k))) {
      names[n] = gemel_graph_input_name(b->graph, k);
      values[n++] = values[k];
    }
  }
  if (gemel__tensors_save(n, names, values, b->state, &error) != GEMEL_OK) {
    status = gemel__complain_error(b->state, &error);
  }
  free(names);
  free(values);
  return status;
}

/* ---- Outputs ---- */

/* Where the text of --out begins with "NAME=", that sign. */
static const char *name_end(const char *text) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  size_t length = strspn(text, letters);
  return length > 0 && text[length] == '=' ? text + length : NULL;
}

/* --out NAME=F.npy */
static int name_file(graph_binding *b, const char *text, const char *equals) {
  size_t length = (size_t)(equals - text), k = 0;
  for (; k < b->n_outputs; k++) {
    const char *name = gemel_graph_output_name(b->graph, k);
    if (strlen(name) == length && memcmp(name, text, length) == 0 && !is_kept(b, k)) {
      break;
    }
  }
  if (k == b->n_outputs) {
    return gemel__complain("--out: the graph has no output called '%.*s'", (int)length, text);
  }
  if (b->files[k] != NULL) {
    return gemel__complain("--out: output %.*s is given twice", (int)length, text);
  }
  for (size_t other = 0; other < b->n_outputs; other++) {
    if (b->files[other] != NULL && strcmp(b->files[other], equals + 1) == 0) {
      return gemel__complain("--out: two outputs go to %s", equals + 1);
    }
  }
  b->files[k] = gemel__need_text("%s", equals + 1);
  return GEMEL__GOOD;
}

/* The outputs that have no file yet go to FOLDER. */
static void name_files_in(graph_binding *b, const char *folder) {
  for (size_t k = 0; k < b->n_outputs; k++) {
    if (b->files[k] == NULL && !is_kept(b, k)) {
      b->files[k] = gemel__need_text("%s/%s.npy", folder, gemel_graph_output_name(b->graph, k));
    }
  }
}

static int is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* All --out: first the names, then what takes the rest. */
static int read_outs(graph_binding *b, const gemel__args *args) {
  const char *rest = NULL;
  for (int j = 0; j < args->n_given; j++) {
    const char *text = args->given[j].value;
    if (strcmp(args->given[j].option->name, "out") != 0) {
      continue;
    }
    const char *equals = name_end(text);
    if (equals == NULL && rest != NULL) {
      return gemel__complain("--out: both %s and %s are to take all outputs", rest, text);
    }
    if (equals != NULL && name_file(b, text, equals) != GEMEL__GOOD) {
      return GEMEL__BAD;
    }
    rest = equals == NULL ? text : rest;
  }
  if (rest == NULL) {
    return GEMEL__GOOD;
  }
  if (gemel__is_tensors_file(rest) && !is_folder(rest)) {
    b->named = rest;
    return GEMEL__GOOD;
  }
  if (gemel__ends_in(rest, ".npy") && !is_folder(rest)) {
    return gemel__complain("--out: '%s' is one file, of which output? NAME=%s", rest, rest);
  }
  name_files_in(b, rest);
  return gemel__folder_make(rest);
}

/* 1 if output K is written as NPY, in a file of its own or an archive. */
static int is_npy(const graph_binding *b, size_t k) {
  return b->files[k] != NULL ||
         (b->named != NULL && !is_kept(b, k) && gemel__ends_in(b->named, ".npz"));
}

/* A file can be written to PATH, as far as that can be known. */
static int check_file(const char *path) {
  struct stat about;
  gemel__output output;
  if (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) {
    return GEMEL__GOOD; /* a pipe or a device */
  }
  return gemel__output_open(&output, path) == GEMEL__GOOD ? gemel__output_close(&output, 0)
                                                          : GEMEL__BAD;
}

/* What can be known to go wrong with files before anything is computed. */
static int check_files(const graph_binding *b) {
  for (size_t k = 0; k < b->n_outputs; k++) {
    gemel_type type = gemel_value_type(gemel_graph_output(b->graph, k));
    if (is_npy(b, k) && gemel_type_dtype(b->context, type) == GEMEL_BF16) {
      return gemel__complain(
          "output %s is bf16, which NPY has no name for: cast it in the graph, or "
          "write safetensors",
          gemel_graph_output_name(b->graph, k));
    }
    if (b->files[k] != NULL && check_file(b->files[k]) != GEMEL__GOOD) {
      return GEMEL__BAD;
    }
  }
  return b->named == NULL ? GEMEL__GOOD : check_file(b->named);
}

static int write_named(const graph_binding *b) {
  const char **names = gemel__need(NULL, (b->n_outputs + 1) * sizeof *names);
  gemel_tensor **values = gemel__need(NULL, (b->n_outputs + 1) * sizeof *values);
  gemel_error error;
  size_t n = 0;
  for (size_t k = 0; k < b->n_outputs; k++) {
    if (b->files[k] == NULL && !is_kept(b, k)) {
      names[n] = gemel_graph_output_name(b->graph, k);
      values[n++] = b->outputs[k];
    }
  }
  int status = gemel__tensors_save(n, names, values, b->named, &error) == GEMEL_OK
                   ? GEMEL__GOOD
                   : gemel__complain_error(b->named, &error);
  free(names);
  free(values);
  return status;
}

/* Writes the outputs that have a file, and prints the others. */
static int write_outputs(const graph_binding *b) {
  gemel_error error;
  for (size_t k = 0; k < b->n_outputs; k++) {
    if (b->files[k] != NULL) {
      gemel_view view = gemel_tensor_view(b->outputs[k]);
      if (gemel_npy_save(&view, b->files[k], &error) != GEMEL_OK) {
        return gemel__complain_error(b->files[k], &error);
      }
    } else if (!is_kept(b, k) && b->named == NULL) {
      gemel__print_named(gemel_graph_output_name(b->graph, k), b->outputs[k]);
    }
  }
  return b->named != NULL ? write_named(b) : GEMEL__GOOD;
}

/* ---- The command ---- */

static int call(graph_binding *b, const gemel__args *args, const gemel_options *settings) {
  gemel_error error;
  gemel_function *function = gemel_compile(b->graph, settings, &error);
  gemel_status status = GEMEL_OK;
  if (function == NULL) {
    return gemel__complain_rewrite(b->context, args->operands[0], &error);
  }
  for (uint64_t k = 0; k < b->calls && status == GEMEL_OK; k++) {
    status = gemel_call(function, b->n_inputs, b->inputs, b->n_outputs, b->outputs, &error);
  }
  int result = status == GEMEL_OK ? gemel__observe_report(args, settings, function)
                                  : gemel__complain_error(args->operands[0], &error);
  gemel_function_free(function);
  return result;
}

/* The call, and with --dump all of it in a folder, whether it went well or not. */
static int compute(graph_binding *b, const gemel__args *args, const gemel_options *settings) {
  const char *folder = gemel__arg(args, "dump");
  gemel_error error;
  int status = call(b, args, settings);
  if (folder != NULL &&
      gemel_dump(b->graph, settings, b->n_inputs, b->inputs, b->n_outputs,
                 status == GEMEL__GOOD ? b->outputs : NULL, folder, &error) != GEMEL_OK) {
    return gemel__complain_error(folder, &error);
  }
  return status;
}

static int run_graph(graph_binding *b, const gemel__args *args, const gemel_options *settings) {
  const char *dump = gemel__arg(args, "dump");
  if (dump != NULL && access(dump, F_OK) == 0) {
    return gemel__complain("%s: is there already", dump);
  }
  int status = read_inputs(b, args);
  if (status == GEMEL__GOOD) {
    status = read_outs(b, args);
  }
  if (status == GEMEL__GOOD) {
    status = check_files(b);
  }
  if (status == GEMEL__GOOD) {
    status = compute(b, args, settings);
  }
  if (status == GEMEL__GOOD && b->state != NULL) {
    status = write_states(b);
  }
  return status == GEMEL__GOOD ? write_outputs(b) : status;
}

static gemel_tensor **need_tensors(size_t count) {
  gemel_tensor **tensors = gemel__need(NULL, (count + 1) * sizeof *tensors);
  memset(tensors, 0, (count + 1) * sizeof *tensors);
  return tensors;
}

static void release_tensors(gemel_tensor **tensors, size_t count) {
  for (size_t k = 0; k < count; k++) {
    gemel_tensor_unref(tensors[k]);
  }
  free(tensors);
}

static int with_graph(gemel_graph *graph, const gemel__args *args, const gemel_options *settings) {
  graph_binding b;
  b.graph = graph;
  b.state = gemel__arg(args, "state");
  b.calls = 1;
  b.context = gemel_graph_context(graph);
  b.n_inputs = gemel_graph_input_count(graph);
  b.n_outputs = gemel_graph_output_count(graph);
  b.inputs = need_tensors(b.n_inputs);
  b.outputs = need_tensors(b.n_outputs);
  b.files = gemel__need(NULL, (b.n_outputs + 1) * sizeof *b.files);
  memset(b.files, 0, (b.n_outputs + 1) * sizeof *b.files);
  b.named = NULL;
  int status = gemel__arg_number(args, "calls", 1, 1000000000, &b.calls);
  if (status == GEMEL__GOOD) {
    status = run_graph(&b, args, settings);
  }
  release_tensors(b.inputs, b.n_inputs);
  release_tensors(b.outputs, b.n_outputs);
  for (size_t k = 0; k < b.n_outputs; k++) {
    free(b.files[k]);
  }
  free(b.files);
  return status;
}

/* Reads how the graph is rewritten and lifted, and runs it. */
static int run_file(gemel_context *context, const gemel__args *args, gemel_options *settings) {
  gemel__rewriting r;
  gemel_lift_options lift = {0};
  gemel_graph *graph = NULL;
  int status = gemel__rewriting_read(&r, context, args);
  if (status == GEMEL__GOOD) {
    status = gemel__device_read(&lift, context, args, &r.options);
  }
  if (settings->profile != 0) {
    lift.report = gemel_lift_report_new();
  }
  settings->rewrite = &r.options;
  settings->lift = lift.space != GEMEL_SPACE_HOST ? &lift : NULL;
  if (status == GEMEL__GOOD) {
    status = gemel__graph_read(context, args->operands[0], &graph, NULL, args);
    status = graph != NULL ? with_graph(graph, args, settings) : status;
  }
  if (status == GEMEL__GOOD) {
    gemel__rewriting_report(&r, context);
    if (settings->lift != NULL && gemel__arg_set(args, "profile")) {
      gemel__lift_print(lift.report);
    }
  }
  gemel_lift_report_free(lift.report);
  gemel__rewriting_clear(&r);
  gemel_graph_unref(graph);
  return status;
}

static int run(const gemel__args *args) {
  gemel_options settings = {.size = sizeof settings};
  uint64_t threads = 0;
  int status;
  struct stat about;
  if (stat(args->operands[0], &about) == 0 && S_ISDIR(about.st_mode)) {
    return gemel__replay(args);
  }
  if (gemel__arg_number(args, "threads", 1, 4096, &threads) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  settings.threads = (int)threads;
  settings.deterministic = gemel__arg_set(args, "deterministic");
  settings.autotune = gemel__arg_set(args, "autotune");
  settings.plain = gemel__arg_set(args, "plain");
  if (gemel__observe_read(args, &settings) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  gemel_context *context = gemel__context_for(args);
  if (context == NULL) {
    return GEMEL__BAD;
  }
  status = run_file(context, args, &settings);
  gemel_context_unref(context);
  return status;
}

const gemel__command gemel__command_run = {
    "run",
    "FILE|DIR",
    "Run a graph file on tensors from NPY files; print its outputs or write them as NPY files.",
    "Dtypes, ranks and sizes are checked first. Sizes that are symbols take their values from the "
    "inputs. NPY has no name for bf16: cast to or from it in the graph, or use safetensors. A "
    "folder DIR that --dump "
    "wrote is run again, and compared bit for bit with the results in it: exit status 1 if they "
    "differ; and if --certify refutes a rewrite, as gemel opt does. Exit status 3 where a model, "
    "or a "
    "file of tensors, has something that gemel hasn't.",
    options,
    1,
    1,
    run};
