// SPDX-License-Identifier: Apache-2.0
// Believes nothing: first the container, then flatbuffers' own verifier, then every index, size, name and
// parameter, and the specs against shape inference. Only then does the rest of the library see the graph.

#include <flatbuffers/flatbuffers.h>

#include <cmath>
#include <cstring>

#include "libmge/base/file.h"
#include "libmge/base/file_limit.h"
#include "libmge/base/hash.h"
#include "libmge/base/number_text.h"
#include "libmge/base/utf8.h"
#include "libmge/device/device.h"
#include "libmge/model/container.h"
#include "libmge/model/model.h"
#include "mge_generated.h"

namespace mge {
namespace {

// What flatbuffers' verifier may spend on a file: nesting and number of tables.
constexpr size_t max_depth = 64, max_tables = 4'000'000;
constexpr size_t longest_shown = 60;  // of a text in an error

template <class T>
using Vector = flatbuffers::Vector<T>;

class Reader {
public:
    Reader(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const std::string& label)
        : bytes_(bytes), owner_(std::move(owner)), label_(label), budget_(label, bytes.size()) {}

    Model read() {
        read_header();
        read_graph_table();
        read_tensors();
        Model model;
        read_values(model.graph);
        read_nodes(model.graph);
        read_ports(model.graph);
        read_origins(model.graph);
        read_test_cases(model);
        for (auto* entry : list(table_->metadata()))
            model.metadata[string(entry->key())] = string(entry->value());
        return model;
    }

private:
    template <class... Args>
    [[noreturn]] void fail(const Args&... what) const {
        throw ModelError(text("'", label_, "' is not a valid model: ", what...));
    }
    // Tables of a flatbuffer may share their parts: a small file could ask for copies of a long text over and
    // over.
    std::string string(const flatbuffers::String* s) const {
        if (!s) return {};
        budget_.take(s->size());
        std::string_view text(s->c_str(), s->size());
        if (!is_utf8(text)) fail("a text is no UTF-8: '", printable(text.substr(0, longest_shown)), "'");
        return std::string(text);
    }

    // Iterates over a vector that may be missing.
    template <class T>
    struct List {
        const Vector<T>* vector;
        using Iterator = typename Vector<T>::const_iterator;
        Iterator begin() const { return vector ? vector->begin() : Iterator(nullptr, 0); }
        Iterator end() const { return vector ? vector->end() : Iterator(nullptr, 0); }
        size_t size() const { return vector ? vector->size() : 0; }
    };
    template <class T>
    List<T> list(const Vector<T>* vector) const {
        // The verifier checks where a vector's length lies, not its elements; an empty one (the shape of a
        // scalar) has none.
        if (vector && vector->size() &&
            reinterpret_cast<uintptr_t>(vector->Data()) % flatbuffers::AlignOf<T>())
            fail("a list of the graph is not aligned");
        if (vector) budget_.take(vector->size(), sizeof(uint64_t));
        return {vector};
    }

    void read_header() {
        if (bytes_.size() < sizeof header_)
            fail("it has ", bytes_.size(), " bytes, fewer than the header's ", sizeof header_);
        std::memcpy(&header_, bytes_.data(), sizeof header_);
        if (header_.magic != model_magic) fail("it does not start like a .mge file");
        if (header_.major != model_major)
            fail("format version ", header_.major, '.', header_.minor, ", this program reads ", model_major,
                 ".x");
        if (header_.header_checksum != checksum(&header_, offsetof(ModelHeader, header_checksum)))
            fail("the header is damaged (checksum)");
        if (header_.file_bytes != bytes_.size())
            fail("it has ", bytes_.size(), " bytes, its header says ", header_.file_bytes, " (truncated?)");
        if (header_.graph_offset != sizeof header_ || header_.graph_bytes > bytes_.size() - sizeof header_ ||
            header_.data_offset != align_model_offset(sizeof header_ + header_.graph_bytes) ||
            header_.data_offset > align_model_offset(bytes_.size()))
            fail("the header's offsets lie outside of the file");
    }

