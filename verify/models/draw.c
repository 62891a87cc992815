/* SPDX-License-Identifier: MIT
 *
 * One model: a template, perhaps others on what it computes, changes, and the types that gemel
 * finds. What is no model is drawn again.
 */
#include <gemel/models.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/words.h"
#include "models/sketch.h"

enum { OLDEST = 7, NEWEST = 23, ATTEMPTS = 4000, CHANGES = 14, MOST_NODES = 12 };

typedef struct model_drawing {
  gemel__sketch d, before; /* before a change that may not hold */
  gemel__expanding e;
  gemel__random random;
  gemel_model_options options;
  gemel_error *error;
  char name[64];
} model_drawing;

static uint64_t below(model_drawing *w, uint64_t n) {
  return gemel__random_below(&w->random, n);
}

/* ---- Templates ---- */

static int template_next(const char **at, gemel__model_row *row) {
  return gemel__model_row_next("model", at, row);
}

static size_t word_length(const gemel__model_row *row) {
  return strcspn(row->head, " \n");
}

const char *gemel_model_template(size_t k, char *name, size_t bytes) {
  gemel__model_row row;
  for (const char *at = NULL; name != NULL && template_next(&at, &row); k--) {
    if (k == 0) {
      snprintf(name, bytes, "%.*s", (int)word_length(&row), row.head);
      return name;
    }
  }
  return NULL;
}

/* 1 if the name of ROW is on LIST (NULL: any is). */
static int is_listed(const char *list, const gemel__model_row *row) {
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)word_length(row), row->head);
  return gemel__list_names(list, name);
}

/* 1 if a word of FROM … END, or of what $ stands for there, is an operator of LIST. */
static int has_operator(const char *list, const char *from, const char *end) {
  char word[GEMEL__SKETCH_TEXT];
  gemel__model_row row;
  while (list != NULL && from < end) {
    size_t n = 0;
    int is_variable = from[-1] == '$';
    while (from + n < end && (((from[n] | 32) >= 'a' && (from[n] | 32) <= 'z') ||
                              (!is_variable && n > 0 && from[n] >= '0' && from[n] <= '9'))) {
      n++;
    }
    snprintf(word, sizeof word, "%.*s", (int)n, from);
    if (n > 1 && (is_variable ? gemel__model_row_find("define", word, n, &row) &&
                                    has_operator(list, row.head + n, row.body)
                              : gemel__list_names(list, word))) {
      return 1;
    }
    from += n > 0 ? n : 1;
  }
  return list == NULL;
}

/* How often a template is drawn: the more, the more conditions it has. */
static uint64_t weight(const gemel__model_row *row) {
  uint64_t conditions = 4;
  for (const char *at = row->body; at < row->end; at++) {
    conditions += at[0] == '{' && at[1] != '*';
  }
  return conditions;
}

/* Any template: of those that are listed if FIRST, and may have an operator that is. */
static int pick(model_drawing *w, int first, gemel__model_row *row) {
  const char *at = NULL, *operators = first ? w->options.operators : NULL;
  uint64_t sum = 0;
  gemel__model_row each;
  while (template_next(&at, &each)) {
    if (is_listed(first ? w->options.templates : NULL, &each) &&
        has_operator(operators, each.body, each.end)) {
      sum += weight(&each);
      if (below(w, sum) < weight(&each)) {
        *row = each;
      }
    }
  }
  return sum > 0;
}

/* ---- A template on a value ---- */

/* A size as text. */
static void dim_text(const gemel__sketch_dim *dim, char *text, size_t bytes) {
  if (dim->symbol[0] != '\0') {
    snprintf(text, bytes, "%s", dim->symbol);
  } else {
    snprintf(text, bytes, "%lld", (long long)dim->size);
  }
}

