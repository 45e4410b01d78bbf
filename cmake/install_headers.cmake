# SPDX-License-Identifier: Apache-2.0
# Installs libmge/mge.h, libmge/own_operators.h and every header of the project that they include, directly or
# indirectly. Parameters: MGE_SOURCE_ROOT and MGE_GENERATED_ROOT, the search path of headers, and
# MGE_HEADER_DESTINATION.
cmake_minimum_required(VERSION 3.25)

# Directories of the source tree come first; generated headers are in the build tree.
function(find_header header result)
  foreach(root ${MGE_SOURCE_ROOT} ${MGE_GENERATED_ROOT})
    if(EXISTS "${root}/${header}")
      set(${result} "${root}/${header}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${header} is included by a public header but does not exist")
endfunction()

set(waiting libmge/mge.h libmge/own_operators.h)
set(installed)
while(waiting)
  list(POP_FRONT waiting header)
  if(header IN_LIST installed)
    continue()
  endif()
  list(APPEND installed ${header})
  find_header(${header} path)
  get_filename_component(folder "${header}" DIRECTORY)
  file(INSTALL DESTINATION "${MGE_HEADER_DESTINATION}/${folder}" TYPE FILE FILES "${path}")
  file(STRINGS "${path}" lines REGEX "^#include \"libmge/")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*$" "\\1" included "${line}")
    list(APPEND waiting "${included}")
  endforeach()
endwhile()
