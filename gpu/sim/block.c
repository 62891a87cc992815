/* SPDX-License-Identifier: MIT
 *
 * Runs a grid: blocks in random order, one after another, and the threads of a block as coroutines
 * on the CPU thread that asks. A thread runs until it ends or waits, for a barrier or for other
 * lanes of its warp; which of the ready ones runs next is random. A thread that ends leaves its
 * stack, warm, to the next one, so a kernel without barriers costs little more than a loop. When
 * nobody is ready, either all wait at one barrier and are let go, or the kernel is in error.
 *
 * Switching is by hand on x86-64, where it costs some nanoseconds, and by ucontext elsewhere.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "sim/inside.h"
#ifndef __x86_64__
#include <ucontext.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

enum { GUARD = 1 << 20, SPREAD = 4096 };

gemel__sim_block gemel__sim_block_now;
gemel__sim_thread *gemel__sim_self;
pthread_t gemel__sim_worker;
static gemel__sim_block *const now = &gemel__sim_block_now;
static gemel__sim_thread scheduler;
static gemel__sim_thread threads[GEMEL__SIM_THREADS];
static uint16_t ready[GEMEL__SIM_THREADS];
static int ready_count;
static char *stacks[GEMEL__SIM_THREADS]; /* that nobody uses, the warmest last */
static int stack_count, stacks_made;

/* Switching. */

#ifdef __x86_64__
void gemel__sim_switch(void **save, void *to);
/* Pushes what a function must keep, and continues where TO pushed the same. */
__asm__(".text\n"
        ".globl gemel__sim_switch\n"
        ".type gemel__sim_switch,@function\n"
        "gemel__sim_switch:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp,(%rdi)\n  movq %rsi,%rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n  ret\n"
        ".size gemel__sim_switch,.-gemel__sim_switch\n");

static void prepare(gemel__sim_thread *thread, void (*start)(void)) {
  void **top = (void **)((uintptr_t)(thread->stack + GEMEL__SIM_STACK_BYTES) & ~(uintptr_t)63);
  *--top = NULL; /* where start would return to: the stack is aligned as after a call */
  *--top = (void *)(uintptr_t)start;
  thread->sp = top - 6;
}
#else
static ucontext_t contexts[GEMEL__SIM_THREADS], home;

static void gemel__sim_switch(void **save, void *to) {
  swapcontext(*save, to);
}

static void prepare(gemel__sim_thread *thread, void (*start)(void)) {
  ucontext_t *context = &contexts[thread->id];
  getcontext(context);
  context->uc_stack.ss_sp = thread->stack;
  context->uc_stack.ss_size = GEMEL__SIM_STACK_BYTES;
  context->uc_link = NULL;
  makecontext(context, start, 0);
  thread->sp = context;
  scheduler.sp = &home;
}
#endif

static void resume(gemel__sim_thread *thread) {
  gemel__sim_self = thread;
  gemel__sim_switch(&scheduler.sp, thread->sp);
  gemel__sim_self = NULL;
}

void gemel__sim_wait_as(gemel__sim_state state) {
  gemel__sim_thread *me = gemel__sim_self;
  me->state = state;
  gemel__sim_switch(&me->sp, scheduler.sp);
}

void gemel__sim_wake(gemel__sim_thread *thread) {
  thread->state = GEMEL__SIM_READY;
  ready[ready_count++] = (uint16_t)thread->id;
}

static void body(void) {
  gemel__sim_steps_begin();
  now->kernel->call(now->arguments);
  gemel__sim_steps_rest();
  gemel__sim_wait_as(GEMEL__SIM_ENDED);
}

void gemel__sim_end_kernel(cudaError_t error) {
  gemel__sim_steps_rest();
  now->failed = true;
  gemel__sim_broken = error;
  for (;;) /* nobody wakes it */
    gemel__sim_wait_as(GEMEL__SIM_AT_WARP);
}

/* Stacks. A megabyte of addresses below each is closed, so that large local arrays end there, and
   the tops are spread over the sets of the cache. */
