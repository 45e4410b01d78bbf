# SPDX-License-Identifier: Apache-2.0
# cmake -DNAME=… -DNAMESPACE=… -DSOURCE=<apps> -DD3=<file> -DOUTPUT=<file> -P embed_page.cmake: puts the parts into the
# page and the page into a C++ source, cut where the data goes.
cmake_minimum_required(VERSION 3.25)
file(READ ${SOURCE}/${NAMESPACE}/page/${NAME}.html page)
string(REGEX MATCHALL "@[a-z0-9_.]+\\.(js|css|html)@" marks "${page}")
foreach(mark IN LISTS marks)
  string(REPLACE "@" "" part "${mark}")
  set(file ${SOURCE}/${NAMESPACE}/page/${part})
  if(part STREQUAL "d3.js")
    if(NOT D3)
      continue()
    endif()
    set(file ${D3})
  elseif(NOT EXISTS ${file})
    set(file ${SOURCE}/page/${part})
  endif()
  file(READ ${file} content)
  # A first line with the licence is for readers of the sources.
  string(REGEX REPLACE "^(//|/\\*) SPDX-License-Identifier: Apache-2.0( \\*/)?\n" "" content "${content}")
  string(REPLACE "${mark}" "${content}" page "${page}")
endforeach()
if("@d3.js@" IN_LIST marks AND NOT D3)
  set(page "@DATA@")  # a page without its library: empty
endif()
string(FIND "${page}" "@DATA@" cut)
string(SUBSTRING "${page}" 0 ${cut} before)
math(EXPR cut "${cut} + 6")
string(SUBSTRING "${page}" ${cut} -1 after)

file(WRITE ${OUTPUT}.new "// SPDX-License-Identifier: Apache-2.0
#include \"apps/${NAMESPACE}/page.h\"

namespace mge::${NAMESPACE} {

const cli::Page ${NAME}_page{R\"page(${before})page\",
               R\"page(${after})page\"};

}  // namespace mge::${NAMESPACE}
")
file(RENAME ${OUTPUT}.new ${OUTPUT})
