/* SPDX-License-Identifier: MIT
 *
 * A model of ONNX that is being drawn: small arrays in one block, so that a sketch is copied by
 * assignment and what doesn't fit is refused. Values are known by their names, as in the file.
 */
#ifndef GEMEL__MODELS_SKETCH_H
#define GEMEL__MODELS_SKETCH_H

#include "base/random.h"
#include "core/error.h"

enum {
  GEMEL__SKETCH_TEXT = 32, /* bytes of a name */
  GEMEL__SKETCH_RANK = 8,
  GEMEL__SKETCH_NODES = 48,
  GEMEL__SKETCH_VALUES = 64,
  GEMEL__SKETCH_CONSTANTS = 64,
  GEMEL__SKETCH_GRAPHS = 8,
  GEMEL__SKETCH_ATTRS = 8,
  GEMEL__SKETCH_INPUTS = 10,
  GEMEL__SKETCH_RESULTS = 6,
  GEMEL__SKETCH_LIST = 12, /* numbers of an attribute */
  GEMEL__SKETCH_NUMBERS = 4096
};

typedef char gemel__sketch_name[GEMEL__SKETCH_TEXT];

/* A size, or a symbol; "?": a size without a name. */
typedef struct gemel__sketch_dim {
  int64_t size;
  char symbol[16]; /* "": a number */
} gemel__sketch_dim;

typedef struct gemel__sketch_value {
  gemel__sketch_name name;
  gemel_dtype dtype;
  int rank;
  gemel__sketch_dim dims[GEMEL__SKETCH_RANK];
  int graph; /* of which it is an input */
} gemel__sketch_value;

/* How a constant stands in the file: an initialiser, one that is an input, too, or a node. */
typedef enum gemel__sketch_form {
  GEMEL__FORM_INITIALISER,
  GEMEL__FORM_INPUT,
  GEMEL__FORM_NODE,
  GEMEL__FORM_ATTRIBUTE, /* it belongs to a node */
  GEMEL__FORM_GONE       /* nothing needs it */
} gemel__sketch_form;

typedef struct gemel__sketch_constant {
  gemel__sketch_value value;
  gemel__sketch_form form;
  size_t at, count; /* its elements in the sketch's numbers */
} gemel__sketch_constant;

typedef enum gemel__sketch_kind { /* as AttributeProto.type */
                                  GEMEL__SKETCH_FLOAT = 1,
                                  GEMEL__SKETCH_INT = 2,
                                  GEMEL__SKETCH_STRING = 3,
                                  GEMEL__SKETCH_TENSOR = 4,
                                  GEMEL__SKETCH_GRAPH = 5,
                                  GEMEL__SKETCH_FLOATS = 6,
                                  GEMEL__SKETCH_INTS = 7
} gemel__sketch_kind;

typedef struct gemel__sketch_attr {
  gemel__sketch_name name, text;
  gemel__sketch_kind kind;
  int index; /* of the constant or graph */
  int count;
  double numbers[GEMEL__SKETCH_LIST];
} gemel__sketch_attr;

typedef struct gemel__sketch_node {
  gemel__sketch_name op;
  int graph;
  int n_inputs, n_results, n_attrs;
  gemel__sketch_name inputs[GEMEL__SKETCH_INPUTS]; /* "": left out */
  gemel__sketch_name results[GEMEL__SKETCH_RESULTS];
  gemel__sketch_attr attrs[GEMEL__SKETCH_ATTRS];
} gemel__sketch_node;

/* A graph in an attribute; graph 0 is the model's own. */
typedef struct gemel__sketch_graph {
  gemel__sketch_name name;
  int n_outputs;
  gemel__sketch_name outputs[GEMEL__SKETCH_RESULTS];
} gemel__sketch_graph;

typedef struct gemel__sketch {
  int opset;
  int style;  /* of names */
  int serial; /* of the last name */
  size_t n_inputs, n_known, n_outputs, n_constants, n_nodes, n_graphs, n_numbers;
  gemel__sketch_value inputs[GEMEL__SKETCH_VALUES];
  gemel__sketch_value known[GEMEL__SKETCH_VALUES];   /* results of graph 0, with their types */
  gemel__sketch_value outputs[GEMEL__SKETCH_VALUES]; /* of graph 0 */
  gemel__sketch_constant constants[GEMEL__SKETCH_CONSTANTS];
  gemel__sketch_node nodes[GEMEL__SKETCH_NODES];
  gemel__sketch_graph graphs[GEMEL__SKETCH_GRAPHS];
  double numbers[GEMEL__SKETCH_NUMBERS];
} gemel__sketch;

/* ---- The text (text.c): rows of the built-in text ---- */