    void read_graph_table() {
        auto* graph = reinterpret_cast<const uint8_t*>(bytes_.data()) + header_.graph_offset;
        if (checksum(graph, header_.graph_bytes) != header_.graph_checksum)
            fail("the graph is damaged (checksum)");
        flatbuffers::Verifier verifier(graph, header_.graph_bytes, max_depth, max_tables);
        if (!file::VerifyModelBuffer(verifier)) fail("the graph is not a valid flatbuffer");
        table_ = file::GetModel(graph);
    }

    DType dtype(const flatbuffers::String* name, const std::string& where) const {
        auto found = dtype_from_name(string(name));
        if (!found) fail(where, ": unknown dtype '", string(name), "'");
        return *found;
    }

    Shape shape(const Vector<int64_t>* dims, const std::string& where) const {
        if (list(dims).size() > size_t(max_rank))
            fail(where, ": rank ", list(dims).size(), " is above ", max_rank);
        Shape result;
        for (int64_t d : list(dims)) {
            if (d < 0) fail(where, ": extent ", d, " is negative");
            result.push_back(d);
        }
        try {
            checked_numel("model", result);
        } catch (const UserError& e) {
            fail(where, ": ", e.what());
        }
        return result;
    }

    // What lies between the parts of a file means nothing, and is zero: nothing can hide there, and damage
    // shows.
    void check_padding(size_t begin, size_t end) const {
        end = std::min(end, bytes_.size());
        for (size_t at = begin; at < end; ++at)
            if (bytes_[at] != std::byte{0}) fail("byte ", at, ", between its parts, is not zero");
    }

    // Kernels rely on it.
    void check_bools(std::span<const std::byte> bytes, const std::string& where) const {
        for (size_t at = 0; at < bytes.size(); ++at)
            if (bytes[at] > std::byte{1})
                fail(where, ": byte ", at, " is ", int(bytes[at]), ", where a bool is 0 or 1");
    }

    void read_tensors() {
        size_t start = std::min<size_t>(header_.data_offset, bytes_.size());
        size_t available = bytes_.size() - start;
        check_padding(header_.graph_offset + header_.graph_bytes, start);
        size_t index = 0, end = 0;
        for (auto* t : list(table_->tensors())) {
            std::string where = text("tensor ", index++);
            TensorSpec spec{dtype(t->dtype(), where), shape(t->shape(), where), {}};
            if (t->bytes() != spec.bytes()) fail(where, ": ", t->bytes(), " bytes for ", spec);
            if (t->offset() % model_alignment) fail(where, ": offset ", t->offset(), " is not aligned");
            if (t->offset() > available || t->bytes() > available - t->offset())
                fail(where, ": lies outside of the file");
            // In order and apart: a small file cannot ask for its bytes to be read over and over.
            if (t->offset() < end) fail(where, ": overlaps the tensor before it");
            check_padding(start + end, start + t->offset());
            end = t->offset() + t->bytes();
            const std::byte* data = bytes_.data() + header_.data_offset + t->offset();
            if (checksum(data, t->bytes()) != t->checksum())
                fail(where, " (", spec, ") is damaged (checksum)");
            if (spec.dtype == DType::boolean) check_bools({data, t->bytes()}, where);
            tensors_.emplace_back(spec, borrow_storage(data, t->bytes(), owner_));
        }
        check_padding(start + end, bytes_.size());
    }

    const Tensor& tensor(int index, const std::string& where) const {
        if (index < 0 || size_t(index) >= tensors_.size())
            fail(where, ": tensor ", index, " of ", tensors_.size(), " does not exist");
        return tensors_[size_t(index)];
    }

    // Inputs and constants now; node outputs when their node comes.
    void read_values(Graph& graph) {
        values_ = list(table_->values());
        ids_.assign(values_.size(), no_value);
        for (size_t i = 0; i < values_.size(); ++i) {
            auto* value = values_.vector->Get(flatbuffers::uoffset_t(i));
            if (value->tensor() < 0) continue;
            Tensor constant = tensor(value->tensor(), text("value ", i));
            ids_[i] =
                graph.add_constant(constant, string(value->name()), device_of(*value, text("value ", i)));
        }
        for (int id : list(table_->inputs())) {
            const file::Value* value = file_value(id, "the inputs");
            if (ids_[size_t(id)] != no_value)
                fail("value ", id, " is an input twice, or an input and a constant");
            if (!value->shape_known()) fail("input ", id, " has no shape");
            std::string where = text("value ", id);
            ids_[size_t(id)] =
                graph.add_input(spec_of(*value, where), string(value->name()), device_of(*value, where));
        }
    }

