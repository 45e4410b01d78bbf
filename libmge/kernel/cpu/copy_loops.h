// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "libmge/kernel/strided_copy.h"

namespace mge::cpu {

// The loops of a StridedCopy on a CPU: computed once, and run repeatedly.
class CopyLoops {
public:
    explicit CopyLoops(const StridedCopy& copy);
    void run(const void* source, void* target, int threads) const;
    // Element by element in the order of the index space as given: the meaning of run().
    void run_naive(const void* source, void* target) const;

private:
    using Axis = StridedCopy::Axis;
    enum class Method : uint8_t { nothing, runs, fill, strided, tiles };

    void prefer_long_axis();
    void choose_method();
    template <class T>
    void run_as(const T* source, T* target, int threads) const;

    StridedCopy copy_;
    std::array<Axis, max_rank> axes_{};  // outermost first
    int rank_ = 0;
    Method method_ = Method::nothing;
};

inline std::vector<CopyLoops> loops_of(std::span<const StridedCopy> copies) {
    return {copies.begin(), copies.end()};
}

}  // namespace mge::cpu
