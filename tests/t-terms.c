/*
 * Attribute expressions of rules: every function and operator as a table of texts and what they
 * give, in one scene of tensors and attributes; that the table has a case for every function, and
 * the documentation a row; terms to attributes and back; messages; refused memory; and facts of
 * elements, which are held against what the operations really compute.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/dtype.h"
#include "rules/facts.h"
#include "rules/functions.h"
#include "core/suggest.h"
#include "rules/term.h"
#include "ct.h"

/* ---- The scene ---- */

static const char scene_text[] =
    "graph scene(x: f32[2, 3], y: f32[N, 3], v: f32[M], i: i32[4], u: u8[4], t: bool[2], s: "
    "f32[],\n"
    "            h: f16[2, 3], k: i64[], yy: f32[N, 3], l: f32[M + 4]) {\n"
    "  return c = 2.5:f32, d = tensor(i32[2, 2], [7, 7, 7, 7]), e = tensor(f32[2], [1, 2]),\n"
    "    w = broadcast_to(2.5:f32, shape = [2, 3]), nan_ = nan:f32, big = 9007199254740993:i64,\n"
    "    minus = -0.0:f32, zeros = tensor(f32[2], [0, -0.0]), ones = fill(x, 1:f32),\n"
    "    held = reshape(v, shape = [k]), square = sqr(x), root = sqrt(x), soft = softmax(x),\n"
    "    above = abs(x) + 1, wraps = sqr(i), label = abs(v)\n"
    "}\n";

enum { MAX_NAMES = 64 };

typedef struct name {
  const char *text;
  gemel__term term;
} name;

typedef struct stage {
  gemel_context *context;
  gemel_graph *graph;
  gemel__arena arena;
  gemel__scene scene;
  name names[MAX_NAMES];
  gemel__term variables[MAX_NAMES];
  uint32_t uses[256];
  gemel__ref many[3];
  gemel_error error;
  int count;
} stage;

static void add_term(stage *s, const char *text, gemel__term term) {
  s->names[s->count].text = text;
  s->variables[s->count++] = term;
}

static void add_value(stage *s, const char *text, gemel_value value) {
  gemel__term term = {.kind = GEMEL__TERM_TENSOR, .u.tensor = {value.node, value.output}};
  add_term(s, text, term);
}

/* An attribute that is no node's. */
static gemel_status add_attr(stage *s, gemel_attr attr) {
  gemel__term term;
  gemel_status status = gemel__term_of_attr(&s->scene, 0, &attr, &term);
  if (status == GEMEL_OK) {
    add_term(s, attr.name, term);
  }
  return status;
}

/* Attribute ATTR of the value called NAME, as a variable of that name. */
static gemel_status add_attr_of(stage *s, const char *value_name, const char *attr_name) {
  gemel__term term;
  gemel_status status = GEMEL_NOT_FOUND;
  for (int k = 0; k < s->count; k++) {
    if (strcmp(s->names[k].text, value_name) == 0) {
      uint32_t node = s->variables[k].u.tensor.node;
      const struct gemel__attrs *attrs =
          gemel__attrs_at(s->context, gemel__node_at(s->graph, node)->attrs);
      status = gemel__term_of_attr(&s->scene, node, &attrs->values[0], &term);
    }
  }
  if (status == GEMEL_OK) {
    add_term(s, attr_name, term);
  }
  return status;
}

