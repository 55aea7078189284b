"""The command line as a person meets it: real processes on a real SQLite file."""

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

COMMANDS = [
    *("init", "demo", "dev", "worker", "jobs", "show", "next", "why", "history", "run", "retry", "cancel", "mark"),
    *("pause", "resume", "signal", "flags", "backlog", "leases", "verify", "rules", "schema", "version"),
]
READS = (
    ["jobs"],
    ["show", "hello"],
    ["next"],
    ["why", "hello"],
    ["history"],
    ["flags"],
    ["backlog"],
    ["leases"],
    ["verify"],
)

JOBS = """
from noonmark import Context, Scheduler, every, manual

sched = Scheduler(rules=False)

@sched.job(every("1s"), key="tick:{scheduled_for}", reason="Show that it works.")
async def tick(ctx: Context) -> str:
    return "done"

@sched.job(manual(), key="letter:{business_date}", retry=0, reason="Sent when somebody asks.")
def letter() -> None:
    raise ValueError("no such reader")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs.py").write_text(JOBS, encoding="utf-8")
    return tmp_path


def environment(**more: str) -> dict[str, str]:
    dropped = ("NOONMARK_", "LC_", "LANG", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    source = str(Path(noonmark_package.__file__ or "").parents[1])
    return {**kept, "LANG": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONPATH": source, **more}


def noonmark(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "noonmark.faces.cli", *args],
        cwd=folder,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def start_worker(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    return start(folder, "worker", "jobs.py", "--name", "w1", *more)


def start(folder: Path, *args: str) -> subprocess.Popen[bytes]:
    """Start a command that goes on; what it says goes to a file."""
    with (folder / "said.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "noonmark.faces.cli", *args],
            cwd=folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=log,
        )


def stop(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def until(folder: Path, question: list[str], wanted: str, *, seconds: float = 20) -> dict[str, object]:
    """Ask until the JSON answer contains a text."""
    deadline = time.monotonic() + seconds
    while True:
        answer = noonmark(folder, *question, "--json")
        if wanted in answer.stdout:
            found: dict[str, object] = json.loads(answer.stdout)
            return found
        assert time.monotonic() < deadline, answer
        time.sleep(0.2)


def test_help_lists_every_command_and_the_exit_codes(tmp_path: Path) -> None:
    answer = noonmark(tmp_path, "--help")
    assert answer.returncode == 0
    listed = [line.split()[0] for line in answer.stdout.splitlines() if line.startswith("  ") and line[2:3].isalpha()]
    assert [name for name in listed if name in COMMANDS] == COMMANDS
    for text in ("NOONMARK_URL", "Exit codes"):
        assert text in answer.stdout


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "demo"])
def test_every_command_has_help_and_takes_json(tmp_path: Path, command: str) -> None:
    answer = noonmark(tmp_path, command, "--help")
    assert answer.returncode == 0, answer.stderr
    assert "--json" in answer.stdout
    assert "--lang" in answer.stdout


@pytest.mark.parametrize("question", READS, ids=lambda question: question[0])
def test_looking_never_creates_a_store_and_says_so_with_exit_4(tmp_path: Path, question: list[str]) -> None:
    answer = noonmark(tmp_path, *question)
    assert answer.returncode == 4
    assert answer.stdout == ""
    assert answer.stderr.startswith("noonmark: there is no store at .noonmark/noonmark.db\n")
    assert list(tmp_path.iterdir()) == []


def test_a_worker_runs_a_job_and_the_ledger_proves_it(folder: Path) -> None:
    process = start_worker(folder)
    try:
        until(folder, ["why", "tick"], '"on_time"')
        told = noonmark(folder, "why", "tick")
        assert told.returncode == 0
        assert " on w1, done after " in told.stdout or "running now" in told.stdout or "due" in told.stdout
    finally:
        code = stop(process)
    assert code == 0, (folder / "said.log").read_text(encoding="utf-8")
    proved = noonmark(folder, "verify", "--since", "1h")
    assert proved.returncode == 0, proved.stdout
    assert proved.stdout.splitlines()[-1] == "OK"
    assert "0 ran twice · 0 missing" in proved.stdout


RULES = """\
version: 1
jobs:
  echo:
    schedule: {every: 1s}
    command: ["true"]
    dedupe_key: "echo:{scheduled_for}"
    reason: A command is a job, too.
