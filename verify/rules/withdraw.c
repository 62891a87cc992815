/* SPDX-License-Identifier: MIT
 *
 * Whether a counterexample is one of what was proved. A claim's text says of which dtypes it is:
 * "any", or "bits (f16 f32), values (reals, i8 i16)", either of the two by itself, too. A
 * counterexample is the text of a graph, whose types say what it is of.
 */
#include "rules/withdraw.h"

#include <string.h>
#include "core/graph.h"

#define WITHDRAWN                                                                                  \
  "withdrawn: refuted, although it was proved; a mistake of the prover, please report it"

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

/* 1 if the claim ELEMENTS is about DTYPE; REALS: about real numbers, not the bits of floats. */
static int speaks_of(const char *elements, gemel_dtype dtype, int reals) {
  const char *name = gemel_dtype_name(dtype);
  if (strncmp(elements, "any", 3) == 0) {
    return 1;
  }
  return gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT
             ? lists(elements, "values (", "reals") || (!reals && lists(elements, "bits (", name))
             : lists(elements, "values (", name) || lists(elements, "bits (", name);
}

/* 1 if the counterexample is one of the ranks and dtypes that PROOF is about, or can't be read. */
static int is_claimed(gemel_context *context, const char *counterexample, int reals,
                      const gemel_proof *proof) {
  gemel_error error;
  gemel_graph *graph =
      gemel_parse(context, counterexample, strlen(counterexample), "counterexample", NULL, &error);
  int claimed = 1;
  for (uint32_t node = 0; graph != NULL && node < graph->n_nodes; node++) {
    for (uint32_t k = 0; k < gemel__node_at(graph, node)->n_outputs; k++) {
      int rank = gemel_type_rank(context, gemel__node_type(graph, node, k));
      claimed &= proof->all_ranks || rank <= proof->ranks;
    }
  }
  for (size_t k = 0; graph != NULL && k < gemel_graph_input_count(graph); k++) {
    gemel_type type = gemel_value_type(gemel_graph_input(graph, k));
    claimed &= speaks_of(proof->elements, gemel_type_dtype(context, type), reals);
  }
  gemel_graph_unref(graph);
  return claimed;
}

int gemel__refutes_proof(gemel_context *context, const gemel_record *record,
                         const gemel_proof *proof) {
  int reals = record->tier == GEMEL_TIER_REAL;
  return proof != NULL && proof->elements != NULL && record->verdict == GEMEL_VERDICT_REFUTED &&
         (reals || record->tier == GEMEL_TIER_INTEGER) && record->counterexample != NULL &&
         strstr(record->counterexample, "rules go in circles") == NULL &&
         is_claimed(context, record->counterexample, reals, proof);
}

const gemel_proof *gemel__settle_proof(gemel_context *context, size_t n,
                                       const gemel_record *records, gemel_proof *room) {
  for (size_t k = 0; k < n; k++) {
    if (gemel__refutes_proof(context, &records[k], records[k].proof)) {
      *room = *records[k].proof;
      room->elements = NULL;
      room->ranks = room->all_ranks = 0;
      room->why = WITHDRAWN;
      return room;
    }
  }
  return NULL;
}
