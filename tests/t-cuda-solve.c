/* SPDX-License-Identifier: MIT
 *
 * Linear systems and determinants of matrices that are big enough for cuSOLVER and cuBLAS, on the
 * device "cuda": what they give is near the host's, NaN where that is NaN, for matrices that are
 * well, singular, not finite, not positive definite or too large for their factors, of any layout.
 * What isn't read is NaN here. From the third call on a call is one launch. On the sim, which can
 * be asked to, libraries are counted, and seen to be missed where they can't serve: without
 * cuSOLVER, and where it doesn't let itself be recorded; and memory is refused to each call.
 */
#include <gemel/cuda.h>
#include <gemel/lift.h>
#include "run.h"
#include "support/near.h"
#include "support/on-gpu.h"

enum { MOST = 8 };

/* What a case's inputs called a, b, ... are: matrices, each of another kind in a batch; those with
 * one triangle, or that without its diagonal; positive definite ones, or not; right sides. */
static const char kinds[] = "MLUluPb";

/* Each input of TEXT is called after its kind; T stands for the dtype. LU and SYSTEMS: how many
 * calls of cuSOLVER and cuBLAS a call is. */
typedef struct solve_case {
  const char *name, *text;
  gemel_dtype dtype;
  long factors, systems;
} solve_case;

#define BOTH(name, text, factors, systems)                                                         \
  {name "-f32", text, GEMEL_F32, factors, systems}, {                                              \
    name "-f64", text, GEMEL_F64, factors, systems                                                 \
  }
static const solve_case cases[] = {
    BOTH("lu",
         "graph g(M: T[3, 2, 150, 150], b: T[3, 2, 150, 5]) {\n"
         "  return x = solve(M, b), d = det(M), l = log_abs_det(M)\n}\n",
         18, 12),
    BOTH("one",
         "graph g(M: T[129, 129], b: T[129, 70]) {\n"
         "  return x = solve(M, b), d = det(M), l = log_abs_det(M)\n}\n",
         3, 2),
    BOTH("views",
         "graph g(M: T[2, 151, 300], U: T[2, 150, 150], P: T[2, 150, 150], b: T[3, 2, 150]) {\n"
         "  m = dimshuffle(subtensor(M, start = [0, 0, 0], size = [2, 150, 150], step = [1, 1, "
         "2]),\n"
         "    order = [0, 2, 1])\n"
         "  r = dimshuffle(reverse(b, axes = [0]), order = [1, 2, 0])\n"
         "  return x = solve(m, r), y = triangular_solve(dimshuffle(U, order = [0, 2, 1]), r),\n"
         "    c = cholesky(reverse(P, axes = [0])), d = det(m)\n}\n",
         6, 6),
    BOTH("triangles",
         "graph g(L: T[2, 150, 150], U: T[2, 150, 150], l: T[2, 150, 150], u: T[2, 150, 150],\n"
         "  b: T[2, 150, 3]) {\n"
         "  return c = triangular_solve(L, b, lower = 1),\n"
         "    d = triangular_solve(L, b, lower = 1, trans = 1),\n"
         "    e = triangular_solve(U, b, lower = 0),\n"
         "    f = triangular_solve(U, b, lower = 0, trans = 1),\n"
         "    h = triangular_solve(l, b, lower = 1, unit_diagonal = 1),\n"
         "    i = triangular_solve(l, b, lower = 1, trans = 1, unit_diagonal = 1),\n"
         "    j = triangular_solve(u, b, lower = 0, unit_diagonal = 1),\n"
         "    k = triangular_solve(u, b, lower = 0, trans = 1, unit_diagonal = 1)\n}\n",
         0, 16),
    BOTH("cholesky", "graph g(P: T[5, 150, 150]) {\n  return x = cholesky(P)\n}\n", 5, 0),
    BOTH("none",
         "graph g(M: T[0, 150, 150], b: T[0, 150, 3], P: T[2, 150, 150]) {\n"
         "  z = subtensor(P, start = [0, 0, 0], size = [2, 150, 0])\n"
         "  return x = solve(M, b), d = det(M), c = cholesky(M), t = triangular_solve(M, b),\n"
         "    y = solve(P, z), u = triangular_solve(P, z)\n}\n",
         0, 0),
    BOTH("few",
         "graph g(M: T[128, 128], b: T[128, 2]) {\n"
         "  return x = solve(M, b), c = cholesky(M), t = triangular_solve(M, b)\n}\n",
         0, 0),
};

/* ---- Matrices ---- */

