/* SPDX-License-Identifier: MIT
 *
 * The three convolutions of f32, f16 and bf16 by oneDNN, in f32. A plan keeps the primitive, in the
 * layouts that oneDNN likes best, and reorders of the operands that lie otherwise; images that lie
 * with their channels last stay so. What oneDNN can't address (strides that aren't positive,
 * flipped weights, half types) is first copied to row-major order in f32, and a result from there.
 * Memory is the call's scratch memory, but for weights that stay from call to call: these are
 * brought to oneDNN's layout when they are new, and kept with the plan. What is made when a plan is
 * has the plan's number of threads, which is that of the calls.
 *
 * Of what follows a convolution a bias is given to the primitive, where no loop follows anyway;
 * whether it is rounded with the sum or behind it is oneDNN's choice. oneDNN's relu makes 0 of NaN.
 */
#include <stdatomic.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/nested.h"
#include "core/strided.h"
#include "cpu/onednn.h"
#include "cpu/walk.h"
#include "ops/conv.h"
#include "ops/rule.h"

enum { OPERANDS = 3, X = 0, W = 1, Y = 2 };

#ifndef HAVE_DNNL

int gemel__conv_onednn_suits(const gemel__conv *g, const gemel_view *const operands[OPERANDS]) {
  (void)g, (void)operands;
  return 0;
}
gemel_status gemel__conv_onednn_prepare(gemel_kernel_call *call, gemel__conv_kind kind) {
  (void)call, (void)kind;
  return GEMEL_DECLINED;
}
gemel_status gemel__conv_onednn_run(const gemel_kernel_call *call, gemel__conv_kind kind) {
  (void)call, (void)kind;
  return GEMEL_DECLINED;
}

#else

#ifdef _OPENMP
#include <omp.h>
#endif

/* ---- What suits ---- */

static int64_t product(const int64_t *sizes) {
  return sizes[0] * sizes[1] * sizes[2];
}

static int is_strided(const gemel__conv *g) {
  return product(g->stride) > 1;
}

/* 1 if a product of columns (conv-gemm.c) is faster. oneDNN reorders row-major operands, which a
 * product takes as they lie where each place meets one element, and it fills up the few channels of
 * a gradient by inputs to a whole vector's. The limits are those between which the cases of `gemel
 * bench conv` lie. */
static int product_is_faster(const gemel__conv *g, int row_major) {
  enum {
    LANES = 16,
    FEW_TAPS = 9,
    FEW_TERMS = 27,
    FEW_FILTERS = 8,
    MANY_FILTERS = 32,
    MANY_PLACES = 196
  };
  int64_t taps = product(g->kernel), places = product(g->out);
  int64_t filled = (g->channels + LANES - 1) / LANES * LANES;
  int pointwise = gemel__conv_pointwise(g);
  switch (g->kind) {
  case GEMEL__CONV_FORWARD:
    return row_major && (pointwise || g->filters == 1 || (taps == 1 && places >= MANY_PLACES) ||
                         (taps <= FEW_TAPS && g->channels * taps <= FEW_TERMS &&
                          g->filters >= MANY_FILTERS && !is_strided(g)));
  case GEMEL__CONV_WEIGHTS:
    return row_major &&
           ((taps == 1 && g->channels == 1) || (pointwise && g->filters <= FEW_FILTERS));
  default:
    return 2 * filled > 3 * g->channels || (pointwise && row_major);
  }
}

static int is_half(const gemel_view *view) {
  return view->dtype == GEMEL_F16 || view->dtype == GEMEL_BF16;
}

/* conv-gemm.c takes neither half types nor groups that would be products with vectors. */
int gemel__conv_onednn_suits(const gemel__conv *g, const gemel_view *const operands[OPERANDS]) {
  int by_vector =
      g->groups > 1 && (g->filters == 1 || (g->channels == 1 && product(g->kernel) == 1));
  int row_major =
      !gemel__view_channels_last(operands[X]) && !gemel__view_channels_last(operands[Y]);
  return !g->unshared &&
         (is_half(operands[X]) ||
          (operands[X]->dtype == GEMEL_F32 && (by_vector || !product_is_faster(g, row_major))));
}

/* ---- State ---- */

enum { NOWHERE = -1, WORTH_THREADS = 1 << 20 };

