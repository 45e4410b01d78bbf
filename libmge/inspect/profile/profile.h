// SPDX-License-Identifier: Apache-2.0
#pragma once
// A profiled run: the steps of the program, the values between them, and the start and end of each step in
// each run. Profiler (profiler.h) makes it; docs/schemas/profile.schema.json describes its file format;
// MegEngine's graph profiles are converted to the same form.

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
    std::optional<Extents> shape;  // nullopt: unknown even after the run
    Extents strides;               // from MegEngine's values; empty: unknown
    std::string place;             // arena, input, output, constant, dynamic
    std::string chunk;             // memory chunk of MegEngine's values
    int64_t offset = 0, bytes = 0;
    int view_of = -1;       // index of the value whose memory this is, without a step; not in files
    std::string view_type;  // type of the operator that makes it: "reshape"
    int first_step = -1, last_step = -1;  // positions in the order of execution; -1: unknown
};

struct ProfileStep {
    std::string id;
    std::string name, type, algorithm;
    std::string device;                // with its queue, "gpu0:0"; empty: unknown
    std::string choice;                // how the algorithm was chosen
    std::vector<std::string> sources;  // nodes of the model that the step computes
    std::vector<NodeId> origins;       // the same in Profile::operators
    std::vector<int> inputs, outputs;  // indices into Profile::values; -1: an absent optional input
    std::optional<double> operations, bytes;
    int64_t workspace = 0, workspace_offset = -1;  // size in bytes, and offset in the arena; -1: unknown
    // From the file; otherwise those of the values.
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

// One execution of one step, if there are no whole runs.
struct ProfileEvent {
    int step = 0, track = 0;
    ProfileSpan span;
};

// All steps of one run, in nanoseconds since the run's start. Step i ended at ends[i]; its kernel began at
// begins[i], or, when that was not recorded, where the step before it ended.
//
// Steps by the host's clock follow each other: a synchronous device counts as the host. In a late run,
// `begins` and `ends` are times from the clocks of devices, where steps of several queues overlap; the times
// of the host's requests are separate, if they were recorded.
struct MGE_API ProfileRun {
    int thread = 0;
    int64_t start = 0;  // since the first recorded run
    std::vector<int64_t> begins = {}, ends = {};
    bool is_late = false;
    std::vector<int64_t> host_begins = {}, host_ends = {};
    int64_t begin(size_t step) const { return begins.empty() ? end_before(ends, step) : begins[step]; }
    int64_t duration() const;
    // Host times: it started the step, launched its kernel, and finished the launch (or the step).
    bool has_host() const { return !(is_late ? host_begins : begins).empty(); }
    int64_t dispatched(size_t step) const { return end_before(is_late ? host_ends : ends, step); }
    int64_t host_begin(size_t step) const { return is_late ? host_begins[step] : begin(step); }
    int64_t host_end(size_t step) const { return is_late ? host_ends[step] : ends[step]; }
    static int64_t end_before(const std::vector<int64_t>& ends, size_t step) {
        return step ? ends[step - 1] : 0;
    }
};

// A step of an inner graph, over all iterations of all runs.
struct ProfileInnerStep {
    int step = 0;      // the step of the program that contains it
    std::string path;  // "scan#1/body/add#2"
    std::string type, algorithm;
    int64_t count = 0, total = 0;  // how often it ran, and nanoseconds in all
};

// The highest bandwidth of a cache of a machine.
struct CacheRoof {
    std::string name;  // "L2"
    double bytes_per_s = 0;
};

// Measured peak performance of a machine.
struct Peak {
    double operations_per_s = 0, bytes_per_s = 0;
    bool is_busy = false;         // other work ran meanwhile: it may be higher
    std::string arithmetic = {};  // type of the products, "float16"; empty: f32 multiply-adds of the host
    double byte_operations_per_s = 0;    // products of bytes; 0: unknown
    std::vector<CacheRoof> caches = {};  // the slowest first, all faster than memory; empty: unknown

    // The rate of what a step's data came from that moved at this rate: of the memory, of the slowest cache
    // that is fast enough, or of the fastest one. Its name is "memory" or that of the cache.
    MGE_API CacheRoof source_of(double bytes_per_s) const;
};

// A device other than the host that ran steps.
struct ProfileDevice {
    std::string name, model;  // "gpu0", "NVIDIA H100 80GB HBM3"
    std::optional<Peak> peak = {};
};

struct ProfileMemory {
    int64_t weights = 0, packed_weights = 0, plan = 0, plan_lower_bound = 0, inputs_outputs = 0;
};

// How a profile was recorded. Fields that the file lacks are empty.
struct ProfileRecording {
    struct Option {
        std::string name, value;
        bool operator==(const Option&) const = default;
    };
    std::string date;                  // UTC: "2026-11-29T12:38:31Z"
    std::string commit;                // the one that the recording program was built from
    std::string libraries;             // "mge 1.0.0, oneDNN 2.6.3"
    std::vector<std::string> command;  // the program and its arguments
    std::vector<Option> options;       // compile options that differ from their defaults
    bool operator==(const ProfileRecording&) const = default;
};

struct MGE_API Profile {
    enum class Format : uint8_t { mge, megengine };
    Format format = Format::mge;
    std::string model, version, cpu, isa;
    int threads = 0;
    ProfileRecording recording;
    std::optional<Peak> peak;  // peak of the host
    std::vector<ProfileDevice> devices;
    std::optional<ProfileMemory> memory;
    int64_t runs_total = 0;                     // the latest of which are in `runs`
    std::vector<ProfileInnerStep> inner_steps;  // inner steps of all steps

    // Operators of the source network by number; empty if unknown (MegEngine's).
    std::vector<SourceNode> operators;
    std::vector<ProfileStep> steps;
    std::vector<int> order;  // order of execution: indices into steps
    std::vector<ProfileValue> values;
    std::vector<ProfileTrack> tracks;
    std::vector<ProfileRun> runs;      // in our own profiles; spans of all steps
    std::vector<ProfileEvent> events;  // in MegEngine's profiles

    // Shapes of a step's inputs and outputs, from the file or the values.
    std::vector<Extents> input_shapes(const ProfileStep& step) const;
    std::vector<Extents> output_shapes(const ProfileStep& step) const;
    bool has_side(ProfileSide side) const;
    bool is_on_host(const ProfileStep& step) const;
    // The peak of the device that ran the steps, if it is a single, known one.
    const Peak* roof() const;
    // Operations per second that a step can reach at most, by the dtype of its first input and its algorithm.
    double most_operations_per_s(const Peak& peak, const ProfileStep& step) const;
};

// Writes the file completely or not at all. UserError if the path is not writable.
MGE_API void write_profile(const std::string& path, const Profile& profile);
// In the format of MegEngine's GraphProfiler, with the times of the run of median duration. MegEngine has no
// inner steps: they are stored in "opr_internal_pf", which read_profile() reads back.
MGE_API void write_megengine_profile(std::ostream& stream, const Profile& profile);

// Reads our own profiles and MegEngine's, detected by content, and verifies them: ids exist, no step needs
// its own result, times are finite and not decreasing. ModelError that names the file and the fault.
MGE_API Profile read_profile(const std::string& path);
MGE_API Profile read_profile(std::span<const std::byte> bytes, const std::string& label);

}  // namespace mge
