# SPDX-License-Identifier: Apache-2.0
find_package(GTest)

# mge_test(FOLDER source…): one test program per folder, CTest label == folder. It links the library's objects, so that
# internals can be tested although libmge hides them.
function(mge_test folder)
  set(target mge_${folder}_test)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE mge_internal GTest::gmock GTest::gtest_main)
  add_test(NAME ${folder} COMMAND ${target})
  set_tests_properties(${folder} PROPERTIES LABELS ${folder} TIMEOUT 600)
endfunction()
