// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cublasLt.h>

#include <string>

namespace mge::cuda {

// The functions of cuBLASLt, loaded at run time.
struct CublasLt {
    std::string why_not;  // empty if the library is usable

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

    // Throws DeviceError that names the call unless the status is success.
    void check(cublasStatus_t status, const char* call) const;
};
const CublasLt& cublaslt();

// Returns the handle of a device, which all threads share. Makes the device current for the calling thread.
cublasLtHandle_t cublaslt_handle(int device);

}  // namespace mge::cuda
