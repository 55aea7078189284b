"""Commands that are printed can be copied: they have the params of the row; and a killed worker is not told as awake."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import pytest
from desk import Desk

from noonmark.core.codec import canonical
from noonmark.engine import host
from noonmark.explain.fragments import asked_with
from noonmark.explain.remedies import filled_in
from noonmark.faces.cli.params import read_params
from noonmark.testing.builders import make_row


def test_params_of_a_row_are_read_back_from_the_command_as_they_were() -> None:
    params = {"n": 7, "text": "a b'c", "digits": "7", "flag": True, "none": None, "list": [1, "二"], "quoted": '"x"'}
    words = shlex.split(asked_with(make_row(params=canonical(params))))
    assert words[::2] == ["--param"] * len(params)
    assert read_params(tuple(words[1::2])) == params


def test_a_secret_param_is_left_to_fill_in() -> None:
    assert "hunter2" not in asked_with(make_row(params=canonical({"api_key": "hunter2", "a": {"密码": "hunter2"}})))


def test_the_command_of_a_remedy_has_the_params_that_the_run_needs() -> None:
    row = make_row(job="bad job", params=canonical({"n": 3}))
    told = filled_in("To run it again on purpose: noonmark run JOB --again --reason WHY", row)
    assert told.endswith("noonmark run 'bad job' --param n=3 --again --reason WHY")


def test_a_worker_whose_process_is_no_more_is_not_told_as_awake(
    desk: Desk, noonmark: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.beat()
    monkeypatch.setattr(host, "lives_here", lambda _worker, _boot: True)
    assert "awake" in noonmark("leases").out
    assert noonmark("leases", "--json").plain["workers"][0]["awake"] is True
    monkeypatch.setattr(host, "lives_here", lambda _worker, _boot: False)
    told = noonmark("leases")
    assert "awake" not in told.out
    assert "killed" in told.out
    assert noonmark("leases", "--json").plain["workers"][0]["awake"] is False
