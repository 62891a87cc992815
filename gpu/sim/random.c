/* SPDX-License-Identifier: MIT
 *
 * The order of everything: blocks, threads, streams. One seed gives one order, on any machine.
 */
#include <stdlib.h>
#include "sim/inside.h"

static uint64_t state, chosen;
static int policy = -1;

void gemel__sim_seed(uint64_t seed) {
  state = chosen = (seed + 1) * 0x9E3779B97F4A7C15u;
  for (int i = 0; i < 8; i++)
    gemel__sim_random();
  policy = (int)(gemel__sim_random() >> 33 & 3);
}

/* Xorshift (Marsaglia, 2003). */
uint64_t gemel__sim_random(void) {
  if (state == 0) {
    const char *seed = getenv("GEMEL_SIM_SEED");
    gemel__sim_seed(seed != NULL ? strtoull(seed, NULL, 0) : 0);
  }
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

uint32_t gemel__sim_below(uint32_t bound) {
  return (uint32_t)((gemel__sim_random() >> 32) * bound >> 32);
}

bool gemel__sim_choice(uint64_t of) {
  if (state == 0)
    gemel__sim_random();
  uint64_t mixed = chosen ^ of;
  for (int i = 0; i < 2; i++)
    mixed = (mixed ^ mixed >> 31) * 0xBF58476D1CE4E5B9u;
  return mixed >> 63;
}

int gemel__sim_policy(void) {
  if (policy < 0)
    gemel__sim_random();
  return policy;
}
