/* SPDX-License-Identifier: MIT
 *
 * Proposals for scalar operations, and for arange and size. Operands broadcast: the known ones give
 * a common shape, and each free one is a scalar, or has that shape, a part of it, or a larger one.
 * Dtypes are chosen such that nothing is promoted, as promotion would insert a cast.
 */
#include "ops/ops.h"
#include "sample/draft.h"

/* 1 if operand K of an operation of this code is always a bool. */
static int is_mask(gemel__type_code code, size_t k) {
  return code == GEMEL__TYPE_LOGIC || (code == GEMEL__TYPE_SELECT && k == 0);
}

static void choose_dtypes(gemel__draft *d, gemel__type_code code) {
  gemel_dtype dtype = d->dtype;
  for (size_t k = d->n_inputs; k-- > 0;) {
    if (d->in[k].known && !is_mask(code, k)) {
      dtype = d->in[k].dtype;
    }
  }
  for (size_t k = 0; k < d->n_inputs; k++) {
    if (!d->in[k].known) {
      d->in[k].dtype = is_mask(code, k) ? GEMEL_BOOL : dtype;
    }
  }
}

/* 1 if operands of these dtypes go in as they are. */
static int unpromoted(const gemel__draft *d, gemel__type_code code) {
  gemel_dtype given[GEMEL__PROPOSAL_INPUTS], operands[GEMEL__PROPOSAL_INPUTS], result;
  for (size_t k = 0; k < d->n_inputs; k++) {
    given[k] = d->in[k].dtype;
  }
  if (gemel__scalar_dtypes(code, d->n_inputs, given, given[0], operands, &result) != GEMEL_OK) {
    return 0;
  }
  for (size_t k = 0; k < d->n_inputs; k++) {
    if (operands[k] != given[k]) {
      return 0;
    }
  }
  return 1;
}

/* Makes WHOLE what it and OPERAND broadcast to; 0 if they don't. */
static int broadcast(gemel__shape *whole, const gemel__shape *operand) {
  gemel__shape out;
  out.known = 0;
  out.dtype = whole->dtype;
  out.rank = whole->rank > operand->rank ? whole->rank : operand->rank;
  for (int k = 0; k < out.rank; k++) {
    int i = k - (out.rank - whole->rank), j = k - (out.rank - operand->rank);
    int64_t a = i < 0 ? 1 : whole->dims[i], b = j < 0 ? 1 : operand->dims[j];
    if (a != b && a != 1 && b != 1) {
      return 0;
    }
    out.dims[k] = a == 1 ? b : a;
  }
  *whole = out;
  return 1;
}

/* Chooses the free shapes; beside a scalar mostly something larger. */
static gemel_status choose_shapes(gemel__draft *d) {
  gemel__shape whole = {.rank = 0};
  int any_known = 0;
  for (size_t k = 0; k < d->n_inputs; k++) {
    any_known |= d->in[k].known;
    if (d->in[k].known && !broadcast(&whole, &d->in[k])) {
      return GEMEL_DECLINED;
    }
  }
  if (!any_known) {
    gemel__draw_shape(d, &whole, 0);
  }
  for (size_t k = 0; k < d->n_inputs; k++) {
    gemel__shape *in = &d->in[k];
    if (in->known) {
      continue;
    }
    if (d->n_inputs == 1) {
      gemel__draw_shape(d, in, 0);
    } else if (any_known && gemel__one_in(d, 4) != (whole.rank == 0)) {
      gemel__draw_whole(d, in, &whole);
    } else {
      gemel__draw_part(d, in, &whole);
    }
    broadcast(&whole, in);
  }
  return GEMEL_OK;
}

static void choose_cast(gemel__draft *d) {
  static const gemel_dtype floats[] = {GEMEL_F16, GEMEL_BF16, GEMEL_F32, GEMEL_F64};
  gemel__list *dtype = &d->attrs[0];
  int how = (int)gemel__draw(d, 0, 4);
  if (!dtype->known) {
    dtype->count = 1;
    dtype->at[0] = how == 0  ? (int64_t)d->in[0].dtype
                   : how < 3 ? (int64_t)floats[gemel__draw(d, 0, 3)]
                             : gemel__draw(d, 0, GEMEL_DTYPE_COUNT - 1);
  }
}

gemel_status gemel__propose_elementwise(gemel__draft *d) {
  const gemel__scalar_row *row = gemel__scalar_row_of(&d->op->record);
  if (d->n_inputs != (size_t)row->n_inputs) {
    return GEMEL_DECLINED;
  }
  choose_dtypes(d, row->code);
  if (!unpromoted(d, row->code)) {
    return GEMEL_DECLINED;
  }
  gemel_status status = choose_shapes(d);
  if (row->code == GEMEL__TYPE_CAST) {
    choose_cast(d);
  }
  return status;
}

/* A dtype of as many bits; of a bool's byte no bool. */
gemel_status gemel__propose_bitcast(gemel__draft *d) {
  gemel__list *dtype = &d->attrs[0];
  gemel__shape *x = &d->in[0];
  size_t size = gemel_dtype_size(x->dtype);
  if (!x->known && dtype->known) {
    size = gemel_dtype_size((gemel_dtype)dtype->at[0]);
    while (gemel_dtype_size(x->dtype) != size) {
      x->dtype = (gemel_dtype)gemel__draw(d, 0, GEMEL_DTYPE_COUNT - 1);
    }
  }
  if (!x->known) {
    gemel__draw_shape(d, x, 0);
  }
  while (!dtype->known) {
    gemel_dtype to = (gemel_dtype)gemel__draw(d, 0, GEMEL_DTYPE_COUNT - 1);
    gemel__list_fill(dtype, 1, (int64_t)to);
    if (gemel_dtype_size(to) == size && (to != GEMEL_BOOL || x->dtype == GEMEL_BOOL)) {
      break;
    }
  }
  return d->n_inputs == 1 ? GEMEL_OK : GEMEL_DECLINED;
}

gemel_status gemel__propose_size(gemel__draft *d) {
  if (!d->attrs[0].known) {
    gemel__list_fill(&d->attrs[0], 1, d->length > 0 ? d->length : gemel__draw(d, -2, 6));
  }
  return d->n_inputs == 0 ? GEMEL_OK : GEMEL_DECLINED;
}

gemel_status gemel__propose_arange(gemel__draft *d) {
  if (!d->attrs[0].known) {
    gemel__list_fill(&d->attrs[0], 1, gemel__draw_dim(d));
  }
  if (!d->attrs[1].known) {
    int plain = d->attrs[1].absent || d->dtype == GEMEL_BOOL;
    gemel__list_fill(&d->attrs[1], 1, plain ? GEMEL_I64 : d->dtype);
  }
  return d->n_inputs == 0 ? GEMEL_OK : GEMEL_DECLINED;
}
