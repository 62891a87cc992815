/*
 * The three convolutions on the device "cuda", on the grid of support/conv-grid.h: every algorithm
 * that the device has for them, asked directly, gives what the reference gives, bit for bit,
 * forward and for both gradients. Each run draws GEMEL_GRID_CASES cases anew, by default a fifth of
 * those that tests/t-conv-grid has run on the host (doc/evidence.md); GEMEL_GRID_SEED repeats a
 * run.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "kernels/conv-algorithms.h"

static gemel_error error;

#include "support/conv-grid.h"
#include "support/on-gpu.h"

enum { MOST_BYTES = MOST_ELEMENTS * 8, FIFTH = 10283 };

/* ---- The device ---- */

static gemel_cuda *cuda;
static const gemel_device *device;
static void *staging[4]; /* of MOST_BYTES: that the device copies three operands and a result by */

static void open_device(void) {
  cuda = gemel_cuda_open(0, &error);
  CT_REQUIRE(cuda != NULL);
  device = gemel_cuda_device(cuda);
  for (int k = 0; k < 4; k++) {
    CT_REQUIRE(device->allocate_staging(device->user, MOST_BYTES, &staging[k], &error) == GEMEL_OK);
  }
}

/* Nothing may be left behind, and nothing have been done wrong. */
static void close_device(void) {
  for (int k = 0; k < 4; k++) {
    device->release_staging(device->user, staging[k], MOST_BYTES);
  }
  gemel_cuda_close(cuda);
  gemel__sim_alive alive = sim_living();
  CT_EQ_INT(sim_reports(), 0);
  CT_EQ_INT(alive.allocations + alive.pinned, 0);
  sim_forget();
}

static size_t bytes_of(const gemel_view *view) {
  return (size_t)count_of(view) * gemel_dtype_size(view->dtype);
}

/* BYTES > 0 of the device's memory: the sim is told that nothing is written yet, and reports who
 * reads it or leaves it; elsewhere it is full of NaN. */
static void *allocate(size_t bytes) {
  void *data = NULL;
  CT_CHECK(device->allocate(device->user, bytes + device->gap, &data, &error) == GEMEL_OK);
  CT_CHECK((device->note != NULL
                ? device->note(device->user, data, bytes, &error)
                : device->fill(device->user, data, 0xff, bytes, &error)) == GEMEL_OK);
  return data;
}

static void release(void *data, size_t bytes) {
  if (device->note != NULL) {
    CT_CHECK(device->note(device->user, data, 0, &error) == GEMEL_OK);
  }
  device->release(device->user, data, bytes + device->gap);
}

/* A copy of VIEW's elements on the device, by way of FROM, staging memory that is used until the
 * device is synchronized. */
static void *upload(const gemel_view *view, void *from) {
  void *data = allocate(bytes_of(view));
  memcpy(from, view->data, bytes_of(view));
  CT_CHECK(device->upload(device->user, data, from, bytes_of(view), &error) == GEMEL_OK);
  return data;
}

static void download(const void *from, const gemel_view *to) {
  CT_CHECK(device->download(device->user, staging[3], from, bytes_of(to), &error) == GEMEL_OK);
  CT_CHECK(device->synchronize(device->user, &error) == GEMEL_OK);
  memcpy(to->data, staging[3], bytes_of(to));
}

/* ---- Algorithms ---- */

typedef struct algorithm {
  const char *name;
  gemel_status (*prepare)(gemel_kernel_call *call, gemel__conv_kind kind);
  gemel_status (*run)(const gemel_kernel_call *call, gemel__conv_kind kind);
  size_t ran[3]; /* cases of each kind */
} algorithm;

