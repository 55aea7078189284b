"""What a command costs that a person types: processor time of the whole process, beside a bare start of its libraries."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.fleet import report
from noonmark.core.model import SECOND, Every
from noonmark.testing.builders import make_job
from noonmark.testing.world import World
from noonmark.wiring import open_store

BARE = ("-c", "import apsw, click, dataclasses, json")
COMMANDS = {"--help": 150, "why tick": 200}
"""Command -> its budget, in milliseconds."""


def measure(runs: int) -> None:
    """Ask each command several times, in turn with the bare start, about a job that has run."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/bench.db"
        _ran(url)
        for command, budget in COMMANDS.items():
            ours, bare = [], []
            for _ in range(1 + 3 * runs):  # the first writes bytecode and is left out
                ours.append(_milliseconds(Path(folder), url, "-m", "noonmark.faces.cli", *command.split()))
                bare.append(_milliseconds(Path(folder), url, *BARE))
            report(
                "command",
                command=command,
                unit="ms CPU",
                median=round(statistics.median(ours[1:]), 1),
                least=round(min(ours[1:]), 1),
                budget=budget,
                bare=round(statistics.median(bare[1:]), 1),
                ratio=round(statistics.median(ours[1:]) / statistics.median(bare[1:]), 2),
            )


def _ran(url: str) -> None:
    with World(replicas=1, store=lambda clock: open_store(url, clock=clock)) as world:
        world.job(make_job("tick", trigger=Every(period=SECOND)), lambda: None)
        world.advance("10s")
    world.store.close()


def _milliseconds(folder: Path, url: str, *args: str) -> float:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *args], cwd=folder, env=env | {"NOONMARK_URL": url}, check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
