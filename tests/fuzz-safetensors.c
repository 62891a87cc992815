/* SPDX-License-Identifier: MIT
 *
 * A target for libFuzzer (ci/fuzz): any bytes as a file of safetensors. They must be refused, or
 * become tensors that are written and read as the same; a crash, a leak, a sanitizer's word or a
 * hang is a finding.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemel/gemel.h>
#include "text/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

typedef struct named {
  char **names;
  gemel_tensor **tensors;
  size_t count;
} named;

static int is_same(const gemel_tensor *a, const gemel_tensor *b) {
  size_t bytes = (size_t)gemel_tensor_elements(a) * gemel_dtype_size(gemel_tensor_dtype(a));
  return gemel_tensor_dtype(a) == gemel_tensor_dtype(b) &&
         gemel_tensor_elements(a) == gemel_tensor_elements(b) &&
         memcmp(gemel_tensor_data(a), gemel_tensor_data(b), bytes) == 0;
}

/* N written and read again; tensors may come in another order. */
static void again(named n) {
  char path[100];
  named m = {0};
  snprintf(path, sizeof path, "/dev/shm/gemel-fuzz-%ld.safetensors", (long)getpid());
  if (gemel_safetensors_save(n.count, (const char *const *)n.names, n.tensors, path, NULL) ||
      gemel_safetensors_load(path, &m.count, &m.names, &m.tensors, NULL) || m.count != n.count) {
    abort();
  }
  for (size_t k = 0; k < n.count; k++) {
    size_t j = 0;
    while (j < m.count && strcmp(m.names[j], n.names[k]) != 0) {
      j++;
    }
    if (j == m.count || !is_same(n.tensors[k], m.tensors[j])) {
      abort();
    }
  }
  gemel_npz_free(m.count, m.names, m.tensors);
  remove(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  named n = {0};
  gemel_error error;
  if (gemel__safetensors_parse((const char *)bytes, length, NULL, "fuzzed.safetensors", &n.names,
                               &n.tensors, &n.count, &error) == GEMEL_OK) {
    again(n);
    gemel_npz_free(n.count, n.names, n.tensors);
  }
  return 0;
}
