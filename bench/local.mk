# Benchmarks, compiled into the gemel command (gemel bench). They call oneDNN, CBLAS and CUDA directly,
# to compare. One file a line, sorted. SPDX-License-Identifier: MIT

gemel_CPPFLAGS = $(AM_CPPFLAGS) $(BLAS_CFLAGS) -I$(srcdir)/gpu $(device_cppflags)
gemel_SOURCES += %reldir%/bench.c
gemel_SOURCES += %reldir%/bench.h
gemel_SOURCES += %reldir%/blas.c
gemel_SOURCES += %reldir%/blas.h
gemel_SOURCES += %reldir%/call.c
gemel_SOURCES += %reldir%/call.h
gemel_SOURCES += %reldir%/conv.c
gemel_SOURCES += %reldir%/cpu.c
gemel_SOURCES += %reldir%/file.c
gemel_SOURCES += %reldir%/gpu.c
gemel_SOURCES += %reldir%/graph.c
gemel_SOURCES += %reldir%/memory.c
gemel_SOURCES += %reldir%/memory.h
gemel_SOURCES += %reldir%/optimizer.c
gemel_SOURCES += %reldir%/passes.c
gemel_SOURCES += %reldir%/passes.h
gemel_SOURCES += %reldir%/race.c
gemel_SOURCES += %reldir%/recurrent.c
gemel_SOURCES += %reldir%/recurrent.h
gemel_SOURCES += %reldir%/report.c
gemel_SOURCES += %reldir%/scan.c
gemel_SOURCES += %reldir%/shapes.c
gemel_SOURCES += %reldir%/shapes.h
gemel_SOURCES += %reldir%/stack.c
gemel_SOURCES += %reldir%/training.c
gemel_SOURCES += %reldir%/training.h
if VERIFY
gemel_SOURCES += %reldir%/verify.c
endif
EXTRA_DIST += %reldir%/README.md
EXTRA_DIST += %reldir%/graphs
EXTRA_DIST += %reldir%/peers/affine.py
EXTRA_DIST += %reldir%/peers/calls.py
EXTRA_DIST += %reldir%/peers/campaign.py
EXTRA_DIST += %reldir%/peers/chains.py
EXTRA_DIST += %reldir%/peers/conv.py
EXTRA_DIST += %reldir%/peers/digits.py
EXTRA_DIST += %reldir%/peers/gpu.py
EXTRA_DIST += %reldir%/peers/lstm.py
EXTRA_DIST += %reldir%/peers/networks_equal.py
EXTRA_DIST += %reldir%/peers/ops.py
EXTRA_DIST += %reldir%/peers/onnx_nodes.py
EXTRA_DIST += %reldir%/peers/optimizer.py
EXTRA_DIST += %reldir%/peers/random_numbers.py
EXTRA_DIST += %reldir%/peers/scan.py
EXTRA_DIST += %reldir%/peers/shards.sh
EXTRA_DIST += %reldir%/results/README.md
EXTRA_DIST += %reldir%/results/epyc-zen5-2-cores-ops.jsonl
EXTRA_DIST += %reldir%/results/epyc-zen5-2-cores-optimizer.jsonl
EXTRA_DIST += %reldir%/results/epyc-zen5-2-cores-side-by-side.jsonl
EXTRA_DIST += %reldir%/results/onnx-1.23-nodes.md
EXTRA_DIST += %reldir%/results/xeon-2-cores-networks.jsonl
EXTRA_DIST += %reldir%/results/xeon-cascade-lake-2-cores.jsonl
EXTRA_DIST += %reldir%/results/xeon-cascade-lake-2-cores-peers.jsonl
