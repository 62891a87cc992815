# Number systems of the harness: prime-field chains, exact rationals and balls, duals, error bounds.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/domain.h
