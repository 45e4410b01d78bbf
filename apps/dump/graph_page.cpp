// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/graph_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/cli/output/table.h"
#include "apps/cli/output/terminal.h"
#include "apps/dump/operator_kinds.h"
#include "apps/dump/page.h"
#include "apps/dump/written.h"
#include "apps/profile/text.h"
#include "libmge/base/error.h"
#include "libmge/base/joined.h"
#include "libmge/base/json_writer.h"
#include "libmge/graph/origins.h"

namespace mge::dump {
namespace {

// Sizes of texts in boxes, in pixels.
constexpr double letter = 6.6, line_height = 15, box_margin = 18, box_padding = 12;
constexpr double least_width = 76, most_width = 240;
constexpr size_t longest_line = 34;
// Boxes grow with their time, up to twice their size.
constexpr double growth = 2.5, most_growth = 1;

// Number of characters, regardless of their bytes.
size_t characters_of(std::string_view line) {
    return size_t(std::ranges::count_if(line, [](char c) { return (uint8_t(c) & 0xC0) != 0x80; }));
}

std::string shortened_line(const std::string& line) {
    if (characters_of(line) <= longest_line) return line;
    return cli::first_characters(line, longest_line - 1) + "…";
}

// "2", or "2×1", for "(2, 2)" and "(2, 1)" of a parameter; empty without it.
std::string parameter(const std::string& params, const std::string& name) {
    size_t start = params.find(name + "=");
    if (start == params.npos || (start > 0 && params[start - 1] != ' ')) return {};
    start += name.size() + 1;
    if (params[start] != '(') return params.substr(start, params.find(',', start) - start);
    std::string inside = params.substr(start + 1, params.find(')', start) - start - 1), result;
    std::set<std::string> distinct;
    for (size_t at = 0; at < inside.size();) {
        size_t end = std::min(inside.find(", ", at), inside.size());
        std::string number = inside.substr(at, end - at);
        distinct.insert(number);
        result += (result.empty() ? "" : "×") + number;
        at = end + 2;
    }
    return distinct.size() == 1 && result.find("×") != result.npos ? *distinct.begin() : result;
}

std::string shape_line(const TensorSpec& spec) {
    if (!spec.shape.is_known()) return "shape known in a run";
    std::string result;
    for (int64_t extent : spec.shape.dims()) result += (result.empty() ? "" : "×") + std::to_string(extent);
    if (result.empty()) result = "scalar";
    return spec.dtype == DType::f32 ? result : result + text(" ", name_of(spec.dtype));
}

// Kernel, stride and groups of windows, or the sizes of a matrix.
std::string detail_line(const Graph& graph, const Node& node, const std::string& params) {
    std::vector<std::string> parts;
    const TensorSpec* weight = nullptr;
    if (node.inputs.size() > 1 && node.inputs[1] != no_value && graph.value(node.inputs[1]).is_constant())
        weight = &graph.value(node.inputs[1]).spec;
    std::string stride = parameter(params, "stride"), kernel = parameter(params, "kernel");
    if (weight && weight->shape.rank() >= 4 && !stride.empty()) {
        auto dims = weight->shape.dims();
        size_t rank = dims.size();
        kernel = text(dims[rank - 2], "×", dims[rank - 1]);
    } else if (!kernel.empty() && kernel.find("×") == kernel.npos) {
        kernel = text(kernel, "×", kernel);
    }
    if (!kernel.empty()) parts.push_back(kernel);
    if (!stride.empty() && stride != "1") parts.push_back("stride " + stride);
    if (std::string groups = parameter(params, "groups"); !groups.empty() && groups != "1")
        parts.push_back(text(groups, " groups"));
    if (parts.empty() && weight && weight->shape.rank() == 2) {
        auto dims = weight->shape.dims();
        parts.push_back(text("weights ", dims[0], "×", dims[1]));
    }
    return joined(parts, ", ");
}

std::vector<std::string> lines_of(const Graph& graph, NodeId id) {
    auto& node = graph.node(id);
    std::vector<std::string> lines{std::string(node.op->name)};
    std::string detail = detail_line(graph, node, params_text(node.op->fields, node.params.get()));
    if (!detail.empty()) lines.push_back(detail);
    if (!node.outputs.empty()) lines.push_back("→ " + shape_line(graph.value(node.outputs[0]).spec));
    for (auto& line : lines) line = shortened_line(line);
    return lines;
}

// "8 matmul, 4 transpose, 2 add", the most frequent first; shape arithmetic last.
std::vector<std::string> frequent_types(const Graph& graph, const std::vector<NodeId>& nodes) {
    std::map<std::string_view, std::pair<bool, int>> counts;
    for (NodeId id : nodes) {
        auto& node = graph.node(id);
        auto& [is_real, count] = counts[node.op->name];
        is_real |= !is_shape_arithmetic(graph, node);
        ++count;
    }
    std::vector<std::pair<std::string_view, std::pair<bool, int>>> sorted(counts.begin(), counts.end());
    std::ranges::stable_sort(sorted, std::greater(), [](auto& entry) { return entry.second; });
    std::vector<std::string> result;
    for (auto& [name, entry] : sorted) result.push_back(text(entry.second, " ", name));
    return result;
}

double flops_of(const ModelFigures& figures, const std::vector<NodeId>& nodes) {
    double sum = 0;
    for (NodeId id : nodes) sum += figures.operators[size_t(id)].flops.value_or(0);
    return sum;
}

double seconds_of(const GraphPage& page, const std::vector<NodeId>& nodes) {
    double sum = 0;
    for (NodeId id : nodes) sum += page.times->seconds[size_t(id)];
    return sum;
}

std::string time_line(const GraphPage& page, double seconds) {
    double total = page.times->base.seconds;
    std::string time = profile::time_text(seconds);
    if (time.ends_with(" us")) time.replace(time.size() - 2, 1, "µ");
    return text(time, ", ", cli::format_number(total > 0 ? 100 * seconds / total : 0, 1), " %");
}

std::vector<std::string> lines_of(const GraphPage& page, const Fold& fold) {
    std::vector<std::string> lines{fold.name, cli::counted(fold.nodes.size(), "operator")};
    double flops = flops_of(page.figures, fold.nodes);
    if (flops > 0) lines.back() += ", " + profile::scaled_text(flops, 1000, "FLOP", 1);
    auto types = frequent_types(*page.graph, fold.nodes);
    std::string list;
    for (auto& type : types) {
        if (!list.empty() && list.size() + type.size() + 4 > longest_line) {
            list += ", …";
            break;
        }
        list += (list.empty() ? "" : ", ") + type;
    }
    lines.push_back(list);
    for (auto& line : lines) line = shortened_line(line);
    return lines;
}

double scale_of(const GraphPage& page, double seconds) {
    if (!page.times || !(page.times->base.seconds > 0)) return 1;
    return 1 + std::min(most_growth, growth * std::sqrt(seconds / page.times->base.seconds) / 2);
}

BoxSize size_of(const std::vector<std::string>& lines, double scale) {
    size_t columns = 0;
    for (auto& line : lines) columns = std::max(columns, characters_of(line));
    double width = std::clamp(letter * double(columns) + box_margin, least_width, most_width);
    return {scale * width, scale * (line_height * double(lines.size()) + box_padding)};
}

// The operator whose kernel computes this one, too; -1: none.
NodeId main_operator(const GraphPage& page, NodeId node) {
    if (!page.times || page.times->step_of[size_t(node)] < 0) return -1;
    NodeId first = page.times->steps[size_t(page.times->step_of[size_t(node)])].nodes.front();
    return first == node ? -1 : first;
}

// Writes the data of the page.
class GraphData {
public:
    GraphData(std::ostream& stream, const GraphPage& page)
        : json_(stream, true), page_(page), graph_(*page.graph), names_(value_names(graph_)) {
        for (size_t i = 0, weight = 0; i < graph_.values().size(); ++i)
            if (graph_.value(ValueId(i)).is_constant()) weight_of_[ValueId(i)] = weight++;
    }