    const file::Value* file_value(int id, const std::string& where) const {
        if (id < 0 || size_t(id) >= values_.size())
            fail(where, ": value ", id, " of ", values_.size(), " does not exist");
        return values_.vector->Get(flatbuffers::uoffset_t(id));
    }

    // DeviceError for a device that this machine does not have.
    DeviceId device_of(const file::Value& value, const std::string& where) const {
        std::string name = string(value.device());
        if (name.empty()) return {};
        try {
            return parse_device(name);
        } catch (const DeviceError& e) {
            throw DeviceError(text("'", label_, "': ", where, ": ", e.what()));
        } catch (const UserError& e) {
            fail(where, ": ", e.what());
        }
    }

    TensorSpec spec_of(const file::Value& value, const std::string& where) const {
        DType type = dtype(value.dtype(), where);
        return {type, value.shape_known() ? shape(value.shape(), where) : Shape::unknown(), {}};
    }

    ParamValue param(const file::Attribute& a, const std::string& where) const {
        switch (a.kind()) {
            case file::AttributeKind::boolean:
                return a.integer() != 0;
            case file::AttributeKind::integer:
                return a.integer();
            case file::AttributeKind::number:
                return a.number();
            case file::AttributeKind::text:
                return string(a.text());
            case file::AttributeKind::integers:
                return IntList(list(a.integers()).begin(), list(a.integers()).end());
            case file::AttributeKind::numbers:
                return FloatList(list(a.numbers()).begin(), list(a.numbers()).end());
        }
        fail(where, ": attribute '", string(a.name()), "' is of an unknown kind");
    }

    std::shared_ptr<const void> params(const OpInfo& op, const file::Node& node,
                                       const std::string& where) const {
        ParamMap map;
        for (auto* a : list(node.attributes())) map.emplace_back(string(a->name()), param(*a, where));
        auto result = op.params.make();
        load_params(op.name, op.fields, result.get(), map);
        return result;
    }

    void read_nodes(Graph& graph) {
        size_t index = 0;
        for (auto* node : list(table_->nodes())) {
            std::string where = text("node ", index++, " (", string(node->op()), ")");
            try {
                read_node(graph, *node, where);
            } catch (const ModelError&) {
                throw;
            } catch (const MemoryError&) {
                throw;
            } catch (const DeviceError& e) {
                throw DeviceError(text("'", label_, "': ", where, ": ", e.what()));
            } catch (const Error& e) {  // what the operator itself refuses
                fail(where, ": ", e.what());
            }
        }
    }

    void read_node(Graph& graph, const file::Node& node, const std::string& where) {
        const OpInfo* op = find_op(string(node.op()));
        if (!op) fail(where, ": this version has no such operator");
        if (int(node.version()) != op->version)
            fail(where, ": version ", node.version(), " of the operator, this program has ", op->version);
        std::vector<ValueId> inputs;
        for (int id : list(node.inputs())) {
            if (id != no_value) file_value(id, where);
            if (id != no_value && ids_[size_t(id)] == no_value)
                fail(where, ": reads value ", id, " before it is made");
            inputs.push_back(id == no_value ? no_value : ids_[size_t(id)]);
        }
        check_arity(*op, inputs, where);
        check_promotion(graph, *op, inputs, where);
        if (size_t count = list(node.outputs()).size();
            count != op->outputs.size() && !op->traits.variadic_outputs)
            fail(where, ": ", counted(count, "output"), ", the operator has ", op->outputs.size());
        TensorSpecs specs;
        for (int id : list(node.outputs())) specs.push_back(spec_of(*file_value(id, where), where));
        // Where an operator has inputs, they say where its outputs lie.
        bool has_own_place = std::ranges::all_of(inputs, [](ValueId id) { return id == no_value; });
        DeviceId place;
        if (has_own_place && !specs.empty())
            place = device_of(*file_value(node.outputs()->Get(0), where), where);
        NodeId made = graph.add_node(*op, params(*op, node, where), std::move(inputs), string(node.name()),
                                     &specs, has_own_place ? &place : nullptr);
        check_specs(graph, made, where);
        for (size_t i = 0; i < specs.size(); ++i) {
            int id = node.outputs()->Get(flatbuffers::uoffset_t(i));
            if (ids_[size_t(id)] != no_value) fail(where, ": makes value ", id, ", which exists already");
            ids_[size_t(id)] = graph.node(made).outputs[i];
            graph.value(ids_[size_t(id)]).name = string(file_value(id, where)->name());
        }
    }

