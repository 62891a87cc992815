/* SPDX-License-Identifier: MIT
 *
 * What the lanes of a warp do together: shuffles, votes, __syncwarp. A lane that calls one waits
 * until all lanes of its mask that haven't ended have called the same at the same line; then each
 * gets its result, and all go on.
 */
#include <string.h>
#include "sim/inside.h"

static const uint64_t nothing = 0x7fbadbad7fbadbadu; /* a NaN, from a lane that isn't there */

static bool alike(const gemel__sim_thread *a, const gemel__sim_thread *b) {
  return a->call == b->call && a->mask == b->mask && a->place.line == b->place.line &&
         strcmp(a->place.file, b->place.file) == 0;
}

/* The lanes that take part in what ME waits for, or 0 if some are still to come. */
static uint32_t arrived(const gemel__sim_thread *me) {
  int warp = me->id / 32;
  uint32_t wanted = me->mask & gemel__sim_block_now.alive[warp];
  uint32_t here = gemel__sim_block_now.at_call[warp] & me->mask;
  for (int lane = 0; lane < 32; lane++)
    if (here >> lane & 1 && !alike(&gemel__sim_block_now.threads[warp * 32 + lane], me))
      here &= ~(1u << lane);
  return here == wanted ? here : 0;
}

/* The lane that LANE takes its value from: LANE itself where the source would leave its group of
   WIDTH lanes. As PTX defines shfl.sync, the low five bits of the argument count. */
static int source(const gemel__sim_thread *thread, int lane) {
  int width = thread->width, base = lane & -width, by = thread->argument & 31, from = lane;
  switch (thread->call) {
  case GEMEL__SIM_SHUFFLE:
    from = base + (by & (width - 1));
    break;
  case GEMEL__SIM_SHUFFLE_UP:
    from = lane - by >= base ? lane - by : lane;
    break;
  case GEMEL__SIM_SHUFFLE_DOWN:
    from = lane + by;
    break;
  case GEMEL__SIM_SHUFFLE_XOR:
    from = lane ^ by;
    break;
  default:
    break;
  }
  return from < base + width ? from : lane;
}

static uint64_t shuffled(const gemel__sim_thread *lanes, int lane, uint32_t members) {
  const gemel__sim_thread *me = &lanes[lane];
  int from = source(me, lane);
  if (members >> from & 1)
    return lanes[from].value;
  if (me->mask >> from & 1) /* else nobody may look at the value, which is legal */
    gemel__sim_say(GEMEL__SIM_WARP, me->place,
                   "thread %d of block %u takes a value from lane %d, which has ended", me->id,
                   gemel__sim_block_now.number, from);
  return nothing;
}

static void finish(int warp, uint32_t members) {
  gemel__sim_thread *lanes = &gemel__sim_block_now.threads[warp * 32];
  const gemel__sim_thread *any = &lanes[__builtin_ctz(members)];
  uint64_t result[32], ballot = 0;
  for (int lane = 0; lane < 32; lane++)
    if (members >> lane & 1 && lanes[lane].value & 1)
      ballot |= 1u << lane;
  for (int lane = 0; lane < 32; lane++)
    if (members >> lane & 1)
      result[lane] = any->call < GEMEL__SIM_BALLOT ? shuffled(lanes, lane, members) : ballot;
  if (any->call == GEMEL__SIM_SYNCWARP)
    gemel__sim_block_now.warp_epoch[warp]++;
  gemel__sim_block_now.at_call[warp] &= ~members;
  for (int lane = 0; lane < 32; lane++)
    if (members >> lane & 1) {
      lanes[lane].value = result[lane];
      gemel__sim_wake(&lanes[lane]);
    }
}

bool gemel__sim_warp_unstick(void) {
  for (int i = 0; i < gemel__sim_block_now.count; i++) {
    const gemel__sim_thread *thread = &gemel__sim_block_now.threads[i];
    uint32_t members = thread->state == GEMEL__SIM_AT_WARP ? arrived(thread) : 0;
    if (members != 0) {
      finish(i / 32, members);
      return true;
    }
  }
  return false;
}

static void refuse(const gemel__sim_thread *me, const char *what) {
  gemel__sim_say(GEMEL__SIM_WARP, me->place, "thread %d of block %u: %s (mask %08x, width %d)",
                 me->id, gemel__sim_block_now.number, what, me->mask, me->width);
  gemel__sim_end_kernel(cudaErrorLaunchFailure);
}

/* By 32 lanes or more: the programming guide gives a lane its own value, PTX that of another one
   unless the low five bits are 0. (Of __shfl_sync both say the lane modulo the width.) */
static void check_distance(const gemel__sim_thread *me) {
  bool is_distance = me->call > GEMEL__SIM_SHUFFLE && me->call < GEMEL__SIM_BALLOT;
  if (is_distance && (me->argument & ~31) != 0 && (me->argument & 31) != 0)
    gemel__sim_say(GEMEL__SIM_WARP, me->place,
                   "thread %d of block %u shuffles by %#x, which leads to no lane of a warp",
                   me->id, gemel__sim_block_now.number, (unsigned)me->argument);
}

GEMEL__SIM_HOOK uint64_t gemel__sim_warp(gemel__sim_warp_call call, unsigned mask, uint64_t value,
                                         int argument, int width, const char *file, int line) {
  bool counted = gemel__sim_steps_rest();
  gemel__sim_thread *me = gemel__sim_self;
  int warp = me->id / 32, lane = me->id % 32;
  me->place = (gemel__sim_place){NULL, file, line};
  me->call = call;
  me->mask = mask;
  me->value = value;
  me->argument = argument;
  me->width = width;
  if (!(mask >> lane & 1))
    refuse(me, "the mask does not name the caller");
  if (width < 1 || width > 32 || (width & (width - 1)) != 0)
    refuse(me, "the width is no power of two up to 32");
  check_distance(me);
  gemel__sim_block_now.at_call[warp] |= 1u << lane;
  me->state = GEMEL__SIM_AT_WARP;
  uint32_t members = arrived(me);
  if (members != 0)
    finish(warp, members); /* and so me, who is ready now */
  gemel__sim_wait_as(me->state);
  gemel__sim_steps_go(counted);
  return me->value;
}

unsigned gemel__sim_active(void) {
  return gemel__sim_block_now.alive[gemel__sim_self->id / 32];
}
