// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/persistent_cache.h"

#include <filesystem>
#include <mutex>

#include "libmge/base/files/file.h"
#include "libmge/base/log.h"
#include "libmge/lite/as_lite_error.h"
#include "libmge/model/crypt/container.h"
#include "libmge/model/pack.h"

namespace lite {
namespace {

namespace fs = std::filesystem;
using mge::CacheRow;
using mge::Durability;
using mge::FastrunCache;
using mge::text;

constexpr const char* megengine_suffix = ".megengine";
constexpr const char* in_memory = ":memory:";  // the path that FastrunCache::path() returns

struct Current {
    std::mutex mutex;
    std::shared_ptr<FastrunCache> cache;  // null: not opened yet
    std::string file;                     // that it is; "": it is in memory only
};

Current& current() {
    static Current instance;
    return instance;
}

enum class FileKind { none, ours, megengine };

// `rows` are those of MegEngine's file.
FileKind examine(const std::string& path, std::vector<CacheRow>& rows) {
    std::error_code unknown;  // opening it reports a better error
    if (!fs::exists(path, unknown) ||
        (fs::is_regular_file(path, unknown) && fs::file_size(path, unknown) == 0))
        return FileKind::none;
    auto file = mge::MappedFile::open(path);
    if (mge::is_own_cache(file->bytes())) return FileKind::ours;
    if (mge::is_encrypted(file->bytes()))
        throw Error(text("fast-run cache '", path,
                         "' is encrypted, but Lite opens only plain caches; decrypt it "
                         "first (mge-crypt decrypt)"));
    rows = parse_cache(file->bytes(), path);
    return FileKind::megengine;
}

// Error for a file that is not a cache. A read-only cache is copied into memory, and a damaged one is left
// unchanged.
std::shared_ptr<FastrunCache> open_file(const std::string& path, FileKind kind, Durability durability) {
    auto wait = FastrunCache::short_wait(path);  // for both tries
    try {
        return FastrunCache::made_tolerant(FastrunCache::open(path, durability, wait));
    } catch (const mge::DamagedCache& e) {
        mge::log_warning(text(e.what(), "; it is not used"));
        return FastrunCache::in_memory();
    } catch (const mge::ModelError&) {
        throw;
    } catch (const mge::UserError& e) {
        mge::log_warning(text(e.what(), "; new measurements are not saved"));
        if (kind == FileKind::none) return FastrunCache::in_memory();
        return FastrunCache::from_bytes(FastrunCache::open_read_only(path, wait)->bytes(), in_memory);
    }
}

bool set_aside(const std::string& path) {
    std::error_code refused;
    fs::rename(path, path + megengine_suffix, refused);
    if (refused)
        mge::log_warning(text("fast-run cache '", path, "' is MegEngine's and cannot be replaced: ",
                              refused.message(), "; new measurements are not saved"));
    return !refused;
}

void merge_tolerantly(FastrunCache& cache, std::span<const CacheRow> rows) {
    if (rows.empty()) return;
    try {
        cache.merge(rows);
    } catch (const mge::Error& e) {
        mge::log_warning(text(e.what(), "; earlier measurements are not used"));
    }
}

// The file may have been deleted.
std::vector<CacheRow> rows_tolerantly(FastrunCache& cache) {
    try {
        return cache.rows();
    } catch (const mge::Error& e) {
        mge::log_warning(text(e.what(), "; earlier measurements are not used"));
        return {};
    }
}

bool is_same_file(const std::string& a, const std::string& b) {
    std::error_code unknown;
    return !a.empty() && fs::equivalent(a, b, unknown) && !unknown;
}

void require_path(const std::string& path) {
    if (path.empty()) throw Error("the path of the fast-run cache is empty");
}

}  // namespace

std::vector<CacheRow> parse_cache(std::span<const std::byte> cache, const std::string& label) {
    return as_lite_error([&] { return mge::rows_of_cache(cache, label); });
}

std::shared_ptr<FastrunCache> persistent_cache() {
    return as_lite_error([] {
        auto& now = current();
        std::lock_guard lock(now.mutex);
        if (!now.cache) now.cache = FastrunCache::in_memory();
        return now.cache;
    });
}

void set_persistent_cache_file(const std::string& path, bool always_sync) {
    as_lite_error([&] {
        require_path(path);
        auto& now = current();
        std::lock_guard lock(now.mutex);
        if (!now.file.empty() && !is_same_file(now.file, path))
            mge::log_warning(text("the fast-run cache is '", path, "' from now on, not '", now.file, "'"));
        std::vector<CacheRow> rows;
        FileKind kind = examine(path, rows);
        bool is_kept = kind != FileKind::megengine || (always_sync && set_aside(path));
        auto durability = always_sync ? Durability::power_cut : Durability::process;
        auto cache = is_kept ? open_file(path, kind, durability) : FastrunCache::in_memory();
        merge_tolerantly(*cache, rows);
        if (now.cache) merge_tolerantly(*cache, rows_tolerantly(*now.cache));
        now.file = cache->path() == in_memory ? "" : path;
        now.cache = std::move(cache);
    });
}

void add_to_persistent_cache(std::span<const std::byte> cache, const std::string& label) {
    auto rows = parse_cache(cache, label);
    as_lite_error([&] { merge_tolerantly(*persistent_cache(), rows); });
}

void write_persistent_cache(const std::string& path) {
    as_lite_error([&] {
        require_path(path);
        auto& now = current();
        std::lock_guard lock(now.mutex);
        if (is_same_file(now.file, path)) return now.cache->flush();
        std::vector<CacheRow> rows;
        if (examine(path, rows) == FileKind::megengine && !set_aside(path))
            throw Error(text("fast-run cache '", path, "' is MegEngine's and cannot be replaced"));
        auto file = FastrunCache::open(path);
        file->merge(rows);
        if (now.cache) file->merge(now.cache->rows());
    });
}

}  // namespace lite