    void check_arity(const OpInfo& op, const std::vector<ValueId>& inputs, const std::string& where) const {
        if (inputs.size() > op.inputs.size() && !op.is_variadic())
            fail(where, ": ", counted(inputs.size(), "input"), ", it takes at most ", op.inputs.size());
        for (size_t i = 0; i < op.inputs.size(); ++i)
            if (op.inputs[i].kind == InputKind::required && (i >= inputs.size() || inputs[i] == no_value))
                fail(where, ": input '", op.inputs[i].name, "' is missing");
        for (size_t i = op.inputs.size(); i < inputs.size(); ++i)
            if (inputs[i] == no_value) fail(where, ": input ", i, " of the list is missing");
    }

    // Where a graph is built, inputs are brought to one dtype (op/apply.h). A kernel reads all of them by it.
    void check_promotion(const Graph& graph, const OpInfo& op, const std::vector<ValueId>& inputs,
                         const std::string& where) const {
        if (op.traits.promotion == Promotion::none) return;
        DType first = DType::none;
        for (size_t i = 0; i < inputs.size(); ++i) {
            if (inputs[i] == no_value || !input_info(op, i).promoted) continue;
            DType dtype = graph.value(inputs[i]).spec.dtype;
            if (first == DType::none) first = dtype;
            if (dtype != first)
                fail(where, ": input '", input_info(op, i).name, "' is ", dtype, ", those before it are ",
                     first);
        }
    }

    // The specs of the file against what the operator infers; where inference needs values only a run has,
    // the file's stand.
    void check_specs(const Graph& graph, NodeId id, const std::string& where) const {
        auto& node = graph.node(id);
        TensorSpecs inputs;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            ValueId input = node.inputs[i];
            inputs.push_back(input == no_value ? TensorSpec{} : graph.value(input).spec);
            if (!inputs.back().shape.is_known()) return;
            bool host = i < node.op->inputs.size() ? node.op->inputs[i].kind == InputKind::host
                                                   : node.op->inputs.back().variadic_host;
            if (host && input != no_value) return;
        }
        TensorSpecs expected = node.op->infer(node.params.get(), inputs);
        if (expected.size() != node.outputs.size())
            fail(where, ": ", counted(node.outputs.size(), "output"), ", the operator has ", expected.size());
        for (size_t i = 0; i < expected.size(); ++i) {
            auto& spec = graph.value(node.outputs[i]).spec;
            if (expected[i].shape.is_known() ? !(spec == expected[i]) : spec.dtype != expected[i].dtype)
                fail(where, ": output ", i, " is said to be ", spec, ", the operator gives ", expected[i]);
        }
    }

    void read_ports(Graph& graph) {
        std::vector<ValueId> outputs;
        for (int id : list(table_->outputs())) {
            file_value(id, "the outputs");
            if (ids_[size_t(id)] == no_value) fail("output value ", id, " is never made");
            outputs.push_back(ids_[size_t(id)]);
        }
        if (outputs.empty()) fail("it has no outputs");
        graph.set_outputs(std::move(outputs));
    }

