// SPDX-License-Identifier: Apache-2.0
// Chooses the memory layout of a network's images. Convolutions are up to several times faster on blocked or
// channels-last images than on plain ones, but every change of layout costs a pass over the data. So one
// layout is spread over as much of the graph as possible. Convolutions use it if a kernel supports it.
// Operators after them follow if they can compute in it (elementwise operators, joins, reductions over pixels
// by their physical form; pooling by its kernels). `reorder` nodes are only at the borders: one per value,
// for any number of readers. The choice is the cheapest whole graph, by measured times if kernels are
// measured anyway (fast-run), otherwise by an estimate of arithmetic and traffic. On GPUs the candidates are
// channels last and no change, if a library computes in it.

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/device/device.h"
#include "libmge/graph/infer.h"
#include "libmge/graph/node_problem.h"
#include "libmge/graph/rewrite.h"
#include "libmge/op/physical_form.h"
#include "libmge/op/view_offsets.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/nn/convolution/small.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "libmge/ops/shape/image.h"
#include "libmge/ops/shape/layout/reorder.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

// Properties of a layout for the estimate: the part of the peak that convolutions reach in it (measured with
// oneDNN: blocked 1, channels last 0.8, plain 0.4; blocks of 8 are half a vector of AVX-512; with our own
// loops for small images, plain 1), and the speedup over vectors if the processor has tiles (AMX) for the
// dtype, which oneDNN uses only for channels last.
struct Candidate {
    std::string_view layout;
    double efficiency;
    double with_avx512;
    double with_tiles;
};
constexpr std::array candidates{
    Candidate{"nChw16c", 1.0, 1.0, 1.0},
    Candidate{"nChw8c", 0.9, 0.5, 0.5},
    Candidate{"nhwc", 0.8, 0.8, 3.0},
};
// Without AVX-512 only 1×1 convolutions support blocks of 16 channels; to detect that layer by layer, oneDNN
// tries all its implementations twice for each.
bool is_worth_a_try(const Candidate& candidate) {
    return candidate.layout != "nChw16c" || cpu_isa() >= Isa::avx512;
}
// On a GPU there is one besides the plain one, and no arithmetic in the choice: engines compute alike, but
// copy images into the layout that suits them, and back.
constexpr std::array<std::string_view, 1> gpu_layouts{"nhwc"};
constexpr double gpu_bytes_per_ms = 1e9, gpu_launch_ms = 0.002;
constexpr double plain_efficiency = 0.4, small_plain_efficiency = 1;
constexpr double peak_flops_per_ms = 1e8, bytes_per_ms = 1e7, launch_ms = 0.002;

bool is_image(const TensorSpec& spec) {
    return spec.shape.is_known() && spec.shape.rank() == ops::image_rank && spec.dtype != DType::none;
}

bool has_one_pixel(const TensorSpec& image) { return image.shape[2] == 1 && image.shape[3] == 1; }

bool packs_weights(const PassOptions& options) { return options.switches.pack_weights.value_or(true); }

// Floating-point operations of a convolution, with channels rounded up to those stored in the layout.
double convolution_flops(const TensorSpec& weight, const TensorSpec& output) {
    double padding =
        double(output.bytes()) / double(std::max<size_t>(1, size_t(output.numel()) * size_of(output.dtype)));
    double per_output = 1;
    int channels_at = weight.shape.rank() - 3;  // (OC, IC, kh, kw) or (G, OC/G, IC/G, kh, kw)
    for (int i = std::max(channels_at, 0); i < weight.shape.rank(); ++i)
        per_output *= double(weight.shape[i]);
    return 2 * per_output * double(output.numel()) * padding;
}

// The graph with one layout spread over it.
class Spread {
public:
    Spread(const Graph& source, std::string_view layout, const PassOptions& options)
        : source_(source),
          name_(layout),
          layout_(Layout::named(layout)),
          options_(options),
          rewrite_(source) {}

    Graph run() {
        for (size_t i = 0; i < source_.nodes().size(); ++i) place(NodeId(i));
        std::vector<ValueId> outputs;
        for (ValueId id : source_.outputs()) outputs.push_back(in_layout(rewrite_(id), {}));
        Graph graph = rewrite_.finish();
        graph.set_outputs(std::move(outputs));
        return graph;
    }

private:
    const TensorSpec& spec(ValueId target) { return rewrite_.target().value(target).spec; }

