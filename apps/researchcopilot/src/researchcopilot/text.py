"""Words and sentences of English and Chinese text, alike for the index, the questions and the answers.

Rule of the file: pure functions.  Chinese, Japanese and Korean runs become overlapping pairs of characters (bigrams),
since they are written without spaces; everything else becomes whole words.  What the index stores and what a question
asks for go through the same function, or nothing would ever be found.
"""

from __future__ import annotations

import re
import unicodedata

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0002ffff"
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = re.compile(rf"[{_CJK}]")
_HAN = re.compile("[\u4e00-\u9fff]")
_SENTENCE_END = re.compile(r"(?<=[。！？；])|(?<=[.!?])\s+(?=[\"'(\[A-Z0-9\u4e00-\u9fff])|\n+")

_ENGLISH = """
a an and are as at be but by can could do does for from had has have how i if in into is it its may me my no not of on
or our she should so than that the their them then there these they this to was we were what when where which who why
will with would you your"""
_CHINESE = "什么 怎么 如何 为什 么是 是什 哪些 多少 可以 是否 请问 一个 的是 怎样"
STOP_WORDS = frozenset(f"{_ENGLISH} {_CHINESE}".split())
"""Words of a question that say nothing about its subject."""


def terms(text: str) -> list[str]:
    """Return the words of a text in order, lower case and width-folded; CJK runs as bigrams, a lone character as is."""
    found: list[str] = []
    for run in _RUN.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _IS_CJK.match(run) and len(run) > 1:
            found.extend(run[index : index + 2] for index in range(len(run) - 1))
        else:
            found.append(run)
    return found


def subject_terms(question: str) -> list[str]:
    """Return the words of a question that carry its subject, each once; all of them when nothing else is left."""
    every = list(dict.fromkeys(terms(question)))
    return [word for word in every if word not in STOP_WORDS] or every


def sentences(text: str) -> list[str]:
    """Split prose into sentences, on Chinese and Latin punctuation and on line ends."""
    parts = (part.strip(" \t\r—") for part in _SENTENCE_END.split(text) if part)
    return [part for part in parts if part]


def is_chinese(text: str) -> bool:
    """Return True when the text is written with Chinese characters."""
    return _HAN.search(text) is not None


def is_mostly_chinese(text: str) -> bool:
    """Return True for a Chinese text, even with many Latin names in it; False for one with a Chinese word or two."""
    return 5 * len(_HAN.findall(text)) > len(text)


def join_lines(lines: list[str]) -> str:
    """Join wrapped lines: with a space, but not between two CJK characters, where a space would be an error."""
    joined = ""
    for line in (part.strip() for part in lines):
        if not line:
            continue
        glue = "" if not joined or (_is_wide(joined[-1]) and _is_wide(line[0])) else " "
        joined += glue + line
    return joined


def shorten(text: str, limit: int) -> str:
    """Return at most ``limit`` characters, ending in an ellipsis where something was left out."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"
