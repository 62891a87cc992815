/* SPDX-License-Identifier: MIT
 *
 * cuDNN's backend API by its own names, for graphs of one convolution. A descriptor is a kind and
 * the values of its attributes; a table says which attributes a kind has, of which type and how
 * many, and what the library says to others. What a finished descriptor must be, the functions
 * finish_... say, as NVIDIA's does; descriptors that another one needs must stay until it is
 * destroyed. There are engines that compute plainly and others that don't, offered in an order of
 * the seed's, and some that turn out to do nothing: who doesn't read their notes gets wrong
 * results. Every byte is checked when the convolution runs, and the workspace is written all over.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cudnn.h>
#include "sim/conv.h"
#include "sim/inside.h"

enum { MOST_VALUES = 9, ATTRIBUTES = 7, LEAST_ALIGNMENT = 256, OPERANDS = 3, AXES = 6 };

struct cudnnContext {
  int device;
  cudaStream_t stream;
  cudnnHandle_t next;
};

typedef union {
  int64_t number;
  double real;
  void *pointer;
} attribute_value;

typedef struct {
  int count; /* 0: not set */
  attribute_value values[MOST_VALUES];
} attribute;

typedef struct descriptor descriptor;
struct descriptor {
  cudnnBackendDescriptorType_t kind;
  bool finished, destroyed;
  int references; /* by others */
  attribute attributes[ATTRIBUTES];
  int engine;      /* of an engine, a configuration, a plan */
  int offered[16]; /* of a heuristic: engines */
  int offers;
  int64_t workspace;       /* of a plan, bytes */
  const descriptor *graph; /* of an engine, a configuration, a plan */
  descriptor *next;
};

static cudnnHandle_t handles;
static descriptor *descriptors;

/* ---- Statuses ---- */

const char *cudnnGetErrorString(cudnnStatus_t status) {
#define TEXT(name)                                                                                 \
  case CUDNN_STATUS_##name:                                                                        \
    return "CUDNN_STATUS_" #name;
  switch (status) {
    TEXT(SUCCESS)
    TEXT(NOT_INITIALIZED)
    TEXT(BAD_PARAM)
    TEXT(BAD_PARAM_NULL_POINTER)
    TEXT(BAD_PARAM_MISALIGNED_POINTER)
    TEXT(BAD_PARAM_NOT_FINALIZED)
    TEXT(BAD_PARAM_ATTRIBUTE_TYPE)
    TEXT(NOT_SUPPORTED)
    TEXT(INTERNAL_ERROR)
    TEXT(INTERNAL_ERROR_HOST_ALLOCATION_FAILED)
    TEXT(INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
    TEXT(EXECUTION_FAILED)
  }
#undef TEXT
  return "CUDNN_UNKNOWN_STATUS";
}

static cudnnStatus_t status_of(cudaError_t error) {
  return error == cudaSuccess                 ? CUDNN_STATUS_SUCCESS
         : error == cudaErrorMemoryAllocation ? CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED
                                              : CUDNN_STATUS_EXECUTION_FAILED;
}

static cudnnStatus_t leave(cudnnStatus_t status) {
  cudaError_t error = gemel__sim_leave(cudaSuccess);
  return status == CUDNN_STATUS_SUCCESS ? status_of(error) : status;
}

static cudnnStatus_t refuse(cudnnStatus_t status, const char *what, long long got) {
  gemel__sim_say(GEMEL__SIM_PARAMETER, (gemel__sim_place){NULL, NULL, 0}, "cuDNN: %s: %lld", what,
                 got);
  return status;
}

static cudnnStatus_t bad(const char *what, long long got) {
  return refuse(CUDNN_STATUS_BAD_PARAM, what, got);
}

/* ---- Handles ---- */

/* Of the current device. */
static bool is_handle(cudnnHandle_t handle) {
  for (cudnnHandle_t h = handles; h != NULL; h = h->next)
    if (h == handle)
      return h->device == gemel__sim_device;
  return false;
}

/* With GEMEL_SIM_CUDNN=no there is none, as on a machine that lacks the library's parts. */
cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  const char *wanted = getenv("GEMEL_SIM_CUDNN");
  if (handle == NULL)
    return CUDNN_STATUS_BAD_PARAM;
  if (wanted != NULL && strcmp(wanted, "no") == 0)
    return CUDNN_STATUS_NOT_INITIALIZED;
  cudnnStatus_t status = status_of(gemel__sim_enter(GEMEL__SIM_MAKES));
  cudnnHandle_t made = status == CUDNN_STATUS_SUCCESS ? calloc(1, sizeof *made) : NULL;
  if (status == CUDNN_STATUS_SUCCESS && made == NULL)
    status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  if (status == CUDNN_STATUS_SUCCESS) {
    made->device = gemel__sim_device;
    made->next = handles;
    handles = *handle = made;
    gemel__sim_here.handles++;
  }
  return leave(status);
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  cudnnHandle_t *link = &handles;
  cudnnStatus_t status = status_of(gemel__sim_enter(GEMEL__SIM_FREES));
  if (status == CUDNN_STATUS_SUCCESS && handle != NULL && !is_handle(handle))
    status = bad("cudnnDestroy: no handle of this device", (long long)(intptr_t)handle);
  if (status == CUDNN_STATUS_SUCCESS && handle != NULL) {
    while (*link != handle)
      link = &(*link)->next;
    *link = handle->next;
    free(handle);
    gemel__sim_here.handles--;
  }
  return leave(status);
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  cudnnStatus_t status = status_of(gemel__sim_enter(GEMEL__SIM_ASKS));
  if (status == CUDNN_STATUS_SUCCESS && !is_handle(handle))
    status = bad("cudnnSetStream: no handle of this device", (long long)(intptr_t)handle);
  if (status == CUDNN_STATUS_SUCCESS && !gemel__sim_is_here(stream))
    status = bad("cudnnSetStream: not a stream of this device", (long long)(intptr_t)stream);
  if (status == CUDNN_STATUS_SUCCESS)
    handle->stream = stream;
  return leave(status);
}

