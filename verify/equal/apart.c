/* SPDX-License-Identifier: MIT
 *
 * What only one of two graphs assumes, said with each record; see apart.h.
 */
#include "equal/apart.h"

#include <stdio.h>
#include "instances/assumed.h"

static void say_apart(void *user, const gemel_record *record) {
  const gemel__apart *apart = user;
  gemel_record said = *record;
  char detail[1100];
  snprintf(detail, sizeof detail, "%s%sasked where both assumptions hold: %s", record->detail,
           record->detail[0] != '\0' ? "; " : "", apart->text);
  if (record->verdict != GEMEL_VERDICT_NOT_APPLICABLE && record->verdict != GEMEL_VERDICT_NOT_RUN) {
    said.detail = detail;
  }
  apart->sink(apart->user, &said);
}

void gemel__apart_watch(gemel__apart *apart, gemel__run *run, const gemel_graph *a,
                        const gemel_graph *b) {
  gemel_verify_options *options = &run->options;
  gemel__say_assumed(a, b, apart->text, sizeof apart->text);
  if (apart->text[0] != '\0' && options->sink != NULL) {
    apart->sink = options->sink;
    apart->user = options->user;
    options->sink = say_apart;
    options->user = apart;
  }
}
