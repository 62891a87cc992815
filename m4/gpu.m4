# The GPU. The sim (gpu/sim), which runs kernels on a CPU in tests, brings headers of its own and needs
# a C++17 compiler that has -fsanitize=thread, which is used as a flag to compile kernels with and
# never to link. CUDA's toolkit is optional: with its headers the sim's are compared with them,
# with nvcc the kernels are compiled for GPUs. SPDX-License-Identifier: MIT

AC_DEFUN([GEMEL_GPU], [
  AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=DIR],
      [where CUDA's toolkit is @<:@/usr/local/cuda, /usr, and nowhere for another system than this@:>@;
       --without-cuda: nowhere])],
    [], [with_cuda=maybe])

  # Kernels for the sim, without optimisation where nothing else has any. Clang and gcc know the same flags.
  gemel_have_gpu_sim=no
  AS_CASE([" $CXXFLAGS "], [*" -O0 "*], [gemel_sim_level=-O0], [gemel_sim_level="-O1 -g"])
  GPU_SIM_CXXFLAGS="-std=c++17 $gemel_sim_level -fsanitize=thread -ffp-contract=off"
  AC_LANG_PUSH([C++])
  # Clang's "bounds" has a part that only traps; gcc doesn't know the other part by its name.
  gemel_bounds=
  GEMEL_ADD_FLAG([gemel_bounds], [-fsanitize=array-bounds])
  # gcc loads and stores structures whole, as a GPU does vectors; Clang may take them to pieces.
  GEMEL_ADD_FLAG([GPU_SIM_CXXFLAGS], [-fno-tree-sra])
  # gcc lets a template's static member be one for all libraries of a process.
  GPU_SIM_UNIQUE=
  GEMEL_ADD_FLAG([GPU_SIM_UNIQUE], [-fno-gnu-unique])
  AS_IF([test "x$gemel_bounds" = x], [gemel_bounds=-fsanitize=bounds])
  AS_IF([test "x$enable_sanitizers" = xno],
    [GPU_SIM_CXXFLAGS="$GPU_SIM_CXXFLAGS $gemel_bounds -fsanitize=alignment,shift-exponent,integer-divide-by-zero"])
  gemel_save_cxxflags=$CXXFLAGS
  CXXFLAGS=$GPU_SIM_CXXFLAGS
  AC_MSG_CHECKING([whether kernels can run on the sim])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <link.h>
