"""The story templates are complete in both languages."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

import noonmark.explain
from noonmark.explain.messages import MESSAGES
from noonmark.explain.outcomes import OUTCOMES
from noonmark.faces.cli.show_words import SHOWN

SOURCES = [*Path(noonmark.explain.__path__[0]).glob("*.py")]


def names(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


@pytest.mark.parametrize("key", MESSAGES)
def test_both_languages_use_the_same_names(key: str) -> None:
    en, zh = MESSAGES[key]
    assert names(en) == names(zh)
    assert en
    assert zh


def test_every_template_is_told_somewhere_and_every_one_told_exists() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES if not path.name.startswith("messages"))
    cli = Path(noonmark.explain.__path__[0]).parent / "faces" / "cli"
    text += "\n".join(path.read_text(encoding="utf-8") for path in cli.glob("*.py"))
    unused = [key for key in MESSAGES if f'"{key}"' not in text]
    assert unused == []
    for key in re.findall(r'\bsay\(\s*"([a-z_]+)"', text):
        assert key in MESSAGES or key in SHOWN


def test_outcomes_have_a_word_in_each_language_and_an_ascii_stand_in() -> None:
    for outcome in OUTCOMES.values():
        assert outcome.zh
        assert outcome.ascii.isascii()
        assert len(outcome.glyph) == len(outcome.ascii) == 1
    assert len({outcome.rank for outcome in OUTCOMES.values()}) == len(OUTCOMES)
