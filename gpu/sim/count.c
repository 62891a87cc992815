/* SPDX-License-Identifier: MIT
 *
 * What launches cost, while a test wants it counted: how many sectors and lines of global memory
 * the requests of warps touch, how many of those a cache would not have had, how many bytes are
 * touched at all, and conflicts of shared memory's banks.
 *
 * Lanes of a warp run one after another here. So each lane keeps a log of its accesses, and when
 * the block is at a barrier or ends, the logs are laid side by side: the k-th access of each lane
 * at one place of the program is one request of the warp. That is what a GPU does where lanes that
 * have parted meet again as soon as they can.
 */
#include <stdlib.h>
#include <string.h>
#include "sim/inside.h"

enum { LANES = 32, SECTOR = 32, LINE = 128, WIDEST = 16, WAYS = 16, LONGEST_LOG = 1 << 17 };

bool gemel__sim_counting;
static gemel__sim_watch watch;
static gemel__sim_cost *costs, *now; /* now: of the launch that runs */
static size_t cost_count, cost_capacity;

/* ---- Tables: from a number to a number that starts as 0 ---- */

typedef struct {
  uint64_t key, value;
  uint32_t stamp; /* the table's, if there is something here */
} slot;
typedef struct {
  slot *slots;
  size_t capacity, used;
  uint32_t stamp;
} table;

static uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
  return x ^ x >> 29;
}

static void empty(table *t) {
  t->stamp++;
  t->used = 0;
}

static slot *slot_of(const table *t, uint64_t key) {
  size_t at = mixed(key) & (t->capacity - 1);
  while (t->slots[at].stamp == t->stamp && t->slots[at].key != key)
    at = (at + 1) & (t->capacity - 1);
  return &t->slots[at];
}

static bool grow(table *t) {
  table more = {.capacity = t->capacity > 0 ? t->capacity * 2 : 256, .stamp = 1, .used = t->used};
  more.slots = calloc(more.capacity, sizeof *more.slots);
  if (more.slots == NULL)
    return false;
  for (size_t i = 0; i < t->capacity; i++)
    if (t->slots[i].stamp == t->stamp) {
      slot *to = slot_of(&more, t->slots[i].key);
      *to = t->slots[i];
      to->stamp = more.stamp;
    }
  free(t->slots);
  *t = more;
  return true;
}

/* The number of KEY, or NULL if memory ran out. Moves when another key comes. */
static uint64_t *number_of(table *t, uint64_t key) {
  if (t->used * 2 >= t->capacity && !grow(t))
    return NULL;
  slot *found = slot_of(t, key);
  if (found->stamp != t->stamp) {
    *found = (slot){key, 0, t->stamp};
    t->used++;
  }
  return &found->value;
}

/* ---- Caches of sectors: sets of 16, of which the one that was used longest ago goes ---- */

typedef struct {
  uint64_t *tags; /* 0: nothing; else the sector's number, times 2, and 1 if it was written */
  size_t sets;
} cache;
static cache near, far; /* a block's L1, and the L2 of all */

static bool make_cache(cache *c, size_t bytes) {
  c->sets = bytes / (SECTOR * WAYS) > 0 ? bytes / (SECTOR * WAYS) : 1;
  free(c->tags);
  c->tags = calloc(c->sets * WAYS, sizeof *c->tags);
  return c->tags != NULL;
}

static void clear_cache(const cache *c) {
  memset(c->tags, 0, c->sets * WAYS * sizeof *c->tags);
}

/* Whether memory must be asked: a sector that isn't there is read, or one written that wasn't. */
static bool misses(const cache *c, uint64_t sector, bool write) {
  uint64_t *set = c->tags + mixed(sector) % c->sets * WAYS, tag = 0;
  size_t at = 0;
  while (at < WAYS - 1 && set[at] / 2 != sector)
    at++;
  if (set[at] / 2 == sector)
    tag = set[at];
  bool missed = tag == 0 || (write && tag % 2 == 0);
  memmove(set + 1, set, at * sizeof *set);
  set[0] = sector * 2 + (write || tag % 2 != 0);
  return missed;
}

/* ---- Logs of lanes ---- */

typedef struct {
  uintptr_t address, where; /* where: in the program, or a number that stands for that */
  uint16_t bytes;
  bool write, shared;
} access;
typedef struct {
  access *at;
  size_t count, capacity;
} log;
static log logs[GEMEL__SIM_THREADS];
static long requests_of[GEMEL__SIM_THREADS / LANES]; /* of the block's warps */

static bool make_room(log *l) {
  if (l->count < l->capacity)
    return true;
  size_t capacity = l->capacity * 2 + 64;
  access *more = capacity > LONGEST_LOG ? NULL : realloc(l->at, capacity * sizeof *more);
  if (more == NULL)
    return false;
  l->at = more;
  l->capacity = capacity;
  return true;
}

