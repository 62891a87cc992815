/*
 * Kernels of a program's own, right and wrong, before gemel_verify_kernel: every wrong one must be
 * refuted and every right one pass, for each of GEMEL_CORPUS_SEEDS seeds (1), and the refutation
 * must say what it is about. A wrong kernel is a right one with one fault, switched on by the
 * number FAULT: it is a static variable, which the child processes of the harness inherit.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"
#include "judged.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <gemel/verify.h>

typedef enum fault {
  NONE,
  STRIDES_IGNORED,
  NEGATIVE_IGNORED,
  ZERO_STRIDE_IGNORED,
  PAST_THE_END,
  BEFORE_THE_START,
  READS_PAST,
  READS_BEFORE,
  OVERWRITES_INPUT,
  THREADS_LOSE_ONE,
  FIFTH_THREAD,
  ROUNDS_POINTER_DOWN,
  RANK_5,
  RANK_9,
  BEYOND_2000,
  BEYOND_65536,
  ONE_UNWRITTEN,
  READS_RESULT,
  AFTER_400_ON_A_STATE,
  AFTER_400_IN_ALL,
  LEAKS_A_CALL,
  LEAKS_A_STATE,
  FAULTS_FPE,
  ABORTS,
  EXITS,
  EXITS_AT_ONCE,
  LOOPS,
  SLEEPS,
  RECURSES,
  EATS_MEMORY,
  EMPTY_FAULTS,
  SIZE_IN_A_STATIC,
  POINTERS_KEPT,
  NAN_LOST,
  DECLINES_LATE,
  FAILS,
  CHANGES_SHAPE,
  CLOSES_AND_SLEEPS,
  BLOCKS_SIGNALS,
  STATE_TOO_SMALL,
  FREES_TWICE,
  STATIC_BUFFER,
  SCRATCH_UNINITIALISED,
  SCRATCH_TOO_SMALL,
  SCRATCH_KEPT,
  HEAP_UNINITIALISED,
  RACE,
  ORDER_BY_THREADS,
  EMPTY_SUM_UNWRITTEN,
  SECOND_STRIDES_IGNORED,
  REST_OF_BLOCK_LOST,
  AXIS_IGNORED
} fault;

static fault planted;

static int is(fault which) {
  return planted == which;
}

/* ---- Views ---- */

static int dense(const gemel_view *v) {
  int64_t step = (int64_t)gemel_dtype_size(v->dtype);
  for (int k = v->rank; k-- > 0;) {
    if (v->shape[k] > 1 && v->strides[k] != step) {
      return 0;
    }
    step *= v->shape[k];
  }
  return 1;
}

/* The place of element I in row-major order. */
static char *place(const gemel_view *v, int64_t i) {
  int64_t at = 0, step = (int64_t)gemel_dtype_size(v->dtype);
  int last = is(RANK_5) && v->rank > 4 ? v->rank - 4 : is(RANK_9) && v->rank > 8 ? v->rank - 8 : 0;
  for (int k = v->rank; k-- > last;) {
    int64_t stride = v->strides[k];
    stride = is(STRIDES_IGNORED)                      ? step
             : is(NEGATIVE_IGNORED) && stride < 0     ? -stride
             : is(ZERO_STRIDE_IGNORED) && stride == 0 ? step
                                                      : stride;
    at += i % v->shape[k] * stride;
    i /= v->shape[k];
    step *= v->shape[k];
  }
  return (char *)v->data + at;
}

static double load(const gemel_view *v, int64_t i) {
  double x;
  memcpy(&x, place(v, i), sizeof x);
  return x;
}

static void store(const gemel_view *v, int64_t i, double x) {
  memcpy((char *)v->data + 8 * i, &x, sizeof x);
}

/* ---- Elementwise: sqr of f64 ---- */

struct squares {
  int64_t calls, n;
  const void *from;
  void *to;
  void *block;
};

static int64_t total_calls, static_n;
static double static_buffer[200000];

static void release_squares(void *prepared) {
  struct squares *s = prepared;
  free(s->block);
  if (is(FREES_TWICE)) {
    free(s->block);
  }
}

