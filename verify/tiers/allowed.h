/* SPDX-License-Identifier: MIT
 *
 * What a kernel on trial may give up, by the words of GEMEL_NEEDS_TABLE (ALLOW of
 * gemel_verify_options and gemel_reference). A word about special values takes these from what the
 * kernel is given, so that all else is judged as ever: nnan the NaNs, ninf the infinities, nsz the
 * sign of zeros. A word about rounding widens bounds (domains/bound-loose.h). improves, worsens and
 * integers say nothing here: a kernel's other side is what is right.
 */
#ifndef GEMEL__TIERS_ALLOWED_H
#define GEMEL__TIERS_ALLOWED_H

#include "instances/trial.h"

/* The words for INSTANCE: those of the kernel on trial, and of references in the graph. */
unsigned gemel__allowed(const gemel__instance *instance, const gemel__trial *trial);

/* Takes from VALUES, of floats, what ALLOW says won't come: by value alone, so that equal values
 * stay equal. */
void gemel__values_allow(const gemel__instance *instance, unsigned allow,
                         gemel_tensor *const *values);

/* 1 if a NaN is among VALUES. */
int gemel__values_have_nan(const gemel__instance *instance, gemel_tensor *const *values);

/* Writes "; allowed: nnan, ninf" if ALLOW has such words (BEFORE in front), else "". */
void gemel__allowed_text(unsigned allow, const char *before, char *text, size_t bytes);

#endif
