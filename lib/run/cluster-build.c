/* SPDX-License-Identifier: MIT
 *
 * From a cluster of elementwise nodes to a loop. Each value of the cluster lives in *registers*,
 * tiles of one value: a raw one, in its own dtype, and for a half type that arithmetic reads also a
 * wide one in f32. The result of a node of half type is rounded to it at once, so that the loop
 * computes what its nodes would compute one by one. Registers that point into operands need no
 * memory; the others get buffers by their lifetimes over the steps, first come, first served.
 */
#include "run/planner.h"

#include <string.h>
#include "core/dtype.h"
#include "core/error.h"
#include "core/strided.h"

enum {
  MAX_REGISTERS = GEMEL__LOOP_SLOTS,
  MAX_STEPS = GEMEL__CLUSTER_NODES * 6,
  NONE = 0xffff,
  AT_START = -1,
  NEVER = -2
};

typedef enum register_kind { IN_BUFFER, IN_OPERAND } register_kind;

typedef struct reg {
  register_kind kind;
  uint8_t bytes;   /* of an element */
  uint8_t fixed;   /* the same everywhere */
  uint8_t keep;    /* filled once: its buffer is nobody else's */
  int first, last; /* steps */
  uint16_t slot;
} reg;

typedef struct cluster_operand {
  gemel_dtype dtype;
  uint16_t raw, wide; /* registers; NONE: not there (yet) */
} cluster_operand;

typedef struct cluster_builder {
  gemel__planner *planner;
  gemel__cluster *cluster;
  gemel__fused *fused;
  gemel__loop *loop; /* in FUSED */
  cluster_operand loads[GEMEL__CLUSTER_LOADS], members[GEMEL__CLUSTER_NODES];
  reg regs[MAX_REGISTERS];
  gemel__step steps[MAX_STEPS];
  const gemel__scalar_row *rows[MAX_STEPS]; /* of the steps; NULL: a conversion */
  uint8_t floats[MAX_STEPS]; /* f32 or f64 if a step is arithmetic on it, else GEMEL_DTYPE_COUNT */
  int n_regs, n_steps;
  int64_t sizes[GEMEL_MAX_RANK]; /* the iteration, collapsed; row 0 of STRIDES counts elements, and
                                    rows of loads, and of stores, follow */
  int64_t strides[1 + GEMEL__CLUSTER_LOADS + GEMEL__CLUSTER_NODES][GEMEL_MAX_RANK];
} cluster_builder;

/* ---- Kernels ---- */

static int is_half(gemel_dtype dtype) {
  return dtype == GEMEL_F16 || dtype == GEMEL_BF16;
}

/* Casts and choices have kernels for half types themselves. */
static int is_native(const gemel__scalar_row *row) {
  return row->code == GEMEL__TYPE_CAST || row->code == GEMEL__TYPE_SELECT;
}

static gemel_dtype computed_in(gemel_dtype dtype) {
  return is_half(dtype) ? GEMEL_F32 : dtype;
}

static gemel_dtype value_dtype(const gemel__run_program *p, uint32_t value) {
  return gemel_type_dtype(p->context, gemel__value_type(p, value));
}

gemel__scalar_kernel gemel__member_kernel(const gemel__run_program *p, uint32_t node) {
  const gemel__scalar_row *row = p->ops[p->nodes[node].op].row;
  uint32_t count;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  gemel_dtype given = value_dtype(p, in[count - 1]);
  gemel_dtype result = value_dtype(p, p->nodes[node].value);
  return is_native(row) ? gemel__scalar_kernel_for(row, given, result)
                        : gemel__scalar_kernel_for(row, computed_in(given), computed_in(result));
}

static void widen_f16(size_t n, void *out, const void *const *in) {
  gemel__half_to_f32(GEMEL_F16, n, out, in[0]);
}

static void widen_bf16(size_t n, void *out, const void *const *in) {
  gemel__half_to_f32(GEMEL_BF16, n, out, in[0]);
}

