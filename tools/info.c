/* SPDX-License-Identifier: MIT
 *
 * gemel info: what this gemel is: version, libraries, dtypes, operations, rules and passes.
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
#include "core/context.h"
#include "core/rows.h"
#include "tool.h"
#ifdef HAVE_VERIFY
#include "records.h"
#endif

static const gemel__option options[] = {
    {"ops", 'o', NULL,
     "list the operations: operands in their order, attributes, what they compute"},
    {"rules", 'r', NULL,
     "list the rules and passes: family, phase, what they give up, what they do"},
    {"onnx", 0, NULL, "list the operators of ONNX that gemel reads"},
    {"completions", 0, "SHELL", "print the script by which bash, zsh or fish completes arguments"},
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

static void print_lapack(void) {
#ifdef HAVE_LAPACK
  puts("  LAPACK    in the CBLAS");
#else
  puts("  LAPACK    no");
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
#ifdef HAVE_Z3
  const char *solver = "Z3";
#else
  const char *solver = "no solver";
#endif
  printf("  harness   GMP %s, MPFR %s, FLINT %s, %s\n", gmp_version, mpfr_get_version(),
         FLINT_VERSION, solver);
#else
  puts("  harness   no");
#endif
}

/* What ./configure --enable-... changed. */
static void print_build(void) {
  const char *kind = "release";
#if defined(GEMEL_SANITIZED)
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

/* The operands of a row, as a call has them: "x, y" or "xs..."; run-time sizes, which nobody
 * writes, are left out. Returns what stands between the last and what follows. */
static const char *print_operands(const char *inputs) {
  const char *between = "";
  while (*inputs != '\0') {
    size_t length = strcspn(inputs, ",");
    if (length > 0 && inputs[length - 1] != '*') {
      printf("%s%.*s", between, (int)length, inputs);
      between = ", ";
    }
    inputs += length + strspn(inputs + length, ", ");
  }
  return between;
}

/* "softmax(x, axis: int = -1)", and below what it computes. */
static void print_operation(const gemel_operation *op, const struct gemel__row *row) {
  printf("%s(", op->name);
  const char *between = print_operands(row->inputs);
  for (const gemel_attr_spec *a = op->attrs; a != NULL && a->name != NULL; a++) {
    printf("%s%s: %s%s", between, a->name, kind_name(a->kind),
           a->kind & GEMEL_ATTR_LIST ? "s" : "");
    if (a->fallback != NULL) {
      printf(" = %s", a->fallback);
    }
    between = ", ";
  }
  printf(")%s\n    %s\n", op->grad == NULL ? "; not differentiable" : "",
         op->summary != NULL ? op->summary : "");
}

/* ---- Rules ---- */

/* "add_zero: elementwise, canonicalize, needs nsz", and below what it is for. */
static void print_rewrite(const char *name, const char *family, gemel_phase phase, unsigned needs,
                          const char *summary) {
  const char *before = ", needs ";
  printf("%s: %s, %s", name, family, gemel_phase_name(phase));
  for (int k = 0; k < GEMEL_NEEDS_COUNT; k++) {
    if (needs >> k & 1) {
      printf("%s%s", before, gemel_needs_word(k));
      before = ", ";
    }
  }
  printf("\n");
  while (*summary != '\0') {
    size_t line = strcspn(summary, "\n");
    printf("    %.*s\n", (int)line, summary);
    summary += line + (summary[line] != '\0');
  }
}

/* What is proved of the rule. */
static void print_proof(const gemel_rule *rule) {
#ifdef HAVE_VERIFY
  char text[GEMEL__PROOF_TEXT];
  gemel_proof proof = gemel_rule_proved(rule);
  if (proof.elements != NULL) {
    gemel__proof_text(&proof, text);
    printf("    proved: %s\n", text);
  }
#else
  (void)rule;
#endif
}

static void print_rewrites(gemel_context *context, const gemel_rules *rules) {
  for (size_t k = 0; k < gemel_rules_count(rules); k++) {
    const gemel_rule_info *r = gemel_rule_describe(gemel_rules_at(rules, k));
    print_rewrite(r->name, r->family, r->phase, r->needs, r->documentation);
    print_proof(gemel_rules_at(rules, k));
  }
  for (size_t k = 0; k < gemel_pass_count(context); k++) {
    const gemel_pass *p = gemel_pass_at(context, k);
    print_rewrite(p->name, "pass", p->phase, p->needs, p->summary);
  }
}

static void print_operations(gemel_context *context) {
  for (size_t k = 0; k < gemel_operation_count(context); k++) {
    const gemel__op *op = gemel__op_at(context, (uint32_t)k + 1);
    print_operation(&op->record, op->row); /* all have one: none is registered here */
  }
}

/* "Relu" for ONNX's own, "com.microsoft.FusedConv" for others. */
static void print_operators(void) {
  const char *domain, *name;
  for (size_t k = 0; (name = gemel_onnx_operator(k, &domain)) != NULL; k++) {
    printf("%s%s%s\n", domain, domain[0] != '\0' ? "." : "", name);
  }
}

static int run(const gemel__args *args) {
  gemel_error error;
  const char *shell = gemel__arg(args, "completions");
  int status = GEMEL__GOOD;
  gemel_context *context = gemel__context_need();
  if (context == NULL) {
    return GEMEL__BAD;
  }
  gemel_rules *rules = gemel_rules_builtin(context, &error);
  if (rules == NULL) {
    gemel_context_unref(context);
    return gemel__complain_error(NULL, &error);
  }
  if (shell != NULL) {
    status = gemel__completions(context, shell);
  } else if (gemel__arg_set(args, "ops")) {
    print_operations(context);
  } else if (gemel__arg_set(args, "onnx")) {
    print_operators();
  } else if (gemel__arg_set(args, "rules")) {
    print_rewrites(context, rules);
  } else {
    printf("gemel %s\n", gemel_version());
    print_dnnl();
    print_cblas();
    print_lapack();
    print_openmp();
    print_harness();
    print_build();
    print_dtypes();
    printf("  operations %zu (gemel info --ops lists them)\n", gemel_operation_count(context));
    printf("  rules     %zu, and %zu passes (gemel info --rules lists them)\n",
           gemel_rules_count(rules), gemel_pass_count(context));
  }
  gemel_rules_unref(rules);
  gemel_context_unref(context);
  return status;
}

const gemel__command gemel__command_info = {
    "info",
    "",
    "Print the version, the libraries gemel was built with, dtypes, operations and rules.",
    NULL,
    options,
    0,
    0,
    run};
