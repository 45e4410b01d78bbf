// SPDX-License-Identifier: Apache-2.0
// Believes nothing: first the container, then flatbuffers' own verifier, then every index, size, name and
// parameter, and the specs against shape inference. Only then does the rest of the library see the graph;
// some weights may be left to whoever reads them (WeightCheck).

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>

#include "libmge/base/file.h"
#include "libmge/base/hash.h"
#include "libmge/base/number_text.h"
#include "libmge/base/thread_team.h"
#include "libmge/base/threads.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/model/checked_file.h"
#include "libmge/model/container.h"
#include "libmge/model/graph_reader.h"
#include "libmge/model/model.h"
#include "libmge/model/packed_constants.h"
#include "mge_generated.h"

namespace mge {
namespace {

// What flatbuffers' verifier may spend on a file: nesting and number of tables.
constexpr size_t max_depth = 64, max_tables = 4'000'000;
// Graphs that operators hold, in each other and over and over: a small file could make an endless one.
constexpr size_t max_held_depth = 32, max_held_operators = 1'000'000;

class Reader : CheckedFile {
public:
    Reader(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const std::string& label,
           WeightCheck check = WeightCheck::all)
        : CheckedFile(label, bytes.size()),
          bytes_(bytes),
          owner_(std::move(owner)),
          label_(label),
          check_(check) {}

    Model read() {
        read_header();
        read_graph_table();
        read_tensors();
        read_held_graphs();
        Model model;
        GraphReader reader(*this, tensors_, held_);
        model.graph = reader.read(*table_);
        read_origins(model.graph, reader.ids());
        read_test_cases(model);
        for (auto* entry : list(table_->metadata()))
            model.metadata[string(entry->key())] = string(entry->value());
        read_packed(model.packed);
        offer_packed(model.packed, owner_, late_verification());
        return model;
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

private:
    void read_graph_table() {
        auto* graph = reinterpret_cast<const uint8_t*>(bytes_.data()) + header_.graph_offset;
        if (checksum(graph, header_.graph_bytes) != header_.graph_checksum)
            fail("the graph is damaged (checksum)");
        flatbuffers::Verifier verifier(graph, header_.graph_bytes, max_depth, max_tables);
        if (!file::VerifyModelBuffer(verifier)) fail("the graph is not a valid flatbuffer");
        table_ = file::GetModel(graph);
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
            tensors_.emplace_back(spec, borrow_storage(data, t->bytes(), owner_));
        }
        check_padding(start + end, bytes_.size());
        find_late();
        check_contents();
    }

    // Constants that a packed copy stands for here and that one node alone reads: then a pass that uses the
    // bytes leaves no node that reads the constant, and who folds one verifies it.
    void find_late() {
        is_late_.resize(tensors_.size());
        // Without an owner copies are not offered; what is in graphs of operators, those compile for
        // themselves.
        if (check_ != WeightCheck::as_used || !owner_ || list(table_->graphs()).size() ||
            !is_packed_here(string(table_->packed_for())))
            return;
        auto set = [&](int index, bool is_late) {
            if (index >= 0 && size_t(index) < tensors_.size()) is_late_[size_t(index)] = is_late;
        };
        for (auto* entry : list(table_->packed())) set(entry->constant(), true);
        for (auto* entry : list(table_->packed())) set(entry->copy(), false);
        for (auto* test : list(table_->test_cases())) {
            for (int id : list(test->inputs())) set(id, false);
            for (int id : list(test->outputs())) set(id, false);
        }
        std::vector<int> readers = readers_of_tensors();
        constexpr size_t worth_waiting = 4096;
        for (size_t i = 0; i < tensors_.size(); ++i)
            if (readers[i] != 1 || tensors_[i].dtype() == DType::boolean ||
                tensors_[i].spec().bytes() <= worth_waiting)
                is_late_[i] = false;
    }