    void write() {
        json_.object([&] {
            json_.member("title", page_.title);
            json_.object_member("facts", [&] {
                for (auto& [name, fact] : page_.facts) json_.member(name, fact);
            });
            json_.object_member("docs", [&] {
                std::map<std::string_view, std::string_view> docs;
                for (auto& node : graph_.nodes()) docs[node.op->name] = node.op->doc;
                for (auto& [name, doc] : docs) json_.member(name, doc);
            });
            json_.objects_member("kinds", kinds, [&](auto& kind) {
                json_.member("fill", kind.fill);
                json_.member("meaning", kind.meaning);
            });
            json_.list_member("inputs", graph_.inputs(), [&](ValueId id) { write_value(id); });
            json_.list_member("outputs", graph_.outputs(), [&](ValueId id) { write_value(id); });
            json_.key("nodes");
            json_.list_of([&] {
                for (size_t i = 0; i < graph_.nodes().size(); ++i)
                    json_.element_begins(), write_node(NodeId(i));
            });
            json_.key("folds");
            json_.list_of([&] {
                for (size_t i = 0; i < page_.tree.folds.size(); ++i) json_.element_begins(), write_fold(i);
            });
            json_.key("profile");
            page_.times ? write_times(*page_.times) : json_.value(std::nullopt);
        });
    }

private:
    void write_spec(const TensorSpec& spec) {
        json_.member("dtype", name_of(spec.dtype));
        json_.member("shape", spec.shape.is_known() ? std::optional(text(spec.shape)) : std::nullopt);
    }
    void write_value(ValueId id) {
        if (id == no_value) return json_.value(std::nullopt);
        auto& value = graph_.value(id);
        json_.object([&] {
            json_.member("name", names_[size_t(id)]);
            write_spec(value.spec);
            if (value.producer >= 0) json_.member("node", value.producer);
            if (value.is_constant()) write_weight(page_.figures.weights[weight_of_.at(id)]);
        });
    }
    void write_weight(const WeightRow& row) {
        json_.object_member("weight", [&] {
            json_.member("bytes", row.spec.bytes());
            json_.member("mean", row.mean);
            json_.member("std", row.deviation);
            json_.member("min", row.least);
            json_.member("max", row.most);
            json_.member("zeros", row.spec.numel() ? double(row.zeros) / double(row.spec.numel()) : 0.0);
        });
    }
    void write_node(NodeId id) {
        auto& node = graph_.node(id);
        json_.line();
        json_.object([&] {
            json_.member("name", node_label(graph_, node));
            json_.member("op", node.op->name);
            json_.member("kind", kind_of(graph_, node));
            json_.member("fold", page_.tree.fold_of[size_t(id)]);
            json_.member("lines", page_.node_lines[size_t(id)]);
            json_.member("scale", page_.node_scales[size_t(id)]);
            json_.member("params", params_text(node.op->fields, node.params.get()));
            json_.member("flops", page_.figures.operators[size_t(id)].flops);
            json_.list_member("inputs", node.inputs, [&](ValueId value) { write_value(value); });
            json_.list_member("outputs", node.outputs, [&](ValueId value) { write_value(value); });
            if (page_.times) {
                json_.member("time", page_.times->seconds[size_t(id)]);
                json_.member("step", page_.times->step_of[size_t(id)]);
            }
        });
    }
    void write_fold(size_t index) {
        auto& fold = page_.tree.folds[index];
        json_.line();
        json_.object([&] {
            json_.member("name", fold.name);
            json_.member("parent", fold.parent);
            json_.member("operators", fold.nodes.size());
            json_.member("flops", flops_of(page_.figures, fold.nodes));
            json_.member("lines", page_.fold_lines[index]);
            json_.member("scale", page_.fold_scales[index]);
            json_.member("types", frequent_types(graph_, fold.nodes));
            if (page_.times) json_.member("time", seconds_of(page_, fold.nodes));
            json_.list_member("layouts", page_.layouts[index], [&](auto& layout) { write_layout(layout); });
        });
    }
    static double tenth(double value) { return std::round(value * 10) / 10; }
    void write_layout(const Layout& layout) {
        json_.object([&] {
            json_.member("width", tenth(layout.size.width));
            json_.member("height", tenth(layout.size.height));
            json_.objects_member("ports", layout.ports, [&](auto& port) {
                json_.member("label", port.label);
                json_.member("node", port.node);
            });
            // [0: operator, 1: fold, 2: port, its index, x, y, width, height]
            json_.list_member("boxes", layout.boxes, [&](auto& box) {
                double type = box.port >= 0 ? 2 : box.item.is_fold ? 1 : 0;
                json_.value(std::vector<double>{type, double(box.port >= 0 ? box.port : box.item.index),
                                                tenth(box.x), tenth(box.y), tenth(box.size.width),
                                                tenth(box.size.height)});
            });
            json_.list_member("edges", layout.edges, [&](auto& edge) {
                std::vector<double> numbers{double(edge.from), double(edge.to)};
                for (double point : edge.points) numbers.push_back(std::round(point));
                json_.value(numbers);
            });
        });
    }
    void write_times(const GraphTimes& times) {
        json_.object([&] {
            json_.member("file", times.file);
            json_.member("origin", profile::origin_text(times.profile));
            json_.member("page", page_.profile_page);
            profile::write(json_, times.base);
            json_.list_member("steps", times.steps, [&](auto& step) { write_step(times, step); });
            profile::write(json_, times.findings);
        });
    }
    void write_step(const GraphTimes& times, const TimedStep& timed) {
        auto& step = times.profile.steps[size_t(timed.step)];
        json_.line();
        json_.object([&] {
            json_.member("index", timed.step);
            json_.member("name", step.name);
            json_.member("type", step.type);
            json_.member("algorithm", step.algorithm);
            json_.member("time", timed.seconds);
            json_.member("share", timed.share);
            json_.member("operations", step.operations);
            json_.member("bytes", step.bytes);
            json_.member("of_roof", timed.limit.of_roof);
            json_.member("bound", profile::bound_name(timed.limit.bound));
            json_.member("reason", timed.limit.reason);
            json_.member("advice", timed.limit.advice);
            json_.member("nodes", timed.nodes);
        });
    }

