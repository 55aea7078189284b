"""init, apps and the watch over files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from calling import Noonmark

from noonmark.faces.cli import problems
from noonmark.faces.cli.apps import load_app
from noonmark.faces.cli.dev import _command, _environment, stamps
from noonmark.faces.cli.session import Session
from noonmark.faces.cli.settings import Settings
from noonmark.rules.problems import ProblemList

GOOD = """
from noonmark import Scheduler, manual
sched = Scheduler(rules=False)

@sched.job(manual(), reason="x")
def go() -> None: ...
"""


def test_init_writes_two_short_commented_files_and_never_overwrites(noonmark: Noonmark, tmp_path: Path) -> None:
    answer = noonmark("init", str(tmp_path / "new"))
    assert answer.code == 0
    for name in ("noonmark.yaml", "jobs.py"):
        text = (tmp_path / "new" / name).read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 15
        assert "#" in text
    assert "0 and 7 are Sunday" in (tmp_path / "new" / "noonmark.yaml").read_text(encoding="utf-8")
    (tmp_path / "new" / "jobs.py").write_text("mine", encoding="utf-8")
    (tmp_path / "new" / "noonmark.yaml").unlink()
    again = noonmark("init", str(tmp_path / "new"))
    assert again.code == 3
    assert (tmp_path / "new" / "jobs.py").read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "new" / "noonmark.yaml").exists()


def test_what_init_writes_loads(noonmark: Noonmark, tmp_path: Path) -> None:
    noonmark("init", str(tmp_path))
    assert noonmark("rules", "check", str(tmp_path / "noonmark.yaml")).code == 0
    sched = load_app(str(tmp_path / "jobs.py"))
    assert set(sched.rules.jobs) == {"hello", "tidy"}


def test_python_that_holds_only_task_rules_is_a_rules_file_wherever_an_app_is_named(
    noonmark: Noonmark, tmp_path: Path
) -> None:
    rules, ran = tmp_path / "rules.py", tmp_path / "ran"
    rules.write_text(
        '"""Rules."""\n'
        f"NOTE = open({str(ran)!r}, 'w')\n"
        'TASK_RULES = {"digest": {"cron": "0 9 * * *", "timezone": "UTC", "dedupe_key": "digest:{date}"}}\n',
        encoding="utf-8",
    )
    coming = noonmark("next", "digest", "--app", str(rules), "-n", "1")
    assert (coming.code, coming.out.splitlines()[0]) == (0, "09:00 daily UTC"), coming.err
    assert noonmark("show", "digest", "--app", str(rules)).code == 0
    with pytest.raises(ProblemList, match="neither run nor command"):  # as a worker loads it
        load_app(str(rules)).rules  # noqa: B018 - reading it is what loads the file
    assert not ran.exists(), "it was executed"


def test_code_beside_task_rules_is_an_app(noonmark: Noonmark, tmp_path: Path) -> None:
    app = tmp_path / "app_with_rules.py"
    app.write_text(f"{GOOD}\nTASK_RULES = {{}}\n", encoding="utf-8")
    assert noonmark("show", "go", "--app", str(app)).code == 0


def test_rules_says_what_it_can_do_and_where_jobs_in_code_are_checked(noonmark: Noonmark, tmp_path: Path) -> None:
    app = tmp_path / "app_in_code.py"
    app.write_text(GOOD, encoding="utf-8")
    wrong = noonmark("rules", "frob", str(app))
    assert (wrong.code, "rules does not know 'frob'" in wrong.err) == (2, True)
    assert "check FILE, show FILE or apply FILE" in wrong.err
    code = noonmark("rules", "check", str(app))
    assert (code.code, "noonmark next --app FILE" in code.err) == (1, True)
    assert noonmark("rules", str(app), str(app)).code == 2


def test_next_and_show_read_an_app_that_nobody_registered(noonmark: Noonmark, tmp_path: Path) -> None:
    noonmark("init", str(tmp_path))
    answer = noonmark("next", "hello", "--app", str(tmp_path / "jobs.py"), "-n", "1")
    assert answer.code == 0
    assert answer.out.startswith("every 1 min   (UTC)\n")
    assert "not in the store" in answer.err
    shown = noonmark("show", "tidy", "--app", str(tmp_path / "noonmark.yaml")).out
    assert "declared, not in the store" in shown
    assert "nothing is coming" not in shown
    assert noonmark("show", "nothing", "--app", str(tmp_path / "noonmark.yaml")).code == 5


def test_an_app_is_found_by_name_or_because_it_is_the_only_one(tmp_path: Path) -> None:
    (tmp_path / "app_a.py").write_text(GOOD, encoding="utf-8")
    assert load_app(str(tmp_path / "app_a.py")) is not None
    assert load_app(f"{tmp_path / 'app_a.py'}:sched", url="memory://").url == "memory://"


@pytest.mark.parametrize(
    ("text", "attribute", "said", "code"),
    [
        ("x = 1\n", "", "has no Scheduler", 5),
        ("x = 1\n", ":x", "it is a int", 5),
        ("x = 1\n", ":y", "there is none of that name", 5),
        ("import nowhere_to_be_found\n", "", "No module named 'nowhere_to_be_found'", 2),
        ("def f(:\n", "", "SyntaxError", 2),
        ("raise ValueError('my own mistake')\n", "", "my own mistake", 2),
        ("import sys\nsys.exit(3)\n", "", "SystemExit", 2),
    ],
)
def test_an_app_that_cannot_be_loaded_is_told_in_its_own_words(
    tmp_path: Path, text: str, attribute: str, said: str, code: int
) -> None:
    path = tmp_path / f"app_{abs(hash(text + attribute))}.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(problems.Trouble) as refused:
        load_app(f"{path}{attribute}")
    assert said in refused.value.text()
    assert refused.value.code == code
    if "mistake" in said:
        assert f"{path}:1" in refused.value.text()


def test_a_missing_file_or_module_ends_with_5(noonmark: Noonmark, tmp_path: Path) -> None:
    assert noonmark("worker", str(tmp_path / "none.py")).code == 5
    assert noonmark("worker", "no_such_module_here:sched").code == 5
    assert noonmark("dev", str(tmp_path / "none.py")).code == 5


def test_rules_check_tells_every_mistake_with_its_place_and_ends_with_1(noonmark: Noonmark, tmp_path: Path) -> None:
    path = tmp_path / "noonmark.yaml"
    path.write_text(
        "version: 1\njobs:\n  a:\n    schedule: {cron: '0 9 * * *'}\n    command: [x]\n    reasn: y\n", encoding="utf-8"
    )
    answer = noonmark("rules", "check", str(path))
    assert answer.code == 1
    assert f"{path}:6:5" in answer.err
    assert noonmark("rules", str(path), "--json").plain["ok"] is False
    assert noonmark("rules", "check", str(tmp_path / "none.yaml")).code == 5


def test_a_folder_in_the_place_of_a_file_is_called_one(noonmark: Noonmark, tmp_path: Path) -> None:
    (tmp_path / "here.yaml").mkdir()
    for line in (["rules", "check"], ["worker"], ["next", "x", "--app"]):
        answer = noonmark(*line, str(tmp_path / "here.yaml"))
        assert answer.code == 2
        assert "is a folder, not a file" in answer.err


@pytest.mark.parametrize("line", [["simulate"], ["worker"], ["dev"], ["show", "x", "--app"]])
def test_what_is_no_app_is_told_to_be_what_it_is(
    noonmark: Noonmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder_here").mkdir()
    (tmp_path / "bytes.bin").write_bytes(b"\x00\xff")
    for app, said in {
        ".": ". is a folder, not a file",
        "./folder_here": "folder_here is a folder, not a file",
        "folder_here": "folder_here is a folder, not a file",
        "bytes.bin": "bytes.bin is no Python file",
        "./bytes.bin": "bytes.bin is no Python file",
        "./none.bin": "there is no file none.bin",
        ".none": "there is no module '.none'",
    }.items():
        answer = noonmark(*line, app)
        assert answer.code in (2, 5), (app, answer.err)
        assert said in answer.err, (app, answer.err)


def test_python_that_is_not_text_is_no_python(noonmark: Noonmark, tmp_path: Path) -> None:
    (tmp_path / "bytes.py").write_bytes(b"\x00\xff")
    answer = noonmark("simulate", str(tmp_path / "bytes.py"))
    assert answer.code == 2
    assert "bytes.py is no Python file" in answer.err


def test_rules_apply_puts_them_in_force_and_a_second_time_changes_nothing(noonmark: Noonmark, tmp_path: Path) -> None:
    noonmark("init", str(tmp_path))
    path = str(tmp_path / "noonmark.yaml")
    assert noonmark("rules", "apply", path).out == "tidy  added  revision 1\n"
    assert noonmark("rules", "apply", path).out == "tidy  unchanged  revision 1\n"
    text = Path(path).read_text(encoding="utf-8").replace("12:00", "13:00")
    Path(path).write_text(text, encoding="utf-8")
    assert noonmark("rules", "apply", path, "--json").plain["jobs"] == [
        {"job": "tidy", "change": "changed", "revision": 2}
    ]
    assert "09:00-13:00" in noonmark("show", "tidy").out


def test_rules_show_prints_a_file_that_loads_again(noonmark: Noonmark, tmp_path: Path) -> None:
    noonmark("init", str(tmp_path))
    shown = noonmark("rules", "show", str(tmp_path / "noonmark.yaml"))
    copy = tmp_path / "copy.yaml"
    copy.write_text(shown.out, encoding="utf-8")
    assert noonmark("rules", "show", str(copy)).out == shown.out


def test_schema_prints_json(noonmark: Noonmark) -> None:
    assert "properties" in noonmark("schema").plain


def test_a_changed_file_is_noticed_and_caches_are_not(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text("1", encoding="utf-8")
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "x.py").write_text("1", encoding="utf-8")
    (tmp_path / ".noonmark").mkdir()
    (tmp_path / ".noonmark" / "x.yaml").write_text("1", encoding="utf-8")
    before = stamps([tmp_path])
    assert [path.name for path in before] == ["jobs.py"]
    os.utime(tmp_path / "jobs.py", ns=(1, 1))
    assert stamps([tmp_path]) != before


def test_the_worker_of_dev_speaks_as_dev_was_told_to_and_shows_no_secret() -> None:
    here = Session(Settings(url="redis://u:secret@h", lang="zh", tz="Asia/Tokyo", json=True))
    command = _command(here, "jobs.py", "dev")
    assert command[command.index("--lang") + 1] == "zh"
    assert command[command.index("--tz") + 1] == "Asia/Tokyo"
    assert "--json" in command
    assert "secret" not in " ".join(command)
    assert _environment(here)["NOONMARK_URL"] == "redis://u:secret@h"
    assert "--lang" not in _command(Session(Settings()), "jobs.py", "dev")
