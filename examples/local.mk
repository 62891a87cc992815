# Short programs for newcomers: shipped, and built by ci/outsider as an outsider would.
# One file a line, sorted. SPDX-License-Identifier: MIT

EXTRA_DIST += %reldir%/affine.c
EXTRA_DIST += %reldir%/affine.gmt
EXTRA_DIST += %reldir%/mlp.gmt
EXTRA_DIST += %reldir%/my_kernel.c
EXTRA_DIST += %reldir%/my_operation.c
EXTRA_DIST += %reldir%/square1.gmt
EXTRA_DIST += %reldir%/square2.gmt
EXTRA_DIST += %reldir%/train.c
EXTRA_DIST += %reldir%/windows.gmt
