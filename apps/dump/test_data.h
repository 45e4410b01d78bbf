// SPDX-License-Identifier: Apache-2.0
#pragma once
// Data of test cases in the notation of MegEngine's dump:
//
//   specification   path | #rand(...) | name:part;name:part…        one part per input
//   part            an image file, a .npy file, or #rand(min,max[,extents…])
//   #rand           uniform random numbers of the given extents, or of the input's shape; a last
//                   "..." stands for the remaining extents of the input. A single #rand is for all
//                   inputs
//   @list.txt       a file with one specification per line

#include <cstdint>
#include <string>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge::dump {

struct TestDataOptions {
    bool resize = false;    // scale images to the input's height and width
    int64_t repeat = 1;     // repeats file data along the first axis
    std::string transform;  // applied to file data (input_transform.h); empty: none
    uint64_t seed = 0;      // for #rand
};

// Replaces "@file" by the lines of the file.
std::vector<std::string> expand_lists(const std::vector<std::string>& specifications);

// Returns the values of all inputs in the graph's order. Images have OpenCV's channel order (blue, green,
// red), grey for an input with one channel, and the layout that the input's shape implies. Throws UserError
// if data does not fit.
Tensors read_test_data(const std::string& specification, const Graph& graph, const TestDataOptions& options);

}  // namespace mge::dump
