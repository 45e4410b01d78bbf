// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cublasLt.h>

#include <string>

namespace mge::cuda {

// cuBLASLt, opened at run time.
struct CublasLt {
    std::string why_not;  // empty: it can be used

    decltype(&cublasLtCreate) create = nullptr;
    decltype(&cublasLtGetVersion) version = nullptr;
    decltype(&cublasLtGetStatusName) status_name = nullptr;
    decltype(&cublasLtMatmul) matmul = nullptr;
    decltype(&cublasLtMatmulDescInit_internal) init_desc = nullptr;
    decltype(&cublasLtMatmulDescSetAttribute) set_desc = nullptr;
    decltype(&cublasLtMatrixLayoutInit_internal) init_layout = nullptr;
    decltype(&cublasLtMatrixLayoutSetAttribute) set_layout = nullptr;
    decltype(&cublasLtMatmulPreferenceInit_internal) init_preference = nullptr;
    decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
    decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
    decltype(&cublasLtMatmulAlgoInit) init_algo = nullptr;
    decltype(&cublasLtMatmulAlgoCheck) check_algo = nullptr;
    decltype(&cublasLtMatmulAlgoConfigGetAttribute) get_config = nullptr;
    decltype(&cublasLtMatmulAlgoConfigSetAttribute) set_config = nullptr;

    // DeviceError that names the call.
    void check(cublasStatus_t status, const char* call) const;
};
const CublasLt& cublaslt();

// Of a device, for all threads; that is the calling thread's device afterwards.
cublasLtHandle_t cublaslt_handle(int device);

}  // namespace mge::cuda