/* ---- Attributes ---- */

#define KIND(name) CUDNN_BACKEND_##name##_DESCRIPTOR
#define STATUS(name) CUDNN_STATUS_##name

/* An attribute, which stands in a descriptor where its row does among those of its KIND. TYPE ...
 * MANY: what the library says to another type, and to fewer or more values than it takes. */
typedef struct {
  cudnnBackendDescriptorType_t kind;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int most;
  cudnnStatus_t other_type, few, many;
} attribute_row;

#define ROW(kind, name, type, most, other, few, many)                                              \
  {                                                                                                \
    KIND(kind), CUDNN_ATTR_##name, CUDNN_TYPE_##type, most, STATUS(other), STATUS(few),            \
        STATUS(many)                                                                               \
  }
#define BAD_TYPE BAD_PARAM_ATTRIBUTE_TYPE
static const attribute_row rows[] = {
    ROW(TENSOR, TENSOR_DATA_TYPE, DATA_TYPE, 1, BAD_TYPE, BAD_PARAM, BAD_PARAM),
    ROW(TENSOR, TENSOR_DIMENSIONS, INT64, MOST_VALUES, BAD_TYPE, BAD_PARAM, BAD_PARAM),
    ROW(TENSOR, TENSOR_STRIDES, INT64, MOST_VALUES, BAD_TYPE, BAD_PARAM, BAD_PARAM),
    ROW(TENSOR, TENSOR_UNIQUE_ID, INT64, 1, BAD_TYPE, BAD_PARAM, BAD_PARAM),
    ROW(TENSOR, TENSOR_BYTE_ALIGNMENT, INT64, 1, BAD_TYPE, BAD_PARAM, BAD_PARAM),
    ROW(CONVOLUTION, CONVOLUTION_SPATIAL_DIMS, INT64, 1, BAD_PARAM, BAD_PARAM, BAD_PARAM),
    ROW(CONVOLUTION, CONVOLUTION_COMP_TYPE, DATA_TYPE, 1, BAD_TYPE, BAD_PARAM, BAD_PARAM),
    ROW(CONVOLUTION, CONVOLUTION_CONV_MODE, CONVOLUTION_MODE, 1, BAD_TYPE, BAD_PARAM, BAD_PARAM),
    ROW(CONVOLUTION, CONVOLUTION_DILATIONS, INT64, MOST_VALUES, BAD_TYPE, BAD_PARAM, BAD_PARAM),
    ROW(CONVOLUTION, CONVOLUTION_FILTER_STRIDES, INT64, MOST_VALUES, BAD_TYPE, BAD_PARAM,
        BAD_PARAM),
    ROW(CONVOLUTION, CONVOLUTION_PRE_PADDINGS, INT64, MOST_VALUES, BAD_TYPE, BAD_PARAM, BAD_PARAM),
    ROW(CONVOLUTION, CONVOLUTION_POST_PADDINGS, INT64, MOST_VALUES, BAD_TYPE, BAD_PARAM, BAD_PARAM),
/* X, W and Y, the convolution, alpha and beta. */
#define OPERATION(kind, prefix, x, w, y, x_type, x_few, scalar_type)                               \
  ROW(OPERATION_CONVOLUTION_##kind, OPERATION_CONVOLUTION_##prefix##_##x, BACKEND_DESCRIPTOR, 1,   \
      x_type, x_few, NOT_SUPPORTED),                                                               \
      ROW(OPERATION_CONVOLUTION_##kind, OPERATION_CONVOLUTION_##prefix##_##w, BACKEND_DESCRIPTOR,  \
          1, BAD_PARAM, BAD_PARAM, NOT_SUPPORTED),                                                 \
      ROW(OPERATION_CONVOLUTION_##kind, OPERATION_CONVOLUTION_##prefix##_##y, BACKEND_DESCRIPTOR,  \
          1, BAD_PARAM, BAD_PARAM, NOT_SUPPORTED),                                                 \
      ROW(OPERATION_CONVOLUTION_##kind, OPERATION_CONVOLUTION_##prefix##_CONV_DESC,                \
          BACKEND_DESCRIPTOR, 1, BAD_PARAM, BAD_PARAM, NOT_SUPPORTED),                             \
      ROW(OPERATION_CONVOLUTION_##kind, OPERATION_CONVOLUTION_##prefix##_ALPHA, DOUBLE, 1,         \
          scalar_type, BAD_PARAM, BAD_PARAM),                                                      \
      ROW(OPERATION_CONVOLUTION_##kind, OPERATION_CONVOLUTION_##prefix##_BETA, DOUBLE, 1,          \
          scalar_type, BAD_PARAM, BAD_PARAM)
    OPERATION(FORWARD, FORWARD, X, W, Y, BAD_PARAM, BAD_PARAM, BAD_PARAM),
    OPERATION(BACKWARD_FILTER, BWD_FILTER, X, DW, DY, BAD_TYPE, NOT_SUPPORTED, BAD_PARAM),
    OPERATION(BACKWARD_DATA, BWD_DATA, DX, W, DY, BAD_PARAM, BAD_PARAM, NOT_SUPPORTED),
#undef OPERATION
    ROW(OPERATIONGRAPH, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 1, BAD_TYPE, SUCCESS,
        NOT_SUPPORTED),
    ROW(OPERATIONGRAPH, OPERATIONGRAPH_HANDLE, HANDLE, 1, NOT_INITIALIZED, BAD_PARAM, BAD_PARAM),
    ROW(ENGINEHEUR, ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR, 1, BAD_TYPE, BAD_PARAM,
        BAD_PARAM),
    ROW(ENGINEHEUR, ENGINEHEUR_MODE, HEUR_MODE, 1, BAD_TYPE, BAD_PARAM, BAD_PARAM),
    ROW(EXECUTION_PLAN, EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR, 1, BAD_TYPE,
        NOT_SUPPORTED, NOT_SUPPORTED),
    ROW(EXECUTION_PLAN, EXECUTION_PLAN_HANDLE, HANDLE, 1, NOT_INITIALIZED, BAD_PARAM, BAD_PARAM),
    ROW(VARIANT_PACK, VARIANT_PACK_UNIQUE_IDS, INT64, MOST_VALUES, NOT_SUPPORTED, BAD_PARAM,
        BAD_PARAM),
    ROW(VARIANT_PACK, VARIANT_PACK_DATA_POINTERS, VOID_PTR, MOST_VALUES, NOT_SUPPORTED, BAD_PARAM,
        BAD_PARAM),
    ROW(VARIANT_PACK, VARIANT_PACK_WORKSPACE, VOID_PTR, 1, NOT_SUPPORTED, BAD_PARAM, BAD_PARAM),
};
/* Where they stand in a descriptor. */
enum { TYPE, DIMS, STRIDES, ID, ALIGNMENT };               /* of a tensor */
enum { RANK, COMPUTE, MODE, DILATIONS, STEPS, LOW, HIGH }; /* of a convolution */
enum { X, W, Y, CONVOLUTION, ALPHA, BETA };                /* of an operation */
enum { OPERATION, GRAPH_HANDLE, GRAPH = 0, HEURISTIC, CONFIG = 0, PLAN_HANDLE };
enum { IDS, POINTERS, WORKSPACE };

