/* SPDX-License-Identifier: MIT
 *
 * The devices of the sim. They are alike but for what a test says of them, and each has memory,
 * streams and libraries' handles of its own. Each thread has a current one, the first at first,
 * where memory is allocated, streams are made and kernels launched; what belongs to another one is
 * refused there, as CUDA does where devices aren't peers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/inside.h"

static int devices; /* 0: not known yet */
static int processors[GEMEL__SIM_DEVICES] = {4, 4, 4,
                                             4}; /* few: grids that depend on it are small */
_Thread_local int gemel__sim_device;

static int within(int least, long count, int most) {
  return count < least ? least : count > most ? most : (int)count;
}

void gemel__sim_devices(int count) {
  devices = within(1, count, GEMEL__SIM_DEVICES);
}

static int device_count(void) {
  const char *own = getenv("GEMEL_SIM_DEVICES");
  if (devices == 0)
    gemel__sim_devices(own != NULL ? (int)strtol(own, NULL, 10) : 2);
  return devices;
}

void gemel__sim_processors(int device, int count) {
  processors[within(0, device, GEMEL__SIM_DEVICES - 1)] = count;
}

static bool exists(int device) {
  return device >= 0 && device < device_count();
}

cudaError_t gemel__sim_elsewhere(const char *what, int device, int wanted) {
  gemel__sim_say(GEMEL__SIM_PARAMETER, (gemel__sim_place){NULL, NULL, 0},
                 "%s is device %d's, and is used on device %d", what, device, wanted);
  return cudaErrorInvalidResourceHandle;
}

/* *TO = VALUE, unless the call fails. */
static cudaError_t tell(int *to, int value) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_ASKS);
  if (error == cudaSuccess && to == NULL)
    error = cudaErrorInvalidValue;
  if (error == cudaSuccess)
    *to = value;
  return gemel__sim_leave(error);
}

cudaError_t cudaGetDeviceCount(int *count) {
  return tell(count, device_count());
}

cudaError_t cudaGetDevice(int *device) {
  return tell(device, gemel__sim_device);
}

cudaError_t cudaSetDevice(int device) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_FREES);
  if (error == cudaSuccess && !exists(device))
    error = cudaErrorInvalidDevice;
  if (error == cudaSuccess)
    gemel__sim_device = device;
  return gemel__sim_leave(error);
}

cudaError_t cudaRuntimeGetVersion(int *version) {
  if (version == NULL)
    return cudaErrorInvalidValue;
  *version = 12080; /* the oldest that declares all that is declared here */
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
  return cudaRuntimeGetVersion(version);
}

static void fill_properties(struct cudaDeviceProp *p, int device) {
  size_t left;
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "gemel's sim");
  gemel__sim_memory_left(device, &left, &p->totalGlobalMem);
  p->sharedMemPerBlock = 48 << 10;
  p->sharedMemPerBlockOptin = 163 << 10;
  p->sharedMemPerMultiprocessor = 164 << 10;
  p->regsPerBlock = 65536;
  p->warpSize = 32;
  p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = GEMEL__SIM_THREADS;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->totalConstMem = 64 << 10;
  p->major = 8;
  p->multiProcessorCount = processors[device];
  p->maxThreadsPerMultiProcessor = 2048;
  p->concurrentKernels = p->unifiedAddressing = 1;
  p->l2CacheSize = 1 << 20;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_ASKS);
  if (error == cudaSuccess && (properties == NULL || !exists(device)))
    error = properties == NULL ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
  if (error == cudaSuccess)
    fill_properties(properties, device);
  return gemel__sim_leave(error);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
  struct cudaDeviceProp properties;
  cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error != cudaSuccess)
    return error;
  switch (attribute) {
  case cudaDevAttrMaxThreadsPerBlock:
    *value = properties.maxThreadsPerBlock;
    return cudaSuccess;
  case cudaDevAttrMultiProcessorCount:
    *value = properties.multiProcessorCount;
    return cudaSuccess;
  case cudaDevAttrComputeCapabilityMajor:
    *value = properties.major;
    return cudaSuccess;
  case cudaDevAttrComputeCapabilityMinor:
    *value = properties.minor;
    return cudaSuccess;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin:
    *value = (int)properties.sharedMemPerBlockOptin;
    return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}
