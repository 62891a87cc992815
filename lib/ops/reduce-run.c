/* SPDX-License-Identifier: MIT
 *
 * How sum, prod and max run over operands of any strides, axes and dtype, with a result that
 * doesn't depend on the number of threads.
 *
 * The axes are sorted into kept and reduced ones, joined where they continue each other, and the
 * reduced ones put in the order of memory. The elements that make one result are a sequence, cut
 * into blocks of fixed size; blocks are joined pairwise, as the bits of a binary counter carry, so
 * rounding errors grow with the logarithm of the length, and any run of 2^k blocks that begins at a
 * multiple of 2^k is a subtree of its own: threads take such runs, and joining theirs gives the
 * same tree as one thread alone would. There are two ways to take a block:
 *
 * lines    (reduced elements lie together, or nothing does) one result at a time; elements that
 *          don't lie together are gathered first;
 * columns  (kept elements lie together) a strip of many results at a time, row after row.
 *
 * Where the reduced elements of one result are rows that lie apart, with rows of others between
 * them (a slab), each row is a block, and many results are taken at a time.
 */
#include <string.h>
#include "core/dtype.h"
#include "ops/reduce-plan.h"

#ifdef _OPENMP
#include <omp.h>
#endif

enum {
  BLOCK = GEMEL__REDUCE_BLOCK,
  ABREAST = GEMEL__REDUCE_ABREAST,
  ROWS = 64,    /* rows in a block of columns */
  WIDE = 4096,  /* columns in a strip, at most */
  STRIP = 1024, /* and at least, where threads share them; lines at once, at most */
  LEVELS = 48,  /* of a tree: more than log2 of any number of blocks */
  PARTS = 64,   /* runs of blocks that a tree may be cut into */
  SOME = 4,     /* lines that a thread takes at once, where there are few */
  NARROW = 2    /* fewer columns than this go by lines */
};

/* ---- Trees ---- */

/* Accumulators of subtrees on the way: entry k stands for a run of 2^level blocks. The memory is
 * the owner's: LEVELS × WIDTH accumulators. */
typedef struct tree {
  const gemel__reducer *reducer;
  size_t width;
  char *stack;
  size_t count;
  uint64_t leaves;
} tree;

static void *tree_at(const tree *t, size_t k) {
  return t->stack + k * t->width * t->reducer->acc_bytes;
}

static void tree_join(tree *t) {
  t->count--;
  t->reducer->merge(t->width, tree_at(t, t->count - 1), tree_at(t, t->count));
}

/* The leaf, which the caller has written to tree_at(t, t->count), is complete. */
static void tree_push(tree *t) {
  uint64_t carry = t->leaves++;
  t->count++;
  for (; carry & 1; carry >>= 1) {
    tree_join(t);
  }
}

static const void *tree_result(tree *t) {
  while (t->count > 1) {
    tree_join(t);
  }
  return tree_at(t, 0);
}

/* ---- Lines ---- */

/* N elements from place FROM of the line at BASE, as the reducer wants them: in BUFFER unless they
 * lie together already. */
const void *gemel__reduce_load(const gemel__reduce_plan *p, const char *base, int64_t from,
                               size_t n, void *buffer) {
  const gemel__reduce_axis *inner = &p->reduced[p->n_reduced - 1];
  int64_t outer = from < inner->size ? 0 : from / inner->size, start = from - outer * inner->size;
  size_t done = 0, bytes = p->bytes;
  char *raw = p->half ? (char *)buffer + BLOCK * sizeof(float) : buffer;
  if (inner->stride == (int64_t)bytes && start + (int64_t)n <= inner->size && !p->half) {
    return base + gemel__reduce_offset(p->reduced, p->n_reduced - 1, outer) + start * inner->stride;
  }
  while (done < n) {
    const char *row = base + gemel__reduce_offset(p->reduced, p->n_reduced - 1, outer);
    size_t run = (size_t)(inner->size - start), k;
    run = run > n - done ? n - done : run;
    if (inner->stride == (int64_t)bytes) {
      memcpy(raw + done * bytes, row + start * inner->stride, run * bytes);
    } else {
      for (k = 0; k < run; k++) {
        memcpy(raw + (done + k) * bytes, row + (start + (int64_t)k) * inner->stride, bytes);
      }
    }
    done += run;
    start = 0;
    outer++;
  }
  if (p->half) {
    gemel__half_to_f32(p->dtype, n, buffer, (const uint16_t *)(void *)raw);
  }
  return buffer;
}

