/* SPDX-License-Identifier: MIT
 *
 * Whether a counterexample is one of what was proved. It is the text of a graph, whose types say
 * what it is of.
 */
#include "rules/withdraw.h"

#include <string.h>
#include "rules/claim-scope.h"

/* 1 if the counterexample is one of what PROOF is about, or can't be read. */
static int is_claimed(gemel_context *context, const char *counterexample, int reals,
                      const gemel_proof *proof) {
  gemel_error error;
  gemel_graph *graph =
      gemel_parse(context, counterexample, strlen(counterexample), "counterexample", NULL, &error);
  unsigned claimed = graph != NULL ? gemel__claimed_of_graph(proof, graph) : GEMEL__CLAIMS_VALUES;
  gemel_graph_unref(graph);
  return (claimed & (reals ? GEMEL__CLAIMS_VALUES : GEMEL__CLAIMS_VALUES | GEMEL__CLAIMS_BITS)) !=
         0;
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
      gemel__withdraw(room, records[k].counterexample, records[k].tier == GEMEL_TIER_REAL);
      return room;
    }
  }
  return NULL;
}
