// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/openmp_imports.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "libmge/base/invalid_flag.h"
#include "libmge/base/threads/thread_team.h"

namespace mge {

constinit thread_local RegionRules RegionScope::rules_;

namespace {

constexpr std::string_view library_name = "libdnnl.so";

// The relocations that resolve imports.
#ifdef __x86_64__
constexpr auto jump_slot = R_X86_64_JUMP_SLOT, global_data = R_X86_64_GLOB_DAT;
#else
constexpr auto jump_slot = R_AARCH64_JUMP_SLOT, global_data = R_AARCH64_GLOB_DAT;
#endif

// The functions of libgomp, for calls that are not ours.
struct OpenMp {
    void (*parallel)(void (*)(void*), void*, unsigned, unsigned);
    void (*barrier)();
    int (*max_threads)();
    int (*num_threads)();
    int (*thread_num)();
    int (*in_parallel)();
};
OpenMp libgomp{};

bool is_ours() { return RegionScope::here().threads > 0 || is_in_share(); }

struct Region {
    void (*fn)(void*);
    void* argument;
    std::atomic<bool>* raised_invalid;

    void run() const {
        if (!raised_invalid) return fn(argument);
        watch_invalid(*raised_invalid, [&] { fn(argument); });
    }
};

void parallel(void (*fn)(void*), void* argument, unsigned threads, unsigned flags) {
    if (!is_ours()) return libgomp.parallel(fn, argument, threads, flags);
    // Inside a parallel region of the program, OpenMP would use one thread, too.
    bool is_nested = is_in_share() || libgomp.in_parallel();
    int shares = is_nested ? 1 : threads ? int(threads) : RegionScope::here().threads;
    Region region{fn, argument, RegionScope::here().raised_invalid};
    auto run = [](void* r, int, int) { static_cast<const Region*>(r)->run(); };
    run_shares(team_size(shares), run, &region,
               RegionScope::here().never_waits ? Waiting::never : Waiting::for_each_other);
}

void barrier() {
    if (!is_ours()) return libgomp.barrier();
    meet_other_shares();
}

int max_threads() {
    return RegionScope::here().threads ? RegionScope::here().threads : libgomp.max_threads();
}
int num_threads() { return is_ours() ? place_in_team().shares : libgomp.num_threads(); }
int thread_num() { return is_ours() ? place_in_team().share : libgomp.thread_num(); }
int in_parallel() { return is_in_share() || libgomp.in_parallel(); }

template <class Fn>
void* address_of(Fn* fn) {
    return reinterpret_cast<void*>(fn);
}

struct Import {
    std::string_view name;
    void* ours;
    void** libgomps;
    void** slot = nullptr;  // in the library's table
};

using Imports = std::array<Import, 6>;

Imports all_imports() {
    auto place = [](auto& pointer) { return reinterpret_cast<void**>(&pointer); };
    return {{{"GOMP_parallel", address_of(parallel), place(libgomp.parallel)},
             {"GOMP_barrier", address_of(barrier), place(libgomp.barrier)},
             {"omp_get_max_threads", address_of(max_threads), place(libgomp.max_threads)},
             {"omp_get_num_threads", address_of(num_threads), place(libgomp.num_threads)},
             {"omp_get_thread_num", address_of(thread_num), place(libgomp.thread_num)},
             {"omp_in_parallel", address_of(in_parallel), place(libgomp.in_parallel)}}};
}

// The import tables of a loaded library.
struct ImportTables {
    ElfW(Addr) base;
    std::array<std::span<const ElfW(Rela)>, 2> relocations;
    const ElfW(Sym) * symbols;
    const char* names;
};

ImportTables tables_of(const dl_phdr_info& library) {
    ImportTables tables{.base = library.dlpi_addr, .relocations = {}, .symbols = nullptr, .names = nullptr};
    std::array<const ElfW(Rela)*, 2> begin{};
    std::array<size_t, 2> bytes{};
    for (auto& header : std::span(library.dlpi_phdr, library.dlpi_phnum)) {
        if (header.p_type != PT_DYNAMIC) continue;
        for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(tables.base + header.p_vaddr);
             entry->d_tag != DT_NULL; ++entry) {
            auto* address = reinterpret_cast<const void*>(entry->d_un.d_ptr);
            switch (entry->d_tag) {
                case DT_JMPREL:
                    begin[0] = static_cast<const ElfW(Rela)*>(address);
                    break;
                case DT_PLTRELSZ:
                    bytes[0] = entry->d_un.d_val;
                    break;
                case DT_RELA:
                    begin[1] = static_cast<const ElfW(Rela)*>(address);
                    break;
                case DT_RELASZ:
                    bytes[1] = entry->d_un.d_val;
                    break;
                case DT_SYMTAB:
                    tables.symbols = static_cast<const ElfW(Sym)*>(address);
                    break;
                case DT_STRTAB:
                    tables.names = static_cast<const char*>(address);
                    break;
                default:
                    break;
            }
        }
    }
    for (size_t i = 0; i < begin.size(); ++i)
        if (begin[i]) tables.relocations[i] = {begin[i], bytes[i] / sizeof(ElfW(Rela))};
    return tables;
}

// omp_set_num_threads stays libgomp's: only the graph component of oneDNN 3 calls it, which MGE does not use.
bool is_of_openmp(std::string_view name) {
    if (name == "omp_set_num_threads") return false;
    return name.starts_with("GOMP_") || name.starts_with("omp_") || name.starts_with("__kmpc_");
}

// Notes the slot of each import. False when there is one that is not ours to answer.
bool find_slots(const ImportTables& tables, Imports& imports) {
    for (auto relocations : tables.relocations)
        for (auto& relocation : relocations) {
            auto type = ELF64_R_TYPE(relocation.r_info);
            if (type != jump_slot && type != global_data) continue;
            std::string_view name = tables.names + tables.symbols[ELF64_R_SYM(relocation.r_info)].st_name;
            if (!is_of_openmp(name)) continue;
            auto* found = std::ranges::find(imports, name, &Import::name);
            if (found == imports.end() || found->slot) return false;
            found->slot = reinterpret_cast<void**>(tables.base + relocation.r_offset);
        }
    return std::ranges::all_of(imports, [](auto& import) { return import.slot != nullptr; });
}

// The table may be read-only: the library is bound when it is loaded.
bool write_slot(void** slot, void* value) {
    auto page_size = uintptr_t(::sysconf(_SC_PAGESIZE));
    auto* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot) & ~(page_size - 1));
    if (::mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0) return false;
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    ::mprotect(page, page_size, PROT_READ);
    return true;
}

bool redirect(const ImportTables& tables) {
    auto imports = all_imports();
    if (!tables.symbols || !tables.names || !find_slots(tables, imports)) return false;
    // All needed functions are resolved before any call is redirected.
    for (auto& import : imports) *import.libgomps = *import.slot;
    for (size_t i = 0; i < imports.size(); ++i) {
        if (write_slot(imports[i].slot, imports[i].ours)) continue;
        while (i-- > 0) write_slot(imports[i].slot, *imports[i].libgomps);
        return false;
    }
    return true;
}

int visit(dl_phdr_info* library, size_t, void* done) {
    std::string_view path = library->dlpi_name;
    if (!path.substr(path.rfind('/') + 1).starts_with(library_name)) return 0;
    *static_cast<bool*>(done) = redirect(tables_of(*library));
    return 1;
}

}  // namespace

bool lead_openmp_imports_to_teams() {
    bool done = false;
    ::dl_iterate_phdr(visit, &done);
    return done;
}

}  // namespace mge
