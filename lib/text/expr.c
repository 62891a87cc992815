/* SPDX-License-Identifier: MIT
 *
 * Compiled expressions: a program (program.h) whose variables are numbered. Building one runs the
 * program with an array of intermediate values on the stack, hence the limit on its length.
 */
#include <string.h>
#include "core/alloc.h"
#include "text/expr.h"
#include "text/program.h"

enum { MAX_CODE = 512 };

struct gemel__expr {
  gemel__expr_program program;
};

typedef struct names {
  size_t count, n_attrs;
  const char *const *names;
  const char *const *attr_names;
} names;

static int find(size_t count, const char *const *list, const char *name, size_t length) {
  for (size_t k = 0; k < count; k++) {
    if (strlen(list[k]) == length && memcmp(list[k], name, length) == 0) {
      return (int)k;
    }
  }
  return -1;
}

static int find_value(void *user, const char *name, size_t length, gemel__ref *ref) {
  const names *n = (const names *)user;
  int k = find(n->count, n->names, name, length);
  ref->node = (uint32_t)k;
  ref->output = 0;
  return k >= 0;
}

static int find_attr(void *user, const char *name, size_t length) {
  const names *n = (const names *)user;
  return find(n->n_attrs, n->attr_names, name, length);
}

static gemel_status compile(gemel__expr_program *program, const char *text, const names *n,
                            gemel_error *error) {
  gemel__scope scope = {(void *)n, find_value, find_attr, NULL, NULL, NULL, 0};
  gemel__lex lex;
  uint32_t index;
  char found[64];
  gemel__lex_start(&lex, text, strlen(text), "");
  gemel_status status = gemel__infix_parse(program, &lex, &scope, &index, error);
  if (!status && lex.kind != GEMEL__TOKEN_END) {
    status = gemel__lex_fail(&lex, error, GEMEL_BAD_TEXT, "expected the end, found %s",
                             gemel__lex_describe(&lex, found));
  }
  if (!status && program->n_code > MAX_CODE) {
    status = gemel__fail(error, GEMEL_BAD_TEXT, "the expression has more than %d parts", MAX_CODE);
  }
  return status;
}

gemel__expr *gemel__expr_compile_attrs(gemel_context *context, const char *text, size_t count,
                                       const char *const *variable_names, size_t n_attrs,
                                       const char *const *attr_names, gemel_error *error) {
  names n = {count, n_attrs, variable_names, attr_names};
  gemel_error local;
  gemel__expr *expr = (gemel__expr *)gemel__alloc_zeroed(sizeof *expr);
  if (!expr) {
    gemel__no_memory(error, "an expression");
    return NULL;
  }
  gemel__expr_program_init(&expr->program, context);
  if (compile(&expr->program, text, &n, error ? error : &local)) {
    gemel__expr_free(expr);
    return NULL;
  }
  return expr;
}

gemel__expr *gemel__expr_compile(gemel_context *context, const char *text, size_t count,
                                 const char *const *variable_names, gemel_error *error) {
  return gemel__expr_compile_attrs(context, text, count, variable_names, 0, NULL, error);
}

gemel_value gemel__expr_build_attrs(const gemel__expr *expr, gemel_graph *graph,
                                    const gemel_value *values, const gemel_attr *attrs,
                                    gemel_location where) {
  static const gemel_value none;
  gemel_value room[MAX_CODE];
  return gemel__expr_program_run(&expr->program, graph, values ? values : &none, attrs, where, 0,
                                 room);
}

gemel_value gemel__expr_build(const gemel__expr *expr, gemel_graph *graph,
                              const gemel_value *values, gemel_location where) {
  return gemel__expr_build_attrs(expr, graph, values, NULL, where);
}

void gemel__expr_free(gemel__expr *expr) {
  if (expr) {
    gemel__expr_program_discard(&expr->program);
    gemel__free(expr, sizeof *expr);
  }
}
