// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory: figures by class in the report, and files that show where it goes.

#include <string>

#include "apps/cli/tool.h"
#include "apps/load_and_run/test.h"
#include "libmge/compile/program.h"
#include "libmge/inspect/memory.h"

namespace mge::load_and_run {

// Memory figures by class: predicted from the program, allocated by the engine's allocator, and reported by
// the system. The marks are set in this order, each once, for the first test.
class MemoryFigures {
public:
    // The model runs at `place`: memory there is counted as well as host memory. Without a report nothing is
    // measured, which takes a sixth of a short process.
    MemoryFigures(DeviceId place, bool is_reported) : place_(place), is_reported_(is_reported) {}
    bool is_reported() const { return is_reported_; }
    void before_load() { mark(start_); }
    void loaded() { mark(loaded_); }
    void fed(const std::vector<Test>& tests);  // inputs and expected outputs are there
    void compiled() { mark(compiled_); }
    void prepared() { mark(prepared_); }  // a context is there
    void ran(const Graph& model, const Program& program);

    cli::Json to_json(const Program& program, const Graph& model) const;

private:
    struct Sample {
        bool is_taken = false;
        size_t allocated = 0;  // by the engine's allocator
        size_t taken = 0;      // by others, generated code included
        size_t anonymous = 0;
    };
    void mark(Sample& sample) const;
    // The difference between two marks.
    static cli::Json between(const Sample& from, const Sample& to, size_t predicted);
    cli::Json weights(const MemoryReport& memory, const Graph& model) const;
    cli::Json program(const MemoryReport& memory, const Graph& model) const;
    DeviceId place_;
    bool is_reported_;
    Sample start_, loaded_, fed_, compiled_, prepared_, ran_;
    size_t test_data_ = 0;
    // Resident bytes after the first run: weights of the model in its file, the others, and those that were
    // made of them.
    size_t weights_in_file_ = 0, weights_elsewhere_ = 0, made_weights_ = 0;
};

// The suffix of the name selects the format: a picture for .svg, numbers for .json.
void write_memory_timeline(const std::string& path, const Program& program);

}  // namespace mge::load_and_run
