/*
 * Tests of the sim's cuDNN (gpu/sim): descriptors drawn at random, right and wrong, to which the
 * sim and NVIDIA's library must say the same, and convolutions for which both must have an engine
 * or neither; what only happens on a GPU, runs with wrong pointers, is tested on the sim alone.
 * NVIDIA's library plans for a GPU that isn't there if it is told its properties. GEMEL_GRAPHS
 * draws so many graphs.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cudnn.h>
#include "ct.h"
#include "sim/sim.h"
#include "support/random.h"
#include "support/real-cudnn.h"

enum { OPERANDS = 3, MOST = 9, CONFIGS = 64, NOTES = 32, ROOM = 4000 };

/* ---- Both libraries ---- */

static cudnn_library sims = {cudnnBackendCreateDescriptor,
                             cudnnBackendDestroyDescriptor,
                             cudnnBackendFinalize,
                             cudnnBackendSetAttribute,
                             cudnnBackendGetAttribute,
                             cudnnGetErrorString,
                             NULL,
                             NULL};

static void begin(void) {
  gemel__sim_quiet(true);
  gemel__sim_seed(1);
  if (sims.handle == NULL)
    CT_EQ_INT(cudnnCreate(&sims.handle), CUDNN_STATUS_SUCCESS);
}

/* ---- A graph drawn at random ---- */

typedef struct {
  const cudnn_library *l;
  char *text, *end; /* what the library said */
  cudnnBackendDescriptor_t made[CONFIGS + 20];
  int count;
  int flaws; /* one attribute in so many is set wrongly; 0: none */
} session;

static int below(int bound) {
  return (int)(bits64() >> 33) % bound;
}

static void say(session *s, const char *what, int status) {
  if (s->end - s->text > 40)
    s->text += snprintf(s->text, (size_t)(s->end - s->text), " %s %d", what, status);
}

static cudnnBackendDescriptor_t make(session *s, cudnnBackendDescriptorType_t kind) {
  cudnnBackendDescriptor_t d = NULL;
  CT_EQ_INT(s->l->create(kind, &d), CUDNN_STATUS_SUCCESS);
  s->made[s->count++] = d;
  return d;
}

/* Sets an attribute, or, now and then, does it wrongly; draws as many numbers in any case. */
static void set(session *s, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void *values) {
  int flaw = s->flaws > 0 && below(s->flaws) == 0 ? 1 + below(5) : 0;
  bool refers = type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
  if (flaw == 1)
    return;
  if (flaw == 2)
    type = type == CUDNN_TYPE_HEUR_MODE ? CUDNN_TYPE_INT64 : CUDNN_TYPE_HEUR_MODE;
  if (flaw == 3)
    count = 0;
  if (flaw == 4)
    values = NULL;
  if (flaw == 5 && !refers) /* arrays have room for one more */
    count++;
  say(s, "set", (int)s->l->set(d, name, type, count, values));
}

static bool finish(session *s, cudnnBackendDescriptor_t d, const char *what) {
  cudnnStatus_t status = s->l->finish(d);
  say(s, what, (int)status);
  if (s->flaws > 0 && below(20) == 0)
    say(s, "again", (int)s->l->finish(d));
  return status == CUDNN_STATUS_SUCCESS;
}

typedef struct {
  int kind, axes, mode; /* kind: 0 forward, 1 weights, 2 inputs */
  cudnnDataType_t type;
  int64_t dims[OPERANDS][MOST], strides[OPERANDS][MOST], alignment;
  int64_t stride[MOST], dilation[MOST], low[MOST], high[MOST];
} problem;

/* Axes in one of the orders that occur: channels second or last, or any, perhaps with gaps. */
static void lay_out(const int64_t *dims, int rank, int order, int gaps, int64_t *strides) {
  int64_t step = 1;
  for (int n = rank - 1; n >= 0; n--) {
    int k = order == 0 ? n : order == 1 ? (n == rank - 1 ? 1 : n == 0 ? 0 : n + 1) : rank - 1 - n;
    strides[k] = step;
    step *= (dims[k] > 0 ? dims[k] : 1) + (gaps ? below(3) : 0);
  }
}

