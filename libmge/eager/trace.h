// SPDX-License-Identifier: Apache-2.0
#pragma once
// A function recorded once and checked on every later call. Its operators only hand out tensors without
// memory; what they stand for is computed as soon as somebody asks for a value, and at the end for all values
// that are still held. So the function falls into segments, from one place where a value is read to the
// next. Later calls run the function again, and each segment as a compiled program, made per set of wanted
// values; the first call, the recording, runs the operators one by one unless it is symbolic.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "libmge/compile/program.h"
#include "libmge/graph/graph.h"
#include "libmge/kernel/select_settings.h"
#include "libmge/op/apply.h"
#include "libmge/op/recorded_shape.h"

namespace mge {

struct TraceOptions {
    bool symbolic = false;          // compile the first call, too
    bool capture_as_const = false;  // tensors that are no arguments become constants
    bool record_only = false;       // record every call anew, compile nothing
    CompileOptions compile;
};

// Tensors from outside of a function, and what they are called.
using TensorNames = std::vector<std::pair<Tensor, std::string>>;

class MGE_API Trace final : public Interpreter {
public:
    explicit Trace(TraceOptions options);
    ~Trace() override;
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;

    // One call of the function on this thread: operators go to this trace until end() or abort(). A
    // recording is complete with end(); `outputs` are what the function returned (null entries allowed).
    // UserError "trace error because …" when the call did something else than the recording. `observer` is
    // told of the programs that the call runs, one after the other; a call that is not compiled runs none.
    void begin(std::span<const Tensor> arguments, std::shared_ptr<StepObserver> observer = nullptr);
    void end(std::span<const Tensor> outputs);
    // The call failed: what it computed so far stays usable, a recording is dropped.
    void abort();

    bool is_recorded() const { return recorded_; }
    bool is_running() const { return running_; }
    // How many operators the recording has so far; they are the nodes of graph(), in their order.
    size_t step_count() const { return steps_.size(); }
    // The whole recording, with the arguments as inputs and what the function returned as outputs; constants
    // have the names of the tensors that they are. UserError when there is no recording or it used tensors
    // that are neither arguments nor constants.
    Graph graph(const TensorNames& names = {}) const;

    Tensors apply(const OpInfo& op, const void* params, std::span<const Tensor> inputs) override;
    Tensor alias(const Tensor& tensor) override;

    // Gives a tensor without memory its value. UserError when an error in the traced function lost it.
    static void compute(const Tensor& tensor);
    // The arguments of the function that runs on this thread, by number, from whose shapes the value follows
    // ahead of any run; empty if it follows from none.
    static std::vector<int> shape_arguments(const Tensor& tensor);

    // The trace that runs on this thread steps aside (null: none does) and comes back. Values from before are
    // values from outside then, unless those become constants.
    static Trace* pause();
    static void resume(Trace* trace);

private:
    class Export;
    enum class Kind : uint8_t { argument, external, literal, computed };
    // What stands for a value in all calls.
    struct Variable {
        Kind kind;
        TensorSpec spec;
        DeviceId device;  // at the recording
        int at = 0;       // argument number, or the step that computes it
        Tensor constant;  // literals and captured tensors
        Tensor on_host;   // the same, of literals and of captured integers that shapes may follow from
    };
    struct Step {
        const OpInfo* op;
        std::shared_ptr<const void> params;
        std::vector<int> inputs;  // -1: absent
        std::vector<int> outputs;
    };
    // What a variable is in the present call.
    struct Present {
        Tensor handle;
        Tensors aliases;
        Tensor known;  // the value on the host, where it follows from shapes
        bool bound = false;
    };
    struct Segment {
        int begin, end;
        std::vector<int> inputs, outputs;  // variables
        std::vector<DeviceId> places;      // by step, where its results lie
        SelectSettings settings;           // under which it is compiled
        std::unique_ptr<Executable> executable;
    };

    friend Shape recorded_shape(const Tensor& x);
    [[noreturn]] void fail(const std::string& reason) const;
    int identify(const Tensor& tensor, int expected);
    int add_variable(Kind kind, const Tensor& tensor, int at);
    int new_external(const Tensor& tensor);
    int match_external(const Tensor& tensor, int expected);
    bool is_compiled() const { return !options_.record_only && (recorded_ || options_.symbolic); }
    void bind(int variable, const Tensor& handle);
    const Step& record_step(const OpInfo& op, const void* params, std::vector<int> inputs,
                            std::span<const Tensor> outputs);
    const Step& check_step(const OpInfo& op, const void* params, std::span<const Tensor> inputs);
    std::vector<int> identify_all(std::span<const Tensor> inputs);
    TensorSpecs infer_step(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                           std::span<const int> ids);
    Tensor known_value(const Tensor& tensor, int id) const;
    Tensor known_to_host(const Tensor& tensor, int id) const;
    void compute_known(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                       std::span<const int> ids, std::span<const int> outputs);
    void flush();
    std::vector<int> wanted(int begin, int end) const;
    bool has_effects(int begin, int end) const;  // some step has an effect
    std::vector<bool> needed_steps(const std::vector<int>& wanted) const;
    void run_compiled(const std::vector<int>& wanted);
    void run_one_by_one(const std::vector<int>& wanted);
    Segment& find_segment(int begin, int end, const std::vector<int>& wanted);
    std::vector<DeviceId> places_of(int begin, int end) const;
    Graph segment_graph(Segment& segment) const;
    void give_value(int variable, const Tensor& value);
    void fill(const Tensor& handle, const Tensor& value, int variable);
    void cut_off();
    void leave();
    void lose_values();

    TraceOptions options_;
    bool recorded_ = false, running_ = false;
    std::vector<Variable> variables_;
    std::vector<Step> steps_;
    std::vector<int> outputs_;
    size_t argument_count_ = 0;
    std::vector<std::unique_ptr<Segment>> segments_;

    // Of the present call.
    int position_ = 0, computed_ = 0;  // steps applied, steps whose values exist
    std::vector<Present> present_;
    std::unordered_map<const TensorImpl*, int> ids_;  // of concrete tensors
    Tensors kept_;                                    // keeps their addresses theirs
    std::shared_ptr<StepObserver> observer_;
    Interpreter* outer_ = nullptr;
};

}  // namespace mge
