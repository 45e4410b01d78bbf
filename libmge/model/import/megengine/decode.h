// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decodes the bytes of a file to a ModelRecord. Nothing is trusted: flatbuffers' verifier runs first, then
// every index, size and dtype is checked.

#include <algorithm>
#include <cstring>

#include "libmge/model/import/megengine/record.h"
#include "libmge/model/open.h"

namespace mge::megengine {

bool is_v1(std::span<const std::byte> bytes);
bool is_v2(std::span<const std::byte> bytes);
// `bytes` may go on behind the model; `label` names the file in errors.
ModelRecord decode_v1(std::span<const std::byte> bytes, const std::string& label);
ModelRecord decode_v2(std::span<const std::byte> bytes, const std::string& label);

// Common part of both decoders: errors that name the file, and a limit on copies. Tables of a flatbuffer may
// share their parts, so a small file could request the same bytes a million times.
class Decoding {
public:
    Decoding(const std::string& label, size_t file_bytes)
        : label_(label), budget_(4 * file_bytes + size_t(1 << 16)) {}

    template <class... Args>
    [[noreturn]] void fail(const Args&... what) const {
        throw ModelError(text("'", label_, "' is not a valid MegEngine model: ", what...));
    }
    void charge(size_t bytes) {
        if (bytes > budget_) fail("its tables refer to the same parts too often");
        budget_ -= bytes;
    }
    std::string_view name(const flatbuffers::String* s) {
        if (!s) return {};
        charge(s->size());
        return {s->c_str(), s->size()};
    }
    Shape shape(const flatbuffers::Vector<uint32_t>* dims, const std::string& where) const;
    std::vector<uint32_t> numbers(const flatbuffers::Vector<uint32_t>* list);
    // The version that wrote the file, "1.13.0", and the writer's notes.
    std::map<std::string, std::string> metadata(uint32_t version, bool is_valid, bool is_modified,
                                                uint64_t optimize_options, std::string_view user_info) const;

private:
    const std::string& label_;
    size_t budget_;
};

// The lists of a flatbuffer that may be missing.
template <class T>
size_t count(const flatbuffers::Vector<T>* list) {
    return list ? list->size() : 0;
}

// Flatbuffers require aligned addresses.
class AlignedBytes {
public:
    explicit AlignedBytes(std::span<const std::byte> bytes);
    std::span<const std::byte> bytes() const { return bytes_; }
    std::shared_ptr<const void> owner() const { return copy_; }

private:
    std::span<const std::byte> bytes_;
    std::shared_ptr<const void> copy_;
};

// Limits of flatbuffers' verifier: nesting and number of tables.
inline constexpr uint32_t max_depth = 64, max_tables = 4'000'000;

}  // namespace mge::megengine
