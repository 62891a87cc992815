/* SPDX-License-Identifier: MIT
 *
 * Graphs, their values, and sizes that aren't numbers. A graph of Python's owns a gemel_graph, and
 * every value keeps its graph alive. What reads a whole graph (print, rewrite, compile) is done
 * without the interpreter's lock, and the graph doesn't grow meanwhile (graph_idle).
 */
#include "native.h"
#include <stdlib.h>
#include <string.h>

/* ---- Sizes ---- */

PyObject *wrap_dim(gemel_context *context, gemel_dim dim) {
  int64_t number;
  if (gemel_dim_is_none(dim)) {
    PyErr_SetString(PyExc_ValueError, "no such size: it is too large, or divided by 0");
    return NULL;
  }
  if (gemel_dim_is_constant(context, dim, &number)) {
    return PyLong_FromLongLong(number);
  }
  dim_object *object = (dim_object *)new_object(dim_type);
  if (object != NULL) {
    object->context = gemel_context_ref(context);
    object->dim = dim;
  }
  return (PyObject *)object;
}

static void dim_dealloc(PyObject *self) {
  gemel_context_unref(((dim_object *)self)->context);
  free_object(self);
}

/* OBJECT, an int or a Dim, in CONTEXT; GEMEL_DIM_NONE with an exception. */
static gemel_dim dim_in(PyObject *object, gemel_context *context) {
  if (PyObject_TypeCheck(object, dim_type)) {
    if (((dim_object *)object)->context == context) {
      return ((dim_object *)object)->dim;
    }
    PyErr_SetString(PyExc_ValueError, "a size of another graph");
    return GEMEL_DIM_NONE;
  }
  PyObject *index = PyNumber_Index(object);
  long long number = index != NULL ? PyLong_AsLongLong(index) : -1;
  Py_XDECREF(index);
  if (PyErr_Occurred()) {
    return GEMEL_DIM_NONE;
  }
  gemel_dim dim = gemel_dim_constant(context, number);
  if (gemel_dim_is_none(dim)) {
    PyErr_NoMemory();
  }
  return dim;
}

gemel_dim dim_of(PyObject *object, graph_object *graph) {
  gemel_context *context = gemel_graph_context(graph->graph);
  gemel_dim dim = GEMEL_DIM_NONE;
  if (PyUnicode_Check(object)) {
    PyObject *holder;
    const char *name = text_of(object, &holder);
    dim = name != NULL ? gemel_dim_symbol(context, name) : dim;
    if (name != NULL && gemel_dim_is_none(dim)) {
      PyErr_Format(PyExc_ValueError, "%R is no name of a size", object);
    }
    Py_XDECREF(holder);
  } else if (PyObject_TypeCheck(object, value_type)) {
    if (((value_object *)object)->graph != graph) {
      PyErr_SetString(PyExc_ValueError, "a value of another graph as a size");
      return dim;
    }
    dim = gemel_dim_of(((value_object *)object)->value);
    if (gemel_dim_is_none(dim)) {
      raise_graph(graph);
    }
  } else {
    dim = dim_in(object, context);
  }
  return dim;
}

typedef gemel_dim (*dim_operation)(gemel_context *context, gemel_dim a, gemel_dim b);

static PyObject *combine_dims(PyObject *a, PyObject *b, dim_operation operation) {
  gemel_context *context = ((dim_object *)(PyObject_TypeCheck(a, dim_type) ? a : b))->context;
  if (!(PyObject_TypeCheck(a, dim_type) || PyLong_Check(a)) ||
      !(PyObject_TypeCheck(b, dim_type) || PyLong_Check(b))) {
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
  }
  gemel_dim x = dim_in(a, context), y = GEMEL_DIM_NONE;
  if (!PyErr_Occurred()) {
    y = dim_in(b, context);
  }
  return PyErr_Occurred() ? NULL : wrap_dim(context, operation(context, x, y));
}

#define DIM_OPERATION(name)                                                                        \
  static PyObject *dim_##name(PyObject *a, PyObject *b) {                                          \
    return combine_dims(a, b, gemel_dim_##name);                                                   \
  }
DIM_OPERATION(add)
DIM_OPERATION(sub)
DIM_OPERATION(mul)
DIM_OPERATION(floordiv)
DIM_OPERATION(min)
DIM_OPERATION(max)

static PyMethodDef dim_methods[] = {
    {"minimum", dim_min, METH_O, "The smaller of this size and another."},
    {"maximum", dim_max, METH_O, "The larger of this size and another."},
    {NULL, NULL, 0, NULL}};

