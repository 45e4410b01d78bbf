# SPDX-License-Identifier: Apache-2.0
# The backend for NVIDIA's GPUs: off unless MGE_CUDA is set. Needs the compiler of CUDA 13 or newer.
#
# mge_cuda_library(TARGET [EMULATED]): the objects of the backend. With EMULATED, the host's compiler builds the same
# sources against a runtime that emulates a GPU (tests/cuda/emulated), so that they run on any machine.
set(MGE_CUDA_ARCHITECTURES "80-real;90-real;90-virtual" CACHE STRING "GPUs to compile for, as CMAKE_CUDA_ARCHITECTURES")

option(MGE_CUDA "Build the backend for NVIDIA's GPUs" OFF)
if(MGE_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "MGE_CUDA=ON needs nvcc of CUDA 13 or newer, and there is none on the PATH: scripts/install_cuda installs one.")
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${MGE_CUDA_ARCHITECTURES})
  set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
  enable_language(CUDA)
  # CMake 3.25 does not know that this compiler speaks C++20.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
  list(APPEND CMAKE_CUDA20_COMPILE_FEATURES cuda_std_20)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13)
    message(FATAL_ERROR "mge needs CUDA 13 or newer; ${CMAKE_CUDA_COMPILER} is ${CMAKE_CUDA_COMPILER_VERSION}. -DMGE_CUDA=OFF builds without it.")
  endif()
  find_package(CUDAToolkit REQUIRED)
  if(CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
  endif()
endif()