static void draw(problem *p, int flaws) {
  static const cudnnDataType_t types[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16};
  int groups = 1 + below(3), rank;
  memset(p, 0, sizeof *p);
  p->kind = below(3);
  p->axes = 2 + (below(4) == 0);
  p->mode = below(2);
  p->type = types[below(3)];
  p->alignment = below(2) == 0 ? 16 : p->type == CUDNN_DATA_FLOAT ? 4 : 2;
  rank = p->axes + 2;
  p->dims[0][0] = p->dims[2][0] = 1 + below(3);
  p->dims[1][1] = 1 + below(4);
  p->dims[0][1] = p->dims[1][1] * groups;
  p->dims[1][0] = p->dims[2][1] = (1 + below(4)) * groups;
  for (int k = 0; k < p->axes; k++) {
    p->dims[1][2 + k] = 1 + below(4);
    p->dims[0][2 + k] = 1 + below(9);
    p->stride[k] = 1 + below(3);
    p->dilation[k] = 1 + below(2);
    p->low[k] = below(4);
    p->high[k] = below(3) == 0 ? below(4) : p->low[k];
    int64_t room =
        p->dims[0][2 + k] + p->low[k] + p->high[k] - (p->dims[1][2 + k] - 1) * p->dilation[k] - 1;
    p->high[k] -= room < 0 ? room : 0;
    p->dims[2][2 + k] = (room < 0 ? 0 : room) / p->stride[k] + 1;
  }
  if (flaws > 0) { /* a number of those is another one */
    int64_t *const all[] = {p->dims[0], p->dims[1], p->dims[2], p->stride, p->dilation, p->low};
    int64_t *one = &all[below(6)][below(rank - 2)];
    *one += below(3) == 0 ? below(3) - 1 : 0;
  }
  for (int k = 0; k < OPERANDS; k++)
    lay_out(p->dims[k], rank, below(3), below(3) == 0, p->strides[k]);
  if (flaws > 0 && below(10) == 0)
    p->strides[below(OPERANDS)][below(rank)] = below(4) - 1;
}

