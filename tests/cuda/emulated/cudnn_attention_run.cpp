// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulated/cudnn_attention_run.h"

#include <cmath>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include "tests/cuda/emulated/cudnn_image.h"

namespace mge::cuda::emulated {
namespace {

bool is_value(const Descriptor& tensor) {
    return tensor.has(CUDNN_ATTR_TENSOR_IS_BY_VALUE) && tensor.value<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
}
cudnnPointwiseMode_t mode_of(const Descriptor& pointwise) {
    return pointwise.other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
        .value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
}
cudnnReduceTensorOp_t mode_of_reduction(const Descriptor& reduction) {
    return reduction.other(CUDNN_ATTR_OPERATION_REDUCTION_DESC)
        .value<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
}

// A letter for each operation; '?': none that attention has.
char letter_of(const Descriptor& operation) {
    switch (operation.type) {
        case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
            return 'M';
        case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
            return 'r';
        case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
            return mode_of_reduction(operation) == CUDNN_REDUCE_TENSOR_MAX ? 'X' : 'S';
        case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
            break;
        default:
            return '?';
    }
    static const std::map<cudnnPointwiseMode_t, char> letters{
        {CUDNN_POINTWISE_ADD, '+'},          {CUDNN_POINTWISE_SUB, '-'},    {CUDNN_POINTWISE_MUL, '*'},
        {CUDNN_POINTWISE_DIV, '/'},          {CUDNN_POINTWISE_EXP, 'e'},    {CUDNN_POINTWISE_LOG, 'l'},
        {CUDNN_POINTWISE_IDENTITY, 'i'},     {CUDNN_POINTWISE_CMP_GE, 'g'}, {CUDNN_POINTWISE_GEN_INDEX, 'n'},
        {CUDNN_POINTWISE_BINARY_SELECT, 's'}};
    auto found = letters.find(mode_of(operation));
    return found == letters.end() ? '?' : found->second;
}

using Tensors = std::vector<const Descriptor*>;
struct Operands {
    Tensors read;
    const Descriptor* written;
};
Operands operands_of(const Descriptor& op) {
    switch (op.type) {
        case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
            return {
                {&op.other(CUDNN_ATTR_OPERATION_MATMUL_ADESC), &op.other(CUDNN_ATTR_OPERATION_MATMUL_BDESC)},
                &op.other(CUDNN_ATTR_OPERATION_MATMUL_CDESC)};
        case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
            return {{&op.other(CUDNN_ATTR_OPERATION_REDUCTION_XDESC)},
                    &op.other(CUDNN_ATTR_OPERATION_REDUCTION_YDESC)};
        case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
            return {{&op.other(CUDNN_ATTR_OPERATION_RESHAPE_XDESC)},
                    &op.other(CUDNN_ATTR_OPERATION_RESHAPE_YDESC)};
        default:
            break;
    }
    Operands x{{&op.other(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)},
               &op.other(CUDNN_ATTR_OPERATION_POINTWISE_YDESC)};
    for (auto name : {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_ATTR_OPERATION_POINTWISE_TDESC})
        if (op.has(name)) x.read.push_back(&op.other(name));
    return x;
}

Four dims_of(const Descriptor& tensor) { return four(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS); }

bool divides(const Four& small, const Four& large) {
    for (size_t i = 0; i < 4; ++i)
        if (large[i] % small[i]) return false;
    return true;
}
int64_t count(const Four& dims) { return dims[0] * dims[1] * dims[2] * dims[3]; }

// Whether the dims of an operation belong together.
bool agrees(const Descriptor& op) {
    auto x = operands_of(op);
    Four to = dims_of(*x.written), from = dims_of(*x.read[0]);
    switch (op.type) {
        case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: {
            Four b = dims_of(*x.read[1]);
            return from[3] == b[2] && to == Four{from[0], from[1], from[2], b[3]} && b[0] == from[0] &&
                   from[1] % b[1] == 0 && type_of(*x.read[1]) != CUDNN_DATA_FLOAT;
        }
        case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
            return divides(to, from);
        case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
            return count(to) == count(from);
        default:
            break;
    }
    for (auto* operand : x.read)
        for (size_t i = 0; i < 4; ++i)
            if (dims_of(*operand)[i] != 1 && dims_of(*operand)[i] != to[i]) return false;
    return true;
}

// A tensor and, of what is not stored, its memory.
struct Held {
    Image image;
    std::shared_ptr<std::vector<char>> memory;
};

class Run {
public:
    Run(const std::map<int64_t, void*>& addresses, const Numbers& values)
        : addresses_(addresses), values_(values) {}

