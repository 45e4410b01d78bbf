// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/runner.h"

#include <algorithm>
#include <utility>

#include "libmge/base/text.h"
#include "libmge/compile/run/bound_context.h"
#include "libmge/lite/layout.h"

namespace lite {
namespace {

bool are_bound(OutputMemory memory) { return memory == OutputMemory::bound || memory == OutputMemory::user; }

// The times are written after each run, so only one run is kept. On devices other than the host, the host's
// times are recorded, too.
mge::ProfilerOptions profiler_options(const mge::Program& program) {
    mge::ProfilerOptions options;
    options.memory = 0;
    options.dispatch =
        std::ranges::any_of(program.places(), [](mge::DeviceId place) { return !place.is_host(); });
    return options;
}

}  // namespace

Runner::Runner(std::shared_ptr<const mge::Program> program, mge::TensorSpecs specs,
               std::vector<size_t> computed, const RunnerOptions& options)
    : program_(std::move(program)),
      specs_(std::move(specs)),
      computed_(std::move(computed)),
      options_(options),
      context_(mge::create_bound_context(program_, options.memory)),
      seen_inputs_(program_->inputs().size()),
      seen_outputs_(computed_.size()),
      open_inputs_(is_open() ? program_->inputs().size() : 0),
      input_copies_(program_->inputs().size()),
      output_copies_(computed_.size()) {}

bool Runner::is_for(const mge::TensorSpecs& inputs) const {
    return is_open() ? options_.open->accepts(inputs) : mge::specs_of(program_->inputs()) == inputs;
}

bool Runner::is_bound_to(const std::vector<Input>& inputs, const std::vector<Output>& outputs) const {
    for (size_t i = 0; i < inputs.size(); ++i)
        if (!(seen_inputs_[i] == Seen::of(*inputs[i].tensor))) return false;
    if (!are_bound(options_.output_memory)) return true;
    for (size_t i = 0; i < computed_.size(); ++i)
        if (!(seen_outputs_[i] == Seen::of(*outputs[computed_[i]].tensor))) return false;
    return true;
}

void Runner::bind(std::vector<Input>& inputs, std::vector<Output>& outputs) {
    for (auto* seen : {&seen_inputs_, &seen_outputs_}) std::ranges::fill(*seen, Seen{});
    fills_ = is_open();
    for (size_t i = 0; i < inputs.size(); ++i) bind_input(i, inputs[i]);
    shape(outputs);
    fetches_ = !are_bound(options_.output_memory);
    if (!fetches_)
        for (size_t i = 0; i < computed_.size(); ++i) bind_output(i, outputs[computed_[i]], inputs);
    // Last, because requesting the memory may allocate it.
    for (size_t i = 0; i < inputs.size(); ++i) seen_inputs_[i] = Seen::of(*inputs[i].tensor);
    for (size_t i = 0; i < computed_.size(); ++i) seen_outputs_[i] = Seen::of(*outputs[computed_[i]].tensor);
}

void Runner::shape(std::vector<Output>& outputs) const {
    // The user's memory is looked at when a run is to write there.
    if (options_.output_memory == OutputMemory::user) {
        for (size_t i = 0; i < outputs.size(); ++i) {
            auto& impl = TensorHelper::impl(*outputs[i].tensor);
            if (!impl.current_address()) outputs[i].tensor->set_layout(layout_of(specs_[i]));
        }
        return;
    }
    for (size_t i = 0; i < outputs.size(); ++i)
        if (specs_[i].shape.is_known()) outputs[i].tensor->set_layout(layout_of(specs_[i]));
}

bool Runner::is_stored_on(const Tensor& tensor, mge::DeviceId place) const {
    auto& impl = TensorHelper::impl(tensor);
    bool is_there = impl.place() == place || (impl.place().is_host() && place.is_host());
    return is_there && impl.view().is_dense();
}

Tensor::TensorImplBase& Runner::between(std::shared_ptr<Tensor>& tensor, const mge::PortInfo& port,
                                        const mge::TensorSpec& spec) const {
    if (!tensor) tensor = make_tensor(port.device, false, options_.allocator);
    tensor->set_layout(layout_of(spec));
    return TensorHelper::impl(*tensor);
}

void Runner::bind_input(size_t i, Input& input) {
    auto& port = program_->inputs()[i];
    auto* impl = &TensorHelper::impl(*input.tensor);
    const mge::TensorSpec spec = input.spec();
    if (is_stored_on(*input.tensor, port.device)) {
        input_copies_[i] = nullptr;
    } else {
        fills_ = true;
        impl = &between(input_copies_[i], port, spec);
    }
    if (is_open())
        open_inputs_[i] = impl->engine_tensor().with_shape(spec.shape);
    else
        context_->bind_input(i, impl->address("forward"));
}

void Runner::fill(std::vector<Input>& inputs) {
    if (!fills_) return;
    // A run of an open program frees its inputs.
    if (is_open())
        for (size_t i = 0; i < inputs.size(); ++i) mge::bind_input(*context_, i, open_inputs_[i]);
    for (size_t i = 0; i < inputs.size(); ++i)
        if (input_copies_[i]) input_copies_[i]->copy_from(*inputs[i].tensor);
}

void Runner::require_given(const Output& output, const Layout& wanted) const {
    if (options_.output_memory != OutputMemory::user) return;
    if (!TensorHelper::impl(*output.tensor).current_address())
        throw Error(mge::text("output '", output.io.name, "' of ", text_of(wanted),
                              " has no memory, or not enough: with force_output_use_user_specified_memory "
                              "reset() provides it"));
}

// A kernel that writes an output may still read the inputs.
bool Runner::overlaps_inputs(const Tensor& tensor, const std::vector<Input>& inputs) const {
    auto& output = TensorHelper::impl(tensor);
    auto* begin = output.current_address();
    auto* end = begin + output.view().bytes();
    return std::ranges::any_of(inputs, [&](auto& input) {
        auto& impl = TensorHelper::impl(*input.tensor);
        auto* other = impl.current_address();
        return other && other < end && begin < other + impl.view().span();
    });
}

void Runner::bind_output(size_t i, Output& output, const std::vector<Input>& inputs) {
    auto& port = program_->outputs()[i];
    auto& tensor = *output.tensor;
    Layout wanted = layout_of(port.spec);
    auto& impl = TensorHelper::impl(tensor);
    require_given(output, wanted);
    tensor.set_layout(wanted);
    require_given(output, wanted);
    void* address = impl.address("forward");
    bool is_direct = is_stored_on(tensor, port.device) && !overlaps_inputs(tensor, inputs);
    if (is_direct) {
        output_copies_[i] = nullptr;
    } else {
        fetches_ = true;
        address = between(output_copies_[i], port, port.spec).address();
    }
    context_->bind_output(i, address, port.spec.bytes());
}

void Runner::take(Output& output, const mge::Tensor& result) const {
    auto& impl = TensorHelper::impl(*output.tensor);
    if (output.io.io_type == LITE_IO_SHAPE) {
        impl.set_layout(layout_of(result.spec()));
    } else if (options_.output_memory == OutputMemory::lent &&
               is_stored_on(*output.tensor, result.device())) {
        impl.hold(result);
    } else {
        Tensor::TensorImplBase held(result.device());
        held.hold(result);
        if (options_.output_memory == OutputMemory::fitting) impl.set_layout(held.layout());
        if (options_.output_memory == OutputMemory::fitting && !impl.current_address() &&
            is_stored_on(*output.tensor, result.device()))
            impl.hold(result);
        else
            impl.copy_from(held);
    }
    output.tensor->update_from_implement();
}

void Runner::fetch(std::vector<Output>& outputs) {
    if (!fetches_) return;
    for (size_t i = 0; i < computed_.size(); ++i) {
        auto& output = outputs[computed_[i]];
        if (!are_bound(options_.output_memory))
            take(output, context_->output(i));
        else if (output_copies_[i])
            output.tensor->copy_from(*output_copies_[i]);
    }
}

void Runner::profile(bool is_wanted) {
    if (!is_wanted || profiler_) return;
    profiler_ = std::make_unique<mge::Profiler>(*program_, profiler_options(*program_));
    context_->attach(*profiler_);
}

void Runner::dump_to(mge::IoDumpSink* sink) {
    if (!sink || dump_) return;
    dump_ = std::make_unique<mge::IoDumpRun>(program_, *sink);
    context_->attach(*dump_);
}

}  // namespace lite
