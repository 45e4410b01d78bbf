// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/run/destroy.h"

#include "libmge/base/error.h"
#include "libmge/base/number_text.h"

namespace mge {

void destroy(std::shared_ptr<const Program>& program) {
    if (program.use_count() > 1)
        throw UserError(text("program ", program->id(), " is held in ",
                             counted(program.use_count() - 1, "other place"),
                             " (contexts, executables, pointers) and stays"));
    program.reset();
}

}  // namespace mge
