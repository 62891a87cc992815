/* SPDX-License-Identifier: MIT
 *
 * gemel bench: runs suites of measurements. What each measures, how, and against which target
 * stands in bench/README.md.
 */
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "bench.h"

static const gemel__option options[] = {
    GEMEL__MODEL_OPTIONS,
    {"json", 'j', gemel__written_file,
     "write one JSON object a measurement, a line each, to F; '-' is stdout, then the table goes "
     "to "
     "stderr"},
    {"case", 'c', "GLOB[,GLOB]...",
     "only cases whose name, less a size, matches, as 'dot*' (default: all)"},
    {"nodes", 'n', "N",
     "nodes of a big graph (default 10000000, of optimizer 1000000; a small one has N / 1000), and "
     "of "
     "scan the steps of the longest loop (default 1000000)"},
    {"size", 's', "N",
     "elements of a big vector (default 16777216, which are 64 MiB of f32; on the sim 4096)"},
    {"matrix", 'm', "N",
     "rows and columns of a square matrix, and units of scan's networks (default 1000; of gpu "
     "4096, on the sim 16)"},
    {"time", 't', "MS", "spend at least so many milliseconds on each comparison (default 1500)"},
    {"threads", 0, "N", "threads of a call and of what it is compared with (default: OpenMP's)"},
    {"graphs", 'g', "DIR", "of scan: also write the graphs of its networks to DIR"},
    {"autotune", 0, NULL, "choose among gemel's kernels by timing them, as gemel run does"},
    {"device", 'D', "NAME",
     "of gpu: cuda, or sim, which only counts (default: cuda); of a FILE: where it is computed "
     "(default: host)"},
    {NULL, 0, NULL, NULL}};

static const struct {
  const char *name;
  int (*run)(gemel__bench *b);
} suites[] = {
#define SUITE_ROW(name, summary) {#name, gemel__bench_##name},
    GEMEL__BENCH_TABLE(SUITE_ROW)
#undef SUITE_ROW
};
enum { SUITE_COUNT = sizeof suites / sizeof *suites };

/* 1 if suite WHICH needs a device. */
static int on_device(int which) {
  return which >= 0 && which < SUITE_COUNT && suites[which].run == gemel__bench_gpu;
}

/* The number of the suite called NAME; SUITE_COUNT for "all"; -1 if there is none. */
static int find_suite(const char *name) {
  if (strcmp(name, "all") == 0) {
    return SUITE_COUNT;
  }
  for (int k = 0; k < SUITE_COUNT; k++) {
    if (strcmp(suites[k].name, name) == 0) {
      return k;
    }
  }
  return -1;
}

static int run_suites(gemel__bench *b, int which) {
  int k, status = GEMEL__GOOD;
  gemel__bench_head(b);
  for (k = 0; k < SUITE_COUNT && status == GEMEL__GOOD; k++) {
    if (which == k || (which == SUITE_COUNT && !on_device(k))) {
      b->suite = suites[k].name;
      gemel__progress("gemel bench: suite %s", b->suite);
      status = suites[k].run(b);
    }
  }
  gemel__progress(NULL);
  if (status == GEMEL__GOOD) {
    gemel__bench_summary(b);
  }
  return status;
}

static int run_file(gemel__bench *b, const char *path) {
  gemel__bench_head(b);
  b->suite = "file";
  int status = gemel__bench_file(b, path);
  gemel__progress(NULL);
  if (status == GEMEL__GOOD) {
    gemel__bench_summary(b);
  }
  return status;
}

/* 1 if the operand NAME is the path of a file. */
static int is_path(const char *name) {
  return strchr(name, '.') != NULL || strchr(name, '/') != NULL;
}

