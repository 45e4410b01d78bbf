# SPDX-License-Identifier: Apache-2.0
# Builds Lite for Android (preset android) by the NDK's own toolchain file. ANDROID_NDK, ANDROID_NDK_HOME or ANDROID_NDK_ROOT names the
# NDK, as a variable of CMake or of the environment. scripts/android_prefix makes the folder with the headers and libraries that the NDK lacks.
foreach(name ANDROID_NDK ANDROID_NDK_HOME ANDROID_NDK_ROOT)
  foreach(folder "${${name}}" "$ENV{${name}}")
    if(folder AND NOT MGE_ANDROID_NDK)
      set(MGE_ANDROID_NDK "${folder}")
    endif()
  endforeach()
endforeach()
set(ndk_toolchain ${MGE_ANDROID_NDK}/build/cmake/android.toolchain.cmake)
if(NOT MGE_ANDROID_NDK)
  message(FATAL_ERROR "No Android NDK: install one (r27 or newer) with Android Studio's SDK manager, and set ANDROID_NDK to its folder.")
elseif(NOT EXISTS ${ndk_toolchain})
  message(FATAL_ERROR "'${MGE_ANDROID_NDK}' is no Android NDK: it lacks build/cmake/android.toolchain.cmake. Set ANDROID_NDK to the folder of one.")
endif()
# CMake's trial projects read this file again, without the cache.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MGE_ANDROID_NDK ANDROID_ABI ANDROID_PLATFORM)

# Android 11: the first with memfd_create() and renameat2(). Its loader also knows thread-local variables.
set(ANDROID_ABI arm64-v8a CACHE STRING "Android's name of the architecture")
set(ANDROID_PLATFORM android-30 CACHE STRING "The oldest Android that runs the library")
set(ANDROID_STL c++_static CACHE STRING "The C++ library, inside of liblite_shared.so")
include(${ndk_toolchain})

set(MGE_ANDROID_PREFIX ${CMAKE_CURRENT_LIST_DIR}/../../build/android-prefix CACHE PATH "Headers and libraries for Android")
list(APPEND CMAKE_FIND_ROOT_PATH ${MGE_ANDROID_PREFIX})
