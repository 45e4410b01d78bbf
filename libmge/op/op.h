// SPDX-License-Identifier: Apache-2.0
#pragma once
// Definition of operators. An operator is a struct (ops/shape/concat.h is a small example). OpInfo is its
// type-erased view, which the rest of the library uses. define.h makes an OpInfo from a struct, and apply.h
// applies it.

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
    optional,  // may be a null Tensor
    variadic,  // any number; at most one such input, in last position
    host,      // i32 value needed by shape inference; optional; folded into the parameters by `resolve`
};

struct InputInfo {
    std::string_view name;
    InputKind kind = InputKind::required;
    bool variadic_host = false;  // any number of host values
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
// A mask or an index: keeps its dtype during promotion.
constexpr InputInfo unpromoted(const char* name) { return {name, InputKind::required, false, false}; }

template <class... I>
constexpr auto names(I... inputs) {
    return std::array<InputInfo, sizeof...(I)>{InputInfo(inputs)...};
}
template <class... S>
constexpr auto output_names(S... outputs) {
    return std::array<std::string_view, sizeof...(S)>{outputs...};
}
// The outputs of an operator that does not name them.
inline constexpr auto one_output = output_names("y");

// The conversion that `apply` does on the promoted inputs.
enum class Promotion : uint8_t {
    none,
    common,    // to their common dtype (MegEngine's rule, tensor/dtype.h)
    floating,  // to their common dtype; integers to f32
    to_first,  // to the dtype of the first
};

// Output `output` may reuse the memory of input `input` if it has no other readers.
struct InPlace {
    int output, input;
};
template <class... P>
constexpr auto in_place_list(P... pairs) {
    return std::array<InPlace, sizeof...(P)>{pairs...};
}

struct OpTraits {
    Promotion promotion = Promotion::none;
    bool elementwise = false;  // an output element depends on input elements at the same (broadcast) position
    bool view = false;         // the output is the whole memory of input 0 in another shape
    bool runtime_shape = false;     // output shapes are known only at run time
    bool variadic_outputs = false;  // the number of outputs depends on the parameters
    bool once = false;              // draws random numbers or updates state: not recomputed
    bool reads_only_specs = false;  // the result depends only on dtype and shape of the inputs
    bool reads_selection = false;   // reads no more of input 0 than it returns
    // Has side effects (fails, prints, communicates): runs once per run, in order, even if unused, and never
    // before a run.
    bool effect = false;
    bool control =
        false;  // holds graphs (subgraph.h): may not terminate, so it is never computed before a run
    bool of_every_device = false;  // kernels are the same for all devices and work through queues
};

struct OpInfo;
MGE_API size_t index_of_input(const OpInfo& op,
                              std::string_view name);  // throws InternalError if there is none

// The arguments of a gradient rule. Tensors are null for absent optional inputs and for gradients of unused
// outputs.
struct GradientArguments {
    const OpInfo& op;
    const void* params;
    std::span<const Tensor> inputs, outputs, output_grads;
    std::span<const bool> needed;  // per input: its gradient is needed
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
    // Returns gradients by input name, null for inputs not mentioned. Absent inputs are skipped.
    Tensors result(std::initializer_list<std::pair<std::string_view, Tensor>> grads) const {
        Tensors all(inputs.size());
        for (auto& [name, grad] : grads)
            if (size_t i = index_of_input(op, name); i < all.size()) all[i] = grad;
        return all;
    }

private:
    const Tensor& find_input(std::string_view name) const;
};

// Type-erased operations on an operator's parameters.
struct ParamsType {
    std::shared_ptr<void> (*make)();  // with default values
    std::shared_ptr<const void> (*copy)(const void*);
    bool (*equal)(const void*, const void*);
    uint64_t (*hash)(const void*);
};

struct OpInfo {
    std::string_view name, doc;
    std::span<const InputInfo> inputs;
    std::span<const std::string_view> outputs = one_output;
    FieldList fields;
    ParamsType params;
    OpTraits traits;
    int version = 1;  // incremented when the meaning changes; stored in model files
    std::span<const InPlace> in_place;
    TensorSpecs (*infer)(const void* params, Specs inputs);
    // nullptr: gradients stop here
    Tensors (*gradient)(const GradientArguments&);
    // For data movement operators: the device of the outputs; the operator runs on that of its inputs.
    // nullptr: both are equal.
    DeviceId (*place)(const void* params);
    // The offset of the first output in input 0, in elements; further outputs follow, all dense. Returns
    // nullopt if this input must be gathered. nullptr: the outputs have their own memory. `traits.view`
    // implies 0.
    std::optional<int64_t> (*part_of_input)(const void* params, const TensorSpec& input);
    // Folds the values of host inputs (null: absent) into a copy of the parameters. nullptr: no host inputs.
    std::shared_ptr<const void> (*resolve)(const void* params, std::span<const Tensor> host_values);
    // Converts parameters of an older version of the operator. nullptr: there is no older version.
    void (*upgrade)(int from, ParamMap& params);