static void set(gemel_tensor *t, int64_t k, double x) {
  if (gemel_tensor_dtype(t) == GEMEL_F32) {
    ((float *)gemel_tensor_data(t))[k] = (float)x;
  } else {
    ((double *)gemel_tensor_data(t))[k] = x;
  }
}

static double get(const gemel_tensor *t, int64_t k) {
  return gemel_tensor_dtype(t) == GEMEL_F32 ? (double)float_at(t, k)
                                            : ((const double *)gemel_tensor_data(t))[k];
}

/* What is wrong with a matrix of a batch, by its number. */
enum { WELL, SINGULAR, WITH_NAN, WITH_INFINITY, OVERFLOWS };

/* Of a matrix whose large elements stand far from the diagonal. One overflows when rows are added;
 * one has a NaN, and a column of zeros that comes before it. */
static double element(int number, int64_t n, int64_t i, int64_t j, double most) {
  double x = (double)(pick(2001) - 1000) / 1e5;
  x += (i + 37) % n == j ? 1 : 0;
  return (number == SINGULAR || number == WITH_NAN) && j == 5 ? 0
         : number == WITH_NAN && i == 7 && j == 149           ? NAN
         : number == WITH_INFINITY && i == 2 && j == 99       ? INFINITY
         : number == OVERFLOWS && i < 2 && j < 2 ? (j == 0 ? 4 - 8.0 * (double)i : most)
                                                 : x;
}

/* Of a symmetric matrix. */
static double positive(int number, int64_t i, int64_t j) {
  double x = i == j ? 2 : cos((double)((i + 1) * (j + 1))) / 100;
  return j > i                                         ? NAN
         : number == SINGULAR && i == 140 && j == i    ? -1
         : number == WITH_NAN && i == 149 && j == 3    ? NAN
         : number == WITH_INFINITY && i == j && i == 9 ? INFINITY
                                                       : x;
}

/* Of a triangle; number 1 has a NaN in it. */
static double triangle(char kind, int number, int64_t i, int64_t j) {
  int lower = kind == 'L' || kind == 'l', unit = kind == 'l' || kind == 'u';
  double x = (double)(pick(2001) - 1000) / 1e5;
  int64_t at = lower ? i - j : j - i;
  return at < unit ? NAN : number == 1 && (i + j == 150) && at < 3 ? NAN : at == 0 ? 1 + x : x;
}

/* In the first batch one column of a right side isn't finite. */
static double right_side(int64_t k, int64_t columns) {
  return k == 3 * columns + 1 ? INFINITY : (double)(pick(2001) - 1000) / 1000;
}

static gemel_tensor *tensor_for(gemel_value input, char kind) {
  gemel_context *context = gemel_graph_context(input.graph);
  gemel_type type = gemel_value_type(input);
  int64_t shape[GEMEL_MAX_RANK];
  int rank = gemel_type_rank(context, type);
  for (int axis = 0; axis < rank; axis++) {
    gemel_dim_is_constant(context, gemel_type_dims(context, type)[axis], &shape[axis]);
  }
  gemel_dtype dtype = gemel_type_dtype(context, type);
  gemel_tensor *t = gemel_tensor_new(dtype, rank, shape, &error);
  int64_t rows = shape[rank - 2], columns = shape[rank - 1], step = columns > rows ? 2 : 1;
  state = (uint64_t)kind;
  for (int64_t k = 0; t != NULL && k < gemel_tensor_elements(t); k++) {
    int64_t i = k / columns % rows, j = k % columns / step;
    int number = (int)(k / columns / rows);
    set(t, k,
        kind == 'b'   ? right_side(k, columns)
        : kind == 'M' ? element(number, columns / step, i, j, dtype == GEMEL_F32 ? 3e38 : 1.5e308)
        : kind == 'P' ? positive(number, i, j)
                      : triangle(kind, number, i, j));
  }
  return t;
}

/* ---- Functions ---- */

typedef struct bench {
  gemel_context *context;
  gemel_cuda *cuda;
  gemel_graph *graph;
} bench;

static gemel_status open_bench(bench *b, const solve_case *c) {
  char text[2000], *to = text;
  for (const char *from = c->text; *from != '\0'; from++) {
    to += sprintf(to, "%.*s", 1, from);
    if (from[0] == 'T' && from[1] == '[') {
      to += sprintf(to - 1, "%s", c->dtype == GEMEL_F32 ? "f32" : "f64") - 1;
    }
  }
  *b = (bench){gemel_context_new(&error), gemel_cuda_open(0, &error), NULL};
  gemel_status status =
      b->context != NULL && b->cuda != NULL
          ? gemel_register_device(b->context, 1, gemel_cuda_device(b->cuda), &error)
          : error.status;
  if (status == GEMEL_OK) {
    b->graph = gemel_parse(b->context, text, strlen(text), "test", NULL, &error);
  }
  return status == GEMEL_OK && b->graph == NULL ? error.status : status;
}

