/* SPDX-License-Identifier: MIT
 *
 * Makes proposals: puts what is known into a draft of plain numbers, lets the operation's proposer
 * fill in the rest, and asks the operation's type rule whether it applies; if not, tries again. An
 * operation whose record (reference/twin.h) has no proposer gets what its sampler draws, with what
 * is known put in its place.
 */
#include "instances/propose.h"

#include <string.h>
#include "core/apply.h"
#include "core/attrs.h"
#include "core/error.h"
#include "core/schema.h"
#include "instances/propose-invoke.h"
#include "ops/ops.h"
#include "reference/twin.h"

enum { DEFAULT_ELEMENTS = 256 };

/* ---- Into a draft ---- */

static gemel_status take_input(gemel__draft *d, const gemel__proposal *p, size_t k) {
  gemel__shape *shape = &d->in[k];
  const gemel_dim *dims = gemel_type_dims(p->context, p->inputs[k]);
  shape->known = 1;
  shape->dtype = gemel_type_dtype(p->context, p->inputs[k]);
  shape->rank = gemel_type_rank(p->context, p->inputs[k]);
  for (int axis = 0; axis < shape->rank; axis++) {
    if (!gemel_dim_is_constant(p->context, dims[axis], &shape->dims[axis])) {
      return GEMEL_DECLINED;
    }
  }
  return GEMEL_OK;
}

static int entry_of(gemel_context *context, const gemel_attr *attr, size_t k, int64_t *value) {
  int list = attr->kind & GEMEL_ATTR_LIST;
  switch (attr->kind & ~GEMEL_ATTR_LIST) {
  case GEMEL_ATTR_INT:
    *value = list ? attr->u.ints[k] : attr->u.i;
    return 1;
  case GEMEL_ATTR_DIM:
    return gemel_dim_is_constant(context, list ? attr->u.dims[k] : attr->u.dim, value);
  case GEMEL_ATTR_DTYPE:
    *value = attr->u.dtype;
    return !list;
  case GEMEL_ATTR_STRING: /* nothing is drawn for strings, and no proposer reads them */
    *value = 0;
    return !list;
  default:
    return 0;
  }
}

static gemel_status take_attr(gemel__draft *d, const gemel__proposal *p, size_t k) {
  const gemel_attr *attr = &p->attrs[k];
  gemel__list *list = &d->attrs[k];
  if (attr->kind == GEMEL_ATTR_NONE) {
    list->absent = 1;
    return GEMEL_OK;
  }
  list->known = 1;
  list->count = attr->kind & GEMEL_ATTR_LIST ? (int)attr->count : 1;
  if (attr->kind & GEMEL_ATTR_LIST && attr->count > GEMEL__LIST_ROOM) {
    return GEMEL_DECLINED;
  }
  for (int i = 0; i < list->count; i++) {
    if (!entry_of(p->context, attr, (size_t)i, &list->at[i])) {
      return GEMEL_DECLINED;
    }
  }
  return GEMEL_OK;
}

/* The number of inputs, without run-time sizes. */
static size_t input_count(const gemel__proposal *p) {
  if (p->n_inputs > 0) {
    return p->n_inputs;
  }
  return p->op->id == GEMEL__OP_join ? 1 + (size_t)gemel__random_below(p->random, 4)
                                     : (size_t)p->op->record.min_inputs;
}

static gemel_status draft_of(const gemel__proposal *p, gemel__draft *d) {
  d->context = p->context;
  d->random = p->random;
  d->op = p->op;
  d->dtype = p->dtype;
  d->max_elements = p->max_elements > 0 ? p->max_elements : DEFAULT_ELEMENTS;
  d->zeros = (gemel__one_in(d, 6) && !p->reach) || p->empty;
  d->ranks = p->ranks;
  d->reach = p->reach;
  d->length = p->length;
  d->elements = p->elements;
  d->n_sizes = p->n_sizes;
  d->sizes = p->sizes;
  d->max_rank = p->max_rank > 0 ? p->max_rank : 3 + gemel__one_in(d, 8);
  d->n_inputs = input_count(p);
  memset(d->in, 0, d->n_inputs * sizeof *d->in);
  memset(d->attrs, 0, p->op->n_attrs * sizeof *d->attrs);
  for (size_t k = 0; k < d->n_inputs; k++) {
    d->in[k].dtype = p->dtype;
    GEMEL__TRY(p->known_input[k] ? take_input(d, p, k) : GEMEL_OK);
  }
  for (size_t k = 0; k < p->op->n_attrs; k++) {
    GEMEL__TRY(p->known_attr[k] ? take_attr(d, p, k) : GEMEL_OK);
  }
  return GEMEL_OK;
}

/* ---- Out of a draft ---- */

