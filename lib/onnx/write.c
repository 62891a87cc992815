/* SPDX-License-Identifier: MIT
 *
 * A tensor written as ONNX stores it in a file of its own: a TensorProto with raw elements.
 */
#include <string.h>

#include <gemel/onnx.h>
#include "core/error.h"
#include "core/tensor.h"
#include "onnx/model.h"
#include "onnx/proto.h"
#include "text/file.h"

enum { VARINT = 0, BYTES = 2, LONGEST_VARINT = 10 };

/* The start of the file: what stands before the elements. */
typedef struct head {
  uint8_t bytes[(GEMEL_MAX_RANK + 4) * 2 * LONGEST_VARINT];
  size_t length;
} head;

static void put_varint(head *h, uint64_t value) {
  do {
    h->bytes[h->length++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>= 7;
  } while (value > 0);
}

static void put_int(head *h, uint32_t field, int64_t value) {
  put_varint(h, field << 3 | VARINT);
  put_varint(h, (uint64_t)value);
}

static void put_length(head *h, uint32_t field, size_t length) {
  put_varint(h, field << 3 | BYTES);
  put_varint(h, length);
}

static gemel_status write_parts(gemel__file *file, const gemel_tensor *packed, const char *name) {
  head first = {{0}, 0}, last = {{0}, 0};
  gemel_dtype dtype = gemel_tensor_dtype(packed);
  size_t length = strlen(name);
  size_t bytes = (size_t)gemel_tensor_elements(packed) * gemel_dtype_size(dtype);
  for (int k = 0; k < gemel_tensor_rank(packed); k++) {
    put_int(&first, GEMEL__TENSOR_DIMS, gemel_tensor_shape(packed)[k]);
  }
  put_int(&first, GEMEL__TENSOR_DTYPE, gemel__onnx_dtype_number(dtype));
  put_length(&first, GEMEL__TENSOR_NAME, length);
  put_length(&last, GEMEL__TENSOR_RAW, bytes);
  return gemel__file_write(file, first.bytes, first.length) ||
                 gemel__file_write(file, name, length) ||
                 gemel__file_write(file, last.bytes, last.length) ||
                 gemel__file_write(file, gemel_tensor_data(packed), bytes)
             ? GEMEL_IO
             : GEMEL_OK;
}

gemel_status gemel_onnx_tensor_save(const gemel_tensor *tensor, const char *name, const char *path,
                                    gemel_error *error) {
  gemel__file file;
  if (tensor == NULL || path == NULL) {
    return gemel__null(error, tensor == NULL ? "the tensor" : "the path");
  }
  if (tensor->device != NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the tensor to save is not on the host");
  }
  gemel_view view = gemel_tensor_view(tensor);
  gemel_tensor *packed = gemel_tensor_copy(&view, error);
  if (packed == NULL) {
    return GEMEL_NO_MEMORY;
  }
  gemel_status status = gemel__file_create(&file, path, error);
  if (status == GEMEL_OK) {
    status = write_parts(&file, packed, name != NULL ? name : "");
    status = gemel__file_commit(&file, status, error);
  }
  gemel_tensor_unref(packed);
  return status;
}
