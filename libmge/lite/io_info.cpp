// SPDX-License-Identifier: Apache-2.0
// The inputs and outputs of a model without loading a network.

#include <algorithm>

#include "libmge/lite/as_lite_error.h"
#include "libmge/lite/compile_options.h"
#include "libmge/lite/layout.h"
#include "libmge/lite/model_file.h"
#include "libmge/lite/network_ports.h"
#include "libmge/lite/shared_model.h"

namespace lite {
namespace {

// Shapes that are known without a run; others are unknown.
mge::TensorSpecs output_specs(const SharedModel& model, const std::vector<Input>& inputs,
                              const std::vector<Output>& outputs) {
    mge::TensorSpecs specs;
    auto ids = ids_of(model.graph(), outputs);
    if (std::ranges::all_of(inputs, &Input::has_layout)) {
        for (auto& input : inputs) specs.push_back(input.spec());
        return model.output_specs(specs, ids);
    }
    for (auto id : ids) specs.push_back({model.graph().value(id).spec.dtype, mge::Shape::unknown(), {}});
    return specs;
}

NetworkIO io_of(ModelFile file) {
    check(file.configuration.config);
    SharedModel model(std::move(file.model));
    auto& wanted = file.configuration.io;
    auto inputs = make_inputs(model.graph(), wanted, {});
    auto outputs = make_outputs(model.graph(), wanted, {});
    NetworkIO result;
    for (auto& input : inputs) {
        result.inputs.push_back(input.io);
        result.inputs.back().config_layout = input.tensor->get_layout();
    }
    auto specs = output_specs(model, inputs, outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
        result.outputs.push_back(outputs[i].io);
        result.outputs.back().config_layout = layout_of(specs[i]);
    }
    return result;
}

}  // namespace

NetworkIO Runtime::get_model_io_info(const std::string& model_path, const Config& config) {
    return as_lite_error([&] { return io_of(read_model_file(model_path, {.config = config})); });
}

NetworkIO Runtime::get_model_io_info(const void* model_mem, size_t size, const Config& config) {
    return as_lite_error([&] { return io_of(read_model_file(model_mem, size, {.config = config})); });
}

}  // namespace lite
