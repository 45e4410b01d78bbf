// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/fit_state.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "libmge/base/files/file.h"

namespace mge::load_and_run {
namespace {

constexpr auto flag = "--fitting-state";

}  // namespace

FitState::FitState(std::string path, cli::Json subject)
    : path_(std::move(path)), subject_(std::make_unique<cli::Json>(std::move(subject))) {
    if (path_.empty() || !std::filesystem::exists(path_)) return;
    cli::Json stored = cli::Json::parse(read_text(path_), nullptr, false);
    try {
        auto& of = stored.at("subject");
        for (auto& [key, value] : subject_->items())
            if (of.at(key) != value)
                throw_value_error(flag, "'", path_, "' is of another ", key, ": ", of.at(key).dump(),
                                  " instead of ", value.dump());
        for (auto& [flags, candidate] : stored.at("candidates").items())
            known_[flags] = {candidate.at("state").get<std::string>(), candidate.at("turns").get<size_t>(),
                             candidate.at("times_ms").get<std::vector<double>>()};
    } catch (const cli::Json::exception&) {
        throw ModelError(text('[', flag, "] '", path_, "' is not a state of --fitting"));
    }
}

FitState::~FitState() = default;

const KnownCandidate* FitState::find(const std::string& flags) const {
    auto at = known_.find(flags);
    return at == known_.end() ? nullptr : &at->second;
}

void FitState::set(const std::string& flags, KnownCandidate candidate) {
    if (!path_.empty()) known_[flags] = std::move(candidate);
}

void FitState::write() const {
    if (path_.empty()) return;
    cli::Json candidates = cli::Json::object();
    for (auto& [flags, candidate] : known_)
        candidates[flags] = {
            {"state", candidate.state}, {"turns", candidate.turns}, {"times_ms", candidate.times}};
    cli::Json file{{"subject", *subject_}, {"candidates", candidates}};
    write_file_atomically(path_, [&](std::ostream& stream) { stream << file.dump() << '\n'; });
}

}  // namespace mge::load_and_run
