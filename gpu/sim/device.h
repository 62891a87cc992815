/* SPDX-License-Identifier: MIT
 *
 * CUDA's device language for g++ and clang++. A thread of a block is a coroutine (block.c); the
 * threads run one at a time, in random order between barriers. What touches memory is seen by the
 * hooks of -fsanitize=thread, with which a kernel file is compiled (hooks.c). Kernel files include
 * this through kernels/kernel.h, which describes the three macros GEMEL_KERNEL, GEMEL_SHARED and
 * GEMEL_DYNAMIC_SHARED.
 *
 * What nvcc would refuse should be refused here too: atomics exist for CUDA's types alone.
 */
#ifndef GEMEL__SIM_DEVICE_H
#define GEMEL__SIM_DEVICE_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <type_traits>
#include <utility>
#include <cuda_runtime.h>
#include "sim/calls.h"

#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __constant__ static
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
/* A symbol of type TLS: shared.c finds it in the symbol table, with its size. */
#define __shared__ static __thread __attribute__((aligned(256)))

#define threadIdx (gemel__sim_thread_index())
#define blockIdx (gemel__sim_block_index())
#define blockDim (dim3(gemel__sim_block_size()))
#define gridDim (dim3(gemel__sim_grid_size()))
static constexpr int warpSize = 32;

/* The default arguments say where the caller stands. */
#define GEMEL__SIM_WHERE const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define GEMEL__SIM_UNSEEN __attribute__((no_sanitize("thread")))

/* Shared memory. */

#define GEMEL_DYNAMIC_SHARED(type, name)                                                           \
  type *name = static_cast<type *>(gemel__sim_dynamic_shared())
