/* SPDX-License-Identifier: MIT
 *
 * What kinds of terms the rows of functions.def take and give, as sets: a bit, 1 <<
 * gemel__term_kind, for each kind. A rule in which an operand can be of no kind that its function
 * takes is refused when it is compiled; of an operand that may be of several, its value decides
 * when the rule is tried.
 */
#ifndef GEMEL__RULES_KINDS_H
#define GEMEL__RULES_KINDS_H

#include "rules/functions.h"

typedef unsigned gemel__kinds;

#define GEMEL__KINDS_OF(kind) ((gemel__kinds)1 << GEMEL__TERM_##kind)

/* What LETTER, of the column kinds or gives of functions.def, stands for. An integer may be asked
 * for where a real is given: it may have no fraction. */
gemel__kinds gemel__kinds_taken(char letter);
gemel__kinds gemel__kinds_given(char letter);

/* The kinds that an attribute of SPEC may be of. */
gemel__kinds gemel__kinds_of_attr(const gemel_attr_spec *spec);

/* 1 if a term of KINDS can't be what is WANTED, numbers, lists and truths being taken for one
 * another. */
int gemel__kinds_apart(gemel__kinds kinds, gemel__kinds wanted);

/* "a tensor or a dtype". */
const char *gemel__kinds_text(gemel__kinds kinds, char text[100]);

#endif
