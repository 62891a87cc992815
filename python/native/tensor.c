/* SPDX-License-Identifier: MIT
 *
 * Tensors between gemel and the arrays of Python, in both directions without a copy: by the buffer
 * protocol (NumPy, array, memoryview) and by DLPack (PyTorch, JAX, and bf16, for which buffers have
 * no letter).
 *
 * CPython's limited interface has buffers since 3.11 only. The struct and the three functions are
 * older than that and have not changed, so they are declared here for 3.9 and 3.10.
 */
#include "native.h"
#include <gemel/dlpack.h>
#include <string.h>

#if Py_LIMITED_API < 0x030B0000
typedef struct {
  void *buf;
  PyObject *obj;
  Py_ssize_t len, itemsize;
  int readonly, ndim;
  char *format;
  Py_ssize_t *shape, *strides, *suboffsets;
  void *internal;
} Py_buffer;
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject *object, Py_buffer *view, int flags);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer *view);
#define PyBUF_WRITABLE 0x0001
#define PyBUF_FORMAT 0x0004
#define PyBUF_ND 0x0008
#define PyBUF_STRIDES (0x0010 | PyBUF_ND)
#define PyBUF_C_CONTIGUOUS (0x0020 | PyBUF_STRIDES)
#define PyBUF_F_CONTIGUOUS (0x0040 | PyBUF_STRIDES)
#define PyBUF_ANY_CONTIGUOUS (0x0080 | PyBUF_STRIDES)
#define Py_bf_getbuffer 1
#define Py_bf_releasebuffer 2
#endif

PyObject *wrap_tensor(gemel_tensor *tensor) {
  PyObject *object = new_object(tensor_class);
  if (object == NULL) {
    gemel_tensor_unref(tensor);
    return NULL;
  }
  ((tensor_object *)object)->tensor = tensor;
  return object;
}

static void tensor_dealloc(PyObject *self) {
  gemel_tensor_unref(((tensor_object *)self)->tensor);
  free_object(self);
}

/* ---- From a buffer ---- */

/* The dtype of elements of SIZE bytes that FORMAT names, as struct does; -1: none. */
static int dtype_of_format(const char *format, Py_ssize_t size) {
  const char *native = "@=<|";
  if (format != NULL && format[0] != '\0' && strchr(native, format[0]) != NULL) {
    format++;
  } else if (format != NULL && (format[0] == '>' || format[0] == '!') && size == 1) {
    format++;
  }
  char letter = format == NULL ? 'B' : format[0];
  if (letter == '\0' || (format != NULL && format[1] != '\0')) {
    return -1;
  }
  gemel_kind kind = strchr("bhilqn", letter) != NULL   ? GEMEL_KIND_SIGNED
                    : strchr("BHILQN", letter) != NULL ? GEMEL_KIND_UNSIGNED
                    : strchr("efd", letter) != NULL    ? GEMEL_KIND_FLOAT
                                                       : GEMEL_KIND_BOOL;
  for (int k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    gemel_dtype dtype = (gemel_dtype)k;
    if (dtype != GEMEL_BF16 && gemel_dtype_kind(dtype) == kind &&
        (Py_ssize_t)gemel_dtype_size(dtype) == size && (kind != GEMEL_KIND_BOOL || letter == '?')) {
      return k;
    }
  }
  return -1;
}

/* Gives a buffer back, on whatever thread the last reference to its tensor goes; what the
 * interpreter leaves behind when it ends is the system's. */
static void release_buffer(void *user) {
  Py_buffer *view = user;
  if (Py_IsInitialized()) {
    PyGILState_STATE state = PyGILState_Ensure();
    PyBuffer_Release(view);
    PyMem_Free(view);
    PyGILState_Release(state);
  }
}

/* The sizes and strides of VIEW. An exporter may leave out those of row-major order, and the size
 * of one axis. */
