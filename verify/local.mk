# Public headers of the harness; each room has its own local.mk.
# One file a line, sorted. SPDX-License-Identifier: MIT

if VERIFY
gemelinclude_HEADERS += %reldir%/gemel/models.h
gemelinclude_HEADERS += %reldir%/gemel/reference.h
gemelinclude_HEADERS += %reldir%/gemel/sample.h
gemelinclude_HEADERS += %reldir%/gemel/verify.h
gemelinclude_HEADERS += %reldir%/gemel/verify.hpp
endif
