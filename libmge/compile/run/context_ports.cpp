// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/run/context_ports.h"

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/device/copying.h"
#include "libmge/device/device.h"

namespace mge {

void throw_no_port(std::string_view kind, size_t i, size_t count) {
    throw_user("context", text("there is no ", kind, ' ', i, "; the program has ", count), ErrorClass::index);
}

Tensor Port::tensor(const TensorSpec& spec, size_t byte_offset, DeviceId device) const {
    if (!data) return {};  // not yet, or no longer
    if (storage) return Tensor(spec, storage, offset + byte_offset, device);
    return Tensor(spec, borrow_storage(static_cast<const char*>(data) + byte_offset, spec.bytes(), nullptr),
                  0, device);
}

ContextPorts::ContextPorts(const ProgramParts& parts, std::span<Queue* const> queues, OwnPorts own)
    : parts_(parts), own_(own), memory_(queues.size()) {
    std::vector<std::optional<size_t>> bytes(queues.size());
    auto add = [&](std::vector<Port>& ports, const std::vector<MemoryLayout::PortMemory>& wanted,
                   bool are_own) {
        for (auto [size, place] : wanted) {
            size_t offset = are_own ? bytes[place].value_or(0) : 0;
            ports.emplace_back(place, offset);
            if (are_own) bytes[place] = offset + align_up(size);
        }
    };
    add(inputs, parts.placement.inputs, own.inputs);
    add(outputs, parts.placement.outputs, own.outputs);
    for (size_t i = 0; i < bytes.size(); ++i) {
        if (!bytes[i]) continue;
        memory_[i] = allocate(i, *bytes[i]);
        // Touch every page now, so that runs have no page faults.
        queues[i]->fill(memory_[i]->data, 0, *bytes[i]);
    }
    auto fill = [&](std::vector<Port>& ports) {
        for (auto& port : ports) {
            port.storage = memory_[port.place];
            port.data = static_cast<char*>(port.storage->data) + port.offset;
        }
    };
    if (own.inputs) fill(inputs);
    if (own.outputs) fill(outputs);
    for (auto& block : parts.placement.blocks) blocks.emplace_back(block.place);
}

// Overlapping copies to and from a device need page-locked memory.
StorageRef ContextPorts::allocate(size_t place, size_t bytes) const {
    auto& copies = parts_.enqueue_plan.copies.copies;
    auto& places = parts_.places;
    bool is_copied = places[place].is_host() && own_.is_waited_for && !copies.empty();
    return allocate_for_copies(places[place], is_copied ? places[copies[0].place] : places[place], bytes);
}

Port* ContextPorts::find(const Location& location) {
    switch (location.kind) {
        case Location::Kind::block:
            return &blocks[location.at];
        case Location::Kind::input:
            return &inputs[location.at];
        case Location::Kind::output:
            return &outputs[location.at];
        default:
            return nullptr;
    }
}

void* ContextPorts::input(size_t i) const {
    if (i >= inputs.size()) throw_no_port("input", i, inputs.size());
    if (!own_.inputs) return inputs[i].data;
    return static_cast<char*>(memory_[inputs[i].place]->data) + inputs[i].offset;
}

void ContextPorts::bind_input(size_t i, const void* data) {
    void* own = input(i);
    inputs[i].storage = data ? StorageRef{} : memory_[inputs[i].place];
    inputs[i].point(data ? const_cast<void*>(data) : own);
}

// Returns the memory of an output that no other value shares.
Port& ContextPorts::own_output(size_t i) {
    auto& ids = parts_.graph.outputs();
    if (i >= ids.size()) throw_no_port("output", i, ids.size());
    Location location = parts_.placement.locate(ids[i]);
    auto is_stored_there = [&](ValueId id) {
        Location other = parts_.placement.locate(id);
        return other.kind == location.kind && other.at == location.at;
    };
    if (location.kind != Location::Kind::output || std::ranges::count_if(ids, is_stored_there) != 1)
        throw_user("context", text("output ", i, " has no separate memory that could be set; compile with ",
                                   "force_output_use_user_specified_memory"));
    return outputs[location.at];
}

void ContextPorts::bind_output(size_t i, void* data, size_t bytes) {
    Port& port = own_output(i);
    size_t needed = parts_.ports.outputs[i].spec.bytes();
    if (data && bytes < needed)
        throw_user("context",
                   text("output ", i, " has ", counted(needed, "byte"), ", the memory given for it ", bytes));
    port.storage = data || !own_.outputs ? StorageRef{} : memory_[port.place];
    bool is_own = port.storage.get() != nullptr;
    port.point(is_own ? static_cast<char*>(port.storage->data) + port.offset : data);
}

bool ContextPorts::are_outputs_bound() const {
    return std::ranges::all_of(outputs, [](auto& port) { return port.data != nullptr; });
}

bool ContextPorts::is_free(const Port& output) const {
    return output.storage && output.storage.get() != memory_[output.place].get() &&
           output.storage->users == 1;
}

const ContextPorts::Addresses& ContextPorts::addresses() {
    addresses_.clear();
    for (auto* ports : {&inputs, &outputs})
        for (auto& port : *ports) addresses_.push_back(port.data);
    return addresses_;
}

}  // namespace mge
