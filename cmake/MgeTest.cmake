# SPDX-License-Identifier: Apache-2.0
if(MGE_TESTS AND NOT MGE_FUZZ)
  find_package(GTest REQUIRED)
endif()

# Folders whose tests depend on the instruction set: they run on the best one and on these older ones.
set(MGE_ISA_FOLDERS kernel ops passes)
set(MGE_ISA_TESTED avx2 sse4)
set(MGE_ISA_TESTED_ops_quantize avx_vnni)  # has kernels of its own in this folder alone
if(MGE_NATIVE_KERNELS)
  set(MGE_ISA_TESTED sse4)  # the only older one that such a library has kernels for
  set(MGE_ISA_TESTED_ops_quantize "")
endif()
if(MGE_ARCHITECTURE STREQUAL arm)
  set(MGE_ISA_TESTED neon)
  set(MGE_ISA_TESTED_ops_quantize "")
endif()

# mge_quick_test(TARGET…): compiles tests for MGE_QUICK_BUILD: with the harness's precompiled header, which contains
# GoogleTest and mge.h, and without expensive optimisations. Sources are not joined, because their helpers often have
# equal names.
function(mge_quick_test)
  if(NOT MGE_QUICK_BUILD)
    return()
  endif()
  foreach(target ${ARGN})
    if(NOT target STREQUAL mge_test_harness)
      mge_quick_build(${target} REUSE mge_test_harness)
    endif()
    target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:${MGE_LEAST_OPTIMISED}>")
  endforeach()
endfunction()

# mge_test_sources(OUT pattern…): the sources that match a pattern, without those after EXCEPT. Objects of targets are
# passed on.
function(mge_test_sources out)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "EXCEPT")
  set(patterns ${ARG_UNPARSED_ARGUMENTS})
  set(objects ${ARG_UNPARSED_ARGUMENTS})
  list(FILTER objects INCLUDE REGEX "^[$]<")
  list(REMOVE_ITEM patterns ${objects})
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${patterns})
  if(ARG_EXCEPT)
    file(GLOB excepted RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${ARG_EXCEPT})
    list(REMOVE_ITEM sources ${excepted})
  endif()
  set(${out} ${sources} ${objects} PARENT_SCOPE)
endfunction()

# mge_test(NAME [pattern…] [EXCEPT pattern…]): one test program per folder below tests/, with the folder as CTest label,
# from all of its *_test.cpp or those that match a pattern. A large folder may have several programs, named after their
# part: ops_shape has the label ops, model_crypt the label model. They link the library's objects, so that tests reach
# internals that libmge hides.
function(mge_test name)
  set(target mge_${name}_test)
  string(REGEX REPLACE "^(lite|model|ops|out_of_memory|threads)_.*" "\\1" folder ${name})
  set(patterns ${ARGN})
  if(NOT ARGN MATCHES "[.]cpp")
    string(REGEX REPLACE "^${folder}_" "${folder}/" path ${name})
    list(PREPEND patterns ${path}/*_test.cpp)
  endif()
  mge_test_sources(sources ${patterns})
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE mge_test_harness mge_internal GTest::gmock GTest::gtest_main)
  mge_quick_test(${target})
  add_test(NAME ${name} COMMAND ${target})
  set_tests_properties(${name} PROPERTIES LABELS ${folder} TIMEOUT 600 ENVIRONMENT MGE_MODEL_CACHE=0)
  if(folder IN_LIST MGE_ISA_FOLDERS)
    foreach(isa IN LISTS MGE_ISA_TESTED MGE_ISA_TESTED_${name})
      add_test(NAME ${name}.${isa} COMMAND ${target})
      set_tests_properties(${name}.${isa} PROPERTIES
        LABELS "${folder};isa" TIMEOUT 600 ENVIRONMENT "MGE_ISA=${isa};MGE_MODEL_CACHE=0")
    endforeach()
  endif()
endfunction()

# mge_nightly_test(NAME): the program of mge_test(NAME …) with full counts instead of samples: ctest -C nightly -L
# nightly
function(mge_nightly_test name)
  add_test(NAME ${name}.nightly CONFIGURATIONS nightly COMMAND mge_${name}_test)
  set_tests_properties(${name}.nightly PROPERTIES LABELS nightly TIMEOUT 14400 ENVIRONMENT MGE_NIGHTLY=1)
endfunction()

# mge_tool_test(FOLDER pattern… LIBRARIES target…): tests of the tools, which link libmge as users do.
function(mge_tool_test folder)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "LIBRARIES")
  set(target mge_${folder}_test)
  mge_test_sources(sources ${ARG_UNPARSED_ARGUMENTS})
  add_executable(${target} ${sources})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE ${ARG_LIBRARIES} GTest::gmock GTest::gtest_main)
  add_test(NAME ${folder} COMMAND ${target})
  set_tests_properties(${folder} PROPERTIES LABELS ${folder} TIMEOUT 600 ENVIRONMENT MGE_MODEL_CACHE=0)
endfunction()
