"""Names, keys, parameters, flags and paths of any script, and terminals that cannot show them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import noonmark as noonmark_package

JOBS = """
from noonmark import ContextSync, Scheduler, Window, manual, ready

sched = Scheduler(rules=False)

@sched.job(manual(), name="经营日报", key="报告:{params.频道}:{business_date}", depends_on=[ready("语料.索引")],
           reason="每天早上看；naïve 😀")
def report(ctx: ContextSync, 频道: str) -> dict[str, str]:
    ctx.progress(1, 2, "一半")
    return {"结果": ctx.step("写摘要", lambda: f"完成：{频道} 😀")}

@sched.job(manual(), name="échec", retry=0, reason="Ça échoue.")
def fails() -> None:
    raise RuntimeError("渠道返回 503 😀")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a name in Chinese, in which one run of each job has ended."""
    folder = tmp_path_factory.mktemp("准点 été")
    (folder / "任务.py").write_text(JOBS, encoding="utf-8")
    log = folder / "worker.log"
    with log.open("wb") as said:
        worker = subprocess.Popen(
            [sys.executable, "-m", "noonmark.faces.cli", "worker", "任务.py", "--name", "工人一号"],
            cwd=folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
    try:
        ask_until(folder, ["jobs", "--json"], "échec")
        assert call(folder, "run", "经营日报", "--param", "频道=运营😀").returncode == 0
        assert call(folder, "run", "échec").returncode == 0
        ask_until(folder, ["why", "经营日报", "--json"], "flag_missing")
        assert call(folder, "signal", "语料.索引").returncode == 0
        ask_until(folder, ["why", "经营日报", "--json"], '"SUCCESS"')
        ask_until(folder, ["why", "échec", "--json"], '"FAILED_MANUAL"')
    finally:
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=30) == 0, log.read_text(encoding="utf-8")
    return folder


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NOONMARK_", "LC_", "LANG"))}
    return {**kept, "PYTHONPATH": str(Path(noonmark_package.__file__ or "").parents[1]), "LANG": "C.UTF-8", **more}


def call(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "noonmark.faces.cli", *args],
        cwd=folder,
        env=environment(**env),
        capture_output=True,
        timeout=60,
        check=False,
    )


def ask_until(folder: Path, question: list[str], wanted: str) -> None:
    deadline = time.monotonic() + 30
    while wanted not in (answer := call(folder, *question)).stdout.decode():
        assert time.monotonic() < deadline, answer
        time.sleep(0.1)


def test_names_keys_params_flags_and_paths_of_any_script_come_back_as_they_were(folder: Path) -> None:
    (run,) = json.loads(call(folder, "history", "经营日报", "--json").stdout)["occurrences"]
    assert run["key"].startswith("报告:运营😀:")
    told = call(folder, "show", "经营日报", "--lang", "zh").stdout.decode()
    assert "每天早上看；naïve 😀" in told
    assert "语料.索引" in call(folder, "flags").stdout.decode()
    assert "渠道返回 503 😀" in call(folder, "why", "échec").stdout.decode()
    assert "工人一号" in call(folder, "leases").stdout.decode()
    assert call(folder, "verify").returncode == 0


TERMINALS = {
    "latin-1": {"PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"},
    "cp1252": {"PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252"},
    "gbk": {"PYTHONUTF8": "0", "PYTHONIOENCODING": "gbk"},
    "ascii": {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    "a bare C locale": {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("terminal", TERMINALS)
def test_a_terminal_that_cannot_show_a_name_gets_it_escaped_and_the_answer_all_the_same(
    folder: Path, terminal: str, lang: str
) -> None:
    answers = []
    for question in (["why", "经营日报"], ["jobs"], ["history"], ["show", "échec"], ["flags"]):
        answer = call(folder, *question, "--lang", lang, **TERMINALS[terminal])
        assert answer.returncode == 0, answer
        assert b"Traceback" not in answer.stderr
        assert answer.stdout.strip()
        answers.append(answer.stdout)
    sentence = answers[0]
    if terminal in ("latin-1", "cp1252"):  # no Chinese sentence could be read there
        assert sentence.startswith(b"It ran "), sentence
    if terminal == "gbk" and lang == "zh":
        assert "运行" in sentence.decode("gbk")


@pytest.mark.parametrize("terminal", TERMINALS)
def test_json_is_json_on_every_terminal(folder: Path, terminal: str) -> None:
    answer = call(folder, "why", "经营日报", "--json", "--lang", "zh", **TERMINALS[terminal])
    assert answer.returncode == 0
    assert json.loads(answer.stdout)["job"] == "经营日报"


def test_an_argument_that_is_no_text_is_refused_and_no_fault(folder: Path) -> None:
    answer = subprocess.run(
        [os.fsencode(sys.executable), b"-m", b"noonmark.faces.cli", b"why", b"\xff\xfe"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 2, answer
    assert b"an argument is no text" in answer.stderr
    assert b"Traceback" not in answer.stderr
