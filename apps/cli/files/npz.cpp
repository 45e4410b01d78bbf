// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "apps/cli/files/array_file.h"
#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
#include "libmge/base/files/file_limit.h"

namespace mge::cli {
namespace {

// The maximum expansion of Deflate. An entry that claims more is malicious and is refused before memory is
// allocated.
constexpr uint64_t largest_expansion = 1032;

struct Discard {
    void operator()(zip_t* z) const { zip_discard(z); }
};
struct CloseEntry {
    void operator()(zip_file_t* f) const { zip_fclose(f); }
};
struct FreeSource {
    void operator()(zip_source_t* s) const { zip_source_free(s); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

std::string message(int code) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    std::string result = zip_error_strerror(&error);
    zip_error_fini(&error);
    return result;
}

// NumPy has no bfloat16 and no narrow numbers: their bits are stored.
std::string numpy_type(DType dtype) {
    std::string_view code = dtype == DType::bf16 ? "u2" : numpy_code(dtype);
    MGE_CHECK(!code.empty() || is_narrow(dtype));
    if (code.empty()) code = "u1";
    return text(code[1] == '1' ? '|' : '<', code);
}

std::string npy_bytes(const Tensor& tensor) {
    std::string shape = "(";
    for (int64_t d : tensor.shape().dims()) shape += std::to_string(d) + ",";
    std::string header = text("{'descr': '", numpy_type(tensor.dtype()),
                              "', 'fortran_order': False, 'shape': ", shape, "), }");
    constexpr size_t prefix = 10, alignment = 64;
    header.append((alignment - (prefix + header.size() + 1) % alignment) % alignment, ' ');
    header += '\n';
    std::string result("\x93NUMPY\x01\x00", 8);
    result += char(header.size() & 0xff);
    result += char(header.size() >> 8);
    result += header;
    result.append(static_cast<const char*>(tensor.data()), tensor.spec().bytes());
    return result;
}

// An archive with the memory budget of all its entries.
struct Source {
    Archive archive;
    std::string label;
    FileBudget budget;

    Source(Archive opened, std::string name, uint64_t file_bytes)
        : archive(std::move(opened)), label(std::move(name)), budget(label, file_bytes) {}
    Source(const Source&) = delete;
};

// An entry of an archive, unpacked only up to the size in its own header.
class ArchiveMember {
public:
    ArchiveMember(Source& source, zip_uint64_t index) : source_(source) {
        if (zip_stat_index(archive(), index, 0, &info_) != 0 || !info_.name)
            throw ModelError(text("'", source.label, "': entry ", index, " is damaged"));
        name_ = info_.name;
        label_ = source.label + ":" + name_;
        if (info_.size / largest_expansion > info_.comp_size + 1)
            throw ModelError(text("'", label_, "' claims ", info_.size, " bytes from ", info_.comp_size,
                                  " compressed ones"));
        file_.reset(zip_fopen_index(archive(), index, 0));
        if (!file_) fail();
    }
    const std::string& name() const { return name_; }

    Tensor read() {
        std::vector<std::byte> bytes(std::min<uint64_t>(info_.size, npy_header_bytes));
        unpack(bytes);
        size_t needed = npy_size(bytes, label_);
        if (info_.size != needed)
            throw ModelError(text("'", label_, "' is not a readable .npy array: it has ", info_.size,
                                  " bytes, but its header requires ", needed));
        // Once for the bytes and once for the tensor.
        source_.budget.take(needed, 2);
        size_t start = bytes.size();
        bytes.resize(needed);
        unpack(std::span(bytes).subspan(start));
        return parse_npy(bytes, label_);
    }

private:
    zip_t* archive() const { return source_.archive.get(); }
    [[noreturn]] void fail() const {
        throw ModelError(text("'", label_, "' cannot be unpacked: ", zip_strerror(archive())));
    }
    void unpack(std::span<std::byte> bytes) {
        if (zip_fread(file_.get(), bytes.data(), bytes.size()) != zip_int64_t(bytes.size())) fail();
    }

