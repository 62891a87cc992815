/* SPDX-License-Identifier: MIT
 *
 * Two graphs as a whole, see whole.h.
 */
#include "equal/whole.h"

#include <string.h>
#include "pairs/strain.h"

gemel_status gemel__whole_look(gemel__run *run, const char *name, const gemel_graph *a,
                               const gemel_graph *b, unsigned known, unsigned allow,
                               gemel__flip *found, gemel_error *error) {
  gemel__random random;
  memset(found, 0, sizeof *found);
  if (run->brief) {
    return GEMEL_OK;
  }
  if (!(known & GEMEL__NEED(INTEGERS))) {
    gemel__run_random(run, name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_FLIPS), &random);
    GEMEL__TRY(
        gemel__flips_find(a, b, known == 0, GEMEL__FLIPS_ALL, &random, run->ticker, found, error));
  }
  if (found->words != 0 || (known | allow) & GEMEL__NEED(WORSENS)) {
    return GEMEL_OK;
  }
  gemel__run_random(run, name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_STRAIN), &random);
  return gemel__strain_find(a, b, &random, run->ticker, found, error);
}
