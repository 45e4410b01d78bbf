// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/shared_model.h"

#include <algorithm>
#include <utility>

#include "libmge/base/error.h"
#include "libmge/base/log.h"
#include "libmge/graph/place.h"
#include "libmge/inspect/value_names.h"
#include "libmge/lite/compile_options.h"
#include "libmge/passes/pass.h"
#include "lite/error.h"

namespace lite {
namespace {

bool are_alike(const ProgramRequest& a, const ProgramRequest& b) {
    return a.outputs == b.outputs && a.inputs == b.inputs && a.keeps_places == b.keeps_places &&
           a.has_stored_options == b.has_stored_options && lite::are_equal(a.options, b.options);
}

}  // namespace

SharedModel::SharedModel(mge::Model model)
    : model_(std::move(model)),
      has_const_shape_(mge::has_const_shape(model_)),
      stored_(mge::stored_options(model_)) {
    // Unique names for steps and values, for profiles and dumps.
    model_.graph = mge::name_values(std::move(model_.graph));
    prints_ = mge::remember_constants(model_.graph);
}

std::vector<mge::TensorSpec> SharedModel::output_specs(const mge::TensorSpecs& inputs,
                                                       const std::vector<mge::ValueId>& outputs) const {
    std::lock_guard lock(mutex_);
    if (is_forgotten_) throw Error("the shapes are fixed: comp_node_seq_record_level 2 frees the graph");
    auto shaped = mge::infer_shapes(part_for(outputs), inputs);
    std::vector<mge::TensorSpec> specs;
    for (auto id : shaped.outputs()) specs.push_back(shaped.value(id).spec);
    return specs;
}

std::shared_ptr<const mge::Program> SharedModel::find(const ProgramRequest& request) {
    std::lock_guard lock(mutex_);
    if (auto known = find_known(request)) return known;
    auto program = compile(request);
    std::erase_if(known_, [](auto& each) { return each.program.expired(); });
    known_.push_back({request, program});
    return program;
}

std::shared_ptr<const mge::Program> SharedModel::find_known(const ProgramRequest& request) {
    for (auto& each : known_)
        if (are_alike(each.request, request))
            if (auto program = each.program.lock()) return program;
    return nullptr;
}

// Without the operators of other outputs, which need not accept the sizes of the inputs.
mge::Graph SharedModel::part_for(const std::vector<mge::ValueId>& outputs) const {
    mge::Graph graph = model_.graph;
    graph.set_outputs(outputs);
    return mge::remove_dead_nodes(std::move(graph), {});
}

mge::Graph SharedModel::graph_for(const ProgramRequest& request) const {
    mge::Graph graph = part_for(request.outputs);
    if (!request.keeps_places)
        for (size_t i = 0; i < graph.values().size(); ++i) graph.value(mge::ValueId(i)).device = {};
    return graph;
}

std::shared_ptr<const mge::Program> SharedModel::compile(const ProgramRequest& request) const {
    if (is_forgotten_)
        throw Error("nothing more can be compiled: comp_node_seq_record_level 2 frees the graph");
    auto graph = graph_for(request);
    auto options = request.options;
    options.uploads = uploads_;
    if (request.has_stored_options)
        options.algorithms = mge::with_stored(options, *stored_, request.inputs).algorithms;
    try {
        return mge::Program::compile(graph, request.inputs, options);
    } catch (const mge::DeviceError& e) {
        if (options.algorithms.empty()) throw;
        // The file comes from a machine that could do more.
        mge::log_warning(mge::text(
            model_.label, ": this build lacks an algorithm that is stored in the model: ", e.what()));
        options.algorithms.clear();
        return mge::Program::compile(graph, request.inputs, options);
    }
}

std::optional<mge::OpenProgram> SharedModel::open(const ProgramRequest& request,
                                                  std::span<const mge::TensorSpecs* const> earlier,
                                                  mge::OpenPrograms& programs) const {
    std::lock_guard lock(mutex_);
    if (earlier.empty() || is_forgotten_) return std::nullopt;
    auto options = request.options;
    options.uploads = uploads_;
    auto graph = mge::place(graph_for(request), options.device);
    std::vector<mge::DeviceId> places;
    for (auto id : graph.inputs()) places.push_back(graph.value(id).device);
    return programs.compile(graph, earlier, request.inputs, places, options);
}

void SharedModel::forget_nodes() {
    std::lock_guard lock(mutex_);
    model_.graph.forget_nodes();
    prints_ = nullptr;
    is_forgotten_ = true;
}

}  // namespace lite