static gemel_status add_attrs(stage *s) {
  static const int64_t p[] = {1, 2, 0}, a[] = {3, 1, -2};
  static gemel_attr label, other;
  gemel_dim n = gemel_dim_symbol(s->context, "N"), m = gemel_dim_symbol(s->context, "M");
  gemel_dim shape[3];
  gemel_attr absent = {.name = "gone"};
  gemel_status status = gemel_dim_is_none(n) || gemel_dim_is_none(m) ? GEMEL_NO_MEMORY : GEMEL_OK;
  label = gemel_attr_string("text", "half");
  other = gemel_attr_string("other", "full");
  shape[0] = n;
  shape[1] = gemel_dim_constant(s->context, 3);
  shape[2] = m;
  status = status ? status : add_attr(s, gemel_attr_ints("p", 3, p));
  status = status ? status : add_attr(s, gemel_attr_ints("a", 3, a));
  status = status ? status : add_attr(s, gemel_attr_ints("empty", 0, NULL));
  status = status ? status : add_attr(s, gemel_attr_int("one", 1));
  status = status ? status : add_attr(s, gemel_attr_int("least", INT64_MIN));
  status = status ? status : add_attr(s, gemel_attr_int("most", INT64_MAX));
  status = status ? status : add_attr(s, gemel_attr_dim("n", n));
  status = status ? status : add_attr(s, gemel_attr_dim("m", m));
  status = status ? status : add_attr(s, gemel_attr_dims("sizes", 3, shape));
  status = status ? status : add_attr(s, gemel_attr_float("half", 0.5));
  status = status ? status : add_attr(s, gemel_attr_dtype("type", GEMEL_BF16));
  status = status ? status : add_attr(s, absent);
  if (status == GEMEL_OK) {
    gemel__term term = {.kind = GEMEL__TERM_OTHER, .u.attr = &label};
    add_term(s, "text", term);
    term.u.attr = &other;
    add_term(s, "other", term);
  }
  return status ? status : add_attr_of(s, "held", "heldshape");
}

static void close_stage(stage *s) {
  gemel__arena_clear(&s->arena);
  gemel_graph_unref(s->graph);
  gemel_context_unref(s->context);
}

static gemel_status open_stage(stage *s) {
  gemel__term many = {.kind = GEMEL__TERM_TENSORS, .count = 3, .u.tensors = s->many};
  memset(s, 0, sizeof *s);
  s->context = gemel_context_new(&s->error);
  s->graph = s->context
                 ? gemel_parse(s->context, scene_text, strlen(scene_text), "scene", NULL, &s->error)
                 : NULL;
  if (s->graph == NULL) {
    return s->error.status;
  }
  s->scene.graph = s->graph;
  s->scene.uses = s->uses;
  s->scene.arena = &s->arena;
  s->scene.variables = s->variables;
  s->scene.error = &s->error;
  for (size_t k = 0; k < gemel_graph_input_count(s->graph); k++) {
    add_value(s, gemel_graph_input_name(s->graph, k), gemel_graph_input(s->graph, k));
  }
  for (size_t k = 0; k < gemel_graph_output_count(s->graph); k++) {
    add_value(s, gemel_graph_output_name(s->graph, k), gemel_graph_output(s->graph, k));
  }
  for (uint32_t k = 0; k < 3; k++) {
    s->many[k].node = k;
  }
  add_term(s, "xs", many);
  s->uses[0] = 2; /* x */
  s->uses[1] = 1; /* y */
  return add_attrs(s);
}

/* Attributes may be anything here, so that what isn't seen in the text shows when it is evaluated.
 */
static int lookup(void *user, const char *text, size_t length, unsigned *kinds) {
  const stage *s = user;
  *kinds = ~0u;
  for (int k = 0; k < s->count; k++) {
    if (strlen(s->names[k].text) == length && memcmp(s->names[k].text, text, length) == 0) {
      return k;
    }
  }
  return -1;
}

/* Compiles and evaluates TEXT; GEMEL_DECLINED if it has no value. */
static gemel_status evaluate(stage *s, const char *text, gemel__term *term) {
  gemel__syntax syntax = {0};
  gemel__lex lex;
  gemel__termexpr expr;
  uint32_t root;
  gemel_status status;
  gemel__lex_start(&lex, text, strlen(text), "");
  status = gemel__syntax_parse(&syntax, &lex, &root, &s->error);
  if (status == GEMEL_OK) {
    CT_CHECK(lex.kind == GEMEL__TOKEN_END);
    status = gemel__term_compile(&syntax, root, lookup, s, &s->arena, &expr, &s->error);
  }
  status = status ? status : gemel__term_evaluate(&expr, &s->scene, term);
  gemel__syntax_clear(&syntax);
  return status;
}

/* Compiles and evaluates TEXT; GEMEL_DECLINED if it has no value, or is refused for the kind of an
 * operand. */
