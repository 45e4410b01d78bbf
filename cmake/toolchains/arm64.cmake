# SPDX-License-Identifier: Apache-2.0
# Builds for 64-bit Arm on another machine: Debian's cross compiler, against a sysroot of Debian's packages for arm64, which
# scripts/arm64 makes. Programs of the build that run meanwhile, and tests, run in qemu-user; QEMU_CPU names their processor.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

get_filename_component(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../../build/arm64-sysroot ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# pkg-config would find the libraries of the build's machine.
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;${CMAKE_SYSROOT})

# The interpreter of the build reports its own headers, and its own suffix of extensions. nanobind prefers scikit-build's variable.
set(Python_INCLUDE_DIR ${CMAKE_SYSROOT}/usr/include/python3.11)
set(Python_NumPy_INCLUDE_DIR ${CMAKE_SYSROOT}/usr/local/lib/python3.11/dist-packages/numpy/_core/include)
set(SKBUILD_SOABI cpython-311-aarch64-linux-gnu)
set(MGE_TARGET_PYTHON ${CMAKE_CROSSCOMPILING_EMULATOR} ${CMAKE_SYSROOT}/usr/bin/python3.11)