static void close_bench(bench *b) {
  gemel_graph_unref(b->graph);
  gemel_context_unref(b->context);
  gemel_cuda_close(b->cuda);
}

/* A function with operands and results, on the host or, all of them, on the device. */
typedef struct calls {
  gemel_function *f;
  gemel_tensor *in[MOST], *out[MOST];
  size_t inputs, outputs;
} calls;

static gemel_status open_calls(calls *c, const bench *b, int lifted) {
  gemel_lift_options lift = {.size = sizeof lift, .space = 1, .inputs = "*", .outputs = "*"};
  gemel_options options = {
      .size = sizeof options, .threads = 1, .as_written = 1, .lift = lifted ? &lift : NULL};
  *c = (calls){.inputs = gemel_graph_input_count(b->graph),
               .outputs = gemel_graph_output_count(b->graph)};
  for (size_t k = 0; k < c->inputs; k++) {
    char kind = gemel_graph_input_name(b->graph, k)[0];
    gemel_tensor *here = tensor_for(gemel_graph_input(b->graph, k), kind);
    CT_CHECK(strchr(kinds, kind) != NULL);
    c->in[k] = here != NULL && lifted
                   ? gemel_tensor_transfer(here, gemel_cuda_device(b->cuda), &error)
                   : gemel_tensor_ref(here);
    gemel_tensor_unref(here);
    if (c->in[k] == NULL) {
      return error.status;
    }
  }
  c->f = gemel_compile(b->graph, &options, &error);
  return c->f != NULL ? GEMEL_OK : error.status;
}

static void close_calls(calls *c) {
  for (size_t k = 0; k < MOST; k++) {
    gemel_tensor_unref(c->in[k]);
    gemel_tensor_unref(c->out[k]);
  }
  gemel_function_free(c->f);
}

static gemel_status call(calls *c) {
  return gemel_call(c->f, c->inputs, c->in, c->outputs, c->out, &error);
}

static void nothing_left(void) {
  gemel__sim_alive a = sim_living();
  CT_EQ_INT(sim_reports(), 0);
  CT_EQ_INT(a.allocations + a.pinned + a.streams + a.graphs + a.handles, 0);
  sim_forget();
}

/* GOT, on the device, is W but for rounding. */
static void check_tensor(const gemel_tensor *got, const gemel_tensor *w) {
  gemel_tensor *here = gemel_tensor_transfer(got, gemel_host(), &error);
  here = here != NULL ? here : gemel_tensor_transfer(got, gemel_host(), &error);
  double bound = gemel_tensor_dtype(w) == GEMEL_F32 ? 2e-4 : 1e-12;
  int64_t wrong = 0, n = gemel_tensor_elements(w);
  CT_REQUIRE(here != NULL);
  for (int64_t k = 0; k < n; k++) {
    double wanted = get(w, k), value = get(here, k);
    wrong += !is_near_or_nan(value, wanted, bound * (1 + fabs(isfinite(wanted) ? wanted : 0)));
  }
  CT_EQ_INT(gemel_tensor_elements(here), n);
  CT_EQ_INT(wrong, 0);
  gemel_tensor_unref(here);
}

static gemel_cuda_counts count(const bench *b) {
  gemel_cuda_counts c = {.size = sizeof c};
  gemel_cuda_counted(b->cuda, &c);
  return c;
}

static void check_results(const calls *here, const calls *there) {
  for (size_t k = 0; k < here->outputs; k++) {
    check_tensor(there->out[k], here->out[k]);
  }
}

/* LIBRARIES are asked for as much as C says, or, where they can't serve, not at all. On a GPU,
 * where nobody counts their calls, more is asked for than plain kernels: so it is seen if cuSOLVER
 * there can't be recorded. */
