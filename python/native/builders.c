/* SPDX-License-Identifier: MIT
 *
 * Calls gemel's builders with arguments of Python. What each takes is a string of letters, one for
 * each argument (python/bind.py makes the table): v value, V values, w a value or None, i int, f
 * float, d dtype, s text, m size, M sizes, I ints. Numbers and arrays among the values become
 * constants of the graph that the others are of; a number takes the dtype of the value beside it,
 * as in NumPy, unless that has no such numbers.
 */
#include "native.h"
#include <math.h>
#include <string.h>

enum { MOST_ARGUMENTS = 24 };

/* One argument: the member that its letter says. */
typedef struct argument {
  gemel_value value;
  struct {
    size_t count;
    gemel_value *values;
  } values;
  int64_t i;
  double f;
  gemel_dtype dtype;
  const char *text;
  gemel_dim dim;
  gemel_ints ints;
  gemel_dims dims;
  void *owned;      /* memory to be freed */
  PyObject *holder; /* an object to be released */
} argument;

typedef struct bound_builder {
  const char *name, *kinds;
  int has_next; /* 1: it gives one more value */
  gemel_value (*call)(const argument *a, gemel_graph *graph, gemel_value *next,
                      gemel_location where);
} bound_builder;

#include "builders.inc"

/* A call in the making. */
typedef struct call {
  const bound_builder *builder;
  graph_object *graph;
  gemel_value model; /* the value of whose dtype numbers are: the first float, else the first
                        integer, else the first one; null if there is none */
  PyObject *current; /* the graph that is being built, or None */
  gemel_location where;
  argument a[MOST_ARGUMENTS];
} call;

/* ---- Which graph ---- */

/* VALUE, or where a loop's body is being built, and VALUE is of a graph around it, what stands for
 * it in the body. Takes the reference over. */
static PyObject *captured(PyObject *value, PyObject *current) {
  if (value == NULL || (PyObject *)((value_object *)value)->graph == current ||
      !PyObject_HasAttrString(current, "_capture")) {
    return value;
  }
  PyObject *inner = PyObject_CallMethod(current, "_capture", "O", value);
  Py_DECREF(value);
  if (inner != NULL && !PyObject_TypeCheck(inner, value_type)) {
    Py_CLEAR(inner);
    PyErr_SetString(PyExc_TypeError, "_capture gives no value");
  }
  return inner;
}

/* The value that OBJECT is, or stands for in the graph that is being built, as shared variables do:
 * a new reference; NULL, without an exception if it is no value. */
static PyObject *value_in(PyObject *object, PyObject *current) {
  if (PyObject_TypeCheck(object, value_type)) {
    Py_INCREF(object);
    return captured(object, current);
  }
  if (PyLong_Check(object) || PyFloat_Check(object) ||
      !PyObject_HasAttrString(object, "__gemel_value__")) {
    return NULL;
  }
  PyObject *value = PyObject_CallMethod(object, "__gemel_value__", NULL);
  if (value != NULL && !PyObject_TypeCheck(value, value_type)) {
    Py_CLEAR(value);
    PyErr_SetString(PyExc_TypeError, "__gemel_value__ gives no value");
  }
  return captured(value, current);
}

/* How a value stands in the choice of a model. */
static int rank_of_kind(gemel_value value) {
  gemel_context *context = gemel_graph_context(value.graph);
  switch (gemel_dtype_kind(gemel_type_dtype(context, gemel_value_type(value)))) {
  case GEMEL_KIND_BOOL:
    return 0;
  case GEMEL_KIND_FLOAT:
    return 2;
  default:
    return 1;
  }
}

/* Takes OBJECT into account if it is a value: all values of a call are of one graph. */
static int look_at(call *c, PyObject *object) {
  PyObject *found = value_in(object, c->current);
  if (found == NULL) {
    return PyErr_Occurred() ? -1 : 0;
  }
  value_object *value = (value_object *)found;
  int status = 0;
  if (gemel_is_null(c->model)) {
    c->graph = value->graph;
    c->model = value->value;
  } else if (value->graph != c->graph) {
    PyErr_Format(PyExc_ValueError,
                 "%s: values of two graphs, such as of a function and of another one inside it",
                 c->builder->name);
    status = -1;
  } else if (rank_of_kind(value->value) > rank_of_kind(c->model)) {
    c->model = value->value;
  }
  Py_DECREF(found);
  return status;
}