static int default_threads(void) {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

static int read_settings(gemel__bench *b, const gemel__args *args, int gpu) {
  uint64_t threads = (uint64_t)default_threads();
  const char *device = gemel__arg(args, "device");
  int sim = gpu && device != NULL && strncmp(device, "sim", 3) == 0;
  memset(b, 0, sizeof *b);
  b->args = args;
  b->elements = sim ? 4096 : (uint64_t)1 << 24;
  b->matrix = sim ? 16 : gpu ? 4096 : 1000;
  b->time_ms = 1500;
  b->seed = 1;
  b->only = gemel__arg(args, "case");
  b->graphs = gemel__arg(args, "graphs");
  if (gemel__arg_number(args, "nodes", 100, 200000000, &b->nodes) != GEMEL__GOOD ||
      gemel__arg_number(args, "size", 16, (uint64_t)1 << 30, &b->elements) != GEMEL__GOOD ||
      gemel__arg_number(args, "matrix", 1, 20000, &b->matrix) != GEMEL__GOOD ||
      gemel__arg_number(args, "time", 1, 3600000, &b->time_ms) != GEMEL__GOOD ||
      gemel__arg_number(args, "threads", 1, 4096, &threads) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  b->threads = (int)threads;
  b->autotune = gemel__arg_set(args, "autotune");
  return GEMEL__GOOD;
}

/* Opens the device of a suite that needs one; this may start another program in this one's place.
 */
static int open_device(gemel__bench *b, const gemel__args *args, int gpu, int file) {
  const char *name = gemel__arg(args, "device");
  int none = name == gemel__flag("device");
  if (!gpu && (none || !file)) {
    return none
               ? GEMEL__GOOD
               : gemel__complain("bench: --device is for gpu and files, other suites use the host");
  }
  b->context = gemel__context_for(args);
  int status = b->context != NULL
                   ? gemel__device_open(b->context, name != NULL ? name : "cuda", &b->space)
                   : GEMEL__BAD;
  return status == GEMEL__GOOD && gpu && b->space == GEMEL_SPACE_HOST
             ? gemel__complain("bench: gpu needs a device, which the host isn't")
             : status;
}

/* Opens the JSON file, if one is asked for. */
static int open_output(gemel__bench *b, const gemel__args *args) {
  const char *path = gemel__arg(args, "json");
  b->table = path != NULL && strcmp(path, "-") == 0 ? stderr : stdout;
  if (path != NULL && gemel__output_open(&b->json, path) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  b->has_json = path != NULL;
  return GEMEL__GOOD;
}

static int run(const gemel__args *args) {
  gemel__bench b;
  const char *what = args->operands[0];
  int which = find_suite(what), gpu = on_device(which), status;
  if (which < 0 && !is_path(what)) {
    return gemel__complain("bench: there is no suite '%s'; see gemel bench --help", what);
  }
  if (read_settings(&b, args, gpu) != GEMEL__GOOD ||
      open_device(&b, args, gpu, which < 0) != GEMEL__GOOD ||
      open_output(&b, args) != GEMEL__GOOD) {
    gemel_context_unref(b.context);
    return GEMEL__BAD;
  }
#ifdef _OPENMP
  omp_set_num_threads(b.threads);
#endif
  status = which < 0 ? run_file(&b, what) : run_suites(&b, which);
  gemel_context_unref(b.context);
  if (status == GEMEL__GOOD && b.measured == 0) {
    status = gemel__complain("bench: no case matches '%s'", b.only);
  }
  if (b.has_json && gemel__output_close(&b.json, status == GEMEL__GOOD) != GEMEL__GOOD) {
    status = GEMEL__BAD;
  }
  return status != GEMEL__GOOD ? status : b.missed > 0 ? GEMEL__REFUTED : GEMEL__GOOD;
}

#define SUITE_HELP(name, summary) #name ": " summary ".\n"
const gemel__command gemel__command_bench = {
    "bench",
    "SUITE|FILE",
    "Measure speed and memory, against targets; or the time of a call of the graph in FILE.",
    "In FILE, a path with a dot or a slash, sizes may be E, the elements of a big vector, R and C, "
    "rows and "
    "columns of as many, and S, the rows of a square matrix. SUITE is one of these, or "
    "all, which is all but gpu:\n" GEMEL__BENCH_TABLE(
        SUITE_HELP) "Exit status 0 if every target is met, 1 if one is missed, 2 for usage and for "
                    "what can't be "
                    "done, 3 where a model has something that gemel hasn't. Figures are only as "
                    "good as the machine is idle.",
    options,
    1,
    1,
    run};