static void read_layout(const Py_buffer *view, int64_t *shape, int64_t *strides) {
  int64_t stride = view->itemsize;
  for (int k = view->ndim - 1; k >= 0; k--) {
    shape[k] = view->shape != NULL ? view->shape[k] : view->len / view->itemsize;
    strides[k] = view->strides != NULL ? view->strides[k] : stride;
    stride *= shape[k];
  }
}

static gemel_tensor *wrap_view(Py_buffer *view, gemel_dtype dtype, gemel_error *error) {
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK];
  read_layout(view, shape, strides);
  return gemel_tensor_wrap(dtype, view->ndim, shape, strides, view->buf, release_buffer, view,
                           error);
}

/* As wrap_view, for elements that aren't aligned: a copy, with VIEW given back. */
static gemel_tensor *copy_view(Py_buffer *view, gemel_dtype dtype, gemel_error *error) {
  size_t size = gemel_dtype_size(dtype);
  gemel_tensor *copy = NULL;
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK], at[GEMEL_MAX_RANK] = {0};
  read_layout(view, shape, strides);
  copy = gemel_tensor_new(dtype, view->ndim, shape, error);
  for (int64_t e = 0; copy != NULL && e < gemel_tensor_elements(copy); e++) {
    const char *from = view->buf;
    for (int k = 0; k < view->ndim; k++) {
      from += at[k] * strides[k];
    }
    memcpy((char *)gemel_tensor_data(copy) + (size_t)e * size, from, size);
    for (int k = view->ndim - 1; k >= 0 && ++at[k] == shape[k]; k--) {
      at[k] = 0;
    }
  }
  if (copy != NULL) {
    release_buffer(view);
  }
  return copy;
}

static int is_aligned(const Py_buffer *view, size_t size) {
  size_t all = (size_t)(uintptr_t)view->buf;
  for (int k = 0; k < view->ndim && view->strides != NULL; k++) {
    all |= (size_t)view->strides[k];
  }
  return all % size == 0;
}

/* VIEW as a tensor that gives it back; NULL with an exception. */
static gemel_tensor *tensor_of_view(Py_buffer *view) {
  int found = dtype_of_format(view->format, view->itemsize);
  gemel_error error = {0};
  if (found < 0) {
    PyErr_Format(PyExc_TypeError, "gemel has no dtype for elements of format '%s'",
                 view->format != NULL ? view->format : "B");
    return NULL;
  }
  if (view->suboffsets != NULL || view->itemsize <= 0 || view->ndim < 0 ||
      (view->shape == NULL && view->ndim > 1)) {
    PyErr_SetString(PyExc_TypeError, "a buffer that isn't one block of elements");
    return NULL;
  }
  if (view->ndim > GEMEL_MAX_RANK) {
    PyErr_Format(PyExc_ValueError, "an array has %d axes; gemel's have at most %d", view->ndim,
                 GEMEL_MAX_RANK);
    return NULL;
  }
  gemel_dtype dtype = (gemel_dtype)found;
  gemel_tensor *tensor = is_aligned(view, gemel_dtype_size(dtype)) ? wrap_view(view, dtype, &error)
                                                                   : copy_view(view, dtype, &error);
  if (tensor == NULL) {
    raise_error(&error);
  }
  return tensor;
}

