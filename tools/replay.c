/* SPDX-License-Identifier: MIT
 *
 * gemel run on a folder that gemel_dump or gemel run --dump wrote: the call is done again, and its
 * results are compared with those in the folder, bit for bit.
 */
#include <stdlib.h>
#include <string.h>
#include <gemel/dump.h>
#include "core/dtype.h"
#include "tool.h"

/* What may be asked of a call that says all else itself. */
static const char *const allowed[] = {"threads", "deterministic", "autotune", "plain",
                                      "calls",   "profile",       "json",     "trace",
                                      "list",    "guard",         "device"};

static int check_options(const gemel__args *args) {
  for (int k = 0; k < args->n_given; k++) {
    const char *name = args->given[k].option->name;
    size_t j = 0;
    while (j < sizeof allowed / sizeof *allowed && strcmp(allowed[j], name) != 0) {
      j++;
    }
    if (j == sizeof allowed / sizeof *allowed) {
      return gemel__complain("--%s: the folder %s says that by itself", name, args->operands[0]);
    }
  }
  return GEMEL__GOOD;
}

/* ---- Comparing ---- */

/* Index of the first element that differs, in *FIRST, and how many do. */
static int64_t count_differences(const gemel_tensor *a, const gemel_tensor *b, int64_t *first) {
  size_t bytes = gemel_dtype_size(gemel_tensor_dtype(a));
  const char *x = gemel_tensor_data(a), *y = gemel_tensor_data(b);
  int64_t n = gemel_tensor_elements(a), count = 0;
  for (int64_t k = 0; k < n; k++) {
    if (memcmp(x + (size_t)k * bytes, y + (size_t)k * bytes, bytes) != 0) {
      *first = count++ == 0 ? k : *first;
    }
  }
  return count;
}

static int same_shape(const gemel_tensor *a, const gemel_tensor *b) {
  int rank = gemel_tensor_rank(a);
  return gemel_tensor_dtype(a) == gemel_tensor_dtype(b) && rank == gemel_tensor_rank(b) &&
         memcmp(gemel_tensor_shape(a), gemel_tensor_shape(b), (size_t)rank * sizeof(int64_t)) == 0;
}

static void format_element(const gemel_tensor *t, int64_t k, char *text, size_t bytes) {
  gemel_dtype dtype = gemel_tensor_dtype(t);
  gemel__format_exactly(dtype, (char *)gemel_tensor_data(t) + (size_t)k * gemel_dtype_size(dtype),
                        text, bytes);
}

/* Prints whether COMPUTED has the bits of STORED; both lie in row-major order. */
static int compare(const char *name, const gemel_tensor *stored, const gemel_tensor *computed) {
  char was[512], is[512];
  int64_t first = 0;
  gemel__format_tensor_type(stored, was, sizeof was);
  gemel__format_tensor_type(computed, is, sizeof is);
  if (!same_shape(stored, computed)) {
    printf("%s: %s was stored, %s is computed\n", name, was, is);
    return GEMEL__REFUTED;
  }
  int64_t count = count_differences(stored, computed, &first);
  if (count == 0) {
    printf("%s: %s is the same, bit for bit\n", name, is);
    return GEMEL__GOOD;
  }
  char before[40], now[40];
  format_element(stored, first, before, sizeof before);
  format_element(computed, first, now, sizeof now);
  printf("%s: %s differs in %lld of %lld elements; the first is number %lld: %s was stored, "
         "%s is computed\n",
         name, is, (long long)count, (long long)gemel_tensor_elements(stored), (long long)first,
         before, now);
  return GEMEL__REFUTED;
}

static int compare_all(const gemel_dumped *d, gemel_tensor *const *outputs) {
  gemel_error error;
  int status = GEMEL__GOOD;
  for (size_t k = 0; k < d->n_outputs && status != GEMEL__BAD; k++) {
    const char *name = gemel_graph_output_name(d->graph, k);
    if (d->outputs == NULL) {
      gemel__print_named(name, outputs[k]);
      continue;
    }
    gemel_tensor *stored = gemel_tensor_transfer(d->outputs[k], gemel_host(), &error);
    gemel_tensor *computed =
        stored != NULL ? gemel_tensor_transfer(outputs[k], gemel_host(), &error) : NULL;
    int result =
        computed != NULL ? compare(name, stored, computed) : gemel__complain_error(name, &error);
    status = result != GEMEL__GOOD ? result : status;
    gemel_tensor_unref(stored);
    gemel_tensor_unref(computed);
  }
  return status;
}

/* ---- The call ---- */

static int call(const gemel_dumped *d, const gemel__args *args) {
  gemel_error error;
  uint64_t calls = 1;
  if (gemel__arg_number(args, "calls", 1, 1000000000, &calls) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  gemel_function *f = gemel_compile(d->graph, &d->options, &error);
  if (f == NULL) {
    return gemel__complain_rewrite(gemel_graph_context(d->graph), args->operands[0], &error);
  }
  gemel_tensor **outputs = gemel__need(NULL, (d->n_outputs + 1) * sizeof *outputs);
  memset(outputs, 0, (d->n_outputs + 1) * sizeof *outputs);
  gemel_status status = GEMEL_OK;
  for (uint64_t k = 0; k < calls && status == GEMEL_OK; k++) {
    status = gemel_call(f, d->n_inputs, d->inputs, d->n_outputs, outputs, &error);
  }
  int result = status == GEMEL_OK ? gemel__observe_report(args, &d->options, f)
                                  : gemel__complain_error(args->operands[0], &error);
  result = result == GEMEL__GOOD ? compare_all(d, outputs) : result;
  for (size_t k = 0; k < d->n_outputs; k++) {
    gemel_tensor_unref(outputs[k]);
  }
  free(outputs);
  gemel_function_free(f);
  return result;
}

/* The folder's options, and what is asked for besides. */
static int add_options(gemel_dumped *d, gemel_context *context, const gemel__args *args) {
  uint64_t threads = (uint64_t)d->options.threads;
  if (gemel__arg_number(args, "threads", 1, 4096, &threads) != GEMEL__GOOD ||
      (d->rewrite.certify && gemel__certify_enable(context) != GEMEL__GOOD)) {
    return GEMEL__BAD;
  }
  d->options.threads = (int)threads;
  d->options.deterministic |= gemel__arg_set(args, "deterministic");
  d->options.autotune |= gemel__arg_set(args, "autotune");
  d->options.plain |= gemel__arg_set(args, "plain");
  return gemel__observe_read(args, &d->options);
}

int gemel__replay(const gemel__args *args) {
  gemel_error error;
  gemel_rewrite_options rewrite = {.size = sizeof rewrite};
  gemel_lift_options lift; /* the folder says how; the device that is named is opened */
  gemel_dumped *d = NULL;
  gemel_context *context = check_options(args) == GEMEL__GOOD ? gemel__context_need() : NULL;
  if (context == NULL) {
    return GEMEL__BAD;
  }
  int status = gemel__device_read(&lift, context, args, &rewrite);
  if (status == GEMEL__GOOD) {
    d = gemel_dump_load(context, args->operands[0], &error);
    status = d != NULL ? add_options(d, context, args)
                       : gemel__complain_error(args->operands[0], &error);
  }
  if (status == GEMEL__GOOD) {
    status = call(d, args);
  }
  gemel_dump_free(d);
  gemel_context_unref(context);
  return status;
}
