/* SPDX-License-Identifier: MIT
 *
 * Certificates of rules, for gemel-recheck.
 */
#ifndef GEMEL__RULES_CERTIFICATE_H
#define GEMEL__RULES_CERTIFICATE_H

#include "rules/trial.h"

/* *TEXT = the certificate of a rule of which the class is measured: one object of JSON without line
 * ends; a block of *BYTES bytes, freed with gemel__free. GEMEL_NO_MEMORY. */
gemel_status gemel__rule_certificate(const struct gemel__proof *p, char **text, size_t *bytes,
                                     gemel_error *error);

#endif
