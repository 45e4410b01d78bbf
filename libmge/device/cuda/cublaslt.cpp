// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cuda/cublaslt.h"

#include "libmge/device/cuda/library.h"

namespace mge::cuda {
namespace {

CublasLt open_cublaslt() {
    Library library("libcublasLt.so.13", "cu13");
    CublasLt x;
    library.take(x.create, "cublasLtCreate");
    library.take(x.version, "cublasLtGetVersion");
    library.take(x.status_name, "cublasLtGetStatusName");
    library.take(x.matmul, "cublasLtMatmul");
    library.take(x.init_desc, "cublasLtMatmulDescInit_internal");
    library.take(x.set_desc, "cublasLtMatmulDescSetAttribute");
    library.take(x.init_layout, "cublasLtMatrixLayoutInit_internal");
    library.take(x.set_layout, "cublasLtMatrixLayoutSetAttribute");
    library.take(x.init_preference, "cublasLtMatmulPreferenceInit_internal");
    library.take(x.set_preference, "cublasLtMatmulPreferenceSetAttribute");
    library.take(x.heuristic, "cublasLtMatmulAlgoGetHeuristic");
    library.take(x.init_algo, "cublasLtMatmulAlgoInit");
    library.take(x.check_algo, "cublasLtMatmulAlgoCheck");
    library.take(x.get_config, "cublasLtMatmulAlgoConfigGetAttribute");
    library.take(x.set_config, "cublasLtMatmulAlgoConfigSetAttribute");
    x.why_not = library.why_not();
    return x;
}

}  // namespace

const CublasLt& cublaslt() {
    static const CublasLt opened = open_cublaslt();
    return opened;
}

}  // namespace mge::cuda
