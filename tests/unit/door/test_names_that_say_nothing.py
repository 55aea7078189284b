"""A key, an event or an id that is empty tells no two things apart: it is refused before anything is stored."""

from __future__ import annotations

from typing import Any

import pytest

from noonmark import MissingParamError, Scheduler, manual, on_event, ready
from noonmark.core.model import Origin

HALF = "a\ud800"
"""What Python makes of a file's name that is no UTF-8."""


@pytest.fixture
def paying(sched: Scheduler) -> Any:
    @sched.job(manual(), key="{order}", reason="Pay once.")
    def pay(order: str = "") -> None: ...

    return pay


@pytest.fixture
def heard(sched: Scheduler) -> Any:
    @sched.job(on_event("order.paid"), key="{order}", reason="Ship once.")
    def ship(order: str = "") -> None: ...

    return ship


@pytest.mark.usefixtures("heard")
def test_an_event_whose_id_is_empty_is_not_taken_for_one_without_any(sched: Scheduler) -> None:
    with pytest.raises(ValueError, match="id is empty, so the same thing would be done twice"):
        sched.emit("order.paid", id="", order="7")
    assert sched.occurrences() == []
    assert [sched.emit("order.paid", id="e", order="7").duplicate for _ in range(2)] == [False, True]


def test_a_number_is_as_good_an_id_as_its_text(sched: Scheduler, heard: Any) -> None:
    del heard
    assert sched.emit("order.paid", id=5, order="7").id == "5"  # type: ignore[arg-type]
    assert sched.emit("order.paid", id="5", order="8").duplicate


@pytest.mark.parametrize("name", ["", None, 7])
def test_an_event_needs_a_name_of_its_own(sched: Scheduler, paying: Any, name: Any) -> None:
    del paying
    with pytest.raises(ValueError, match="the event's name is "):
        sched.emit(name, order="7")


@pytest.mark.parametrize("key", ["", 5, HALF])
def test_a_key_that_keeps_nothing_apart_is_refused_however_it_is_given(sched: Scheduler, paying: Any, key: Any) -> None:
    asks = (
        lambda: paying.later("1h", key=key)(order="7"),
        lambda: paying.run_now(reason="r", key=key, order="7"),
        lambda: sched.enqueue("pay", origin=Origin.LATER, params={"order": "7"}, due=lambda now: now, key=key),
        lambda: sched.cancel(key=key, job="pay"),
    )
    for ask in asks:
        with pytest.raises((TypeError, ValueError), match=r"^key "):
            ask()
    assert sched.occurrences() == []


def test_a_template_of_which_nothing_is_left_lacks_what_it_is_made_of(
    sched: Scheduler, paying: Any, heard: Any
) -> None:
    del heard
    asks = (
        lambda: paying.later("1h")(order=""),
        lambda: paying.run_now(reason="r", order=""),
        lambda: sched.emit("order.paid", order=""),
    )
    for ask in asks:
        with pytest.raises(MissingParamError, match=r'its key "\{order\}" is made of it') as refused:
            ask()
        assert (refused.value.names, refused.value.what) == (("order",), "key")
    assert sched.occurrences() == []
    assert paying.later("1h")(order="7").key == "7"


def test_a_flag_without_a_name_is_waited_for_by_nobody(sched: Scheduler) -> None:
    @sched.job(manual(), key="k:{n}", depends_on=[ready("{n}")], reason="r")
    def wait(n: str = "") -> None: ...

    with pytest.raises(MissingParamError) as refused:
        wait.later("1m")(n="")
    assert refused.value.what == "flag"


@pytest.mark.usefixtures("heard")
def test_what_no_store_can_keep_is_refused_in_words(sched: Scheduler, paying: Any) -> None:
    asks = (
        lambda: paying.run_now(reason=HALF, order="7"),
        lambda: paying.run_now(reason="r", actor=HALF, order="7"),
        lambda: sched.emit("order.paid", id=HALF, order="7"),
    )
    for ask in asks:
        with pytest.raises(ValueError, match="is no UTF-8 text") as refused:
            ask()
        assert type(refused.value) is ValueError
    assert sched.occurrences() == []