static int look_at_all(call *c, PyObject *sequence) {
  Py_ssize_t n = PySequence_Size(sequence);
  for (Py_ssize_t k = 0; k < n; k++) {
    PyObject *item = PySequence_GetItem(sequence, k);
    int status = item != NULL ? look_at(c, item) : -1;
    Py_XDECREF(item);
    if (status != 0) {
      return -1;
    }
  }
  return n < 0 ? -1 : 0;
}

static int find_graph(call *c, PyObject *arguments) {
  for (size_t k = 0; c->builder->kinds[k] != '\0'; k++) {
    PyObject *object = PyTuple_GetItem(arguments, (Py_ssize_t)k);
    char kind = c->builder->kinds[k];
    if (((kind == 'v' || (kind == 'w' && object != Py_None)) && look_at(c, object) != 0) ||
        (kind == 'V' && look_at_all(c, object) != 0)) {
      return -1;
    }
  }
  if (c->graph == NULL && PyObject_TypeCheck(c->current, graph_type)) {
    c->graph = (graph_object *)c->current;
  }
  if (c->graph == NULL) {
    PyErr_Format(
        PyExc_TypeError,
        "%s: none of the operands is a value of a graph: call it in a function that gemel.function "
        "decorates, or within `with graph:`",
        c->builder->name);
    return -1;
  }
  return graph_idle(c->graph);
}

/* ---- Numbers and arrays ---- */

/* The constant of DTYPE that is a tensor of one element with these bits. */
static gemel_value constant_of(call *c, gemel_dtype dtype, void *bits) {
  gemel_error error;
  gemel_view view = {dtype, 0, NULL, NULL, bits};
  gemel_tensor *tensor = gemel_tensor_copy(&view, &error);
  if (tensor == NULL) {
    raise_error(&error);
    return (gemel_value){0};
  }
  gemel_value value = gemel_constant_at(c->graph->graph, tensor, c->where);
  gemel_tensor_unref(tensor);
  return value;
}

static gemel_dtype model_dtype(const call *c, gemel_dtype otherwise) {
  return gemel_is_null(c->model)
             ? otherwise
             : gemel_type_dtype(gemel_graph_context(c->graph->graph), gemel_value_type(c->model));
}

static gemel_value integer_constant(call *c, PyObject *object) {
  gemel_dtype dtype = model_dtype(c, GEMEL_I64);
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT) {
    double number = PyLong_AsDouble(object);
    return PyErr_Occurred() ? (gemel_value){0}
                            : gemel_scalar_at(c->graph->graph, dtype, number, c->where);
  }
  dtype = gemel_dtype_kind(dtype) == GEMEL_KIND_BOOL ? GEMEL_I64 : dtype;
  if (dtype == GEMEL_U64) {
    uint64_t number = PyLong_AsUnsignedLongLong(object);
    return PyErr_Occurred() ? (gemel_value){0} : constant_of(c, dtype, &number);
  }
  int64_t number = PyLong_AsLongLong(object);
  if (PyErr_Occurred()) {
    return (gemel_value){0};
  }
  return dtype == GEMEL_I64 ? constant_of(c, dtype, &number)
                            : gemel_scalar_at(c->graph->graph, dtype, (double)number, c->where);
}

static gemel_value float_constant(call *c, double number) {
  gemel_dtype dtype = model_dtype(c, GEMEL_F64);
  dtype = gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT ? dtype : GEMEL_F64;
  return gemel_scalar_at(c->graph->graph, dtype, number, c->where);
}

