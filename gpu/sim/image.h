/* SPDX-License-Identifier: MIT
 *
 * What the sim's NVRTC makes and cudaLibraryLoadData takes, in place of machine code for a GPU: a
 * header, and the bytes of a shared object for this machine.
 */
#ifndef GEMEL__SIM_IMAGE_H
#define GEMEL__SIM_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

enum { GEMEL__SIM_ARCHITECTURE = 80 }; /* of the sim's device: compute capability 8.0 */

typedef struct {
  char magic[16];
  uint64_t stamp; /* of the sim and its flags: what another one made is of no use */
  uint64_t bytes; /* of the shared object */
  int architecture;
  bool portable; /* PTX rather than machine code */
} gemel__sim_image;

#define GEMEL__SIM_MAGIC "gemel sim image"

/* Of this sim. */
uint64_t gemel__sim_stamp(void);

#endif
