/* SPDX-License-Identifier: MIT
 *
 * Loops in the making (gemel_loop in <gemel/composite.h>), on which gemel.scan is built. The body
 * is a graph of Python's like any other; values of the graph around are constants of the loop,
 * which gemel/_loops.py makes of them where they are used in the body.
 */
#include "native.h"
#include <string.h>

typedef struct loop_object {
  PyObject_HEAD gemel_loop *loop;
  graph_object *outer, *body;
} loop_object;

static PyObject *loop_new(PyTypeObject *type, PyObject *arguments, PyObject *options) {
  (void)options;
  graph_object *outer;
  gemel_error error;
  if (!PyArg_ParseTuple(arguments, "O!", graph_type, &outer) || graph_idle(outer) != 0) {
    return NULL;
  }
  loop_object *self = (loop_object *)new_object(type);
  if (self == NULL) {
    return NULL;
  }
  self->loop = gemel_loop_begin(outer->graph, &error);
  if (self->loop == NULL) {
    Py_DECREF(self);
    return raise_error(&error);
  }
  Py_INCREF(outer);
  self->outer = outer;
  self->body = (graph_object *)wrap_graph(gemel_graph_ref(gemel_loop_body(self->loop)));
  if (self->body == NULL) {
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject *)self;
}

static int loop_traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(((loop_object *)object)->outer);
  Py_VISIT(((loop_object *)object)->body);
  VISIT_TYPE(object);
  return 0;
}

static int loop_clear(PyObject *object) {
  Py_CLEAR(((loop_object *)object)->outer);
  Py_CLEAR(((loop_object *)object)->body);
  return 0;
}

static void loop_dealloc(PyObject *object) {
  loop_object *self = (loop_object *)object;
  PyObject_GC_UnTrack(object);
  gemel_loop_free(self->loop);
  Py_XDECREF(self->outer);
  Py_XDECREF(self->body);
  free_object(object);
}

static PyObject *loop_body(PyObject *self, void *closure) {
  (void)closure;
  PyObject *body = (PyObject *)((loop_object *)self)->body;
  Py_INCREF(body);
  return body;
}

/* The value of OBJECT, of GRAPH; null with an exception. */
static gemel_value value_of(PyObject *object, graph_object *graph) {
  if (!PyObject_TypeCheck(object, value_type) || ((value_object *)object)->graph != graph) {
    PyErr_SetString(PyExc_ValueError, "a value of another graph than the loop's");
    return (gemel_value){0};
  }
  return ((value_object *)object)->value;
}

/* Reads (value, ..., file, line): VALUE, of GRAPH. 0, or -1 with an exception. */
static int read_value(PyObject *arguments, graph_object *graph, gemel_value *value,
                      gemel_location *where) {
  PyObject *object;
  if (!PyArg_ParseTuple(arguments, "Osi", &object, &where->file, &where->line)) {
    return -1;
  }
  *value = value_of(object, graph);
  return gemel_is_null(*value) ? -1 : 0;
}

typedef gemel_value (*inward)(gemel_loop *loop, gemel_value value, gemel_location where);

/* A value of the body that stands for one of the graph around. */
static PyObject *go_in(PyObject *object, PyObject *arguments, inward how) {
  loop_object *self = (loop_object *)object;
  gemel_value value;
  gemel_location where;
  if (read_value(arguments, self->outer, &value, &where) != 0) {
    return NULL;
  }
  gemel_value inner = how(self->loop, value, where);
  return gemel_is_null(inner) ? raise_graph(self->outer) : wrap_value(inner, self->body);
}

/* A value of the graph around for one of the body, of a loop that has ended. */
static PyObject *go_out(PyObject *object, PyObject *arguments, inward how) {
  loop_object *self = (loop_object *)object;
  gemel_value value;
  gemel_location where;
  if (read_value(arguments, self->body, &value, &where) != 0) {
    return NULL;
  }
  return wrap_value(how(self->loop, value, where), self->outer);
}