/* One operand: as the caller has it (or a packed copy), and as the primitive wants it. */
typedef struct onednn_operand {
  dnnl_memory_t given, wanted; /* the same where no reorder is needed */
  dnnl_primitive_t reorder;
  int64_t packed_at, wanted_at; /* in scratch memory; NOWHERE: not there */
  void *kept; /* what is wanted, of the contents of VERSION (0: not yet); NULL: in scratch memory */
  size_t kept_bytes;
  uint64_t version;
} onednn_operand;

typedef struct onednn_plan {
  dnnl_primitive_t primitive;
  dnnl_stream_t stream;
  dnnl_memory_t workspace, bias; /* BIAS may be NULL */
  int64_t workspace_at;
  onednn_operand operands[OPERANDS];
} onednn_plan;

_Static_assert(sizeof(onednn_plan) <= GEMEL_KERNEL_PREPARED_BYTES,
               "the plan must fit the kernel's state");

/* ---- Threads ---- */

/* oneDNN shares work among as many threads as OpenMP would start. Returns how many that was. */
static int use_threads(int threads) {
#ifdef _OPENMP
  int before = omp_get_max_threads();
  if (before != threads) {
    omp_set_num_threads(threads);
  }
  return before;
#else
  return threads;
#endif
}

/* Below WORTH_THREADS multiplications starting threads costs more than they save. */
static int threads_of(const gemel_kernel_call *call, const gemel__conv *g) {
  int alone = call->deterministic || gemel__conv_work(g) < WORTH_THREADS;
  return alone || call->threads < 1 ? 1 : call->threads;
}

/* The process's engine: never freed, shared by all plans. NULL if there is none. */
static dnnl_engine_t engine(void) {
  static _Atomic(dnnl_engine_t) shared;
  dnnl_engine_t now = atomic_load(&shared), made = NULL;
  if (now == NULL && dnnl_engine_create(&made, dnnl_cpu, 0) == dnnl_success) {
    if (atomic_compare_exchange_strong(&shared, &now, made)) {
      return made;
    }
    dnnl_engine_destroy(made);
  }
  return now;
}

/* 1 if CALL's primitive adds a bias. */
static int takes_bias(const gemel_kernel_call *call) {
  return call->nested != NULL && call->nested->bias != NULL && call->outputs[0].dtype == GEMEL_F32;
}

/* ---- Layouts ---- */

/* The dims of an operand as oneDNN counts them: weights of several groups have an axis for them. */
static int dims_of(const gemel__conv *g, const gemel_view *view, int which, dnnl_dims_t dims) {
  int rank = 0;
  if (which == W && g->groups > 1) {
    dims[rank++] = g->groups;
    dims[rank++] = g->filters;
  } else {
    dims[rank++] = view->shape[0];
  }
  for (int k = 1; k < view->rank; k++) {
    dims[rank++] = view->shape[k];
  }
  return rank;
}

static int addressable(const gemel__conv *g, const gemel_view *view, int which) {
  int64_t item = gemel__view_item(view);
  if ((which == W && g->flip) || is_half(view)) {
    return 0;
  }
  for (int k = 0; k < view->rank; k++) {
    if (view->shape[k] > 1 && (view->strides[k] <= 0 || view->strides[k] % item != 0)) {
      return 0;
    }
  }
  return 1;
}

/* The layout that VIEW has, or its row-major copy in f32 if it is PACKED. */
static dnnl_status_t given_layout(const gemel__conv *g, const gemel_view *view, int which,
                                  int packed, gemel__onednn_layout *layout) {
  int64_t item = sizeof(float), packed_strides[GEMEL_MAX_RANK];
  const int64_t *bytes = view->strides;
  dnnl_dims_t dims, strides;
  int rank = dims_of(g, view, which, dims), at = 0;
  if (packed) {
    gemel__packed_strides(item, view->rank, view->shape, packed_strides);
    bytes = packed_strides;
  }
  if (rank > view->rank) {
    strides[at++] = bytes[0] / item * g->filters;
  }
  for (int k = 0; k < view->rank; k++) {
    /* an axis of size 1 may have any stride, which oneDNN might take for an overlap */
    strides[at++] = view->shape[k] > 1 ? bytes[k] / item : 1;
  }
  for (int k = rank - 1; k >= 0; k--) {
    if (dims[k] == 1) {
      strides[k] = k + 1 < rank ? strides[k + 1] * dims[k + 1] : 1;
    }
  }
  return gemel__onednn_strided(layout, rank, dims, strides);
}