/* A GPU has no access of more than 16 bytes, so that larger ones are several. */
void gemel__sim_count_access(uintptr_t address, size_t bytes, bool shared, gemel__sim_how how) {
  log *mine = &logs[gemel__sim_self->id];
  uintptr_t where = how.place.pc != NULL ? (uintptr_t)how.place.pc
                                         : (uintptr_t)how.place.file + (uintptr_t)how.place.line;
  if (now == NULL)
    return;
  now->atomics += how.atomic;
  for (size_t i = 0; i < bytes; i += WIDEST) {
    size_t piece = bytes - i < WIDEST ? bytes - i : WIDEST;
    if (make_room(mine))
      mine->at[mine->count++] =
          (access){address + i, where * 4 + how.write * 2 + shared + i / WIDEST * 16,
                   (uint16_t)piece, how.write, shared};
    else
      now->left_out++;
  }
}

/* ---- Requests: what the lanes of a warp do at once ---- */

typedef struct {
  size_t position; /* in the log of the lane that came first */
  uint16_t bytes;
  bool write, shared;
  int lanes;
  uintptr_t addresses[LANES];
} warp_request;
static warp_request *requests;
static size_t request_count, request_capacity;
static table times, found, touched; /* of a lane at a place; requests; bytes of sectors */

static warp_request *new_request(const access *a, size_t position) {
  if (request_count == request_capacity) {
    size_t capacity = request_capacity * 2 + 64;
    warp_request *more = realloc(requests, capacity * sizeof *more);
    if (more == NULL)
      return NULL;
    requests = more;
    request_capacity = capacity;
  }
  warp_request *r = &requests[request_count++];
  r->position = position;
  r->bytes = a->bytes;
  r->write = a->write;
  r->shared = a->shared;
  r->lanes = 0;
  return r;
}

/* The request that the access at POSITION of its lane's log is part of; NULL: memory ran out. */
static warp_request *request_of(const access *a, size_t position) {
  uint64_t *time = number_of(&times, a->where);
  if (time == NULL)
    return NULL;
  uint64_t *number = number_of(&found, mixed(a->where) + (*time)++);
  if (number == NULL)
    return NULL;
  if (*number == 0) {
    *number = request_count + 1;
    return new_request(a, position);
  }
  return &requests[*number - 1];
}

static void gather(const log *lane) {
  empty(&times);
  for (size_t i = 0; i < lane->count; i++) {
    warp_request *r = request_of(&lane->at[i], i);
    if (r != NULL && r->lanes < LANES)
      r->addresses[r->lanes++] = lane->at[i].address;
    else
      now->left_out++;
  }
}

/* Adds VALUE to a list of COUNT different ones. */
static int insert(uintptr_t *list, int count, uintptr_t value) {
  for (int i = count; i-- > 0;)
    if (list[i] == value)
      return count;
  list[count] = value;
  return count + 1;
}

/* The bytes of a sector that are touched for the first time. */
static void touch_bytes(gemel__sim_traffic *traffic, bool write, uintptr_t address, size_t bytes) {
  while (bytes > 0) {
    size_t from = address % SECTOR, piece = bytes < SECTOR - from ? bytes : SECTOR - from;
    uint64_t *mask = number_of(&touched, address / SECTOR);
    uint64_t bits = ((1ul << piece) - 1) << from << (write ? 32 : 0);
    if (mask != NULL) {
      traffic->least += __builtin_popcountll(bits & ~*mask);
      *mask |= bits;
    }
    address += piece;
    bytes -= piece;
  }
}

static void global_request(const warp_request *r) {
  gemel__sim_traffic *traffic = r->write ? &now->writes : &now->reads;
  uintptr_t sectors[2 * LANES], lines[2 * LANES];
  int sector_count = 0, line_count = 0;
  for (int lane = 0; lane < r->lanes; lane++) {
    uintptr_t last = (r->addresses[lane] + r->bytes - 1) / SECTOR;
    sector_count = insert(sectors, sector_count, r->addresses[lane] / SECTOR);
    sector_count = insert(sectors, sector_count, last);
    touch_bytes(traffic, r->write, r->addresses[lane], r->bytes);
  }
  for (int i = 0; i < sector_count; i++) {
    line_count = insert(lines, line_count, sectors[i] / (LINE / SECTOR));
    if (r->write || misses(&near, sectors[i], false)) {
      traffic->far++;
      traffic->dram += misses(&far, sectors[i], r->write);
    }
  }
  traffic->requests++;
  traffic->bytes += (long)r->bytes * r->lanes;
  traffic->sectors += sector_count;
  traffic->lines += line_count;
}

/* A bank gives a word of 4 bytes at a time. Requests of 8 and 16 bytes a lane are made in two and
   four parts. */
