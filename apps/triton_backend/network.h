// SPDX-License-Identifier: Apache-2.0
#pragma once
// A network of Lite with errors as exceptions, and arrays in and out.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lite-c/network_c.h"

namespace mge::triton {

// An input or output: Lite's element type, and sizes with -1 for open ones. `sizes` are those of the file.
struct TensorInfo {
    std::string name;
    LiteDataType type;
    std::vector<int64_t> shape, sizes;
};

// The size of an element in bytes, and Triton's name of the type, such as "FP32".
size_t size_of(LiteDataType type);
const char* name_of(LiteDataType type);
// The bytes of an array whose shape is known to be valid.
size_t bytes_of(LiteDataType type, const std::vector<int64_t>& shape);

// How a model is loaded.
struct LoadOptions {
    std::string path;
    std::string key_file;  // "": not encrypted
    std::string fast_run_cache;
    int threads = 0;  // 0: all that the process may use
};

// One network; one thread at a time uses it. Failures are std::runtime_error.
class Network {
public:
    explicit Network(const LoadOptions& options);
    // The same model, with the same weights in memory.
    Network(const Network& source, const LoadOptions& options);

    const std::vector<TensorInfo>& inputs() const { return inputs_; }
    const std::vector<TensorInfo>& outputs() const { return outputs_; }

    // Memory for the values of an input of this shape; valid until the next call for this input.
    std::byte* input(size_t index, const std::vector<int64_t>& shape);
    void run();
    // The shape and the values of an output; valid until the next run.
    std::vector<int64_t> output_shape(size_t index) const;
    const std::byte* output(size_t index) const;

private:
    void describe();

    struct Destroy {
        void operator()(void* network) const;
    };
    std::unique_ptr<void, Destroy> network_;
    std::vector<TensorInfo> inputs_, outputs_;
    std::vector<LiteTensor> input_tensors_, output_tensors_;
};

}  // namespace mge::triton