    // The target's value in the layout: itself, or a reorder of it.
    ValueId in_layout(ValueId id, const Layout& layout) {
        if (id == no_value || spec(id).layout == layout) return id;
        auto key = std::pair(id, layout.name());
        auto it = reordered_.find(key);
        if (it != reordered_.end()) return it->second;
        auto params = std::make_shared<ops::Reorder::Params>();
        if (!layout.is_plain()) params->layout = name_;
        TensorSpecs specs{{spec(id).dtype, spec(id).shape, layout}};
        NodeId node = rewrite_.target().add_node(ops::Reorder::info, params, {id}, {}, &specs);
        ValueId result = rewrite_.target().node(node).outputs[0];
        reordered_[key] = result;
        reordered_[{result, spec(id).layout.name()}] = id;
        return result;
    }

    // One combination of layouts for the operands of a node.
    struct Form {
        TensorSpecs inputs, outputs;
    };

    TensorSpecs plain_outputs(const Node& node) const {
        TensorSpecs specs;
        for (ValueId id : node.outputs) specs.push_back(source_.value(id).spec);
        return specs;
    }
    TensorSpecs laid_out(TensorSpecs outputs, const ImageLayouts& layouts) const {
        for (size_t i = 0; i < outputs.size(); ++i)
            if (has_operand(layouts.outputs, i) && is_image(outputs[i])) outputs[i].layout = layout_;
        return outputs;
    }

    // Ways worth a try, the best first; plain operands, which always work, are not among them.
    std::vector<Form> forms(const Node& node, const std::vector<ValueId>& inputs) {
        TensorSpecs plain, present;
        bool any_laid_out = false;
        for (ValueId id : inputs) {
            present.push_back(id == no_value ? TensorSpec{} : spec(id));
            any_laid_out = any_laid_out || !present.back().layout.is_plain();
            plain.push_back(present.back());
            plain.back().layout = {};
        }
        TensorSpecs out = plain_outputs(node);
        const ImageLayouts layouts = node.op->layouts ? *node.op->layouts : ImageLayouts{};
        if (layouts.is_preferred) {
            if (!is_image(plain[0]) || !is_image(out[0])) return {};
            bool has_same_order = name_ == "nhwc" && has_one_pixel(plain[0]) && has_one_pixel(out[0]);
            if (has_same_order && !any_laid_out) return {};
            Form from_plain{plain, laid_out(out, layouts)}, through = from_plain, to_plain{plain, out};
            through.inputs[0].layout = to_plain.inputs[0].layout = layout_;
            for (size_t i = 1; i < plain.size(); ++i)  // a residual has the layout of the result
                if (has_operand(layouts.inputs, i) && !plain[i].is_absent())
                    from_plain.inputs[i].layout = through.inputs[i].layout = layout_;
            // The first convolution reads a few colours from a plain image.
            bool is_first = present[0].layout.is_plain() && present[0].shape[1] < 8;
            if (is_first) return {from_plain, through};
            return {through, to_plain};
        }
        if (!any_laid_out) return {};
        // Inputs that are whole images follow the layout; those with one value per channel stay plain.
        Form follow{present, laid_out(out, layouts)};
        for (size_t i = 0; i < present.size(); ++i)
            if (has_operand(layouts.inputs, i) && is_image(present[i]) && is_image(out[0]) &&
                present[i].shape[1] > 1 && (present[i].shape[2] > 1 || present[i].shape[3] > 1))
                follow.inputs[i].layout = layout_;
        Form to_plain{present, out};
        return {follow, to_plain};
    }

    bool works(const Node& node, const Form& form, const std::vector<ValueId>& inputs) {
        DeviceId device = running_place(source_, node);
        Operands operands{form.inputs, form.outputs, {}, device, source_.place(node)};
        for (ValueId id : inputs) {
            Tensor constant = constant_of(rewrite_.target(), id);
            bool packs = constant && packs_weights(options_);
            operands.constants.push_back(packs ? address_for(device, constant) : nullptr);
        }
        if (physical_form(*node.op, node.params, operands.inputs, operands.outputs)) return true;
        // An elementwise kernel would take the layout for a shape; only its physical form is right.
        if (!node.op->layouts) return false;
        return NodeProblem(*node.op, node.params, std::move(operands), options_.threads, options_.precision)
            .is_supported(options_.select);
    }

    bool is_settled(const Node& node) const {
        for (auto* ids : {&node.inputs, &node.outputs})
            for (ValueId id : *ids)
                if (id != no_value && !source_.value(id).spec.shape.is_known()) return false;
        return true;
    }

