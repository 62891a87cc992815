/* SPDX-License-Identifier: MIT
 *
 * Squares of N x N elements, a line to a register, are turned (rows become columns) by pairing each
 * line of the first half with one of the second, element by element, log2 N times over.
 */
#ifndef GEMEL__CORE_TURN_H
#define GEMEL__CORE_TURN_H

/* For lines of N elements: which elements of two lines, counted through, the first and the second
 * line of a pair takes. */
#define GEMEL__LOW_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define GEMEL__HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define GEMEL__LOW_8 0, 8, 1, 9, 2, 10, 3, 11
#define GEMEL__HIGH_8 4, 12, 5, 13, 6, 14, 7, 15
#define GEMEL__LOW_4 0, 4, 1, 5
#define GEMEL__HIGH_4 2, 6, 3, 7
#define GEMEL__LOW_2 0, 2
#define GEMEL__HIGH_2 1, 3
#ifdef __clang__
#define GEMEL__SHUFFLE(V, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define GEMEL__SHUFFLE(V, a, b, ...) __builtin_shuffle(a, b, (V){__VA_ARGS__})
#endif

/* Turns the square in V a[N]; V is a vector of N unsigned integers, N a number written out. */
#define GEMEL__TURN(V, N, a)                                                                       \
  for (int round = 1; round < N; round *= 2) {                                                     \
    V b[N];                                                                                        \
    for (int k = 0; k < N / 2; k++) {                                                              \
      b[2 * k] = GEMEL__SHUFFLE(V, a[k], a[k + N / 2], GEMEL__LOW_##N);                            \
      b[2 * k + 1] = GEMEL__SHUFFLE(V, a[k], a[k + N / 2], GEMEL__HIGH_##N);                       \
    }                                                                                              \
    memcpy(a, b, sizeof b);                                                                        \
  }

#endif
