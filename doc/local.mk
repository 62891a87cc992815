# Documentation; man pages go to dist_man_MANS, the rest to EXTRA_DIST.
# One file a line, sorted. SPDX-License-Identifier: MIT

dist_man_MANS += %reldir%/gemel-recheck.1
dist_man_MANS += %reldir%/gemel.1
EXTRA_DIST += %reldir%/adding
EXTRA_DIST += %reldir%/adding.md
EXTRA_DIST += %reldir%/architecture.md
EXTRA_DIST += %reldir%/conventions.md
EXTRA_DIST += %reldir%/evidence.md
EXTRA_DIST += %reldir%/libraries.md
EXTRA_DIST += %reldir%/rules.md
EXTRA_DIST += %reldir%/text.md
EXTRA_DIST += %reldir%/verify.md