    // Moving f16 and writing f32 to its place is less work than moving f32.
    bool widens_at_the_end(const Node& node) const {
        if (node.op != &ops::Convert::info) return false;
        auto &from = source_.value(node.inputs[0]).spec, &to = source_.value(node.outputs[0]).spec;
        auto& outputs = source_.outputs();
        return size_of(to.dtype) > size_of(from.dtype) &&
               std::find(outputs.begin(), outputs.end(), node.outputs[0]) != outputs.end();
    }

    void place(NodeId id) {
        auto& node = source_.node(id);
        auto inputs = rewrite_(node.inputs);
        if (is_settled(node) && !widens_at_the_end(node))
            for (auto& form : forms(node, inputs)) {
                if (!works(node, form, inputs)) continue;
                for (size_t i = 0; i < inputs.size(); ++i)
                    inputs[i] = in_layout(inputs[i], form.inputs[i].layout);
                return add(node, std::move(inputs), form.outputs);
            }
        for (auto& input : inputs) input = in_layout(input, {});
        add(node, std::move(inputs), plain_outputs(node));
    }

    void add(const Node& node, std::vector<ValueId> inputs, const TensorSpecs& specs) {
        NodeId added = rewrite_.target().add_node(*node.op, node.params, std::move(inputs), node.name, &specs,
                                                  &source_.place(node));
        for (size_t i = 0; i < node.outputs.size(); ++i)
            rewrite_.replace(node.outputs[i], rewrite_.target().node(added).outputs[i]);
    }

    const Graph& source_;
    std::string_view name_;
    Layout layout_;
    const PassOptions& options_;
    Rewrite rewrite_;
    std::map<std::pair<ValueId, std::string>, ValueId> reordered_;
};

bool is_laid_out(const Graph& graph) {
    return std::ranges::any_of(graph.values(), [](auto& value) { return !value.spec.layout.is_plain(); });
}

// The factors of a convolution or one of its gradients: the weight (or its gradient) and the result (or its
// gradient).
struct Convolution {
    TensorSpec weight, result;
};
std::optional<Convolution> convolution_of(const Graph& graph, const Node& node) {
    auto in = [&](size_t i) { return graph.value(node.inputs[i]).spec; };
    auto out = graph.value(node.outputs[0]).spec;
    bool is_forward = node.op == &ops::Conv2d::info || node.op == &ops::QuantizedConv2d::info;
    if (is_forward) return Convolution{in(1), out};
    if (node.op == &ops::Conv2dBackwardData::info) return Convolution{in(0), in(1)};
    if (node.op == &ops::Conv2dBackwardWeight::info) return Convolution{out, in(1)};
    return std::nullopt;
}

double efficiency_of(const TensorSpec& result, Precision precision) {
    bool in_bf16 =
        result.dtype == DType::bf16 || (result.dtype == DType::f32 && precision != Precision::strict);
    bool has_tiles = in_bf16 && cpu_isa() >= Isa::amx;
    for (auto& candidate : candidates)
        if (result.layout == Layout::named(candidate.layout))
            return has_tiles                  ? candidate.with_tiles
                   : cpu_isa() >= Isa::avx512 ? candidate.with_avx512
                                              : candidate.efficiency;
    return plain_efficiency;
}

bool is_small_and_plain(const Graph& graph, const Node& node) {
    if (node.op != &ops::Conv2d::info) return false;
    auto &x = graph.value(node.inputs[0]).spec, &weight = graph.value(node.inputs[1]).spec;
    auto& params = *static_cast<const ops::Conv2d::Params*>(node.params.get());
    return x.dtype == DType::f32 && x.layout.is_plain() &&
           graph.value(node.outputs[0]).spec.layout.is_plain() &&
           ops::is_small_convolution(
               ops::conv_geometry(node.op->name, ops::window_of(params), x.shape, weight.shape));
}

bool runs_on_gpu(const Graph& graph) {
    auto prefers = [](auto& node) { return node.op->layouts && node.op->layouts->is_preferred; };
    auto found = std::ranges::find_if(graph.nodes(), prefers);
    if (found == graph.nodes().end()) return false;
    DeviceId place = running_place(graph, *found);
    return !place.is_host() && device(place).compute_capability() > 0;
}

