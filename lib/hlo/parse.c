/* SPDX-License-Identifier: MIT
 *
 * The text of a module of HLO, as XLA writes it:
 *
 *   HloModule NAME, ATTRIBUTES
 *   [ENTRY] %NAME (PARAMETERS) -> SHAPE {
 *     [ROOT] %NAME = SHAPE OPCODE(OPERANDS), ATTRIBUTE=VALUE, ...
 *   }
 *
 * Sections of names of files and functions, which some versions write before the computations, are
 * passed over. Text is anybody's: every read is bounded, what is nested is so 32 deep at most, and
 * an error says line and column.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <gemel/hlo.h>
#include "core/alloc.h"
#include "core/error.h"
#include "hlo/live.h"
#include "text/file.h"

enum { DEEPEST = 32, NONE = -1 };

typedef struct parser {
  gemel_hlo *module;
  const char *at, *end, *line_begin;
  int64_t line;
  gemel_error *error;
  gemel__map names;         /* of the computation's instructions */
  gemel__hlo_instr *instrs; /* of the computation */
  size_t n_instrs, room;
} parser;

/* ---- Spans ---- */

int gemel__hlo_is(gemel__hlo_span span, const char *text) {
  return span.text != NULL && strlen(text) == span.length &&
         memcmp(span.text, text, span.length) == 0;
}

static int is_same(gemel__hlo_span a, gemel__hlo_span b) {
  return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

gemel__hlo_span gemel__hlo_attr_of(const gemel__hlo_instr *instr, const char *name) {
  for (size_t k = 0; k < instr->n_attrs; k++) {
    if (gemel__hlo_is(instr->attrs[k].name, name)) {
      return instr->attrs[k].value;
    }
  }
  return (gemel__hlo_span){NULL, 0};
}

static gemel__hlo_span without_percent(gemel__hlo_span name) {
  int has = name.length > 0 && name.text[0] == '%';
  return (gemel__hlo_span){name.text + has, name.length - (size_t)has};
}

static uint64_t hash_of(gemel__hlo_span name) {
  return gemel__hash_bytes(7, name.text, name.length);
}

const gemel__hlo_computation *gemel__hlo_computation_of(const gemel_hlo *module,
                                                        gemel__hlo_span name) {
  if (name.text == NULL) {
    return NULL;
  }
  name = without_percent(name);
  uint32_t k = gemel__map_find(&module->names, hash_of(name));
  while (k != 0 && !is_same(module->computations[k - 1].name, name)) {
    k = module->computations[k - 1].before;
  }
  return k != 0 ? &module->computations[k - 1] : NULL;
}

int gemel__hlo_is_tiled(const gemel__hlo_shape *shape) {
  return shape->tiles.length > 0 && memchr(shape->tiles.text, 'T', shape->tiles.length) != NULL;
}

/* ---- Reading ---- */

static int fail(const parser *p, gemel_status status, const char *format, ...) GEMEL__PRINTF(3, 4);

/* 0, with the error: what FORMAT says, and where. */
static int fail(const parser *p, gemel_status status, const char *format, ...) {
  char text[300];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  gemel__fail(p->error, status, "%s:%lld:%lld: %s", p->module->file, (long long)p->line,
              (long long)(p->at - p->line_begin) + 1, text);
  return 0;
}

static int no_room(const parser *p) {
  gemel__no_memory(p->error, "a module of HLO");
  return 0;
}

static void next_char(parser *p) {
  if (*p->at++ == '\n') {
    p->line++;
    p->line_begin = p->at;
  }
}

static int is_at(const parser *p, const char *text) {
  size_t n = strlen(text);
  return (size_t)(p->end - p->at) >= n && memcmp(p->at, text, n) == 0;
}

/* Passes over a comment. */
static void skip_comment(parser *p) {
  while (p->at < p->end && !is_at(p, "*/")) {
    next_char(p);
  }
  p->at += p->at < p->end ? 2 : 0;
}

/* Passes over blanks and comments, and over ends of lines if LINES. */
static void skip(parser *p, int lines) {
  while (p->at < p->end) {
    if (*p->at == ' ' || *p->at == '\t' || *p->at == '\r' || (lines && *p->at == '\n')) {
      next_char(p);
    } else if (is_at(p, "/*")) {
      skip_comment(p);
    } else if (is_at(p, "//")) {
      while (p->at < p->end && *p->at != '\n') {
        p->at++;
      }
    } else {
      return;
    }
  }
}

static void skip_line(parser *p) {
  while (p->at < p->end && *p->at != '\n') {
    p->at++;
  }
  if (p->at < p->end) {
    next_char(p);
  }
}

static int is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == ':' || c == '$';
}