static PyObject *dim_text(PyObject *self) {
  dim_object *dim = (dim_object *)self;
  char text[4096];
  gemel_dim_format(dim->context, dim->dim, text, sizeof text);
  return PyUnicode_FromString(text);
}

static PyObject *dim_mod(PyObject *a, PyObject *b) {
  PyObject *quotient = combine_dims(a, b, gemel_dim_floordiv);
  if (quotient == NULL || quotient == Py_NotImplemented) {
    return quotient;
  }
  PyObject *whole = PyNumber_Multiply(quotient, b);
  PyObject *rest = whole != NULL ? PyNumber_Subtract(a, whole) : NULL;
  Py_DECREF(quotient);
  Py_XDECREF(whole);
  return rest;
}

static PyObject *dim_neg(PyObject *self) {
  dim_object *dim = (dim_object *)self;
  return wrap_dim(dim->context,
                  gemel_dim_sub(dim->context, gemel_dim_constant(dim->context, 0), dim->dim));
}

static PyObject *decided(int operation, int64_t difference) {
  switch (operation) {
  case Py_EQ:
    return PyBool_FromLong(difference == 0);
  case Py_NE:
    return PyBool_FromLong(difference != 0);
  case Py_LT:
    return PyBool_FromLong(difference < 0);
  case Py_LE:
    return PyBool_FromLong(difference <= 0);
  case Py_GT:
    return PyBool_FromLong(difference > 0);
  default:
    return PyBool_FromLong(difference >= 0);
  }
}

/* Sizes whose difference is a number can be compared; others aren't known yet, and neither equal
 * nor different. */
static PyObject *dim_compare(PyObject *a, PyObject *b, int operation) {
  gemel_context *context = ((dim_object *)a)->context;
  int64_t difference;
  if (!PyObject_TypeCheck(b, dim_type) && !PyLong_Check(b)) {
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
  }
  gemel_dim other = dim_in(b, context);
  if (PyErr_Occurred()) {
    return NULL;
  }
  gemel_dim rest = gemel_dim_sub(context, ((dim_object *)a)->dim, other);
  if (!gemel_dim_is_none(rest) && gemel_dim_is_constant(context, rest, &difference)) {
    return decided(operation, difference);
  }
  PyErr_Format(
      PyExc_TypeError,
      "the size %S isn't known before the graph is called, so it can't be compared with %S", a, b);
  return NULL;
}

static Py_hash_t dim_hash(PyObject *self) {
  return (Py_hash_t)((dim_object *)self)->dim.id;
}

static PyType_Slot dim_slots[] = {{Py_tp_new, (void *)refuse_new},
                                  {Py_tp_dealloc, (void *)dim_dealloc},
                                  {Py_tp_repr, (void *)dim_text},
                                  {Py_tp_richcompare, (void *)dim_compare},
                                  {Py_tp_hash, (void *)dim_hash},
                                  {Py_tp_methods, dim_methods},
                                  {Py_nb_add, (void *)dim_add},
                                  {Py_nb_subtract, (void *)dim_sub},
                                  {Py_nb_multiply, (void *)dim_mul},
                                  {Py_nb_floor_divide, (void *)dim_floordiv},
                                  {Py_nb_remainder, (void *)dim_mod},
                                  {Py_nb_negative, (void *)dim_neg},
                                  {0, NULL}};
PyType_Spec dim_spec = {"gemel._native.Dim", sizeof(dim_object), 0, Py_TPFLAGS_DEFAULT, dim_slots};

/* ---- Values ---- */

PyObject *wrap_value(gemel_value value, graph_object *graph) {
  if (gemel_is_null(value)) {
    return raise_graph(graph);
  }
  value_object *object = (value_object *)new_object(value_class);
  if (object != NULL) {
    object->value = value;
    object->graph = graph;
    Py_INCREF(graph);
  }
  return (PyObject *)object;
}

static int value_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(((value_object *)self)->graph);
  VISIT_TYPE(self);
  return 0;
}

static int value_clear(PyObject *self) {
  Py_CLEAR(((value_object *)self)->graph);
  return 0;
}

static void value_dealloc(PyObject *self) {
  PyObject_GC_UnTrack(self);
  Py_XDECREF(((value_object *)self)->graph);
  free_object(self);
}