// The bytes of images that a convolution on a GPU copies to the layout of its engines: those with tensor
// cores need channels last, those of strict f32 plain images.
double copied_bytes(const Graph& graph, const Node& node, Precision precision) {
    auto product = convolution_of(graph, node);
    if (!product || !product->result.shape.is_known()) return 0;
    bool has_tensor_cores = product->result.dtype != DType::f32 || precision != Precision::strict;
    double bytes = 0;
    for (auto* ids : {&node.inputs, &node.outputs})
        for (ValueId id : *ids) {
            if (id == no_value) continue;
            auto& spec = graph.value(id).spec;
            bool is_weight = !is_image(spec) || spec.shape == product->weight.shape;
            bool is_wanted = spec.layout.is_plain() != has_tensor_cores;
            if (!is_weight && !has_one_pixel(spec) && !is_wanted) bytes += 2 * double(spec.bytes());
        }
    return bytes;
}

// With `per_item` as for a batch of one.
double estimate(const Graph& graph, bool per_item, Precision precision) {
    const bool on_gpu = runs_on_gpu(graph);
    const double launch = on_gpu ? gpu_launch_ms : launch_ms,
                 speed = on_gpu ? gpu_bytes_per_ms : bytes_per_ms;
    double total = 0;
    for (auto& node : graph.nodes()) {
        auto& output = graph.value(node.outputs[0]).spec;
        double items = per_item && is_image(output) ? double(std::max<int64_t>(output.shape[0], 1)) : 1;
        if (node.op == &ops::Reorder::info) total += launch + 2 * double(output.bytes()) / speed / items;
        if (on_gpu) {
            if (double bytes = copied_bytes(graph, node, precision)) total += launch + bytes / speed / items;
            continue;
        }
        auto product = convolution_of(graph, node);
        if (!product || !product->result.shape.is_known()) continue;
        double efficiency = is_small_and_plain(graph, node) ? small_plain_efficiency
                                                            : efficiency_of(product->result, precision);
        total +=
            convolution_flops(product->weight, product->result) / (peak_flops_per_ms * efficiency) / items;
    }
    return total;
}

bool is_view(const Node& node, const Operands& operands) {
    return !is_unresolved(node) && !operands.inputs.empty() &&
           !view_offsets(*node.op, node.params.get(), operands.inputs[0], operands.outputs).empty();
}

// A node whose time depends on the choice.
struct Affected {
    NodeProblem problem;
    double flops = 0;  // those of a convolution
};

std::vector<Affected> affected(const Graph& graph, const PassOptions& options) {
    std::vector<Affected> problems;
    problems.reserve(graph.nodes().size());
    for (auto& node : graph.nodes()) {
        if (node.op->traits.control || node.op->traits.effect) continue;
        Operands operands = operands_of(graph, node, packs_weights(options));
        auto is_known = [](auto& s) { return s.is_absent() || s.shape.is_known(); };
        if (!std::ranges::all_of(operands.inputs, is_known) ||
            !std::ranges::all_of(operands.outputs, is_known) || is_view(node, operands))
            continue;
        if (std::ranges::none_of(operands.inputs, is_image) &&
            std::ranges::none_of(operands.outputs, is_image))
            continue;
        auto product = convolution_of(graph, node);
        NodeProblem problem(*node.op, node.params, std::move(operands), options.threads, options.precision);
        problems.push_back(
            {std::move(problem), product ? convolution_flops(product->weight, product->result) : 0});
    }
    return problems;
}

// A graph that is measured from front to back.
class Measured {
public:
    Measured(const Graph& graph, const PassOptions& options) : problems_(affected(graph, options)) {
        for (auto& affected : problems_) all_flops_ += affected.flops;
    }
    size_t size() const { return problems_.size(); }
    bool is_whole() const { return next_ == problems_.size(); }
    const Cost& cost() const { return cost_; }
    // The share of the convolutions that is measured.
    double part() const { return all_flops_ > 0 ? flops_ / all_flops_ : 1; }
    // Measures up to and including the next convolution; false if a time is unknown.
    template <class Report>
    bool add_convolution(const PassOptions& options, Report report) {
        for (bool is_convolution = false; !is_whole() && !is_convolution; ++next_) {
            auto& [problem, flops] = problems_[next_];
            report();
            auto cost = problem.find_cost(options.select);
            if (!cost) return false;
            cost_ += *cost;
            flops_ += flops;
            is_convolution = flops > 0;
        }
        return true;
    }

private:
    std::vector<Affected> problems_;
    size_t next_ = 0;
    double flops_ = 0, all_flops_ = 0;
    Cost cost_;
};

