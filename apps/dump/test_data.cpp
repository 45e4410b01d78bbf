// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/test_data.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <sstream>

#include "apps/cli/files/array_file.h"
#include "apps/cli/files/image_file.h"
#include "apps/cli/files/text_file.h"
#include "apps/cli/options/named_values.h"
#include "apps/cli/output/fit_numbers.h"
#include "apps/cli/output/table.h"
#include "apps/dump/input_transform.h"
#include "libmge/base/files/file.h"
#include "libmge/base/joined.h"
#include "libmge/base/log.h"
#include "libmge/base/number_text.h"
#include "libmge/device/device.h"

namespace mge::dump {
namespace {

template <class... Args>
[[noreturn]] void fail(const Args&... what) {
    throw_value_error("--data", what...);
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= text.size();) {
        size_t end = std::min(text.find(separator, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

std::string trimmed(const std::string& line) {
    size_t begin = line.find_first_not_of(" \t\r");
    return begin == line.npos ? "" : line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

bool is_random(const std::string& part) { return part.starts_with("#rand(") && part.ends_with(")"); }

double number(const std::string& word, const std::string& part) {
    std::string digits = trimmed(word);
    double value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
        fail("'", part, "': '", digits, "' is not a number; expected #rand(min,max,extents...)");
    return value;
}

// Returns the extents after min and max; "..." expands to the remaining extents of the input.
Shape random_shape(const std::vector<std::string>& words, const std::string& part, const Shape& wanted) {
    if (words.size() == 2) return wanted;
    Shape shape;
    for (size_t i = 2; i < words.size(); ++i) {
        if (trimmed(words[i]) == "...") {
            if (i + 1 != words.size()) fail("'", part, "': ... must be the last dimension");
            for (int axis = int(i) - 2; axis < wanted.rank(); ++axis) shape.push_back(wanted[axis]);
            break;
        }
        double extent = number(words[i], part);
        if (extent < 0 || extent != std::floor(extent) || extent > 1e15)
            fail("'", part, "': ", extent, " is not a dimension");
        shape.push_back(int64_t(extent));
    }
    if (shape.rank() != wanted.rank())
        fail("'", part, "' has rank ", shape.rank(), ", but the input has the shape ", wanted);
    for (int axis = 1; axis < shape.rank(); ++axis)
        if (shape[axis] != wanted[axis])
            log_warning(
                text("--data: '", part, "' differs from the input's shape ", wanted, " in axis ", axis));
    return shape;
}

Tensor random_values(const std::string& part, const Value& input, uint64_t seed) {
    constexpr size_t head = std::string_view("#rand(").size();
    auto words = split(part.substr(head, part.size() - head - 1), ',');
    if (words.size() < 2) fail("'", part, "': expected #rand(min,max,extents...)");
    double low = number(words[0], part), high = number(words[1], part);
    if (!(low <= high)) fail("'", part, "': ", low, " is above ", high);
    TensorSpec spec{input.spec.dtype, random_shape(words, part, input.spec.shape), {}};
    checked_numel("--data", spec.shape);
    return cli::random_tensor(spec, low, high, seed, "--data");
}

// The axes of images in an input: (batch,) C, H, W or (batch,) H, W, C.
struct ImageLayout {
    bool has_batch, channels_first;
    int64_t channels, height, width;
};
ImageLayout image_layout(const Value& input) {
    const Shape& shape = input.spec.shape;
    auto is_channels = [](int64_t extent) { return extent == 1 || extent == 3; };
    if (shape.rank() == 3 || shape.rank() == 4) {
        int first = shape.rank() - 3;
        if (is_channels(shape[first]))
            return {first == 1, true, shape[first], shape[first + 1], shape[first + 2]};
        if (is_channels(shape[first + 2]))
            return {first == 1, false, shape[first + 2], shape[first], shape[first + 1]};
    }
    fail("an image cannot be the input '", input.name, "' of shape ", shape,
         "; the input must have 1 or 3 channels, before or after height and width");
}

// Bilinear with pixel centres at half-integers, like OpenCV.
Tensor resized(const Tensor& image, int64_t height, int64_t width) {
    int64_t from_height = image.shape()[1], from_width = image.shape()[2], channels = image.shape()[3];
    if (from_height == height && from_width == width) return image;
    Tensor result = empty_tensor({DType::u8, {1, height, width, channels}, {}}, host_device);
    auto source = [](int64_t i, int64_t to, int64_t from, int64_t& low, int64_t& high) {
        double at = (double(i) + 0.5) * double(from) / double(to) - 0.5;
        at = std::clamp(at, 0.0, double(from - 1));
        low = int64_t(at);
        high = std::min(low + 1, from - 1);
        return at - double(low);
    };
    const auto* in = image.data<uint8_t>();
    auto* out = result.data<uint8_t>();
    for (int64_t y = 0; y < height; ++y) {
        int64_t y0, y1, x0, x1;
        double fy = source(y, height, from_height, y0, y1);
        for (int64_t x = 0; x < width; ++x) {
            double fx = source(x, width, from_width, x0, x1);
            for (int64_t c = 0; c < channels; ++c) {
                auto pixel = [&](int64_t py, int64_t px) {
                    return double(in[(py * from_width + px) * channels + c]);
                };
                double top = pixel(y0, x0) * (1 - fx) + pixel(y0, x1) * fx;
                double bottom = pixel(y1, x0) * (1 - fx) + pixel(y1, x1) * fx;
                *out++ = uint8_t(std::lround(top * (1 - fy) + bottom * fy));
            }
        }
    }
    return result;
}

// Converts (1, H, W, C) to the layout of the input.
Tensor arranged(const Tensor& image, const ImageLayout& layout) {
    int64_t height = image.shape()[1], width = image.shape()[2], channels = image.shape()[3];
    Shape shape = layout.channels_first ? Shape{1, channels, height, width} : image.shape();
    Tensor result = image;
    if (layout.channels_first) {
        result = empty_tensor({DType::u8, shape, {}}, host_device);
        const auto* in = image.data<uint8_t>();
        auto* out = result.data<uint8_t>();
        for (int64_t c = 0; c < channels; ++c)
            for (int64_t i = 0; i < height * width; ++i) *out++ = in[i * channels + c];
    }
    if (layout.has_batch) return result;
    shape.erase(0);
    return result.with_shape(shape);
}

Tensor read_image_for(const std::string& path, std::span<const std::byte> bytes, const Value& input,
                      bool resize) {
    ImageLayout layout = image_layout(input);
    auto channels = layout.channels == 1 ? cli::Channels::grey : cli::Channels::color;
    Tensor image = cli::swap_red_and_blue(cli::decode_image(bytes, path, channels));
    if (resize) image = resized(image, layout.height, layout.width);
    return arranged(image, layout);
}

Tensor repeated(const Tensor& tensor, int64_t times) {
    if (times == 1) return tensor;
    if (tensor.shape().rank() == 0) fail("--repeat needs an input with a first axis");
    TensorSpec spec = tensor.spec();
    Shape shape = spec.shape;
    shape.push_back(times);
    checked_numel("--repeat", shape);
    spec.shape[0] *= times;
    Tensor result = empty_tensor(spec, host_device);
    size_t bytes = tensor.spec().bytes();
    for (int64_t i = 0; i < times && bytes; ++i)
        std::memcpy(static_cast<char*>(result.data()) + size_t(i) * bytes, tensor.data(), bytes);
    return result;
}

Tensor read_part(const std::string& part, const Value& input, const TestDataOptions& options, uint64_t seed) {
    if (is_random(part)) {
        if (options.resize) fail("--resize-input works on images, but '", part, "' is not one");
        if (!options.transform.empty()) fail("--input-transform works on files, but '", part, "' is not one");
        return random_values(part, input, seed);
    }
    auto file = MappedFile::open(part);
    auto bytes = file->bytes();
    bool is_array = bytes.size() > 6 && std::memcmp(bytes.data(), "\x93NUMPY", 6) == 0;
    Tensor data = is_array ? cli::parse_npy(bytes, part) : read_image_for(part, bytes, input, options.resize);
    data = repeated(data, options.repeat);
    bool is_transformed = !options.transform.empty();
    if (is_transformed) data = transformed(data, options.transform, input.spec.dtype);
    if (data.shape().rank() != input.spec.shape.rank())
        fail("'", part, "' has the shape ", data.shape(), is_transformed ? " after --input-transform" : "",
             ", the input '", input.name, "' has ", input.spec.shape);
    return cli::fit_dtype(data, input.spec.dtype, "--data");
}

}  // namespace

std::vector<std::string> expand_lists(const std::vector<std::string>& specifications) {
    std::vector<std::string> result;
    for (auto& specification : specifications) {
        if (!specification.starts_with('@')) {
            result.push_back(specification);
            continue;
        }
        std::istringstream file(cli::read_text_for_objects(specification.substr(1)));
        for (std::string line; std::getline(file, line);)
            if (line = trimmed(line); !line.empty()) result.push_back(line);
    }
    return result;
}

Tensors read_test_data(const std::string& specification, const Graph& graph, const TestDataOptions& options) {
    auto& inputs = graph.inputs();
    Tensors values(inputs.size());
    auto input = [&](size_t i) -> const Value& { return graph.value(inputs[i]); };
    auto read = [&](const std::string& part, size_t i) {
        values[i] = read_part(part, input(i), options, options.seed + i);
    };
    if (is_random(specification) || (inputs.size() == 1 && specification.find(':') == std::string::npos)) {
        for (size_t i = 0; i < inputs.size(); ++i) read(specification, i);
        return values;
    }
    std::vector<std::string> names;
    for (size_t i = 0; i < inputs.size(); ++i) names.push_back(input(i).name);
    auto parts = cli::split_named_values(specification, names);
    if (parts.size() != inputs.size())
        fail("'", specification, "' has ", counted(parts.size(), "part"), ", the model has ",
             counted(inputs.size(), "input"));
    for (auto& [name, data] : parts) {
        if (name.empty()) fail("'", data, "': expected the name of an input, ':' and its data");
        auto i = size_t(std::ranges::find(names, name) - names.begin());
        if (i == names.size())
            fail("the model has no input '", name, "'; it has '", joined(names, "', '"), "'");
        if (values[i]) fail("the input '", name, "' is given twice");
        read(data, i);
    }
    return values;
}

}  // namespace mge::dump
