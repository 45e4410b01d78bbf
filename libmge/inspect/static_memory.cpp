// SPDX-License-Identifier: Apache-2.0
// Every figure of StaticMemoryInfo.json is a string; times are positions in the sequence of operators, ends
// not included.
#include "libmge/inspect/static_memory.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "libmge/base/files/file.h"
#include "libmge/base/files/folder.h"
#include "libmge/inspect/memory.h"
#include "libmge/inspect/value_names.h"

namespace mge {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* device_name = "cpu0:0";

std::string megengine_dtype(DType dtype) {
    std::string name(name_of(dtype));
    if (dtype == DType::boolean) return "Bool";
    if (dtype == DType::bf16) return "BFloat16";
    if (!name.empty()) name[0] = char(name[0] - 'a' + 'A');
    return name;
}

// The key is new: an assignment would search for it.
void append(Json& object, const std::string& key, Json value) {
    object.get_ref<Json::object_t&>().emplace_back(key, std::move(value));
}

// The program as MegEngine describes a graph: inputs and weights are operators too. They come first.
class GraphWriter {
public:
    explicit GraphWriter(const Program& program) : program_(program), labels_(value_labels(program)) {
        is_made_.resize(labels_.size());
        for (auto& step : program.steps())
            for (ValueId id : step.outputs) is_made_[size_t(id)] = true;
        for (size_t id = 0; id < labels_.size(); ++id) {
            auto place = program.values()[id].place;
            bool is_view = program.values()[id].view_of != no_value;
            if (!is_view && !is_made_[id] &&
                (place == ValueReport::Place::input || place == ValueReport::Place::constant))
                sources_.push_back(ValueId(id));
        }
        order_offset_ = sources_.size();
    }

    Json graph() {
        Json operators = Json::object(), variables = Json::object(), chunks = Json::object(),
             sequence = Json::array();
        for (size_t i = 0; i < sources_.size(); ++i) add_source(i, operators, variables, chunks);
        for (size_t i = 0; i < program_.steps().size(); ++i) add_step(i, operators, variables, chunks);
        for (size_t i = 0; i < order_offset_ + program_.steps().size(); ++i)
            sequence.push_back(std::to_string(i));
        return {{"operator", operators}, {"var", variables}, {"mem_chunk", chunks}, {"comp_seq", sequence}};
    }

    Json memory() {
        Json operators = Json::object(), chunks = Json::object();
        for (size_t i = 0; i < order_offset_ + program_.steps().size(); ++i) {
            std::string id = std::to_string(i);
            append(operators, id, {{"id", id}, {"name", operator_name(i)}});
        }
        MemoryTimeline timeline = memory_timeline(program_);
        size_t top = timeline.arena;
        for (auto& block : timeline.blocks)
            add_chunk(chunks, "static_mem", size_t(block.first) + order_offset_,
                      size_t(block.last) + 1 + order_offset_, block.offset, block.bytes);
        // Inputs and outputs have memory of their own, here behind the arena.
        for (size_t id = 0; id < labels_.size(); ++id) {
            auto& value = program_.values()[id];
            bool is_input = value.place == ValueReport::Place::input && value.view_of == no_value;
            bool is_output = value.place == ValueReport::Place::output && is_made_[id];
            if (!is_input && !is_output) continue;
            size_t first = is_input ? position_of_source(ValueId(id)) : size_t(value.first) + order_offset_;
            size_t end = is_input ? size_t(std::max(value.last, 0)) + 1 + order_offset_ : end_of_sequence();
            add_chunk(chunks, "static_mem", first, std::min(end, end_of_sequence()), top, value.bytes);
            top += value.bytes;
        }
        for (ValueId id : sources_)
            if (auto& value = program_.values()[size_t(id)]; value.place == ValueReport::Place::constant) {
                add_chunk(chunks, "weight_mem", 0, end_of_sequence(), top, value.bytes);
                top += value.bytes;
            }
        return {{"chunk", chunks}, {"opr", operators}};
    }

private:
    size_t end_of_sequence() const { return order_offset_ + program_.steps().size(); }
    size_t position_of_source(ValueId id) const {
        return size_t(std::find(sources_.begin(), sources_.end(), id) - sources_.begin());
    }
    std::string operator_name(size_t position) const {
        if (position < order_offset_) return labels_[size_t(sources_[position])];
        return program_.steps()[position - order_offset_].name;
    }

