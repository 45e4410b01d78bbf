// SPDX-License-Identifier: Apache-2.0
// MegEngine's model files, V1 and V2.
#include "libmge/model/open.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/models.h"
#include "tests/fuzz/mutate_bytes.h"

namespace mge::fuzz {

void try_input(Bytes input) {
    // Anything else has a target of its own.
    if (auto kind = recognise_model(input); kind && kind != ModelKind::megengine)
        throw ModelError("a model of another kind");
    auto owner = std::make_shared<std::string>(text_of(input));
    use(open_model({bytes_of(*owner), owner, "input"}), input);
}

std::vector<std::string> seeds() {
    std::vector<std::string> result = data_files("fuzz/megengine");
    for (auto& file : data_files("megengine", ".mge"))
        if (file.size() <= largest_input) result.push_back(file);
    return result;
}

// Offsets, counts and parameters of these files are aligned integers; they have no checksums.
void mutate(std::string& input, Random& random) {
    static const std::vector<std::string> others = seeds();
    mutate_tables(input, others, random);
}

}  // namespace mge::fuzz
