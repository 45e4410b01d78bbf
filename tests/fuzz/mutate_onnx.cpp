// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate_onnx.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "libmge/model/import/onnx/onnx.h"
#include "onnx.pb.h"
#include "tests/fuzz/mutate_bytes.h"

namespace mge::fuzz {
namespace {

namespace file = ::onnx;

constexpr int64_t numbers[] = {0,         1,         -1,        2,         3,         4,         5,
                               7,         8,         16,        255,       -2,        1 << 10,   1 << 16,
                               INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1ll << 33, 1ll << 62, -(1 << 20)};
constexpr float reals[] = {0,
                           1,
                           -1,
                           0.5f,
                           2,
                           1e-6f,
                           1e30f,
                           -1e30f,
                           1e-40f,
                           std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN()};
constexpr int newest_dtype = 26;  // one more than there are
constexpr int most_nodes = 64;

int64_t number(Random& random) {
    return random.one_in(2) ? int64_t(random.below(6)) - 1 : random.pick(numbers);
}

// Null when there is none.
template <class Repeated>
auto* any(Repeated* items, Random& random) {
    return items->empty() ? nullptr : &*(items->begin() + int(random.below(size_t(items->size()))));
}

template <class Repeated>
void remove_any(Repeated* items, Random& random) {
    if (!items->empty()) items->erase(items->begin() + int(random.below(size_t(items->size()))));
}

// A copy of one of them at the end.
template <class Repeated>
void repeat_any(Repeated* items, Random& random) {
    if (items->empty()) return;
    auto copy = *any(items, random);
    *items->Add() = copy;
}

// A number becomes another, is missing, or one comes along.
template <class Repeated>
void change_numbers(Repeated* items, auto&& make, Random& random) {
    size_t what = random.below(6);
    if (what == 0)
        remove_any(items, random);
    else if (what == 1 || items->empty())
        items->Add(make());
    else
        *any(items, random) = make();
}

void collect_graphs(file::GraphProto* graph, std::vector<file::GraphProto*>& found) {
    found.push_back(graph);
    for (auto& node : *graph->mutable_node())
        for (auto& attribute : *node.mutable_attribute()) {
            if (attribute.has_g()) collect_graphs(attribute.mutable_g(), found);
            for (auto& inner : *attribute.mutable_graphs()) collect_graphs(&inner, found);
        }
}

// A model taken apart: one of its graphs or functions is changed.
class Change {
public:
    Change(file::ModelProto& model, const file::ModelProto& other, Random& random)
        : model_(model), other_(other), random_(random) {
        std::vector<file::GraphProto*> graphs;
        collect_graphs(model.mutable_graph(), graphs);
        graph_ = random.one_in(2) ? graphs[0] : random.pick(graphs);
        auto* function = any(model.mutable_functions(), random);
        nodes_ = function && random.one_in(3) ? function->mutable_node() : graph_->mutable_node();
        note_names();
    }
    void apply() {
        constexpr void (Change::*changes[])() = {
            &Change::change_operator,  &Change::change_wire,      &Change::change_wire,
            &Change::change_wire,      &Change::change_count,     &Change::change_attribute,
            &Change::change_attribute, &Change::change_attribute, &Change::exchange_attributes,
            &Change::change_weight,    &Change::change_weight,    &Change::change_extents,
            &Change::change_extents,   &Change::change_dtype,     &Change::change_versions,
            &Change::add_operator,     &Change::add_operator,     &Change::take_node,
            &Change::take_node,        &Change::move_nodes,       &Change::change_ports,
            &Change::change_name};
        (this->*random_.pick(changes))();
    }

private:
    void note_names() {
        names_.emplace_back();
        for (auto& input : graph_->input()) names_.push_back(input.name());
        for (auto& weight : graph_->initializer()) names_.push_back(weight.name());
        for (auto& node : *nodes_)
            for (auto& output : node.output()) names_.push_back(output);
        // The names visible in an inner graph.
        if (graph_ == model_.mutable_graph()) return;
        for (auto& input : model_.graph().input()) names_.push_back(input.name());
        for (auto& node : model_.graph().node())
            for (auto& output : node.output()) names_.push_back(output);
    }
    file::NodeProto* any_node() { return any(nodes_, random_); }
    std::string any_name() { return random_.pick(names_); }

