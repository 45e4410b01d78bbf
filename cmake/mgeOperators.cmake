# SPDX-License-Identifier: Apache-2.0
# mge_add_operators(NAME source…): a library of own operators, NAME.so, for load_and_run --c-opr-lib, Python's
# custom_op_tools.load and the C++ function load_operators(). See docs/own-operators.md.
function(mge_add_operators name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LIBRARIES")
  add_library(${name} MODULE ${ARG_SOURCES} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE mge::mge ${ARG_LIBRARIES})
  # A missing kernel is a link error, and names of different libraries do not collide.
  target_link_options(${name} PRIVATE -Wl,--no-undefined)
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()
