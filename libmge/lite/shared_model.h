// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model in memory and its programs, shared by networks that share weights. Networks with equal options use
// the same programs, and so one copy of transformed and packed weights. Thread-safe.

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "libmge/compile/memory/remember_constants.h"
#include "libmge/compile/memory/upload.h"
#include "libmge/compile/open_programs.h"
#include "libmge/compile/program.h"
#include "libmge/model/model.h"
#include "libmge/model/stored_options.h"

namespace lite {

// The key of a program.
struct ProgramRequest {
    mge::CompileOptions options;
    std::vector<mge::ValueId> outputs;  // the outputs of the model to compute
    mge::TensorSpecs inputs;
    bool keeps_places = false;  // values stay on the model's devices; otherwise all are on options.device
    // The options are stored in the model: its algorithms apply, too, if they are for these inputs.
    bool has_stored_options = false;
};

class SharedModel {
public:
    explicit SharedModel(mge::Model model);

    const mge::Model& model() const { return model_; }
    const mge::Graph& graph() const { return model_.graph; }
    // It was optimised for the shapes that its inputs have.
    bool has_const_shape() const { return has_const_shape_; }
    // The stored compile options.
    const std::optional<mge::StoredOptions>& stored_options() const { return stored_; }

    // The specs of these outputs of the graph for these inputs; shapes are unknown if only a run determines
    // them. A user error if their part of the model does not accept such inputs.
    std::vector<mge::TensorSpec> output_specs(const mge::TensorSpecs& inputs,
                                              const std::vector<mge::ValueId>& outputs) const;
    // An existing program of another network, or a new one.
    std::shared_ptr<const mge::Program> find(const ProgramRequest& request);
    // A program for all sizes of the axes in which inputs of `earlier` runs differ from those of the request;
    // nullopt if there is none.
    std::optional<mge::OpenProgram> open(const ProgramRequest& request,
                                         std::span<const mge::TensorSpecs* const> earlier,
                                         mge::OpenPrograms& programs) const;
    // No further programs will be compiled.
    void forget_nodes();

private:
    struct Known {
        ProgramRequest request;
        std::weak_ptr<const mge::Program> program;
    };
    std::shared_ptr<const mge::Program> find_known(const ProgramRequest& request);
    mge::Graph part_for(const std::vector<mge::ValueId>& outputs) const;
    mge::Graph graph_for(const ProgramRequest& request) const;
    std::shared_ptr<const mge::Program> compile(const ProgramRequest& request) const;

    mge::Model model_;
    bool has_const_shape_ = false, is_forgotten_ = false;
    std::optional<mge::StoredOptions> stored_;
    std::shared_ptr<const mge::ConstantPrints> prints_;
    std::shared_ptr<mge::ConstantUploads> uploads_ = std::make_shared<mge::ConstantUploads>();
    mutable std::mutex mutex_;
    std::vector<Known> known_;
};

}  // namespace lite
