// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/io_dump/io_dump_run.h"

#include "libmge/inspect/elements.h"
#include "libmge/inspect/value_names.h"
#include "libmge/passes/channel_order.h"

namespace mge {

IoDumpRun::IoDumpRun(std::shared_ptr<const Program> program, IoDumpSink& sink)
    : program_(std::move(program)),
      sink_(sink),
      labels_(value_labels(*program_)),
      owners_(labels_.size()),
      ready_(ready_steps(*program_)),
      is_written_(labels_.size()) {
    for (size_t step = 0; step < program_->steps().size(); ++step) {
        auto& outputs = program_->steps()[step].outputs;
        for (size_t slot = 0; slot < outputs.size(); ++slot)
            owners_[size_t(outputs[slot])] = {int(step), int(slot)};
    }
}

DumpedName IoDumpRun::describe(ValueId id) const {
    auto& value = program_->values()[size_t(id)];
    auto [step, slot] = owners_[size_t(id)];
    DumpedName result;
    result.id = first_ + id;
    result.name = path_ + labels_[size_t(id)];
    result.slot = slot;
    result.spec = {value.spec.dtype, value.spec.shape, {}};
    result.is_static = value.place != ValueReport::Place::dynamic;
    result.is_constant = value.place == ValueReport::Place::constant;
    result.is_input = value.place == ValueReport::Place::input;
    if (step >= 0) {
        auto& report = program_->steps()[size_t(step)];
        result.owner_id = first_ + step;
        result.owner_type = report.op;
        result.owner_name = path_ + report.name;
        return result;
    }
    if (value.view_of != no_value) result.is_constant = result.is_input = false;
    // Ids after those of the steps: the producer of the value is not a step.
    result.owner_id = first_ + int(program_->steps().size()) + id;
    result.owner_type = result.is_constant ? "ImmutableTensor" : result.is_input ? "Host2DeviceCopy" : "view";
    result.owner_name = result.name;
    return result;
}

// The origin in the source network: its operators are numbered, those of inner graphs are not.
DumpedOrigin IoDumpRun::origin(ValueId id) const {
    if (!path_.empty()) return {};
    DumpedOrigin result{program_->values()[size_t(id)].origins, {}};
    std::map<NodeId, const SourceNode*> operators;
    for (auto& value : result.values) operators[value.node] = &program_->sources().at(size_t(value.node));
    if (int step = owners_[size_t(id)].step; step >= 0)
        for (auto& source : program_->steps()[size_t(step)].sources) operators[source.id] = &source;
    for (auto& [number, source] : operators) result.operators.push_back(*source);
    return result;
}

void IoDumpRun::write(ValueId id, Context& context, std::vector<DumpedDependency> inputs) {
    Tensor value = context.value(id);
    if (!value) return;
    is_written_[size_t(id)] = true;
    Tensor plain = in_source_order(program_->graph(), id, plain_on_host(value));
    DumpedValue dumped{describe(id), std::move(inputs), plain, origin(id)};
    dumped.self.spec = dumped.value.spec();  // now known also for run-time shapes
    sink_.write(dumped);
}

DumpedDependency IoDumpRun::dependency(ValueId id, Context& context) const {
    DumpedDependency result{describe(id), {}};
    if (Tensor value = context.value(id)) {
        result.value.spec = {value.dtype(), value.shape(), {}};
        result.head = dump_head(in_source_order(program_->graph(), id, plain_on_host(value)));
    }
    return result;
}

void IoDumpRun::write_without_step(ValueId id, Context& context) {
    if (owners_[size_t(id)].step >= 0 || is_written_[size_t(id)]) return;
    ValueId base = program_->values()[size_t(id)].view_of;
    if (base == no_value) return write(id, context, {});
    write_without_step(base, context);
    write(id, context, {dependency(base, context)});
}

void IoDumpRun::before_run(Context&) {
    is_written_.assign(is_written_.size(), false);
    if (path_.empty()) next_ = count_of_numbers();
}

void IoDumpRun::before_step(size_t step, Context& context) {
    read_.clear();
    for (ValueId id : program_->steps()[step].inputs) {
        if (id == no_value) continue;
        write_without_step(id, context);
        read_.push_back(dependency(id, context));
    }
}

void IoDumpRun::after_step(size_t step, Context& context) {
    for (ValueId id : program_->steps()[step].outputs) write(id, context, read_);
    // An output that a callback alone reads is there no longer when the run is over.
    for (auto& port : program_->outputs())
        if (ready_[size_t(port.value)] == int(step) &&
            program_->values()[size_t(port.value)].place == ValueReport::Place::arena)
            write_without_step(port.value, context);
}

void IoDumpRun::after_run(Context& context) {
    for (auto& port : program_->outputs()) write_without_step(port.value, context);
}

StepObserver* IoDumpRun::inside(const InnerRun& run, Context& inner) {
    if (run.iteration >= iterations) return nullptr;
    auto& dump = inside_.of(inner, [&](auto program) { return std::make_unique<IoDumpRun>(program, sink_); });
    dump.path_ = path_ + path_inside(run);
    dump.next_first_ = next_first_;
    dump.first_ = *next_first_;
    *next_first_ += dump.count_of_numbers();
    return &dump;
}

OutputDump::OutputDump(std::shared_ptr<const Program> program, std::string folder, size_t first_run)
    : program_(std::move(program)), labels_(value_labels(*program_)), run_(first_run) {
    sink_ = binary_dump(std::move(folder), [this](const DumpedValue& value) {
        return text("run", run_, "-var", value.self.id);
    });
}

void OutputDump::after_step(size_t step, Context& context) {
    if (step + 1 == program_->steps().size()) write(context);
}

void OutputDump::after_run(Context& context) {
    if (program_->steps().empty()) write(context);
}

void OutputDump::write(Context& context) {
    for (auto& port : program_->outputs()) {
        Tensor value = context.value(port.value);
        if (!value) continue;
        DumpedName self;
        self.id = port.value;
        self.name = labels_[size_t(port.value)];
        self.owner_name = self.owner_type = "output";
        self.spec = {value.dtype(), value.shape(), {}};
        sink_->write({self, {}, plain_on_host(value), {}});
    }
    ++run_;
}

}  // namespace mge