    // Of a graph that was optimised ahead of time.
    void read_origins(Graph& graph) {
        auto table = std::make_shared<std::vector<SourceNode>>();
        size_t name_bytes = 0, said = 0;
        for (auto* source : list(table_->source_nodes())) {
            std::string where = text("source operator ", table->size());
            if (source->outputs() < 1) fail(where, ": ", counted(source->outputs(), "output"));
            for (auto* name : {source->op(), source->name()}) name_bytes += name ? name->size() : 0;
            // Many may share one string of the file, but would not in memory.
            if (name_bytes > header_.graph_bytes) fail("the names of its source operators are too long");
            table->push_back({NodeId(table->size()), string(source->op()), string(source->name()),
                              source->outputs(), source->kind()});
        }
        if (table->empty()) return;
        // An operator's work is done by one node, so that this is generous.
        size_t most = 4 * (table->size() + ids_.size());
        auto check = [&](int node, int output, const std::string& where) {
            if (++said > most) fail("it says too often where its operators come from");
            if (node < 0 || size_t(node) >= table->size())
                fail(where, ": source operator ", node, " of ", table->size(), " does not exist");
            if (output < 0 || output >= (*table)[size_t(node)].outputs)
                fail(where, ": source operator ", node, " has no output ", output);
        };
        size_t index = 0;
        for (auto* file_node : list(table_->nodes())) {
            std::string where = text("node ", index);
            auto& node = graph.node(NodeId(index++));
            for (int origin : list(file_node->origins())) {
                check(origin, 0, where);
                if (!node.origins.empty() && node.origins.back() >= origin)
                    fail(where, ": its source operators are not in order");
                node.origins.push_back(origin);
            }
        }
        for (size_t i = 0; i < ids_.size(); ++i) {
            std::string where = text("value ", i);
            auto nodes = list(values_.vector->Get(flatbuffers::uoffset_t(i))->origin_nodes());
            auto outputs = list(values_.vector->Get(flatbuffers::uoffset_t(i))->origin_outputs());
            if (nodes.size() != outputs.size())
                fail(where, ": ", counted(nodes.size(), "source operator"), " with ",
                     counted(outputs.size(), "output"));
            for (size_t k = 0; k < nodes.size(); ++k) {
                auto at = flatbuffers::uoffset_t(k);
                ValueOrigin origin{nodes.vector->Get(at), outputs.vector->Get(at)};
                check(origin.node, origin.output, where);
                if (ids_[i] == no_value) continue;
                auto& origins = graph.value(ids_[i]).origins;
                if (!origins.empty() && !(origins.back() < origin))
                    fail(where, ": its source operators are not in order");
                origins.push_back(origin);
            }
        }
        graph.set_source_nodes(std::move(table));
    }

    void read_test_cases(Model& model) {
        size_t index = 0;
        for (auto* test : list(table_->test_cases())) {
            std::string where = text("test case ", index++);
            TestCase result{string(test->name()), {}, {}};
            // NaN is not below 0, and refused with infinity.
            if (!(test->max_error() < 0)) result.max_error = test->max_error();
            for (int id : list(test->inputs())) result.inputs.push_back(tensor(id, where));
            for (int id : list(test->outputs())) result.outputs.push_back(tensor(id, where));
            if (result.max_error && !std::isfinite(*result.max_error))
                fail(where, ": its largest error is ", *result.max_error);
            if (result.inputs.size() != model.graph.inputs().size())
                fail(where, ": ", counted(result.inputs.size(), "input"), ", the model has ",
                     model.graph.inputs().size());
            if (!result.outputs.empty() && result.outputs.size() != model.graph.outputs().size())
                fail(where, ": ", counted(result.outputs.size(), "output"), ", the model has ",
                     model.graph.outputs().size());
            for (size_t i = 0; i < result.inputs.size(); ++i)
                if (result.inputs[i].dtype() != model.graph.value(model.graph.inputs()[i]).spec.dtype)
                    fail(where, ": input ", i, " is ", result.inputs[i].dtype());
            model.test_cases.push_back(std::move(result));
        }
    }

    std::span<const std::byte> bytes_;
    std::shared_ptr<const void> owner_;
    const std::string& label_;
    mutable FileBudget budget_;
    ModelHeader header_;
    const file::Model* table_ = nullptr;
    Tensors tensors_;
    List<flatbuffers::Offset<file::Value>> values_{nullptr};
    std::vector<ValueId> ids_;  // file value → graph value
};

}  // namespace

bool is_model(std::span<const std::byte> bytes) {
    return bytes.size() >= model_magic.size() &&
           std::memcmp(bytes.data(), model_magic.data(), model_magic.size()) == 0;
}

Model read_model(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                 const std::string& label) {
    MGE_CHECK(reinterpret_cast<uintptr_t>(bytes.data()) % model_alignment == 0);
    return Reader(bytes, std::move(owner), label).read();
}

Model read_model(const std::string& path) {
    auto file = MappedFile::open(path);
    return read_model(file->bytes(), file, path);
}

}  // namespace mge
