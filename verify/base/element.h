/* SPDX-License-Identifier: MIT
 *
 * Elements of tensors as numbers and as text, without the library's own conversions.
 */
#ifndef GEMEL__BASE_ELEMENT_H
#define GEMEL__BASE_ELEMENT_H

#include <stddef.h>
#include <gemel/context.h>
#include <gemel/tensor.h>

/* The number of DTYPE at DATA (aligned or not) as a double; 64-bit integers are rounded. */
double gemel__decode(gemel_dtype dtype, const void *data);

/* The same in decimal: all digits of an integer, 17 of a float. */
void gemel__element_format(gemel_dtype dtype, const void *data, char *text, size_t bytes);

/* Element I (in row-major order) of a tensor of any strides: its address. */
const void *gemel__tensor_element(const gemel_tensor *tensor, size_t i);

/* A walk through all elements of a tensor of any strides, in row-major order: many times as fast as
 * gemel__tensor_element for each. START gives the walk, each NEXT the address of one element. */
typedef struct gemel__walk {
  gemel_view view;
  int64_t offset, index[GEMEL_MAX_RANK];
} gemel__walk;

gemel__walk gemel__walk_start(const gemel_tensor *tensor);

static inline const void *gemel__walk_next(gemel__walk *walk) {
  const char *at = (const char *)walk->view.data + walk->offset;
  for (int k = walk->view.rank; k-- > 0;) {
    walk->offset += walk->view.strides[k];
    if (++walk->index[k] < walk->view.shape[k]) {
      break;
    }
    walk->offset -= walk->view.strides[k] * walk->view.shape[k];
    walk->index[k] = 0;
  }
  return at;
}

/* The elements of TENSOR if it is contiguous and row-major; else NULL. */
const void *gemel__tensor_plain(const gemel_tensor *tensor);

/* Elements of a tensor of TYPE, where a size that isn't a constant counts as UNKNOWN. */
double gemel__type_elements(gemel_context *context, gemel_type type, int64_t unknown);

#endif