    JsonWriter json_;
    const GraphPage& page_;
    const Graph& graph_;
    std::vector<std::string> names_;
    std::map<ValueId, size_t> weight_of_;  // index into the figures
};

}  // namespace

GraphPage prepare_page(const Graph& graph, std::string title, std::optional<GraphTimes> times) {
    if (graph_page.before_data.empty())
        throw DeviceError(
            "this program was built without the page of graphs: build it again where D3 is installed (apt "
            "install libjs-d3)");
    GraphPage page;
    page.title = std::move(title);
    page.graph = &graph;
    page.times = std::move(times);
    page.tree = fold_graph(graph);
    page.figures = figures_of(graph);
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        double seconds = page.times ? page.times->seconds[i] : 0;
        auto& lines = page.node_lines.emplace_back(lines_of(graph, NodeId(i)));
        if (seconds > 0)
            lines.push_back(time_line(page, seconds));
        else if (NodeId first = main_operator(page, NodeId(i)); first >= 0)
            lines.push_back(shortened_line("in " + node_label(graph, graph.node(first))));
        page.node_scales.push_back(scale_of(page, seconds));
    }
    for (auto& fold : page.tree.folds) {
        auto& lines = page.fold_lines.emplace_back(lines_of(page, fold));
        if (page.times && seconds_of(page, fold.nodes) > 0)
            lines.push_back(time_line(page, seconds_of(page, fold.nodes)));
        page.fold_scales.push_back(page.times ? scale_of(page, seconds_of(page, fold.nodes)) : 1);
    }
    page.layouts = place_folds(graph, page.tree, [&](FoldItem item) {
        auto index = size_t(item.index);
        return item.is_fold ? size_of(page.fold_lines[index], page.fold_scales[index])
                            : size_of(page.node_lines[index], page.node_scales[index]);
    });
    return page;
}