/* What simcc makes of extern __shared__ type name[]: type (*name) = GEMEL__SIM_DYNAMIC_SHARED. */
struct gemel__sim_anything {
  void *pointer;
  template <class T> operator T *() const {
    return static_cast<T *>(pointer);
  }
};
#define GEMEL__SIM_DYNAMIC_SHARED (gemel__sim_anything{gemel__sim_dynamic_shared()})
#define GEMEL_SHARED(type, name, dims)                                                             \
  using gemel__type_##name = type dims;                                                            \
  static const char gemel__key_##name = 0;                                                         \
  gemel__type_##name &name = *static_cast<gemel__type_##name *>(                                   \
      gemel__sim_shared(&gemel__key_##name, #name, sizeof(gemel__type_##name)))

/* Kernels: the types of the arguments come from the kernel's own signature. */

template <auto kernel> struct gemel__sim_entry;
template <class... Types, void (*kernel)(Types...)> struct gemel__sim_entry<kernel> {
  static constexpr size_t sizes[] = {sizeof(Types)..., 0};

  template <size_t... i>
  GEMEL__SIM_UNSEEN static void apply(void **arguments, std::index_sequence<i...>) {
    kernel(*static_cast<std::remove_cv_t<Types> *>(arguments[i])...);
  }
  GEMEL__SIM_UNSEEN static void call(void **arguments) {
    apply(arguments, std::index_sequence_for<Types...>());
  }
  static inline struct gemel__sim_kernel made = {nullptr,  call,    sizeof...(Types), sizes,
                                                 48 << 10, nullptr, nullptr};
  static struct gemel__sim_kernel *make(const char *name) {
    if (made.name == nullptr) {
      made.name = name;
      gemel__sim_register(&made);
    }
    return &made;
  }
  struct call_on {
    const char *name;
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    void operator()(Types... values) const {
      void *arguments[] = {&values..., nullptr};
      cudaLaunchKernel(make(name), grid, block, arguments, shared, stream);
    }
  };
};

#define GEMEL_KERNEL(id, ...)                                                                      \
  static struct gemel__sim_kernel *const gemel__made_##id =                                        \
      gemel__sim_entry<(__VA_ARGS__)>::make(#id);                                                  \
  extern "C" const void *gemel__kernel_##id(void);                                                 \
  extern "C" const void *gemel__kernel_##id(void) {                                                \
    return gemel__made_##id;                                                                       \
  }

/* What gpu/sim/simcc makes of kernel<<<grid, block, shared, stream>>>(values):
   GEMEL__SIM_LAUNCH(kernel)(grid, block, shared, stream)(values). */
template <auto kernel> struct gemel__sim_launch {
  const char *name;
  auto operator()(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr) const {
    return typename gemel__sim_entry<kernel>::call_on{name, grid, block, shared, stream};
  }
};
#define GEMEL__SIM_LAUNCH(...) (gemel__sim_launch<__VA_ARGS__>{#__VA_ARGS__})

/* Barriers and warps. */

inline void __syncthreads(GEMEL__SIM_WHERE) {
  gemel__sim_barrier(0, file, line);
}
inline int __syncthreads_count(int predicate, GEMEL__SIM_WHERE) {
  return gemel__sim_barrier(predicate != 0, file, line);
}
inline int __syncthreads_or(int predicate, GEMEL__SIM_WHERE) {
  return gemel__sim_barrier(predicate != 0, file, line) > 0;
}
inline int __syncthreads_and(int predicate, GEMEL__SIM_WHERE) {
  return gemel__sim_barrier(predicate == 0, file, line) == 0;
}
inline void __syncwarp(unsigned mask = ~0u, GEMEL__SIM_WHERE) {
  gemel__sim_warp(GEMEL__SIM_SYNCWARP, mask, 0, 0, 32, file, line);
}
inline void __threadfence() {
  gemel__sim_fence();
}
inline void __threadfence_block() {
}
inline unsigned __activemask() {
  return gemel__sim_active();
}
inline unsigned __ballot_sync(unsigned mask, int predicate, GEMEL__SIM_WHERE) {
  return (unsigned)gemel__sim_warp(GEMEL__SIM_BALLOT, mask, predicate != 0, 0, 32, file, line);
}
inline int __any_sync(unsigned mask, int predicate, GEMEL__SIM_WHERE) {
  return gemel__sim_warp(GEMEL__SIM_BALLOT, mask, predicate != 0, 0, 32, file, line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, GEMEL__SIM_WHERE) {
  return gemel__sim_warp(GEMEL__SIM_BALLOT, mask, predicate == 0, 0, 32, file, line) == 0;
}

template <class T>
inline T gemel__sim_shuffled(gemel__sim_warp_call call, unsigned mask, T value, int argument,
                             int width, const char *file, int line) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "a shuffle moves 8 bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  bits = gemel__sim_warp(call, mask, bits, argument, width, file, line);
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32, GEMEL__SIM_WHERE) {
  return gemel__sim_shuffled(GEMEL__SIM_SHUFFLE, mask, value, lane, width, file, line);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, GEMEL__SIM_WHERE) {
  return gemel__sim_shuffled(GEMEL__SIM_SHUFFLE_UP, mask, value, (int)by, width, file, line);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32, GEMEL__SIM_WHERE) {
  return gemel__sim_shuffled(GEMEL__SIM_SHUFFLE_DOWN, mask, value, (int)by, width, file, line);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, GEMEL__SIM_WHERE) {
  return gemel__sim_shuffled(GEMEL__SIM_SHUFFLE_XOR, mask, value, bits, width, file, line);
}

/* Atomics. One coroutine runs at a time, so a plain update is atomic; the checker is told that it
   is meant as one. */

template <class T, class... Types>
inline constexpr bool gemel__sim_one_of = (std::is_same_v<T, Types> || ...);

#define GEMEL__SIM_ATOMIC(name, result, ...)                                                       \
  template <class T>                                                                               \
  GEMEL__SIM_UNSEEN inline T name(T *pointer, std::common_type_t<T> value, GEMEL__SIM_WHERE) {     \
    static_assert(gemel__sim_one_of<T, __VA_ARGS__>, #name " has no such type in CUDA");           \
    gemel__sim_updates(pointer, sizeof(T), file, line);                                            \
    T old = *pointer;                                                                              \
    *pointer = static_cast<T>(result);                                                             \
    return old;                                                                                    \
  }
GEMEL__SIM_ATOMIC(atomicAdd, old + value, int, unsigned, unsigned long long, float, double)
GEMEL__SIM_ATOMIC(atomicSub, old - value, int, unsigned)
GEMEL__SIM_ATOMIC(atomicExch, value, int, unsigned, unsigned long long, float)
GEMEL__SIM_ATOMIC(atomicMin, old < value ? old : value, int, unsigned, long long,
                  unsigned long long)
GEMEL__SIM_ATOMIC(atomicMax, old > value ? old : value, int, unsigned, long long,
                  unsigned long long)
GEMEL__SIM_ATOMIC(atomicAnd, old &value, int, unsigned, unsigned long long)
GEMEL__SIM_ATOMIC(atomicOr, old | value, int, unsigned, unsigned long long)
GEMEL__SIM_ATOMIC(atomicXor, old ^ value, int, unsigned, unsigned long long)

template <class T>
GEMEL__SIM_UNSEEN inline T atomicCAS(T *pointer, std::common_type_t<T> expected,
                                     std::common_type_t<T> value, GEMEL__SIM_WHERE) {
  static_assert(gemel__sim_one_of<T, int, unsigned, unsigned long long, unsigned short>,
                "atomicCAS has no such type in CUDA");
  gemel__sim_updates(pointer, sizeof(T), file, line);
  T old = *pointer;
  if (old == expected)
    *pointer = value;
  return old;
}

/* Memory. The compiler's hooks don't see what memcpy and memset do. */

inline void *gemel__sim_memcpy(void *to, const void *from, size_t bytes, GEMEL__SIM_WHERE) {
  gemel__sim_reads(from, bytes, file, line);
  gemel__sim_writes(to, bytes, file, line);
  return __builtin_memcpy(to, from, bytes);
}
inline void *gemel__sim_memset(void *to, int value, size_t bytes, GEMEL__SIM_WHERE) {
  gemel__sim_writes(to, bytes, file, line);
  return __builtin_memset(to, value, bytes);
}
#define memcpy(to, from, bytes) gemel__sim_memcpy(to, from, bytes)
#define memset(to, value, bytes) gemel__sim_memset(to, value, bytes)

template <class T> inline T __ldg(const T *pointer) {
  return *pointer;
}

/* Arithmetic. What has __ in front is less exact on a GPU than here. */

template <class To, class From> inline To gemel__sim_as(From value) {
  static_assert(sizeof(To) == sizeof(From), "the same bits need the same size");
  To result;
  __builtin_memcpy(&result, &value, sizeof result);
  return result;
}
inline int __float_as_int(float x) {
  return gemel__sim_as<int>(x);
}
inline unsigned __float_as_uint(float x) {
  return gemel__sim_as<unsigned>(x);
}
inline float __int_as_float(int i) {
  return gemel__sim_as<float>(i);
}
inline float __uint_as_float(unsigned i) {
  return gemel__sim_as<float>(i);
}
inline long long __double_as_longlong(double x) {
  return gemel__sim_as<long long>(x);
}
inline double __longlong_as_double(long long i) {
  return gemel__sim_as<double>(i);
}

/* GEMEL__SIM_ROUNDED(f, T): __fadd_rn and its kin, which the compiler never contracts. */
#define GEMEL__SIM_ROUNDED(f, T)                                                                   \
  inline T __##f##add_rn(T x, T y) {                                                               \
    return x + y;                                                                                  \
  }                                                                                                \
  inline T __##f##sub_rn(T x, T y) {                                                               \
    return x - y;                                                                                  \
  }                                                                                                \
  inline T __##f##mul_rn(T x, T y) {                                                               \
    return x * y;                                                                                  \
  }                                                                                                \
  inline T __##f##div_rn(T x, T y) {                                                               \
    return x / y;                                                                                  \
  }                                                                                                \
  inline T __##f##sqrt_rn(T x) {                                                                   \
    return sqrt(x);                                                                                \
  }
