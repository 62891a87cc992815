/*
 * NVIDIA's cuDNN where it is beside the toolkit, 9.8 or later: descriptors, engines and plans for a
 * GPU that isn't there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_REAL_CUDNN_H
#define GEMEL_TESTS_REAL_CUDNN_H

#include <cudnn.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "../ct.h"

typedef struct {
  cudnnStatus_t (*create)(cudnnBackendDescriptorType_t kind, cudnnBackendDescriptor_t *descriptor);
  cudnnStatus_t (*destroy)(cudnnBackendDescriptor_t descriptor);
  cudnnStatus_t (*finish)(cudnnBackendDescriptor_t descriptor);
  cudnnStatus_t (*set)(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                       cudnnBackendAttributeType_t type, int64_t count, const void *values);
  cudnnStatus_t (*get)(const cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                       cudnnBackendAttributeType_t type, int64_t room, int64_t *count,
                       void *values);
  const char *(*text)(cudnnStatus_t status);
  cudnnHandle_t handle;               /* the sim's */
  cudnnBackendDescriptor_t no_device; /* NVIDIA's: the properties of a GPU */
} cudnn_library;

/* What only NVIDIA's library has. */
enum {
  DEVICEPROP = 38,
  ENGINEHEUR_DEVICEPROP = 204,
  PLAN_DEVICEPROP = 407,
  DEVICEPROP_JSON = 2702,
  TYPE_CHAR = 24
};

#if defined GEMEL__CUDA_HOME && !defined GEMEL_SANITIZED
static bool find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

static void *open_library(const char *name) {
  static const char *const folders[] = {"lib64", "lib", "lib/x86_64-linux-gnu"};
  char path[500];
  void *found = NULL;
  for (size_t k = 0; k < CT_COUNT(folders) && found == NULL; k++) {
    snprintf(path, sizeof path, GEMEL__CUDA_HOME "/%s/%s", folders[k], name);
    found = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  }
  return found;
}

/* The properties are those of an A100's data sheet. */
static bool open_real(cudnn_library *l) {
  static const char properties[] =
      "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
      "\"regsPerBlock\":65536,\"multiProcessorCount\":108,\"smClockRateKHz\":1410000,"
      "\"memClockRateKHz\":1215000,\"l2CacheSize\":41943040,\"warpSize\":32,"
      "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":166912,"
      "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":32,"
      "\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"isTccDriver\":0,"
      "\"supportCoopLaunch\":1,\"pciDeviceId\":0,\"deviceVer\":800,\"driverVer\":13000,"
      "\"totalGlobalMem\":42505273344,\"cudaDeviceId\":0,\"deviceName\":\"A100\"}";
  void *library = open_library("libcudnn.so");
  memset(l, 0, sizeof *l);
  return library != NULL && find(library, "cudnnBackendCreateDescriptor", &l->create) &&
         find(library, "cudnnBackendDestroyDescriptor", &l->destroy) &&
         find(library, "cudnnBackendFinalize", &l->finish) &&
         find(library, "cudnnBackendSetAttribute", &l->set) &&
         find(library, "cudnnBackendGetAttribute", &l->get) &&
         find(library, "cudnnGetErrorString", &l->text) &&
         l->create((cudnnBackendDescriptorType_t)DEVICEPROP, &l->no_device) ==
             CUDNN_STATUS_SUCCESS &&
         l->set(l->no_device, (cudnnBackendAttributeName_t)DEVICEPROP_JSON,
                (cudnnBackendAttributeType_t)TYPE_CHAR, (int64_t)strlen(properties),
                properties) == CUDNN_STATUS_SUCCESS &&
         l->finish(l->no_device) == CUDNN_STATUS_SUCCESS;
}
#else
static bool open_real(cudnn_library *l) {
  (void)l;
  return false;
}
#endif

#endif
