/* SPDX-License-Identifier: MIT
 *
 * What a claim is about, see scope.h: read off its text, which is what people read.
 */
#include "claims/scope.h"

#include <string.h>
#include "core/graph.h"

/* 1 if WORD is one of those in the parentheses behind HEAD in ELEMENTS. */
static int lists(const char *elements, const char *head, const char *word) {
  const char *at = strstr(elements, head), *end = at != NULL ? strchr(at, ')') : NULL;
  size_t length = strlen(word);
  for (at = end != NULL ? at + strlen(head) : NULL; at != NULL && at < end;
       at += strspn(at, " ,")) {
    size_t n = strcspn(at, " ,)");
    if (n == length && memcmp(at, word, n) == 0) {
      return 1;
    }
    at += n;
  }
  return 0;
}

unsigned gemel__claimed_of_dtype(const char *elements, gemel_dtype dtype) {
  const char *name = gemel_dtype_name(dtype);
  int bits = lists(elements, "bits (", name);
  if (strncmp(elements, "any", 3) == 0) {
    return GEMEL__CLAIMS_VALUES | GEMEL__CLAIMS_BITS;
  }
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT) {
    return (lists(elements, "values (", "reals") ? GEMEL__CLAIMS_VALUES : 0u) |
           (bits ? GEMEL__CLAIMS_BITS : 0u);
  }
  return bits || lists(elements, "values (", name) ? GEMEL__CLAIMS_VALUES | GEMEL__CLAIMS_BITS : 0;
}

static unsigned claimed_of_value(const gemel_proof *proof, gemel_value value) {
  return gemel__claimed_of_dtype(
      proof->elements, gemel_type_dtype(gemel_graph_context(value.graph), gemel_value_type(value)));
}

unsigned gemel__claimed_of_graph(const gemel_proof *proof, const gemel_graph *graph) {
  unsigned claimed = GEMEL__CLAIMS_VALUES | GEMEL__CLAIMS_BITS;
  size_t n = gemel_graph_input_count(graph);
  for (uint32_t node = 0; node < graph->n_nodes && !proof->all_ranks; node++) {
    for (uint32_t k = 0; k < gemel__node_at(graph, node)->n_outputs; k++) {
      int rank = gemel_type_rank(graph->context, gemel__node_type(graph, node, k));
      claimed = rank <= proof->ranks ? claimed : 0;
    }
  }
  for (size_t k = 0; k < n; k++) {
    claimed &= claimed_of_value(proof, gemel_graph_input(graph, k));
  }
  for (size_t k = 0; n == 0 && k < gemel_graph_output_count(graph); k++) {
    claimed &= claimed_of_value(proof, gemel_graph_output(graph, k));
  }
  return claimed;
}

void gemel__withdraw(gemel_proof *proof, const char *counterexample) {
  proof->elements = NULL;
  proof->ranks = proof->all_ranks = 0;
  proof->counterexample = counterexample;
  proof->why =
      "withdrawn: refuted, although it was proved; a mistake of the prover, please report it";
}
