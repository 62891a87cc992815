# Documentation, installed but for the patches that adding.md shows: man pages go to dist_man_MANS.
# One file a line, sorted. SPDX-License-Identifier: MIT

dist_man_MANS += %reldir%/gemel.1
EXTRA_DIST += %reldir%/adding
dist_pages_DATA += %reldir%/adding.md
dist_pages_DATA += %reldir%/api.md
dist_pages_DATA += %reldir%/architecture.md
dist_pages_DATA += %reldir%/ci.md
dist_pages_DATA += %reldir%/composites.md
dist_pages_DATA += %reldir%/conventions.md
dist_pages_DATA += %reldir%/evidence.md
dist_pages_DATA += %reldir%/found.md
dist_pages_DATA += %reldir%/gpu.md
dist_pages_DATA += %reldir%/hlo.md
dist_pages_DATA += %reldir%/libraries.md
dist_pages_DATA += %reldir%/loops.md
dist_pages_DATA += %reldir%/onnx.md
dist_pages_DATA += %reldir%/proofs.md
dist_pages_DATA += %reldir%/python.md
dist_pages_DATA += %reldir%/ranks.md
dist_pages_DATA += %reldir%/report.png
dist_pages_DATA += %reldir%/rules.md
dist_pages_DATA += %reldir%/text.md
dist_pages_DATA += %reldir%/verify.md
