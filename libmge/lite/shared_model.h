// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model in memory and the programs made of it: what networks that share weights have in common. Networks
// that are compiled alike have the same programs, and so one copy of what passes and algorithms made of the
// weights. May be used by several threads.

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "libmge/compile/memory/upload.h"
#include "libmge/compile/program.h"
#include "libmge/model/model.h"
#include "libmge/model/stored_options.h"

namespace lite {

// What makes a program.
struct ProgramRequest {
    mge::CompileOptions options;
    std::vector<mge::ValueId> outputs;  // of the model, those that are computed
    mge::TensorSpecs inputs;
    bool keeps_places = false;  // values lie where the model says; otherwise all at options.device
    // The options are those in the model: its algorithms count, too, where they are for these inputs.
    bool has_stored_options = false;
};

class SharedModel {
public:
    // `name` stands for it in profiles.
    SharedModel(mge::Model model, std::string name);

    const std::string& name() const { return name_; }
    const mge::Model& model() const { return model_; }
    const mge::Graph& graph() const { return model_.graph; }
    // It was optimised for the shapes that its inputs have.
    bool has_const_shape() const { return has_const_shape_; }
    // What it says of its compilation.
    const std::optional<mge::StoredOptions>& stored_options() const { return stored_; }

    // The specs of all outputs for these inputs; shapes are unknown that only a run finds out. A user error
    // when the model takes no such inputs.
    std::vector<mge::TensorSpec> output_specs(const mge::TensorSpecs& inputs) const;
    // One that a network has already, or a new one.
    std::shared_ptr<const mge::Program> find(const ProgramRequest& request);
    // Nothing is compiled any more.
    void forget_nodes();

private:
    struct Known {
        ProgramRequest request;
        std::weak_ptr<const mge::Program> program;
    };
    std::shared_ptr<const mge::Program> find_known(const ProgramRequest& request);
    mge::Graph graph_for(const ProgramRequest& request) const;
    std::shared_ptr<const mge::Program> compile(const ProgramRequest& request) const;

    mge::Model model_;
    std::string name_;
    bool has_const_shape_ = false, is_forgotten_ = false;
    std::optional<mge::StoredOptions> stored_;
    std::shared_ptr<mge::ConstantUploads> uploads_ = std::make_shared<mge::ConstantUploads>();
    mutable std::mutex mutex_;
    std::vector<Known> known_;
};

}  // namespace lite