/* The layout in which the primitive is to have an operand: oneDNN's choice, unless these are images
 * with channels last and TAKES them so. */
static dnnl_status_t asked_layout(const gemel__conv *g, const gemel_view *view, int which,
                                  int takes, gemel__onednn_layout *layout) {
  static const dnnl_format_tag_t last[] = {dnnl_nwc, dnnl_nhwc, dnnl_ndhwc};
  dnnl_dims_t dims;
  int rank = dims_of(g, view, which, dims);
  int stays = takes && which != W && gemel__view_channels_last(view);
  return gemel__onednn_tagged(layout, rank, dims, stays ? last[g->axes - 1] : dnnl_format_tag_any);
}

/* 1 if A and B, the layouts of VIEW, mean the same places. oneDNN's own comparison minds the
 * strides of axes of size 1. */
static int same_places(const gemel__conv *g, const gemel_view *view, int which, gemel__onednn_md a,
                       gemel__onednn_md b) {
  const dnnl_dim_t *x = gemel__onednn_strides(a), *y = gemel__onednn_strides(b);
  int same = x != NULL && y != NULL;
  dnnl_dims_t dims;
  int rank = dims_of(g, view, which, dims);
  for (int k = 0; same && k < rank; k++) {
    same = dims[k] == 1 || x[k] == y[k];
  }
  return same || dnnl_memory_desc_equal(a, b);
}

/* ---- The primitive ---- */

/* Strides, dilations and padding of G, in C. */
static void set_places(const gemel__conv *g, gemel__onednn_conv *c) {
  for (int k = 0; k < g->axes; k++) {
    int from = GEMEL__SPATIAL_AXES - g->axes + k;
    int64_t low = g->low[from];
    /* To one place no step leads, and oneDNN 3.7.2 takes a step along the last axis there for one
     * along the axis before it, where there is one channel (found by tests/t-conv-grid). */
    c->stride[k] = g->out[from] > 1 ? g->stride[from] : 1;
    c->dilation[k] = g->dilation[from] - 1;
    c->low[k] = low;
    /* what is beyond the last place isn't read */
    c->high[k] = (g->out[from] - 1) * g->stride[from] +
                 (g->kernel[from] - 1) * (c->dilation[k] + 1) + 1 - g->image[from] - low;
  }
}

/* A number for each of the filters of all groups. */
static dnnl_status_t bias_layout(const gemel__conv *g, gemel__onednn_layout *layout) {
  dnnl_dims_t dims = {g->filters * g->groups};
  return gemel__onednn_tagged(layout, 1, dims, dnnl_a);
}

/* The primitive of KIND for C, whose layouts are set. */
static dnnl_status_t describe_with(gemel__onednn_conv *c, gemel__conv_kind kind,
                                   const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *made) {
  dnnl_primitive_desc_t hint = NULL;
  dnnl_status_t status;
  if (kind == GEMEL__CONV_FORWARD) {
    c->kind = dnnl_forward_inference;
    return gemel__onednn_describe(c, engine(), NULL, attr, made);
  }
  c->kind = dnnl_forward_training;
  c->bias = NULL;
  status = gemel__onednn_describe(c, engine(), NULL, attr, &hint);
  if (status == dnnl_success) {
    c->kind = kind == GEMEL__CONV_WEIGHTS ? dnnl_backward_weights : dnnl_backward_data;
    status = gemel__onednn_describe(c, engine(), hint, attr, made);
    dnnl_primitive_desc_destroy(hint);
  }
  return status;
}

/* The description of the primitive of KIND, BIASED or not. CHANNELS_LAST: it takes images so where
 * they lie so; else it chooses layouts as it likes. */
