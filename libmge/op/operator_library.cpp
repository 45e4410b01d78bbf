// SPDX-License-Identifier: Apache-2.0
// Added operators are in immutable snapshots, so that lookups take no lock. A writer publishes a new
// snapshot. Old ones stay, because they may still be read; there is one per added library.
#include "libmge/op/operator_library.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>

#include "libmge/base/version.h"

namespace mge {
namespace {

// The exported function that returns devices: docs/own-operators.md.
constexpr const char* backend_symbol = "mge_backend";

struct Snapshot {
    std::vector<const AddedLibrary*> libraries;
    std::unordered_map<std::string_view, const OpInfo*> by_name;
    std::unordered_map<const OpInfo*, const AddedLibrary*> homes;  // also of removed operators
};

// Identifies a file at the time it was loaded: afterwards dlopen() returns that code for its path.
struct FileIdentity {
    dev_t device = 0;
    ino_t number = 0;
    off_t bytes = 0;
    int64_t seconds = 0, nanoseconds = 0;
    bool operator==(const FileIdentity&) const = default;
};

struct Registry {
    std::recursive_mutex changing;  // recursive: a library that is being loaded may add operators
    std::deque<AddedLibrary> libraries;
    std::set<const AddedLibrary*> device_providers;  // devices cannot be removed
    std::deque<Snapshot> snapshots{1};
    std::unordered_map<std::string, FileIdentity> files;  // by path
    std::atomic<const Snapshot*> now{&snapshots.front()};

