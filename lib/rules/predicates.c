/* SPDX-License-Identifier: MIT
 *
 * Functions of tensors and dtypes: the rows of functions.def that begin with a tensor. Operands
 * have the kinds that the row asks for.
 */
#include <math.h>
#include <string.h>
#include "core/dtype.h"
#include "core/tensor.h"
#include "rules/facts.h"
#include "rules/functions.h"

/* ---- Types ---- */

static const struct gemel__type *type_of(const gemel__termcall *call, int k) {
  gemel__ref x = call->x[k].u.tensor;
  return gemel__ref_type(call->scene->graph, x);
}

/* The dtype that operand K is or has. */
static gemel_dtype dtype_of(const gemel__termcall *call, int k) {
  return call->x[k].kind == GEMEL__TERM_DTYPE ? call->x[k].u.dtype
                                              : (gemel_dtype)type_of(call, k)->dtype;
}

static gemel_kind kind_of(const gemel__termcall *call) {
  return gemel_dtype_kind(dtype_of(call, 0));
}

/* The function NAME: EXPRESSION, given as a number, truth or dtype. */
#define GIVES(name, what, expression)                                                              \
  gemel_status gemel__function_##name(gemel__termcall *call) {                                     \
    return gemel__give_##what(call, expression);                                                   \
  }
GIVES(rank, number, type_of(call, 0)->rank)
GIVES(dtype, dtype, dtype_of(call, 0))
GIVES(count, number, call->x[0].count)
GIVES(bits, number, 8 * (int64_t)gemel_dtype_size(dtype_of(call, 0)))
GIVES(promote, dtype, gemel_promote(dtype_of(call, 0), dtype_of(call, 1)))
GIVES(scalar, truth, type_of(call, 0)->rank == 0)
GIVES(float, truth, kind_of(call) == GEMEL_KIND_FLOAT)
GIVES(integer, truth, kind_of(call) == GEMEL_KIND_SIGNED || kind_of(call) == GEMEL_KIND_UNSIGNED)
GIVES(signed, truth, kind_of(call) == GEMEL_KIND_SIGNED)
GIVES(unsigned, truth, kind_of(call) == GEMEL_KIND_UNSIGNED)
GIVES(bool, truth, kind_of(call) == GEMEL_KIND_BOOL)
GIVES(numeric, truth, kind_of(call) != GEMEL_KIND_BOOL)
GIVES(exact_cast, truth, gemel__exact_cast(dtype_of(call, 0), dtype_of(call, 1)))

gemel_status gemel__function_shape(gemel__termcall *call) {
  const struct gemel__type *type = type_of(call, 0);
  gemel__entry *list;
  gemel_status status = gemel__give_list(call, type->rank, &list);
  for (int k = 0; status == GEMEL_OK && k < type->rank; k++) {
    list[k] = gemel__entry_dim(call->context, type->dims[k]);
  }
  return status;
}

gemel_status gemel__function_elements(gemel__termcall *call) {
  const struct gemel__type *type = type_of(call, 0);
  gemel__entry product = gemel__entry_int(1);
  gemel_status status = GEMEL_OK;
  for (int k = 0; status == GEMEL_OK && k < type->rank; k++) {
    gemel__entry size = gemel__entry_dim(call->context, type->dims[k]);
    status = gemel__entry_combine(call->scene, GEMEL__MUL, product, size, &product);
  }
  return status ? status : gemel__give_entry(call, product);
}

/* ---- Two tensors ---- */

/* Equal sizes along each axis: 1, 0 or MAYBE. */
static int same_shape(const gemel__termcall *call) {
  const struct gemel__type *x = type_of(call, 0), *y = type_of(call, 1);
  int all = x->rank == y->rank;
  for (int k = 0; all != 0 && k < x->rank; k++) {
    gemel__entry a = gemel__entry_dim(call->context, x->dims[k]);
    gemel__entry b = gemel__entry_dim(call->context, y->dims[k]);
    all = gemel__truth_and(all, gemel__entry_equal(call->context, a, b));
  }
  return all;
}

GIVES(same, truth, gemel__term_same(call->context, &call->x[0], &call->x[1]))
GIVES(same_shape, truth, same_shape(call))
GIVES(same_dtype, truth, dtype_of(call, 0) == dtype_of(call, 1))

gemel_status gemel__function_same_type(gemel__termcall *call) {
  const struct gemel__type *x = type_of(call, 0), *y = type_of(call, 1);
  return gemel__give_truth(
      call, gemel__truth_and(x->dtype == y->dtype && x->space == y->space, same_shape(call)));
}

/* ---- Constants and uses ---- */

gemel_status gemel__function_constant(gemel__termcall *call) {
  const gemel__node *node = gemel__node_at(call->scene->graph, call->x[0].u.tensor.node);
  return gemel__give_truth(call, node->op == GEMEL__OP_constant);
}

gemel_status gemel__function_splat(gemel__termcall *call) {
  const gemel_tensor *tensor;
  return gemel__give_truth(
      call, gemel__uniform_constant(call->scene->graph, call->x[0].u.tensor, &tensor));
}

gemel_status gemel__function_value(gemel__termcall *call) {
  const gemel_tensor *tensor;
  if (!gemel__uniform_constant(call->scene->graph, call->x[0].u.tensor, &tensor)) {
    return GEMEL_DECLINED;
  }
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  double value = gemel__dtype_load(dtype, gemel_tensor_data(tensor));
  if (gemel_dtype_kind(dtype) != GEMEL_KIND_FLOAT && fabs(value) >= 0x1p53) {
    return GEMEL_DECLINED; /* it may have been rounded */
  }
  return gemel__give_real(call, value);
}

gemel_status gemel__function_single_use(gemel__termcall *call) {
  const uint32_t *uses = call->scene->uses;
  return gemel__give_truth(call, uses == NULL || uses[call->x[0].u.tensor.node] <= 1);
}

/* ---- Facts ---- */

static gemel_status give_fact(gemel__termcall *call, unsigned wanted) {
  unsigned facts = gemel__facts(call->scene->graph, call->x[0].u.tensor);
  return gemel__give_truth(call, (facts & wanted) == wanted ? 1 : GEMEL__MAYBE);
}

#define FACT(name, wanted)                                                                         \
  gemel_status gemel__function_##name(gemel__termcall *call) {                                     \
    return give_fact(call, wanted);                                                                \
  }
FACT(nonnegative, GEMEL__NONNEGATIVE)
FACT(positive, GEMEL__POSITIVE)
FACT(nonzero, GEMEL__NONZERO)
FACT(not_nan, GEMEL__NOT_NAN)
FACT(finite, GEMEL__FINITE)
