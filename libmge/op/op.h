// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an operator is. An operator is a struct (see ops/shape/concat.h for a small one); OpInfo is its
// type-erased view, all that the rest of the library needs. How a struct becomes an OpInfo: define.h. How it
// is applied: apply.h.

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/base/error.h"
#include "libmge/base/reflect.h"
#include "libmge/op/facts.h"
#include "libmge/op/footprint.h"
#include "libmge/op/physical_form.h"
#include "libmge/tensor/tensor.h"

namespace mge {

enum class InputKind : uint8_t {
    required,
    optional,  // may be absent: a null Tensor
    variadic,  // any number; at most one, and last
    host,      // shape inference needs its value (i32); optional; `resolve` folds it into the parameters
};

struct InputInfo {
    std::string_view name;
    InputKind kind = InputKind::required;
    bool variadic_host = false;  // host values, any number
    bool promoted = true;        // takes part in dtype promotion
    bool is_example = false;     // only its dtype and shape are read
    constexpr InputInfo(const char* n) : name(n) {}
    constexpr InputInfo(std::string_view n, InputKind k, bool many = false, bool promote = true)
        : name(n), kind(k), variadic_host(many), promoted(promote) {}
};
constexpr InputInfo optional(const char* name) { return {name, InputKind::optional}; }
constexpr InputInfo variadic(const char* name) { return {name, InputKind::variadic}; }
constexpr InputInfo host(const char* name) { return {name, InputKind::host, false, false}; }
constexpr InputInfo host_list(const char* name) { return {name, InputKind::host, true, false}; }
// Only its dtype and shape are read.
constexpr InputInfo example(const char* name, InputKind kind = InputKind::required, bool promoted = false) {
    InputInfo info{name, kind, false, promoted};
    info.is_example = true;
    return info;
}
// A mask or an index: keeps its dtype when the others are promoted.
constexpr InputInfo unpromoted(const char* name) { return {name, InputKind::required, false, false}; }

template <class... I>
constexpr auto names(I... inputs) {
    return std::array<InputInfo, sizeof...(I)>{InputInfo(inputs)...};
}
template <class... S>
constexpr auto output_names(S... outputs) {
    return std::array<std::string_view, sizeof...(S)>{outputs...};
}

// What `apply` does to the dtypes of the promoted inputs before the operator sees them.
enum class Promotion : uint8_t {
    none,
    common,    // all to their common dtype (MegEngine's rule, tensor/dtype.h)
    floating,  // the same; then integers to f32
    to_first,  // all to the dtype of the first
};

// Output `output` may take over the memory of input `input` when nobody else reads it.
struct InPlace {
    int output, input;
};
template <class... P>
constexpr auto in_place_list(P... pairs) {
    return std::array<InPlace, sizeof...(P)>{pairs...};
}

struct OpTraits {
    Promotion promotion = Promotion::none;
    bool elementwise = false;    // one output element from the input elements at the same (broadcast) place
    bool view = false;           // the output is input 0's whole memory under another shape
    bool runtime_shape = false;  // only a run can tell the output shapes
    bool variadic_outputs = false;  // the number of outputs depends on the parameters
    bool once = false;              // draws random numbers or updates state: recomputation leaves it alone
    bool reads_only_specs = false;  // the result depends on dtype and shape of the inputs, not on values
    bool reads_selection = false;   // of input 0 it reads no more than comes out
    // Does something beyond its results (fails, prints, talks to others): computed once per run and in order,
    // read or not, and never ahead of a run.
    bool effect = false;
    bool control = false;          // holds graphs (subgraph.h): it may take for ever, so only runs compute it
    bool of_every_device = false;  // has the same kernels on all: what they do, they ask queues for
};

struct OpInfo;
MGE_API size_t index_of_input(const OpInfo& op, std::string_view name);  // InternalError when there is none

// What a gradient rule sees. Tensors may be null: an absent optional input, the gradient of an unused output.
struct GradientArguments {
    const OpInfo& op;
    const void* params;
    std::span<const Tensor> inputs, outputs, output_grads;
    std::span<const bool> needed;  // per input: is its gradient wanted?
};

template <class P>
struct GradientContext : GradientArguments {
    const P& params;
    explicit GradientContext(const GradientArguments& a)
        : GradientArguments(a), params(*static_cast<const P*>(a.params)) {}

