// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
#include "libmge/graph/origins.h"
#include "libmge/inspect/profile/profile_json.h"

namespace mge {
namespace {

class OwnReader {
public:
    explicit OwnReader(const JsonDocument& document)
        : document_(document), root_(document.root()), budget_(document.label()) {}

    Profile read() {
        int64_t version = root_.at("schema_version").integer("schema_version");
        if (version != profile_schema_version)
            refuse(text("has schema version ", version, "; this program reads ", profile_schema_version));
        profile_.version = read_text(root_.at("version"), "version", budget_);
        profile_.model = read_text(root_.at("model"), "model", budget_);
        read_host(root_.at("host"));
        if (auto recording = root_.find("recording")) read_recording(*recording);
        if (auto devices = root_.find("devices"))
            for (auto device : devices->items("devices")) read_device(device);
        if (auto memory = root_.find("memory")) read_memory(*memory);
        if (auto operators = root_.find("operators"))
            for (auto node : operators->items("operators")) read_operator(node);
        for (auto value : root_.at("values").items("values")) read_value(value);
        for (auto step : root_.at("steps").items("steps")) read_step(step);
        for (auto name : root_.at("threads").items("threads")) {
            budget_.spend(sizeof(ProfileTrack));
            profile_.tracks.push_back({ProfileSide::device, read_text(name, "threads", budget_)});
        }
        profile_.runs_total = root_.at("runs_total").integer("runs_total");
        for (auto run : root_.at("runs").items("runs")) read_run(run);
        if (auto steps = root_.find("inner_steps"))
            for (auto step : steps->items("inner_steps")) read_inner_step(step);
        if (profile_.runs_total < int64_t(profile_.runs.size()))
            refuse("holds more runs than 'runs_total' says");
        return std::move(profile_);
    }

private:
    [[noreturn]] void refuse(const std::string& what) {
        throw ModelError(mge::text("'", document_.label(), "' ", what));
    }

    void read_host(JsonValue host) {
        profile_.cpu = read_text(host.at("cpu"), "host.cpu", budget_);
        profile_.isa = read_text(host.at("isa"), "host.isa", budget_);
        profile_.threads = int(in_range(host.at("threads"), "host.threads", 0, 1 << 20));
        profile_.peak = read_peak(host);
    }

    void read_recording(JsonValue json) {
        auto& recording = profile_.recording;
        recording.date = read_text(json.at("date"), "recording.date", budget_);
        recording.commit = read_text(json.at("commit"), "recording.commit", budget_);
        recording.libraries = read_text(json.at("libraries"), "recording.libraries", budget_);
        for (auto word : json.at("command").items("recording.command")) {
            budget_.spend(sizeof(std::string));
            recording.command.push_back(read_text(word, "recording.command", budget_));
        }
        for (auto option : json.at("options").items("recording.options")) {
            budget_.spend(sizeof(ProfileRecording::Option));
            recording.options.push_back({read_text(option.at("name"), "recording.options.name", budget_),
                                         read_text(option.at("value"), "recording.options.value", budget_)});
        }
    }

    std::optional<Peak> read_peak(JsonValue owner) {
        auto peak = owner.find("peak");
        if (!peak || peak->is_null()) return std::nullopt;
        Peak p;
        p.operations_per_s = peak->at("operations_per_s").number("peak.operations_per_s");
        p.bytes_per_s = peak->at("bytes_per_s").number("peak.bytes_per_s");
        if (p.operations_per_s <= 0 || p.bytes_per_s <= 0) refuse("has a peak that is not positive");
        if (auto busy = peak->find("busy")) p.is_busy = busy->boolean("peak.busy");
        if (auto words = peak->find("arithmetic"))
            p.arithmetic = read_text(*words, "peak.arithmetic", budget_);
        if (auto bytes = peak->find("byte_operations_per_s")) {
            p.byte_operations_per_s = bytes->number("peak.byte_operations_per_s");
            if (p.byte_operations_per_s <= 0) refuse("has a peak that is not positive");
        }
        if (auto caches = peak->find("caches"))
            for (auto cache : caches->items("peak.caches")) {
                budget_.spend(sizeof(CacheRoof));
                CacheRoof roof{read_text(cache.at("name"), "peak.caches.name", budget_),
                               cache.at("bytes_per_s").number("peak.caches.bytes_per_s")};
                double below = p.caches.empty() ? p.bytes_per_s : p.caches.back().bytes_per_s;
                if (roof.bytes_per_s < below) refuse("has a cache that is slower than what is behind it");
                p.caches.push_back(std::move(roof));
            }
        return p;
    }

