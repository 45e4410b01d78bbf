// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/packed_weight_cache.h"

#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <ostream>
#include <utility>

#include "libmge/base/env.h"
#include "libmge/base/error.h"
#include "libmge/base/files/cache_folder.h"
#include "libmge/base/files/file.h"
#include "libmge/base/files/folder.h"
#include "libmge/base/files/own_folder.h"
#include "libmge/base/hash.h"
#include "libmge/base/log.h"
#include "libmge/base/threads/per_process.h"

namespace mge {
namespace {

namespace fs = std::filesystem;

// Before the bytes of a copy, which its label follows: the model and the purpose, a line each. Copies of
// older versions have no label.
struct CopyHeader {
    std::array<char, 8> magic{'M', 'G', 'E', 'P', 'A', 'C', 'K', '1'};
    Fingerprint key;
    uint64_t bytes = 0;
    uint64_t checksum = 0;
    uint32_t label_bytes = 0;
    std::array<char, 20> reserved{};
};
static_assert(sizeof(CopyHeader) == 64);  // the copy is aligned as kernels want it

constexpr std::string_view extension = ".packed";
constexpr int64_t seconds_between_marks = 3600;
constexpr size_t most_label_bytes = 4096;

// Only what this user wrote is used: it determines the results of programs.
bool is_own_file(const std::string& path, uint64_t least_bytes, uint64_t most_bytes) {
    struct stat status {};
    auto size = [&] { return uint64_t(status.st_size); };
    return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           is_own(status, Others::no_writing) && size() >= least_bytes && size() <= most_bytes;
}

std::string one_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
}

std::optional<std::string> folder_of_user() {
    if (auto given = env_string("MGE_MODEL_CACHE"))
        return *given == "0" ? std::nullopt : std::optional(*given);
    auto folder = cache_folder();
    return folder ? std::optional(*folder + "/mge/packed-weights") : std::nullopt;
}

// The folder if it can be used; says why if not.
std::optional<std::string> usable_folder() try {
    auto folder = folder_of_user();
    std::error_code unknown;  // it may not exist yet, and is made by write()
    if (!folder || !fs::exists(*folder, unknown) || is_own_folder(*folder, Others::no_writing)) return folder;
    log_warning(text("packed weights are not kept: other users can write to '", *folder, "'"));
    return std::nullopt;
} catch (const UserError& e) {
    log_message(LogLevel::info, text("packed weights are not kept: ", e.what()));
    return std::nullopt;
}

void make_own_folder(const std::string& folder) {
    std::error_code unknown;
    if (fs::exists(folder, unknown)) return;
    make_folder(folder);
    (void)!::chmod(folder.c_str(), S_IRWXU);
}

// The modification time is that of the last use.
void mark_use(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && ::time(nullptr) - status.st_mtime > seconds_between_marks)
        (void)!::utimes(path.c_str(), nullptr);
}

}  // namespace

PackedWeightCache* PackedWeightCache::of_user(const std::string& model) {
    struct OfUser {
        std::optional<std::string> folder = usable_folder();
        std::mutex mutex;
        std::map<std::string, std::unique_ptr<PackedWeightCache>> by_model;
    };
    static PerProcess<OfUser> caches;
    auto& of_user = caches.get();
    if (!of_user.folder) return nullptr;
    std::lock_guard lock(of_user.mutex);
    auto [place, is_new] = of_user.by_model.try_emplace(model);
    if (is_new) place->second = std::make_unique<PackedWeightCache>(*of_user.folder, default_limit, model);
    return place->second.get();
}

PackedWeightCache::PackedWeightCache(std::string folder, uint64_t limit, std::string model)
    : folder_(std::move(folder)), limit_(limit), model_(one_line(std::move(model))) {}

std::string PackedWeightCache::path_of(const Fingerprint& key) const {
    return text(folder_, '/', hex_text(key), extension);
}

