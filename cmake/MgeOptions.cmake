# SPDX-License-Identifier: Apache-2.0
# Flags that every target of the project shares, as one interface target: mge::flags.
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
include(GNUInstallDirs)
if(SKBUILD)
  # A wheel is an installed tree below megengine/. Its manual pages and completions belong into share/ of the environment.
  set(CMAKE_INSTALL_DATADIR ${SKBUILD_DATA_DIR}/share)
  set(CMAKE_INSTALL_MANDIR ${SKBUILD_DATA_DIR}/share/man)
endif()
# Programs find the library beside them, wherever the prefix or the build folder is moved. They are built with the
# install path: a path that CMake changes later ends in a colon, and the empty entry means the current folder.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" "$ORIGIN/../lib")
list(REMOVE_DUPLICATES CMAKE_INSTALL_RPATH)
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# The folder of kernel/cpu/ with the sources that only this architecture has.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(MGE_ARCHITECTURE x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(MGE_ARCHITECTURE arm)
else()
  message(FATAL_ERROR "mge is for x86-64 and 64-bit Arm, and not for ${CMAKE_SYSTEM_PROCESSOR}.")
endif()

# Every change is built by GCC 12 without a warning. Newer compilers warn of more, which must not end a user's build.
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
   OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 15))
  set(CMAKE_COMPILE_WARNING_AS_ERROR OFF)
endif()

add_library(mge_flags INTERFACE)
add_library(mge::flags ALIAS mge_flags)
target_compile_features(mge_flags INTERFACE cxx_std_20)
# The baseline is x86-64 with SSE4.2, or Armv8.0 with NEON; faster instruction sets are chosen at run time. Highway's SSE4
# target needs -maes -mpclmul. Plain C++ is not contracted to FMA, so that reference kernels are exact.
# GCC 12 reports uninitialised values in its own AVX-512 header and in <regex> (bugs 105593 and 105562). At -O3 it also
# reports overlaps and overruns that do not exist (bugs 105651 and 107852); those warnings stay on in the other builds.
if(MGE_ARCHITECTURE STREQUAL x86)
  set(baseline -march=x86-64-v2 -maes -mpclmul)
else()
  set(baseline -march=armv8-a)
endif()
target_compile_options(mge_flags INTERFACE
  ${baseline} -ffp-contract=off
  -Wall -Wextra -Wno-missing-field-initializers -Wno-unknown-pragmas
  "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>"
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>")
# Errors name files by their path in the repository, so that a build in another folder gives the same bytes.
# ccache gives compilers relative paths.
file(RELATIVE_PATH source_from_build ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
target_compile_options(mge_flags INTERFACE
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -fmacro-prefix-map=${source_from_build}=)
# GCC collects garbage whenever 128 MiB have doubled. Sources here need up to 460 MiB, which costs 8 % of compile time.
target_compile_options(mge_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=524288>)
# GCC's <cmath> includes this header with Bessel functions and the like, and instantiates them in each source: 0.06 s.
target_compile_definitions(mge_flags INTERFACE _GLIBCXX_BITS_SPECFUN_H)
if(MGE_SANITIZE)
  target_compile_options(mge_flags INTERFACE -fsanitize=${MGE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(mge_flags INTERFACE -fsanitize=${MGE_SANITIZE})
endif()

# mge_sources(OUT FOLDER [EXCEPT source…]): the C++ sources in a folder and below, sorted. CMake notices new ones by itself.
function(mge_sources out folder)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" "EXCEPT")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${folder}/*.cpp)
  list(REMOVE_ITEM sources ${ARG_EXCEPT})
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# Flags of MGE_QUICK_BUILD for code whose speed does not matter. GCC's -Og compiles faster than -O1.
set(MGE_LEAST_OPTIMISED $<IF:$<CXX_COMPILER_ID:GNU>,-Og,-O1>)

# mge_quick_build(TARGET [HEADER...] [REUSE OTHER]): precompiles the standard headers that most sources include, and the
# given ones, once per target or for several targets with equal flags. That saves 0.8 s of the 2.4 s per source of the
# library. Sources still include what they use, which the other builds verify.
function(mge_quick_build target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "REUSE" "")
  if(NOT MGE_QUICK_BUILD)
    return()
  endif()
  if(ARG_REUSE)
    target_precompile_headers(${target} REUSE_FROM ${ARG_REUSE})
  else()
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory> <mutex> <optional> <set>
      <span> <sstream> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector> ${ARG_UNPARSED_ARGUMENTS})
  endif()
endfunction()

# mge_quick_join(TARGET FOLDER...): compiles sources of a folder in groups of sixteen if headers dominate their compile
# time: eight of ONNX's take 12 s together, and 32 s separately. Internal names of such sources must be unique in the
# folder.
function(mge_quick_join target)
  if(NOT MGE_QUICK_BUILD)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(folder ${ARGN})
    set(joined ${sources})
    list(FILTER joined INCLUDE REGEX "^${folder}/[a-z0-9_]+[.]cpp$")
    string(MAKE_C_IDENTIFIER ${folder} name)
    set(count 0)
    foreach(source ${joined})
      math(EXPR group "${count} / 16")
      math(EXPR count "${count} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${group})
    endforeach()
  endforeach()
endfunction()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER sh ${PROJECT_SOURCE_DIR}/cmake/launch_ccache ${PROJECT_SOURCE_DIR} ${CCACHE})
endif()
