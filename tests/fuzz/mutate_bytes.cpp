// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate_bytes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tests/fuzz/target.h"

// libFuzzer's own mutations, which know what comparisons the program made; driver.cpp has some without that.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace mge::fuzz {
namespace {

constexpr int64_t extremes[] = {0,
                                1,
                                -1,
                                2,
                                7,
                                8,
                                INT8_MAX,
                                INT16_MAX,
                                INT32_MAX,
                                INT32_MIN,
                                UINT32_MAX,
                                int64_t(1) << 31,
                                int64_t(1) << 40,
                                int64_t(1) << 60,
                                INT64_MAX,
                                INT64_MIN};

constexpr std::string_view words[] = {"null",
                                      "-1",
                                      "0",
                                      "1",
                                      "true",
                                      "1e308",
                                      "1e999",
                                      "-1e-400",
                                      "0.5",
                                      "9223372036854775807",
                                      "-9223372036854775808",
                                      "18446744073709551615",
                                      "4294967296",
                                      "[]",
                                      "{}",
                                      "\"\"",
                                      "\"1\"",
                                      "[[[[[[[[",
                                      "\"\\u0000\"",
                                      "\"\\ud800\"",
                                      "nan",
                                      "inf"};

template <class T>
T load(const std::string& bytes, size_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

template <class T>
void mutate_integer_of(std::string& bytes, Random& random) {
    size_t count = bytes.size() / sizeof(T);
    if (!count) return;
    size_t at = random.below(count) * sizeof(T), other = random.below(count) * sizeof(T);
    T value = load<T>(bytes, at);
    switch (random.below(4)) {
        case 0:
            value = T(random.pick(extremes));
            break;
        case 1:
            value = T(value + T(random.below(17)) - 8);
            break;
        case 2:
            value = T(value << random.below(sizeof(T) * 8));
            break;
        default:
            value = load<T>(bytes, other);
    }
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

}  // namespace

void mutate_bytes(std::string& bytes, Random& random) {
    if (random.one_in(4)) return mutate_integer(bytes, random);
    size_t capacity = std::max(bytes.size(), largest_input), size = bytes.size();
    bytes.resize(capacity);
    bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), size, capacity));
}

void mutate_integer(std::string& bytes, Random& random) {
    if (random.one_in(2))
        mutate_integer_of<uint32_t>(bytes, random);
    else
        mutate_integer_of<uint64_t>(bytes, random);
}

void splice(std::string& bytes, std::string_view other, Random& random) {
    if (bytes.empty() || other.empty()) return;
    size_t length = random.below(128), to = random.below(bytes.size()), from = random.below(other.size());
    bytes.replace(to, std::min(length, bytes.size() - to), other.substr(from, length));
}

void mutate_tables(std::string& bytes, std::span<const std::string> others, Random& random) {
    switch (random.below(4)) {
        case 0:
            return splice(bytes, random.pick(others), random);
        case 1:
            return mutate_bytes(bytes, random);
        default:
            return mutate_integer(bytes, random);
    }
}

void mutate_text(std::string& text, Random& random) {
    if (text.empty()) {
        text = random.pick(words);
        return;
    }
    size_t at = random.below(text.size());
    switch (random.below(8)) {
        case 0:
            return mutate_bytes(text, random);
        case 1:
            text.resize(at);
            return;
        case 2:  // a piece of the text elsewhere
            if (text.size() < largest_input)
                text.insert(at, text.substr(random.below(text.size()), random.below(200)));
            return;
        case 3:
            text.erase(at, random.below(200));
            return;
        case 4: {  // the text between two quotes
            size_t open = text.find('"', at), close = text.find('"', open + 1);
            if (open == text.npos || close == text.npos) return;
            text.replace(open + 1, close - open - 1, hostile_name(random));
            return;
        }
        default: {  // a number
            at = text.find_first_of("0123456789", at);
            if (at == text.npos) return;
            size_t end = text.find_first_not_of("0123456789.e+-", at);
            text.replace(at, end - at, random.pick(words));
        }
    }
}

std::string hostile_name(Random& random) {
    static const std::string names[] = {"",
                                        " ",
                                        "a\"b\\c",
                                        "../../etc/passwd",
                                        "/dev/zero",
                                        "\x1b[2J\x1b]0;x\x07",
                                        "<script>alert(1)</script>",
                                        std::string("x\0y", 3),
                                        "\xff\xfe\xc0\x80",
                                        "\xed\xa0\x80",
                                        "%s%n",
                                        "line\nline\r\n"};
    return random.one_in(8) ? std::string(1 + random.below(5000), 'n') : random.pick(names);
}

}  // namespace mge::fuzz
