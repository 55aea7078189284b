"""What a worker declared itself need not be parsed again; what somebody else declared must be."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from noonmark.core.model import Every
from noonmark.engine import rules as rules_module
from noonmark.engine.activate import put_in_force
from noonmark.engine.registry import Registry
from noonmark.engine.rules import Rules
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import make_job

TICK = make_job("tick", trigger=Every(period=60_000_000))


def nothing() -> None:
    """Run nothing."""


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the jobs that are parsed while the test runs."""
    names: list[str] = []
    original = rules_module.job_from_text

    def noted(text: str) -> object:
        names.append(str(json.loads(text)["name"]))
        return original(text)

    monkeypatch.setattr(rules_module, "job_from_text", noted)
    return names


def test_our_own_declarations_are_not_parsed_again(parsed: list[str]) -> None:
    store, registry = MemoryStore(), Registry()
    registry.add(TICK, nothing)
    rules = Rules(registry)
    rules.trust(row for row, is_ours in put_in_force(store, [TICK], actor="ada") if is_ours)
    rules.load(store.jobs(), 1)
    assert rules.job("tick") == TICK
    assert parsed == []

    put_in_force(store, [replace(TICK, reason="another one")], actor="ada")
    rules.load(store.jobs(), 2)
    assert rules.job("tick") == replace(TICK, reason="another one"), "what the store has is what counts"
    assert parsed == ["tick"]


def test_parameters_come_as_the_store_gives_them(parsed: list[str]) -> None:
    store, registry = MemoryStore(), Registry()
    job = replace(TICK, params={"pair": (1, 2)})
    registry.add(job, nothing)
    rules = Rules(registry)
    rules.trust(row for row, _ in put_in_force(store, [job], actor="ada"))
    rules.load(store.jobs(), 1)
    found = rules.job("tick")
    assert found is not None
    assert found.params == {"pair": [1, 2]}
    assert parsed == ["tick"]


def test_a_rule_of_another_process_that_stands_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    put_in_force(store, [replace(TICK, reason="theirs")], actor="them")
    monkeypatch.setattr(store, "activate", lambda *_, **__: store.jobs())  # somebody else is always faster
    (told,) = put_in_force(store, [TICK], actor="ada")
    assert (told[0].rule, told[1]) == (store.jobs()[0].rule, False)
