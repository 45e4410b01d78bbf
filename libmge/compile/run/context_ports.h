// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "libmge/compile/program_parts.h"

namespace mge {

class Queue;

// UserError: there is no input, or output, of that number.
[[noreturn]] void throw_no_port(std::string_view kind, size_t i, size_t count);

// The ports that a context has memory of its own for. The rest has to be bound before each run.
struct OwnPorts {
    bool inputs = true, outputs = true;
    // Somebody waits for the context, gets its errors, and gets outputs when they are there.
    bool is_waited_for = true;
};

// One piece of memory outside of the arenas, and the addresses of instructions that follow it.
struct Port {
    explicit Port(size_t of_place, size_t begin = 0) : offset(begin), place(of_place) {}

    StorageRef storage;  // null while bound to foreign memory
    size_t offset, place;
    void* data = nullptr;

    void follow(void** slot, size_t bytes_behind) {
        followers_.push_back({slot, bytes_behind});
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
    // `bytes_behind` bytes behind the beginning of the memory; absent when there is none.
    Tensor tensor(const TensorSpec& spec, size_t bytes_behind, DeviceId device) const;

private:
    struct Follower {
        void** slot;
        size_t bytes_behind;
        void point(void* memory) const {
            *slot = memory ? static_cast<char*>(memory) + bytes_behind : nullptr;
        }
    };
    std::vector<Follower> followers_;
};

// The memory of a context outside of its arenas: inputs, outputs, and the blocks of a program without a plan.
class ContextPorts {
public:
    using Addresses = std::vector<void*>;

    // Allocates and touches the memory of ports that the context owns.
    ContextPorts(const ProgramParts& parts, std::span<Queue* const> queues, OwnPorts own);

    std::vector<Port> inputs, outputs, blocks;

    // The port of a location; null for one that is no port.
    Port* find(const Location& location);
    // The address of an input in the context's own memory, or where it is bound to when it has none.
    void* input(size_t i) const;
    void bind_input(size_t i, const void* data);
    void bind_output(size_t i, void* data, size_t bytes);
    bool are_outputs_bound() const;
    // The output's memory is neither the context's own nor held by anybody else.
    bool is_free(const Port& output) const;
    // The addresses of inputs and outputs, as they are now; valid until the next call.
    const Addresses& addresses();

private:
    StorageRef allocate(size_t place, size_t bytes) const;
    Port& own_output(size_t i);

    const ProgramParts& parts_;
    OwnPorts own_;
    std::vector<StorageRef> memory_;  // by place: inputs, then outputs; null where the context has none
    Addresses addresses_;
};

}  // namespace mge
