# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=<folder> -DOUTPUT=<file> -P embed.cmake: puts style and script into the page and the page into a C++ source,
# cut where the data goes.
file(READ ${SOURCE}/page.html page)
file(READ ${SOURCE}/page.css css)
file(READ ${SOURCE}/page.js js)
string(REPLACE "@PAGE_CSS@" "${css}" page "${page}")
string(REPLACE "@PAGE_JS@" "${js}" page "${page}")
string(FIND "${page}" "@PAGE_DATA@" cut)
string(SUBSTRING "${page}" 0 ${cut} PAGE_BEFORE_DATA)
string(LENGTH "@PAGE_DATA@" marker)
math(EXPR cut "${cut} + ${marker}")
string(SUBSTRING "${page}" ${cut} -1 PAGE_AFTER_DATA)
configure_file(${SOURCE}/page.cpp.in ${OUTPUT} @ONLY)
