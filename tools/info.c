/* SPDX-License-Identifier: MIT
 *
 * gemel info: what this gemel is: version, libraries, dtypes, operations.
 */
#ifdef HAVE_DNNL
#include <dnnl.h>
#endif
#ifdef HAVE_VERIFY
#include <gmp.h>
#include <mpfr.h>
#include <flint/flint.h>
#endif
#include <string.h>
#include "tool.h"

static const gemel__option options[] = {
    {"ops", 'o', NULL, "list the operations: inputs, attributes, what they compute"},
    {NULL, 0, NULL, NULL}};

/* ---- Libraries ---- */

static void print_dnnl(void) {
#ifdef HAVE_DNNL
  const dnnl_version_t *v = dnnl_version();
  printf("  oneDNN    %d.%d.%d\n", v->major, v->minor, v->patch);
#else
  puts("  oneDNN    no");
#endif
}

static void print_cblas(void) {
#ifdef HAVE_CBLAS
  printf("  CBLAS     %s\n", GEMEL_CBLAS_NAME);
#else
  puts("  CBLAS     no");
#endif
}

static void print_openmp(void) {
#ifdef _OPENMP
  printf("  OpenMP    %d\n", _OPENMP);
#else
  puts("  OpenMP    no");
#endif
}

static void print_harness(void) {
#ifdef HAVE_VERIFY
  printf("  harness   GMP %s, MPFR %s, FLINT %s\n", gmp_version, mpfr_get_version(), FLINT_VERSION);
#else
  puts("  harness   no");
#endif
}

/* What ./configure --enable-... changed. */
static void print_build(void) {
  const char *kind = "release";
#if defined(GEMEL_FAULTS)
  kind = "with planted faults: never for use";
#elif defined(GEMEL_SANITIZED)
  kind = "with sanitizers";
#elif defined(GEMEL_DEBUG)
  kind = "debug arena";
#endif
  printf("  build     %s\n", kind);
}

static void print_dtypes(void) {
  fputs("  dtypes   ", stdout);
  for (int k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    printf(" %s", gemel_dtype_name((gemel_dtype)k));
  }
  putchar('\n');
}

/* ---- Operations ---- */

static const char *kind_name(int kind) {
  static const char *const names[] = {"none",  "int",    "dim",    "float",
                                      "dtype", "string", "tensor", "graph"};
  unsigned k = (unsigned)kind & ~(unsigned)GEMEL_ATTR_LIST;
  return k < sizeof names / sizeof *names ? names[k] : "?";
}

static void print_arity(const gemel_operation *op) {
  if (op->max_inputs < 0) {
    printf("%d or more inputs", op->min_inputs);
  } else if (op->min_inputs != op->max_inputs) {
    printf("%d to %d inputs", op->min_inputs, op->max_inputs);
  } else {
    printf("%d input%s", op->min_inputs, op->min_inputs == 1 ? "" : "s");
  }
}

static void print_operation(const gemel_operation *op) {
  const gemel_attr_spec *a = op->attrs;
  printf("%s: ", op->name);
  print_arity(op);
  for (; a != NULL && a->name != NULL; a++) {
    printf(", %s: %s%s", a->name, kind_name(a->kind), a->kind & GEMEL_ATTR_LIST ? "s" : "");
    if (a->fallback != NULL) {
      printf(" = %s", a->fallback);
    }
  }
  printf("%s\n    %s\n", op->grad == NULL ? "; not differentiable" : "",
         op->summary != NULL ? op->summary : "");
}

static int run(const gemel__args *args) {
  gemel_context *context = gemel__context_need();
  if (context == NULL) {
    return GEMEL__BAD;
  }
  size_t n = gemel_operation_count(context);
  if (gemel__arg_set(args, "ops")) {
    for (size_t k = 0; k < n; k++) {
      print_operation(gemel_operation_at(context, k));
    }
  } else {
    printf("gemel %s\n", gemel_version());
    print_dnnl();
    print_cblas();
    print_openmp();
    print_harness();
    print_build();
    print_dtypes();
    printf("  operations %zu (gemel info --ops lists them)\n", n);
  }
  gemel_context_unref(context);
  return GEMEL__GOOD;
}

const gemel__command gemel__command_info = {
    "info",
    "",
    "Print the version, the libraries gemel was built with, dtypes and operations.",
    NULL,
    options,
    0,
    0,
    run};