static void narrow_f16(size_t n, void *out, const void *const *in) {
  gemel__half_from_f32(GEMEL_F16, n, out, in[0]);
}

static void narrow_bf16(size_t n, void *out, const void *const *in) {
  gemel__half_from_f32(GEMEL_BF16, n, out, in[0]);
}

/* ---- Registers and steps ---- */

static uint16_t new_reg(cluster_builder *b, register_kind kind, size_t bytes) {
  reg *r = &b->regs[b->n_regs];
  memset(r, 0, sizeof *r);
  r->kind = kind;
  r->bytes = (uint8_t)bytes;
  return (uint16_t)b->n_regs++;
}

/* Appends a step that computes register OUT, for ROW (NULL: a conversion). Steps read three
 * registers whether their kernels do or not. */
static void add_step(cluster_builder *b, const gemel__scalar_row *row, gemel__scalar_kernel kernel,
                     uint16_t out, const uint16_t *in, uint32_t n_in) {
  gemel__step *s = &b->steps[b->n_steps];
  uint32_t k;
  s->run = kernel;
  s->chain = NULL;
  s->out = out;
  for (k = 0; k < 3; k++) {
    s->in[k] = k < n_in ? in[k] : in[0];
  }
  b->rows[b->n_steps] = row;
  b->floats[b->n_steps++] = GEMEL_DTYPE_COUNT;
}

/* The step of member NODE, computed in DTYPE. */
static void add_member_step(cluster_builder *b, uint32_t node, gemel_dtype dtype, uint16_t out,
                            const uint16_t *in, uint32_t n_in) {
  const gemel__run_program *p = &b->planner->f->program;
  add_step(b, p->ops[p->nodes[node].op].row, gemel__member_kernel(p, node), out, in, n_in);
  b->floats[b->n_steps - 1] =
      (uint8_t)(dtype == GEMEL_F32 || dtype == GEMEL_F64 ? dtype : GEMEL_DTYPE_COUNT);
}

/* The register of X in f32, converted when it is first asked for. */
static uint16_t widened(cluster_builder *b, cluster_operand *x) {
  if (x->wide == NONE) {
    x->wide = new_reg(b, IN_BUFFER, sizeof(float));
    add_step(b, NULL, x->dtype == GEMEL_F16 ? widen_f16 : widen_bf16, x->wide, &x->raw, 1);
  }
  return x->wide;
}

static cluster_operand *operand_of(cluster_builder *b, uint16_t ref) {
  return ref & GEMEL__LOAD_REF ? &b->loads[ref & ~GEMEL__LOAD_REF] : &b->members[ref];
}

/* ---- Loads ---- */

/* The layout of a load or store over the axes of the iteration, in their order: 0 where it is
 * broadcast. */
static void spread(const gemel__plan_layout *shape, const gemel__plan_layout *l, int64_t *strides) {
  int shift = shape->rank - l->rank;
  for (int k = 0; k < shape->rank; k++) {
    int axis = gemel__layout_axis(shape, k);
    int absent = axis < shift || (l->shape[axis - shift] == 1 && shape->shape[axis] != 1);
    strides[k] = absent ? 0 : l->strides[axis - shift];
  }
}

static void collapse(cluster_builder *b) {
  const gemel__plan_layout *shape = b->cluster->shape;
  int64_t step = 1;
  for (int k = shape->rank - 1; k >= 0; k--) {
    b->sizes[k] = shape->shape[gemel__layout_axis(shape, k)];
    b->strides[0][k] = step;
    step *= b->sizes[k];
  }
  for (uint32_t k = 0; k < b->cluster->n_loads; k++) {
    spread(shape, b->cluster->loads[k].layout, b->strides[k + 1]);
  }
  int rows = 1 + (int)b->cluster->n_loads;
  for (uint32_t k = 0; k < b->cluster->n_members; k++) {
    const gemel__plan_place *place = &b->planner->places[b->cluster->members[k].value];
    if (place->buffer != NULL) {
      spread(shape, place->layout, b->strides[rows++]);
    }
  }
  b->loop->rank = gemel__collapse(shape->rank, b->sizes, rows, &b->strides[0][0], GEMEL_MAX_RANK);
}