static cudnnBackendDescriptor_t tensor(session *s, const problem *p, int which) {
  int64_t id = 1 + which, alignment[2] = {p->alignment, 1}, ids[2] = {id, id};
  int types[2] = {(int)p->type, (int)p->type}, rank = p->axes + 2;
  cudnnBackendDescriptor_t d = make(s, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(s, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, types);
  set(s, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, p->dims[which]);
  set(s, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, p->strides[which]);
  set(s, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, ids);
  set(s, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, alignment);
  finish(s, d, "tensor");
  return d;
}

static cudnnBackendDescriptor_t convolution(session *s, const problem *p) {
  int64_t axes[2] = {p->axes, 0};
  int types[2] = {CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT}, modes[2] = {p->mode, 0};
  cudnnBackendDescriptor_t d = make(s, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  set(s, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, axes);
  set(s, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, types);
  set(s, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, modes);
  set(s, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, p->axes, p->dilation);
  set(s, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, p->axes, p->stride);
  set(s, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, p->axes, p->low);
  set(s, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, p->axes, p->high);
  finish(s, d, "convolution");
  return d;
}

#define NAMES(kind, prefix, x, w, y)                                                               \
  {                                                                                                \
    CUDNN_BACKEND_OPERATION_CONVOLUTION_##kind##_DESCRIPTOR,                                       \
        {CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##x,                                          \
         CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##w,                                          \
         CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##y},                                         \
        CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_CONV_DESC,                                     \
        CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_ALPHA,                                         \
        CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_BETA                                           \
  }
static const struct {
  cudnnBackendDescriptorType_t kind;
  cudnnBackendAttributeName_t operands[OPERANDS], convolution, alpha, beta;
} names[] = {NAMES(FORWARD, FORWARD, X, W, Y), NAMES(BACKWARD_FILTER, BWD_FILTER, X, DW, DY),
             NAMES(BACKWARD_DATA, BWD_DATA, DX, W, DY)};

/* The operation, and its graph; NULL if it can't be finalized. */
static cudnnBackendDescriptor_t graph(session *s, const problem *p) {
  const float scalars[] = {1, 0, 0};
  cudnnBackendDescriptor_t operands[OPERANDS], c, d, g;
  for (int k = 0; k < OPERANDS; k++)
    operands[k] = tensor(s, p, k);
  c = convolution(s, p);
  d = make(s, names[p->kind].kind);
  for (int k = 0; k < OPERANDS; k++)
    set(s, d, names[p->kind].operands[k], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &operands[k]);
  set(s, d, names[p->kind].convolution, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &c);
  set(s, d, names[p->kind].alpha, CUDNN_TYPE_FLOAT, 1, &scalars[0]);
  set(s, d, names[p->kind].beta, CUDNN_TYPE_FLOAT, 1, &scalars[1]);
  if (!finish(s, d, "operation"))
    return NULL;
  g = make(s, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(s, g, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &d);
  if (s->l->handle != NULL)
    CT_EQ_INT(s->l->set(g, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &s->l->handle),
              CUDNN_STATUS_SUCCESS);
  return finish(s, g, "graph") ? g : NULL;
}

/* ---- Engines ---- */

static void set_device(session *s, cudnnBackendDescriptor_t d, int name) {
  if (s->l->no_device != NULL)
    CT_EQ_INT(s->l->set(d, (cudnnBackendAttributeName_t)name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                        &s->l->no_device),
              CUDNN_STATUS_SUCCESS);
}

/* As gemel chooses: products and sums in f32. */
static bool is_plain(session *s, cudnnBackendDescriptor_t config, cudnnDataType_t type) {
  cudnnBackendNumericalNote_t notes[NOTES];
  cudnnBackendDescriptor_t engine = NULL;
  int64_t count = 0;
  bool plain = true;
  CT_EQ_INT(s->l->create(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine), CUDNN_STATUS_SUCCESS);
  CT_EQ_INT(s->l->get(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                      &engine),
            CUDNN_STATUS_SUCCESS);
  CT_EQ_INT(s->l->get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, NOTES,
                      &count, notes),
            CUDNN_STATUS_SUCCESS);
  for (int64_t k = 0; k < count; k++)
    plain = plain && (notes[k] == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP ||
                      (notes[k] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE && type != CUDNN_DATA_FLOAT));
  s->l->destroy(engine);
  return plain;
}

static bool can_plan(session *s, cudnnBackendDescriptor_t config) {
  cudnnBackendDescriptor_t plan = NULL;
  int64_t bytes = -1, count = 0;
  CT_EQ_INT(s->l->create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan), CUDNN_STATUS_SUCCESS);
  CT_EQ_INT(s->l->set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                      1, &config),
            CUDNN_STATUS_SUCCESS);
  set_device(s, plan, PLAN_DEVICEPROP);
  if (s->l->handle != NULL)
    s->l->set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &s->l->handle);
  bool can = s->l->finish(plan) == CUDNN_STATUS_SUCCESS &&
             s->l->get(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                       &bytes) == CUDNN_STATUS_SUCCESS &&
             bytes >= 0;
  s->l->destroy(plan);
  return can;
}

/* NVIDIA's engines differ in whether they take a stride of 0; gemel gives them none. */
static bool has_no_step(const problem *p) {
  bool none = false;
  for (int k = 0; k < OPERANDS; k++)
    for (int axis = 0; axis < p->axes + 2; axis++)
      none |= p->strides[k][axis] == 0;
  return none;
}