    void read_device(JsonValue json) {
        budget_.spend(2 * sizeof(ProfileDevice));
        ProfileDevice device;
        device.name = read_text(json.at("name"), "devices.name", budget_);
        device.model = read_text(json.at("model"), "devices.model", budget_);
        device.peak = read_peak(json);
        profile_.devices.push_back(std::move(device));
    }

    void read_memory(JsonValue memory) {
        auto bytes = [&](const char* name) {
            return in_range(memory.at(name), name, 0, std::numeric_limits<int64_t>::max());
        };
        profile_.memory = ProfileMemory{bytes("weights"), bytes("packed_weights"), bytes("plan"),
                                        bytes("plan_lower_bound"), bytes("inputs_outputs")};
    }

    void read_value(JsonValue json) {
        budget_.spend(sizeof(ProfileValue));
        auto any = std::numeric_limits<int64_t>::max();
        ProfileValue value;
        value.id = std::to_string(profile_.values.size());
        value.name = read_text(json.at("name"), "values.name", budget_);
        value.dtype = read_text(json.at("dtype"), "values.dtype", budget_);
        value.layout = read_text(json.at("layout"), "values.layout", budget_);
        value.place = read_text(json.at("place"), "values.place", budget_);
        if (auto shape = json.at("shape"); !shape.is_null())
            value.shape = read_extents(shape, "values.shape", budget_);
        value.offset = in_range(json.at("offset"), "values.offset", 0, any);
        value.bytes = in_range(json.at("bytes"), "values.bytes", 0, any - value.offset);
        auto last = int64_t(std::numeric_limits<int>::max());
        value.first_step = int(in_range(json.at("first_step"), "values.first_step", -1, last));
        value.last_step = int(in_range(json.at("last_step"), "values.last_step", -1, last));
        if (value.first_step > value.last_step) refuse("has a value that ends before it begins");
        profile_.values.push_back(std::move(value));
    }

    void read_step(JsonValue json) {
        budget_.spend(sizeof(ProfileStep) + sizeof(int));
        ProfileStep step;
        step.id = std::to_string(profile_.steps.size());
        step.type = read_text(json.at("op"), "steps.op", budget_);
        step.name = read_text(json.at("name"), "steps.name", budget_);
        step.algorithm = read_text(json.at("algorithm"), "steps.algorithm", budget_);
        step.choice = read_text(json.at("choice"), "steps.choice", budget_);
        if (auto device = json.find("device")) step.device = read_text(*device, "steps.device", budget_);
        for (auto source : json.at("sources").items("steps.sources")) {
            budget_.spend(sizeof(std::string));
            step.sources.push_back(read_text(source, "steps.sources", budget_));
        }
        if (auto origins = json.find("origins"))
            for (auto number : origins->items("steps.origins")) {
                budget_.spend(2 * sizeof(NodeId));
                step.origins.push_back(
                    int(in_range(number, "steps.origins", 0, int64_t(profile_.operators.size()) - 1)));
            }
        step.inputs = value_ids(json.at("inputs"), "steps.inputs");
        step.outputs = value_ids(json.at("outputs"), "steps.outputs");
        step.operations = count(json.at("operations"), "steps.operations");
        step.bytes = count(json.at("bytes"), "steps.bytes");
        step.workspace =
            in_range(json.at("workspace"), "steps.workspace", 0, std::numeric_limits<int64_t>::max());
        if (auto offset = json.find("workspace_offset"))
            step.workspace_offset = in_range(*offset, "steps.workspace_offset", 0,
                                             std::numeric_limits<int64_t>::max() - step.workspace);
        profile_.order.push_back(int(profile_.steps.size()));
        profile_.steps.push_back(std::move(step));
    }

    void read_operator(JsonValue json) {
        budget_.spend(2 * sizeof(SourceNode));
        SourceNode node;
        node.id = NodeId(profile_.operators.size());
        node.op = read_text(json.at("op"), "operators.op", budget_);
        node.name = read_text(json.at("name"), "operators.name", budget_);
        node.outputs = int(in_range(json.at("outputs"), "operators.outputs", 1, 1 << 20));
        auto kind = parse_kind(json.at("kind").text("operators.kind"));
        if (!kind) refuse(text("has operators.kind that is not a hexadecimal number"));
        node.kind = *kind;
        profile_.operators.push_back(std::move(node));
    }

