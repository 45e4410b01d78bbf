// SPDX-License-Identifier: Apache-2.0
#pragma once
// A picture in the simplest format there is (binary PPM), for the examples.
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Image {
    size_t height = 0, width = 0;
    std::vector<uint8_t> pixels;  // red, green, blue; row by row

    // The value of one channel at the nearest position of an image of another size.
    float at(size_t channel, size_t y, size_t x, size_t to_height, size_t to_width) const {
        size_t row = y * height / to_height, column = x * width / to_width;
        return float(pixels[(row * width + column) * 3 + channel]);
    }
};

inline Image read_ppm(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string format;
    size_t largest = 0;
    Image image;
    file >> format >> image.width >> image.height >> largest;
    file.get();
    constexpr size_t most = 1 << 14;
    if (!file || format != "P6" || largest != 255 || image.width > most || image.height > most)
        throw std::runtime_error(path + " is no binary PPM file");
    image.pixels.resize(image.height * image.width * 3);
    file.read(reinterpret_cast<char*>(image.pixels.data()), std::streamsize(image.pixels.size()));
    if (!file || image.pixels.empty()) throw std::runtime_error(path + " is cut off");
    return image;
}
