// SPDX-License-Identifier: Apache-2.0
// Nothing is trusted: the container is checked first, then flatbuffers' own verifier runs, then every index,
// size, name and parameter is checked, and the specs are compared with shape inference. Only then is the
// graph available to the library; some weights may be verified on first use (WeightCheck).

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "libmge/base/files/file.h"
#include "libmge/base/hash.h"
#include "libmge/base/number_text.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/model/checked_file.h"
#include "libmge/model/container.h"
#include "libmge/model/graph_reader.h"
#include "libmge/model/model.h"
#include "libmge/model/packed_constants.h"
#include "libmge/model/tensor_checks.h"
#include "mge_generated.h"

namespace mge {
namespace {

// Limits of flatbuffers' verifier for a file: nesting and number of tables.
constexpr size_t max_depth = 64, max_tables = 4'000'000;
// Limits of inner graphs, nested and repeated: a small file could define an endless one.
constexpr size_t max_held_depth = 32, max_held_operators = 1'000'000;

class Reader : CheckedFile {
public:
    Reader(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const std::string& label,
           WeightCheck check = WeightCheck::all)
        : CheckedFile(label, bytes.size()), bytes_(bytes), owner_(std::move(owner)), check_(check) {}

    Model read() {
        read_header();
        read_graph_table();
        read_tensors();
        read_held_graphs();
        Model model;
        GraphReader reader(*this, tensors_, held_);
        model.graph = reader.read(*table_);
        check_input_shapes(model.graph);
        read_origins(model.graph, reader.ids());
        read_test_cases(model);
        for (auto* entry : list(table_->metadata()))
            model.metadata[string(entry->key())] = string(entry->value());
        read_packed(model.packed);
        offer_packed(model.packed, owner_, verify_late_);
        return model;
    }

    void read_header() {
        if (bytes_.size() < sizeof header_)
            fail("it has ", bytes_.size(), " bytes, but its header alone needs ", sizeof header_);
        std::memcpy(&header_, bytes_.data(), sizeof header_);
        if (header_.magic != model_magic) fail("it has no .mge signature");
        if (header_.major != model_major)
            fail("format version ", header_.major, '.', header_.minor, ", this program reads ", model_major,
                 ".x");
        if (header_.header_checksum != checksum(&header_, offsetof(ModelHeader, header_checksum)))
            fail("the header is damaged (checksum)");
        if (header_.file_bytes != bytes_.size())
            fail("it has ", bytes_.size(), " bytes, but its header says ", header_.file_bytes,
                 " (truncated?)");
        if (header_.graph_offset != sizeof header_ || header_.graph_bytes > bytes_.size() - sizeof header_ ||
            header_.data_offset != align_model_offset(sizeof header_ + header_.graph_bytes) ||
            header_.data_offset > align_model_offset(bytes_.size()))
            fail("the header's offsets are beyond the end of the file");
    }

private:
    void read_graph_table() {
        auto* graph = reinterpret_cast<const uint8_t*>(bytes_.data()) + header_.graph_offset;
        // A mapped file may change after it was verified, so the verified bytes are copied first.
        if (is_mapped(graph)) {
            graph_copy_.assign(graph, graph + header_.graph_bytes);
            graph = graph_copy_.data();
        }
        if (checksum(graph, header_.graph_bytes) != header_.graph_checksum)
            fail("the graph is damaged (checksum)");
        flatbuffers::Verifier verifier(graph, header_.graph_bytes, max_depth, max_tables);
        if (!file::VerifyModelBuffer(verifier)) fail("the graph is not a valid flatbuffer");
        table_ = file::GetModel(graph);
    }

    // Bytes between the parts of a file have no meaning, and must be zero: no data can be hidden there, and
    // damage is detected.
    void check_padding(size_t begin, size_t end) const {
        end = std::min(end, bytes_.size());
        for (size_t at = begin; at < end; ++at)
            if (bytes_[at] != std::byte{0}) fail("byte ", at, ", between its parts, is not zero");
    }

    // Kernels rely on it.
    void check_bools(std::span<const std::byte> bytes, const std::string& where) const {
        for (size_t at = 0; at < bytes.size(); ++at)
            if (bytes[at] > std::byte{1})
                fail(where, ": byte ", at, " is ", int(bytes[at]), ", but a bool must be 0 or 1");
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
                fail(where, ": extends beyond the end of the file");
            // In order and disjoint: a small file cannot make its bytes be read repeatedly.
            if (t->offset() < end) fail(where, ": overlaps the tensor before it");
            check_padding(start + end, start + t->offset());
            end = t->offset() + t->bytes();
            const std::byte* data = bytes_.data() + header_.data_offset + t->offset();
            tensors_.emplace_back(spec, borrow_storage(data, t->bytes(), owner_));
        }
        check_padding(start + end, bytes_.size());
        check_contents();
    }

    void check_contents() {
        TensorChecks checks(*this, *table_, tensors_);
        // Without an owner copies are not offered.
        if (check_ == WeightCheck::as_used && owner_) checks.leave_packed_weights();
        checks.verify();
        verify_late_ = checks.late_verification();
        for (size_t i = 0; i < tensors_.size(); ++i)
            if (tensors_[i].dtype() == DType::boolean) check_bools(bytes_of(tensors_[i]), text("tensor ", i));
    }
    static std::span<const std::byte> bytes_of(const Tensor& tensor) {
        return {static_cast<const std::byte*>(tensor.data()), tensor.spec().bytes()};
    }