    // As operands of nodes. Nobody has looked at the indices yet.
    std::vector<int> readers_of_tensors() const {
        std::vector<int> readers(tensors_.size());
        auto values = list(table_->values());
        for (auto* node : list(table_->nodes()))
            for (int id : list(node->inputs())) {
                if (id < 0 || size_t(id) >= values.size()) continue;
                int index = values.vector->Get(flatbuffers::uoffset_t(id))->tensor();
                if (index >= 0 && size_t(index) < readers.size()) ++readers[size_t(index)];
            }
        return readers;
    }

    // Keeps nothing of the file, which goes when the last tensor does.
    std::shared_ptr<const VerifyConstant> late_verification() const {
        struct Stored {
            size_t index;
            TensorSpec spec;
            uint64_t checksum;
        };
        std::map<const void*, Stored> late;
        for (size_t i = 0; i < tensors_.size(); ++i)
            if (is_late_[i])
                late.emplace(tensors_[i].address(), Stored{i, tensors_[i].spec(), stored_checksum(i)});
        if (late.empty()) return nullptr;
        return std::make_shared<const VerifyConstant>(
            [late = std::move(late), label = label_](const void* constant) {
                auto it = late.find(constant);
                if (it == late.end()) return;
                auto& [index, spec, stored] = it->second;
                if (checksum(constant, spec.bytes()) != stored)
                    fail_damaged(CheckedFile(label, 0), index, spec);
            });
    }

    // By all threads when there is much to read: one alone is slower than memory.
    void check_contents() const {
        std::atomic<size_t> next = 0, first_damaged = tensors_.size();
        auto check_rest = [&](int, int) {
            for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < tensors_.size();)
                if (!is_late_[i] && !is_intact(i)) lower_to(first_damaged, i);
        };
        constexpr size_t much = size_t(16) << 20;
        int threads = bytes_.size() < much ? 1 : team_size(default_threads());
        threads > 1 ? run_shares(threads, check_rest) : check_rest(0, 1);
        if (size_t i = first_damaged; i < tensors_.size()) fail_damaged(*this, i, tensors_[i].spec());
        for (size_t i = 0; i < tensors_.size(); ++i)
            if (tensors_[i].dtype() == DType::boolean) check_bools(bytes_of(tensors_[i]), text("tensor ", i));
    }
    bool is_intact(size_t i) const {
        auto bytes = bytes_of(tensors_[i]);
        return checksum(bytes.data(), bytes.size()) == stored_checksum(i);
    }
    uint64_t stored_checksum(size_t i) const {
        return table_->tensors()->Get(flatbuffers::uoffset_t(i))->checksum();
    }
    [[noreturn]] static void fail_damaged(const CheckedFile& file, size_t index, const TensorSpec& spec) {
        file.fail("tensor ", index, " (", spec, ") is damaged (checksum)");
    }
    static std::span<const std::byte> bytes_of(const Tensor& tensor) {
        return {static_cast<const std::byte*>(tensor.data()), tensor.spec().bytes()};
    }
    static void lower_to(std::atomic<size_t>& least, size_t value) {
        size_t now = least.load();
        while (value < now && !least.compare_exchange_weak(now, value)) {
        }
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

    void read_held_graphs() {
        std::vector<HeldSize> sizes;
        for (auto* source : list(table_->graphs())) {
            std::string where = text("graph ", held_.size());
            Graph graph = at(where, [&] { return GraphReader(*this, tensors_, held_).read(*source); });
            sizes.push_back(size_of_held(graph, sizes));
            if (sizes.back().depth > max_held_depth || sizes.back().operators > max_held_operators)
                fail(where, ": the graphs that its operators hold are nested too deeply or too often");
            held_.push_back(make_subgraph(std::move(graph)));
        }
    }

    struct HeldSize {
        size_t depth = 1, operators = 0;
    };
    // With all that it holds.
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

    // Of a graph that was optimised ahead of time.
    void read_origins(Graph& graph, const std::vector<ValueId>& ids) {
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
        size_t most = 4 * (table->size() + ids.size());
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
    WeightCheck check_;
    ModelHeader header_;
    const file::Model* table_ = nullptr;
    Tensors tensors_;
    std::vector<bool> is_late_;  // by tensor: verified by who first reads it
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
    return read_model(file->bytes(), file, path);
}

}  // namespace mge
