/* SPDX-License-Identifier: MIT
 *
 * Evidence of several parts of a pair as one, see gathered.h.
 */
#include "equal/gathered.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "tiers/model.h"

static void copy_record(gemel__gathered *to, const gemel_record *record) {
  to->record = *record;
  to->record.kind = "pair";
  snprintf(to->detail, sizeof to->detail, "%s", record->detail);
  to->record.detail = to->detail;
  to->record.counterexample = to->record.replay = NULL;
  to->used = 1;
}

void gemel__gathered_forget(gemel__gathered *tiers) {
  for (size_t k = 0; k < GEMEL_TIER_COUNT; k++) {
    gemel__free_string(tiers[k].counterexample);
    gemel__free_string(tiers[k].replay);
  }
  memset(tiers, 0, GEMEL_TIER_COUNT * sizeof *tiers);
}

void gemel__gathered_keep(void *user, const gemel_record *record) {
  gemel__gathered *to = &((gemel__gathered *)user)[record->tier];
  copy_record(to, record);
  if (record->counterexample != NULL && to->counterexample == NULL) {
    to->counterexample = gemel__copy_string(record->counterexample);
  }
  if (record->replay != NULL && to->replay == NULL) {
    to->replay = gemel__copy_string(record->replay);
  }
}

void gemel__gathered_add(gemel__gathered *to, const gemel__gathered *from) {
  const gemel_record *r = &from->record;
  if (!from->used) {
    return;
  }
  if (!to->used ||
      (to->record.verdict == GEMEL_VERDICT_NOT_APPLICABLE && r->verdict != to->record.verdict)) {
    copy_record(to, r);
    return;
  }
  if (r->verdict == GEMEL_VERDICT_NOT_APPLICABLE) {
    return;
  }
  gemel_evidence both = gemel__evidence_weaker(to->record.how, r->how);
  if (both != to->record.how) {
    to->record.how = both;
    snprintf(to->detail, sizeof to->detail, "%s", from->detail);
  }
  to->record.instances += r->instances;
  to->record.elements += r->elements;
  to->record.seconds += r->seconds;
  to->record.worst = r->worst > to->record.worst ? r->worst : to->record.worst;
  to->record.error_probability += r->error_probability;
}