static gemel_status value_of(stage *s, const char *text, gemel__term *term) {
  gemel_status status = evaluate(s, text, term);
  if (status == GEMEL_BAD_TEXT && strstr(s->error.text, ", and this is ") != NULL) {
    memset(&s->error, 0, sizeof s->error);
    status = GEMEL_DECLINED;
  }
  return status;
}

/* ---- Cases ---- */

typedef struct term_case {
  const char *text, *wanted;
} term_case;

#define NO "declined"

static const term_case cases[] = {
#define CASE(text, wanted) {text, wanted},
#include "terms.def"
#undef CASE
};

static void check_case(const void *data) {
  const term_case *c = data;
  stage s;
  gemel__term term;
  char got[200];
  gemel_status status = open_stage(&s);
  CT_EQ_STR(s.error.text, "");
  status = status ? status : value_of(&s, c->text, &term);
  ct_context("%s", c->text);
  if (status == GEMEL_OK) {
    gemel__term_format(s.context, &term, got, sizeof got);
    CT_EQ_INT(gemel__term_holds(&term), term.kind == GEMEL__TERM_NUMBER && strcmp(got, "0") != 0 &&
                                            strspn(got, "-0123456789") == strlen(got));
  } else {
    CT_EQ_STR(s.error.text, "");
    snprintf(got, sizeof got, "%s", gemel_status_text(status));
  }
  CT_EQ_STR(got, c->wanted);
  close_stage(&s);
}

static int says_no(const char *wanted) {
  return strcmp(wanted, NO) == 0 || strcmp(wanted, "0") == 0 || strcmp(wanted, "unknown") == 0;
}

/* Each function stands in a case that has a value, and in one that has none or is false. */
static void every_function(const void *data) {
  const char *text, *summary;
  int min, max;
  (void)data;
  for (size_t k = 0; (text = gemel__function_name(k, &min, &max, &summary)) != NULL; k++) {
    char call[80];
    int yes = 0, no = 0;
    size_t length = (size_t)snprintf(call, sizeof call, "%s(", text);
    for (size_t j = 0; j < CT_COUNT(cases); j++) {
      int found = strncmp(cases[j].text, call, length) == 0;
      yes += found && !says_no(cases[j].wanted);
      no += found && says_no(cases[j].wanted);
    }
    ct_context("%s", text);
    CT_CHECK(yes > 0);
    CT_CHECK(no > 0);
    CT_CHECK(min >= 1 && max >= min);
  }
}

/* The table of doc/rules.md has just the rows of functions.def, in their order. */
static void documented(const void *data) {
  const char *root = getenv("GEMEL_SRCDIR"), *text, *summary, *colon;
  char path[500], *doc, row[500], *at;
  int min, max;
  size_t bytes, rows = 0, k;
  FILE *file;
  (void)data;
  snprintf(path, sizeof path, "%s/doc/rules.md", root ? root : ".");
  file = fopen(path, "rb");
  CT_REQUIRE(file != NULL);
  doc = calloc(1, 200000);
  bytes = fread(doc, 1, 199999, file);
  fclose(file);
  CT_CHECK(bytes > 0 && bytes < 199999);
  at = strstr(doc, "| function | is |\n|---|---|\n");
  at = at ? at + strlen("| function | is |\n|---|---|\n") : doc + bytes;
  for (k = 0; (text = gemel__function_name(k, &min, &max, &summary)) != NULL; k++) {
    colon = strstr(summary, ": ");
    CT_CHECK(colon != NULL && strncmp(summary, text, strlen(text)) == 0);
    snprintf(row, sizeof row, "| `%.*s` | %s |\n", (int)(colon ? colon - summary : 0), summary,
             colon ? colon + 2 : "");
    ct_context("doc/rules.md lacks, here: %s", row);
    CT_CHECK(strncmp(at, row, strlen(row)) == 0);
    at = strchr(at, '\n') ? strchr(at, '\n') + 1 : at;
  }
  for (; at[0] == '|'; at = strchr(at, '\n') + 1) {
    rows++;
  }
  ct_context("rows of doc/rules.md that are no functions");
  CT_EQ_UINT(rows, 0);
  free(doc);
}

