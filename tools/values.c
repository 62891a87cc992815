/* SPDX-License-Identifier: MIT
 *
 * A tensor's values for people, laid out as NumPy does: brackets for axes, right-aligned columns,
 * lines of 75 characters, and of more than 1000 elements only the first and last three along each
 * axis. A float has as few digits as tell it from its neighbours, eight at most.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/dtype.h"
#include "tool.h"

enum { SUMMARY = 1000, EDGE = 3, LINE = 75, DIGITS = 8, ELEMENT = 40 };

/* One pass over what is shown: with FILE NULL it only measures the widest element. */
typedef struct value_printer {
  FILE *file;
  gemel_view view;
  int summary; /* 1: leave out the middles */
  int width;
  int column;
} value_printer;

/* VALUE with DIGITS significant digits: without an exponent if that stays short. */
static void format_digits(double value, int digits, char *text) {
  int exponent = value == 0 ? 0 : (int)floor(log10(fabs(value)));
  if (!isfinite(value)) {
    snprintf(text, ELEMENT, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  } else if (exponent < -4 || exponent >= 2 * DIGITS) {
    snprintf(text, ELEMENT, "%.*e", digits - 1, value);
  } else {
    int behind = digits - 1 - exponent;
    snprintf(text, ELEMENT, behind > 0 ? "%.*f" : "%.*f.", behind > 0 ? behind : 0, value);
  }
}

static void format_float(gemel_dtype dtype, double value, char *text) {
  char bits[8], back[8];
  gemel__dtype_store(dtype, value, bits);
  for (int digits = 1; digits <= DIGITS; digits++) {
    format_digits(value, digits, text);
    gemel__dtype_store(dtype, strtod(text, NULL), back);
    if (memcmp(bits, back, gemel_dtype_size(dtype)) == 0) {
      break;
    }
  }
}

void gemel__format_exactly(gemel_dtype dtype, const char *data, char *text, size_t bytes) {
  if (dtype == GEMEL_I64) {
    snprintf(text, bytes, "%lld", (long long)*(const int64_t *)(const void *)data);
  } else if (dtype == GEMEL_U64) {
    snprintf(text, bytes, "%llu", (unsigned long long)*(const uint64_t *)(const void *)data);
  } else {
    snprintf(text, bytes, "%.17g", gemel__dtype_load(dtype, data));
  }
}

static void format_element(gemel_dtype dtype, const char *data, char *text) {
  switch (gemel_dtype_kind(dtype)) {
  case GEMEL_KIND_BOOL:
    snprintf(text, ELEMENT, *data ? "True" : "False");
    break;
  case GEMEL_KIND_FLOAT:
    format_float(dtype, gemel__dtype_load(dtype, data), text);
    break;
  default:
    gemel__format_exactly(dtype, data, text, ELEMENT);
  }
}

static void put(value_printer *p, const char *text) {
  if (p->file != NULL) {
    fputs(text, p->file);
    p->column += (int)strlen(text);
  }
}

static void new_line(value_printer *p, int count, int indent) {
  if (p->file != NULL) {
    while (count-- > 0) {
      fputc('\n', p->file);
    }
    fprintf(p->file, "%*s", indent, "");
    p->column = indent;
  }
}

static void put_element(value_printer *p, const char *data, int first, int depth) {
  char text[ELEMENT], padded[2 * ELEMENT];
  format_element(p->view.dtype, data, text);
  if ((int)strlen(text) > p->width && p->file == NULL) {
    p->width = (int)strlen(text);
  }
  if (!first && p->column + 1 + p->width > LINE) {
    new_line(p, 1, depth);
  } else if (!first) {
    put(p, " ");
  }
  snprintf(padded, sizeof padded, "%*s", p->width, text);
  put(p, padded);
}

/* Recursion is on the rank, 16 at most. */
static void put_axis(value_printer *p, int axis, const char *data) {
  int64_t n = axis < p->view.rank ? p->view.shape[axis] : 1, k;
  int inner = axis + 1 == p->view.rank;
  put(p, "[");
  for (k = 0; k < n; k++) {
    const char *element = data + k * p->view.strides[axis];
    if (!inner && k > 0) {
      new_line(p, p->view.rank - axis - 1, axis + 1);
    }
    if (p->summary && n > 2 * EDGE && k == EDGE) {
      put(p, inner ? " ..." : "...");
      k = n - EDGE - 1;
    } else if (inner) {
      put_element(p, element, k == 0, axis + 1);
    } else {
      put_axis(p, axis + 1, element);
    }
  }
  put(p, "]");
}

void gemel__print_values(FILE *file, const gemel_tensor *tensor) {
  value_printer p = {NULL, gemel_tensor_view(tensor), 0, 0, 0};
  char text[ELEMENT];
  p.summary = gemel_tensor_elements(tensor) > SUMMARY;
  if (p.view.rank == 0) {
    format_element(p.view.dtype, p.view.data, text);
    fprintf(file, "%s\n", text);
    return;
  }
  if (gemel_tensor_elements(tensor) == 0) {
    fputs("[]\n", file);
    return;
  }
  put_axis(&p, 0, p.view.data);
  p.file = file;
  put_axis(&p, 0, p.view.data);
  fputc('\n', file);
}

void gemel__format_tensor_type(const gemel_tensor *tensor, char *text, size_t bytes) {
  size_t used = (size_t)snprintf(text, bytes, "%s", gemel_dtype_name(gemel_tensor_dtype(tensor)));
  int k, rank = gemel_tensor_rank(tensor);
  for (k = 0; k < rank && used < bytes; k++) {
    used += (size_t)snprintf(text + used, bytes - used, "%s%lld%s", k == 0 ? "[" : ", ",
                             (long long)gemel_tensor_shape(tensor)[k], k == rank - 1 ? "]" : "");
  }
}

void gemel__print_named(const char *name, const gemel_tensor *tensor) {
  char type[512];
  gemel__format_tensor_type(tensor, type, sizeof type);
  printf("%s: %s\n", name, type);
  gemel__print_values(stdout, tensor);
}
