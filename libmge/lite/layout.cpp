// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/layout.h"

#include <algorithm>
#include <array>

#include "libmge/base/number_text.h"
#include "libmge/base/text.h"

namespace lite {
namespace {

using mge::DType;

struct ElementType {
    LiteDataType type;
    const char* name;
    size_t bytes;
    DType dtype;
};

constexpr ElementType element_types[] = {
    {LITE_FLOAT, "float32", 4, DType::f32},  {LITE_HALF, "float16", 2, DType::f16},
    {LITE_INT, "int32", 4, DType::i32},      {LITE_INT16, "int16", 2, DType::i16},
    {LITE_INT8, "int8", 1, DType::i8},       {LITE_UINT8, "uint8", 1, DType::u8},
    {LITE_UINT, "uint32", 4, DType::u32},    {LITE_UINT16, "uint16", 2, DType::u16},
    {LITE_INT64, "int64", 8, DType::i64},    {LITE_BOOL, "bool", 1, DType::boolean},
    {LITE_DOUBLE, "float64", 8, DType::f64},
};

const ElementType& element_type(LiteDataType type) {
    auto found = std::ranges::find(element_types, type, &ElementType::type);
    if (found == std::end(element_types))
        throw Error(mge::text("there is no data type ", static_cast<int>(type), "; the values are ",
                              int(LITE_FLOAT), " to ", int(LITE_INT64), ", ", int(LITE_BOOL), " and ",
                              int(LITE_DOUBLE)));
    return *found;
}

}  // namespace

std::string name_of(LiteDataType type) { return element_type(type).name; }

DType dtype_of(LiteDataType type) { return element_type(type).dtype; }

LiteDataType data_type_of(DType dtype) {
    auto found = std::ranges::find(element_types, dtype, &ElementType::dtype);
    if (dtype == DType::none || found == std::end(element_types))
        throw Error(mge::text("Lite has no data type for elements of type ", dtype));
    return found->type;
}

mge::TensorSpec spec_of(const Layout& layout) {
    if (layout.ndim > Layout::MAXDIM)
        throw Error(mge::text("a layout has ", mge::counted(layout.ndim, "dimension"), "; there are ",
                              Layout::MAXDIM, " at most"));
    std::array<int64_t, Layout::MAXDIM> extents{};
    std::ranges::copy(std::span(layout.shapes, layout.ndim), extents.begin());
    return {
        dtype_of(layout.data_type), mge::Shape(std::span<const int64_t>(extents.data(), layout.ndim)), {}};
}

Layout layout_of(const mge::TensorSpec& spec) {
    Layout layout{};
    layout.data_type = data_type_of(spec.dtype);
    if (!spec.shape.is_known()) return layout;
    auto extents = spec.shape.dims();
    std::ranges::copy(extents, layout.shapes);
    layout.ndim = extents.size();
    if (extents.empty()) layout.shapes[layout.ndim++] = 1;
    return layout;
}

std::string text_of(const Layout& layout) {
    mge::TextStream stream;
    stream << name_of(layout.data_type) << " {";
    // Callers may have set any number of dimensions, and messages show their value.
    size_t count = std::min(layout.ndim, Layout::MAXDIM);
    for (size_t i = 0; i < count; ++i) stream << (i ? ", " : "") << layout.shapes[i];
    stream << "}";
    return stream.str();
}

size_t Layout::get_elem_size() const { return element_type(data_type).bytes; }

bool Layout::operator==(const Layout& other) const {
    return ndim == other.ndim && data_type == other.data_type &&
           std::equal(shapes, shapes + std::min(ndim, MAXDIM), other.shapes);
}

}  // namespace lite
