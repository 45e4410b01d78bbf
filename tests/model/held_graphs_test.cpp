// SPDX-License-Identifier: Apache-2.0
// Graphs that operators hold, in files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "libmge/device/default_device.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/graph/rewrite.h"
#include "libmge/model/container.h"
#include "libmge/model/model.h"
#include "libmge/ops/all.h"
#include "tests/harness/expect_error.h"
#include "tests/model/sample_models.h"

namespace mge {
namespace {

using testing::HasSubstr;

std::string written(const Model& model) {
    std::ostringstream stream;
    write_model(stream, model);
    return stream.str();
}

Model read(const std::string& bytes) {
    auto storage = std::make_shared<StorageRef>(queue_of({}).allocate(bytes.size()));
    std::memcpy((*storage)->data, bytes.data(), bytes.size());
    return read_model({static_cast<const std::byte*>((*storage)->data), bytes.size()}, storage, "test.mge");
}

TensorSpec one() { return {DType::f32, {1}, {}}; }

// A scan whose body is this one.
SubgraphRef around(const SubgraphRef& body, int times) {
    return make_subgraph(TensorSpecs{one()}, [&](std::span<const Tensor> in) {
        Tensors x{in[0]};
        for (int i = 0; i < times; ++i) x = ops::scan(x, {.body = body, .length = 1});
        return x;
    });
}

Model nested(int depth, int times) {
    auto body = make_subgraph(TensorSpecs{one()},
                              [](std::span<const Tensor> in) -> Tensors { return {ops::tanh(in[0])}; });
    for (int i = 0; i < depth; ++i) body = around(body, times);
    Model model;
    model.graph = graph_of(body);
    return model;
}

TEST(HeldGraphs, RoundTrip) {
    Model model = sample_models().back(), again = read(written(model));
    EXPECT_TRUE(same_params(again.graph.nodes()[0], model.graph.nodes()[0]));
    EXPECT_EQ(written(again).size(), written(model).size());
}

// A graph shared by several operators is in the file once.
TEST(HeldGraphs, AreSharedInTheFile) {
    EXPECT_LT(written(nested(8, 4)).size(), 6 * written(nested(8, 1)).size());
    Model again = read(written(nested(3, 2)));
    auto& nodes = again.graph.nodes();
    EXPECT_EQ(nodes[0].as<ops::Scan::Params>().body.get(), nodes[1].as<ops::Scan::Params>().body.get());
}

TEST(HeldGraphs, NestNoDeeperThanAllowed) {
    EXPECT_EQ(test::error_of<Error>([] { read(written(nested(31, 1))); }), "no error");
    EXPECT_THAT(test::error_of<Error>([] { read(written(nested(34, 1))); }),
                HasSubstr("nested too deeply or used too often"));
    EXPECT_THAT(test::error_of<Error>([] { read(written(nested(20, 3))); }),
                HasSubstr("nested too deeply or used too often"));
}

// Parts of files that refer to what is not there: each says where.
TEST(HeldGraphs, MissingDevicesAreNamedOnce) {
    Model model;
    ValueId x = model.graph.add_input(one(), "x");
    ops::ToDevice::Params there{parse_device("cpu5")};
    NodeId moved = model.graph.add_node(ops::ToDevice::info, std::make_shared<ops::ToDevice::Params>(there),
                                        {x}, "move");
    model.graph.set_outputs(model.graph.node(moved).outputs);
    std::string bytes = written(model);
    for (size_t at = 0; (at = bytes.find("cpu5", at)) != std::string::npos; at += 4)
        bytes.replace(at, 4, "gpu5");
    ModelHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    header.graph_checksum = checksum(bytes.data() + sizeof header, header.graph_bytes);
    header.header_checksum = checksum(&header, offsetof(ModelHeader, header_checksum));
    std::memcpy(bytes.data(), &header, sizeof header);
    std::string error = test::error_of<Error>([&] { read(bytes); });
    EXPECT_THAT(error, HasSubstr("'test.mge'"));
    EXPECT_EQ(error.find("'test.mge'"), error.rfind("'test.mge'")) << error;
    EXPECT_THAT(error, HasSubstr("node 0 (to_device): "));
}

}  // namespace
}  // namespace mge
