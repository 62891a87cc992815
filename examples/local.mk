# Short programs for newcomers: installed, and built by ci/outsider as an outsider would.
# One file a line, sorted. SPDX-License-Identifier: MIT

dist_examples_DATA += %reldir%/affine.c
dist_examples_DATA += %reldir%/affine.gmt
dist_examples_DATA += %reldir%/affine_gpu.c
dist_examples_DATA += %reldir%/characters.c
dist_examples_DATA += %reldir%/digits.c
dist_examples_DATA += %reldir%/digits.h
dist_examples_DATA += %reldir%/digits.npz
dist_examples_DATA += %reldir%/digits.txt
dist_examples_DATA += %reldir%/divmul.onnx
dist_examples_DATA += %reldir%/divmul.txt
dist_examples_DATA += %reldir%/divmul_ort.onnx
dist_examples_DATA += %reldir%/dropout.gmt
dist_examples_DATA += %reldir%/hello.cpp
dist_examples_DATA += %reldir%/kalman.c
dist_examples_DATA += %reldir%/leaky.gmt
dist_examples_DATA += %reldir%/lenet.c
dist_examples_DATA += %reldir%/logistic.c
dist_examples_DATA += %reldir%/logistic.py
dist_examples_DATA += %reldir%/mine.rules
dist_examples_DATA += %reldir%/mlp.gmt
dist_examples_DATA += %reldir%/my_backward.c
dist_examples_DATA += %reldir%/my_kernel.c
dist_examples_DATA += %reldir%/my_kernel.cu
dist_examples_DATA += %reldir%/my_operation.c
dist_examples_DATA += %reldir%/my_operation.cpp
dist_examples_DATA += %reldir%/parallel.c
dist_examples_DATA += %reldir%/square1.gmt
dist_examples_DATA += %reldir%/square2.gmt
dist_examples_DATA += %reldir%/train.c
dist_examples_DATA += %reldir%/transformer.c
dist_examples_DATA += %reldir%/transformer.py
dist_examples_DATA += %reldir%/transposed.gmt
dist_examples_DATA += %reldir%/windows.gmt