static gemel_status prepare_sqr(gemel_kernel_call *call) {
  struct squares *s = call->prepared;
  if (call->inputs[0].dtype != GEMEL_F64) {
    return GEMEL_DECLINED;
  }
  s->n = count(&call->inputs[0]);
  s->block = malloc(40);
  static_n = s->n;
  if (is(STATE_TOO_SMALL)) {
    memset(call->prepared, 0, GEMEL_KERNEL_PREPARED_BYTES + 8);
  }
  if (!is(LEAKS_A_STATE)) {
    call->release = release_squares;
  }
  return GEMEL_OK;
}

static gemel_status prepare_dense_sqr(gemel_kernel_call *call) {
  return dense(&call->inputs[0]) ? prepare_sqr(call) : GEMEL_DECLINED;
}

static gemel_status prepare_packed_sqr(gemel_kernel_call *call) {
  gemel_status status = prepare_sqr(call);
  return status == GEMEL_OK ? gemel_prepare_packed(call) : status;
}

static volatile int64_t sink;

static int64_t deep(int64_t n) {
  volatile char room[512];
  room[n % 512] = (char)n;
  return n == INT64_MAX ? 0 : deep(n + 1) + room[n % 512];
}

static void eat_memory(void) {
  while (calloc(1, 1 << 26) != NULL) {
  }
  abort();
}

/* Faults that don't depend on the data. */
static void misbehave(const gemel_kernel_call *call) {
  volatile double *y = call->outputs[0].data;
  const volatile double *x = call->inputs[0].data;
  int64_t n = count(&call->inputs[0]);
  volatile int zero = 0;
  sink = is(READS_PAST) ? (int64_t)x[n] : is(READS_BEFORE) ? (int64_t)x[-1] : 0;
  if (is(PAST_THE_END)) {
    y[n] = 0;
  } else if (is(BEFORE_THE_START)) {
    y[-1] = 0;
  } else if (is(LEAKS_A_CALL)) {
    sink = (int64_t)(intptr_t)malloc(24);
  } else if (is(FAULTS_FPE)) {
    raise(SIGFPE);
  } else if (is(ABORTS)) {
    abort();
  } else if (is(EXITS)) {
    exit(0);
  } else if (is(EXITS_AT_ONCE)) {
    _exit(0);
  } else if (is(LOOPS)) {
    while (!zero) {
    }
  } else if (is(SLEEPS)) {
    for (;;) {
      pause();
    }
  } else if (is(CLOSES_AND_SLEEPS)) {
    for (int file = 3; file < 1024; file++) {
      close(file);
    }
    for (;;) {
      pause();
    }
  } else if (is(BLOCKS_SIGNALS)) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
  } else if (is(RECURSES)) {
    sink = deep(0);
  } else if (is(EATS_MEMORY)) {
    eat_memory();
  } else if (is(EMPTY_FAULTS)) {
    y[0] = x[0];
  } else if (is(CHANGES_SHAPE)) {
    *(volatile int *)(uintptr_t)&call->inputs[0].rank = 0;
  }
}

/* Elements FIRST to LAST. */
static void square_some(const gemel_kernel_call *call, int64_t first, int64_t last) {
  gemel_view x = call->inputs[0];
  const struct squares *s = call->prepared;
  if (is(ROUNDS_POINTER_DOWN)) {
    x.data = (void *)((uintptr_t)x.data & ~(uintptr_t)63);
  }
  for (int64_t i = first; i < last; i++) {
    int64_t from = is(BEYOND_65536) ? (uint16_t)i : i;
    double v = load(&x, from);
    v = is(NAN_LOST) && isnan(v) ? 0 : v * v;
    v += is(BEYOND_2000) && i > 2000;
    v += is(AFTER_400_ON_A_STATE) && s->calls > 400;
    v += is(AFTER_400_IN_ALL) && total_calls > 400;
    if (!is(ONE_UNWRITTEN) || i + 1 < s->n) {
      store(&call->outputs[0], i, v);
    }
  }
}

struct part {
  const gemel_kernel_call *call;
  int64_t first, last;
};

static void *square_part(void *user) {
  const struct part *p = user;
  square_some(p->call, p->first, p->last);
  return NULL;
}