static dnnl_status_t describe(const gemel__conv *g, const gemel_view *const operands[OPERANDS],
                              gemel__conv_kind kind, int channels_last, int biased,
                              dnnl_primitive_desc_t *made) {
  gemel__onednn_layout layouts[OPERANDS + 1];
  gemel__onednn_conv c;
  dnnl_primitive_attr_t attr = NULL;
  dnnl_status_t status;
  memset(layouts, 0, sizeof layouts);
  memset(&c, 0, sizeof c);
  set_places(g, &c);
  status = bias_layout(g, &layouts[OPERANDS]);
  for (int k = 0; k < OPERANDS && status == dnnl_success; k++) {
    status = asked_layout(g, operands[k], k, channels_last, &layouts[k]);
  }
  if (status == dnnl_success && (status = dnnl_primitive_attr_create(&attr)) == dnnl_success) {
    status = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
  }
  if (status == dnnl_success) {
    c.x = gemel__onednn_md_of(&layouts[X]);
    c.w = gemel__onednn_md_of(&layouts[W]);
    c.y = gemel__onednn_md_of(&layouts[Y]);
    c.bias = biased ? gemel__onednn_md_of(&layouts[OPERANDS]) : NULL;
    status = describe_with(&c, kind, attr, made);
  }
  dnnl_primitive_attr_destroy(attr);
  for (int k = 0; k <= OPERANDS; k++) {
    gemel__onednn_release(&layouts[k]);
  }
  return status;
}

