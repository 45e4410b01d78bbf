// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/importer.h"

#include <algorithm>

#include "libmge/base/hash.h"
#include "libmge/base/number_text.h"
#include "libmge/base/utf8.h"
#include "libmge/graph/dimension_sizes.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/model/import/onnx/steps.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/passes/pass.h"

namespace mge::onnx {
namespace {

constexpr size_t most_problems = 64;  // in one message
// Each is an exception, and a file can contain millions.
constexpr size_t most_problems_looked_at = 10'000;
// Limits for inner graphs and functions of the file, which count on each translation.
constexpr size_t most_translated = 100'000, longest_name = 512;
constexpr int deepest_call = 32;

bool is_open_dimension(const file::TensorShapeProto::Dimension& dim) {
    return !dim.has_dim_value() || dim.dim_value() < 0;
}

// Paddle calls every unknown dimension "?": equal names do not mean equal sizes then.
std::string name_of_dimension(const file::TensorShapeProto::Dimension& dim) {
    return dim.dim_param() == "?" ? "" : dim.dim_param();
}

// Poisoned values are null: the reason was noted where it arose.
bool is_missing(const Tensor& t) { return !t; }

}  // namespace

const Tensor* Names::find(std::string_view name) const {
    for (auto* scope = this; scope; scope = scope->outer)
        if (auto found = scope->values.find(name); found != scope->values.end()) return &found->second;
    return nullptr;
}

Importer::Importer(const ModelRecord& record, const std::string& label, const OpenSizes& open,
                   const Branches& decided)
    : record_(record),
      label_(label),
      open_(open),
      symbols_(open.symbols),
      inference_(builder_.graph(), symbolic_options([this](ValueId id) {
                     return SymbolicValue{input_shapes_.at(id), {}, {}};
                 })),
      files_(record.path, record.external),
      growth_(record),
      decided_(decided) {
    builder_.set_symbolic(&inference_);
    for (auto& input : record.model.graph().input())
        for (auto& dim : input.type().tensor_type().shape().dim())
            if (is_open_dimension(dim)) dimension_names_.insert(name_of_dimension(dim));
    for (auto& function : record.model.functions())
        functions_.emplace(FunctionName{function.domain(), function.name(), function.overload()}, &function);
}

template <class... Args>
void Importer::fail(const Args&... what) const {
    throw ModelError(text("'", label_, "' is not a valid ONNX model: ", what...));
}

std::string Importer::place(const file::NodeProto& node) const {
    std::string name = node.name().empty() && node.output_size() ? node.output(0) : node.name();
    std::string domain = is_standard(node.domain()) ? "" : node.domain() + ".";
    return text("node '", name.substr(0, longest_name), "' (", domain, node.op_type(), ", opset ",
                version_of(node.domain()), ")");
}

void Importer::add_problem(const std::string& what) {
    // A body may be translated more than once.
    bool is_known = !known_problems_.insert(checksum(what)).second;
    if (!is_known && ++problem_count_ <= most_problems)
        problems_ += text(problems_.empty() ? "" : "; ", what);
    if (++problems_looked_at_ == most_problems_looked_at) throw_problems();
}

void Importer::throw_problems() const {
    if (!problem_count_) return;
    std::string more =
        problem_count_ > most_problems ? text("; and ", problem_count_ - most_problems, " more") : "";
    if (problems_looked_at_ >= most_problems_looked_at) more += "; the rest was not checked";
    throw ModelError(text(
        "'", label_, "' (ONNX) has ", counted(problem_count_, "part"),
        problem_count_ == 1 ? " that is not supported: " : " that are not supported: ", problems_, more));
}

void Importer::read_versions() {
    auto& model = record_.model;
    if (model.ir_version() > newest_ir)
        fail("its IR version is ", model.ir_version(), ", but this program reads versions up to ", newest_ir);
    for (auto& set : model.opset_import())
        versions_[is_standard(set.domain()) ? "" : set.domain()] = int(set.version());
    if (auto found = versions_.find(""); found != versions_.end() && found->second > newest_opset)
        fail("its operator set is ", found->second, ", but this program reads ", oldest_opset, " to ",
             newest_opset);
}

int Importer::version_of(const std::string& domain) const {
    auto found = versions_.find(is_standard(domain) ? "" : std::string_view(domain));
    return found == versions_.end() ? 0 : found->second;
}

void Importer::define(Names& names, const std::string& name, const Tensor& value) {
    growth_.add_name(name);
    if (value) as_literal(value);
    if (!names.values.emplace(name, value).second)
        fail("'", name.substr(0, longest_name), "' is defined twice");
}

void Importer::add_initializers(Names& names) {
    record_.each_initializer([&](const Initializer& weight) { add_initializer(weight, names); });
}

void Importer::add_sparse_initializers(const file::GraphProto& graph, Names& names) {
    for (auto& weight : graph.sparse_initializer()) {
        auto& name = weight.values().name();
        Tensor value;
        try {
            value = dense_of(*this, weight);
        } catch (const Unsupported& problem) {
            add_problem(text("weight '", name.substr(0, longest_name), "': ", problem.what));
        } catch (const UserError& e) {
            fail("weight '", name.substr(0, longest_name), "': ", e.what());
        }
        define(names, name, value);
    }
}

void Importer::add_initializer(const Initializer& weight, Names& names) {
    auto& name = weight.tensor.name();
    Tensor value;
    try {
        bool is_text = weight.tensor.data_type() == file::TensorProto::STRING;
        value = is_text ? texts_.tensor_of(weight.tensor) : tensor_of(weight.tensor, weight.raw, files_);
        constant_names_.emplace(value.address(), name);
        growth_.add_weight(value, weight.tensor.data_location() == file::TensorProto::EXTERNAL);
        // The weight is copied: the file's pages need not stay in memory.
        if (is_mapped(weight.raw.data())) release_pages(weight.raw);
    } catch (const Unsupported& problem) {
        add_problem(text("weight '", name.substr(0, longest_name), "': ", problem.what));
    } catch (const UserError& e) {
        fail("weight '", name.substr(0, longest_name), "': ", e.what());
    }
    define(names, name, value);
    check_growth([&] { return text("weight '", name.substr(0, longest_name), "'"); });
}

SymbolicInference::Options Importer::symbolic_options(std::function<SymbolicValue(ValueId)> input) {
    auto unknown = [](const std::string& name, int64_t lower) {
        return SymbolicExtent::symbol(name, {.lower = lower});
    };
    return {unknown, std::move(input), text('?', graphs_++, ':'), true};
}

void Importer::note_inner(const SymbolicInference& inference) {
    inner_guards_.insert(inner_guards_.end(), inference.guards().begin(), inference.guards().end());
    inner_bytes_ += inference.bytes();
}

void Importer::prefer_at_least(const Tensor& x, int axis, int64_t least) {
    Shape shape = symbolic_shape(x);
    if (!shape.is_known() || is_known_late(shape.extent(axis))) return;
    preferences_.push_back({{}, Guard::Relation::at_least, shape.extent(axis), least});
}

std::optional<OpenSizes> Importer::better_sizes() {
    inference_.follow();
    auto is_late = [](const Guard& guard) { return is_known_late(guard.a) || is_known_late(guard.b); };
    OpenSizes better = open_;
    bool has_solved = false;
    for (auto& guard : inference_.guards())
        if (!is_late(guard) && symbols_.learn(guard)) has_solved |= guard.relation == Guard::Relation::equal;
    better.symbols = symbols_;
    if (has_solved) return better;
    std::vector<Guard> demands = inference_.guards();
    demands.insert(demands.end(), inner_guards_.begin(), inner_guards_.end());
    std::erase_if(demands, is_late);
    demands.insert(demands.end(), preferences_.begin(), preferences_.end());
    auto sizes = onnx::better_sizes(demands, sizes_);
    if (!sizes) return std::nullopt;
    better.chosen = *sizes;
    return better;
}

// Equal names are equal sizes. A name may be an expression over others.
SymbolicExtent Importer::extent_of_dimension(const file::ValueInfoProto& info, int axis) {
    auto& dim = info.type().tensor_type().shape().dim(axis);
    if (!is_open_dimension(dim)) return dim.dim_value();
    std::string name = name_of_dimension(dim);
    if (name.empty()) return symbols_.get(text('\'', info.name(), "'.", axis), 1);
    auto symbol = [&](std::string_view part) -> std::optional<SymbolicExtent> {
        return symbols_.get(text(part.starts_with('?') ? "'" : "", part), 1);
    };
    auto expression = expression_over(dimension_names_, name);
    return expression ? substitute(*expression, symbol) : *symbol(name);
}

int64_t Importer::recorded_size(const SymbolicExtent& extent, int axis) {
    for (auto& name : symbols_of(extent)) {
        auto chosen = open_.chosen.find(name);
        sizes_.emplace(name, chosen != open_.chosen.end() ? chosen->second
                             : axis                       ? open_.others
                                                          : open_.first);
    }
    return std::max<int64_t>(evaluate(extent, sizes_), 0);
}

Tensor Importer::add_input(const file::ValueInfoProto& info) {
    if (!info.type().has_tensor_type()) unsupported("a value that is not a tensor");
    auto& type = info.type().tensor_type();
    bool is_text = type.elem_type() == file::TensorProto::STRING;
    auto dtype = is_text ? DType::i64 : dtype_of(type.elem_type());
    if (!dtype) unsupported("dtype ", name_of_data_type(type.elem_type()));
    if (!type.has_shape()) unsupported("an input without a declared rank");
    if (type.shape().dim_size() > max_rank) unsupported("an input of rank ", type.shape().dim_size());
    Shape shape, symbolic;
    OpenDimensions dimensions;
    for (auto& dim : type.shape().dim()) {
        int axis = shape.rank();
        symbolic.push_back(extent_of_dimension(info, axis));
        shape.push_back(recorded_size(symbolic.extent(axis), axis));
        if (is_open_dimension(dim))
            dimensions.push_back({axis, with_escaped_bytes(name_of_dimension(dim)), {}});
    }
    checked_numel("input", shape);
    Tensor input = builder_.input({*dtype, shape, {}}, info.name());
    ValueId id = input.impl()->symbol;
    input_shapes_.emplace(id, symbolic);
    builder_.graph().value(id).dimensions = std::move(dimensions);
    if (is_text) {
        texts_.mark(input);
        text_values_.push_back(info.name());
    }
    return input;
}

// An input that is also an initialiser has that value: our callers provide all inputs or none.
void Importer::add_inputs(Names& names) {
    for (auto& info : record_.model.graph().input()) {
        if (names.values.contains(info.name())) continue;
        Tensor value;
        try {
            value = add_input(info);
        } catch (const Unsupported& problem) {
            add_problem(text("input '", info.name().substr(0, longest_name), "': ", problem.what));
        }
        define(names, info.name(), value);
    }
}

void Importer::store(const file::NodeProto& node, const Tensors& outputs, Names& names) {
    for (int i = 0; i < node.output_size(); ++i) {
        auto& name = node.output(i);
        if (name.empty()) continue;
        Tensor value = size_t(i) < outputs.size() ? outputs[size_t(i)] : Tensor();
        if (!value) unsupported("output ", i);
        // The real value is kept, so that its readers may compute with the quantised steps.
        Tensor fixed = is_dequantised(builder_, value) ? Tensor() : find_value(value);
        if (fixed) {
            if (texts_.has(value)) texts_.mark(fixed);
            value = fixed;
            constant_names_.emplace(value.address(), name);
        } else if (value.impl()->symbol_owner == &builder_) {  // not of an inner graph
            auto& made = builder_.graph().value(value.impl()->symbol);
            if (made.name.empty()) made.name = name;
        }
        define(names, name, value);
    }
}

Tensor Importer::constant_of(const file::TensorProto& tensor) {
    bool is_text = tensor.data_type() == file::TensorProto::STRING;
    return is_text ? texts_.tensor_of(tensor) : tensor_of(tensor, files_);
}

TextTable Importer::take_texts() {
    // The table is for readers of texts; labels that no output has are omitted.
    if (text_values_.empty()) return {};
    return {texts_.all(), std::move(text_values_)};
}

const file::FunctionProto* Importer::find_function(const file::NodeProto& node) const {
    auto found = functions_.find({node.domain(), node.op_type(), node.overload()});
    return found == functions_.end() ? nullptr : found->second;
}

// Names of a function or an inner graph, while it is read.
class Importer::InnerScope {
public:
    InnerScope(Importer& importer, Names& names, const std::string& too_deep)
        : importer_(importer),
          outer_(importer.names_),
          versions_(importer.versions_),
          name_bytes_(importer.growth_.names()) {
        if (importer.depth_ >= deepest_call) importer.fail(too_deep);
        ++importer.depth_;
        importer.names_ = &names;
    }
    ~InnerScope() {
        importer_.names_ = outer_;
        importer_.versions_ = versions_;
        importer_.growth_.set_names(name_bytes_);
        --importer_.depth_;
    }
    InnerScope(const InnerScope&) = delete;

private:
    Importer& importer_;
    Names* outer_;
    std::map<std::string, int, std::less<>> versions_;
    size_t name_bytes_;
};

// The body of a function with the attributes of its caller in the places that refer to them.
Tensors Importer::call_function(const file::FunctionProto& function, const file::NodeProto& node,
                                std::span<const Tensor> inputs) {
    Names names;
    InnerScope scope(*this, names, place(node) + ": functions call each other too deeply");
    for (auto& set : function.opset_import())
        versions_[is_standard(set.domain()) ? "" : set.domain()] = int(set.version());
    for (int i = 0; i < function.input_size(); ++i)
        if (size_t(i) < inputs.size() && inputs[size_t(i)])
            define(names, function.input(i), inputs[size_t(i)]);
    auto body = body_of_call(function, node);
    import_nodes(body, names);
    Tensors outputs;
    for (auto& name : function.output()) {
        auto* found = names.find(name);
        if (!found) fail(place(node), ": its output '", name, "' is computed by no node");
        outputs.push_back(*found);
    }
    return outputs;
}

Tensors Importer::import_inner(const file::GraphProto& graph, std::span<const Tensor> inputs) {
    Names names;
    names.outer = names_;
    InnerScope scope(*this, names, "its graphs are nested too deeply");
    for (auto& weight : graph.initializer()) define(names, weight.name(), constant_of(weight));
    add_sparse_initializers(graph, names);
    if (size_t(graph.input_size()) != inputs.size())
        invalid("an inner graph has ", counted(graph.input_size(), "input"), ", expected ", inputs.size());
    for (int i = 0; i < graph.input_size(); ++i)
        if (!names.values.contains(graph.input(i).name()))
            define(names, graph.input(i).name(), inputs[size_t(i)]);
    import_nodes(graph.node(), names);
    Tensors outputs;
    for (auto& output : graph.output()) {
        auto* found = names.find(output.name());
        if (!found) fail("output '", output.name(), "' of an inner graph is computed by no node");
        outputs.push_back(*found);
    }
    return outputs;
}

void Importer::require_tensor(const Tensor& value, std::string_view what) const {
    if (sequences_.find(value)) unsupported("a sequence or an optional ", what);
    if (auto* many = of_many_axes_.find(value))
        unsupported("a tensor of rank ", many->extents.size(), " ", what);
}

Tensors Importer::translated(const file::NodeProto& node, std::span<const Tensor> inputs, Names& names) {
    if (auto* function = find_function(node)) return call_function(*function, node, inputs);
    auto* row = find_operator(node.domain(), node.op_type(), version_of(node.domain()));
    if (!row) unsupported("unknown operator");
    for (auto& input : inputs) {
        bool is_taken = (row->takes == Takes::sequences && sequences_.find(input)) ||
                        (row->takes == Takes::many_axes && of_many_axes_.find(input));
        if (!is_taken) require_tensor(input, "as its input");
    }
    if (!node.output_size()) invalid("it has no outputs");
    bool moves_texts = are_texts_moved(texts_, node.op_type(), inputs);
    Site site(node, version_of(node.domain()), inputs, *this);
    names_ = &names;
    Tensors outputs = row->import(site);
    if (auto name = site.attributes.unread(); !name.empty())
        unsupported("its attribute '", name.substr(0, longest_name), "'");
    if (moves_texts)
        for (auto& output : outputs) texts_.mark(output);
    return outputs;
}

void Importer::translate(const file::NodeProto& node, Names& names) {
    Tensors inputs;
    bool is_poisoned = false;
    for (auto& name : node.input()) {
        if (name.empty()) {
            inputs.emplace_back();
            continue;
        }
        auto* found = names.find(name);
        if (!found) fail(place(node), " reads '", name.substr(0, longest_name), "' before it is computed");
        is_poisoned |= is_missing(*found);
        inputs.push_back(*found);
    }
    // A missing input may be named even if its inputs cannot be made.
    bool is_known =
        find_function(node) || find_operator(node.domain(), node.op_type(), version_of(node.domain()));
    if (!is_known) unsupported("unknown operator");
    if (is_poisoned) {
        for (auto& name : node.output())
            if (!name.empty()) define(names, name, {});
        return;
    }
    Tensors outputs = translated(node, inputs, names);
    store(node, outputs, names);
}

GraphBuilder& Importer::builder_at_work() {
    auto* builder = dynamic_cast<GraphBuilder*>(&current_interpreter());
    return builder ? *builder : builder_;
}

template <class Place>
void Importer::check_growth(const Place& place) const {
    if (growth_.is_over(inferred_bytes()))
        fail(place(), ": the graph needs more memory than the ", growth_.limit(),
             " bytes that its file may take");
}

void Importer::import_node(const file::NodeProto& node, Names& names) {
    auto& builder = builder_at_work();
    auto& made_graph = builder.graph();
    auto before = growth_.mark(builder);
    if (depth_ && ++translated_ > most_translated)
        fail(place(node), ": more than ", most_translated, " nodes of inner graphs have to be translated");
    auto lacks = [&](std::string_view what) {
        add_problem(text(place(node), ": ", what));
        for (auto& name : node.output())
            if (!name.empty() && names.values.emplace(name, Tensor()).second) growth_.add_name(name);
    };
    try {
        translate(node, names);
    } catch (const Unsupported& problem) {
        lacks(problem.what);
    } catch (const DTypeError& problem) {
        lacks(problem.what());
    } catch (const ModelError&) {
        throw;
    } catch (const UserError& e) {
        throw UserError(text(place(node), ": ", e.what()));
    }
    growth_.add(builder, before);
    check_growth([&] { return place(node); });
    std::string name = node.name().empty() && node.output_size() ? node.output(0) : node.name();
    for (size_t n = before.nodes; n < made_graph.nodes().size(); ++n)
        if (auto& made = made_graph.node(NodeId(n)); made.name.empty())
            made.name = name.substr(0, longest_name);
}

void Importer::import_nodes(const google::protobuf::RepeatedPtrField<file::NodeProto>& nodes, Names& names) {
    NodeOrder order = order_of(names);
    for (auto& node : nodes) order.add(node);
    order.finish();
}

NodeOrder Importer::order_of(Names& names) {
    auto keep = [this](const file::NodeProto& node) {
        growth_.add_waiting(node);
        check_growth([&] { return place(node); });
    };
    return {[&names](const std::string& name) { return names.find(name) != nullptr; },
            [this, &names](const file::NodeProto& node) { import_node(node, names); }, keep};
}

// A sequence is as many outputs as it has items.
std::vector<std::pair<std::string, Tensor>> Importer::named_outputs(const Names& names) {
    std::vector<std::pair<std::string, Tensor>> named;
    std::set<std::string> taken, given;
    for (auto& output : record_.model.graph().output()) given.insert(output.name());
    std::map<std::string, int> times;
    auto add = [&](const std::string& name, const Tensor& value) {
        if (!taken.insert(name).second)
            fail("two outputs have the name '", name.substr(0, longest_name), "'");
        named.emplace_back(name, value);
    };
    for (auto& output : record_.model.graph().output()) {
        auto& name = output.name();
        auto* found = names.find(name);
        if (!found) fail("output '", name.substr(0, longest_name), "' is computed by no node");
        const Tensor* value = found;
        auto* sequence = sequences_.find(*value);
        if (sequence && sequence->is_optional && sequence->items.size() == 1) {
            value = &sequence->items[0];
            sequence = sequences_.find(*value);
        }
        if (!sequence) {
            // Exporters say a result twice that a layer gives twice.
            int& before = times[name];
            std::string unique = before ? text(name, '_', before) : name;
            while (before && given.contains(unique)) unique = text(name, '_', ++before);
            ++before;
            add(unique, *value);
        } else if (sequence->items.empty()) {
            add_problem(text("output '", name.substr(0, longest_name), "': an empty sequence or optional"));
        } else {
            sequence_lengths_[name] = sequence->items.size();
            for (size_t i = 0; i < sequence->items.size(); ++i) add(text(name, '.', i), sequence->items[i]);
        }
    }
    return named;
}

// A value has one name: inputs, constants and values that are outputs already are copied.
void Importer::add_outputs(const Names& names) {
    if (record_.model.graph().output().empty()) fail("it has no outputs");
    Tensors values;
    std::set<ValueId> taken;
    auto outputs = named_outputs(names);
    throw_problems();
    for (auto& [name, t] : outputs) {
        try {
            require_tensor(t, "as an output");
        } catch (const Unsupported& problem) {
            add_problem(text("output '", name.substr(0, longest_name), "': ", problem.what));
            continue;
        }
        if (texts_.has(t)) text_values_.push_back(name);
        bool is_made = t.is_symbolic() && builder_.graph().value(t.impl()->symbol).producer >= 0;
        if (!is_made || taken.contains(t.impl()->symbol)) t = ops::copy(t);
        taken.insert(t.impl()->symbol);
        builder_.graph().value(t.impl()->symbol).name = name;
        values.push_back(t);
    }
    throw_problems();
    builder_.set_outputs(values);
}

Graph Importer::build() {
    read_versions();
    Names names;
    add_initializers(names);
    InterpreterScope scope(builder_);
    add_sparse_initializers(record_.model.graph(), names);
    add_inputs(names);
    NodeOrder order = order_of(names);
    record_.each_node([&](const file::NodeProto& node) { order.add(node); });
    order.finish();
    throw_problems();
    add_outputs(names);
    // The rest has the graph alone.
    names.values.clear();
    for (size_t i = 0; i < builder_.graph().values().size(); ++i) {
        auto& value = builder_.graph().value(ValueId(i));
        if (!value.is_constant()) continue;
        auto found = constant_names_.find(value.constant.address());
        if (found == constant_names_.end()) continue;
        value.name = std::move(found->second);
        constant_names_.erase(found);
    }
    return remove_dead_nodes(builder_.take(), {});
}

}  // namespace mge::onnx
