# SPDX-License-Identifier: Apache-2.0
"""A model file behind a server, with one command.

python -m megengine.serve net.mge --max-batch 16
"""

import argparse
import asyncio
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from megenginelite.global_setting import LiteGlobal
from megenginelite.network import get_model_io_info
from megenginelite.struct import LiteDeviceType

from . import _mge
from .serving.model import ServedModel, config_of, read_key
from .serving.repository import Service, write_mlserver, write_triton

# Exit codes, see docs/error-codes.md.
USAGE, DEVICE, MODEL, CRYPTO, MEMORY = 2, 4, 5, 6, 8

_BACKENDS = "MGE_TRITON_BACKENDS"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class ServeError(Exception):
    """A failure with its exit code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def _milliseconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 60_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 60000")
    return value


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 1 to 65535")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m megengine.serve",
        description="Serves a model by the Open Inference Protocol over HTTP and gRPC.",
        epilog="The server has no authentication and no encryption; it listens on this machine"
        " only unless --host says otherwise. Ctrl-C ends it.",
    )
    made.add_argument(
        "model", type=Path, help="a .mge, ONNX or MegEngine file, or a folder with one"
    )
    made.add_argument("--name", help="the model's name in requests; default: the file's name")
    made.add_argument("--engine", choices=list(_ENGINES), default="mlserver", help="the server")
    made.add_argument(
        "--instances", type=_positive, default=1, help="processes that run the model (1)"
    )
    made.add_argument(
        "--max-batch",
        type=_positive,
        help="largest number of rows of a batch; 1: no batches; default: 32 for models with a"
        " batch dimension",
    )
    made.add_argument(
        "--max-delay",
        type=_milliseconds,
        default=0.0,
        metavar="MS",
        help="milliseconds that a request waits for a full batch (0: batches are the requests that"
        " arrived during the previous run)",
    )
    made.add_argument("--key-file", type=Path, help="the key of an encrypted model")
    made.add_argument(
        "--fast-run", type=Path, metavar="FILE", help="measure algorithms, and keep the times here"
    )
    made.add_argument(
        "--threads", type=_positive, help="CPU threads of an instance; default: CPUs / instances"
    )
    made.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="runs the model")
    made.add_argument("--host", default="127.0.0.1", help="the address to listen at (127.0.0.1)")
    made.add_argument("--http-port", type=_port, default=8080)
    made.add_argument("--grpc-port", type=_port, default=8081)
    made.add_argument("--metrics-port", type=_port, default=8082)
    made.add_argument(
        "--write-only",
        type=Path,
        metavar="DIR",
        help="write the model repository with a copy of the model, and start nothing",
    )
    return made


def _model_in(path: Path) -> Path:
    """The model in a folder, as KServe mounts it; a file as it is."""
    if not path.is_dir():
        return path
    files = sorted(file for file in path.iterdir() if file.is_file() and file.name[0] != ".")
    models = [file for file in files if file.suffix in (".mge", ".onnx")] or files
    if len(models) != 1:
        raise ServeError(USAGE, f"{path} has {len(models)} models; name one of them")
    return models[0]


def service_of(arguments: argparse.Namespace) -> Service:
    """Return the service that a command line describes.

    Args:
        arguments: the parsed command line.
    Raises:
        ServeError: the folder has no model or several, the model's name cannot be part of an
            address, or the engine does not run on the device.
    """
    model = _model_in(arguments.model)
    name = arguments.name
    if name is None:
        name = re.sub(r"[^\w.-]+", "_", model.stem)
    if not re.fullmatch(r"[\w-][\w.-]*", name):
        raise ServeError(USAGE, f"--name: {name!r} has other characters than letters, digits, ._-")
    if arguments.engine == "triton" and arguments.device != "cpu":
        raise ServeError(USAGE, "--engine triton runs models on CPUs only")
    cpus = len(os.sched_getaffinity(0))
    return Service(
        model=model,
        name=name,
        instances=arguments.instances,
        max_batch=arguments.max_batch,
        max_delay=arguments.max_delay,
        key_file=arguments.key_file,
        fast_run_cache=arguments.fast_run,
        threads=arguments.threads
        or (max(cpus // arguments.instances, 1) if arguments.instances > 1 else 0),
        device=arguments.device,
        host=arguments.host,
        http_port=arguments.http_port,
        grpc_port=arguments.grpc_port,
        metrics_port=arguments.metrics_port,
    )


def check_model(service: Service) -> None:
    """Read the model's description; with a given batch size, also try a batch.

    Args:
        service: has the model and its key.
    Raises:
        ServeError: the model or the key cannot be read or used.
    """
    try:
        get_model_io_info(service.model, config_of(service.key_file))
        if (service.max_batch or 1) > 1:
            model = ServedModel(service.model, service.key_file, max_batch=1)
            model.require_batch()
    except (OSError, ValueError) as error:
        raise ServeError(USAGE, str(error)) from None
    except RuntimeError as error:
        code, message = _code_of(service), str(error)
        if code == CRYPTO and service.key_file is None:
            message = f"{service.model} is encrypted; --key-file names its key"
        raise ServeError(code, message) from None


def _code_of(service: Service) -> int:
    """The exit code for a model that Lite, whose errors have no codes, has refused."""
    key = None if service.key_file is None else read_key(service.key_file)
    try:
        _mge.Graph(str(service.model), key=key)
    except _mge.CryptoError:
        return CRYPTO
    except MemoryError:
        return MEMORY
    except RuntimeError:
        pass
    return MODEL


def check_device(device: str) -> None:
    """Check that there is a device.

    Args:
        device: ``"cpu"`` or ``"cuda"``.
    Raises:
        ServeError: there is none.
    """
    try:
        is_there = device == "cpu" or LiteGlobal.get_device_count(LiteDeviceType.LITE_CUDA) > 0
    except RuntimeError as error:
        raise ServeError(DEVICE, str(error)) from None
    if not is_there:
        raise ServeError(DEVICE, "--device cuda: there is no NVIDIA GPU that mge can use")


def check_ports(service: Service) -> None:
    """Check that the server can listen.

    Args:
        service: has the host and the ports.
    Raises:
        ServeError: a port is in use, two are the same, or the host is not one of this machine.
    """
    ports = {
        "--http-port": service.http_port,
        "--grpc-port": service.grpc_port,
        "--metrics-port": service.metrics_port,
    }
    if len(set(ports.values())) < len(ports):
        raise ServeError(USAGE, f"{', '.join(ports)} have to differ")
    for flag, port in ports.items():
        try:
            family, kind, _, _, address = socket.getaddrinfo(
                service.host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            with socket.socket(family, kind) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
        except OSError as error:
            raise ServeError(USAGE, f"{flag} {port} of {service.host}: {error.strerror}") from None


def require_package(package: str) -> None:
    """Check that a server's package is installed.

    Args:
        package: its name.
    Raises:
        ServeError: it is not.
    """
    if importlib.util.find_spec(package) is None:
        raise ServeError(DEVICE, f"{package} is not installed: run pip install 'mge-engine[serve]'")


def run_mlserver(service: Service) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        service: the settings.
    Raises:
        ServeError: the package is missing, or the server could not load the model.
    """
    require_package("mlserver")
    check_ports(service)
    # Here because the package is optional.
    from .serving.mlserver_server import install_uvloop_event_loop, serve_folder

    install_uvloop_event_loop()

    with tempfile.TemporaryDirectory(prefix="mge-serve-") as folder:
        write_mlserver(service, Path(folder), copy_model=False)
        if not asyncio.run(serve_folder(folder)):
            raise ServeError(MODEL, f"{service.model} could not be served; see the log above")


