/* SPDX-License-Identifier: MIT
 *
 * SMT-LIB text for elements of known dtypes. Operations are rows of scalar.def. Casts, which have
 * two dtypes, are here: over the reals one that may round is a function of the number and of the
 * dtype that it goes to, of which nothing else is known.
 */
#include "unbounded/scalar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Dtypes ---- */

typedef enum domain { TRUTHS, SIGNED, UNSIGNED, REALS, FLOATS } domain;

/* Of a dtype: bits of a number, of those the exponent, and significant digits. */
typedef struct format {
  domain domain;
  unsigned width, exponent, digits;
} format;

static const format formats[GEMEL_DTYPE_COUNT] = {
    [GEMEL_BOOL] = {TRUTHS, 8, 0, 1},    [GEMEL_I8] = {SIGNED, 8, 0, 7},
    [GEMEL_I16] = {SIGNED, 16, 0, 15},   [GEMEL_I32] = {SIGNED, 32, 0, 31},
    [GEMEL_I64] = {SIGNED, 64, 0, 63},   [GEMEL_U8] = {UNSIGNED, 8, 0, 8},
    [GEMEL_U16] = {UNSIGNED, 16, 0, 16}, [GEMEL_U32] = {UNSIGNED, 32, 0, 32},
    [GEMEL_U64] = {UNSIGNED, 64, 0, 64}, [GEMEL_F16] = {FLOATS, 16, 5, 11},
    [GEMEL_BF16] = {FLOATS, 16, 8, 8},   [GEMEL_F32] = {FLOATS, 32, 8, 24},
    [GEMEL_F64] = {FLOATS, 64, 11, 53},
};

static domain domain_of(gemel_dtype dtype, int bits) {
  domain d = formats[dtype].domain;
  return d == FLOATS && !bits ? REALS : d;
}

static int is_integer(gemel_dtype dtype) {
  return formats[dtype].domain == SIGNED || formats[dtype].domain == UNSIGNED;
}

int gemel__scalar_is_exact(gemel_dtype from, gemel_dtype to) {
  const format *f = &formats[from], *t = &formats[to];
  if (from == to || f->domain == TRUTHS) {
    return 1;
  }
  if (t->domain == TRUTHS || (f->domain == FLOATS && t->domain != FLOATS) ||
      (f->domain == SIGNED && t->domain == UNSIGNED)) {
    return 0;
  }
  return f->digits <= t->digits && f->exponent <= t->exponent;
}

static void say_sort(gemel__buffer *b, gemel_dtype dtype, int bits) {
  const format *f = &formats[dtype];
  switch (domain_of(dtype, bits)) {
  case TRUTHS:
    gemel__buffer_format(b, "Bool");
    return;
  case REALS:
    gemel__buffer_format(b, "Real");
    return;
  case FLOATS:
    gemel__buffer_format(b, "(_ FloatingPoint %u %u)", f->exponent, f->digits);
    return;
  default:
    gemel__buffer_format(b, "(_ BitVec %u)", f->width);
  }
}

/* ---- Numbers ---- */

/* A decimal number as one of SMT-LIB, which has no exponents. */
static void say_real(gemel__buffer *b, const char *text) {
  const char *mark = strchr(text, 'e'), *point = strchr(text, '.');
  size_t end = mark != NULL ? (size_t)(mark - text) : strlen(text), negative = *text == '-';
  long zeros = mark != NULL ? strtol(mark + 1, NULL, 10) : 0;
  if (point != NULL) {
    zeros -= (long)end - (point - text) - 1;
  }
  gemel__buffer_text(b, negative ? "(- " : "");
  gemel__buffer_text(b, zeros < 0 ? "(/ " : "");
  for (size_t k = negative; k < end; k++) {
    if (text[k] != '.') {
      gemel__buffer_format(b, "%c", text[k]);
    }
  }
  for (long k = 0; k < zeros; k++) {
    gemel__buffer_text(b, "0");
  }
  gemel__buffer_text(b, zeros < 0 ? ".0 1" : ".0");
  for (long k = 0; k > zeros; k--) {
    gemel__buffer_text(b, k - 1 == zeros ? "0.0)" : "0");
  }
  gemel__buffer_text(b, negative ? ")" : "");
}

