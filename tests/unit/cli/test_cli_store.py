"""``noonmark store``, ``doctor`` and ``end``: what a person who looks after a store meets."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, cast

import pytest
from calling import Answer, Noonmark

import noonmark.wiring
from noonmark.core.model import SECOND, Act, Query
from noonmark.engine import moving
from noonmark.engine.copied import is_mark
from noonmark.faces.cli.__main__ import main
from noonmark.faces.cli.doctor_words import IN_CHINESE, told
from noonmark.ports.archive import Page
from noonmark.ports.store import StoreUnreachable, StoreUnusable
from noonmark.stores.sqlite import SqliteStore
from noonmark.testing.archives import make_busy, plain, read_all
from noonmark.testing.builders import make_worker
from noonmark.wiring import open_store

RULES = """
version: 1
jobs:
  echo: {schedule: {every: 5m}, command: ["true"], reason: A command is a job too.}
"""


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Noonmark:
    """The command line in an empty folder, on real files."""
    for name in ("NOONMARK_LANG", "NOONMARK_TZ", "NOONMARK_JSON", "NOONMARK_APP", "NOONMARK_URL", "LC_ALL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> Answer:
        code = main([*args])
        captured = capsys.readouterr()
        return Answer(code=code, out=captured.out, err=captured.err)

    return call


@pytest.fixture
def busy(cli: Noonmark) -> str:  # noqa: ARG001 - it has made the folder
    """The URL of a store with every kind of record and no living worker."""
    with contextlib.closing(SqliteStore("a.db", synchronous="OFF")) as store:
        harness = make_busy(store)
        for worker in ("w1", "w2"):
            store.heartbeat(make_worker(worker, ended_at=1), SECOND, at=harness.at(40))
    return "sqlite:///a.db"


def records(url: str) -> list[str]:
    with contextlib.closing(cast(Any, open_store(url))) as store:
        return plain([record for record in read_all(store, 1000) if not is_mark(record)])


# -- copy ---------------------------------------------------------------------------------------------


def test_a_copy_shows_what_it_would_do_and_makes_nothing(cli: Noonmark, busy: str) -> None:
    answer = cli("store", "copy", busy, "sqlite:///b.db")
    assert answer.code == 0
    assert "occurrence 17" in answer.out
    assert "would be made" in answer.out
    assert "--go" in answer.err
    assert not Path("b.db").exists()


def test_a_copy_that_goes_copies_all_and_says_that_it_compared(cli: Noonmark, busy: str) -> None:
    answer = cli("store", "copy", busy, "sqlite:///b.db", "--go")
    assert answer.code == 0, answer.err
    assert "hold the same" in answer.out
    assert "NOONMARK_URL" in answer.err
    assert records("sqlite:///b.db") == records(busy)
    again = cli("store", "copy", busy, "sqlite:///b.db", "--go", "--json")
    assert (again.code, again.plain["copied"], again.plain["same"]) == (0, 0, True), "whoever was cut short can compare"
    with contextlib.closing(open_store("sqlite:///b.db")) as store:
        store.heartbeat(make_worker("w9", ended_at=1), SECOND)
    again = cli("store", "copy", busy, "sqlite:///b.db", "--go")
    assert (again.code, "nothing is left" in again.out) == (0, True)
    assert cli("jobs", "--url", "sqlite:///b.db").code == 0


def test_a_copy_answers_in_json(cli: Noonmark, busy: str) -> None:
    told = cli("store", "copy", busy, "sqlite:///b.db", "--go", "--json").plain
    assert (told["v"], told["done"], told["same"], told["differences"]) == (1, True, True, [])
    assert told["copied"] == told["to_copy"] == sum(told["records"].values())


def test_a_copy_that_was_cut_goes_on(cli: Noonmark, busy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = SqliteStore.import_page
    pages = 0

    def cut(self: SqliteStore, source: str, page: Page) -> None:
        nonlocal pages
        pages += 1
        if pages == 3:
            raise StoreUnreachable("the store b.db does not answer: the cable is out. Plug it in.")
        written(self, source, page)

    monkeypatch.setattr(moving, "PAGE", 5)
    monkeypatch.setattr(moving.copy, "__kwdefaults__", {"limit": 5})
    monkeypatch.setattr(SqliteStore, "import_page", cut)
    assert cli("store", "copy", busy, "sqlite:///b.db", "--go").code == 4
    refused = cli("jobs", "--url", "sqlite:///b.db")
    assert refused.code == 4
    assert "copy into it is not finished" in refused.err
    assert "复制到这里的过程尚未完成" in cli("jobs", "--url", "sqlite:///b.db", "--lang", "zh").err
    sick = cli("doctor", "--url", "sqlite:///b.db")
    assert (sick.code, "not finished" in sick.out) == (1, True)
    assert "goes on where it stopped" in cli("store", "copy", busy, "sqlite:///b.db").out
    answer = cli("store", "copy", busy, "sqlite:///b.db", "--go", "--json")
    assert answer.code == 0
    assert answer.plain["copied"] == answer.plain["to_copy"] - 10
    assert records("sqlite:///b.db") == records(busy)


def test_what_the_target_cannot_hold_is_told_and_is_no_fault(
    cli: Noonmark, busy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("PostgreSQL cannot hold this value: no NUL characters")

    monkeypatch.setattr(SqliteStore, "import_page", refuse)
    answer = cli("store", "copy", busy, "sqlite:///b.db", "--go")
    assert answer.code == 3
    assert "cannot hold everything" in answer.err
    assert "fault in noonmark" not in answer.err


def test_a_copy_that_was_written_to_meanwhile_is_not_called_the_same(
    cli: Noonmark, busy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = moving.copy

    def disturbed(source: Any, target: Any, **options: Any) -> int:
        done = copied(source, target, **options)
        (row,) = source.occurrences(Query(key="key:later"))
        source.act("late", Act(kind="cancel", actor="ada", occurrence_id=row.id))
        return done

    monkeypatch.setattr(moving, "copy", disturbed)
    answer = cli("store", "copy", busy, "sqlite:///b.db", "--go")
    assert answer.code == 1
    assert "not the same: occurrence, 17 in the source, 17 in the target" in answer.out
    assert "not the same: ledger" in answer.out
    assert "copy again" in answer.out


def test_a_copy_that_was_cut_while_it_compared_is_compared_before_anybody_works_with_it(
    cli: Noonmark, busy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = moving.differences

    def killed(*_: object) -> list[moving.Difference]:
        raise KeyboardInterrupt

    monkeypatch.setattr(moving, "differences", killed)
    assert cli("store", "copy", busy, "sqlite:///b.db", "--go").code == 130
    monkeypatch.setattr(moving, "differences", compared)
    assert "not finished" in cli("jobs", "--url", "sqlite:///b.db").err
    with pytest.raises(StoreUnusable, match="copy into it is not finished"):
        open_store("sqlite:///b.db")  # so no worker can have run here meanwhile
    assert cli("doctor", "--url", "sqlite:///b.db").code == 1
    answer = cli("store", "copy", busy, "sqlite:///b.db", "--go", "--json")
    assert (answer.code, answer.plain["copied"], answer.plain["same"], answer.plain["done"]) == (0, 0, True, True)
    assert cli("jobs", "--url", "sqlite:///b.db").code == 0
    assert records("sqlite:///b.db") == records(busy)


def test_a_copy_that_differs_is_nothing_to_work_with_unless_it_is_wanted_as_it_is(
    cli: Noonmark, busy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "differences", lambda *_: [moving.Difference(kind="ledger", source=2, target=1)])
    answer = cli("store", "copy", busy, "sqlite:///b.db", "--go", "--json")
    assert (answer.code, answer.plain["same"], answer.plain["done"]) == (1, False, False)
    assert cli("jobs", "--url", "sqlite:///b.db").code == 4
    answer = cli("store", "copy", busy, "sqlite:///b.db", "--go", "--while-workers-run")
    assert (answer.code, "may be missing" in answer.out) == (1, True)
    assert cli("jobs", "--url", "sqlite:///b.db").code == 0


def test_a_copy_that_ended_before_and_was_written_to_since_says_so(cli: Noonmark, busy: str) -> None:
    cli("store", "copy", busy, "sqlite:///b.db", "--go")
    cli("signal", "later", "--url", "sqlite:///b.db")
    answer = cli("store", "copy", busy, "sqlite:///b.db", "--go")
    assert (answer.code, "was written to since" in answer.out) == (1, True)
    assert "empty the target" not in answer.out


def test_a_copy_is_refused_while_workers_live_in_the_source(cli: Noonmark, busy: str) -> None:
    with contextlib.closing(open_store(busy)) as store:
        store.heartbeat(make_worker("w7"), 3600 * SECOND)
    answer = cli("store", "copy", busy, "sqlite:///b.db", "--go")
    assert answer.code == 3
    assert "w7" in answer.out
    assert "--while-workers-run" in answer.out
    assert not Path("b.db").exists(), "nothing is made for a copy that is refused"
    assert "已拒绝" in cli("store", "copy", busy, "sqlite:///b.db", "--go", "--lang", "zh").out
    assert cli("store", "copy", busy, "sqlite:///b.db", "--go", "--while-workers-run").code == 0


def test_a_copy_is_refused_while_workers_live_in_the_target(cli: Noonmark, busy: str) -> None:
    with contextlib.closing(open_store("sqlite:///b.db")) as store:
        store.heartbeat(make_worker("w8"), 3600 * SECOND)
    answer = cli("store", "copy", busy, "sqlite:///b.db", "--go", "--while-workers-run")
    assert (answer.code, "w8" in answer.out) == (3, True)


def test_a_copy_onto_itself_or_into_another_namespace_is_refused(cli: Noonmark, busy: str) -> None:
    assert cli("store", "copy", busy, busy, "--go").code == 3
    with contextlib.closing(SqliteStore("c.db", synchronous="OFF")) as other:
        make_busy(other)
    answer = cli("store", "copy", busy, "sqlite:///c.db", "--go", "--json", "--while-workers-run")
    assert answer.code == 3
    assert "did not come from this source" in answer.plain["refused"][0]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("copy", "sqlite:///nothing.db", "sqlite:///b.db"), 4),
        (("copy", "sqlite:///nothing.db?synchronos=FULL", "sqlite:///b.db"), 2),
        (("copy", "sqlite:///a.db", "memory://", "--go"), 4),
        (("copy", "sqlite:///a.db", "sqllite:///b.db", "--go"), 2),
        (("copy", "sqlite:///a.db"), 2),
        (("copy", "sqlite:///a.db", "sqlite:///b.db", "--sql"), 2),
        (("migrate", "--go"), 2),
        (("migrate", "sqllite:///b.db"), 2),
        (("migrate", "sqlite:///nothing.db"), 4),
        (("vacuum",), 2),
        ((), 2),
    ],
)
@pytest.mark.usefixtures("busy")
def test_what_cannot_be_done_says_so_and_leaves_nothing_behind(cli: Noonmark, args: tuple[str, ...], code: int) -> None:
    answer = cli("store", *args)
    assert answer.code == code, answer
    assert answer.err.startswith("noonmark: ")
    assert "Traceback" not in answer.err
    assert {path.name for path in Path().iterdir()} == {"a.db"}


def test_no_secret_of_a_url_is_printed(cli: Noonmark, busy: str) -> None:
    answer = cli("store", "copy", busy, "nosuch://u:secret@h/d", "--go")
    assert answer.code == 2
    assert "secret" not in answer.out + answer.err
    answer = cli("doctor", "--url", "nosuch://u:secret@h/d?password=secret")
    assert "secret" not in answer.out + answer.err


# -- migrate ------------------------------------------------------------------------------------------


def test_sqlite_is_brought_up_to_date_whenever_it_is_opened(cli: Noonmark, busy: str) -> None:
    answer = cli("store", "migrate", "--url", busy)
    assert (answer.code, "whenever it is opened" in answer.out) == (0, True)
    sql = cli("store", "migrate", "--sql", busy).out
    assert "CREATE TABLE occurrence" in sql
    assert cli("store", "migrate", "--sql", busy, "--json").plain["sql"].strip() == sql.strip()


# -- doctor -------------------------------------------------------------------------------------------


def test_the_doctor_finds_a_young_store_well(cli: Noonmark) -> None:
    Path("noonmark.yaml").write_text(RULES, encoding="utf-8")
    assert cli("rules", "apply", "noonmark.yaml").code == 0
    answer = cli("doctor", "--json")
    assert answer.code == 0
    codes = {finding["code"] for finding in answer.plain["findings"]}
    assert {"sqlite_file", "sqlite_sound", "durability_host", "clock_right", "workers_none", "rules_in_force"} <= codes
    assert answer.plain["ok"] is True


def test_the_doctor_says_that_a_weaker_setting_promises_less(cli: Noonmark) -> None:
    open_store("sqlite:///a.db").close()
    found = cli("doctor", "--url", "sqlite:///a.db?synchronous=NORMAL", "--json").plain["findings"]
    weak = next(finding for finding in found if finding["code"] == "durability_process")
    assert weak["level"] == "warn"
    assert "synchronous=FULL" in weak["remedy"]


def test_the_doctor_tells_of_rules_that_are_not_in_force(cli: Noonmark) -> None:
    open_store("sqlite:///a.db").close()
    Path("noonmark.yaml").write_text(RULES, encoding="utf-8")
    answer = cli("doctor", "--url", "sqlite:///a.db")
    assert answer.code == 0
    assert "not in force as they stand: echo" in answer.out


def test_what_cannot_be_worked_with_must_be_mended(cli: Noonmark) -> None:
    Path("a.db").write_bytes(b"this is no database at all, only text")
    answer = cli("doctor", "--url", "sqlite:///a.db")
    assert answer.code == 1
    assert "not a SQLite database" in answer.out
    assert "不是 SQLite 数据库" in cli("doctor", "--url", "sqlite:///a.db", "--lang", "zh").out


def test_a_store_that_is_not_there_is_no_finding(cli: Noonmark) -> None:
    assert cli("doctor").code == 4
    assert cli("doctor", "--url", "memory://").code == 4


def test_the_doctors_own_findings_are_all_told_in_chinese(cli: Noonmark, busy: str) -> None:
    answer = cli("doctor", "--url", busy, "--json", "--lang", "zh")
    for finding in answer.plain["findings"]:
        assert finding["code"] in IN_CHINESE, finding
        assert any("\u4e00" <= sign <= "\u9fff" for sign in finding["sentence"]), finding


def test_a_finding_that_is_unknown_or_from_another_version_is_told_in_english() -> None:
    assert told("new_code", "It is new.", "Do it.", {}, "zh") == ("It is new.", "Do it.")
    assert told("clock_off", "It is off.", "Set it.", {"other": 1}, "zh") == ("It is off.", "Set it.")


# -- end ----------------------------------------------------------------------------------------------


def test_a_job_is_ended_with_a_reason_and_its_history_stays(cli: Noonmark) -> None:
    Path("noonmark.yaml").write_text(RULES, encoding="utf-8")
    cli("rules", "apply", "noonmark.yaml")
    assert cli("end", "echo").code == 2
    assert cli("end", "echo", "--reason", " ").code == 2
    answer = cli("end", "echo", "--reason", "it moved", "--json")
    assert (answer.code, answer.plain["outcome"]) == (0, "done")
    again = cli("end", "echo", "--reason", "it moved")
    assert (again.code, "ended already" in again.out) == (3, True)
    assert json.loads(cli("jobs", "--json").out)["jobs"][0]["ended"] is True
    assert "(ended)" in cli("jobs").out
    assert "已终止" in cli("jobs", "--lang", "zh").out
    shown = cli("show", "echo")
    assert (shown.code, "no more: ended" in shown.out, "it moved" in shown.out) == (0, True, True)
    with contextlib.closing(open_store()) as store:
        (row,) = store.occurrences(Query(job="echo"))
        assert (row.state, row.verdict) == ("SKIPPED", "skip_superseded")
    assert cli("rules", "apply", "noonmark.yaml").code == 0
    assert cli("show", "echo").code == 0


def test_ending_an_unknown_job_is_not_found(cli: Noonmark) -> None:
    open_store("sqlite:///a.db").close()
    assert cli("end", "nothing", "--reason", "x", "--url", "sqlite:///a.db").code == 5
    assert noonmark.wiring.open_store is open_store


def test_what_stood_on_the_line_counts_more_than_the_environment(
    cli: Noonmark, busy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOONMARK_URL", "sqlite:///elsewhere.db")
    assert cli("--url", busy, "jobs").code == 0
    assert cli("jobs", "--url", busy).code == 0
    assert cli("jobs").code == 4


def test_the_demo_makes_no_namespace_where_there_are_none(cli: Noonmark, busy: str) -> None:
    answer = cli("demo", "--url", busy)
    assert answer.code == 2
    assert "--dir says where it writes its file" in answer.err
    assert cli("demo", "--url", "nosuch://h").code == 2
    assert {path.name for path in Path().iterdir()} == {"a.db"}


def test_flags_that_no_rule_names_are_listed_when_asked_for(cli: Noonmark, busy: str) -> None:
    assert cli("flags", "--url", busy, "--json").plain["flags"] == []
    for number in range(12):
        cli("signal", f"extra.{number}", "--url", busy)
    told = cli("flags", "--url", busy, "--all", "--json").plain["flags"]
    assert {"corpus", "gone", "extra.0", "extra.11"} <= {flag["flag"] for flag in told}
    assert not any(flag["flag"].startswith("success") for flag in told)
    assert {flag["flag"]: flag["set"] for flag in told}["gone"] is False
    some = cli("flags", "--url", busy, "--all", "--limit", "5")
    assert "more" in some.err
    assert len(cli("flags", "--url", busy, "--all", "--limit", "5", "--json").plain["flags"]) == 5


def test_rules_that_are_refused_are_one_finding_and_the_store_is_examined_all_the_same(cli: Noonmark) -> None:
    open_store("sqlite:///a.db").close()
    Path("noonmark.yaml").write_text(RULES.replace("every: 5m", "evry: 5m"), encoding="utf-8")
    for lang, says in (
        ("en", "The rules of noonmark.yaml are refused, mistakes: "),
        ("zh", "noonmark.yaml 的规则被拒绝"),
    ):
        sick = cli("--lang", lang, "--url", "sqlite:///a.db", "doctor")
        assert (sick.code, sick.err) == (1, "")
        assert says in sick.out
        assert "  jobs.echo.schedule" in sick.out
        assert "SQLite" in sick.out, "the store is looked at, too"
