// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "libmge/compile/program_parts.h"

namespace mge {

class Queue;

// Throws UserError for an unknown input or output number.
[[noreturn]] void throw_no_port(std::string_view kind, size_t i, size_t count);

// The ports for which a context has memory of its own. Others must be bound before each run.
struct OwnPorts {
    bool inputs = true, outputs = true;
    // A caller waits for the context, receives its errors, and reads outputs after waiting.
    bool is_waited_for = true;
};

// A piece of memory outside of the arenas, with the instruction addresses that follow it.
struct Port {
    explicit Port(size_t of_place, size_t begin = 0) : offset(begin), place(of_place) {}

    StorageRef storage;  // null while bound to foreign memory
    size_t offset, place;
    void* data = nullptr;

    void follow(void** slot, size_t byte_offset) {
        followers_.push_back({slot, byte_offset});
        followers_.back().point(data);
    }
    void point(void* memory) {
        data = memory;
        for (auto& follower : followers_) follower.point(memory);
    }
    void take(StorageRef memory) {
        storage = std::move(memory);
        offset = 0;
        point(storage->data);
    }
    void forget() {
        storage = {};
        data = nullptr;
    }
    // Returns the tensor `byte_offset` bytes after the start of the memory; null if there is no memory.
    Tensor tensor(const TensorSpec& spec, size_t byte_offset, DeviceId device) const;

private:
    struct Follower {
        void** slot;
        size_t byte_offset;
        void point(void* memory) const {
            *slot = memory ? static_cast<char*>(memory) + byte_offset : nullptr;
        }
    };
    std::vector<Follower> followers_;
};

// Memory of a context outside of its arenas: inputs, outputs, and blocks of a program without a memory plan.
class ContextPorts {
public:
    using Addresses = std::vector<void*>;

    // Allocates and touches the memory that the context owns.
    ContextPorts(const ProgramParts& parts, std::span<Queue* const> queues, OwnPorts own);

    std::vector<Port> inputs, outputs, blocks;

    // Returns the port of a location, or nullptr.
    Port* find(const Location& location);
    // Returns the address of an input: in the context's own memory, else where it is bound.
    void* input(size_t i) const;
    void bind_input(size_t i, const void* data);
    void bind_output(size_t i, void* data, size_t bytes);
    bool are_outputs_bound() const;
    // True if the output's memory is neither the context's own nor held elsewhere.
    bool is_free(const Port& output) const;
    // The present addresses of inputs and outputs. Valid until the next call.
    const Addresses& addresses();

private:
    StorageRef allocate(size_t place, size_t bytes) const;
    Port& own_output(size_t i);

    const ProgramParts& parts_;
    OwnPorts own_;
    std::vector<StorageRef> memory_;  // by place: inputs, then outputs; null if the context has none
    Addresses addresses_;
};

}  // namespace mge
