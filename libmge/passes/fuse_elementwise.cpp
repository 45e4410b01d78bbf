// SPDX-License-Identifier: Apache-2.0
// Regions of elementwise operators become one step, so that intermediate values stay in the L1 cache instead
// of going through memory: a `fused_elementwise`, or a `fused_region` if it also contains other operators. A
// node fuses the producer of an input if that value has no other readers and the shape of the result (a
// smaller one would be recomputed for every position to which it is broadcast). Scalar constants become part
// of the program. A half that is widened for several elementwise readers is widened by each of them, because
// reading it takes half of the time of reading the float.
//
// A region may end with a reduction, and may contain a transposition wherever an elementwise operator reads
// its result: later operators then read along other axes. If a switch requests these, they are fused wherever
// it is legal. If all are unset, they are fused if it pays: a reduction unless it may read images in a
// convolution's layout, and a transposition if it keeps long rows contiguous.
//
// The pass is not a table of rules (graph/match.h), because the limits count the steps and inputs that a
// region (passes/region.h) has collected so far.

#include <algorithm>
#include <iterator>

#include "libmge/base/log.h"
#include "libmge/graph/node_problem.h"
#include "libmge/graph/readers.h"
#include "libmge/graph/rewrite.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/fused/fused_region.h"
#include "libmge/ops/shape/image.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reduce_to_shape.h"
#include "libmge/passes/other_shapes.h"
#include "libmge/passes/pass.h"
#include "libmge/passes/region.h"

namespace mge {
namespace {

// Programs are kept short: every input and every step occupies a block of the cache.
constexpr size_t max_steps = 16, max_inputs = 8;
// Shorter rows are transposed faster by a separate step, which can read in the order of memory (measured:
// fused, rows of 256 bytes take 1.3 times as long, those of 4 KB 0.93 times).
constexpr int64_t least_row_bytes = 4096;

enum class FusionPolicy : uint8_t { never, where_it_pays, wherever_legal };
FusionPolicy fusion_policy(const std::optional<bool>& own, const std::optional<int>& jit, int level) {
    if (own) return *own ? FusionPolicy::wherever_legal : FusionPolicy::never;
    if (jit) return *jit == level ? FusionPolicy::wherever_legal : FusionPolicy::never;
    return FusionPolicy::where_it_pays;
}

// The reduction that a node is.
struct Reduction {
    std::string_view name;
    ops::ReduceParams params;
};

// A sum to a shape keeps the rank, or drops leading axes and keeps all others in full. An axis of size 1 may
// be larger at another shape: it is summed as well, which has no effect here.
std::optional<Reduction> reduction_to_shape(const Shape& from, const Shape& to, bool fixed_shapes) {
    Reduction sum{ops::Sum::name, {{}, from.rank() == to.rank()}};
    int dropped = from.rank() - to.rank();
    for (int axis = 0; axis < from.rank(); ++axis) {
        bool is_whole = axis >= dropped && to[axis - dropped] == from[axis];
        if (is_whole && (fixed_shapes || from[axis] != 1)) continue;
        if (axis >= dropped && dropped > 0) return std::nullopt;
        sum.params.axes.push_back(axis);
    }
    return sum.params.axes.empty() ? std::nullopt : std::optional(sum);
}

std::optional<Reduction> reduction_in(const Graph& graph, const Node& node, bool fixed_shapes) {
    if (node.inputs.empty() || node.inputs[0] == no_value ||
        !graph.value(node.inputs[0]).spec.shape.is_known() ||
        !graph.value(node.outputs[0]).spec.shape.is_known())
        return std::nullopt;
    if (ops::is_fusible_reduction(*node.op)) return Reduction{node.op->name, node.as<ops::ReduceParams>()};
    bool has_like = node.inputs.size() > 1 && node.inputs[1] != no_value;
    if (node.op != &ops::ReduceToShape::info || has_like) return std::nullopt;
    return reduction_to_shape(graph.value(node.inputs[0]).spec.shape, graph.value(node.outputs[0]).spec.shape,
                              fixed_shapes);
}

bool has_kernels(const OpInfo& op, DeviceId id) {
    try {
        return !find_kernels(op, id).empty();
    } catch (const DeviceError&) {
        return false;
    }
}

// A place of the graph without kernels for the operator.
std::optional<DeviceId> place_without(const OpInfo& op, const Graph& graph) {
    std::optional<DeviceId> last;
    for (auto& value : graph.values()) {
        if (last && *last == value.device) continue;
        last = value.device;
        if (!has_kernels(op, value.device)) return last;
    }
    return std::nullopt;
}

// Numbers that the program contains itself.
bool is_scalar_constant(const Value& value) {
    return value.is_constant() && value.spec.numel() == 1 &&
           (value.spec.dtype == DType::f32 || value.spec.dtype == DType::i32);
}
double number_in(const Tensor& scalar) {
    return scalar.dtype() == DType::f32 ? double(*scalar.data<float>()) : double(*scalar.data<int32_t>());
}

bool has_halves(const Graph& graph) {
    return std::ranges::any_of(graph.values(), [](auto& value) { return is_half(value.spec.dtype); });
}

class Fuser {
public:
    Fuser(const Graph& graph, const PassOptions& options) : Fuser(graph, options, options.switches) {}

