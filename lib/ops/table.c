/* SPDX-License-Identifier: MIT
 *
 * Registers gemel's own operations with a context. The rows of ops.def and scalar.def are included
 * to declare each row's hooks, so that a row without code does not link, and to make the table
 * below; elsewhere for the numbers of operations, builders, references and device kernels. A row
 * says its inputs and attributes as text, "x, sizes*" and "axis: int = 0", which is taken apart
 * here into the public record; the context copies what it keeps, so the pieces live on the stack.
 */
#include <string.h>
#include "core/registry.h"
#include "core/error.h"
#include "ops/ops.h"

#define OP(name, ...) extern const gemel__hooks gemel__hooks_##name;
#include "ops/ops.def"
#undef OP

/* The flag words that rows use. */
#define GEMEL__FLAG_0 0
#define GEMEL__FLAG_COMMUTATIVE GEMEL_OP_COMMUTATIVE
#define GEMEL__FLAG_VIEW GEMEL_OP_VIEW
#define GEMEL__FLAG_SOURCE GEMEL_OP_SOURCE
#define GEMEL__FLAG_INEXACT GEMEL_OP_INEXACT
#define GEMEL__FLAG_LIBRARY GEMEL_OP_LIBRARY
#define GEMEL__FLAG_SPARES_UNREAD GEMEL_OP_SPARES_UNREAD

const struct gemel__row gemel__rows[GEMEL__OP_COUNT] = {
#define OP(name, inputs, attrs, flags, family, law, summary)                                       \
  [GEMEL__OP_##name] = {#name,                                                                     \
                        inputs,                                                                    \
                        attrs,                                                                     \
                        law,                                                                       \
                        summary,                                                                   \
                        GEMEL__FLAG_##flags,                                                       \
                        GEMEL__FAMILY_##family,                                                    \
                        &gemel__hooks_##name},
#include "ops/ops.def"
#undef OP
#define SCALAR(name, inputs, attrs, code, fc, ic, grads, ranges, ulp, flags, facts, law, summary)  \
  [GEMEL__OP_##name] = {#name,                                                                     \
                        inputs,                                                                    \
                        attrs,                                                                     \
                        law,                                                                       \
                        summary,                                                                   \
                        GEMEL_OP_ELEMENTWISE | GEMEL__FLAG_##flags,                                \
                        GEMEL__FAMILY_elementwise,                                                 \
                        &gemel__scalar_hooks},
#include "ops/scalar.def"
#undef SCALAR
};

enum { MAX_ATTRS = GEMEL_SAMPLE_MAX_ATTRS, MAX_TEXT = 256 };

static char *skip_blanks(char *text) {
  return text + strspn(text, " ");
}

/* Cuts TEXT at the first MARK; returns what follows it, or NULL if there is none. */
static char *cut(char *text, char mark) {
  char *at = strchr(text, mark);
  if (at == NULL) {
    return NULL;
  }
  *at = '\0';
  return at + 1;
}

static void trim_right(char *text) {
  size_t n = strlen(text);
  while (n > 0 && text[n - 1] == ' ') {
    text[--n] = '\0';
  }
}

/* "int", "dims", …: the kind of an attribute; -1 if it is none. */
static int kind_of(const char *word) {
  static const struct {
    const char *word;
    int kind;
  } kinds[] = {{"int", GEMEL_ATTR_INT},       {"dim", GEMEL_ATTR_DIM},
               {"float", GEMEL_ATTR_FLOAT},   {"dtype", GEMEL_ATTR_DTYPE},
               {"string", GEMEL_ATTR_STRING}, {"tensor", GEMEL_ATTR_TENSOR},
               {"graph", GEMEL_ATTR_GRAPH}};
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    size_t n = strlen(kinds[k].word);
    if (strncmp(word, kinds[k].word, n) == 0) {
      if (word[n] == '\0') {
        return kinds[k].kind;
      }
      if (word[n] == 's' && word[n + 1] == '\0') {
        return GEMEL_ATTR_LIST | kinds[k].kind;
      }
    }
  }
  return -1;
}

/* Takes "name: kind = fallback" apart in place. */
static int parse_attr(char *text, gemel_attr_spec *spec) {
  char *kind = cut(text, ':');
  char *fallback = kind == NULL ? NULL : cut(kind, '=');
  if (kind == NULL) {
    return -1;
  }
  text = skip_blanks(text), kind = skip_blanks(kind);
  trim_right(text), trim_right(kind);
  spec->name = text;
  spec->kind = kind_of(kind);
  spec->fallback = NULL;
  if (fallback != NULL) {
    fallback = skip_blanks(fallback);
    trim_right(fallback);
    spec->fallback = fallback;
  }
  return spec->kind < 0 ? -1 : 0;
}

/* Takes an attribute column apart into SPECS, which a NULL name ends. */
static int parse_attrs(char *text, gemel_attr_spec *specs) {
  size_t count = 0;
  for (char *next; text != NULL && *skip_blanks(text) != '\0'; text = next) {
    next = cut(text, ',');
    if (count == MAX_ATTRS || parse_attr(text, &specs[count]) != 0) {
      return -1;
    }
    count++;
  }
  specs[count].name = NULL;
  return 0;
}

/* Counts the names of an inputs column: "x, y" is 2, "xs..." and "sizes*" any number. */
static void count_inputs(const char *text, int *min, int *max) {
  *min = *max = 0;
  while (*text != '\0') {
    size_t n = strcspn(text, ",");
    if (n > 0 && (text[n - 1] == '.' || text[n - 1] == '*')) {
      *max = -1;
    } else {
      (*min)++;
      *max += *max >= 0;
    }
    text += n + (text[n] == ',');
  }
}

static gemel_status register_row(gemel_context *context, const struct gemel__row *row,
                                 const void *data, gemel_error *error) {
  char text[MAX_TEXT];
  gemel_attr_spec specs[MAX_ATTRS + 1];
  gemel_operation record = {.size = sizeof record,
                            .name = row->name,
                            .summary = row->summary,
                            .flags = row->flags,
                            .version = 1,
                            .attrs = specs,
                            .infer = row->hooks->infer,
                            .grad = row->hooks->grad,
                            .jvp = row->hooks->jvp,
                            .kernels = row->hooks->kernels,
                            .view = row->hooks->view,
                            .cost = row->hooks->cost,
                            .data = data,
                            .normalize = row->hooks->normalize,
                            .overwrites = row->hooks->overwrites,
                            .channels_last = row->hooks->channels_last};
  if (strlen(row->attrs) >= sizeof text) {
    return gemel__fail(error, GEMEL_INTERNAL, "%s: attribute column too long", row->name);
  }
  strcpy(text, row->attrs);
  if (parse_attrs(text, specs) != 0) {
    return gemel__fail(error, GEMEL_INTERNAL, "%s: malformed attribute column", row->name);
  }
  count_inputs(row->inputs, &record.min_inputs, &record.max_inputs);
  return gemel__register(context, &record, row, error);
}

gemel_status gemel__register_builtins(gemel_context *context, gemel_error *error) {
  for (int k = GEMEL__OP_NONE + 1; k < GEMEL__OP_COUNT; k++) {
    int scalar = k - (GEMEL__OP_COUNT - GEMEL__SCALAR_COUNT);
    const void *data = scalar >= 0 ? &gemel__scalar_rows[scalar] : NULL;
    GEMEL__TRY(register_row(context, &gemel__rows[k], data, error));
  }
  return GEMEL_OK;
}
