// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/cli/options/dimension_option.h"
#include "apps/cli/output/table.h"
#include "apps/dump/info.h"
#include "libmge/base/joined.h"

namespace mge::dump {
namespace {

using cli::format_bytes;
using cli::format_count;
using cli::format_number;
using cli::Json;
using Rows = std::vector<std::vector<std::string>>;

std::string shapes_text(const TensorSpecs& specs) {
    return joined(specs, ", ", [](auto& spec) { return spec.is_absent() ? "-" : text(spec.shape); });
}

// Appends shares of the total to table rows: cumulative, in percent, and as a bar.
class Shares {
public:
    Shares(double total, double largest, int bar_length, std::string (*format)(double))
        : total_(total), largest_(largest), bar_length_(bar_length), format_(format) {}
    void add(std::vector<std::string>& row, double amount) {
        so_far_ += amount;
        int bar = largest_ > 0 ? int(amount / largest_ * bar_length_ + 0.5) : 0;
        row.insert(row.end(), {format_(amount), format_(so_far_),
                               format_number(total_ > 0 ? 100 * amount / total_ : 0, 2) + " %",
                               std::string(size_t(bar), '#')});
    }

private:
    double total_, largest_, so_far_ = 0;
    int bar_length_;
    std::string (*format_)(double);
};

template <class T, class Amount>
double largest_of(const std::vector<T>& rows, Amount amount) {
    double largest = 0;
    for (auto& row : rows) largest = std::max(largest, double(amount(row)));
    return largest;
}

size_t known_bytes(const TensorSpec& spec) { return spec.shape.is_known() ? spec.bytes() : 0; }
size_t bits_of(DType dtype) { return 8 * size_of(dtype); }

void print_weights(const ModelFigures& figures, int bar_length) {
    Rows rows{{"name", "dtype", "shape", "mean", "std", "elements", "bits", "size", "so far", "share", ""}};
    auto bytes = [](const WeightRow& row) { return row.spec.bytes(); };
    Shares shares(double(figures.weight_bytes), largest_of(figures.weights, bytes), bar_length, format_bytes);
    for (auto& w : figures.weights) {
        rows.push_back({w.name, text(w.spec.dtype), text(w.spec.shape), format_number(w.mean, 4),
                        format_number(w.deviation, 4), std::to_string(w.spec.numel()),
                        std::to_string(bits_of(w.spec.dtype))});
        shares.add(rows.back(), double(w.spec.bytes()));
    }
    std::cout << "\nWeights\n";
    cli::print_table(std::cout, rows, {"", "so far", "bits", "std", "mean", "elements", "share"});
}

void print_operators(const ModelFigures& figures, int bar_length) {
    Rows rows{{"name", "operator", "inputs", "outputs", "FLOPs", "so far", "share", ""}};
    auto flops = [](const OperatorRow& row) { return row.flops.value_or(0); };
    Shares shares(figures.flops, largest_of(figures.operators, flops), bar_length, format_count);
    for (auto& row : figures.operators) {
        rows.push_back({row.name, row.op, shapes_text(row.inputs), shapes_text(row.outputs)});
        shares.add(rows.back(), flops(row));
        if (!row.flops) rows.back()[4] = "?";
    }
    std::cout << "\nOperators\n";
    cli::print_table(std::cout, rows, {"", "so far", "inputs", "share", "outputs"});
}

void print_activations(const ModelFigures& figures, int bar_length) {
    Rows rows{{"name", "operator", "dtype", "shape", "bits", "elements", "size", "so far", "share", ""}};
    auto bytes = [](const ActivationRow& row) { return known_bytes(row.spec); };
    Shares shares(double(figures.activation_bytes), largest_of(figures.activations, bytes), bar_length,
                  format_bytes);
    for (auto& row : figures.activations) {
        bool is_known = row.spec.shape.is_known();
        rows.push_back({row.name, row.op, text(row.spec.dtype), text(row.spec.shape),
                        std::to_string(bits_of(row.spec.dtype)),
                        is_known ? std::to_string(row.spec.numel()) : "?"});
        shares.add(rows.back(), double(known_bytes(row.spec)));
    }
    std::cout << "\nActivations\n";
    cli::print_table(std::cout, rows, {"", "so far", "bits", "elements", "share"});
}

struct TypeRow {
    size_t count = 0, bytes = 0;
    double flops = 0;
};
std::map<std::string, TypeRow> by_type(const ModelFigures& figures) {
    std::map<std::string, TypeRow> types;
    for (auto& row : figures.operators) {
        auto& type = types[row.op];
        ++type.count;
        type.flops += row.flops.value_or(0);
        for (auto& spec : row.outputs) type.bytes += known_bytes(spec);
    }
    return types;
}

void print_types(const ModelFigures& figures) {
    auto types = by_type(figures);
    std::vector<std::pair<std::string, TypeRow>> sorted(types.begin(), types.end());
    std::ranges::stable_sort(sorted, [](auto& a, auto& b) {
        return std::pair(a.second.flops, a.second.bytes) > std::pair(b.second.flops, b.second.bytes);
    });
    Rows rows{{"operator", "count", "FLOPs", "share", "activations"}};
    for (auto& [name, type] : sorted)
        rows.push_back({name, std::to_string(type.count), format_count(type.flops),
                        format_number(figures.flops > 0 ? 100 * type.flops / figures.flops : 0, 2) + " %",
                        format_bytes(double(type.bytes))});
    std::cout << '\n';
    cli::print_table(std::cout, rows);
}

void print_ports(const Model& model) {
    Rows rows{{"", "name", "dtype", "shape"}};
    auto add = [&](const char* what, ValueId id) {
        auto& value = model.graph.value(id);
        rows.push_back(
            {what, value.name, text(value.spec.dtype), named_shape_text(value.spec.shape, value.dimensions)});
    };
    for (ValueId id : model.graph.inputs()) add("input", id);
    for (ValueId id : model.graph.outputs()) add("output", id);
    cli::print_table(std::cout, rows);
}

void print_extras(const Model& model) {
    for (auto& test : model.test_cases)
        std::cout << "test case '" << test.name
                  << "': " << (test.outputs.empty() ? "inputs only" : "inputs and outputs")
                  << (test.max_error ? text(", largest error ", *test.max_error) : "") << '\n';
    for (auto& [key, value] : model.metadata) std::cout << key << ": " << value << '\n';
}

void print_summary(const ModelFigures& figures) {
    double per_byte = figures.weight_bytes ? figures.flops / double(figures.weight_bytes) : 0;
    std::cout << '\n';
    cli::print_table(
        std::cout,
        {{"operators", std::to_string(figures.operators.size())},
         {"weights", text(figures.weights.size(), ", ", format_count(double(figures.weight_elements)),
                          figures.weight_elements == 1 ? " parameter, " : " parameters, ",
                          format_bytes(double(figures.weight_bytes)))},
         {"FLOPs",
          format_count(figures.flops) + (figures.operators_without_flops
                                             ? text(", without ",
                                                    cli::counted(figures.operators_without_flops,
                                                                 "operator that has", "operators that have"),
                                                    " no rule")
                                             : "")},
         {"activations", text(format_count(double(figures.activation_elements)), " elements, ",
                              format_bytes(double(figures.activation_bytes)))},
         {"FLOPs per byte of weights", format_number(per_byte, 2)}});
}

Json shape_json(const Shape& shape) { return shape.is_known() ? Json(shape.dims()) : Json(); }
Json spec_json(const TensorSpec& spec) {
    if (spec.is_absent()) return nullptr;
    return {{"dtype", name_of(spec.dtype)}, {"shape", shape_json(spec.shape)}};
}
Json specs_json(const TensorSpecs& specs) {
    Json list = Json::array();
    for (auto& spec : specs) list.push_back(spec_json(spec));
    return list;
}
Json ports_json(const Graph& graph, const std::vector<ValueId>& ids) {
    Json list = Json::array();
    for (ValueId id : ids) {
        Json port{{"name", graph.value(id).name}};
        auto& value = graph.value(id);
        port.update(spec_json(value.spec));
        if (!value.dimensions.empty())
            port["dimensions"] = cli::dimensions_json(value.spec.shape, value.dimensions);
        list.push_back(port);
    }
    return list;
}

Json summary_json(const ModelFigures& figures) {
    return {{"operators", figures.operators.size()},
            {"weights", figures.weights.size()},
            {"parameters", figures.weight_elements},
            {"weight_bytes", figures.weight_bytes},
            {"flops", figures.flops},
            {"operators_without_flops", figures.operators_without_flops},
            {"activation_elements", figures.activation_elements},
            {"activation_bytes", figures.activation_bytes}};
}

}  // namespace

void print_info(const Model& model, const ModelFigures& figures, const InfoTables& tables) {
    print_ports(model);
    print_extras(model);
    print_types(figures);
    if (tables.params) print_weights(figures, tables.bar_length);
    if (tables.flops) print_operators(figures, tables.bar_length);
    if (tables.activations) print_activations(figures, tables.bar_length);
    print_summary(figures);
}

cli::Json info_json(const Model& model, const ModelFigures& figures) {
    Json result{{"inputs", ports_json(model.graph, model.graph.inputs())},
                {"outputs", ports_json(model.graph, model.graph.outputs())},
                {"metadata", model.metadata},
                {"summary", summary_json(figures)}};
    result["test_cases"] = Json::array();
    for (auto& test : model.test_cases) {
        result["test_cases"].push_back({{"name", test.name}, {"compared", !test.outputs.empty()}});
        if (test.max_error) result["test_cases"].back()["max_error"] = *test.max_error;
    }
    result["operator_types"] = Json::array();
    for (auto& [name, type] : by_type(figures))
        result["operator_types"].push_back(
            {{"op", name}, {"count", type.count}, {"flops", type.flops}, {"output_bytes", type.bytes}});
    result["weights"] = Json::array();
    for (auto& w : figures.weights) {
        Json row{{"name", w.name}};
        row.update(spec_json(w.spec));
        row.update({{"elements", w.spec.numel()},
                    {"bytes", w.spec.bytes()},
                    {"mean", w.mean},
                    {"std", w.deviation},
                    {"min", w.least},
                    {"max", w.most},
                    {"zeros", w.zeros}});
        result["weights"].push_back(row);
    }
    result["operators"] = Json::array();
    for (auto& row : figures.operators)
        result["operators"].push_back({{"name", row.name},
                                       {"op", row.op},
                                       {"inputs", specs_json(row.inputs)},
                                       {"outputs", specs_json(row.outputs)},
                                       {"flops", row.flops ? Json(*row.flops) : Json()}});
    return result;
}

}  // namespace mge::dump
