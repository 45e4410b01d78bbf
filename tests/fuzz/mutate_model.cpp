// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "libmge/device/default_device.h"
#include "libmge/model/container.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/models.h"
#include "tests/fuzz/mutate_bytes.h"

namespace mge::fuzz {
namespace {

constexpr size_t most_nodes = 24, most_values = 96;
constexpr int64_t extremes[] = {0, 1, -1, 2, 3, 7, INT32_MAX, int64_t(1) << 40, INT64_MIN, INT64_MAX};
constexpr int64_t small_extents[] = {0, 1, 2, 3, 4, 5, 7, 8, 16, 17};

int64_t integer(Random& random, int64_t present) {
    if (random.one_in(3)) return random.pick(extremes);
    return random.one_in(2) ? int64_t(random.below(9)) - 4
                            : int64_t(uint64_t(present) + uint64_t(random.below(5)) - 2);
}

double number(Random& random) {
    constexpr double numbers[] = {0, -0.0, 1, -1, 0.5, 1e-300, 1e300, -1e300, INFINITY, NAN};
    return random.pick(numbers);
}

template <class List, class Make>
void change_list(List& list, Random& random, Make&& make) {
    size_t at = random.below(list.size() + 1);
    if (random.one_in(4) && at < list.size())
        list.erase(list.begin() + std::ptrdiff_t(at));
    else if (random.one_in(4) || at == list.size())
        list.insert(list.begin() + std::ptrdiff_t(at), make(0));
    else
        list[at] = make(list[at]);
}

ParamValue changed(ParamValue value, Random& random) {
    if (auto* flag = std::get_if<bool>(&value)) *flag = !*flag;
    if (auto* i = std::get_if<int64_t>(&value)) *i = integer(random, *i);
    if (auto* d = std::get_if<double>(&value)) *d = number(random);
    if (auto* text = std::get_if<std::string>(&value)) *text = hostile_name(random);
    if (auto* list = std::get_if<IntList>(&value))
        change_list(*list, random, [&](int64_t present) { return integer(random, present); });
    if (auto* list = std::get_if<FloatList>(&value))
        change_list(*list, random, [&](double) { return number(random); });
    return value;
}

std::shared_ptr<void> copy_of(const Node& node) {
    auto params = node.op->params.make();
    load_params("fuzz", node.op->fields, params.get(), save_params(node.op->fields, node.params.get()));
    return params;
}

void change_param(Graph& graph, Random& random) {
    Node& node = graph.node(NodeId(random.below(graph.nodes().size())));
    auto values = save_params(node.op->fields, node.params.get());
    if (values.empty()) return;
    auto& [name, value] = random.pick(values);
    auto params = copy_of(node);
    load_params("fuzz", node.op->fields, params.get(), {{name, changed(value, random)}});
    node.params = params;
}

ValueId any_value(const Graph& graph, Random& random) { return ValueId(random.below(graph.values().size())); }

void change_wire(Graph& graph, Random& random) {
    Node& node = graph.node(NodeId(random.below(graph.nodes().size())));
    if (!node.inputs.empty())
        random.pick(node.inputs) = random.one_in(8) ? no_value : any_value(graph, random);
}

void change_shape(Graph& graph, Random& random) {
    auto& spec = graph.value(any_value(graph, random)).spec;
    Shape shape;
    for (size_t rank = random.below(6); rank > 0; --rank) shape.push_back(random.pick(small_extents));
    bool keeps_rank = spec.shape.is_known() && spec.shape.rank() > 0 && !random.one_in(4);
    if (keeps_rank)
        spec.shape[int(random.below(size_t(spec.shape.rank())))] = random.pick(small_extents);
    else
        spec.shape = shape;
}

void change_dtype(Graph& graph, Random& random) {
    constexpr DType dtypes[] = {DType::boolean, DType::u8,  DType::i8,  DType::i16,  DType::u16,
                                DType::i32,     DType::i64, DType::f16, DType::bf16, DType::f32};
    graph.value(any_value(graph, random)).spec.dtype = random.pick(dtypes);
}

void change_name(Graph& graph, Random& random) {
    if (random.one_in(2))
        graph.value(any_value(graph, random)).name = hostile_name(random);
    else
        graph.node(NodeId(random.below(graph.nodes().size()))).name = hostile_name(random);
}

// Any operator with any values of the graph.
void add_operator(Graph& graph, Random& random) {
    if (graph.nodes().size() >= most_nodes || graph.values().size() >= most_values) return;
    const OpInfo& op = *random.pick(all_ops());
    auto params = op.params.make();
    for (auto& [name, value] : save_params(op.fields, params.get()))
        if (random.one_in(4)) load_params("fuzz", op.fields, params.get(), {{name, changed(value, random)}});
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < op.fixed_inputs(); ++i) {
        bool is_absent = op.inputs[i].kind != InputKind::required && random.one_in(2);
        inputs.push_back(is_absent ? no_value : any_value(graph, random));
    }
    if (op.is_variadic())
        for (size_t more = random.below(4); more > 0; --more) inputs.push_back(any_value(graph, random));
    NodeId node = graph.add_node(op, params, inputs, text("n", graph.nodes().size()));
    auto outputs = graph.outputs();
    auto& made = graph.node(node).outputs;
    if (random.one_in(2) || outputs.empty())
        outputs.insert(outputs.end(), made.begin(), made.end());
    else
        outputs = made;
    graph.set_outputs(outputs);
}

// Inference computes small values, with kernels that rely on what readers see to: each input that an operator
// needs is there, made before it, and of one dtype with the others.
bool can_be_inferred(const Graph& graph) {
    for (size_t id = 0; id < graph.nodes().size(); ++id) {
        auto& node = graph.nodes()[id];
        DType first = DType::none;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            auto& info = input_info(*node.op, i);
            if (node.inputs[i] == no_value) {
                if (info.kind == InputKind::required || info.kind == InputKind::variadic) return false;
                continue;
            }
            auto& value = graph.value(node.inputs[i]);
            if (value.producer >= NodeId(id)) return false;
            if (node.op->traits.promotion == Promotion::none || !info.promoted) continue;
            if (first == DType::none) first = value.spec.dtype;
            if (value.spec.dtype != first) return false;
        }
    }
    return true;
}

