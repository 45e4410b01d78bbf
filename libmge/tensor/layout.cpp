// SPDX-License-Identifier: Apache-2.0
#include "libmge/tensor/layout.h"

#include <algorithm>

#include "libmge/base/error.h"
#include "libmge/base/hash.h"
#include "libmge/base/numbers/ceil_div.h"

namespace mge {
namespace {

struct Named {
    std::string_view name;
    std::initializer_list<Layout::Digit> digits;
};

// Axes: n 0, c 1, h 2, w 3. MegEngine's names and oneDNN's are both listed; the first of equal ones is
// printed.
const Named known_layouts[] = {
    {"nchw", {}},
    {"nhwc", {{0, 0}, {2, 0}, {3, 0}, {1, 0}}},
    {"nChw16c", {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 16}}},
    {"nChw8c", {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 8}}},
    {"nChw4c", {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 4}}},
    {"NCHW4", {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 4}}},
    {"NCHW44", {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 4}}},
    {"NCHW44_DOT", {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 4}}},
    {"NCHW88", {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 8}}},
    {"NCHW32", {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 32}}},
    {"NCHW64", {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 64}}},
    {"NHWCD4", {{0, 0}, {2, 0}, {1, 0}, {3, 0}, {1, 4}}},
    {"CHWN4", {{1, 0}, {2, 0}, {3, 0}, {0, 0}, {1, 4}}},
};

}  // namespace

Layout Layout::of(std::initializer_list<Digit> digits) {
    MGE_CHECK(digits.size() <= size_t(max_digits));
    Layout layout;
    std::copy(digits.begin(), digits.end(), layout.digits_.begin());
    layout.size_ = uint8_t(digits.size());
    return layout;
}

Layout Layout::named(std::string_view name) {
    for (auto& known : known_layouts)
        if (known.name == name) return of(known.digits);
    throw_value_error("layout", "there is no layout named '", name, "'");
}

size_t Layout::bytes(const Shape& shape, DType dtype) const {
    std::array<int64_t, max_rank> block{};
    std::fill(block.begin(), block.end(), 1);
    for (int i = 0; i < size_; ++i)
        if (digits_[i].block) block[digits_[i].axis] *= digits_[i].block;
    size_t elements = 1;
    for (int i = 0; i < shape.rank(); ++i) elements *= size_t(round_up(shape[i], block[i]));
    return elements * size_of(dtype);
}

std::string Layout::name() const {
    if (is_plain()) return "plain";
    for (auto& known : known_layouts)
        if (*this == of(known.digits)) return std::string(known.name);
    std::string result;
    for (int i = 0; i < size_; ++i)
        result += (digits_[i].block ? std::to_string(digits_[i].block) : "") + char('a' + digits_[i].axis);
    return result;
}

uint64_t Layout::hash() const {
    uint64_t seed = size_;
    for (int i = 0; i < size_; ++i) seed = hash_mix(seed, uint64_t(digits_[i].axis) << 8 | digits_[i].block);
    return seed;
}

}  // namespace mge
