/* SPDX-License-Identifier: MIT
 *
 * Names of needs, phases and modes, from the tables in <gemel/rewrite.h>.
 */
#include <gemel/rewrite.h>

#define NAME(E, name, text) #name,
#define TEXT(E, name, text) text,

static const char *const words[] = {GEMEL_NEEDS_TABLE(NAME)};
static const char *const meanings[] = {GEMEL_NEEDS_TABLE(TEXT)};
static const char *const phases[] = {GEMEL_PHASE_TABLE(NAME)};
static const char *const modes[] = {GEMEL_MODE_TABLE(NAME)};

const char *gemel_needs_word(int k) {
  return k >= 0 && k < GEMEL_NEEDS_COUNT ? words[k] : NULL;
}

const char *gemel_needs_meaning(int k) {
  return k >= 0 && k < GEMEL_NEEDS_COUNT ? meanings[k] : NULL;
}

const char *gemel_phase_name(gemel_phase phase) {
  return (unsigned)phase < GEMEL_PHASE_COUNT ? phases[phase] : NULL;
}

const char *gemel_mode_name(gemel_mode mode) {
  return (unsigned)mode < GEMEL_MODE_COUNT ? modes[mode] : NULL;
}