/* What oneDNN calls the operands of each kind, as arguments and in queries. */
static int argument_of(gemel__conv_kind kind, int which) {
  static const int arguments[][OPERANDS] = {
      {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
      {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST},
      {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST}};
  return arguments[kind][which];
}

static int result_of(gemel__conv_kind kind) {
  return kind == GEMEL__CONV_FORWARD ? Y : kind == GEMEL__CONV_WEIGHTS ? W : X;
}

/* ---- The plan ---- */

static void destroy(onednn_plan *plan) {
  for (int k = 0; k < OPERANDS; k++) {
    onednn_operand *o = &plan->operands[k];
    dnnl_primitive_destroy(o->reorder);
    gemel__free(o->kept, o->kept_bytes);
    if (o->wanted != o->given) {
      dnnl_memory_destroy(o->wanted);
    }
    dnnl_memory_destroy(o->given);
  }
  dnnl_memory_destroy(plan->workspace);
  dnnl_memory_destroy(plan->bias);
  dnnl_primitive_destroy(plan->primitive);
  dnnl_stream_destroy(plan->stream);
}

static void release(void *prepared) {
  onednn_plan plan;
  memcpy(&plan, prepared, sizeof plan);
  destroy(&plan);
}

static int64_t place(gemel_kernel_call *call, size_t bytes) {
  int64_t at = (int64_t)call->scratch_bytes;
  call->scratch_bytes += (bytes + 63) / 64 * 64;
  return at;
}

static dnnl_status_t make_reorder(gemel__onednn_md from, gemel__onednn_md to,
                                  dnnl_primitive_t *made) {
  dnnl_primitive_desc_t pd = NULL;
  dnnl_status_t status =
      dnnl_reorder_primitive_desc_create(&pd, from, engine(), to, engine(), NULL);
  if (status == dnnl_success) {
    status = dnnl_primitive_create(made, pd);
  }
  dnnl_primitive_desc_destroy(pd);
  return status;
}

/* Where the version of operand WHICH stands, if weights are an input that has one; else NULL. */
static const uint64_t *version_of(const gemel_kernel_call *call, gemel__conv_kind kind, int which) {
  int weights = which == W && kind != GEMEL__CONV_WEIGHTS;
  return weights && call->versions != NULL ? call->versions[kind == GEMEL__CONV_FORWARD] : NULL;
}

/* Room for the wanted layout of O: KEPT with the plan, or scratch memory. */
static dnnl_status_t make_room(gemel_kernel_call *call, int kept, size_t bytes, onednn_operand *o) {
  if (!kept) {
    o->wanted_at = place(call, bytes);
    return dnnl_success;
  }
  o->kept = gemel__alloc(bytes);
  o->kept_bytes = bytes;
  return o->kept != NULL ? dnnl_success : dnnl_out_of_memory;
}

/* Makes the memory of operand WHICH in the layout WANTED, where it isn't GIVEN so, and the reorder
 * between the two. */
static dnnl_status_t make_wanted(gemel_kernel_call *call, const gemel__conv *g, int which,
                                 gemel__onednn_md given, gemel__onednn_md wanted,
                                 onednn_operand *o) {
  int is_result = which == result_of(g->kind);
  dnnl_status_t status = make_room(call, version_of(call, g->kind, which) != NULL,
                                   dnnl_memory_desc_get_size(wanted), o);
  o->wanted = NULL;
  if (status == dnnl_success) {
    status = dnnl_memory_create(&o->wanted, wanted, engine(), DNNL_MEMORY_NONE);
  }
  if (status == dnnl_success) {
    status = make_reorder(is_result ? wanted : given, is_result ? given : wanted, &o->reorder);
  }
  return status;
}

/* Makes the memories of operand WHICH and the reorder between them. */
static dnnl_status_t make_operand(gemel_kernel_call *call, const gemel__conv *g,
                                  const gemel_view *view, int which, gemel__onednn_md wanted,
                                  onednn_operand *o) {
  gemel__onednn_layout layout;
  memset(&layout, 0, sizeof layout);
  int packed = !addressable(g, view, which);
  dnnl_status_t status = given_layout(g, view, which, packed, &layout);
  gemel__onednn_md given = gemel__onednn_md_of(&layout);
  o->packed_at = o->wanted_at = NOWHERE;
  if (packed) {
    size_t bytes = sizeof(float) + (is_half(view) ? sizeof(uint16_t) : 0);
    o->packed_at = place(call, (size_t)gemel__view_elements(view) * bytes);
  }
  if (status == dnnl_success) {
    status = dnnl_memory_create(&o->given, given, engine(), DNNL_MEMORY_NONE);
  }
  o->wanted = o->given;
  if (status == dnnl_success && !same_places(g, view, which, given, wanted)) {
    status = make_wanted(call, g, which, given, wanted, o);
  }
  gemel__onednn_release(&layout);
  return status;
}

/* The memory of the bias, if CALL takes one. */
static dnnl_status_t make_bias(const gemel_kernel_call *call, const gemel__conv *g,
                               onednn_plan *plan) {
  gemel__onednn_layout layout;
  memset(&layout, 0, sizeof layout);
  dnnl_status_t status = bias_layout(g, &layout);
  if (status == dnnl_success && takes_bias(call)) {
    gemel__onednn_md md = gemel__onednn_md_of(&layout);
    status = dnnl_memory_create(&plan->bias, md, engine(), DNNL_MEMORY_NONE);
  }
  gemel__onednn_release(&layout);
  return status;
}

static dnnl_status_t make_plan(gemel_kernel_call *call, const gemel__conv *g,
                               const gemel_view *const operands[OPERANDS], gemel__conv_kind kind,
                               dnnl_primitive_desc_t pd, onednn_plan *plan) {
  gemel__onednn_md workspace = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
  dnnl_status_t status = dnnl_primitive_create(&plan->primitive, pd);
  plan->workspace_at = place(call, dnnl_memory_desc_get_size(workspace));
  if (status == dnnl_success) {
    status = dnnl_memory_create(&plan->workspace, workspace, engine(), DNNL_MEMORY_NONE);
  }
  if (status == dnnl_success) {
    status = dnnl_stream_create(&plan->stream, engine(), dnnl_stream_default_flags);
  }
  for (int k = 0; k < OPERANDS && status == dnnl_success; k++) {
    gemel__onednn_md wanted =
        dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, argument_of(kind, k));
    status = make_operand(call, g, operands[k], k, wanted, &plan->operands[k]);
  }
  return status;
}

/* oneDNN's reference implementations are slower than our own loops. */
static int is_reference(dnnl_primitive_desc_t pd) {
  const char *name = "";
  dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&name);
  return strncmp(name, "ref", 3) == 0;
}

/* 1 if gradients by inputs of so many terms that in oneDNN's own layout they gain more than
 * bringing images there and back costs. */
static int worth_reordering(const gemel__conv *g) {
  enum { MANY_TERMS = 3000 };
  return g->kind == GEMEL__CONV_INPUTS && product(g->kernel) * g->filters >= MANY_TERMS;
}

