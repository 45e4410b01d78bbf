// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cpu/library_versions.h"

#include <oneapi/dnnl/dnnl.h>

#include "libmge/base/error.h"
#include "libmge/base/version.h"

namespace mge {

std::string library_versions() {
    const dnnl_version_t* v = dnnl_version();
    if (v->major == 0) return text("mge ", version, ", without oneDNN");
    return text("mge ", version, ", oneDNN ", v->major, '.', v->minor, '.', v->patch);
}

}  // namespace mge
