/* SPDX-License-Identifier: MIT
 *
 * CUDA's vectors of two to four numbers, with the alignment that they have on a GPU, and dim3.
 */
#ifndef GEMEL__SIM_VECTOR_TYPES_H
#define GEMEL__SIM_VECTOR_TYPES_H

/* GEMEL__SIM_VECTORS(T, t, a2, a4): the vectors t1 to t4 of T; those of 2 and 4 are aligned to a2
   and a4 bytes. */
#define GEMEL__SIM_VECTORS(T, t, a2, a4)                                                           \
  typedef struct t##1 {                                                                            \
    T x;                                                                                           \
  }                                                                                                \
  t##1;                                                                                            \
  typedef struct t##2 {                                                                            \
    T x, y;                                                                                        \
  }                                                                                                \
  __attribute__((aligned(a2))) t##2;                                                               \
  typedef struct t##3 {                                                                            \
    T x, y, z;                                                                                     \
  }                                                                                                \
  t##3;                                                                                            \
  typedef struct t##4 {                                                                            \
    T x, y, z, w;                                                                                  \
  }                                                                                                \
  __attribute__((aligned(a4))) t##4;

GEMEL__SIM_VECTORS(signed char, char, 2, 4)
GEMEL__SIM_VECTORS(unsigned char, uchar, 2, 4)
GEMEL__SIM_VECTORS(short, short, 4, 8)
GEMEL__SIM_VECTORS(unsigned short, ushort, 4, 8)
GEMEL__SIM_VECTORS(int, int, 8, 16)
GEMEL__SIM_VECTORS(unsigned, uint, 8, 16)
GEMEL__SIM_VECTORS(long long, longlong, 16, 16)
GEMEL__SIM_VECTORS(unsigned long long, ulonglong, 16, 16)
GEMEL__SIM_VECTORS(float, float, 8, 16)
GEMEL__SIM_VECTORS(double, double, 16, 16)

typedef struct dim3 {
#ifdef __cplusplus
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {
  }
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {
  }
#else
  unsigned x, y, z;
#endif
} dim3;

#endif
