// SPDX-License-Identifier: Apache-2.0
// The submodule `ops`: one Python function per operator, generated from its definition, also for operators of
// loaded libraries.

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

#include "libmge/base/files/cache_folder.h"
#include "libmge/base/files/plugin.h"
#include "libmge/base/joined.h"
#include "libmge/base/number_text.h"
#include "libmge/op/operator_library.h"
#include "python/src/call_op.h"
#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/graph_binding.h"
#include "python/src/meaning.h"
#include "python/src/object_access.h"
#include "python/src/reference.h"
#include "python/src/tensor/conversion.h"

namespace nb = nanobind;

namespace mge::python {
namespace {

std::string python_text(const ParamValue& value) {
    if (auto* b = std::get_if<bool>(&value)) return *b ? "True" : "False";
    if (auto* s = std::get_if<std::string>(&value)) return '\'' + *s + '\'';
    if (auto* d = std::get_if<double>(&value); d && std::isinf(*d))
        return *d > 0 ? "1e999" : "-1e999";  // a literal, as inspect.signature requires
    std::string shown = to_text(value);
    // Distinguishes a float from an int.
    if (std::holds_alternative<double>(value) && shown.find_first_of(".en") == std::string::npos)
        shown += ".0";
    return shown;
}

// Returns "add(a, b, /)\n--\n\n…". inspect.signature parses the first lines.
std::string make_doc(const OpInfo& op) {
    std::string doc(op.name);
    doc += '(';
    std::string separator;
    for (auto& input : op.inputs) {
        bool many = input.kind == InputKind::variadic || input.variadic_host;
        doc += separator + (many ? "*" : "") + std::string(input.name);
        // Python requires a default for every argument after the first one with a default.
        bool may_be_left_out = std::all_of(&input, op.inputs.data() + op.inputs.size(),
                                           [](auto& later) { return later.kind != InputKind::required; });
        if (!many && may_be_left_out) doc += "=None";
        separator = ", ";
    }
    if (!op.fields.empty() && !op.is_variadic()) doc += separator + "*", separator = ", ";
    auto defaults = op.params.make();
    for (auto& field : op.fields) {
        doc += text(separator, field.name, '=', python_text(field.get(defaults.get())));
        separator = ", ";
    }
    doc += text(")\n--\n\n", op.doc, "\n");
    if (!op.fields.empty()) doc += "\nArgs:\n";
    for (auto& field : op.fields) doc += text("    ", field.name, ": ", field.doc, '\n');
    doc += "Returns:\n    ";
    for (size_t i = 0; i < op.outputs.size(); ++i) doc += text(i ? ", " : "", op.outputs[i]);
    if (op.traits.variadic_outputs) doc += ", ...";
    return doc + '\n';
}

// The keywords of a call and the parameters made from them. Calls usually repeat one of the last few keyword
// sets. Contains only immutable values; guarded by the GIL.
struct KnownKeywords {
    Reference names;
    std::vector<Reference> values;
    std::shared_ptr<void> params;
};
constexpr size_t most_known = 8;

struct OpFunctionObject {
    const OpInfo* op;
    std::string name, doc;
    PyMethodDef method;
    std::shared_ptr<void> defaults;
    std::array<KnownKeywords, most_known> known{};
    size_t oldest = 0;  // index in `known`
};

bool is_list_of_ints(PyObject* value) {
    if (!PyTuple_CheckExact(value) && !PyList_CheckExact(value)) return false;
    const Items items(value);
    for (size_t i = 0; i < items.size(); ++i)
        if (!PyLong_CheckExact(items[i])) return false;
    return true;
}

// Returns an immutable copy of a value, a tuple for a list; null if there is none.
Reference kept_value(PyObject* value) {
    if (is_list_of_ints(value)) return Reference(PySequence_Tuple(value));
    bool never_changes = value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
                         PyFloat_CheckExact(value) || PyUnicode_CheckExact(value);
    return never_changes ? Reference::borrow(value) : Reference();
}

bool is_same_int(PyObject* a, PyObject* b) {
    return a == b ||
           (PyLong_CheckExact(a) && PyLong_CheckExact(b) && PyObject_RichCompareBool(a, b, Py_EQ) == 1);
}

// True for the same object, and for lists of equal integers.
bool is_same(PyObject* kept, PyObject* value) {
    if (kept == value) return true;
    if (!PyTuple_CheckExact(kept) || (!PyTuple_CheckExact(value) && !PyList_CheckExact(value))) return false;
    const Items ours(kept), theirs(value);
    if (ours.size() != theirs.size()) return false;
    for (size_t i = 0; i < ours.size(); ++i)
        if (!is_same_int(ours[i], theirs[i])) return false;
    return true;
}

std::shared_ptr<void> known_params(const OpFunctionObject& function, PyObject* names,
                                   std::span<PyObject* const> values) {
    auto are_same = [](const Reference& kept, PyObject* value) { return is_same(kept.get(), value); };
    for (auto& known : function.known)
        if (known.names && is_same(known.names.get(), names) &&
            std::ranges::equal(known.values, values, are_same))
            return known.params;
    return nullptr;
}

void note_params(OpFunctionObject& function, PyObject* names, std::span<PyObject* const> values,
                 const std::shared_ptr<void>& params) {
    KnownKeywords noted{Reference::borrow(names), {}, params};
    for (PyObject* value : values) {
        noted.values.push_back(kept_value(value));
        if (!noted.values.back()) return clear_exception();
    }
    function.known[function.oldest++ % most_known] = std::move(noted);
}

bool equals(PyObject* keyword, std::string_view name) {
    Py_ssize_t size = 0;
    const char* utf8 = PyUnicode_AsUTF8AndSize(keyword, &size);
    return utf8 && std::string_view(utf8, size_t(size)) == name;
}

[[noreturn]] void throw_keyword(const OpInfo& op, PyObject* keyword) {
    auto allowed = joined(op.fields, ", ", &FieldInfo::name);
    throw_type_error(op.name, "has no argument '", utf8_of(keyword), "'; it takes ",
                     allowed.empty() ? "no keywords" : allowed);
}

// Inputs in the order of the definition, whether given by position or by name.
struct Arguments {
    std::vector<PyObject*> named;  // only filled if an input was given by name
    std::span<PyObject* const> inputs;
    std::shared_ptr<void> params;
};

void set_field(const OpFunctionObject& function, const FieldInfo& field, PyObject* value,
               Arguments& arguments) {
    const OpInfo& op = *function.op;
    auto param = param_from_python(value);
    if (!param) return;
    if (!arguments.params) arguments.params = op.params.make();
    try {
        field.set(arguments.params.get(), *param);
    } catch (const UserError& error) {
        throw_user(op.name, text("argument '", field.name, "': ", error.what()), error.error_class());
    }
}

void set_keyword(const OpFunctionObject& function, PyObject* keyword, PyObject* value, Arguments& arguments) {
    const OpInfo& op = *function.op;
    for (auto& field : op.fields)
        if (equals(keyword, field.name)) return set_field(function, field, value, arguments);
    for (size_t i = 0; i < op.fixed_inputs(); ++i) {
        if (!equals(keyword, op.inputs[i].name)) continue;
        if (arguments.named.empty()) arguments.named.assign(arguments.inputs.begin(), arguments.inputs.end());
        if (arguments.named.size() <= i) arguments.named.resize(i + 1);
        if (arguments.named[i]) throw_type_error(op.name, "got two values for '", op.inputs[i].name, "'");
        arguments.named[i] = value;
        arguments.inputs = arguments.named;
        return;
    }
    throw_keyword(op, keyword);
}

void take_keywords(OpFunctionObject& function, PyObject* names, std::span<PyObject* const> values,
                   Arguments& arguments) {
    arguments.params = known_params(function, names, values);
    if (arguments.params) return;
    for (size_t i = 0; i < values.size(); ++i)
        set_keyword(function, PyTuple_GetItem(names, Py_ssize_t(i)), values[i], arguments);
    // The meaning of a device name may change between calls.
    const bool is_noted = arguments.params && arguments.named.empty() && !function.op->place;
    if (is_noted) note_params(function, names, values, arguments.params);
}

// Assigns outputs to the objects of the inputs whose memory they may reuse.
PyObject* reset_inputs(const OpInfo& op, std::span<PyObject* const> objects, const Tensors& outputs) {
    for (auto [output, input] : op.in_place)
        if (size_t(input) < objects.size() && is_tensor(objects[size_t(input)]))
            give_value(objects[size_t(input)], outputs.at(size_t(output)));
    return Py_NewRef(Py_None);
}

template <bool updates>
PyObject* call(PyObject* capsule, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    return guarded([&] {
        auto& function = *static_cast<OpFunctionObject*>(PyCapsule_GetPointer(capsule, nullptr));
        const OpInfo& op = *function.op;
        Arguments arguments;
        arguments.inputs = {args, size_t(positional)};
        Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
        if (any_meaning(args, positional + named)) [[unlikely]] {
            if (updates)
                throw_type_error(op.name, "has no Tensors of quantised or complex dtypes among its inputs");
            return call_by_meaning(op, args, positional, keywords);
        }
        if (named > 0) take_keywords(function, keywords, {args + positional, size_t(named)}, arguments);
        if (arguments.inputs.size() > op.inputs.size() && !op.is_variadic())
            throw_type_error(op.name, "takes at most ", counted(op.inputs.size(), "input"), ", got ",
                             arguments.inputs.size());
        Inputs inputs(arguments.inputs.size());
        convert_inputs(op, arguments.inputs, inputs);
        const void* params = arguments.params ? arguments.params.get() : function.defaults.get();
        if constexpr (!updates) return call_op(op, params, inputs);
        Interpreter* graph = graph_among(inputs.span());
        if (!graph) return reset_inputs(op, arguments.inputs, update(op, params, inputs.span()));
        InterpreterScope scope(*graph);
        return reset_inputs(op, arguments.inputs, apply(op, params, operands_for_graph(inputs.span())));
    });
}

PyObject* ops_module() {
    PyObject* ops = PyImport_AddModule("megengine._mge.ops");
    if (!ops) throw PythonError{};
    return ops;
}

// Returns the only function object of an operator, made on first use. Never destroyed: Python may hold it
// forever, and its Python objects must not be released after Python has ended.
OpFunctionObject& function_of(const OpInfo& op) {
    static auto& functions = *std::make_unique<std::deque<OpFunctionObject>>().release();
    static std::unordered_map<const OpInfo*, OpFunctionObject*> known;
    if (auto it = known.find(&op); it != known.end()) return *it->second;
    auto& function = functions.emplace_back(
        OpFunctionObject{&op, std::string(op.name), make_doc(op), {}, op.params.make()});
    function.method = {function.name.c_str(),
                       reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call<false>)),
                       METH_FASTCALL | METH_KEYWORDS, function.doc.c_str()};
    known[&op] = &function;
    return function;
}

