/* SPDX-License-Identifier: MIT
 *
 * Folders for gemel_verify_replay that were made by hand.
 */
#ifndef GEMEL_TESTS_SUPPORT_QUESTION_H
#define GEMEL_TESTS_SUPPORT_QUESTION_H

#include <gemel/dump.h>
#include <sys/stat.h>
#include "graph-text.h"

/* FOLDER/SIDE = a call of the graph in TEXT at zeros; sizes that aren't numbers are 2. */
static inline void ct_question_side(gemel_context *context, const char *folder, const char *side,
                                    const char *text) {
  char path[400];
  gemel_error error;
  gemel_tensor *zeros[8];
  gemel_graph *graph = parse(context, text);
  size_t n = gemel_graph_input_count(graph), k;
  for (k = 0; k < n; k++) {
    gemel_type type = gemel_value_type(gemel_graph_input(graph, k));
    int64_t shape[GEMEL_MAX_RANK];
    for (int j = 0; j < gemel_type_rank(context, type); j++) {
      shape[j] = 2;
      gemel_dim_is_constant(context, gemel_type_dims(context, type)[j], &shape[j]);
    }
    zeros[k] = gemel_tensor_new(gemel_type_dtype(context, type), gemel_type_rank(context, type),
                                shape, &error);
    memset(gemel_tensor_data(zeros[k]), 0,
           (size_t)gemel_tensor_elements(zeros[k]) *
               gemel_dtype_size(gemel_tensor_dtype(zeros[k])));
  }
  snprintf(path, sizeof path, "%s/%s", folder, side);
  CT_EQ_INT(gemel_dump(graph, NULL, n, zeros, 0, NULL, path, &error), GEMEL_OK);
  for (k = 0; k < n; k++) {
    gemel_tensor_unref(zeros[k]);
  }
  gemel_graph_unref(graph);
}

/* FOLDER, which is made and must not be there, asks TIER about the pair A and B; VALUES 0: as what
 * a model refuted without any. */
static inline void ct_question(gemel_context *context, const char *folder, const char *tier,
                               int values, const char *a, const char *b) {
  char path[400];
  CT_EQ_INT(mkdir(folder, 0777), 0);
  ct_question_side(context, folder, "first", a);
  ct_question_side(context, folder, "second", b);
  snprintf(path, sizeof path, "%s/question", folder);
  FILE *file = fopen(path, "w");
  CT_REQUIRE(file != NULL);
  fprintf(file, "kind = pair\nname = asked\ntier = %s\nseed = 1\ncompared = 1\nvalues = %d\n", tier,
          values);
  fclose(file);
}

#endif