/* 1 if ROW of the strides goes through elements of BYTES bytes without gaps. */
static int in_order(const cluster_builder *b, uint32_t row, size_t bytes) {
  int axis = 0;
  while (axis < b->loop->rank && b->strides[row][axis] == b->strides[0][axis] * (int64_t)bytes) {
    axis++;
  }
  return axis == b->loop->rank;
}

static gemel__load_kind load_kind(const cluster_builder *b, uint32_t load, size_t bytes) {
  const int64_t *strides = b->strides[load + 1];
  int last = b->loop->rank - 1, alike = 1; /* along all axes but the last */
  for (int axis = 0; axis < last; axis++) {
    alike &= strides[axis] == 0;
  }
  return in_order(b, load + 1, bytes)                ? GEMEL__LOAD_DIRECT
         : alike && (last < 0 || strides[last] == 0) ? GEMEL__LOAD_FIXED
         : alike && last > 0                         ? GEMEL__LOAD_ROW
                                                     : GEMEL__LOAD_GATHER;
}

/* *COPY = ROW of the strides. GEMEL_NO_MEMORY. */
static gemel_status copy_strides(const cluster_builder *b, uint32_t row, const int64_t **copy) {
  *copy = gemel__arena_copy(&b->planner->segment->meta, b->strides[row],
                            (size_t)b->loop->rank * sizeof **copy);
  return *copy != NULL ? GEMEL_OK : gemel__no_memory(b->planner->error, "a plan");
}

static gemel_status build_loads(cluster_builder *b) {
  uint32_t k;
  for (k = 0; k < b->cluster->n_loads; k++) {
    const gemel__cluster_load *from = &b->cluster->loads[k];
    gemel__load *to = &b->loop->loads[k];
    size_t bytes = gemel_dtype_size(from->layout->dtype);
    to->kind = (uint8_t)load_kind(b, k, bytes);
    to->element_bytes = (uint8_t)bytes;
    to->strides = NULL;
    if (to->kind == GEMEL__LOAD_GATHER || to->kind == GEMEL__LOAD_ROW) {
      GEMEL__TRY(copy_strides(b, k + 1, &to->strides));
    }
    if (gemel__fix(b->planner, &to->data, from->buffer, from->layout->offset) != 0) {
      return gemel__no_memory(b->planner->error, "a plan");
    }
    b->loads[k].dtype = from->layout->dtype;
    b->loads[k].raw = new_reg(b, to->kind == GEMEL__LOAD_DIRECT ? IN_OPERAND : IN_BUFFER, bytes);
    b->loads[k].wide = NONE;
    b->regs[b->loads[k].raw].keep = to->kind == GEMEL__LOAD_FIXED || to->kind == GEMEL__LOAD_ROW;
    b->regs[b->loads[k].raw].fixed = to->kind == GEMEL__LOAD_FIXED;
  }
  return GEMEL_OK;
}

/* ---- Members ---- */

/* The register that member K's result, raw, goes to; a result in memory is a store. */
static gemel_status result_reg(cluster_builder *b, uint32_t k, size_t bytes, uint16_t *made) {
  const gemel__plan_place *place = &b->planner->places[b->cluster->members[k].value];
  gemel__loop_store *store = &b->loop->stores[b->loop->n_stores];
  if (place->buffer == NULL) {
    *made = new_reg(b, IN_BUFFER, bytes);
    return GEMEL_OK;
  }
  uint32_t row = 1 + b->cluster->n_loads + b->loop->n_stores;
  store->element_bytes = (uint8_t)bytes;
  store->strides = NULL;
  if (!in_order(b, row, bytes)) {
    GEMEL__TRY(copy_strides(b, row, &store->strides));
  }
  store->streamed = store->strides == NULL && place->layout->bytes >= gemel__stream_bytes();
  *made = new_reg(b, store->streamed || store->strides != NULL ? IN_BUFFER : IN_OPERAND, bytes);
  b->regs[*made].keep = 1;
  store->slot = *made;
  b->loop->n_stores++;
  if (gemel__fix(b->planner, &store->data, place->buffer, place->layout->offset) != 0) {
    return gemel__no_memory(b->planner->error, "a plan");
  }
  return GEMEL_OK;
}

