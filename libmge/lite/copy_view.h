// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/lite/tensor_view.h"
#include "libmge/tensor/device_id.h"

namespace lite {

struct PlacedView {
    const TensorView& view;
    mge::DeviceId place;
    std::byte* address;  // address of the first element
};

// Copies the elements of one view to another of the same layout, on any devices, with any overlap. The copy
// is complete when the call returns.
void copy_view(const PlacedView& to, const PlacedView& from);
void fill_view_with_zeros(const PlacedView& to);

}  // namespace lite
