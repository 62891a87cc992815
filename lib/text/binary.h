/* SPDX-License-Identifier: MIT
 *
 * The binary form of graphs; its layout is in doc/text.md. A file is a head and sections, each with
 * a tag, flags, a length and a payload padded to 8 bytes; numbers are little-endian. Tables
 * (strings, operations, dims, types, tensors, kinds of nodes) come before what refers to them, by
 * index.
 */
#ifndef GEMEL__TEXT_BINARY_H
#define GEMEL__TEXT_BINARY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <gemel/text.h>

#define GEMEL__MAGIC "\x93GEMEL\r\n" /* 8 bytes; a text file can't begin so */

enum {
  GEMEL__BINARY_VERSION = 1,
  GEMEL__HEAD_BYTES = 16,
  GEMEL__SECTION_BYTES = 16,
  GEMEL__SECTION_REQUIRED = 1 /* flag: who doesn't know the section can't read the file */
};

#define GEMEL__TAG(a, b, c, d)                                                                     \
  ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

enum {
  GEMEL__TAG_STRINGS = GEMEL__TAG('S', 'T', 'R', 'S'),
  GEMEL__TAG_OPS = GEMEL__TAG('O', 'P', 'E', 'R'),
  GEMEL__TAG_DIMS = GEMEL__TAG('D', 'I', 'M', 'S'),
  GEMEL__TAG_TYPES = GEMEL__TAG('T', 'Y', 'P', 'E'),
  GEMEL__TAG_TENSORS = GEMEL__TAG('T', 'E', 'N', 'S'),
  GEMEL__TAG_KINDS = GEMEL__TAG('K', 'I', 'N', 'D'),
  GEMEL__TAG_GRAPH = GEMEL__TAG('G', 'R', 'P', 'H'),
  GEMEL__TAG_END = GEMEL__TAG('E', 'N', 'D', ' ')
};

/* The checksum of COUNT bytes, a multiple of 8, continued from HASH. */
#define GEMEL__CHECKSUM_START 0x67656d656c000001u
static inline uint64_t gemel__checksum(uint64_t hash, const void *bytes, size_t count) {
  const char *p = (const char *)bytes;
  for (size_t k = 0; k < count; k += 8) {
    uint64_t word;
    memcpy(&word, p + k, sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return hash;
}

/* gemel_deserialize with FILE as the nodes' provenance. */
gemel_graph *gemel__binary_read(gemel_context *context, const void *bytes, size_t length,
                                const char *file, char **name, gemel_error *error);

#endif
