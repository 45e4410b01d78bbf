// SPDX-License-Identifier: Apache-2.0
#include "python/src/file_binding.h"

#include <nanobind/nanobind.h>

#include <cerrno>

#include "libmge/base/files/file.h"
#include "libmge/base/files/file_limit.h"
#include "python/src/gil.h"

namespace nb = nanobind;

namespace mge::python {
namespace {

std::string text_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

// System errors become OSError, as for Python's own files.
template <class Fn>
auto with_system_errors(const nb::bytes& path, const Fn& work) {
    try {
        return work();
    } catch (const FileError& error) {
        errno = error.system_code();
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path.ptr());
        throw nb::python_error();
    }
}

// Keeps the path for error messages.
struct NewFileObject {
    nb::bytes path;
    NewFile file;
};

}  // namespace

void add_files(PyObject* module_object) {
    nb::module_ module = nb::borrow<nb::module_>(module_object);
    nb::class_<NewFileObject>(module, "NewFile",
                              "A file that is written under a temporary name and gets its own name when it "
                              "is complete.")
        .def(
            "__init__",
            [](NewFileObject* self, nb::bytes path) {
                with_system_errors(path, [&, name = text_of(path)] {
                    GilReleased released;  // may wait for the reader of a pipe
                    new (&self->file) NewFile(name);
                });
                new (&self->path) nb::bytes(path);
            },
            nb::arg("path"))
        .def_prop_ro("descriptor", [](const NewFileObject& self) { return self.file.descriptor(); })
        .def(
            "finish",
            [](NewFileObject& self) {
                with_system_errors(self.path, [&] {
                    GilReleased released;
                    self.file.finish();
                });
            },
            "Flushes the file to the disk and gives it its name.");
    module.def("file_limit", &file_limit,
               "Returns the number of bytes of memory that reading one file may "
               "use (MGE_FILE_LIMIT).");
    module.def(
        "open_input",
        [](nb::bytes path) {
            return with_system_errors(path, [&, name = text_of(path)] {
                GilReleased released;  // may wait for the writer of a pipe
                return open_input(name);
            });
        },
        nb::arg("path"),
        "Opens a file for reading and returns its descriptor. The content of a pipe is "
        "copied to a temporary file.");
}

}  // namespace mge::python