/* ---- Messages ---- */

static const term_case wrong[] = {
    {"rnk(x)", "no function called rnk among attributes; did you mean rank?"},
    {"exp(x)", "no function called exp among attributes"},
    {"permutaton(p)", "did you mean permutation?"},
    {"axes_kept(f32, [0])", "axes_kept takes a number, and this is a dtype"},
    {"aligned(p, none)", "aligned takes a number, and this is none"},
    {"aligned(p)", "aligned takes 2 operands, not 1"},
    {"reversed(reversed(reversed(reversed(reversed(reversed(p))))))", "the expression is too long"},
    {"add(1, 2)", "no function called add among attributes"}, /* abs isn't near */
    {"rank(x, x)", "rank takes 1 operand, not 2"},
    {"range()", "range takes 1 to 2 operands, not 0"},
    {"concat(p, half, half, half, half, half, half, half, half)",
     "concat takes 2 to 8 operands, not 9"},
    {"half + hal", "hal is not defined; did you mean half?"},
    {"heldshape == heldshap", "heldshap is not defined; did you mean heldshape?"},
    {"bf61", "bf61 is not defined; did you mean bf16?"},
    {"trve", "did you mean true?"},
    {"quite_other", "quite_other is not defined"},
    {"rank(x = x)", "operands of a function have no names (x)"},
    {"rank(..xs)", "a variadic variable (..) stands among operands of operations only"},
    {"x@1", "only a tensor has outputs"},
    {"9223372036854775808", "doesn't fit into 64 bits"},
    {"\"a\\n\"", "a string of a rule has no '\\'"},
    {"rank(3)", "rank takes a tensor, and this is a number"},
    {"bits(rank(x))", "bits takes a tensor or a dtype, and this is a number"},
    {"length(none)", "length takes a number or a list, and this is none"},
    {"range(shape(x))", "range takes a number, and this is a list"},
    {"range(1)[f32]", "an operator takes a number or a list, and this is a dtype"},
    {"[1, f32]", "a list takes a number or a list, and this is a dtype"},
    {"f32 + 1", "an operator takes a number or a list, and this is a dtype"},
};

static void messages(const void *data) {
  (void)data;
  for (size_t k = 0; k < CT_COUNT(wrong); k++) {
    stage s;
    gemel__term term;
    open_stage(&s);
    ct_context("%s", wrong[k].text);
    CT_EQ_INT(evaluate(&s, wrong[k].text, &term), GEMEL_BAD_TEXT);
    CT_HAS_STR(s.error.text, wrong[k].wanted);
    CT_CHECK(s.error.line == 1 && s.error.column > 0);
    if (strstr(wrong[k].wanted, "did you mean") == NULL) {
      CT_CHECK(strstr(s.error.text, "did you mean") == NULL);
    }
    close_stage(&s);
  }
}

/* What is too long for the stack, the code or the depth is an error, not an overrun. */
static void too_long(const void *data) {
  static const struct {
    const char *start, *piece, *end;
    int least, most; /* how many pieces are fine, and are too many */
  } shapes[] = {{"[1", ", 1", "]", 63, 64},
                {"1", " + 1", "", 127, 128},
                {"1", " + 1", "", 127, 5000},
                {"[1", ", 1", "]", 63, 5000}};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(shapes); k++) {
    for (int bad = 0; bad < 2; bad++) {
      int n = bad ? shapes[k].most : shapes[k].least;
      char *text = calloc(1, (size_t)n * 4 + 16);
      size_t used = (size_t)sprintf(text, "%s", shapes[k].start);
      stage s;
      gemel__term term;
      for (int j = 0; j < n; j++) {
        used += (size_t)sprintf(text + used, "%s", shapes[k].piece);
      }
      sprintf(text + used, "%s", shapes[k].end);
      open_stage(&s);
      ct_context("%s%s... %d times", shapes[k].start, shapes[k].piece, n);
      CT_EQ_INT(evaluate(&s, text, &term), bad ? GEMEL_BAD_TEXT : GEMEL_OK);
      free(text);
      close_stage(&s);
    }
  }
}

