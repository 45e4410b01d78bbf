// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/evaluate/evaluation.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "apps/cli/files/image_file.h"
#include "apps/cli/options/batch_size.h"
#include "apps/dump/evaluate/resize.h"
#include "libmge/base/error.h"
#include "libmge/compile/program.h"
#include "libmge/device/device.h"
#include "libmge/op/apply.h"

namespace mge::dump {
namespace {

struct PixelLayout {
    int64_t channels = 0, height = 0, width = 0;
    bool is_channels_first = true;
};

[[noreturn]] void refuse_model(const std::string& what) {
    throw UserError("the model " + what, ErrorClass::value);
}

PixelLayout layout_of_images(const TensorSpec& input) {
    auto& shape = input.shape;
    auto is_count = [](int64_t extent) { return extent == 1 || extent == 3; };
    if (!shape.is_known() || shape.rank() != 4 || (!is_count(shape[1]) && !is_count(shape[3])))
        refuse_model(text("takes ", input,
                          ", expected images (N, channels, H, W) or (N, H, W, channels) with 1 or 3 "
                          "channels"));
    if (is_count(shape[1])) return {shape[1], shape[2], shape[3], true};
    return {shape[3], shape[1], shape[2], false};
}

// A value per channel from none, one or as many.
std::vector<float> per_channel(const std::vector<double>& given, size_t channels, float otherwise,
                               const char* option) {
    std::vector<float> result(channels, otherwise);
    if (given.size() == 1) std::ranges::fill(result, float(given[0]));
    if (given.size() == channels)
        std::ranges::transform(given, result.begin(), [](double v) { return float(v); });
    if (given.size() > 1 && given.size() != channels)
        throw_value_error(option, given.size(), " numbers for ", channels, " channels");
    return result;
}

// Writes images into a batch. Arithmetic is that of torchvision: f32, one rounding per operation.
class Normaliser {
public:
    Normaliser(const PixelLayout& layout, const Preprocessing& how)
        : layout_(layout),
          divisor_(float(how.divisor)),
          mean_(per_channel(how.mean, size_t(layout.channels), 0, "--mean")),
          deviation_(per_channel(how.deviation, size_t(layout.channels), 1, "--std")) {}

    void write(const Tensor& image, float* to) const {
        const auto* pixels = image.data<uint8_t>();
        int64_t plane = layout_.height * layout_.width;
        for (int64_t i = 0; i < plane; ++i)
            for (int64_t c = 0; c < layout_.channels; ++c) {
                float value = float(pixels[i * layout_.channels + c]) / divisor_;
                value = (value - mean_[size_t(c)]) / deviation_[size_t(c)];
                to[layout_.is_channels_first ? c * plane + i : i * layout_.channels + c] = value;
            }
    }

private:
    PixelLayout layout_;
    float divisor_;
    std::vector<float> mean_, deviation_;
};

// A compiled model with its input and scores.
class Classifier {
public:
    Classifier(const Model& model, int64_t batch) {
        auto& graph = model.graph;
        if (graph.inputs().size() != 1)
            refuse_model(text("has ", graph.inputs().size(), " inputs, expected one image"));
        TensorSpecs specs{graph.value(graph.inputs()[0]).spec};
        if (batch) specs = cli::with_batch(graph, specs, batch, "--batch-size");
        program_ = Program::compile(graph, specs, CompileOptions{});
        context_ = Context::create(program_);
        auto& output = program_->outputs().at(0).spec;
        if (!output.shape.is_known() || output.shape.rank() < 2 || output.shape[0] != input().shape[0])
            refuse_model(text("returns ", output, ", expected scores (N, classes)"));
    }

    const TensorSpec& input() const { return program_->inputs()[0].spec; }
    size_t batch() const { return size_t(input().shape[0]); }
    size_t classes() const { return size_t(program_->outputs()[0].spec.numel()) / batch(); }