/* The first of the two ways that is none of them. */
static dnnl_status_t describe_fast(const gemel__conv *g, const gemel_view *const operands[OPERANDS],
                                   gemel__conv_kind kind, int biased, dnnl_primitive_desc_t *pd) {
  dnnl_status_t status = dnnl_unimplemented;
  for (int last = !worth_reordering(g); last >= 0 && status != dnnl_success; last--) {
    status = describe(g, operands, kind, last, biased, pd);
    if (status == dnnl_success && is_reference(*pd)) {
      dnnl_primitive_desc_destroy(*pd);
      *pd = NULL;
      status = dnnl_unimplemented;
    }
  }
  return status;
}

/* oneDNN 2.6.3 gives wrong gradients by the weights of three axes where the padding in front along
 * the first is more than the stride, and no multiple of it (found by tests/t-conv-grid). */
static int goes_wrong(const gemel__conv *g) {
  return g->kind == GEMEL__CONV_WEIGHTS && g->axes == 3 && g->low[0] > g->stride[0] &&
         g->low[0] % g->stride[0] != 0;
}

gemel_status gemel__conv_onednn_prepare(gemel_kernel_call *call, gemel__conv_kind kind) {
  const gemel_view *operands[OPERANDS];
  gemel__conv g;
  onednn_plan plan;
  dnnl_primitive_desc_t pd = NULL;
  gemel__conv_of(call, kind, &g, operands);
  if ((operands[X]->dtype != GEMEL_F32 && !is_half(operands[X])) || g.unshared || goes_wrong(&g) ||
      gemel__view_elements(operands[X]) == 0 || engine() == NULL) {
    return GEMEL_DECLINED;
  }
  memset(&plan, 0, sizeof plan);
  int before = use_threads(threads_of(call, &g));
  dnnl_status_t status = describe_fast(&g, operands, kind, takes_bias(call), &pd);
  if (status == dnnl_success) {
    status = make_plan(call, &g, operands, kind, pd, &plan);
  }
  if (status == dnnl_success) {
    status = make_bias(call, &g, &plan);
  }
  dnnl_primitive_desc_destroy(pd);
  use_threads(before);
  if (status != dnnl_success) {
    destroy(&plan);
    call->scratch_bytes = 0;
    return status == dnnl_out_of_memory
               ? gemel__no_memory(call->error, "weights as oneDNN has them")
               : GEMEL_DECLINED;
  }
  memcpy(call->prepared, &plan, sizeof plan);
  call->release = release;
  if (takes_bias(call)) {
    call->nested->bias->taken = 1;
  }
  return GEMEL_OK;
}

/* ---- Running ---- */

/* Copies between VIEW, read backwards along the kernel if flipped, and COPY, row-major. */
static void copy_row_major(const gemel__conv *g, const gemel_view *view, int which, void *copy,
                           int to_copy) {
  int64_t strides[GEMEL_MAX_RANK], own[GEMEL_MAX_RANK], item = gemel__view_item(view);
  char *data = view->data;
  gemel__packed_strides(item, view->rank, view->shape, strides);
  memcpy(own, view->strides, (size_t)view->rank * sizeof *own);
  for (int k = view->rank - g->axes; which == W && g->flip && k < view->rank; k++) {
    data += (view->shape[k] - 1) * own[k];
    own[k] = -own[k];
  }
  if (to_copy) {
    gemel__copy_strided((size_t)item, view->rank, view->shape, copy, strides, data, own);
  } else {
    gemel__copy_strided((size_t)item, view->rank, view->shape, data, own, copy, strides);
  }
}

/* The same with PACKED, elements in f32; half types go by a row-major copy that stands behind. */
static void copy_packed(const gemel__conv *g, const gemel_view *view, int which, float *packed,
                        int to_packed) {
  size_t n = (size_t)gemel__view_elements(view);
  void *copy = packed + n;
  if (!is_half(view)) {
    copy_row_major(g, view, which, packed, to_packed);
  } else if (to_packed) {
    copy_row_major(g, view, which, copy, 1);
    gemel__half_to_f32(view->dtype, n, packed, copy);
  } else {
    gemel__half_from_f32(view->dtype, n, copy, packed);
    copy_row_major(g, view, which, copy, 0);
  }
}

static dnnl_status_t run_reorder(const onednn_plan *plan, const onednn_operand *o, int is_result) {
  dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, is_result ? o->wanted : o->given},
                                 {DNNL_ARG_TO, is_result ? o->given : o->wanted}};
  return dnnl_primitive_execute(o->reorder, plan->stream, 2, arguments);
}