static const attribute_row *find_row(const descriptor *d, cudnnBackendAttributeName_t name,
                                     int *place) {
  *place = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].kind == d->kind && rows[i].name == name)
      return &rows[i];
    *place += rows[i].kind == d->kind;
  }
  return NULL;
}

static bool is_operation(const descriptor *d) {
  return d->kind == KIND(OPERATION_CONVOLUTION_FORWARD) ||
         d->kind == KIND(OPERATION_CONVOLUTION_BACKWARD_FILTER) ||
         d->kind == KIND(OPERATION_CONVOLUTION_BACKWARD_DATA);
}

static void *pointer(const descriptor *d, int place) {
  return d->attributes[place].count > 0 ? d->attributes[place].values[0].pointer : NULL;
}

static const descriptor *get(const descriptor *d, int place) {
  return pointer(d, place);
}

static int64_t number(const descriptor *d, int place, int64_t otherwise) {
  return d->attributes[place].count > 0 ? d->attributes[place].values[0].number : otherwise;
}

/* ---- Descriptors ---- */

static bool is_descriptor(const void *pointer) {
  for (const descriptor *d = descriptors; d != NULL; d = d->next)
    if (d == pointer && !d->destroyed)
      return true;
  return false;
}

static bool is_known(cudnnBackendDescriptorType_t kind) {
  bool known = kind == KIND(ENGINE) || kind == KIND(ENGINECFG);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    known |= rows[i].kind == kind;
  return known;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t kind,
                                           cudnnBackendDescriptor_t *to) {
  cudnnStatus_t status = status_of(gemel__sim_enter(GEMEL__SIM_MAKES));
  descriptor *made = NULL;
  if (status == CUDNN_STATUS_SUCCESS && (to == NULL || !is_known(kind)))
    status = refuse(CUDNN_STATUS_NOT_SUPPORTED, "a descriptor of kind", kind);
  if (status == CUDNN_STATUS_SUCCESS && (made = calloc(1, sizeof *made)) == NULL)
    status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  if (status == CUDNN_STATUS_SUCCESS) {
    made->kind = kind;
    made->next = descriptors;
    descriptors = made;
    *to = made;
    gemel__sim_here.handles++;
  }
  return leave(status);
}

static void drop(descriptor *d);

static void unref(descriptor *d) {
  d->references--;
  if (d->destroyed && d->references == 0)
    drop(d);
}