static bool give_stack(gemel__sim_thread *thread) {
  if (stack_count == 0) {
    char *stack = mmap(NULL, GUARD + GEMEL__SIM_STACK_BYTES + SPREAD, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
      return false;
    mprotect(stack, GUARD, PROT_NONE);
    stacks[stack_count++] = stack + GUARD + (stacks_made++ * 192 & (SPREAD - 1));
  }
  thread->stack = stacks[--stack_count];
  prepare(thread, body);
  return true;
}

/* What is left on the stack of a kernel in error is nobody's. */
static void take_stack(gemel__sim_thread *thread) {
  if (thread->stack == NULL)
    return;
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(thread->stack, GEMEL__SIM_STACK_BYTES);
#endif
  stacks[stack_count++] = thread->stack;
  thread->stack = NULL;
}

gemel__sim_thread *gemel__sim_owner_of_stack(uintptr_t address) {
  for (int i = 0; i < now->count; i++) {
    uintptr_t stack = (uintptr_t)threads[i].stack;
    if (stack != 0 && address >= stack - GUARD && address < stack + GEMEL__SIM_STACK_BYTES)
      return &threads[i];
  }
  return NULL;
}

/* Barriers. */

static void let_go(void) {
  int sum = 0;
  if (gemel__sim_counting)
    gemel__sim_count_wait();
  for (int i = 0; i < now->count; i++)
    sum += threads[i].state == GEMEL__SIM_AT_BARRIER ? threads[i].predicate : 0;
  for (int i = 0; i < now->count; i++)
    if (threads[i].state == GEMEL__SIM_AT_BARRIER) {
      threads[i].predicate = sum;
      gemel__sim_wake(&threads[i]);
    }
  now->waiting = 0;
  now->epoch++;
}

GEMEL__SIM_HOOK int gemel__sim_barrier(int predicate, const char *file, int line) {
  bool counted = gemel__sim_steps_rest();
  gemel__sim_thread *me = gemel__sim_self;
  const gemel__sim_thread *other = &threads[now->at_barrier];
  me->place = (gemel__sim_place){NULL, file, line};
  if (now->waiting > 0 && (other->place.line != line ||
                           (other->place.file != file && strcmp(other->place.file, file) != 0))) {
    gemel__sim_say(GEMEL__SIM_DIVERGENCE, me->place,
                   "thread %d of block %u waits here while thread %d waits at line %d", me->id,
                   now->number, other->id, other->place.line);
    gemel__sim_end_kernel(cudaErrorLaunchFailure);
  }
  now->at_barrier = me->id;
  me->predicate = predicate;
  now->waiting++;
  gemel__sim_wait_as(GEMEL__SIM_AT_BARRIER);
  gemel__sim_steps_go(counted);
  return me->predicate;
}

/* A deadlock: no thread of the block can go on. Reports a thread that waits, and where. */
static void report_stuck(void) {
  const gemel__sim_thread *at_warp = NULL, *at_barrier = NULL;
  int lanes = 0;
  for (int i = 0; i < now->count; i++) {
    const gemel__sim_thread *thread = &threads[i];
    if (thread->state == GEMEL__SIM_AT_WARP) {
      at_warp = at_warp != NULL ? at_warp : thread;
      lanes++;
    } else if (thread->state == GEMEL__SIM_AT_BARRIER && at_barrier == NULL)
      at_barrier = thread;
  }
  if (at_warp != NULL)
    gemel__sim_say(GEMEL__SIM_WARP, at_warp->place,
                   "%d threads of block %u wait here or so for lanes of their masks that wait "
                   "elsewhere; thread %d has mask %08x",
                   lanes, now->number, at_warp->id, at_warp->mask);
  else if (at_barrier != NULL)
    gemel__sim_say(GEMEL__SIM_DIVERGENCE, at_barrier->place,
                   "thread %d of block %u and %d others wait at this barrier, but %d threads have "
                   "ended",
                   at_barrier->id, now->number, now->waiting - 1, now->count - now->living);
}

static void unstick(void) {
  if (now->waiting == now->living && now->living == now->count)
    let_go();
  else if (!gemel__sim_warp_unstick()) {
    report_stuck();
    now->failed = true;
    if (gemel__sim_broken == cudaSuccess)
      gemel__sim_broken = cudaErrorLaunchFailure;
  }
}

/* Blocks. */

static void prepare_block(void) {
  dim3 size = now->size;
  now->threads = threads;
  now->count = now->living = (int)(size.x * size.y * size.z);
  now->epoch = 0;
  now->waiting = 0;
  ready_count = 0;
  memset(now->warp_epoch, 0, sizeof now->warp_epoch);
  memset(now->alive, 0, sizeof now->alive);
  memset(now->at_call, 0, sizeof now->at_call);
  for (int i = 0; i < now->count; i++) {
    unsigned u = (unsigned)i;
    threads[i].id = i;
    threads[i].stack = NULL;
    threads[i].index = (uint3){u % size.x, u / size.x % size.y, u / (size.x * size.y)};
    now->alive[i / 32] |= 1u << i % 32;
    gemel__sim_wake(&threads[i]);
  }
}

static bool run_one(void) {
  int pick = (int)gemel__sim_below((uint32_t)ready_count);
  gemel__sim_thread *thread = &threads[ready[pick]];
  ready[pick] = ready[--ready_count];
  if (thread->stack == NULL && !give_stack(thread))
    return false;
  resume(thread);
  if (thread->state == GEMEL__SIM_ENDED) {
    now->alive[thread->id / 32] &= ~(1u << thread->id % 32);
    now->living--;
    take_stack(thread);
  }
  return true;
}

static bool run_block(uint32_t number) {
  dim3 grid = now->grid;
  bool ok = true;
  now->number = number;
  now->index = (uint3){number % grid.x, number / grid.x % grid.y, number / (grid.x * grid.y)};
  prepare_block();
  if (!gemel__sim_shared_start())
    return false;
  gemel__sim_check_block();
  while (ok && now->living > 0 && !now->failed) {
    if (ready_count == 0)
      unstick();
    else
      ok = run_one();
  }
  for (int i = 0; i < now->count; i++) /* those of a kernel in error are dropped where they are */
    take_stack(&threads[i]);
  if (gemel__sim_counting)
    gemel__sim_count_block();
  return ok;
}

static uint32_t *shuffled(uint32_t count) {
  uint32_t *order = malloc(count * sizeof *order);
  if (order == NULL)
    return NULL;
  for (uint32_t i = 0; i < count; i++)
    order[i] = i;
  for (uint32_t i = count; i > 1; i--) {
    uint32_t j = gemel__sim_below(i), swap = order[i - 1];
    order[i - 1] = order[j];
    order[j] = swap;
  }
  return order;
}

bool gemel__sim_run_grid(const struct gemel__sim_kernel *kernel, dim3 grid, dim3 size,
                         void **arguments, size_t shared) {
  uint32_t count = grid.x * grid.y * grid.z;
  uint32_t *order = shuffled(count);
  gemel__sim_hooks();
  gemel__sim_worker = pthread_self();
  now->kernel = kernel;
  now->arguments = arguments;
  now->grid = grid;
  now->size = size;
  now->dynamic = shared;
  now->failed = false;
  bool ok = order != NULL && gemel__sim_check_grid(count);
  if (gemel__sim_counting)
    gemel__sim_count_grid();
  for (uint32_t i = 0; ok && i < count && !now->failed; i++)
    ok = run_block(gemel__sim_counting ? i : order[i]);
  if (gemel__sim_counting)
    gemel__sim_count_end();
  free(order);
  return ok;
}

/* What a kernel asks. */

GEMEL__SIM_HOOK uint3 gemel__sim_thread_index(void) {
  return gemel__sim_self->index;
}

GEMEL__SIM_HOOK uint3 gemel__sim_block_index(void) {
  return now->index;
}

GEMEL__SIM_HOOK uint3 gemel__sim_block_size(void) {
  return (uint3){now->size.x, now->size.y, now->size.z};
}

GEMEL__SIM_HOOK uint3 gemel__sim_grid_size(void) {
  return (uint3){now->grid.x, now->grid.y, now->grid.z};
}

void gemel__sim_fence(void) {
  gemel__sim_check_fence();
}

void gemel__sim_failed(const char *what, const char *file, int line) {
  gemel__sim_say(GEMEL__SIM_UNDEFINED, (gemel__sim_place){NULL, file, line},
                 "%s failed in thread %d of block %u", what,
                 gemel__sim_self != NULL ? gemel__sim_self->id : 0, now->number);
  if (gemel__sim_self == NULL)
    abort();
  gemel__sim_end_kernel(cudaErrorAssert);
}
