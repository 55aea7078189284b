"""The checkers find what is wrong, each in its field, and say nothing where all is well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from noonmark.core.model import MINUTE
from noonmark.engine import runs
from noonmark.sim.checkers import CHECKERS
from noonmark.sim.checkers.ground import ASKED_ONCE
from noonmark.sim.checkers.liveness import Liveness
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Call
from noonmark.sim.mutants.hunt import DRAWN, MUTANTS, hunt, run_until_found
from noonmark.sim.mutants.plant import Planter, planted
from noonmark.sim.plan import draw
from noonmark.sim.run import run_plan, run_seed
from noonmark.stores.memory import settling

WORLDS = 4
BY_NAME = {mutant.name: mutant for mutant in MUTANTS}


def test_a_world_that_goes_well_is_found_good_and_was_looked_at() -> None:
    proofs: Counter[str] = Counter()
    for seed in (0, 1, 2):
        assert not draw(seed, length=55 * MINUTE).is_lossy
        outcome = run_seed(seed, length=55 * MINUTE)
        assert not outcome.violations
        assert not outcome.error
        proofs.update(outcome.proofs)
    looked = {name.partition(":")[0] for name in proofs}
    assert looked >= {make.name for make in CHECKERS} - {"rollbacks", "another"}, "a checker slept"


@pytest.mark.parametrize(
    ("name", "finder"),
    [
        ("a fence is issued twice", "leases"),
        ("what is held is taken", "leases"),
        ("a start is answered, and not recorded", "effects"),
        ("windows are not looked at", "effects"),
        ("trust outlives the lease", "effects"),
        ("a lease that is lost is believed in", "effects"),
        ("limits are not looked at", "effects"),
        ("what is due is reckoned by a worker's own clock", "leases"),
        ("a key yields to everybody", "keys"),
        ("alerts are not raised", "alerts"),
        ("every missed moment runs, although only the latest is wanted", "occurrences"),
        ("an edit leaves the moments of the rule before", "occurrences"),
        ("some of what was acknowledged is lost", "acknowledged"),
        ("steps are forgotten", "steps"),
        ("leases are not renewed", "liveness"),
        ("a slot is never freed", "reasons"),
        ("ends of attempts are not recorded", "explain"),
        ("request ids are forgotten", "stale"),
    ],
)
def test_a_planted_bug_is_found_by_whoever_watches_its_field(name: str, finder: str) -> None:
    found = hunt(BY_NAME[name], seeds=WORLDS)
    assert found.checker == finder, found


def test_a_world_in_which_something_was_found_ends_there_with_the_first_violation_of_the_whole() -> None:
    bug = BY_NAME["what is held is taken"]
    with planted(bug):
        whole = run_seed(0, length=35 * MINUTE + 10 * MINUTE)
        cut = run_until_found(0, 35 * MINUTE + 10 * MINUTE)
    assert cut.violations[0] == whole.violations[0]
    assert sum(cut.calls.values()) < sum(whole.calls.values()) // 2
    assert cut.error == "Found: "


def test_there_are_many_planted_bugs_and_each_can_live_somewhere() -> None:
    assert len(BY_NAME) == len(MUTANTS) >= 30
    homeless = [
        mutant.name
        for mutant in MUTANTS
        if not any(mutant.needs.fits(draw(seed, length=int(mutant.hours * 60) * MINUTE)) for seed in range(DRAWN))
    ]
    assert not homeless


@pytest.mark.parametrize("name", ["an outcome is accepted whatever its fence", "trust outlives the lease"])
def test_a_bug_is_pulled_out_again_whatever_happens(name: str) -> None:
    before = (settling.settle, runs.trust_end)

    def fail() -> None:
        with planted(BY_NAME[name]):
            assert before != (settling.settle, runs.trust_end)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert before == (settling.settle, runs.trust_end)


def test_what_cannot_be_planted_leaves_nothing_behind() -> None:
    planter = Planter()
    with pytest.raises(KeyError):
        planter.put(settling, "no_such_verb", None)
    planter.pull()
    assert not hasattr(settling, "no_such_verb")


def test_nobody_is_blamed_for_a_world_without_a_checker() -> None:
    outcome = run_plan(draw(0, length=35 * MINUTE), lambda _: [])
    assert outcome.is_good
    assert not outcome.proofs


def test_a_call_that_changed_nothing_is_shown_to_those_only_that_judge_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: Counter[str] = Counter()
    requests: Counter[str] = Counter()

    def counted(make: type[Watch]) -> Callable[[Watch, Call], None]:
        hear = make.on_call

        def on_call(watch: Watch, call: Call) -> None:
            shown[make.name] += 1
            if make is Liveness and call.verb in ASKED_ONCE:
                requests[f"{call.verb} {call.args[0]}"] += 1
            hear(watch, call)

        return on_call

    for make in CHECKERS:
        if make.on_call is not Watch.on_call:
            monkeypatch.setattr(make, "on_call", counted(make))
    outcome = run_seed(4)
    calls = sum(outcome.calls.values())
    assert outcome.is_good
    assert {name for name, times in shown.items() if times == calls} == {"liveness", "rollbacks"}
    assert 0 < max(times for times in shown.values() if times < calls) < calls / 2
    twice = sum(times - 1 for times in requests.values())
    assert twice > 10
    assert outcome.proofs["stale: requests that came twice"] == twice, "a repeat is news, though it changes nothing"
