// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/files/array_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "libmge/device/default_device.h"
#include "tests/new_folder.h"

namespace mge::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string npy(const std::string& header, const std::string& data, char version = 1) {
    std::string result = std::string("\x93NUMPY") + version + '\0';
    result += char(header.size() & 0xff);
    result += char(header.size() >> 8);
    if (version > 1) result += std::string(2, '\0');
    return result + header + data;
}

Tensor parse(const std::string& bytes) {
    return parse_npy({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "x.npy");
}

std::string message_of(const std::string& bytes) {
    try {
        parse(bytes);
    } catch (const ModelError& e) {
        return e.what();
    }
    return "no error";
}

const std::string i4_header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }\n";
const std::string two_ints("\1\0\0\0\2\0\0\0", 8);

TEST(Npy, ReadsVersionsOneToThree) {
    for (char version : {1, 2, 3}) {
        Tensor t = parse(npy(i4_header, two_ints, version));
        EXPECT_EQ(t.shape(), (Shape{2, 1}));
        EXPECT_EQ(t.data<int32_t>()[1], 2);
    }
}

TEST(Npy, KeepsDoubles) {
    double value = 1.5;
    Tensor t = parse(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
                         std::string(reinterpret_cast<char*>(&value), 8)));
    EXPECT_EQ(t.dtype(), DType::f64);
    EXPECT_EQ(t.data<double>()[0], 1.5);
}

// [[1, 3, 5], [2, 4, 6]], one column behind the other.
TEST(Npy, ReadsFortranOrder) {
    int32_t columns[] = {1, 2, 3, 4, 5, 6};
    Tensor t = parse(npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }",
                         std::string(reinterpret_cast<char*>(columns), sizeof columns)));
    EXPECT_EQ(t.shape(), (Shape{2, 3}));
    EXPECT_THAT(std::vector<int32_t>(t.data<int32_t>(), t.data<int32_t>() + 6),
                testing::ElementsAre(1, 3, 5, 2, 4, 6));
    Tensor empty = parse(npy("{'descr': '<i4', 'fortran_order': True, 'shape': (0, 3), }", ""));
    EXPECT_EQ(empty.shape(), (Shape{0, 3}));
}

TEST(Npy, ReadsBigEndianElements) {
    auto read = [](const std::string& type, const std::string& data) {
        return parse(npy("{'descr': '" + type + "', 'fortran_order': False, 'shape': (2,), }", data));
    };
    Tensor ints = read(">i4", std::string("\0\0\0\1\0\0\1\0", 8));
    EXPECT_THAT(std::vector(ints.data<int32_t>(), ints.data<int32_t>() + 2), ElementsAre(1, 256));
    Tensor floats = read(">f4", std::string("\x3f\x80\0\0\xc0\0\0\0", 8));
    EXPECT_THAT(std::vector(floats.data<float>(), floats.data<float>() + 2), ElementsAre(1, -2));
    Tensor longs = read(">u8", std::string("\0\0\0\0\0\0\0\7\1\0\0\0\0\0\0\0", 16));
    EXPECT_THAT(std::vector(longs.data<uint64_t>(), longs.data<uint64_t>() + 2),
                ElementsAre(7, uint64_t(1) << 56));
    EXPECT_EQ(read(">u1", "\1\2").data<uint8_t>()[1], 2);
}

TEST(Npy, RejectsInvalidArguments) {
    EXPECT_THAT(message_of("hello"), HasSubstr("has no .npy signature"));
    EXPECT_THAT(message_of(npy(i4_header, "")), HasSubstr("needs 8 bytes of data, but there are 0"));
    EXPECT_THAT(message_of(npy("{'descr': '>c8', 'fortran_order': False, 'shape': (1,), }", two_ints)),
                HasSubstr("not supported"));
    EXPECT_THAT(message_of(npy("{'descr': '!i4', 'fortran_order': False, 'shape': (2,), }", two_ints)),
                HasSubstr("not supported"));
    EXPECT_THAT(message_of(npy(
                    "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }", "")),
                HasSubstr("more elements than memory can hold"));
    EXPECT_THAT(message_of(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (-2,), }", two_ints)),
                HasSubstr("shape is damaged"));
    EXPECT_THAT(message_of(npy("{'descr': '<i4'}", two_ints)), HasSubstr("has no 'fortran_order'"));
}

TEST(Npy, MutationsNeverCrash) {
    std::mt19937 random(7);
    std::string good = npy(i4_header, two_ints);
    for (int i = 0; i < 5000; ++i) {
        std::string bytes = good;
        if (random() % 2) bytes.resize(random() % (bytes.size() + 1));
        for (int flips = int(random() % 4); flips > 0 && !bytes.empty(); --flips)
            bytes[random() % bytes.size()] = char(random());
        try {
            parse(bytes);
        } catch (const ModelError&) {
        }
    }
}

TEST(Npz, RoundTrips) {
    auto path = (new_folder("mge_array_file") / "a.npz").string();
    float values[] = {1, 2, 3};
    Tensor a = tensor_from_host({DType::f32, {3}, {}}, values), b = scalar_tensor(1, DType::boolean);
    write_npz(path, {{"a", a}, {"b", b}});
    // Bytes 10 to 13 of a zip are time and date of the first member: fixed, so that equal arrays make equal
    // files.
    std::ifstream stream(path, std::ios::binary);
    std::string head(14, 'x');
    stream.read(head.data(), 14);
    EXPECT_EQ(head.substr(10), std::string("\0\0\x21\0", 4));
    auto arrays = read_npz(path);
    ASSERT_EQ(arrays.size(), 2u);
    EXPECT_EQ(arrays["a"].data<float>()[2], 3);
    EXPECT_EQ(arrays["b"].shape(), Shape{});
    std::ofstream(path) << "no zip";
    EXPECT_THROW(read_npz(path), ModelError);
    std::filesystem::remove_all(std::filesystem::path(path).parent_path());
    EXPECT_THROW(read_npz(path), UserError);
    EXPECT_THROW(write_npz("/proc/nonexistent/x.npz", {{"a", a}}), UserError);
}

}  // namespace
}  // namespace mge::cli