static gemel_status run_threads(const gemel_kernel_call *call) {
  int64_t n = count(&call->inputs[0]), threads = call->threads;
  struct part parts[8];
  pthread_t started[8];
  threads = is(FIFTH_THREAD) && threads > 4 ? 4 : threads;
  for (int64_t k = 0; k < threads; k++) {
    parts[k] = (struct part){call, n * k / call->threads, n * (k + 1) / call->threads};
    parts[k].last -= is(THREADS_LOSE_ONE) && k > 0 && parts[k].last > parts[k].first;
    if (pthread_create(&started[k], NULL, square_part, &parts[k]) != 0) {
      return GEMEL_NO_MEMORY;
    }
  }
  for (int64_t k = 0; k < threads; k++) {
    pthread_join(started[k], NULL);
  }
  return GEMEL_OK;
}

static gemel_status run_sqr(const gemel_kernel_call *call) {
  struct squares *s = call->prepared;
  double *x = call->inputs[0].data, *y = call->outputs[0].data;
  s->calls++;
  total_calls++;
  if (is(DECLINES_LATE) || is(FAILS)) {
    return is(FAILS) ? GEMEL_BAD_VALUE : GEMEL_DECLINED;
  }
  misbehave(call);
  if (is(OVERWRITES_INPUT)) {
    for (int64_t i = 0; i < s->n; i++) {
      x[i] *= x[i];
    }
    memcpy(y, x, (size_t)s->n * 8);
    return GEMEL_OK;
  }
  if (is(POINTERS_KEPT)) {
    s->from = s->from == NULL ? x : s->from;
    for (int64_t i = 0; i < s->n; i++) {
      y[i] = ((const double *)s->from)[i] * ((const double *)s->from)[i];
    }
    return GEMEL_OK;
  }
  if (is(STATIC_BUFFER)) {
    for (int64_t i = 0; i < s->n; i++) {
      static_buffer[i] = load(&call->inputs[0], i);
    }
    sched_yield();
    for (int64_t i = 0; i < s->n; i++) {
      y[i] = static_buffer[i] * static_buffer[i];
    }
    return GEMEL_OK;
  }
  square_some(call, 0, is(SIZE_IN_A_STATIC) ? static_n : s->n);
  if (is(READS_RESULT) && s->n > 0 && y[0] < 0) {
    y[0] = 0;
  }
  return GEMEL_OK;
}

/* ---- Reduction: the sum of all elements, f64 ---- */

static gemel_status prepare_sum(gemel_kernel_call *call) {
  if (call->inputs[0].dtype != GEMEL_F64 || count(&call->outputs[0]) != 1) {
    return GEMEL_DECLINED;
  }
  call->scratch_bytes = 8 * sizeof(double);
  return GEMEL_OK;
}

static gemel_status prepare_packed_sum(gemel_kernel_call *call) {
  gemel_status status = prepare_sum(call);
  return status == GEMEL_OK ? gemel_prepare_packed(call) : status;
}

static gemel_status run_sum(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  double *partial = call->scratch, total = 0;
  double *heap = malloc(8);
  int64_t n = count(x), *calls = call->prepared;
  for (int k = 0; k < 8 && !is(SCRATCH_UNINITIALISED); k++) {
    partial[k] = is(SCRATCH_KEPT) && *calls > 0 ? partial[k] : 0;
  }
  for (int64_t i = 0; i < n; i++) {
    partial[i % 8] += load(x, i);
  }
  for (int k = 0; k < 8; k++) {
    total += partial[k];
  }
  if (is(SCRATCH_TOO_SMALL)) {
    partial[8] = 0;
  }
  if (is(HEAP_UNINITIALISED)) {
    total += *(volatile double *)heap;
  }
  free(heap);
  ++*calls;
  if (!is(EMPTY_SUM_UNWRITTEN) || n > 0) {
    store(&call->outputs[0], 0, total);
  }
  return GEMEL_OK;
}

struct addend {
  const gemel_view *x;
  int64_t first, last;
  volatile double *total;
};

