// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cuda/cudnn.h"

#include "libmge/device/cuda/library.h"

namespace mge::cuda {
namespace {

Cudnn open_cudnn() {
    Library library("libcudnn_graph.so.9", "cudnn");
    Cudnn x;
    library.take(x.create, "cudnnCreate");
    library.take(x.version, "cudnnGetVersion");
    library.take(x.set_stream, "cudnnSetStream");
    library.take(x.error_string, "cudnnGetErrorString");
    library.take(x.last_error, "cudnnGetLastErrorString");
    library.take(x.create_descriptor, "cudnnBackendCreateDescriptor");
    library.take(x.destroy_descriptor, "cudnnBackendDestroyDescriptor");
    library.take(x.set_attribute, "cudnnBackendSetAttribute");
    library.take(x.get_attribute, "cudnnBackendGetAttribute");
    library.take(x.finalize, "cudnnBackendFinalize");
    library.take(x.execute, "cudnnBackendExecute");
    x.why_not = library.why_not();
    return x;
}

}  // namespace

const Cudnn& cudnn() {
    static const Cudnn opened = open_cudnn();
    return opened;
}

}  // namespace mge::cuda
