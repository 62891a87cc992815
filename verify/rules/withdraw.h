/* SPDX-License-Identifier: MIT
 *
 * Proofs that a counterexample contradicts: nothing is reported as proved and refuted.
 */
#ifndef GEMEL__RULES_WITHDRAW_H
#define GEMEL__RULES_WITHDRAW_H

#include <gemel/verify.h>

/* 1 if RECORD, of a rule, refutes what PROOF says of it: values in the reals or in integers, or a
 * right side that isn't valid, for the ranks and dtypes that the proof is for. Roundings, and what
 * a rule gives up unsaid, are no matter of proofs. */
int gemel__refutes_proof(gemel_context *context, const gemel_record *record,
                         const gemel_proof *proof);

/* See gemel__settle in harness/jobs.h: a proof without elements if one of RECORDS refutes theirs.
 */
const gemel_proof *gemel__settle_proof(gemel_context *context, size_t n,
                                       const gemel_record *records, gemel_proof *room);

#endif