/* Brings operand WHICH to where the primitive wants it. */
static dnnl_status_t bring(const onednn_plan *plan, const gemel__conv *g, const gemel_view *view,
                           int which, float *packed) {
  const onednn_operand *o = &plan->operands[which];
  if (packed != NULL) {
    copy_packed(g, view, which, packed, 1);
  }
  return o->reorder != NULL ? run_reorder(plan, o, 0) : dnnl_success;
}

/* Tells the memories of operand WHICH where they are, and brings it there if it isn't kept. */
static dnnl_status_t set_operand(const gemel_kernel_call *call, onednn_plan *plan,
                                 const gemel__conv *g, const gemel_view *view, int which) {
  onednn_operand *o = &plan->operands[which];
  const uint64_t *version = o->kept != NULL ? version_of(call, g->kind, which) : NULL;
  float *packed = o->packed_at < 0 ? NULL : (float *)(void *)((char *)call->scratch + o->packed_at);
  char *wanted = o->kept != NULL    ? o->kept
                 : o->wanted_at < 0 ? NULL
                                    : (char *)call->scratch + o->wanted_at;
  dnnl_status_t status =
      dnnl_memory_set_data_handle(o->given, packed != NULL ? packed : view->data);
  if (status == dnnl_success && wanted != NULL) {
    status = dnnl_memory_set_data_handle(o->wanted, wanted);
  }
  int there = version != NULL && o->version == *version;
  if (status == dnnl_success && which != result_of(g->kind) && !there) {
    status = bring(plan, g, view, which, packed);
    o->version = version != NULL && status == dnnl_success ? *version : 0;
  }
  return status;
}

static dnnl_status_t execute(const gemel_kernel_call *call, onednn_plan *plan, const gemel__conv *g,
                             const gemel_view *const operands[OPERANDS], gemel__conv_kind kind) {
  dnnl_exec_arg_t arguments[OPERANDS + 2];
  int result = result_of(kind);
  dnnl_status_t status =
      dnnl_memory_set_data_handle(plan->workspace, (char *)call->scratch + plan->workspace_at);
  for (int k = 0; k < OPERANDS && status == dnnl_success; k++) {
    status = set_operand(call, plan, g, operands[k], k);
    arguments[k] = (dnnl_exec_arg_t){argument_of(kind, k), plan->operands[k].wanted};
  }
  arguments[OPERANDS] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, plan->workspace};
  arguments[OPERANDS + 1] = (dnnl_exec_arg_t){DNNL_ARG_BIAS, plan->bias};
  if (status == dnnl_success && plan->bias != NULL) {
    status = dnnl_memory_set_data_handle(plan->bias, call->nested->bias->view.data);
  }
  if (status == dnnl_success) {
    status = dnnl_primitive_execute(plan->primitive, plan->stream,
                                    OPERANDS + 1 + (plan->bias != NULL), arguments);
  }
  if (status == dnnl_success && plan->operands[result].reorder != NULL) {
    status = run_reorder(plan, &plan->operands[result], 1);
  }
  return status == dnnl_success ? dnnl_stream_wait(plan->stream) : status;
}

gemel_status gemel__conv_onednn_run(const gemel_kernel_call *call, gemel__conv_kind kind) {
  const gemel_view *operands[OPERANDS];
  gemel__conv g;
  onednn_plan plan;
  memcpy(&plan, call->prepared, sizeof plan);
  gemel__conv_of(call, kind, &g, operands);
  int before = use_threads(threads_of(call, &g)), result = result_of(kind);
  dnnl_status_t status = execute(call, &plan, &g, operands, kind);
  use_threads(before);
  memcpy(call->prepared, &plan, sizeof plan); /* the versions of what it keeps */
  if (status != dnnl_success) {
    return gemel__fail(call->error, GEMEL_INTERNAL, "oneDNN fails with status %d", (int)status);
  }
  if (plan.operands[result].packed_at >= 0) {
    void *packed = (char *)call->scratch + plan.operands[result].packed_at;
    copy_packed(&g, operands[result], result, packed, 0);
  }
  return GEMEL_OK;
}

#endif