/* "$B,3]" taken as the sizes of V: letters are bound. 1 if they fit. */
static int bind_dims(gemel__expanding *e, const char *at, const gemel__sketch_value *v) {
  for (int k = 0; k < v->rank; k++) {
    char size[24];
    size_t n = strcspn(at, ",]\n");
    int is_letter = *at == '$' && n == 2;
    dim_text(&v->dims[k], size, sizeof size);
    if (is_letter) {
      gemel__expansion_bind(e, at + 1, 1, size);
    }
    const char *wanted = is_letter ? gemel__expansion_bound(e, at + 1, 1) : at;
    if (wanted == NULL || strlen(size) != (is_letter ? strlen(wanted) : n) ||
        strncmp(wanted, size, strlen(size)) != 0) {
      return 0;
    }
    at += n + (at[n] == ',' && k + 1 < v->rank);
  }
  return *at == ']';
}

/* The same of a whole type, "$T[$B,3]". */
static int bind_type(gemel__expanding *e, const char *at, const char *end,
                     const gemel__sketch_value *v) {
  char shape[80] = "", size[24];
  const char *dtype = gemel_dtype_name(v->dtype), *open = memchr(at, '[', (size_t)(end - at));
  if (open == NULL || memchr(at, '{', (size_t)(end - at)) != NULL) {
    return 0;
  }
  if (at[0] == '$') {
    gemel__expansion_bind(e, "T", 1, dtype);
  } else if ((size_t)(open - at) != strlen(dtype) || strncmp(at, dtype, strlen(dtype)) != 0) {
    return 0;
  }
  for (int k = 0; k < v->rank; k++) {
    dim_text(&v->dims[k], size, sizeof size);
    snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%s", k > 0 ? "," : "", size);
  }
  gemel__expansion_bind(e, "S", 1, shape);
  return strncmp(open, "[$S]", 4) == 0 || bind_dims(e, open + 1, v);
}

/* Expands ROW with few places that deviate, on V (NULL: on inputs of its own). Where the
 * statements begin in *FROM; 0: it doesn't fit. */
static int expand_row(model_drawing *w, const gemel__model_row *row, const gemel__sketch_value *v,
                      const char **from) {
  static const int counts[] = {0, 1, 1, 1, 1, 2, 2, 3};
  gemel__random start = w->random;
  const char *line = row->body + 1;
  for (int pass = 0; pass < 2; pass++) {
    int places = w->e.places, count = counts[below(w, 8)];
    memset(&w->e, 0, sizeof w->e);
    w->e.random = &w->random;
    for (int k = 0; pass == 1 && places > 0 && k < count; k++) {
      w->e.deviate |= UINT64_C(1) << below(w, (uint64_t)places) % 64;
    }
    if (v != NULL &&
        (strncmp(line, "  x: ", 5) != 0 || !bind_type(&w->e, line + 5, strchr(line, '\n'), v))) {
      return 0;
    }
    gemel__expand(&w->e, row->body, row->end);
    w->random = pass == 0 ? start : w->random;
  }
  const char *second = w->e.text + 1 + strcspn(w->e.text + 1, "\n");
  *from = v != NULL ? second : w->e.text;
  return !w->e.failed;
}

/* Appends ROW to the sketch; 0 if that is no model. *STATUS: GEMEL_NO_MEMORY, where that is why. */
static int add_row(model_drawing *w, const gemel__model_row *row, const gemel__sketch_value *v,
                   gemel_status *status) {
  const char *from;
  if (!expand_row(w, row, v, &from)) {
    return 0;
  }
  size_t length = strlen(w->e.text) - (size_t)(from - w->e.text);
  *status = gemel__sketch_parse(&w->d, &w->random, from, length, "x", v != NULL ? v->name : NULL,
                                w->error);
  if (*status == GEMEL_OK) {
    *status = gemel__sketch_read(&w->d, w->error);
  }
  return *status == GEMEL_OK;
}

/* ---- Whether it is a model ---- */

static const gemel__sketch_value *value_named(const gemel__sketch *d, const char *name) {
  for (size_t k = 0; k < d->n_known; k++) {
    if (strcmp(d->known[k].name, name) == 0) {
      return &d->known[k];
    }
  }
  for (size_t k = 0; k < d->n_inputs; k++) {
    if (strcmp(d->inputs[k].name, name) == 0) {
      return &d->inputs[k];
    }
  }
  for (size_t k = 0; k < d->n_constants; k++) {
    if (strcmp(d->constants[k].value.name, name) == 0) {
      return &d->constants[k].value;
    }
  }
  return NULL;
}

