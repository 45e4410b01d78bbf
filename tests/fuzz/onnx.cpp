// SPDX-License-Identifier: Apache-2.0
// ONNX's model files: the wire format, the messages in it, and what they mean.
#include "libmge/model/open.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/models.h"
#include "tests/fuzz/mutate_bytes.h"

namespace mge::fuzz {

void try_input(Bytes input) {
    // Anything else has a target of its own.
    if (recognise_model(input) != ModelKind::onnx) throw ModelError("no ONNX model");
    auto owner = std::make_shared<std::string>(text_of(input));
    use(open_model({bytes_of(*owner), owner, "input"}), input);
}

std::vector<std::string> seeds() {
    std::vector<std::string> result = data_files("fuzz/onnx");
    for (auto& file : data_files("onnx", ".onnx"))
        if (file.size() <= largest_input) result.push_back(file);
    return result;
}

// Lengths and small numbers are single bytes; there are no checksums.
void mutate(std::string& input, Random& random) {
    static const std::vector<std::string> others = seeds();
    if (random.below(4) == 0) return splice(input, random.pick(others), random);
    mutate_bytes(input, random);
}

}  // namespace mge::fuzz
