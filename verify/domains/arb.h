/* SPDX-License-Identifier: MIT
 *
 * Arb, a library of its own with headers of its own, or since FLINT 3 a part of that. MPFR comes
 * first, since FLINT 3 declares conversions from it only then.
 */
#ifndef GEMEL__DOMAINS_ARB_H
#define GEMEL__DOMAINS_ARB_H

#include <mpfr.h>
#ifdef HAVE_FLINT_ARB
#include <flint/arb.h>
#include <flint/arb_hypgeom.h>
#include <flint/arb_poly.h>
#include <flint/arf.h>
#else
#include <arb.h>
#include <arb_hypgeom.h>
#include <arb_poly.h>
#endif

#endif
