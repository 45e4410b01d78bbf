// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/lite/tensor_view.h"
#include "libmge/tensor/device_id.h"

namespace lite {

struct PlacedView {
    const TensorView& view;
    mge::DeviceId place;
    std::byte* address;  // of the first element
};

// Copies the elements of one view to those of another of the same layout, on whatever device and wherever
// they overlap. They are there when the call returns.
void copy_view(const PlacedView& to, const PlacedView& from);
void fill_view_with_zeros(const PlacedView& to);

}  // namespace lite