/* A word, with a % before it where it is a name. Without one, a word is empty. */
static gemel__hlo_span word(parser *p) {
  const char *begin = p->at;
  p->at += p->at < p->end && *p->at == '%';
  while (p->at < p->end && is_word(*p->at)) {
    p->at++;
  }
  return (gemel__hlo_span){begin, (size_t)(p->at - begin)};
}

/* Passes over C, behind blanks. */
static int expect(parser *p, char c) {
  skip(p, 0);
  if (p->at >= p->end || *p->at != c) {
    return fail(p, GEMEL_BAD_FILE, "'%c' is expected", c);
  }
  next_char(p);
  return 1;
}

static int opens(char c) {
  return c == '(' || c == '[' || c == '{';
}

static int closes(char c) {
  return c == ')' || c == ']' || c == '}';
}

static void skip_string(parser *p) {
  next_char(p);
  while (p->at < p->end && *p->at != '"') {
    if (*p->at == '\\' && p->end - p->at > 1) {
      next_char(p);
    }
    next_char(p);
  }
  if (p->at < p->end) {
    next_char(p);
  }
}

/* What stands from here to one of ENDS that no bracket encloses, or to a bracket that closes what
 * was open before: *SPAN, without blanks at its end. */
static int take_until(parser *p, const char *ends, gemel__hlo_span *span) {
  const char *begin = p->at;
  int64_t depth = 0;
  while (p->at < p->end && (depth > 0 || (!closes(*p->at) && strchr(ends, *p->at) == NULL))) {
    if (*p->at == '"') {
      skip_string(p);
    } else if (is_at(p, "/*")) {
      skip_comment(p);
    } else {
      depth += opens(*p->at) - closes(*p->at);
      next_char(p);
    }
  }
  *span = (gemel__hlo_span){begin, (size_t)(p->at - begin)};
  while (span->length > 0 && strchr(" \t\r\n", span->text[span->length - 1]) != NULL) {
    span->length--;
  }
  return depth == 0 ? 1 : fail(p, GEMEL_BAD_FILE, "the text ends within brackets");
}

/* A number below 2^62, of digits. */
static int number(parser *p, int64_t *value) {
  const char *begin = p->at;
  *value = 0;
  while (p->at < p->end && *p->at >= '0' && *p->at <= '9') {
    if (*value > (INT64_MAX >> 1) / 10 - 10) {
      return fail(p, GEMEL_BAD_FILE, "a size is too large");
    }
    *value = *value * 10 + (*p->at++ - '0');
  }
  return p->at > begin ? 1 : fail(p, GEMEL_BAD_FILE, "a number is expected");
}

/* Numbers with commas between them, up to CLOSE, which is passed over: *N of them at most
 * GEMEL_MAX_RANK, in VALUES. */
