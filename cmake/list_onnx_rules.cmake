# SPDX-License-Identifier: Apache-2.0
# Writes import/onnx/import_rows.h and export/onnx/export_rows.h into OUTPUT: headers that declare and list all functions that give
# rules for ONNX. They are those without parameters, of one of two types, that sources of the folder ROOT define.
cmake_minimum_required(VERSION 3.25)

function(list_functions namespace type list header)
  file(GLOB_RECURSE sources ${ROOT}/model/import/onnx/*.cpp ${ROOT}/ops/*.onnx.cpp)
  foreach(source IN LISTS sources)
    file(STRINGS ${source} definitions REGEX "^${type} [a-z0-9_]+[(][)] {")
    foreach(definition IN LISTS definitions)
      string(REGEX REPLACE "^[^ ]+ ([a-z0-9_]+).*" "\\1" name "${definition}")
      list(APPEND names ${name})
      string(APPEND declarations "${type} ${name}();\n")
    endforeach()
  endforeach()
  list(JOIN names ",\n    " names)
  file(CONFIGURE OUTPUT ${OUTPUT}/${header} @ONLY CONTENT "// SPDX-License-Identifier: Apache-2.0
#pragma once
// The build wrote this (cmake/list_onnx_rules.cmake).

namespace @namespace@ {

@declarations@
inline constexpr @type@ (*@list@[])() = {
    @names@};

}  // namespace @namespace@
")
endfunction()

list_functions(mge::onnx ImportRows import_rows import/onnx/import_rows.h)
list_functions(mge::to_onnx ExportRows export_rows export/onnx/export_rows.h)