static void *add_part(void *user) {
  const struct addend *a = user;
  for (int64_t i = a->first; i < a->last; i++) {
    double so_far = *a->total;
    if (is(RACE) && i % 4 == 0) {
      sched_yield();
    }
    *a->total = so_far + load(a->x, i);
  }
  return NULL;
}

/* On threads: blocks of the same size whatever their number, or one for each thread. */
static gemel_status run_sum_threads(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  int64_t n = count(x);
  int parts = is(ORDER_BY_THREADS) ? call->threads : 8, k, j;
  volatile double totals[8] = {0}, total = 0;
  struct addend a[8];
  pthread_t started[8];
  for (k = 0; k < parts; k += j) {
    for (j = 0; j < call->threads && k + j < parts; j++) {
      int p = k + j;
      a[p] = (struct addend){x, n * p / parts, n * (p + 1) / parts,
                             is(RACE) ? &totals[0] : &totals[p]};
      if (pthread_create(&started[p], NULL, add_part, &a[p]) != 0) {
        return GEMEL_NO_MEMORY;
      }
    }
    for (int p = k; p < k + j; p++) {
      pthread_join(started[p], NULL);
    }
  }
  for (k = 0; k < parts; k++) {
    total += totals[k];
  }
  store(&call->outputs[0], 0, total);
  return GEMEL_OK;
}

/* ---- dot: matrices of f64 ---- */

static gemel_status prepare_dot(gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *y = &call->inputs[1];
  const gemel_attr *a = call->attrs;
  int plain = a[0].count == 1 && a[1].count == 1 && a[0].u.ints[0] == 1 && a[1].u.ints[0] == 0;
  return x->dtype == GEMEL_F64 && x->rank == 2 && y->rank == 2 &&
                 (plain || a[0].kind == GEMEL_ATTR_NONE)
             ? GEMEL_OK
             : GEMEL_DECLINED;
}

static gemel_status prepare_packed_dot(gemel_kernel_call *call) {
  gemel_status status = prepare_dot(call);
  return status == GEMEL_OK ? gemel_prepare_packed(call) : status;
}

static gemel_status run_dot(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *y = &call->inputs[1];
  int64_t m = x->shape[0], inner = x->shape[1], n = y->shape[1];
  int64_t used = is(REST_OF_BLOCK_LOST) && inner > 256 ? inner / 256 * 256 : inner;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      double total = 0;
      for (int64_t k = 0; k < used; k++) {
        const double *from = (const double *)y->data + k * n + j;
        total += load(x, i * inner + k) * (is(SECOND_STRIDES_IGNORED) ? *from : load(y, k * n + j));
      }
      store(&call->outputs[0], i * n + j, total);
    }
  }
  return GEMEL_OK;
}

/* ---- Copies: dimshuffle of any dtype ---- */

static gemel_status run_dimshuffle(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *y = &call->outputs[0];
  const gemel_attr *order = &call->attrs[0];
  size_t size = gemel_dtype_size(x->dtype);
  int64_t n = count(y), strides[GEMEL_MAX_RANK];
  gemel_view from = {x->dtype, y->rank, y->shape, strides, x->data};
  for (size_t k = 0; k < order->count; k++) {
    strides[k] = order->u.ints[k] < 0 ? 0 : x->strides[order->u.ints[k]];
  }
  for (int64_t i = 0; i < n; i++) {
    memcpy((char *)y->data + (size_t)i * size, place(&from, i), size);
  }
  return GEMEL_OK;
}

/* ---- softmax of f64 ---- */

static gemel_status prepare_softmax(gemel_kernel_call *call) {
  return call->inputs[0].dtype == GEMEL_F64 ? GEMEL_OK : GEMEL_DECLINED;
}

