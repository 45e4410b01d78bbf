// SPDX-License-Identifier: Apache-2.0
// Packed weights in a file: used in place on the machine for which they were packed.
#include "libmge/model/packed_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "libmge/base/files/file.h"
#include "libmge/base/text.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/device/device.h"
#include "libmge/kernel/packed_copies.h"
#include "libmge/mge.h"
#include "tests/new_folder.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

using testing::HasSubstr;

constexpr int64_t channels = 64;
// A convolution whose weight is packed ahead of time: on 64-bit Arm one of a single pixel.
const int64_t kernel = cpu_isa() < Isa::sse4 ? 1 : 3, side = kernel == 1 ? 1 : 12;
const ops::Conv2d::Params window{.padding = {kernel / 2, kernel / 2}};
const Shape image_shape{1, channels, side, side}, weight_shape{channels, channels, kernel, kernel};

Tensor ramp(const Shape& shape) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int(i * 7 % 23) - 11) / 40;
    return constant(shape, values);
}

Graph convolution() {
    return record({f32(image_shape)},
                  [](const Tensors& x) { return Tensors{ops::conv2d(x[0], ramp(weight_shape), window)}; });
}

CompileOptions options() {
    CompileOptions o;
    o.threads = 1;
    return o;
}

Model packed_model() {
    Model model{convolution()};
    model.packed = pack_constants(model.graph, options());
    return model;
}

// The file in memory, at an aligned address.
class Image {
public:
    explicit Image(const Model& model) {
        std::ostringstream stream;
        write_model(stream, model);
        text_ = stream.str();
        memory_ = std::make_shared<StorageRef>(queue_of(host_device).allocate(text_.size()));
        std::memcpy((*memory_)->data, text_.data(), text_.size());
    }
    std::span<std::byte> bytes() { return {static_cast<std::byte*>((*memory_)->data), text_.size()}; }
    Model read(WeightCheck check = WeightCheck::all) {
        return read_model(bytes(), memory_, "test.mge", check);
    }
    // Changes a bit of the weight that has a packed copy.
    void damage_weight() {
        auto packed = read().packed.all.at(0);
        auto* weight = static_cast<std::byte*>(packed.constant.data());
        weight[packed.constant.spec().bytes() / 2] ^= std::byte{1};
    }
    bool holds(const void* data) {
        auto* at = static_cast<const std::byte*>(data);
        return at >= bytes().data() && at < bytes().data() + bytes().size();
    }
    void forget() { memory_ = nullptr; }

private:
    std::string text_;
    std::shared_ptr<StorageRef> memory_;
};

// Number of a program's copies that are in the file, and elsewhere.
std::pair<size_t, size_t> copies_of_program(Image& image, const Graph& graph) {
    PackedCopyNotes notes;
    CompileOptions noting = options();
    noting.select.packed_copies = &notes;
    auto program = Program::compile(graph, noting);
    std::pair<size_t, size_t> count;
    for (auto& copy : notes.living()) ++(image.holds(copy.data) ? count.first : count.second);
    return count;
}

TEST(PackedConstants, AreUsedInPlace) {
    Model model = packed_model();
    ASSERT_EQ(model.packed.all.size(), 1u);
    Image image(model);
    Model read = image.read();
    EXPECT_EQ(copies_of_program(image, read.graph), std::pair(size_t(1), size_t(0)));
    Tensor x = ramp(image_shape);
    Tensor got = Executable(read.graph, options()).run(Tensors{x})[0];
    Tensor expected = Executable(convolution(), options()).run(Tensors{x})[0];
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), expected.spec().bytes()), 0);
}

TEST(PackedConstants, RewrittenFileKeepsThem) {
    Image first(packed_model());
    Image second(first.read());
    EXPECT_EQ(copies_of_program(second, second.read().graph), std::pair(size_t(1), size_t(0)));
}

TEST(PackedConstants, OtherValuesAreNotWritten) {
    Model model = packed_model();
    model.graph = convolution();
    Image image(model);
    EXPECT_TRUE(image.read().packed.all.empty());
}

