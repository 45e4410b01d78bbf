// SPDX-License-Identifier: Apache-2.0
// Prints the likeliest classes of a picture.
//
//     classify MODEL IMAGE.ppm
//
// The model has one input of float32 images (N, C, H, W) and one output of scores.
#include <lite/network.h>

#include <algorithm>
#include <iostream>
#include <numeric>
#include <vector>

#include "image.h"

namespace {

// The picture in the network's size, from 0 to 1.
void fill(lite::Tensor& input, const Image& image) {
    lite::Layout layout = input.get_layout();
    if (layout.ndim != 4 || layout.data_type != LITE_FLOAT)
        throw std::runtime_error("the model does not take images of float32");
    size_t channels = layout.shapes[1], height = layout.shapes[2], width = layout.shapes[3];
    // One picture, regardless of the batch size of the model.
    layout.shapes[0] = 1;
    input.set_layout(layout);
    auto* out = static_cast<float*>(input.get_memory_ptr());
    for (size_t c = 0; c < channels; ++c)
        for (size_t y = 0; y < height; ++y)
            for (size_t x = 0; x < width; ++x) *out++ = image.at(c % 3, y, x, height, width) / 255;
}

void show(const lite::Tensor& output) {
    auto* scores = static_cast<const float*>(output.get_memory_ptr());
    std::vector<size_t> order(output.get_tensor_total_size_in_byte() / sizeof(float));
    std::iota(order.begin(), order.end(), 0);
    size_t count = std::min<size_t>(5, order.size());
    std::partial_sort(order.begin(), order.begin() + long(count), order.end(),
                      [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    for (size_t i = 0; i < count; ++i) std::cout << "class " << order[i] << ": " << scores[order[i]] << '\n';
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 3) {
        std::cerr << "usage: classify MODEL IMAGE.ppm\n";
        return 2;
    }
    lite::Network network;
    network.load_model(argv[1]);
    fill(*network.get_input_tensor(0), read_ppm(argv[2]));
    network.forward();
    network.wait();
    show(*network.get_output_tensor(0));
    return 0;
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
