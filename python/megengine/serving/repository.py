# SPDX-License-Identifier: Apache-2.0
"""Writes the files that a server reads: its settings, and those of the model."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

# MLServer's own limit is 4 MiB, less than a batch of images.
MAX_MESSAGE_BYTES = 256 << 20


@dataclass(frozen=True)
class Service:
    """A model and the settings of its server.

    Args:
        model: the model file.
        name: the model's name in requests.
        instances: number of processes that run the model.
        max_batch: largest number of rows of a batch; None: the default.
        max_delay: milliseconds that a request waits for a full batch.
        key_file: the key of an encrypted model; its path is written, its content is not.
        fast_run_cache: file of measured algorithm times.
        threads: number of CPU threads of an instance; 0: the CPUs divided by the instances.
        device: ``"cpu"`` or ``"cuda"``.
        host: address at which the server listens.
        http_port, grpc_port, metrics_port: its ports.
    """

    model: Path
    name: str
    instances: int = 1
    max_batch: int | None = None
    max_delay: float = 0.0
    key_file: Path | None = None
    fast_run_cache: Path | None = None
    threads: int = 0
    device: str = "cpu"
    host: str = "127.0.0.1"
    http_port: int = 8080
    grpc_port: int = 8081
    metrics_port: int = 8082


def write_mlserver(service: Service, folder: Path, copy_model: bool) -> None:
    """Write a model repository of MLServer.

    Args:
        service: the settings.
        folder: is made; files in it are replaced.
        copy_model: False: the repository names the model where it is.
    Raises:
        OSError: a file cannot be written.
    """
    home = folder / service.name
    home.mkdir(parents=True, exist_ok=True)
    settings = {
        "debug": False,
        "host": service.host,
        "http_port": service.http_port,
        "grpc_port": service.grpc_port,
        "metrics_port": service.metrics_port,
        "grpc_max_message_length": MAX_MESSAGE_BYTES,
        # One instance runs in the server's own process, without copies between processes.
        "parallel_workers": service.instances if service.instances > 1 else 0,
    }
    if not copy_model:
        settings["metrics_dir"] = str(folder / "metrics")
        settings["environments_dir"] = str(folder / "environments")
    extra = {
        "max_delay": service.max_delay / 1000,
        "max_batch": service.max_batch,
        "threads": service.threads,
        "device": service.device if service.device != "cpu" else None,
        "key_file": service.key_file and str(service.key_file.absolute()),
        "fast_run_cache": service.fast_run_cache and str(service.fast_run_cache.absolute()),
    }
    model_settings = {
        "name": service.name,
        "implementation": "megengine.serving.MGERuntime",
        "platform": "mge",
        "parameters": {
            "uri": _place_model(service.model, home, copy_model),
            "extra": {name: value for name, value in extra.items() if value},
        },
    }
    _write_json(folder / "settings.json", settings)
    _write_json(home / "model-settings.json", model_settings)


def write_triton(service: Service, folder: Path, copy_model: bool) -> None:
    """Write a model repository of Triton.

    Args:
        service: the settings.
        folder: is made; files in it are replaced.
        copy_model: False: the repository names the model where it is.
    Raises:
        OSError: a file cannot be written.
    """
    home = folder / service.name
    version = home / "1"
    version.mkdir(parents=True, exist_ok=True)
    # A path in this setting may be absolute.
    model = Path(_place_model(service.model, version, copy_model))
    lines = [
        f"name: {_quoted(service.name)}",
        'backend: "mge"',
        f"default_model_filename: {_quoted(str(model))}",
        f"instance_group [ {{ count: {service.instances} kind: KIND_CPU }} ]",
    ]
    parameters = {
        "threads": str(service.threads or ""),
        "key_file": str(service.key_file.absolute() if service.key_file else ""),
        "fast_run_cache": str(service.fast_run_cache.absolute() if service.fast_run_cache else ""),
        "batching": "off" if service.max_batch == 1 else "",
    }
    if (service.max_batch or 1) > 1:
        lines.append(f"max_batch_size: {service.max_batch}")
    if service.max_delay and service.max_batch != 1:
        microseconds = round(service.max_delay * 1000)
        lines.append(f"dynamic_batching {{ max_queue_delay_microseconds: {microseconds} }}")
    lines += [
        f"parameters {{ key: {_quoted(name)} value {{ string_value: {_quoted(value)} }} }}"
        for name, value in parameters.items()
        if value
    ]
    (home / "config.pbtxt").write_text("\n".join(lines) + "\n")


def _quoted(text: str) -> str:
    """A string of protobuf's text format, whose escapes are those of JSON for ASCII."""
    return json.dumps(text)


def _place_model(model: Path, home: Path, copy_model: bool) -> str:
    if not copy_model:
        return str(model.absolute())
    name = f"model{model.suffix}"
    shutil.copyfile(model, home / name)
    return f"./{name}"


def _write_json(path: Path, value: dict) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n")
