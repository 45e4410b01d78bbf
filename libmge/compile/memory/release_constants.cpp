// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/memory/release_constants.h"

#include <algorithm>

#include "libmge/base/files/file.h"
#include "libmge/kernel/packed_copies.h"

namespace mge {
namespace {

// Smaller ones are dropped in the end, together with their neighbours (release_mapped).
constexpr size_t released_at_once = size_t(1) << 20;

std::span<const std::byte> bytes_of(const Tensor& tensor) {
    return {static_cast<const std::byte*>(tensor.address()), tensor.spec().bytes()};
}

bool is_among(const std::vector<const void*>& copies, const std::vector<MemoryPiece>& pieces) {
    return std::ranges::find_first_of(pieces, copies, {}, &MemoryPiece::address) != pieces.end();
}

}  // namespace

ConstantRelease::ConstantRelease(Graph& graph, const Schedule& schedule)
    : graph_(graph),
      schedule_(schedule),
      readers_(schedule.buffers.size()),
      released_(graph.values().size()) {
    for (auto& step : schedule.steps)
        for (ValueId id : graph.node(step.node).inputs)
            if (id != no_value && schedule.buffer_of[size_t(id)] >= 0)
                ++readers_[size_t(schedule.buffer_of[size_t(id)])].unbound;
    for (ValueId id : graph.outputs())
        if (int buffer = schedule.buffer_of[size_t(id)]; buffer >= 0)
            readers_[size_t(buffer)].need_original = true;
    for (size_t i = 0; i < readers_.size(); ++i) {
        auto& buffer = schedule.buffers[i];
        if (buffer.kind != Buffer::Kind::constant) continue;
        auto& readers = readers_[i];
        readers.original = graph.value(buffer.constant).constant.address();
        readers.copies = packed_copies_of(readers.original);
        readers.take_from_file = readers.unbound > 0 && !readers.need_original;
        release_unread(int(i));
    }
}

void ConstantRelease::bound(size_t step, const Prepared& prepared) {
    auto& inputs = graph_.node(schedule_.steps[step].node).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
        int buffer = inputs[i] == no_value ? -1 : schedule_.buffer_of[size_t(inputs[i])];
        if (buffer < 0) continue;
        auto& readers = readers_[size_t(buffer)];
        bool reads_copy = i < 32 && prepared.packed().inputs >> i & 1;
        readers.need_original |= !reads_copy;
        readers.take_from_file &= reads_copy && is_among(readers.copies, prepared.packed().pieces);
        --readers.unbound;
        release_unread(buffer);
    }
}

void ConstantRelease::release_unread(int index) {
    auto& buffer = schedule_.buffers[size_t(index)];
    auto& readers = readers_[size_t(index)];
    if (buffer.kind != Buffer::Kind::constant || readers.unbound > 0 || readers.need_original) return;
    released_[size_t(buffer.constant)] = true;
    Tensor& constant = graph_.value(buffer.constant).constant;
    auto bytes = bytes_of(constant);
    if (!is_mapped(bytes.data()))
        constant = {};
    else if (bytes.size() >= released_at_once)
        release_pages(bytes);
}

std::set<const void*> ConstantRelease::unread() const {
    std::set<const void*> unread;
    for (auto& readers : readers_)
        if (readers.take_from_file) unread.insert(readers.original);
    // Several buffers may be views of one constant.
    for (auto& readers : readers_)
        if (!readers.take_from_file) unread.erase(readers.original);
    return unread;
}

void release_pages_of_constants(const Graph& graph, const Node& node) {
    for (ValueId id : node.inputs)
        if (id != no_value && graph.value(id).constant && graph.value(id).device.is_host())
            release_pages(bytes_of(graph.value(id).constant));
}

void release_mapped(std::vector<std::span<const std::byte>> pieces, const std::set<const void*>& kept) {
    // Files align their content: a gap of less than a page belongs to no piece, unless it contains a constant
    // that stays. Pages of that must not be dropped, because reading it would bring back its neighbours in
    // the same readahead range.
    constexpr ptrdiff_t largest_gap = 4096;
    auto joins = [&](const std::byte* end, const std::byte* next) {
        auto between = kept.lower_bound(end);
        return next - end < largest_gap && (between == kept.end() || *between >= next);
    };
    std::sort(pieces.begin(), pieces.end(), [](auto a, auto b) { return a.data() < b.data(); });
    for (size_t i = 0; i < pieces.size();) {
        auto *begin = pieces[i].data(), *end = begin + pieces[i].size();
        for (++i; i < pieces.size() && joins(end, pieces[i].data()); ++i)
            end = std::max(end, pieces[i].data() + pieces[i].size());
        release_pages({begin, size_t(end - begin)});
    }
}

void require_whole_files(const std::map<const void*, size_t>& constants) {
    const MappedFile* last = nullptr;
    for (auto [address, bytes] : constants) {
        auto* file = MappedFile::of(address);
        if (file && file != last) file->require_whole();
        last = file;
    }
}

}  // namespace mge