#define DIRECTION(name, go, builder)                                                               \
  static PyObject *loop_##name(PyObject *self, PyObject *arguments) {                              \
    return go(self, arguments, builder);                                                           \
  }
DIRECTION(state, go_in, gemel_loop_state_at)
DIRECTION(row, go_in, gemel_loop_row_at)
DIRECTION(constant, go_in, gemel_loop_constant_at)
DIRECTION(last, go_out, gemel_loop_last_at)
DIRECTION(stacked, go_out, gemel_loop_stacked_at)

static PyObject *done(gemel_status status, loop_object *self) {
  if (status != GEMEL_OK) {
    return raise_graph(self->outer);
  }
  Py_INCREF(Py_None);
  return Py_None;
}

/* next(state, value, file, line) */
static PyObject *loop_next(PyObject *object, PyObject *arguments) {
  loop_object *self = (loop_object *)object;
  PyObject *first, *second;
  gemel_location where;
  if (!PyArg_ParseTuple(arguments, "OOsi", &first, &second, &where.file, &where.line)) {
    return NULL;
  }
  gemel_value state = value_of(first, self->body);
  gemel_value value = gemel_is_null(state) ? state : value_of(second, self->body);
  return gemel_is_null(value) ? NULL
                              : done(gemel_loop_next_at(self->loop, state, value, where), self);
}

/* stack(value, file, line) */
static PyObject *loop_stack(PyObject *object, PyObject *arguments) {
  loop_object *self = (loop_object *)object;
  gemel_value value;
  gemel_location where;
  if (read_value(arguments, self->body, &value, &where) != 0) {
    return NULL;
  }
  return done(gemel_is_null(gemel_loop_stack_at(self->loop, value, where)) ? GEMEL_BAD_ARGUMENT
                                                                           : GEMEL_OK,
              self);
}

/* until(value, file, line) */
static PyObject *loop_until(PyObject *object, PyObject *arguments) {
  loop_object *self = (loop_object *)object;
  gemel_value value;
  gemel_location where;
  if (read_value(arguments, self->body, &value, &where) != 0) {
    return NULL;
  }
  return done(gemel_loop_until_at(self->loop, value, where), self);
}

/* end(length or None, reverse, file, line) */
static PyObject *loop_end(PyObject *object, PyObject *arguments) {
  loop_object *self = (loop_object *)object;
  PyObject *length;
  int reverse;
  gemel_location where;
  gemel_loop_options options = {.size = sizeof options};
  if (!PyArg_ParseTuple(arguments, "Oisi", &length, &reverse, &where.file, &where.line)) {
    return NULL;
  }
  options.reverse = reverse;
  options.length = length != Py_None ? dim_of(length, self->outer) : GEMEL_DIM_NONE;
  return PyErr_Occurred() ? NULL : done(gemel_loop_end_at(self->loop, &options, where), self);
}

static PyMethodDef loop_methods[] = {
    {"state", loop_state, METH_VARARGS, NULL},       {"row", loop_row, METH_VARARGS, NULL},
    {"constant", loop_constant, METH_VARARGS, NULL}, {"next", loop_next, METH_VARARGS, NULL},
    {"stack", loop_stack, METH_VARARGS, NULL},       {"until", loop_until, METH_VARARGS, NULL},
    {"end", loop_end, METH_VARARGS, NULL},           {"last", loop_last, METH_VARARGS, NULL},
    {"stacked", loop_stacked, METH_VARARGS, NULL},   {NULL, NULL, 0, NULL}};
static PyGetSetDef loop_members[] = {{"body", loop_body, NULL, "The graph of a step.", NULL},
                                     {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot loop_slots[] = {{Py_tp_new, (void *)loop_new},
                                   {Py_tp_dealloc, (void *)loop_dealloc},
                                   {Py_tp_traverse, (void *)loop_traverse},
                                   {Py_tp_clear, (void *)loop_clear},
                                   {Py_tp_methods, loop_methods},
                                   {Py_tp_getset, loop_members},
                                   {0, NULL}};
PyType_Spec loop_spec = {"gemel._native.Loop", sizeof(loop_object), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, loop_slots};
