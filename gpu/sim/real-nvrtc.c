/* SPDX-License-Identifier: MIT
 *
 * NVIDIA's own NVRTC for its opinion: it compiles for GPUs on machines that have none. It is loaded
 * when it is first needed, with its own symbols before ours.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/real-nvrtc.h"

#ifndef GEMEL__CUDA_HOME
#define GEMEL__CUDA_HOME "/usr/local/cuda"
#endif

/* The sanitizers can't have symbols of theirs shadowed. */
#ifdef GEMEL_SANITIZED
static const int can_load = 0;
#else
static const int can_load = 1;
#endif

static struct {
  nvrtcResult (*create)(nvrtcProgram *program, const char *source, const char *name, int headers,
                        const char *const *header_texts, const char *const *header_names);
  nvrtcResult (*compile)(nvrtcProgram program, int options, const char *const *texts);
  nvrtcResult (*log_size)(nvrtcProgram program, size_t *bytes);
  nvrtcResult (*log)(nvrtcProgram program, char *log);
  nvrtcResult (*destroy)(nvrtcProgram *program);
} real;

static void *open_library(void) {
  static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                      GEMEL__CUDA_HOME "/lib64/libnvrtc.so",
                                      GEMEL__CUDA_HOME "/lib/libnvrtc.so"};
  const char *wanted = getenv("GEMEL_SIM_NVRTC");
  void *library = NULL;
  if (wanted != NULL && strcmp(wanted, "no") == 0)
    return NULL;
  for (size_t i = 0; can_load && library == NULL && i < sizeof names / sizeof *names; i++)
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  return library;
}

static int find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

int gemel__sim_has_nvrtc(void) {
  static int known = -1;
  if (known < 0) {
    void *library = open_library();
    known = library != NULL && find(library, "nvrtcCreateProgram", &real.create) &&
            find(library, "nvrtcCompileProgram", &real.compile) &&
            find(library, "nvrtcGetProgramLogSize", &real.log_size) &&
            find(library, "nvrtcGetProgramLog", &real.log) &&
            find(library, "nvrtcDestroyProgram", &real.destroy);
  }
  return known;
}

static char *log_of(nvrtcProgram program) {
  size_t bytes = 0;
  real.log_size(program, &bytes);
  char *log = bytes > 0 ? calloc(bytes + 1, 1) : NULL;
  if (log != NULL)
    real.log(program, log);
  return log;
}

nvrtcResult gemel__sim_real_nvrtc(const char *source, const char *name, int headers,
                                  const char *const *header_texts, const char *const *header_names,
                                  int options, const char *const *texts, char **log) {
  nvrtcProgram program = NULL;
  *log = NULL;
  if (!gemel__sim_has_nvrtc())
    return NVRTC_SUCCESS;
  nvrtcResult result = real.create(&program, source, name, headers, header_texts, header_names);
  if (result == NVRTC_SUCCESS)
    result = real.compile(program, options, texts);
  if (result != NVRTC_SUCCESS && program != NULL)
    *log = log_of(program);
  if (program != NULL)
    real.destroy(&program);
  return result;
}
