/* SPDX-License-Identifier: MIT
 *
 * Terms: compiled, evaluated, compared and written. A tree is compiled in post-order to code for
 * a stack machine, so that evaluation is a loop. Where a function has no value, its place on
 * the stack is taken by NOTHING, and so is that of whatever takes it, but for `and` and `or`: in
 * `rank(x) < 2 or shape(x)[1] == 3` the left side may decide alone.
 */
#include "rules/term.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/attrs.h"
#include "core/dtype.h"
#include "core/suggest.h"
#include "rules/functions.h"
#include "rules/kinds.h"

enum { FUNCTION, NUMBER, VARIABLE, LIST, REAL, DTYPE, ABSENT, OTHER }; /* kinds of code */
enum { MAX_CODE = 256, MAX_DEPTH = 200, MAX_PARAMETERS = 2 };

const gemel__function gemel__function_rows[GEMEL__ROW_COUNT] = {
#define FUNCTION(name, min, max, kinds, gives, summary)                                            \
  {#name, kinds, gives, summary, gemel__function_##name, NULL, min, max, 0},
#define DEFINED(name, count, kinds, gives, definition, summary)                                    \
  {#name, kinds, gives, summary, NULL, definition, count, count, 0},
#include "rules/functions.def"
#undef FUNCTION
#undef DEFINED
#define OPERATOR(name, min, max, kinds, gives, summary)                                            \
  {#name, kinds, gives, summary, gemel__operator_##name, NULL, min, max, 1},
#include "rules/functions.def"
#undef OPERATOR
};

const char *gemel__function_name(size_t k, int *min_operands, int *max_operands,
                                 const char **summary) {
  const gemel__function *row = &gemel__function_rows[k];
  if (k >= GEMEL__FUNCTION_COUNT) {
    return NULL;
  }
  *min_operands = row->min;
  *max_operands = row->max;
  *summary = row->summary;
  return row->name;
}

/* ---- Compiling ---- */

typedef struct term_compiler {
  const gemel__syntax *syntax;
  gemel__term_lookup lookup;
  void *user;
  gemel__arena *arena;
  gemel_error *error;
  gemel__termcode code[MAX_CODE];
  uint32_t count;
  uint32_t stack;                            /* terms on it after the code so far */
  gemel__kinds kinds[GEMEL__TERM_STACK + 1]; /* what each of them may be */
} term_compiler;

/* Appends CODE, which takes its COUNT operands from the stack and puts one term of KINDS there. */
static gemel_status emit(term_compiler *c, const gemel__syntax_node *node, gemel__termcode code,
                         gemel__kinds kinds) {
  c->stack += 1u - code.count;
  if (c->count == MAX_CODE || c->stack > GEMEL__TERM_STACK) {
    return gemel__lex_fail(&node->at, c->error, GEMEL_BAD_TEXT, "the expression is too long");
  }
  c->code[c->count++] = code;
  c->kinds[c->stack - 1] = kinds;
  return GEMEL_OK;
}

static gemel_status emit_number(term_compiler *c, const gemel__syntax_node *node) {
  gemel__termcode code = {.kind = REAL};
  if (node->number.is_float) {
    code.real = gemel__number_double(&node->number);
  } else if (gemel__number_int(&node->number, &code.value) == 0) {
    code.kind = NUMBER;
  } else {
    return gemel__lex_fail(&node->at, c->error, GEMEL_BAD_TEXT,
                           "the number doesn't fit into 64 bits");
  }
  return emit(c, node, code, code.kind == REAL ? GEMEL__KINDS_OF(REAL) : GEMEL__KINDS_OF(NUMBER));
}

static gemel_status emit_string(term_compiler *c, const gemel__syntax_node *node) {
  char *text = gemel__arena_alloc(c->arena, node->length + 1);
  gemel_attr *attr = gemel__arena_alloc(c->arena, sizeof *attr);
  if (text == NULL || attr == NULL) {
    return gemel__no_memory(c->error, "a rule");
  }
  memcpy(text, node->text, node->length);
  text[node->length] = '\0';
  *attr = gemel_attr_string("", text);
  return emit(c, node, (gemel__termcode){.kind = OTHER, .attr = attr}, GEMEL__KINDS_OF(OTHER));
}

/* Constants that are written as names. */
static const struct constant {
  const char *name;
  gemel__termcode code;
} constants[] = {{"true", {.kind = NUMBER, .value = 1}},
                 {"false", {.kind = NUMBER}},
                 {"none", {.kind = ABSENT}},
#define DTYPE_NAME(E, name, bytes, kind_of, ctype) {#name, {.kind = DTYPE, .index = GEMEL_##E}},
                 GEMEL_DTYPE_TABLE(DTYPE_NAME)
#undef DTYPE_NAME
};
enum { N_CONSTANTS = sizeof constants / sizeof *constants };

/* Offers what a NAME could have been: a constant, or a variable of the same rule. */
static void offer_names(const term_compiler *c, gemel__suggestion *s) {
  gemel__kinds kinds;
  for (size_t k = 1; k < c->syntax->count; k++) {
    const gemel__syntax_node *other = &c->syntax->nodes[k];
    if (other->kind == GEMEL__SYNTAX_NAME &&
        c->lookup(c->user, other->text, other->length, &kinds) >= 0) {
      gemel__suggestion_offer(s, other->text, other->length);
    }
  }
  for (size_t k = 0; k < N_CONSTANTS; k++) {
    gemel__suggestion_offer(s, constants[k].name, strlen(constants[k].name));
  }
  gemel__dtype_offer(s);
}

/* What a constant is. */
static gemel__kinds kinds_of_constant(const gemel__termcode *code) {
  return code->kind == NUMBER  ? GEMEL__KINDS_OF(NUMBER)
         : code->kind == DTYPE ? GEMEL__KINDS_OF(DTYPE)
                               : GEMEL__KINDS_OF(ABSENT);
}

static gemel_status emit_name(term_compiler *c, const gemel__syntax_node *node) {
  gemel__termcode code = {.kind = VARIABLE};
  gemel__kinds kinds;
  gemel__suggestion near;
  for (size_t k = 0; k < N_CONSTANTS; k++) {
    if (gemel__syntax_is(node, constants[k].name)) {
      return emit(c, node, constants[k].code, kinds_of_constant(&constants[k].code));
    }
  }
  int variable = c->lookup(c->user, node->text, node->length, &kinds);
  if (variable < 0) {
    gemel__suggestion_start(&near, node->text, node->length);
    offer_names(c, &near);
    return gemel__lex_fail(&node->at, c->error, GEMEL_BAD_TEXT, "%.*s is not defined%s",
                           (int)node->length, node->text, gemel__suggestion_text(&near));
  }
  code.index = (uint32_t)variable;
  return emit(c, node, code, kinds);
}

/* The row of a CALL; GEMEL__ROW_COUNT if there is none. */
static uint32_t find_row(const gemel__syntax_node *node) {
  uint32_t first = node->infix ? GEMEL__FUNCTION_COUNT : 0;
  uint32_t end = node->infix ? GEMEL__ROW_COUNT : GEMEL__FUNCTION_COUNT;
  for (uint32_t k = first; k < end; k++) {
    if (gemel__syntax_is(node, gemel__function_rows[k].name)) {
      return k;
    }
  }
  return GEMEL__ROW_COUNT;
}

static gemel_status no_such_function(term_compiler *c, const gemel__syntax_node *node) {
  gemel__suggestion near;
  if (node->infix) {
    return gemel__lex_fail(&node->at, c->error, GEMEL_BAD_TEXT,
                           "there is no operator %.*s among attributes", (int)node->length,
                           node->text);
  }
  gemel__suggestion_start(&near, node->text, node->length);
  for (uint32_t k = 0; k < GEMEL__FUNCTION_COUNT; k++) {
    gemel__suggestion_offer(&near, gemel__function_rows[k].name,
                            strlen(gemel__function_rows[k].name));
  }
  return gemel__lex_fail(&node->at, c->error, GEMEL_BAD_TEXT,
                         "there is no function called %.*s among attributes%s", (int)node->length,
                         node->text, gemel__suggestion_text(&near));
}

static gemel_status check_count(term_compiler *c, const gemel__syntax_node *node, uint32_t row) {
  const gemel__function *f = &gemel__function_rows[row];
  if (node->n_children >= f->min && node->n_children <= f->max) {
    return GEMEL_OK;
  }
  if (f->min == f->max) {
    return gemel__lex_fail(&node->at, c->error, GEMEL_BAD_TEXT, "%s takes %d operand%s, not %u",
                           f->name, f->min, f->min == 1 ? "" : "s", (unsigned)node->n_children);
  }
  return gemel__lex_fail(&node->at, c->error, GEMEL_BAD_TEXT, "%s takes %d to %d operands, not %u",
                         f->name, f->min, f->max, (unsigned)node->n_children);
}

/* The operands of CODE, the topmost of the stack, may be what it takes; else what is said of the
 * one that can't. */
static gemel_status check_kinds(term_compiler *c, const gemel__syntax_node *node,
                                const gemel__termcode *code) {
  const gemel__function *f = code->kind == FUNCTION ? &gemel__function_rows[code->index] : NULL;
  const char *letter = f != NULL ? f->kinds : "e";
  uint32_t child = node->child, first = c->stack - code->count;
  char is[100], wanted[100];
  for (uint32_t k = 0; k < code->count; k++, child = c->syntax->nodes[child].next) {
    gemel__kinds takes = gemel__kinds_taken(*letter);
    if ((c->kinds[first + k] & takes) == 0) {
      const char *name = f == NULL ? "a list" : f->infix ? "an operator" : f->name;
      const char *what =
          takes & GEMEL__KINDS_OF(OTHER) ? "no tensors" : gemel__kinds_text(takes, wanted);
      return gemel__lex_fail(&c->syntax->nodes[child].at, c->error, GEMEL_BAD_TEXT,
                             "%s takes %s, and this is %s", name, what,
                             gemel__kinds_text(c->kinds[first + k], is));
    }
    letter += letter[1] != '\0';
  }
  return GEMEL_OK;
}

/* What CODE leaves on the stack. */
static gemel__kinds kinds_of_call(const gemel__termcode *code) {
  return code->kind == LIST ? GEMEL__KINDS_OF(LIST)
                            : gemel__kinds_given(gemel__function_rows[code->index].gives);
}

/* A parameter of a definition. What it may be has been checked where the function is called. */
static int find_parameter(void *user, const char *name, size_t length, unsigned *kinds) {
  (void)user;
  *kinds = ~0u;
  return length == 1 ? name[0] - 'a' : -1;
}

static gemel_status compile_definition(const term_compiler *c, const gemel__function *f,
                                       gemel__termexpr *body) {
  gemel__syntax syntax = {NULL, 0, 0};
  gemel__lex lex;
  uint32_t root;
  gemel__lex_start(&lex, f->definition, strlen(f->definition), f->name);
  gemel_status status = gemel__syntax_parse(&syntax, &lex, &root, c->error);
  status = status
               ? status
               : gemel__term_compile(&syntax, root, find_parameter, NULL, c->arena, body, c->error);
  gemel__syntax_clear(&syntax);
  return status;
}

/* Where the code of the term begins that ends before END. */
static uint32_t start_of(const gemel__termcode *code, uint32_t end) {
  for (uint32_t wanted = 1; wanted > 0; wanted--) {
    wanted += code[--end].count;
  }
  return end;
}

/* Puts F's definition in the place of its operands, of which each stands where its parameter does.
 */
static gemel_status emit_definition(term_compiler *c, const gemel__syntax_node *node,
                                    const gemel__function *f) {
  gemel__termcode operands[MAX_CODE];
  gemel__termexpr body;
  uint32_t starts[MAX_PARAMETERS + 1], end = c->count;
  GEMEL__TRY(compile_definition(c, f, &body));
  memcpy(operands, c->code, end * sizeof *operands);
  starts[f->max] = end;
  for (uint32_t k = f->max; k-- > 0;) {
    starts[k] = start_of(operands, starts[k + 1]);
  }
  c->count = starts[0];
  c->stack -= f->max;
  for (uint32_t k = 0; k < body.count; k++) {
    uint32_t parameter = body.code[k].kind == VARIABLE ? body.code[k].index : MAX_PARAMETERS;
    const gemel__termcode *code = &body.code[k], *last = code;
    if (parameter < MAX_PARAMETERS) {
      code = operands + starts[parameter];
      last = operands + starts[parameter + 1] - 1;
    }
    for (; code <= last; code++) {
      GEMEL__TRY(emit(c, node, *code, gemel__kinds_given(f->gives)));
    }
  }
  return GEMEL_OK;
}

/* What comes after the operands of a CALL, INDEX or LIST. */
static gemel_status emit_call(term_compiler *c, const gemel__syntax_node *node) {
  gemel__termcode code = {.kind = FUNCTION, .index = GEMEL__OPERATOR_index};
  gemel_status status = GEMEL_OK;
  if (node->n_children > GEMEL__TERM_STACK) {
    return gemel__lex_fail(&node->at, c->error, GEMEL_BAD_TEXT, "the list is too long");
  }
  code.count = (uint16_t)node->n_children;
  if (node->kind == GEMEL__SYNTAX_LIST) {
    code.kind = LIST;
  } else if (node->kind == GEMEL__SYNTAX_CALL) {
    code.index = find_row(node);
    status = code.index == GEMEL__ROW_COUNT ? no_such_function(c, node)
                                            : check_count(c, node, code.index);
  }
  GEMEL__TRY(status ? status : check_kinds(c, node, &code));
  return code.kind == FUNCTION && gemel__function_rows[code.index].definition != NULL
             ? emit_definition(c, node, &gemel__function_rows[code.index])
             : emit(c, node, code, kinds_of_call(&code));
}

/* Recurses on the nesting of the text, which is limited here too: the parser doesn't count what
 * a + b + c + ... nests. */
static gemel_status compile_node(term_compiler *c, uint32_t index, int depth) {
  const gemel__syntax_node *node = &c->syntax->nodes[index];
  if (depth > MAX_DEPTH) {
    return gemel__lex_fail(&node->at, c->error, GEMEL_BAD_TEXT, "the expression is too long");
  }
  if (node->as != NULL) {
    return gemel__lex_fail(&node->at, c->error, GEMEL_BAD_TEXT, "'as' names operations only");
  }
  switch (node->kind) {
  case GEMEL__SYNTAX_NUMBER:
    return emit_number(c, node);
  case GEMEL__SYNTAX_STRING:
    return emit_string(c, node);
  case GEMEL__SYNTAX_NAME:
    return emit_name(c, node);
  case GEMEL__SYNTAX_OUTPUT:
    return gemel__lex_fail(&node->at, c->error, GEMEL_BAD_TEXT, "only a tensor has outputs (@)");
  case GEMEL__SYNTAX_VARIADIC:
    return gemel__lex_fail(&node->at, c->error, GEMEL_BAD_TEXT,
                           "a variadic variable (..) stands among operands of operations only");
  default:
    break;
  }
  for (uint32_t child = node->child; child != 0; child = c->syntax->nodes[child].next) {
    const gemel__syntax_node *operand = &c->syntax->nodes[child];
    gemel_status status;
    if (operand->key != NULL) {
      return gemel__lex_fail(&operand->at, c->error, GEMEL_BAD_TEXT,
                             "operands of a function have no names (%.*s)",
                             (int)operand->key_length, operand->key);
    }
    status = compile_node(c, child, depth + 1);
    if (status != GEMEL_OK) {
      return status;
    }
  }
  return emit_call(c, node);
}

gemel_status gemel__term_compile(const gemel__syntax *syntax, uint32_t node,
                                 gemel__term_lookup lookup, void *user, gemel__arena *arena,
                                 gemel__termexpr *expr, gemel_error *error) {
  term_compiler c;
  gemel_status status;
  c.syntax = syntax;
  c.lookup = lookup;
  c.arena = arena;
  c.user = user;
  c.error = error;
  c.count = c.stack = 0;
  status = compile_node(&c, node, 0);
  if (status == GEMEL_OK) {
    expr->code = gemel__arena_copy(arena, c.code, c.count * sizeof *c.code);
    expr->count = c.count;
    expr->root = node;
    expr->kinds = c.kinds[0];
    status = expr->code != NULL ? GEMEL_OK : gemel__no_memory(error, "a rule");
  }
  return status;
}

/* ---- Results ---- */

static gemel_status give(gemel__termcall *call, gemel__term term) {
  *call->result = term;
  return GEMEL_OK;
}

gemel_status gemel__give_entry(gemel__termcall *call, gemel__entry entry) {
  gemel__term term = {.kind = GEMEL__TERM_NUMBER, .count = 1};
  term.list = gemel__arena_copy(call->scene->arena, &entry, sizeof entry);
  return term.list != NULL ? give(call, term) : gemel__no_memory(call->scene->error, "a term");
}

gemel_status gemel__give_number(gemel__termcall *call, int64_t value) {
  return gemel__give_entry(call, gemel__entry_int(value));
}

gemel_status gemel__give_truth(gemel__termcall *call, int truth) {
  gemel__term unknown = {.kind = GEMEL__TERM_UNKNOWN};
  return truth == GEMEL__MAYBE ? give(call, unknown) : gemel__give_number(call, truth);
}

gemel_status gemel__give_real(gemel__termcall *call, double value) {
  gemel__term term = {.kind = GEMEL__TERM_REAL, .u.real = value};
  return give(call, term);
}

gemel_status gemel__give_dtype(gemel__termcall *call, gemel_dtype dtype) {
  gemel__term term = {.kind = GEMEL__TERM_DTYPE, .u.dtype = dtype};
  return give(call, term);
}

gemel_status gemel__give_list(gemel__termcall *call, size_t count, gemel__entry **list) {
  gemel__term term = {.kind = GEMEL__TERM_LIST, .count = (uint32_t)count};
  if (count > GEMEL__TERM_LONGEST) {
    return GEMEL_DECLINED;
  }
  *list = gemel__arena_alloc(call->scene->arena, (count + (count == 0)) * sizeof **list);
  term.list = *list;
  return *list != NULL ? give(call, term) : gemel__no_memory(call->scene->error, "a term");
}

/* ---- Evaluating ---- */

int gemel__has_entries(const gemel__term *x) {
  return x->kind == GEMEL__TERM_NUMBER || x->kind == GEMEL__TERM_LIST;
}

int gemel__has_integers(const gemel__term *x) {
  int all = gemel__has_entries(x);
  for (uint32_t k = 0; all && k < x->count; k++) {
    all = gemel_dim_is_none(x->list[k].dim);
  }
  return all;
}

int gemel__is_integer(const gemel__term *x) {
  return x->kind == GEMEL__TERM_NUMBER && gemel_dim_is_none(x->list[0].dim);
}

/* 1 if X is what KIND, a letter of functions.def, asks for. */
static int fits(char kind, const gemel__term *x) {
  switch (kind) {
  case 't':
  case 'g':
    return x->kind == GEMEL__TERM_TENSOR;
  case 's':
    return x->kind == GEMEL__TERM_TENSORS;
  case 'k':
    return x->kind == GEMEL__TERM_TENSOR || x->kind == GEMEL__TERM_DTYPE;
  case 'd':
    return x->kind == GEMEL__TERM_DTYPE;
  case 'e':
    return gemel__has_entries(x);
  case 'a':
    return gemel__has_entries(x) || x->kind == GEMEL__TERM_REAL;
  case 'x':
    return gemel__has_integers(x) || x->kind == GEMEL__TERM_ABSENT;
  case 'l':
    return x->kind == GEMEL__TERM_LIST;
  case 'i':
    return gemel__has_integers(x);
  case 'n':
    return gemel__is_integer(x);
  case 'v':
    return x->kind == GEMEL__TERM_NUMBER;
  default:
    return kind == '?' || x->kind != GEMEL__TERM_NOTHING;
  }
}

static gemel_status call_function(const gemel__function *f, gemel__termcall *call) {
  const char *kind = f->kinds;
  for (uint32_t k = 0; k < call->n; k++) {
    if (!fits(*kind, &call->x[k])) {
      return GEMEL_DECLINED;
    }
    kind += kind[1] != '\0';
  }
  return f->run(call);
}

/* One list of all entries of the operands. */
static gemel_status make_list(gemel__termcall *call) {
  gemel__entry *list;
  size_t count = 0;
  for (uint32_t k = 0; k < call->n; k++) {
    if (!gemel__has_entries(&call->x[k])) {
      return GEMEL_DECLINED;
    }
    count += call->x[k].count;
  }
  gemel_status status = gemel__give_list(call, count, &list);
  for (uint32_t k = 0; status == GEMEL_OK && k < call->n; k++) {
    if (call->x[k].count > 0) {
      memcpy(list, call->x[k].list, call->x[k].count * sizeof *list);
    }
    list += call->x[k].count;
  }
  return status;
}

static gemel_status run_code(const gemel__termcode *code, gemel__termcall *call) {
  gemel__term absent = {.kind = GEMEL__TERM_ABSENT};
  switch (code->kind) {
  case FUNCTION:
    return call_function(&gemel__function_rows[code->index], call);
  case LIST:
    return make_list(call);
  case NUMBER:
    return gemel__give_number(call, code->value);
  case REAL:
    return gemel__give_real(call, code->real);
  case DTYPE:
    return gemel__give_dtype(call, (gemel_dtype)code->index);
  case VARIABLE:
    return give(call, call->scene->variables[code->index]);
  case OTHER:
    return give(call, (gemel__term){.kind = GEMEL__TERM_OTHER, .u.attr = code->attr});
  default:
    return give(call, absent);
  }
}

/* Where CODE takes numbers, makes numbers of those of its operands X that are reals without a
 * fraction, such as the value of a constant. */
static gemel_status take_whole(const gemel__termcode *code, const gemel__scene *scene,
                               gemel__term *x) {
  const char *kind = code->kind == FUNCTION ? gemel__function_rows[code->index].kinds : "e";
  for (uint32_t k = 0; k < code->count; k++) {
    double real = x[k].kind == GEMEL__TERM_REAL ? x[k].u.real : 0.5;
    if (strchr("einv", *kind) != NULL && real == trunc(real) && fabs(real) <= 0x1p53) {
      gemel__termcall give = {scene, NULL, NULL, 0, &x[k]};
      gemel_status status = gemel__give_number(&give, (int64_t)real);
      if (status != GEMEL_OK) {
        return status;
      }
    }
    kind += kind[1] != '\0';
  }
  return GEMEL_OK;
}

gemel_status gemel__term_evaluate(const gemel__termexpr *expr, const gemel__scene *scene,
                                  gemel__term *term) {
  gemel__term stack[GEMEL__TERM_STACK + 1];
  gemel__term *top = stack;
  gemel_context *context = scene->graph->context;
  unsigned failures = gemel__dim_memory_failures(context);
  for (uint32_t k = 0; k < expr->count; k++) {
    const gemel__termcode *code = &expr->code[k];
    gemel__term result = {.kind = GEMEL__TERM_NOTHING};
    gemel__termcall call = {scene, context, top - code->count, code->count, &result};
    gemel_status status = take_whole(code, scene, top - code->count);
    status = status ? status : run_code(code, &call);
    if (status == GEMEL_DECLINED) {
      result.kind = GEMEL__TERM_NOTHING;
    } else if (status != GEMEL_OK) {
      return status;
    }
    top -= code->count;
    *top++ = result;
  }
  if (gemel__dim_memory_failures(context) != failures) { /* comparisons don't say so themselves */
    return gemel__no_memory(scene->error, "a size");
  }
  if (expr->count == 0 || stack[0].kind == GEMEL__TERM_NOTHING) {
    return GEMEL_DECLINED;
  }
  *term = stack[0];
  return GEMEL_OK;
}

int gemel__term_holds(const gemel__term *term) {
  return gemel__is_integer(term) && term->list[0].value != 0;
}

/* ---- Comparing ---- */

/* A constant size is an integer always, so what is provably equal has equal ids. */
static int same_entries(const gemel__term *a, const gemel__term *b) {
  int all = a->count == b->count;
  for (uint32_t k = 0; all && k < a->count; k++) {
    all = gemel_dim_equal(a->list[k].dim, b->list[k].dim) && a->list[k].value == b->list[k].value;
  }
  return all;
}

static int same_tensors(const gemel__term *a, const gemel__term *b) {
  int all = a->count == b->count;
  for (uint32_t k = 0; all && k < a->count; k++) {
    all = a->u.tensors[k].node == b->u.tensors[k].node &&
          a->u.tensors[k].output == b->u.tensors[k].output;
  }
  return all;
}

int gemel__term_same(gemel_context *context, const gemel__term *a, const gemel__term *b) {
  (void)context; /* what it interned can be told apart without it */
  if (a->kind != b->kind) {
    return 0;
  }
  switch (a->kind) {
  case GEMEL__TERM_ABSENT:
    return 1;
  case GEMEL__TERM_NUMBER:
  case GEMEL__TERM_LIST:
    return same_entries(a, b);
  case GEMEL__TERM_REAL: /* the same bits, as attributes are compared */
    return memcmp(&a->u.real, &b->u.real, sizeof a->u.real) == 0;
  case GEMEL__TERM_DTYPE:
    return a->u.dtype == b->u.dtype;
  case GEMEL__TERM_TENSOR:
    return a->u.tensor.node == b->u.tensor.node && a->u.tensor.output == b->u.tensor.output;
  case GEMEL__TERM_TENSORS:
    return same_tensors(a, b);
  case GEMEL__TERM_OTHER:
    return gemel__attr_same(a->u.attr, b->u.attr);
  default:
    return 0;
  }
}

/* ---- Writing ---- */

typedef struct writer {
  gemel_context *context;
  char *text;
  size_t bytes, used;
} writer;

/* Where the next piece goes, and how much room there is. */
static char *place(const writer *w, size_t *room) {
  *room = w->used < w->bytes ? w->bytes - w->used : 0;
  return *room > 0 ? w->text + w->used : NULL;
}

static void put(writer *w, const char *piece) {
  size_t room;
  char *at = place(w, &room);
  w->used += (size_t)snprintf(at, room, "%s", piece);
}

static void put_entry(writer *w, gemel__entry entry) {
  size_t room;
  char *at = place(w, &room);
  if (!gemel_dim_is_none(entry.dim)) {
    w->used += gemel_dim_format(w->context, entry.dim, at, room);
  } else {
    w->used += (size_t)snprintf(at, room, "%lld", (long long)entry.value);
  }
}

static void put_list(writer *w, const gemel__term *term) {
  put(w, "[");
  for (uint32_t k = 0; k < term->count; k++) {
    put(w, k > 0 ? ", " : "");
    put_entry(w, term->list[k]);
  }
  put(w, "]");
}

static void put_value(writer *w, gemel__ref ref) {
  char piece[48];
  snprintf(piece, sizeof piece, ref.output ? "n%u@%u" : "n%u", (unsigned)ref.node,
           (unsigned)ref.output);
  put(w, piece);
}

static void put_other(writer *w, const gemel_attr *attr) {
  if (attr->kind == GEMEL_ATTR_STRING) {
    put(w, "\"");
    put(w, attr->u.text);
    put(w, "\"");
  } else {
    put(w, attr->kind & GEMEL_ATTR_LIST ? "list of " : "");
    put(w, gemel__attr_kind_name(attr->kind));
  }
}

static void put_term(writer *w, const gemel__term *term) {
  char number[GEMEL__NUMBER_TEXT];
  switch (term->kind) {
  case GEMEL__TERM_NUMBER:
    put_entry(w, term->list[0]);
    return;
  case GEMEL__TERM_LIST:
    put_list(w, term);
    return;
  case GEMEL__TERM_REAL:
    gemel__number_format(GEMEL_F64, &term->u.real, number);
    put(w, number);
    return;
  case GEMEL__TERM_DTYPE:
    put(w, gemel_dtype_name(term->u.dtype));
    return;
  case GEMEL__TERM_TENSOR:
    put_value(w, term->u.tensor);
    return;
  case GEMEL__TERM_TENSORS:
    put(w, "..");
    for (uint32_t k = 0; k < term->count; k++) {
      put(w, k > 0 ? ", " : "");
      put_value(w, term->u.tensors[k]);
    }
    return;
  case GEMEL__TERM_OTHER:
    put_other(w, term->u.attr);
    return;
  default:
    put(w, term->kind == GEMEL__TERM_ABSENT ? "none" : "unknown");
  }
}

size_t gemel__term_format(gemel_context *context, const gemel__term *term, char *text,
                          size_t bytes) {
  writer w = {context, text, bytes, 0};
  if (bytes > 0) {
    text[0] = '\0';
  }
  put_term(&w, term);
  return w.used;
}