GEMEL__SIM_ROUNDED(f, float)
GEMEL__SIM_ROUNDED(d, double)
inline float __fmaf_rn(float x, float y, float z) {
  return fmaf(x, y, z);
}
inline double __fma_rn(double x, double y, double z) {
  return fma(x, y, z);
}
inline float rsqrtf(float x) {
  return 1 / sqrtf(x);
}
inline double rsqrt(double x) {
  return 1 / sqrt(x);
}
inline float __expf(float x) {
  return expf(x);
}
inline float __logf(float x) {
  return logf(x);
}
inline float __fdividef(float x, float y) {
  return x / y;
}

/* A GPU's math library is another than the host's. */
#define GEMEL__SIM_OVERLOADS(name)                                                                 \
  inline double gemel__device_##name(double x) {                                                   \
    return gemel__sim_##name(x);                                                                   \
  }                                                                                                \
  inline float gemel__device_##name(float x) {                                                     \
    return name##f(x);                                                                             \
  }
GEMEL__SIM_FUNCTIONS(GEMEL__SIM_OVERLOADS)
inline double gemel__device_atan2(double x, double y) {
  return gemel__sim_atan2(x, y);
}
inline float gemel__device_atan2(float x, float y) {
  return atan2f(x, y);
}
#define sin(x) gemel__device_sin(x)
#define cos(x) gemel__device_cos(x)
#define tan(x) gemel__device_tan(x)
#define asin(x) gemel__device_asin(x)
#define acos(x) gemel__device_acos(x)
#define atan(x) gemel__device_atan(x)
#define sinh(x) gemel__device_sinh(x)
#define cosh(x) gemel__device_cosh(x)
#define atan2(x, y) gemel__device_atan2(x, y)

inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
inline int __clz(int x) {
  return x != 0 ? __builtin_clz((unsigned)x) : 32;
}
inline int __clzll(long long x) {
  return x != 0 ? __builtin_clzll((unsigned long long)x) : 64;
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
inline unsigned __umulhi(unsigned x, unsigned y) {
  return (unsigned)((unsigned long long)x * y >> 32);
}
inline int __mulhi(int x, int y) {
  return (int)((long long)x * y >> 32);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return (unsigned long long)((unsigned __int128)x * y >> 64);
}

/* CUDA has min and max of two numbers of one arithmetic type, or of their common one. */
template <class A, class B> inline std::common_type_t<A, B> min(A a, B b) {
  static_assert(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>, "min is for numbers");
  std::common_type_t<A, B> x = a, y = b;
  if constexpr (std::is_floating_point_v<decltype(x)>)
    return fmin(x, y);
  return y < x ? y : x;
}
template <class A, class B> inline std::common_type_t<A, B> max(A a, B b) {
  static_assert(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>, "max is for numbers");
  std::common_type_t<A, B> x = a, y = b;
  if constexpr (std::is_floating_point_v<decltype(x)>)
    return fmax(x, y);
  return x < y ? y : x;
}

#define GEMEL__SIM_MAKE(T, t)                                                                      \
  inline t##2 make_##t##2(T x, T y) {                                                              \
    return {x, y};                                                                                 \
  }                                                                                                \
  inline t##3 make_##t##3(T x, T y, T z) {                                                         \
    return {x, y, z};                                                                              \
  }                                                                                                \
  inline t##4 make_##t##4(T x, T y, T z, T w) {                                                    \
    return {x, y, z, w};                                                                           \
  }
GEMEL__SIM_MAKE(int, int)
GEMEL__SIM_MAKE(unsigned, uint)
GEMEL__SIM_MAKE(float, float)
GEMEL__SIM_MAKE(double, double)

#undef assert
#define assert(condition)                                                                          \
  ((condition) ? (void)0 : gemel__sim_failed("assert(" #condition ")", __FILE__, __LINE__))
inline void __trap(GEMEL__SIM_WHERE) {
  gemel__sim_failed("__trap()", file, line);
}

#endif
