"""Jobs whose names look like a secret's: told as they are, and no sentence of ours is cut for them; secrets are hidden."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from calling import Noonmark
from desk import DIGEST, TICK, Desk

from noonmark.core.model import MINUTE
from noonmark.core.reasons import REASONS, sentence
from noonmark.core.shown import redacted
from noonmark.core.told import NAMES
from noonmark.explain.messages import MESSAGES, message
from noonmark.faces.cli import show_words, words
from noonmark.faces.cli.problems import Trouble
from noonmark.faces.cli.session import Session
from noonmark.faces.cli.settings import Settings
from noonmark.faces.cli.show_words import SHOWN
from noonmark.faces.cli.trouble_words import TROUBLES
from noonmark.faces.cli.words import WORDS

LIKE_SECRETS = ("password-reset", "api_key", "token", "secret: x", "密码")
SECRET = "a token of it: password=hunter2"

Said = Callable[..., str]
SAID: list[tuple[str, tuple[str, ...], Said]] = [
    *((f"word {key}", texts, lambda lang, k=key, **a: words.say(k, lang, **a)) for key, texts in WORDS.items()),
    *((f"show {key}", texts, lambda lang, k=key, **a: show_words.say(k, lang, **a)) for key, texts in SHOWN.items()),
    *((f"story {key}", texts, lambda lang, k=key, **a: message(k, lang, **a)) for key, texts in MESSAGES.items()),
]
"""Name -> the text in both languages, and what says it."""


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def simple(name: str, field: str) -> str:
    """Anything may be called like a secret; only what is called a job's name may have a colon in it."""
    return name if field in NAMES else name.partition(":")[0]


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Callable[[str], list[str]]:
    """Return what is printed of a text as data, and as a remark."""
    here = Session(Settings())

    def both(text: str) -> list[str]:
        here.say(text)
        here.remark(text)
        told = capsys.readouterr()
        return [told.out.removesuffix("\n"), told.err.removesuffix("\n")]

    return both


@pytest.mark.parametrize(("texts", "say"), [said[1:] for said in SAID], ids=[said[0] for said in SAID])
def test_a_name_is_told_as_it_is_and_a_secret_is_not(
    shown: Callable[[str], list[str]], texts: tuple[str, ...], say: Said
) -> None:
    for lang, text in zip(("en", "zh"), texts, strict=True):
        for name in LIKE_SECRETS:
            given = {field: simple(name, field) for field in fields(text)}
            assert shown(say(lang, **given)) == [text.format(**given)] * 2
        secret = {field: "x" if field in NAMES else SECRET for field in fields(text)}
        hidden = {field: value if field in NAMES else redacted(value) for field, value in secret.items()}
        assert shown(say(lang, **secret)) == [text.format(**hidden)] * 2
        assert "hunter2" not in text.format(**hidden)


@pytest.mark.parametrize("key", TROUBLES)
def test_a_trouble_tells_a_name_as_it_is_and_a_secret_not(key: str) -> None:
    for lang, texts in zip(("en", "zh"), TROUBLES[key], strict=True):
        for name in LIKE_SECRETS:
            given: dict[str, Any] = {field: simple(name, field) for text in texts for field in fields(text)}
            parts = [text.format(**given).rstrip() for text in texts]
            assert Trouble(key, **given).parts(lang) == tuple(parts)
            lines = [f"        {line}" for part in parts[1:] for line in part.splitlines() if line]
            assert Trouble(key, **given).text(lang) == "\n".join([f"noonmark: {parts[0]}", *lines])
            assert list(Trouble(key, **given).plain(lang).values())[1:4] == parts
        secret: dict[str, Any] = dict.fromkeys(given, SECRET) | dict.fromkeys(NAMES & set(given), "x")
        assert "hunter2" not in Trouble(key, **secret).text(lang)
        assert "hunter2" not in str(Trouble(key, **secret).plain(lang))


@pytest.mark.parametrize("code", REASONS)
def test_a_reason_tells_no_secret_and_cuts_no_word_of_its_own(shown: Callable[[str], list[str]], code: str) -> None:
    texts = (REASONS[code].en, REASONS[code].zh)
    for lang, text in zip(("en", "zh"), texts, strict=True):
        names = set(re.findall(r"\{(\w+)(?::\w+)?\}", text))
        for name in ("password-reset", "api_key", "token", "密码"):
            said = sentence(code, dict.fromkeys(names, name), lang=lang)
            assert shown(said) == [said] * 2
            assert "***" not in said
        told = shown(sentence(code, dict.fromkeys(names - NAMES, SECRET), lang=lang))
        assert "hunter2" not in told[0] + told[1]