    void read_packed(PackedConstants& packed) const {
        packed.machine = string(table_->packed_for());
        for (auto* entry : list(table_->packed())) {
            std::string where = text("packed copy ", packed.all.size());
            auto& constant = tensor(entry->constant(), where);
            auto& copy = tensor(entry->copy(), where);
            if (copy.dtype() != DType::u8) fail(where, ": tensor ", entry->copy(), " does not hold bytes");
            auto layouts = list(entry->layouts());
            packed.all.push_back({constant, copy, {layouts.begin(), layouts.end()}});
        }
    }

    const Tensor& tensor(int index, const std::string& where) const {
        if (index < 0 || size_t(index) >= tensors_.size())
            fail(where, ": tensor ", index, " of ", tensors_.size(), " does not exist");
        return tensors_[size_t(index)];
    }

    // Inputs of inner graphs may have shapes that only a run knows; those of the model may not.
    void check_input_shapes(const Graph& graph) const {
        for (ValueId id : graph.inputs())
            if (!graph.value(id).spec.shape.is_known())
                fail("input '", graph.value(id).name, "' has no shape");
    }

    void read_held_graphs() {
        std::vector<HeldSize> sizes;
        for (auto* source : list(table_->graphs())) {
            std::string where = text("graph ", held_.size());
            Graph graph = at(where, [&] { return GraphReader(*this, tensors_, held_).read(*source); });
            sizes.push_back(size_of_held(graph, sizes));
            if (sizes.back().depth > max_held_depth || sizes.back().operators > max_held_operators)
                fail(where, ": its inner graphs are nested too deeply or used too often");
            held_.push_back(make_subgraph(std::move(graph)));
        }
    }

    struct HeldSize {
        size_t depth = 1, operators = 0;
    };
    // Including its inner graphs.
    HeldSize size_of_held(const Graph& graph, const std::vector<HeldSize>& sizes) const {
        HeldSize result{1, graph.nodes().size()};
        for (auto& node : graph.nodes())
            for (auto& held : held_graphs(node)) {
                auto& inner = sizes[size_t(std::ranges::find(held_, held.graph) - held_.begin())];
                result.depth = std::max(result.depth, inner.depth + 1);
                result.operators += inner.operators;
            }
        return result;
    }

    // For a graph that was optimised ahead of time.
    void read_origins(Graph& graph, const std::vector<ValueId>& ids) {
        auto table = std::make_shared<std::vector<SourceNode>>();
        size_t name_bytes = 0, references = 0;
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
        size_t most = 4 * (table->size() + ids.size());
        auto check = [&](int node, int output, const std::string& where) {
            if (++references > most) fail("it has too many references to source operators");
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
        for (size_t i = 0; i < ids.size(); ++i) {
            std::string where = text("value ", i);
            auto nodes = list(table_->values()->Get(flatbuffers::uoffset_t(i))->origin_nodes());
            auto outputs = list(table_->values()->Get(flatbuffers::uoffset_t(i))->origin_outputs());
            if (nodes.size() != outputs.size())
                fail(where, ": ", counted(nodes.size(), "source operator"), " with ",
                     counted(outputs.size(), "output"));
            for (size_t k = 0; k < nodes.size(); ++k) {
                auto at = flatbuffers::uoffset_t(k);
                ValueOrigin origin{nodes.vector->Get(at), outputs.vector->Get(at)};
                check(origin.node, origin.output, where);
                if (ids[i] == no_value) continue;
                auto& origins = graph.value(ids[i]).origins;
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
                fail(where, ": ", counted(result.inputs.size(), "input"), ", but the model has ",
                     model.graph.inputs().size());
            if (!result.outputs.empty() && result.outputs.size() != model.graph.outputs().size())
                fail(where, ": ", counted(result.outputs.size(), "output"), ", but the model has ",
                     model.graph.outputs().size());
            for (size_t i = 0; i < result.inputs.size(); ++i)
                if (result.inputs[i].dtype() != model.graph.value(model.graph.inputs()[i]).spec.dtype)
                    fail(where, ": input ", i, " is ", result.inputs[i].dtype());
            model.test_cases.push_back(std::move(result));
        }
    }

    std::span<const std::byte> bytes_;
    std::shared_ptr<const void> owner_;
    WeightCheck check_;
    ModelHeader header_;
    std::vector<uint8_t> graph_copy_;  // copy from a mapped file
    const file::Model* table_ = nullptr;
    Tensors tensors_;
    std::shared_ptr<const VerifyConstant> verify_late_;  // null: all tensors are verified
    std::vector<SubgraphRef> held_;
};

}  // namespace

bool is_model(std::span<const std::byte> bytes) {
    return bytes.size() >= model_magic.size() &&
           std::memcmp(bytes.data(), model_magic.data(), model_magic.size()) == 0;
}

void check_model_header(std::span<const std::byte> bytes, const std::string& label) {
    Reader(bytes, nullptr, label).read_header();
}

Model read_model(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                 const std::string& label, WeightCheck check) {
    MGE_CHECK(reinterpret_cast<uintptr_t>(bytes.data()) % model_alignment == 0);
    return Reader(bytes, std::move(owner), label, check).read();
}

Model read_model(const std::string& path) {
    auto file = MappedFile::open(path);
    Model model = read_model(file->bytes(), file, path);
    file->require_whole();
    return model;
}

}  // namespace mge
