// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "libmge/tensor/dtype.h"
#include "libmge/tensor/shape.h"

namespace mge {

// The order of the elements of a tensor in memory: a list of digits from the outermost to the innermost, each
// the part of an axis. Block 0 is what remains of the axis outside its blocks; block b > 0 counts b
// neighbours. So, with axes n c h w:
//   plain row-major (any rank)   no digits at all
//   nhwc                         n h w c
//   nChw16c                      n c h w 16c
//   NHWCD4                       n h c w 4c
// An axis whose size is not a multiple of its blocks is padded with zeros.
class MGE_API Layout {
public:
    struct Digit {
        uint8_t axis = 0, block = 0;
        bool operator==(const Digit&) const = default;
    };

    Layout() = default;
    // Returns the layout of a name: "nchw", "nhwc", "nChw8c", "nChw16c", "NCHW4", "NCHW88", "NHWCD4", …
    // Throws UserError for any other name.
    static Layout named(std::string_view name);
    static Layout of(std::initializer_list<Digit> digits);

    bool is_plain() const { return size_ == 0; }
    int size() const { return size_; }
    Digit operator[](int i) const { return digits_[i]; }
    bool operator==(const Layout&) const = default;

    // Bytes of a tensor of this shape in this layout, including padding.
    size_t bytes(const Shape& shape, DType dtype) const;
    // The shortest text that identifies it: "plain", "nhwc", "nChw16c", otherwise the digits.
    std::string name() const;
    uint64_t hash() const;

private:
    static constexpr int max_digits = 12;
    std::array<Digit, max_digits> digits_{};
    uint8_t size_ = 0;
};

inline std::ostream& operator<<(std::ostream& stream, const Layout& layout) {
    return stream << layout.name();
}

}  // namespace mge