static int numbers(parser *p, char close, int64_t *values, int *n) {
  for (*n = 0;; ++*n) {
    skip(p, 0);
    if (p->at < p->end && *p->at == close) {
      p->at++;
      return 1;
    }
    if (*n > 0 && !expect(p, ',')) {
      return 0;
    }
    skip(p, 0);
    if (*n == GEMEL_MAX_RANK) {
      return fail(p, GEMEL_UNSUPPORTED, "more than %d axes", GEMEL_MAX_RANK);
    }
    if (p->at < p->end && (*p->at == '<' || *p->at == '?')) {
      return fail(p, GEMEL_UNSUPPORTED, "a size that is known only when it runs");
    }
    if (!number(p, &values[*n])) {
      return 0;
    }
  }
}

/* ---- Shapes ---- */

static int dtype_named(gemel__hlo_span type) {
  static const struct {
    const char *name;
    gemel_dtype dtype;
  } names[] = {{"pred", GEMEL_BOOL}, {"s8", GEMEL_I8},   {"s16", GEMEL_I16},   {"s32", GEMEL_I32},
               {"s64", GEMEL_I64},   {"u8", GEMEL_U8},   {"u16", GEMEL_U16},   {"u32", GEMEL_U32},
               {"u64", GEMEL_U64},   {"f16", GEMEL_F16}, {"bf16", GEMEL_BF16}, {"f32", GEMEL_F32},
               {"f64", GEMEL_F64}};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    if (gemel__hlo_is(type, names[k].name)) {
      return (int)names[k].dtype;
    }
  }
  return NONE;
}

/* The layout behind an array's sizes: {1,0}, {1,0:T(8,128)}. */
static int layout(parser *p, gemel__hlo_shape *shape) {
  int64_t order[GEMEL_MAX_RANK];
  int n = 0;
  gemel__hlo_span rest;
  p->at++;
  while (p->at < p->end && *p->at >= '0' && *p->at <= '9') {
    if (n == GEMEL_MAX_RANK || !number(p, &order[n++])) {
      return fail(p, GEMEL_BAD_FILE, "a layout of more axes than the array has");
    }
    p->at += p->at < p->end && *p->at == ',';
  }
  if (!take_until(p, "", &rest) || !expect(p, '}')) {
    return 0;
  }
  shape->tiles = rest;
  uint32_t seen = 0;
  for (int k = 0; k < n; k++) {
    if (order[k] >= shape->rank || (seen >> order[k] & 1) != 0) {
      return fail(p, GEMEL_BAD_FILE, "the layout isn't an order of the array's axes");
    }
    seen |= 1u << order[k];
  }
  if (n != shape->rank && n != 0) {
    return fail(p, GEMEL_BAD_FILE, "a layout of other axes than the array has");
  }
  shape->order =
      n > 0 ? gemel__arena_copy(&p->module->arena, order, (size_t)n * sizeof *order) : NULL;
  return shape->order != NULL || n == 0 ? 1 : no_room(p);
}

static int array_shape(parser *p, gemel__hlo_shape *shape) {
  int64_t dims[GEMEL_MAX_RANK];
  shape->type = word(p);
  shape->dtype = dtype_named(shape->type);
  if (shape->type.length == 0) {
    return fail(p, GEMEL_BAD_FILE, "a shape is expected");
  }
  if (!expect(p, '[') || !numbers(p, ']', dims, &shape->rank)) {
    return 0;
  }
  shape->dims =
      gemel__arena_copy(&p->module->arena, dims, ((size_t)shape->rank + 1) * sizeof *dims);
  if (shape->dims == NULL) {
    return no_room(p);
  }
  return p->at < p->end && *p->at == '{' ? layout(p, shape) : 1;
}

static int shape_of(parser *p, gemel__hlo_shape *shape, int depth);

