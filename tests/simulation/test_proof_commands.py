"""The commands of the proof refuse what makes no sense, try something or are not green, and end when they are told to."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from noonmark.core.model import HOUR
from noonmark.sim import command as sim_command
from noonmark.sim import plan
from noonmark.sim.asking import HOURS, as_they_end, in_turn
from noonmark.sim.command import main as sim
from noonmark.sim.exhaustive.command import main as exhaustive
from noonmark.sim.mutants.command import main as mutants
from noonmark.sim.seedbook import new_seeds

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from faults.command import main as faults
from faults.command import verdict
from faults.figures import Outcome
from faults.passes import PREFIX, clear, ground

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {
    "noonmark.sim": sim,
    "noonmark.sim.mutants": mutants,
    "noonmark.sim.exhaustive": exhaustive,
    "faults": faults,
}
SENSELESS = [
    ("noonmark.sim", "--seeds abc", "is not A-B"),
    ("noonmark.sim", "--seeds 9-3", "write 3-9"),
    ("noonmark.sim", "--seeds -", "is not A-B"),
    ("noonmark.sim", "--seeds=-5", "is not A-B"),
    ("noonmark.sim", "--seeds ", "is not A-B"),
    ("noonmark.sim", "--seeds 0-99999999999", "ask for fewer"),
    ("noonmark.sim", "--seeds 0 --lossy", "none has a store that loses writes"),
    ("noonmark.sim", "--hours -1", "too short"),
    ("noonmark.sim", "--hours 0.5", "at least 0.59 hours (35 minutes)"),
    ("noonmark.sim", "--hours nan", "is not a number of hours"),
    ("noonmark.sim", "--hours inf", "is not a number of hours"),
    ("noonmark.sim", "--hours 1e9", "too long"),
    ("noonmark.sim", "--jobs 0", "at least 1"),
    ("noonmark.sim", "--jobs 100000", "at most 256"),
    ("noonmark.sim", "--replay -1", "at least 0"),
    ("noonmark.sim", "--replay 3 --seeds 4", "not allowed with"),
    ("noonmark.sim", "--replay 3 --keep zzz", "nor none"),
    ("noonmark.sim", "--replay 3 --keep 99999", "no fault is at 99999"),
    ("noonmark.sim", "--keep 3", "only with --replay"),
    ("noonmark.sim", "--ledger no/such/folder/file", "there is no folder"),
    ("noonmark.sim", "--ledger .", "is a folder"),
    ("noonmark.sim", "--more 100", "needs --ledger"),
    ("noonmark.sim.mutants", "zzz", "no bug's name holds 'zzz'"),
    ("noonmark.sim.mutants", "fence zzz", "no bug's name holds 'zzz'"),
    ("noonmark.sim.mutants", "--seeds 0", "at least 1"),
    ("noonmark.sim.mutants", "--jobs 0", "at least 1"),
    ("noonmark.sim.exhaustive", "--depth 0", "at least 1"),
    ("noonmark.sim.exhaustive", "--depth -3", "at least 1"),
    ("noonmark.sim.exhaustive", "--depth shallow", "is not a whole number"),
    ("noonmark.sim.exhaustive", "--calm-every -1", "at least 0"),
    ("noonmark.sim.exhaustive", "nowhere", "nowhere"),
    ("faults", "--repeat 0", "at least 1"),
    ("faults", "--at-once 0", "at least 1"),
    ("faults", "--cells F99", "unknown: F99"),
    ("faults", "--stores oracle", "unknown: oracle"),
    ("faults", "--cells sqlite", "sqlite is a store"),
    ("faults", "--stores sqlite --cells F1,P1", "P1 is not staged on sqlite"),
    ("faults", "--stores sqlite,postgres --cells F7", "none of F7 is staged on postgres"),
    ("faults", "--out no/such/folder/file", "--out"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "words", "said"), SENSELESS, ids=[f"{c} {w}" for c, w, _ in SENSELESS])
def test_what_makes_no_sense_is_refused_before_anything_is_tried(
    command: str,
    words: str,
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        COMMANDS[command](words.split(" "))
    assert ended.value.code == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert not shown.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_for_who_asks_not_for_who_programs(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        COMMANDS[command](["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "Rule of the file" not in shown
    assert "Promise:" not in shown
    assert "``" not in shown


BUSY = {
    "noonmark.sim": "--seeds 0-999 --jobs 2",
    "noonmark.sim.mutants": "--jobs 2 --seeds 4000",
    "noonmark.sim.exhaustive": "",
    "faults": "--stores sqlite --cells F2,F3 --repeat 50",
}


@pytest.mark.parametrize("command", BUSY)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "asked to end"])
def test_a_command_that_is_stopped_ends_at_once_in_one_line(
    command: str, number: signal.Signals, tmp_path: Path
) -> None:
    said, blamed = tmp_path / "said", tmp_path / "blamed"
    # Its own process group and its own folder for files: whatever is left of it can be found.
    with said.open("wb") as out, blamed.open("wb") as err:
        running = subprocess.Popen(
            [sys.executable, "-m", command, *BUSY[command].split()],
            cwd=ROOT, stdout=out, stderr=err, start_new_session=True, env={**os.environ, "TMPDIR": str(tmp_path)},
        )  # fmt: skip
        try:
            begun = time.monotonic()
            while not _is_busy(command, running.pid, said, tmp_path) and time.monotonic() < begun + 60:
                assert running.poll() is None, blamed.read_text()
                time.sleep(0.05)
            running_children = _family(running.pid)
            os.killpg(running.pid, number)  # as a terminal does: everybody hears it
            asked = time.monotonic()
            code = running.wait(20)
            took = time.monotonic() - asked
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
    assert code == 130
    assert took < 10, "two seconds on a machine of which others want nothing"
    assert blamed.read_text() == "stopped before the end: this is no verdict\n"
    assert not list(tmp_path.glob(f"{PREFIX}*"))
    end = time.monotonic() + 10
    while (left := [pid for pid in running_children if _is_alive(pid)]) and time.monotonic() < end:
        time.sleep(0.05)
    assert not left


DROPPED = """
import os, signal, sys, time
from noonmark.sim.asking import stoppable

