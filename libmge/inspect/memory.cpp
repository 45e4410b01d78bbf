// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/memory.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
#include "libmge/base/files/pages.h"
#include "libmge/base/markup.h"
#include "libmge/compile/memory/plan_memory.h"
#include "libmge/device/device.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/inspect/value_names.h"

namespace mge {
namespace {

// Values in the same memory at the same time are one block.
using BlockKey = std::tuple<size_t, size_t, int, int>;  // offset, bytes, first, last
BlockKey key_of(const ValueReport& value) { return {value.offset, value.bytes, value.first, value.last}; }

std::vector<int> producers(const Program& program) {
    std::vector<int> result(program.values().size(), -1);
    for (size_t step = 0; step < program.steps().size(); ++step)
        for (ValueId id : program.steps()[step].outputs) result[size_t(id)] = int(step);
    return result;
}

void add_activations(const Program& program, MemoryTimeline& timeline) {
    auto labels = value_labels(program);
    auto produced = producers(program);
    std::map<BlockKey, size_t> known;
    for (size_t id = 0; id < labels.size(); ++id) {
        auto& value = program.values()[id];
        if (value.place != ValueReport::Place::arena || value.bytes == 0) continue;
        auto [it, is_new] = known.try_emplace(key_of(value), timeline.blocks.size());
        if (is_new) {
            int step = std::max(produced[id], 0);
            timeline.blocks.push_back({labels[id],
                                       operator_text(program.steps()[size_t(step)]),
                                       "activation",
                                       {},
                                       value.offset,
                                       value.bytes,
                                       value.first,
                                       value.last});
        }
        timeline.blocks[it->second].values.push_back(ValueId(id));
    }
}

std::pair<size_t, size_t> span_of(const MemoryTimeline& timeline) {
    return {timeline.arena, timeline.live.size()};
}

// The largest of KiB, MiB and GiB that does not exceed so many bytes.
struct ByteUnit {
    double bytes;
    const char* name;
};
ByteUnit unit_for(size_t bytes) {
    if (bytes >= size_t(1) << 30) return {double(1 << 30), " GiB"};
    return bytes >= size_t(1) << 20 ? ByteUnit{double(1 << 20), " MiB"} : ByteUnit{1024, " KiB"};
}

std::string size_text(size_t bytes) {
    TextStream stream;
    stream.precision(3);
    auto unit = unit_for(bytes);
    stream << double(bytes) / unit.bytes << unit.name;
    return stream.str();
}

// 1, 2 or 5 times a power of ten, so that the range has at most so many ticks.
double tick_distance(double range, double most) {
    double power = std::pow(10.0, std::floor(std::log10(std::max(range / most, 1e-9))));
    for (double factor : {1.0, 2.0, 5.0})
        if (range / (factor * power) <= most) return factor * power;
    return 10 * power;
}

// The part of a name that fits into so many pixels of a drawing; empty if it would be meaningless.
std::string fitting(const std::string& name, double pixels) {
    constexpr double pixels_of_letter = 6.2;
    auto letters = size_t(std::max(0.0, pixels / pixels_of_letter));
    if (name.size() <= letters) return name;
    if (letters < 4) return {};
    size_t end = letters - 1;
    while (end > 0 && (uint8_t(name[end]) & 0xc0) == 0x80) --end;
    return name.substr(0, end) + "…";
}

// Places of the drawing, in pixels.
struct Frame {
    static constexpr double left = 90, width = 1080, curve_top = 60, curve_height = 140, map_top = 250,
                            map_height = 420, total_width = 1200, total_height = 730;
    size_t steps, bytes;
    double x(double step) const { return left + width * step / double(std::max<size_t>(steps, 1)); }
    double share(double value) const { return value / double(std::max<size_t>(bytes, 1)); }
    double curve_y(double value) const { return curve_top + curve_height * (1 - share(value)); }
    double map_y(double value) const { return map_top + map_height * (1 - share(value)); }
};

// Neighbours in time differ in colour; workspaces are orange.
std::string colour(const MemoryBlockUse& block, size_t index) {
    if (block.kind == "workspace") return "#e8963c";
    constexpr const char* shades[] = {"#4c78a8", "#72b7b2", "#54a24b", "#7b6fb5", "#5aa5d6", "#8cb369"};
    return shades[index % std::size(shades)];
}

void draw_axes(std::ostream& svg, const Frame& f) {
    auto line = [&](double x1, double y1, double x2, double y2, const char* style) {
        svg << "<line x1=\"" << x1 << "\" y1=\"" << y1 << "\" x2=\"" << x2 << "\" y2=\"" << y2
            << "\" style=\"" << style << "\"/>\n";
    };
    auto words = [&](double x, double y, const char* anchor, const std::string& content) {
        svg << "<text x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"" << anchor << "\">"
            << as_markup(content) << "</text>\n";
    };
    words(f.left, f.curve_top - 12, "start", "bytes in use at each step");
    words(f.left, f.map_top - 12, "start", "place in the arena (address upwards, steps to the right)");
    auto unit = unit_for(f.bytes);
    double range = double(f.bytes) / unit.bytes, distance = tick_distance(range, 5);
    for (int i = 0; i * distance <= range; ++i) {
        double bytes = i * distance * unit.bytes;
        for (double y : {f.curve_y(bytes), f.map_y(bytes)}) {
            line(f.left, y, f.left + f.width, y, "stroke:#ddd");
            words(f.left - 8, y + 4, "end", text(i * distance, unit.name));
        }
    }
    auto every = size_t(std::max(1.0, tick_distance(double(f.steps), 12)));
    for (size_t step = 0; step < f.steps; step += every)
        words(f.x(double(step) + 0.5), f.map_top + f.map_height + 18, "middle", std::to_string(step));
    words(f.left + f.width / 2, f.map_top + f.map_height + 40, "middle", "step");
}

// Swatches are paths: a rectangle is a block.
void draw_legend(std::ostream& svg, const Frame& f) {
    double x = f.left + 360, y = f.map_top - 12;
    auto swatch = [&](const char* style, const char* meaning, double pixels) {
        svg << "<path d=\"M" << x << ' ' << y - 4 << "h14\" style=\"" << style << "\"/>\n<text x=\"" << x + 20
            << "\" y=\"" << y << "\">" << meaning << "</text>\n";
        x += pixels;
    };
    swatch("stroke:#4c78a8;stroke-width:10;stroke-opacity:.8", "values (colours distinguish neighbours)",
           260);
    swatch("stroke:#e8963c;stroke-width:10;stroke-opacity:.8", "workspaces of kernels", 170);
    swatch("stroke:#c33;stroke-dasharray:4 3", "the step of the peak", 150);
}

void draw_curve(std::ostream& svg, const Frame& f, const MemoryTimeline& t) {
    svg << "<path style=\"fill:#c6d8ea;stroke:#4c78a8\" d=\"M" << f.x(0) << ' ' << f.curve_y(0);
    for (size_t i = 0; i < t.live.size(); ++i)
        for (size_t side : {i, i + 1})
            svg << " L" << f.x(double(side)) << ' ' << f.curve_y(double(t.live[i]));
    svg << " L" << f.x(double(t.live.size())) << ' ' << f.curve_y(0) << " Z\"/>\n";
}

// The name, and below it the size, in boxes that are large enough.
void draw_label(std::ostream& svg, const Frame& f, const MemoryBlockUse& b) {
    constexpr double line = 13, margin = 4;
    double x = f.x(b.first) + margin, y = f.map_y(double(b.offset + b.bytes));
    double width = f.x(b.last + 1) - x - margin, height = f.map_y(double(b.offset)) - y;
    std::string size = size_text(b.bytes), upper = fitting(b.name, width), lower = size;
    // For a workspace, the position shows the owner. If the size is too wide, the unit is below the number.
    if (b.kind == "workspace") {
        size_t blank = size.find(' ');
        bool is_too_wide = fitting(size, width) != size;
        upper = is_too_wide ? size.substr(0, blank) : size;
        lower = is_too_wide ? size.substr(blank + 1) : "";
        if (fitting(upper, width) != upper || (is_too_wide && height < 2 * line + 4)) return;
    }
    if (height < line + 2 || upper.empty()) return;
    bool has_two_lines = !lower.empty() && height >= 2 * line + 4 && fitting(lower, width) == lower;
    double first = y + height / 2 + (has_two_lines ? -2 : 4);
    auto words = [&](double at, const std::string& content) {
        svg << "<text x=\"" << x << "\" y=\"" << at
            << "\" font-size=\"11\" fill=\"#102030\" pointer-events=\"none\">" << as_markup(content)
            << "</text>\n";
    };
    words(first, upper);
    if (has_two_lines) words(first + line, lower);
}

void draw_blocks(std::ostream& svg, const Frame& f, const MemoryTimeline& t) {
    for (size_t i = 0; i < t.blocks.size(); ++i) {
        auto& b = t.blocks[i];
        double x = f.x(b.first), y = f.map_y(double(b.offset + b.bytes));
        svg << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << std::max(0.5, f.x(b.last + 1) - x)
            << "\" height=\"" << std::max(0.5, f.map_y(double(b.offset)) - y)
            << "\" style=\"fill:" << colour(b, i) << ";fill-opacity:.8;stroke:#fff;stroke-width:.5\"><title>"
            << as_markup(b.name) << "\n"
            << b.kind << " of " << as_markup(b.owner) << "\n"
            << size_text(b.bytes) << " at " << b.offset << ", steps " << b.first << " to " << b.last
            << "</title></rect>\n";
    }
    for (auto& b : t.blocks) draw_label(svg, f, b);
}

void draw_peak(std::ostream& svg, const Frame& f, const MemoryTimeline& t, const Program& program) {
    if (t.peak_step < 0) return;
    constexpr double width_left = 700;  // right of the curve's label
    double x = f.x(t.peak_step + 0.5);
    std::string where = text("peak ", size_text(t.peak), " at step ", t.peak_step, ", ",
                             operator_text(program.steps()[size_t(t.peak_step)]));
    svg << "<line x1=\"" << x << "\" y1=\"" << f.curve_top << "\" x2=\"" << x << "\" y2=\""
        << f.map_top + f.map_height << "\" style=\"stroke:#c33;stroke-dasharray:4 3\"/>\n<text x=\""
        << f.left + f.width << "\" y=\"" << f.curve_top - 12 << "\" text-anchor=\"end\" fill=\"#c33\">"
        << as_markup(fitting(where, width_left)) << "</text>\n";
}

// Weights as loaded, in the program or in the graph that is kept with it.
size_t weights_of(const MemoryReport& m, const Graph* held) {
    return held ? held_weights(*held) + m.weights_in_file : m.weights;
}

}  // namespace

MemoryTimeline memory_timeline(const Program& program) {
    MemoryTimeline result;
    MemoryReport memory = program.memory();
    result.arena = memory.plan;
    result.weights = memory.weights;
    result.packed_weights = memory.packed_weights;
    result.inputs_outputs = memory.inputs_outputs;
    add_activations(program, result);
    auto& steps = program.steps();
    for (size_t i = 0; i < steps.size(); ++i)
        if (steps[i].workspace)
            result.blocks.push_back({"workspace of " + operator_text(steps[i]),
                                     operator_text(steps[i]),
                                     "workspace",
                                     {},
                                     steps[i].workspace_offset,
                                     steps[i].workspace,
                                     int(i),
                                     int(i)});
    // A graph output may live on behind the last step.
    for (auto& block : result.blocks) block.last = std::min(block.last, std::max(0, int(steps.size()) - 1));
    std::stable_sort(result.blocks.begin(), result.blocks.end(), [](auto& a, auto& b) {
        return std::tuple(a.first, a.offset) < std::tuple(b.first, b.offset);
    });
    result.live.assign(steps.size(), 0);
    for (auto& block : result.blocks)
        for (int step = block.first; step <= block.last; ++step)
            result.live[size_t(step)] += align_up(block.bytes);
    for (size_t i = 0; i < result.live.size(); ++i)
        if (result.live[i] > result.peak || result.peak_step < 0) {
            result.peak = result.live[i];
            result.peak_step = int(i);
        }
    return result;
}

std::string to_svg(const MemoryTimeline& t, const Program& program) {
    auto [bytes, steps] = span_of(t);
    Frame f{steps, bytes};
    TextStream svg;
    svg << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << f.total_width << "\" height=\""
        << f.total_height << "\" viewBox=\"0 0 " << f.total_width << ' ' << f.total_height
        << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
           "fill=\"#fff\"/>\n<text x=\""
        << f.left << "\" y=\"24\" font-size=\"15\">Memory over the steps: arena " << size_text(t.arena)
        << ", weights " << size_text(t.weights) << ", packed weights " << size_text(t.packed_weights)
        << ", inputs and outputs " << size_text(t.inputs_outputs) << "</text>\n";
    draw_axes(svg, f);
    draw_legend(svg, f);
    draw_curve(svg, f, t);
    draw_blocks(svg, f, t);
    draw_peak(svg, f, t, program);
    svg << "</svg>\n";
    return std::move(svg).str();
}

std::vector<std::span<const std::byte>> constant_pieces(const Graph& graph, bool mapped) {
    std::map<const void*, size_t> bytes;
    for (auto& [path, part] : with_inner_graphs(graph))
        for (auto& value : part->values())
            if (value.is_constant() && is_mapped(value.constant.address()) == mapped)
                bytes.emplace(value.constant.address(), value.spec.bytes());
    std::vector<std::span<const std::byte>> pieces;
    for (auto [address, size] : bytes) pieces.push_back({static_cast<const std::byte*>(address), size});
    return pieces;
}

size_t held_weights(const Graph& graph) {
    size_t total = 0;
    for (auto piece : constant_pieces(graph, false)) total += piece.size();
    return total;
}

size_t graph_bytes(const Graph& graph) {
    // Operators with their values, names and parameters, over the graphs of seven nets.
    constexpr size_t of_node = 1200;
    size_t nodes = 0;
    for (auto& [path, part] : with_inner_graphs(graph)) nodes += part->nodes().size();
    return of_node * nodes;
}

size_t predicted_bytes(const Program& program, const Graph* held) {
    MemoryReport m = program.memory();
    return weights_of(m, held) + m.made_weights + m.packed_weights + m.program +
           (held ? graph_bytes(*held) : 0) + m.plan + m.inputs_outputs;
}

void check_memory_limit(const Program& program, size_t limit, const Graph* held) {
    size_t needed = predicted_bytes(program, held);
    if (needed <= limit) return;
    MemoryReport m = program.memory();
    MemoryTimeline timeline = memory_timeline(program);
    std::string where = "it has no steps";
    if (timeline.peak_step >= 0)
        where = text("the most is in use at step ", timeline.peak_step, ", ",
                     operator_text(program.steps()[size_t(timeline.peak_step)]));
    throw MemoryError(text("the program needs ", needed, " bytes (weights ", weights_of(m, held),
                           ", made weights ", m.made_weights, ", packed weights ", m.packed_weights,
                           ", program ", m.program + (held ? graph_bytes(*held) : 0), ", arena ", m.plan,
                           ", inputs and outputs ", m.inputs_outputs, "), the limit is ", limit, "; ",
                           where));
}

}  // namespace mge
