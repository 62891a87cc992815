/* SPDX-License-Identifier: MIT
 *
 * What the parts of the extension gemel._native share: its types, errors, and conversions. It is
 * written against CPython's limited interface, so that one file serves every CPython from 3.9.
 *
 * Each graph of Python's has a context of its own: what is interned goes with it, and graphs may be
 * built on several threads at once. Functions of gemel that take long are called without the
 * interpreter's lock.
 */
#ifndef GEMEL__PYTHON_NATIVE_H
#define GEMEL__PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <gemel/gemel.h>

/* ---- Types ---- */

typedef struct tensor_object {
  PyObject_HEAD gemel_tensor *tensor;
  int read_only; /* 1: it lies in memory that isn't to be written to */
} tensor_object;

typedef struct graph_object {
  PyObject_HEAD gemel_graph *graph;
  int busy; /* how many calls read it without the interpreter's lock: it must not grow meanwhile */
} graph_object;

/* A size that isn't a number yet. */
typedef struct dim_object {
  PyObject_HEAD gemel_context *context;
  gemel_dim dim;
} dim_object;

typedef struct value_object {
  PyObject_HEAD gemel_value value;
  graph_object *graph;
} value_object;

typedef struct shared_object {
  PyObject_HEAD gemel_shared *shared;
} shared_object;

/* The types of the extension, made when it is loaded; of Tensor, Value and Graph also the classes
 * of Python that objects are made of (see set_classes in module.c). */
extern PyTypeObject *tensor_type, *graph_type, *dim_type, *value_type, *shared_type, *function_type,
    *loop_type;
extern PyTypeObject *tensor_class, *graph_class, *value_class;
/* gemel.as_tensor, which makes a tensor of lists and of whatever else Python has. */
extern PyObject *as_tensor_function;

extern PyType_Spec tensor_spec, graph_spec, dim_spec, value_spec, shared_spec, function_spec,
    loop_spec;
extern PyMethodDef verify_methods[], builder_methods[];

/* A new object of TYPE, with its own members zeroed; NULL with an exception. */
PyObject *new_object(PyTypeObject *type);

/* The tp_new of types whose objects Python doesn't make: a TypeError. */
PyObject *refuse_new(PyTypeObject *type, PyObject *arguments, PyObject *options);

/* At the end of a tp_traverse: an object holds its type, and since 3.9 says so. */
#define VISIT_TYPE(self) Py_VISIT(Py_TYPE(self))

/* To end a tp_dealloc with: frees SELF, and gives its type back. */
void free_object(PyObject *self);

/* ---- Errors (module.c) ---- */

/* Raises ERROR: gemel.Error, MemoryError if memory is out. Returns NULL. */
PyObject *raise_error(const gemel_error *error);

/* Raises the graph's first error, and takes it from the graph. Returns NULL. */
PyObject *raise_graph(graph_object *graph);

/* 0, or -1 with an exception if GRAPH is being read on another thread. */
int graph_idle(graph_object *graph);

/* ---- Conversions ---- */

/* An object for what is given, whose reference it takes over; NULL with an exception, when it is
 * released. */
PyObject *wrap_tensor(gemel_tensor *tensor);
PyObject *wrap_graph(gemel_graph *graph);
PyObject *wrap_value(gemel_value value, graph_object *graph);
/* An int if DIM is a number, else a Dim. */
PyObject *wrap_dim(gemel_context *context, gemel_dim dim);
/* The type's sizes, as a tuple. */
PyObject *wrap_shape(gemel_context *context, gemel_type type);

/* A reference to the tensor of OBJECT, which is one, or what as_tensor makes a tensor of. NULL with
 * an exception. */
gemel_tensor *tensor_of(PyObject *object);

/* The module's function of that name (tensor.c). */
PyObject *tensor_of_bytes(PyObject *module, PyObject *arguments);

/* Likewise (function.c). */
PyObject *load_tensors(PyObject *module, PyObject *arguments);
PyObject *save_tensors(PyObject *module, PyObject *arguments);

/* OBJECT as a size in the context of GRAPH: an int, a Dim, a name, or an integer scalar of GRAPH.
 * GEMEL_DIM_NONE with an exception. */
gemel_dim dim_of(PyObject *object, graph_object *graph);

/* Finds the dtype that TEXT names. 0, or -1 with an exception. */
int dtype_of(PyObject *text, gemel_dtype *dtype);

/* The UTF-8 of TEXT, which lives as long as *HOLDER, to be released; NULL with an exception. */
const char *text_of(PyObject *text, PyObject **holder);

/* The words that tell graphs apart, of these bits, as a list (verify.c). */
PyObject *pair_words(unsigned bits);

/* The integers of a sequence; *COUNT of them, to be freed with PyMem_Free. NULL with an exception.
 */
int64_t *ints_of(PyObject *sequence, size_t *count);

#endif