TEST(PackedConstants, AreIgnoredOnAnotherMachine) {
    Model model = packed_model();
    model.packed.machine += " of next year";
    Image image(model);
    Model read = image.read();
    EXPECT_EQ(read.packed.all.size(), 1u);
    EXPECT_EQ(copies_of_program(image, read.graph), std::pair(size_t(0), size_t(1)));
}

TEST(PackedConstants, AreIgnoredInOtherLayouts) {
    Model model = packed_model();
    for (auto& layouts : {std::string(), std::string("short"), model.packed.all[0].layouts + "x",
                          std::string(model.packed.all[0].layouts.size(), '\x7f')}) {
        model.packed.all[0].layouts = layouts;
        Image image(model);
        EXPECT_EQ(copies_of_program(image, image.read().graph), std::pair(size_t(0), size_t(1)));
    }
}

TEST(PackedConstants, AreIgnoredWithAnotherSize) {
    Model model = packed_model();
    auto& copy = model.packed.all[0].copy;
    copy = Tensor({DType::u8, {copy.spec().numel() - 64}, {}}, borrow_storage(copy.data(), 0, nullptr));
    Image image(model);
    EXPECT_EQ(copies_of_program(image, image.read().graph), std::pair(size_t(0), size_t(1)));
}

TEST(PackedConstants, AreReleasedWithTheFile) {
    Image image(packed_model());
    const void* constant = nullptr;
    {
        Model read = image.read();
        constant = read.packed.all[0].constant.data();
        EXPECT_TRUE(find_packed_copy(constant, [](auto, size_t) { return true; }));
    }
    image.forget();
    EXPECT_FALSE(find_packed_copy(constant, [](auto, size_t) { return true; }));
}

TEST(PackedConstants, DamageIsFound) {
    Image image(packed_model());
    image.bytes()[image.bytes().size() - 1] ^= std::byte{1};
    try {
        image.read();
        FAIL() << "it was read";
    } catch (const ModelError& e) {
        EXPECT_THAT(e.what(), HasSubstr("is damaged (checksum)"));
    }
}

const std::string damaged_weight =
    text("is not a valid model: tensor 0 (", f32(weight_shape), ") is damaged");
const std::string is_damaged = "'test.mge' " + damaged_weight + " (checksum)";

template <class Work>
std::string damage_reported_by(Work work) {
    try {
        work();
    } catch (const ModelError& e) {
        return e.what();
    }
    return "nothing is damaged";
}

// Their programs read the weights themselves.
CompileOptions plain_options() {
    CompileOptions plain = options();
    plain.switches.pack_weights = false;
    return plain;
}

TEST(WeightsUsedPacked, AreNotVerified) {
    Image image(packed_model());
    image.damage_weight();
    EXPECT_THAT(damage_reported_by([&] { image.read(); }), HasSubstr(is_damaged));
    Model read = image.read(WeightCheck::as_used);
    EXPECT_EQ(copies_of_program(image, read.graph), std::pair(size_t(1), size_t(0)));
    Tensor x = ramp(image_shape);
    Tensor got = Executable(read.graph, options()).run(Tensors{x})[0];
    Tensor expected = Executable(convolution(), options()).run(Tensors{x})[0];
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), expected.spec().bytes()), 0);
}

TEST(WeightsUsedPacked, AreVerifiedWhenAStepReadsThem) {
    Image image(packed_model());
    image.damage_weight();
    Model read = image.read(WeightCheck::as_used);
    // Each time, not only the first.
    for (int i = 0; i < 2; ++i)
        EXPECT_THAT(damage_reported_by([&] { Program::compile(read.graph, plain_options()); }),
                    HasSubstr(is_damaged));
    CompileOptions keeping = options();
    keeping.keeps_weights = true;
    EXPECT_THAT(damage_reported_by([&] { Program::compile(read.graph, keeping); }), HasSubstr(is_damaged));
}

TEST(WeightsUsedPacked, AreVerifiedWhenTheirCopyIsIgnored) {
    Model model = packed_model();
    model.packed.all[0].layouts += "x";
    Image image(model);
    image.damage_weight();
    Model read = image.read(WeightCheck::as_used);
    EXPECT_THAT(damage_reported_by([&] { Program::compile(read.graph, options()); }), HasSubstr(is_damaged));
}

