// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators made outside of this project, and their kernels. A shared object exports one C function that
// returns an OperatorLibrary, which one line makes from its list of operators:
//
//     extern "C" MGE_API const mge::OperatorLibrary* mge_operators() {
//         static constexpr auto tables = mge::operator_tables(mge::TypeList<mine::Blend, mine::Clamp>{});
//         static constexpr mge::OperatorLibrary library = mge::make_operator_library("mine", tables);
//         return &library;
//     }
//
// It links with -Wl,--no-undefined (mge_add_operators does), so a forgotten kernel fails its link.

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/op/backend.h"

namespace mge {

// `abi` is first whatever becomes of the rest.
struct OperatorLibrary {
    uint32_t abi;
    const char* name;  // models that use its operators name it
    std::span<const OpInfo* const> ops;
    std::span<const KernelEntry> kernels;  // of the CPU, one entry for each operator
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
// `tables` have to be static.
template <size_t N>
constexpr OperatorLibrary make_operator_library(const char* name, const OperatorTables<N>& tables) {
    return {backend_abi, name, tables.ops, tables.kernels};
}

// The name of that function.
inline constexpr const char* operators_symbol = "mge_operators";

// A library that cannot be used: it cannot be read, is none, was built for other headers, or its operators
// are wrong or have names that are taken.
class MGE_API OperatorLibraryError final : public UserError {
public:
    using UserError::UserError;
};

// What is known about a library whose operators were added.
struct AddedLibrary {
    std::string name, path;  // without a path when it was added from inside the process
    std::vector<const OpInfo*> ops;
};

// Adds operators to those that find_op() knows, with their kernels: all of them, or none and an
// OperatorLibraryError that says which is wrong. What the library points to has to live as long as the
// process. Any thread may do so at any time.
MGE_API const AddedLibrary& add_operators(const OperatorLibrary& library);
// Loads a shared object and adds the operators that its function `symbol` names. A file that was loaded
// already gives what it gave then.
MGE_API const AddedLibrary& load_operators(const std::string& path, const char* symbol = operators_symbol);
// From now on find_op() finds the operators of a library no more, and their names are free; what was made
// with them (graphs, programs, tapes) works on, so that its code stays in memory. False when there is no such
// library.
MGE_API bool remove_operators(std::string_view library);

// In the order in which they came.
MGE_API std::vector<const AddedLibrary*> added_libraries();
// Of an operator that was added, also when it was removed since; null for those of ops/all.h.
MGE_API const AddedLibrary* library_of(const OpInfo& op);

// By name among the operators that were added.
MGE_API const OpInfo* find_added_op(std::string_view name);

}  // namespace mge
