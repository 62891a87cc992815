/* SPDX-License-Identifier: MIT
 *
 * A module of HLO as it was read (parse.c): computations, each a list of instructions whose
 * operands stand before them, with attributes as the text that they are. Nothing is checked but the
 * grammar.
 */
#ifndef GEMEL__HLO_MODULE_H
#define GEMEL__HLO_MODULE_H

#include <gemel/hlo.h>
#include "core/arena.h"
#include "core/intern.h"

/* A piece of the module's text. */
typedef struct gemel__hlo_span {
  const char *text;
  size_t length;
} gemel__hlo_span;

/* What a value is: an array, or a tuple of such. */
typedef struct gemel__hlo_shape {
  gemel__hlo_span type; /* of elements: "f32" */
  int dtype;            /* the gemel_dtype that TYPE is, or -1: gemel has none such (c64, token) */
  int rank;
  const int64_t *dims;
  const int64_t *order;  /* axes, the one that lies nearest in memory first; NULL: not said */
  gemel__hlo_span tiles; /* what the layout says besides: ":T(8,128)", ":S(1)" */
  int is_tuple;
  size_t n_parts;
  const struct gemel__hlo_shape *parts;
} gemel__hlo_shape;

typedef struct gemel__hlo_attr {
  gemel__hlo_span name, value;
} gemel__hlo_attr;

typedef struct gemel__hlo_instr {
  gemel__hlo_span name, opcode;
  gemel__hlo_span inside; /* what stands between the parentheses behind the opcode */
  gemel__hlo_shape shape;
  int64_t line;
  size_t n_operands, n_attrs;
  const uint32_t *operands; /* numbers of instructions before this one */
  const gemel__hlo_attr *attrs;
  int is_live;     /* 1: it counts (live.h) */
  int has_effect;  /* 1: it, or what it calls, does something besides giving a result */
  uint32_t before; /* the instruction before it whose name has the same hash, from 1; 0: none */
} gemel__hlo_instr;

typedef struct gemel__hlo_computation {
  gemel__hlo_span name;
  size_t n_instrs, n_parameters;
  gemel__hlo_instr *instrs;
  int has_effect;             /* 1: one of them has */
  const uint32_t *parameters; /* the instruction of each */
  uint32_t root;
  uint32_t before; /* as in gemel__hlo_instr */
} gemel__hlo_computation;

struct gemel_hlo {
  gemel__arena arena;
  char *bytes;      /* owned, where the file was read; or NULL */
  size_t length;    /* of BYTES */
  const char *file; /* for messages */
  const char *name;
  size_t n_computations, room;
  gemel__hlo_computation *computations;
  size_t entry; /* its number; n_computations: none */
  gemel__map names;
};

/* 1 if the layout of SHAPE says more than an order of axes. */
int gemel__hlo_is_tiled(const gemel__hlo_shape *shape);

/* 1 if SPAN is TEXT. */
int gemel__hlo_is(gemel__hlo_span span, const char *text);

/* The value of attribute NAME of INSTR; NULL as text if it has none. */
gemel__hlo_span gemel__hlo_attr_of(const gemel__hlo_instr *instr, const char *name);

/* The computation called NAME, with or without a % before it; NULL if there is none. */
const gemel__hlo_computation *gemel__hlo_computation_of(const gemel_hlo *module,
                                                        gemel__hlo_span name);

#endif
