/* SPDX-License-Identifier: MIT
 *
 * Functions, which are graphs made ready to run, and the shared variables that hold their states. A
 * call runs without the interpreter's lock, so threads may call one function at once.
 */
#include "native.h"

/* ---- Shared variables ---- */

static PyObject *shared_new(PyTypeObject *type, PyObject *arguments, PyObject *options) {
  static char *names[] = {"value", NULL};
  PyObject *object;
  gemel_error error;
  if (!PyArg_ParseTupleAndKeywords(arguments, options, "O", names, &object)) {
    return NULL;
  }
  gemel_tensor *tensor = tensor_of(object);
  gemel_shared *shared = tensor != NULL ? gemel_shared_new(tensor, &error) : NULL;
  if (shared == NULL) {
    gemel_tensor_unref(tensor);
    return tensor != NULL ? raise_error(&error) : NULL;
  }
  gemel_tensor_unref(tensor);
  PyObject *self = new_object(type);
  if (self == NULL) {
    gemel_shared_unref(shared);
    return NULL;
  }
  ((shared_object *)self)->shared = shared;
  return self;
}

static void shared_dealloc(PyObject *self) {
  gemel_shared_unref(((shared_object *)self)->shared);
  free_object(self);
}

static PyObject *shared_get(PyObject *self, PyObject *nothing) {
  (void)nothing;
  PyObject *tensor = wrap_tensor(gemel_shared_get(((shared_object *)self)->shared));
  if (tensor != NULL) {
    ((tensor_object *)tensor)->read_only = 1;
  }
  return tensor;
}

