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
