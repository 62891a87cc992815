# The gemel command. What needs the harness goes between "if VERIFY" and "endif".
# One file a line, sorted. SPDX-License-Identifier: MIT

gemel_SOURCES += %reldir%/main.c