    void read_inner_step(JsonValue json) {
        budget_.spend(2 * sizeof(ProfileInnerStep));
        auto any = std::numeric_limits<int64_t>::max();
        ProfileInnerStep step;
        step.step = int(in_range(json.at("step"), "inner_steps.step", 0, int64_t(profile_.steps.size()) - 1));
        step.path = read_text(json.at("path"), "inner_steps.path", budget_);
        step.type = read_text(json.at("op"), "inner_steps.op", budget_);
        step.algorithm = read_text(json.at("algorithm"), "inner_steps.algorithm", budget_);
        step.count = in_range(json.at("count"), "inner_steps.count", 1, any);
        step.total = in_range(json.at("total_ns"), "inner_steps.total_ns", 0, any);
        profile_.inner_steps.push_back(std::move(step));
    }

    void read_run(JsonValue json) {
        budget_.spend(sizeof(ProfileRun));
        ProfileRun run;
        run.thread = int(in_range(json.at("thread"), "runs.thread", 0, int64_t(profile_.tracks.size()) - 1));
        run.start = in_range(json.at("start_ns"), "runs.start_ns", 0, longest_ns);
        run.ends = times(json.at("ends_ns"), "runs.ends_ns");
        if (auto late = json.find("late")) run.is_late = late->boolean("runs.late");
        if (auto begins = json.find("begins_ns")) run.begins = times(*begins, "runs.begins_ns");
        auto host_begins = json.find("host_begins_ns"), host_ends = json.find("host_ends_ns");
        if (run.is_late && run.begins.empty() && !run.ends.empty())
            refuse("has a late run without 'begins_ns'");
        if (bool(host_begins) != bool(host_ends) || (host_ends && !run.is_late))
            refuse("has half of the host's times, or some beside those of the host");
        if (host_ends) {
            run.host_begins = times(*host_begins, "runs.host_begins_ns");
            run.host_ends = times(*host_ends, "runs.host_ends_ns");
        }
        // On the queues of devices steps may be at work together.
        for (size_t i = 0; i < run.ends.size(); ++i)
            if (run.ends[i] < run.begin(i)) refuse_backwards(i);
        bool has_order = !run.is_late || run.has_host();
        for (size_t i = 0; has_order && i < run.ends.size(); ++i)
            if (run.host_begin(i) < run.dispatched(i) || run.host_end(i) < run.host_begin(i))
                refuse_backwards(i);
        profile_.runs.push_back(std::move(run));
    }

    [[noreturn]] void refuse_backwards(size_t step) {
        refuse(mge::text("has a run whose time runs backwards at step ", step));
    }

    Extents times(JsonValue json, const char* what) {
        budget_.spend(profile_.steps.size() * sizeof(int64_t));
        Extents list;
        list.reserve(profile_.steps.size());
        for (auto item : json.items(what)) {
            if (list.size() == profile_.steps.size()) refuse(mge::text("has more ", what, " than steps"));
            list.push_back(in_range(item, what, 0, longest_ns));
        }
        if (list.size() != profile_.steps.size()) refuse(mge::text("has fewer ", what, " than steps"));
        return list;
    }

    std::vector<int> value_ids(JsonValue json, const char* what) {
        std::vector<int> ids;
        for (auto item : json.items(what)) {
            budget_.spend(sizeof(int));
            ids.push_back(int(in_range(item, what, -1, int64_t(profile_.values.size()) - 1)));
        }
        return ids;
    }

    std::optional<double> count(JsonValue json, const char* what) {
        if (json.is_null()) return std::nullopt;
        double value = json.number(what);
        if (value < 0) refuse(mge::text("has a negative ", what));
        return value;
    }

    int64_t in_range(JsonValue json, const char* what, int64_t least, int64_t largest) {
        int64_t value = json.integer(what);
        if (value < least || value > largest)
            refuse(mge::text("has ", what, " = ", value, "; allowed are ", least, " to ", largest));
        return value;
    }

