# SPDX-License-Identifier: Apache-2.0
# Writes into the folder OUTPUT the files all.h (every struct below ROOT/libmge/ops that has an OpInfo, and the headers that
# define them), names.h, which declares these structs, and definitions.cpp, which defines the OpInfo of each.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE headers RELATIVE ${ROOT} ${ROOT}/libmge/ops/*.h)
foreach(header IN LISTS headers)
  # Matches a line that starts a struct, and the line that makes it an operator.
  file(STRINGS ${ROOT}/${header} lines REGEX "^struct [A-Z]|^    (MGE_API )?static const OpInfo info;")
  foreach(line IN LISTS lines)
    if(line MATCHES "^struct ([A-Za-z0-9]+)")
      set(struct ${CMAKE_MATCH_1})
    else()
      list(APPEND operators "    ops::${struct}")
      list(APPEND declarations "struct ${struct}")
      list(APPEND definitions "constinit const OpInfo ${struct}::info = define<${struct}>()")
      list(APPEND kernels "KernelList kernels(Cpu, ${struct})" "KernelList kernels(Cuda, ${struct})")
      list(APPEND includes "#include \"${header}\"")
    endif()
  endforeach()
endforeach()
list(SORT operators)
list(SORT kernels)
list(SORT declarations)
list(SORT definitions)
list(REMOVE_DUPLICATES includes)
list(JOIN operators ",\n" operators)
list(JOIN includes "\n" includes)
list(JOIN kernels ";\n" kernels)
list(JOIN declarations ";\n" declarations)
list(JOIN definitions ";\n" definitions)
file(CONFIGURE OUTPUT ${OUTPUT}/all.h @ONLY CONTENT "// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every operator, sorted by name, from the headers below libmge/ops. Kernel tables, Python, files, documentation and tests
// are derived from this list. cmake/list_operators.cmake writes it.

#include \"libmge/op/backend.h\"
@includes@

namespace mge {

using AllOps = TypeList<
@operators@>;

// Defined by each operator's x.cpu.cpp and x.cuda.cpp. The latter's of elementwise operators are a template
// (ops/elementwise/elementwise.cuda.h).
namespace ops {
@kernels@;
}  // namespace ops

}  // namespace mge
")
file(CONFIGURE OUTPUT ${OUTPUT}/names.h @ONLY CONTENT "// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every operator by its name alone, for device code.

namespace mge::ops {

@declarations@;

}  // namespace mge::ops
")
file(CONFIGURE OUTPUT ${OUTPUT}/definitions.cpp @ONLY CONTENT "// SPDX-License-Identifier: Apache-2.0
#include \"libmge/op/define.h\"
#include \"libmge/ops/all.h\"

namespace mge::ops {

@definitions@;

}  // namespace mge::ops
")