static gemel_value array_constant(call *c, PyObject *object) {
  gemel_tensor *tensor = tensor_of(object);
  if (tensor == NULL) {
    return (gemel_value){0};
  }
  gemel_value value = gemel_constant_at(c->graph->graph, tensor, c->where);
  gemel_tensor_unref(tensor);
  return value;
}

/* The size that OBJECT is, as a value of the dtype that a number would have here. */
static gemel_value size_value(call *c, PyObject *object) {
  gemel_dim dim = dim_of(object, c->graph);
  gemel_dtype dtype = model_dtype(c, GEMEL_I64);
  dtype = gemel_dtype_kind(dtype) == GEMEL_KIND_BOOL ? GEMEL_I64 : dtype;
  if (gemel_dim_is_none(dim)) {
    return (gemel_value){0};
  }
  gemel_value size = gemel_size_at(c->graph->graph, dim, c->where);
  return dtype == GEMEL_I64 ? size : gemel_cast_at(size, dtype, c->where);
}

/* OBJECT as a value of the graph; null with an exception. */
static gemel_value to_value(call *c, PyObject *object) {
  PyObject *found = value_in(object, c->current);
  gemel_value value = {0};
  if (found != NULL) {
    value = ((value_object *)found)->value;
    Py_DECREF(found);
  } else if (PyErr_Occurred()) {
    return value;
  } else if (PyBool_Check(object)) {
    value = gemel_scalar_at(c->graph->graph, GEMEL_BOOL, object == Py_True, c->where);
  } else if (PyLong_Check(object)) {
    value = integer_constant(c, object);
  } else if (PyFloat_CheckExact(object)) { /* NumPy's f64, a subclass, keeps its dtype */
    value = float_constant(c, PyFloat_AsDouble(object));
  } else if (PyObject_TypeCheck(object, dim_type)) {
    value = size_value(c, object);
  } else {
    value = array_constant(c, object);
  }
  if (gemel_is_null(value) && !PyErr_Occurred()) {
    raise_graph(c->graph);
  }
  return value;
}

/* ---- Arguments ---- */

static int read_values(call *c, argument *a, PyObject *sequence) {
  Py_ssize_t n = PySequence_Size(sequence);
  a->values.values = a->owned = n >= 0 ? PyMem_Calloc((size_t)n + 1, sizeof(gemel_value)) : NULL;
  a->values.count = (size_t)n;
  for (Py_ssize_t k = 0; a->owned != NULL && k < n; k++) {
    PyObject *item = PySequence_GetItem(sequence, k);
    a->values.values[k] = item != NULL ? to_value(c, item) : (gemel_value){0};
    Py_XDECREF(item);
    if (PyErr_Occurred()) {
      return -1;
    }
  }
  if (a->owned == NULL && !PyErr_Occurred()) {
    PyErr_NoMemory();
  }
  return a->owned != NULL ? 0 : -1;
}

/* None is a list that isn't given, and a number a list of one. */
static int read_ints(argument *a, PyObject *object) {
  if (object == Py_None) {
    return 0;
  }
  if (PyLong_Check(object)) {
    int64_t *one = a->owned = PyMem_Malloc(sizeof *one);
    if (one == NULL) {
      PyErr_NoMemory();
      return -1;
    }
    *one = PyLong_AsLongLong(object);
    a->ints = (gemel_ints){1, one};
    return PyErr_Occurred() ? -1 : 0;
  }
  size_t count;
  a->owned = ints_of(object, &count);
  a->ints = (gemel_ints){count, a->owned};
  return a->owned != NULL ? 0 : -1;
}