static gemel_status build_member(cluster_builder *b, uint32_t k) {
  const gemel__run_program *p = &b->planner->f->program;
  const gemel__member *m = &b->cluster->members[k];
  const gemel__scalar_row *row = p->ops[p->nodes[m->node].op].row;
  gemel_dtype result = value_dtype(p, m->value);
  int wide = !is_native(row) && is_half(result);
  uint16_t in[3], computed = NONE;
  cluster_operand *made = &b->members[k];
  uint32_t i;
  for (i = 0; i < m->n_in; i++) {
    cluster_operand *x = operand_of(b, m->in[i]);
    in[i] = !is_native(row) && is_half(x->dtype) ? widened(b, x) : x->raw;
  }
  made->dtype = result;
  made->wide = NONE;
  if (wide) {
    computed = new_reg(b, IN_BUFFER, sizeof(float));
    add_member_step(b, m->node, GEMEL_F32, computed, in, m->n_in);
  }
  GEMEL__TRY(result_reg(b, k, gemel_dtype_size(result), &made->raw));
  if (wide) {
    add_step(b, NULL, result == GEMEL_F16 ? narrow_f16 : narrow_bf16, made->raw, &computed, 1);
    made->wide = NONE;
  } else {
    add_member_step(b, m->node, result, made->raw, in, m->n_in);
  }
  return GEMEL_OK;
}

/* ---- Chains ---- */

/* How step K takes the value of register X on; GEMEL__CHAIN_SIDES if it doesn't. */
static gemel__chain_side side_of(const cluster_builder *b, int k, uint16_t x) {
  const gemel__step *s = &b->steps[k];
  int two = b->rows[k]->n_inputs == 2;
  if (s->in[0] == x) {
    return !two                      ? GEMEL__CHAIN_LEFT
           : s->in[1] == x           ? GEMEL__CHAIN_BOTH
           : b->regs[s->in[1]].fixed ? GEMEL__CHAIN_LEFT_FIXED
                                     : GEMEL__CHAIN_LEFT;
  }
  return !two || s->in[1] != x     ? GEMEL__CHAIN_SIDES
         : b->regs[s->in[0]].fixed ? GEMEL__CHAIN_RIGHT_FIXED
                                   : GEMEL__CHAIN_RIGHT;
}

/* The link for that; NULL if there is none. */
static gemel__chain_function link_of(const cluster_builder *b, int k, uint16_t x) {
  const gemel__scalar_row *row = b->rows[k];
  gemel__chain_side side;
  if (row == NULL || row->n_inputs > 2 || b->floats[k] == GEMEL_DTYPE_COUNT) {
    return NULL;
  }
  side = side_of(b, k, x);
  return side != GEMEL__CHAIN_SIDES ? gemel__chain_step(row, (gemel_dtype)b->floats[k], side)
                                    : NULL;
}

/* Readers of each register. */
static void count_reads(const cluster_builder *b, uint16_t *reads) {
  int k, i;
  memset(reads, 0, (size_t)b->n_regs * sizeof *reads);
  for (k = 0; k < b->n_steps; k++) {
    for (i = 0; i < (b->rows[k] != NULL ? b->rows[k]->n_inputs : 1); i++) {
      reads[b->steps[k].in[i]]++;
    }
  }
}