static gemel_status run_softmax(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  int axis = (int)call->attrs[0].u.i, k;
  int64_t inner = 1, outer = 1, length, o, i, j;
  axis = is(AXIS_IGNORED) ? x->rank - 1 : axis < 0 ? axis + x->rank : axis;
  length = x->shape[axis];
  for (k = 0; k < x->rank; k++) {
    outer *= k < axis ? x->shape[k] : 1;
    inner *= k > axis ? x->shape[k] : 1;
  }
  for (o = 0; o < outer * inner; o++) {
    int64_t first = o / inner * inner * length + o % inner;
    double largest = -INFINITY, total = 0;
    for (i = 0, j = first; i < length; i++, j += inner) {
      double v = load(x, j);
      largest = v > largest || isnan(v) ? v : largest;
    }
    for (i = 0, j = first; i < length; i++, j += inner) {
      total += exp(load(x, j) - largest);
    }
    for (i = 0, j = first; i < length; i++, j += inner) {
      store(&call->outputs[0], j, exp(load(x, j) - largest) / total);
    }
  }
  return GEMEL_OK;
}

/* ---- The corpus ---- */

typedef struct candidate {
  const char *name, *operation;
  fault fault;
  unsigned tiers;
  gemel_kernel kernel;
  const char *says; /* in the refutation; NULL: anything */
} candidate;

#define SQR                                                                                        \
  { "mine", prepare_sqr, run_sqr }
#define DENSE_SQR                                                                                  \
  { "mine", prepare_dense_sqr, run_sqr }
#define THREADED                                                                                   \
  { "mine", prepare_sqr, run_threads }
#define SUM                                                                                        \
  { "mine", prepare_sum, run_sum }
/* These ask for packed operands. */
#define PACKED_SQR                                                                                 \
  { "mine", prepare_packed_sqr, run_sqr }
#define PACKED_THREADED                                                                            \
  { "mine", prepare_packed_sqr, run_threads }
#define PACKED_SUM                                                                                 \
  { "mine", prepare_packed_sum, run_sum }
#define PACKED_DOT                                                                                 \
  { "mine", prepare_packed_dot, run_dot }
#define SUM_THREADS                                                                                \
  { "mine", prepare_sum, run_sum_threads }
#define DOT                                                                                        \
  { "mine", prepare_dot, run_dot }
#define SHUFFLE                                                                                    \
  { "mine", NULL, run_dimshuffle }
#define SOFTMAX                                                                                    \
  { "mine", prepare_softmax, run_softmax }

static const candidate right[] = {
    {"sqr in any layout", "sqr", NONE, I | F, SQR, NULL},
    {"sqr that declines layouts", "sqr", NONE, S, DENSE_SQR, "never taken: "},
    {"sqr on threads", "sqr", NONE, F, THREADED, NULL},
    {"sum with scratch memory", "sum", NONE, I, SUM, NULL},
    {"sum on threads", "sum", NONE, F, SUM_THREADS, NULL},
    {"dot", "dot", NONE, I, DOT, NULL},
    {"dimshuffle", "dimshuffle", NONE, I | S, SHUFFLE, NULL},
    {"softmax", "softmax", NONE, F | S, SOFTMAX, NULL},
    {"strides ignored, packed", "sqr", STRIDES_IGNORED, I | S, PACKED_SQR, NULL},
    {"strides ignored, packed, on threads", "sqr", STRIDES_IGNORED, I, PACKED_THREADED, NULL},
    {"strides ignored, packed, scratch memory", "sum", STRIDES_IGNORED, I | F, PACKED_SUM, NULL},
    {"strides ignored, packed matrices", "dot", STRIDES_IGNORED, I, PACKED_DOT, NULL},
};