/* Some whole blocks at once from place FROM of the line at BASE, if they lie together; else 0. */
static int push_abreast(const gemel__reduce_plan *p, const char *base, int64_t from, tree *t) {
  gemel__acc accs[ABREAST];
  size_t bytes = p->reducer->acc_bytes;
  if (p->reducer->abreast == NULL || p->half || p->n_reduced > 1 ||
      p->reduced->stride != (int64_t)p->bytes) {
    return 0;
  }
  p->reducer->abreast(base + from * (int64_t)p->bytes, accs);
  for (size_t k = 0; k < ABREAST; k++) {
    memcpy(tree_at(t, t->count), (char *)accs + k * bytes, bytes);
    tree_push(t);
  }
  return 1;
}

static int64_t line_blocks(const gemel__reduce_plan *p) {
  return (p->length + BLOCK - 1) / BLOCK;
}

/* Blocks FIRST to LAST of the line at BASE. */
static gemel__acc line_part(const gemel__reduce_plan *p, const char *base, int64_t first,
                            int64_t last) {
  gemel__acc stack[LEVELS], result;
  gemel__acc buffer[GEMEL__REDUCE_BUFFER / sizeof(gemel__acc)];
  tree t = {p->reducer, 1, (char *)stack, 0, 0};
  int64_t block;
  if (p->length <= BLOCK) {
    const void *all = gemel__reduce_load(p, base, 0, (size_t)p->length, buffer);
    p->reducer->block((size_t)p->length, all, &result);
    return result;
  }
  for (block = first; block < last; block++) {
    int64_t from = block * BLOCK, left = p->length - from;
    size_t n = (size_t)(left < BLOCK ? left : BLOCK);
    if (block + ABREAST <= last && left >= ABREAST * BLOCK && push_abreast(p, base, from, &t)) {
      block += ABREAST - 1;
      continue;
    }
    p->reducer->block(n, gemel__reduce_load(p, base, from, n, buffer), tree_at(&t, t.count));
    tree_push(&t);
  }
  memcpy(&result, tree_result(&t), p->reducer->acc_bytes);
  return result;
}

static void store(const gemel__reduce_plan *p, int64_t first, size_t n, const void *acc) {
  char *out = p->out + first * (int64_t)p->out_bytes;
  float wide[WIDE];
  if (p->half) {
    p->reducer->finish(n, acc, wide);
    gemel__half_from_f32(p->dtype, n, (uint16_t *)(void *)out, wide);
  } else {
    p->reducer->finish(n, acc, out);
  }
}

/* How many blocks a run should have so that there are at most PARTS: a power of two. */
static int64_t run_length(int64_t blocks) {
  int64_t run = 1;
  while ((blocks + run - 1) / run > PARTS) {
    run *= 2;
  }
  return run;
}

/* One line by all threads. */
static void long_line(const gemel__reduce_plan *p, int64_t line) {
  const char *base = p->in + gemel__reduce_offset(p->kept, p->n_kept, line);
  int64_t blocks = line_blocks(p), run = run_length(blocks), part;
  int64_t parts = (blocks + run - 1) / run;
  gemel__acc results[PARTS], stack[LEVELS];
  tree t = {p->reducer, 1, (char *)stack, 0, 0};
#pragma omp parallel for num_threads(p->threads) schedule(static)
  for (part = 0; part < parts; part++) {
    int64_t last = (part + 1) * run;
    results[part] = line_part(p, base, part * run, last < blocks ? last : blocks);
  }
  for (part = 0; part < parts; part++) {
    memcpy(tree_at(&t, t.count), &results[part], p->reducer->acc_bytes);
    tree_push(&t);
  }
  store(p, line, 1, tree_result(&t));
}

