/* SPDX-License-Identifier: MIT
 *
 * Dims: the tables in which their parts are interned, and the public functions. How a normal form
 * looks is said in dims.h, how it is computed in dims-normal.c. Interning happens under the
 * context's lock; what an id stands for never moves and never changes, so it is read without.
 */
#include <string.h>
#include "core/dims.h"
#include "core/error.h"
#include "core/alloc.h"

/* ---- Tables ---- */

struct gemel__dims *gemel__dims_new(void) {
  struct gemel__dims *dims = (struct gemel__dims *)gemel__alloc_zeroed(sizeof *dims);
  if (!dims) {
    return NULL;
  }
  dims->atoms.element_bytes = sizeof(gemel__dim_atom);
  dims->monos.element_bytes = sizeof(gemel__mono);
  dims->dims.element_bytes = sizeof(gemel__dim);
  if (!gemel__stable_push(&dims->atoms) || !gemel__stable_push(&dims->monos) ||
      !gemel__stable_push(&dims->dims) || gemel__mono_intern(dims, NULL, 0) != GEMEL__MONO_ONE) {
    gemel__dims_free(dims);
    return NULL;
  }
  return dims;
}

void gemel__dims_free(struct gemel__dims *dims) {
  if (!dims) {
    return;
  }
  gemel__stable_clear(&dims->atoms);
  gemel__stable_clear(&dims->monos);
  gemel__stable_clear(&dims->dims);
  gemel__idtable_clear(&dims->atom_table);
  gemel__idtable_clear(&dims->mono_table);
  gemel__idtable_clear(&dims->dim_table);
  gemel__arena_clear(&dims->arena);
  gemel__free(dims, sizeof *dims);
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

static uint64_t hash_text(const char *text) {
  uint64_t hash = 14695981039346656037u;
  for (; text && *text; text++) {
    hash = (hash ^ (unsigned char)*text) * 1099511628211u;
  }
  return hash;
}

/* What an item of a table is compared with. */
typedef struct probe {
  const struct gemel__dims *dims;
  const void *key;
} probe;

unsigned gemel__dim_memory_failures(gemel_context *context) {
  return atomic_load(&context->dims->memory_failures);
}

void gemel__dim_count_memory_failure(gemel_context *context) {
  atomic_fetch_add(&context->dims->memory_failures, 1);
}

/* Counts a failed allocation; returns 0, the id of nothing. */
static uint32_t no_room(struct gemel__dims *dims) {
  atomic_fetch_add(&dims->memory_failures, 1);
  return 0;
}

/* Copies into the arena what belongs to an item; NULL when memory is out. */
static const void *keep(struct gemel__dims *dims, const void *data, size_t bytes) {
  const void *copy = gemel__arena_copy(&dims->arena, data, bytes);
  if (!copy) {
    no_room(dims);
  }
  return copy;
}

/* Gives FACTS its text (of BYTES bytes; negative: too long) and hash. */
static int set_facts(struct gemel__dims *dims, gemel__dim_facts *facts, const char *text, int bytes,
                     uint64_t hash) {
  if (bytes < 0 || facts->depth > GEMEL__DIM_DEPTH) {
    return -1;
  }
  facts->text = (const char *)keep(dims, text, (size_t)bytes + 1);
  facts->text_bytes = (uint16_t)bytes;
  facts->hash = (uint32_t)hash;
  return facts->text ? 0 : -1;
}

/* Folds the depth and the runtime flag of a part into those of the whole. */
static void absorb(gemel__dim_facts *whole, const gemel__dim_facts *part, int deeper) {
  int depth = part->depth + deeper;
  if (depth > whole->depth) {
    whole->depth = (uint8_t)depth;
  }
  whole->runtime |= part->runtime;
}

/* ---- Dims ---- */

static int same_dim(const void *user, uint32_t id) {
  const probe *p = (const probe *)user;
  const gemel__poly *key = (const gemel__poly *)p->key;
  const gemel__dim *dim = gemel__dim_at(p->dims, (gemel_dim){id});
  if (dim->count != key->count) {
    return 0;
  }
  for (uint32_t k = 0; k < key->count; k++) {
    if (dim->terms[k].mono != key->terms[k].mono ||
        dim->terms[k].coefficient != key->terms[k].coefficient) {
      return 0;
    }
  }
  return 1;
}

static uint64_t dim_hash_of(const void *user, uint32_t id) {
  return gemel__dim_at((const struct gemel__dims *)user, (gemel_dim){id})->facts.hash;
}

/* Fills in DIM, all but its place in the table. */
static int describe_dim(struct gemel__dims *dims, const gemel__poly *poly, uint64_t hash,
                        gemel__dim *dim) {
  char text[GEMEL__DIM_TEXT + 1];
  for (uint32_t k = 0; k < poly->count; k++) {
    absorb(&dim->facts, &gemel__mono_at(dims, poly->terms[k].mono)->facts, 0);
  }
  if (set_facts(dims, &dim->facts, text, gemel__poly_text(dims, poly, text), hash)) {
    return -1;
  }
  dim->facts.bounds = gemel__poly_bounds(dims, poly);
  dim->count = poly->count;
  if (poly->count > 1) {
    dim->terms =
        (const gemel__dim_term *)keep(dims, poly->terms, poly->count * sizeof *poly->terms);
    return dim->terms ? 0 : -1;
  }
  dim->only = poly->count ? poly->terms[0] : (gemel__dim_term){0, 0};
  return 0;
}

gemel_dim gemel__dim_intern(struct gemel__dims *dims, const gemel__poly *poly) {
  probe key = {dims, poly};
  uint64_t hash = 1;
  gemel__dim dim = {0};
  for (uint32_t k = 0; k < poly->count; k++) {
    hash = mix(mix(hash, poly->terms[k].mono), (uint64_t)poly->terms[k].coefficient);
  }
  hash = (uint32_t)hash;
  gemel_dim id = {gemel__idtable_find(&dims->dim_table, hash, same_dim, &key)};
  if (!gemel_dim_is_none(id)) {
    return id;
  }
  if (describe_dim(dims, poly, hash, &dim)) {
    return GEMEL_DIM_NONE;
  }
  gemel__dim *stored = (gemel__dim *)gemel__stable_push(&dims->dims);
  if (!stored) {
    return (gemel_dim){no_room(dims)};
  }
  id.id = dims->dims.count - 1;
  *stored = dim;
  if (stored->count < 2) {
    stored->terms = &stored->only;
  }
  if (gemel__idtable_add(&dims->dim_table, hash, id.id, dim_hash_of, dims)) {
    id.id = no_room(dims);
  }
  return id;
}

/* ---- Monomials ---- */

static int same_mono(const void *user, uint32_t id) {
  const probe *p = (const probe *)user;
  const gemel__mono *key = (const gemel__mono *)p->key;
  const gemel__mono *mono = gemel__mono_at(p->dims, id);
  if (mono->count != key->count) {
    return 0;
  }
  for (uint32_t k = 0; k < key->count; k++) {
    if (mono->factors[k].atom != key->factors[k].atom ||
        mono->factors[k].power != key->factors[k].power) {
      return 0;
    }
  }
  return 1;
}

static uint64_t mono_hash_of(const void *user, uint32_t id) {
  return gemel__mono_at((const struct gemel__dims *)user, id)->facts.hash;
}

static int describe_mono(struct gemel__dims *dims, uint64_t hash, gemel__mono *mono) {
  char text[GEMEL__DIM_TEXT + 1];
  for (uint32_t k = 0; k < mono->count; k++) {
    absorb(&mono->facts, &gemel__dim_atom_at(dims, mono->factors[k].atom)->facts, 0);
    mono->degree += mono->factors[k].power;
  }
  if (mono->degree > GEMEL__DIM_DEGREE ||
      set_facts(dims, &mono->facts, text, gemel__mono_text(dims, mono, text), hash)) {
    return -1;
  }
  mono->facts.bounds = gemel__mono_bounds(dims, mono);
  mono->factors =
      (const gemel__dim_factor *)keep(dims, mono->factors, mono->count * sizeof *mono->factors);
  return mono->factors ? 0 : -1;
}

uint32_t gemel__mono_intern(struct gemel__dims *dims, const gemel__dim_factor *factors,
                            uint32_t count) {
  static const gemel__dim_factor nothing;
  gemel__mono mono = {.count = count, .factors = count ? factors : &nothing};
  probe key = {dims, &mono};
  uint64_t hash = 2;
  for (uint32_t k = 0; k < count; k++) {
    hash = mix(mix(hash, factors[k].atom), factors[k].power);
  }
  hash = (uint32_t)hash;
  uint32_t id = gemel__idtable_find(&dims->mono_table, hash, same_mono, &key);
  if (id) {
    return id;
  }
  if (describe_mono(dims, hash, &mono)) {
    return 0;
  }
  gemel__mono *stored = (gemel__mono *)gemel__stable_push(&dims->monos);
  if (!stored) {
    return no_room(dims);
  }
  *stored = mono;
  id = dims->monos.count - 1;
  return gemel__idtable_add(&dims->mono_table, hash, id, mono_hash_of, dims) ? no_room(dims) : id;
}

/* ---- Atoms ---- */

static int same_atom(const void *user, uint32_t id) {
  const probe *p = (const probe *)user;
  const gemel__dim_atom *key = (const gemel__dim_atom *)p->key;
  const gemel__dim_atom *atom = gemel__dim_atom_at(p->dims, id);
  if (atom->kind != key->kind || atom->a != key->a || atom->b != key->b ||
      atom->count != key->count) {
    return 0;
  }
  if (key->count && memcmp(atom->list, key->list, key->count * sizeof *key->list)) {
    return 0;
  }
  return !key->name || !strcmp(atom->name, key->name);
}

static uint64_t atom_hash_of(const void *user, uint32_t id) {
  return gemel__dim_atom_at((const struct gemel__dims *)user, id)->facts.hash;
}

static int describe_atom(struct gemel__dims *dims, uint64_t hash, gemel__dim_atom *atom) {
  char text[GEMEL__DIM_TEXT + 1];
  atom->facts.runtime = atom->kind == GEMEL__ATOM_VALUE || atom->kind == GEMEL__ATOM_INPUT;
  if (atom->kind == GEMEL__ATOM_QUOTIENT) {
    absorb(&atom->facts, &gemel__dim_at(dims, gemel__dividend(atom))->facts, 1);
    absorb(&atom->facts, &gemel__dim_at(dims, gemel__divisor(atom))->facts, 1);
  }
  for (uint32_t k = 0; k < atom->count; k++) {
    absorb(&atom->facts, &gemel__dim_at(dims, atom->list[k])->facts, 1);
  }
  if (set_facts(dims, &atom->facts, text, gemel__atom_text(dims, atom, text), hash)) {
    return -1;
  }
  atom->facts.bounds = gemel__atom_bounds(dims, atom);
  if (atom->name) {
    atom->name = atom->facts.text;
  }
  if (atom->count) {
    atom->list = (const gemel_dim *)keep(dims, atom->list, atom->count * sizeof *atom->list);
    return atom->list ? 0 : -1;
  }
  return 0;
}

uint32_t gemel__atom_intern(struct gemel__dims *dims, const gemel__dim_atom *wanted) {
  gemel__dim_atom atom = *wanted;
  probe key = {dims, &atom};
  uint64_t hash = mix(mix(mix(3, (uint64_t)atom.kind), atom.a), atom.b);
  hash = mix(hash, hash_text(atom.name));
  for (uint32_t k = 0; k < atom.count; k++) {
    hash = mix(hash, atom.list[k].id);
  }
  hash = (uint32_t)hash;
  uint32_t id = gemel__idtable_find(&dims->atom_table, hash, same_atom, &key);
  if (id) {
    return id;
  }
  if (describe_atom(dims, hash, &atom)) {
    return 0;
  }
  gemel__dim_atom *stored = (gemel__dim_atom *)gemel__stable_push(&dims->atoms);
  if (!stored) {
    return no_room(dims);
  }
  *stored = atom;
  id = dims->atoms.count - 1;
  return gemel__idtable_add(&dims->atom_table, hash, id, atom_hash_of, dims) ? no_room(dims) : id;
}

/* ---- Public: leaves ---- */

int gemel__dim_exists(gemel_context *context, gemel_dim dim) {
  return context && !gemel_dim_is_none(dim) && gemel__stable_has(&context->dims->dims, dim.id);
}

gemel_dim gemel_dim_constant(gemel_context *context, int64_t value) {
  struct gemel__dims *dims = context ? context->dims : NULL;
  int small = value >= 0 && value < GEMEL__DIM_SMALL;
  if (!dims) {
    return GEMEL_DIM_NONE;
  }
  if (small) {
    gemel_dim known = {atomic_load_explicit(&dims->small[value], memory_order_acquire)};
    if (!gemel_dim_is_none(known)) {
      return known;
    }
  }
  gemel__poly poly;
  poly.count = value != 0;
  poly.terms[0] = (gemel__dim_term){value, GEMEL__MONO_ONE};
  pthread_mutex_lock(&context->lock);
  gemel_dim dim = gemel__dim_intern(dims, &poly);
  if (small) {
    atomic_store_explicit(&dims->small[value], dim.id, memory_order_release);
  }
  pthread_mutex_unlock(&context->lock);
  return dim;
}

/* The dim that is ATOM by itself. */
static gemel_dim lone_atom(gemel_context *context, const gemel__dim_atom *atom) {
  gemel_dim dim = GEMEL_DIM_NONE;
  gemel__poly poly;
  pthread_mutex_lock(&context->lock);
  gemel__dim_factor factor = {gemel__atom_intern(context->dims, atom), 1};
  uint32_t mono = factor.atom ? gemel__mono_intern(context->dims, &factor, 1) : 0;
  if (mono) {
    poly.count = 1;
    poly.terms[0] = (gemel__dim_term){1, mono};
    dim = gemel__dim_intern(context->dims, &poly);
  }
  pthread_mutex_unlock(&context->lock);
  return dim;
}

static int is_name(const char *text) {
  if (!text || (*text >= '0' && *text <= '9')) {
    return 0;
  }
  size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  return n > 0 && text[n] == 0 && n <= GEMEL__DIM_TEXT;
}

gemel_dim gemel_dim_symbol(gemel_context *context, const char *name) {
  gemel__dim_atom atom = {.kind = GEMEL__ATOM_SYMBOL, .name = name};
  return context && is_name(name) ? lone_atom(context, &atom) : GEMEL_DIM_NONE;
}

gemel_dim gemel__dim_value(gemel_context *context, uint32_t node, uint32_t output) {
  gemel__dim_atom atom = {.kind = GEMEL__ATOM_VALUE, .a = node, .b = output};
  return lone_atom(context, &atom);
}

gemel_dim gemel__dim_input(gemel_context *context, uint32_t k) {
  gemel__dim_atom atom = {.kind = GEMEL__ATOM_INPUT, .a = k};
  return lone_atom(context, &atom);
}

/* ---- Public: arithmetic ---- */

typedef enum operator_kind { OP_ADD, OP_SUB, OP_MUL, OP_FLOORDIV } operator_kind;

static gemel_dim constants(gemel_context *context, operator_kind op, int64_t a, int64_t b) {
  int64_t r = 0;
  int over = 0;
  switch (op) {
  case OP_ADD:
    over = __builtin_add_overflow(a, b, &r);
    break;
  case OP_SUB:
    over = __builtin_sub_overflow(a, b, &r);
    break;
  case OP_MUL:
    over = __builtin_mul_overflow(a, b, &r);
    break;
  case OP_FLOORDIV:
    over = b == 0 || (b == -1 && a == INT64_MIN);
    r = over ? 0 : gemel__floor_quotient(a, b);
    break;
  }
  return over ? GEMEL_DIM_NONE : gemel_dim_constant(context, r);
}

static int combine(struct gemel__dims *dims, operator_kind op, gemel_dim a, gemel_dim b,
                   gemel__poly *result) {
  gemel__poly left, right;
  gemel__poly_load(dims, a, &left);
  gemel__poly_load(dims, b, &right);
  switch (op) {
  case OP_ADD:
  case OP_SUB:
    return gemel__poly_combine(&left, &right, op == OP_ADD ? 1 : -1, result);
  case OP_MUL:
    return gemel__poly_multiply(dims, &left, &right, result);
  default:
    return gemel__poly_floordiv(dims, &left, &right, result);
  }
}

static gemel_dim binary(gemel_context *context, operator_kind op, gemel_dim a, gemel_dim b) {
  int64_t left, right;
  gemel__poly result;
  if (!gemel__dim_exists(context, a) || !gemel__dim_exists(context, b)) {
    return GEMEL_DIM_NONE;
  }
  if (gemel__dim_constant_of(gemel__dim_at(context->dims, a), &left) &
      gemel__dim_constant_of(gemel__dim_at(context->dims, b), &right)) {
    return constants(context, op, left, right);
  }
  pthread_mutex_lock(&context->lock);
  gemel_dim dim = combine(context->dims, op, a, b, &result)
                      ? GEMEL_DIM_NONE
                      : gemel__dim_intern(context->dims, &result);
  pthread_mutex_unlock(&context->lock);
  return dim;
}

gemel_dim gemel_dim_add(gemel_context *context, gemel_dim a, gemel_dim b) {
  return binary(context, OP_ADD, a, b);
}
gemel_dim gemel_dim_sub(gemel_context *context, gemel_dim a, gemel_dim b) {
  return binary(context, OP_SUB, a, b);
}
gemel_dim gemel_dim_mul(gemel_context *context, gemel_dim a, gemel_dim b) {
  return binary(context, OP_MUL, a, b);
}
gemel_dim gemel_dim_floordiv(gemel_context *context, gemel_dim a, gemel_dim b) {
  return binary(context, OP_FLOORDIV, a, b);
}

static gemel_dim extreme(gemel_context *context, int kind, gemel_dim a, gemel_dim b) {
  if (!gemel__dim_exists(context, a) || !gemel__dim_exists(context, b)) {
    return GEMEL_DIM_NONE;
  }
  pthread_mutex_lock(&context->lock);
  gemel_dim dim = gemel__dim_extreme(context->dims, kind, a, b);
  pthread_mutex_unlock(&context->lock);
  return dim;
}

gemel_dim gemel_dim_min(gemel_context *context, gemel_dim a, gemel_dim b) {
  return extreme(context, GEMEL__ATOM_MIN, a, b);
}
gemel_dim gemel_dim_max(gemel_context *context, gemel_dim a, gemel_dim b) {
  return extreme(context, GEMEL__ATOM_MAX, a, b);
}

/* ---- Public: looking ---- */

int gemel_dim_is_constant(gemel_context *context, gemel_dim dim, int64_t *value) {
  int64_t found;
  if (!gemel__dim_exists(context, dim) ||
      !gemel__dim_constant_of(gemel__dim_at(context->dims, dim), &found)) {
    return 0;
  }
  if (value != NULL) {
    *value = found;
  }
  return 1;
}

size_t gemel_dim_format(gemel_context *context, gemel_dim dim, char *text, size_t bytes) {
  const char *source =
      gemel__dim_exists(context, dim) ? gemel__dim_at(context->dims, dim)->facts.text : "?";
  size_t length = strlen(source);
  if (bytes && text != NULL) {
    size_t n = length < bytes ? length : bytes - 1;
    memcpy(text, source, n);
    text[n] = 0;
  }
  return length;
}

int gemel__dim_has_runtime(gemel_context *context, gemel_dim dim) {
  return !gemel_dim_is_none(dim) && gemel__dim_at(context->dims, dim)->facts.runtime;
}