/* The shapes of a tuple, behind its parenthesis. */
static int tuple_shape(parser *p, gemel__hlo_shape *shape, int depth) {
  size_t room = 0;
  gemel__hlo_shape *parts = NULL;
  int good = 1;
  shape->is_tuple = 1;
  shape->dtype = NONE;
  skip(p, 0);
  while (good && p->at < p->end && *p->at != ')') {
    if (shape->n_parts == room) {
      size_t more = 2 * room + 4;
      gemel__hlo_shape *grown = gemel__arena_alloc(&p->module->arena, more * sizeof *grown);
      if (grown == NULL) {
        return no_room(p);
      }
      if (room > 0) {
        memcpy(grown, parts, room * sizeof *parts);
      }
      parts = grown;
      room = more;
    }
    good = shape_of(p, &parts[shape->n_parts++], depth + 1);
    skip(p, 0);
    if (good && p->at < p->end && *p->at == ',') {
      p->at++;
      skip(p, 0);
    }
  }
  shape->parts = parts;
  return good && expect(p, ')');
}

static int shape_of(parser *p, gemel__hlo_shape *shape, int depth) {
  *shape = (gemel__hlo_shape){.rank = 0};
  skip(p, 0);
  if (depth > DEEPEST) {
    return fail(p, GEMEL_UNSUPPORTED, "tuples nested more than %d deep", DEEPEST);
  }
  if (p->at < p->end && *p->at == '(') {
    p->at++;
    return tuple_shape(p, shape, depth);
  }
  return array_shape(p, shape);
}

/* ---- Instructions ---- */

/* The instruction called NAME, counted from 1; 0: none. */
static uint32_t find(const parser *p, gemel__hlo_span name) {
  uint32_t k = gemel__map_find(&p->names, hash_of(name));
  while (k != 0 && !is_same(p->instrs[k - 1].name, name)) {
    k = p->instrs[k - 1].before;
  }
  return k;
}

/* Adds an instruction under its name. */
static int add(parser *p, const gemel__hlo_instr *instr) {
  if (find(p, instr->name) != 0) {
    return fail(p, GEMEL_BAD_FILE, "%.*s is there already", (int)(instr->name.length % 200),
                instr->name.text);
  }
  if (p->n_instrs == p->room) {
    size_t room = 2 * p->room + 16;
    gemel__hlo_instr *grown =
        gemel__realloc(p->instrs, p->room * sizeof *grown, room * sizeof *grown);
    if (grown == NULL) {
      return no_room(p);
    }
    p->instrs = grown;
    p->room = room;
  }
  uint64_t hash = hash_of(instr->name);
  p->instrs[p->n_instrs] = *instr;
  p->instrs[p->n_instrs].before = gemel__map_find(&p->names, hash);
  return gemel__map_put(&p->names, hash, (uint32_t)++p->n_instrs) == 0 ? 1 : no_room(p);
}

/* What the list in INSIDE has: its parts, with commas between them. */
static size_t count_parts(gemel__hlo_span inside) {
  size_t n = inside.length > 0;
  for (size_t k = 0; k < inside.length; k++) {
    n += inside.text[k] == ',';
  }
  return n;
}

/* The number of an operand, which is a name, with its shape before it or without. */
static int operand(parser *p, gemel__hlo_span text, uint32_t *number) {
  size_t begin = text.length;
  while (begin > 0 && (is_word(text.text[begin - 1]) || text.text[begin - 1] == '%')) {
    begin--;
  }
  gemel__hlo_span name = without_percent((gemel__hlo_span){text.text + begin, text.length - begin});
  uint32_t k = find(p, name);
  *number = k - 1;
  return k != 0 ? 1
                : fail(p, GEMEL_BAD_FILE, "there is no %.*s before it",
                       (int)(name.length < 200 ? name.length : 200), name.text);
}

/* Reads the operands in INSTR's parentheses. */
static int operands(parser *p, gemel__hlo_instr *instr) {
  parser inside = *p;
  gemel__hlo_span part;
  uint32_t *numbers =
      gemel__arena_alloc(&p->module->arena, (count_parts(instr->inside) + 1) * sizeof *numbers);
  if (numbers == NULL) {
    return no_room(p);
  }
  inside.at = instr->inside.text;
  inside.end = instr->inside.text + instr->inside.length;
  for (skip(&inside, 1); inside.at < inside.end; skip(&inside, 1)) {
    if (!take_until(&inside, ",", &part) || !operand(p, part, &numbers[instr->n_operands++])) {
      return 0;
    }
    if (inside.at < inside.end && *inside.at++ != ',') {
      return fail(p, GEMEL_BAD_FILE, "an operand is expected");
    }
  }
  instr->operands = numbers;
  return 1;
}