TEST(WeightsUsedPacked, AreVerifiedWithOtherReaders) {
    Model model = packed_model();
    ValueId weight = no_value;
    for (size_t i = 0; i < model.graph.values().size(); ++i)
        if (model.graph.value(ValueId(i)).is_constant()) weight = ValueId(i);
    auto outputs = model.graph.outputs();
    outputs.push_back(weight);
    model.graph.set_outputs(outputs);
    Image image(model);
    image.damage_weight();
    Model read = image.read(WeightCheck::as_used);
    EXPECT_THAT(damage_reported_by([&] { Program::compile(read.graph, options()); }), HasSubstr(is_damaged));
}

TEST(WeightsUsedPacked, AreVerifiedAtOnceWithoutUsefulCopies) {
    Model of_another = packed_model(), with_test = packed_model();
    of_another.packed.machine += " of next year";
    Tensor x = ramp(image_shape), weight = with_test.packed.all[0].constant;
    with_test.test_cases.push_back({"weight", {x}, {weight}});
    for (auto& model : {of_another, with_test}) {
        Image image(model);
        image.damage_weight();
        EXPECT_THAT(damage_reported_by([&] { image.read(WeightCheck::as_used); }), HasSubstr(is_damaged));
    }
}

// A pass may use the bytes for one of them, and leave the other one its copy.
TEST(WeightsUsedPacked, AreVerifiedAtOnceWhenSeveralNodesReadThem) {
    Tensor weight = ramp(weight_shape);
    Model model;
    model.graph = record({f32(image_shape), f32(weight_shape)}, [&](const Tensors& x) {
        return Tensors{ops::conv2d(x[0], weight, window), ops::add(x[1], weight)};
    });
    model.packed = pack_constants(model.graph, options());
    ASSERT_EQ(model.packed.all.size(), 1u);
    Image image(model);
    image.damage_weight();
    EXPECT_THAT(damage_reported_by([&] { image.read(WeightCheck::as_used); }), HasSubstr(is_damaged));
}

// Folding gives a view, for which the copy is valid, too; and a number computed from the bytes.
TEST(WeightsUsedPacked, AreVerifiedWhenTheyAreFolded) {
    Tensor weight = ramp({channels * channels, kernel * kernel});
    Model model;
    model.graph = record({f32(image_shape)}, [&](const Tensors& x) {
        Tensor same = ops::reshape(weight, {.shape = {channels, channels, kernel, kernel}});
        return Tensors{ops::conv2d(x[0], same, window), ops::sum(same, {.axes = {1}})};
    });
    model.packed = pack_constants(model.graph, options());
    ASSERT_EQ(model.packed.all.size(), 1u);
    Image image(model);
    image.damage_weight();
    Model read = image.read(WeightCheck::as_used);
    EXPECT_THAT(damage_reported_by([&] { Program::compile(read.graph, options()); }),
                HasSubstr("is damaged (checksum)"));
}

TEST(WeightsUsedPacked, AreVerifiedBeforeTheyAreWritten) {
    Image image(packed_model());
    image.damage_weight();
    Model read = image.read(WeightCheck::as_used);
    std::ostringstream stream;
    EXPECT_THAT(damage_reported_by([&] { write_model(stream, read); }), HasSubstr(is_damaged));
}