static void say_float(gemel__buffer *b, const format *f, const char *text) {
  double value = strtod(text, NULL);
  const char *special = value != value       ? "NaN"
                        : value - value != 0 ? (value > 0 ? "+oo" : "-oo")
                        : value == 0         ? (*text == '-' ? "-zero" : "+zero")
                                             : NULL;
  if (special != NULL) {
    gemel__buffer_format(b, "(_ %s %u %u)", special, f->exponent, f->digits);
    return;
  }
  gemel__buffer_format(b, "((_ to_fp %u %u) RNE ", f->exponent, f->digits);
  say_real(b, text);
  gemel__buffer_text(b, ")");
}

void gemel__scalar_say_number(gemel__buffer *b, gemel_dtype dtype, const char *text, int bits) {
  const format *f = &formats[dtype];
  uint64_t integer;
  switch (domain_of(dtype, bits)) {
  case TRUTHS:
    gemel__buffer_text(b, strcmp(text, "0") == 0 ? "false" : "true");
    return;
  case REALS:
    say_real(b, text);
    return;
  case FLOATS:
    say_float(b, f, text);
    return;
  default:
    integer = *text == '-' ? 0 - strtoull(text + 1, NULL, 10) : strtoull(text, NULL, 10);
    gemel__buffer_format(b, "(_ bv%llu %u)",
                         (unsigned long long)(integer << (64 - f->width) >> (64 - f->width)),
                         f->width);
  }
}

const char *gemel__scalar_sort(gemel_dtype dtype) {
  return dtype == GEMEL_BOOL ? "Bool" : gemel_dtype_name(dtype);
}

void gemel__scalar_say_dtypes(gemel__buffer *b, unsigned dtypes, int bits) {
  for (int k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    if (dtypes >> k & 1 && k != GEMEL_BOOL) {
      gemel__buffer_format(b, "(define-sort %s () ", gemel__scalar_sort((gemel_dtype)k));
      say_sort(b, (gemel_dtype)k, bits);
      gemel__buffer_text(b, ")\n");
    }
  }
}

void gemel__scalar_say_rounding(gemel__buffer *b, unsigned dtypes) {
  for (int k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    const char *name = gemel_dtype_name((gemel_dtype)k);
    if (dtypes >> k & 1 && k != GEMEL_BOOL) {
      gemel__buffer_format(b, "(declare-fun |to:%s| (Real) %s)\n", name, name);
    }
    if (dtypes >> k & 1 && is_integer((gemel_dtype)k)) {
      gemel__buffer_format(b, "(declare-fun |from:%s| (%s) Real)\n", name, name);
    }
  }
}

/* ---- Operations ---- */

typedef struct scalar_meaning {
  const char *name, *defined, *texts[FLOATS + 1];
} scalar_meaning;

#define NONE NULL
#define MEANING(name, real, defined, is_signed, is_unsigned, truth, is_float)                      \
  {#name,                                                                                          \
   defined,                                                                                        \
   {[TRUTHS] = truth,                                                                              \
    [SIGNED] = is_signed,                                                                          \
    [UNSIGNED] = is_unsigned,                                                                      \
    [REALS] = real,                                                                                \
    [FLOATS] = is_float}},
static const scalar_meaning meanings[] = {
#include "unbounded/scalar.def"
};
#undef MEANING
#undef NONE

static const char defined[] = "defined:";

const char *gemel__scalar_operation(size_t k) {
  return k < sizeof meanings / sizeof *meanings ? meanings[k].name : NULL;
}

const char *gemel__scalar_text(const char *name, gemel_dtype dtype, int bits) {
  size_t prefix = strncmp(name, defined, sizeof defined - 1) == 0 ? sizeof defined - 1 : 0;
  domain d = domain_of(dtype, bits);
  for (size_t k = 0; k < sizeof meanings / sizeof *meanings; k++) {
    if (strcmp(meanings[k].name, name + prefix) == 0) {
      return prefix == 0 ? meanings[k].texts[d] : d == REALS ? meanings[k].defined : NULL;
    }
  }
  return NULL;
}

int gemel__scalar_is_partial(const char *name) {
  for (size_t k = 0; k < sizeof meanings / sizeof *meanings; k++) {
    if (strcmp(meanings[k].name, name) == 0) {
      return meanings[k].defined != NULL;
    }
  }
  return 0;
}