// Infers the results of another parameter or shape, as far as the operators accept it.
void infer_again(Graph& graph) {
    TensorSpecs specs;
    for (ValueId id : graph.inputs()) specs.push_back(graph.value(id).spec);
    graph = infer_shapes(graph, specs);
}

void change_graph(Graph& graph, Random& random) {
    constexpr void (*changes[])(Graph&, Random&) = {change_param, change_param, change_param, change_wire,
                                                    change_shape, change_shape, change_dtype, change_name,
                                                    add_operator, add_operator, add_operator, add_operator};
    random.pick(changes)(graph, random);
    if (random.one_in(16) || !can_be_inferred(graph)) return;
    Graph before = graph;
    try {
        infer_again(graph);
    } catch (const Error&) {
        graph = before;  // the reader has to find out
    }
}

// A copy of another weight, or that claims to be one.
void change_packed(PackedConstants& packed, Random& random) {
    auto& entry = random.pick(packed.all);
    auto& other = random.pick(packed.all);
    switch (random.below(4)) {
        case 0:
            entry.constant = other.constant;
            return;
        case 1:
            entry.copy = other.copy;
            return;
        case 2:
            entry.layouts = other.layouts;
            return;
        default:
            packed.all.push_back(entry);
    }
}

bool change_model(std::string& image, Random& random) {
    try {
        Model model = read(bytes_of(image));
        if (model.graph.nodes().empty() || model.graph.values().empty()) return false;
        if (!model.packed.all.empty() && random.one_in(4))
            change_packed(model.packed, random);
        else
            change_graph(model.graph, random);
        // Test cases that do not fit any more are refused before anything else.
        if (!random.one_in(8)) model.test_cases.clear();
        if (std::string again = written(model); again.size() <= largest_input) image = again;
        return true;
    } catch (const Error&) {
        return false;
    }
}

// The graph's bytes; those of tensors mean nothing to a reader.
void change_graph_bytes(std::string& image, Random& random) {
    size_t start = std::min(image.size(), sizeof(ModelHeader));
    std::string head = image.substr(0, start), rest = image.substr(start);
    if (random.one_in(3))
        mutate_integer(rest, random);
    else
        mutate_bytes(rest, random);
    image = head + rest;
}

}  // namespace

void mutate_model(std::string& image, Random& random) {
    if (random.below(3) && change_model(image, random)) return;
    if (random.one_in(8))
        mutate_bytes(image, random);
    else
        change_graph_bytes(image, random);
    if (!random.one_in(8)) reseal(image);
}

}  // namespace mge::fuzz
