"""ResearchCopilot as a person uses it: a worker in one terminal, questions and the HTTP API in others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import noonmark

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "apps" / "researchcopilot" / "src"


class Terminal:
    """Commands in one folder, over one corpus."""

    def __init__(self, folder: Path) -> None:
        (folder / "papers").mkdir()
        (folder / "papers" / "leases.md").write_text(
            "# Leases\n\nA fence is a number that only grows.\n\n栅栏号只增不减。\n", "utf-8"
        )
        self._folder = folder
        self._running: list[subprocess.Popen[str]] = []
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NOONMARK_", "OPENAI_"))}
        path = os.pathsep.join([str(Path(noonmark.__file__).parents[1]), str(APP)])
        self._environment = {**kept, "PYTHONPATH": path, "RESEARCHCOPILOT_CORPUS": str(folder / "papers")}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "researchcopilot", *arguments],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._running.append(process)
        return process

    def run(self, *arguments: str) -> tuple[int, str]:
        process = self.start(*arguments)
        told, _ = process.communicate(timeout=60)
        return process.returncode, told

    def close(self) -> None:
        for process in self._running:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    yield made
    made.close()


def test_a_question_is_answered_by_a_worker_in_another_process(terminal: Terminal) -> None:
    worker = terminal.start("worker")
    code, told = terminal.run("ask", "--wait", "--timeout", "30", "What is a fence?")
    assert (code, "A fence is a number that only grows. [1]" in told) == (0, True), told
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=30) == 0


def test_a_run_asked_over_http_outlives_the_api_and_the_worker_that_dies(terminal: Terminal) -> None:
    api = terminal.start("serve", "--port", "0")
    assert api.stdout is not None
    address = api.stdout.readline().split()[2].rstrip(",")
    asked = _post(f"{address}/runs", {"question": "栅栏号是什么？"})
    api.kill()
    api.wait()
    first = terminal.start("worker")
    first.kill()
    first.wait()
    terminal.start("worker")
    deadline = time.monotonic() + 60
    while terminal.run("show", asked["id"])[0] != 0:
        assert time.monotonic() < deadline, "the run was lost"
    assert "栅栏号只增不减" in terminal.run("show", asked["id"])[1]


def _post(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as reply:
        return json.loads(reply.read())
