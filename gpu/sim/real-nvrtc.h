/* SPDX-License-Identifier: MIT
 *
 * NVIDIA's own NVRTC, if the machine has it.
 */
#ifndef GEMEL__SIM_REAL_NVRTC_H
#define GEMEL__SIM_REAL_NVRTC_H

#include <nvrtc.h>

/* Whether it is there; it isn't looked for if the environment variable GEMEL_SIM_NVRTC is "no". */
int gemel__sim_has_nvrtc(void);
/* Lets it compile a program and, if it refuses, *LOG is what it says, freed by the caller, or NULL.
 * NVRTC_SUCCESS where it isn't there. */
nvrtcResult gemel__sim_real_nvrtc(const char *source, const char *name, int headers,
                                  const char *const *header_texts, const char *const *header_names,
                                  int options, const char *const *texts, char **log);

#endif
