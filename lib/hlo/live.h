/* SPDX-License-Identifier: MIT
 *
 * Which instructions of a module count: results are made of them, or they do something that can be
 * seen, such as to print.
 */
#ifndef GEMEL__HLO_LIVE_H
#define GEMEL__HLO_LIVE_H

#include "hlo/module.h"

/* Marks the instructions of MODULE that count and those with effects (module.h), once all is read.
 */
void gemel__hlo_mark_live(gemel_hlo *module);

/* 1 if INSTR draws a number, which is an effect that nobody sees. */
int gemel__hlo_is_drawn(const gemel__hlo_instr *instr);

/* 1 if an attribute of that name says nothing of what is computed. */
int gemel__hlo_is_silent(gemel__hlo_span name);

/* The next word of an attribute's value, which may be a computation's name, taken from REST; empty
 * at its end. */
gemel__hlo_span gemel__hlo_next_word(gemel__hlo_span *rest);

#endif
