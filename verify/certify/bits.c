/* SPDX-License-Identifier: MIT
 *
 * Compares bits, see bits.h. Points are drawn as for domain O, around the literals of the region.
 * At two of three points large numbers that are one unit apart are planted: 2^30 and 2^30 + 1, say,
 * are the same number in f32, so a cast that loses digits shows.
 */
#include "certify/bits.h"

#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "instances/source.h"
#include "pairs/contrast.h"

int gemel__bits_matter(const gemel_graph *graph) {
  unsigned floats = 0, others = 0;
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    gemel_dtype dtype;
    if (!gemel__has_output(graph, k, 0)) {
      continue;
    }
    dtype = gemel_type_dtype(graph->context, gemel__node_type(graph, k, 0));
    if (gemel__is_float(dtype)) {
      floats |= 1u << dtype;
    } else if (dtype != GEMEL_BOOL) {
      others |= 1u << dtype;
    }
  }
  return (floats & (floats - 1)) != 0 || (floats != 0 && others != 0);
}

/* Draws POINT for run RUN. */
static gemel_status draw(const gemel__instance *in, const gemel__literals *literals, size_t run,
                         gemel__random *random, gemel_tensor **point, gemel_error *error) {
  double named[GEMEL__MOST_LITERALS];
  size_t n = 0;
  for (size_t k = 0; k < literals->n; k++) {
    if (literals->x[k] != 0) {
      named[n++] = literals->x[k];
    }
  }
  gemel_status status = gemel__instance_points(
      in, run % 3 == 0 ? GEMEL__FILL_FULL : GEMEL__FILL_POINTS, named, n, random, point, error);
  if (status == GEMEL_OK && run % 3 != 0) {
    const gemel__drawn at = {in, point, run, random};
    gemel__sources_change(&at, GEMEL__FOR_BITS);
  }
  return status;
}

static int differs(const gemel__both *both) {
  size_t n = gemel__both_elements(both, 0), i = 0;
  while (i < n && gemel__both_contrast(both, 0, i) <= GEMEL__ZERO_SIGN) {
    i++;
  }
  return i < n;
}

/* Runs both sides at POINT and compares. */
static gemel_status look(const gemel__pair *pair, gemel_tensor **point, gemel__difference *shown,
                         gemel__random *random, gemel__finding *finding, gemel_error *error) {
  gemel__both both;
  gemel_status status = gemel__both_run(pair, point, random, &both, error);
  if (status == GEMEL_OK) {
    *finding = differs(&both) ? gemel__different : gemel__same;
    gemel__both_clear(&both);
  }
  return status || !gemel__is_different(*finding)
             ? status
             : gemel__difference_show(shown, pair, point, "", error);
}

gemel_status gemel__compare_bits(gemel__pair *pair, const gemel__literals *literals,
                                 gemel__difference *shown, gemel__random *random,
                                 gemel__finding *finding, gemel_error *error) {
  enum { RUNS = 30 };
  size_t n = pair->a.n_leaves;
  gemel_tensor **point = gemel__alloc_array(n + 1, sizeof *point);
  gemel_status status = point != NULL ? GEMEL_OK : gemel__no_memory(error, "certifying");
  *finding = gemel__unseen;
  gemel__pair_compile(pair);
  for (size_t run = 0; run < RUNS && status == GEMEL_OK && !gemel__is_different(*finding); run++) {
    status = draw(&pair->a, literals, run, random, point, error);
    if (status == GEMEL_OK) {
      status = look(pair, point, shown, random, finding, error);
      gemel__tensors_release(n, point);
    }
  }
  gemel__free(point, (n + 1) * sizeof *point);
  *finding = status != GEMEL_OK && !gemel__is_different(*finding) ? gemel__unseen : *finding;
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}