static const candidate wrong[] = {
    {"strides ignored", "sqr", STRIDES_IGNORED, I, SQR, "strides"},
    {"strides ignored by a copy", "dimshuffle", STRIDES_IGNORED, I, SHUFFLE, "strides"},
    {"strides ignored by a sum", "sum", STRIDES_IGNORED, I, SUM, "strides"},
    {"strides of the second operand ignored", "dot", SECOND_STRIDES_IGNORED, I, DOT, "strides"},
    {"negative strides", "sqr", NEGATIVE_IGNORED, I, SQR, NULL},
    {"stride 0", "dimshuffle", ZERO_STRIDE_IGNORED, I, SHUFFLE, NULL},
    {"writes past the end", "sqr", PAST_THE_END, I, DENSE_SQR, "behind the end of y0"},
    {"writes before the start", "sqr", BEFORE_THE_START, I, DENSE_SQR, "y0"},
    {"reads past the end", "sqr", READS_PAST, I, DENSE_SQR, "behind the end of x0"},
    {"reads before the start", "sqr", READS_BEFORE, I, DENSE_SQR, "before the start of x0"},
    {"overwrites an input", "sqr", OVERWRITES_INPUT, I, DENSE_SQR, "which is an input"},
    {"threads lose an element", "sqr", THREADS_LOSE_ONE, I, THREADED, "threads"},
    {"at most four threads", "sqr", FIFTH_THREAD, I, THREADED, "8 threads"},
    {"rounds a pointer down", "sqr", ROUNDS_POINTER_DOWN, I, DENSE_SQR, NULL},
    {"rank 5", "sqr", RANK_5, I, SQR, NULL},
    {"rank 9", "sqr", RANK_9, I, SQR, NULL},
    {"more than 2000 elements", "sqr", BEYOND_2000, I, DENSE_SQR, NULL},
    {"more than 65536 elements", "sqr", BEYOND_65536, I, DENSE_SQR, NULL},
    {"leaves a result unwritten", "sqr", ONE_UNWRITTEN, I, DENSE_SQR, NULL},
    {"wrong after 400 calls", "sqr", AFTER_400_ON_A_STATE, I, SQR, "many calls"},
    {"wrong after 400 calls of all", "sqr", AFTER_400_IN_ALL, I, SQR, "many calls"},
    {"leaks in each call", "sqr", LEAKS_A_CALL, I, SQR, "bytes from malloc"},
    {"leaks with each state", "sqr", LEAKS_A_STATE, I, SQR, "bytes from malloc"},
    {"SIGFPE", "sqr", FAULTS_FPE, I, SQR, "SIGFPE (signal 8) in run"},
    {"abort", "sqr", ABORTS, I, SQR, "SIGABRT"},
    {"exit", "sqr", EXITS, I, SQR, "exit() was called"},
    {"_exit", "sqr", EXITS_AT_ONCE, I, SQR, "status 0"},
    {"a loop without end", "sqr", LOOPS, I, SQR, "no end in run"},
    {"sleeps", "sqr", SLEEPS, I, SQR, "no end in run"},
    {"closes all files and sleeps", "sqr", CLOSES_AND_SLEEPS, I, SQR, "no end in run"},
    {"recursion without end", "sqr", RECURSES, I, SQR, "SIGSEGV"},
    {"memory without end", "sqr", EATS_MEMORY, I, SQR, "SIGABRT"},
    {"empty operands", "sqr", EMPTY_FAULTS, I, DENSE_SQR, NULL},
    {"a size in a static variable", "sqr", SIZE_IN_A_STATIC, I, DENSE_SQR, NULL},
    {"keeps pointers", "sqr", POINTERS_KEPT, I, DENSE_SQR, NULL},
    {"a static buffer", "sqr", STATIC_BUFFER, I, DENSE_SQR, "another thread"},
    {"loses NaN", "sqr", NAN_LOST, S, SQR, NULL},
    {"declines in run", "sqr", DECLINES_LATE, I, SQR, "declined"},
    {"fails", "sqr", FAILS, I, SQR, "run returned"},
    {"changes what it is shown", "sqr", CHANGES_SHAPE, I, SQR, "not its to change"},
    {"a state that is too large", "sqr", STATE_TOO_SMALL, I, SQR,
     "behind the end of call->prepared"},
    {"releases twice", "sqr", FREES_TWICE, I, SQR, "SIGABRT"},
    {"scratch memory taken for zeros", "sum", SCRATCH_UNINITIALISED, I, SUM, NULL},
    {"too little scratch memory", "sum", SCRATCH_TOO_SMALL, I, SUM, "the scratch"},
    {"scratch memory kept", "sum", SCRATCH_KEPT, I, SUM, NULL},
    {"memory from malloc taken for zeros", "sum", HEAP_UNINITIALISED, I | F, SUM, NULL},
    {"a race", "sum", RACE, I, SUM_THREADS, NULL},
    {"an order that depends on threads", "sum", ORDER_BY_THREADS, F, SUM_THREADS, "every bit"},
    {"sum of nothing", "sum", EMPTY_SUM_UNWRITTEN, I, SUM, NULL},
    {"the rest of a block", "dot", REST_OF_BLOCK_LOST, I, DOT, NULL},
    {"rank 5 in a copy", "dimshuffle", RANK_5, I, SHUFFLE, NULL},
    {"reads past the end, packed", "sqr", READS_PAST, I, PACKED_SQR, "behind the end of x0"},
    {"too little scratch memory, packed", "sum", SCRATCH_TOO_SMALL, I, PACKED_SUM, "the scratch"},
    {"loses NaN, packed", "sqr", NAN_LOST, S, PACKED_SQR, NULL},
    {"always the last axis", "softmax", AXIS_IGNORED, F, SOFTMAX, NULL},
};

