// SPDX-License-Identifier: Apache-2.0
#include "libmge/comm/engine.h"

#include <algorithm>
#include <filesystem>

#include "libmge/base/error.h"
#include "libmge/base/files/plugin.h"

namespace mge {
namespace {

struct EngineInfo {
    std::string_view name, build_package, run_package;  // Debian packages
};
constexpr EngineInfo engines[] = {
    {"gloo", "libgloo-dev", "libgloo0"},
    {"openmpi", "libopenmpi-dev", "libopenmpi3"},
    {"mpich", "libmpich-dev", "libmpich12"},
};

const EngineInfo& find_engine(const std::string& name) {
    auto* found = std::ranges::find(engines, name, &EngineInfo::name);
    if (found == std::end(engines))
        throw UserError(text("there is no engine '", name,
                             "' for several processes; there are gloo, openmpi ", "and mpich"),
                        ErrorClass::value);
    return *found;
}

OpenEngine load(const EngineInfo& engine) {
    auto path = own_library().parent_path() / text("libmge_", engine.name, ".so");
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored))
        throw UserError(text("this build has no engine ", engine.name, " (there is no ", path.string(),
                             "): install Debian's package ", engine.build_package, " and build again"));
    // MPI opens components of its own, which look for its symbols.
    auto [open, why_not] = open_plugin(path, "mge_open_engine", /*shows_symbols=*/true);
    if (open) return reinterpret_cast<OpenEngine>(open);
    throw UserError(text("cannot open the engine ", engine.name, ": ", why_not, "; Debian's package ",
                         engine.run_package, " has its library"));
}

}  // namespace

std::shared_ptr<Communicator> open_engine(const std::string& name, const EngineSettings& settings) {
    return std::shared_ptr<Communicator>(load(find_engine(name))(settings));
}

}  // namespace mge