    // Nullopt if there is nothing to fuse.
    std::optional<Graph> run() && {
        grow_regions();
        if (std::ranges::none_of(regions_, &Region::is_absorbed)) return std::nullopt;
        for (size_t i = 0; i < graph_.nodes().size(); ++i) {
            auto& node = graph_.node(NodeId(i));
            auto* region = node.outputs.empty() ? nullptr : &region_of(node);
            if (!region || (region->nodes.size() == 1 && !region->is_absorbed()))
                rewrite_.copy(NodeId(i));
            else if (!region->is_absorbed())
                emit(region->nodes);
        }
        return rewrite_.finish();
    }

private:
    Fuser(const Graph& graph, const PassOptions& options, const PassSwitches& o)
        : graph_(graph),
          shapes_(graph, options),
          fixed_shapes_(options.fixed_shapes),
          uses_(graph.use_counts()),
          readers_(has_halves(graph) ? readers_of_values(graph) : std::vector<std::vector<NodeId>>{}),
          rewrite_(graph),
          regions_(graph.values().size()),
          transposes_(fusion_policy(o.fuse_transposes, o.fuse_elementwise, 1)),
          reductions_(fusion_policy(o.fuse_reductions, o.fuse_elementwise, 2)),
          prefers_layouts_(prefers_layouts(graph)) {
        if (place_without(ops::FusedRegion::info, graph)) transposes_ = reductions_ = FusionPolicy::never;
    }

    // The nodes, in order, that become one step, which computes a value; at first its own node.
    struct Region {
        std::vector<NodeId> nodes;
        size_t free_readers = 1;  // that have not absorbed it
        bool is_absorbed() const { return free_readers == 0; }
    };
    Region& region_of(const Node& node) { return regions_[size_t(node.outputs[0])]; }

    const TensorSpec& spec(ValueId id) const { return graph_.value(id).spec; }

    bool is_taken(ValueId id) const {
        return id != no_value && is_among(spec(id).dtype, ops::FusedElementwise::info.takes);
    }

    bool is_elementwise(const Node& node) const {
        if (node.op == &ops::FusedElementwise::info || node.outputs.size() != 1 ||
            !node.op->traits.elementwise || !ops::is_fusible(*node.op, node.params.get()))
            return false;
        if (node.inputs.size() != node.op->inputs.size()) return false;
        auto is_known = [&](ValueId id) { return is_taken(id) && spec(id).shape.is_known(); };
        return is_known(node.outputs[0]) && std::all_of(node.inputs.begin(), node.inputs.end(), is_known);
    }

    size_t distinct_readers(ValueId value) const {
        auto& readers = readers_[size_t(value)];  // in order
        size_t count = 0;
        for (size_t i = 0; i < readers.size(); ++i) count += i == 0 || readers[i] != readers[i - 1];
        return count;
    }

    // A widened half that each of its readers may widen itself.
    bool is_widened_by_readers(ValueId value) const {
        auto* node = maker_of(graph_, value);
        if (!node || node->op != &ops::Convert::info || spec(value).dtype != DType::f32 ||
            !is_half(spec(node->inputs[0]).dtype))
            return false;
        auto& readers = readers_[size_t(value)];
        return distinct_readers(value) > 1 && int(readers.size()) == uses_[size_t(value)] &&
               std::ranges::all_of(readers, [&](NodeId id) {
                   auto& reader = graph_.node(id);
                   return is_elementwise(reader) && shapes_.is_same_shape(value, reader.outputs[0]);
               });
    }

