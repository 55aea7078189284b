"""Scripts: each one file with a header, nothing in them that makes a cluster or a replica unhappy."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from noonmark.stores.redis import layout, scripts
from noonmark.stores.redis.scripts import script
from noonmark.testing.servers import Redis


def _source(name: str) -> str:
    return (resources.files("noonmark.stores.redis") / "lua" / f"{name}.lua").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", scripts.names())
def test_every_script_says_what_it_takes_returns_and_keeps(name: str) -> None:
    header = _source(name).split("\n\n", 1)[0]
    assert header.startswith(f"-- {'note_if_held' if name == 'note' else name}:"), header
    for part in ("-- KEYS ", "-- returns ", "-- invariant: ", "-- USES: "):
        assert part in header, part


@pytest.mark.parametrize("name", scripts.names())
def test_every_script_is_accepted_by_the_server(server: Redis, name: str) -> None:
    assert server.command("SCRIPT", "LOAD", script(name).text) == script(name).sha


@pytest.mark.parametrize("name", scripts.names())
def test_no_script_goes_through_all_keys(name: str) -> None:
    assert not re.search(r"'(KEYS|SCAN|HSCAN|ZSCAN|SSCAN|RANDOMKEY|FLUSHDB)'", script(name).text)


@pytest.mark.parametrize("name", scripts.names())
def test_every_position_in_a_script_was_filled_in(name: str) -> None:
    left = set(re.findall(r"\[([A-Z]_?[A-Z_]*)\]", script(name).text))
    assert not left & set(layout.positions()), "a name was not filled in"
    assert left <= {"ARGV", "KEYS"}, f"unknown positions: {left}"


def test_no_position_has_the_name_of_something_else() -> None:
    assert not set(layout.positions()) & {"KEYS", "ARGV", "TRANSITIONS", "CANCEL_WINS_OVER", "OPEN", "PREFIX", "META"}
