// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libmge/tensor/tensor.h"

namespace mge::cli {

// The channels to return: those of the file (1 or 3; an alpha channel is dropped), or a conversion. Colours
// are in the order red, green, blue; grey is 0.299 R + 0.587 G + 0.114 B.
enum class Channels { as_stored, grey, color };

// True for the extensions .png, .jpg, .jpeg, .ppm and .pgm.
bool is_image_name(const std::string& path);

// Decodes a PNG, JPEG, or binary PPM or PGM file, recognised by content, to uint8 (1, height, width,
// channels). Throws UserError if it cannot be read, ModelError if it is damaged or has another format.
Tensor read_image(const std::string& path, Channels channels = Channels::as_stored);
Tensor decode_image(std::span<const std::byte> bytes, const std::string& label,
                    Channels channels = Channels::as_stored);

// Encodes a uint8 image (1, height, width, 1 or 3).
std::vector<uint8_t> encode_png(const Tensor& image);

// Swaps red and blue, which gives OpenCV's order. Grey images are unchanged.
Tensor swap_red_and_blue(const Tensor& image);

}  // namespace mge::cli
