// SPDX-License-Identifier: Apache-2.0
#pragma once
// The algorithms of convolutions that have a source of their own.

#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Transposed convolutions with disjoint windows, on images in blocks of channels or channels last.
Algorithm disjoint_windows_conv2d_backward_data();

// A window of each channel's own, with constant weights, on images in blocks of channels
// (kernel/cpu/convolution/depthwise.h).
Algorithm depthwise_conv2d();
// The same for halves: bf16 with channels last, or f16 and bf16 in blocks of 16 channels.
Algorithm depthwise_conv2d_of_halves();
// The same in f32 with windows wider than 14, for short vectors.
Algorithm turned_depthwise_conv2d();
// The gradient of such windows, above 3×3, on plain images.
Algorithm depthwise_conv2d_backward_weight();
// On a GPU: any weights, images that are plain or have their channels last.
Algorithm depthwise_conv2d_on_gpu();

// Windows that step over pixels, or of which few are left, on one image in blocks of channels: what each sees
// is gathered, then they are a product (kernel/cpu/convolution/gathered_windows.h).
Algorithm gathered_conv2d();

// Convolutions of an image of one pixel, as squeeze and excitation has them: a row times a matrix, whatever
// the layout.
Algorithm one_pixel_conv2d();

// 1×1 windows with stride 1 and constant weights, on one image of few pixels in blocks of channels
// (kernel/cpu/convolution/pointwise.h).
Algorithm pointwise_conv2d();

// 1×1 convolutions of f32 by matrix instructions of bf16, as accurate as by f32 (the bound is in
// kernel/cpu/product/split_product.h), with constant weights, on images in blocks of channels.
Algorithm split_conv2d();

// Windows of bf16 images with their channels last, or plain ones of up to four channels, by matrix
// instructions (kernel/cpu/product/bf16_product.h), and the gradients.
Algorithm bf16_conv2d();
Algorithm bf16_conv2d_backward_data();
Algorithm bf16_conv2d_backward_weight();

// Windows of half-precision images in blocks of channels, with constant weights that stay halves in memory
// (kernel/cpu/product/half_product.h).
Algorithm half_conv2d();

// conv2d on half precision, computed in f32 tile by tile, so that images are never widened as a whole.
Algorithm tiled_conv2d();

// 3×3 windows with stride 1 and constant weights by Winograd's F(4×4, 3×3), on images in blocks of channels
// (kernel/cpu/convolution/winograd.h).
Algorithm winograd_conv2d();

// The same with changing weights, and the gradients. Each is listed twice, preferred and after oneDNN's: the
// instruction set determines which of the two applies.
template <bool Preferred>
Algorithm winograd_conv2d_changing();
template <bool Preferred>
Algorithm winograd_conv2d_backward_data();
template <bool Preferred>
Algorithm winograd_conv2d_backward_weight();

// oneDNN's convolutions: every implementation it has for the layouts of the Problem, Winograd included; for
// plain layouts also those for channel blocks, with reorders around them. f32 and, where
// oneDNN has it, bf16.
Algorithm onednn_conv2d();
Algorithm onednn_conv2d_backward_data();
Algorithm onednn_conv2d_backward_weight();

// cuDNN's engines with their knobs: "cudnn:" and the name of a configuration
// (kernel/cuda/cudnn/cudnn_graph.h), or "cudnn_fused:" where it adds the bias and activates too.
Algorithm cudnn_conv2d();
Algorithm cudnn_conv2d_backward_data();
Algorithm cudnn_conv2d_backward_weight();

}  // namespace mge::ops