/* The attributes behind an instruction: , NAME=VALUE ... */
static int attributes(parser *p, gemel__hlo_instr *instr) {
  gemel__hlo_attr attrs[64];
  for (skip(p, 0); p->at < p->end && *p->at == ','; skip(p, 0)) {
    gemel__hlo_attr *attr = &attrs[instr->n_attrs];
    if (instr->n_attrs++ == sizeof attrs / sizeof *attrs) {
      return fail(p, GEMEL_UNSUPPORTED, "more than 64 attributes");
    }
    p->at++;
    skip(p, 0);
    attr->name = word(p);
    for (size_t k = 0; k + 1 < instr->n_attrs; k++) {
      if (is_same(attrs[k].name, attr->name)) {
        return fail(p, GEMEL_BAD_FILE, "an attribute that it has already");
      }
    }
    if (attr->name.length == 0 || !expect(p, '=') || !take_until(p, ",\n", &attr->value)) {
      return fail(p, GEMEL_BAD_FILE, "an attribute is expected");
    }
  }
  instr->attrs = gemel__arena_copy(&p->module->arena, attrs, (instr->n_attrs + 1) * sizeof *attrs);
  return instr->attrs != NULL ? 1 : no_room(p);
}

static int has_operands(const gemel__hlo_instr *instr) {
  return !gemel__hlo_is(instr->opcode, "parameter") && !gemel__hlo_is(instr->opcode, "constant");
}

/* One instruction, from its name on. */
static int instruction(parser *p) {
  gemel__hlo_instr instr = {.line = p->line};
  instr.name = without_percent(word(p));
  if (instr.name.length == 0) {
    return fail(p, GEMEL_BAD_FILE, "an instruction is expected");
  }
  if (!expect(p, '=') || !shape_of(p, &instr.shape, 0)) {
    return 0;
  }
  skip(p, 0);
  instr.opcode = word(p);
  if (!expect(p, '(') || !take_until(p, "", &instr.inside) || !expect(p, ')') ||
      (has_operands(&instr) && !operands(p, &instr)) || !attributes(p, &instr)) {
    return 0;
  }
  if (p->at < p->end && *p->at != '\n' && *p->at != '}') {
    return fail(p, GEMEL_BAD_FILE, "an instruction ends with its line");
  }
  return add(p, &instr);
}

/* ---- Computations ---- */

/* Which parameter INSTR is; -1: it isn't one, or has no number. */
static int64_t parameter_number(const gemel__hlo_instr *instr) {
  int64_t n = 0;
  if (!gemel__hlo_is(instr->opcode, "parameter") || instr->inside.length == 0 ||
      instr->inside.length > 9) {
    return -1;
  }
  for (size_t k = 0; k < instr->inside.length; k++) {
    char c = instr->inside.text[k];
    if (c < '0' || c > '9') {
      return -1;
    }
    n = n * 10 + (c - '0');
  }
  return n;
}

/* Finds the parameters of C, which are numbered from 0 without a gap. */
static int parameters(parser *p, gemel__hlo_computation *c) {
  for (size_t k = 0; k < p->n_instrs; k++) {
    c->n_parameters += (size_t)gemel__hlo_is(p->instrs[k].opcode, "parameter");
  }
  uint32_t *found = gemel__arena_alloc(&p->module->arena, (c->n_parameters + 1) * sizeof *found);
  if (found == NULL) {
    return no_room(p);
  }
  memset(found, 0xff, (c->n_parameters + 1) * sizeof *found);
  for (size_t k = 0; k < p->n_instrs; k++) {
    if (gemel__hlo_is(p->instrs[k].opcode, "parameter")) {
      int64_t n = parameter_number(&p->instrs[k]);
      if (n < 0 || (size_t)n >= c->n_parameters || found[n] != UINT32_MAX) {
        return fail(p, GEMEL_BAD_FILE, "parameters aren't numbered from 0 without a gap");
      }
      found[n] = (uint32_t)k;
    }
  }
  c->parameters = found;
  return 1;
}