/* 1 if the operands of N have dtypes that ONNX has it for. */
static int node_has_types(const gemel__sketch *d, const gemel__sketch_node *n) {
  int first = gemel__model_typed_operand(n->op), last = gemel__model_is_same(n->op);
  gemel_dtype dtype = GEMEL_DTYPE_COUNT;
  for (int k = first; k < n->n_inputs && (k == first || last); k++) {
    const gemel__sketch_value *v = value_named(d, n->inputs[k]);
    int is_known = v != NULL && v->dtype != GEMEL_DTYPE_COUNT;
    if (is_known && dtype != GEMEL_DTYPE_COUNT && v->dtype != dtype) {
      return 0;
    }
    dtype = is_known ? v->dtype : dtype;
  }
  return dtype == GEMEL_DTYPE_COUNT || gemel__model_takes(n->op, d->opset, dtype);
}

/* Of no elements ONNX can't tell which size -1 is. */
static int reshapes_nothing(const gemel__sketch *d, const gemel__sketch_node *n) {
  int nothing = 0;
  const gemel__sketch_value *v =
      strcmp(n->op, "Reshape") == 0 ? value_named(d, n->inputs[0]) : NULL;
  for (int k = 0; v != NULL && k < v->rank; k++) {
    nothing |= v->dims[k].size == 0 && v->dims[k].symbol[0] == '\0';
  }
  return nothing;
}

/* The constant called NAME, or NULL. */
static const gemel__sketch_constant *constant_named(const gemel__sketch *d, const char *name) {
  for (size_t k = 0; k < d->n_constants; k++) {
    if (strcmp(d->constants[k].value.name, name) == 0) {
      return &d->constants[k];
    }
  }
  return NULL;
}

/* 1 if N is an Unsqueeze with an axis that its result hasn't. */
static int is_beyond(const gemel__sketch *d, const gemel__sketch_node *n) {
  const gemel__sketch_value *v =
      strcmp(n->op, "Unsqueeze") == 0 ? value_named(d, n->inputs[0]) : NULL;
  const gemel__sketch_constant *axes = n->n_inputs > 1 ? constant_named(d, n->inputs[1]) : NULL;
  int beyond = 0;
  for (size_t k = 0; v != NULL && axes != NULL && k < axes->count; k++) {
    double rank = v->rank + (double)axes->count, axis = d->numbers[axes->at + k];
    beyond |= axis < -rank || axis >= rank;
  }
  return beyond;
}

/* gemel asks for fewer things than ONNX. */
static int is_valid(const gemel__sketch *d) {
  for (size_t k = 0; k < d->n_nodes; k++) {
    const gemel__sketch_node *n = &d->nodes[k];
    int needed = gemel__model_needed(n->op, d->opset);
    int lacks = needed >= 0 && (n->n_inputs <= needed || n->inputs[needed][0] == '\0');
    if (lacks || reshapes_nothing(d, n) || is_beyond(d, n) || !node_has_types(d, n)) {
      return 0;
    }
  }
  for (size_t k = 0; k < d->n_constants; k++) {
    const gemel__sketch_constant *c = &d->constants[k];
    if (c->form == GEMEL__FORM_NODE && !gemel__model_takes("Constant", d->opset, c->value.dtype)) {
      return 0;
    }
  }
  return 1;
}

static void list_operators(const gemel__sketch *d, gemel_drawn_model *drawn) {
  size_t used = 0;
  drawn->operators[0] = '\0';
  for (size_t k = 0; k < d->n_nodes; k++) {
    size_t length = strlen(d->nodes[k].op);
    if (used + length + 2 < sizeof drawn->operators) {
      used += (size_t)snprintf(drawn->operators + used, sizeof drawn->operators - used, "%s%s",
                               k > 0 ? " " : "", d->nodes[k].op);
    }
  }
}