/* A tensor in the memory of OBJECT, which has the buffer protocol. NULL with an exception. */
static gemel_tensor *from_buffer(PyObject *object, int *read_only) {
  Py_buffer *view = PyMem_Malloc(sizeof *view);
  if (view == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  if (PyObject_GetBuffer(object, view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyMem_Free(view);
    return NULL;
  }
  *read_only = view->readonly;
  gemel_tensor *tensor = tensor_of_view(view);
  if (tensor == NULL) {
    PyBuffer_Release(view);
    PyMem_Free(view);
  }
  return tensor;
}

/* ---- From DLPack ---- */

static const char versioned_name[] = "dltensor_versioned", plain_name[] = "dltensor";

/* The producer's deleter may be Python's: it is called with the interpreter's lock. */
typedef struct locked_pack {
  gemel_dlpack pack; /* what gemel is handed */
  void *managed;     /* the producer's */
  int versioned;
} locked_pack;

static void delete_locked(gemel_dlpack *self) {
  locked_pack *locked = self->manager_ctx;
  if (!Py_IsInitialized()) {
    return;
  }
  PyGILState_STATE state = PyGILState_Ensure();
  if (locked->versioned) {
    gemel_dlpack *managed = locked->managed;
    if (managed->deleter != NULL) {
      managed->deleter(managed);
    }
  } else {
    gemel_dlpack_unversioned *managed = locked->managed;
    if (managed->deleter != NULL) {
      managed->deleter(managed);
    }
  }
  PyMem_Free(locked);
  PyGILState_Release(state);
}

/* The tensor in CAPSULE, which is used up. NULL with an exception. */
static gemel_tensor *from_capsule(PyObject *capsule, int *read_only) {
  int versioned = PyCapsule_IsValid(capsule, versioned_name);
  void *managed = PyCapsule_GetPointer(capsule, versioned ? versioned_name : plain_name);
  locked_pack *locked = managed != NULL ? PyMem_Calloc(1, sizeof *locked) : NULL;
  gemel_error error;
  if (locked == NULL) {
    return managed != NULL ? (gemel_tensor *)PyErr_NoMemory() : NULL;
  }
  if (versioned) {
    locked->pack = *(gemel_dlpack *)managed;
  } else {
    locked->pack.major = 1;
    locked->pack.tensor = ((gemel_dlpack_unversioned *)managed)->tensor;
  }
  locked->pack.manager_ctx = locked;
  locked->pack.deleter = delete_locked;
  locked->managed = managed;
  locked->versioned = versioned;
  gemel_tensor *tensor = gemel_tensor_from_dlpack(&locked->pack, &error);
  if (tensor == NULL) {
    PyMem_Free(locked);
    return (gemel_tensor *)raise_error(&error);
  }
  *read_only = (locked->pack.flags & GEMEL_DLPACK_READ_ONLY) != 0;
  PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor");
  return tensor;
}

/* OBJECT.__dlpack__(max_version=(1, 0)), or without where the producer is older. */
static PyObject *ask_capsule(PyObject *object) {
  PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
  PyObject *arguments = method != NULL ? PyTuple_New(0) : NULL;
  PyObject *options = arguments != NULL ? Py_BuildValue("{s:(ii)}", "max_version", 1, 0) : NULL;
  PyObject *capsule = options != NULL ? PyObject_Call(method, arguments, options) : NULL;
  if (capsule == NULL && options != NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    capsule = PyObject_CallObject(method, NULL);
  }
  Py_XDECREF(method);
  Py_XDECREF(arguments);
  Py_XDECREF(options);
  return capsule;
}

static gemel_tensor *from_dlpack(PyObject *object, int *read_only) {
  PyObject *capsule = ask_capsule(object);
  gemel_tensor *tensor = capsule != NULL ? from_capsule(capsule, read_only) : NULL;
  Py_XDECREF(capsule);
  return tensor;
}

/* Tensor(object): in the memory of an array. */
static PyObject *tensor_new(PyTypeObject *type, PyObject *arguments, PyObject *options) {
  static char *names[] = {"array", NULL};
  PyObject *object;
  if (!PyArg_ParseTupleAndKeywords(arguments, options, "O", names, &object)) {
    return NULL;
  }
  gemel_tensor *tensor = NULL;
  int read_only = 0;
  if (PyObject_TypeCheck(object, tensor_type)) {
    tensor = gemel_tensor_ref(((tensor_object *)object)->tensor);
    read_only = ((tensor_object *)object)->read_only;
  } else {
    int lends = PyObject_HasAttrString(object, "__dlpack__"); /* which forgets an exception */
    tensor = from_buffer(object, &read_only);
    if (tensor == NULL && lends) {
      PyErr_Clear();
      tensor = from_dlpack(object, &read_only);
    }
  }
  PyObject *made = tensor != NULL ? new_object(type) : NULL;
  if (made == NULL) {
    gemel_tensor_unref(tensor);
    return NULL;
  }
  ((tensor_object *)made)->tensor = tensor;
  ((tensor_object *)made)->read_only = read_only;
  return made;
}

gemel_tensor *tensor_of(PyObject *object) {
  if (PyObject_TypeCheck(object, tensor_type)) {
    return gemel_tensor_ref(((tensor_object *)object)->tensor);
  }
  PyObject *made = PyObject_CallFunctionObjArgs(as_tensor_function, object, NULL);
  gemel_tensor *tensor = NULL;
  if (made != NULL && !PyObject_TypeCheck(made, tensor_type)) {
    PyErr_SetString(PyExc_TypeError, "no array");
  } else if (made != NULL) {
    tensor = gemel_tensor_ref(((tensor_object *)made)->tensor);
  }
  Py_XDECREF(made);
  return tensor;
}

/* ---- To a buffer ---- */

/* Of each dtype the letter that struct has for it. */
static const char *format_of(gemel_dtype dtype) {
  static const char *const signed_formats[] = {"b", "h", "i", "q"},
                           *const unsigned_formats[] = {"B", "H", "I", "Q"},
                           *const float_formats[] = {NULL, "e", "f", "d"};
  size_t size = gemel_dtype_size(dtype);
  int k = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
  switch (gemel_dtype_kind(dtype)) {
  case GEMEL_KIND_BOOL:
    return "?";
  case GEMEL_KIND_SIGNED:
    return signed_formats[k];
  case GEMEL_KIND_UNSIGNED:
    return unsigned_formats[k];
  case GEMEL_KIND_FLOAT:
    return dtype == GEMEL_BF16 ? NULL : float_formats[k];
  }
  return NULL;
}

/* 1 if the elements lie in row-major order without gaps. */
static int is_row_major(const gemel_view *view) {
  int64_t stride = (int64_t)gemel_dtype_size(view->dtype);
  for (int k = view->rank - 1; k >= 0; k--) {
    if (view->shape[k] > 1 && view->strides[k] != stride) {
      return 0;
    }
    stride *= view->shape[k];
  }
  return 1;
}

static int tensor_getbuffer(PyObject *self, Py_buffer *buffer, int flags) {
  gemel_tensor *tensor = ((tensor_object *)self)->tensor;
  gemel_view view = gemel_tensor_view(tensor);
  const char *format = format_of(view.dtype);
  size_t size = gemel_dtype_size(view.dtype);
  int plain = is_row_major(&view);
  int asks_order = (flags & PyBUF_STRIDES) != PyBUF_STRIDES ||
                   (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
                   (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
  buffer->obj = NULL;
  if ((flags & PyBUF_WRITABLE) != 0 && ((tensor_object *)self)->read_only) {
    PyErr_SetString(PyExc_BufferError, "the tensor is not to be written to");
    return -1;
  }
  if (format == NULL) {
    PyErr_SetString(PyExc_BufferError,
                    "bf16 has no letter among buffers: use DLPack, or cast it to f32");
    return -1;
  }
  if ((asks_order && !plain) ||
      ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && view.rank > 1)) {
    PyErr_SetString(PyExc_BufferError, "the tensor doesn't lie in that order");
    return -1;
  }
  Py_ssize_t *sizes = PyMem_Malloc((size_t)(2 * view.rank + 1) * sizeof *sizes);
  if (sizes == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  for (int k = 0; k < view.rank; k++) {
    sizes[k] = (Py_ssize_t)view.shape[k];
    sizes[view.rank + k] = (Py_ssize_t)view.strides[k];
  }
  *buffer =
      (Py_buffer){.buf = view.data,
                  .len = (Py_ssize_t)((size_t)gemel_tensor_elements(tensor) * size),
                  .itemsize = (Py_ssize_t)size,
                  .readonly = ((tensor_object *)self)->read_only,
                  .ndim = view.rank,
                  .format = (flags & PyBUF_FORMAT) != 0 ? (char *)(uintptr_t)format : NULL,
                  .shape = (flags & PyBUF_ND) != 0 ? sizes : NULL,
                  .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? sizes + view.rank : NULL,
                  .internal = sizes};
  Py_INCREF(self);
  buffer->obj = self;
  return 0;
}

static void tensor_releasebuffer(PyObject *self, Py_buffer *buffer) {
  (void)self;
  PyMem_Free(buffer->internal);
}

/* ---- To DLPack ---- */

static void free_versioned(PyObject *capsule) {
  gemel_dlpack *pack = PyCapsule_IsValid(capsule, versioned_name)
                           ? PyCapsule_GetPointer(capsule, versioned_name)
                           : NULL;
  if (pack != NULL && pack->deleter != NULL) {
    pack->deleter(pack);
  }
}

static void free_plain(PyObject *capsule) {
  gemel_dlpack_unversioned *pack =
      PyCapsule_IsValid(capsule, plain_name) ? PyCapsule_GetPointer(capsule, plain_name) : NULL;
  if (pack != NULL && pack->deleter != NULL) {
    pack->deleter(pack);
  }
}

static PyObject *lend_versioned(gemel_tensor *tensor, int read_only) {
  gemel_error error;
  gemel_dlpack *pack =
      gemel_tensor_to_dlpack(tensor, read_only ? GEMEL_DLPACK_READ_ONLY : 0, &error);
  PyObject *capsule =
      pack != NULL ? PyCapsule_New(pack, versioned_name, free_versioned) : raise_error(&error);
  if (capsule == NULL && pack != NULL) {
    pack->deleter(pack);
  }
  return capsule;
}

static PyObject *lend_plain(gemel_tensor *tensor) {
  gemel_error error;
  gemel_dlpack_unversioned *pack = gemel_tensor_to_dlpack_unversioned(tensor, &error);
  PyObject *capsule =
      pack != NULL ? PyCapsule_New(pack, plain_name, free_plain) : raise_error(&error);
  if (capsule == NULL && pack != NULL) {
    pack->deleter(pack);
  }
  return capsule;
}

/* As the array API says: a newer producer's keywords, of which the stream must be none. */
static PyObject *tensor_dlpack(PyObject *self, PyObject *arguments, PyObject *options) {
  static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copied = Py_None;
  gemel_tensor *tensor = ((tensor_object *)self)->tensor;
  int major = 0, minor = 0, type = GEMEL_DLPACK_CPU, number = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, options, "|$OOOO", names, &stream, &version, &device,
                                   &copied)) {
    return NULL;
  }
  if ((version != Py_None && !PyTuple_Check(version)) ||
      (device != Py_None && !PyTuple_Check(device))) {
    PyErr_SetString(PyExc_TypeError, "max_version and dl_device are pairs of integers");
    return NULL;
  }
  if ((version != Py_None && !PyArg_ParseTuple(version, "ii", &major, &minor)) ||
      (device != Py_None && !PyArg_ParseTuple(device, "ii", &type, &number))) {
    return NULL;
  }
  if (stream != Py_None || copied == Py_True || type != GEMEL_DLPACK_CPU) {
    PyErr_SetString(PyExc_BufferError, "gemel lends its tensors as they are, on the host");
    return NULL;
  }
  int read_only = ((tensor_object *)self)->read_only;
  if (read_only && major < 1) {
    PyErr_SetString(PyExc_BufferError,
                    "the tensor is not to be written to, which DLPack can't say before version 1");
    return NULL;
  }
  return major >= 1 ? lend_versioned(tensor, read_only) : lend_plain(tensor);
}

static PyObject *tensor_dlpack_device(PyObject *self, PyObject *nothing) {
  (void)self;
  (void)nothing;
  return Py_BuildValue("(ii)", GEMEL_DLPACK_CPU, 0);
}

/* ---- What is known of it ---- */

static PyObject *tensor_dtype(PyObject *self, void *closure) {
  (void)closure;
  return PyUnicode_FromString(
      gemel_dtype_name(gemel_tensor_dtype(((tensor_object *)self)->tensor)));
}

static PyObject *tensor_shape(PyObject *self, void *closure) {
  (void)closure;
  gemel_view view = gemel_tensor_view(((tensor_object *)self)->tensor);
  PyObject *shape = PyTuple_New(view.rank);
  for (int k = 0; shape != NULL && k < view.rank; k++) {
    PyTuple_SetItem(shape, k, PyLong_FromLongLong(view.shape[k]));
  }
  return shape;
}

/* The elements' bits as a tensor of another dtype of as many bits, in the same memory. */
static PyObject *tensor_bits(PyObject *self, PyObject *name) {
  gemel_tensor *tensor = ((tensor_object *)self)->tensor;
  gemel_view view = gemel_tensor_view(tensor);
  gemel_error error;
  gemel_dtype dtype;
  if (dtype_of(name, &dtype) != 0) {
    return NULL;
  }
  if (gemel_dtype_size(dtype) != gemel_dtype_size(view.dtype)) {
    PyErr_SetString(PyExc_ValueError, "dtypes of as many bits");
    return NULL;
  }
  gemel_tensor *made =
      gemel_tensor_wrap(dtype, view.rank, view.shape, view.strides, view.data,
                        (void (*)(void *))gemel_tensor_unref, gemel_tensor_ref(tensor), &error);
  if (made == NULL) {
    gemel_tensor_unref(tensor);
    return raise_error(&error);
  }
  PyObject *object = wrap_tensor(made);
  if (object != NULL) {
    ((tensor_object *)object)->read_only = ((tensor_object *)self)->read_only;
  }
  return object;
}

/* tensor_of_bytes(dtype, shape, bytes): a tensor of a copy of the bytes. */
PyObject *tensor_of_bytes(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *name, *sizes;
  char *bytes;
  Py_ssize_t length;
  gemel_dtype dtype;
  size_t rank;
  gemel_error error;
  if (!PyArg_ParseTuple(arguments, "OOy#", &name, &sizes, &bytes, &length) ||
      dtype_of(name, &dtype) != 0) {
    return NULL;
  }
  int64_t *shape = ints_of(sizes, &rank);
  gemel_tensor *tensor = shape != NULL ? gemel_tensor_new(dtype, (int)rank, shape, &error) : NULL;
  PyMem_Free(shape);
  if (tensor == NULL) {
    return shape != NULL ? raise_error(&error) : NULL;
  }
  if ((size_t)length != (size_t)gemel_tensor_elements(tensor) * gemel_dtype_size(dtype)) {
    gemel_tensor_unref(tensor);
    PyErr_SetString(PyExc_ValueError, "the bytes aren't those of that shape");
    return NULL;
  }
  memcpy(gemel_tensor_data(tensor), bytes, (size_t)length);
  return wrap_tensor(tensor);
}

static PyMethodDef tensor_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack, METH_VARARGS | METH_KEYWORDS,
     "The tensor for another library, without a copy."},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, "Where it lies: the host."},
    {"view", tensor_bits, METH_O, "The same memory as elements of another dtype of as many bits."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef tensor_members[] = {
    {"dtype", tensor_dtype, NULL, "The dtype's name, as \"f32\".", NULL},
    {"shape", tensor_shape, NULL, "The sizes.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot tensor_slots[] = {{Py_tp_dealloc, (void *)tensor_dealloc},
                                     {Py_tp_new, (void *)tensor_new},
                                     {Py_tp_methods, tensor_methods},
                                     {Py_tp_getset, tensor_members},
                                     {Py_bf_getbuffer, (void *)tensor_getbuffer},
                                     {Py_bf_releasebuffer, (void *)tensor_releasebuffer},
                                     {0, NULL}};
PyType_Spec tensor_spec = {"gemel._native.Tensor", sizeof(tensor_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, tensor_slots};