    const Snapshot& read() const { return *now.load(std::memory_order_acquire); }
    void publish(Snapshot next) {
        now.store(&snapshots.emplace_back(std::move(next)), std::memory_order_release);
    }
};

Registry& registry() {
    static Registry all;
    return all;
}

[[noreturn]] void fail(std::string_view library, const std::string& reason) {
    throw OperatorLibraryError(text("operator library '", library, "': ", reason));
}

bool is_identifier(std::string_view name) {
    auto is_letter = [](char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_'; };
    auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
    return !name.empty() && is_letter(name[0]) &&
           std::ranges::all_of(name, [&](char c) { return is_letter(c) || is_digit(c); });
}

void check_definition(std::string_view label, const OpInfo& op) {
    if (!is_identifier(op.name))
        fail(label, text("'", op.name, "' cannot be an operator's name: it needs letters, digits and '_'"));
    if (!op.infer || !op.params.make || !op.params.copy || !op.params.equal || !op.params.hash)
        fail(label, text("operator '", op.name, "' lacks its shape rule or its parameters"));
    for (auto [output, input] : op.in_place)
        if (output < 0 || input < 0 || size_t(output) >= op.outputs.size() ||
            size_t(input) >= op.inputs.size())
            fail(label, text("operator '", op.name, "': its output ", output,
                             " cannot be computed in place of input ", input, ": there are ",
                             op.outputs.size(), " and ", op.inputs.size()));
}

void check_kernels(std::string_view label, const OpInfo& op, std::span<const KernelEntry> entries) {
    auto entry = std::ranges::find(entries, &op, &KernelEntry::op);
    if (entry == entries.end() || !entry->kernels)
        fail(label, text("operator '", op.name, "' has no kernels for the CPU"));
    KernelList list = entry->kernels();
    if (list.empty()) fail(label, text("operator '", op.name, "' has an empty list of kernels"));
    std::set<std::string_view> names;
    for (auto& algorithm : list) {
        if (!algorithm.name || !algorithm.supports || !algorithm.prepare || !algorithm.run)
            fail(label, text("operator '", op.name, "': an algorithm lacks its name or a function"));
        if (!names.insert(algorithm.name).second)
            fail(label, text("operator '", op.name, "' has two algorithms named '", algorithm.name, "'"));
    }
}

void check_library(std::string_view label, const OperatorLibrary& library) {
    if (library.abi != backend_abi)
        fail(label, text("was built for interface ", library.abi, ", this program has ", backend_abi,
                         "; build it again with the headers of mge ", version));
    if (!library.name || !*library.name) fail(label, "has no name");
    if (library.ops.empty()) fail(label, "has no operators");
    for (auto* op : library.ops) {
        if (!op) fail(label, "has an operator that is null");
        check_definition(label, *op);
        check_kernels(label, *op, library.kernels);
    }
    for (auto& entry : library.kernels)
        if (std::ranges::find(library.ops, entry.op) == library.ops.end())
            fail(label, "has kernels of another library's operator");
}

void add_names(std::string_view label, Snapshot& snapshot, const AddedLibrary& library) {
    for (auto* added : snapshot.libraries)
        if (added->name == library.name)
            fail(label, text("a library named '", library.name, "' is already loaded",
                             added->path.empty() ? "" : ", from '" + added->path + "'"));
    for (auto* op : library.ops) {
        if (const OpInfo* taken = find_op(op->name)) {
            auto home = snapshot.homes.find(taken);
            fail(label, text("the name '", op->name, "' is taken by an operator of ",
                             home == snapshot.homes.end() ? "mge itself"
                                                          : text("library '", home->second->name, "'")));
        }
        if (!snapshot.by_name.emplace(op->name, op).second)
            fail(label, text("has two operators named '", op->name, "'"));
        snapshot.homes[op] = &library;
    }
    snapshot.libraries.push_back(&library);
}

// The result of a shared object, or the argument of a direct call. One of the two may be null.
struct Offer {
    const OperatorLibrary* operators = nullptr;
    const Backend* backend = nullptr;
};

void check_backend(std::string_view label, const Backend& backend) {
    constexpr std::string_view cpus[] = {"cpu", "multithread", "xpu"};
    if (backend.abi != backend_abi)
        fail(label, text("its devices were built for interface ", backend.abi, ", this program has ",
                         backend_abi, "; build it again with the headers of mge ", version));
    std::string_view name = backend.name ? backend.name : "";
    bool is_word = !name.empty() && std::ranges::all_of(name, [](char c) { return 'a' <= c && c <= 'z'; });
    if (!is_word) fail(label, text("'", name, "' cannot name a kind of device: use only letters a to z"));
    if (std::ranges::find(cpus, name) != std::end(cpus))
        fail(label, text("the name '", name, "' is taken by the CPU"));
    constexpr int most_devices = 256;
    if (backend.device_count < 1 || backend.device_count > most_devices || !backend.open_device)
        fail(label, text("its devices '", name, "' need a count from 1 to ", most_devices,
                         " and a function that opens one"));
}

void check_offer(std::string_view label, const Offer& offer) {
    if (offer.operators) check_library(label, *offer.operators);
    if (offer.backend) check_backend(label, *offer.backend);
}

// Returns an earlier addition: a removed library is restored.
const AddedLibrary* find_known(const Registry& all, const std::string& path, const Offer& offer) {
    if (offer.operators) {
        auto& homes = all.read().homes;
        auto home = homes.find(offer.operators->ops.front());
        return home == homes.end() ? nullptr : home->second;
    }
    auto known = std::ranges::find_if(all.libraries, [&](const AddedLibrary& library) {
        return library.path == path && library.ops.empty() && all.device_providers.contains(&library);
    });
    return known == all.libraries.end() ? nullptr : &*known;
}

AddedLibrary& make_library(Registry& all, const std::string& path, const Offer& offer) {
    if (!offer.operators) return all.libraries.emplace_back(AddedLibrary{offer.backend->name, path, {}});
    auto& ops = offer.operators->ops;
    return all.libraries.emplace_back(AddedLibrary{offer.operators->name, path, {ops.begin(), ops.end()}});
}

void add_devices(std::string_view label, const Backend& backend) {
    try {
        add_backend(backend);
    } catch (const UserError& e) {
        fail(label, e.what());
    }
}

// The caller must hold the lock.
const AddedLibrary& add(Registry& all, std::string_view label, const std::string& path, const Offer& offer) {
    check_offer(label, offer);
    Snapshot next = all.read();
    if (auto* known = find_known(all, path, offer)) {
        if (std::ranges::find(next.libraries, known) != next.libraries.end()) return *known;
        add_names(label, next, *known);
    } else {
        auto& library = make_library(all, path, offer);
        add_names(label, next, library);
        if (offer.backend) {
            add_devices(label, *offer.backend);
            all.device_providers.insert(&library);
        }
    }
    // Publish names last: a visible operator has kernels.
    if (offer.operators) add_kernels(host_device.kind, offer.operators->kernels);
    all.publish(std::move(next));
    return *all.read().libraries.back();
}

struct CloseLibrary {
    void operator()(void* handle) const { ::dlclose(handle); }
};
using LibraryHandle = std::unique_ptr<void, CloseLibrary>;

std::string whole_path(const std::string& path) {
    std::unique_ptr<char, void (*)(void*)> found(::realpath(path.c_str(), nullptr), &std::free);
    if (!found) fail(path, text("cannot be read: ", std::strerror(errno)));
    return found.get();
}

FileIdentity identify(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) fail(path, text("cannot be read: ", std::strerror(errno)));
    return {info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

template <class T>
const T* query(const std::string& path, void* handle, const char* symbol) {
    auto entry = reinterpret_cast<const T* (*)()>(::dlsym(handle, symbol));
    if (!entry) return nullptr;
    const T* answer = nullptr;
    try {
        answer = entry();
    } catch (const std::exception& e) {
        fail(path, text(symbol, "() failed: ", e.what()));
    }
    if (!answer) fail(path, text(symbol, "() returned null"));
    return answer;
}

Offer offer_of(const std::string& path, void* handle, const char* symbol) {
    Offer offer{query<OperatorLibrary>(path, handle, symbol), query<Backend>(path, handle, backend_symbol)};
    bool is_named = std::string_view(symbol) != operators_symbol;  // a named function is required to exist
    if (!offer.operators && (!offer.backend || is_named))
        fail(path, text("has no function ", symbol, ", which returns its operators"));
    return offer;
}

}  // namespace

const AddedLibrary& add_operators(const OperatorLibrary& library) {
    auto& all = registry();
    std::lock_guard lock(all.changing);
    bool is_readable = library.abi == backend_abi && library.name;
    return add(all, is_readable ? library.name : "?", {}, {&library, nullptr});
}

const AddedLibrary& load_operators(const std::string& given, const char* symbol) {
    std::string path = whole_path(given);
    auto& all = registry();
    std::lock_guard lock(all.changing);
    FileIdentity file = identify(path);
    auto known = all.files.find(path);
    if (known != all.files.end() && !(known->second == file))
        fail(path, "the file has changed since this process loaded it; rename the new file");
    LibraryHandle handle(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!handle) fail(path, text("cannot be loaded: ", ::dlerror()));
    if (known == all.files.end()) known = all.files.emplace(path, file).first;
    Offer offer;
    try {
        offer = offer_of(path, handle.get(), symbol);
        auto& added = add(all, path, path, offer);
        (void)handle.release();  // keep the code loaded
        return added;
    } catch (...) {
        if (offer.backend) (void)handle.release();  // its devices may be in use
        handle.reset();
        // dlclose() often does not unload libraries with templates.
        LibraryHandle stays(::dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY));
        if (!stays) all.files.erase(known);
        throw;
    }
}

bool remove_operators(std::string_view name) {
    auto& all = registry();
    std::lock_guard lock(all.changing);
    Snapshot next = all.read();
    auto library = std::ranges::find(next.libraries, name, &AddedLibrary::name);
    if (library == next.libraries.end()) return false;
    for (auto* op : (*library)->ops) next.by_name.erase(op->name);
    next.libraries.erase(library);
    all.publish(std::move(next));
    return true;
}

std::vector<const AddedLibrary*> added_libraries() { return registry().read().libraries; }

const AddedLibrary* library_of(const OpInfo& op) {
    auto& homes = registry().read().homes;
    auto home = homes.find(&op);
    return home == homes.end() ? nullptr : home->second;
}

const OpInfo* find_added_op(std::string_view name) {
    auto& names = registry().read().by_name;
    auto it = names.find(name);
    return it == names.end() ? nullptr : it->second;
}

}  // namespace mge
