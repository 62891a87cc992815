/* SPDX-License-Identifier: MIT
 *
 * Names of a model, each with a value: of values in a graph, functions, weights.
 */
#ifndef GEMEL__ONNX_NAMES_H
#define GEMEL__ONNX_NAMES_H

#include "core/arena.h"
#include "core/intern.h"
#include "onnx/call.h"

typedef struct gemel__onnx_entry {
  gemel__wire_span name;
  uint64_t hash;
  gemel__onnx_value value;
  uint32_t next; /* the entry before it of the same hash, counted from 1; 0: none */
} gemel__onnx_entry;

/* Zeroed: empty. Release with gemel__onnx_names_clear. */
typedef struct gemel__onnx_names {
  gemel__map heads;            /* hash of a name -> the newest entry, counted from 1 */
  gemel__onnx_entry **entries; /* each in an arena, so that they stay where they are */
  size_t count, capacity;
} gemel__onnx_names;

void gemel__onnx_names_clear(gemel__onnx_names *names);

/* The value of NAME's newest entry that isn't below FLOOR, or NULL. */
gemel__onnx_value *gemel__onnx_names_find(const gemel__onnx_names *names, gemel__wire_span name,
                                          size_t floor);

/* One more entry, in ARENA; its value, or NULL when memory is out. NAME must live as long. */
gemel__onnx_value *gemel__onnx_names_add(gemel__onnx_names *names, gemel__arena *arena,
                                         gemel__wire_span name, gemel__onnx_value value);

/* Makes the entries from FROM on unknown. */
void gemel__onnx_names_forget(gemel__onnx_names *names, size_t from);

#endif
