// SPDX-License-Identifier: Apache-2.0
#pragma once
// Images whose channels are selected channels of other images, all in blocks of channels, (items, channels /
// block, pixels, block). A vector of neighbouring channels is assembled from the source vectors by permuting
// lanes in registers: for channels in ascending order these are two or three.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace mge::cpu {

// An image's contribution to a vector of y.
struct TakenLanes {
    static constexpr size_t most = 8;

    size_t image;
    int64_t vector;  // index of a vector of its channels
    std::array<int32_t, most>
        from{};  // by lane of y: which of the vector's it is; -1: it comes from another one
};

// A channel taken from an image.
struct TakenChannel {
    size_t image;
    int64_t channel;
};

class TakenChannels {
public:
    // `blocks`: by image, how many there are. A block is 8 or 16 channels.
    TakenChannels(std::span<const TakenChannel> channels, std::vector<int64_t> blocks, int64_t block,
                  int64_t items, int64_t pixels);

    // Pixels of y, which are independent work; bytes of each.
    int64_t pixels() const;
    int64_t bytes_of_pixel() const;
    // Pixels [first, last).
    void run(std::span<const void* const> images, float* y, int64_t first, int64_t last) const;

private:
    int64_t vectors() const { return int64_t(first_.size()) - 1; }

    std::vector<TakenLanes> lanes_;
    std::vector<size_t> first_{0};  // by vector of y: where its lanes begin in lanes_; last: their end
    std::vector<int64_t> blocks_;
    int64_t block_, vector_, items_, pixels_;
};

// Pixels of a vector of y, and of those that it is put together from.
struct TakenPixels {
    std::span<const TakenLanes> lanes;
    std::array<const float*, TakenLanes::most> x;  // by element of `lanes`
    float* y;
    int64_t count, step;  // from pixel to pixel
};

// Functions compiled once per instruction set.
struct TakenChannelsFunctions {
    int64_t vector;
    void (*put_together)(const TakenPixels&);
};

}  // namespace mge::cpu
