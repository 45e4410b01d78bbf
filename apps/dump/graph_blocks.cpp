// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/graph_blocks.h"

#include <algorithm>
#include <functional>
#include <map>

#include "libmge/base/error.h"

namespace mge::dump {
namespace {

// A value with more readers is global (an attention mask, a table): it does not hold blocks together.
constexpr int most_readers = 8;
// Smaller parts are not worth a box.
constexpr size_t least_nodes = 4;
// Longest sequence of atoms that is compared with the next one.
constexpr size_t longest_period = 64;

using Atoms = std::vector<std::vector<NodeId>>;

// Cuts between operators where at most one value is read on both sides, or later. A value from outside counts
// from its first reader on. An elementwise operator stays with the block before it: the activation behind a
// sum.
Atoms cut(const Graph& graph, std::span<const NodeId> nodes) {
    std::map<NodeId, size_t> place;
    for (size_t i = 0; i < nodes.size(); ++i) place[nodes[i]] = i;
    struct Reads {
        size_t first = 0, last = 0;
        int count = 0;
    };
    std::map<ValueId, Reads> reads;
    for (size_t i = 0; i < nodes.size(); ++i)
        for (ValueId id : graph.node(nodes[i]).inputs) {
            if (id == no_value || graph.value(id).is_constant()) continue;
            auto& of_value = reads[id];
            if (of_value.count++ == 0) of_value.first = i;
            of_value.last = i;
        }
    std::vector<int> changes(nodes.size() + 2, 0);  // in the number of live values
    for (auto& [id, of_value] : reads) {
        if (of_value.count > most_readers) continue;
        auto maker = place.find(graph.value(id).producer);
        ++changes[(maker == place.end() ? of_value.first : maker->second) + 1];
        --changes[of_value.last + 1];
    }
    Atoms atoms;
    int live = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
        live += changes[i];
        bool continues =
            i > 0 &&
            (live > 1 || (atoms.back().size() >= least_nodes && graph.node(nodes[i]).op->traits.elementwise));
        if (!continues) atoms.emplace_back();
        atoms.back().push_back(nodes[i]);
    }
    return atoms;
}

// Equal for operators that do the same on the same shapes.
std::string token(const Graph& graph, NodeId id) {
    auto& node = graph.node(id);
    std::string result = text(node.op->name, params_text(node.op->fields, node.params.get()));
    for (ValueId output : node.outputs) result += text(graph.value(output).spec);
    return result;
}

std::string token(const Graph& graph, const std::vector<NodeId>& atom) {
    std::string result;
    for (NodeId id : atom) result += token(graph, id) + '\n';
    return result;
}

// "56×56" where the operator's result is an image.
std::string image_size(const Graph& graph, NodeId id) {
    auto& spec = graph.value(graph.node(id).outputs.at(0)).spec;
    if (!spec.shape.is_known() || spec.shape.rank() != 4) return {};
    auto dims = spec.shape.dims();
    if (dims[2] * dims[3] <= 1) return {};
    return text(dims[2], "×", dims[3]);
}

struct Repeat {
    size_t first = 0, period = 0, times = 0, nodes = 0;
};

// The repetition of atoms in [first, end) that covers most operators.
Repeat most_repeated(const std::vector<size_t>& kinds, const Atoms& atoms, size_t first, size_t end) {
    Repeat best;
    std::vector<size_t> sums{0};  // number of operators before each atom
    for (auto& atom : atoms) sums.push_back(sums.back() + atom.size());
    for (size_t period = 1; period <= std::min(longest_period, (end - first) / 2); ++period) {
        size_t equal = 0;
        for (size_t i = end - period; i-- > first;) {
            equal = kinds[i] == kinds[i + period] ? equal + 1 : 0;
            size_t times = equal / period + 1;
            if (times < 2 || sums[i + period] - sums[i] < least_nodes) continue;
            size_t nodes = sums[i + period * times] - sums[i];
            if (nodes > best.nodes) best = {i, period, times, nodes};
        }
    }
    return best;
}

class Blocks {
public:
    Blocks(const Graph& graph, std::span<const NodeId> nodes) : graph_(graph), atoms_(cut(graph, nodes)) {
        std::map<std::string, size_t> numbers;
        for (auto& atom : atoms_)
            kinds_.push_back(numbers.try_emplace(token(graph, atom), numbers.size()).first->second);
    }

    std::vector<Block> all() {
        std::vector<Block> blocks;
        if (!divide_into_stages(blocks)) divide(blocks, 0, atoms_.size());
        return blocks;
    }

private:
    std::string size_of(size_t atom) const { return image_size(graph_, atoms_[atom].back()); }

    bool divide_into_stages(std::vector<Block>& blocks) {
        std::vector<std::pair<size_t, size_t>> runs;  // atoms with one size of images
        for (size_t i = 0; i < atoms_.size(); ++i) {
            if (i == 0 || size_of(i) != size_of(i - 1)) runs.emplace_back(i, i);
            runs.back().second = i + 1;
        }
        auto is_stage = [&](auto& run) {
            return !size_of(run.first).empty() && nodes_of(run.first, run.second).size() >= least_nodes;
        };
        if (std::ranges::count_if(runs, is_stage) < 2) return false;
        std::map<std::string, int> seen;
        for (auto& run : runs) {
            if (!is_stage(run)) {
                divide(blocks, run.first, run.second);
                continue;
            }
            std::string name = "stage " + size_of(run.first);
            if (int times = ++seen[name]; times > 1) name += text(" (", times, ")");
            auto& stage = blocks.emplace_back(Block{name, nodes_of(run.first, run.second), {}});
            std::vector<Block> inside;
            divide(inside, run.first, run.second);
            if (inside.size() > 1) stage.inside = std::move(inside);
        }
        return true;
    }

    void divide(std::vector<Block>& blocks, size_t first, size_t end) {
        if (first >= end) return;
        Repeat repeat = most_repeated(kinds_, atoms_, first, end);
        if (repeat.times < 2) return add_atoms(blocks, first, end);
        divide(blocks, first, repeat.first);
        size_t next = repeat.first;
        for (size_t i = 0; i < repeat.times; ++i, next += repeat.period)
            blocks.push_back(
                {text("block ", i + 1, " of ", repeat.times), nodes_of(next, next + repeat.period), {}});
        divide(blocks, next, end);
    }

    void add_atoms(std::vector<Block>& blocks, size_t first, size_t end) {
        for (size_t i = first; i < end; ++i) {
            auto& atom = atoms_[i];
            if (atom.size() >= least_nodes && end - first > 1)
                blocks.push_back({"block", atom, {}});
            else
                for (NodeId id : atom) blocks.push_back({"", {id}, {}});
        }
    }

    std::vector<NodeId> nodes_of(size_t first, size_t end) const {
        std::vector<NodeId> nodes;
        for (size_t i = first; i < end; ++i) nodes.insert(nodes.end(), atoms_[i].begin(), atoms_[i].end());
        return nodes;
    }

    const Graph& graph_;
    Atoms atoms_;
    std::vector<size_t> kinds_;  // equal numbers for equal atoms
};

}  // namespace

std::vector<Block> find_blocks(const Graph& graph, std::span<const NodeId> nodes) {
    return Blocks(graph, nodes).all();
}

}  // namespace mge::dump