static PyObject *shared_set(PyObject *self, PyObject *object) {
  gemel_error error;
  gemel_status status;
  gemel_tensor *tensor = tensor_of(object);
  if (tensor == NULL) {
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS;
  status = gemel_shared_set(((shared_object *)self)->shared, tensor, &error);
  gemel_tensor_unref(tensor);
  Py_END_ALLOW_THREADS;
  if (status != GEMEL_OK) {
    return raise_error(&error);
  }
  Py_INCREF(Py_None);
  return Py_None;
}

static PyMethodDef shared_methods[] = {{"read", shared_get, METH_NOARGS, NULL},
                                       {"write", shared_set, METH_O, NULL},
                                       {NULL, NULL, 0, NULL}};
static PyType_Slot shared_slots[] = {{Py_tp_new, (void *)shared_new},
                                     {Py_tp_dealloc, (void *)shared_dealloc},
                                     {Py_tp_methods, shared_methods},
                                     {0, NULL}};
PyType_Spec shared_spec = {"gemel._native.Shared", sizeof(shared_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, shared_slots};

/* ---- Files of tensors ---- */

/* load_tensors(path): a dict, from a .safetensors file. */
PyObject *load_tensors(PyObject *module, PyObject *arguments) {
  (void)module;
  const char *path;
  size_t n = 0;
  char **names = NULL;
  gemel_tensor **tensors = NULL;
  gemel_error error;
  if (!PyArg_ParseTuple(arguments, "s", &path)) {
    return NULL;
  }
  if (gemel_safetensors_load(path, &n, &names, &tensors, &error) != GEMEL_OK) {
    return raise_error(&error);
  }
  PyObject *dict = PyDict_New();
  for (size_t k = 0; dict != NULL && k < n; k++) {
    PyObject *tensor = wrap_tensor(gemel_tensor_ref(tensors[k]));
    if (tensor == NULL || PyDict_SetItemString(dict, names[k], tensor) != 0) {
      Py_CLEAR(dict);
    }
    Py_XDECREF(tensor);
  }
  gemel_npz_free(n, names, tensors);
  return dict;
}

/* save_tensors(path, names, tensors): lists of texts and Tensors. */
PyObject *save_tensors(PyObject *module, PyObject *arguments) {
  (void)module;
  const char *path;
  PyObject *names, *tensors;
  gemel_error error = {0};
  if (!PyArg_ParseTuple(arguments, "sO!O!", &path, &PyList_Type, &names, &PyList_Type, &tensors)) {
    return NULL;
  }
  Py_ssize_t n = PyList_Size(names);
  const char **texts = PyMem_Calloc((size_t)n + 1, sizeof *texts);
  gemel_tensor **values = PyMem_Calloc((size_t)n + 1, sizeof *values);
  PyObject *holders = PyList_New(0);
  int good = texts != NULL && values != NULL && holders != NULL && PyList_Size(tensors) == n;
  for (Py_ssize_t k = 0; good && k < n; k++) {
    PyObject *holder;
    texts[k] = text_of(PyList_GetItem(names, k), &holder);
    values[k] = texts[k] != NULL ? tensor_of(PyList_GetItem(tensors, k)) : NULL;
    good = values[k] != NULL && PyList_Append(holders, holder) == 0;
    Py_XDECREF(holder);
  }
  gemel_status status =
      good ? gemel_safetensors_save((size_t)n, texts, values, path, &error) : GEMEL_NO_MEMORY;
  for (Py_ssize_t k = 0; values != NULL && k < n; k++) {
    gemel_tensor_unref(values[k]);
  }
  PyMem_Free(texts);
  PyMem_Free(values);
  Py_XDECREF(holders);
  if (status != GEMEL_OK) {
    return good ? raise_error(&error) : PyErr_Occurred() ? NULL : PyErr_NoMemory();
  }
  Py_INCREF(Py_None);
  return Py_None;
}

/* ---- Functions ---- */

typedef struct function_object {
  PyObject_HEAD gemel_function *function;
} function_object;

/* The shared variables of a tuple, borrowed, to be freed with PyMem_Free; NULL with an exception.
 */
static gemel_shared **states_of(PyObject *tuple) {
  Py_ssize_t n = PyTuple_Size(tuple);
  gemel_shared **states = PyMem_Calloc((size_t)n + 1, sizeof(gemel_shared *));
  if (states == NULL) {
    PyErr_NoMemory();
  }
  for (Py_ssize_t k = 0; states != NULL && k < n; k++) {
    PyObject *item = PyTuple_GetItem(tuple, k);
    if (!PyObject_TypeCheck(item, shared_type)) {
      PyErr_SetString(PyExc_TypeError, "states are gemel.Shared");
      PyMem_Free(states);
      return NULL;
    }
    states[k] = ((shared_object *)item)->shared;
  }
  return states;
}

/* Function(graph, states, threads, deterministic, as_written, guard, autotune, allow) */
static PyObject *function_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
  (void)names;
  graph_object *graph;
  PyObject *states;
  gemel_rewrite_options rewriting = {.size = sizeof rewriting, .has_allow = 1};
  gemel_options options = {.size = sizeof options, .rewrite = &rewriting};
  gemel_error error;
  if (!PyArg_ParseTuple(arguments, "O!O!iiiIiI", graph_type, &graph, &PyTuple_Type, &states,
                        &options.threads, &options.deterministic, &options.as_written,
                        &options.guard, &options.autotune, &rewriting.allow)) {
    return NULL;
  }
  gemel_shared **variables = states_of(states);
  if (variables == NULL) {
    return NULL;
  }
  options.n_states = (size_t)PyTuple_Size(states);
  options.states = options.n_states > 0 ? variables : NULL;
  gemel_function *function;
  graph->busy++;
  Py_BEGIN_ALLOW_THREADS;
  function = gemel_compile(graph->graph, &options, &error);
  Py_END_ALLOW_THREADS;
  graph->busy--;
  PyMem_Free(variables);
  if (function == NULL) {
    return raise_error(&error);
  }
  PyObject *self = new_object(type);
  if (self == NULL) {
    gemel_function_free(function);
    return NULL;
  }
  ((function_object *)self)->function = function;
  return self;
}

static void function_dealloc(PyObject *self) {
  gemel_function_free(((function_object *)self)->function);
  free_object(self);
}

/* The call_tensors of a call, inputs first. */
typedef struct call_tensors {
  size_t n_inputs, n_outputs;
  gemel_tensor **all;
} call_tensors;

static int read_inputs(PyObject *tuple, gemel_function *function, call_tensors *t) {
  t->n_inputs = (size_t)PyTuple_Size(tuple);
  t->n_outputs = gemel_function_output_count(function);
  t->all = PyMem_Calloc(t->n_inputs + t->n_outputs + 1, sizeof(gemel_tensor *));
  if (t->all == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  for (size_t k = 0; k < t->n_inputs; k++) {
    t->all[k] = tensor_of(PyTuple_GetItem(tuple, (Py_ssize_t)k));
    if (t->all[k] == NULL) {
      return -1;
    }
  }
  return 0;
}

static PyObject *take_outputs(call_tensors *t) {
  PyObject *tuple = PyTuple_New((Py_ssize_t)t->n_outputs);
  for (size_t k = 0; tuple != NULL && k < t->n_outputs; k++) {
    PyObject *tensor = wrap_tensor(t->all[t->n_inputs + k]);
    t->all[t->n_inputs + k] = NULL;
    if (tensor == NULL) {
      Py_CLEAR(tuple);
    } else {
      PyTuple_SetItem(tuple, (Py_ssize_t)k, tensor);
    }
  }
  return tuple;
}

/* run(inputs): the results, as tuples. */
static PyObject *function_run(PyObject *self, PyObject *inputs) {
  gemel_function *function = ((function_object *)self)->function;
  call_tensors t = {0};
  gemel_error error;
  gemel_status status;
  PyObject *results = NULL;
  if (!PyTuple_Check(inputs)) {
    PyErr_SetString(PyExc_TypeError, "a tuple");
    return NULL;
  }
  if (read_inputs(inputs, function, &t) == 0) {
    Py_BEGIN_ALLOW_THREADS;
    status = gemel_call(function, t.n_inputs, t.all, t.n_outputs, t.all + t.n_inputs, &error);
    Py_END_ALLOW_THREADS;
    results = status == GEMEL_OK ? take_outputs(&t) : raise_error(&error);
  }
  for (size_t k = 0; t.all != NULL && k < t.n_inputs + t.n_outputs; k++) {
    gemel_tensor_unref(t.all[k]);
  }
  PyMem_Free(t.all);
  return results;
}

static PyMethodDef function_methods[] = {{"run", function_run, METH_O, NULL},
                                         {NULL, NULL, 0, NULL}};
static PyType_Slot function_slots[] = {{Py_tp_new, (void *)function_new},
                                       {Py_tp_dealloc, (void *)function_dealloc},
                                       {Py_tp_methods, function_methods},
                                       {0, NULL}};
PyType_Spec function_spec = {"gemel._native.Function", sizeof(function_object), 0,
                             Py_TPFLAGS_DEFAULT, function_slots};