/* The dtype of A's operand K, and of A if it is an element. */
static gemel_dtype operand_dtype(const gemel__pterms *t, gemel__pterm a, uint32_t k) {
  gemel_dtype dtype = GEMEL_BOOL;
  gemel__psort_dtype(t->nodes[gemel__p_operand(t, a, k)].sort, &dtype);
  return dtype;
}

static gemel_dtype result_dtype(const gemel__pterms *t, gemel__pterm a) {
  gemel_dtype dtype = GEMEL_BOOL;
  gemel__psort_dtype(t->nodes[a].sort, &dtype);
  return dtype;
}

static int is_cast(const gemel__pterms *t, gemel__pterm a) {
  return strcmp(t->nodes[a].name, "cast") == 0;
}

/* An operation is called by the dtype of its operands; a cast by both. */
void gemel__scalar_say_name(gemel__buffer *b, const gemel__pterms *t, gemel__pterm a) {
  gemel__buffer_format(b, "|%s:%s", t->nodes[a].name, gemel_dtype_name(operand_dtype(t, a, 0)));
  if (is_cast(t, a)) {
    gemel__buffer_format(b, ":%s", gemel_dtype_name(result_dtype(t, a)));
  }
  gemel__buffer_text(b, "|");
}

/* ---- Casts ---- */

static void say_power_of_two(gemel__buffer *b, unsigned exponent, const format *f) {
  gemel__buffer_format(b, "((_ to_fp %u %u) RNE %.1f)", f->exponent, f->digits,
                       exponent == 64 ? 0x1p64 : (double)((uint64_t)1 << exponent));
}

/* From a float's bits to an integer: cut off towards 0, within the limits; NaN becomes 0. */
static void say_cut(gemel__buffer *b, const format *from, const format *to) {
  int is_signed = to->domain == SIGNED;
  uint64_t most = (uint64_t)-1 >> (64 - to->digits);
  gemel__buffer_format(b, "(ite (fp.isNaN x) (_ bv0 %u) (ite (fp.geq x ", to->width);
  say_power_of_two(b, to->digits, from);
  gemel__buffer_format(b, ") (_ bv%llu %u) (ite (fp.leq x ", (unsigned long long)most, to->width);
  if (is_signed) {
    gemel__buffer_text(b, "(fp.neg ");
    say_power_of_two(b, to->digits, from);
    gemel__buffer_format(b, ")) (_ bv%llu %u)", (unsigned long long)(most + 1), to->width);
  } else {
    gemel__buffer_format(b, "(_ +zero %u %u)) (_ bv0 %u)", from->exponent, from->digits, to->width);
  }
  gemel__buffer_format(b, " ((_ fp.to_%s %u) RTZ x))))", is_signed ? "sbv" : "ubv", to->width);
}

static void say_between_integers(gemel__buffer *b, const format *from, const format *to) {
  if (to->width <= from->width) {
    gemel__buffer_format(b, "((_ extract %u 0) x)", to->width - 1);
  } else {
    gemel__buffer_format(b, "((_ %s_extend %u) x)", from->domain == SIGNED ? "sign" : "zero",
                         to->width - from->width);
  }
}

/* What was one truth or number is one of DTYPE. */
static void say_from_truth(gemel__buffer *b, gemel_dtype to, int bits) {
  gemel__buffer_text(b, "(ite x ");
  gemel__scalar_say_number(b, to, "1", bits);
  gemel__buffer_text(b, " ");
  gemel__scalar_say_number(b, to, "0", bits);
  gemel__buffer_text(b, ")");
}

/* Over the reals: from a float, or from the number that an integer is. */
static void say_rounded(gemel__buffer *b, gemel_dtype from, gemel_dtype to) {
  int exact = gemel__scalar_is_exact(from, to);
  if (!exact) {
    gemel__buffer_format(b, "(|to:%s| ", gemel_dtype_name(to));
  }
  gemel__buffer_format(b, is_integer(from) ? "(|from:%s| x)" : "x", gemel_dtype_name(from));
  gemel__buffer_text(b, exact ? "" : ")");
}