    // Layouts are chosen after this pass; a fused step would force images into the plain one.
    bool may_be_laid_out(ValueId id) const {
        return prefers_layouts_ && spec(id).shape.rank() == ops::image_rank;
    }
    bool is_wanted_transpose(const Node& node) const {
        if (node.op != &ops::Transpose::info || transposes_ == FusionPolicy::never) return false;
        auto &x = spec(node.inputs[0]), &y = spec(node.outputs[0]);
        if (!x.shape.is_known() || !y.shape.is_known() || !is_taken(node.inputs[0])) return false;
        if (transposes_ == FusionPolicy::wherever_legal) return true;
        auto axes = ops::transpose_axes(node.as<ops::Transpose::Params>(), x.shape.rank());
        int64_t row = int64_t(size_of(x.dtype));
        for (int axis = x.shape.rank() - 1; axis >= 0 && axes[size_t(axis)] == axis; --axis)
            row *= x.shape[axis];
        return row >= least_row_bytes && !may_be_laid_out(node.inputs[0]);
    }
    bool is_wanted_reduction(const Node& node) const {
        if (reductions_ == FusionPolicy::never || node.inputs.empty() || !is_taken(node.inputs[0]) ||
            !reduction_in(graph_, node, fixed_shapes_))
            return false;
        return reductions_ == FusionPolicy::wherever_legal || !may_be_laid_out(node.inputs[0]);
    }

    // The inputs of a region, without scalar constants.
    std::vector<ValueId> inputs_of(const std::vector<NodeId>& region) const {
        auto inputs = inputs_of_region(graph_, region);
        std::erase_if(inputs, [&](ValueId id) { return is_scalar_constant(graph_.value(id)); });
        return inputs;
    }

    // A node's region consists of the node and the regions of the inputs it fuses.
    void grow_regions() {
        for (size_t i = 0; i < graph_.nodes().size(); ++i) {
            auto& node = graph_.node(NodeId(i));
            if (node.outputs.empty()) continue;
            auto& region = region_of(node);
            region.nodes = {NodeId(i)};
            if (is_widened_by_readers(node.outputs[0]))
                region.free_readers = distinct_readers(node.outputs[0]);
            else if (is_elementwise(node) || is_wanted_transpose(node) || is_wanted_reduction(node))
                for (auto value = node.inputs.begin(); value != node.inputs.end(); ++value)
                    if (std::find(node.inputs.begin(), value, *value) == value) take_in(node, *value);
        }
        give_back_to_transposes();
    }
    // A region never ends with a transposition.
    void give_back_to_transposes() {
        for (size_t i = graph_.nodes().size(); i-- > 0;) {
            auto& node = graph_.node(NodeId(i));
            if (node.op != &ops::Transpose::info) continue;
            auto& region = region_of(node);
            if (region.is_absorbed() || region.nodes.size() < 2) continue;
            regions_[size_t(node.inputs[0])].free_readers = 1;
            region.nodes = {NodeId(i)};
        }
    }
    bool computes(const std::vector<NodeId>& region) const {
        return std::ranges::any_of(region, [&](NodeId id) { return graph_.node(id).op->traits.elementwise; });
    }
    void take_in(const Node& node, ValueId value) {
        auto* from = maker_of(graph_, value);
        if (!from || !(is_elementwise(*from) || is_wanted_transpose(*from))) return;
        auto& taken = regions_[size_t(value)];
        if (taken.is_absorbed()) return;
        const bool is_repeated = taken.free_readers > 1 || is_widened_by_readers(value);
        if (!is_repeated && uses_[size_t(value)] != std::ranges::count(node.inputs, value)) return;
        if (node.op->traits.elementwise && !shapes_.is_same_shape(value, node.outputs[0])) return;
        if (node.op != &ops::Transpose::info && !node.op->traits.elementwise && !computes(taken.nodes))
            return;
        auto& own = region_of(node).nodes;
        std::vector<NodeId> joined;
        std::ranges::set_union(taken.nodes, own, std::back_inserter(joined));
        if (joined.size() > max_steps) return;
        size_t count = inputs_of(joined).size();
        if (count == 0 || count > max_inputs) return;
        own = std::move(joined);
        --taken.free_readers;
    }

