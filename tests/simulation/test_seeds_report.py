"""What many seeds came to is told with its bounds, and kept as one line that names no machine."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from noonmark.core.model import HOUR, MINUTE
from noonmark.sim.asking import HOURS
from noonmark.sim.command import main
from noonmark.sim.history import Violation
from noonmark.sim.plan import draw
from noonmark.sim.report import Report, bound
from noonmark.sim.run import Outcome

ROOT = Path(__file__).resolve().parents[2]


def outcome(seed: int, *violations: Violation, **proofs: int) -> Outcome:
    """Make what one seed came to."""
    tested = {name.replace("_", " ", 1).replace(" ", ": ", 1): count for name, count in proofs.items()}
    return Outcome(
        seed=seed,
        hours=1.25,
        scheduler_hours=2.5,
        digest=f"digest-{seed}",
        cpu=1.0,
        faults=Counter({"crash": 3}),
        points=Counter(),
        calls=Counter(),
        proofs=Counter(tested),
        runs=1,
        occurrences=1,
        violations=violations,
    )


def report(*outcomes: Outcome) -> Report:
    """Sum outcomes up."""
    made = Report()
    for each in outcomes:
        made.add(each)
    return made


def test_each_claim_has_its_own_bound() -> None:
    lines = [" ".join(line.split()) for line in report(outcome(1, keys_successes=100, leases_renewals=20)).claims()]
    assert "keys: successes 100 at most 0.03" in lines
    assert "leases: renewals 20 at most 0.15" in lines


def test_a_claim_of_a_checker_that_found_something_has_no_bound() -> None:
    found = Violation(invariant="I1", checker="keys", at=1, what="twice")
    made = report(outcome(1, found, keys_successes=100, leases_renewals=20))
    lines = [" ".join(line.split()) for line in made.claims()]
    assert "keys: successes 100 found wrong, see below" in lines
    assert "leases: renewals 20 at most 0.15" in lines


@pytest.mark.parametrize(("count", "said"), [(1, "too few to say"), (3, "too few to say"), (4, "at most 0.75")])
def test_a_bound_that_says_nothing_is_not_told_as_one(count: int, said: str) -> None:
    assert bound(count) == said


def test_a_run_appends_one_line_to_the_ledger_that_names_no_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = tmp_path / "docs" / "seeds.jsonl"
    ledger.parent.mkdir()
    for _ in range(2):
        assert main(["--seeds", "4,8", "--hours", "0.6", "--jobs", "1", "--ledger", str(ledger)]) == 0
    first, second = (json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines())
    assert first == second
    assert (first["asked"], first["world_hours"], first["seeds"], first["violations"]) == ("4,8", 0.6, 2, 0)
    replicas = sum(draw(seed, length=int(0.6 * HOUR)).replicas for seed in (4, 8))
    assert first["scheduler_hours"] == pytest.approx(replicas * 0.6, abs=0.05)
    assert first["faults"] > 0
    text = ledger.read_text(encoding="utf-8")
    assert socket.gethostname() not in text
    assert os.sep not in text
    assert "tested, and of which share" in capsys.readouterr().out


def test_only_the_seeds_that_lose_writes_are_lived_through_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    lossy = [seed for seed in range(40) if draw(seed, length=35 * MINUTE).is_lossy]
    assert main(["--seeds", f"0-{lossy[0]}", "--lossy", "--hours", str(35 / 60), "--jobs", "1"]) == 0
    assert capsys.readouterr().out.startswith("1 seeds")


def test_the_length_of_a_world_is_said_in_one_place() -> None:
    assert HOURS == 1.25
    assert "1.25" not in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_page_sums_the_ledger_up_and_counts_a_repeated_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")  # what lies beside it is found as when it is run
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    monkeypatch.setattr(generate, "DOCS", tmp_path)
    line = {"commit": "a", "asked": "0-9", "world_hours": 1.25, "seeds": 10, "scheduler_hours": 30.0, "faults": 5}
    line |= {"violations": 1, "unlike": []}
    good = line | {"commit": "b", "violations": 0}
    runs = [line, good, good, good | {"asked": "10-19"}]
    (tmp_path / "seeds.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs), encoding="utf-8")
    page = generate.with_seeds("x <!-- seeds:begin --><!-- seeds:end --> y", generate.SEEDS_EN)
    assert "| all runs | 30 | | 90 | 15 | 1 |" in page
    assert "60 scheduler-hours since the last finding" in page
    assert "at most 50,000 findings per million" in page
