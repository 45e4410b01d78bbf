# SPDX-License-Identifier: Apache-2.0
# MGE_NATIVE_KERNELS builds sources that are compiled once per instruction set only for the baseline and this machine.
# The library also runs on other machines, with the better set that they support (libmge/device/cpu/isa.cpp).

# mge_native_isa(OUT): the lowest instruction set with this machine's vectors (sse4, avx2 or avx512), or nothing if the
# machine lacks some of the instructions that Highway requires.
function(mge_native_isa out)
  file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
  separate_arguments(flags)
  set(lacks_of_avx2 avx2 fma f16c bmi1 bmi2 abm)
  set(lacks_of_avx512 avx512f avx512bw avx512dq avx512vl avx512cd)
  list(REMOVE_ITEM lacks_of_avx2 ${flags})
  list(REMOVE_ITEM lacks_of_avx512 ${flags})
  if(NOT "avx2" IN_LIST flags)
    set(isa sse4)
  elseif(lacks_of_avx2)
    set(isa "")
  elseif(NOT "avx512f" IN_LIST flags)
    set(isa avx2)
  elseif(lacks_of_avx512)
    set(isa "")
  else()
    set(isa avx512)
  endif()
  set(${out} "${isa}" PARENT_SCOPE)
endfunction()

# mge_kernel_targets(TARGET): restricts a target whose sources Highway compiles per instruction set, and defines the
# available sets for the source in libmge that reports them.
function(mge_kernel_targets target)
  # On Arm all kernels have one kind of vectors.
  if(NOT MGE_ARCHITECTURE STREQUAL x86)
    return()
  endif()
  set(disabled "")
  # Later versions of Highway also compile for Zen 4, Sapphire Rapids and AVX10, whose bits are below this one. Their
  # kernels would be those of AVX-512 again, and are never chosen (kernel/cpu/x86/highway_targets.cpp).
  if(hwy_VERSION VERSION_GREATER 1.0.3)
    list(APPEND disabled "(HWY_AVX3_DL-1)")
  endif()
  if(MGE_NATIVE_KERNELS)
    mge_native_isa(isa)
  endif()
  if(isa)
    set(others_than_sse4 HWY_AVX2 HWY_AVX3)
    set(others_than_avx2 HWY_AVX3)
    set(others_than_avx512 HWY_AVX2)
    list(APPEND disabled ${others_than_${isa}})
    set_source_files_properties(device/cpu/isa.cpp PROPERTIES COMPILE_DEFINITIONS MGE_NATIVE_ISA=${isa} SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if(disabled)
    list(JOIN disabled | disabled)
    target_compile_definitions(${target} PRIVATE "HWY_DISABLED_TARGETS=(${disabled})")
  endif()
endfunction()
