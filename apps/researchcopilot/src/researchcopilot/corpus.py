"""A folder of documents becomes passages that can be cited: file, line or page, heading.

Rules of the file: reading a folder never changes it; the same folder gives the same passages in the same order; a
file that cannot be read is named with what to do about it, and the others are read all the same.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import noonmark
from researchcopilot.readers import ASIDE, HEADING, Block, read_html, read_markdown, read_plain
from researchcopilot.text import sentences

SUFFIXES = {".md": "md", ".markdown": "md", ".txt": "txt", ".html": "html", ".htm": "html", ".pdf": "pdf"}
FILE_LIMIT = 32 * 1024 * 1024
"""Largest file that is read, in bytes."""
PASSAGE_LENGTH = 900
"""A passage is closed at the first block behind this many characters."""


class CorpusError(Exception):
    """The corpus as a whole cannot be read; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A folder, and which of its files belong to the corpus (glob patterns)."""

    root: Path
    include: tuple[str, ...] = ("**/*",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of a document that can be cited.  ``aside`` is its code: searched, but not quoted."""

    file: str
    line: int
    heading: str
    text: str
    aside: str = ""
    page: int | None = None

    @property
    def place(self) -> str:
        """Where it stands, for people: ``docs/concepts.md:42`` or ``paper.pdf page 3``."""
        return f"{self.file} page {self.page}" if self.page is not None else f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A file that could not be read: why, and what to do."""

    file: str
    message: str


@dataclass(slots=True, kw_only=True)
class Reading:
    """What a folder held: passages in order, the digest of all bytes read, and the files that could not be read."""

    passages: list[Passage] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    documents: int = 0
    digest: str = ""


def default_corpus() -> Corpus:
    """Return noonmark's own documentation: the copy in its installed package, else the checkout's docs and README.

    Raises:
        CorpusError: neither is there.
    """
    package = Path(noonmark.__file__).resolve().parent
    shipped = package / "demo_app" / "corpus"
    if shipped.is_dir():
        return Corpus(root=shipped)
    for folder in package.parents:
        if (folder / "docs").is_dir() and (folder / "src" / "noonmark").is_dir():
            return Corpus(root=folder, include=("README*.md", "docs/**/*"))
    raise CorpusError(
        "no default corpus: noonmark was installed without its documentation. Name a folder: --corpus DIR"
    )


def open_corpus(folder: str | Path | None) -> Corpus:
    """Return the corpus of a folder, or the default one for None or "".

    Raises:
        CorpusError: the folder is not there, or is no folder.
    """
    if folder is None or str(folder) == "":
        return default_corpus()
    root = Path(folder).expanduser()
    if not root.exists():
        raise CorpusError(f"corpus folder {root} does not exist. Name a folder of .md, .txt, .html or .pdf files")
    if not root.is_dir():
        raise CorpusError(f"{root} is a file; the corpus is a folder. Name the folder it lies in: {root.parent}")
    return Corpus(root=root)


def read(corpus: Corpus) -> Reading:
    """Read every document of the corpus.

    Raises:
        CorpusError: there is not one readable document, so that an unmounted disk never replaces a good index.
    """
    reading = Reading()
    digest = hashlib.sha256()
    for path in _files(corpus):
        name = path.relative_to(corpus.root).as_posix()
        try:
            content = _bytes_of(path)
            blocks = list(_blocks(path, content))
        except _UnreadableError as trouble:
            reading.problems.append(Problem(file=name, message=str(trouble)))
            continue
        digest.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode())
        reading.passages.extend(_passages(name, blocks))
        reading.documents += 1
    reading.digest = digest.hexdigest()
    if not reading.documents:
        first = "".join(f" {problem.file}: {problem.message}." for problem in reading.problems[:1])
        raise CorpusError(f"no readable .md, .txt, .html or .pdf file in {corpus.root}.{first}")
    return reading


# --- files -----------------------------------------------------------------------------------------


class _UnreadableError(Exception):
    pass


def _files(corpus: Corpus) -> list[Path]:
    found: set[Path] = set()
    for pattern in corpus.include:
        for path in corpus.root.glob(pattern):
            parts = path.relative_to(corpus.root).parts
            hidden = any(part.startswith(".") for part in parts)
            if not hidden and path.suffix.lower() in SUFFIXES and path.is_file():
                found.add(path)
    return sorted(found, key=lambda path: path.relative_to(corpus.root).as_posix())


def _bytes_of(path: Path) -> bytes:
    try:
        if path.stat().st_size > FILE_LIMIT:
            raise _UnreadableError(f"larger than {FILE_LIMIT // 1024 // 1024} MiB; split it or leave it out")
        return path.read_bytes()
    except OSError as trouble:
        raise _UnreadableError(f"cannot be read: {trouble.strerror or trouble}") from trouble


def _blocks(path: Path, content: bytes) -> Iterator[Block]:
    kind = SUFFIXES[path.suffix.lower()]
    if kind == "pdf":
        yield from _read_pdf(content)
        return
    text = _decode(content)
    reader = {"md": read_markdown, "txt": read_plain, "html": read_html}[kind]
    yield from reader(text)


def _decode(content: bytes) -> str:
    for encoding in ("utf-8-sig", "gb18030"):  # GB 18030 is what older Chinese text files are written in
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise _UnreadableError("is neither UTF-8 nor GB 18030 text; save it as UTF-8")


def _read_pdf(content: bytes) -> Iterator[Block]:
    try:
        pypdf = importlib.import_module("pypdf")  # slow to import, and the copy inside noonmark does without
    except ImportError:
        raise _UnreadableError("reading PDF needs pypdf: pip install pypdf") from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what cannot be read is named by whoever asked for it
    try:
        for number, page in enumerate(pypdf.PdfReader(io.BytesIO(content)).pages, start=1):
            yield from read_plain(page.extract_text() or "", page=number)
    except Exception as trouble:  # pypdf raises many kinds; any of them means that this one file is unreadable
        raise _UnreadableError(f"is not a readable PDF: {type(trouble).__name__}: {trouble}") from trouble


# --- passages --------------------------------------------------------------------------------------


def _passages(file: str, blocks: Iterable[Block]) -> Iterator[Passage]:
    """Group blocks under their heading; a new heading, a new page or enough text closes a passage."""
    trail: list[tuple[int, str]] = []
    group: list[Block] = []
    for block in (piece for whole in blocks for piece in _pieces(whole)):
        size = sum(len(each.text) for each in group)
        if group and (block.kind == HEADING or size >= PASSAGE_LENGTH or block.page != group[0].page):
            yield _passage(file, trail, group)
            group = []
        if block.kind == HEADING:
            trail = [*(entry for entry in trail if entry[0] < block.level), (block.level, block.text)]
        else:
            group.append(block)
    if group:
        yield _passage(file, trail, group)


def _pieces(block: Block) -> Iterator[Block]:
    """Cut a block without end (a text file without blank lines, a long listing) where a sentence or line ends."""
    if block.kind == HEADING or len(block.text) <= 2 * PASSAGE_LENGTH:
        yield block
        return
    glue = "\n" if block.kind == ASIDE else " "
    parts = block.text.split("\n") if block.kind == ASIDE else sentences(block.text)
    piece = ""
    for part in (cut for each in parts for cut in _cuts(each)):
        if piece and len(piece) + len(part) > PASSAGE_LENGTH:
            yield replace(block, text=piece)
            piece = ""
        piece = piece + glue + part if piece else part
    if piece:
        yield replace(block, text=piece)


def _cuts(text: str) -> list[str]:
    return [text[begin : begin + PASSAGE_LENGTH] for begin in range(0, len(text), PASSAGE_LENGTH)]


def _passage(file: str, trail: list[tuple[int, str]], group: list[Block]) -> Passage:
    return Passage(
        file=file,
        line=group[0].line,
        page=group[0].page,
        heading=" > ".join(text for _, text in trail),
        text="\n".join(block.text for block in group if block.kind != ASIDE),
        aside="\n".join(block.text for block in group if block.kind == ASIDE),
    )