#include <utility>
static_assert(sizeof(void *) >= 8, "device memory and what is known of it need addresses");
template <auto value> struct holder { static constexpr auto held = value; };
static __thread int shared[4];]], [[return shared[holder<1>::held];]])],
    [gemel_have_gpu_sim=yes])
  CXXFLAGS=$gemel_save_cxxflags
  AC_LANG_POP([C++])
  AS_CASE([$enable_sanitizers], [*thread*], [gemel_have_gpu_sim=no]) # it defines the same functions
  AS_IF([test "$gemel_cv_both_compilers" = no], [gemel_have_gpu_sim=no])
  AC_MSG_RESULT([$gemel_have_gpu_sim])
  GPU_SIM_CXXFLAGS="$GPU_SIM_CXXFLAGS -Wall -Wextra"
  AS_IF([test "x$enable_werror" = xyes], [GPU_SIM_CXXFLAGS="$GPU_SIM_CXXFLAGS -Werror"])

  # The toolkit.
  gemel_have_cuda=no CUDA_CPPFLAGS= CUDA_LIBS= NVCC=
  AS_IF([test "$with_cuda:$gemel_foreign" = maybe:yes || test "$with_cuda:$gemel_cv_both_compilers" = maybe:no],
    [with_cuda=no])
  AS_CASE([$with_cuda], [no], [gemel_places=], [yes|maybe], [gemel_places="/usr/local/cuda /usr"],
    [gemel_places=$with_cuda])
  for gemel_place in $gemel_places; do
    AS_IF([test -z "$CUDA_CPPFLAGS" && test -e "$gemel_place/include/cuda_runtime_api.h" &&
        test -e "$gemel_place/include/cublas_v2.h" && test -e "$gemel_place/include/nvrtc.h"],
      [CUDA_CPPFLAGS="-isystem $gemel_place/include" gemel_have_cuda="headers in $gemel_place/include"
       CUDA_HOME=$gemel_place
       CUDA_LIBS="-lcublas -lnvrtc -lcudart"
       for gemel_folder in lib64 lib lib/$host_cpu-linux-gnu; do
         AS_IF([test -e "$gemel_place/$gemel_folder/libcudart.so"],
           [CUDA_LIBS="-L$gemel_place/$gemel_folder $CUDA_LIBS" gemel_links=maybe; break])
       done
       AS_IF([test -x "$gemel_place/bin/nvcc"],
         [NVCC=$gemel_place/bin/nvcc gemel_have_cuda="$gemel_have_cuda, nvcc"])])
  done
  gemel_save_cppflags=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS"
  AS_IF([test "$gemel_have_cuda" != no], [AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
#include <cuda_runtime_api.h>
#if CUDART_VERSION < 12080
#error older than what gemel calls
#endif]])], [],
    [AC_MSG_NOTICE([the CUDA toolkit in $CUDA_HOME is older than 12.8 and left out])
     gemel_have_cuda=no CUDA_CPPFLAGS= CUDA_LIBS= NVCC=])])
  gemel_save_libs=$LIBS
  LIBS="$CUDA_LIBS $LIBS"
  AS_IF([test "$gemel_have_cuda" != no && test "$gemel_links" = maybe],
    [AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <cuda_runtime_api.h>]], [[int n; return cudaRuntimeGetVersion(&n);]])], [],
      [AC_MSG_NOTICE([the libraries in $CUDA_HOME don't link with what $CC compiles: the CUDA toolkit is left out])
       gemel_have_cuda=no CUDA_CPPFLAGS= CUDA_LIBS= NVCC=])])
  LIBS=$gemel_save_libs
  CPPFLAGS=$gemel_save_cppflags
  # cuDNN, for convolutions, in the toolkit or where the compiler looks.
  AC_ARG_WITH([cudnn],
    [AS_HELP_STRING([--without-cudnn], [convolutions on GPUs by cuBLAS alone])], [], [with_cudnn=maybe])
  gemel_have_cudnn=no CUDNN_CPPFLAGS=
  CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS"
  LIBS="$CUDA_LIBS -lcudnn $LIBS"
  AS_IF([test "$gemel_have_cuda" != no && test "x$with_cudnn" != xno],
    [AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <cudnn.h>
#if CUDNN_VERSION < 90000
#error older than what gemel calls
#endif]], [[cudnnHandle_t handle; return cudnnCreate(&handle);]])],
      [gemel_have_cudnn=yes CUDNN_CPPFLAGS=-DGEMEL__CUDNN=1 CUDA_LIBS="$CUDA_LIBS -lcudnn"
       gemel_have_cuda="$gemel_have_cuda, cuDNN"])])
  # cuSOLVER, for factors of big matrices, of the toolkit.
  AC_ARG_WITH([cusolver],
    [AS_HELP_STRING([--without-cusolver], [big matrices on GPUs are factored by plain kernels])], [],
    [with_cusolver=maybe])
  gemel_have_cusolver=no CUSOLVER_CPPFLAGS=
  LIBS="$CUDA_LIBS -lcusolver $gemel_save_libs"
  AS_IF([test "$gemel_have_cuda" != no && test "x$with_cusolver" != xno],
    [AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <cusolverDn.h>]],
      [[cusolverDnHandle_t handle; return cusolverDnCreate(&handle);]])],
      [gemel_have_cusolver=yes CUSOLVER_CPPFLAGS=-DGEMEL__CUSOLVER=1 CUDA_LIBS="$CUDA_LIBS -lcusolver"
       gemel_have_cuda="$gemel_have_cuda, cuSOLVER"])])
  CPPFLAGS=$gemel_save_cppflags
  LIBS=$gemel_save_libs
  AS_IF([test "x$with_cusolver" = xyes && test "$gemel_have_cusolver" = no],
    [AC_MSG_ERROR([--with-cusolver: cuSOLVER is not beside the CUDA toolkit])])
  AS_IF([test "x$with_cudnn" = xyes && test "$gemel_have_cudnn" = no],
    [AC_MSG_ERROR([--with-cudnn: cuDNN 9 or later is not beside the CUDA toolkit])])
  AS_IF([test "$gemel_have_cuda" = no && test "x$with_cuda" != xmaybe && test "x$with_cuda" != xno],
    [AC_MSG_ERROR([--with-cuda: cuda_runtime_api.h, cublas_v2.h and nvrtc.h of CUDA 12.8 or later, with libraries for $host_cpu, are not in $gemel_places])])
  AS_IF([test "$gemel_have_cuda" = no],
    [AC_MSG_NOTICE([no CUDA toolkit: the GPU's code is built for the sim alone, and tested there])])

  AM_CONDITIONAL([GPU_SIM], [test "$gemel_have_gpu_sim" = yes])
  AM_CONDITIONAL([CUDA_HEADERS], [test "$gemel_have_cuda" != no])
  AM_CONDITIONAL([CUDNN_HEADERS], [test "$gemel_have_cudnn" = yes])
  AM_CONDITIONAL([CUSOLVER_HEADERS], [test "$gemel_have_cusolver" = yes])
  AM_CONDITIONAL([NVCC], [test -n "$NVCC"])
  AM_CONDITIONAL([GPU_CHECK],
    [test -n "$NVCC" && test "$gemel_have_gtest" = yes && test "$gemel_have_verify" = yes])
  AC_SUBST([GPU_SIM_CXXFLAGS])
  AC_SUBST([GPU_SIM_UNIQUE])
  AC_SUBST([CUDA_CPPFLAGS])
  AC_SUBST([CUDA_HOME])
  AC_SUBST([CUDNN_CPPFLAGS])
  AC_SUBST([CUSOLVER_CPPFLAGS])
  AC_SUBST([CUDA_LIBS])
  AC_SUBST([NVCC])])