static int has_aim(const model_drawing *w) {
  int has = w->options.operators == NULL;
  for (size_t k = 0; !has && k < w->d.n_nodes; k++) {
    has = gemel__list_names(w->options.operators, w->d.nodes[k].op);
  }
  return has;
}

/* ---- A sketch ---- */

static int draw_opset(model_drawing *w) {
  int recent = below(w, 4) > 0;
  return w->options.opset > 0 ? w->options.opset
         : recent             ? (int)gemel__random_between(&w->random, 13, NEWEST)
                              : (int)gemel__random_between(&w->random, OLDEST, 12);
}

static void add_name(model_drawing *w, const gemel__model_row *row) {
  size_t used = strlen(w->name), length = word_length(row);
  if (used + length + 2 < sizeof w->name) {
    snprintf(w->name + used, sizeof w->name - used, "%s%.*s", used > 0 ? "+" : "", (int)length,
             row->head);
  }
}

/* A further template on a value that is there; the sketch stays as it was if that is no model. */
static gemel_status extend(model_drawing *w, const gemel__model_row *again) {
  gemel_status status = GEMEL_OK;
  gemel__model_row row;
  for (int k = 0; k < 12; k++) {
    const gemel__sketch *d = &w->d;
    if (d->n_known == 0 || d->n_inputs == 0) {
      break;
    }
    gemel__sketch_value v =
        again != NULL ? d->inputs[0] : d->known[d->n_known - 1 - below(w, d->n_known < 2 ? 1 : 2)];
    w->before = *d;
    if (again != NULL) {
      row = *again;
    } else {
      pick(w, 0, &row);
    }
    if (add_row(w, &row, &v, &status) && is_valid(&w->d) && w->d.n_nodes <= MOST_NODES) {
      add_name(w, &row);
      return GEMEL_OK;
    }
    w->d = w->before;
    if (status == GEMEL_NO_MEMORY) {
      return status;
    }
  }
  return GEMEL_OK;
}

/* Change K, if it is a model then. */
static gemel_status change(model_drawing *w, size_t k) {
  w->before = w->d;
  gemel_status status = gemel__sketch_change(&w->d, &w->random, k)
                            ? gemel__sketch_read(&w->d, w->error)
                            : GEMEL_UNSUPPORTED;
  if (status != GEMEL_OK || !is_valid(&w->d)) {
    w->d = w->before;
  }
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

static gemel_status change_some(model_drawing *w) {
  static const int percent[CHANGES] = {35, 25, 12, 12, 12, 12, 15, 6, 10, 4, 7, 4, 4, 5};
  for (size_t k = 0; k < CHANGES; k++) {
    if (below(w, 100) < (uint64_t)percent[k]) {
      GEMEL__TRY(change(w, k));
    }
  }
  return GEMEL_OK;
}

/* One sketch; GEMEL_UNSUPPORTED and the like: it is no model. */
static gemel_status draw_once(model_drawing *w) {
  gemel_status status = GEMEL_UNSUPPORTED;
  gemel__model_row row;
  memset(&w->d, 0, sizeof w->d);
  w->name[0] = '\0';
  w->d.opset = draw_opset(w);
  w->d.style = below(w, 2) == 0 ? 0 : (int)below(w, 4);
  if (!pick(w, 1, &row) || !add_row(w, &row, NULL, &status) || !is_valid(&w->d)) {
    return status != GEMEL_OK ? status : GEMEL_UNSUPPORTED;
  }
  add_name(w, &row);
  if (below(w, 8) == 0) {
    GEMEL__TRY(extend(w, &row));
  }
  while (below(w, 3) == 0 && w->d.n_nodes < MOST_NODES) {
    GEMEL__TRY(extend(w, NULL));
  }
  gemel__sketch_end(&w->d);
  GEMEL__TRY(change_some(w));
  GEMEL__TRY(gemel__sketch_read(&w->d, w->error));
  return has_aim(w) && w->d.n_outputs > 0 ? GEMEL_OK : GEMEL_UNSUPPORTED;
}

/* ---- What a program calls ---- */

static int any_operator(const void *user, const char *word, size_t length,
                        gemel__suggestion *near) {
  gemel__model_row row;
  (void)user;
  for (const char *at = NULL; gemel__model_row_next("types", &at, &row);) {
    for (const char *p = row.head; *p != ':'; p += *p == ' ') {
      char name[GEMEL__SKETCH_TEXT];
      snprintf(name, sizeof name, "%.*s", (int)strcspn(p, "@ :"), p);
      if (gemel__word_names(word, length, name)) {
        return 1;
      }
      if (near != NULL) {
        gemel__suggestion_offer(near, p, strlen(name));
      }
      p += strcspn(p, " :");
    }
  }
  return 0;
}

static int any_template(const void *user, const char *word, size_t length,
                        gemel__suggestion *near) {
  gemel__model_row row;
  (void)user;
  for (const char *at = NULL; template_next(&at, &row);) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)word_length(&row), row.head);
    if (gemel__word_names(word, length, name)) {
      return 1;
    }
    if (near != NULL) {
      gemel__suggestion_offer(near, row.head, word_length(&row));
    }
  }
  return 0;
}