static void distances(const void *data) {
  static const struct {
    const char *a, *b;
    unsigned distance;
  } pairs[] = {{"", "", 0},
               {"a", "", 1},
               {"rank", "rank", 0},
               {"rnk", "rank", 1},
               {"arnk", "rank", 1},
               {"range", "rank", 2},
               {"ab", "cde", 3},
               {"kitten", "sitting", 3},
               {"abc", "abcdef", 3},
               {"flaw", "lawn", 2},
               {"rankxy", "ranky", 1},
               {"ca", "abc", 3},
               {"baab", "abba", 2},
               {"axis", "axes", 1},
               {"SUM", "sum", 0},
               {"Softmxa", "softmax", 1}};
  gemel__suggestion s;
  char longest[70];
  (void)data;
  for (size_t k = 0; k < CT_COUNT(pairs); k++) {
    const char *a = pairs[k].a, *b = pairs[k].b;
    ct_context("%s %s", a, b);
    CT_EQ_UINT(gemel__edit_distance(a, strlen(a), b, strlen(b)), pairs[k].distance);
    CT_EQ_UINT(gemel__edit_distance(b, strlen(b), a, strlen(a)), pairs[k].distance);
  }
  memset(longest, 'a', sizeof longest);
  CT_EQ_UINT(gemel__edit_distance(longest, sizeof longest, longest, sizeof longest), 3);
  gemel__suggestion_start(&s, "ab", 2);
  gemel__suggestion_offer(&s, "xy", 2);
  CT_EQ_STR(gemel__suggestion_text(&s), "");
  gemel__suggestion_offer(&s, "xb", 2);
  gemel__suggestion_offer(&s, "yb", 2);
  CT_EQ_STR(gemel__suggestion_text(&s), "; did you mean xb?");
  gemel__suggestion_start(&s, "axis", 4); /* 1 is near at any length, 2 from five letters on */
  gemel__suggestion_offer(&s, "atom", 4);
  gemel__suggestion_offer(&s, "axle", 4);
  CT_EQ_STR(gemel__suggestion_text(&s), "");
  gemel__suggestion_offer(&s, "axes", 4);
  CT_EQ_STR(gemel__suggestion_text(&s), "; did you mean axes?");
  gemel__suggestion_start(&s, "sofmxa", 6);
  gemel__suggestion_offer(&s, "softmax", 7);
  CT_EQ_STR(gemel__suggestion_text(&s), "; did you mean softmax?");
}

/* ---- Attributes ---- */

typedef struct attr_case {
  const char *text;
  int kind;
  const char *fallback;
  const char *wanted; /* as a term again; or declined */
} attr_case;

enum { INTS = GEMEL_ATTR_LIST | GEMEL_ATTR_INT, DIMS = GEMEL_ATTR_LIST | GEMEL_ATTR_DIM };

static const attr_case attr_cases[] = {
    {"3", GEMEL_ATTR_INT, NULL, "3"},
    {"n", GEMEL_ATTR_INT, NULL, NO},
    {"p", GEMEL_ATTR_INT, NULL, NO},
    {"3", GEMEL_ATTR_DIM, NULL, "3"},
    {"n + 1", GEMEL_ATTR_DIM, NULL, "N + 1"},
    {"half", GEMEL_ATTR_DIM, NULL, NO},
    {"half", GEMEL_ATTR_FLOAT, NULL, "0.5"},
    {"2", GEMEL_ATTR_FLOAT, NULL, "2"},
    {"most", GEMEL_ATTR_FLOAT, NULL, NO},
    {"n", GEMEL_ATTR_FLOAT, NULL, NO},
    {"half", GEMEL_ATTR_INT, NULL, NO},
    {"f16", GEMEL_ATTR_DTYPE, NULL, "f16"},
    {"f16", GEMEL_ATTR_INT, NULL, NO},
    {"1", GEMEL_ATTR_DTYPE, NULL, NO},
    {"p", INTS, NULL, "[1, 2, 0]"},
    {"[]", INTS, NULL, "[]"},
    {"sizes", INTS, NULL, NO},
    {"sizes", DIMS, NULL, "[N, 3, M]"},
    {"[]", DIMS, NULL, "[]"},
    {"1", INTS, NULL, NO},
    {"1", DIMS, NULL, NO},
    {"none", INTS, "none", "none"},
    {"none", INTS, NULL, NO},
    {"none", GEMEL_ATTR_INT, "0", NO},
    {"text", GEMEL_ATTR_STRING, NULL, "\"half\""},
    {"text", GEMEL_ATTR_TENSOR, NULL, NO},
    {"1", GEMEL_ATTR_STRING, NULL, NO},
    {"x", GEMEL_ATTR_TENSOR, NULL, NO},
    {"n == m", GEMEL_ATTR_INT, NULL, NO},
    {"p", GEMEL_ATTR_LIST | GEMEL_ATTR_FLOAT, NULL, NO},
    {"[]", GEMEL_ATTR_LIST | GEMEL_ATTR_FLOAT, NULL, "list of float"},
};

