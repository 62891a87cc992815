/* SPDX-License-Identifier: MIT
 *
 * Elements of tensors as numbers and as text, without the library's own conversions.
 */
#ifndef GEMEL__BASE_ELEMENT_H
#define GEMEL__BASE_ELEMENT_H

#include <stddef.h>
#include <gemel/tensor.h>

/* The number of DTYPE at DATA (aligned or not) as a double; 64-bit integers are rounded. */
double gemel__decode(gemel_dtype dtype, const void *data);

/* The same in decimal: all digits of an integer, 17 of a float. */
void gemel__element_format(gemel_dtype dtype, const void *data, char *text, size_t bytes);

/* Element I (in row-major order) of a tensor of any strides: its address. */
const void *gemel__tensor_element(const gemel_tensor *tensor, size_t i);

/* The elements of TENSOR if it is contiguous and row-major; else NULL. */
const void *gemel__tensor_plain(const gemel_tensor *tensor);

#endif
