/* SPDX-License-Identifier: MIT
 *
 * Memory for a kernel's calls. Each operand, each result, the scratch memory and what the kernel is
 * shown is a block of its own between guard pages. Inputs, views, shapes, strides and attributes
 * are read-only. Where a block doesn't fill its pages, the rest holds a known byte, which is
 * compared afterwards.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "device/kernels.h"
#include "tiers/kernel.h"

enum { GUARD_BYTES = 1 << 18, LINE = 64, SCRATCH_ALIGNMENT = 16 };

/* ---- Blocks ---- */

/* Makes a block of BYTES bytes for elements of SIZE, filled with GARBAGE. 0 bytes: only guard
 * pages. 0, or −1. */
static int block_new(gemel__block *b, const char *name, size_t bytes, size_t size, gemel__at at,
                     unsigned char garbage) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t lead = at == GEMEL__AT_ODD && bytes > 0 ? LINE + size : 0;
  size_t inner;
  memset(b, 0, sizeof *b);
  snprintf(b->name, sizeof b->name, "%s", name);
  if (bytes > SIZE_MAX / 4) {
    return -1;
  }
  inner = bytes > 0 ? (bytes + lead + page - 1) / page * page : 0;
  b->map_bytes = inner + 2 * (size_t)GUARD_BYTES;
  b->map = mmap(NULL, b->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (b->map == MAP_FAILED) {
    memset(b, 0, sizeof *b);
    return -1;
  }
  b->bytes = bytes;
  b->garbage = garbage;
  b->page = b->map + GUARD_BYTES;
  b->page_end = b->page + inner;
  b->data = at == GEMEL__AT_END ? b->page_end - (bytes + size - 1) / size * size : b->page + lead;
  if (inner > 0 && mprotect(b->page, inner, PROT_READ | PROT_WRITE) != 0) {
    munmap(b->map, b->map_bytes);
    memset(b, 0, sizeof *b);
    return -1;
  }
  memset(b->page, garbage, inner);
  return 0;
}

static void block_free(gemel__block *b) {
  if (b->map != NULL) {
    munmap(b->map, b->map_bytes);
  }
  memset(b, 0, sizeof *b);
}

static void block_protect(const gemel__block *b, int writable) {
  if (b->page_end > b->page) {
    mprotect(b->page, (size_t)(b->page_end - b->page),
             writable ? PROT_READ | PROT_WRITE : PROT_READ);
  }
}

static int holds(const char *from, const char *end, unsigned char byte) {
  while (from < end && (unsigned char)*from == byte) {
    from++;
  }
  return from >= end;
}

static int block_spoilt(const gemel__block *b) {
  return b->map != NULL && (!holds(b->page, b->data, b->garbage) ||
                            !holds(b->data + b->bytes, b->page_end, b->garbage));
}

/* Fills the whole block with GARBAGE. */
static void block_soil(gemel__block *b, unsigned char garbage) {
  b->garbage = garbage;
  if (b->page_end > b->page) {
    memset(b->page, garbage, (size_t)(b->page_end - b->page));
  }
}

/* ---- Layouts ---- */

/* Copies elements between ROWS, which is row-major, and DATA, which has STRIDES: to DATA, or (OUT)
 * from it. */
static void copy(const gemel__leaf *leaf, char *rows, char *data, const int64_t *strides, int out) {
  int64_t index[GEMEL_MAX_RANK] = {0}, at = 0;
  size_t size = gemel_dtype_size(leaf->dtype), n;
  int k;
  for (n = 0; n < leaf->count; n++) {
    memcpy(out ? rows + n * size : data + at, out ? data + at : rows + n * size, size);
    for (k = leaf->rank; k-- > 0;) {
      at += strides[k];
      if (++index[k] < leaf->shape[k]) {
        break;
      }
      at -= strides[k] * leaf->shape[k];
      index[k] = 0;
    }
  }
}

/* ---- Preparing ---- */

/* What the kernel is shown, in one read-only block. */
struct seen {
  gemel_view in[GEMEL_SAMPLE_MAX_INPUTS], out[GEMEL_SAMPLE_MAX_INPUTS];
  int64_t shapes[2 * GEMEL_SAMPLE_MAX_INPUTS][GEMEL_MAX_RANK];
  int64_t strides[2 * GEMEL_SAMPLE_MAX_INPUTS][GEMEL_MAX_RANK];
  gemel_attr attrs[GEMEL_SAMPLE_MAX_ATTRS * 2];
  uint64_t version[GEMEL_SAMPLE_MAX_INPUTS];
  const uint64_t *versions[GEMEL_SAMPLE_MAX_INPUTS];
};