class Given:
    def __del__(self):
        if next(often) < 2:
            os.kill(os.getpid(), int(sys.argv[1]) if not asked else signal.SIGALRM)
            asked.append(True)

@stoppable
def main(arguments):
    while time.monotonic() < end:
        Given()
    return 0

often, asked, end = iter(range(1 << 60)), [], time.monotonic() + 30
sys.exit(main([]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "asked to end"])
def test_an_interruption_that_the_interpreter_drops_comes_anew(number: signal.Signals) -> None:
    """It drops what is raised while an object is given back; of a search that makes millions of them this is a part."""
    script = [sys.executable, "-c", DROPPED, str(int(number))]
    ended = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (130, "stopped before the end: this is no verdict\n")


WAITING = """
import os, signal, sys
from concurrent.futures import Future, _base
from noonmark.sim import asking

class Taking(_base._AcquireFutures):
    def __enter__(self):
        for place, future in enumerate(self.futures):
            future._condition.acquire()
            if place == len(self.futures) // 2:  # half of the locks are taken
                os.kill(os.getpid(), int(sys.argv[1]))

@asking.stoppable
def main(arguments):
    with asking.Team(2) as team:
        work = [team.submit(divmod, each, 7) for each in range(100)]
        _base._AcquireFutures = Taking
        for ended in getattr(asking, sys.argv[2])(work):
            ended.result()
    return 0

if __name__ == "__main__":
    sys.exit(main([]))
"""


