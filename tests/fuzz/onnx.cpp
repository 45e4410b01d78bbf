// SPDX-License-Identifier: Apache-2.0
// ONNX's model files: the wire format, the messages in it, and what they mean.
#include "libmge/model/import/onnx/onnx.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/models.h"
#include "tests/fuzz/mutate_bytes.h"
#include "tests/fuzz/mutate_onnx.h"

namespace mge::fuzz {
namespace {

// Limit of the growth of graphs beyond their files: small, so that it is reached soon.
constexpr size_t growth_slack = size_t(2) << 20;

// The last input that was read, with room for any: libFuzzer tries an input that allocates more than it frees
// again and looks for leaks, which takes far longer.
std::string& last_read() {
    static std::string result(largest_input, '\0');
    return result;
}

// The newest models that were read, which others get pieces of.
constexpr size_t most_others = 1024;
std::vector<std::string>& others() {
    static std::vector<std::string> result = seeds();
    return result;
}
void keep(std::string& input) {
    static size_t place = 0;
    if (input.empty()) return;
    auto& all = others();
    if (all.size() < most_others)
        all.push_back(input);
    else
        all[place++ % most_others] = input;
    input.clear();
}

}  // namespace

void try_input(Bytes input) {
    // Anything else has a target of its own.
    if (recognise_model(input) != ModelKind::onnx) throw ModelError("no ONNX model");
    auto& last = last_read();
    last.clear();
    auto owner = std::make_shared<std::string>(text_of(input));
    use(onnx::read_model({bytes_of(*owner), owner, "input"}, growth_slack), input);
    if (owner->size() <= largest_input) last.assign(*owner);
}

std::vector<std::string> seeds() {
    std::vector<std::string> result = data_files("fuzz/onnx");
    for (auto& file : data_files("onnx", ".onnx"))
        if (file.size() <= largest_input) result.push_back(file);
    return result;
}

// Mutates the messages, or the bytes: lengths and small numbers are single bytes; there are no checksums.
void mutate(std::string& input, Random& random) {
    keep(last_read());
    if (random.below(4) && mutate_onnx(input, others(), random)) return;
    if (random.one_in(4)) return splice(input, random.pick(others()), random);
    mutate_bytes(input, random);
}

}  // namespace mge::fuzz
