// SPDX-License-Identifier: Apache-2.0
#include "python/src/process_binding.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/base/process_mesh.h"
#include "libmge/base/socket.h"
#include "python/src/errors.h"

namespace nb = nanobind;

namespace mge::python {
namespace {

// The mesh that listens and is not connected yet.
std::shared_ptr<ProcessMesh>& listening_mesh() {
    static std::shared_ptr<ProcessMesh> mesh;
    return mesh;
}

int listen(const std::string& host) {
    listening_mesh() = std::make_shared<ProcessMesh>(host);
    return listening_mesh()->port();
}

// Python handles signals only on its main thread: that of the process, or the only one after fork().
void look_for_signals() {
    if (::gettid() != ::getpid()) return;
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw PythonError{};
}

void connect(int rank, const std::vector<std::pair<std::string, int>>& processes,
             const std::vector<std::string>& tokens, int patience, double limit) {
    auto mesh = std::move(listening_mesh());
    if (!mesh) throw UserError("[connect_processes] listen_for_processes was not called");
    std::vector<ProcessAddress> addresses;
    for (auto& [host, port] : processes) addresses.push_back({host, port});
    nb::gil_scoped_release released;
    auto longest_silence = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(limit));
    mesh->connect(rank, addresses, tokens, std::chrono::seconds(patience), longest_silence);
    set_process_mesh(std::move(mesh));
}

}  // namespace

void add_processes(PyObject* object) {
    set_interruption(look_for_signals);
    auto module = nb::borrow<nb::module_>(object);
    module.def("listen_for_processes", listen, nb::arg("host"),
               "Listens at an address of this machine; gives the port. RuntimeError where it cannot.");
    module.def(
        "connect_processes", connect, nb::arg("rank"), nb::arg("processes"), nb::arg("tokens"),
        nb::arg("patience"), nb::arg("limit"),
        "Connects with the other processes, given as pairs of host and port by rank, for the operator "
        "`collective`. `tokens`: 64 characters by rank, known to this process and that one. RuntimeError "
        "when they have not come within `patience` seconds; so are exchanges in which nothing moves for "
        "`limit` seconds.");
}

}  // namespace mge::python
