// SPDX-License-Identifier: Apache-2.0
// numpy's .npy and .npz files, as inputs of models.
#include "apps/cli/files/array_file.h"

#include <cstdint>
#include <cstring>

#include "libmge/base/error.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/mutate_bytes.h"

namespace mge::fuzz {
namespace {

constexpr std::string_view dtypes[] = {"|b1", "|u1", "<i2", "<u2", "<i4", "<i8", "<f2",
                                       "<f4", "<f8", ">f4", "|O",  "<c8", "|S4", ""};
constexpr std::string_view shapes[] = {"()",
                                       "(2,)",
                                       "(2, 3)",
                                       "(0,)",
                                       "(-1,)",
                                       "(4294967296, 4294967296)",
                                       "(1152921504606846976,)",
                                       "(1,1,1,1,1,1,1,1,1)",
                                       "(2, 3",
                                       "(0, 9223372036854775807)",
                                       "(2.5,)",
                                       "((2,),)"};

std::string npy(std::string_view dtype, std::string_view shape, const std::string& data, char version) {
    std::string header = "{'descr': '" + std::string(dtype) +
                         "', 'fortran_order': False, 'shape': " + std::string(shape) + ", }\n";
    std::string result =
        std::string("\x93NUMPY") + version + '\0' + char(header.size() & 0xff) + char(header.size() >> 8);
    if (version > 1) result += std::string(2, '\0');
    return result + header + data;
}

uint32_t crc_of(std::string_view bytes) {
    uint32_t crc = 0xffffffff;
    for (unsigned char byte : bytes) {
        crc ^= byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320 & (0u - (crc & 1)));
    }
    return ~crc;
}

void put(std::string& file, uint64_t value, int bytes) {
    for (; bytes > 0; --bytes, value >>= 8) file += char(value);
}

struct Member {
    std::string name, content;
    uint64_t size;        // as the archive claims it
    uint16_t method = 0;  // 0: stored; 8: deflated
    uint32_t checksum = 0;
};

Member stored(std::string name, std::string content) {
    Member member{std::move(name), std::move(content), 0};
    member.size = member.content.size();
    member.checksum = crc_of(member.content);
    return member;
}

std::string archive(const std::vector<Member>& members) {
    std::string file, directory;
    for (auto& m : members) {
        std::string common;
        put(common, 20, 2);
        put(common, 0, 2);
        put(common, m.method, 2);
        put(common, 0x210000, 4);  // the first of 1980
        put(common, m.checksum, 4);
        put(common, m.content.size(), 4);
        put(common, m.size, 4);
        put(common, m.name.size(), 2);
        put(common, 0, 2);
        put(directory, 0x02014b50, 4);
        put(directory, 20, 2);
        directory += common;
        put(directory, 0, 10);
        put(directory, file.size(), 4);
        directory += m.name;
        put(file, 0x04034b50, 4);
        file += common + m.name + m.content;
    }
    size_t start = file.size();
    file += directory;
    put(file, 0x06054b50, 4);
    put(file, 0, 4);
    put(file, members.size(), 2);
    put(file, members.size(), 2);
    put(file, directory.size(), 4);
    put(file, start, 4);
    put(file, 0, 2);
    return file;
}

std::string any_npy(Random& random) {
    std::string data(random.below(64), char(random.bits()));
    return npy(random.pick(dtypes), random.pick(shapes), data, char(random.below(5)));
}

// An archive of members that claim what they like; their checksums are right.
std::string any_archive(Random& random) {
    std::vector<Member> members;
    for (size_t i = random.below(4); i > 0; --i) {
        Member member = stored(random.one_in(4) ? hostile_name(random) : "x.npy", any_npy(random));
        if (random.one_in(8)) member.size = uint32_t(random.bits());
        if (random.one_in(8)) member.method = uint16_t(random.below(15));
        members.push_back(member);
    }
    return archive(members);
}

bool is_archive(const std::string& bytes) { return bytes.starts_with("PK"); }

}  // namespace

void try_input(Bytes input) {
    if (text_of(input.first(std::min<size_t>(input.size(), 6))).starts_with("\x93NUMPY")) {
        cli::parse_npy(input, "input");
        return;
    }
    for (auto& name : cli::npz_names(input, "input")) cli::read_npz_array(input, "input", name);
    InputFile file(input);
    cli::read_npz(file.path());
}

std::vector<std::string> seeds() {
    std::vector<std::string> result = data_files("fuzz/arrays");
    for (auto dtype : dtypes)
        for (char version : {1, 2}) result.push_back(npy(dtype, "(2, 1)", std::string(8, '\1'), version));
    for (auto& file : data_files("megengine", ".npz"))
        if (file.size() < 1000) result.push_back(file);
    result.push_back(archive({stored("a.npy", npy("<f4", "(2,)", std::string(8, '\0'), 1)),
                              stored("b.npy", npy("<i4", "()", std::string(4, '\0'), 1))}));
    result.push_back(archive({}));
    return result;
}

void mutate(std::string& input, Random& random) {
    if (random.one_in(4))
        input = random.one_in(2) ? any_npy(random) : any_archive(random);
    else if (is_archive(input) || random.one_in(2))
        mutate_bytes(input, random);
    else
        mutate_text(input, random);
}

}  // namespace mge::fuzz