static heard judge(const candidate *c, uint64_t seed, size_t instances) {
  const gemel_verify_options options = {
      .seed = seed,
      .instances = instances,
      .tiers = c->tiers,
      .kernel_seconds =
          c->fault == LOOPS || c->fault == SLEEPS || c->fault == CLOSES_AND_SLEEPS ? 0.3 : 0};
  planted = c->fault;
  heard h = judge_kernel(c->name, c->operation, &c->kernel, options);
  planted = NONE;
  return h;
}

/* ---- What was offered and declined ---- */

static size_t prepared;

static gemel_status decline(gemel_kernel_call *call) {
  prepared++;
  call->error->status = GEMEL_DECLINED;
  snprintf(call->error->text, sizeof call->error->text, "no such machine");
  return GEMEL_DECLINED;
}

/* In this process, so that its calls can be counted. */
static void declines_all(const void *data) {
  static const gemel_kernel kernel = {"none", decline, run_sqr};
  gemel_context *context = gemel_context_new(NULL);
  (void)data;
  prepared = 0;
  heard h = hear_kernel(context, "none", "sqr", &kernel, (gemel_verify_options){.in_process = 1});
  ct_context("%zu calls of prepare: %s", prepared, h.all);
  CT_EQ_UINT(h.verdicts[GEMEL_VERDICT_NOT_RUN], 3);
  CT_CHECK(prepared > 1000 && prepared < 30000);
  CT_HAS_STR(h.all, "the kernel declined all ");
  CT_HAS_STR(h.all, "f16, bf16, f32, f64 of ranks 0 to 16, each in up to ");
  CT_HAS_STR(h.all, " times): no such machine; declined, for example: (1) x0: ");
  CT_HAS_STR(h.all, ", (2) x0: ");
  CT_HAS_STR(h.all, " strides ");
  gemel_context_unref(context);
}

/* Nothing that is declined throughout passes, whatever kind of operation it is; and attributes are
 * shown. */
static void passes_nothing(const void *data) {
  static const char *const operations[] = {"exp", "bit_and", "cast", "softmax", "dot", "sum"};
  static const gemel_kernel kernel = {"none", decline, run_sqr};
  gemel_context *context = gemel_context_new(NULL);
  (void)data;
  for (size_t k = 0; k < CT_COUNT(operations); k++) {
    heard h = hear_kernel(context, operations[k], operations[k], &kernel,
                          (gemel_verify_options){.in_process = 1});
    ct_context("%s: %s", operations[k], h.all);
    CT_CHECK(h.passed == 0 && h.refuted == 0 && h.verdicts[GEMEL_VERDICT_NOT_RUN] > 0);
    CT_CHECK(strcmp(operations[k], "softmax") != 0 || strstr(h.all, "; axis = ") != NULL);
    CT_CHECK(strcmp(operations[k], "sum") != 0 || strstr(h.all, "; axes = ") != NULL);
  }
  gemel_context_unref(context);
}

/* What is taken has no elements. */
static gemel_status prepare_empty(gemel_kernel_call *call) {
  return count(&call->inputs[0]) == 0 ? prepare_sqr(call) : GEMEL_DECLINED;
}