static void say_cast(gemel__buffer *b, gemel_dtype from, gemel_dtype to, int bits) {
  const format *f = &formats[from], *t = &formats[to];
  if (from == to) {
    gemel__buffer_text(b, "x");
  } else if (f->domain == TRUTHS) {
    say_from_truth(b, to, bits);
  } else if (t->domain == TRUTHS) {
    gemel__buffer_text(b, domain_of(from, bits) == FLOATS ? "(not (fp.isZero x))" : "(not (= x ");
    if (domain_of(from, bits) != FLOATS) {
      gemel__scalar_say_number(b, from, "0", bits);
      gemel__buffer_text(b, "))");
    }
  } else if (is_integer(from) && is_integer(to)) {
    say_between_integers(b, f, t);
  } else if (!bits) {
    say_rounded(b, from, to);
  } else if (t->domain == FLOATS) {
    gemel__buffer_format(b, "((_ %s %u %u) RNE x)",
                         f->domain == UNSIGNED ? "to_fp_unsigned" : "to_fp", t->exponent,
                         t->digits);
  } else {
    say_cut(b, f, t);
  }
}

/* ---- Definitions ---- */

/* (x DTYPE) (y DTYPE) ..., or the dtypes alone. */
static void say_operands(gemel__buffer *b, const gemel__pterms *t, gemel__pterm a, int named) {
  for (uint32_t k = 0; k < t->nodes[a].count; k++) {
    const char *dtype = gemel__scalar_sort(operand_dtype(t, a, k));
    if (named) {
      gemel__buffer_format(b, "%s(%c %s)", k > 0 ? " " : "", "xyz"[k], dtype);
    } else {
      gemel__buffer_format(b, "%s%s", k > 0 ? " " : "", dtype);
    }
  }
}

static const char *result_name(const gemel__pterms *t, gemel__pterm a) {
  return t->nodes[a].sort == GEMEL__PSORT_TRUTH ? "Bool" : gemel__scalar_sort(result_dtype(t, a));
}

static void say_unknown(gemel__buffer *b, const gemel__pterms *t, gemel__pterm a) {
  gemel__buffer_format(b, "|%s?%s|", t->nodes[a].name, gemel_dtype_name(operand_dtype(t, a, 0)));
}

/* x as a whole number, rounded by MODE, of three letters. Z3 doesn't do that for formats that have
 * no more digits than bits of the exponent; f32 has all of bf16's numbers. */
static void say_whole(gemel__buffer *b, gemel_dtype dtype, const char *mode) {
  gemel__buffer_format(b,
                       dtype == GEMEL_BF16
                           ? "((_ to_fp 8 8) RNE (fp.roundToIntegral %.3s ((_ to_fp 8 24) RNE x)))"
                           : "(fp.roundToIntegral %.3s x)",
                       mode);
}

/* A row's text: what @ stands before is put in. */
static void say_text(gemel__buffer *b, const gemel__pterms *t, gemel__pterm a, const char *text,
                     int bits) {
  gemel_dtype dtype = operand_dtype(t, a, 0);
  for (; *text != '\0'; text++) {
    if (*text != '@') {
      gemel__buffer_format(b, "%c", *text);
    } else if (*++text == 'f') {
      say_unknown(b, t, a);
    } else if (*text == 'r') {
      say_whole(b, dtype, text + 1);
      text += 3;
    } else {
      gemel__scalar_say_number(b, dtype, *text == '0' ? "0" : *text == '1' ? "1" : "nan", bits);
    }
  }
}

void gemel__scalar_say_meaning(gemel__buffer *b, const gemel__pterms *t, gemel__pterm a, int bits) {
  gemel_dtype from = operand_dtype(t, a, 0);
  const char *text = gemel__scalar_text(t->nodes[a].name, from, bits);
  int unknown = !is_cast(t, a) && (text == NULL || strstr(text, "@f") != NULL);
  if (unknown) {
    gemel__buffer_text(b, "(declare-fun ");
    if (text == NULL) {
      gemel__scalar_say_name(b, t, a);
    } else {
      say_unknown(b, t, a);
    }
    gemel__buffer_text(b, " (");
    say_operands(b, t, a, 0);
    gemel__buffer_format(b, ") %s)\n", result_name(t, a));
  }
  if (text == NULL && !is_cast(t, a)) {
    return;
  }
  gemel__buffer_text(b, "(define-fun ");
  gemel__scalar_say_name(b, t, a);
  gemel__buffer_text(b, " (");
  say_operands(b, t, a, 1);
  gemel__buffer_format(b, ") %s ", result_name(t, a));
  if (is_cast(t, a)) {
    say_cast(b, from, result_dtype(t, a), bits);
  } else {
    say_text(b, t, a, text, bits);
  }
  gemel__buffer_text(b, ")\n");
}