/* 1 if lines are of one block each, which lies as the reducer takes it. */
static int are_short(const gemel__reduce_plan *p) {
  return p->length <= BLOCK && !p->half && p->n_kept > 0 && p->n_reduced == 1 &&
         p->reduced->stride == (int64_t)p->bytes;
}

static void short_lines(const gemel__reduce_plan *p, int64_t line, int64_t last) {
  const gemel__reduce_axis *inner = &p->kept[p->n_kept - 1];
  gemel__acc results[STRIP];
  while (line < last) {
    int64_t left = inner->size - line % inner->size, n = left < last - line ? left : last - line;
    n = n < STRIP ? n : STRIP;
    p->reducer->lines((size_t)n, inner->stride, (size_t)p->length,
                      p->in + gemel__reduce_offset(p->kept, p->n_kept, line), results);
    store(p, line, (size_t)n, results);
    line += n;
  }
}

static void some_lines(const gemel__reduce_plan *p, int64_t line, int64_t last) {
  int64_t blocks = line_blocks(p);
  if (are_short(p)) {
    short_lines(p, line, last);
    return;
  }
  for (; line < last; line++) {
    const char *base = p->in + gemel__reduce_offset(p->kept, p->n_kept, line);
    gemel__acc result = line_part(p, base, 0, blocks);
    store(p, line, 1, &result);
  }
}

static void run_lines(const gemel__reduce_plan *p, void *scratch) {
  int64_t blocks = line_blocks(p), line;
  int64_t some = p->lines / p->threads < STRIP ? SOME : STRIP;
  (void)scratch;
  if (p->threads <= 1) {
    some_lines(p, 0, p->lines);
    return;
  }
  if (p->lines < 4 * (int64_t)p->threads && blocks > 1) {
    for (line = 0; line < p->lines; line++) {
      long_line(p, line);
    }
    return;
  }
#pragma omp parallel for num_threads(p->threads) schedule(static)
  for (line = 0; line < p->lines; line += some) {
    some_lines(p, line, line + some < p->lines ? line + some : p->lines);
  }
}

/* One result of a few elements that lie together, as at the end of most losses: the way there
 * takes longer than the work, so it is kept short. */
static int is_one_block(const gemel__reduce_plan *p) {
  return p->lines == 1 && p->length <= BLOCK && p->n_reduced == 1 && !p->half &&
         p->reduced->stride == (int64_t)p->bytes;
}

static void run_one_block(const gemel__reduce_plan *p, void *scratch) {
  gemel__acc acc;
  (void)scratch;
  p->reducer->block((size_t)p->length, p->in, &acc);
  p->reducer->finish(1, &acc, p->out);
}

/* ---- Columns ---- */

/* Adds rows FROM to TO of a strip; rows that follow each other evenly go together. */
static void add_rows(const gemel__reduce_plan *p, const gemel__reduce_strip *s, int64_t from,
                     int64_t to, void *acc) {
  const gemel__reduce_axis *inner = &p->reduced[p->n_reduced - 1];
  float wide[WIDE];
  while (from < to) {
    int64_t start = from % inner->size, run = inner->size - start, k;
    const char *row = s->base +
                      gemel__reduce_offset(p->reduced, p->n_reduced - 1, from / inner->size) +
                      start * inner->stride;
    run = run > to - from ? to - from : run;
    if (!p->half) {
      p->reducer->rows((size_t)run, inner->stride, s->width, row, acc);
    }
    for (k = 0; p->half && k < run; k++) {
      gemel__half_to_f32(p->dtype, s->width, wide,
                         (const uint16_t *)(const void *)(row + k * inner->stride));
      p->reducer->rows(1, 0, s->width, wide, acc);
    }
    from += run;
  }
}

