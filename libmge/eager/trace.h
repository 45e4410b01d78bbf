// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records a function once and checks later calls against the recording. Operators return tensors without
// memory. Their values are computed when one is read, and at the end of the call for all values still held.
// So reads divide the function into segments. Later calls run the function again, but each segment as a
// compiled program, one per set of wanted values. The first call runs the operators one by one, unless the
// trace is symbolic.

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

// Marks the state of a stream of random numbers, like literal_mark. Traces read it in each call, even if
// other tensors from outside are constants.
inline constexpr int stream_mark = -3;

struct TraceOptions {
    bool symbolic = false;          // also compile the first call
    bool capture_as_const = false;  // external tensors become constants
    bool record_only = false;       // record each call anew and compile nothing
    CompileOptions compile;
};

// External tensors of a function and their names.
using TensorNames = std::vector<std::pair<Tensor, std::string>>;

class MGE_API Trace final : public Interpreter {
public:
    explicit Trace(TraceOptions options);
    ~Trace() override;
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;

    // Begins or ends one call of the function. In between, operators of this thread go to this trace. end()
    // completes a recording; `outputs` are the results of the function, and may be null. A call that differs
    // from the recording throws UserError "trace error because …". `observer` observes the programs of the
    // call; a call that is not compiled has none.
    void begin(std::span<const Tensor> arguments, std::shared_ptr<StepObserver> observer = nullptr);
    void end(std::span<const Tensor> outputs);
    // Ends a failed call. Values computed so far stay usable; an unfinished recording is dropped.
    void abort();

    bool is_recorded() const { return recorded_; }
    bool is_running() const { return running_; }
    // The number of operators recorded so far: the nodes of graph(), in order.
    size_t step_count() const { return steps_.size(); }
    // Returns the whole recording. Its inputs are the arguments, its outputs the results of the function.
    // Constants are named by `names`. Checks of the kept values (keep_value()) come last, if they are wanted.
    // Throws UserError if there is no recording, or if it uses external tensors that are not constants.
    Graph graph(const TensorNames& names = {}, bool checks_kept_values = false) const;

    Tensors apply(const OpInfo& op, const void* params, std::span<const Tensor> inputs) override;
    Tensor alias(const Tensor& tensor) override;

    // Computes the value of a tensor without memory. Throws UserError if an error in the traced function lost
    // it.
    static void compute(const Tensor& tensor);
    // Returns the numbers of the arguments, of the function that runs on this thread, from which the tensor
    // is computed; with `by_value` only those whose values matter.
    static std::vector<int> arguments_of(const Tensor& tensor, bool by_value = false);
    // The same if shapes determine the value before any run, else an empty list.
    static std::vector<int> shape_arguments(const Tensor& tensor);
    // The recording is only valid while the tensor, whose value shapes determine, keeps its present value.
    // The error message for another value begins with `claim`.
    static void keep_value(const Tensor& tensor, std::string claim);
    // The recording is only valid while axis 0 of the tensor keeps its present size.
    static void keep_length(const Tensor& tensor, std::string claim);
    // Returns the claims of keep_length() that fail for some shapes of the arguments. The others are not
    // checked.
    std::vector<std::string> open_lengths() const;

    // Suspends the trace of this thread (returns nullptr if there is none), and resumes it. Earlier values
    // become external values then, unless they become constants.
    static Trace* pause();
    static void resume(Trace* trace);

private:
    class Export;
    enum class Kind : uint8_t { argument, external, literal, computed };
    // A value of the recording.
    struct Variable {
        Kind kind;
        TensorSpec spec;
        DeviceId device;  // in the recording
        int at = 0;       // argument number, or the step that computes it
        Tensor constant;  // in dumps: of literals, captured tensors and streams of random numbers
        Tensor captured;  // the value of a captured tensor in the recording
        Tensor on_host;   // a host copy of literals and captured integers that shapes may depend on
    };
    struct Step {
        const OpInfo* op;
        std::shared_ptr<const void> params;
        std::vector<int> inputs;  // -1: absent
        std::vector<int> outputs;
    };
    struct KeptValue {
        int variable;
        Tensor value;  // on the host
        std::string claim;
        bool is_length;  // the value is the size of axis 0
    };
    // A variable in the present call.
    struct Present {
        Tensor handle;
        Tensors aliases;
        Tensor known;  // on the host, if shapes determine it
        bool bound = false;
    };
    struct Segment {
        int begin, end;
        std::vector<int> inputs, outputs;  // variables
        std::vector<DeviceId> places;      // device of each step's results
        SelectSettings settings;           // in effect when it was compiled
        std::unique_ptr<Executable> executable;
    };

    friend Shape recorded_shape(const Tensor& x);
    [[noreturn]] void fail(const std::string& reason) const;
    int find(const Tensor& tensor) const;
    void keep(KeptValue kept);
    int identify(const Tensor& tensor, int expected);
    int add_variable(Kind kind, const Tensor& tensor, int at);
    int new_external(const Tensor& tensor);
    bool may_replace(const Variable& variable) const;
    // Whether the variable is the same in all calls.
    static bool is_fixed(const Variable& variable) {
        return variable.kind == Kind::literal || variable.captured;
    }
    int match_external(const Tensor& tensor, int expected);
    bool is_compiled() const { return !options_.record_only && (recorded_ || options_.symbolic); }
    void bind(int variable, const Tensor& handle);
    const Step& record_step(const OpInfo& op, const void* params, std::vector<int> inputs,
                            std::span<const Tensor> outputs);
    const char* mismatch(int given, int expected) const;
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
    bool has_effects(int begin, int end) const;
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
    std::vector<KeptValue> kept_values_;
    size_t argument_count_ = 0;
    std::vector<std::unique_ptr<Segment>> segments_;

    // State of the present call.
    int position_ = 0, computed_ = 0;  // applied steps, computed steps
    std::vector<Present> present_;
    std::unordered_map<const TensorImpl*, int> ids_;  // only tensors with memory
    Tensors kept_;                                    // keeps the addresses in ids_ valid
    std::shared_ptr<StepObserver> observer_;
    Interpreter* outer_ = nullptr;
};

}  // namespace mge