    const Tensor& input(std::string_view name) const { return find_input(name); }
    std::span<const Tensor> variadic_inputs() const;
    const Tensor& output(size_t i = 0) const { return outputs[i]; }
    const Tensor& output_grad(size_t i = 0) const { return output_grads[i]; }
    bool needs(std::string_view name) const {
        size_t i = index_of_input(op, name);
        return i < needed.size() && needed[i];
    }
    // The gradients by input name; inputs not mentioned get none, and absent ones want none.
    Tensors result(std::initializer_list<std::pair<std::string_view, Tensor>> grads) const {
        Tensors all(inputs.size());
        for (auto& [name, grad] : grads)
            if (size_t i = index_of_input(op, name); i < all.size()) all[i] = grad;
        return all;
    }

private:
    const Tensor& find_input(std::string_view name) const;
};

// The type of an operator's parameters.
struct ParamsType {
    std::shared_ptr<void> (*make)();  // with default values
    std::shared_ptr<const void> (*copy)(const void*);
    bool (*equal)(const void*, const void*);
    uint64_t (*hash)(const void*);
};

struct OpInfo {
    std::string_view name, doc;
    std::span<const InputInfo> inputs;
    std::span<const std::string_view> outputs;
    FieldList fields;
    ParamsType params;
    OpTraits traits;
    int version = 1;  // of its meaning; stored in model files
    std::span<const InPlace> in_place;
    TensorSpecs (*infer)(const void* params, std::span<const TensorSpec> inputs);
    // Null when gradients stop here.
    Tensors (*gradient)(const GradientArguments&);
    // Null when the outputs lie where the inputs do; else where they lie, for an operator that moves data and
    // runs where its inputs lie.
    DeviceId (*place)(const void* params);
    // Null when the outputs have memory of their own; else where the first lies among input 0's elements, the
    // others right behind it, all dense; or none for an input that they gather from. `traits.view`: 0.
    std::optional<int64_t> (*part_of_input)(const void* params, const TensorSpec& input);
    // Null for operators without host values: parameters with the values of the host inputs (null ones
    // absent) folded in.
    std::shared_ptr<const void> (*resolve)(const void* params, std::span<const Tensor> host_values);
    // Makes of the parameters of an older version of the operator those of this one; null: there was none.
    void (*upgrade)(int from, ParamMap& params);

    // Facts (facts.h); null or the default where the operator does not say.
    std::optional<double> (*operations)(const void* params, std::span<const TensorSpec> inputs,
                                        std::span<const TensorSpec> outputs);
    Footprint (*footprint)(const void* params, std::span<const TensorSpec> inputs,
                           std::span<const TensorSpec> outputs);
    ItemsApartRule items_apart;
    const Epilogue* epilogue;
    const ImageLayouts* layouts;
    // `layout`: that of the inputs that are not plain. Nullopt: there is none for these operands.
    std::optional<PhysicalForm> (*physical_form)(const void* params, const Layout& layout,
                                                 std::span<const TensorSpec> inputs,
                                                 std::span<const TensorSpec> outputs);
    Autocast autocast = Autocast::either;
    DTypes takes = DTypes::common;

    // How many of `count` given inputs stand before the host values.
    inline size_t plain_inputs(size_t count) const;
    // Number of inputs before a variadic one; the smallest number that has to be given.
    size_t fixed_inputs() const {
        bool many =
            !inputs.empty() && (inputs.back().kind == InputKind::variadic || inputs.back().variadic_host);
        return inputs.size() - many;
    }
    bool is_variadic() const { return fixed_inputs() != inputs.size(); }
};

// Where in the memory of input 0 the output lies, in bytes; none when it has memory of its own.
MGE_API std::optional<size_t> view_offset(const OpInfo& op, const void* params, const TensorSpec& input);

MGE_API const InputInfo& input_info(const OpInfo& op,
                                    size_t position);  // the variadic one for all positions behind it

size_t OpInfo::plain_inputs(size_t count) const {
    size_t n = 0;
    while (n < count && input_info(*this, n).kind != InputKind::host) ++n;
    return n;
}

template <class P>
const Tensor& GradientContext<P>::find_input(std::string_view name) const {
    static const Tensor absent;
    size_t i = index_of_input(op, name);
    return i < inputs.size() ? inputs[i] : absent;
}
template <class P>
std::span<const Tensor> GradientContext<P>::variadic_inputs() const {
    return inputs.subspan(op.fixed_inputs());
}

// Where an operator's outputs lie: where its inputs do, host values apart; where its host values do when it
// has no other inputs; `elsewhere` when it has none at all. Absent inputs are null. UserError that names both
// places when inputs that are no host values lie at different ones.
MGE_API DeviceId place_of_outputs(const OpInfo& op, const void* params,
                                  std::span<const DeviceId* const> inputs, DeviceId elsewhere);
MGE_API DeviceId place_of_outputs(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                                  DeviceId elsewhere);
// Where the inputs lie, as above: where the operator runs.
MGE_API DeviceId place_of_inputs(const OpInfo& op, std::span<const Tensor> inputs, DeviceId elsewhere);

// Host values that follow from shapes are known ahead of a run when they are this few; more are data.
inline constexpr int64_t known_value_limit = 1024;

// Stands for a tensor where only dtype and shape are read: it has no memory.
MGE_API Tensor without_memory(const TensorSpec& spec, DeviceId device = host_device);

// Says that an operator does not take a dtype.
class MGE_API DTypeError : public UserError {
public:
    explicit DTypeError(const std::string& message) : UserError(message, ErrorClass::type) {}
};
// DTypeError for a dtype of inputs or outputs that is not among those that the operator takes.
MGE_API void check_dtypes(const OpInfo& op, std::span<const TensorSpec> specs);

// The values of a host tensor (i32 or i64, concrete); an empty list for a null one.
MGE_API IntList host_values(const Tensor& tensor);

// Every operator of this project, sorted by the name of its struct. Defined in ops/all.cpp.
MGE_API std::span<const OpInfo* const> all_ops();
// By name, also among those of libraries (operator_library.h); null when there is none.
MGE_API const OpInfo* find_op(std::string_view name);

}  // namespace mge