void add_function(PyObject* ops, const OpInfo& op) {
    auto& function = function_of(op);
    Reference capsule(PyCapsule_New(&function, nullptr, nullptr));
    Reference made(capsule ? PyCFunction_New(&function.method, capsule.get()) : nullptr);
    if (!made || PyModule_AddObjectRef(ops, function.name.c_str(), made.get()) != 0) throw PythonError{};
}

std::string make_update_doc(const OpInfo& op) {
    return text("As ops.", op.name,
                "; updates the inputs with the corresponding outputs, without new memory ",
                "if the old value has no other owner.");
}

// Adds operators whose outputs update inputs, as functions that change these inputs.
void add_updates_module(PyObject* module) {
    // Never destroyed: Python's functions point to them.
    static auto& functions = *std::make_unique<std::deque<OpFunctionObject>>().release();
    PyObject* updates = PyImport_AddModule("megengine._mge.updates");
    if (!updates || PyModule_AddObjectRef(module, "updates", updates) != 0) throw PythonError{};
    for (auto* op : all_ops()) {
        if (op->in_place.empty()) continue;
        auto& function = functions.emplace_back(
            OpFunctionObject{op, std::string(op->name), make_update_doc(*op), {}, op->params.make()});
        function.method = {function.name.c_str(),
                           reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call<true>)),
                           METH_FASTCALL | METH_KEYWORDS, function.doc.c_str()};
        Reference capsule(PyCapsule_New(&function, nullptr, nullptr));
        Reference made(capsule ? PyCFunction_New(&function.method, capsule.get()) : nullptr);
        if (!made || PyModule_AddObjectRef(updates, function.name.c_str(), made.get()) != 0)
            throw PythonError{};
    }
}

