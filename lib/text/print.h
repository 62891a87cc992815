/* SPDX-License-Identifier: MIT
 *
 * Attributes as text, in the one form in which graphs are printed.
 */
#ifndef GEMEL__TEXT_PRINT_H
#define GEMEL__TEXT_PRINT_H

#include "text/bodies.h"
#include "text/write.h"

/* What the names in a printed graph are. */
typedef struct gemel__naming {
  const gemel_graph *graph;
  char prefix[64]; /* of nodes: prefix + number */
  size_t prefix_length;
  char body_prefix[64]; /* of graphs that are attributes */
  const gemel__text_bodies *bodies;
} gemel__naming;

/* ", name = value" for each of ATTRS that differs from its fallback. */
gemel_status gemel__print_attrs(const gemel__naming *naming, uint32_t attrs, gemel__writer *out,
                                gemel_error *error);

/* "f32[N, 3]@1" */
void gemel__print_type(gemel_context *context, gemel_type type, gemel__writer *out);

/* " positive finite"; what follows from another fact isn't said. */
void gemel__print_facts(unsigned facts, gemel__writer *out);

/* "2:f32" or "tensor(f32[2], [1, 2])" */
void gemel__print_tensor(const gemel_tensor *tensor, gemel__writer *out);

#endif
