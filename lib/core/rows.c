/* SPDX-License-Identifier: MIT
 *
 * The rows of scalar.def as C sees them, and the dtypes that they take and give.
 */
#include "core/rows.h"

#include <stdint.h>

/* ---- The table ---- */

#define UNWRAP(...) __VA_ARGS__
#define COUNT_ARGS(...) COUNT_ARGS_(__VA_ARGS__, 3, 2, 1)
#define COUNT_ARGS_(a, b, c, n, ...) n
#define PASTE(a, b) PASTE_(a, b)
#define PASTE_(a, b) a##b
#define RANGES(...) PASTE(RANGES_, COUNT_ARGS(__VA_ARGS__))(__VA_ARGS__)
#define RANGES_1(a) GEMEL_RANGE_##a
#define RANGES_2(a, b) GEMEL_RANGE_##a, GEMEL_RANGE_##b
#define RANGES_3(a, b, c) GEMEL_RANGE_##a, GEMEL_RANGE_##b, GEMEL_RANGE_##c

const gemel__scalar_row gemel__scalar_rows[GEMEL__SCALAR_COUNT] = {
#define SCALAR(row, arguments, attributes, type_code, float_c, integer_c, derivatives, where,      \
               accuracy, ...)                                                                      \
  {.name = #row,                                                                                   \
   .inputs = arguments,                                                                            \
   .code = GEMEL__TYPE_##type_code,                                                                \
   .c_text = #float_c,                                                                             \
   .grads = {UNWRAP derivatives},                                                                  \
   .ranges = {RANGES where},                                                                       \
   .ulp = accuracy,                                                                                \
   .n_inputs = COUNT_ARGS derivatives,                                                             \
   .index = GEMEL__SCALAR_##row},
#include "ops/scalar.def"
#undef SCALAR
};

/* ---- Dtypes ---- */

/* NumPy computes functions of the reals on small integers in the smallest float that holds them. */
static gemel_dtype real_of(gemel_dtype dtype) {
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT) {
    return dtype;
  }
  switch (gemel_dtype_size(dtype)) {
  case 1:
    return GEMEL_F16;
  case 2:
    return GEMEL_F32;
  default:
    return GEMEL_F64;
  }
}

static gemel_dtype quotient_of(gemel_dtype dtype) {
  return gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT ? dtype : GEMEL_F64;
}

/* What the promoted dtype P becomes under CODE. */
static gemel_dtype operand_of(gemel__type_code code, gemel_dtype p) {
  switch (code) {
  case GEMEL__TYPE_REAL:
    return real_of(p);
  case GEMEL__TYPE_QUOTIENT:
    return quotient_of(p);
  case GEMEL__TYPE_LOGIC:
    return GEMEL_BOOL;
  default:
    return p;
  }
}

gemel_status gemel__scalar_dtypes(gemel__type_code code, size_t n, const gemel_dtype *given,
                                  gemel_dtype cast_to, gemel_dtype *operands, gemel_dtype *result) {
  size_t first = code == GEMEL__TYPE_SELECT, k;
  gemel_dtype p = given[n > first ? first : 0];
  for (k = first; k < n; k++) {
    p = gemel_promote(p, given[k]);
  }
  int admits = code == GEMEL__TYPE_INTEGER ? gemel_dtype_kind(p) == GEMEL_KIND_SIGNED ||
                                                 gemel_dtype_kind(p) == GEMEL_KIND_UNSIGNED
               : code == GEMEL__TYPE_NUMBER ? p != GEMEL_BOOL
                                            : 1;
  if (!admits) {
    return GEMEL_BAD_TYPE;
  }
  p = operand_of(code, p);
  for (k = 0; k < n; k++) {
    operands[k] = k < first ? GEMEL_BOOL : p;
  }
  *result = code == GEMEL__TYPE_CAST ? cast_to : code == GEMEL__TYPE_COMPARE ? GEMEL_BOOL : p;
  return GEMEL_OK;
}

/* ---- Whose row ---- */

int gemel__is_scalar_row(const void *data) {
  uintptr_t at = (uintptr_t)data, first = (uintptr_t)gemel__scalar_rows;
  return at >= first && at - first < sizeof gemel__scalar_rows;
}

const gemel__scalar_row *gemel__scalar_row_of(const gemel_operation *record) {
  return record->flags & GEMEL__OP_SCALAR ? record->data : NULL;
}
