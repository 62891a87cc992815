/* SPDX-License-Identifier: MIT
 *
 * How many instructions a kernel's threads take on this machine, while costs are counted: a few
 * threads run with the processor's trap flag set, so that each of their instructions raises
 * SIGTRAP. What the hooks do is not the kernel's, and runs without it; how often they are called is
 * counted. Divisions of integers are told apart, for which a GPU has no instruction. Copies of a
 * kernel's arguments are left out, which a GPU needn't make. On other processors than x86-64
 * nothing is counted.
 */
#include "sim/inside.h"

#ifdef __x86_64__
#include <signal.h>
#include <string.h>
#include <ucontext.h>

enum { BLOCKS = 4 }; /* in which there are such threads, or one more */

extern const unsigned char __start_gemel_sim_hooks[], __stop_gemel_sim_hooks[]; /* the linker's */
static volatile long steps, hooks, divisions, wide;
static volatile bool in_hook;
static long stepped, most;
static struct sigaction before;

/* Before an instruction. F7 /6 and F7 /7 divide, and the prefix REX.W makes that 64 bits wide. F3
 * 48 A5 copies a word, again and again. */
static void trapped(int number, siginfo_t *info, void *data) {
  const ucontext_t *context = data;
  const unsigned char *at = (const unsigned char *)context->uc_mcontext.gregs[REG_RIP];
  bool rex = (*at & 0xf0) == 0x40;
  bool was_in_hook = in_hook;
  (void)number, (void)info;
  in_hook = at >= __start_gemel_sim_hooks && at < __stop_gemel_sim_hooks;
  hooks += in_hook && !was_in_hook;
  if (in_hook || memcmp(at, "\xf3\x48\xa5", 3) == 0)
    return;
  steps++;
  if (at[rex] == 0xf7 && (at[rex + 1] & 0x30) == 0x30) {
    divisions++;
    wide += rex && (*at & 8) != 0;
  }
}

/* One lane of each warp, of a few blocks. */
static bool is_sample(const gemel__sim_thread *thread) {
  const gemel__sim_block *block = &gemel__sim_block_now;
  uint32_t every = block->grid.x * block->grid.y * block->grid.z / BLOCKS + 1;
  uint32_t lane = ((uint32_t)thread->id / 32 * 5 + block->number) % 32;
  return block->number % every == every / 2 && (uint32_t)thread->id % 32 == lane;
}

void gemel__sim_steps_listen(long at_most) {
  bool on = at_most > 0;
  struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
  static bool listening;
  if (on && !listening)
    sigaction(SIGTRAP, &action, &before);
  else if (!on && listening)
    sigaction(SIGTRAP, &before, NULL);
  listening = on;
  most = at_most;
}

void gemel__sim_steps_begin(void) {
  bool counted = gemel__sim_counting && steps < most && is_sample(gemel__sim_self);
  stepped += counted;
  gemel__sim_steps_go(counted);
}

/* What lies just below the stack pointer may be in use. */
GEMEL__SIM_HOOK bool gemel__sim_steps_rest(void) {
  uint64_t flags = 0;
  if (gemel__sim_counting)
    __asm__ volatile("lea -128(%%rsp),%%rsp\n pushfq\n movq (%%rsp),%0\n andq $~0x100,(%%rsp)\n"
                     "popfq\n lea 128(%%rsp),%%rsp"
                     : "=r"(flags)
                     :
                     : "memory", "cc");
  return (flags & 0x100) != 0;
}

GEMEL__SIM_HOOK void gemel__sim_steps_go(bool counted) {
  if (counted)
    __asm__ volatile("lea -128(%%rsp),%%rsp\n pushfq\n orq $0x100,(%%rsp)\n popfq\n"
                     "lea 128(%%rsp),%%rsp" ::
                         : "memory", "cc");
}

void gemel__sim_steps_take(gemel__sim_cost *cost) {
  cost->stepped = stepped;
  cost->steps = steps;
  cost->hooks = hooks;
  cost->divisions = divisions;
  cost->wide_divisions = wide;
  stepped = steps = hooks = divisions = wide = 0;
}

#else

void gemel__sim_steps_listen(long at_most) {
  (void)at_most;
}
void gemel__sim_steps_begin(void) {
}
bool gemel__sim_steps_rest(void) {
  return false;
}
void gemel__sim_steps_go(bool counted) {
  (void)counted;
}
void gemel__sim_steps_take(gemel__sim_cost *cost) {
  (void)cost;
}

#endif
