# The sim: CUDA's entry points and device language on a CPU. For tests only, never installed.
# One file a line, sorted. SPDX-License-Identifier: MIT

EXTRA_DIST += %reldir%/README.md
EXTRA_DIST += %reldir%/extent.h
