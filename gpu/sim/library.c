/* SPDX-License-Identifier: MIT
 *
 * Kernels that are loaded at run time: cudaLibraryLoadData and its kin, for what the sim's NVRTC
 * has made (image.h). The shared object lies in memory alone.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "sim/image.h"
#include "sim/inside.h"
#include "sim/shared.h"

struct CUlib_st {
  int file; /* stays open: its path is the object's name */
  int module;
  void *object;
  cudaLibrary_t next;
};

static cudaLibrary_t libraries;

static bool write_all(int file, const char *data, size_t bytes) {
  while (bytes > 0) {
    ssize_t done = write(file, data, bytes);
    if (done <= 0)
      return false;
    data += done;
    bytes -= (size_t)done;
  }
  return true;
}

typedef struct {
  const char *name;
  size_t module;
} module_search;

static int find_module(struct dl_phdr_info *info, size_t size, void *data) {
  module_search *wanted = data;
  (void)size;
  if (strcmp(info->dlpi_name, wanted->name) != 0)
    return 0;
  wanted->module = info->dlpi_tls_modid;
  return 1;
}

/* Kernels make themselves known while the object is loaded. */
static cudaError_t open_object(cudaLibrary_t library, const char *path) {
  module_search wanted = {path, 0};
  const struct gemel__sim_kernel *before = gemel__sim_kernels;
  library->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  for (struct gemel__sim_kernel *k = gemel__sim_kernels; k != before; k = k->next)
    k->library = library;
  if (library->object == NULL) {
    gemel__sim_say(GEMEL__SIM_PARAMETER, (gemel__sim_place){NULL, NULL, 0},
                   "a library of kernels: %s", dlerror());
    return cudaErrorInvalidKernelImage;
  }
  dl_iterate_phdr(find_module, &wanted);
  library->module = (int)wanted.module;
  if (library->module != 0 && !gemel__sim_shared_module(path, library->module))
    return cudaErrorMemoryAllocation;
  return cudaSuccess;
}

static void close_object(cudaLibrary_t library) {
  struct gemel__sim_kernel **link = &gemel__sim_kernels;
  while (*link != NULL)
    if ((*link)->library == library)
      *link = (*link)->next;
    else
      link = &(*link)->next;
  if (library->module != 0)
    gemel__sim_shared_forget(library->module);
  gemel__sim_forget_names();
  if (library->object != NULL)
    dlclose(library->object);
  if (library->file >= 0)
    close(library->file);
}

static cudaError_t check_image(const gemel__sim_image *image) {
  if (memcmp(image->magic, GEMEL__SIM_MAGIC, sizeof GEMEL__SIM_MAGIC) != 0 ||
      image->stamp != gemel__sim_stamp())
    return cudaErrorInvalidKernelImage;
  bool fits = image->portable ? image->architecture <= GEMEL__SIM_ARCHITECTURE
                              : image->architecture == GEMEL__SIM_ARCHITECTURE;
  return fits ? cudaSuccess : cudaErrorNoKernelImageForDevice;
}

static cudaError_t load(const gemel__sim_image *image, cudaLibrary_t library) {
  char path[40];
  library->file = memfd_create("kernels", MFD_CLOEXEC);
  if (library->file < 0 ||
      !write_all(library->file, (const char *)(image + 1), (size_t)image->bytes))
    return cudaErrorMemoryAllocation;
  snprintf(path, sizeof path, "/proc/self/fd/%d", library->file);
  return open_object(library, path);
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                enum cudaJitOption *jit_options, void **jit_values,
                                unsigned int jit_count, enum cudaLibraryOption *options,
                                void **values, unsigned int count) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_MAKES);
  cudaLibrary_t made = NULL;
  gemel__sim_image image;
  (void)jit_options, (void)jit_values, (void)options, (void)values;
  if (error == cudaSuccess && (code == NULL || jit_count != 0 || count != 0))
    error = code == NULL ? cudaErrorInvalidValue : cudaErrorNotSupported;
  if (error == cudaSuccess) {
    memcpy(&image, code, sizeof image); /* CODE need not be aligned */
    error = check_image(&image);
  }
  if (error == cudaSuccess && (made = calloc(1, sizeof *made)) == NULL)
    error = cudaErrorMemoryAllocation;
  if (error == cudaSuccess) {
    error = load(code, made);
    if (error != cudaSuccess)
      close_object(made);
  }
  if (error == cudaSuccess) {
    made->next = libraries;
    libraries = *library = made;
    gemel__sim_here.libraries++;
  } else
    free(made);
  return gemel__sim_leave(error);
}

/* What is queued may still want the kernels. */
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_FREES);
  cudaLibrary_t *link = &libraries;
  while (*link != NULL && *link != library)
    link = &(*link)->next;
  if (*link == NULL)
    error = cudaErrorInvalidResourceHandle;
  else {
    gemel__sim_run_all();
    *link = library->next;
    close_object(library);
    free(library);
    gemel__sim_here.libraries--;
  }
  return gemel__sim_leave(error);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_MAKES);
  if (error == cudaSuccess && library == NULL)
    error = cudaErrorInvalidResourceHandle;
  if (error == cudaSuccess) {
    struct gemel__sim_kernel *k = gemel__sim_kernels;
    while (k != NULL && (k->library != library || strcmp(k->name, name) != 0))
      k = k->next;
    *kernel = (cudaKernel_t)k;
    error = k != NULL ? cudaSuccess : cudaErrorSymbolNotFound;
  }
  return gemel__sim_leave(error);
}