static int read_dims(call *c, argument *a, PyObject *object) {
  if (object == Py_None) {
    return 0;
  }
  if (!PyList_Check(object) && !PyTuple_Check(object)) {
    a->owned = PyMem_Calloc(1, sizeof(gemel_dim));
    if (a->owned == NULL) {
      PyErr_NoMemory();
      return -1;
    }
    gemel_dim *one = a->owned;
    *one = dim_of(object, c->graph);
    a->dims = (gemel_dims){1, one};
    return PyErr_Occurred() ? -1 : 0;
  }
  Py_ssize_t n = PySequence_Size(object);
  gemel_dim *dims = a->owned = PyMem_Calloc((size_t)n + 1, sizeof *dims);
  for (Py_ssize_t k = 0; dims != NULL && k < n; k++) {
    PyObject *item = PySequence_GetItem(object, k);
    dims[k] = item != NULL ? dim_of(item, c->graph) : GEMEL_DIM_NONE;
    Py_XDECREF(item);
    if (PyErr_Occurred()) {
      return -1;
    }
  }
  a->dims = (gemel_dims){(size_t)n, dims};
  return dims != NULL ? 0 : -1;
}

static int read_int(argument *a, PyObject *object) {
  PyObject *index = PyNumber_Index(object);
  a->i = index != NULL ? PyLong_AsLongLong(index) : 0;
  Py_XDECREF(index);
  return PyErr_Occurred() ? -1 : 0;
}

static int read_argument(call *c, argument *a, char kind, PyObject *object) {
  switch (kind) {
  case 'w':
    if (object == Py_None) {
      return 0;
    }
    /* fall through */
  case 'v':
    a->value = to_value(c, object);
    return gemel_is_null(a->value) ? -1 : 0;
  case 'V':
    return read_values(c, a, object);
  case 'i':
    return read_int(a, object);
  case 'f':
    a->f = PyFloat_AsDouble(object);
    return PyErr_Occurred() ? -1 : 0;
  case 'd':
    return dtype_of(object, &a->dtype);
  case 's':
    a->text = object != Py_None ? text_of(object, &a->holder) : NULL;
    return a->text != NULL || object == Py_None ? 0 : -1;
  case 'm':
    a->dim = object != Py_None ? dim_of(object, c->graph) : GEMEL_DIM_NONE;
    return PyErr_Occurred() ? -1 : 0;
  case 'M':
    return read_dims(c, a, object);
  case 'I':
    return read_ints(a, object);
  }
  PyErr_SetString(PyExc_SystemError, "no such kind of argument");
  return -1;
}

static void free_arguments(call *c) {
  for (int k = 0; k < MOST_ARGUMENTS; k++) {
    PyMem_Free(c->a[k].owned);
    Py_XDECREF(c->a[k].holder);
  }
}

/* ---- Results ---- */

/* The outputs of VALUE's node as a tuple; VALUE alone if there is no other. */
static PyObject *outputs_of(gemel_value value, graph_object *graph) {
  uint32_t n = 1;
  if (gemel_is_null(value) || gemel_is_null(gemel_value_output(value, 1))) {
    return wrap_value(value, graph);
  }
  while (!gemel_is_null(gemel_value_output(value, n))) {
    n++;
  }
  PyObject *tuple = PyTuple_New(n);
  for (uint32_t k = 0; tuple != NULL && k < n; k++) {
    PyObject *output = wrap_value(gemel_value_output(value, k), graph);
    if (output == NULL) {
      Py_CLEAR(tuple);
    } else {
      PyTuple_SetItem(tuple, k, output);
    }
  }
  return tuple;
}

static PyObject *result_of(call *c, int all) {
  gemel_value next = {0};
  gemel_value value = c->builder->call(c->a, c->graph->graph, &next, c->where);
  if (gemel_is_null(value)) {
    return raise_graph(c->graph);
  }
  if (!c->builder->has_next) {
    return all ? outputs_of(value, c->graph) : wrap_value(value, c->graph);
  }
  PyObject *first = wrap_value(value, c->graph);
  PyObject *second = first != NULL ? wrap_value(next, c->graph) : NULL;
  PyObject *pair = second != NULL ? PyTuple_New(2) : NULL;
  if (pair == NULL) {
    Py_XDECREF(first);
    Py_XDECREF(second);
    return NULL;
  }
  PyTuple_SetItem(pair, 0, first);
  PyTuple_SetItem(pair, 1, second);
  return pair;
}