// Whether a graph that is slower than the other after as many convolutions would remain so even if the rest
// took a much smaller time in it; the allowance is smaller if the estimate is slower, too.
bool is_hopeless(const Measured& measured, const Measured& ahead, bool is_estimated_slower) {
    constexpr double least_part = 0.1, gain = 0.3, gain_of_slower = 0.15;
    double part = std::min(measured.part(), ahead.part()), best = ahead.cost().milliseconds;
    if (part < least_part) return false;
    double to_gain = (is_estimated_slower ? gain_of_slower : gain) * best * (1 - part) / part;
    return measured.cost().milliseconds - best > to_gain;
}

constexpr Cost hopeless{std::numeric_limits<double>::infinity(), 0};

// By graph, the sum of the measured times, or hopeless; nullopt if a time is unknown. All graphs are measured
// side by side, from front to back, so that a busy period of the machine affects all of them, and a graph
// that is far behind is not measured to its end. Later readers of the times stop at the same points.
std::optional<std::vector<Cost>> measured_costs(const std::vector<Graph>& graphs,
                                                const std::vector<double>& estimates,
                                                const PassOptions& options) {
    std::vector<Measured> measured;
    std::vector<size_t> running;
    size_t total = 0, done = 0;
    for (auto& graph : graphs) {
        running.push_back(measured.size());
        total += measured.emplace_back(graph, options).size();
    }
    auto report = [&] {
        if (options.progress) options.progress({"comparing layouts", done++, total, {}});
    };
    auto milliseconds = [&](size_t g) { return measured[g].cost().milliseconds; };
    while (std::ranges::any_of(running, [&](size_t g) { return !measured[g].is_whole(); })) {
        for (size_t g : running)
            if (!measured[g].add_convolution(options, report)) return std::nullopt;
        size_t ahead = std::ranges::min(running, {}, milliseconds);
        std::erase_if(running, [&](size_t g) {
            return g != ahead && is_hopeless(measured[g], measured[ahead], estimates[g] > estimates[ahead]);
        });
    }
    std::vector<Cost> costs(graphs.size(), hopeless);
    for (size_t g : running) costs[g] = measured[g].cost();
    return costs;
}

// Which graph to take: by the estimate, unless another was measured and is surely faster.
size_t cheapest(const std::vector<Graph>& graphs, const PassOptions& options) {
    bool per_item = options.select.same_between_batches;  // then not even the layout depends on the batch
    std::vector<double> estimates;
    for (auto& graph : graphs) estimates.push_back(estimate(graph, per_item, options.precision));
    auto estimated = size_t(std::ranges::min_element(estimates) - estimates.begin());
    if (!options.select.profile || per_item) return estimated;
    auto costs = measured_costs(graphs, estimates, options);
    if (!costs) return estimated;
    auto fastest = size_t(std::ranges::min_element(*costs, {}, &Cost::milliseconds) - costs->begin());
    return is_surely_faster((*costs)[fastest], (*costs)[estimated]) ? fastest : estimated;
}

}  // namespace

Graph choose_layout(Graph graph, const PassOptions& options) {
    if (!prefers_layouts(graph) || options.layout == "nchw") return graph;
    // A layout that no kernel supports must not affect the engine's own choice.
    if (options.layout != "auto")
        if (Graph spread = Spread(graph, options.layout, options).run(); is_laid_out(spread)) return spread;
    std::vector<Graph> graphs;
    std::vector<std::string_view> layouts;
    auto add = [&](std::string_view layout) {
        if (Graph spread = Spread(graph, layout, options).run(); is_laid_out(spread)) {
            graphs.push_back(std::move(spread));
            layouts.push_back(layout);
        }
    };
    if (runs_on_gpu(graph))
        std::ranges::for_each(gpu_layouts, add);
    else
        for (auto& candidate : candidates)
            if (is_worth_a_try(candidate)) add(candidate.layout);
    size_t plain = graphs.size();
    graphs.push_back(graph);
    size_t chosen = cheapest(graphs, options);
    if (chosen == plain || !options.select.cache) return std::move(graphs[chosen]);
    // For graphs that were not chosen, the cached times suffice.
    PassOptions looks = options;
    looks.select.cache = nullptr;
    return Spread(graph, layouts[chosen], looks).run();
}

}  // namespace mge
