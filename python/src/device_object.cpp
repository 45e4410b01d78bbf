// SPDX-License-Identifier: Apache-2.0
#include "python/src/device_object.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <filesystem>
#include <optional>
#include <string>

#include "libmge/base/threads/threads.h"
#include "libmge/device/default_device.h"
#include "libmge/device/gpu.h"
#include "libmge/eager/async_level.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/kernel/select_settings.h"
#include "libmge/tensor/tensor.h"
#include "python/src/reference.h"
#include "python/src/tensor/conversion.h"

namespace nb = nanobind;

namespace mge::python {
namespace {

struct DeviceObject {
    DeviceId id;
};

bool same_spelling(DeviceId a, DeviceId b) { return a == b && logical_name(a) == logical_name(b); }

// Equal to another Device, and to a string that names it in the user's spelling.
bool is_equal(const DeviceObject& self, nb::handle other) {
    if (nb::isinstance<DeviceObject>(other)) return same_spelling(self.id, nb::cast<DeviceObject&>(other).id);
    if (!PyUnicode_Check(other.ptr())) return false;
    try {
        return same_spelling(self.id, parse_device(nb::cast<std::string>(other)));
    } catch (const Error&) {
        return false;
    }
}

nb::dict memory_figures(nb::handle device_name) {
    MemoryStats stats = device(parse_device_argument(device_name.ptr())).memory();
    nb::dict result;
    result["allocated"] = stats.allocated;
    result["reserved"] = stats.reserved;
    result["peak"] = stats.peak;
    result["peak_reserved"] = stats.peak_reserved;
    result["limit"] = stats.limit;
    return result;
}

}  // namespace

PyObject* device_object(DeviceId id) { return nb::cast(DeviceObject{id}).release().ptr(); }

std::optional<DeviceId> id_of_device_object(PyObject* object) {
    if (!nb::isinstance<DeviceObject>(nb::handle(object))) return std::nullopt;
    return nb::cast<DeviceObject&>(nb::handle(object)).id;
}

void add_device_type(PyObject* module_object) {
    nb::module_ module = nb::borrow<nb::module_>(module_object);
    nb::class_<DeviceObject>(module, "Device",
                             "The device of a Tensor. Compares equal with strings such as 'xpux'.")
        .def(
            "__init__",
            [](DeviceObject* self, nb::handle name) {
                new (self) DeviceObject{parse_device_argument(name.ptr())};
            },
            nb::arg("name").none() = nb::none())
        .def(
            "to_c", [](const DeviceObject& d) { return d; }, "The device itself.")
        .def_prop_ro("logical_name", [](const DeviceObject& d) { return logical_name(d.id); })
        .def_prop_ro("physical_name", [](const DeviceObject& d) { return physical_name(d.id); })
        .def("__str__", [](const DeviceObject& d) { return logical_name(d.id); })
        .def("__repr__", [](const DeviceObject& d) { return logical_name(d.id); })
        .def("__eq__", &is_equal)
        .def("__ne__", [](const DeviceObject& d, nb::handle other) { return !is_equal(d, other); })
        .def("__hash__", [](const DeviceObject& d) { return nb::hash(nb::str(logical_name(d.id).c_str())); })
        .def("__reduce__", [](const DeviceObject& d) {
            return nb::make_tuple(nb::type<DeviceObject>(), nb::make_tuple(logical_name(d.id)));
        });
}

namespace {

void add_memory_functions(nb::module_& module) {
    module.def("set_default_device",
               [](nb::handle name) { set_default_device(parse_device_argument(name.ptr())); });
    module.def(
        "exchange_thread_device",
        [](nb::handle name) -> nb::object {
            std::optional<DeviceId> id;
            if (!name.is_none()) id = parse_device_argument(name.ptr());
            auto before = exchange_thread_device(id);
            return before ? nb::object(nb::str(logical_name(*before).c_str())) : nb::none();
        },
        nb::arg("device").none(),
        "Sets the default device of this thread and returns the previous one. None selects the default of "
        "the process.");
    module.def(
        "get_default_device", [] { return logical_name(default_device()); },
        "Returns the name of the default device.");
    module.def("memory_stats", &memory_figures, nb::arg("device").none() = nb::none(),
               "Returns a dict of bytes: allocated, reserved, peak, peak_reserved and limit. A limit of 0 "
               "means no limit.");
    module.def(
        "reset_peak_memory", [](nb::handle name) { device(parse_device_argument(name.ptr())).reset_peak(); },
        nb::arg("device").none() = nb::none(), "Sets the peaks of memory_stats to the current figures.");
    module.def(
        "release_cached_memory",
        [](nb::handle name) { device(parse_device_argument(name.ptr())).release_cached(); },
        nb::arg("device").none() = nb::none(), "Returns cached memory to the system or the driver.");
    module.def(
        "set_memory_limit",
        [](size_t bytes, nb::handle name) {
            device(parse_device_argument(name.ptr())).set_memory_limit(bytes);
        },
        nb::arg("bytes"), nb::arg("device").none() = nb::none(),
        "Limits the memory of tensors on a device. 0 removes the limit.");
    module.def(
        "synchronize", [](nb::handle name) { device(parse_device_argument(name.ptr())).synchronize(); },
        nb::arg("device").none() = nb::none(), "Waits until the device has finished all work.");
    module.def(
        "memory_status",
        [](nb::handle name) {
            MemoryStatus status = device(parse_device_argument(name.ptr())).memory_status();
            return nb::make_tuple(status.total, status.free);
        },
        nb::arg("device").none() = nb::none(),
        "Returns (total, free): the bytes of device memory that this process may use, and how many of them "
        "are free.");
}

void add_hardware_functions(nb::module_& module) {
    module.def(
        "compute_capability",
        [](nb::handle name) { return device(parse_device_argument(name.ptr())).compute_capability(); },
        nb::arg("device"), "Returns ten times the compute capability of a GPU.");
    module.def("usable_cpus", &usable_cpus, "Returns the number of CPUs that this process may use.");
    module.def(
        "gpus", [] { return nb::make_tuple(gpus().count, gpus().why_unavailable); },
        "Returns the number of GPUs and, if it is 0, the reason.");
    module.def("cuda_version", &cuda_version, nb::arg("library"),
               "Returns the version of 'cuda', 'driver' or 'cudnn' as NVIDIA encodes it, or 0 if it is not "
               "installed.");
    module.def(
        "model", [](nb::handle name) { return device(parse_device_argument(name.ptr())).model(); },
        nb::arg("device"), "Returns the name of the hardware.");
    module.def("get_threads", &default_threads, "Returns the number of threads of an operator.");
    module.def("set_threads", &set_default_threads, "Sets the number of threads of an operator.");
}

void add_choice_functions(nb::module_& module) {
    module.def(
        "set_kernel_choice",
        [](bool benchmark, bool deterministic) {
            set_select_settings({benchmark, deterministic});
        },
        nb::arg("benchmark"), nb::arg("deterministic"),
        "Sets how algorithms are chosen: by measuring them, and only from the reproducible ones.");
    module.def(
        "keep_measurements",
        [](const std::optional<std::filesystem::path>& path) {
            keep_measurements(path ? std::optional(path->string()) : std::nullopt);
        },
        nb::arg("path").none(),
        "Sets the file that stores later measurements. None keeps them in the memory of this process.");
    module.def(
        "forget_measurements",
        [](const std::filesystem::path& path) {
            auto cache = FastrunCache::open(path.string());
            return cache->remove(cache->rows());
        },
        nb::arg("path"),
        "Removes the measurements of all machines from a cache file and returns their "
        "number.");
    module.def("set_async_level", &set_async_level, nb::arg("level"),
               "Sets when errors of asynchronous device work are raised. Level 0 raises them at the call.");
}

}  // namespace

void add_device_functions(PyObject* module_object) {
    nb::module_ module = nb::borrow<nb::module_>(module_object);
    add_memory_functions(module);
    add_hardware_functions(module);
    add_choice_functions(module);
}

}  // namespace mge::python
