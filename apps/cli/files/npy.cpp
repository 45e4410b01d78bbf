// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include "apps/cli/files/array_file.h"
#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
#include "libmge/base/number_text.h"
#include "libmge/device/device.h"

namespace mge::cli {
namespace {

struct ElementType {
    std::string_view code;  // NumPy's code without byte order
    DType dtype;
};
constexpr ElementType element_types[] = {
    {"b1", DType::boolean}, {"u1", DType::u8},  {"i1", DType::i8},  {"u2", DType::u16},
    {"i2", DType::i16},     {"u4", DType::u32}, {"i4", DType::i32}, {"u8", DType::u64},
    {"i8", DType::i64},     {"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64},
};

// Converts big-endian elements to the byte order of this machine.
void reverse_bytes(const Tensor& tensor) {
    auto* element = static_cast<std::byte*>(tensor.data());
    auto size = std::ptrdiff_t(size_of(tensor.dtype()));
    for (int64_t n = tensor.spec().numel(); n > 0; --n, element += size)
        std::reverse(element, element + size);
}

// Converts an array whose first axis is the fastest in memory to row-major order.
Tensor from_columns(const Tensor& columns) {
    const Shape& shape = columns.shape();
    const size_t element = size_of(columns.dtype());
    Tensor rows = empty_tensor(columns.spec(), host_device);
    auto* from = static_cast<const std::byte*>(columns.data());
    auto* to = static_cast<std::byte*>(rows.data());
    std::vector<int64_t> index(size_t(shape.rank()));
    for (int64_t i = 0, n = columns.spec().numel(); i < n; ++i, to += element) {
        int64_t at = 0;
        for (int axis = shape.rank(); axis-- > 0;) at = at * shape[axis] + index[size_t(axis)];
        std::memcpy(to, from + size_t(at) * element, element);
        for (int axis = shape.rank(); axis-- > 0;) {
            if (++index[size_t(axis)] < shape[axis]) break;
            index[size_t(axis)] = 0;
        }
    }
    return rows;
}

class NpyParser {
public:
    NpyParser(std::span<const std::byte> bytes, const std::string& label) : bytes_(bytes), label_(label) {}

    Tensor parse() {
        Description array = describe();
        size_t needed = array.count * size_of(array.type.dtype);
        if (data_.size() != needed)
            fail("shape ", array.shape, " needs ", counted(needed, "byte"), " of data, but there are ",
                 data_.size());
        Tensor result = tensor_from_host({array.type.dtype, array.shape, {}}, data_.data(), host_device);
        if (array.is_big_endian) reverse_bytes(result);
        return array.is_in_columns ? from_columns(result) : result;
    }

    // The size of header and data, from the header.
    size_t size() {
        Description array = describe();
        return (bytes_.size() - data_.size()) + array.count * size_of(array.type.dtype);
    }

private:
    struct Description {
        ElementType type;
        bool is_big_endian, is_in_columns;  // columns: NumPy's Fortran order
        Shape shape;
        size_t count;
    };

    Description describe() {
        read_header();
        std::string_view descr = value_of("'descr'");
        ElementType type = element_type(descr);
        bool is_in_columns = value_of("'fortran_order'").starts_with("True");
        Shape shape = parse_shape(value_of("'shape'"));
        return {type, descr[1] == '>', is_in_columns, shape, size_t(checked_numel(label_, shape))};
    }

    template <class... Args>
    [[noreturn]] void fail(const Args&... what) const {
        throw ModelError(text("'", label_, "' is not a readable .npy array: ", what...));
    }

    void read_header() {
        constexpr size_t fixed = 8;
        if (bytes_.size() < fixed + 4 || std::memcmp(bytes_.data(), "\x93NUMPY", 6) != 0)
            fail("it has no .npy signature");
        auto byte = [&](size_t i) { return size_t(std::to_integer<uint8_t>(bytes_[i])); };
        size_t version = byte(6), field = version == 1 ? 2 : 4;
        if (version < 1 || version > 3) fail("format version ", version);
        size_t length = 0;
        for (size_t i = 0; i < field; ++i) length |= byte(fixed + i) << 8 * i;
        if (length > bytes_.size() - fixed - field) fail("its header is truncated");
        header_ = {reinterpret_cast<const char*>(bytes_.data()) + fixed + field, length};
        data_ = bytes_.subspan(fixed + field + length);
    }

    std::string_view value_of(std::string_view key) const {
        size_t at = header_.find(key);
        if (at == std::string_view::npos) fail("its header has no ", key);
        at = header_.find(':', at);
        if (at == std::string_view::npos) fail("its header is damaged");
        at = header_.find_first_not_of(' ', at + 1);
        return at == std::string_view::npos ? std::string_view() : header_.substr(at);
    }

    ElementType element_type(std::string_view descr) const {
        std::string_view code = descr.substr(0, descr.find(',')).substr(0, 8);
        if (code.size() >= 4 && std::string_view("<>=|").find(code[1]) != std::string_view::npos)
            for (auto& type : element_types)
                if (code.substr(2, 2) == type.code && code.size() >= 5 && code[4] == '\'') return type;
        fail("elements of type ", code, " are not supported (bool, int8 to uint64, float16 to float64 are)");
    }

    Shape parse_shape(std::string_view tuple) const {
        if (tuple.empty() || tuple[0] != '(') fail("its shape is damaged");
        size_t close = tuple.find(')');
        if (close == std::string_view::npos) fail("its shape is damaged");
        Shape shape;
        for (const char *at = tuple.data() + 1, *end = tuple.data() + close; at < end;) {
            if (*at == ' ' || *at == ',') {
                ++at;
                continue;
            }
            int64_t extent = 0;
            auto [next, error] = std::from_chars(at, end, extent);
            if (error != std::errc() || extent < 0) fail("its shape is damaged");
            if (shape.rank() == max_rank) fail("its rank is above ", max_rank);
            shape.push_back(extent);
            at = next;
        }
        return shape;
    }

    std::span<const std::byte> bytes_, data_;
    const std::string& label_;
    std::string_view header_;
};

template <class Fn>
auto with_model_errors(const std::string& label, const Fn& read) {
    try {
        return read();
    } catch (const ModelError&) {
        throw;
    } catch (const UserError& e) {  // a shape that is too large
        throw ModelError(text("'", label, "' is not a readable .npy array: ", e.what()));
    }
}

}  // namespace

Tensor parse_npy(std::span<const std::byte> bytes, const std::string& label) {
    return with_model_errors(label, [&] { return NpyParser(bytes, label).parse(); });
}

size_t npy_size(std::span<const std::byte> start, const std::string& label) {
    return with_model_errors(label, [&] { return NpyParser(start, label).size(); });
}

std::string_view numpy_code(DType dtype) {
    auto found = std::ranges::find(element_types, dtype, &ElementType::dtype);
    return found == std::end(element_types) ? "" : found->code;
}

Tensor read_npy(const std::string& path) { return parse_npy(MappedFile::open(path)->bytes(), path); }

}  // namespace mge::cli