static gemel_status check_options(const gemel_model_options *o, gemel_error *error) {
  if (o->opset != 0 && (o->opset < OLDEST || o->opset > NEWEST)) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the opset should be %d to %d", OLDEST, NEWEST);
  }
  GEMEL__TRY(gemel__list_check(o->operators, "operator", any_operator, NULL, error));
  return gemel__list_check(o->templates, "template", any_template, NULL, error);
}

static gemel_status finish(model_drawing *w, gemel_drawn_model *made) {
  gemel__sketch_bytes out = {NULL, 0, 0, 0};
  gemel__sketch_write(&w->d, &out);
  made->bytes = out.failed ? NULL : gemel__realloc(out.bytes, out.capacity, out.used);
  if (made->bytes == NULL) {
    gemel__free(out.bytes, out.capacity);
    return gemel__no_memory(w->error, "a model");
  }
  made->length = out.used;
  memcpy(made->name, w->name, sizeof w->name);
  list_operators(&w->d, made);
  return GEMEL_OK;
}

static gemel_status draw(model_drawing *w, gemel_drawn_model *made) {
  for (; made->refused < ATTEMPTS; made->refused++) {
    gemel_status status = draw_once(w);
    if (status == GEMEL_OK) {
      return finish(w, made);
    }
    if (status == GEMEL_NO_MEMORY) {
      return status;
    }
  }
  return gemel__fail(w->error, GEMEL_NOT_FOUND, "no model was found in %d sketches", ATTEMPTS);
}

gemel_status gemel_draw_onnx_model(uint64_t seed, uint64_t number,
                                   const gemel_model_options *options, gemel_drawn_model *drawn,
                                   gemel_error *error) {
  gemel_model_options taken;
  gemel_drawn_model made;
  gemel_error local;
  error = error != NULL ? error : &local;
  if (drawn == NULL) {
    return gemel__null(error, "the model to fill");
  }
  GEMEL__TRY(gemel__check_result(drawn, "the model to fill", error));
  GEMEL__TRY(gemel__take_options(&taken, sizeof taken, options, "gemel_model_options", error));
  GEMEL__TRY(check_options(&taken, error));
  model_drawing *w = gemel__alloc_zeroed(sizeof *w);
  if (w == NULL) {
    return gemel__no_memory(error, "a model");
  }
  memset(&made, 0, sizeof made);
  w->options = taken;
  w->error = error;
  gemel__random_split(&w->random, seed, number);
  gemel_status status = draw(w, &made);
  gemel__free(w, sizeof *w);
  if (status == GEMEL_OK) {
    gemel__give_result(drawn, &made, sizeof made);
  }
  return status;
}

void gemel_drawn_model_clear(gemel_drawn_model *drawn) {
  if (drawn != NULL) {
    gemel__free(drawn->bytes, drawn->length);
    drawn->bytes = NULL;
    drawn->length = 0;
  }
}