/* A row: its head (behind the first word) and its body, up to the next row. */
typedef struct gemel__model_row {
  const char *head, *body, *end;
  size_t head_length;
} gemel__model_row;

/* Goes on from *AT (NULL: the first) to the next row that begins with WORD: 1, or 0 at the end. */
int gemel__model_row_next(const char *word, const char **at, gemel__model_row *row);

/* The row that begins with WORD and has NAME as first word of its head: 1 or 0. */
int gemel__model_row_find(const char *word, const char *name, size_t length, gemel__model_row *row);

/* 1 if operator OP is there at this opset, for this dtype (GEMEL_DTYPE_COUNT: any). */
int gemel__model_takes(const char *op, int opset, gemel_dtype dtype);

/* The operand of OP by whose dtype that is decided. */
int gemel__model_typed_operand(const char *op);

/* 1 if all operands of OP from that one on have its dtype. */
int gemel__model_is_same(const char *op);

/* The operand that OP must have at this opset; -1: that isn't said. */
int gemel__model_needed(const char *op, int opset);

/* Before which opset operand K of OP is an attribute, whose NAME and KIND (0: the operand isn't
 * there) these become; 0: always an operand. */
int gemel__model_operand_since(const char *op, int k, gemel__sketch_name name,
                               gemel__sketch_kind *kind);

/* From which opset on OP has attribute NAME; *DROP: it may be left out before. */
int gemel__model_attr_since(const char *op, const char *name, int *drop);

/* ---- A template as statements (expand.c) ---- */

enum { GEMEL__EXPANSION_VARIABLES = 32, GEMEL__EXPANSION_TEXT = 6000 };

typedef struct gemel__expanding {
  gemel__random *random;
  uint64_t deviate; /* bit K: place K takes another alternative than its first */
  int places, depth;
  int failed;
  struct {
    char name[8], text[80];
  } variables[GEMEL__EXPANSION_VARIABLES];
  size_t n_variables;
  size_t used;
  char text[GEMEL__EXPANSION_TEXT];
} gemel__expanding;

/* Gives variable NAME a text; what it has already stays. */
void gemel__expansion_bind(gemel__expanding *e, const char *name, size_t length, const char *text);
const char *gemel__expansion_bound(const gemel__expanding *e, const char *name, size_t length);

/* Appends FROM … END with one alternative of each place, and a text for each variable. */
void gemel__expand(gemel__expanding *e, const char *from, const char *end);

/* Appends what the word of LENGTH bytes at NAME stands for, of those that draw a shape, axes and
 * the like (shapes.c); 0 if it is none of these. */
int gemel__expand_word(gemel__expanding *e, const char *name, size_t length);
void gemel__expand_format(gemel__expanding *e, const char *format, ...) GEMEL__PRINTF(2, 3);

/* ---- Statements as a sketch (parse.c) ---- */

/* Appends what TEXT says to SKETCH. The value that LOCAL is called there is OUTER (NULL: none). An
 * error: the text is wrong, or doesn't fit in a sketch or its opset. */
gemel_status gemel__sketch_parse(gemel__sketch *sketch, gemel__random *random, const char *text,
                                 size_t length, const char *local, const char *outer,
                                 gemel_error *error);

/* A name that no value has, made of BASE. */
void gemel__sketch_fresh(gemel__sketch *sketch, const char *base, gemel__sketch_name name);

/* A further node of GRAPH with one result, all named; NULL if there is no room. */
gemel__sketch_node *gemel__sketch_node_add(gemel__sketch *sketch, const char *op, int graph);

/* A further constant, or NULL. Its value's dtype, rank and dims are set by the caller, and COUNT
 * elements are zero. */
gemel__sketch_constant *gemel__sketch_constant_add(gemel__sketch *sketch, const char *base,
                                                   size_t count);

/* ---- A sketch as a model (write.c) ---- */

typedef struct gemel__sketch_bytes {
  uint8_t *bytes;
  size_t used, capacity;
  int failed; /* memory is out */
} gemel__sketch_bytes;

void gemel__sketch_write(const gemel__sketch *sketch, gemel__sketch_bytes *out);

/* Writes the sketch, has gemel read it and fills in the types of KNOWN and of the outputs.
 * GEMEL_NO_MEMORY, or why gemel can't read it. */
gemel_status gemel__sketch_read(gemel__sketch *sketch, gemel_error *error);

/* ---- Changes (decorate.c) ---- */

/* Change K of a sketch, at a random place; 0 if there is no such change. */
int gemel__sketch_change(gemel__sketch *sketch, gemel__random *random, size_t k);

/* Makes results that nothing uses outputs. */
void gemel__sketch_end(gemel__sketch *sketch);

/* How often NAME is used by nodes and graphs. */
int gemel__sketch_uses(const gemel__sketch *sketch, const char *name);

#endif