/* build(k, arguments, current graph or None, file, line, all outputs?) */
static PyObject *build(PyObject *module, PyObject *arguments) {
  (void)module;
  int k, all;
  PyObject *given;
  call c = {0};
  if (!PyArg_ParseTuple(arguments, "iO!Osii", &k, &PyTuple_Type, &given, &c.current, &c.where.file,
                        &c.where.line, &all)) {
    return NULL;
  }
  if (k < 0 || (size_t)k >= sizeof builders / sizeof *builders ||
      PyTuple_Size(given) != (Py_ssize_t)strlen(builders[k].kinds)) {
    PyErr_SetString(PyExc_SystemError, "no such builder");
    return NULL;
  }
  c.builder = &builders[k];
  int status = find_graph(&c, given);
  PyObject *graph = (PyObject *)c.graph;
  Py_XINCREF(graph);
  for (Py_ssize_t i = 0; status == 0 && i < PyTuple_Size(given); i++) {
    status = read_argument(&c, &c.a[i], c.builder->kinds[i], PyTuple_GetItem(given, i));
  }
  PyObject *result = status == 0 ? result_of(&c, all) : NULL;
  free_arguments(&c);
  Py_XDECREF(graph);
  return result;
}

/* The results of what was applied: of an operation one node's, of a composite VALUES. */
static PyObject *results_of(const gemel_value *values, size_t n, graph_object *graph) {
  size_t count = 0;
  while (count < n && !gemel_is_null(values[count])) {
    count++;
  }
  if (count < 2 || values[0].node == values[1].node) {
    return outputs_of(values[0], graph);
  }
  PyObject *tuple = PyTuple_New((Py_ssize_t)count);
  for (size_t k = 0; k < count && tuple != NULL; k++) {
    PyObject *one = wrap_value(values[k], graph);
    if (one == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)k, one) != 0) {
      Py_CLEAR(tuple);
    }
  }
  return tuple;
}

/* apply(graph, operation, values, file, line): an operation or composite without attributes, as a
 * text defines them. */
static PyObject *apply(PyObject *module, PyObject *arguments) {
  enum { MOST_RESULTS = 16 };
  (void)module;
  static const bound_builder any = {"apply", "V", 0, NULL};
  PyObject *values;
  const char *name;
  call c = {.builder = &any};
  if (!PyArg_ParseTuple(arguments, "OsO!si", &c.current, &name, &PyTuple_Type, &values,
                        &c.where.file, &c.where.line)) {
    return NULL;
  }
  PyObject *wrapped = Py_BuildValue("(O)", values), *result = NULL;
  if (wrapped != NULL && find_graph(&c, wrapped) == 0 && read_values(&c, &c.a[0], values) == 0) {
    gemel_value results[MOST_RESULTS];
    gemel_apply_all_at(c.graph->graph, name, c.a[0].values.count, c.a[0].values.values, 0, NULL,
                       MOST_RESULTS, results, c.where);
    result = results_of(results, MOST_RESULTS, c.graph);
  }
  Py_XDECREF(wrapped);
  free_arguments(&c);
  return result;
}

/* constant(object, graph, file, line): a value. */
static PyObject *constant(PyObject *module, PyObject *arguments) {
  (void)module;
  static const bound_builder any = {"constant", "v", 0, NULL};
  PyObject *object;
  call c = {.builder = &any};
  if (!PyArg_ParseTuple(arguments, "OOsi", &object, &c.current, &c.where.file, &c.where.line)) {
    return NULL;
  }
  PyObject *wrapped = Py_BuildValue("(O)", object), *result = NULL;
  if (wrapped != NULL && find_graph(&c, wrapped) == 0) {
    gemel_value value = to_value(&c, object);
    result = gemel_is_null(value) ? NULL : wrap_value(value, c.graph);
  }
  Py_XDECREF(wrapped);
  return result;
}

PyMethodDef builder_methods[] = {{"build", build, METH_VARARGS, NULL},
                                 {"apply", apply, METH_VARARGS, NULL},
                                 {"constant", constant, METH_VARARGS, NULL},
                                 {NULL, NULL, 0, NULL}};
