/* SPDX-License-Identifier: MIT
 *
 * The math library of a GPU that isn't there: functions of f64 for device code, each the C
 * library's best result or a neighbour of it, by a hash of the arguments. So they are within the 2
 * units in the last place that CUDA's documentation states, and differ from the host's in bits as
 * CUDA's do: what relies on the host's is found out. Results that are exact, and those at special
 * arguments, stay.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "sim/calls.h"

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static int is_ordinary(double x) {
  return isnormal(x) && fabs(x) != 1;
}

/* Y, or the number below or above, but that above a power of two, which is twice as far. */
static double neighbour(double y, double x, double z) {
  uint64_t hash = (bits_of(x) ^ bits_of(z) * 3) * 0x9e3779b97f4a7c15u;
  int step = (int)(hash >> 60) % 3, exponent;
  step = step == 2 && fabs(frexp(y, &exponent)) == 0.5 ? 0 : step;
  return !is_ordinary(y) || step == 0 ? y : nextafter(y, step == 1 ? 0 : copysign(INFINITY, y));
}

#define FUNCTION(name)                                                                             \
  double gemel__sim_##name(double x) {                                                             \
    return is_ordinary(x) ? neighbour((double)name##l((long double)x), x, 0) : name(x);            \
  }
GEMEL__SIM_FUNCTIONS(FUNCTION)

double gemel__sim_atan2(double x, double y) {
  return is_ordinary(x) && is_ordinary(y)
             ? neighbour((double)atan2l((long double)x, (long double)y), x, y)
             : atan2(x, y);
}
