// SPDX-License-Identifier: Apache-2.0
#pragma once
// The data of test cases as MegEngine's dump describes it:
//
//   specification   path | #rand(...) | name:part;name:part…        one part per input
//   part            an image file, a .npy file, or #rand(min,max[,extents…])
//   #rand           uniform numbers; without extents in the input's shape; a last "..." stands for the
//   extents
//                   that are left of it. One #rand alone is for all inputs
//   @list.txt       a file with one specification per line

#include <cstdint>
#include <string>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge::dump {

struct TestDataOptions {
    bool resize = false;    // images to the height and width of the input
    int64_t repeat = 1;     // data of files along the first axis
    std::string transform;  // what is done to data of files then, see input_transform.h; empty: nothing
    uint64_t seed = 0;      // of #rand
};

// Replaces "@file" by the lines of the file.
std::vector<std::string> expand_lists(const std::vector<std::string>& specifications);

// The values of all inputs, in the graph's order. Images come as OpenCV reads them: blue, green, red; grey
// for an input with one channel; in the layout that the input's shape shows. UserError says what does not
// fit.
Tensors read_test_data(const std::string& specification, const Graph& graph, const TestDataOptions& options);

}  // namespace mge::dump