    // Facts (facts.h): nullptr or the default if the operator does not define them.
    std::optional<double> (*operations)(const void* params, Specs inputs, Specs outputs);
    Footprint (*footprint)(const void* params, Specs inputs, Specs outputs);
    BatchIndependenceRule batch_independence;
    const Epilogue* epilogue;
    const ImageLayouts* layouts;
    // `layout` is that of the inputs that are not plain. Returns nullopt if these operands have no physical
    // form.
    std::optional<PhysicalForm> (*physical_form)(const void* params, const Layout& layout, Specs inputs,
                                                 Specs outputs);
    Autocast autocast = Autocast::either;
    DTypes takes = DTypes::common;
    // The shapes of outputs with `count` items of input 0, for operators with `traits.runtime_shape`. Empty
    // if x is not valid.
    std::vector<Shape> (*shapes_of_items)(const Shape& x, const Extent& count);

    // The number of inputs before the host values, out of `count` given ones.
    inline size_t plain_inputs(size_t count) const;
    // The number of inputs before a variadic one, which is the minimum number of inputs.
    size_t fixed_inputs() const {
        bool many =
            !inputs.empty() && (inputs.back().kind == InputKind::variadic || inputs.back().variadic_host);
        return inputs.size() - many;
    }
    bool is_variadic() const { return fixed_inputs() != inputs.size(); }
};

// Returns the offset of the output in the memory of input 0, in bytes; nullopt if it has its own memory.
MGE_API std::optional<size_t> view_offset(const OpInfo& op, const void* params, const TensorSpec& input);

MGE_API const InputInfo& input_info(const OpInfo& op,
                                    size_t position);  // also returns the variadic one for later positions

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

// Returns the device of an operator's outputs: that of its inputs except host values, else that of its host
// values, else `elsewhere`. Absent inputs are null. Throws UserError that names both devices if inputs other
// than host values are on different ones.
MGE_API DeviceId place_of_outputs(const OpInfo& op, const void* params,
                                  std::span<const DeviceId* const> inputs, DeviceId elsewhere);
MGE_API DeviceId place_of_outputs(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                                  DeviceId elsewhere);
// Returns the device of the inputs by the same rules, where the operator runs.
MGE_API DeviceId place_of_inputs(const OpInfo& op, std::span<const Tensor> inputs, DeviceId elsewhere);

// Host values up to this size that follow from shapes are known before a run; larger ones are data.
inline constexpr int64_t known_value_limit = 1024;

// Returns a tensor without memory, for uses that read only dtype and shape.
MGE_API Tensor without_memory(const TensorSpec& spec, DeviceId device = host_device);

// An operator does not accept a dtype.
class MGE_API DTypeError : public UserError {
public:
    explicit DTypeError(const std::string& message) : UserError(message, ErrorClass::type) {}
};
// Throws DTypeError if the operator does not accept the dtype of an input or output.
MGE_API void check_dtypes(const OpInfo& op, Specs specs);

// Returns the values of a concrete host tensor (i32 or i64); empty for a null one.
MGE_API IntList host_values(const Tensor& tensor);

// All operators of this project, sorted by struct name. Defined in ops/all.cpp.
MGE_API std::span<const OpInfo* const> all_ops();
// Finds an operator by name, also in loaded libraries (operator_library.h). Returns nullptr for an unknown
// name.
MGE_API const OpInfo* find_op(std::string_view name);

}  // namespace mge