/* Adds C, with the instructions that were read. */
static int add_computation(parser *p, gemel__hlo_computation *c) {
  gemel_hlo *m = p->module;
  uint64_t hash = hash_of(c->name);
  if (gemel__hlo_computation_of(m, c->name) != NULL) {
    return fail(p, GEMEL_BAD_FILE, "two computations of one name");
  }
  c->n_instrs = p->n_instrs;
  c->instrs = gemel__arena_copy(&m->arena, p->instrs, (p->n_instrs + 1) * sizeof *p->instrs);
  c->before = gemel__map_find(&m->names, hash);
  if (c->instrs == NULL) {
    return no_room(p);
  }
  if (m->n_computations == m->room) {
    size_t room = 2 * m->room + 8;
    gemel__hlo_computation *grown =
        gemel__realloc(m->computations, m->room * sizeof *grown, room * sizeof *grown);
    if (grown == NULL) {
      return no_room(p);
    }
    m->computations = grown;
    m->room = room;
  }
  m->computations[m->n_computations++] = *c;
  return gemel__map_put(&m->names, hash, (uint32_t)m->n_computations) == 0 ? 1 : no_room(p);
}

/* The instructions of a computation, up to its brace. */
static int body(parser *p, gemel__hlo_computation *c) {
  p->n_instrs = 0;
  gemel__map_empty(&p->names);
  c->root = UINT32_MAX;
  for (skip(p, 1); p->at < p->end && *p->at != '}'; skip(p, 1)) {
    int is_root = is_at(p, "ROOT ");
    if (is_root && c->root != UINT32_MAX) {
      return fail(p, GEMEL_BAD_FILE, "a second ROOT");
    }
    p->at += is_root ? 5 : 0;
    if (!instruction(p)) {
      return 0;
    }
    c->root = is_root ? (uint32_t)p->n_instrs - 1 : c->root;
  }
  if (p->n_instrs == 0) {
    return fail(p, GEMEL_BAD_FILE, "a computation without instructions");
  }
  c->root = c->root == UINT32_MAX ? (uint32_t)p->n_instrs - 1 : c->root;
  return expect(p, '}') && parameters(p, c) && add_computation(p, c);
}

/* 1 if the brace here ends its line. The braces of layouts open before that of the body does. */
static int opens_body(const parser *p) {
  const char *at = p->at + 1;
  while (at < p->end && (*at == ' ' || *at == '\t' || *at == '\r')) {
    at++;
  }
  return at == p->end || *at == '\n' || *at == '/';
}

/* A computation, whose header's parameters say what its instructions say again. */
static int computation(parser *p) {
  gemel__hlo_computation c = {.n_instrs = 0};
  gemel__hlo_span header;
  int is_entry = is_at(p, "ENTRY ");
  p->at += is_entry ? 6 : 0;
  skip(p, 0);
  c.name = without_percent(word(p));
  if (c.name.length == 0) {
    return fail(p, GEMEL_BAD_FILE, "a computation is expected");
  }
  if (!take_until(p, "{\n", &header)) {
    return 0;
  }
  while (p->at < p->end && *p->at == '{' && !opens_body(p)) {
    p->at++;
    if (!take_until(p, "", &header) || !expect(p, '}') || !take_until(p, "{\n", &header)) {
      return 0;
    }
  }
  if (!expect(p, '{') || !body(p, &c)) {
    return 0;
  }
  if (is_entry && p->module->entry != SIZE_MAX) {
    return fail(p, GEMEL_BAD_FILE, "a second entry computation");
  }
  p->module->entry = is_entry ? p->module->n_computations - 1 : p->module->entry;
  skip_line(p);
  return 1;
}

