# SPDX-License-Identifier: Apache-2.0
# The Python interpreter: -DPython_EXECUTABLE, else the virtual environment .venv of this checkout, else (in a git
# worktree) that of the main checkout. CMake's own search may find an interpreter that lacks nanobind.
function(mge_find_environment)
  set(candidates ${PROJECT_SOURCE_DIR}/.venv)
  execute_process(COMMAND git rev-parse --path-format=absolute --git-common-dir WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE git_dir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    list(APPEND candidates ${git_dir}/../.venv)
  endif()
  foreach(environment IN LISTS candidates)
    if(EXISTS ${environment}/bin/python)
      file(REAL_PATH ${environment} environment)
      set(Python_EXECUTABLE ${environment}/bin/python CACHE FILEPATH "Python interpreter that has nanobind")
      return()
    endif()
  endforeach()
endfunction()

if(NOT Python_EXECUTABLE AND NOT SKBUILD)
  mge_find_environment()
endif()
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module NumPy)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${Python_EXECUTABLE} has no nanobind: make .venv (scripts/test does), or pass -DMGE_PYTHON=OFF")
endif()
# A wheel for several versions of Python (wheel.py-api in pyproject.toml) uses the stable ABI. CMake has a component for
# it from 3.26 on, which differs from Development.Module only on Windows.
if(SKBUILD_SABI_VERSION AND NOT TARGET Python::SABIModule)
  add_library(Python::SABIModule INTERFACE IMPORTED)
  target_link_libraries(Python::SABIModule INTERFACE Python::Module)
endif()
find_package(nanobind CONFIG REQUIRED NO_CMAKE_FIND_ROOT_PATH)
