/* SPDX-License-Identifier: MIT
 *
 * The table of sources of points, see source.h.
 */
#include "instances/source.h"

#include "instances/assumed.h"

const gemel__source gemel__sources[] = {
#define SOURCE(name, questions, every, first, shows)                                               \
  {questions, every, first, shows, gemel__put_##name},
#include "instances/sources.def"
#undef SOURCE
};

void gemel__source_put(const gemel__drawn *point, const gemel__source *source) {
  source->put(point);
  for (size_t k = 0; k < point->instance->n_leaves; k++) {
    gemel__tensor_settle(&point->instance->leaves[k], point->values[k]);
  }
}

void gemel__sources_change(const gemel__drawn *point, unsigned question) {
  for (const gemel__source *s = gemel__sources; s < gemel__sources + GEMEL__SOURCES; s++) {
    if (s->questions & question && point->turn % s->every == s->first &&
        s->shows(point->instance->graph)) {
      gemel__source_put(point, s);
    }
  }
}