/* 1 if the line is one of a section of names: its title, or a number and what has it. */
static int is_of_names(const parser *p) {
  return (p->at < p->end && *p->at >= '0' && *p->at <= '9') || is_at(p, "FileNames") ||
         is_at(p, "FunctionNames") || is_at(p, "FileLocations") || is_at(p, "StackFrames");
}

/* The module's name. */
static int take_name(parser *p) {
  gemel__hlo_span span = word(p);
  char *name = gemel__arena_alloc(&p->module->arena, span.length + 1);
  if (name == NULL) {
    return no_room(p);
  }
  memcpy(name, span.text, span.length);
  name[span.length] = '\0';
  p->module->name = name;
  return 1;
}

static int whole(parser *p) {
  skip(p, 1);
  if (!is_at(p, "HloModule")) {
    return fail(p, GEMEL_BAD_FILE, "no module of HLO, which begins with HloModule");
  }
  p->at += 9;
  skip(p, 0);
  if (!take_name(p)) {
    return 0;
  }
  for (skip_line(p), skip(p, 1); p->at < p->end; skip(p, 1)) {
    if (is_of_names(p)) {
      skip_line(p);
    } else if (!computation(p)) {
      return 0;
    }
  }
  gemel__hlo_mark_live(p->module);
  return p->module->entry != SIZE_MAX ? 1
                                      : fail(p, GEMEL_BAD_FILE, "there is no entry computation");
}

/* ---- Modules ---- */

void gemel_hlo_free(gemel_hlo *module) {
  if (module != NULL) {
    gemel__arena_clear(&module->arena);
    gemel__map_clear(&module->names);
    gemel__free(module->computations, module->room * sizeof *module->computations);
    gemel__free(module->bytes, module->bytes != NULL ? module->length + 1 : 0);
    gemel__free(module, sizeof *module);
  }
}

/* Reads LENGTH bytes of TEXT into MODULE, which is freed on failure. */
static gemel_hlo *read_text(gemel_hlo *module, const char *text, size_t length, const char *file,
                            gemel_error *error) {
  parser p = {.module = module,
              .at = text,
              .end = text + length,
              .line_begin = text,
              .line = 1,
              .error = error};
  module->entry = SIZE_MAX;
  module->file = gemel__arena_string(&module->arena, file);
  int good = module->file != NULL ? whole(&p) : no_room(&p);
  gemel__free(p.instrs, p.room * sizeof *p.instrs);
  gemel__map_clear(&p.names);
  if (!good) {
    gemel_hlo_free(module);
    return NULL;
  }
  return module;
}

gemel_hlo *gemel_hlo_parse(const char *text, size_t length, const char *name, gemel_error *error) {
  if (text == NULL) {
    gemel__null(error, "the text of a module");
    return NULL;
  }
  gemel_hlo *module = gemel__alloc_zeroed(sizeof *module);
  if (module == NULL) {
    gemel__no_memory(error, "a module of HLO");
    return NULL;
  }
  return read_text(module, text, length, name != NULL ? name : "text", error);
}

gemel_hlo *gemel_hlo_load(const char *path, gemel_error *error) {
  if (path == NULL) {
    gemel__null(error, "the path of a module");
    return NULL;
  }
  gemel_hlo *module = gemel__alloc_zeroed(sizeof *module);
  if (module == NULL) {
    gemel__no_memory(error, "a module of HLO");
    return NULL;
  }
  if (gemel__file_read(path, GEMEL__MOST_GRAPH_TEXT, &module->bytes, &module->length, error) !=
      GEMEL_OK) {
    module->bytes = NULL;
    gemel_hlo_free(module);
    return NULL;
  }
  return read_text(module, module->bytes, module->length, path, error);
}
