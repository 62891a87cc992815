/* SPDX-License-Identifier: MIT
 *
 * Two graphs that assume different facts of an input are compared where both hold; every record of
 * a tier that was run says so.
 */
#ifndef GEMEL__EQUAL_APART_H
#define GEMEL__EQUAL_APART_H

#include "harness/run.h"

typedef struct gemel__apart {
  char text[300];         /* what only one graph assumes; "" if nothing */
  gemel_record_sink sink; /* the caller's, to which records are forwarded */
  void *user;
} gemel__apart;

/* Lets the records of RUN say what only A or only B assumes, if there is something. APART has to
 * stay as long as RUN emits records. */
void gemel__apart_watch(gemel__apart *apart, gemel__run *run, const gemel_graph *a,
                        const gemel_graph *b);

#endif
