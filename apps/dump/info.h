// SPDX-License-Identifier: Apache-2.0
#pragma once
// What mge-dump info knows of a model: figures per weight, per operator and in all.

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/tool.h"
#include "libmge/model/model.h"

namespace mge::dump {

struct WeightRow {
    std::string name;
    TensorSpec spec;
    double mean = 0, deviation = 0;  // of the elements
};

struct OperatorRow {
    std::string name, op;
    TensorSpecs inputs, outputs;
    std::optional<double> flops;  // a multiplication and an addition are two; none: no rule for the operator
};

// One row per output of an operator.
struct ActivationRow {
    std::string name, op;
    TensorSpec spec;  // the shape may be unknown: then it counts as nothing
};

struct ModelFigures {
    std::vector<WeightRow> weights;
    std::vector<OperatorRow> operators;
    std::vector<ActivationRow> activations;
    int64_t weight_elements = 0, activation_elements = 0;
    size_t weight_bytes = 0, activation_bytes = 0;
    double flops = 0;
    size_t operators_without_flops = 0;
};

ModelFigures figures_of(const Graph& graph);

struct InfoTables {
    bool params = false, flops = false, activations = false;
    int bar_length = 20;
};
void print_info(const Model& model, const ModelFigures& figures, const InfoTables& tables);
cli::Json info_json(const Model& model, const ModelFigures& figures);

}  // namespace mge::dump
