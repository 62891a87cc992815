/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of cuBLAS's products.
 */
#ifndef GEMEL__SIM_GEMM_H
#define GEMEL__SIM_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cublas_v2.h>

/* A batch of column-major matrices as they lie in memory. */
typedef struct {
  void *at;
  cudaDataType type;
  bool transposed;
  int64_t rows, columns, leading, stride;
} gemel__sim_matrix;

/* C = alpha op(A) op(B) + beta C, COUNT times; C isn't read if beta is 0. Sums are taken in f32, of
 * f64 matrices in f64, in an order that the seed and the sizes choose: nobody may rely on one. */
typedef struct {
  gemel__sim_matrix a, b, c;
  int64_t k;
  int count;
  int digits; /* that operands are rounded to; 0: they aren't */
  double alpha, beta;
} gemel__sim_product;
void gemel__sim_multiply(const gemel__sim_product *product);

/* X with that many digits, the leading one among them. */
float gemel__sim_with_digits(float x, int digits);
/* Of an element, in bytes; 0 for types that no product has. */
size_t gemel__sim_size_of(cudaDataType type);
double gemel__sim_load(const void *at, cudaDataType type, int64_t index);
/* Rounds X to the type. */
void gemel__sim_store(void *at, cudaDataType type, int64_t index, double x);

#endif