PyObject *wrap_shape(gemel_context *context, gemel_type type) {
  int rank = gemel_type_rank(context, type);
  const gemel_dim *dims = gemel_type_dims(context, type);
  PyObject *shape = PyTuple_New(rank);
  for (int k = 0; shape != NULL && k < rank; k++) {
    PyObject *dim = wrap_dim(context, dims[k]);
    if (dim == NULL) {
      Py_DECREF(shape);
      return NULL;
    }
    PyTuple_SetItem(shape, k, dim);
  }
  return shape;
}

/* The context of a value that there is; NULL with an exception for one made by Value(). */
static gemel_context *context_of(PyObject *self) {
  value_object *value = (value_object *)self;
  if (value->graph == NULL) {
    PyErr_SetString(PyExc_TypeError, "values are made by functions of gemel");
    return NULL;
  }
  return gemel_graph_context(value->graph->graph);
}

static PyObject *value_shape(PyObject *self, void *closure) {
  (void)closure;
  gemel_context *context = context_of(self);
  return context == NULL ? NULL
                         : wrap_shape(context, gemel_value_type(((value_object *)self)->value));
}

static PyObject *value_dtype(PyObject *self, void *closure) {
  (void)closure;
  gemel_context *context = context_of(self);
  return context == NULL ? NULL
                         : PyUnicode_FromString(gemel_dtype_name(gemel_type_dtype(
                               context, gemel_value_type(((value_object *)self)->value))));
}

static PyObject *value_type_text(PyObject *self, void *closure) {
  (void)closure;
  gemel_context *context = context_of(self);
  char text[2048];
  if (context == NULL) {
    return NULL;
  }
  gemel_type_format(context, gemel_value_type(((value_object *)self)->value), text, sizeof text);
  return PyUnicode_FromString(text);
}

static PyObject *value_operation(PyObject *self, void *closure) {
  (void)closure;
  return PyUnicode_FromString(gemel_value_operation(((value_object *)self)->value));
}

static PyObject *value_graph(PyObject *self, void *closure) {
  (void)closure;
  PyObject *graph = (PyObject *)((value_object *)self)->graph;
  graph = graph != NULL ? graph : Py_None;
  Py_INCREF(graph);
  return graph;
}

static PyObject *value_where(PyObject *self, void *closure) {
  (void)closure;
  gemel_location where = gemel_value_where(((value_object *)self)->value);
  return Py_BuildValue("(si)", where.file != NULL ? where.file : "", where.line);
}

