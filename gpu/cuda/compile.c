/* SPDX-License-Identifier: MIT
 *
 * Kernels that are made at run time, by NVRTC: looked for among those that the device has met, then
 * on disk (core/cache.h), then compiled. On disk each is in a file that is called after a hash of
 * the text, of what it includes, of the architecture and of NVRTC's version, and begins with the
 * text, so that another text with the same hash isn't taken for it. What can't be kept there is
 * compiled again.
 */
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/cache.h"
#include "cuda/compile.h"
#include "cuda/cuda.h"
#include "cuda/text.h"

struct gemel__cuda_fused {
  gemel__cuda_fused *next;
  uint64_t hash; /* of the text */
  char *text;
  cudaLibrary_t library;
  cudaKernel_t kernel;
};

typedef struct machine_code {
  char *data; /* freed by the owner */
  size_t bytes;
} machine_code;

/* ---- Hashes ---- */

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *p = data;
  for (size_t k = 0; k < bytes; k++) {
    hash = (hash ^ p[k]) * 0x100000001b3u; /* FNV-1a */
  }
  return hash;
}

static uint64_t hash_of_text(const char *text) {
  return hash_bytes(0xcbf29ce484222325u, text, strlen(text));
}

/* *MADE: of all that the code of a text depends on. 0 if that isn't known. */
static int hash_of_code(const gemel_cuda *cuda, uint64_t hash, uint64_t *made) {
  int version[3] = {0, 0, cuda->architecture};
  int known = nvrtcVersion(&version[0], &version[1]) == NVRTC_SUCCESS;
  for (const gemel__cuda_header *h = gemel__cuda_headers; h->name != NULL; h++) {
    hash = hash_bytes(hash, h->text, strlen(h->text));
  }
  *made = hash_bytes(hash, version, sizeof version);
  return known;
}

/* ---- On disk ---- */

/* The file of HASH in PATH; 0 if there is no such folder and none can be made. */
static int find_path(uint64_t hash, char *path, size_t bytes) {
  char name[30];
  snprintf(name, sizeof name, "%016llx.kernel", (unsigned long long)hash);
  return gemel__cache_path(name, path, bytes);
}

/* All of FILE, closed by this; no data if it can't be read. */
static machine_code read_all(FILE *file) {
  machine_code all = {NULL, 0};
  long size = -1;
  if (fseek(file, 0, SEEK_END) == 0) {
    size = ftell(file);
  }
  if (size > 0 && fseek(file, 0, SEEK_SET) == 0 && (all.data = malloc((size_t)size)) != NULL) {
    all.bytes = fread(all.data, 1, (size_t)size, file);
    if (all.bytes != (size_t)size) {
      free(all.data);
      all.data = NULL;
    }
  }
  fclose(file);
  return all;
}

static machine_code read_kept(const char *path, const char *text) {
  FILE *file = fopen(path, "rb");
  machine_code all = {NULL, 0};
  size_t head = strlen(text) + 1;
  if (file != NULL) {
    all = read_all(file);
  }
  if (all.data != NULL && (all.bytes <= head || memcmp(all.data, text, head) != 0)) {
    free(all.data);
    all.data = NULL;
  }
  if (all.data != NULL) {
    all.bytes -= head;
    memmove(all.data, all.data + head, all.bytes);
  }
  return all;
}

/* Under another name first, so that nobody reads half of it. */
static void keep(const char *path, const char *text, const machine_code *code) {
  char other[1100];
  FILE *file;
  int written;
  snprintf(other, sizeof other, "%s.%ld", path, (long)getpid());
  remove(other); /* a rest, or a link that somebody left */
  file = fopen(other, "wbx");
  if (file == NULL) {
    return;
  }
  written = fwrite(text, 1, strlen(text) + 1, file) == strlen(text) + 1 &&
            fwrite(code->data, 1, code->bytes, file) == code->bytes;
  if (fclose(file) != 0 || !written || rename(other, path) != 0) {
    remove(other);
  }
}

/* ---- Compiling ---- */

static gemel_status status_of(nvrtcResult result) {
  return result == NVRTC_ERROR_OUT_OF_MEMORY ? GEMEL_NO_MEMORY
         : result == NVRTC_ERROR_COMPILATION ? GEMEL_INTERNAL /* the text is gemel's */
                                             : GEMEL_DEVICE;
}

