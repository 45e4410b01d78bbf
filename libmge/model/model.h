// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model as stored in a file: the graph with its weights, test cases, and metadata about its origin.

#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Inputs, and the outputs at the time of the dump (empty: no comparison).
struct TestCase {
    std::string name;
    Tensors inputs, outputs;
    // The largest accepted error by MegEngine's AssertEqual (Metric::assert_equal); absent: the reader's own
    // tolerance.
    std::optional<double> max_error{};
};

// Constants of a graph, packed for the kernels of one type of machine (kernel/packed_copies.h).
struct PackedConstant {
    Tensor constant, copy;  // the copy's bytes
    std::string layouts;
};
struct PackedConstants {
    std::string machine;  // its fingerprint; they are invalid on others
    std::vector<PackedConstant> all;
};

struct Model {
    Graph graph;
    std::vector<TestCase> test_cases{};
    std::map<std::string, std::string> metadata{};
    PackedConstants packed{};
    std::string format = "mge";  // format of the original file: "mge", "MegEngine V1", …
    // Read from a file that was not encrypted, so that caches may store parts of it.
    bool is_public = false;
    std::string label{};  // name of its file or bytes in messages
};

// True if the bytes begin with the signature of a .mge file.
MGE_API bool is_model(std::span<const std::byte> bytes);

// When the checksums of weights are verified. `as_used` is for callers that only compile the graph: weights
// with a packed copy for this machine and a single reader wait until a program reads their own bytes, which
// Program::compile then verifies; it throws ModelError if they are damaged. All others are verified at once.
enum class WeightCheck { all, as_used };

// Maps the file and verifies all of it: container, graph structure, operators and parameters, shapes, and
// checksums of the weights, which are then used in place. Throws ModelError that names file, position and
// reason, or UserError if the file cannot be read.
MGE_API Model read_model(const std::string& path);
// Throws ModelError unless the bytes begin with a header that gives their number. Any alignment is allowed.
MGE_API void check_model_header(std::span<const std::byte> bytes, const std::string& label);
// Reads a model from memory. `owner` keeps the bytes alive, `label` names them in errors. The bytes must be
// aligned to 64.
MGE_API Model read_model(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         const std::string& label, WeightCheck check = WeightCheck::all);

// Writes the file completely or not at all. The graph must be on the CPU. Throws UserError if the path is not
// writable.
MGE_API void write_model(const std::string& path, const Model& model);
MGE_API void write_model(std::ostream& stream, const Model& model);

}  // namespace mge
