/* SPDX-License-Identifier: MIT
 *
 * prewarm SM FILE...: compiles the texts of kernels that a run on the sim has kept in FILEs for a
 * GPU of compute capability SM (90 for 9.0), by NVRTC, and keeps the code in $GEMEL_CACHE, where
 * the device "cuda" looks for it: so nothing has to be compiled on a machine with such a GPU. This
 * one needs none. `ci/gpu-kit` builds it.
 *
 * What such a file is called and holds, and how a text is compiled, is up to gpu/cuda/compile.c,
 * which is included for its functions: the device itself would begin by looking for its GPU.
 */
#include "cuda/compile.c"

/* The text in the file at PATH, which is followed by a zero and what the sim made of it; NULL if
 * there is no such. To be freed. */
static char *read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  machine_code all = {NULL, 0};
  if (file != NULL) {
    all = read_all(file);
  }
  if (all.data != NULL && memchr(all.data, '\0', all.bytes) == NULL) {
    free(all.data);
    all.data = NULL;
  }
  return all.data;
}

/* Compiles TEXT unless its code is kept already, and keeps that; *MADE: 1 if it did. GEMEL_IO if it
 * can't be kept, or what compile_text says. */
static gemel_status compile_once(const gemel_cuda *cuda, const char *text, int *made,
                                 gemel_error *error) {
  char path[1024];
  uint64_t hash;
  if (!hash_of_code(cuda, hash_of_text(text), &hash) || !find_path(hash, path, sizeof path)) {
    return gemel__cuda_fail(error, GEMEL_IO, "there is no NVRTC, or no folder to keep code in");
  }
  machine_code code = read_kept(path, text);
  gemel_status status = GEMEL_OK;
  if (code.data == NULL) {
    status = compile_text(cuda, text, &code, error);
    if (status == GEMEL_OK) {
      keep(path, text, &code);
      *made = access(path, R_OK) == 0;
      status = *made ? GEMEL_OK : gemel__cuda_fail(error, GEMEL_IO, "%s can't be written", path);
    }
  }
  free(code.data);
  return status;
}

int main(int count, char **words) {
  gemel_cuda cuda = {.architecture = count > 1 ? atoi(words[1]) : 0};
  int all_made = 0, failed = 0;
  for (int k = 2; k < count; k++) {
    gemel_error error = {.text = "no text"};
    char *text = read_text(words[k]);
    int made = 0;
    if (text == NULL || compile_once(&cuda, text, &made, &error) != GEMEL_OK) {
      fprintf(stderr, "prewarm: %s: %s\n", words[k], error.text);
      failed++;
    }
    all_made += made;
    free(text);
  }
  printf("prewarm: %d kernels compiled for sm_%d, %d failed\n", all_made, cuda.architecture,
         failed);
  return failed > 0 || count < 3;
}
