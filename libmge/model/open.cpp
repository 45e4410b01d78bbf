// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/open.h"

#include <algorithm>
#include <cstring>
#include <iomanip>

#include "libmge/base/file.h"
#include "libmge/device/device.h"
#include "libmge/model/container.h"
#include "libmge/model/import/megengine/megengine.h"

namespace mge {
namespace {

// Our own reader uses weights in place, at aligned addresses; bytes out of an envelope may lie anywhere.
ModelBytes aligned(const ModelBytes& file) {
    if (reinterpret_cast<uintptr_t>(file.bytes.data()) % model_alignment == 0) return file;
    auto storage = std::make_shared<StorageRef>(device({}).allocate(file.bytes.size()));
    std::memcpy((*storage)->data, file.bytes.data(), file.bytes.size());
    std::span bytes(static_cast<const std::byte*>((*storage)->data), file.bytes.size());
    return {bytes, storage, file.label};
}

Model open_mge(const ModelBytes& file, const OpenOptions&) {
    ModelBytes here = aligned(file);
    return read_model(here.bytes, here.owner, here.label);
}

Model open_megengine(const ModelBytes& file, const OpenOptions&) { return megengine::read_model(file); }

struct Kind {
    ModelKind kind;
    bool (*recognise)(std::span<const std::byte> bytes);
    Model (*open)(const ModelBytes& file, const OpenOptions& options);
};

// Every kind of file that can be told by its first bytes.
constexpr Kind kinds[] = {
    {ModelKind::mge, is_model, open_mge},
    {ModelKind::megengine, megengine::is_model, open_megengine},
};

const Kind* find_kind(std::span<const std::byte> bytes) {
    auto found = std::ranges::find_if(kinds, [&](const Kind& kind) { return kind.recognise(bytes); });
    return found == std::end(kinds) ? nullptr : found;
}

std::string first_bytes(std::span<const std::byte> bytes) {
    std::ostringstream stream;
    stream << std::hex << std::setfill('0');
    for (auto byte : bytes.first(std::min<size_t>(bytes.size(), 12)))
        stream << std::setw(2) << int(byte) << ' ';
    return stream.str();
}

}  // namespace

std::optional<ModelKind> recognise_model(std::span<const std::byte> bytes) {
    auto* kind = find_kind(bytes);
    return kind ? std::optional(kind->kind) : std::nullopt;
}

Model open_model(const ModelBytes& file, const OpenOptions& options) {
    if (auto* kind = find_kind(file.bytes)) return kind->open(file, options);
    throw ModelError(text("'", file.label, "' is not a model this program knows: it has ", file.bytes.size(),
                          " bytes and starts with ", first_bytes(file.bytes),
                          "- neither a .mge file nor one of MegEngine"));
}

Model open_model(const std::string& path, const OpenOptions& options) {
    auto file = MappedFile::open(path);
    return open_model({file->bytes(), file, path}, options);
}

}  // namespace mge
