/* SPDX-License-Identifier: MIT
 *
 * Models of ONNX drawn at random: small and valid, of the operators at their edges, and of what
 * optimisers look for with a condition or two broken. They are for judging optimisers: `gemel
 * models` writes them, `gemel campaign` judges what becomes of each (doc/onnx.md). All functions
 * may be called on several threads at once.
 */
#ifndef GEMEL_MODELS_H
#define GEMEL_MODELS_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is drawn. Begin with {sizeof options}. */
typedef struct gemel_model_options {
  size_t size;
  /* Operators with commas between them, patterns as of a shell among them: each model has one of
   * them at least. NULL: any. */
  const char *operators;
  /* The same of the templates that a model begins with, which are called as the files are. */
  const char *templates;
  int opset; /* the version of ONNX's operators, 7 to 23; 0: any of these */
} gemel_model_options;

/* A model that was drawn. */
typedef struct gemel_drawn_model {
  size_t size;
  void *bytes; /* the file, of LENGTH bytes */
  size_t length;
  char name[64];       /* of its templates: "conv_norm" */
  char operators[512]; /* those of its nodes, with spaces between them */
  unsigned refused;    /* sketches that were no models, or none that gemel reads */
} gemel_drawn_model;

/* Draws model NUMBER of SEED into *DRAWN, whose size the caller has set: always the same one, on
 * any machine; which others are drawn is no matter. OPTIONS may be NULL. gemel reads the model, and
 * its outputs have the types that gemel gives them. The bytes are released with
 * gemel_drawn_model_clear. Errors: GEMEL_NOT_FOUND (no such operator or template, with what was
 * perhaps meant; or none of them can be drawn at this opset), GEMEL_BAD_ARGUMENT (DRAWN is NULL, a
 * size of 0, an opset out of range), GEMEL_NO_MEMORY. */
gemel_status gemel_draw_onnx_model(uint64_t seed, uint64_t number,
                                   const gemel_model_options *options, gemel_drawn_model *drawn,
                                   gemel_error *error);

/* Frees the bytes; of NULL, and twice, nothing. */
void gemel_drawn_model_clear(gemel_drawn_model *drawn);

/* The name of template K, NULL behind the last. BYTES of NAME are filled; the name is NAME. */
const char *gemel_model_template(size_t k, char *name, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