/* Whether there is an engine that computes plainly. */
static void engines(session *s, const problem *p, cudnnBackendDescriptor_t g) {
  int mode = CUDNN_HEUR_MODE_A;
  int64_t count = 0;
  bool found = false;
  cudnnBackendDescriptor_t h = make(s, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR), configs[CONFIGS];
  CT_EQ_INT(
      s->l->set(h, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &g),
      CUDNN_STATUS_SUCCESS);
  CT_EQ_INT(s->l->set(h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode),
            CUDNN_STATUS_SUCCESS);
  set_device(s, h, ENGINEHEUR_DEVICEPROP);
  if (!finish(s, h, "heuristic"))
    return;
  for (int k = 0; k < CONFIGS; k++)
    configs[k] = make(s, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  CT_EQ_INT(s->l->get(h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, CONFIGS,
                      &count, configs),
            CUDNN_STATUS_SUCCESS);
  for (int64_t k = 0; k < count && !found; k++)
    found = is_plain(s, configs[k], p->type) && can_plan(s, configs[k]);
  say(s, "engine", found);
}

/* Graph SEED in library L; TEXT is all that L said. Returns whether it can be computed. */
static bool try_graph(const cudnn_library *l, uint64_t seed, int flaws, char *text) {
  session s = {.l = l, .text = text, .end = text + ROOM, .flaws = flaws};
  problem p;
  state = 88172645463325252u ^ (seed * 0x9e3779b97f4a7c15u);
  for (int k = 0; k < 5; k++)
    bits64();
  draw(&p, flaws);
  cudnnBackendDescriptor_t g = graph(&s, &p);
  if (g != NULL && !has_no_step(&p))
    engines(&s, &p, g);
  while (s.count > 0)
    l->destroy(s.made[--s.count]);
  return g != NULL;
}

/* ---- Runs, on the sim ---- */

/* What is done wrong, and what the report says. */
typedef enum {
  NOTHING,
  MISALIGNED,
  UNKNOWN_ID,
  NO_WORKSPACE,
  MISALIGNED_WORKSPACE,
  SMALL_WORKSPACE,
  ON_THE_HOST,
  UNWRITTEN,
  SMALL_RESULT,
  UNFINISHED_PACK,
  NO_GRAPH,
  CRIMES
} crime;

static const struct {
  const char *name;
  crime crime;
  gemel__sim_kind kind;
  const char *text;
} crimes[CRIMES] = {
    {"nothing", NOTHING, GEMEL__SIM_KINDS, NULL},
    {"misaligned", MISALIGNED, GEMEL__SIM_PARAMETER, "not aligned as its tensor says"},
    {"unknown-id", UNKNOWN_ID, GEMEL__SIM_PARAMETER, "unique identifier"},
    {"no-workspace", NO_WORKSPACE, GEMEL__SIM_PARAMETER, "workspace is no device memory"},
    {"misaligned-workspace", MISALIGNED_WORKSPACE, GEMEL__SIM_PARAMETER,
     "workspace is not aligned"},
    {"small-workspace", SMALL_WORKSPACE, GEMEL__SIM_BOUNDS, "a convolution of cuDNN writes"},
    {"on-the-host", ON_THE_HOST, GEMEL__SIM_HOST_MEMORY, "a convolution of cuDNN"},
    {"unwritten", UNWRITTEN, GEMEL__SIM_UNINITIALISED, "a convolution of cuDNN reads"},
    {"small-result", SMALL_RESULT, GEMEL__SIM_BOUNDS, "a convolution of cuDNN writes"},
    {"unfinished-pack", UNFINISHED_PACK, GEMEL__SIM_PARAMETER, "isn't finalized"},
    {"no-graph", NO_GRAPH, GEMEL__SIM_PARAMETER, "graph or operation was destroyed"},
};

enum { PLACES = 3 };

/* Neighbours are multiplied by 1 and 10 and added. */
static const problem small = {
    .axes = 2,
    .mode = CUDNN_CROSS_CORRELATION,
    .type = CUDNN_DATA_FLOAT,
    .dims = {{1, 1, 1, PLACES + 1}, {1, 1, 1, 2}, {1, 1, 1, PLACES}},
    .strides = {{4, 4, 4, 1}, {2, 2, 2, 1}, {3, 3, 3, 1}},
    .alignment = 16,
    .stride = {1, 1},
    .dilation = {1, 1},
};

/* A plan of the small problem that computes plainly and has a workspace, of *BYTES. */
static cudnnBackendDescriptor_t plan_of_small(session *s, cudnnBackendDescriptor_t g,
                                              int64_t *bytes) {
  cudnnBackendDescriptor_t h = make(s, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR), plan;
  int mode = CUDNN_HEUR_MODE_A;
  int64_t count = 0, one = 0;
  cudnnBackendDescriptor_t configs[CONFIGS];
  CT_EQ_INT(
      s->l->set(h, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &g), 0);
  CT_EQ_INT(s->l->set(h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode), 0);
  CT_EQ_INT(s->l->finish(h), 0);
  for (int k = 0; k < CONFIGS; k++)
    configs[k] = make(s, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  CT_EQ_INT(s->l->get(h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, CONFIGS,
                      &count, configs),
            0);
  for (int64_t k = 0; k < count; k++) {
    plan = make(s, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    s->l->set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
              &configs[k]);
    s->l->set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &s->l->handle);
    if (is_plain(s, configs[k], small.type) && s->l->finish(plan) == CUDNN_STATUS_SUCCESS &&
        s->l->get(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &one,
                  bytes) == CUDNN_STATUS_SUCCESS &&
        *bytes > 0)
      return plan;
  }
  return NULL;
}

static void *device_copy(const float *from, size_t count) {
  void *to = NULL;
  CT_EQ_INT(cudaMalloc(&to, count * sizeof *from + 16), cudaSuccess);
  if (from != NULL)
    CT_EQ_INT(cudaMemcpy(to, from, count * sizeof *from, cudaMemcpyHostToDevice), cudaSuccess);
  return to;
}

static const float small_x[PLACES + 1] = {1, 2, 3, 4}, small_w[] = {1, 10};

typedef struct {
  session s;
  cudnnBackendDescriptor_t graph, plan, pack;
  void *there[OPERANDS], *workspace;
} run;

static void open_run(run *r, crime which) {
  int64_t bytes = 0;
  begin();
  r->graph = graph(&r->s, &small);
  r->plan = plan_of_small(&r->s, r->graph, &bytes);
  CT_REQUIRE(r->plan != NULL);
  r->pack = make(&r->s, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  r->there[0] = device_copy(which == UNWRITTEN ? NULL : small_x, PLACES + 1);
  r->there[1] = device_copy(small_w, 2);
  CT_EQ_INT(cudaMalloc(&r->there[2], (PLACES - (which == SMALL_RESULT)) * sizeof(float)),
            cudaSuccess);
  CT_EQ_INT(cudaMalloc(&r->workspace, (size_t)(which == SMALL_WORKSPACE ? bytes - 1 : bytes + 16)),
            cudaSuccess);
}

static void hand_over(run *r, crime which) {
  int64_t ids[OPERANDS] = {1, 2, which == UNKNOWN_ID ? 4 : 3};
  void *used[OPERANDS] = {r->there[0], r->there[1], r->there[2]};
  void *workspace = which == NO_WORKSPACE           ? NULL
                    : which == MISALIGNED_WORKSPACE ? (char *)r->workspace + 16
                                                    : r->workspace;
  if (which == MISALIGNED)
    used[0] = (char *)r->there[0] + 4;
  if (which == ON_THE_HOST)
    used[0] = (void *)(uintptr_t)&small;
  cudnnBackendSetAttribute(r->pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, OPERANDS,
                           ids);
  cudnnBackendSetAttribute(r->pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                           OPERANDS, used);
  cudnnBackendSetAttribute(r->pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                           &workspace);
  if (which != UNFINISHED_PACK)
    CT_EQ_INT(cudnnBackendFinalize(r->pack), CUDNN_STATUS_SUCCESS);
}

static void close_run(run *r) {
  gemel__sim_forget();
  while (r->s.count > 0)
    cudnnBackendDestroyDescriptor(r->s.made[--r->s.count]);
  for (int k = 0; k < OPERANDS; k++)
    cudaFree(r->there[k]);
  cudaFree(r->workspace);
}

static void forget_graph(run *r) {
  for (int k = 0; k < r->s.count; k++)
    if (r->s.made[k] == r->graph)
      r->s.made[k] = r->s.made[--r->s.count];
  cudnnBackendDestroyDescriptor(r->graph);
}

static void commit(const void *data) {
  const crime which = *(const crime *)data;
  static char text[ROOM];
  run r = {.s = {.l = &sims, .text = text, .end = text + ROOM}};
  float y[PLACES] = {0};
  open_run(&r, which);
  hand_over(&r, which);
  if (which == NO_GRAPH)
    forget_graph(&r);
  bool ran = cudnnBackendExecute(sims.handle, r.plan, r.pack) == CUDNN_STATUS_SUCCESS;
  cudaDeviceSynchronize();
  ct_context("%s", gemel__sim_reports() > 0 ? gemel__sim_report(0) : "no report");
  CT_EQ_INT(ran, crimes[which].kind != GEMEL__SIM_PARAMETER);
  if (which == NOTHING) {
    CT_EQ_INT(gemel__sim_reports(), 0);
    CT_EQ_INT(cudaMemcpy(y, r.there[2], sizeof y, cudaMemcpyDeviceToHost), cudaSuccess);
    for (int k = 0; k < PLACES; k++)
      CT_CHECK(y[k] == small_x[k] + 10 * small_x[k + 1]);
  } else {
    CT_CHECK(gemel__sim_reported(crimes[which].kind, crimes[which].text));
  }
  close_run(&r);
}

/* ---- Beside each other ---- */

/* One attribute in so many is set wrongly. */
typedef struct {
  int flaws, graphs, least;
} drawing;

static void alike(const void *data) {
  static char own[ROOM], other[ROOM];
  const drawing *d = data;
  cudnn_library real;
  int computed = 0;
  if (!open_real(&real))
    CT_SKIP("NVIDIA's cuDNN, 9.8 or later, is not beside the toolkit, or sanitizers are");
  begin();
  int graphs = (int)ct_number("GEMEL_GRAPHS", (unsigned)d->graphs);
  for (int seed = 0; seed < graphs; seed++) {
    own[0] = other[0] = '\0';
    try_graph(&sims, (uint64_t)seed, d->flaws, own);
    computed += try_graph(&real, (uint64_t)seed, d->flaws, other);
    gemel__sim_forget();
    ct_context("seed %d", seed);
    CT_EQ_STR(own, other);
  }
  real.destroy(real.no_device);
  printf("  %d of %d graphs can be computed\n", computed, graphs);
  CT_CHECK(computed >= d->least);
  CT_EQ_INT(gemel__sim_living().handles, 1);
}

static void texts_alike(const void *data) {
  cudnn_library real;
  int compared = 0;
  (void)data;
  if (!open_real(&real))
    CT_SKIP("NVIDIA's cuDNN, 9.8 or later, is not beside the toolkit, or sanitizers are");
  for (int code = 0; code < 6000; code++)
    if (strcmp(cudnnGetErrorString((cudnnStatus_t)code), "CUDNN_UNKNOWN_STATUS") != 0) {
      CT_EQ_STR(cudnnGetErrorString((cudnnStatus_t)code), real.text((cudnnStatus_t)code));
      compared++;
    }
  CT_CHECK(compared > 10);
}

static const drawing right = {0, 1500, 900}, wrong = {60, 6000, 500};
static const ct_test tests[] = {
    CT_TEST("alike/right", alike, &right),
    CT_TEST("alike/wrong", alike, &wrong),
    CT_TEST("alike/texts", texts_alike, NULL),
};

void ct_register(void) {
  ct_suite("sim-cudnn", tests, CT_COUNT(tests));
  for (int k = 0; k < CRIMES; k++)
    CT_ADD_TO("sim-cudnn", "run", crimes[k].name, commit, &crimes[k].crime);
}