static struct seen *seen_of(const gemel__kernel_prepared *p) {
  return (struct seen *)(void *)p->seen.data;
}

static void show_view(struct seen *s, gemel_view *view, size_t slot, const gemel__leaf *leaf) {
  memcpy(s->shapes[slot], leaf->shape, sizeof s->shapes[slot]);
  view->dtype = leaf->dtype;
  view->rank = leaf->rank;
  view->shape = s->shapes[slot];
  view->strides = s->strides[slot];
  view->data = NULL;
}

static void show(gemel__kernel_prepared *p) {
  const gemel__kernel_case *c = p->c;
  struct seen *s = seen_of(p);
  size_t k, offset;
  for (k = 0; k < c->n_in; k++) {
    show_view(s, &s->in[k], k, &c->in[k]);
    gemel__kernel_strides(c, k, p->v->lie, p->seed, s->strides[k], &offset);
  }
  for (k = 0; k < c->n_out; k++) {
    show_view(s, &s->out[k], GEMEL_SAMPLE_MAX_INPUTS + k, &c->out[k]);
    gemel__kernel_result_strides(&c->out[k], 0, s->strides[GEMEL_SAMPLE_MAX_INPUTS + k]);
  }
  memcpy(s->attrs, c->attrs, c->n_attrs * sizeof *c->attrs);
}

/* Gives the results channels last, if the operation's record asks for it. */
static void follow_channels(gemel__kernel_prepared *p, const gemel_kernel_call *call) {
  const gemel__kernel_case *c = p->c;
  if (p->v->lie != GEMEL__LIE_CHANNELS || c->record->channels_last == NULL ||
      !c->record->channels_last(call)) {
    return;
  }
  for (size_t k = 0; k < c->n_out; k++) {
    gemel__kernel_result_strides(&c->out[k], 1, seen_of(p)->strides[GEMEL_SAMPLE_MAX_INPUTS + k]);
  }
}

/* Gives versions to the inputs that the variant names. In a compiled function all, some or none
 * have one. */
static void show_versions(gemel__kernel_prepared *p, gemel_kernel_call *call) {
  struct seen *s = seen_of(p);
  for (size_t k = 0; k < p->c->n_in; k++) {
    s->version[k] = p->version[k] = 1;
    s->versions[k] = p->v->versions >> k & 1 ? &s->version[k] : NULL;
    call->versions = s->versions[k] != NULL ? s->versions : call->versions;
  }
}

static void fill_call(gemel__kernel_prepared *p, gemel_kernel_call *call) {
  struct seen *s = seen_of(p);
  gemel__kernel_call_init(call, p->c->record, &gemel__host_device, s->attrs, &p->error);
  call->n_inputs = p->c->n_in;
  call->inputs = s->in;
  call->n_outputs = p->c->n_out;
  call->outputs = s->out;
  call->threads = p->v->threads;
  call->deterministic = p->v->deterministic;
  call->prepared = p->prepared.data;
  follow_channels(p, call);
  show_versions(p, call);
  block_protect(&p->seen, 0);
}

int gemel__kernel_prepare(gemel__kernel_prepared *p, const gemel__kernel_case *c,
                          const gemel__kernel_variant *v, uint64_t seed, gemel_status *status) {
  /* `prepare` gets another gemel_kernel_call than `run`, as in a compiled function */
  gemel_kernel_call call;
  memset(p, 0, sizeof *p);
  p->c = c;
  p->v = v;
  p->seed = seed;
  *status = GEMEL_NO_MEMORY;
  if (block_new(&p->seen, "views", sizeof(struct seen), 16, GEMEL__AT_END, 0) != 0 ||
      block_new(&p->prepared, "call->prepared", GEMEL_KERNEL_PREPARED_BYTES, 16, GEMEL__AT_END,
                0) != 0) {
    return -1;
  }
  show(p);
  fill_call(p, &call);
  *status = gemel__call_prepare(&call, c->kernel);
  p->call = call;
  memset(&call, 0x5a, sizeof call);
  if (*status != GEMEL_OK) {
    p->call.release = NULL;
  }
  return 0;
}