/* Blocks FIRST to LAST of a strip; the result is in STACK's first accumulators. */
static void strip_part(const gemel__reduce_plan *p, const gemel__reduce_strip *s, int64_t first,
                       int64_t last, char *stack) {
  tree t = {p->reducer, s->width, stack, 0, 0};
  int64_t block;
  for (block = first; block < last; block++) {
    int64_t to = (block + 1) * ROWS;
    void *leaf = tree_at(&t, t.count);
    p->reducer->init(s->width, leaf);
    add_rows(p, s, block * ROWS, to < p->length ? to : p->length, leaf);
    tree_push(&t);
  }
  tree_result(&t);
}

/* The wider a strip, the more of memory is read as it lies; but all threads should have some. */
static int64_t strip_for(const gemel__reduce_plan *p) {
  int64_t strip = p->threads > 1 ? p->lines / (2 * p->threads) : WIDE;
  return strip > WIDE ? WIDE : strip < STRIP ? STRIP : strip;
}

static int64_t column_blocks(const gemel__reduce_plan *p) {
  return (p->length + ROWS - 1) / ROWS;
}

/* Bytes of the tree of one strip over BLOCKS blocks. */
static size_t stack_of(const gemel__reduce_plan *p, int64_t blocks) {
  size_t levels = 2;
  for (; blocks > 1; blocks /= 2) {
    levels++;
  }
  return (levels * (size_t)p->strip * p->reducer->acc_bytes + 63) / 64 * 64;
}

static size_t stack_bytes(const gemel__reduce_plan *p) {
  return stack_of(p, column_blocks(p));
}

/* Few strips, many rows: threads take runs of blocks of one strip. */
static void long_strip(const gemel__reduce_plan *p, const gemel__reduce_strip *s, char *scratch) {
  int64_t blocks = column_blocks(p), run = run_length(blocks), part;
  int64_t parts = (blocks + run - 1) / run;
  size_t bytes = stack_bytes(p);
  tree t = {p->reducer, s->width, scratch, 0, 0};
#pragma omp parallel for num_threads(p->threads) schedule(static)
  for (part = 0; part < parts; part++) {
    int64_t last = (part + 1) * run;
    strip_part(p, s, part * run, last < blocks ? last : blocks,
               scratch + (size_t)(part + 1) * bytes);
  }
  for (part = 0; part < parts; part++) {
    memcpy(tree_at(&t, t.count), scratch + (size_t)(part + 1) * bytes,
           s->width * p->reducer->acc_bytes);
    tree_push(&t);
  }
  store(p, s->first, s->width, tree_result(&t));
}

static int is_long(const gemel__reduce_plan *p) {
  return p->threads > 1 && p->outer * p->strips < 2 * (int64_t)p->threads && column_blocks(p) > 1;
}

static size_t column_scratch(const gemel__reduce_plan *p) {
  return stack_bytes(p) * (is_long(p) ? PARTS + 1 : (size_t)p->threads);
}

