"""What is said when a lock service does not answer: one sentence after the other, each ended once."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from noonmark.core.model import SECOND
from noonmark.locks import LockError, open_locks
from noonmark.locks.errors import no_answer, refusal, within


@pytest.mark.parametrize(
    ("said", "ended"),
    [
        ("Connection refused", "Connection refused."),
        ("Connection refused.", "Connection refused."),
        ("Is the server running\n\tand accepting connections?", "Is the server running and accepting connections?"),
        ("out of memory ...", "out of memory."),
    ],
)
def test_a_driver_s_words_are_ended_once(said: str, ended: str) -> None:
    assert str(no_answer("redis://h", said)).startswith(f"redis://h does not answer: {ended} It may")
    assert str(refusal("redis://h", said, "Do this.")) == f"redis://h refuses to serve locks: {ended} Do this."
    assert within(LockError("it is away.")) == "it is away"


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:1",
        "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3",
        "postgresql://127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?kind=advisory",
        "etcd://127.0.0.1:1?timeout=0.2",
        "zookeeper://127.0.0.1:1?timeout=0.2",
    ],
)
def test_a_refused_connection_is_said_in_whole_sentences(url: str) -> None:
    with closing(open_locks(url)) as locks, pytest.raises(LockError) as refused:
        locks.acquire("a", 30 * SECOND, "t")
    said = str(refused.value)
    assert not re.search(r"[.?!;:][.;]|\.\)", said), said
    assert said.endswith("."), said
    assert "\n" not in said