/* The operand of step K that a chain loads first: one that isn't the same everywhere, if it can. */
static uint16_t first_operand(const cluster_builder *b, int k) {
  const gemel__step *s = &b->steps[k];
  int two = b->rows[k] != NULL && b->rows[k]->n_inputs == 2;
  return two && b->regs[s->in[0]].fixed && !b->regs[s->in[1]].fixed ? s->in[1] : s->in[0];
}

/* The last step of the chain that begins at step FIRST: each hands its result to the next alone. */
static int chain_end(const cluster_builder *b, int first, const uint16_t *reads) {
  int k = first;
  if (link_of(b, k, first_operand(b, k)) == NULL) {
    return first;
  }
  while (k + 1 < b->n_steps && k + 1 - first < GEMEL__CHAIN_LINKS) {
    uint16_t out = b->steps[k].out;
    const gemel__step *next = &b->steps[k + 1];
    uint16_t inside =
        (uint16_t)((next->in[0] == out) +
                   (b->rows[k + 1] != NULL && b->rows[k + 1]->n_inputs > 1 && next->in[1] == out));
    if (b->regs[out].keep || reads[out] != inside || b->floats[k + 1] != b->floats[first] ||
        link_of(b, k + 1, out) == NULL) {
      break;
    }
    k++;
  }
  return k;
}

/* The links of steps FIRST to LAST; slots are registers still. */
static gemel__chain *build_chain(const cluster_builder *b, int first, int last) {
  gemel__chain *c = gemel__arena_alloc(&b->planner->segment->meta, sizeof *c);
  uint16_t start = first_operand(b, first), x = start;
  int k;
  if (c == NULL) {
    return NULL;
  }
  gemel__chain_begin(c, (gemel_dtype)b->floats[first], start);
  for (k = first; k <= last; k++) {
    const gemel__step *s = &b->steps[k];
    int two = b->rows[k]->n_inputs == 2;
    /* a step that needs nothing else is given the chain's first operand */
    uint16_t other = two && s->in[0] != x ? s->in[0] : two && s->in[1] != x ? s->in[1] : start;
    gemel__chain_append(c, link_of(b, k, x), other, other != x && b->regs[other].fixed);
    x = s->out;
  }
  gemel__chain_end(c, x);
  return c;
}

/* A chain writes a streamed result itself, unless a later step of the tile reads it. */
static int stream_from_chain(cluster_builder *b, uint16_t out, const uint16_t *reads) {
  uint32_t k;
  for (k = 0; k < b->loop->n_stores && reads[out] == 0; k++) {
    gemel__loop_store *store = &b->loop->stores[k];
    if (store->streamed && store->slot == out) {
      store->streamed = 0;
      b->regs[out].kind = IN_OPERAND;
      b->loop->fenced = 1;
      return 1;
    }
  }
  return 0;
}

/* 1 if a single step is worth a chain: one from memory past the cache to memory. */
static int pays_alone(const cluster_builder *b, int step, const uint16_t *reads) {
  const reg *out = &b->regs[b->steps[step].out];
  return out->kind == IN_BUFFER && out->keep && reads[b->steps[step].out] == 0 &&
         link_of(b, step, first_operand(b, step)) != NULL;
}

/* Puts one step in the place of each chain. */
static gemel_status build_chains(cluster_builder *b) {
  uint16_t reads[MAX_REGISTERS];
  int from = 0, to = 0, last;
  if (b->loop->elements < GEMEL__CHAIN_ELEMENTS) {
    return GEMEL_OK;
  }
  count_reads(b, reads);
  for (; from < b->n_steps; from = last + 1, to++) {
    gemel__step made = b->steps[from];
    last = chain_end(b, from, reads);
    if (last > from || pays_alone(b, from, reads)) {
      made.chain = build_chain(b, from, last);
      made.out = b->steps[last].out;
      if (made.chain == NULL) {
        return gemel__no_memory(b->planner->error, "a plan");
      }
      made.chain->streamed = stream_from_chain(b, made.out, reads);
    }
    b->steps[to] = made;
  }
  b->n_steps = to;
  return GEMEL_OK;
}