# --- whole answers -----------------------------------------------------------------------------------

CALLS = (
    "jobs", "history", "history {job}", "why {job}", "next", "next {job}", "show {job}", "backlog", "leases", "verify",
    "flags", "run {job} --dry-run", "run {job}", "pause {job} --reason stocktaking", "resume {job}",
    "end {job} --reason moved", "why {job}x", "ledger release --as run --reason x --job {job}x",
    "jobs --json", "why {job} --json", "why {job}x --json",
)  # fmt: skip


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("job", ["password-reset", "api_key", "token", "密码"])
def test_no_answer_of_a_command_is_cut_for_the_name_of_a_job(
    desk: Desk, noonmark: Noonmark, job: str, lang: str
) -> None:
    desk.register(
        replace(DIGEST, name=job, key="k:{scheduled_for}"), replace(TICK, name=f"{job}-too", key="t:{scheduled_for}")
    )
    desk.later(MINUTE)
    desk.beat()
    for call in CALLS:
        answer = noonmark(*call.format(job=job).split(), "--lang", lang)
        told = answer.out + answer.err
        assert "***" not in told, (call, told)
        assert "fault in noonmark" not in told


@pytest.mark.parametrize("job", ["password-reset", "api_key", "token", "密码", "secret: x"])
def test_the_key_of_a_job_begins_with_its_name_and_is_told(desk: Desk, noonmark: Noonmark, job: str) -> None:
    desk.register(replace(TICK, name=job, key=f"{job}:{{scheduled_for}}"))
    desk.later(6 * MINUTE)
    for call in (["history"], ["backlog"], ["why", job], ["run", job, "--dry-run"], ["run", job]):
        answer = noonmark(*call)
        assert f"{job}:2026-11-27T04" in answer.out, call
        assert f'"{job}:2026-11-27T04' in noonmark(*call, "--json").out, call


def test_a_secret_in_a_key_is_hidden_all_the_same(desk: Desk, noonmark: Noonmark) -> None:
    desk.register(replace(TICK, name="token", key="token:password=hunter2:{scheduled_for}"))
    desk.later(6 * MINUTE)
    for call in (["history"], ["backlog"], ["why", "token"], ["run", "token"]):
        told = noonmark(*call, "--lang", "zh").out + noonmark(*call, "--json").out
        assert "token:password=***" in told, call
        assert "hunter2" not in told, call


@pytest.mark.parametrize("job", ["auth", "password-reset", "api_key", "token", "密码"])
def test_what_verify_counts_of_a_job_is_told_whatever_it_is_called(desk: Desk, noonmark: Noonmark, job: str) -> None:
    desk.register(replace(TICK, name=job, key=f"{job}:{{scheduled_for}}"))
    desk.later(6 * MINUTE)
    assert sum(noonmark("verify", "--json").plain["jobs"][job].values()) > 0


@pytest.mark.parametrize("job", ["auth", "refresh-token", "密码"])
def test_a_rule_that_is_shown_is_a_rule_and_its_secrets_are_hidden(
    noonmark: Noonmark, tmp_path: Path, job: str
) -> None:
    file = tmp_path / "noonmark.yaml"
    file.write_text(
        f"version: 1\njobs:\n  {job}:\n    schedule: {{every: 10s, tz: UTC}}\n    reason: tried\n"
        f'    key: "{job}:{{scheduled_for}}"\n    command: [curl, --token, hunter2, "--header", "password: hunter3"]\n',
        encoding="utf-8",
    )
    shown = noonmark("rules", "show", str(file)).out
    assert f'key: "{job}:{{scheduled_for}}"' in shown
    assert "hunter" not in shown + noonmark("rules", "show", str(file), "--json").out
    assert noonmark("rules", "show", str(file), "--json").plain["jobs"][0]["key"] == f"{job}:{{scheduled_for}}"
    file.write_text(shown, encoding="utf-8")
    assert noonmark("rules", "check", str(file)).code == 0
