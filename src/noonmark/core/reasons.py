"""Reasons as a person reads them.

Promise: every code has one sentence and one remedy in English and in Chinese, and asking for them never raises,
whatever the detail lacks and whichever version wrote the code.  Rule of the file: texts are in ``core/catalogue.py``
and ``core/catalogue_runs.py``, words for values in ``core/phrasing.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noonmark.core.catalogue import NOT_RUN, WAITING, Reason
from noonmark.core.catalogue_runs import ACTS, ENDED, STORE
from noonmark.core.phrasing import fill

__all__ = ["LANGUAGES", "REASONS", "Reason", "level", "remedy", "sentence"]

LANGUAGES = ("en", "zh")
REASONS: dict[str, Reason] = {reason.code: reason for reason in (*WAITING, *NOT_RUN, *ENDED, *ACTS, *STORE)}


def sentence(
    code: str,
    detail: Mapping[str, Any] | None = None,
    *,
    lang: str = "en",
    zone: str = "UTC",
    with_offset: bool = False,
) -> str:
    """Return the sentence of a reason.

    Args:
        code: a code of the catalogue; one of a newer version is told by its name.
        detail: arguments of the sentence, instants and lengths in microseconds.
        lang: "en" or "zh".
        zone: IANA zone in which instants are told.
        with_offset: tell with each how far the zone is from UTC, for a reader who is not told the zone.
    """
    reason = REASONS.get(code)
    if reason is None:
        shown = code or "-"
        return f"原因：{shown}。" if lang == "zh" else f"Reason: {shown}."
    values = detail if isinstance(detail, Mapping) else {}
    if lang == "zh" and isinstance(values.get("error"), str):
        from noonmark.core.errors_zh import in_chinese  # only who reads Chinese pays for the patterns

        values = {**values, "error": in_chinese(values["error"])}
    return fill(reason.zh if lang == "zh" else reason.en, values, lang=lang, zone=zone, with_offset=with_offset)


def remedy(code: str, lang: str = "en") -> str:
    """Return what to do about a reason, "" for a code that this version does not know."""
    reason = REASONS.get(code)
    if reason is None:
        return ""
    return reason.remedy_zh if lang == "zh" else reason.remedy_en


def level(code: str) -> int:
    """Return how loud a reason is: 0 no alert, 1 notice, 2 raised, 3 urgent."""
    reason = REASONS.get(code)
    return reason.level if reason is not None else 0