void gemel__kernel_release(gemel__kernel_prepared *p) {
  if (p->call.release != NULL) {
    p->call.release(p->prepared.data);
  }
  p->call.release = NULL;
  block_free(&p->prepared);
  block_free(&p->seen);
}

/* ---- Calling ---- */

static void put_values(const gemel__kernel_prepared *p, size_t k, const void *values, char *to) {
  const gemel__leaf *leaf = &p->c->in[k];
  int64_t strides[GEMEL_MAX_RANK];
  size_t offset;
  if (p->v->lie == GEMEL__LIE_DENSE) {
    memcpy(to, values, leaf->count * gemel_dtype_size(leaf->dtype));
  } else {
    gemel__kernel_strides(p->c, k, p->v->lie, p->seed, strides, &offset);
    copy(leaf, (char *)(uintptr_t)values, to, strides, 0);
  }
}

/* SHARING (may be NULL): an input that overlaps another gets no block. */
static int new_input(gemel__kernel_memory *m, const gemel__kernel_prepared *p, size_t k,
                     const gemel__sharing *sharing) {
  const gemel__leaf *leaf = &p->c->in[k];
  int64_t strides[GEMEL_MAX_RANK];
  char name[12];
  size_t offset, size = gemel_dtype_size(leaf->dtype);
  size_t span = gemel__kernel_strides(p->c, k, p->v->lie, p->seed, strides, &offset);
  if (sharing != NULL && sharing->with == k) {
    m->at[k] = m->at[sharing->of] + sharing->shift * size;
    return 0;
  }
  if (sharing != NULL && sharing->of == k) {
    size_t behind = (sharing->shift + p->c->in[sharing->with].count) * size;
    span = behind > span ? behind : span;
  }
  snprintf(name, sizeof name, "x%zu", k % 100);
  if (block_new(&m->in[k], name, span, size, p->v->at, p->v->garbage) != 0) {
    return -1;
  }
  m->in[k].is_input = 1;
  m->at[k] = m->in[k].data + offset;
  return 0;
}

static int new_inputs(gemel__kernel_memory *m, const gemel__kernel_prepared *p) {
  gemel__sharing sharing;
  int shared = p->v->lie == GEMEL__LIE_SHARED && gemel__kernel_sharing(p->c, &sharing), failed = 0;
  for (size_t k = 0; k < p->c->n_in && !failed; k++) {
    failed = new_input(m, p, k, shared ? &sharing : NULL) != 0;
  }
  return failed;
}

void gemel__kernel_memory_fill(gemel__kernel_memory *m, const gemel__kernel_prepared *p,
                               const void *const *values) {
  for (size_t k = 0; k < p->c->n_in; k++) {
    block_protect(&m->in[k], 1);
  }
  for (size_t k = 0; k < p->c->n_in; k++) {
    put_values(p, k, values[k], m->at[k]);
  }
  for (size_t k = 0; k < p->c->n_in; k++) {
    if (m->in_place != k + 1) {
      block_protect(&m->in[k], 0);
    }
  }
}

int gemel__kernel_memory_new(gemel__kernel_memory *m, gemel__kernel_prepared *p,
                             const void *const *values) {
  const gemel__kernel_case *c = p->c;
  char name[12];
  memset(m, 0, sizeof *m);
  m->in_place = p->v->lie == GEMEL__LIE_IN_PLACE ? gemel__kernel_in_place(c) : 0;
  int failed = new_inputs(m, p);
  if (!failed) {
    gemel__kernel_memory_fill(m, p, values);
  }
  for (size_t k = m->in_place > 0; k < c->n_out && !failed; k++) {
    size_t size = gemel_dtype_size(c->out[k].dtype);
    snprintf(name, sizeof name, "y%zu", k % 100);
    failed = block_new(&m->out[k], name, c->out[k].count * size, size, p->v->at, 0) != 0;
  }
  if (!failed && p->call.scratch_bytes > 0) {
    failed = block_new(&m->scratch, "the scratch", p->call.scratch_bytes, SCRATCH_ALIGNMENT,
                       p->v->at == GEMEL__AT_ODD ? GEMEL__AT_END : p->v->at, 0) != 0;
  }
  return failed ? -1 : 0;
}

