"""A folder becomes citable passages, and unreadable files are named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from researchcopilot.corpus import PASSAGE_LENGTH, Corpus, CorpusError, default_corpus, open_corpus, read


def test_a_markdown_passage_knows_its_line_and_its_trail_of_headings(folder: Path) -> None:
    (folder / "guide.md").write_text("---\ntitle: x\n---\n# Guide\n\n## Leases\n\nA **lease** [ends](x.md).\n", "utf-8")
    (passage,) = read(open_corpus(folder)).passages
    assert (passage.place, passage.heading, passage.text) == ("guide.md:8", "Guide > Leases", "A lease ends.")


def test_code_is_searched_but_not_quoted(folder: Path) -> None:
    (folder / "a.md").write_text("Run this:\n\n```sh\nmake demo\n```\n", "utf-8")
    (passage,) = read(open_corpus(folder)).passages
    assert passage.text == "Run this:"
    assert passage.aside == "make demo"


def test_a_table_is_read_row_by_row_without_its_header(folder: Path) -> None:
    (folder / "a.md").write_text("| q | a |\n|---|:-:|\n| **Who**? | a lease |\n| When? | a window |\n", "utf-8")
    assert read(open_corpus(folder)).passages[0].text == "Who? — a lease\nWhen? — a window"


def test_html_gives_its_visible_text_with_headings_and_lines(folder: Path) -> None:
    head = "<html><head><title>T</title><style>p{}</style></head>"
    page = f"{head}\n<body><h1>Fences</h1>\n<p>A fence\ngrows.<script>x()</script>"
    (folder / "a.html").write_text(page, "utf-8")
    (passage,) = read(open_corpus(folder)).passages
    assert (passage.place, passage.heading, passage.text) == ("a.html:3", "Fences", "A fence grows.")


def test_wrapped_chinese_lines_are_joined_without_spaces(folder: Path) -> None:
    (folder / "a.txt").write_text("租约到期\n以后才接管。", "utf-8")
    assert read(open_corpus(folder)).passages[0].text == "租约到期以后才接管。"


def test_older_chinese_text_is_read_too(folder: Path) -> None:
    (folder / "a.txt").write_bytes("幂等键".encode("gb18030"))
    assert read(open_corpus(folder)).passages[0].text == "幂等键"


def test_a_text_without_blank_lines_is_cut_into_passages(folder: Path) -> None:
    (folder / "a.txt").write_text("It is so. " * 3000, "utf-8")
    passages = read(open_corpus(folder)).passages
    assert len(passages) > 10
    assert max(len(passage.text) for passage in passages) <= 2 * PASSAGE_LENGTH


def test_a_pdf_without_pypdf_is_named_with_the_remedy_and_the_others_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    (folder / "a.pdf").write_bytes(b"%PDF-1.4")
    (folder / "b.md").write_text("Words.", "utf-8")
    reading = read(open_corpus(folder))
    assert [(problem.file, "pip install pypdf" in problem.message) for problem in reading.problems] == [("a.pdf", True)]
    assert reading.documents == 1


def test_a_pdf_is_read_page_by_page(folder: Path) -> None:
    (folder / "a.pdf").write_bytes(pdf("A lease ends by itself.", "A fence only grows."))
    passages = read(open_corpus(folder)).passages
    assert [(passage.place, passage.text) for passage in passages] == [
        ("a.pdf page 1", "A lease ends by itself."),
        ("a.pdf page 2", "A fence only grows."),
    ]


@pytest.mark.parametrize("content", [b"", b"%PDF-1.4", b"no PDF at all", b"%PDF-1.4\n" + b"\0\xff" * 500])
def test_a_pdf_that_cannot_be_read_is_named_and_nothing_else_is_printed(
    folder: Path, content: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.pdf").write_bytes(content)
    (folder / "b.pdf").write_bytes(pdf("Words.")[:-200])  # as after a broken download
    (folder / "c.txt").write_text("Words.", "utf-8")
    reading = read(open_corpus(folder))
    assert "a.pdf" in [problem.file for problem in reading.problems]
    assert all("is not a readable PDF" in problem.message for problem in reading.problems)
    assert "c.txt" in [passage.file for passage in reading.passages]
    assert capfd.readouterr() == ("", "")


def pdf(*pages: str) -> bytes:
    """Return a PDF file with one line of text on each page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        drawn = f"BT /F 12 Tf 72 700 Td ({text}) Tj ET"
        shape = "/Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F 3 0 R >> >>"
        objects += [
            f"<< /Type /Page {shape} /Contents {5 + 2 * number} 0 R >>",
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        ]
    made, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(made))
        made += f"{number} 0 obj\n{each}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer << /Size {len(objects) + 1} /Root 1 0 R >>"
    return made + f"{end}\nstartxref\n{len(made)}\n%%EOF".encode()


def test_binary_rubbish_is_a_problem_and_not_a_traceback(folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"\0\xff\xfe\0")
    (folder / "b.txt").write_text("Words.", "utf-8")
    assert [problem.file for problem in read(open_corpus(folder)).problems] == ["a.txt"]


def test_an_empty_folder_is_refused_so_that_a_good_index_survives(folder: Path) -> None:
    with pytest.raises(CorpusError, match=r"no readable \.md"):
        read(Corpus(root=folder))


@pytest.mark.parametrize(("name", "words"), [("missing", "does not exist"), ("file.md", "is a file")])
def test_a_wrong_folder_is_refused_with_a_remedy(folder: Path, name: str, words: str) -> None:
    (folder / "file.md").write_text("x", "utf-8")
    with pytest.raises(CorpusError, match=words):
        open_corpus(folder / name)


def test_hidden_files_stay_hidden(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "a.md").write_text("secret", "utf-8")
    (folder / "b.md").write_text("open", "utf-8")
    assert [passage.file for passage in read(open_corpus(folder)).passages] == ["b.md"]


def test_the_default_corpus_is_the_documentation_in_both_languages() -> None:
    files = {passage.file for passage in read(default_corpus()).passages}
    assert any(name.startswith("README") for name in files)
