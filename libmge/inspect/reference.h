// SPDX-License-Identifier: Apache-2.0
#pragma once
// Expected values: stored in files, or computed by another walk through a model.

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

// Values by key (value_names.h): names, or for graphs of one network their origins.
class MGE_API Reference {
public:
    virtual ~Reference() = default;
    virtual bool has(const std::string& key) const = 0;
    // Its name for the value.
    virtual std::string name(const std::string& key) const { return key; }
    // Nullopt if there is no such value, or no longer. `got` is plain.
    virtual std::optional<Comparison> compare(const std::string& key, const Tensor& got,
                                              const Tolerance& tolerance) = 0;
    // The whole value, plain; null if it does not exist or was not stored completely.
    virtual Tensor load(const std::string& key) = 0;
    // Makes the values inside the operator that computes `key` available, those of each loop's first
    // iterations; `name` is the operator's name here. Their keys consist of the result and the rest of their
    // paths, "body[3]/add#2". Nullopt if that is not possible.
    virtual std::optional<std::string> enter(const std::string& key, const std::string& name);
    static constexpr int64_t iterations = 16;
    // Values that are needed only by steps before `step` may be freed from now on.
    virtual void release_before(size_t) {}
};

// Values of a file of arrays: `names` are there, `read` gives one of them.
MGE_API std::unique_ptr<Reference> stored_reference(std::vector<std::string> names,
                                                    std::function<Tensor(const std::string&)> read);
// An io dump. Values of a binary dump are read on access; a text dump only has their first elements and
// figures. Values with an origin are identified by it, in the numbers of `operators` (those of the requesting
// graph's source), all others by name.
MGE_API std::unique_ptr<Reference> dump_reference(const std::string& path,
                                                  const std::vector<SourceNode>& operators);

// Another walk, which advances on demand. `last_use`: by key, the last step of the requesting walk that needs
// the value; no other values are kept. `keys` are those of the walk's graph.
MGE_API std::unique_ptr<Reference> walk_reference(std::unique_ptr<LayerWalk> walk, ValueKeys keys,
                                                  std::map<std::string, size_t> last_use);

// Compares with the information of a text dump about a value: its first elements (four digits) and figures
// (three digits).
MGE_API Comparison compare_with_text(const Tensor& got, const DumpRecord& record, const Tolerance& tolerance);

}  // namespace mge
