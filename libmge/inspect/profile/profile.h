// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a profiled run was: the steps of the program, the values between them, and when each step of each run
// began and ended. Profiler (profiler.h) makes it; a file holds it as docs/schemas/profile.schema.json says;
// MegEngine's graph profiles are read into the same form.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/graph/graph.h"

namespace mge {

using Extents = std::vector<int64_t>;

struct ProfileValue {
    std::string id;  // unique; as the file names it
    std::string name, dtype, layout, device;
    std::optional<Extents> shape;  // none: not even the run told
    Extents strides;               // of MegEngine's values; empty: not given
    std::string place;             // arena, input, output, constant, dynamic
    std::string chunk;             // of MegEngine's values: the memory that they are in
    int64_t offset = 0, bytes = 0;
    int view_of = -1;       // index of the value whose memory this is, without a step; files do not tell it
    std::string view_type;  // of the operator that makes it: "reshape"
    int first_step = -1, last_step = -1;  // positions in the order of execution; -1: not told
};

struct ProfileStep {
    std::string id;
    std::string name, type, algorithm;
    std::string device;                // with its queue, "gpu0:0"; empty: not told
    std::string choice;                // how the algorithm was chosen
    std::vector<std::string> sources;  // nodes of the model that the step computes
    std::vector<NodeId> origins;       // the same in Profile::operators
    std::vector<int> inputs, outputs;  // indices into Profile::values; -1: an absent optional input
    std::optional<double> operations, bytes;
    int64_t workspace = 0, workspace_offset = -1;  // bytes, and where they lie in the arena; -1: not told
    // As the file tells them; else those of the values.
    std::optional<std::vector<Extents>> in_shapes, out_shapes, in_strides;
};

// Seconds. `kern` is when the work itself began, behind waiting and dispatching.
struct ProfileSpan {
    double start = 0, kern = 0, end = 0;
    double seconds() const { return end - start; }
};

enum class ProfileSide : uint8_t { device, host };

struct ProfileTrack {
    ProfileSide side = ProfileSide::device;
    std::string name;
};

// One execution of one step, where they do not come in whole runs.
struct ProfileEvent {
    int step = 0, track = 0;
    ProfileSpan span;
};

// All steps of one run, in nanoseconds since the run's start. Step i ended at ends[i]; its kernel began at
// begins[i], or, when that was not recorded, where the step before it ended.
//
// Steps of the host's clock come one behind the other: a device that works when it is asked is the host. In a
// late run `begins` and `ends` are those that the clocks of devices tell, where steps of several queues
// overlap; when the host asked for them stands apart, if it was recorded.
struct MGE_API ProfileRun {
    int thread = 0;
    int64_t start = 0;  // since the first recorded run
    std::vector<int64_t> begins = {}, ends = {};
    bool is_late = false;
    std::vector<int64_t> host_begins = {}, host_ends = {};
    int64_t begin(size_t step) const { return begins.empty() ? end_before(ends, step) : begins[step]; }
    int64_t duration() const;
    // Of the host: it turned to the step, asked for its kernel, and had done so (or it was over).
    bool has_host() const { return !(is_late ? host_begins : begins).empty(); }
    int64_t dispatched(size_t step) const { return end_before(is_late ? host_ends : ends, step); }
    int64_t host_begin(size_t step) const { return is_late ? host_begins[step] : begin(step); }
    int64_t host_end(size_t step) const { return is_late ? host_ends[step] : ends[step]; }
    static int64_t end_before(const std::vector<int64_t>& ends, size_t step) {
        return step ? ends[step - 1] : 0;
    }
};

// A step of a graph that a step holds, in all its iterations of all runs.
struct ProfileInnerStep {
    int step = 0;      // of the program, in which it runs
    std::string path;  // "scan#1/body/add#2"
    std::string type, algorithm;
    int64_t count = 0, total = 0;  // how often it ran, and nanoseconds in all
};

// What a machine can do at best, measured.
struct Peak {
    double operations_per_s = 0, bytes_per_s = 0;
    bool is_busy = false;         // other work ran meanwhile: it may be higher
    std::string arithmetic = {};  // of what products, "float16"; empty: the host's f32 multiply-adds
};

// What steps ran on beside the host.
struct ProfileDevice {
    std::string name, model;  // "gpu0", "NVIDIA H100 80GB HBM3"
    std::optional<Peak> peak = {};
};

struct ProfileMemory {
    int64_t weights = 0, packed_weights = 0, plan = 0, plan_lower_bound = 0, inputs_outputs = 0;
};

struct MGE_API Profile {
    enum class Format : uint8_t { mge, megengine };
    Format format = Format::mge;
    std::string model, version, cpu, isa;
    int threads = 0;
    std::optional<Peak> peak;  // of the host
    std::vector<ProfileDevice> devices;
    std::optional<ProfileMemory> memory;
    int64_t runs_total = 0;                     // the latest of which are in `runs`
    std::vector<ProfileInnerStep> inner_steps;  // of all of them

    // Of the network as somebody wrote it, by number; empty where nothing tells it (MegEngine's).
    std::vector<SourceNode> operators;
    std::vector<ProfileStep> steps;
    std::vector<int> order;  // of execution: indices into steps
    std::vector<ProfileValue> values;
    std::vector<ProfileTrack> tracks;
    std::vector<ProfileRun> runs;      // of our own profiles; spans of all steps
    std::vector<ProfileEvent> events;  // of MegEngine's

    // Shapes of a step's inputs and outputs, from the file or the values.
    std::vector<Extents> input_shapes(const ProfileStep& step) const;
    std::vector<Extents> output_shapes(const ProfileStep& step) const;
    bool has_side(ProfileSide side) const;
    bool is_on_host(const ProfileStep& step) const;
    // Of what the steps ran on, if that is one machine and known.
    const Peak* roof() const;
};

// Writes the file whole or not at all. UserError when the path cannot be written.
MGE_API void write_profile(const std::string& path, const Profile& profile);
// As MegEngine's GraphProfiler writes it, with the times of the run of median duration. MegEngine knows no
// steps inside of steps: they stand in "opr_internal_pf", from where read_profile() takes them again.
MGE_API void write_megengine_profile(std::ostream& stream, const Profile& profile);

// Reads our own profiles and MegEngine's, recognised by content, and verifies them: ids exist, no step needs
// its own result, times are finite and do not run backwards. ModelError that names the file and the fault.
MGE_API Profile read_profile(const std::string& path);
MGE_API Profile read_profile(std::span<const std::byte> bytes, const std::string& label);

}  // namespace mge