/* ---- Slots ---- */

static void reads_reg(cluster_builder *b, uint16_t r, int step) {
  b->regs[r].last = step;
}

static void writes_reg(cluster_builder *b, uint16_t r, int step) {
  b->regs[r].first = step;
  b->regs[r].last = step;
}

/* The steps between which each register is in use; those inside chains never are. */
static void find_lifetimes(cluster_builder *b) {
  int r, k;
  uint32_t i;
  for (r = 0; r < b->n_regs; r++) {
    b->regs[r].first = NEVER;
  }
  for (i = 0; i < b->loop->n_loads; i++) {
    writes_reg(b, b->loads[i].raw, AT_START);
  }
  for (k = 0; k < b->n_steps; k++) {
    const gemel__step *s = &b->steps[k];
    for (i = 0; s->chain != NULL && i + 1 < s->chain->n_links; i++) {
      reads_reg(b, s->chain->slots[i], k);
    }
    for (i = 0; s->chain == NULL && i < 3; i++) {
      reads_reg(b, s->in[i], k);
    }
    writes_reg(b, s->out, k);
  }
}

/* Registers in buffers get the lowest buffer that is free from their first to their last step. At
 * the step that reads a register last, its buffer may already take the result, if that is not
 * wider. What is kept has a buffer that nothing else ever has: a streamed result is still in it
 * when the next tile's operands are gathered. */
static void assign_buffers(cluster_builder *b) {
  int held_until[GEMEL__LOOP_SLOTS], n = 0, k, r;
  uint8_t width[GEMEL__LOOP_SLOTS];
  for (r = 0; r < b->n_regs; r++) {
    reg *x = &b->regs[r];
    if (x->kind != IN_BUFFER || x->first == NEVER) {
      continue;
    }
    for (k = x->keep ? n : 0; k < n; k++) {
      if (held_until[k] < x->first || (held_until[k] == x->first && width[k] >= x->bytes)) {
        break;
      }
    }
    n = k == n ? n + 1 : n;
    x->slot = (uint16_t)k;
    held_until[k] = x->keep ? MAX_STEPS : x->last;
    width[k] = x->bytes;
  }
  b->loop->n_buffers = (uint16_t)n;
}

/* Numbers what points into operands behind the buffers and replaces registers by slots. */
static void assign_slots(cluster_builder *b) {
  uint16_t next = b->loop->n_buffers;
  uint32_t k;
  int r, i;
  for (r = 0; r < b->n_regs; r++) {
    if (b->regs[r].kind == IN_OPERAND) {
      b->regs[r].slot = next++;
    }
  }
  for (k = 0; k < b->loop->n_loads; k++) {
    b->loop->loads[k].slot = b->regs[b->loads[k].raw].slot;
  }
  for (k = 0; k < b->loop->n_stores; k++) {
    b->loop->stores[k].slot = b->regs[b->loop->stores[k].slot].slot;
  }
  for (r = 0; r < b->n_steps; r++) {
    gemel__step *s = &b->steps[r];
    s->out = b->regs[s->out].slot;
    for (i = 0; i < 3; i++) {
      s->in[i] = b->regs[s->in[i]].slot;
    }
    for (k = 0; s->chain != NULL && k < s->chain->n_links; k++) {
      s->chain->slots[k] = b->regs[s->chain->slots[k]].slot;
    }
  }
}

static size_t widest(const cluster_builder *b) {
  size_t bytes = 1;
  int r;
  for (r = 0; r < b->n_regs; r++) {
    bytes = b->regs[r].bytes > bytes ? b->regs[r].bytes : bytes;
  }
  return bytes;
}

/* ---- The loop ---- */