static gemel_status fill_attr(gemel__draft *d, const gemel_attr_spec *spec, gemel__list *list,
                              gemel_dim *dims, gemel_attr *attr) {
  for (int k = 0; k < list->count; k++) {
    dims[k] = gemel_dim_constant(d->context, list->at[k]);
    if (gemel_dim_is_none(dims[k])) {
      return GEMEL_NO_MEMORY;
    }
  }
  *attr = (gemel_attr){.name = spec->name, .kind = spec->kind};
  attr->count = spec->kind & GEMEL_ATTR_LIST ? (size_t)list->count : 0;
  switch (spec->kind) {
  case GEMEL_ATTR_INT:
    attr->u.i = list->at[0];
    return GEMEL_OK;
  case GEMEL_ATTR_DIM:
    attr->u.dim = dims[0];
    return GEMEL_OK;
  case GEMEL_ATTR_DTYPE:
    attr->u.dtype = (gemel_dtype)list->at[0];
    return GEMEL_OK;
  case GEMEL_ATTR_LIST | GEMEL_ATTR_INT:
    attr->u.ints = list->at;
    return GEMEL_OK;
  case GEMEL_ATTR_LIST | GEMEL_ATTR_DIM:
    attr->u.dims = dims;
    return GEMEL_OK;
  case GEMEL_ATTR_STRING:
    return spec->fallback != NULL && gemel__schema_fallback(spec, attr) == 0 ? GEMEL_OK
                                                                             : GEMEL_DECLINED;
  default:
    return GEMEL_DECLINED;
  }
}

/* One try: input types and attributes. */
struct proposal_candidate {
  size_t n_inputs;
  gemel_type inputs[GEMEL__PROPOSAL_INPUTS];
  gemel_attr attrs[GEMEL__PROPOSAL_ATTRS];
  gemel_dim dims[GEMEL__PROPOSAL_ATTRS][GEMEL__LIST_ROOM];
};

static gemel_status candidate_of(gemel__draft *d, const gemel__proposal *p,
                                 struct proposal_candidate *c) {
  c->n_inputs = d->n_inputs;
  for (size_t k = 0; k < d->n_inputs; k++) {
    const gemel__shape *shape = &d->in[k];
    c->inputs[k] = p->known_input[k]
                       ? p->inputs[k]
                       : gemel_type_of_shape(p->context, shape->dtype, shape->rank, shape->dims);
    if (gemel_type_is_none(c->inputs[k])) {
      return GEMEL_NO_MEMORY;
    }
  }
  for (size_t k = 0; k < p->op->n_attrs; k++) {
    if (p->known_attr[k]) {
      c->attrs[k] = p->attrs[k];
      c->attrs[k].name = p->op->record.attrs[k].name;
      continue;
    }
    GEMEL__TRY(fill_attr(d, &p->op->record.attrs[k], &d->attrs[k], c->dims[k], &c->attrs[k]));
  }
  return GEMEL_OK;
}

/* 1 if TYPE has more than LIMIT elements. */
static int larger(gemel_context *context, gemel_type type, int64_t limit) {
  const gemel_dim *dims = gemel_type_dims(context, type);
  int rank = gemel_type_rank(context, type);
  int64_t count = 1, size;
  for (int axis = 0; axis < rank && count <= limit; axis++) {
    count *= gemel_dim_is_constant(context, dims[axis], &size) ? size : 1;
  }
  return count > limit;
}

/* 1 if an operand or result is too large. */
static int too_large(const gemel__proposal *p, const struct proposal_candidate *c, size_t n,
                     const gemel_type *outputs) {
  int64_t limit = p->max_elements > 0 ? p->max_elements : DEFAULT_ELEMENTS;
  int found = 0;
  for (size_t k = 0; k < c->n_inputs; k++) {
    found |= !p->known_input[k] && larger(p->context, c->inputs[k], limit);
  }
  for (size_t k = 0; k < n; k++) {
    found |= larger(p->context, outputs[k], 8 * limit);
  }
  return found;
}

/* Asks the type rule, and fills in the proposal if it accepts. */
static gemel_status accept(gemel__proposal *p, const struct proposal_candidate *c, int any_size,
                           gemel_error *error) {
  uint32_t given, normal;
  size_t n = c->n_inputs, n_outputs = 0;
  gemel_type outputs[GEMEL__PROPOSAL_OUTPUTS];
  gemel_status status =
      gemel__attrs_intern(p->context, p->op, p->op->n_attrs, c->attrs, &given, error);
  status =
      status ? status : gemel__normal_attrs(p->context, p->op, given, n, c->inputs, &normal, error);
  status = status ? status
                  : gemel__infer(p->context, p->op, normal, n, c->inputs, NULL,
                                 GEMEL__PROPOSAL_OUTPUTS, &n_outputs, outputs, error);
  if (status != GEMEL_OK || n_outputs > GEMEL__PROPOSAL_OUTPUTS ||
      (!any_size && too_large(p, c, n_outputs, outputs))) {
    return status == GEMEL_NO_MEMORY ? status : GEMEL_DECLINED;
  }
  p->n_inputs = n;
  memcpy(p->inputs, c->inputs, n * sizeof *p->inputs);
  p->attrs_id = normal;
  if (p->op->n_attrs > 0) {
    memcpy(p->attrs, gemel__attrs_at(p->context, normal)->values,
           p->op->n_attrs * sizeof *p->attrs);
  }
  p->n_outputs = n_outputs;
  memcpy(p->outputs, outputs, n_outputs * sizeof *outputs);
  return GEMEL_OK;
}