@pytest.mark.parametrize("waiting", ["as_they_end", "in_turn"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "asked to end"])
def test_an_interruption_of_whoever_takes_many_locks_leaves_none_taken(
    number: signal.Signals, waiting: str, tmp_path: Path
) -> None:
    """Else who gives the results back waits for one of them, and who tidies up waits for that, for ever."""
    (tmp_path / "waiting.py").write_text(WAITING, encoding="utf-8")
    script = [sys.executable, str(tmp_path / "waiting.py"), str(int(number)), waiting]
    with subprocess.Popen(script, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        try:
            _, blamed = running.communicate(timeout=60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
    assert (running.returncode, blamed) == (130, "stopped before the end: this is no verdict\n")


MADE_OF_TEXT = """
import sys
if sys.argv[1] == "proof":
    from noonmark.sim.asking import stoppable
else:
    from noonmark.faces.cli import __main__ as cli

def main(*_, **__):
    exec("import os, signal; os.kill(os.getpid(), signal.SIGINT)\\nwhile True: pass")

if sys.argv[1] == "proof":
    sys.exit(stoppable(main)([]))
cli.noonmark.main = main
cli.main()
"""


@pytest.mark.parametrize("which", ["proof", "noonmark"])
def test_an_interruption_of_code_that_is_made_of_a_text_ends_with_the_code_of_one(which: str, tmp_path: Path) -> None:
    """CPython would end what was begun with -m by the signal: whoever declares a dataclass at that moment met it."""
    (tmp_path / "interrupted_program.py").write_text(MADE_OF_TEXT, encoding="utf-8")
    script = [sys.executable, "-m", "interrupted_program", which]
    ended = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 130, ended.stderr
    assert "Traceback" not in ended.stderr


LOADED = """
import importlib.abc, os, runpy, sys
class Interrupts(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "noonmark.core.model":
            os.kill(os.getpid(), int(sys.argv[2]))
        return None
sys.meta_path.insert(0, Interrupts())
runpy.run_module(sys.argv[1], run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "asked to end"])
def test_a_command_that_is_stopped_while_it_is_loaded_says_so_in_one_line(
    command: str, number: signal.Signals, tmp_path: Path
) -> None:
    said = subprocess.run(
        [sys.executable, "-c", LOADED, command, str(int(number))],
        cwd=ROOT, capture_output=True, text=True, timeout=60, env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert (said.returncode, said.stdout) == (130, "")
    assert said.stderr == "stopped before the end: this is no verdict\n"


def _is_busy(command: str, pid: int, said: Path, folder: Path) -> bool:
    if command == "faults":
        return any(folder.glob(f"{PREFIX}*/*/*"))
    return bool(said.read_bytes()) if command != "noonmark.sim" else len(_family(pid)) >= 3


def _family(pid: int) -> list[int]:
    """Return all children and their children."""
    found: list[int] = []
    for path in Path("/proc").glob(f"{pid}/task/*/children"):
        for child in map(int, path.read_text(encoding="ascii").split()):
            found += [child, *_family(child)]
    return found


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_nothing_is_left_of_a_pass_whose_cells_write_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    is_enough = threading.Event()

    def write_on(folder: Path) -> None:
        for number in itertools.count():
            with contextlib.suppress(OSError):
                (folder / str(number % 200) / f"more-{number}").touch()
            if is_enough.is_set():
                return

    with ground() as folder:
        for number in range(200):
            (folder / str(number)).mkdir()
            (folder / str(number) / "file").touch()
        cell = threading.Thread(target=write_on, args=(folder,))
        cell.start()
    left = list(tmp_path.iterdir())
    is_enough.set()
    cell.join()
    assert not [*left, *tmp_path.iterdir()]


def test_nothing_is_left_of_a_pass_that_was_stopped_though_a_cell_makes_its_folder_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    is_enough = threading.Event()

    def open_on(folder: Path) -> None:
        while not is_enough.is_set():
            with contextlib.suppress(OSError):  # as a store does with the folder of its file
                (folder / "state").mkdir(parents=True, exist_ok=True)

    def be_stopped() -> None:
        with ground() as folder:
            cells.append(threading.Thread(target=open_on, args=(folder,)))
            cells[0].start()
            raise KeyboardInterrupt

    cells: list[threading.Thread] = []
    with pytest.raises(KeyboardInterrupt):
        be_stopped()
    in_the_way = [path for path in tmp_path.iterdir() if not path.is_file()]
    clear()
    is_enough.set()
    cells[0].join()
    assert not in_the_way


@pytest.mark.parametrize("waiting", [as_they_end, in_turn])
def test_a_signal_that_another_thread_gets_is_heeded_by_whoever_waits(
    waiting: Callable[[list[Future[None]]], Iterator[Future[None]]],
) -> None:
    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    def hear() -> None:
        time.sleep(0.05)  # until the other one waits
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
        is_over.wait(20)
        never.set_result(None)

    never: Future[None] = Future()
    is_over = threading.Event()
    before = signal.signal(signal.SIGTERM, stop)
    try:
        thread = threading.Thread(target=hear)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            list(waiting([never]))
    finally:
        signal.signal(signal.SIGTERM, before)
        is_over.set()
        thread.join()


def test_a_few_seeds_are_good_though_they_do_not_reach_every_point(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--seeds", "10", "--hours", "0.6", "--jobs", "1"]
    assert sim(few) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if "not reached" in line and "a whole run" in line]
    assert len([line for line in said if "not reached" in line]) == 1
    assert said[-1].startswith("violations: 0")
    assert sim([*few, "--cover"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert len([line for line in said if line.startswith("  not reached: ")]) > 10
    assert said[-1].startswith("failed: ")
    assert said[-1].endswith("were not reached, and all are asked for (--cover)")


def test_make_demands_every_point_of_whole_runs_only() -> None:
    for words, is_demanded in (([], True), (["SEEDS=1000-1005"], False), (["HOURS=3"], False)):
        shown = subprocess.run(
            ["make", "--dry-run", "-o", ".venv/.ready", "sim", *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert "noonmark.sim" in shown
        assert ("--cover" in shown) is is_demanded, words
        assert "--ledger" not in shown, "who tries it finds no file changed"
        assert "generate.py" not in shown


def test_a_replayed_world_is_the_one_that_was_lived_through(capsys: pytest.CaptureFixture[str]) -> None:
    assert int(HOURS * HOUR) == plan.LENGTH
    assert plan.draw(17) == plan.draw(17, length=plan.LENGTH)
    assert sim(["--replay", "17"]) == 0
    shown = capsys.readouterr().out
    assert f"with {len(plan.draw(17).faults)} of {len(plan.draw(17).faults)} faults" in shown
    assert f"--hours {HOURS:g}" in shown


def test_new_seeds_are_those_after_the_last_of_the_ledger(tmp_path: Path) -> None:
    book = tmp_path / "seeds.jsonl"
    first = new_seeds(book, scheduler_hours=50, length=HOUR)
    assert first[0] == 500
    assert first == list(range(500, 500 + len(first)))
    replicas = [plan.draw(seed, length=HOUR).replicas for seed in first]
    assert sum(replicas[:-1]) < 50 <= sum(replicas)
    lines = [{"asked": asked} for asked in ("0-499", "2000-2099 lossy", "7,9")]
    book.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert new_seeds(book, scheduler_hours=1, length=HOUR)[0] == 2100


def test_a_night_that_is_cut_short_keeps_the_portions_that_were_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    book = tmp_path / "seeds.jsonl"
    lived: list[int] = []

    def a_few(seeds: list[int], *others: Any) -> Iterator[Any]:
        if lived:
            raise KeyboardInterrupt
        lived.extend(seeds)
        yield from all_of_them(seeds, *others)

    all_of_them = sim_command._outcomes
    monkeypatch.setattr(sim_command, "PORTION", 1)
    monkeypatch.setattr(sim_command, "_outcomes", a_few)
    assert sim(["--more", "3", "--hours", "0.6", "--jobs", "1", "--ledger", str(book)]) == 130
    told = capsys.readouterr().out
    assert f"seeds 500-{lived[-1]}: 1 scheduler-hours, 2 to come" in told
    (line,) = book.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["asked"] == f"500-{lived[-1]}"
    assert json.loads(line)["scheduler_hours"] >= 1
    assert f"seeds {lived[-1] + 1}-" in told, "the next portion goes on behind it"


def test_more_seeds_go_on_where_the_last_run_ended(tmp_path: Path) -> None:
    book = tmp_path / "docs" / "seeds.jsonl"
    book.parent.mkdir()
    for _ in range(2):
        assert sim(["--more", "1", "--hours", "0.6", "--jobs", "1", "--ledger", str(book)]) == 0
    asked = [json.loads(line)["asked"] for line in book.read_text(encoding="utf-8").splitlines()]
    last = int(asked[0].partition("-")[2])
    assert asked[1].startswith(f"{last + 1}-")


@pytest.mark.parametrize("more", [(), ("--more", "1")])
@pytest.mark.parametrize(
    "line", ['{"asked": "0-4', "[]", "{}", '{"asked": 5}', '{"asked": "x"}', "\x00", "[" * 100_000, "\udcff", ""]
)
def test_a_damaged_line_of_the_ledger_is_refused_with_its_place_and_left_as_it_is(
    line: str, more: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = tmp_path / "seeds.jsonl"
    book.write_bytes(f'{{"asked": "500-501"}}\n{line}\n'.encode(errors="surrogateescape"))
    before = book.read_bytes()
    with pytest.raises(SystemExit) as ended:
        sim([*(more or ("--seeds", "0")), "--hours", "0.6", "--jobs", "1", "--ledger", str(book)])
    assert ended.value.code == 2
    assert f"{book}:2 is no line of a ledger of seeds" in capsys.readouterr().err
    assert book.read_bytes() == before


def test_a_run_is_a_line_of_its_own_where_the_last_one_does_not_end(tmp_path: Path) -> None:
    book = tmp_path / "seeds.jsonl"
    book.write_text('{"asked": "500-501"}', encoding="utf-8")
    assert sim(["--more", "1", "--hours", "0.6", "--jobs", "1", "--ledger", str(book)]) == 0
    assert [json.loads(line)["asked"][:3] for line in book.read_text(encoding="utf-8").splitlines()] == ["500", "502"]


def test_small_is_a_depth(capsys: pytest.CaptureFixture[str]) -> None:
    assert exhaustive(["one-key", "--depth", "2", "--calm-every", "0"]) == 0
    assert "depth 2" in (said := capsys.readouterr().out)
    assert "no way to the end was tried" in said


@pytest.mark.parametrize("tried", [0, 1])
def test_faults_that_were_not_tried_are_not_green(tried: int) -> None:
    idle = Outcome(cell="F1", store="redis", not_tried="redis is not installed")
    line, code = verdict([idle, *[Outcome(cell="F1", store="sqlite")] * tried], seconds=3)
    assert (code, "not" in line) == (1 - tried, True)
    assert line.startswith(f"{tried} runs, 0 red")
    red = Outcome(cell="F1", store="sqlite", error="broken")
    assert verdict([red], seconds=3) == ("1 runs, 1 red, 3 s", 1)


def test_a_number_of_examples_that_is_none_is_refused_in_one_line() -> None:
    asked = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--collect-only", "tests/fuzz"]
    environment = {**os.environ, "NOONMARK_FUZZ": "abc"}
    ended = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 4
    assert "is 'abc', not a whole number" in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr


def test_both_languages_tell_the_same_figures_of_the_search() -> None:
    def figures(page: str) -> list[str]:
        lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
        return [
            line for line in lines if line.startswith("| ") and line.count("|") == 7 and any(map(str.isdigit, line))
        ]

    assert figures("docs/interleavings.md") == figures("docs/zh/interleavings.md") != []


@pytest.mark.parametrize("page", ["README.md", "README.zh.md", "docs/proof.md", "docs/zh/proof.md"])
def test_the_page_names_every_command_of_the_proof(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for command in ("make sim", "make mutants", "make faults", "make nightly", "noonmark simulate"):
        assert command in text
    named = set(re.findall(r"^make ([a-z-]+)", text, re.MULTILINE))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert named <= targets