gemel_status gemel__cluster_describe(gemel__planner *planner, const gemel__cluster *cluster,
                                     gemel__cluster_record *record) {
  uint32_t n = cluster->n_members, loads = cluster->n_loads, stores = 0, k;
  uint32_t *names = gemel__arena_alloc(&planner->segment->meta, (2 * n + loads) * sizeof *names);
  if (names == NULL) {
    return gemel__no_memory(planner->error, "a plan");
  }
  for (k = 0; k < loads; k++) {
    names[n + k] = cluster->loads[k].value;
  }
  for (k = 0; k < n; k++) {
    names[k] = cluster->members[k].node;
    if (planner->places[cluster->members[k].value].buffer != NULL) {
      names[n + loads + stores++] = cluster->members[k].value;
    }
  }
  *record = (gemel__cluster_record){.shape = cluster->shape,
                                    .n_members = n,
                                    .n_loads = loads,
                                    .n_stores = stores,
                                    .members = names,
                                    .loads = names + n,
                                    .stores = names + n + loads};
  return GEMEL_OK;
}

static gemel_status allocate(cluster_builder *b) {
  gemel__arena *meta = &b->planner->segment->meta;
  b->fused = gemel__arena_alloc(meta, sizeof *b->fused);
  if (b->fused == NULL) {
    return gemel__no_memory(b->planner->error, "a plan");
  }
  memset(b->fused, 0, sizeof *b->fused);
  if (gemel__cluster_describe(b->planner, b->cluster, &b->fused->cluster) != GEMEL_OK) {
    return GEMEL_NO_MEMORY;
  }
  b->loop = &b->fused->loop;
  b->loop->elements = b->cluster->shape->elements;
  b->loop->n_loads = b->cluster->n_loads;
  b->loop->loads = gemel__arena_alloc(meta, b->cluster->n_loads * sizeof *b->loop->loads);
  b->loop->stores = gemel__arena_alloc(meta, b->fused->cluster.n_stores * sizeof *b->loop->stores);
  if (b->loop->loads == NULL || b->loop->stores == NULL) {
    return gemel__no_memory(b->planner->error, "a plan");
  }
  return GEMEL_OK;
}

static gemel_status finish(cluster_builder *b) {
  gemel__arena *meta = &b->planner->segment->meta;
  gemel__loop *loop = b->loop;
  size_t bytes;
  if (build_chains(b) != GEMEL_OK) {
    return GEMEL_NO_MEMORY;
  }
  find_lifetimes(b);
  assign_buffers(b);
  assign_slots(b);
  loop->n_steps = (uint32_t)b->n_steps;
  loop->steps = gemel__arena_copy(meta, b->steps, (size_t)b->n_steps * sizeof *b->steps);
  loop->sizes = gemel__arena_copy(meta, b->sizes, (size_t)loop->rank * sizeof *b->sizes);
  if (loop->steps == NULL || loop->sizes == NULL) {
    return gemel__no_memory(b->planner->error, "a plan");
  }
  gemel__loop_tune(loop, b->planner->f->threads, widest(b));
  bytes = gemel__loop_scratch(loop) * (size_t)loop->threads;
  b->planner->scratch = bytes > b->planner->scratch ? bytes : b->planner->scratch;
  return gemel__emit(b->planner, (gemel__instr){.kind = GEMEL__INSTR_LOOP,
                                                .node = b->cluster->members[0].node,
                                                .loop = b->fused});
}

gemel_status gemel__cluster_build(gemel__planner *planner, gemel__cluster *cluster) {
  cluster_builder b;
  uint32_t k;
  if (cluster->shape->elements == 0) {
    return GEMEL_OK;
  }
  b.planner = planner;
  b.cluster = cluster;
  b.n_regs = b.n_steps = 0;
  GEMEL__TRY(allocate(&b));
  collapse(&b);
  GEMEL__TRY(build_loads(&b));
  for (k = 0; k < cluster->n_members; k++) {
    GEMEL__TRY(build_member(&b, k));
  }
  return finish(&b);
}