static PyGetSetDef value_members[] = {
    {"shape", value_shape, NULL, "The sizes: ints, and Dims where a size is no number.", NULL},
    {"dtype_name", value_dtype, NULL, "The dtype's name.", NULL},
    {"type_text", value_type_text, NULL, "The type as text, as \"f32[N, 3]\".", NULL},
    {"operation", value_operation, NULL, "The name of the operation that made it.", NULL},
    {"graph", value_graph, NULL, "The graph.", NULL},
    {"where", value_where, NULL, "The file and line of the program that made it.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot value_slots[] = {{Py_tp_new, (void *)refuse_new},
                                    {Py_tp_dealloc, (void *)value_dealloc},
                                    {Py_tp_traverse, (void *)value_traverse},
                                    {Py_tp_clear, (void *)value_clear},
                                    {Py_tp_getset, value_members},
                                    {0, NULL}};
PyType_Spec value_spec = {"gemel._native.Value", sizeof(value_object), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                          value_slots};

/* ---- Graphs: made and read ---- */

PyObject *wrap_graph(gemel_graph *graph) {
  PyObject *object = new_object(graph_class);
  if (object == NULL) {
    gemel_graph_unref(graph);
    return NULL;
  }
  ((graph_object *)object)->graph = graph;
  return object;
}

static void graph_dealloc(PyObject *self) {
  gemel_graph_unref(((graph_object *)self)->graph);
  free_object(self);
}

/* 1 if TEXT, behind comments, begins with a composite or an operator of ONNX. */
static int has_composites(const char *text) {
  text += strspn(text, " \t\r\n");
  while (*text == '#') {
    text += strcspn(text, "\n");
    text += strspn(text, " \t\r\n");
  }
  return strncmp(text, "composite", 9) == 0 || strncmp(text, "operator", 8) == 0;
}

static gemel_status define(gemel_context *context, const char *text, gemel_error *error) {
  return (has_composites(text) ? gemel_define_composites : gemel_define_operations)(
      context, text, strlen(text), "<definitions>", error);
}

/* The context of a graph that is given in place of DEFINITIONS, or one that knows the operations
 * that these, a tuple of texts, define. NULL with an exception. */
static gemel_context *make_context(PyObject *definitions) {
  gemel_error error;
  if (PyObject_TypeCheck(definitions, graph_type)) {
    return gemel_context_ref(gemel_graph_context(((graph_object *)definitions)->graph));
  }
  if (!PyTuple_Check(definitions)) {
    PyErr_SetString(PyExc_TypeError, "a tuple of definitions, or a graph");
    return NULL;
  }
  gemel_context *context = gemel_context_new(&error);
  if (context == NULL) {
    return (gemel_context *)raise_error(&error);
  }
  for (Py_ssize_t k = 0; k < PyTuple_Size(definitions); k++) {
    PyObject *holder;
    const char *text = text_of(PyTuple_GetItem(definitions, k), &holder);
    gemel_status status = text == NULL ? GEMEL_BAD_ARGUMENT : define(context, text, &error);
    Py_XDECREF(holder);
    if (status != GEMEL_OK) {
      gemel_context_unref(context);
      return text == NULL ? NULL : (gemel_context *)raise_error(&error);
    }
  }
  return context;
}

/* new(definitions): an empty graph. */
static PyObject *graph_make(PyObject *class, PyObject *definitions) {
  (void)class;
  gemel_error error;
  gemel_context *context = make_context(definitions);
  gemel_graph *graph = context != NULL ? gemel_graph_new(context, &error) : NULL;
  gemel_context_unref(context);
  if (graph == NULL) {
    return PyErr_Occurred() ? NULL : raise_error(&error);
  }
  return wrap_graph(graph);
}

/* Sizes of a model's symbols, from a dict. */
typedef struct symbol_sizes {
  size_t count;
  const char **names;
  int64_t *sizes;
  PyObject *holders; /* a list of what the names live in */
} symbol_sizes;

static void free_symbols(symbol_sizes *s) {
  PyMem_Free(s->names);
  PyMem_Free(s->sizes);
  Py_XDECREF(s->holders);
}

static int read_symbols(PyObject *sizes, symbol_sizes *s) {
  size_t n = PyDict_Check(sizes) ? (size_t)PyDict_Size(sizes) : 0;
  memset(s, 0, sizeof *s);
  s->names = PyMem_Calloc(n + 1, sizeof *s->names);
  s->sizes = PyMem_Calloc(n + 1, sizeof *s->sizes);
  s->holders = PyList_New(0);
  if (s->names == NULL || s->sizes == NULL || s->holders == NULL) {
    return PyErr_NoMemory(), -1;
  }
  Py_ssize_t at = 0;
  PyObject *name, *size;
  while (n > 0 && PyDict_Next(sizes, &at, &name, &size)) {
    PyObject *holder;
    s->names[s->count] = text_of(name, &holder);
    if (s->names[s->count] == NULL || PyList_Append(s->holders, holder) != 0) {
      Py_XDECREF(holder);
      return -1;
    }
    Py_DECREF(holder);
    s->sizes[s->count++] = PyLong_AsLongLong(size);
    if (PyErr_Occurred()) {
      return -1;
    }
  }
  return 0;
}

typedef struct source {
  const char *path, *bytes;
  Py_ssize_t length;
  const char *file, *folder;
  const gemel_graph *like; /* whose sizes a model's symbols are; NULL: none */
} source;

static gemel_graph *read_model(gemel_context *context, const source *from, const symbol_sizes *s,
                               char **name, gemel_error *error) {
  gemel_onnx_options options = {sizeof options, s->count, s->names, s->sizes, .like = from->like};
  gemel_onnx *model = from->path != NULL ? gemel_onnx_load(from->path, error)
                                         : gemel_onnx_parse(from->bytes, (size_t)from->length,
                                                            from->file, from->folder, error);
  gemel_graph *graph =
      model != NULL ? gemel_onnx_graph(model, context, &options, name, error) : NULL;
  gemel_onnx_free(model);
  return graph;
}

static gemel_graph *read_graph(gemel_context *context, const source *from, const char *kind,
                               const symbol_sizes *s, char **name, gemel_error *error) {
  if (strcmp(kind, "onnx") == 0) {
    return read_model(context, from, s, name, error);
  }
  if (strcmp(kind, "hlo") == 0) {
    gemel_hlo *module = gemel_hlo_parse(from->bytes, (size_t)from->length, from->file, error);
    gemel_graph *graph = gemel_hlo_graph(module, context, name, module != NULL ? error : NULL);
    gemel_hlo_free(module);
    return graph;
  }
  if (from->path != NULL) {
    return gemel_load(context, from->path, name, error);
  }
  return strcmp(kind, "text") == 0
             ? gemel_parse(context, from->bytes, (size_t)from->length, from->file, name, error)
             : gemel_deserialize(context, from->bytes, (size_t)from->length, name, error);
}

/* GRAPH or NULL and ERROR, with its NAME, as (Graph, name). */
static PyObject *named_graph(gemel_graph *graph, char *name, const gemel_error *error) {
  PyObject *object = graph != NULL ? wrap_graph(graph) : raise_error(error);
  PyObject *pair = object != NULL ? Py_BuildValue("(Nz)", object, name) : NULL;
  gemel_text_free(graph != NULL ? name : NULL);
  return pair;
}

/* read(definitions, kind, path, bytes, file, folder, sizes): (graph, name). KIND: "onnx", "hlo" (of
 * bytes), "text", "binary". A model's symbols are those of DEFINITIONS, if that is a graph. */
static PyObject *graph_read(PyObject *class, PyObject *arguments) {
  (void)class;
  PyObject *definitions, *sizes;
  const char *kind;
  source from;
  symbol_sizes s;
  char *name = NULL;
  gemel_error error;
  if (!PyArg_ParseTuple(arguments, "Oszz#zzO", &definitions, &kind, &from.path, &from.bytes,
                        &from.length, &from.file, &from.folder, &sizes)) {
    return NULL;
  }
  if (from.path == NULL && from.bytes == NULL) {
    PyErr_SetString(PyExc_TypeError, "a path or bytes");
    return NULL;
  }
  from.like =
      PyObject_TypeCheck(definitions, graph_type) ? ((graph_object *)definitions)->graph : NULL;
  gemel_context *context = read_symbols(sizes, &s) == 0 ? make_context(definitions) : NULL;
  gemel_graph *graph = NULL;
  if (context != NULL) {
    Py_BEGIN_ALLOW_THREADS;
    graph = read_graph(context, &from, kind, &s, &name, &error);
    Py_END_ALLOW_THREADS;
  }
  free_symbols(&s);
  gemel_context_unref(context);
  return PyErr_Occurred() ? NULL : named_graph(graph, name, &error);
}

/* ---- Graphs: built ---- */

static PyObject *graph_declare(PyObject *self, PyObject *arguments) {
  graph_object *graph = (graph_object *)self;
  gemel_location where;
  const char *text;
  if (!PyArg_ParseTuple(arguments, "ssi", &text, &where.file, &where.line) ||
      graph_idle(graph) != 0) {
    return NULL;
  }
  return wrap_value(gemel_declare_at(graph->graph, text, where), graph);
}

/* The value of OBJECT, which must be one of GRAPH; null with an exception. */
static gemel_value own_value(PyObject *object, graph_object *graph) {
  if (!PyObject_TypeCheck(object, value_type) || ((value_object *)object)->graph != graph) {
    PyErr_SetString(PyExc_ValueError, "no value of this graph");
    return (gemel_value){0};
  }
  return ((value_object *)object)->value;
}

static PyObject *ended(gemel_status status, graph_object *graph) {
  if (status != GEMEL_OK) {
    return raise_graph(graph);
  }
  Py_INCREF(Py_None);
  return Py_None;
}

static PyObject *graph_output(PyObject *self, PyObject *arguments) {
  graph_object *graph = (graph_object *)self;
  gemel_location where;
  const char *name;
  PyObject *object;
  if (!PyArg_ParseTuple(arguments, "Ossi", &object, &name, &where.file, &where.line) ||
      graph_idle(graph) != 0) {
    return NULL;
  }
  gemel_value value = own_value(object, graph);
  return gemel_is_null(value) ? NULL : ended(gemel_output_at(value, name, where), graph);
}

static PyObject *graph_update(PyObject *self, PyObject *arguments) {
  graph_object *graph = (graph_object *)self;
  gemel_location where;
  PyObject *first, *second;
  if (!PyArg_ParseTuple(arguments, "OOsi", &first, &second, &where.file, &where.line) ||
      graph_idle(graph) != 0) {
    return NULL;
  }
  gemel_value state = own_value(first, graph);
  gemel_value value = gemel_is_null(state) ? state : own_value(second, graph);
  return gemel_is_null(value) ? NULL : ended(gemel_update_at(state, value, where), graph);
}

/* ---- Derivatives ---- */

/* The values of a sequence, all of GRAPH; to be freed with PyMem_Free. NULL with an exception. */
static gemel_value *values_of(PyObject *sequence, graph_object *graph, size_t *count) {
  Py_ssize_t n = PySequence_Size(sequence);
  gemel_value *values = n >= 0 ? PyMem_Calloc((size_t)n + 1, sizeof *values) : NULL;
  *count = n >= 0 ? (size_t)n : 0;
  if (values == NULL && n >= 0) {
    PyErr_NoMemory();
  }
  for (Py_ssize_t k = 0; values != NULL && k < n; k++) {
    PyObject *item = PySequence_GetItem(sequence, k);
    values[k] = item != NULL ? own_value(item, graph) : (gemel_value){0};
    Py_XDECREF(item);
    if (gemel_is_null(values[k])) {
      PyMem_Free(values);
      return NULL;
    }
  }
  return values;
}

static PyObject *list_of(const gemel_value *values, size_t count, graph_object *graph) {
  PyObject *list = PyList_New(0);
  for (size_t k = 0; list != NULL && k < count; k++) {
    PyObject *value = wrap_value(values[k], graph);
    if (value == NULL || PyList_Append(list, value) != 0) {
      Py_CLEAR(list);
    }
    Py_XDECREF(value);
  }
  return list;
}

/* What derivatives are asked of. */
typedef struct derivative_question {
  size_t n_outputs, n_wrt, n_given; /* GIVEN: cotangents of the outputs, or tangents of WRT */
  gemel_value *outputs, *wrt, *given, *results;
} derivative_question;

static int read_question(PyObject *arguments, graph_object *graph, derivative_question *q) {
  PyObject *outputs, *wrt, *given;
  memset(q, 0, sizeof *q);
  if (!PyArg_ParseTuple(arguments, "OOO", &outputs, &wrt, &given) || graph_idle(graph) != 0 ||
      (q->outputs = values_of(outputs, graph, &q->n_outputs)) == NULL ||
      (q->wrt = values_of(wrt, graph, &q->n_wrt)) == NULL ||
      (given != Py_None && (q->given = values_of(given, graph, &q->n_given)) == NULL)) {
    return -1;
  }
  q->results = PyMem_Calloc(q->n_outputs + q->n_wrt + 1, sizeof *q->results);
  if (q->results == NULL) {
    PyErr_NoMemory();
  }
  return q->results != NULL ? 0 : -1;
}

static void free_question(derivative_question *q) {
  PyMem_Free(q->outputs);
  PyMem_Free(q->wrt);
  PyMem_Free(q->given);
  PyMem_Free(q->results);
}

static int wrong_count(const char *what, size_t given, size_t wanted) {
  if (given != wanted) {
    PyErr_Format(PyExc_ValueError, "%zu %s for %zu values", given, what, wanted);
  }
  return given != wanted;
}

/* gradients(outputs, wrt, seeds or None): a list. */
static PyObject *graph_gradients(PyObject *self, PyObject *arguments) {
  graph_object *graph = (graph_object *)self;
  derivative_question q;
  PyObject *list = NULL;
  gemel_error error;
  if (read_question(arguments, graph, &q) == 0 &&
      (q.given == NULL || !wrong_count("seeds", q.n_given, q.n_outputs))) {
    gemel_status status =
        gemel_grad(q.n_outputs, q.outputs, q.given, q.n_wrt, q.wrt, q.results, &error);
    gemel_graph_clear_error(graph->graph);
    list = status == GEMEL_OK ? list_of(q.results, q.n_wrt, graph) : raise_error(&error);
  }
  free_question(&q);
  return list;
}

/* tangents(outputs, wrt, tangents): a list. */
static PyObject *graph_tangents(PyObject *self, PyObject *arguments) {
  graph_object *graph = (graph_object *)self;
  derivative_question q;
  PyObject *list = NULL;
  gemel_error error;
  if (read_question(arguments, graph, &q) == 0 && !wrong_count("tangents", q.n_given, q.n_wrt)) {
    gemel_status status =
        gemel_jvp(q.n_outputs, q.outputs, q.n_wrt, q.wrt, q.given, q.results, &error);
    gemel_graph_clear_error(graph->graph);
    list = status == GEMEL_OK ? list_of(q.results, q.n_outputs, graph) : raise_error(&error);
  }
  free_question(&q);
  return list;
}

/* sgd(loss, rate, momentum, decay, file, line) and adam(loss, rate, beta1, beta2, epsilon, decay,
 * file, line): updates for the states of the graph. */
static PyObject *graph_sgd(PyObject *self, PyObject *arguments) {
  graph_object *graph = (graph_object *)self;
  gemel_sgd_options o = {0};
  gemel_location where;
  PyObject *loss;
  if (!PyArg_ParseTuple(arguments, "Odddsi", &loss, &o.rate, &o.momentum, &o.decay, &where.file,
                        &where.line) ||
      graph_idle(graph) != 0) {
    return NULL;
  }
  gemel_value value = own_value(loss, graph);
  return gemel_is_null(value) ? NULL : ended(gemel_sgd_at(value, &o, where), graph);
}

static PyObject *graph_adam(PyObject *self, PyObject *arguments) {
  graph_object *graph = (graph_object *)self;
  gemel_adam_options o = {0};
  gemel_location where;
  PyObject *loss;
  if (!PyArg_ParseTuple(arguments, "Odddddsi", &loss, &o.rate, &o.beta1, &o.beta2, &o.epsilon,
                        &o.decay, &where.file, &where.line) ||
      graph_idle(graph) != 0) {
    return NULL;
  }
  gemel_value value = own_value(loss, graph);
  return gemel_is_null(value) ? NULL : ended(gemel_adam_at(value, &o, where), graph);
}

/* ---- Graphs: looked at, written, rewritten ---- */

/* [(name, value, is it a state)] */
static PyObject *graph_inputs(PyObject *self, PyObject *nothing) {
  (void)nothing;
  graph_object *graph = (graph_object *)self;
  PyObject *list = PyList_New(0);
  for (size_t k = 0; list != NULL && k < gemel_graph_input_count(graph->graph); k++) {
    gemel_value value = gemel_graph_input(graph->graph, k);
    PyObject *item = Py_BuildValue("(sNi)", gemel_graph_input_name(graph->graph, k),
                                   wrap_value(value, graph), gemel_is_state(value));
    if (item == NULL || PyList_Append(list, item) != 0) {
      Py_CLEAR(list);
    }
    Py_XDECREF(item);
  }
  return list;
}

/* [(name, value, is it an update)] */
static PyObject *graph_outputs(PyObject *self, PyObject *nothing) {
  (void)nothing;
  graph_object *graph = (graph_object *)self;
  PyObject *list = PyList_New(0);
  for (size_t k = 0; list != NULL && k < gemel_graph_output_count(graph->graph); k++) {
    int update = !gemel_is_null(gemel_graph_updated_state(graph->graph, k));
    PyObject *item = Py_BuildValue("(sNi)", gemel_graph_output_name(graph->graph, k),
                                   wrap_value(gemel_graph_output(graph->graph, k), graph), update);
    if (item == NULL || PyList_Append(list, item) != 0) {
      Py_CLEAR(list);
    }
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *graph_text(PyObject *self, PyObject *name) {
  graph_object *graph = (graph_object *)self;
  gemel_error error;
  PyObject *holder;
  const char *called = text_of(name, &holder);
  if (called == NULL) {
    return NULL;
  }
  char *text;
  graph->busy++;
  Py_BEGIN_ALLOW_THREADS;
  text = gemel_print_string(graph->graph, called, &error);
  Py_END_ALLOW_THREADS;
  graph->busy--;
  Py_DECREF(holder);
  if (text == NULL) {
    return raise_error(&error);
  }
  PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  gemel_text_free(text);
  return result;
}

typedef struct bytes_written {
  char *bytes;
  size_t count, capacity;
} bytes_written;

static int append(void *user, const void *bytes, size_t count) {
  bytes_written *written = user;
  if (written->count + count > written->capacity) {
    size_t more = 2 * (written->count + count) + 64;
    char *grown = realloc(written->bytes, more);
    if (grown == NULL) {
      return 1;
    }
    written->bytes = grown;
    written->capacity = more;
  }
  memcpy(written->bytes + written->count, bytes, count);
  written->count += count;
  return 0;
}

static PyObject *graph_bytes(PyObject *self, PyObject *name) {
  graph_object *graph = (graph_object *)self;
  bytes_written written = {0};
  gemel_error error;
  PyObject *holder;
  const char *called = text_of(name, &holder);
  gemel_status status;
  if (called == NULL) {
    return NULL;
  }
  graph->busy++;
  Py_BEGIN_ALLOW_THREADS;
  status = gemel_serialize(graph->graph, called, append, &written, &error);
  Py_END_ALLOW_THREADS;
  graph->busy--;
  Py_DECREF(holder);
  PyObject *bytes = status == GEMEL_OK
                        ? PyBytes_FromStringAndSize(written.bytes, (Py_ssize_t)written.count)
                        : raise_error(&error);
  free(written.bytes);
  return bytes;
}

static PyObject *graph_save(PyObject *self, PyObject *arguments) {
  graph_object *graph = (graph_object *)self;
  const char *path, *name;
  gemel_error error;
  gemel_status status;
  if (!PyArg_ParseTuple(arguments, "ss", &path, &name)) {
    return NULL;
  }
  graph->busy++;
  Py_BEGIN_ALLOW_THREADS;
  status = gemel_save(graph->graph, name, path, &error);
  Py_END_ALLOW_THREADS;
  graph->busy--;
  if (status != GEMEL_OK) {
    return raise_error(&error);
  }
  Py_INCREF(Py_None);
  return Py_None;
}

/* A word of the table of modes; -1 with an exception. */
static int mode_of(const char *word) {
  for (int k = 0; k < GEMEL_MODE_COUNT; k++) {
    if (strcmp(gemel_mode_name((gemel_mode)k), word) == 0) {
      return k;
    }
  }
  PyErr_Format(PyExc_ValueError, "no mode %s", word);
  return -1;
}

/* rewrite(mode, allow, include, exclude, rules or None, file): a graph. */
static PyObject *graph_rewrite(PyObject *self, PyObject *arguments) {
  graph_object *graph = (graph_object *)self;
  gemel_rewrite_options options = {.size = sizeof options, .has_mode = 1, .has_allow = 1};
  const char *mode, *text, *file;
  Py_ssize_t length;
  gemel_error error;
  gemel_rules *rules = NULL;
  gemel_graph *made = NULL;
  if (!PyArg_ParseTuple(arguments, "sIzzz#s", &mode, &options.allow, &options.include,
                        &options.exclude, &text, &length, &file)) {
    return NULL;
  }
  int found = mode_of(mode);
  if (found < 0) {
    return NULL;
  }
  options.mode = (gemel_mode)found;
  graph->busy++;
  Py_BEGIN_ALLOW_THREADS;
  if (text != NULL) {
    rules =
        gemel_rules_parse(gemel_graph_context(graph->graph), text, (size_t)length, file, &error);
    options.rules = (const gemel_rules *const *)&rules;
    options.n_rules = 1;
  }
  made = text == NULL || rules != NULL ? gemel_rewrite(graph->graph, &options, &error) : NULL;
  gemel_rules_unref(rules);
  Py_END_ALLOW_THREADS;
  graph->busy--;
  return made != NULL ? wrap_graph(made) : raise_error(&error);
}

static PyObject *graph_nodes(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromSize_t(gemel_graph_node_count(((graph_object *)self)->graph));
}

static PyMethodDef graph_methods[] = {{"make", graph_make, METH_O | METH_STATIC, NULL},
                                      {"read", graph_read, METH_VARARGS | METH_STATIC, NULL},
                                      {"declare", graph_declare, METH_VARARGS, NULL},
                                      {"set_output", graph_output, METH_VARARGS, NULL},
                                      {"set_update", graph_update, METH_VARARGS, NULL},
                                      {"gradients", graph_gradients, METH_VARARGS, NULL},
                                      {"tangents", graph_tangents, METH_VARARGS, NULL},
                                      {"train_sgd", graph_sgd, METH_VARARGS, NULL},
                                      {"train_adam", graph_adam, METH_VARARGS, NULL},
                                      {"input_list", graph_inputs, METH_NOARGS, NULL},
                                      {"output_list", graph_outputs, METH_NOARGS, NULL},
                                      {"print_text", graph_text, METH_O, NULL},
                                      {"serialize", graph_bytes, METH_O, NULL},
                                      {"save_file", graph_save, METH_VARARGS, NULL},
                                      {"rewritten", graph_rewrite, METH_VARARGS, NULL},
                                      {NULL, NULL, 0, NULL}};

static PyGetSetDef graph_members[] = {
    {"node_count", graph_nodes, NULL, "The number of nodes.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot graph_slots[] = {{Py_tp_new, (void *)refuse_new},
                                    {Py_tp_dealloc, (void *)graph_dealloc},
                                    {Py_tp_methods, graph_methods},
                                    {Py_tp_getset, graph_members},
                                    {0, NULL}};
PyType_Spec graph_spec = {"gemel._native.Graph", sizeof(graph_object), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, graph_slots};
