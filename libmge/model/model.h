// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model as it lies in a file: the graph with its weights, test cases, and free text about where it came
// from.

#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Inputs, and what the outputs were when the model was dumped (none: nothing to compare).
struct TestCase {
    std::string name;
    Tensors inputs, outputs;
    // The largest error by MegEngine's AssertEqual (Metric::assert_equal) that is none; absent: the reader's
    // own tolerance.
    std::optional<double> max_error{};
};

// Constants of a graph as kernels of one kind of machine want them (kernel/packed_copies.h).
struct PackedConstant {
    Tensor constant, copy;  // the copy's bytes
    std::string layouts;
};
struct PackedConstants {
    std::string machine;  // its fingerprint; on others they mean nothing
    std::vector<PackedConstant> all;
};

struct Model {
    Graph graph;
    std::vector<TestCase> test_cases{};
    std::map<std::string, std::string> metadata{};
    PackedConstants packed{};
    std::string format = "mge";  // of the file it was read from: "mge", "MegEngine V1", …
};

// True when the bytes start like a .mge file.
MGE_API bool is_model(std::span<const std::byte> bytes);

// When the checksums of weights are verified. `as_used` is for who does no more with a graph than compiling
// it: weights that a packed copy stands for on this machine, and one node alone reads, wait until a program
// reads their own bytes, which Program::compile then verifies; it throws ModelError when they are damaged.
// All else is verified at once.
enum class WeightCheck { all, as_used };

// Maps the file and verifies all of it: container, graph structure, every operator and parameter, shapes,
// checksums of the weights, which are then used in place. ModelError names the file, the place and the
// reason; UserError when the file cannot be read at all.
MGE_API Model read_model(const std::string& path);
// ModelError unless they begin with a header that says so many; they may lie anywhere.
MGE_API void check_model_header(std::span<const std::byte> bytes, const std::string& label);
// The same for bytes in memory; `owner` keeps them alive, `label` names them in errors. The bytes have to be
// 64-byte aligned.
MGE_API Model read_model(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         const std::string& label, WeightCheck check = WeightCheck::all);

// Writes the file whole or not at all. The graph has to be on the CPU. UserError when the path cannot be
// written.
MGE_API void write_model(const std::string& path, const Model& model);
MGE_API void write_model(std::ostream& stream, const Model& model);

}  // namespace mge
