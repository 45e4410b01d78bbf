// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>

#include "libmge/base/api.h"

namespace mge {

// Refers to a loop's body, a callable of any type that lives until the loop ends. The compiler makes its code
// once, though the loops below call it at several places.
template <class... Indices>
class LoopBody {
public:
    template <class Fn>
    LoopBody(Fn&& fn)
        : body_(const_cast<void*>(static_cast<const void*>(std::addressof(fn)))),
          call_([](void* body, Indices... indices) {
              (*static_cast<std::remove_reference_t<Fn>*>(body))(indices...);
          }) {}
    void operator()(Indices... indices) const { call_(body_, indices...); }

private:
    void* body_;
    void (*call_)(void* body, Indices... indices);
};
using RangeBody = LoopBody<int64_t, int64_t>;      // begin, end
using PartBody = LoopBody<int, int64_t, int64_t>;  // part, begin, end

// Divides [0, n) into one contiguous part per thread and calls fn(begin, end) for each, on this thread and
// its team; exceptions are rethrown when all are done. Fewer than two parts of `grain` elements run inline,
// because entering a parallel region costs about half a microsecond.
MGE_API void par_for(int threads, int64_t n, int64_t grain, const RangeBody& fn);

// par_for with the index of the part: calls fn(part, begin, end), with parts numbered from 0 to threads - 1.
MGE_API void in_parts(int threads, int64_t n, int64_t grain, const PartBody& fn);

// Work per thread that is worth a parallel region, in elements of about one nanosecond each.
inline constexpr int64_t parallel_grain = 8192;

}  // namespace mge
