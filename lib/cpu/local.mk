# Engines that families share: tiles, threads, bindings to GEMM and oneDNN.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/chain-loops.h
libgemel_a_SOURCES += %reldir%/chain.c
libgemel_a_SOURCES += %reldir%/chain.h
libgemel_a_SOURCES += %reldir%/factor-loops.h
libgemel_a_SOURCES += %reldir%/factor.c
libgemel_a_SOURCES += %reldir%/factor.h
libgemel_a_SOURCES += %reldir%/gemm-plain.c
libgemel_a_SOURCES += %reldir%/gemm-small.c
libgemel_a_SOURCES += %reldir%/gemm-small.h
libgemel_a_SOURCES += %reldir%/gemm-tile.h
libgemel_a_SOURCES += %reldir%/gemm-types.h
libgemel_a_SOURCES += %reldir%/gemm.c
libgemel_a_SOURCES += %reldir%/gemm.h
libgemel_a_SOURCES += %reldir%/loop.c
libgemel_a_SOURCES += %reldir%/loop.h
libgemel_a_SOURCES += %reldir%/onednn.c
libgemel_a_SOURCES += %reldir%/onednn.h
libgemel_a_SOURCES += %reldir%/waits.c
libgemel_a_SOURCES += %reldir%/waits.h
libgemel_a_SOURCES += %reldir%/walk.c
libgemel_a_SOURCES += %reldir%/walk.h
