/* SPDX-License-Identifier: MIT
 *
 * What oneDNN 2 and oneDNN 3 name differently: layouts of memory, which are structs in 2 and
 * handles in 3, and descriptions of convolutions, which 2 makes in two steps. All else is the same
 * in both, and called directly.
 */
#ifndef GEMEL__CPU_ONEDNN_H
#define GEMEL__CPU_ONEDNN_H

#ifdef HAVE_DNNL

#include <dnnl.h>

/* A layout that somebody else owns. */
#if DNNL_VERSION_MAJOR >= 3
#define GEMEL__ONEDNN_MD const_dnnl_memory_desc_t
#else
#define GEMEL__ONEDNN_MD const dnnl_memory_desc_t *
#endif
typedef GEMEL__ONEDNN_MD gemel__onednn_md;

/* A layout of one's own; zeros: none. Release with gemel__onednn_release. */
typedef struct gemel__onednn_layout {
  dnnl_memory_desc_t md;
} gemel__onednn_layout;

/* *LAYOUT = f32 of these DIMS, with STRIDES in elements or as TAG says. */
dnnl_status_t gemel__onednn_strided(gemel__onednn_layout *layout, int rank, const dnnl_dims_t dims,
                                    const dnnl_dims_t strides);
dnnl_status_t gemel__onednn_tagged(gemel__onednn_layout *layout, int rank, const dnnl_dims_t dims,
                                   dnnl_format_tag_t tag);
gemel__onednn_md gemel__onednn_md_of(const gemel__onednn_layout *layout);
void gemel__onednn_release(gemel__onednn_layout *layout);

/* The strides of MD in elements, if these say all of it; else NULL. They live as long as MD. */
const dnnl_dim_t *gemel__onednn_strides(gemel__onednn_md md);

/* A convolution: layouts of images, weights and results, or of their gradients; of the bias, or
 * NULL. */
typedef struct gemel__onednn_conv {
  dnnl_prop_kind_t kind; /* forward, backward_data or backward_weights */
  gemel__onednn_md x, w, y, bias;
  dnnl_dims_t stride, dilation, low, high; /* DILATION as oneDNN counts it: 0 is none */
} gemel__onednn_conv;

/* Describes the primitive of CONV, to be released with dnnl_primitive_desc_destroy. HINT: the
 * forward one, of the other kinds. ATTR may be NULL. */
dnnl_status_t gemel__onednn_describe(const gemel__onednn_conv *conv, dnnl_engine_t engine,
                                     const_dnnl_primitive_desc_t hint,
                                     const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *made);

#endif
#endif