static void shared_request(const warp_request *r) {
  int lanes_at_once = r->bytes <= 4 ? LANES : LANES * 4 / r->bytes;
  now->shared_requests++;
  for (int first = 0; first < r->lanes; first += lanes_at_once) {
    uintptr_t words[LANES * 4];
    int count = 0, of_bank[LANES] = {0}, most = 0;
    for (int lane = first; lane < r->lanes && lane < first + lanes_at_once; lane++)
      for (int byte = 0; byte < r->bytes; byte += 4)
        count = insert(words, count, (r->addresses[lane] + (unsigned)byte) / 4);
    for (int i = 0; i < count; i++) {
      int words_of_bank = ++of_bank[words[i] % LANES];
      most = words_of_bank > most ? words_of_bank : most;
    }
    now->conflicts += most - 1;
  }
}

static int by_position(const void *a, const void *b) {
  const warp_request *x = a, *y = b;
  return (x->position > y->position) - (x->position < y->position);
}

static void count_warp(int warp) {
  size_t first = 0;
  request_count = 0;
  empty(&found);
  for (int lane = 0; lane < LANES; lane++) {
    gather(&logs[warp * LANES + lane]);
    logs[warp * LANES + lane].count = 0;
    first = lane == 0 ? request_count : first;
  }
  if (request_count > first) /* some lanes did what the first one didn't */
    qsort(requests, request_count, sizeof *requests, by_position);
  for (size_t i = 0; i < request_count; i++) {
    if (requests[i].shared)
      shared_request(&requests[i]);
    else {
      global_request(&requests[i]);
      requests_of[warp]++;
    }
    now->longest = requests_of[warp] > now->longest ? requests_of[warp] : now->longest;
  }
}

/* ---- What block.c says ---- */

void gemel__sim_count_wait(void) {
  for (int warp = 0; now != NULL && warp * LANES < gemel__sim_block_now.count; warp++)
    count_warp(warp);
}

void gemel__sim_count_block(void) {
  gemel__sim_count_wait();
  clear_cache(&near);
  memset(requests_of, 0, sizeof requests_of);
}

/* The next record, of KERNEL; NULL if memory ran out. */
static gemel__sim_cost *new_cost(const char *kernel, long blocks, int threads) {
  if (cost_count == cost_capacity) {
    size_t capacity = cost_capacity * 2 + 16;
    gemel__sim_cost *more = realloc(costs, capacity * sizeof *more);
    if (more == NULL)
      return NULL;
    costs = more;
    cost_capacity = capacity;
  }
  gemel__sim_cost *made = &costs[cost_count++];
  *made = (gemel__sim_cost){.blocks = blocks, .threads = threads};
  strncpy(made->kernel, kernel, sizeof made->kernel - 1);
  return made;
}

void gemel__sim_count_grid(void) {
  const gemel__sim_block *block = &gemel__sim_block_now;
  now = NULL;
  if (!make_cache(&near, watch.l1) || !make_cache(&far, watch.l2))
    return;
  empty(&touched);
  now = new_cost(block->kernel->name, (long)block->grid.x * block->grid.y * block->grid.z,
                 (int)(block->size.x * block->size.y * block->size.z));
}

static gemel__sim_traffic stream_of(size_t bytes) {
  const long lines = (long)(bytes + LINE - 1) / LINE, sectors = (long)(bytes + SECTOR - 1) / SECTOR;
  return (gemel__sim_traffic){.requests = lines,
                              .bytes = (long)bytes,
                              .sectors = sectors,
                              .lines = lines,
                              .least = (long)bytes,
                              .far = sectors,
                              .dram = sectors};
}

void gemel__sim_count_stream(const char *kernel, size_t read, size_t written) {
  enum { THREADS = 256, EACH = 16 };
  const long blocks = (long)((read + written) / (THREADS * EACH) + 1);
  gemel__sim_cost *cost = new_cost(kernel, blocks, THREADS);
  if (cost == NULL)
    return;
  cost->reads = stream_of(read);
  cost->writes = stream_of(written);
  cost->longest = (cost->reads.requests + cost->writes.requests) / (blocks * (THREADS / LANES)) + 1;
}

void gemel__sim_count_end(void) {
  gemel__sim_cost unwanted;
  gemel__sim_steps_take(now != NULL ? now : &unwanted);
  now = NULL;
}

/* ---- What a test asks ---- */

void gemel__sim_count_costs(const gemel__sim_watch *of) {
  gemel__sim_enter(GEMEL__SIM_ENDS);
  gemel__sim_counting = of != NULL;
  gemel__sim_steps_listen(of != NULL ? of->steps : 0);
  if (of != NULL) {
    watch = *of;
    cost_count = 0;
  }
  gemel__sim_leave_apart();
}

const gemel__sim_cost *gemel__sim_costs(size_t *count) {
  *count = cost_count;
  return costs;
}