void gemel__kernel_memory_free(gemel__kernel_memory *m) {
  for (size_t k = 0; k < GEMEL_SAMPLE_MAX_INPUTS; k++) {
    block_free(&m->in[k]);
    block_free(&m->out[k]);
  }
  block_free(&m->scratch);
}

static char *result_of(const gemel__kernel_memory *m, size_t k) {
  return m->in_place > 0 && k == 0 ? m->at[m->in_place - 1] : m->out[k].data;
}

gemel_status gemel__kernel_call(gemel__kernel_prepared *p, gemel__kernel_memory *m,
                                unsigned char garbage) {
  gemel_kernel_call call = p->call;
  struct seen *s = seen_of(p);
  size_t k;
  block_protect(&p->seen, 1);
  for (k = 0; k < p->c->n_in; k++) {
    s->in[k].data = m->at[k];
    s->version[k] = p->version[k];
  }
  for (k = 0; k < p->c->n_out; k++) {
    s->out[k].data = result_of(m, k);
    block_soil(&m->out[k], garbage);
  }
  block_protect(&p->seen, 0);
  block_soil(&m->scratch, garbage);
  call.scratch = m->scratch.data;
  p->error.status = GEMEL_OK;
  p->error.text[0] = '\0';
  return gemel__call_runner(&call, p->c->kernel)(&call);
}

const gemel__block *gemel__kernel_memory_spoilt(const gemel__kernel_prepared *p,
                                                const gemel__kernel_memory *m) {
  size_t k;
  for (k = 0; k < p->c->n_out; k++) {
    if (block_spoilt(&m->out[k])) {
      return &m->out[k];
    }
  }
  if (m->in_place > 0 && block_spoilt(&m->in[m->in_place - 1])) {
    return &m->in[m->in_place - 1];
  }
  if (block_spoilt(&m->scratch)) {
    return &m->scratch;
  }
  return block_spoilt(&p->prepared) ? &p->prepared : NULL;
}

void gemel__kernel_memory_results(const gemel__kernel_prepared *p, const gemel__kernel_memory *m,
                                  char *row) {
  for (size_t k = 0; k < p->c->n_out; k++) {
    const gemel__leaf *leaf = &p->c->out[k];
    char *to = row + p->c->out_at[k], *from = result_of(m, k);
    if (p->v->lie == GEMEL__LIE_CHANNELS) {
      copy(leaf, to, from, seen_of(p)->strides[GEMEL_SAMPLE_MAX_INPUTS + k], 1);
    } else {
      memcpy(to, from, leaf->count * gemel_dtype_size(leaf->dtype));
    }
  }
}

/* ---- Signals ---- */

static int explain_block(const gemel__block *b, const char *at, char *text, size_t bytes) {
  if (b->map == NULL || at < b->map || at >= b->map + b->map_bytes) {
    return 0;
  }
  if (at >= b->page && at < b->page_end) {
    snprintf(text, bytes, "it wrote to %s, which is %s", b->name,
             b->is_input ? "an input" : "not its to change");
  } else if (at >= b->data + b->bytes) {
    snprintf(text, bytes, "it touched memory %zu bytes behind the end of %s",
             (size_t)(at - (b->data + b->bytes)), b->name);
  } else {
    snprintf(text, bytes, "it touched memory %zu bytes before the start of %s",
             (size_t)(b->data - at), b->name);
  }
  return 1;
}

int gemel__kernel_memory_explain(const gemel__kernel_prepared *p, const gemel__kernel_memory *m,
                                 const void *address, char *text, size_t bytes) {
  size_t k;
  int found = 0;
  if (p != NULL) {
    found = explain_block(&p->prepared, address, text, bytes) ||
            explain_block(&p->seen, address, text, bytes);
  }
  for (k = 0; m != NULL && k < GEMEL_SAMPLE_MAX_INPUTS && !found; k++) {
    found = explain_block(&m->in[k], address, text, bytes) ||
            explain_block(&m->out[k], address, text, bytes);
  }
  if (!found && m != NULL) {
    found = explain_block(&m->scratch, address, text, bytes);
  }
  if (!found && address != NULL && (uintptr_t)address < 4096) {
    snprintf(text, bytes, "it touched address %zu, near NULL", (size_t)(uintptr_t)address);
  } else if (!found) {
    snprintf(text, bytes, "it touched memory that isn't its own");
  }
  return found;
}