def find_triton() -> tuple[str, Path]:
    """Return the path of Triton's server, and the folder with the backend.

    Raises:
        ServeError: one of them is missing.
    """
    server = shutil.which("tritonserver")
    package = importlib.util.find_spec("pytriton")
    if server is None and package is not None and package.submodule_search_locations:
        folder = Path(package.submodule_search_locations[0]) / "tritonserver/bin"
        server = shutil.which("tritonserver", path=str(folder))
    if server is None:
        raise ServeError(
            DEVICE,
            "tritonserver is not installed: use NVIDIA's image, or"
            " pip install --no-deps nvidia-pytriton==0.7.0",
        )
    around = Path(_mge.__file__).resolve().parent
    for folder in (os.environ.get(_BACKENDS), around.parents[1] / "lib/triton", around / "triton"):
        if folder and Path(folder, "mge/libtriton_mge.so").exists():
            return server, Path(folder)
    raise ServeError(
        DEVICE,
        "the backend libtriton_mge.so is not installed: build with -DMGE_TRITON=ON, or name the"
        f" folder that has mge/libtriton_mge.so in {_BACKENDS}",
    )


def run_triton(service: Service) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        service: the settings.
    Raises:
        ServeError: the server or the backend is missing, or the model could not be loaded.
    """
    server, backends = find_triton()
    check_ports(service)
    with tempfile.TemporaryDirectory(prefix="mge-serve-") as folder:
        write_triton(service, Path(folder), copy_model=False)
        command = [server, f"--model-repository={folder}", f"--backend-directory={backends}"]
        for kind in ("http", "grpc", "metrics"):
            command.append(f"--{kind}-address={service.host}")
            command.append(f"--{kind}-port={getattr(service, f'{kind}_port')}")
        # A group of its own: Ctrl-C in a terminal would reach it twice.
        process = subprocess.Popen(command, start_new_session=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, frame: process.send_signal(number))
        if process.wait() != 0:
            raise ServeError(MODEL, f"{service.model} could not be served; see the log above")


_ENGINES = {"mlserver": (write_mlserver, run_mlserver), "triton": (write_triton, run_triton)}


def main(arguments: list[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: the command line; None: this program's.
    Returns:
        The exit code, see docs/error-codes.md.
    """
    parsed = parser().parse_args(arguments)
    try:
        service = service_of(parsed)
        write, run = _ENGINES[parsed.engine]
        check_model(service)
        if parsed.write_only is not None:
            try:
                write(service, parsed.write_only, copy_model=True)
            except OSError as error:
                raise ServeError(USAGE, str(error)) from None
            return 0
        if service.host not in _LOOPBACK:
            print(
                f"megengine.serve: warning: {service.host} is open to other machines, and the"
                " server has no authentication",
                file=sys.stderr,
            )
        check_device(service.device)
        run(service)
    except ServeError as error:
        print(f"megengine.serve: {error}", file=sys.stderr)
        return error.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