    ops::FusedProgram program_of(const std::vector<NodeId>& steps, const std::vector<ValueId>& inputs) const {
        ops::FusedProgram program(int(inputs.size()));
        std::vector<std::pair<ValueId, int>> registers;
        for (size_t i = 0; i < inputs.size(); ++i) registers.emplace_back(inputs[i], int(i));
        auto register_of = [&](ValueId value) {
            for (auto& [id, number] : registers)
                if (id == value) return number;
            auto& source = graph_.value(value);
            registers.emplace_back(value, program.constant(number_in(source.constant), source.spec.dtype));
            return registers.back().second;
        };
        for (NodeId id : steps) {
            auto& node = graph_.node(id);
            std::vector<int> operands;
            for (ValueId value : node.inputs) operands.push_back(register_of(value));
            registers.emplace_back(node.outputs[0], program.add(*node.op, node.params.get(), operands));
        }
        return program;
    }

    struct Fused {
        const OpInfo* op;
        std::shared_ptr<const void> params;
    };
    Fused fused(std::vector<NodeId> steps, const std::vector<ValueId>& inputs) const {
        auto reduction = reduction_in(graph_, graph_.node(steps.back()), fixed_shapes_);
        if (reduction) steps.pop_back();
        auto program = program_of(steps, inputs);
        if (!reduction && !program.moves_elements())
            return {&ops::FusedElementwise::info, std::make_shared<ops::FusedElementwise::Params>(
                                                      ops::FusedElementwise::Params{program.text()})};
        ops::FusedRegion::Params params{program.text(), {}, {}, false};
        if (reduction) {
            params.reduction = reduction->name;
            params.axes = reduction->params.axes;
            params.keepdims = reduction->params.keepdims;
        }
        return {&ops::FusedRegion::info, std::make_shared<ops::FusedRegion::Params>(params)};
    }

    // True if a constant has more axes than all inputs: it widens the result, and as part of the program it
    // would not.
    bool is_widened_by_constant(const std::vector<NodeId>& region, const std::vector<ValueId>& inputs) const {
        auto rank = [&](ValueId value) { return graph_.value(value).spec.shape.rank(); };
        auto widest = rank(std::ranges::max(inputs, {}, rank));
        return std::ranges::any_of(region, [&](NodeId id) {
            return std::ranges::any_of(graph_.node(id).inputs, [&](ValueId value) {
                return value != no_value && is_scalar_constant(graph_.value(value)) && rank(value) > widest;
            });
        });
    }

    void emit(const std::vector<NodeId>& region) {
        const NodeId last = region.back();
        auto inputs = inputs_of(region);
        auto [op, params] = fused(region, inputs);
        TensorSpecs specs, expected{spec(graph_.node(last).outputs[0])};
        for (ValueId value : inputs) specs.push_back(spec(value));
        bool is_right = !is_widened_by_constant(region, inputs) && op->infer(params.get(), specs) == expected;
        DeviceId device = graph_.place(graph_.node(last));
        Operands operands{specs, expected, std::vector<const void*>(specs.size()), device, device};
        if (!is_right || !NodeProblem(*op, params, operands, 1, Precision::strict).is_supported({})) {
            for (NodeId id : region) rewrite_.copy(id);
            return;
        }
        rewrite_.emit(last, *op, params, rewrite_(inputs), graph_.node(last).name);
        for (NodeId id : region) rewrite_.absorb(id, rewrite_(graph_.node(last).outputs[0]));
    }

    const Graph& graph_;
    OtherShapes shapes_;
    bool fixed_shapes_;
    std::vector<int> uses_;
    std::vector<std::vector<NodeId>> readers_;  // empty without halves
    Rewrite rewrite_;
    std::vector<Region> regions_;  // by value
    FusionPolicy transposes_, reductions_;
    bool prefers_layouts_;
};

}  // namespace

Graph fuse_elementwise(Graph graph, const PassOptions& options) {
    auto place = place_without(ops::FusedElementwise::info, graph);
    if (!place) {
        auto fused = Fuser(graph, options).run();
        return fused ? std::move(*fused) : graph;
    }
    log_warning(text("fuse_elementwise: ", physical_name(*place),
                     " has no kernels for fused operators; nothing is fused"));
    return graph;
}

}  // namespace mge
