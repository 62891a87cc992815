/* SPDX-License-Identifier: MIT
 *
 * What a claim says, in words, and as programs see it.
 */
#include <stdio.h>
#include "base/buffer.h"
#include "unbounded/unbounded.h"

static const unsigned float_dtypes =
    1u << GEMEL_F16 | 1u << GEMEL_BF16 | 1u << GEMEL_F32 | 1u << GEMEL_F64;

/* "f16 f32" for a bit each. */
static void say_dtypes(gemel__buffer *b, unsigned dtypes) {
  for (int k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    if (dtypes >> k & 1) {
      gemel__buffer_format(b, "%s%s", (dtypes & ((1u << k) - 1)) != 0 ? " " : "",
                           gemel_dtype_name((gemel_dtype)k));
    }
  }
}

/* The values that DTYPES stand for: floats for the reals. */
static void say_values(gemel__buffer *b, unsigned dtypes) {
  const char *comma = "";
  if (dtypes & float_dtypes) {
    gemel__buffer_text(b, "reals");
    comma = ", ";
  }
  if (dtypes & ~float_dtypes & ~(1u << GEMEL_BOOL)) {
    gemel__buffer_text(b, comma);
    say_dtypes(b, dtypes & ~float_dtypes & ~(1u << GEMEL_BOOL));
    comma = ", ";
  }
  if (dtypes >> GEMEL_BOOL & 1) {
    gemel__buffer_format(b, "%sbool", comma);
  }
}

/* Integers are the same in both passes. */
void gemel__claim_say(gemel__claim *claim) {
  unsigned formats = 0, values = 0;
  gemel__buffer b = {claim->elements, sizeof claim->elements, 0, 0};
  for (uint32_t k = 0; k < claim->n_parts; k++) {
    unsigned dtypes = claim->parts[k].dtypes;
    int bits = claim->parts[k].pass == GEMEL__PASS_BITS;
    formats |= bits ? dtypes & float_dtypes : 0;
    values |= bits ? dtypes & ~float_dtypes : dtypes;
  }
  if (claim->n_parts > 0 && claim->parts[0].pass == GEMEL__PASS_ANY) {
    gemel__buffer_text(&b, "any");
    return;
  }
  if (formats != 0) {
    gemel__buffer_text(&b, "bits (");
    say_dtypes(&b, formats);
    gemel__buffer_text(&b, values != 0 ? "), " : ")");
  }
  if (values != 0) {
    gemel__buffer_text(&b, "values (");
    say_values(&b, values);
    gemel__buffer_text(&b, ")");
  }
}

gemel_proof gemel__claim_proof(const gemel__claim *claim, const struct gemel_rule *rule) {
  gemel_proof proof = {.size = sizeof proof, .rule = gemel_rule_describe(rule)->name};
  proof.elements = claim->rank == 0 ? NULL : claim->elements;
  proof.ranks = claim->rank;
  proof.all_ranks = claim->all_ranks;
  proof.scenes = claim->scenes;
  proof.questions = claim->questions;
  proof.why = claim->why;
  proof.text_hash = gemel__rule_hash(rule);
  proof.prover = gemel__prover();
  return proof;
}