TEST(WeightsUsedPacked, AreVerifiedInAForkedChild) {
    Image image(packed_model());
    image.damage_weight();
    Model read = image.read(WeightCheck::as_used);
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        std::string damage = damage_reported_by([&] { Program::compile(read.graph, plain_options()); });
        _exit(damage.find(is_damaged) != std::string::npos ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(WeightsUsedPacked, AreVerifiedOnlyForReadingPrograms) {
    Image image(packed_model());
    image.damage_weight();
    NewFolder folder("one_of_two_programs");
    std::string path = folder.file("damaged.mge");
    auto bytes = image.bytes();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
    auto file = MappedFile::open(path);
    Model read = read_model(file->bytes(), file, path, WeightCheck::as_used);
    Tensor x = ramp(image_shape);
    Tensor expected = Executable(convolution(), options()).run(Tensors{x})[0];
    for (int i = 0; i < 2; ++i) {
        Tensor got = Executable(read.graph, options()).run(Tensors{x})[0];
        EXPECT_EQ(std::memcmp(got.data(), expected.data(), expected.spec().bytes()), 0);
        EXPECT_THAT(damage_reported_by([&] { Program::compile(read.graph, plain_options()); }),
                    HasSubstr("damaged.mge' " + damaged_weight));
    }
}

TEST(WeightsUsedPacked, AreVerifiedByManyThreadsAtOnce) {
    for (bool is_damaged_here : {false, true}) {
        Image image(packed_model());
        if (is_damaged_here) image.damage_weight();
        Model read = image.read(WeightCheck::as_used);
        std::array<std::string, 8> damage;
        std::vector<std::thread> threads;
        for (size_t i = 0; i < damage.size(); ++i)
            threads.emplace_back([&, i] {
                damage[i] = damage_reported_by(
                    [&] { Program::compile(read.graph, i % 2 ? plain_options() : options()); });
            });
        for (auto& thread : threads) thread.join();
        for (size_t i = 0; i < damage.size(); ++i)
            EXPECT_THAT(damage[i], HasSubstr(is_damaged_here && i % 2 ? is_damaged : "nothing is damaged"));
    }
}

// As much as several threads share.
TEST(WeightsUsedPacked, FirstOfSeveralDamagedConstantsIsReported) {
    const int64_t many = kernel == 1 ? 1024 : 512;
    Tensor one = ramp({many, many, kernel, kernel}), other = ops::add(one, constant({1}, {1.F}));
    const int64_t pixels = kernel == 1 ? 1 : 4;
    Model model{record({f32({1, many, pixels, pixels})}, [&](const Tensors& x) {
        return Tensors{ops::conv2d(ops::conv2d(x[0], one, window), other, window)};
    })};
    model.packed = pack_constants(model.graph, options());
    ASSERT_EQ(model.packed.all.size(), 2u);
    Image image(model);
    Model read = image.read(WeightCheck::as_used);
    std::array<std::byte*, 2> weights;
    for (size_t i = 0; i < 2; ++i) weights[i] = static_cast<std::byte*>(read.packed.all[i].constant.data());
    std::ranges::sort(weights);
    CompileOptions plain = plain_options();
    plain.threads = 2;
    auto damage = [&](std::initializer_list<std::byte*> damaged) {
        Model again = image.read(WeightCheck::as_used);
        for (auto* weight : damaged) *weight ^= std::byte{1};
        std::string message = damage_reported_by([&] { Program::compile(again.graph, plain); });
        for (auto* weight : damaged) *weight ^= std::byte{1};
        return message;
    };
    std::string of_first = damage({weights[0]}), of_second = damage({weights[1]});
    EXPECT_THAT(of_first, HasSubstr(text("(", one.spec(), ") is damaged (checksum)")));
    EXPECT_NE(of_first, of_second);
    EXPECT_EQ(damage({weights[1], weights[0]}), of_first);
    EXPECT_EQ(damage({}), "nothing is damaged");
}

TEST(WeightsUsedPacked, DamagedCopiesAreFound) {
    Image image(packed_model());
    image.bytes()[image.bytes().size() - 1] ^= std::byte{1};
    EXPECT_THAT(damage_reported_by([&] { image.read(WeightCheck::as_used); }),
                HasSubstr("is damaged (checksum)"));
}

TEST(PackedConstants, HoldBytes) {
    Model model = packed_model();
    model.packed.all[0].copy = model.packed.all[0].constant;
    Image image(model);
    try {
        image.read();
        FAIL() << "it was read";
    } catch (const ModelError& e) {
        EXPECT_THAT(e.what(), HasSubstr("packed copy 0: tensor 0 does not hold bytes"));
    }
}

}  // namespace
}  // namespace mge::test
