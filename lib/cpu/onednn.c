/* SPDX-License-Identifier: MIT
 *
 * oneDNN 2 and 3 behind one interface, see onednn.h: first what the one has, then the other.
 */
#include "cpu/onednn.h"

#ifdef HAVE_DNNL

#include <string.h>

#if DNNL_VERSION_MAJOR >= 3

dnnl_status_t gemel__onednn_strided(gemel__onednn_layout *layout, int rank, const dnnl_dims_t dims,
                                    const dnnl_dims_t strides) {
  return dnnl_memory_desc_create_with_strides(&layout->md, rank, dims, dnnl_f32, strides);
}

dnnl_status_t gemel__onednn_tagged(gemel__onednn_layout *layout, int rank, const dnnl_dims_t dims,
                                   dnnl_format_tag_t tag) {
  return dnnl_memory_desc_create_with_tag(&layout->md, rank, dims, dnnl_f32, tag);
}

gemel__onednn_md gemel__onednn_md_of(const gemel__onednn_layout *layout) {
  return layout->md;
}

void gemel__onednn_release(gemel__onednn_layout *layout) {
  if (layout->md != NULL) {
    dnnl_memory_desc_destroy(layout->md);
    layout->md = NULL;
  }
}

const dnnl_dim_t *gemel__onednn_strides(gemel__onednn_md md) {
  dnnl_format_kind_t kind = dnnl_format_kind_undef;
  const dnnl_dims_t *strides = NULL;
  int blocks = 1;
  int known = dnnl_memory_desc_query(md, dnnl_query_format_kind, &kind) == dnnl_success &&
              kind == dnnl_blocked &&
              dnnl_memory_desc_query(md, dnnl_query_inner_nblks_s32, &blocks) == dnnl_success &&
              blocks == 0 &&
              dnnl_memory_desc_query(md, dnnl_query_strides, (void *)&strides) == dnnl_success;
  return known && strides != NULL ? *strides : NULL;
}

dnnl_status_t gemel__onednn_describe(const gemel__onednn_conv *c, dnnl_engine_t engine,
                                     const_dnnl_primitive_desc_t hint,
                                     const_dnnl_primitive_attr_t attr,
                                     dnnl_primitive_desc_t *made) {
  const dnnl_alg_kind_t direct = dnnl_convolution_direct;
  switch (c->kind) {
  case dnnl_backward_weights:
    return dnnl_convolution_backward_weights_primitive_desc_create(
        made, engine, direct, c->x, c->w, c->bias, c->y, c->stride, c->dilation, c->low, c->high,
        hint, attr);
  case dnnl_backward_data:
    return dnnl_convolution_backward_data_primitive_desc_create(made, engine, direct, c->x, c->w,
                                                                c->y, c->stride, c->dilation,
                                                                c->low, c->high, hint, attr);
  default:
    return dnnl_convolution_forward_primitive_desc_create(made, engine, c->kind, direct, c->x, c->w,
                                                          c->bias, c->y, c->stride, c->dilation,
                                                          c->low, c->high, attr);
  }
}

#else

dnnl_status_t gemel__onednn_strided(gemel__onednn_layout *layout, int rank, const dnnl_dims_t dims,
                                    const dnnl_dims_t strides) {
  return dnnl_memory_desc_init_by_strides(&layout->md, rank, dims, dnnl_f32, strides);
}

dnnl_status_t gemel__onednn_tagged(gemel__onednn_layout *layout, int rank, const dnnl_dims_t dims,
                                   dnnl_format_tag_t tag) {
  return dnnl_memory_desc_init_by_tag(&layout->md, rank, dims, dnnl_f32, tag);
}

gemel__onednn_md gemel__onednn_md_of(const gemel__onednn_layout *layout) {
  return &layout->md;
}

void gemel__onednn_release(gemel__onednn_layout *layout) {
  memset(layout, 0, sizeof *layout);
}

const dnnl_dim_t *gemel__onednn_strides(gemel__onednn_md md) {
  const dnnl_blocking_desc_t *blocking = &md->format_desc.blocking;
  return md->format_kind == dnnl_blocked && blocking->inner_nblks == 0 ? blocking->strides : NULL;
}

dnnl_status_t gemel__onednn_describe(const gemel__onednn_conv *c, dnnl_engine_t engine,
                                     const_dnnl_primitive_desc_t hint,
                                     const_dnnl_primitive_attr_t attr,
                                     dnnl_primitive_desc_t *made) {
  const dnnl_alg_kind_t direct = dnnl_convolution_direct;
  dnnl_convolution_desc_t desc;
  dnnl_status_t status;
  switch (c->kind) {
  case dnnl_backward_weights:
    status = dnnl_dilated_convolution_backward_weights_desc_init(
        &desc, direct, c->x, c->w, c->bias, c->y, c->stride, c->dilation, c->low, c->high);
    break;
  case dnnl_backward_data:
    status = dnnl_dilated_convolution_backward_data_desc_init(
        &desc, direct, c->x, c->w, c->y, c->stride, c->dilation, c->low, c->high);
    break;
  default:
    status = dnnl_dilated_convolution_forward_desc_init(
        &desc, c->kind, direct, c->x, c->w, c->bias, c->y, c->stride, c->dilation, c->low, c->high);
  }
  return status == dnnl_success ? dnnl_primitive_desc_create(made, &desc, attr, engine, hint)
                                : status;
}

#endif
#endif
