/* SPDX-License-Identifier: MIT
 *
 * The extension gemel._native: its types and functions, which the package gemel puts together for
 * its users, and what the other files share.
 */
#include "native.h"
#include <gemel/verify.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

PyTypeObject *tensor_type, *graph_type, *dim_type, *value_type, *shared_type, *function_type,
    *loop_type;
PyTypeObject *tensor_class, *graph_class, *value_class;
PyObject *as_tensor_function;
static PyObject *error_class;

/* ---- Objects ---- */

PyObject *new_object(PyTypeObject *type) {
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  return allocate(type, 0);
}

PyObject *refuse_new(PyTypeObject *type, PyObject *arguments, PyObject *options) {
  (void)type;
  (void)arguments;
  (void)options;
  PyErr_SetString(PyExc_TypeError, "objects of this type are made by functions of gemel");
  return NULL;
}

void free_object(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

/* ---- Errors ---- */

static const char *status_word(gemel_status status) {
  switch (status) {
#define WORD(name, code, text)                                                                     \
  case GEMEL_##name:                                                                               \
    return #name;
    GEMEL_STATUS_TABLE(WORD)
#undef WORD
  }
  return "?";
}

PyObject *raise_error(const gemel_error *error) {
  if (error->status == GEMEL_NO_MEMORY) {
    return PyErr_NoMemory();
  }
  PyObject *text = PyUnicode_DecodeUTF8(error->text, (Py_ssize_t)strlen(error->text), "replace");
  PyObject *exception =
      text != NULL ? PyObject_CallFunction(error_class, "Osii", text, status_word(error->status),
                                           error->line, error->column)
                   : NULL;
  if (exception != NULL) {
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
  }
  Py_XDECREF(text);
  Py_XDECREF(exception);
  return NULL;
}

PyObject *raise_graph(graph_object *graph) {
  gemel_error error = *gemel_graph_error(graph->graph);
  gemel_graph_clear_error(graph->graph);
  if (error.status == GEMEL_OK) {
    error.status = GEMEL_INTERNAL;
    strcpy(error.text, "no value was made, and the graph has no error");
  }
  return raise_error(&error);
}

int graph_idle(graph_object *graph) {
  if (graph->busy > 0) {
    PyErr_SetString(PyExc_RuntimeError,
                    "the graph is in use on another thread, and must not grow meanwhile");
    return -1;
  }
  return 0;
}

/* ---- Conversions ---- */

const char *text_of(PyObject *text, PyObject **holder) {
  *holder = PyUnicode_Check(text) ? PyUnicode_AsUTF8String(text) : NULL;
  if (*holder == NULL) {
    if (!PyErr_Occurred()) {
      PyErr_SetString(PyExc_TypeError, "a str");
    }
    return NULL;
  }
  const char *bytes = PyBytes_AsString(*holder);
  if (strlen(bytes) != (size_t)PyBytes_Size(*holder)) {
    PyErr_SetString(PyExc_ValueError, "a str without NUL");
    Py_CLEAR(*holder);
    return NULL;
  }
  return bytes;
}

int dtype_of(PyObject *text, gemel_dtype *dtype) {
  PyObject *holder;
  const char *name = text_of(text, &holder);
  gemel_status status = name != NULL ? gemel_dtype_find(name, dtype) : GEMEL_OK;
  if (status != GEMEL_OK) {
    PyErr_Format(PyExc_ValueError, "no dtype %R", text);
  }
  Py_XDECREF(holder);
  return PyErr_Occurred() ? -1 : 0;
}

int64_t *ints_of(PyObject *sequence, size_t *count) {
  Py_ssize_t n = PySequence_Size(sequence);
  int64_t *ints = n >= 0 ? PyMem_Calloc((size_t)n + 1, sizeof *ints) : NULL;
  *count = n >= 0 ? (size_t)n : 0;
  if (ints == NULL && n >= 0) {
    PyErr_NoMemory();
  }
  for (Py_ssize_t k = 0; ints != NULL && k < n; k++) {
    PyObject *item = PySequence_GetItem(sequence, k);
    PyObject *index = item != NULL ? PyNumber_Index(item) : NULL;
    ints[k] = index != NULL ? PyLong_AsLongLong(index) : 0;
    Py_XDECREF(item);
    Py_XDECREF(index);
    if (PyErr_Occurred()) {
      PyMem_Free(ints);
      return NULL;
    }
  }
  return ints;
}

/* ---- The module ---- */

/* set_classes(Tensor, Graph, Value, Error, as_tensor): what objects are made of, and raised. */
static PyObject *set_classes(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *tensor, *graph, *value, *error, *convert;
  if (!PyArg_ParseTuple(arguments, "OOOOO", &tensor, &graph, &value, &error, &convert)) {
    return NULL;
  }
  Py_INCREF(arguments); /* what it holds lives as long as the interpreter */
  tensor_class = (PyTypeObject *)tensor;
  graph_class = (PyTypeObject *)graph;
  value_class = (PyTypeObject *)value;
  error_class = error;
  as_tensor_function = convert;
  Py_INCREF(Py_None);
  return Py_None;
}

/* after_fork(): in a child that a fork made, the threads of OpenMP are gone, and a call that waited
 * for them would never end: it works on one thread from here on. */
static PyObject *after_fork(PyObject *module, PyObject *nothing) {
  (void)module;
  (void)nothing;
#ifdef _OPENMP
  omp_set_num_threads(1);
#endif
  Py_INCREF(Py_None);
  return Py_None;
}

static PyMethodDef module_methods[] = {{"tensor_of_bytes", tensor_of_bytes, METH_VARARGS, NULL},
                                       {"after_fork", after_fork, METH_NOARGS, NULL},
                                       {"load_tensors", load_tensors, METH_VARARGS, NULL},
                                       {"save_tensors", save_tensors, METH_VARARGS, NULL},
                                       {"set_classes", set_classes, METH_VARARGS, NULL},
                                       {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "gemel._native",
                                        "What gemel's package for Python is made of.",
                                        -1,
                                        module_methods,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type, const char *name) {
  *type = (PyTypeObject *)PyType_FromSpec(spec);
  if (*type == NULL) {
    return -1;
  }
  Py_INCREF(*type); /* one for the module, one for this file's variable */
  return PyModule_AddObject(module, name, (PyObject *)*type);
}

static int add_types(PyObject *module) {
  return add_type(module, &tensor_spec, &tensor_type, "Tensor") ||
         add_type(module, &graph_spec, &graph_type, "Graph") ||
         add_type(module, &dim_spec, &dim_type, "Dim") ||
         add_type(module, &value_spec, &value_type, "Value") ||
         add_type(module, &shared_spec, &shared_type, "Shared") ||
         add_type(module, &function_spec, &function_type, "Function") ||
         add_type(module, &loop_spec, &loop_type, "Loop");
}

/* Adds a tuple NAME of (word, meaning), or of more about each. */
static int add_list(PyObject *module, const char *name, PyObject *list) {
  return list != NULL ? PyModule_AddObject(module, name, list) : -1;
}

static PyObject *dtype_list(void) {
  PyObject *list = PyList_New(0);
  for (int k = 0; list != NULL && k < GEMEL_DTYPE_COUNT; k++) {
    gemel_dtype dtype = (gemel_dtype)k;
    PyObject *item =
        Py_BuildValue("(sni)", gemel_dtype_name(dtype), (Py_ssize_t)gemel_dtype_size(dtype),
                      (int)gemel_dtype_kind(dtype));
    if (item == NULL || PyList_Append(list, item) != 0) {
      Py_CLEAR(list);
    }
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *text_list(const char *const *texts, size_t count) {
  PyObject *list = PyList_New(0);
  for (size_t k = 0; list != NULL && k < count; k++) {
    PyObject *text = PyUnicode_FromString(texts[k]);
    if (text == NULL || PyList_Append(list, text) != 0) {
      Py_CLEAR(list);
    }
    Py_XDECREF(text);
  }
  return list;
}

static int add_lists(PyObject *module) {
#define SECOND(E, name, meaning) #name,
#define MEANING(E, name, meaning) meaning,
  static const char *const meanings[] = {GEMEL_NEEDS_TABLE(MEANING) GEMEL_PAIR_TABLE(MEANING)};
  static const char *const tiers[] = {GEMEL_TIER_TABLE(SECOND)};
  static const char *const questions[] = {GEMEL_TIER_TABLE(MEANING)};
  static const char *const modes[] = {GEMEL_MODE_TABLE(SECOND)};
#undef SECOND
#undef MEANING
  size_t n_words = sizeof meanings / sizeof *meanings, n_tiers = sizeof tiers / sizeof *tiers;
  return add_list(module, "DTYPES", dtype_list()) ||
         add_list(module, "WORDS", pair_words((1u << GEMEL_PAIR_COUNT) - 1)) ||
         add_list(module, "MEANINGS", text_list(meanings, n_words)) ||
         add_list(module, "TIERS", text_list(tiers, n_tiers)) ||
         add_list(module, "QUESTIONS", text_list(questions, n_tiers)) ||
         add_list(module, "MODES", text_list(modes, sizeof modes / sizeof *modes)) ||
         PyModule_AddIntConstant(module, "PAIR_DEFAULT", GEMEL_PAIR_DEFAULT) ||
         PyModule_AddIntConstant(module, "FASTMATH_DEFAULT", GEMEL_FASTMATH_DEFAULT) ||
         PyModule_AddStringConstant(module, "VERSION", gemel_version());
}

PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void) {
  PyObject *module = PyModule_Create(&definition);
  if (module == NULL) {
    return NULL;
  }
  tensor_class = NULL;
  if (add_types(module) || PyModule_AddFunctions(module, builder_methods) ||
      PyModule_AddFunctions(module, verify_methods) || add_lists(module)) {
    Py_DECREF(module);
    return NULL;
  }
  tensor_class = tensor_type;
  graph_class = graph_type;
  value_class = value_type;
  error_class = PyExc_RuntimeError;
  return module;
}
