// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "libmge/tensor/tensor.h"

namespace mge::cli {

// What an image is read as: with the channels it has (1 or 3, an alpha channel is dropped), or converted.
// Colours come as red, green, blue; grey is made of them as 0.299 R + 0.587 G + 0.114 B.
enum class Channels { as_stored, grey, color };

// True for the endings that people give image files: .png, .jpg, .jpeg, .ppm, .pgm.
bool is_image_name(const std::string& path);

// A PNG, JPEG, or binary PPM or PGM file, told apart by content, as uint8 (1, height, width, channels).
// UserError when it cannot be read, ModelError when it is damaged or none of these.
Tensor read_image(const std::string& path, Channels channels = Channels::as_stored);
Tensor decode_image(std::span<const std::byte> bytes, const std::string& label,
                    Channels channels = Channels::as_stored);

// Red and blue exchanged, as OpenCV orders them; grey images stay.
Tensor swap_red_and_blue(const Tensor& image);

}  // namespace mge::cli