static void compare(const solve_case *c, int libraries) {
  bench b;
  calls here, there;
  CT_EQ_INT(open_bench(&b, c), GEMEL_OK);
  CT_REQUIRE(b.graph != NULL);
  CT_EQ_INT(open_calls(&here, &b, 0), GEMEL_OK);
  CT_EQ_INT(open_calls(&there, &b, 1), GEMEL_OK);
  CT_EQ_INT(call(&here), GEMEL_OK);
  for (int k = 0; k < 4; k++) {
    gemel_cuda_counts before = count(&b), after;
    ct_context("call %d: %s", k, error.text);
    CT_EQ_INT(call(&there), GEMEL_OK);
    after = count(&b);
    CT_EQ_INT(k > 1 ? after.graphs - before.graphs : 1, 1);
    CT_EQ_INT(k > 1 ? after.kernels - before.kernels + after.allocations - before.allocations : 0,
              0);
    long asked = (long)(after.kernels - before.kernels), library_calls = c->factors + c->systems;
    CT_CHECK(k > 0 || !libraries || library_calls == 0 || asked > library_calls + 2);
#ifndef GEMEL_ON_GPU
    const gemel_device *device = gemel_cuda_device(b.cuda);
    CT_EQ_INT(device->synchronize(device->user, &error), GEMEL_OK);
    CT_EQ_INT(gemel__sim_counted().factors, libraries ? c->factors : 0);
    CT_EQ_INT(gemel__sim_counted().products, libraries ? c->systems : 0);
    gemel__sim_count_from_here();
#endif
    check_results(&here, &there);
  }
  close_calls(&here);
  close_calls(&there);
  close_bench(&b);
  nothing_left();
}

static void same(const void *data) {
  compare(data, 1);
}

#ifndef GEMEL_ON_GPU

/* Plain kernels serve in the place of libraries. */
static void missed(const void *data) {
  setenv("GEMEL_SIM_CUSOLVER", data, 1);
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    if (cases[k].factors > 0 && cases[k].factors < 6 && cases[k].dtype == GEMEL_F32) {
      solve_case c = cases[k];
      c.systems = 0;
      ct_context("%s", c.name);
      compare(&c, 0);
    }
  }
  unsetenv("GEMEL_SIM_CUSOLVER");
}

/* Three calls, the second of which records; each once more if memory is refused to it. */
static const solve_case small = {
    "small",
    "graph g(M: T[130, 130], b: T[130, 1], P: T[130, 130]) {\n"
    "  return x = solve(M, b), c = cholesky(P), t = triangular_solve(P, b, lower = 1)\n}\n",
    GEMEL_F32, 2, 3};
static calls wanted;

static gemel_status whole_program(void) {
  bench b;
  calls there = {0};
  gemel_status status = open_bench(&b, &small);
  status = status == GEMEL_OK ? open_calls(&there, &b, 1) : status;
  for (int k = 0; k < 3 && status == GEMEL_OK; k++) {
    status = call(&there);
    status = status == GEMEL_NO_MEMORY ? call(&there) : status;
    if (CT_EQ_INT(status, GEMEL_OK)) {
      check_results(&wanted, &there);
    }
  }
  close_calls(&there);
  close_bench(&b);
  return status;
}

static void refused(const void *data) {
  long refused = 0;
  bench b;
  (void)data;
  CT_EQ_INT(open_bench(&b, &small), GEMEL_OK);
  CT_EQ_INT(open_calls(&wanted, &b, 0), GEMEL_OK);
  CT_EQ_INT(call(&wanted), GEMEL_OK);
  close_bench(&b);
  for (int was = 1; was; refused += was) {
    gemel__sim_seed((uint64_t)refused);
    gemel__sim_refuse(refused);
    gemel_status status = whole_program();
    was = gemel__sim_refuse(-1);
    ct_context("call %ld of CUDA is refused: %s", refused, error.text);
    CT_CHECK(status == GEMEL_OK || (was && status == GEMEL_NO_MEMORY));
    nothing_left();
  }
  printf("  each of %ld calls of CUDA refused\n", refused);
  CT_CHECK(refused > 30);
  close_calls(&wanted);
}

#endif

void ct_register(void) {
  need_gpu();
  setenv("GEMEL_CACHE", ct_scratch(), 1);
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    CT_ADD_TO("cuda_solve", "same", cases[k].name, same, &cases[k]);
  }
#ifndef GEMEL_ON_GPU
  static const ct_test tests[] = {CT_TEST("missed/library", missed, "no"),
                                  CT_TEST("missed/recording", missed, "unrecorded"),
                                  CT_TEST("refused", refused, NULL)};
  setenv("GEMEL_SIM_CXX", "/nonexistent", 1); /* compiling kernels would take a minute */
  ct_suite("cuda_solve", tests, CT_COUNT(tests));
#endif
}
