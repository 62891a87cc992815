/* SPDX-License-Identifier: MIT
 *
 * Random numbers as values: random_bits, random_uniform and random_normal. An operation is given a
 * key, u64[2], and gives numbers that are a function of the key alone, and the next key, in which
 * the second number is one more. Nothing is hidden, so equal calls are one node, and who wants
 * other numbers gives another key.
 *
 * The first of a key's numbers chooses one of 2^64 generators, the second one of its 2^64 streams:
 * of bytes, in blocks of 16, of which each is computed from its place alone (random-kernels.c). An
 * element of random_bits takes as many bytes as its dtype has; a float takes eight if it is an f64
 * and four otherwise. So threads take pieces of the stream, and however many there are, and
 * whatever the instruction set, the numbers are the same.
 */
#include "ops/random.h"

#include <string.h>
#include "core/dtype.h"
#include "core/error.h"
#include "ops/facts.h"
#include "ops/rule.h"

/* ---- Type rules ---- */

static gemel_status check_key(const gemel_infer *call) {
  int rank;
  int64_t size = 2;
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  if (gemel__rule_dtype(call, 0) != GEMEL_U64 || rank != 1 ||
      (gemel_dim_is_constant(call->context, dims[0], &size) && size != 2)) {
    return gemel__rule_fail(call, GEMEL_BAD_TYPE, "a key is u64[2]");
  }
  return GEMEL_OK;
}

/* Numbers of the shape and dtype that attributes say, and the next key. */
static gemel_status infer_numbers(gemel_infer *call) {
  gemel_dim dims[GEMEL_MAX_RANK], two = gemel_dim_constant(call->context, 2);
  GEMEL__TRY(check_key(call));
  GEMEL__TRY(gemel__rule_sizes(call, 1));
  GEMEL__TRY(gemel__rule_dims(call, &call->attrs[0], dims));
  GEMEL__TRY(gemel__rule_result(call, call->attrs[1].u.dtype, (int)call->attrs[0].count, dims));
  call->n_outputs = 2;
  call->outputs[1] = gemel_type_new(call->context, GEMEL_U64, 1, &two,
                                    gemel_type_space(call->context, call->inputs[0]));
  return gemel_type_is_none(call->outputs[1]) ? gemel__no_memory(call->error, "a type") : GEMEL_OK;
}

static gemel_status infer_bits(gemel_infer *call) {
  gemel_dtype dtype = call->attrs[1].u.dtype;
  if (gemel_dtype_kind(dtype) != GEMEL_KIND_UNSIGNED) {
    return gemel__rule_fail(call, GEMEL_BAD_TYPE, "random bits are u8, u16, u32 or u64, not %s",
                            gemel_dtype_name(dtype));
  }
  return infer_numbers(call);
}

static gemel_status infer_reals(gemel_infer *call) {
  gemel_dtype dtype = call->attrs[1].u.dtype;
  if (gemel_dtype_kind(dtype) != GEMEL_KIND_FLOAT) {
    return gemel__rule_fail(call, GEMEL_BAD_TYPE, "random reals are floats, not %s",
                            gemel_dtype_name(dtype));
  }
  return infer_numbers(call);
}

/* ---- Kernels ---- */

enum {
  WORDS = 1024,            /* of a piece of the stream */
  WORTH_THREADS = 1 << 15, /* words from which a second thread pays */
  WORD = 4                 /* bytes */
};

/* How words become numbers of a dtype. */
typedef enum draw_kind { DRAW_BITS, DRAW_UNIFORM, DRAW_NORMAL } draw_kind;

typedef struct draw_job {
  const gemel__philox *philox;
  draw_kind kind;
  gemel_dtype dtype;
  uint64_t key[2];
  int64_t elements, piece; /* in all, of a piece */
  size_t item, taken;      /* bytes of an element, and of the stream for it */
  gemel__scalar_kernel narrow;
  char *out;
} draw_job;

static void draw_reals(const draw_job *d, size_t n, const uint32_t *words, void *out) {
  const gemel__philox *p = d->philox;
  int bits = gemel__dtype_format(d->dtype)->digits;
  if (d->kind == DRAW_UNIFORM) {
    (d->dtype == GEMEL_F64 ? p->uniform_f64 : p->uniform_f32)(n, bits, words, out);
  } else {
    (d->dtype == GEMEL_F64 ? p->normal_f64 : p->normal_f32)(n, words, out);
  }
}

