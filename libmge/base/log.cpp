// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/log.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <utility>

#include "libmge/base/env.h"
#include "libmge/base/error.h"
#include "libmge/base/utf8.h"

namespace mge {
namespace {

constexpr std::array<std::string_view, 5> channel_names{"dispatch", "passes", "memory", "fastrun", "program"};

constexpr std::array<std::string_view, 4> level_names{"debug", "info", "warning", "error"};
constexpr int no_level = -1;
std::atomic<int> given_level{no_level}, default_level{no_level};

std::array<bool, channel_names.size()> read_channels() {
    std::array<bool, channel_names.size()> on{};
    auto value = env_string("MGE_LOG");
    if (!value) return on;
    std::string list = *value + ",";
    for (size_t at = 0, comma; (comma = list.find(',', at)) != std::string::npos; at = comma + 1) {
        std::string_view word(list.data() + at, comma - at);
        bool known = word.empty() || word == "all";
        for (size_t i = 0; i < channel_names.size(); ++i)
            if (word == "all" || word == channel_names[i]) on[i] = known = true;
        if (!known) std::fprintf(stderr, "mge: MGE_LOG: no channel '%.*s'\n", int(word.size()), word.data());
    }
    return on;
}

struct SeenLine {
    SeenLine(std::string t, SeenLine* n) : text(std::move(t)), next(n) {}
    std::string text;
    SeenLine* next;
};

// The warnings printed so far, newest first; they stay for good. Without a lock: a child made by fork() while
// another thread warns would wait for it forever.
std::atomic<SeenLine*> seen_lines{nullptr};

bool is_among(const SeenLine* from, const SeenLine* end, const std::string& text) {
    for (; from != end; from = from->next)
        if (from->text == text) return true;
    return false;
}

// False when it is there already.
bool add_seen(const std::string& text) {
    SeenLine* head = seen_lines.load(std::memory_order_acquire);
    if (is_among(head, nullptr, text)) return false;
    auto line = std::make_unique<SeenLine>(text, head);
    while (!seen_lines.compare_exchange_weak(line->next, line.get(), std::memory_order_acq_rel)) {
        if (is_among(line->next, head, text)) return false;
        head = line->next;
    }
    (void)line.release();
    return true;
}

std::atomic<void (*)()> line_hook{nullptr};

void clear_terminal_line() {
    if (auto* f = line_hook.load()) f();
}

}  // namespace

void before_log_lines(void (*clear_terminal_line)()) { line_hook = clear_terminal_line; }

void set_log_level(LogLevel level) { given_level = int(level); }

LogLevel log_level() {
    int given = given_level;
    if (given == no_level) given = default_level;
    return given == no_level ? LogLevel::warning : LogLevel(given);
}

void set_default_log_level(LogLevel level) {
    int none = no_level;
    default_level.compare_exchange_strong(none, int(level));
}

bool log_enabled(LogChannel channel) {
    static const auto on = read_channels();
    return on[size_t(channel)] || log_level() == LogLevel::debug;
}

void log_line(LogChannel channel, const std::string& line) {
    if (!log_enabled(channel)) return;
    clear_terminal_line();
    std::fprintf(stderr, "[%s] %s\n", channel_names[size_t(channel)].data(), line.c_str());
}

void log_message(LogLevel level, const std::string& line) {
    if (level < log_level()) return;
    clear_terminal_line();
    std::fprintf(stderr, "mge: %s: %s\n", level_names[size_t(level)].data(), printable(line).c_str());
}

void log_warning(const std::string& line) {
    if (log_level() <= LogLevel::warning && add_seen(line)) log_message(LogLevel::warning, line);
}

}  // namespace mge
