// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/files/image_file.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <memory>

#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
#include "libmge/base/files/file_limit.h"
#include "libmge/base/number_text.h"
#include "libmge/device/device.h"

namespace mge::cli {
namespace {

template <class... Args>
[[noreturn]] void fail(const std::string& label, const Args&... what) {
    throw ModelError(text("'", label, "' is not a readable image: ", what...));
}

// Headers may claim any size.
void check_size(const std::string& label, size_t file_bytes, int64_t height, int64_t width,
                uint64_t bytes_per_pixel) {
    if (height < 1 || width < 1) fail(label, "it is ", width, " x ", height, " pixels");
    int64_t pixels = 0;
    if (__builtin_mul_overflow(height, width, &pixels)) pixels = INT64_MAX;
    FileBudget(label, file_bytes).take(uint64_t(pixels), bytes_per_pixel);
}

Tensor new_image(int64_t height, int64_t width, int channels) {
    return empty_tensor({DType::u8, {1, height, width, channels}, {}}, host_device);
}

Tensor decode_png(std::span<const std::byte> bytes, const std::string& label) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    struct Free {
        png_image& image;
        ~Free() { png_image_free(&image); }
    } free{image};
    if (!png_image_begin_read_from_memory(&image, bytes.data(), bytes.size())) fail(label, image.message);
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // scales 16-bit values to 8 bits without changing the gamma
    bool is_color = image.format & PNG_FORMAT_FLAG_COLOR;
    check_size(label, bytes.size(), image.height, image.width, is_color ? 4 + 3 : 2 + 1);
    Tensor with_alpha = new_image(image.height, image.width, is_color ? 4 : 2);
    image.format = is_color ? PNG_FORMAT_RGBA : PNG_FORMAT_GA;
    if (!png_image_finish_read(&image, nullptr, with_alpha.data(), 0, nullptr)) fail(label, image.message);

    int channels = is_color ? 3 : 1;
    Tensor result = new_image(image.height, image.width, channels);
    const auto* from = with_alpha.data<uint8_t>();
    auto* to = result.data<uint8_t>();
    for (int64_t i = 0, n = int64_t(image.height) * image.width; i < n; ++i, from += channels + 1)
        to = std::copy_n(from, channels, to);
    return result;
}

Tensor decode_jpeg(std::span<const std::byte> bytes, const std::string& label) {
    struct Destroy {
        void operator()(void* handle) const { tjDestroy(handle); }
    };
    std::unique_ptr<void, Destroy> decoder(tjInitDecompress());
    if (!decoder) throw InternalError("libturbojpeg cannot be started");
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    int width = 0, height = 0, subsampling = 0, color_space = 0;
    auto check = [&](int status) {
        if (status != 0) fail(label, tjGetErrorStr2(decoder.get()));
    };
    check(
        tjDecompressHeader3(decoder.get(), data, bytes.size(), &width, &height, &subsampling, &color_space));
    bool is_grey = color_space == TJCS_GRAY;
    // A progressive JPEG keeps all coefficients, of two bytes each, besides the image.
    int channels = is_grey ? 1 : 3;
    check_size(label, bytes.size(), height, width, uint64_t(channels) * 3);
    Tensor result = new_image(height, width, channels);
    check(tjDecompress2(decoder.get(), data, bytes.size(), result.data<uint8_t>(), width, 0, height,
                        is_grey ? TJPF_GRAY : TJPF_RGB, TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING));
    return result;
}

// Parses "P5" or "P6", width, height and maximum value, separated by blanks and comments, then one blank and
// the pixels.
class PortableMap {
public:
    PortableMap(std::span<const std::byte> bytes, const std::string& label)
        : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), label_(label) {}