"""


def test_a_worker_runs_a_rules_file_and_logs_json_lines(folder: Path) -> None:
    (folder / "noonmark.yaml").write_text(RULES, encoding="utf-8")
    process = start(folder, "worker", "noonmark.yaml", "--log-format", "json")
    try:
        until(folder, ["why", "echo"], '"on_time"')
    finally:
        code = stop(process)
    log = (folder / "said.log").read_text(encoding="utf-8")
    assert code == 0, log
    lines = [json.loads(line) for line in log.splitlines()]
    assert all(line["v"] == 1 and line["level"] and line["message"] for line in lines)
    assert any("echo" in line["message"] for line in lines)


def test_a_worker_finds_a_module_by_name(folder: Path) -> None:
    process = start(folder, "worker", "jobs:sched")
    try:
        until(folder, ["jobs"], '"tick"')
    finally:
        assert stop(process) == 0, (folder / "said.log").read_text(encoding="utf-8")


def test_a_refused_app_is_told_at_its_line_and_ends_with_2(folder: Path) -> None:
    (folder / "jobs.py").write_text(
        JOBS.replace('retry=0, reason="Sent when somebody asks."', "retry=0"), encoding="utf-8"
    )
    answer = noonmark(folder, "worker", "jobs.py")
    assert answer.returncode == 2
    assert "Traceback" not in answer.stderr
    assert "reason" in answer.stderr
    assert "jobs.py:" in answer.stderr


def test_a_run_that_fails_is_told_retried_marked_and_refused(folder: Path) -> None:
    process = start_worker(folder)
    try:
        until(folder, ["jobs"], '"letter"')
        asked = noonmark(folder, "run", "letter", "--reason", "for the archive", "--json")
        assert asked.returncode == 0, asked.stderr
        number = json.loads(asked.stdout)["runs"][0]["id"]
        told = until(folder, ["why", f"r{number}"], '"FAILED_MANUAL"')
        assert "ValueError: no such reader" in json.dumps(told)
        refused = noonmark(folder, "run", "letter")
        assert refused.returncode == 3
        assert f"(r{number})" in refused.stdout
        assert noonmark(folder, "retry", f"r{number}").returncode == 0
        until(folder, ["why", f"r{number}"], '"FAILED_MANUAL"')
        marked = noonmark(folder, "mark", f"r{number}", "handled", "--reason", "told the reader")
        assert marked.returncode == 0
        assert "told the reader" in noonmark(folder, "why", f"r{number}").stdout
    finally:
        stop(process)


def test_dev_waits_for_a_file_that_is_taken_away_while_it_is_replaced(folder: Path) -> None:
    process, app, log = start(folder, "dev", "jobs.py", "--poll", "0.1"), folder / "jobs.py", folder / "said.log"
    try:
        until(folder, ["jobs"], '"tick"')
        text = app.read_text(encoding="utf-8")
        app.unlink()
        deadline = time.monotonic() + 20
        while "there is no file jobs.py" not in log.read_text(encoding="utf-8"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        app.write_text(text.replace("def letter", "def card").replace("letter:", "card:"), encoding="utf-8")
        until(folder, ["jobs"], '"card"')
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=20)
    assert code == 130, log.read_text(encoding="utf-8")


def test_dev_does_not_start_a_worker_for_ever_that_writes_a_watched_file_and_fails(folder: Path) -> None:
    app, log = folder / "jobs.py", folder / "said.log"
    text = app.read_text(encoding="utf-8")
    app.write_text(
        "import pathlib, time\n"
        "made = pathlib.Path(__file__).with_name('made.yaml')\n"
        "made.write_text(str(time.time_ns()))\n"
        "raise RuntimeError('not today')\n",
        encoding="utf-8",
    )
    process = start(folder, "dev", "jobs.py", "--poll", "0.1")
    try:
        deadline = time.monotonic() + 60
        while "waiting for a change" not in log.read_text(encoding="utf-8"):
            assert time.monotonic() < deadline, "it goes on and on"
            time.sleep(0.1)
        said = log.read_text(encoding="utf-8")
        assert said.count("starting anew") >= 2  # more where a busy machine takes long to load the app
        assert "the worker itself writes" in said
        assert "made.yaml" in said
        app.write_text(text, encoding="utf-8")
        until(folder, ["jobs"], '"tick"')
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)


def test_dev_starts_anew_when_a_file_changes_and_leaves_nothing_behind(folder: Path) -> None:
    process = start(folder, "dev", "jobs.py", "--poll", "0.1")
    try:
        until(folder, ["jobs"], '"tick"')
        (folder / "jobs.py").write_text(
            JOBS.replace("def letter", "def card").replace("letter:", "card:"), encoding="utf-8"
        )
        until(folder, ["jobs"], '"card"')
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=20)
    assert code == 130, (folder / "said.log").read_text(encoding="utf-8")
    assert all(not worker["awake"] for worker in json.loads(noonmark(folder, "leases", "--json").stdout)["workers"])


@pytest.mark.parametrize(
    ("where", "code"), [(">&-", 0), ("| true", 141), (">/dev/full", 2)], ids=["closed", "unread", "full"]
)
def test_an_output_that_takes_nothing_is_no_fault_of_noonmark(tmp_path: Path, where: str, code: int) -> None:
    if where == ">/dev/full" and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    line = f"{sys.executable} -m noonmark.faces.cli schema {where}; exit ${{PIPESTATUS[0]}}"
    answer = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False)
    assert answer.returncode == code
    assert "fault in noonmark" not in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_name_too_long_for_any_file_is_told_in_words(tmp_path: Path) -> None:
    answer = noonmark(tmp_path, "rules", "check", "x" * 5000)
    assert answer.returncode == 2
    assert "fault in noonmark" not in answer.stderr


def test_a_file_that_is_no_database_ends_with_4_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_bytes(b"this is no database" * 500)
    answer = noonmark(tmp_path, "jobs", "--url", "sqlite:///broken.db")
    assert answer.returncode == 4
    assert "Traceback" not in answer.stderr
    assert "broken.db" in answer.stderr


def test_a_store_url_that_nothing_opens_is_told_in_words(tmp_path: Path) -> None:
    for url in ("redis://localhost", "nonsense", "memory://"):
        answer = noonmark(tmp_path, "jobs", "--url", url)
        assert answer.returncode in (2, 4), url
        assert "Traceback" not in answer.stderr
        assert answer.stderr.startswith("noonmark: ")


def test_usage_mistakes_end_with_2(tmp_path: Path) -> None:
    for args in (["why"], ["jobs", "--nope"], ["nope"], ["mark", "1", "done"], ["history", "--limit", "x"], []):
        answer = noonmark(tmp_path, *args)
        assert answer.returncode == 2, args
        assert "Traceback" not in answer.stderr


def test_a_reader_that_goes_away_is_no_fault(folder: Path) -> None:
    piped = f"'{sys.executable}' -m noonmark.faces.cli schema | head -1; echo ${{PIPESTATUS[0]}}"
    answer = subprocess.run(
        ["bash", "-c", piped], cwd=folder, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert answer.stdout.splitlines() == ["{", "0"]
    assert answer.stderr == ""


def calls_and_modules(folder: Path, *args: str) -> tuple[int, int]:
    """How many functions a whole command calls, imports included, and how many modules it loads."""
    code = """if True:
        import cProfile, io, pstats, sys
        profile, shown = cProfile.Profile(), sys.stdout
        sys.stdout = io.StringIO()
        profile.enable()
        from noonmark.faces.cli.__main__ import main
        try:
            main(sys.argv[1:])
        except SystemExit:
            pass
        profile.disable()
        print(pstats.Stats(profile).total_calls, len(sys.modules), file=shown)
    """
    answer = subprocess.run(
        [sys.executable, "-c", code, *args], cwd=folder, env=environment(), capture_output=True, text=True, check=True
    )
    calls, modules = answer.stdout.split()
    return int(calls), int(modules)


def test_help_and_why_are_cheap(folder: Path) -> None:
    """Counted, because a busy machine takes more time for the same work; ``make bench`` has the milliseconds."""
    process = start_worker(folder)
    try:
        until(folder, ["why", "tick"], '"on_time"')
    finally:
        stop(process)
    for args, most_calls, most_modules in ((["--help"], 50_000, 140), (["why", "tick"], 150_000, 320)):
        calls_and_modules(folder, *args)  # the first call writes bytecode
        calls, modules = calls_and_modules(folder, *args)
        assert calls <= most_calls, args
        assert modules <= most_modules, args


def test_garbage_is_looked_for_while_a_command_does_its_work(folder: Path) -> None:
    code = (
        "import atexit, gc, sys; from noonmark.faces.cli.__main__ import main; "
        "atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count() > 0, file=sys.stderr)); main()"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, "version"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stderr == "True True\n", "a worker would never be rid of its garbage"


def test_why_and_help_import_nothing_heavy(folder: Path) -> None:
    process = start_worker(folder)
    try:
        until(folder, ["why", "tick"], '"on_time"')
    finally:
        stop(process)
    heavy = ("asyncio", "pydantic", "ruamel", "rich", "importlib.metadata")
    for args in (["--help"], ["why", "tick"], ["jobs"], ["backlog"]):
        code = (
            "import sys; from noonmark.faces.cli.__main__ import main; code = main(sys.argv[1:]); "
            f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
        )
        answer = subprocess.run(
            [sys.executable, "-c", code, *args],
            cwd=folder,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.stderr.splitlines()[-1] == "[]", args
