# SPDX-License-Identifier: Apache-2.0
# mge_page(OUT NAME FOLDER): the page FOLDER/page/NAME.html with its parts (.js, .css and .html) as a C++ source, whose path OUT holds. The
# source defines `const cli::Page NAME_page` in namespace mge::FOLDER, which FOLDER/page.h declares. A line
# "@part.js@" in the page is replaced by that file of FOLDER/page, or of page/, which the tools share, or by Debian's D3.
find_file(MGE_D3 d3.min.js PATHS /usr/share/javascript/d3 NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
if(NOT MGE_D3)
  message(WARNING "D3 is not installed, so `mge-dump graph --html` will only say so; run `apt install libjs-d3`, or give -DMGE_D3=<d3.min.js of version 3>")
endif()

function(mge_page out name folder)
  set(output ${PROJECT_BINARY_DIR}/generated/apps/${folder}/${name}_page.cpp)
  file(GLOB parts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/page/* ${CMAKE_CURRENT_SOURCE_DIR}/page/*)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DNAMESPACE=${folder} -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR} -DD3=${MGE_D3} -DOUTPUT=${output}
      -P ${script}
    DEPENDS ${script} ${parts} $<$<BOOL:${MGE_D3}>:${MGE_D3}>
    VERBATIM)
  set(${out} ${output} PARENT_SCOPE)
endfunction()
