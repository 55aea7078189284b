"""The index is replaced as a whole, and finds Chinese and English alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from researchcopilot import index
from researchcopilot.corpus import Corpus, CorpusError


def test_running_a_rebuild_twice_changes_nothing(corpus: Corpus, tmp_path: Path) -> None:
    first = index.rebuild(corpus, tmp_path / "index")
    content = (tmp_path / "index" / index.FILE_NAME).read_bytes()
    second = index.rebuild(corpus, tmp_path / "index")
    assert (first.changed, second.changed) == (True, False)
    assert (tmp_path / "index" / index.FILE_NAME).read_bytes() == content
    assert [path.name for path in (tmp_path / "index").iterdir()] == [index.FILE_NAME]


def test_a_reader_in_the_middle_of_a_rebuild_sees_the_whole_old_index(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.rebuild(corpus, tmp_path)
    (corpus.root / "leases.md").write_text("# Gone\n\nNothing of the old words.\n", "utf-8")
    seen: list[list[str]] = []
    write = index._write

    def write_and_look(path: Path, reading: object) -> None:
        seen.append([hit.passage.file for hit in index.search(tmp_path, "fence")])
        write(path, reading)  # type: ignore[arg-type]
        seen.append([hit.passage.file for hit in index.search(tmp_path, "fence")])

    monkeypatch.setattr(index, "_write", write_and_look)
    index.rebuild(corpus, tmp_path)
    assert seen == [["leases.md"], ["leases.md"]]
    assert index.search(tmp_path, "fence") == []


def test_a_reader_that_is_reading_keeps_the_index_it_opened(corpus: Corpus, tmp_path: Path) -> None:
    index.rebuild(corpus, tmp_path)
    with index._open(tmp_path) as db:
        before = db.execute("SELECT count(*) FROM passages").fetchall()
        (corpus.root / "leases.md").unlink()
        index.rebuild(corpus, tmp_path)
        assert db.execute("SELECT count(*) FROM passages").fetchall() == before
    assert index.summary(tmp_path).documents == 2


def test_a_rebuild_that_dies_leaves_the_old_index(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.rebuild(corpus, tmp_path)
    before = index.summary(tmp_path)

    def die(_path: Path) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(index, "_flush_to_disk", die)
    (corpus.root / "new.md").write_text("New.", "utf-8")
    with pytest.raises(OSError, match="disk full"):
        index.rebuild(corpus, tmp_path)
    assert index.summary(tmp_path) == before
    assert not list(tmp_path.glob("*.new"))


def test_a_corpus_that_went_away_leaves_the_old_index(corpus: Corpus, tmp_path: Path) -> None:
    index.rebuild(corpus, tmp_path)
    with pytest.raises(CorpusError):
        index.rebuild(Corpus(root=tmp_path / "unmounted"), tmp_path)
    assert index.summary(tmp_path).documents == 3


def test_chinese_is_found_by_pairs_of_characters(corpus: Corpus, tmp_path: Path) -> None:
    index.rebuild(corpus, tmp_path)
    assert [hit.passage.file for hit in index.search(tmp_path, "栅栏号是什么？")] == ["zh/lease.md"]
    assert index.search(tmp_path, "数据库") == []


def test_english_is_found_in_other_forms_of_the_word(corpus: Corpus, tmp_path: Path) -> None:
    index.rebuild(corpus, tmp_path)
    assert index.search(tmp_path, "How do FENCES work?")[0].passage.file == "leases.md"


@pytest.mark.parametrize("question", ['"', "NEAR(", "a OR b AND", "lease*", "😀", "", "heading:lease", "' OR 1=1 --"])
def test_a_question_is_never_taken_for_search_syntax(corpus: Corpus, tmp_path: Path, question: str) -> None:
    index.rebuild(corpus, tmp_path)
    index.search(tmp_path, question)


def test_a_missing_or_damaged_index_says_how_to_build_it(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(index.IndexUnusableError, match="researchcopilot index"):
        index.search(tmp_path, "lease")
    (tmp_path / index.FILE_NAME).write_bytes(b"not a database" * 100)
    with pytest.raises(index.IndexUnusableError, match="Build it again"):
        index.search(tmp_path, "lease")
    index.ensure(corpus, tmp_path)
    assert index.search(tmp_path, "lease")
