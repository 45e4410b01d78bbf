// SPDX-License-Identifier: Apache-2.0
// Every candidate that fast-run could choose for some typical problems, beside each other: rounds in which
// each runs for a moment, one after the other, so that other work on the machine meets all of them. Prints
// per candidate the median time of a call and the median, over the rounds, of its time over that of the first
// listed, which is what runs without fast-run. Constant weights are packed ahead, caches are warm.
// Usage: benchmark_candidates [THREADS [GROUP...]], groups as in `groups` below; all of them without any.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "libmge/base/threads/threads.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/select.h"
#include "libmge/mge.h"

namespace {

using namespace mge;

constexpr int rounds = 15;
constexpr double burst_us = 1500;
constexpr double hopeless = 8;  // candidates this much slower than the first are left out after one call

double now_us() {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::micro>(now).count();
}
double median(std::vector<double> values) {
    auto middle = values.begin() + long(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// An operator's operands in given layouts, and all its candidates, prepared.
class Contest {
public:
    Contest(const OpInfo& op, const void* params, TensorSpecs inputs, const Layout& output_layout,
            uint32_t constant)
        : inputs_(std::move(inputs)) {
        TensorSpecs plain = inputs_;
        for (auto& spec : plain) spec.layout = {};
        outputs_ = op.infer(params, plain);
        outputs_[0].layout = output_layout;
        for (size_t i = 0; i < inputs_.size(); ++i) {
            in_.push_back(fill(inputs_[i]));
            constants_.push_back(constant >> i & 1 ? in_[i] : nullptr);
        }
        for (auto& spec : outputs_) out_.push_back(fill(spec));
        Problem problem = make_problem(op, params, inputs_, outputs_);
        problem.constant_inputs = constant;
        problem.device = default_device();
        problem.threads = default_threads();
        for (auto& named : list_candidates(find_kernels(op, default_device()), problem))
            if (!named.candidate.attributes.naive)
                members_.push_back(
                    {named, named.algorithm->prepare({problem, named.candidate, constants_}), {}, {}});
        for (auto& member : members_) workspace_ = std::max(workspace_, member.prepared.workspace());
        storage_.push_back(queue_of(default_device()).allocate(workspace_));
        workspace_data_ = storage_.back()->data;
    }

    void report(const std::string& name) {
        if (members_.empty()) return;
        double first = burst(members_.front());
        std::erase_if(members_, [&](Member& m) {
            call(m);
            double begin = now_us();
            call(m);
            return now_us() - begin > hopeless * first;
        });
        for (int round = 0; round < rounds; ++round) {
            for (auto& member : members_) member.times.push_back(burst(member));
            for (auto& member : members_)
                member.ratios.push_back(member.times.back() / members_.front().times.back());
        }
        for (auto& m : members_)
            std::printf("%-44s %10.2f us %6.2f  %s\n", name.c_str(), median(m.times), median(m.ratios),
                        m.named.candidate.name.c_str());
        std::fflush(stdout);
    }

private:
    struct Member {
        NamedCandidate named;
        Prepared prepared;
        std::vector<double> times, ratios;
    };

    void call(const Member& m) {
        m.named.algorithm->run(m.prepared, {in_, out_, workspace_data_, default_threads()});
    }
    double burst(const Member& m) {
        double begin = now_us();
        int calls = 0;
        do {
            call(m);
            ++calls;
        } while (now_us() - begin < burst_us);
        return (now_us() - begin) / calls;
    }
    // 0.25 to 0.75, which no operator here finds special, in any floating dtype.
    void* fill(const TensorSpec& spec) {
        storage_.push_back(queue_of(default_device()).allocate(spec.bytes()));
        void* data = storage_.back()->data;
        size_t n = spec.bytes() / size_of(spec.dtype);
        for (size_t i = 0; i < n; ++i) {
            float value = 0.25F + float(i * 37 % 97) / 194;
            if (spec.dtype == DType::f32) static_cast<float*>(data)[i] = value;
            if (spec.dtype == DType::f16) static_cast<Half*>(data)[i] = Half(value);
            if (spec.dtype == DType::bf16) static_cast<BFloat16*>(data)[i] = BFloat16(value);
        }
        return data;
    }

    TensorSpecs inputs_, outputs_;
    std::vector<StorageRef> storage_;
    std::vector<const void*> in_, constants_;
    std::vector<void*> out_;
    std::vector<Member> members_;
    size_t workspace_ = 0;
    void* workspace_data_ = nullptr;
};

template <class Op>
void contest(const std::string& name, const typename Op::Params& params, TensorSpecs inputs,
             const Layout& output_layout = {}, uint32_t constant = 0) {
    Contest(Op::info, &params, std::move(inputs), output_layout, constant).report(name);
}

const std::vector<std::string> image_layouts{"nchw", "nhwc", "nChw16c"};

const char* blocked_layout() { return cpu_isa() >= Isa::avx512 ? "nChw16c" : "nChw8c"; }

struct ConvolutionLayer {
    int64_t ic, oc, size, kernel, stride;
};
struct ProductExtents {
    int64_t m, n, k;
};

void pooling() {
    for (auto& name : image_layouts) {
        Layout layout = Layout::named(name);
        contest<ops::MaxPool2d>("max 3x3/2 64@112 " + name,
                                {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
                                {{DType::f32, {1, 64, 112, 112}, layout}}, layout);
        contest<ops::MaxPool2d>("max 2x2/2 128@56 " + name, {.kernel = {2, 2}, .stride = {2, 2}},
                                {{DType::f32, {1, 128, 56, 56}, layout}}, layout);
        contest<ops::AvgPool2d>("average 3x3 192@28 " + name, {.kernel = {3, 3}, .padding = {1, 1}},
                                {{DType::f32, {1, 192, 28, 28}, layout}}, layout);
        contest<ops::AdaptiveAvgPool2d>("average whole 2048@7 " + name, {.height = 1, .width = 1},
                                        {{DType::f32, {1, 2048, 7, 7}, layout}}, layout);
        contest<ops::MaxPool2d>("max 3x3/2 64@112 bf16 " + name,
                                {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
                                {{DType::bf16, {1, 64, 112, 112}, layout}}, layout);
    }
    Shape x{8, 64, 56, 56}, y{8, 64, 28, 28};
    contest<ops::AvgPool2dBackward>("average 2x2/2 backward 8x64@56", {.kernel = {2, 2}, .stride = {2, 2}},
                                    {{DType::f32, x, {}}, {DType::f32, y, {}}});
}

void normalisation() {
    TensorSpec factor{DType::f32, {64}, {}};
    for (bool training : {true, false})
        for (auto& name : image_layouts)
            for (int64_t images : {1, 8}) {
                Layout layout = Layout::named(name);
                TensorSpec x{DType::f32, {images, 64, 56, 56}, layout};
                contest<ops::BatchNorm>(
                    text("batch norm ", training ? "training " : "inference ", images, "x64@56 ", name),
                    {.training = training}, {x, factor, factor, factor, factor}, layout);
            }
    TensorSpec small{DType::f32, {32, 64, 7, 7}, {}};
    contest<ops::BatchNorm>("batch norm training 32x64@7 nchw", {}, {small, factor, factor, factor, factor});
    for (Shape shape : {Shape{128, 768}, Shape{8, 64}, Shape{4096, 1024}}) {
        TensorSpec row{DType::f32, {shape[1]}, {}};
        contest<ops::LayerNorm>(text("layer norm ", shape), {}, {{DType::f32, shape, {}}, row, row});
    }
    contest<ops::Softmax>("softmax 1536x128", {}, {{DType::f32, {1536, 128}, {}}});
    contest<ops::Softmax>("softmax 1x1000", {}, {{DType::f32, {1, 1000}, {}}});
}

void half_convolution() {
    for (DType dtype : {DType::bf16, DType::f16, DType::f32})
        for (auto& name : image_layouts) {
            Layout layout = Layout::named(name);
            auto run = [&](const char* what, const Shape& x, const Shape& weight,
                           const ops::Conv2d::Params& params) {
                contest<ops::Conv2d>(text(what, ' ', dtype, ' ', name), params,
                                     {{dtype, x, layout}, {dtype, weight, {}}}, layout, 2);
            };
            run("conv 3x3 64@56", {1, 64, 56, 56}, {64, 64, 3, 3}, {.padding = {1, 1}});
            run("conv 1x1 256@14 to 1024", {1, 256, 14, 14}, {1024, 256, 1, 1}, {});
            run("conv 3x3 depthwise 96@56", {1, 96, 56, 56}, {96, 1, 1, 3, 3},
                {.padding = {1, 1}, .groups = 96});
        }
}

// The 3x3 layers of ResNets, VGG16 and a U-Net.
constexpr ConvolutionLayer square_layers[] = {
    {64, 64, 56, 3, 1},   {128, 128, 28, 3, 1}, {256, 256, 14, 3, 1},  {512, 512, 7, 3, 1},
    {32, 32, 256, 3, 1},  {64, 64, 224, 3, 1},  {128, 128, 112, 3, 1}, {128, 256, 56, 3, 1},
    {256, 256, 56, 3, 1}, {256, 512, 28, 3, 1}, {512, 512, 28, 3, 1},  {512, 512, 14, 3, 1}};

void square_convolution() {
    for (auto name : {blocked_layout(), "nhwc"})
        for (auto& [ic, oc, size, kernel, stride] : square_layers) {
            Layout layout = Layout::named(name);
            contest<ops::Conv2d>(
                text("conv 3x3 ", ic, " to ", oc, '@', size, ' ', name),
                {.padding = {1, 1}, .activation = Activation::relu},
                {{DType::f32, {1, ic, size, size}, layout}, {DType::f32, {oc, ic, kernel, kernel}, {}}},
                layout, 2);
        }
}

// Layers of ResNet-50 that Winograd does not compute.
constexpr ConvolutionLayer residual_layers[] = {
    {64, 64, 56, 1, 1},     {64, 256, 56, 1, 1},   {256, 64, 56, 1, 1},   {256, 128, 56, 1, 1},
    {128, 128, 56, 3, 2},   {256, 512, 56, 1, 2},  {128, 512, 28, 1, 1},  {512, 128, 28, 1, 1},
    {256, 256, 28, 3, 2},   {256, 1024, 14, 1, 1}, {1024, 256, 14, 1, 1}, {512, 512, 14, 3, 2},
    {1024, 2048, 14, 1, 2}, {512, 2048, 7, 1, 1},  {2048, 512, 7, 1, 1}};

void residual_convolution() {
    for (auto& [ic, oc, size, kernel, stride] : residual_layers) {
        const Layout layout = Layout::named(blocked_layout());
        const int64_t padding = kernel / 2;
        contest<ops::Conv2d>(
            text("conv ", kernel, 'x', kernel, '/', stride, ' ', ic, " to ", oc, '@', size),
            {.stride = {stride, stride}, .padding = {padding, padding}, .activation = Activation::relu},
            {{DType::f32, {1, ic, size, size}, layout},
             {DType::f32, {oc, ic, kernel, kernel}, {}},
             {DType::f32, {1, oc, 1, 1}, {}}},
            layout, 6);
    }
}

void half_matmul() {
    for (DType dtype : {DType::bf16, DType::f16, DType::f32}) {
        auto run = [&](int64_t m, int64_t n, int64_t k, Activation activation) {
            contest<ops::Matmul>(
                text("matmul ", m, 'x', n, 'x', k, activation == Activation::gelu ? " gelu " : " ", dtype),
                {.transpose_b = true, .activation = activation},
                {{dtype, {m, k}, {}}, {dtype, {n, k}, {}}, {dtype, {n}, {}}}, {}, 6);
        };
        run(128, 768, 768, Activation::none);
        run(128, 3072, 768, Activation::gelu);
        run(1, 1000, 2048, Activation::none);
    }
}

// Linear layers of f32, with few rows and with long sums.
constexpr ProductExtents linear_layers[] = {
    {16, 768, 768},   {32, 768, 768},   {48, 768, 768},   {64, 768, 768},   {96, 768, 768},  {128, 768, 768},
    {128, 3072, 768}, {128, 768, 3072}, {197, 3072, 768}, {197, 768, 3072}, {49, 2048, 512}, {196, 256, 1024},
    {3136, 64, 64},   {3136, 256, 64},  {128, 64, 64},    {512, 32, 512}};

void linear_matmul() {
    for (auto& [m, n, k] : linear_layers)
        contest<ops::Matmul>(text("linear ", m, 'x', n, 'x', k), {},
                             {{DType::f32, {m, k}, {}}, {DType::f32, {k, n}, {}}, {DType::f32, {n}, {}}}, {},
                             6);
}

// Gradients of the weights of a Transformer and of a perceptron.
constexpr ProductExtents weight_gradients[] = {{1024, 256, 1024}, {256, 1024, 1024}, {256, 256, 1024},
                                               {1000, 256, 1024}, {768, 768, 1024},  {3072, 768, 1024},
                                               {512, 784, 64},    {64, 64, 256},     {128, 128, 256}};

void weight_matmul() {
    for (auto& [m, n, k] : weight_gradients)
        contest<ops::Matmul>(text("matmul of columns ", m, 'x', n, 'x', k), {.transpose_a = true},
                             {{DType::f32, {k, m}, {}}, {DType::f32, {k, n}, {}}});
}

// Training of a small network, where a second thread does not pay.
void small_backward() {
    struct Layer {
        Shape x, weight;
    };
    for (auto& [x, weight] : {Layer{{1, 6, 12, 12}, {16, 6, 5, 5}}, Layer{{8, 8, 8, 8}, {16, 8, 3, 3}},
                              Layer{{16, 8, 8, 8}, {16, 8, 3, 3}}, Layer{{16, 16, 14, 14}, {16, 16, 3, 3}},
                              Layer{{64, 1, 32, 32}, {6, 1, 5, 5}}, Layer{{64, 6, 14, 14}, {16, 6, 5, 5}},
                              Layer{{32, 32, 10, 10}, {32, 32, 3, 3}}, Layer{{32, 3, 34, 34}, {16, 3, 3, 3}}})
        for (auto name : {"nchw", "nhwc"}) {
            const Layout layout = Layout::named(name);
            int64_t k = weight[2];
            TensorSpec dy{DType::f32, {x[0], weight[0], x[2] - k + 1, x[3] - k + 1}, layout};
            TensorSpec images{DType::f32, x, layout}, filters{DType::f32, weight, {}};
            contest<ops::Conv2dBackwardData>(text("conv backward data ", name, ' ', x, weight), {},
                                             {filters, dy, images}, layout);
            contest<ops::Conv2dBackwardWeight>(text("conv backward weight ", name, ' ', x, weight), {},
                                               {images, dy, filters});
        }
}

// A sentence, and few words that see those before them.
void attention() {
    for (auto [queries, keys] :
         {std::pair<int64_t, int64_t>{128, 128}, {1, 256}, {1, 1024}, {4, 1024}, {8, 1024}, {16, 1024}})
        contest<ops::Attention>(text("attention 12x64, ", queries, " of ", keys), {},
                                {{DType::f32, {1, 12, queries, 64}, {}},
                                 {DType::f32, {1, 12, keys, 64}, {}},
                                 {DType::f32, {1, 12, keys, 64}, {}}});
}

// The convolutions of a ResNet-18 for images of 32x32 pixels in training, 32 images at once.
constexpr ConvolutionLayer training_layers[] = {{64, 64, 32, 3, 1},   {128, 128, 16, 3, 1},
                                                {256, 256, 8, 3, 1},  {512, 512, 4, 3, 1},
                                                {128, 256, 16, 3, 2}, {128, 256, 16, 1, 2}};

void training_convolution() {
    for (auto name : {"nhwc", "nchw"})
        for (auto& [ic, oc, size, window, stride] : training_layers) {
            const Layout layout = Layout::named(name);
            const ops::Pair step{stride, stride}, padding{window / 2, window / 2};
            const int64_t out = size / stride;
            const TensorSpec x{DType::bf16, {32, ic, size, size}, layout};
            const TensorSpec y{DType::bf16, {32, oc, out, out}, layout};
            const TensorSpec weight{DType::bf16, {oc, ic, window, window}, {}};
            const TensorSpec like{DType::bf16, x.shape, {}};
            const auto layer =
                text(window, 'x', window, '/', stride, ' ', ic, " to ", oc, '@', size, ' ', name);
            contest<ops::Conv2d>("conv " + layer, {.stride = step, .padding = padding}, {x, weight}, layout);
            contest<ops::Conv2dBackwardData>("dx " + layer, {.stride = step, .padding = padding},
                                             {weight, y, like}, layout);
            contest<ops::Conv2dBackwardWeight>("dw " + layer, {.stride = step, .padding = padding},
                                               {x, y, weight});
        }
}

struct Group {
    const char* name;
    void (*run)();
};
constexpr Group groups[] = {{"pool", pooling},
                            {"norm", normalisation},
                            {"conv", half_convolution},
                            {"square", square_convolution},
                            {"residual", residual_convolution},
                            {"matmul", half_matmul},
                            {"linear", linear_matmul},
                            {"weight", weight_matmul},
                            {"backward", small_backward},
                            {"training", training_convolution},
                            {"attention", attention}};

}  // namespace

int main(int argc, char** argv) {
    set_default_threads(argc > 1 ? std::stoi(argv[1]) : 1);
    std::printf("threads %d, isa %s\n", default_threads(), std::string(name_of(cpu_isa())).c_str());
    std::vector<std::string> wanted(argv + std::min(argc, 2), argv + argc);
    for (auto& group : groups)
        if (wanted.empty() || std::find(wanted.begin(), wanted.end(), group.name) != wanted.end())
            group.run();
    return 0;
}