static gemel_status refused(nvrtcProgram program, nvrtcResult result, gemel_error *error) {
  size_t bytes = 0;
  char *log = NULL;
  if (nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS && bytes > 0) {
    log = calloc(bytes + 1, 1);
  }
  if (log != NULL) {
    log[0] = nvrtcGetProgramLog(program, log) == NVRTC_SUCCESS ? log[0] : '\0';
  }
  gemel__cuda_fail(error, status_of(result), "a generated kernel: NVRTC says %s: %.300s",
                   nvrtcGetErrorString(result), log != NULL ? log : "");
  free(log);
  return status_of(result);
}

/* *FOUND: the newest architecture that NVRTC knows and that isn't newer than WANTED; 0: there is
 * none. */
static nvrtcResult find_architecture(int wanted, int *found) {
  int count = 0, *known = NULL;
  nvrtcResult result = nvrtcGetNumSupportedArchs(&count);
  *found = 0;
  if (result == NVRTC_SUCCESS && count > 0) {
    known = calloc((size_t)count, sizeof *known);
    result = known != NULL ? nvrtcGetSupportedArchs(known) : NVRTC_ERROR_OUT_OF_MEMORY;
  }
  for (int k = 0; k < count && result == NVRTC_SUCCESS; k++) {
    *found = known[k] <= wanted && known[k] > *found ? known[k] : *found;
  }
  free(known);
  return result;
}

/* Machine code for the GPU if NATIVE; else PTX of an older architecture, which the driver compiles
 * once more: machine code runs on what it was made for. */
static nvrtcResult run_compiler(nvrtcProgram program, int architecture, int native,
                                machine_code *code) {
  char option[40];
  const char *options[] = {option, "-std=c++17", "-fmad=false"};
  nvrtcResult result;
  snprintf(option, sizeof option, "-arch=%s_%d", native ? "sm" : "compute", architecture);
  result = nvrtcCompileProgram(program, 3, options);
  if (result == NVRTC_SUCCESS) {
    result = (native ? nvrtcGetCUBINSize : nvrtcGetPTXSize)(program, &code->bytes);
  }
  if (result == NVRTC_SUCCESS) {
    code->data = malloc(code->bytes);
    result = code->data == NULL ? NVRTC_ERROR_OUT_OF_MEMORY
                                : (native ? nvrtcGetCUBIN : nvrtcGetPTX)(program, code->data);
  }
  return result;
}

enum { MOST_HEADERS = 16 };

static gemel_status compile_text(const gemel_cuda *cuda, const char *text, machine_code *code,
                                 gemel_error *error) {
  const char *names[MOST_HEADERS], *texts[MOST_HEADERS];
  nvrtcProgram program;
  int n = 0, architecture;
  gemel_status status = GEMEL_OK;
  nvrtcResult result = find_architecture(cuda->architecture, &architecture);
  if (result == NVRTC_SUCCESS && architecture == 0) {
    return GEMEL_DECLINED;
  }
  for (; n < MOST_HEADERS && gemel__cuda_headers[n].name != NULL; n++) {
    names[n] = gemel__cuda_headers[n].name;
    texts[n] = gemel__cuda_headers[n].text;
  }
  if (result == NVRTC_SUCCESS) {
    result = nvrtcCreateProgram(&program, text, "cluster.cu", n, texts, names);
  }
  if (result != NVRTC_SUCCESS) {
    return gemel__cuda_fail(error, status_of(result), "NVRTC says %s", nvrtcGetErrorString(result));
  }
  result = run_compiler(program, architecture, architecture == cuda->architecture, code);
  if (result != NVRTC_SUCCESS) {
    free(code->data);
    code->data = NULL;
    status = result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE ? GEMEL_DECLINED
                                                             : refused(program, result, error);
  }
  (void)nvrtcDestroyProgram(&program); /* it is made no use of any more */
  return status;
}

/* ---- Loading ---- */

/* Whether the code may be right, but this GPU and its driver have no use for it: the driver is
 * older than NVRTC, or doesn't compile. */
static int is_of_no_use(cudaError_t result) {
  return result == cudaErrorNoKernelImageForDevice || result == cudaErrorUnsupportedPtxVersion ||
         result == cudaErrorJitCompilerNotFound || result == cudaErrorJitCompilationDisabled;
}

