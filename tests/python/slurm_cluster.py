# SPDX-License-Identifier: Apache-2.0
"""A cluster of Slurm with one node: this machine."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from megengine.distributed.run import free_port

SETTINGS = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
START_SECONDS = 60  # beside other work


def wait_for(is_true, processes, logs):
    end = time.monotonic() + START_SECONDS
    while not is_true():
        states = [process.poll() for process in processes]
        if any(state is not None for state in states) or time.monotonic() > end:
            texts = [log.read_text()[-2000:] for log in logs if log.exists()]
            pytest.fail(f"Slurm has not started, {states}: " + "\n".join(texts))
        time.sleep(0.05)


def end(process):
    process.terminate()
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def is_node_idle(environment):
    command = ["sinfo", "--noheader", "--format=%T"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    return done.stdout.strip() == "idle"


@contextlib.contextmanager
def running_slurm():
    """Gives the variables of srun. The daemons run until the end of the block."""
    needed = ("munged", "slurmctld", "slurmd", "srun")
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    found = {name: shutil.which(name, path=path) for name in needed}
    if missing := [name for name, place in found.items() if place is None]:
        pytest.skip(f"Slurm is not installed: no {missing[0]}")
    if os.getuid() != 0:
        pytest.skip("the daemons of Slurm need root")
    host = socket.gethostname().partition(".")[0]
    with tempfile.TemporaryDirectory(prefix="slurm") as name, contextlib.ExitStack() as stack:
        folder, settings = Path(name), Path(name, "slurm.conf")
        for part in ("state", "spool"):
            (folder / part).mkdir()
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        ports = {"controller_port": free_port(), "node_port": free_port()}
        settings.write_text(SETTINGS.format(host=host, user="root", folder=folder, **ports))
        environment = {"SLURM_CONF": str(settings)}
        processes, logs = [], []

        def start(daemon, *arguments):
            log = folder / f"{daemon}.log"
            with log.open("w") as stream:
                process = subprocess.Popen(
                    [found[daemon], *map(str, arguments)],
                    env=os.environ | environment,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                )
            processes.append(process)
            logs.append(log)
            stack.callback(end, process)

        files = [f"--{one}-file={folder}/munge.{one}" for one in ("key", "pid", "log", "seed")]
        start("munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *files)
        start("slurmctld", "-D", "-f", settings)
        start("slurmd", "-D", "-f", settings)
        wait_for(lambda: is_node_idle(environment), processes, logs)
        try:
            yield environment
        finally:  # processes of a job would outlive the daemons
            subprocess.run(["scancel", "--full", "--user=root"], env=os.environ | environment)
            wait_for(lambda: is_node_idle(environment), processes, logs)