static void attributes(const void *data) {
  (void)data;
  for (size_t k = 0; k < CT_COUNT(attr_cases); k++) {
    const attr_case *c = &attr_cases[k];
    gemel_attr_spec spec = {"attr", c->kind, c->fallback};
    gemel_attr attr;
    gemel__term term, back;
    stage s;
    char got[200] = NO;
    open_stage(&s);
    ct_context("%s as kind %d", c->text, c->kind);
    CT_EQ_INT(evaluate(&s, c->text, &term), GEMEL_OK);
    if (gemel__term_to_attr(&s.scene, &term, &spec, &attr) == GEMEL_OK) {
      CT_EQ_STR(attr.name, "attr");
      CT_CHECK(attr.kind == (term.kind == GEMEL__TERM_ABSENT ? GEMEL_ATTR_NONE : c->kind));
      CT_EQ_INT(gemel__term_of_attr(&s.scene, 0, &attr, &back), GEMEL_OK);
      gemel__term_format(s.context, &back, got, sizeof got);
    }
    CT_EQ_STR(got, c->wanted);
    close_stage(&s);
  }
}

/* Which of these are the same as which; all that aren't equal as texts are different. */
static void sameness(const void *data) {
  static const char *const texts[] = {"1",      "[1]", "[]",   "n",    "[n]",   "[n, 1]",
                                      "[1, n]", "m",   "half", "1.0",  "0.0",   "value(minus)",
                                      "f32",    "f64", "none", "text", "other", "x",
                                      "y",      "xs",  "n + 1"};
  stage s;
  (void)data;
  open_stage(&s);
  for (size_t j = 0; j < CT_COUNT(texts); j++) {
    for (size_t k = 0; k < CT_COUNT(texts); k++) {
      gemel__term a, b;
      CT_EQ_INT(evaluate(&s, texts[j], &a), GEMEL_OK);
      CT_EQ_INT(evaluate(&s, texts[k], &b), GEMEL_OK);
      ct_context("%s %s", texts[j], texts[k]);
      CT_EQ_INT(gemel__term_same(s.context, &a, &b), j == k);
    }
  }
  gemel__term unknown;
  CT_EQ_INT(evaluate(&s, "n == m", &unknown), GEMEL_OK);
  CT_EQ_INT(gemel__term_same(s.context, &unknown, &unknown), 0);
  close_stage(&s);
}

/* ---- Casts ---- */