    Tensor decode() {
        int channels = text_[1] == '6' ? 3 : 1;
        int64_t width = number("width"), height = number("height"), largest = number("largest value");
        if (largest < 1 || largest > 255)
            fail(label_, "its largest value is ", largest, ", expected 1 to 255");
        if (at_ >= text_.size()) fail(label_, "its pixels are missing");
        ++at_;
        check_size(label_, text_.size(), height, width, uint64_t(channels));
        size_t size = size_t(height) * size_t(width) * size_t(channels);
        if (text_.size() - at_ < size)
            fail(label_, "its pixels need ", counted(size, "byte"), ", but there are ", text_.size() - at_);
        Tensor result = new_image(height, width, channels);
        std::memcpy(result.data(), text_.data() + at_, size);
        return result;
    }

private:
    int64_t number(const char* what) {
        while (at_ < text_.size() && (std::isspace(uint8_t(text_[at_])) || text_[at_] == '#'))
            at_ = text_[at_] == '#' ? std::min(text_.find('\n', at_), text_.size()) : at_ + 1;
        int64_t value = 0;
        auto [next, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc()) fail(label_, "its ", what, " is missing");
        at_ = size_t(next - text_.data());
        return value;
    }

    std::string_view text_;
    const std::string& label_;
    size_t at_ = 2;
};

Tensor with_channels(const Tensor& image, int channels) {
    if (image.shape()[3] == channels) return image;
    Tensor result =
        empty_tensor({DType::u8, {1, image.shape()[1], image.shape()[2], channels}, {}}, host_device);
    const auto* from = image.data<uint8_t>();
    auto* to = result.data<uint8_t>();
    for (int64_t i = 0, n = image.shape()[1] * image.shape()[2]; i < n; ++i) {
        if (channels == 3)
            std::fill_n(to + 3 * i, 3, from[i]);
        else  // thousandths, rounded
            to[i] = uint8_t((299 * from[3 * i] + 587 * from[3 * i + 1] + 114 * from[3 * i + 2] + 500) / 1000);
    }
    return result;
}

}  // namespace

bool is_image_name(const std::string& path) {
    std::string ending = path.substr(std::min(path.rfind('.'), path.size()));
    std::ranges::transform(ending, ending.begin(), [](char c) { return char(std::tolower(uint8_t(c))); });
    return ending == ".png" || ending == ".jpg" || ending == ".jpeg" || ending == ".ppm" || ending == ".pgm";
}

Tensor decode_image(std::span<const std::byte> bytes, const std::string& label, Channels channels) {
    auto starts_with = [&](std::string_view magic) {
        return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
    };
    Tensor image;
    if (starts_with("\x89PNG"))
        image = decode_png(bytes, label);
    else if (starts_with("\xff\xd8\xff"))
        image = decode_jpeg(bytes, label);
    else if (starts_with("P5") || starts_with("P6"))
        image = PortableMap(bytes, label).decode();
    else
        fail(label, "it is not PNG, JPEG, binary PPM (P6) or PGM (P5)");
    if (channels == Channels::as_stored) return image;
    return with_channels(image, channels == Channels::grey ? 1 : 3);
}

Tensor read_image(const std::string& path, Channels channels) {
    return decode_image(MappedFile::open(path)->bytes(), path, channels);
}

std::vector<uint8_t> encode_png(const Tensor& pixels) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.height = png_uint_32(pixels.shape()[1]);
    image.width = png_uint_32(pixels.shape()[2]);
    image.format = pixels.shape()[3] == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    std::vector<uint8_t> bytes(size);
    if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr))
        throw InternalError(text("an image cannot be written as PNG: ", image.message));
    bytes.resize(size);
    return bytes;
}

Tensor swap_red_and_blue(const Tensor& image) {
    if (image.shape()[3] != 3) return image;
    Tensor result = empty_tensor(image.spec(), host_device);
    const auto* from = image.data<uint8_t>();
    auto* to = result.data<uint8_t>();
    for (int64_t i = 0, n = image.spec().numel(); i < n; i += 3) {
        to[i] = from[i + 2];
        to[i + 1] = from[i + 1];
        to[i + 2] = from[i];
    }
    return result;
}

}  // namespace mge::cli