static void drop(descriptor *d) {
  descriptor **link = &descriptors;
  while (*link != d)
    link = &(*link)->next;
  *link = d->next;
  for (size_t i = 0, place = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].kind == d->kind && rows[i].type == CUDNN_TYPE_BACKEND_DESCRIPTOR &&
        d->attributes[place].count > 0)
      unref(d->attributes[place].values[0].pointer);
    place += rows[i].kind == d->kind;
  }
  if (d->graph != NULL)
    unref((descriptor *)(uintptr_t)d->graph);
  free(d);
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t which) {
  cudnnStatus_t status = status_of(gemel__sim_enter(GEMEL__SIM_FREES));
  descriptor *d = which;
  if (status == CUDNN_STATUS_SUCCESS && which == NULL)
    status = CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (status == CUDNN_STATUS_SUCCESS && !is_descriptor(which))
    status = bad("no descriptor, or one that was destroyed", (long long)(intptr_t)which);
  if (status == CUDNN_STATUS_SUCCESS) {
    gemel__sim_here.handles--;
    d->destroyed = true;
    d->references++;
    unref(d);
  }
  return leave(status);
}

/* Element K of what the user hands over. */
static attribute_value value_at(cudnnBackendAttributeType_t type, const void *values, int64_t k) {
  switch (type) {
  case CUDNN_TYPE_INT64:
    return (attribute_value){.number = ((const int64_t *)values)[k]};
  case CUDNN_TYPE_FLOAT:
    return (attribute_value){.real = ((const float *)values)[k]};
  case CUDNN_TYPE_DOUBLE:
    return (attribute_value){.real = ((const double *)values)[k]};
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return (attribute_value){.pointer = ((void *const *)values)[k]};
  default: /* enumerations */
    return (attribute_value){.number = ((const int *)values)[k]};
  }
}

/* Whether ROW, whose scalars may come as f32 or f64, takes TYPE. */
static bool takes(const attribute_row *row, cudnnBackendAttributeType_t type) {
  return row->type == type || (row->type == CUDNN_TYPE_DOUBLE && type == CUDNN_TYPE_FLOAT);
}

/* Which kind of descriptor an attribute refers to. NVIDIA's library doesn't look, and crashes. */
static bool refers_to(const attribute_row *row, int place, const descriptor *d) {
  const descriptor owner = {.kind = row->kind};
  return is_operation(&owner) ? d->kind == (place == CONVOLUTION ? KIND(CONVOLUTION) : KIND(TENSOR))
         : row->kind == KIND(OPERATIONGRAPH) ? is_operation(d)
         : row->kind == KIND(ENGINEHEUR)     ? d->kind == KIND(OPERATIONGRAPH)
                                             : d->kind == KIND(ENGINECFG);
}