    Source& source_;
    zip_stat_t info_{};
    std::string name_, label_;
    std::unique_ptr<zip_file_t, CloseEntry> file_;
};

Tensor read_entry(Source& source, zip_uint64_t index, std::string& name) {
    ArchiveMember entry(source, index);
    name = entry.name();
    Tensor result = entry.read();
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    return result;
}

bool is_special(const std::string& path) {
    std::error_code unknown;
    auto status = std::filesystem::status(path, unknown);
    return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
           !std::filesystem::is_directory(status);
}

Archive open_new(const std::string& path) {
    // libzip writes a temporary file and renames it when the archive is closed.
    int code = 0;
    Archive archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
    if (!archive) throw UserError(text("cannot create '", path, "': ", message(code)));
    return archive;
}

void write_archive(Archive archive, const std::string& path,
                   const std::vector<std::pair<std::string, Tensor>>& arrays) {
    std::vector<std::string> contents;
    contents.reserve(arrays.size());
    for (auto& [name, tensor] : arrays) {
        contents.push_back(npy_bytes(tensor));
        zip_source_t* source =
            zip_source_buffer(archive.get(), contents.back().data(), contents.back().size(), 0);
        zip_int64_t index =
            source ? zip_file_add(archive.get(), (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
        if (index < 0) {
            zip_source_free(source);
            throw UserError(text("cannot write '", name, "' to '", path, "': ", zip_strerror(archive.get())));
        }
        zip_set_file_compression(archive.get(), zip_uint64_t(index), ZIP_CM_STORE, 0);
        // The earliest date of a zip file, as NumPy uses: equal arrays give equal files.
        constexpr uint16_t midnight = 0, first_of_1980 = 1 << 5 | 1;
        zip_file_set_dostime(archive.get(), zip_uint64_t(index), midnight, first_of_1980, 0);
    }
    if (zip_close(archive.get()) != 0)
        throw UserError(text("cannot write '", path, "': ", zip_strerror(archive.get())));
    archive.release();  // zip_close freed it
}

Source open_archive(std::span<const std::byte> bytes, const std::string& label) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    Archive archive(source ? zip_open_from_source(source, ZIP_RDONLY, &error) : nullptr);
    if (!archive && source) zip_source_free(source);
    std::string why = archive ? "" : zip_error_strerror(&error);
    zip_error_fini(&error);
    if (!archive) throw ModelError(text("'", label, "' is not a readable .npz archive: ", why));
    return {std::move(archive), label, bytes.size()};
}

std::vector<std::string> names_in(const Source& source) {
    zip_t* archive = source.archive.get();
    std::vector<std::string> names;
    for (zip_int64_t i = 0, n = zip_get_num_entries(archive, 0); i < n; ++i) {
        const char* entry = zip_get_name(archive, zip_uint64_t(i), 0);
        std::string name = entry ? entry : "";
        if (name.ends_with(".npy")) name.resize(name.size() - 4);
        names.push_back(std::move(name));
    }
    return names;
}

Tensor read_array(Source source, const std::string& name) {
    zip_t* archive = source.archive.get();
    zip_int64_t at = zip_name_locate(archive, (name + ".npy").c_str(), 0);
    if (at < 0) at = zip_name_locate(archive, name.c_str(), 0);
    if (at < 0) throw UserError(text("'", source.label, "' has no array '", name, "'"));
    std::string entry;
    return read_entry(source, zip_uint64_t(at), entry);
}

}  // namespace

std::vector<std::string> npz_names(const std::string& path) {
    return npz_names(MappedFile::open(path)->bytes(), path);
}
std::vector<std::string> npz_names(std::span<const std::byte> archive, const std::string& label) {
    return names_in(open_archive(archive, label));
}

Tensor read_npz_array(const std::string& path, const std::string& name) {
    return read_npz_array(MappedFile::open(path)->bytes(), path, name);
}
Tensor read_npz_array(std::span<const std::byte> archive, const std::string& label, const std::string& name) {
    return read_array(open_archive(archive, label), name);
}

std::map<std::string, Tensor> read_npz(const std::string& path) {
    auto file = MappedFile::open(path);
    Source source = open_archive(file->bytes(), path);
    std::map<std::string, Tensor> result;
    for (zip_int64_t i = 0, n = zip_get_num_entries(source.archive.get(), 0); i < n; ++i) {
        std::string name;
        Tensor tensor = read_entry(source, zip_uint64_t(i), name);
        result[name] = tensor;
    }
    return result;
}

void write_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays) {
    bool is_file = path != "-" && !is_special(path);
    if (is_file) return write_archive(open_new(path), path, arrays);
    // libzip would replace a device by a file.
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* memory = zip_source_buffer_create(nullptr, 0, 0, &error);
    Archive archive(memory ? zip_open_from_source(memory, ZIP_TRUNCATE, &error) : nullptr);
    zip_error_fini(&error);
    if (!archive) {
        zip_source_free(memory);
        throw MemoryError(text("there is not enough memory for '", path, "'"));
    }
    zip_source_keep(memory);
    std::unique_ptr<zip_source_t, FreeSource> kept(memory);
    write_archive(std::move(archive), path, arrays);
    std::vector<char> bytes(65536);
    write_file_atomically(path, [&](std::ostream& stream) {
        zip_source_open(memory);
        for (zip_int64_t n; (n = zip_source_read(memory, bytes.data(), bytes.size())) > 0;)
            stream.write(bytes.data(), n);
        zip_source_close(memory);
    });
}

}  // namespace mge::cli