    void set_operator(file::NodeProto& node) {
        static const auto operators = onnx::known_operators();
        std::string name = std::get<0>(random_.pick(operators));
        size_t dot = name.rfind('.');
        node.set_op_type(dot == std::string::npos ? name : name.substr(dot + 1));
        node.set_domain(dot == std::string::npos ? "" : name.substr(0, dot));
    }
    void change_operator() {
        auto* node = any_node();
        if (!node) return;
        if (random_.one_in(16))
            node->set_domain(random_.one_in(2) ? "com.microsoft" : hostile_name(random_));
        else
            set_operator(*node);
    }
    void change_wire() {
        auto* node = any_node();
        auto* input = node ? any(node->mutable_input(), random_) : nullptr;
        if (!input) return;
        if (random_.one_in(3))
            std::swap(*input, *any(node->mutable_input(), random_));
        else
            *input = any_name();
    }
    // The number of inputs and outputs.
    void change_count() {
        auto* node = any_node();
        if (!node) return;
        auto* ports = random_.one_in(3) ? node->mutable_output() : node->mutable_input();
        if (random_.one_in(2))
            remove_any(ports, random_);
        else
            *ports->Add() = ports == node->mutable_output() ? fresh_name() : any_name();
    }

    void change_tensor(file::TensorProto& tensor) {
        switch (random_.below(5)) {
            case 0:
                return change_numbers(
                    tensor.mutable_dims(), [&] { return number(random_); }, random_);
            case 1:
                tensor.set_data_type(int(random_.below(newest_dtype)));
                return;
            case 2:
                if (tensor.has_raw_data()) return mutate_integer(*tensor.mutable_raw_data(), random_);
                break;
            case 3:
                if (tensor.has_raw_data()) return mutate_bytes(*tensor.mutable_raw_data(), random_);
                break;
            default:
                break;
        }
        change_numbers(
            tensor.mutable_int64_data(), [&] { return number(random_); }, random_);
        if (tensor.int32_data_size() || random_.one_in(8))
            change_numbers(
                tensor.mutable_int32_data(), [&] { return int32_t(number(random_)); }, random_);
        if (tensor.float_data_size() || random_.one_in(8))
            change_numbers(
                tensor.mutable_float_data(), [&] { return random_.pick(reals); }, random_);
    }
    void change_attribute() {
        auto* node = any_node();
        auto* attribute = node ? any(node->mutable_attribute(), random_) : nullptr;
        if (!attribute) return;
        if (random_.one_in(24)) {
            attribute->set_type(file::AttributeProto::AttributeType(random_.below(15)));
        } else if (random_.one_in(24)) {
            remove_any(node->mutable_attribute(), random_);
        } else if (attribute->has_i()) {
            attribute->set_i(number(random_));
        } else if (attribute->has_f()) {
            attribute->set_f(random_.pick(reals));
        } else if (attribute->ints_size()) {
            change_numbers(
                attribute->mutable_ints(), [&] { return number(random_); }, random_);
        } else if (attribute->floats_size()) {
            change_numbers(
                attribute->mutable_floats(), [&] { return random_.pick(reals); }, random_);
        } else if (attribute->has_t()) {
            change_tensor(*attribute->mutable_t());
        } else if (attribute->strings_size()) {
            *any(attribute->mutable_strings(), random_) = any_word();
        } else if (attribute->has_s()) {
            attribute->set_s(any_word());
        }
    }
    // A text of another attribute of one of the models.
    std::string any_word() {
        std::vector<std::string> words{"", "NOTSET", "linear", hostile_name(random_)};
        for (auto* graph : {&other_.graph(), &model_.graph()})
            for (auto& node : graph->node())
                for (auto& attribute : node.attribute()) {
                    if (attribute.has_s()) words.push_back(attribute.s());
                    words.insert(words.end(), attribute.strings().begin(), attribute.strings().end());
                }
        return random_.pick(words);
    }
    const file::NodeProto* other_node() {
        auto& nodes = other_.graph().node();
        return nodes.empty() ? nullptr : &nodes[int(random_.below(size_t(nodes.size())))];
    }
    void exchange_attributes() {
        auto* node = any_node();
        auto* other = other_node();
        if (!node || !other || other->attribute().empty()) return;
        auto& attribute = other->attribute(int(random_.below(size_t(other->attribute_size()))));
        if (random_.one_in(2)) node->clear_attribute();
        *node->add_attribute() = attribute;
    }