static void draw_piece(const draw_job *d, int64_t number) {
  _Alignas(64) uint32_t words[WORDS];
  _Alignas(64) float wide[WORDS];
  int64_t first = number * d->piece;
  size_t n = (size_t)(d->elements - first < d->piece ? d->elements - first : d->piece);
  size_t block = sizeof(uint32_t[GEMEL__PHILOX_WORDS]);
  char *out = d->out + (size_t)first * d->item;
  uint64_t start = (uint64_t)first * d->taken / block;
  d->philox->blocks(d->key, start, (n * d->taken + block - 1) / block, words);
  if (d->kind == DRAW_BITS) {
    memcpy(out, words, n * d->item); /* little-endian, as all that gemel runs on */
  } else if (d->narrow == NULL) {
    draw_reals(d, n, words, out);
  } else {
    draw_reals(d, n, words, wide);
    d->narrow(n, out, (const void *const[]){wide});
  }
}

static gemel_status draw(const gemel_kernel_call *call, draw_kind kind, gemel__isa isa) {
  const gemel_view *key = &call->inputs[0], *out = &call->outputs[0];
  uint64_t *next = call->outputs[1].data;
  draw_job d = {.philox = gemel__philox_for(isa),
                .kind = kind,
                .dtype = out->dtype,
                .elements = gemel__view_elements(out),
                .item = (size_t)gemel__view_item(out),
                .out = out->data};
  d.taken = kind == DRAW_BITS || d.item > WORD ? d.item : WORD;
  d.piece = (int64_t)(sizeof(uint32_t[WORDS]) / d.taken);
  if (kind != DRAW_BITS && d.item < WORD) {
    d.narrow =
        gemel__scalar_kernel_for(&gemel__scalar_rows[GEMEL__SCALAR_cast], GEMEL_F32, d.dtype);
  }
  memcpy(&d.key[0], key->data, sizeof *d.key);
  memcpy(&d.key[1], (const char *)key->data + key->strides[0], sizeof *d.key);
  next[0] = d.key[0];
  next[1] = d.key[1] + 1;
  int64_t pieces = (d.elements + d.piece - 1) / d.piece;
  int threads = d.elements * (int64_t)d.taken < WORTH_THREADS * WORD ? 1 : call->threads;
  (void)threads; /* without OpenMP */
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static)
#endif
  for (int64_t k = 0; k < pieces; k++) {
    draw_piece(&d, k);
  }
  return GEMEL_OK;
}

#define KERNELS(name, kind)                                                                        \
  static gemel_status run_##name(const gemel_kernel_call *call) {                                  \
    return draw(call, kind, gemel__isa_best());                                                    \
  }                                                                                                \
  static gemel_status run_plain_##name(const gemel_kernel_call *call) {                            \
    return draw(call, kind, GEMEL__ISA_BASE);                                                      \
  }                                                                                                \
  static const gemel_kernel name##_kernels[] = {                                                   \
      {"vectors", NULL, run_##name}, {"plain", NULL, run_plain_##name}, {NULL, NULL, NULL}};
KERNELS(bits, DRAW_BITS)
KERNELS(uniform, DRAW_UNIFORM)
KERNELS(normal, DRAW_NORMAL)

/* Rounds of two products, two sums and four exclusive ors for a block; a normal number takes about
 * as much again as its words. */
static void cost_numbers(const gemel_kernel_call *call, double *flops, double *bytes) {
  const gemel_view *out = &call->outputs[0];
  *bytes = (double)gemel__view_elements(out) * (double)gemel__view_item(out);
  *flops = (double)gemel__view_elements(out) * (gemel_dtype_size(out->dtype) == 8 ? 40 : 20);
}

/* ---- The rows ---- */

static unsigned facts_uniform(const gemel__fact_call *call) {
  (void)call;
  return GEMEL__NONNEGATIVE | GEMEL__NOT_NAN;
}

static unsigned facts_normal(const gemel__fact_call *call) {
  (void)call;
  return GEMEL__NOT_NAN;
}

const gemel__hooks gemel__hooks_random_bits = {.infer = infer_bits,
                                               .grad = gemel__grad_nothing,
                                               .jvp = gemel__jvp_nothing,
                                               .kernels = bits_kernels,
                                               .cost = cost_numbers};
const gemel__hooks gemel__hooks_random_uniform = {.infer = infer_reals,
                                                  .grad = gemel__grad_nothing,
                                                  .jvp = gemel__jvp_nothing,
                                                  .kernels = uniform_kernels,
                                                  .cost = cost_numbers,
                                                  .facts = facts_uniform};
const gemel__hooks gemel__hooks_random_normal = {.infer = infer_reals,
                                                 .grad = gemel__grad_nothing,
                                                 .jvp = gemel__jvp_nothing,
                                                 .kernels = normal_kernels,
                                                 .cost = cost_numbers,
                                                 .facts = facts_normal};
