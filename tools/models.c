/* SPDX-License-Identifier: MIT
 *
 * gemel models: writes random models of ONNX to a folder, for gemel campaign.
 */
#include <gemel/models.h>
#include <stdlib.h>
#include <string.h>
#include "tool.h"

static const gemel__option options[] = {
    {"count", 'n', "N", "how many (default 100)"},
    {"first", 0, "K", "number of the first one (default 0); model K of a seed is always the same"},
    {"seed", 's', "S", "of everything random, a number (default 1) or 'random'; always printed"},
    {"aim", 'a', "OPERATOR[,OPERATOR]...",
     "each model has one of these operators of ONNX at least; *, ? and [...] as in a shell"},
    {"template", 't', "NAME[,NAME]...", "each model begins with one of these templates"},
    {"opset", 'k', "K", "version of ONNX's operators, 7 to 23 (default: any of these)"},
    {NULL, 0, NULL, NULL}};

/* The operators that were met, for a count. */
typedef struct operators_met {
  char (*names)[32];
  size_t count;
} operators_met;

static void meet(operators_met *m, const char *names) {
  for (size_t n; *names != '\0'; names += n + (names[n] == ' ')) {
    size_t k = 0;
    n = strcspn(names, " ");
    while (k < m->count && (strlen(m->names[k]) != n || strncmp(m->names[k], names, n) != 0)) {
      k++;
    }
    if (k == m->count && n < sizeof *m->names) {
      m->names = gemel__need(m->names, (k + 1) * sizeof *m->names);
      snprintf(m->names[m->count++], sizeof *m->names, "%.*s", (int)n, names);
    }
  }
}

static int write_model(const char *folder, uint64_t number, const gemel_drawn_model *drawn) {
  char *path =
      gemel__need_text("%s/%04llu-%s.onnx", folder, (unsigned long long)number, drawn->name);
  gemel__output output;
  int status = gemel__output_open(&output, path);
  if (status == GEMEL__GOOD) {
    gemel__output_write(&output, drawn->bytes, drawn->length);
    status = gemel__output_close(&output, 1);
  }
  free(path);
  return status;
}

static int write_models(const char *folder, uint64_t seed, uint64_t first, uint64_t count,
                        const gemel_model_options *o) {
  uint64_t refused = 0;
  operators_met m = {NULL, 0};
  int status = GEMEL__GOOD;
  for (uint64_t k = first; k - first < count && status == GEMEL__GOOD; k++) {
    gemel_drawn_model drawn = {.size = sizeof drawn};
    gemel_error error;
    gemel__progress("gemel models: %llu of %llu", (unsigned long long)(k - first),
                    (unsigned long long)count);
    if (gemel_draw_onnx_model(seed, k, o, &drawn, &error) != GEMEL_OK) {
      gemel__progress(NULL);
      status = gemel__complain_error(NULL, &error);
      break;
    }
    status = write_model(folder, k, &drawn);
    refused += drawn.refused;
    meet(&m, drawn.operators);
    gemel_drawn_model_clear(&drawn);
  }
  gemel__progress(NULL);
  if (status == GEMEL__GOOD) {
    printf("gemel models: %llu models of %zu operators in %s; %llu sketches were no models (seed "
           "%llu)\n",
           (unsigned long long)count, m.count, folder, (unsigned long long)refused,
           (unsigned long long)seed);
  }
  free(m.names);
  return status;
}

static int run(const gemel__args *args) {
  gemel_model_options o = {.size = sizeof o,
                           .operators = gemel__arg(args, "aim"),
                           .templates = gemel__arg(args, "template")};
  uint64_t seed = 1, first = 0, count = 100, opset = 0;
  if (gemel__arg_seed(args, &seed) != GEMEL__GOOD ||
      gemel__arg_number(args, "count", 1, 1000000000, &count) != GEMEL__GOOD ||
      gemel__arg_number(args, "first", 0, UINT64_MAX / 2, &first) != GEMEL__GOOD ||
      gemel__arg_number(args, "opset", 7, 23, &opset) != GEMEL__GOOD ||
      gemel__folder_make(args->operands[0]) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  o.opset = (int)opset;
  return write_models(args->operands[0], seed, first, count, &o);
}

const gemel__command gemel__command_models = {
    "models",
    "DIR",
    "Write random models of ONNX to a folder, for gemel campaign.",
    "Small and valid ones, of 1 to 12 nodes: operators at their edges, and what optimisers look "
    "for, with a condition or two broken. A file is called after its number and the templates "
    "that it is made of. What gemel doesn't read is not among them. Exit status 0; 2 for usage and "
    "for what can't be written.",
    options,
    1,
    1,
    run};
