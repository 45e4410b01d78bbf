// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/kernel_text.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "libmge/base/error.h"
#include "libmge/base/text.h"
#include "libmge/kernel/prepare_together.h"

namespace mge::cuda {
namespace {

// Code compiled, or to be compiled, for one architecture.
struct Unit {
    KernelText text;
    std::string architecture;
    std::vector<std::unique_ptr<const CompiledKernel>> kernels;  // as in the text
    std::atomic<bool> is_compiled{false};                        // then it no longer changes
};

struct Units {
    std::mutex finding, compiling;
    std::map<std::pair<std::string, KernelText>, std::shared_ptr<Unit>> all;
};

// Never destroyed, because loaded code is never unloaded.
Units& units() {
    static Units& one = *std::make_unique<Units>().release();
    return one;
}

std::shared_ptr<Unit> find_unit(KernelText text, std::string architecture) {
    auto& known = units();
    std::lock_guard lock(known.finding);
    auto& unit = known.all[{architecture, text}];
    if (!unit) {
        unit = std::make_shared<Unit>();
        unit->text = std::move(text);
        unit->architecture = std::move(architecture);
    }
    return unit;
}

std::string numbered(const std::string& name, size_t number) { return text(name, '_', number); }

void load_together(std::span<Unit* const> wanted) {
    std::vector<KernelText> texts;
    for (auto* unit : wanted) texts.push_back(unit->text);
    auto loaded = load_text(joined_text(texts), wanted[0]->architecture);
    for (size_t i = 0; i < wanted.size(); ++i) {
        for (auto& kernel : wanted[i]->text.kernels)
            wanted[i]->kernels.push_back(loaded->kernel(numbered(kernel.name, i)));
        wanted[i]->is_compiled.store(true, std::memory_order_release);
    }
}

// Compiles units that are not compiled yet, each once, in one source per architecture.
void compile_units(std::span<const PrepareTogether::Part> parts) {
    std::lock_guard lock(units().compiling);
    std::map<std::string, std::vector<Unit*>> wanted;
    for (auto& part : parts) {
        auto* unit = static_cast<Unit*>(part.get());
        auto& same = wanted[unit->architecture];
        if (!unit->is_compiled && std::ranges::find(same, unit) == same.end()) same.push_back(unit);
    }
    for (auto& [architecture, same] : wanted)
        if (!same.empty()) load_together(same);
}

class KernelOfUnit final : public CompiledKernel {
public:
    KernelOfUnit(std::shared_ptr<Unit> unit, size_t number) : unit_(std::move(unit)), number_(number) {}

    void launch(Stream stream, unsigned grid, unsigned block, const void* argument) const override {
        if (!unit_->is_compiled.load(std::memory_order_acquire)) [[unlikely]]
            compile_units(std::array{PrepareTogether::Part(unit_)});
        unit_->kernels[number_]->launch(stream, grid, block, argument);
    }

private:
    const std::shared_ptr<Unit> unit_;
    const size_t number_;
};

}  // namespace

std::string joined_text(std::span<const KernelText> texts) {
    // A header that includes others is longer and comes first.
    std::set<std::string, std::greater<>> headers;
    for (auto& each : texts) headers.insert(each.header);
    std::string joined;
    for (auto& header : headers) joined += text("#include \"", header, "\"\n");
    for (size_t i = 0; i < texts.size(); ++i) {
        joined += text("namespace text_", i, " {\nusing namespace mge::cuda;\n", texts[i].definitions);
        for (auto& kernel : texts[i].kernels)
            joined += text("extern \"C\" __global__ void ", numbered(kernel.name, i), '(', kernel.argument,
                           " x) { ", kernel.body, " }\n");
        joined += "}\n";
    }
    return joined;
}

std::shared_ptr<const CompiledKernel> compile_kernel(KernelText text, const std::string& name,
                                                     int compute_capability, PrepareTogether* together) {
    auto unit = find_unit(std::move(text), mge::text("sm_", compute_capability));
    auto& kernels = unit->text.kernels;
    auto found = std::ranges::find(kernels, name, &KernelText::Kernel::name);
    MGE_CHECK(found != kernels.end(), "no kernel ", name);
    if (together) together->leave(compile_units, unit);
    return std::make_shared<KernelOfUnit>(unit, size_t(found - kernels.begin()));
}

}  // namespace mge::cuda
