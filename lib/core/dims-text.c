/* SPDX-License-Identifier: MIT
 *
 * Dims as text. The text of every stored part is made once, from the texts of what it consists of,
 * in an order that depends on the texts alone: so the same dim reads the same in every context,
 * whatever was interned before it. What is written here is read back by the parser in lib/text.
 */
#include <stdio.h>
#include <string.h>
#include "core/dims.h"

typedef struct buffer {
  char *text;
  int bytes; /* -1: too long */
} buffer;

static void put(buffer *out, const char *text) {
  size_t n = strlen(text);
  if (out->bytes < 0 || (size_t)out->bytes + n > GEMEL__DIM_TEXT) {
    out->bytes = -1;
    return;
  }
  memcpy(out->text + out->bytes, text, n + 1);
  out->bytes += (int)n;
}

static void put_in_parentheses(buffer *out, const char *text, int wanted) {
  put(out, wanted ? "(" : "");
  put(out, text);
  put(out, wanted ? ")" : "");
}

/* Sorts INDEX[0..n) so that texts ascend. */
static void sort_by_text(uint32_t *index, uint32_t n,
                         const char *(*text_of)(const void *, uint32_t), const void *user) {
  for (uint32_t i = 1; i < n; i++) {
    uint32_t moving = index[i], j = i;
    while (j > 0 && strcmp(text_of(user, index[j - 1]), text_of(user, moving)) > 0) {
      index[j] = index[j - 1];
      j--;
    }
    index[j] = moving;
  }
}

static const char *dim_text(const void *user, uint32_t id) {
  return gemel__dim_at((const struct gemel__dims *)user, (gemel_dim){id})->facts.text;
}

static const char *atom_text(const void *user, uint32_t id) {
  return gemel__dim_atom_at((const struct gemel__dims *)user, id)->facts.text;
}

/* 1 if the monomial is one quotient by itself. */
static int is_quotient(const struct gemel__dims *dims, const gemel__mono *mono) {
  return mono->degree == 1 &&
         gemel__dim_atom_at(dims, mono->factors[0].atom)->kind == GEMEL__ATOM_QUOTIENT;
}

static void put_quotient(const struct gemel__dims *dims, const gemel__dim_atom *atom, buffer *out) {
  const gemel__dim *above = gemel__dim_at(dims, gemel__dividend(atom)),
                   *below = gemel__dim_at(dims, gemel__divisor(atom));
  put_in_parentheses(out, above->facts.text,
                     above->count > 1 || (above->count && above->terms[0].coefficient < 0));
  put(out, "//");
  const gemel__mono *mono = below->count ? gemel__mono_at(dims, below->terms[0].mono) : NULL;
  int64_t c = below->count ? below->terms[0].coefficient : 0;
  int simple = below->count == 1 && c > 0 &&
               (mono->degree == 0 || (mono->degree == 1 && c == 1 && !is_quotient(dims, mono)));
  put_in_parentheses(out, below->facts.text, !simple);
}

int gemel__atom_text(const struct gemel__dims *dims, const gemel__dim_atom *atom, char *text) {
  buffer out = {text, 0};
  uint32_t order[GEMEL__DIM_LIST];
  char number[48] = "";
  text[0] = 0;
  switch (atom->kind) {
  case GEMEL__ATOM_SYMBOL:
    put(&out, atom->name);
    break;
  case GEMEL__ATOM_VALUE:
    snprintf(number, sizeof number, atom->b ? "value(%u, %u)" : "value(%u)", atom->a, atom->b);
    break;
  case GEMEL__ATOM_INPUT:
    snprintf(number, sizeof number, "$%u", atom->a);
    break;
  case GEMEL__ATOM_QUOTIENT:
    put_quotient(dims, atom, &out);
    break;
  default:
    for (uint32_t k = 0; k < atom->count; k++) {
      order[k] = atom->list[k].id;
    }
    sort_by_text(order, atom->count, dim_text, dims);
    put(&out, atom->kind == GEMEL__ATOM_MIN ? "min(" : "max(");
    for (uint32_t k = 0; k < atom->count; k++) {
      put(&out, k ? ", " : "");
      put(&out, dim_text(dims, order[k]));
    }
    put(&out, ")");
  }
  put(&out, number);
  return out.bytes;
}

int gemel__mono_text(const struct gemel__dims *dims, const gemel__mono *mono, char *text) {
  buffer out = {text, 0};
  uint32_t order[GEMEL__DIM_DEGREE], n = 0;
  text[0] = 0;
  for (uint32_t k = 0; k < mono->count; k++) {
    for (uint32_t p = 0; p < mono->factors[k].power; p++) {
      if (n == GEMEL__DIM_DEGREE) {
        return -1;
      }
      order[n++] = mono->factors[k].atom;
    }
  }
  sort_by_text(order, n, atom_text, dims);
  for (uint32_t k = 0; k < n; k++) {
    const gemel__dim_atom *atom = gemel__dim_atom_at(dims, order[k]);
    put(&out, k ? "*" : "");
    put_in_parentheses(&out, atom->facts.text, n > 1 && atom->kind == GEMEL__ATOM_QUOTIENT);
  }
  return out.bytes;
}

/* 1 if the term A stands before B: higher degree first, then by text. */
static int before(const struct gemel__dims *dims, gemel__dim_term a, gemel__dim_term b) {
  const gemel__mono *x = gemel__mono_at(dims, a.mono), *y = gemel__mono_at(dims, b.mono);
  return x->degree != y->degree ? x->degree > y->degree : strcmp(x->facts.text, y->facts.text) < 0;
}

static void put_term(const struct gemel__dims *dims, gemel__dim_term term, int first, buffer *out) {
  const gemel__mono *mono = gemel__mono_at(dims, term.mono);
  uint64_t size =
      term.coefficient < 0 ? 0 - (uint64_t)term.coefficient : (uint64_t)term.coefficient;
  char number[24];
  snprintf(number, sizeof number, "%llu", (unsigned long long)size);
  put(out, first ? (term.coefficient < 0 ? "-" : "") : term.coefficient < 0 ? " - " : " + ");
  if (mono->degree == 0) {
    put(out, number);
    return;
  }
  if (size != 1) {
    put(out, number);
    put(out, "*");
  }
  int tight = term.coefficient == 1 || (term.coefficient == -1 && !first);
  put_in_parentheses(out, mono->facts.text, !tight && is_quotient(dims, mono));
}

int gemel__poly_text(const struct gemel__dims *dims, const gemel__poly *poly, char *text) {
  buffer out = {text, 0};
  gemel__dim_term order[GEMEL__DIM_TERMS];
  text[0] = 0;
  for (uint32_t i = 0; i < poly->count; i++) {
    uint32_t j = i;
    while (j > 0 && before(dims, poly->terms[i], order[j - 1])) {
      order[j] = order[j - 1];
      j--;
    }
    order[j] = poly->terms[i];
  }
  for (uint32_t k = 0; k < poly->count; k++) {
    put_term(dims, order[k], k == 0, &out);
  }
  put(&out, poly->count ? "" : "0");
  return out.bytes;
}
