/* SPDX-License-Identifier: MIT
 *
 * Derivatives as more graph: reverse mode and forward mode, each applicable to what the other
 * built. Conventions at ties, kinks and where a function ends stand in doc/conventions.md. The
 * graph grows, so as for all builders it is one thread's at a time.
 */
#ifndef GEMEL_GRAD_H
#define GEMEL_GRAD_H

#include <gemel/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reverse mode: for N_OUTPUTS values with cotangents SEEDS (same types; SEEDS NULL: ones, allowed
 * for scalars of a float dtype only), writes to GRADIENTS the cotangent of each of the N_WRT
 * values: type as the value's, zeros where nothing flows. All are values of one graph, to which the
 * derivative is appended; cost linear in the graph. Nodes appended before an error stay (unused),
 * and GRADIENTS may be written in part. Errors: GEMEL_NOT_DIFFERENTIABLE (names the node),
 * GEMEL_BAD_TYPE (not of a float dtype, a seed's type, a rule whose result doesn't fit),
 * GEMEL_BAD_ARGUMENT (null values, several graphs), GEMEL_UNSUPPORTED (bodies nested deeper than
 * GEMEL_MAX_NESTING), GEMEL_NO_MEMORY; also the graph's. */
gemel_status gemel_grad(size_t n_outputs, const gemel_value *outputs, const gemel_value *seeds,
                        size_t n_wrt, const gemel_value *wrt, gemel_value *gradients,
                        gemel_error *error);

/* The gradient of y, a scalar of a float dtype, by x: gemel_grad for one value, with the error on
 * the graph, where an older one keeps it from being tried. Null value on failure. For several
 * values gemel_grad computes what they have in common once: gemel_grad(GEMEL_LIST(gemel_value, y),
 * NULL, GEMEL_LIST(gemel_value, a, b), gradients, &error). */
gemel_value gemel_gradient_at(gemel_value y, gemel_value x, gemel_location where);
#define gemel_gradient(...) gemel_gradient_at(__VA_ARGS__, GEMEL_HERE)

/* Forward mode (R-operator): given TANGENTS of the N_WRT values (same types), writes to DERIVATIVES
 * the tangent of each of the N_OUTPUTS values; zeros where nothing flows. Tangents of a value that
 * stands in WRT twice add up; a value in WRT keeps the tangent given, whatever it depends on.
 * Errors as above. */
gemel_status gemel_jvp(size_t n_outputs, const gemel_value *outputs, size_t n_wrt,
                       const gemel_value *wrt, const gemel_value *tangents,
                       gemel_value *derivatives, gemel_error *error);

#ifdef __cplusplus
}
#endif
#endif
