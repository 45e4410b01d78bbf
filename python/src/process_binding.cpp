// SPDX-License-Identifier: Apache-2.0
#include "python/src/process_binding.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/base/interruption.h"
#include "libmge/comm/engine.h"
#include "libmge/comm/nccl.h"
#include "libmge/ops/collective/exchange_queue.h"
#include "libmge/ops/collective/host_exchange.h"
#include "libmge/ops/collective/reduction.h"
#include "python/src/errors.h"
#include "python/src/gil.h"

namespace nb = nanobind;

namespace mge::python {
namespace {

// Python handles signals only on its main thread: that of the process, or the only one after fork().
void look_for_signals() {
    if (::gettid() != ::getpid()) return;
    GilAcquired gil;
    if (PyErr_CheckSignals() != 0) throw PythonError{};
}

// The engine that is open and not joined with the other processes yet.
std::shared_ptr<Communicator>& open_communicator() {
    static std::shared_ptr<Communicator> communicator;
    return communicator;
}

nb::bytes open_named_engine(const std::string& engine, const std::string& host, int rank, int size) {
    {
        GilReleased released;
        open_communicator() = open_engine(engine, {host, rank, size});
    }
    std::string address = open_communicator()->address();
    return nb::bytes(address.data(), address.size());
}

std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

void join_processes(const std::vector<nb::bytes>& addresses, double patience, double limit,
                    const std::vector<std::pair<std::string, std::string>>& proofs,
                    const std::string& record) {
    auto communicator = std::move(open_communicator());
    if (!communicator) throw UserError("[join_processes] open_engine was not called");
    std::vector<std::string> texts;
    for (auto& address : addresses) texts.emplace_back(address.c_str(), address.size());
    Proofs given;
    for (auto& [sent, expected] : proofs) {
        given.sent.push_back(sent);
        given.expected.push_back(expected);
    }
    GilReleased released;
    communicator->set_record_path(record);
    communicator->join(texts, milliseconds(patience), milliseconds(limit), given);
    set_communicator(std::move(communicator));
}

// All to all, of equal sizes.
std::vector<nb::bytes> exchange_bytes(nb::bytes mine, const std::string& what) {
    auto processes = communicator();
    if (!processes) throw UserError("[exchange_bytes] this process has no others");
    size_t bytes = mine.size();
    std::vector<std::string> all(size_t(processes->size()), std::string(bytes, '\0'));
    std::vector<int64_t> ranks(all.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    all[size_t(processes->rank())].assign(mine.c_str(), bytes);
    {
        GilReleased released;
        std::vector<Transfer> transfers;
        for (int other = 0; other < processes->size(); ++other)
            if (other != processes->rank())
                transfers.push_back({other, std::as_bytes(std::span(all[size_t(processes->rank())])),
                                     std::as_writable_bytes(std::span(all[size_t(other)]))});
        processes->exchange(std::make_shared<const ExchangeInfo>(ExchangeInfo::Parts{
                                .operation = what, .group = std::move(ranks), .bytes = bytes}),
                            transfers);
    }
    std::vector<nb::bytes> result;
    for (auto& text : all) result.emplace_back(text.data(), text.size());
    return result;
}

// The bytes of all processes of a group, in its order.
std::vector<nb::bytes> gather_bytes(nb::bytes mine, const std::vector<int64_t>& ranks, int64_t rank,
                                    const std::string& what) {
    std::span from(reinterpret_cast<const std::byte*>(mine.c_str()), mine.size());
    std::vector<std::byte> all(mine.size() * ranks.size());
    {
        GilReleased released;
        ops::exchange_on_host({{ops::CollectiveMode::all_gather, ranks, rank},
                               DType::u8,
                               std::make_shared<const ExchangeInfo>(ExchangeInfo::Parts{
                                   .operation = what, .group = ranks, .bytes = mine.size()})},
                              from, all);
    }
    std::vector<nb::bytes> result;
    for (size_t i = 0; i < ranks.size(); ++i)
        result.emplace_back(reinterpret_cast<const char*>(all.data()) + i * mine.size(), mine.size());
    return result;
}

void abort_reduction(const std::string& reduction, const std::vector<int64_t>& ranks, int64_t rank,
                     bool first) {
    GilReleased released;
    ops::abort_reduction({.reduction = reduction, .ranks = ranks, .rank = rank, .first = first});
}

void open_nccl(const std::string& library, double limit) {
    GilReleased released;
    set_nccl(std::make_shared<Nccl>(library, communicator(), milliseconds(limit)));
}

void write_flight_record() {
    if (auto processes = communicator()) processes->write_record();
}

void close_processes(const std::string& failure) {
    GilReleased released;
    auto processes = communicator();
    if (failure.empty()) set_nccl(nullptr);  // waits for its exchanges
    if (!processes) return;
    ops::ExchangeQueue::of_process().cancel();  // no caller waits for its jobs any more
    processes->close(failure);
    set_communicator(nullptr);
}

}  // namespace

void add_processes(PyObject* object) {
    set_interruption(look_for_signals);
    auto module = nb::borrow<nb::module_>(object);
    module.def(
        "open_engine", open_named_engine, nb::arg("engine"), nb::arg("host"), nb::arg("rank"),
        nb::arg("size"),
        "Opens an engine for several processes at an address of this machine. Returns the bytes by which the "
        "others reach it. RuntimeError if its plugin or its library is not installed.");
    module.def(
        "join_processes", join_processes, nb::arg("addresses"), nb::arg("patience"), nb::arg("limit"),
        nb::arg("proofs"), nb::arg("record"),
        "Connects the open engine with those of the other processes, whose addresses are given by rank. "
        "Raises RuntimeError if a process has not connected within `patience` seconds, or has not sent its "
        "proof. Later exchanges raise it after `limit` seconds without an answer, and write the last "
        "exchanges "
        "to `record`.RANK.json, unless `record` is empty. `proofs` are the text to send and the expected "
        "one, "
        "by rank.");
    module.def("exchange_bytes", exchange_bytes, nb::arg("mine"), nb::arg("what"),
               "Returns the bytes of all processes by rank. All must have the same size.");
    module.def(
        "gather_bytes", gather_bytes, nb::arg("mine"), nb::arg("ranks"), nb::arg("rank"), nb::arg("what"),
        "Returns the bytes of all processes of a group in its order. All must have the same size. Runs at "
        "once, even while operators are recorded.");
    module.def("abort_reduction", abort_reduction, nb::arg("reduction"), nb::arg("ranks"), nb::arg("rank"),
               nb::arg("first"),
               "Ends a backward pass that has failed in this process at the reduction that would be next.");
    module.def("forget_reductions", ops::forget_reductions, nb::arg("prefix"),
               "Frees the buffers of reductions whose names begin with `prefix`.");
    module.def(
        "close_processes", close_processes, nb::arg("failure"),
        "Ends the work with the other processes. A failure is reported to them; MPI then ends them, too.");
    module.def(
        "open_nccl", open_nccl, nb::arg("library"), nb::arg("limit"),
        "Opens NCCL for the exchanges of GPUs. Raises RuntimeError if it is not installed. Exchanges that "
        "take more than `limit` seconds end all of them.");
    module.def("write_flight_record", write_flight_record,
               "Writes the last exchanges to the file given to join_processes.");
}

}  // namespace mge::python