    const JsonDocument& document_;
    JsonValue root_;
    ReadingBudget budget_;
    Profile profile_;
};

// A value is made by one step only, and read by later ones.
void verify_order(const Profile& profile, const std::string& label) {
    std::vector<int> made_at(profile.values.size(), -1);
    for (size_t i = 0; i < profile.steps.size(); ++i)
        for (int id : profile.steps[i].outputs) {
            if (id < 0) continue;
            if (made_at[size_t(id)] >= 0)
                throw ModelError(
                    text("'", label, "': steps ", made_at[size_t(id)], " and ", i, " both make value ", id));
            made_at[size_t(id)] = int(i);
        }
    for (size_t i = 0; i < profile.steps.size(); ++i)
        for (int id : profile.steps[i].inputs)
            if (id >= 0 && made_at[size_t(id)] >= int(i))
                throw ModelError(text("'", label, "': step ", i, " needs value ", id, ", which step ",
                                      made_at[size_t(id)], " makes: the steps form a cycle"));
}

Profile read_document(const JsonDocument& document) {
    JsonValue root = document.root();
    if (root.find("graph_exec") || root.find("profiler")) return read_megengine_profile(document);
    auto format = root.find("format");
    if (!format || !format->is_text() || format->text("format") != profile_format)
        throw ModelError(text("'", document.label(), "' is not a profile: neither '\"format\": \"",
                              profile_format, "\"' nor MegEngine's 'graph_exec' is in it"));
    Profile profile = OwnReader(document).read();
    verify_order(profile, document.label());
    return profile;
}

}  // namespace

void ReadingBudget::spend(size_t bytes) {
    if (bytes > left_) throw ModelError(mge::text("'", label_, "' is too large to be a profile"));
    left_ -= bytes;
}

std::string read_text(JsonValue value, const char* what, ReadingBudget& budget) {
    std::string_view raw = value.text(what);
    budget.spend(raw.size());
    return std::string(raw);
}

Extents read_extents(JsonValue value, const char* what, ReadingBudget& budget) {
    Extents list;
    for (auto item : value.items(what)) {
        // Twice, because the list grows by doubling.
        budget.spend(2 * sizeof(int64_t));
        list.push_back(item.integer(what));
    }
    return list;
}

Profile read_profile(std::span<const std::byte> bytes, const std::string& label) {
    return read_document(JsonDocument::parse(bytes, label));
}

Profile read_profile(const std::string& path) {
    // The mapping ends before the document is looked into: text and tape need not be in memory together.
    auto document = JsonDocument::parse(MappedFile::open(path)->bytes(), path);
    return read_document(document);
}

std::vector<Extents> Profile::input_shapes(const ProfileStep& step) const {
    if (step.in_shapes) return *step.in_shapes;
    std::vector<Extents> shapes;
    for (int id : step.inputs)
        if (id >= 0) shapes.push_back(values[size_t(id)].shape.value_or(Extents{}));
    return shapes;
}

std::vector<Extents> Profile::output_shapes(const ProfileStep& step) const {
    if (step.out_shapes) return *step.out_shapes;
    std::vector<Extents> shapes;
    for (int id : step.outputs)
        if (id >= 0) shapes.push_back(values[size_t(id)].shape.value_or(Extents{}));
    return shapes;
}

int64_t ProfileRun::duration() const {
    if (ends.empty()) return 0;
    return is_late ? std::ranges::max(ends) : ends.back();
}

bool Profile::is_on_host(const ProfileStep& step) const {
    return std::ranges::none_of(devices,
                                [&](auto& each) { return step.device.starts_with(each.name + ':'); });
}

const Peak* Profile::roof() const {
    auto& found = devices.empty() ? peak : devices.front().peak;
    return found && devices.size() <= 1 ? &*found : nullptr;
}

CacheRoof Peak::source_of(double rate) const {
    // A rate that is measured again differs by some percent.
    constexpr double tolerance = 1.2;
    CacheRoof roof{"memory", bytes_per_s};
    for (auto& cache : caches) {
        if (rate <= tolerance * roof.bytes_per_s) return roof;
        roof = cache;
    }
    return roof;
}

double Profile::most_operations_per_s(const Peak& peak, const ProfileStep& step) const {
    const int first = step.inputs.empty() ? -1 : step.inputs[0];
    const std::string_view dtype = first < 0 ? "" : std::string_view(values[size_t(first)].dtype);
    const bool is_byte = dtype == name_of(DType::u8) || dtype == name_of(DType::i8);
    if (peak.byte_operations_per_s <= 0) return peak.operations_per_s;
    if (is_byte) return peak.byte_operations_per_s;
    // Matrix instructions multiply half as many numbers of bf16 as bytes.
    const bool has_tiles = step.algorithm.find("amx") != std::string::npos;
    return has_tiles ? peak.byte_operations_per_s / 2 : peak.operations_per_s;
}

bool Profile::has_side(ProfileSide side) const {
    if (format == Format::mge)
        return side == ProfileSide::device ? !runs.empty() : std::ranges::any_of(runs, &ProfileRun::has_host);
    return std::ranges::any_of(events, [&](auto& e) { return tracks[size_t(e.track)].side == side; });
}

}  // namespace mge