static algorithm algorithms[] = {
#define ALGORITHM(name, least)                                                                     \
  {#name, gemel__cuda_conv_##name##_prepare, gemel__cuda_conv_##name##_run, {0}},
#include "kernels/conv.def"
#undef ALGORITHM
};

/* Runs algorithm A on CALL, whose operands lie on the device, and brings the result to OUT; 0 if it
 * declines. */
static int run(algorithm *a, gemel_kernel_call *call, gemel__conv_kind kind,
               const gemel_view *out) {
  static char state[GEMEL_KERNEL_PREPARED_BYTES];
  gemel_view there = *out;
  memset(state, 0, sizeof state);
  call->prepared = state;
  call->scratch_bytes = 0;
  call->release = NULL;
  call->outputs = &there;
  if (a->prepare(call, kind) != GEMEL_OK) {
    return 0;
  }
  there.data = allocate(bytes_of(out));
  call->scratch = allocate(call->scratch_bytes + 1);
  CT_EQ_INT(a->run(call, kind), GEMEL_OK);
  a->ran[kind]++;
  download(there.data, out);
  if (call->release != NULL) {
    call->release(state);
  }
  release(call->scratch, call->scratch_bytes + 1);
  release(there.data, bytes_of(out));
  return 1;
}

/* All algorithms for KIND; the number of comparisons. */
static size_t compare(const grid_problem *p, gemel__conv_kind kind, gemel_kernel_call *call,
                      void *const *there) {
  static grid_operand out;
  const grid_operand *like = &p->operand[kind];
  gemel_view inputs[2];
  gemel_attr attrs[GEMEL__CONV_SIZES + 1];
  void *e = gemel__elements_new(p->domain, 1);
  size_t compared = 0;
  for (int k = 0; k < 2; k++) {
    inputs[k] = p->operand[operands_of[kind][k]].view;
    inputs[k].data = there[operands_of[kind][k]];
  }
  attributes(&p->c, kind, attrs);
  shape_operand(&out, like->view.dtype, p->c.axes, like->shape[0], like->shape[1], like->shape + 2);
  call->inputs = inputs;
  call->attrs = attrs;
  for (size_t k = 0; k < CT_COUNT(algorithms); k++) {
    if (run(&algorithms[k], call, kind, &out.view)) {
      compared++;
      if (differences(p->domain, e, &p->expected[kind], &out) > 0) {
        CT_FAIL("%s", describe(&p->c, algorithms[k].name, kind, like->view.dtype));
      }
    }
  }
  gemel__elements_free(p->domain, e, 1);
  return compared;
}

static size_t compare_kinds(const grid_problem *p) {
  gemel_kernel_call call = {.size = sizeof call,
                            .n_inputs = 2,
                            .n_outputs = 1,
                            .threads = 1,
                            .device = device,
                            .error = &error};
  void *there[3];
  size_t compared = 0;
  for (int k = 0; k < 3; k++) {
    there[k] = upload(&p->operand[k].view, staging[k]);
  }
  for (int kind = 0; kind < 3; kind++) {
    compared += compare(p, (gemel__conv_kind)kind, &call, there);
  }
  for (int k = 0; k < 3; k++) {
    release(there[k], bytes_of(&p->operand[k].view));
  }
  return compared;
}

/* ---- The grid ---- */

static uint64_t number_given(const char *name, uint64_t otherwise) {
  const char *given = getenv(name);
  return given != NULL ? strtoull(given, NULL, 10) : otherwise;
}

static uint64_t next(uint64_t *random) {
  *random = *random * 6364136223846793005u + 1442695040888963407u;
  return *random >> 20;
}

#ifdef GEMEL__CUDNN
static const int has_cudnn = 1;
#else
static const int has_cudnn = 0;
#endif

/* An algorithm that declines everything would agree with the reference, too. */
static void all_ran(void) {
  for (size_t k = 0; k < CT_COUNT(algorithms); k++) {
    for (int kind = 0; kind < 3; kind++) {
      ct_context("%s by %s", conv_names[kind], algorithms[k].name);
      CT_CHECK(algorithms[k].ran[kind] > 0 ||
               (!has_cudnn && strcmp(algorithms[k].name, "cudnn") == 0));
    }
    printf("%s: %zu, %zu, %zu\n", algorithms[k].name, algorithms[k].ran[0], algorithms[k].ran[1],
           algorithms[k].ran[2]);
  }
}

static void grid(const void *data) {
  static grid_problem p;
  const uint64_t given = number_given("GEMEL_GRID_SEED", 0);
  const uint64_t seed = given != 0 ? given : (uint64_t)time(NULL) * 65537 + (uint64_t)getpid();
  const uint64_t wanted =
      number_given("GEMEL_GRID_CASES", getenv("GEMEL_QUICK") != NULL ? 300 : FIFTH);
  uint64_t random = seed;
  size_t cases = 0, compared = 0;
  (void)data;
  printf("GEMEL_GRID_SEED=%llu\n", (unsigned long long)seed);
  open_device();
  p.domain = gemel__field_new(NULL, 1, &error);
  CT_REQUIRE(p.domain != NULL);
  while (cases < wanted) {
    uint64_t number = next(&random) % whole_grid;
    if (draw_case(number, &p.c)) {
      ct_context("GEMEL_GRID_SEED=%llu, case %zu", (unsigned long long)seed, cases);
      draw_operands(&p, dtype_of_case(number), &random);
      expect_results(&p);
      compared += compare_kinds(&p);
      forget_problem(&p);
      cases++;
    }
  }
  printf("%zu cases, %zu comparisons\n", cases, compared);
  all_ran();
  gemel__field_free(p.domain);
  close_device();
}

void ct_register(void) {
  need_gpu();
  CT_ADD("cuda_conv", "grid", grid, NULL);
}