static gemel_status load(gemel__cuda_fused *made, const char *name, const machine_code *code,
                         gemel_error *error) {
  cudaError_t result =
      cudaLibraryLoadData(&made->library, code->data, NULL, NULL, 0, NULL, NULL, 0);
  if (result == cudaSuccess) {
    result = cudaLibraryGetKernel(&made->kernel, made->library, name);
    if (result != cudaSuccess) {
      gemel__cuda_freed(cudaLibraryUnload(made->library));
      made->library = NULL;
    }
  }
  gemel_status status = gemel__cuda_check(error, result, "a generated kernel");
  return is_of_no_use(result) ? GEMEL_DECLINED : status;
}

/* The code from disk or from the compiler; what is on disk and can't be loaded is made anew. */
static gemel_status make_kernel(const gemel_cuda *cuda, gemel__cuda_fused *made, const char *name,
                                gemel_error *error) {
  char path[1024];
  uint64_t hash;
  int has_path = hash_of_code(cuda, made->hash, &hash) && find_path(hash, path, sizeof path);
  machine_code code = {NULL, 0};
  gemel_status status = GEMEL_INTERNAL;
  if (has_path) {
    code = read_kept(path, made->text);
  }
  if (code.data != NULL) {
    status = load(made, name, &code, error);
    free(code.data);
    code.data = NULL;
  }
  if (status != GEMEL_OK) {
    status = compile_text(cuda, made->text, &code, error);
    if (status == GEMEL_OK && has_path) {
      keep(path, made->text, &code);
    }
    status = status == GEMEL_OK ? load(made, name, &code, error) : status;
    free(code.data);
  }
  return status;
}

static void free_fused(gemel__cuda_fused *fused) {
  if (fused->library != NULL) {
    gemel__cuda_freed(cudaLibraryUnload(fused->library));
  }
  free(fused->text);
  free(fused);
}

static const gemel__cuda_fused *find_fused(const gemel_cuda *cuda, const char *text) {
  const gemel__cuda_fused *f = cuda->fused;
  uint64_t hash = hash_of_text(text);
  while (f != NULL && (f->hash != hash || strcmp(f->text, text) != 0)) {
    f = f->next;
  }
  return f;
}

/* The kernel of MADE, unless another thread has made one of the same text meanwhile. */
static const void *add_fused(gemel_cuda *cuda, gemel__cuda_fused *made) {
  const gemel__cuda_fused *known;
  pthread_mutex_lock(&cuda->fused_lock);
  known = find_fused(cuda, made->text);
  if (known == NULL) {
    made->next = cuda->fused;
    known = cuda->fused = made;
  }
  pthread_mutex_unlock(&cuda->fused_lock);
  if (known != made) {
    free_fused(made);
  }
  return known->kernel;
}

static gemel_status add_kernel(gemel_cuda *cuda, const char *text, const char *name,
                               const void **kernel, gemel_error *error) {
  gemel__cuda_fused *made = calloc(1, sizeof *made);
  gemel_status status = GEMEL_NO_MEMORY;
  if (made != NULL && (made->text = strdup(text)) != NULL) {
    made->hash = hash_of_text(text);
    status = make_kernel(cuda, made, name, error);
  } else {
    gemel__cuda_fail(error, status, "out of memory for a kernel");
  }
  if (status == GEMEL_OK) {
    *kernel = add_fused(cuda, made);
  } else if (made != NULL) {
    free_fused(made);
  }
  return status;
}

gemel_status gemel__cuda_compile(gemel_cuda *cuda, const char *text, const char *name,
                                 const void **kernel, gemel_error *error) {
  const gemel__cuda_fused *known;
  int before;
  gemel_status status;
  pthread_mutex_lock(&cuda->fused_lock);
  known = find_fused(cuda, text);
  pthread_mutex_unlock(&cuda->fused_lock);
  if (known != NULL) {
    *kernel = known->kernel;
    return GEMEL_OK;
  }
  status = gemel__cuda_enter(cuda, &before, error);
  status = status == GEMEL_OK ? add_kernel(cuda, text, name, kernel, error) : status;
  gemel__cuda_leave(cuda, before);
  return status;
}

void gemel__cuda_fused_clear(gemel_cuda *cuda) {
  while (cuda->fused != NULL) {
    gemel__cuda_fused *f = cuda->fused;
    cuda->fused = f->next;
    free_fused(f);
  }
}
