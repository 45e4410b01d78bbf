// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries have nothing to run on here: their families are listed, and refuse.
#include "libmge/device/cuda/library.h"
#include "libmge/ops/linalg/matmul_algorithms.h"
#include "libmge/ops/nn/attention/algorithms.cuda.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"
#include "libmge/ops/quantize/convolution/step_convolution.cuda.h"

namespace mge::cuda {

std::string library_versions() { return {}; }
int cudnn_version() { return 0; }

}  // namespace mge::cuda

namespace mge::ops {
namespace {

Support not_built(const Problem&) { return {"this build has none of NVIDIA's libraries"}; }

}  // namespace

Algorithm cudnn_conv2d() { return {"cudnn", not_built, nullptr, nullptr}; }
Algorithm cudnn_conv2d_backward_data() { return cudnn_conv2d(); }
Algorithm cudnn_conv2d_backward_weight() { return cudnn_conv2d(); }
Algorithm cudnn_attention() { return cudnn_conv2d(); }
Algorithm cudnn_attention_backward() { return cudnn_conv2d(); }
Algorithm cudnn_quantized_conv2d() { return cudnn_conv2d(); }
Algorithm cublaslt_matmul() { return {"cublaslt", not_built, nullptr, nullptr}; }

}  // namespace mge::ops
