// SPDX-License-Identifier: Apache-2.0
// The algorithms of oneDNN in builds without the library (MGE_ONEDNN=OFF): each refuses with that reason.

#include "libmge/ops/linalg/matmul_algorithms.h"
#include "libmge/ops/nn/batch_norm/batch_norm_algorithms.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"
#include "libmge/ops/nn/layer_norm_onednn.h"
#include "libmge/ops/nn/pooling/onednn.h"
#include "libmge/ops/quantize/compressed/compressed_blocks-inl.h"
#include "libmge/ops/shape/layout/reorder_onednn.h"

namespace mge::ops {
namespace {

Support is_absent(const Problem&) { return {"this build is without oneDNN"}; }
Algorithm absent() { return {"onednn", is_absent, nullptr, nullptr}; }

}  // namespace

Algorithm compressed_blocks() { return {"blocks", is_absent, nullptr, nullptr}; }
Algorithm onednn_batch_norm() { return absent(); }
Algorithm onednn_batch_norm_plain() { return absent(); }
Algorithm onednn_conv2d() { return absent(); }
Algorithm onednn_conv2d_backward_data() { return absent(); }
Algorithm onednn_conv2d_backward_weight() { return absent(); }
Algorithm onednn_layer_norm() { return absent(); }
Algorithm onednn_matmul() { return absent(); }
Algorithm onednn_reorder() { return absent(); }

Support supports_onednn_pool(const Problem& problem, PoolKind) { return is_absent(problem); }
std::vector<Candidate> onednn_pool_candidates(const Problem&, const PoolGeometry&, PoolKind) { return {}; }
Prepared prepare_onednn_pool(const PrepareContext&, const PoolGeometry&, PoolKind) { return {}; }
void run_onednn_pool(const Prepared&, const Launch&) {}

}  // namespace mge::ops
