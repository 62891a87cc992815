# Devices: the table of them, the host, tensors on others.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/device.c
libgemel_a_SOURCES += %reldir%/device.h
libgemel_a_SOURCES += %reldir%/host.c
libgemel_a_SOURCES += %reldir%/kernels.c
libgemel_a_SOURCES += %reldir%/kernels.h
libgemel_a_SOURCES += %reldir%/packed.c
