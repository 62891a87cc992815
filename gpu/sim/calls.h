/* SPDX-License-Identifier: MIT
 *
 * What a kernel that g++ has compiled calls: the sim's half of the device language, whose other
 * half is device.h. In the sim's own sources this is the header of block.c, warp.c and hooks.c.
 *
 * FILE and LINE say where the kernel makes the call.
 */
#ifndef GEMEL__SIM_CALLS_H
#define GEMEL__SIM_CALLS_H

#include <stdint.h>
#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A kernel as GEMEL_KERNEL makes it known. Its address is what gemel__kernel_<id>() gives. */
struct gemel__sim_kernel {
  const char *name;
  void (*call)(void **arguments); /* runs one thread */
  unsigned count;                 /* of arguments */
  const size_t *sizes;            /* of each */
  size_t shared_limit;            /* bytes of dynamic shared memory that a launch may ask for */
  struct gemel__sim_kernel *next;
  const void *library; /* that it was loaded with, or NULL */
};
void gemel__sim_register(struct gemel__sim_kernel *kernel);

/* Of the thread that asks. */
uint3 gemel__sim_thread_index(void) __attribute__((const));
uint3 gemel__sim_block_index(void) __attribute__((const));
uint3 gemel__sim_block_size(void) __attribute__((const));
uint3 gemel__sim_grid_size(void) __attribute__((const));

/* Dynamic shared memory; and an array of BYTES bytes, one for each KEY and block. */
void *gemel__sim_dynamic_shared(void);
void *gemel__sim_shared(const void *key, const char *name, size_t bytes);

/* Waits for the block. Returns how many threads came with PREDICATE != 0. */
int gemel__sim_barrier(int predicate, const char *file, int line);
/* __threadfence. */
void gemel__sim_fence(void);

typedef enum {
  GEMEL__SIM_SHUFFLE,
  GEMEL__SIM_SHUFFLE_UP,
  GEMEL__SIM_SHUFFLE_DOWN,
  GEMEL__SIM_SHUFFLE_XOR,
  GEMEL__SIM_BALLOT,
  GEMEL__SIM_SYNCWARP
} gemel__sim_warp_call;

/* Waits for the lanes of MASK. Returns the bits of another lane's VALUE, or a ballot. */
uint64_t gemel__sim_warp(gemel__sim_warp_call call, unsigned mask, uint64_t value, int argument,
                         int width, const char *file, int line);
/* The lanes of the warp that haven't ended. */
unsigned gemel__sim_active(void);

/* The BYTES bytes at POINTER are about to be read, written, or updated by an atomic. */
void gemel__sim_reads(const void *pointer, size_t bytes, const char *file, int line);
void gemel__sim_writes(void *pointer, size_t bytes, const char *file, int line);
void gemel__sim_updates(void *pointer, size_t bytes, const char *file, int line);

/* Functions of f64 whose results a GPU's math library has other bits of than the host's: libm.c. */
#define GEMEL__SIM_FUNCTIONS(X) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh)
#define GEMEL__SIM_FUNCTION(name) double gemel__sim_##name(double x);
GEMEL__SIM_FUNCTIONS(GEMEL__SIM_FUNCTION)
double gemel__sim_atan2(double x, double y);

/* assert() failed, or __trap(): ends the kernel. */
void gemel__sim_failed(const char *what, const char *file, int line);

#ifdef __cplusplus
}
#endif

#endif
