/* SPDX-License-Identifier: MIT
 *
 * What phases, rules and passes have done, as rows.
 */
#ifndef GEMEL__REWRITE_PROFILE_H
#define GEMEL__REWRITE_PROFILE_H

#include "rewrite/dispatch.h"

/* Appends a row (copied; its name is copied too). GEMEL_NO_MEMORY. */
gemel_status gemel__profile_add(gemel_rewrite_profile *profile, const gemel_rewrite_row *row,
                                gemel_error *error);

/* Appends a row for each rule of the selection that fired or was declined, by time. */
gemel_status gemel__profile_rules(gemel_rewrite_profile *profile, gemel_phase phase,
                                  const gemel__selection *selection, gemel_error *error);

#endif
