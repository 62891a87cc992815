# The kernels: one source for nvcc and, through the sim, for any C++ compiler.
# One file a line, sorted. SPDX-License-Identifier: MIT

EXTRA_DIST += %reldir%/kernel.h
