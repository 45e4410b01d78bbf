// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/network_ports.h"

#include <algorithm>

#include "libmge/base/joined.h"
#include "libmge/base/log.h"
#include "libmge/base/text.h"
#include "libmge/lite/layout.h"

namespace lite {
namespace {

using Names = std::vector<std::string>;

void check(const std::vector<IO>& list, const char* kind) {
    for (size_t i = 0; i < list.size(); ++i) {
        auto& io = list[i];
        for (size_t k = 0; k < i; ++k)
            if (io.name == list[k].name)
                throw Error(mge::text("the NetworkIO names ", kind, " '", io.name, "' twice"));
        if (io.io_type != LITE_IO_VALUE && io.io_type != LITE_IO_SHAPE)
            throw Error(mge::text("the NetworkIO gives ", kind, " '", io.name, "' the type ",
                                  static_cast<int>(io.io_type),
                                  "; there are LITE_IO_VALUE 0 and LITE_IO_SHAPE 1"));
    }
}

Names names_of(const mge::Graph& graph, const std::vector<mge::ValueId>& ids, const char* kind) {
    Names names;
    for (auto id : ids) {
        auto& name = graph.value(id).name;
        names.push_back(name.empty() ? mge::text(kind, '_', names.size()) : name);
    }
    return names;
}

void report_unknown_names(const std::vector<IO>& list, const Names& names, const char* kind) {
    check(list, kind);
    for (auto& io : list)
        if (std::ranges::find(names, io.name) == names.end())
            mge::log_message(mge::LogLevel::info,
                             mge::text("the model has no ", kind, " '", io.name,
                                       "', which the NetworkIO names; it has ", mge::joined(names)));
}

void require_data_type(const char* kind, const std::string& name, mge::DType dtype, const char* advice) {
    try {
        data_type_of(dtype);
    } catch (const Error&) {
        throw Error(mge::text(kind, " '", name, "' has elements of type ", dtype,
                              ", for which Lite has no data type", advice));
    }
}

IO io_of(const std::string& name, const std::vector<IO>& list) {
    auto found = std::ranges::find(list, name, &IO::name);
    if (found != list.end()) return *found;
    IO io;
    io.name = name;
    return io;
}

std::shared_ptr<Tensor> make_port_tensor(const IO& io, const PortOptions& options) {
    return make_tensor(options.device, io.is_host && !options.device.is_host(), options.allocator);
}

void set_layout(Tensor& tensor, const Layout& layout) {
    if (layout.ndim) tensor.set_layout(layout);
}

Layout first_layout(const Input& input, const mge::TensorSpec& spec) {
    Layout layout = input.io.config_layout.ndim ? input.io.config_layout : layout_of(spec);
    if (dtype_of(layout.data_type) != spec.dtype)
        throw Error(mge::text("input '", input.io.name, "' is configured as ", text_of(layout),
                              "; the model has ", spec.dtype, " there"));
    return layout;
}

void make_images(Input& input, const Layout& whole, const PortOptions& options) {
    if (whole.ndim == 0 || whole.shapes[0] == 0)
        throw Error(mge::text("the discrete input '", input.io.name,
                              "' has no number of images; give it a config_layout"));
    Layout one = whole;
    one.shapes[0] = 1;
    for (size_t i = 0; i < whole.shapes[0]; ++i) {
        input.images.push_back(make_port_tensor(input.io, options));
        input.images.back()->set_layout(one);
    }
    input.tensor = make_tensor(options.device, false, options.allocator);
}

}  // namespace

std::shared_ptr<Tensor> make_tensor(mge::DeviceId device, bool is_pinned,
                                    const std::shared_ptr<mge::ContextAllocator>& allocator) {
    auto impl = std::make_shared<Tensor::TensorImplBase>(device, is_pinned);
    // Page-locked memory is the device's own kind.
    if (allocator && !is_pinned)
        impl->set_memory_hook([tensor = impl.get(), allocator] {
            if (tensor->current_address() || tensor->layout().ndim == 0) return;
            auto spec = spec_of(tensor->layout());
            auto place = tensor->place();
            size_t bytes = std::max<size_t>(spec.bytes(), 1);
            tensor->hold(mge::Tensor(spec, allocator->alloc_dynamic(place, bytes), 0, place));
        });
    return TensorHelper::make(std::move(impl));
}

mge::TensorSpec Input::spec() const {
    auto& layout = TensorHelper::impl(*tensor).layout();
    if (layout.ndim == 0)
        throw Error(mge::text("input '", io.name, "' has no layout: the model does not declare its shape"));
    auto spec = spec_of(layout);
    if (spec.dtype != dtype)
        throw Error(mge::text("input '", io.name, "' is ", text_of(layout), "; the model reads ", dtype));
    if (is_scalar && spec.numel() == 1 && spec.shape.rank() == 1) spec.shape = {};
    return spec;
}

void Input::shape_images() {
    if (!is_discrete()) return;
    Layout one = TensorHelper::impl(*images[0]).layout();
    for (auto& image : images) {
        auto& layout = TensorHelper::impl(*image).layout();
        if (layout.ndim == 0 || layout.shapes[0] != 1 || !(layout == one))
            throw Error(mge::text("an image of the discrete input '", io.name, "' is ", text_of(layout),
                                  "; each must have a first dimension of 1, and all must be equal"));
    }
    one.shapes[0] = images.size();
    tensor->set_layout(one);
}

void Input::join_images() {
    for (size_t i = 0; i < images.size(); ++i) tensor->slice({i}, {i + 1})->copy_from(*images[i]);
}

std::vector<Input> make_inputs(const mge::Graph& graph, const NetworkIO& io, const PortOptions& options) {
    auto names = names_of(graph, graph.inputs(), "input");
    report_unknown_names(io.inputs, names, "input");
    std::vector<Input> inputs;
    for (size_t i = 0; i < names.size(); ++i) {
        auto& spec = graph.value(graph.inputs()[i]).spec;
        require_data_type("input", names[i], spec.dtype, "");
        auto& input = inputs.emplace_back(Input{
            .io = io_of(names[i], io.inputs), .dtype = spec.dtype, .is_scalar = spec.shape.rank() == 0});
        auto layout = first_layout(input, spec);
        if (names[i] == options.discrete_input) {
            make_images(input, layout, options);
        } else {
            input.tensor = make_port_tensor(input.io, options);
            set_layout(*input.tensor, layout);
        }
    }
    if (!options.discrete_input.empty() && std::ranges::find(names, options.discrete_input) == names.end())
        throw Error(mge::text("the model has no input '", options.discrete_input,
                              "', which the configuration names as discrete; it has ", mge::joined(names)));
    return inputs;
}

std::vector<Output> make_outputs(const mge::Graph& graph, const NetworkIO& io, const PortOptions& options) {
    auto names = names_of(graph, graph.outputs(), "output");
    report_unknown_names(io.outputs, names, "output");
    std::vector<Output> outputs;
    for (size_t i = 0; i < names.size(); ++i) {
        bool is_named = std::ranges::find(io.outputs, names[i], &IO::name) != io.outputs.end();
        if (options.configured_outputs_only && !is_named) continue;
        require_data_type("output", names[i], graph.value(graph.outputs()[i]).spec.dtype,
                          "; compute_only_configured_output() leaves outputs out");
        auto& output = outputs.emplace_back(Output{io_of(names[i], io.outputs), i, nullptr});
        output.tensor = make_port_tensor(output.io, options);
    }
    if (options.configured_outputs_only && outputs.empty())
        throw Error(
            mge::text("the NetworkIO names no output of the model, and compute_only_configured_output() "
                      "excludes all others; the model has ",
                      mge::joined(names)));
    return outputs;
}

std::vector<mge::ValueId> ids_of(const mge::Graph& graph, const std::vector<Output>& outputs) {
    std::vector<mge::ValueId> ids;
    for (auto& output : outputs) ids.push_back(graph.outputs()[output.index]);
    return ids;
}

}  // namespace lite
