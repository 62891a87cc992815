/* SPDX-License-Identifier: MIT
 *
 * What a claim is about, see scope.h: read off its text, which is what people read.
 */
#include "rules/claim-scope.h"

#include <string.h>
#include "core/alloc.h"
#include "core/graph.h"
#include "core/value.h"

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

/* The operands of node K of GRAPH whose elements are among those of its result, or are computed
 * with: not indices, classes, and what is asked by `where`, of which a claim says nothing: they may
 * be of any dtype. A bit each; operands beyond 31 are like the last. */
static uint32_t element_operands(const gemel_graph *graph, uint32_t k) {
  static const char *const indexed[] = {"take", "put", "cross_entropy"};
  const char *name = gemel__op_at(graph->context, gemel__node_at(graph, k)->op)->record.name;
  uint32_t operands = UINT32_MAX;
  for (size_t j = 0; j < sizeof indexed / sizeof *indexed; j++) {
    operands &= strcmp(name, indexed[j]) == 0 ? ~(uint32_t)2 : UINT32_MAX;
  }
  return strcmp(name, "where") == 0 ? ~(uint32_t)1 : operands;
}

/* Marks in ELEMENTS the nodes whose elements the claim is about: those that results are made of,
 * other than as indices. */
static void mark_elements(const gemel_graph *graph, unsigned char *elements) {
  for (size_t k = 0; k < gemel_graph_output_count(graph); k++) {
    elements[gemel_graph_output(graph, k).node] = 1;
  }
  for (uint32_t k = (uint32_t)graph->n_nodes; k-- > 0;) {
    uint32_t count, operands = element_operands(graph, k);
    const gemel__ref *inputs = gemel__node_inputs(graph, k, &count);
    for (uint32_t j = 0; j < count && elements[k]; j++) {
      elements[inputs[j].node] |= operands >> (j < 31 ? j : 31) & 1;
    }
  }
}

static unsigned claimed_of_value(const gemel_proof *proof, gemel_value value) {
  return gemel__claimed_of_dtype(proof->elements, gemel__value_dtype(value));
}

/* 1 if GRAPH computes with no floats, among its ELEMENTS, of which the claim says nothing of
 * rounding. */
static int computes_in_bits(const gemel_proof *proof, const gemel_graph *graph,
                            const unsigned char *elements) {
  int in_bits = 1;
  for (uint32_t node = 0; node < graph->n_nodes; node++) {
    for (uint32_t k = 0; elements[node] && k < gemel__node_at(graph, node)->n_outputs; k++) {
      gemel_dtype dtype = gemel_type_dtype(graph->context, gemel__node_type(graph, node, k));
      in_bits &= gemel_dtype_kind(dtype) != GEMEL_KIND_FLOAT ||
                 (gemel__claimed_of_dtype(proof->elements, dtype) & GEMEL__CLAIMS_BITS) != 0;
    }
  }
  return in_bits;
}

/* 1 if all values of GRAPH have as many axes as PROOF is about. */
static int has_claimed_ranks(const gemel_proof *proof, const gemel_graph *graph) {
  int claimed = 1;
  for (uint32_t node = 0; node < graph->n_nodes && !proof->all_ranks; node++) {
    for (uint32_t k = 0; k < gemel__node_at(graph, node)->n_outputs; k++) {
      claimed &= gemel_type_rank(graph->context, gemel__node_type(graph, node, k)) <= proof->ranks;
    }
  }
  return claimed;
}

unsigned gemel__claimed_of_graph(const gemel_proof *proof, const gemel_graph *graph) {
  unsigned claimed = GEMEL__CLAIMS_VALUES | GEMEL__CLAIMS_BITS;
  size_t n = gemel_graph_input_count(graph), about = 0;
  unsigned char *elements = gemel__alloc_zeroed(graph->n_nodes + 1);
  if (elements == NULL || !has_claimed_ranks(proof, graph)) {
    gemel__free(elements, elements != NULL ? graph->n_nodes + 1 : 0);
    return 0;
  }
  mark_elements(graph, elements);
  for (size_t k = 0; k < n; k++) {
    gemel_value input = gemel_graph_input(graph, k);
    claimed &= elements[input.node] ? claimed_of_value(proof, input) : claimed;
    about += elements[input.node];
  }
  for (size_t k = 0; about == 0 && k < gemel_graph_output_count(graph); k++) {
    claimed &= claimed_of_value(proof, gemel_graph_output(graph, k));
  }
  claimed &= computes_in_bits(proof, graph, elements) ? claimed : ~(unsigned)GEMEL__CLAIMS_BITS;
  gemel__free(elements, graph->n_nodes + 1);
  return claimed;
}

int gemel__claims_bits_of_graph(const gemel_proof *proof, const gemel_graph *graph) {
  unsigned char *elements = gemel__alloc_zeroed(graph->n_nodes + 1);
  if (elements == NULL) {
    return 0;
  }
  mark_elements(graph, elements);
  int in_bits = computes_in_bits(proof, graph, elements);
  gemel__free(elements, graph->n_nodes + 1);
  return in_bits;
}

static void claim_nothing(gemel_proof *proof, const char *why) {
  proof->elements = NULL;
  proof->ranks = proof->all_ranks = 0;
  proof->why = why;
}

void gemel__drop_unchecked(gemel_proof *proof) {
  if (proof->elements != NULL && proof->checked == 0) {
    claim_nothing(proof, "no instance was found to check the proof with");
  }
}

void gemel__withdraw(gemel_proof *proof, const char *counterexample, int poles) {
  proof->counterexample = counterexample;
  claim_nothing(proof, poles ? "withdrawn: refuted, perhaps where something on the way is no number"
                             : "withdrawn: refuted, although it was proved; a mistake of the "
                               "prover, please report it");
}