    static void add_chunk(Json& chunks, const char* type, size_t begin, size_t end, size_t address,
                          size_t bytes) {
        std::string id = std::to_string(chunks.size());
        append(chunks, id,
               {{"id", id},
                {"type", type},
                {"time_begin", std::to_string(begin)},
                {"time_end", std::to_string(end)},
                {"logic_addr_begin", std::to_string(address)},
                {"logic_addr_end", std::to_string(address + bytes)},
                {"overwrite_dest_id", "-1"}});
    }

    void add_variable(ValueId id, Json& variables, Json& chunks) {
        auto& value = program_.values()[size_t(id)];
        std::string key = std::to_string(id), chunk = "chk" + key;
        Json shape = Json::array(), stride = Json::array(), plan;
        if (value.spec.shape.is_known()) {
            int64_t step = 1;
            for (int axis = value.spec.shape.rank() - 1; axis >= 0; --axis) {
                shape.insert(shape.begin(), value.spec.shape[axis]);
                stride.insert(stride.begin(), step);
                step *= value.spec.shape[axis];
            }
            plan = {{"mem_chunk_id", chunk},
                    {"layout",
                     {{"shape", shape}, {"stride", stride}, {"dtype", megengine_dtype(value.spec.dtype)}}},
                    {"offset_byte", 0}};
            append(chunks, chunk,
                   {{"node_type", "mem_chunk"},
                    {"id", chunk},
                    {"size", value.bytes},
                    {"owner_var", key},
                    {"dev_ptr", nullptr}});
        }
        append(variables, key,
               {{"node_type", "var"},
                {"id", key},
                {"name", labels_[size_t(id)]},
                {"mem_readonly_fwd_src", nullptr},
                {"force_update_src", nullptr},
                {"mem_plan", plan},
                {"comp_node", device_name},
                {"dev_ptr", nullptr},
                {"prev_dev_ptr", 0},
                {"flag", Json::array()},
                {"static_infer_tags", Json::object()}});
    }

    void add_operator(size_t position, const std::string& type, Json inputs, Json outputs, Json& operators) {
        std::string id = std::to_string(position);
        append(operators, id,
               {{"node_type", "operator"},
                {"id", id},
                {"name", operator_name(position)},
                {"type", type},
                {"input", inputs},
                {"output", outputs},
                {"extra", Json::object()},
                {"waiting_spec", nullptr}});
    }

    void add_source(size_t i, Json& operators, Json& variables, Json& chunks) {
        ValueId id = sources_[i];
        bool is_constant = program_.values()[size_t(id)].place == ValueReport::Place::constant;
        add_variable(id, variables, chunks);
        add_operator(i, is_constant ? "ImmutableTensor" : "Host2DeviceCopy", Json::array(),
                     Json::array({std::to_string(id)}), operators);
    }

    void add_step(size_t i, Json& operators, Json& variables, Json& chunks) {
        auto& step = program_.steps()[i];
        Json inputs = Json::array(), outputs = Json::array();
        for (ValueId id : step.inputs)
            if (id != no_value) inputs.push_back(std::to_string(source_of(id)));
        for (ValueId id : step.outputs) {
            add_variable(id, variables, chunks);
            outputs.push_back(std::to_string(id));
        }
        add_operator(order_offset_ + i, step.op, inputs, outputs, operators);
    }

    // The value whose memory a view shares: a result of a step or a value from outside.
    ValueId source_of(ValueId id) const {
        while (program_.values()[size_t(id)].view_of != no_value) id = program_.values()[size_t(id)].view_of;
        return id;
    }

    const Program& program_;
    std::vector<std::string> labels_;
    std::vector<bool> is_made_;
    std::vector<ValueId> sources_;
    size_t order_offset_ = 0;
};

}  // namespace

void write_static_memory_info(const std::string& folder, const Program& program) {
    make_folder(folder);
    GraphWriter writer(program);
    auto write = [&](const char* name, const Json& content) {
        write_file_atomically(folder + "/" + name, [&](std::ostream& out) {
            out << content.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
        });
    };
    write("graph.json", writer.graph());
    write("StaticMemoryInfo.json", writer.memory());
}

}  // namespace mge