void write_page(std::ostream& stream, const GraphPage& page) {
    stream << graph_page.before_data;
    GraphData(stream, page).write();
    stream << graph_page.after_data;
}

cli::Json to_json(const GraphPage& page) {
    cli::Json folds = cli::Json::array();
    for (auto& fold : page.tree.folds) {
        cli::Json row{{"name", fold.name},
                      {"parent", fold.parent < 0 ? cli::Json(nullptr) : cli::Json(fold.parent)},
                      {"operators", fold.nodes.size()},
                      {"flops", flops_of(page.figures, fold.nodes)},
                      {"types", frequent_types(*page.graph, fold.nodes)}};
        if (page.times) row["time_s"] = seconds_of(page, fold.nodes);
        folds.push_back(std::move(row));
    }
    cli::Json result{{"folds", folds}};
    if (!page.times) return result;
    cli::Json steps = cli::Json::array();
    for (auto& timed : page.times->steps) {
        auto& step = page.times->profile.steps[size_t(timed.step)];
        cli::Json names = cli::Json::array();
        for (NodeId id : timed.nodes) names.push_back(node_label(*page.graph, page.graph->node(id)));
        steps.push_back(
            {{"name", step.name},
             {"type", step.type},
             {"algorithm", step.algorithm},
             {"time_s", timed.seconds},
             {"share", timed.share},
             {"of_roof", timed.limit.of_roof ? cli::Json(*timed.limit.of_roof) : cli::Json(nullptr)},
             {"bound", profile::bound_name(timed.limit.bound)},
             {"reason", timed.limit.reason},
             {"advice", timed.limit.advice},
             {"operators", names}});
    }
    result["profile"] = {{"file", page.times->file},
                         {"share_base", profile::to_json(page.times->base)},
                         {"steps", steps},
                         {"findings", profile::to_json(page.times->findings)}};
    return result;
}

void print_folds(std::ostream& stream, const GraphPage& page) {
    constexpr size_t most_rows = 24;
    std::vector<std::vector<std::string>> rows{{"part", "operators", "FLOPs", "contents"}};
    if (page.times) rows[0].insert(rows[0].begin() + 1, {"time", "share"});
    for (auto& item : page.tree.folds.front().items) {
        if (!item.is_fold || rows.size() > most_rows) continue;
        auto& fold = page.tree.folds[size_t(item.index)];
        rows.push_back({printable(fold.name), std::to_string(fold.nodes.size()),
                        cli::format_count(flops_of(page.figures, fold.nodes)),
                        joined(frequent_types(*page.graph, fold.nodes), ", ")});
        if (!page.times) continue;
        double seconds = seconds_of(page, fold.nodes);
        rows.back().insert(rows.back().begin() + 1, {profile::time_text(seconds),
                                                     profile::percent_text(page.times->base.share(seconds))});
    }
    if (rows.size() > 1) cli::print_table(stream, rows, {"contents", "FLOPs"});
    if (page.times) profile::print(stream, page.times->findings, page.times->base);
}

}  // namespace mge::dump