static cudnnStatus_t set(descriptor *d, const attribute_row *row, int place, int64_t count,
                         cudnnBackendAttributeType_t type, const void *values) {
  attribute made = {.count = (int)count};
  for (int64_t k = 0; k < count; k++)
    made.values[k] = value_at(type, values, k);
  descriptor *referred = made.values[0].pointer;
  if (row->type == CUDNN_TYPE_HANDLE && !is_handle(made.values[0].pointer))
    return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no handle", row->name);
  if (row->type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    if (!is_descriptor(referred) || !refers_to(row, place, referred))
      return bad("what an attribute refers to is no such descriptor; attribute", row->name);
    if (row->kind == KIND(OPERATIONGRAPH) && !referred->finished)
      return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "an operation that isn't finalized", 0);
    referred->references++;
    if (d->attributes[place].count > 0)
      unref(d->attributes[place].values[0].pointer);
  }
  d->attributes[place] = made;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t which,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *values) {
  cudnnStatus_t status = status_of(gemel__sim_enter(GEMEL__SIM_ASKS));
  descriptor *d = which;
  int place;
  if (status != CUDNN_STATUS_SUCCESS)
    return leave(status);
  if (which == NULL)
    return leave(CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  if (!is_descriptor(which))
    return leave(bad("no descriptor", (long long)(intptr_t)which));
  const attribute_row *row = find_row(d, name, &place);
  if (d->finished)
    status = bad("a finalized descriptor is given attribute", name);
  else if (row == NULL)
    status = d->kind == KIND(OPERATION_CONVOLUTION_BACKWARD_FILTER)
                 ? refuse(CUDNN_STATUS_NOT_SUPPORTED, "another descriptor's attribute", name)
                 : bad("another descriptor's attribute", name);
  else if (!takes(row, type))
    status = refuse(row->other_type, "another type is wanted for attribute", name);
  else if (count < 1 || count > row->most)
    status = refuse(count < 1 ? row->few : row->many, "so many values are not wanted", count);
  else if (values == NULL)
    status = bad("no values for attribute", name);
  else
    status = set(d, row, place, count, type, values);
  return leave(status);
}

/* ---- What a finished descriptor is ---- */

static cudaDataType element_type(int64_t type) {
  return type == CUDNN_DATA_HALF       ? CUDA_R_16F
         : type == CUDNN_DATA_BFLOAT16 ? CUDA_R_16BF
         : type == CUDNN_DATA_DOUBLE   ? CUDA_R_64F
                                       : CUDA_R_32F;
}

static cudnnStatus_t finish_tensor(const descriptor *d) {
  const attribute *dims = &d->attributes[DIMS], *strides = &d->attributes[STRIDES];
  int64_t alignment = number(d, ALIGNMENT, 0);
  size_t size = gemel__sim_size_of(element_type(number(d, TYPE, CUDNN_DATA_FLOAT)));
  if (dims->count == 0 || dims->count != strides->count || dims->count > GEMEL__SIM_DIMS)
    return bad("a tensor's dimensions and strides are not as many; strides", strides->count);
  for (int k = 0; k < dims->count; k++)
    if (dims->values[k].number < 0 || strides->values[k].number < 0)
      return bad("a tensor's dimension or stride is negative; axis", k);
  if (alignment <= 0 || alignment % (int64_t)size != 0)
    return bad("a tensor's alignment", alignment);
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t finish_convolution(const descriptor *d) {
  static const int wanted[] = {DILATIONS, STEPS, LOW, HIGH};
  int64_t rank = number(d, RANK, 0);
  if (rank < 1 || rank > AXES)
    return bad("spatial axes of a convolution", rank);
  for (int i = 0; i < 4; i++) {
    const attribute *a = &d->attributes[wanted[i]];
    bool padding = wanted[i] == LOW || wanted[i] == HIGH;
    if (a->count != rank && !(padding && a->count == 0))
      return bad("a convolution has so many strides, dilations or paddings", a->count);
    for (int k = 0; k < a->count; k++)
      if (a->values[k].number < !padding)
        return bad("a stride, dilation or padding", a->values[k].number);
  }
  return CUDNN_STATUS_SUCCESS;
}

static gemel__sim_tensor tensor_of(const descriptor *d) {
  gemel__sim_tensor t = {.type = element_type(number(d, TYPE, CUDNN_DATA_FLOAT)),
                         .rank = d->attributes[DIMS].count};
  for (int k = 0; k < t.rank; k++) {
    t.dims[k] = d->attributes[DIMS].values[k].number;
    t.strides[k] = d->attributes[STRIDES].values[k].number;
  }
  return t;
}

/* Padding that wasn't said is none. */
static int64_t entry(const descriptor *convolution, int place, int k) {
  const attribute *a = &convolution->attributes[place];
  return k < a->count ? a->values[k].number : 0;
}

/* Whether elements may lie in one place: going by strides, an axis must step over all of the one
 * before. Strides of 0, and those of axes of size 1, don't count. */
static bool overlaps(const gemel__sim_tensor *t) {
  int64_t reach = 0;
  bool done[GEMEL__SIM_DIMS] = {false};
  for (int n = 0; n < t->rank; n++) {
    int least = -1;
    for (int k = 0; k < t->rank; k++)
      if (!done[k] && (least < 0 || t->strides[k] < t->strides[least] ||
                       (t->strides[k] == t->strides[least] && t->dims[k] < t->dims[least])))
        least = k;
    done[least] = true;
    if (t->dims[least] < 2 || t->strides[least] == 0)
      continue;
    if (t->strides[least] < reach)
      return true;
    reach = t->strides[least] * t->dims[least];
  }
  return false;
}

/* Whether elements lie one behind the other, in any order of the axes. */
static bool is_dense(const gemel__sim_tensor *t) {
  int64_t last = 0, count = 1;
  for (int k = 0; k < t->rank; k++) {
    last += (t->dims[k] - 1) * t->strides[k];
    count *= t->dims[k];
  }
  return last + 1 == count;
}

/* The axes of x, w and y beside each other. */
static cudnnStatus_t check_shapes(const descriptor *d, const gemel__sim_tensor *x,
                                  const gemel__sim_tensor *w, const gemel__sim_tensor *y) {
  const descriptor *c = get(d, CONVOLUTION);
  int axes = (int)number(c, RANK, 0);
  if (x->rank != axes + 2 || w->rank != axes + 2 || y->rank != axes + 2)
    return bad("operands don't have the convolution's axes and two more; those are", axes);
  if (w->dims[1] == 0 || x->dims[1] == 0 || x->dims[1] % w->dims[1] != 0)
    return bad("the channels of x are no multiple of those of w", x->dims[1]);
  if (w->dims[0] % (x->dims[1] / w->dims[1]) != 0)
    return bad("filters are no multiple of the groups", w->dims[0]);
  if (y->dims[0] != x->dims[0])
    return bad("x and y are not as many images; y", y->dims[0]);
  if (y->dims[1] != w->dims[0])
    return bad("y has not as many channels as there are filters", y->dims[1]);
  for (int k = 0; k < axes; k++) {
    int64_t room = x->dims[2 + k] + entry(c, LOW, k) + entry(c, HIGH, k) -
                   (w->dims[2 + k] - 1) * entry(c, DILATIONS, k) - 1;
    if (x->dims[2 + k] < 1 || room < 0 || y->dims[2 + k] != room / entry(c, STEPS, k) + 1)
      return bad("y is not of the size that x, w and the convolution give", y->dims[2 + k]);
  }
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t finish_operation(const descriptor *d) {
  gemel__sim_tensor operands[OPERANDS];
  for (int k = X; k <= CONVOLUTION; k++)
    if (get(d, k) == NULL || !get(d, k)->finished || get(d, k)->destroyed)
      return bad("an operand of a convolution is missing, not finalized or destroyed", k);
  for (int k = 0; k < OPERANDS; k++)
    operands[k] = tensor_of(get(d, k));
  cudnnStatus_t status = check_shapes(d, &operands[X], &operands[W], &operands[Y]);
  for (int k = X; k <= Y && status == CUDNN_STATUS_SUCCESS; k++)
    if (k == W ? !is_dense(&operands[k]) : overlaps(&operands[k]))
      status = bad("elements overlap, or there are gaps between weights; operand", k);
  return status;
}

/* ---- Engines ---- */

enum { MOST_NOTES = 3 };

static const struct {
  gemel__sim_precision of_f32, of_halves;
  bool for_f32, for_halves, fails, needs_workspace;
  int notes, note[MOST_NOTES];
} engines[] = {
#define NOTE(name) CUDNN_NUMERICAL_NOTE_##name
    {.for_f32 = true, .for_halves = true, .notes = 1, .note = {NOTE(STRICT_NAN_PROP)}},
    {.for_f32 = true, .for_halves = true, .needs_workspace = true},
    {.for_f32 = true,
     .for_halves = true,
     .needs_workspace = true,
     .of_f32 = GEMEL__SIM_TF32_INPUTS,
     .notes = 1,
     .note = {NOTE(TENSOR_CORE)}},
    {.for_f32 = true,
     .of_f32 = GEMEL__SIM_HALF_INPUTS,
     .notes = 1,
     .note = {NOTE(DOWN_CONVERT_INPUTS)}},
    {.for_halves = true,
     .of_halves = GEMEL__SIM_HALF_SUMS,
     .notes = 2,
     .note = {NOTE(TENSOR_CORE), NOTE(REDUCED_PRECISION_REDUCTION)}},
    {.for_f32 = true,
     .for_halves = true,
     .needs_workspace = true,
     .of_f32 = GEMEL__SIM_TRANSFORMED,
     .of_halves = GEMEL__SIM_TRANSFORMED,
     .notes = 2,
     .note = {NOTE(WINOGRAD), NOTE(WINOGRAD_TILE_4x4)}},
    {.for_f32 = true,
     .of_f32 = GEMEL__SIM_TRANSFORMED,
     .needs_workspace = true,
     .notes = 1,
     .note = {NOTE(FFT)}},
    {.for_f32 = true, .for_halves = true, .notes = 1, .note = {NOTE(NONDETERMINISTIC)}},
    {.for_f32 = true, .for_halves = true, .fails = true},
#undef NOTE
};
enum { ENGINES = sizeof engines / sizeof *engines };
_Static_assert(ENGINES <= sizeof((descriptor *)0)->offered / sizeof(int), "room for all engines");

/* Operands are of one type, halves or f32, sums are taken in f32, and elements have places of their
 * own: NVIDIA's library has engines for that. */
static bool is_offered(int engine, const descriptor *operation) {
  int64_t type = number(get(operation, X), TYPE, CUDNN_DATA_FLOAT);
  bool half = type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16;
  if (number(get(operation, CONVOLUTION), COMPUTE, CUDNN_DATA_FLOAT) != CUDNN_DATA_FLOAT)
    return false;
  for (int k = X; k <= Y; k++) {
    gemel__sim_tensor t = tensor_of(get(operation, k));
    if (number(get(operation, k), TYPE, CUDNN_DATA_FLOAT) != type || overlaps(&t))
      return false;
    for (int axis = 0; axis < t.rank; axis++)
      if (t.dims[axis] == 0 || t.strides[axis] == 0)
        return false;
  }
  return half ? engines[engine].for_halves : type == CUDNN_DATA_FLOAT && engines[engine].for_f32;
}

static cudnnStatus_t finish_heuristic(descriptor *d) {
  const descriptor *graph = get(d, GRAPH);
  if (graph == NULL || !graph->finished || graph->destroyed)
    return bad("heuristics without a finalized graph", 0);
  if (graph->attributes[GRAPH_HANDLE].count == 0 || !is_handle(pointer(graph, GRAPH_HANDLE)))
    return bad("heuristics for a graph that has no handle", 0);
  int64_t mode = number(d, HEURISTIC, CUDNN_HEUR_MODE_A);
  if (mode != CUDNN_HEUR_MODE_A && mode != CUDNN_HEUR_MODE_FALLBACK)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "heuristics of mode", mode);
  const char *how = getenv("GEMEL_SIM_CUDNN");
  if (mode == CUDNN_HEUR_MODE_A && how != NULL && strcmp(how, "fallback") == 0)
    return CUDNN_STATUS_SUCCESS; /* they know none */
  for (int engine = 0; engine < ENGINES; engine++)
    if (is_offered(engine, get(graph, OPERATION))) {
      int place = (int)gemel__sim_below((uint32_t)d->offers + 1);
      d->offered[d->offers++] = d->offered[place];
      d->offered[place] = engine;
    }
  return CUDNN_STATUS_SUCCESS;
}

static void refer_to_graph(descriptor *d, const descriptor *graph) {
  d->graph = graph;
  ((descriptor *)(uintptr_t)graph)->references++;
}

static cudnnStatus_t finish_plan(descriptor *d) {
  const descriptor *config = get(d, CONFIG);
  if (config == NULL || !config->finished || config->destroyed)
    return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a plan without a configuration", 0);
  if (config->graph->destroyed)
    return bad("a plan for a graph that was destroyed", 0);
  if (d->attributes[PLAN_HANDLE].count == 0)
    return bad("a plan without a handle", 0);
  if (engines[config->engine].fails)
    return CUDNN_STATUS_NOT_SUPPORTED;
  d->engine = config->engine;
  d->workspace = engines[d->engine].needs_workspace ? 2000 + gemel__sim_below(3000) : 0;
  refer_to_graph(d, config->graph);
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t finish_pack(const descriptor *d) {
  return d->attributes[IDS].count != d->attributes[POINTERS].count
             ? bad("not as many pointers as tensors", d->attributes[POINTERS].count)
             : CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t finish(descriptor *d) {
  switch (d->kind) {
  case KIND(TENSOR):
    return finish_tensor(d);
  case KIND(CONVOLUTION):
    return finish_convolution(d);
  case KIND(OPERATIONGRAPH):
    return get(d, OPERATION) != NULL && !get(d, OPERATION)->destroyed
               ? CUDNN_STATUS_SUCCESS
               : bad("a graph without an operation", 0);
  case KIND(ENGINEHEUR):
    return finish_heuristic(d);
  case KIND(EXECUTION_PLAN):
    return finish_plan(d);
  case KIND(VARIANT_PACK):
    return finish_pack(d);
  case KIND(ENGINE):
  case KIND(ENGINECFG):
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "only heuristics make a descriptor of kind", d->kind);
  default:
    return finish_operation(d);
  }
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t which) {
  cudnnStatus_t status = status_of(gemel__sim_enter(GEMEL__SIM_MAKES));
  descriptor *d = which;
  if (status == CUDNN_STATUS_SUCCESS && which == NULL)
    status = CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (status == CUDNN_STATUS_SUCCESS && !is_descriptor(which))
    status = bad("no descriptor", (long long)(intptr_t)which);
  if (status == CUDNN_STATUS_SUCCESS && d->finished)
    status = bad("a descriptor is finalized twice, of kind", d->kind);
  if (status == CUDNN_STATUS_SUCCESS)
    status = finish(d);
  if (status == CUDNN_STATUS_SUCCESS)
    d->finished = true;
  return leave(status);
}

/* ---- What is read ---- */

/* Makes the descriptor that the user brought one of KIND for ENGINE and GRAPH. */
static cudnnStatus_t fill_in(void *which, cudnnBackendDescriptorType_t kind, int engine,
                             const descriptor *graph) {
  descriptor *d = which;
  if (!is_descriptor(which) || d->kind != kind || d->finished)
    return bad("no fresh descriptor to be filled in, of kind", kind);
  d->engine = engine;
  d->finished = true;
  refer_to_graph(d, graph);
  return CUDNN_STATUS_SUCCESS;
}

/* What is computed rather than set. *THERE: how many values there are. */
static cudnnStatus_t get_computed(const descriptor *d, cudnnBackendAttributeName_t name,
                                  int64_t room, int64_t *there, void *values) {
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  bool heuristic = name == CUDNN_ATTR_ENGINEHEUR_RESULTS;
  *there = heuristic                                  ? d->offers
           : name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE ? engines[d->engine].notes
                                                      : 1;
  for (int k = 0; k < room && k < *there && values != NULL && status == CUDNN_STATUS_SUCCESS; k++) {
    if (heuristic)
      status = fill_in(((void **)values)[k], KIND(ENGINECFG), d->offered[k], get(d, GRAPH));
    else if (name == CUDNN_ATTR_ENGINECFG_ENGINE)
      status = fill_in(((void **)values)[k], KIND(ENGINE), d->engine, d->graph);
    else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE)
      ((int *)values)[k] = engines[d->engine].note[k];
    else
      *(int64_t *)values = d->workspace;
  }
  return status;
}

static const struct {
  cudnnBackendDescriptorType_t kind;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
} computed[] = {{KIND(ENGINEHEUR), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR},
                {KIND(ENGINECFG), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR},
                {KIND(ENGINE), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE},
                {KIND(EXECUTION_PLAN), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64}};

cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t which,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t room,
                                       int64_t *count, void *values) {
  cudnnStatus_t status = status_of(gemel__sim_enter(GEMEL__SIM_ASKS));
  const descriptor *d = which;
  int64_t there = 0;
  size_t row = 0, rows_there = sizeof computed / sizeof *computed;
  if (status == CUDNN_STATUS_SUCCESS && !is_descriptor(which))
    status = bad("no descriptor", (long long)(intptr_t)which);
  if (status == CUDNN_STATUS_SUCCESS && !d->finished)
    status = refuse(CUDNN_STATUS_NOT_INITIALIZED, "a descriptor that isn't finalized is read", 0);
  if (status != CUDNN_STATUS_SUCCESS)
    return leave(status);
  while (row < rows_there && (computed[row].kind != d->kind || computed[row].name != name))
    row++;
  if (row == rows_there)
    status = bad("an attribute that can't be read here", name);
  else if (computed[row].type != type)
    status =
        refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "another type is read of attribute", name);
  else if (room < 0)
    status = bad("room for so many values", room);
  else
    status = get_computed(d, name, room, &there, values);
  if (status == CUDNN_STATUS_SUCCESS && count != NULL)
    *count = values != NULL && room < there ? room : there;
  return leave(status);
}

