// SPDX-License-Identifier: Apache-2.0
#pragma once
// What values should be: stored in files, or computed by another walk through a model.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libmge/inspect/compare.h"
#include "libmge/inspect/io_dump/io_dump.h"
#include "libmge/inspect/layer_walk.h"
#include "libmge/inspect/value_names.h"

namespace mge {

// Values by key (value_names.h): names, or for graphs of one network where they come from.
class MGE_API Reference {
public:
    virtual ~Reference() = default;
    virtual bool has(const std::string& key) const = 0;
    // What the value is called there.
    virtual std::string name(const std::string& key) const { return key; }
    // Nullopt when there is no such value (any more). `got` is plain.
    virtual std::optional<Comparison> compare(const std::string& key, const Tensor& got,
                                              const Tolerance& tolerance) = 0;
    // The whole value, plain; null when it is not there or was never stored whole.
    virtual Tensor load(const std::string& key) = 0;
    // Has the values inside of the operator that gives `key` from here on, those of each loop's first
    // iterations; `name` is what the operator is called here. Their keys are what comes back and the rest of
    // their paths, "body[3]/add#2". Nullopt when it cannot go inside.
    virtual std::optional<std::string> enter(const std::string& key, const std::string& name);
    static constexpr int64_t iterations = 16;
    // From now on values that only steps before `step` wanted may go.
    virtual void release_before(size_t) {}
};

// Values of a file of arrays: `names` are there, `read` gives one of them.
MGE_API std::unique_ptr<Reference> stored_reference(std::vector<std::string> names,
                                                    std::function<Tensor(const std::string&)> read);
// An io dump; values of a binary one are read when they are asked for, a text one tells their first elements
// and figures. Values that say where they come from are known by that, in the numbers of `operators` (those
// of the asking graph's source), all others by name.
MGE_API std::unique_ptr<Reference> dump_reference(const std::string& path,
                                                  const std::vector<SourceNode>& operators);

// Another walk, which advances as far as it is asked to. `last_use`: by key, the step of the asking walk that
// wants the value for the last time; no other values are kept.
// `keys` are those of the walk's graph.
MGE_API std::unique_ptr<Reference> walk_reference(std::unique_ptr<LayerWalk> walk, ValueKeys keys,
                                                  std::map<std::string, size_t> last_use);

// What a text dump tells of a value: its first elements (four digits) and figures (three digits).
MGE_API Comparison compare_with_text(const Tensor& got, const DumpRecord& record, const Tolerance& tolerance);

}  // namespace mge
