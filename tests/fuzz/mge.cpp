// SPDX-License-Identifier: Apache-2.0
// Our own model files.
#include "tests/fuzz/models.h"

namespace mge::fuzz {

void try_input(Bytes input) { use(read(input), input); }

std::vector<std::string> seeds() { return model_files(); }

void mutate(std::string& input, Random& random) { mutate_model(input, random); }

}  // namespace mge::fuzz