static void takes_nothing(const void *data) {
  static const gemel_kernel kernel = {"empty", prepare_empty, run_sqr};
  gemel_context *context = gemel_context_new(NULL);
  (void)data;
  if (getenv("GEMEL_VALGRIND") != NULL) {
    CT_SKIP("child processes by the thousand");
  }
  heard h = hear_kernel(context, "empty", "sqr", &kernel, (gemel_verify_options){.instances = 24});
  ct_context("%s", h.all);
  CT_CHECK(h.passed == 0 && h.refuted == 0);
  gemel_context_unref(context);
}

/* Seldom is it offered what it takes. */
static gemel_status prepare_picky(gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  if (x->rank != 3 || x->shape[0] != 2) {
    snprintf(call->error->text, sizeof call->error->text, "two images, please");
    return GEMEL_DECLINED;
  }
  return prepare_sqr(call);
}

static void says_what(const void *data) {
  const candidate picky = {"picky", "sqr", NONE, I, {"picky", prepare_picky, run_sqr}, NULL};
  (void)data;
  if (getenv("GEMEL_VALGRIND") != NULL) {
    CT_SKIP("child processes by the thousand");
  }
  for (uint64_t seed = 1; seed <= 3; seed++) {
    heard h = judge(&picky, seed, 24);
    CT_CHECK(h.passed == 1 && h.good == h.records);
    CT_HAS_STR(h.all, " calls: f64 of rank 3; the kernel declined ");
    CT_HAS_STR(h.all, "never taken: bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, ");
    CT_HAS_STR(h.all, ", rank 4, ");
    CT_HAS_STR(h.all, " times): two images, please; declined, for example: (1) x0: ");
  }
}

static void passes(const void *data) {
  const candidate *c = data;
  if (getenv("GEMEL_VALGRIND") != NULL) {
    CT_SKIP("child processes by the thousand");
  }
  for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    heard h = judge(c, seed, 24);
    CT_CHECK(h.passed > 0 && h.good == h.records);
    if (c->says != NULL) {
      CT_HAS_STR(h.all, c->says);
    }
  }
}

/* Signals that a kernel leaves blocked are its own business: they mustn't keep the trial waiting.
 */
static void blocks_signals(const void *data) {
  const candidate c = {"leaves signals blocked", "sqr", BLOCKS_SIGNALS, I, SQR, NULL};
  time_t started = time(NULL);
  heard h;
  (void)data;
  if (getenv("GEMEL_VALGRIND") != NULL) {
    CT_SKIP("child processes by the thousand");
  }
  h = judge(&c, 1, 24);
  CT_CHECK(h.refuted == 0 && h.passed == 1);
  CT_CHECK(time(NULL) - started < 100);
}

static void is_refuted(const void *data) {
  const candidate *c = data;
  if (getenv("GEMEL_VALGRIND") != NULL) {
    CT_SKIP("child processes by the thousand");
  }
  if (getenv("GEMEL_SANITIZED") != NULL &&
      (c->fault == LEAKS_A_CALL || c->fault == LEAKS_A_STATE || c->fault == EATS_MEMORY ||
       c->fault == HEAP_UNINITIALISED || c->fault == FREES_TWICE || c->fault == RECURSES)) {
    CT_SKIP("the sanitizer's malloc has its own ways");
  }
  for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    heard h = judge(c, seed, c->fault == RANK_9 ? 96 : 24);
    CT_CHECK(h.refuted > 0);
    if (c->says != NULL) {
      CT_HAS_STR(h.bad, c->says);
    }
  }
}

static const ct_test offers[] = {
    CT_TEST("declines all", declines_all, NULL),    CT_TEST("passes nothing", passes_nothing, NULL),
    CT_TEST("takes nothing", takes_nothing, NULL),  CT_TEST("blocks signals", blocks_signals, NULL),
    CT_TEST("says what it takes", says_what, NULL),
};

void ct_register(void) {
  ct_suite("kernels", offers, CT_COUNT(offers));
  for (size_t k = 0; k < CT_COUNT(right); k++) {
    CT_ADD_TO("kernels", "right", right[k].name, passes, &right[k]);
  }
  for (size_t k = 0; k < CT_COUNT(wrong); k++) {
    CT_ADD_TO("kernels", "wrong", wrong[k].name, is_refuted, &wrong[k]);
  }
}
