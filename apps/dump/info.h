// SPDX-License-Identifier: Apache-2.0
#pragma once
// Figures of a model that mge-dump info prints: per weight, per operator and in total.

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/tool.h"
#include "libmge/model/model.h"

namespace mge::dump {

struct WeightRow {
    std::string name;
    TensorSpec spec;
    double mean = 0, deviation = 0, least = 0, most = 0;  // over all elements
    int64_t zeros = 0;                                    // number of elements
};

struct OperatorRow {
    std::string name, op;
    TensorSpecs inputs, outputs;
    std::optional<double> flops;  // a multiply-add counts twice; nullopt: no rule for the operator
};

// One row per output of an operator.
struct ActivationRow {
    std::string name, op;
    TensorSpec spec;  // an unknown shape counts as 0 bytes
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
