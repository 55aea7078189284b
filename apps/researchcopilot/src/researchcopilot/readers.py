"""From the text of a file to blocks: headings, prose, code; each with the line (or page) where it stands.

Rule of the file: a reader is a pure function from text to blocks, and no reader raises on odd input: what cannot be
understood as markup is prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

from researchcopilot.text import join_lines

HEADING, PROSE, ASIDE = "heading", "prose", "aside"
"""Kinds of block; an aside (code) is searched and shown to a model, but never quoted as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A piece of a document, with the 1-based line on which it begins, or the page for PDF."""

    kind: str
    text: str
    line: int
    level: int = 0
    page: int | None = None


# --- plain text ------------------------------------------------------------------------------------


def read_plain(text: str, *, page: int | None = None) -> Iterator[Block]:
    """Yield one block of prose per paragraph (blank lines separate)."""
    paragraph: list[str] = []
    first = 1
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.strip():
            if not paragraph:
                first = number
            paragraph.append(line)
        elif paragraph:
            yield Block(kind=PROSE, text=join_lines(paragraph), line=first, page=page)
            paragraph = []


# --- Markdown --------------------------------------------------------------------------------------

_FENCE = re.compile(r"^\s*(```+|~~~+)")
_ATX = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(.*)$")
_RULER = re.compile(r"^\s*\|[\s:|-]*-[\s:|-]*$")
_SETEXT = re.compile(r"^(=+|-{2,})\s*$")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|!?\[([^\]]+)\]\[[^\]]*\]")
_EMPHASIS = re.compile(r"(\*{1,3})(?=\S)(.+?)(?<=\S)\1")
_MARKS = re.compile(r"\*\*|__|`|<!--.*?-->|</?[a-zA-Z][^>]*>")


def read_markdown(text: str) -> Iterator[Block]:
    """Yield the blocks of a Markdown text; front matter is left out, links keep their words."""
    return _Markdown().read(text.splitlines())


class _Markdown:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._kind = PROSE
        self._first = 1

    def read(self, lines: list[str]) -> Iterator[Block]:
        fence = ""
        start = _after_front_matter(lines)
        for number, line in enumerate(lines[start:], start=start + 1):
            opening = _FENCE.match(line)
            if fence:
                if opening and opening[1].startswith(fence):
                    fence = ""
                    yield from self._flush()
                else:
                    self._add(ASIDE, line, number)
            elif opening:
                yield from self._flush()
                fence = opening[1]
            else:
                yield from self._line(line, number)
        yield from self._flush()

    def _line(self, line: str, number: int) -> Iterator[Block]:
        atx, item = _ATX.match(line), _ITEM.match(line)
        if not line.strip():
            yield from self._flush()
        elif atx:
            yield from self._flush()
            yield Block(kind=HEADING, text=_plain(atx[2]), line=number, level=len(atx[1]))
        elif _SETEXT.match(line) and len(self._lines) == 1 and self._kind == PROSE:
            title, self._lines = self._lines[0], []
            yield Block(kind=HEADING, text=_plain(title), line=self._first, level=1 if line[0] == "=" else 2)
        elif _SETEXT.match(line):
            yield from self._flush()
        elif _RULER.match(line):
            self._lines = []  # the row above it was the header
        elif line.lstrip().startswith("|"):
            yield from self._flush()
            self._add(PROSE, " — ".join(cell.strip() for cell in line.strip().strip("|").split("|")), number)
        elif item:
            yield from self._flush()
            self._add(PROSE, item[1], number)
        else:
            self._add(PROSE, line.lstrip("> "), number)

    def _add(self, kind: str, line: str, number: int) -> None:
        if not self._lines:
            self._kind, self._first = kind, number
        self._lines.append(line)

    def _flush(self) -> Iterator[Block]:
        lines, self._lines = self._lines, []
        kind, self._kind = self._kind, PROSE
        text = "\n".join(lines).strip("\n") if kind == ASIDE else _plain(join_lines(lines))
        if text.strip():
            yield Block(kind=kind, text=text, line=self._first)


def _after_front_matter(lines: list[str]) -> int:
    if lines and lines[0].strip() == "---":
        for index, line in enumerate(lines[1:], start=1):
            if line.strip() == "---":
                return index + 1
    return 0


def _plain(text: str) -> str:
    text = _LINK.sub(lambda found: found[1] or found[2] or "", text)
    return _MARKS.sub("", _EMPHASIS.sub(r"\2", text)).strip()


# --- HTML ------------------------------------------------------------------------------------------

_UNSEEN = frozenset({"script", "style", "template", "noscript", "svg", "head"})
_BREAKS = frozenset(
    {"p", "div", "li", "ul", "ol", "section", "article", "main", "header", "footer", "nav", "table", "tr"}
    | {"blockquote", "dl", "dt", "dd", "br", "hr"}
)


def read_html(text: str) -> Iterator[Block]:
    """Yield the visible text of an HTML page; broken markup is read as far as it goes."""
    page = _Page()
    page.feed(text)
    page.close()
    page.end_block()
    yield from page.blocks


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._words: list[str] = []
        self._line = 1
        self._unseen = 0
        self._level = 0
        self._in_code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag == "body":
            self._unseen = 0  # an unclosed head must not swallow the page
        if tag in _UNSEEN:
            self._unseen += 1
        elif _heading_level(tag):
            self.end_block()
            self._level = _heading_level(tag)
        elif tag == "pre":
            self.end_block()
            self._in_code = True
        elif tag in _BREAKS:
            self.end_block()

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif _heading_level(tag):
            self.end_block()
            self._level = 0
        elif tag == "pre":
            self.end_block()
            self._in_code = False
        elif tag in _BREAKS:
            self.end_block()

    def handle_data(self, data: str) -> None:
        if self._unseen or not data.strip():
            return
        if not self._words:
            self._line = self.getpos()[0] + len(data[: len(data) - len(data.lstrip())].splitlines()[1:])
        self._words.append(data)

    def end_block(self) -> None:
        words, self._words = self._words, []
        text = "".join(words).strip("\n") if self._in_code else join_lines("".join(words).splitlines())
        if text.strip():
            kind = ASIDE if self._in_code else HEADING if self._level else PROSE
            self.blocks.append(Block(kind=kind, text=text, line=self._line, level=self._level))


def _heading_level(tag: str) -> int:
    return int(tag[1]) if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456" else 0