    void apply(const Descriptor& op) {
        auto x = operands_of(op);
        std::vector<Image> from;
        for (auto* operand : x.read) from.push_back(image(*operand));
        Image to = image(*x.written);
        switch (op.type) {
            case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
                return multiply(from[0], from[1], to);
            case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
                return reduce(mode_of_reduction(op) == CUDNN_REDUCE_TENSOR_MAX, from[0], to);
            case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
                return reshape(from[0], to);
            default:
                break;
        }
        auto mode = mode_of(op);
        size_t axis = 0;
        if (mode == CUDNN_POINTWISE_GEN_INDEX)
            axis = size_t(op.other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
                              .value<int64_t>(CUDNN_ATTR_POINTWISE_AXIS));
        for_each(to.dims, [&](const Four& i) {
            float b = from.size() > 1 ? from[1].get(i) : 0, t = from.size() > 2 ? from[2].get(i) : 0;
            to.put(i,
                   mode == CUDNN_POINTWISE_GEN_INDEX ? double(i[axis]) : point(mode, from[0].get(i), b, t));
        });
    }

private:
    static float point(cudnnPointwiseMode_t mode, float x, float b, float t) {
        switch (mode) {
            case CUDNN_POINTWISE_ADD:
                return x + b;
            case CUDNN_POINTWISE_SUB:
                return x - b;
            case CUDNN_POINTWISE_MUL:
                return x * b;
            case CUDNN_POINTWISE_DIV:
                return x / b;
            case CUDNN_POINTWISE_EXP:
                return std::exp(x);
            case CUDNN_POINTWISE_LOG:
                return std::log(x);
            case CUDNN_POINTWISE_CMP_GE:
                return x >= b;
            case CUDNN_POINTWISE_BINARY_SELECT:
                return t != 0 ? x : b;
            default:
                return x;
        }
    }

    static void multiply(const Image& a, const Image& b, const Image& to) {
        int64_t shared = a.dims[1] / b.dims[1];
        for_each(to.dims, [&](const Four& i) {
            double sum = 0;
            for (int64_t k = 0; k < a.dims[3]; ++k)
                sum += double(a.get({i[0], i[1], i[2], k})) * double(b.get({i[0], i[1] / shared, k, i[3]}));
            to.put(i, sum);
        });
    }

    static void reduce(bool is_most, const Image& x, const Image& to) {
        Four group{};
        for (size_t i = 0; i < 4; ++i) group[i] = x.dims[i] / to.dims[i];
        for_each(to.dims, [&](const Four& at) {
            double result = is_most ? -HUGE_VAL : 0;
            for_each(group, [&](const Four& i) {
                double value = x.get({at[0] * group[0] + i[0], at[1] * group[1] + i[1],
                                      at[2] * group[2] + i[2], at[3] * group[3] + i[3]});
                bool takes = !(value <= result);
                result = !is_most ? result + value : takes ? value : result;
            });
            to.put(at, result);
        });
    }

    // Element by element in memory order: the matrices of both are each other's transposes.
    static void reshape(const Image& x, const Image& to) {
        bool is_transposed = to.dims[2] == x.dims[3] && to.dims[3] == x.dims[2];
        for_each(to.dims, [&](const Four& i) {
            to.put(i, double(x.get(is_transposed ? Four{i[0], i[1], i[3], i[2]} : i)));
        });
    }