    void change_weight() {
        if (auto* tensor = any(graph_->mutable_initializer(), random_)) return change_tensor(*tensor);
        change_attribute();
    }
    file::ValueInfoProto* any_port() {
        auto* ports = random_.one_in(4) ? graph_->mutable_output() : graph_->mutable_input();
        return any(ports, random_);
    }
    void change_extents() {
        auto* port = any_port();
        if (!port || !port->type().has_tensor_type()) return;
        auto* shape = port->mutable_type()->mutable_tensor_type()->mutable_shape();
        auto* dim = any(shape->mutable_dim(), random_);
        switch (random_.below(8)) {
            case 0:
                return remove_any(shape->mutable_dim(), random_);
            case 1:
                return shape->add_dim()->set_dim_value(number(random_));
            case 2:
                return port->mutable_type()->mutable_tensor_type()->clear_shape();
            case 3:
            case 4:
                if (dim) dim->set_dim_param(random_.one_in(2) ? "n" : "m");
                return;
            case 5:
                if (dim) dim->Clear();
                return;
            default:
                if (dim) dim->set_dim_value(number(random_));
        }
    }
    void change_dtype() {
        auto* port = any_port();
        if (!port) return;
        int dtype = int(random_.below(newest_dtype));
        if (random_.one_in(12))
            port->mutable_type()
                ->mutable_sequence_type()
                ->mutable_elem_type()
                ->mutable_tensor_type()
                ->set_elem_type(dtype);
        else
            port->mutable_type()->mutable_tensor_type()->set_elem_type(dtype);
    }
    void change_versions() {
        if (random_.one_in(4)) return model_.set_ir_version(int64_t(random_.below(18)));
        auto* set = any(model_.mutable_opset_import(), random_);
        if (!set || random_.one_in(8)) {
            set = model_.add_opset_import();
            set->set_domain(random_.one_in(2) ? "ai.onnx.ml" : "com.microsoft");
        }
        set->set_version(random_.one_in(8) ? number(random_) : int64_t(1 + random_.below(28)));
    }

    std::string fresh_name() { return "new" + std::to_string(random_.below(1000)); }
    // Its results become outputs of the graph, so that it is not removed.
    void show(const file::NodeProto& node) {
        if (random_.one_in(2)) graph_->clear_output();
        for (auto& name : node.output()) graph_->add_output()->set_name(name);
    }
    // Any operator with any values of the graph.
    void add_operator() {
        if (nodes_->size() >= most_nodes) return;
        auto* node = nodes_->Add();
        set_operator(*node);
        for (size_t count = random_.below(5); count > 0; --count) node->add_input(any_name());
        for (size_t count = 1 + random_.below(2); count > 0; --count) node->add_output(fresh_name());
        show(*node);
    }
    // A node of another model, with values of this one.
    void take_node() {
        auto* other = other_node();
        if (!other || nodes_->size() >= most_nodes) return;
        auto* node = nodes_->Add();
        *node = *other;
        for (auto& input : *node->mutable_input()) take_value(input);
        for (auto& output : *node->mutable_output())
            if (!output.empty()) output = fresh_name();
        show(*node);
    }
    // Its own weight, or any value.
    void take_value(std::string& name) {
        if (name.empty()) return;
        for (auto& weight : other_.graph().initializer())
            if (weight.name() == name && random_.below(4)) {
                *graph_->add_initializer() = weight;
                name = fresh_name();
                return graph_->mutable_initializer(graph_->initializer_size() - 1)->set_name(name);
            }
        name = any_name();
    }
    void move_nodes() {
        if (nodes_->empty()) return;
        switch (random_.below(4)) {
            case 0:
                return remove_any(nodes_, random_);
            case 1:
                if (nodes_->size() < most_nodes) repeat_any(nodes_, random_);
                return;
            default:
                nodes_->SwapElements(int(random_.below(size_t(nodes_->size()))),
                                     int(random_.below(size_t(nodes_->size()))));
        }
    }
    void change_ports() {
        auto* ports = random_.one_in(2) ? graph_->mutable_output() : graph_->mutable_input();
        switch (random_.below(3)) {
            case 0:
                return remove_any(ports, random_);
            case 1:
                return ports->Add()->set_name(any_name());
            default:
                if (auto* port = any(ports, random_)) port->set_name(any_name());
        }
    }
    void change_name() {
        std::string name = random_.one_in(2) ? any_name() : hostile_name(random_);
        auto* node = any_node();
        auto* weight = any(graph_->mutable_initializer(), random_);
        switch (random_.below(3)) {
            case 0:
                if (weight) weight->set_name(name);
                return;
            case 1:
                if (node) node->set_name(name);
                return;
            default:
                if (auto* output = node ? any(node->mutable_output(), random_) : nullptr) *output = name;
        }
    }

    file::ModelProto& model_;
    const file::ModelProto& other_;
    Random& random_;
    file::GraphProto* graph_;
    google::protobuf::RepeatedPtrField<file::NodeProto>* nodes_;
    std::vector<std::string> names_;
};

}  // namespace

bool mutate_onnx(std::string& model, std::span<const std::string> others, Random& random) {
    file::ModelProto message, other;
    if (!message.ParseFromString(model)) return false;
    if (!others.empty() && !other.ParseFromString(random.pick(others))) other.Clear();
    for (size_t changes = 1 + random.below(3); changes > 0; --changes) Change(message, other, random).apply();
    message.SerializeToString(&model);
    return true;
}

}  // namespace mge::fuzz
