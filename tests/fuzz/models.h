// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of the targets whose inputs are models.

#include <string>
#include <vector>

#include "libmge/model/model.h"
#include "tests/fuzz/target.h"

namespace mge::fuzz {

// The key of encrypted inputs: 32 bytes.
std::span<const std::byte> sample_key();

// A net with convolutions, for what is made of a compilation: caches and plans.
const Graph& convolution_net();

// Small models as .mge files.
std::vector<std::string> model_files();

// Reads a .mge image, which is copied to aligned memory.
Model read(Bytes bytes);
std::string written(const Model& model);

// Running it is fast with any algorithms.
bool is_small(const Graph& graph);

// Verifies and prints the graph; of small ones it compiles and runs one in four, or one in
// MGE_FUZZ_RUN_EVERY, as follows from the input.
void use(const Model& model, Bytes input);

// Makes the checksums and the length of a .mge image right again.
void reseal(std::string& image);
// A .mge image with other bytes and checksums that fit, or of a changed graph: parameters, wires, shapes,
// names, further operators.
void mutate_model(std::string& image, Random& random);

}  // namespace mge::fuzz