/* ---- Running ---- */

typedef struct {
  gemel__sim_task task;
  gemel__sim_convolution convolution;
  void *workspace;
  int64_t workspace_bytes;
} convolution_task;

/* The result is written before the operands are read, so these may not overlap it; the workspace
 * is written whole. */
static bool check_memory(const convolution_task *t) {
  const gemel__sim_convolution *v = &t->convolution;
  const gemel__sim_tensor *const all[] = {&v->y, &v->w, &v->x}, *result = all[v->result];
  if (t->workspace_bytes > 0 &&
      !gemel__sim_check_range(t->workspace, (size_t)t->workspace_bytes, true))
    return false;
  if ((v->beta != 0 && !gemel__sim_check_tensor(result, false)) ||
      !gemel__sim_check_tensor(result, true))
    return false;
  for (int k = 0; k < OPERANDS; k++)
    if (all[k] != result && !gemel__sim_check_tensor(all[k], false))
      return false;
  return true;
}

static void run_convolution(gemel__sim_task *task) {
  convolution_task *t = (convolution_task *)task;
  if (gemel__sim_broken != cudaSuccess)
    return;
  gemel__sim_count.convolutions++;
  gemel__sim_open();
  if (!check_memory(t))
    return;
  if (t->workspace_bytes > 0)
    memset(t->workspace, 0xff, (size_t)t->workspace_bytes);
  if (!gemel__sim_convolve(&t->convolution))
    gemel__sim_broken = cudaErrorMemoryAllocation;
}

