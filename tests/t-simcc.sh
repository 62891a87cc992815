#!/bin/sh
# A stranger's .cu file on the sim, as gpu/sim/README.md says: the right one runs, of the one with a
# race each seed tells. SPDX-License-Identifier: MIT
set -eu
build=$(dirname "$GEMEL")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "t-simcc: $*" >&2; exit 1; }
GEMEL_SIM_LIBRARY=$build/libgemel-gpu-sim.a
export GEMEL_SIM_LIBRARY
simcc=$GEMEL_SRCDIR/gpu/sim/simcc
example=$GEMEL_SRCDIR/examples/my_kernel.cu

"$simcc" -o "$scratch/right" "$example"
"$simcc" -o "$scratch/race" "$example" -DRACE
line=$(grep -n 'part\[t\] += part\[t + half\]' "$example" | cut -d: -f1)
for seed in 1 2 3 4 5 6 7 8 9 10; do
  GEMEL_SIM_SEED=$seed
  export GEMEL_SIM_SEED
  said=$("$scratch/right" 2>&1) || fail "seed $seed: the right program: $said"
  [ "$said" = "the sum is 499500" ] || fail "seed $seed: the right program said: $said"
  if said=$("$scratch/race" 2>&1); then fail "seed $seed: the race was not noticed"; fi
  case $said in
  *"sim: race: my_kernel.cu:$line: kernel sum: thread "*"dynamic shared memory"*) ;;
  *) fail "seed $seed: the race was reported as: $said" ;;
  esac
done

# Launches in several forms.
cat >"$scratch/forms.cu" <<'END'
#include <cuda_runtime.h>
template <class T> __global__ void fill(T *x, T value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void nothing() {}
int main() {
  cudaStream_t stream;
  double *x, back[8];
  cudaStreamCreate(&stream);
  cudaMalloc((void **)&x, sizeof back);
  nothing<<<1, 1>>>();
  fill<double><<<dim3(2), dim3(4), 0, stream>>>(
      x,
      5); nothing <<<1, 1, 0, stream>>> ();
  return cudaMemcpy(back, x, sizeof back, cudaMemcpyDeviceToHost) != cudaSuccess || back[7] != 5;
}
END
"$simcc" -o "$scratch/forms" "$scratch/forms.cu"
"$scratch/forms" || fail "launches in several forms"

# What only looks like a launch or shared memory is left as it is; launches stand in macros, over
# continued lines and between comments; lines keep their numbers.
cat >"$scratch/texts.cu" <<'END'
#include <cuda_runtime.h>
#include <assert.h>
#include <string.h>
#if 0
don't write nothing<<<1, 1>>>(); or extern __shared__ int s[];
#error isn't seen, fill<<<1, 1>>>(x);
#endif
#ifdef NEVER /* a directive's comment
#define over <<< several lines */
#include "nothing<<<1, 1>>>().h"
#endif
namespace deep {
template <class T, int n = 1> struct kernels {
  static __global__ void fill(T *x, T value) { for (int i = 0; i < n; i++) x[threadIdx.x + i] = value; }
};
} // namespace: deep::kernels<int>::fill<<<1, 1>>>(x, 1);
__global__ void copy_fill(int *x, int value) { x[threadIdx.x] = value; }
/* nothing<<<1, 1>>>(); " extern __shared__ int s[]; */
// continued \
nothing<<<1, 1>>>();
#define LAUNCH(k, size, ...) k<<<(size) > 8 ? 2 : 1, size>>>(__VA_ARGS__)
#define LAUNCH_ON(name, size, ...) \
  do { \
    copy_##name<<<1, size>>>(__VA_ARGS__); \
  } while (0)
#define SHARED(type, name) extern __shared__ type name[]
#define QUOTED "nothing<<<1, 1>>>()"
template <class T> __global__ void through(T *x) {
  extern __shared__ __align__(16) T part[]; SHARED(T, same);
  __shared__ extern T rows[][2];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = same[threadIdx.x] + rows[threadIdx.x / 2][threadIdx.x % 2];
}
struct stream { int bits; };
template <class T> int operator<<(stream s, T by) { return s.bits << by; }
static const char *texts[] = {
    "nothing<<<1, 1>>>();", "a \" nothing<<<1, 1>>>();", R"(nothing<<<1, 1>>>(); " ")", QUOTED,
    u8R"x(" nothing<<<1, 1>>>() )" nothing<<<1, 1>>>(); \
)x", "extern __shared__ int s[];", "/* nothing<<<1, 1>>>(); // ", "con\
tinued nothing<<<1, 1>>>();"};
static_assert(__LINE__ == 42, "lines keep their numbers");
static void launch(int *x, int value) {
  if (value > 5) return ::copy_fill<<<1, 4>>>(x, value); else ::copy_fill<<<1, 1>>>(x, value);
}
static long all(int *x) {
  int back[4];
  cudaError_t error = cudaMemcpy(back, x, sizeof back, cudaMemcpyDeviceToHost);
  assert(error == cudaSuccess);
  return back[0] + 10L * back[1] + 100L * back[2] + 1000L * back[3];
}
int main() {
  int *x, n = 1'000 - 996;
  char quotes[] = {'"', '\'', '\\', '<'};
  cudaMalloc((void **)&x, 16);
  deep::kernels<int>::fill<<<1, dim3{4}>>>(x, 1 /* >>>( */);
  assert(all(x) == 1111);
  deep :: kernels /* < */ <int, (2 > 1)> ::fill // <<<
      <<< /* <<<1, 1>>>( */ {1}, {4} >>> (x, 2);
  assert(all(x) == 2222);
  LAUNCH(deep::kernels<int>::fill, n, x, 3); LAUNCH_ON(fill, 3, x, 4);
  assert(all(x) == 3444);
  (through<int>)<\
<<1, 4, 16>>\
>(x);
  assert(all(x) == 6888);
  ::copy_fill<<<1, 4, 0, nullptr>>>(x, operator<<<int>(stream{1}, 2)); copy_fill<<<1, 1>>>(x, 'c' - 'a');
  assert(all(x) == 4442);
  launch(x, 9);
  launch(x, 5);
  assert(all(x) == 9995);
  assert(strlen(texts[0]) == 20 && strlen(texts[2]) == 24 && strlen(texts[3]) == 19 && strchr(texts[4], '\n'));
  assert(strcmp(texts[5], "extern __shared__ int s[]" ";") == 0 && quotes[3] + 0 == '<' && strlen(texts[7]) == 30);
  static_assert(__LINE__ == 74, "lines keep their numbers");
}
END
"$simcc" -o "$scratch/texts" "$scratch/texts.cu" -UNDEBUG
"$scratch/texts" || fail "texts and macros"
