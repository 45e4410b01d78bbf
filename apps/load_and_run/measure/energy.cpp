// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/measure/energy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "libmge/base/error.h"

namespace mge::load_and_run {
namespace {

std::optional<uint64_t> read_number(const std::string& path) {
    std::ifstream file(path);
    uint64_t value = 0;
    if (!(file >> value)) return std::nullopt;
    return value;
}

// "intel-rapl:0" is a package (on AMD too), "intel-rapl:0:0" a part of it.
bool is_package(const std::string& name) {
    return name.find("rapl:") != std::string::npos && std::ranges::count(name, ':') == 1;
}

}  // namespace

EnergyMeter::EnergyMeter(std::string root) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(root, error), end; !error && it != end; it.increment(error))
        if (is_package(it->path().filename())) counters_.push_back({it->path().string() + "/energy_uj"});
    if (counters_.empty()) {
        unavailable_ = text("there is no RAPL counter in ", root);
        return;
    }
    for (auto& counter : counters_) {
        errno = 0;
        if (!read_number(counter.path)) {
            unavailable_ = text("'", counter.path,
                                "' cannot be read: ", errno ? std::strerror(errno) : "it holds no number");
            return;
        }
        auto folder = std::filesystem::path(counter.path).parent_path().string();
        counter.range = read_number(folder + "/max_energy_range_uj").value_or(0);
    }
}

void EnergyMeter::start() {
    for (auto& counter : counters_) counter.start = read_number(counter.path).value_or(0);
}

double EnergyMeter::joules() const {
    if (!unavailable_.empty()) return 0;
    double total = 0;
    for (auto& counter : counters_) {
        uint64_t now = read_number(counter.path).value_or(counter.start);
        if (now < counter.start) now += counter.range;
        total += double(now - counter.start) * 1e-6;
    }
    return total;
}

}  // namespace mge::load_and_run