    // The scores of a batch, row by row.
    Tensor run(const Tensor& images) {
        const Tensors inputs{images.dtype() == input().dtype ? images : convert_dtype(images, input().dtype)};
        context_->fill_inputs(inputs);
        context_->run();
        context_->wait();
        return convert_dtype(to_host(context_->copy_output(0)), DType::f32);
    }

private:
    std::shared_ptr<const Program> program_;
    std::unique_ptr<Context> context_;
};

void check_input(const TensorSpec& input, const Preprocessing& how) {
    const Preprocessing plain;
    for (auto& [is_given, option] : {std::pair(!how.mean.empty(), "--mean"),
                                     {!how.deviation.empty(), "--std"},
                                     {how.divisor != plain.divisor, "--divide-by"}})
        if (is_given && input.dtype == DType::u8)
            throw_value_error(option,
                              "has no effect: the model takes pixels (uint8) and normalises them itself");
    if (input.dtype != DType::u8 && !is_float(input.dtype))
        refuse_model(text("takes ", input.dtype, ", expected real numbers or uint8"));
}

void write_pixels(const Tensor& image, const PixelLayout& layout, uint8_t* to) {
    const auto* pixels = image.data<uint8_t>();
    int64_t plane = layout.height * layout.width;
    for (int64_t i = 0; i < plane; ++i)
        for (int64_t c = 0; c < layout.channels; ++c)
            to[layout.is_channels_first ? c * plane + i : i * layout.channels + c] =
                pixels[i * layout.channels + c];
}

void check_label(const LabelledImage& image, size_t classes) {
    if (size_t(image.label) >= classes)
        throw_value_error("--labels", "'", image.name, "' has the label ", image.label, ", the model has ",
                          classes, " classes");
}

}  // namespace

Tensor cropped_image(const std::string& path, const TensorSpec& input, const Preprocessing& how) {
    PixelLayout layout = layout_of_images(input);
    Tensor image = cli::read_image(path, layout.channels == 1 ? cli::Channels::grey : cli::Channels::color);
    PixelSize size{image.shape()[1], image.shape()[2]}, wanted{layout.height, layout.width};
    Tensor resized = resize_bilinear(image, how.resize ? size_with_shorter_side(size, how.resize) : wanted);
    return crop_center(how.is_bgr ? cli::swap_red_and_blue(resized) : resized, wanted);
}

Scores evaluate(const Model& model, const LabelledImages& images, const Preprocessing& how, int64_t batch,
                const std::function<void(size_t)>& advance) {
    using Clock = std::chrono::steady_clock;
    Classifier classifier(model, batch);
    PixelLayout layout = layout_of_images(classifier.input());
    check_input(classifier.input(), how);
    Normaliser normaliser(layout, how);
    Scores result;
    result.classes = int64_t(classifier.classes());
    for (auto& image : images.images) check_label(image, classifier.classes());
    bool takes_pixels = classifier.input().dtype == DType::u8;
    Tensor input =
        empty_tensor({takes_pixels ? DType::u8 : DType::f32, classifier.input().shape, {}}, host_device);
    std::memset(input.data(), 0, input.spec().bytes());
    size_t elements = size_t(input.spec().numel()) / classifier.batch();
    for (size_t first = 0; first < images.images.size(); first += classifier.batch()) {
        size_t count = std::min(classifier.batch(), images.images.size() - first);
        for (size_t i = 0; i < count; ++i) {
            Tensor image = cropped_image(images.path(images.images[first + i]), classifier.input(), how);
            takes_pixels ? write_pixels(image, layout, input.data<uint8_t>() + i * elements)
                         : normaliser.write(image, input.data<float>() + i * elements);
        }
        auto start = Clock::now();
        Tensor scores = classifier.run(input);
        result.seconds += std::chrono::duration<double>(Clock::now() - start).count();
        for (size_t i = 0; i < count; ++i)
            result.predictions.push_back(
                predict({scores.data<float>() + i * classifier.classes(), classifier.classes()},
                        images.images[first + i].label));
        advance(count);
    }
    return result;
}

}  // namespace mge::dump