// Decodes paths that are not UTF-8 as Python does.
nb::object path_text(std::string_view path) {
    auto text = nb::steal(PyUnicode_DecodeFSDefaultAndSize(path.data(), Py_ssize_t(path.size())));
    if (!text) throw nb::python_error();
    return text;
}

nb::tuple describe(const AddedLibrary& library) {
    nb::list names;
    for (auto* op : library.ops) names.append(nb::str(op->name.data(), op->name.size()));
    return nb::make_tuple(library.name, path_text(library.path), names);
}

nb::tuple load(const std::filesystem::path& path, const std::string& symbol) {
    const AddedLibrary* library = [&] {
        GilReleased released;
        return &load_operators(path.string(), symbol.c_str());
    }();
    for (auto* op : library->ops) add_function(ops_module(), *op);
    return describe(*library);
}

void remove(const std::string& name) {
    auto libraries = added_libraries();
    auto library = std::ranges::find(libraries, name, &AddedLibrary::name);
    if (library == libraries.end() || !remove_operators(name))
        throw UserError(text("no library of operators named '", name, "' is loaded"), ErrorClass::key);
    for (auto* op : (*library)->ops)
        if (PyObject_DelAttrString(ops_module(), std::string(op->name).c_str()) != 0) PyErr_Clear();
}

}  // namespace

void add_ops_module(PyObject* module) {
    PyObject* ops = ops_module();
    if (PyModule_AddObjectRef(module, "ops", ops) != 0) throw PythonError{};
    for (auto* op : all_ops()) add_function(ops, *op);
    add_updates_module(module);
    auto functions = nb::borrow<nb::module_>(module);
    functions.attr("operators_symbol") = operators_symbol;
    functions.def("load_operators", &load, nb::arg("path"), nb::arg("symbol") = operators_symbol,
                  "Adds the operators of a shared object. Returns its name, its path and the names of its "
                  "operators.");
    functions.def("remove_operators", &remove, nb::arg("library"),
                  "Removes the operators of a library. Graphs and programs that use them still work.");
    functions.def(
        "added_libraries",
        [] {
            nb::list all;
            for (auto* library : added_libraries()) all.append(describe(*library));
            return all;
        },
        "Returns the name, the path and the operators of each added library.");
    functions.def(
        "cache_folder",
        []() -> std::optional<nb::object> {
            auto folder = cache_folder();
            return folder ? std::optional(path_text(*folder)) : std::nullopt;
        },
        "Returns the cache folder, which only this user may write to, or None if there is none.");
    functions.def(
        "library_path", [] { return path_text(own_library().native()); },
        "Returns the path of the libmge that this process has loaded.");
}

}  // namespace mge::python