static gemel_status try_proposer(gemel__proposal *p, gemel__proposer proposer, int any_size,
                                 gemel_error *error) {
  gemel__draft draft;
  struct proposal_candidate c;
  GEMEL__TRY(draft_of(p, &draft));
  GEMEL__TRY(proposer(&draft));
  GEMEL__TRY(candidate_of(&draft, p, &c));
  return accept(p, &c, any_size, error);
}

/* ---- By sampler ---- */

/* Replaces what was sampled by what is known. Attributes that the sample leaves out have their
 * fallbacks, so they stay left out. */
static gemel_status merge_sample(const gemel__proposal *p, const gemel_sample *s,
                                 struct proposal_candidate *c) {
  memset(c->attrs, 0, sizeof c->attrs);
  for (size_t k = 0; k < s->n_inputs; k++) {
    c->inputs[k] = k < p->n_inputs && p->known_input[k] ? p->inputs[k] : s->inputs[k];
  }
  c->n_inputs = s->n_inputs;
  for (size_t k = 0; k < p->op->n_attrs; k++) {
    const char *name = p->op->record.attrs[k].name;
    for (size_t j = 0; j < s->n_attrs; j++) {
      if (strcmp(s->attrs[j].name, name) == 0) {
        c->attrs[k] = s->attrs[j];
      }
    }
    if (p->known_attr[k]) {
      c->attrs[k] = p->attrs[k];
    }
    c->attrs[k].name = name;
  }
  return p->n_inputs > 0 && p->n_inputs != s->n_inputs ? GEMEL_DECLINED : GEMEL_OK;
}

static gemel_status try_sampler(gemel__proposal *p, int any_size, gemel_error *error) {
  gemel_sample sample;
  struct proposal_candidate c;
  gemel__sampler sampler = gemel__sampler_of(p->context, &p->op->record);
  if (sampler == NULL) {
    return GEMEL_DECLINED;
  }
  memset(&sample, 0, sizeof sample);
  sample.size = sizeof sample;
  sample.context = p->context;
  sample.random = gemel__random_source;
  sample.user = p->random;
  sample.dtype = p->dtype;
  sample.max_elements = p->max_elements > 0 ? p->max_elements : DEFAULT_ELEMENTS;
  sample.data = p->op->record.data;
  GEMEL__TRY(sampler(&sample));
  GEMEL__TRY(merge_sample(p, &sample, &c));
  return accept(p, &c, any_size, error);
}

/* ---- By a body ---- */

static gemel_status try_invoke(gemel__proposal *p, int any_size, gemel_error *error) {
  struct proposal_candidate c;
  gemel_graph *body;
  memset(c.attrs, 0, sizeof c.attrs);
  GEMEL__TRY(gemel__propose_invoke(p, &c.n_inputs, c.inputs, &body));
  c.attrs[0] = body != NULL ? gemel_attr_graph("body", body) : p->attrs[0];
  c.attrs[0].name = p->op->record.attrs[0].name;
  gemel_status status = accept(p, &c, any_size, error);
  gemel_graph_unref(body);
  return status;
}

static gemel_status try_once(gemel__proposal *p, gemel__proposer proposer, int any_size,
                             gemel_error *error) {
  return p->op->id == GEMEL__OP_invoke ? try_invoke(p, any_size, error)
         : proposer != NULL            ? try_proposer(p, proposer, any_size, error)
                                       : try_sampler(p, any_size, error);
}

gemel_status gemel__propose(gemel__proposal *p, gemel_error *error) {
  gemel__proposer proposer = gemel__twin_of(p->op->id)->propose;
  gemel_status status = GEMEL_DECLINED;
  if (p->n_inputs > GEMEL__PROPOSAL_INPUTS || p->op->n_attrs > GEMEL__PROPOSAL_ATTRS ||
      p->op->record.min_inputs > GEMEL__PROPOSAL_INPUTS) {
    return GEMEL_DECLINED;
  }
  int tries = 0;
  for (; tries < GEMEL__PROPOSAL_TRIES && status == GEMEL_DECLINED; tries++) {
    int any_size = tries >= GEMEL__PROPOSAL_TRIES / 2 && p->length == 0;
    /* most tries fail, and an error message costs more than the try */
    gemel_error *reason = tries + 1 < GEMEL__PROPOSAL_TRIES ? NULL : error;
    status = try_once(p, proposer, any_size, reason);
  }
  if (status == GEMEL_OK) {
    p->tries = tries;
    if (error != NULL) {
      memset(error, 0, sizeof *error);
    }
  }
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "an instance") : status;
}
