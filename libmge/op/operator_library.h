// SPDX-License-Identifier: Apache-2.0
#pragma once
// External operators and their kernels. A shared object exports one C function that returns an
// OperatorLibrary, made from its list of operators:
//
//     extern "C" MGE_API const mge::OperatorLibrary* mge_operators() {
//         static constexpr auto tables = mge::operator_tables(mge::TypeList<mine::Blend, mine::Clamp>{});
//         static constexpr mge::OperatorLibrary library = mge::make_operator_library("mine", tables);
//         return &library;
//     }
//
// It links with -Wl,--no-undefined (mge_add_operators does), so that a missing kernel is a link error.

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/op/backend.h"

namespace mge {

// `abi` must stay the first member.
struct OperatorLibrary {
    uint32_t abi;
    const char* name;  // stored in models that use its operators
    std::span<const OpInfo* const> ops;
    std::span<const KernelEntry> kernels;  // for the CPU, one entry per operator
};

template <size_t N>
struct OperatorTables {
    std::array<const OpInfo*, N> ops;
    std::array<KernelEntry, N> kernels;
};
template <class... O>
constexpr OperatorTables<sizeof...(O)> operator_tables(TypeList<O...> list) {
    return {{&O::info...}, kernel_table<Cpu>(list)};
}
// `tables` must be static.
template <size_t N>
constexpr OperatorLibrary make_operator_library(const char* name, const OperatorTables<N>& tables) {
    return {backend_abi, name, tables.ops, tables.kernels};
}

// The name of the exported function.
inline constexpr const char* operators_symbol = "mge_operators";

// A library that cannot be used: unreadable, not an operator library, built for other headers, or with
// operators that are invalid or whose names are taken.
class MGE_API OperatorLibraryError final : public UserError {
public:
    using UserError::UserError;
};

// A library whose operators were added.
struct AddedLibrary {
    std::string name, path;  // empty path: added by this process itself
    std::vector<const OpInfo*> ops;
};

// Adds operators and their kernels to those that find_op() finds: all of them or, throwing
// OperatorLibraryError, none. Everything that `library` points to must live as long as the process.
// Thread-safe.
MGE_API const AddedLibrary& add_operators(const OperatorLibrary& library);
// Loads a shared object and adds the operators that its function `symbol` returns. Returns the same library
// if the file is already loaded.
MGE_API const AddedLibrary& load_operators(const std::string& path, const char* symbol = operators_symbol);
// Hides the operators of a library from find_op() and frees their names. Graphs, programs and tapes that use
// them keep working, because the code stays loaded. Returns false for an unknown library.
MGE_API bool remove_operators(std::string_view library);

// Returns the libraries in order of addition.
MGE_API std::vector<const AddedLibrary*> added_libraries();
// Returns the library of an operator, even if it was removed; nullptr for operators of ops/all.h.
MGE_API const AddedLibrary* library_of(const OpInfo& op);

// Finds an added operator by name, or returns nullptr.
MGE_API const OpInfo* find_added_op(std::string_view name);

}  // namespace mge