static int thread_number(void) {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

static void run_columns(const gemel__reduce_plan *p, void *scratch) {
  int64_t index, total = p->outer * p->strips;
  size_t bytes = stack_bytes(p);
  if (is_long(p)) {
    for (index = 0; index < total; index++) {
      gemel__reduce_strip s = gemel__reduce_strip_at(p, index);
      long_strip(p, &s, scratch);
    }
    return;
  }
#pragma omp parallel for num_threads(p->threads) schedule(static) if (p->threads > 1)
  for (index = 0; index < total; index++) {
    gemel__reduce_strip s = gemel__reduce_strip_at(p, index);
    char *stack = (char *)scratch + (size_t)thread_number() * bytes;
    strip_part(p, &s, 0, column_blocks(p), stack);
    store(p, s.first, s.width, stack);
  }
}

/* ---- Slabs ---- */

/* 1 if the line of a result is of rows that lie apart, with those of other results between: then
 * what lies together, a row of each of many results, is taken at once. */
static int has_slabs(const gemel__reduce_plan *p) {
  const gemel__reduce_axis *inner = &p->reduced[p->n_reduced - 1];
  return p->n_reduced > 1 && p->n_kept > 0 && !p->half && inner->stride == (int64_t)p->bytes &&
         inner->size <= BLOCK && p->kept[p->n_kept - 1].size > 1;
}

static int64_t slab_rows(const gemel__reduce_plan *p) {
  return p->length / p->reduced[p->n_reduced - 1].size;
}

/* Strips of results, as wide as leaves something for each thread. A result is the same in any. */
static void cut_slabs(gemel__reduce_plan *p) {
  int64_t size = p->kept[p->n_kept - 1].size;
  p->outer = p->lines / size;
  p->strip = size < STRIP ? size : STRIP;
  while (p->strip > SOME && p->outer * (size / p->strip) < 2 * (int64_t)p->threads) {
    p->strip = (p->strip + 1) / 2;
  }
  p->strips = (size + p->strip - 1) / p->strip;
}

static size_t slab_bytes(const gemel__reduce_plan *p) {
  return stack_of(p, slab_rows(p));
}

static void run_slabs(const gemel__reduce_plan *p, void *scratch) {
  int64_t index, total = p->outer * p->strips, rows = slab_rows(p);
  const gemel__reduce_axis *inner = &p->reduced[p->n_reduced - 1];
  size_t bytes = slab_bytes(p);
#pragma omp parallel for num_threads(p->threads) schedule(static) if (p->threads > 1)
  for (index = 0; index < total; index++) {
    gemel__reduce_strip s = gemel__reduce_strip_at(p, index);
    tree t = {p->reducer, s.width, (char *)scratch + (size_t)thread_number() * bytes, 0, 0};
    for (int64_t row = 0; row < rows; row++) {
      p->reducer->lines(s.width, p->kept[p->n_kept - 1].stride, (size_t)inner->size,
                        s.base + gemel__reduce_offset(p->reduced, p->n_reduced - 1, row),
                        tree_at(&t, t.count));
      tree_push(&t);
    }
    store(p, s.first, s.width, tree_result(&t));
  }
}

/* ---- The kernel ---- */

/* Results of nothing at all: 0 or 1. */
static void run_empty(const gemel__reduce_plan *p, void *scratch) {
  gemel__acc acc;
  (void)scratch;
  p->reducer->init(1, &acc);
  for (int64_t line = 0; line < p->lines; line++) {
    store(p, line, 1, &acc);
  }
}

static gemel_status prepare(gemel_kernel_call *call, gemel__reduction what) {
  gemel__reduce_plan *p;
  gemel_status status = gemel__reduce_plan_make(call, what, &p);
  call->scratch_bytes = 0;
  if (status != GEMEL_OK) {
    return status;
  }
  if (p->length == 0 || p->lines == 0) {
    p->run = run_empty;
  } else if (gemel__reduce_cut_strips(p, NARROW, strip_for(p))) {
    p->run = run_columns;
    call->scratch_bytes = column_scratch(p);
  } else if (has_slabs(p)) {
    p->run = run_slabs;
    cut_slabs(p);
    call->scratch_bytes = slab_bytes(p) * (size_t)p->threads;
  } else {
    p->run = is_one_block(p) ? run_one_block : run_lines;
  }
  return GEMEL_OK;
}

static gemel_status run(const gemel_kernel_call *call) {
  const gemel__reduce_plan *p = gemel__reduce_plan_of(call);
  p->run(p, call->scratch);
  return GEMEL_OK;
}

#define DEFINE_KERNEL(name, what)                                                                  \
  static gemel_status prepare_##name(gemel_kernel_call *call) {                                    \
    return prepare(call, what);                                                                    \
  }                                                                                                \
  const gemel_kernel gemel__##name##_kernels[] = {{"blocks", prepare_##name, run},                 \
                                                  {NULL, NULL, NULL}};

DEFINE_KERNEL(sum, GEMEL__REDUCE_SUM)
DEFINE_KERNEL(prod, GEMEL__REDUCE_PROD)
DEFINE_KERNEL(max, GEMEL__REDUCE_MAX)