/* Whether FROM's hardest values survive: its extremes, their neighbours, and its least steps. */
static int survives(gemel_dtype from, gemel_dtype to) {
  int is_float = gemel_dtype_kind(from) == GEMEL_KIND_FLOAT, all = 1;
  int bits = 8 * (int)gemel_dtype_size(from), sign = gemel_dtype_kind(from) == GEMEL_KIND_SIGNED;
  unsigned char element[8];
  if (is_float) {
    static const double one_more[GEMEL_DTYPE_COUNT] = {
        [GEMEL_F16] = 0x1p-10, [GEMEL_BF16] = 0x1p-7, [GEMEL_F32] = 0x1p-23, [GEMEL_F64] = 0x1p-52};
    static const double great[GEMEL_DTYPE_COUNT] = {[GEMEL_F16] = 65504,
                                                    [GEMEL_BF16] = 0x1.fep127,
                                                    [GEMEL_F32] = 0x1.fffffep127,
                                                    [GEMEL_F64] = 0x1.fffffffffffffp1023};
    static const double tiny[GEMEL_DTYPE_COUNT] = {[GEMEL_F16] = 0x1p-24,
                                                   [GEMEL_BF16] = 0x1p-133,
                                                   [GEMEL_F32] = 0x1p-149,
                                                   [GEMEL_F64] = 0x1p-1074};
    const double values[3] = {1 + one_more[from], great[from], tiny[from]};
    for (int k = 0; k < 3; k++) {
      all &= gemel__dtype_store(to, values[k], element) == GEMEL_OK &&
             gemel__dtype_load(to, element) == values[k];
    }
    return all;
  }
  bits = from == GEMEL_BOOL ? 1 : bits - sign;
  if (gemel_dtype_kind(to) == GEMEL_KIND_FLOAT) {
    /* 2^bits - 1 needs that many digits */
    static const int digits[GEMEL_DTYPE_COUNT] = {
        [GEMEL_F16] = 11, [GEMEL_BF16] = 8, [GEMEL_F32] = 24, [GEMEL_F64] = 53};
    return bits <= digits[to];
  }
  if (bits > 53) { /* a double can't show it: only the widest of the same kind or more will do */
    return to == from || (to == GEMEL_U64 && !sign);
  }
  all &= gemel__dtype_store(to, ldexp(1, bits) - 1, element) == GEMEL_OK;
  return all & (!sign || gemel__dtype_store(to, -ldexp(1, bits), element) == GEMEL_OK);
}

static void casts(const void *data) {
  (void)data;
  for (int from = 0; from < GEMEL_DTYPE_COUNT; from++) {
    for (int to = 0; to < GEMEL_DTYPE_COUNT; to++) {
      ct_context("%s to %s", gemel_dtype_name((gemel_dtype)from),
                 gemel_dtype_name((gemel_dtype)to));
      CT_EQ_INT(gemel__exact_cast((gemel_dtype)from, (gemel_dtype)to),
                survives((gemel_dtype)from, (gemel_dtype)to));
    }
  }
}

/* ---- Memory ---- */

static int without_memory(void *data) {
  static const char *const texts[] = {"[n, 2000 * m] == [2000, n]",
                                      "insert(sizes, [0, 1], n + 1500)",
                                      "axes_kept(3, [-1])",
                                      "abs(n - 1000)",
                                      "elements(y) == product(sizes) // 7",
                                      "heldshape",
                                      "n < 3000"};
  stage s;
  gemel_status status = open_stage(&s);
  (void)data;
  for (size_t k = 0; status == GEMEL_OK && k < CT_COUNT(texts); k++) {
    gemel_attr_spec spec = {"attr", DIMS, NULL};
    gemel_attr attr;
    gemel__term term;
    status = evaluate(&s, texts[k], &term);
    if (status == GEMEL_OK && term.kind == GEMEL__TERM_LIST) {
      status = gemel__term_to_attr(&s.scene, &term, &spec, &attr);
    }
    CT_CHECK(status == GEMEL_OK || status == GEMEL_NO_MEMORY);
    CT_CHECK(status == GEMEL_OK || s.error.status == GEMEL_NO_MEMORY);
  }
  close_stage(&s);
  return status;
}

static void memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(without_memory, NULL) > 100);
}

static const ct_test tests[] = {
    CT_TEST("every_function", every_function, NULL),
    CT_TEST("documented", documented, NULL),
    CT_TEST("messages", messages, NULL),
    CT_TEST("too_long", too_long, NULL),
    CT_TEST("distances", distances, NULL),
    CT_TEST("attributes", attributes, NULL),
    CT_TEST("sameness", sameness, NULL),
    CT_TEST("casts", casts, NULL),
    CT_TEST("memory", memory, NULL),
};

void ct_register(void) {
  ct_suite("terms", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    char title[40];
    snprintf(title, sizeof title, "case/%zu", k);
    CT_ADD("terms", title, check_case, &cases[k]);
  }
}