StorageRef PackedWeightCache::find(const Fingerprint& key, size_t bytes) const try {
    auto path = path_of(key);
    const size_t least = sizeof(CopyHeader) + bytes;
    if (bytes < least_bytes || !is_own_file(path, least, least + most_label_bytes)) return {};
    auto file = MappedFile::open(path);
    if (file->bytes().size() < least) return {};
    CopyHeader header, wanted{.key = key, .bytes = bytes};
    std::memcpy(&header, file->bytes().data(), sizeof header);
    auto copy = file->bytes().subspan(sizeof header, bytes);
    wanted.checksum = checksum(copy.data(), copy.size());
    wanted.label_bytes = uint32_t(file->bytes().size() - least);
    if (std::memcmp(&header, &wanted, sizeof header) != 0) {
        log_message(LogLevel::info, text("'", path, "' is damaged and is written again"));
        return {};
    }
    mark_use(path);
    return borrow_storage(copy.data(), copy.size(), std::move(file));
} catch (const UserError& e) {
    log_message(LogLevel::info, text("a packed weight is not read: ", e.what()));
    return {};
}

void PackedWeightCache::add(const Fingerprint& key, std::weak_ptr<const void> owner, const void* data,
                            size_t bytes, const std::string& purpose) {
    if (bytes < least_bytes || bytes > limit_) return;
    std::string label = (model_ + '\n' + one_line(purpose)).substr(0, most_label_bytes);
    std::lock_guard lock(mutex_);
    added_.push_back({key, std::move(owner), data, bytes, std::move(label)});
}

void PackedWeightCache::store(const Copy& copy) const {
    CopyHeader header{.key = copy.key,
                      .bytes = copy.bytes,
                      .checksum = checksum(copy.data, copy.bytes),
                      .label_bytes = uint32_t(copy.label.size())};
    write_file_atomically(
        path_of(copy.key),
        [&](std::ostream& stream) {
            stream.write(reinterpret_cast<const char*>(&header), sizeof header);
            stream.write(static_cast<const char*>(copy.data), std::streamsize(copy.bytes));
            stream << copy.label;
        },
        FileReaders::owner, Replace::yes, Durable::no);
}

void PackedWeightCache::write() try {
    std::vector<Copy> copies;
    {
        std::lock_guard lock(mutex_);
        copies.swap(added_);
    }
    bool is_larger = false;
    for (auto& copy : copies)
        if (auto owner = copy.owner.lock()) {
            if (!is_larger) make_own_folder(folder_);
            store(copy);
            is_larger = true;
        }
    if (is_larger) remove_oldest();
} catch (const UserError& e) {
    log_message(LogLevel::info, text("packed weights are not kept: ", e.what()));
}

std::vector<PackedWeightCache::Entry> PackedWeightCache::entries() const {
    std::vector<Entry> found;
    std::error_code error;
    for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
        struct stat status {};
        auto path = it->path().string();
        if (path.ends_with(extension) && ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode))
            found.push_back({path, uint64_t(status.st_size), status.st_mtime});
    }
    std::ranges::sort(found, {}, &Entry::used_at);
    return found;
}

std::string PackedWeightCache::Entry::key() const { return fs::path(path).stem().string(); }

PackedWeightCache::Label PackedWeightCache::label_of(const Entry& entry) {
    CopyHeader header{}, expected;
    if (!is_own_file(entry.path, sizeof header, UINT64_MAX)) return {};
    std::ifstream file(entry.path, std::ios::binary);
    if (!file.read(reinterpret_cast<char*>(&header), sizeof header) || header.magic != expected.magic ||
        header.label_bytes > most_label_bytes || header.bytes > entry.bytes)
        return {};
    std::string label(header.label_bytes, '\0');
    file.seekg(std::streamoff(header.bytes), std::ios::cur);
    if (!file.read(label.data(), std::streamsize(label.size()))) return {};
    size_t end = std::min(label.find('\n'), label.size());
    return {label.substr(0, end), end < label.size() ? label.substr(end + 1) : ""};
}

size_t PackedWeightCache::remove(const std::vector<Entry>& entries) {
    size_t removed = 0;
    for (auto& entry : entries) removed += ::unlink(entry.path.c_str()) == 0 ? 1 : 0;
    return removed;
}

void PackedWeightCache::remove_oldest() {
    auto found = entries();
    uint64_t bytes = 0;
    for (auto& entry : found) bytes += entry.bytes;
    for (auto& entry : found) {
        if (bytes <= limit_) return;
        ::unlink(entry.path.c_str());
        bytes -= entry.bytes;
    }
}

}  // namespace mge
