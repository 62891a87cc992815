# Graph text, binary graphs, NPY and NPZ, DOT.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/expr.h