    Image image(const Descriptor& tensor) {
        int64_t id = id_of(tensor);
        auto& held = held_[id];
        if (held.memory) return held.image = image_of(tensor, held.memory->data());
        if (is_value(tensor) || is_virtual(tensor)) {
            Four dims = dims_of(tensor), strides = four(tensor, CUDNN_ATTR_TENSOR_STRIDES);
            int64_t last = 0;
            for (size_t i = 0; i < 4; ++i) last += (dims[i] - 1) * strides[i];
            held.memory = std::make_shared<std::vector<char>>(size_t(last + 1) * sizeof(float));
            held.image = image_of(tensor, held.memory->data());
            if (is_value(tensor)) held.image.put({}, values_.at(id));
            return held.image;
        }
        return image_of(tensor, addresses_.at(id));
    }

    const std::map<int64_t, void*>& addresses_;
    const Numbers& values_;
    std::map<int64_t, Held> held_;
};

}  // namespace

std::optional<AttentionPattern> attention_of(const Descriptor& graph) {
    static const std::regex forward(R"(M\*(nn(\+-)?gs)?X-eSl\+/M)"),
        backward(R"(\*S\*M\*-(nn(\+-)?gs)?erMS?M-\*\*rMS?rMi)");
    AttentionPattern p;
    std::string letters;
    std::set<int64_t> known;
    auto note = [&](Tensors& list, const Descriptor* tensor) {
        if (known.insert(id_of(*tensor)).second) list.push_back(tensor);
    };
    for (auto& op : graph.others(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
        letters += letter_of(*op);
        if (letters.back() == '?' || !agrees(*op)) return std::nullopt;
        p.operations.push_back(op.get());
        auto x = operands_of(*op);
        for (auto* tensor : x.read) {
            // A tensor that is not stored must be the result of an earlier operation.
            if (is_virtual(*tensor) && !known.contains(id_of(*tensor))) return std::nullopt;
            note(is_value(*tensor) ? p.values : p.read, tensor);
        }
        if (is_value(*x.written)) return std::nullopt;
        if (is_virtual(*x.written))
            known.insert(id_of(*x.written));
        else
            note(p.written, x.written);
    }
    p.is_backward = std::regex_match(letters, backward);
    if (!p.is_backward && !std::regex_match(letters, forward)) return std::nullopt;
    for (auto* op : p.operations) {
        if (op->type != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) continue;
        auto type = type_of(op->other(CUDNN_ATTR_OPERATION_MATMUL_BDESC));
        if (type != CUDNN_DATA_HALF && type != CUDNN_DATA_BFLOAT16) return std::nullopt;
    }
    for (auto* tensor : p.read)
        if (type_of(*tensor) != CUDNN_DATA_FLOAT) {
            Four dims = dims_of(*tensor), strides = four(*tensor, CUDNN_ATTR_TENSOR_STRIDES);
            if (dims[strides[3] == 1 ? 3 : 2] % 8) return std::nullopt;
        }
    return p;
}

Numbers read_values(const AttentionPattern& pattern, const std::map<int64_t, void*>& addresses) {
    Numbers values;
    for (auto* tensor : pattern.values) {
        void* at = addresses.at(id_of(*tensor));
        values[id_of(*tensor)] = type_of(*tensor) == CUDNN_DATA_INT32 ? double(*static_cast<int32_t*>(at))
                                                                      : double(*static_cast<float*>(at));
    }
    return values;
}

void run_attention(const AttentionPattern& pattern, const std::map<int64_t, void*>& addresses,
                   const Numbers& values) {
    Run run(addresses, values);
    for (auto* op : pattern.operations) run.apply(*op);
}

}  // namespace mge::cuda::emulated