/* The pointer that PACK has for a tensor. */
static cudnnStatus_t find_data(const descriptor *pack, const descriptor *tensor, void **data) {
  const attribute *ids = &pack->attributes[IDS];
  int64_t id = number(tensor, ID, 0), alignment = number(tensor, ALIGNMENT, 1);
  int found = 0;
  for (int k = 0; k < ids->count; k++)
    if (ids->values[k].number == id) {
      *data = pack->attributes[POINTERS].values[k].pointer;
      found++;
    }
  if (found != 1)
    return bad("pointers for the tensor with a unique identifier", found);
  if ((uintptr_t)*data % (uintptr_t)alignment != 0)
    return refuse(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
                  "a pointer is not aligned as its tensor says", alignment);
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_workspace(const descriptor *plan, const descriptor *pack) {
  const void *workspace = pointer(pack, WORKSPACE);
  if (plan->workspace > 0 && !gemel__sim_is_device(workspace))
    return bad("the workspace is no device memory; bytes", plan->workspace);
  if (plan->workspace > 0 && (uintptr_t)workspace % LEAST_ALIGNMENT != 0)
    return refuse(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
                  "the workspace is not aligned as cudaMalloc's memory is",
                  (long long)(uintptr_t)workspace);
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t describe(const descriptor *plan, const descriptor *pack, convolution_task *t) {
  const descriptor *operation = get(plan->graph, OPERATION), *c = get(operation, CONVOLUTION);
  gemel__sim_convolution *v = &t->convolution;
  gemel__sim_tensor *const operands[] = {[X] = &v->x, [W] = &v->w, [Y] = &v->y};
  cudnnStatus_t status = check_workspace(plan, pack);
  for (int k = X; k <= Y && status == CUDNN_STATUS_SUCCESS; k++) {
    *operands[k] = tensor_of(get(operation, k));
    status = find_data(pack, get(operation, k), &operands[k]->at);
  }
  v->result = operation->kind == KIND(OPERATION_CONVOLUTION_FORWARD)           ? GEMEL__SIM_CONV_Y
              : operation->kind == KIND(OPERATION_CONVOLUTION_BACKWARD_FILTER) ? GEMEL__SIM_CONV_W
                                                                               : GEMEL__SIM_CONV_X;
  v->axes = (int)number(c, RANK, 0);
  v->flip = number(c, MODE, CUDNN_CONVOLUTION) == CUDNN_CONVOLUTION;
  for (int k = 0; k < v->axes; k++) {
    v->stride[k] = entry(c, STEPS, k);
    v->dilation[k] = entry(c, DILATIONS, k);
    v->low[k] = entry(c, LOW, k);
  }
  v->alpha =
      operation->attributes[ALPHA].count > 0 ? operation->attributes[ALPHA].values[0].real : 1;
  v->beta = operation->attributes[BETA].values[0].real;
  v->precision =
      v->x.type == CUDA_R_32F ? engines[plan->engine].of_f32 : engines[plan->engine].of_halves;
  t->workspace = pointer(pack, WORKSPACE);
  t->workspace_bytes = plan->workspace;
  return status;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t which,
                                  cudnnBackendDescriptor_t variants) {
  cudnnStatus_t status = status_of(gemel__sim_enter(GEMEL__SIM_MAKES));
  const descriptor *plan = which, *pack = variants;
  convolution_task t = {
      .task = {.references = 1, .what = "a convolution of cuDNN", .run = run_convolution}};
  if (status != CUDNN_STATUS_SUCCESS)
    return leave(status);
  if (!is_handle(handle) || !is_descriptor(which) || !is_descriptor(variants) ||
      plan->kind != KIND(EXECUTION_PLAN) || pack->kind != KIND(VARIANT_PACK))
    return leave(bad("no handle of this device, plan or variant pack", 0));
  cudaStream_t stream = gemel__sim_stream(handle->stream);
  if (!plan->finished || !pack->finished)
    return leave(refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a plan or pack isn't finalized", 0));
  if (plan->graph->destroyed || get(plan->graph, OPERATION)->destroyed)
    return leave(bad("the plan's graph or operation was destroyed", 0));
  if (stream == NULL)
    return leave(refuse(CUDNN_STATUS_EXECUTION_FAILED, "the stream of the handle is no more", 0));
  status = describe(plan, pack, &t);
  convolution_task *made = status == CUDNN_STATUS_SUCCESS ? malloc(sizeof *made) : NULL;
  if (status == CUDNN_STATUS_SUCCESS && made == NULL)
    status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  if (status == CUDNN_STATUS_SUCCESS) {
    *made = t;
    status = status_of(gemel__sim_queue(stream, &made->task, NULL));
    gemel__sim_drift();
  }
  return leave(status);
}
