"""Answers rest on cited passages, offline and with a model."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from researchcopilot import index
from researchcopilot.answer import Answer, choose, compose, retrieve
from researchcopilot.corpus import Corpus
from researchcopilot.model import ModelBusyError, ModelRefusedError, Remote, from_environment


@pytest.fixture
def built(corpus: Corpus, tmp_path: Path) -> Path:
    index.rebuild(corpus, tmp_path / "index")
    return tmp_path / "index"


def test_an_offline_answer_quotes_sentences_with_their_sources(built: Path) -> None:
    answer = compose("What happens to a write with an old fence?", retrieve(built, "a write with an old fence"))
    assert "A write with an old fence is refused. [1]" in answer.text
    assert answer.sources[0].place == "leases.md:3"
    assert answer.method == "extractive"


def test_a_chinese_question_gets_a_chinese_answer(built: Path) -> None:
    answer = compose("栅栏号有什么用？", retrieve(built, "栅栏号有什么用？"))
    assert "旧的写入会被拒绝" in answer.text
    assert answer.sources[0].place == "zh/lease.md:3"


@pytest.mark.parametrize(("question", "words"), [("Bananas?", "holds nothing"), ("香蕉？", "没有找到")])
def test_nothing_is_made_up(built: Path, question: str, words: str) -> None:
    answer = compose(question, retrieve(built, question))
    assert words in answer.text
    assert answer.sources == ()


def test_a_translation_in_the_language_of_the_question_comes_first(folder: Path, tmp_path: Path) -> None:
    (folder / "en.md").write_text("A fence only grows. See fence, fence and fence.", "utf-8")
    (folder / "zh.md").write_text("栅栏号（fence）只增不减。", "utf-8")
    index.rebuild(Corpus(root=folder), tmp_path)
    assert retrieve(tmp_path, "fence 会变小吗？")[0].file == "zh.md"
    assert retrieve(tmp_path, "Does a fence grow?")[0].file == "en.md"


def test_a_sentence_that_repeats_another_is_left_out() -> None:
    twice = [(0, "The fence grows with every lease."), (1, "The fence grows with every lease!")]
    assert choose("fence", twice) == twice[:1]


def test_an_answer_survives_being_remembered_as_json(built: Path) -> None:
    answer = compose("fence", retrieve(built, "fence"))
    assert Answer.from_plain(json.loads(json.dumps(answer.to_plain()))) == answer


def test_a_model_is_asked_once_with_the_passages_and_its_citations_are_kept(built: Path, stub: Any) -> None:
    stub.will_say("Old writes are refused [1], as everybody knows [7].")
    answer = compose("old fence?", retrieve(built, "old fence"), Remote(base_url=stub.url, api_key="k1"))
    assert answer.text == "Old writes are refused [1], as everybody knows ."
    assert [(source.number, source.place) for source in answer.sources] == [(1, "leases.md:3")]
    assert len(stub.asked) == 1
    assert stub.asked[0]["path"] == "/v1/chat/completions"
    assert "A write with an old fence is refused." in stub.asked[0]["messages"][1]["content"]
    assert stub.keys == ["Bearer k1"]


@pytest.mark.parametrize(
    ("status", "headers", "after"),
    [
        (429, {"Retry-After": "90"}, timedelta(seconds=90)),
        (429, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, timedelta(0)),
        (429, {"Retry-After": "soon"}, None),
        (429, {"Retry-After": "999999"}, timedelta(hours=1)),
        (503, {}, None),
        (500, {}, None),
        (408, {}, None),
    ],
)
def test_a_busy_model_is_asked_again_when_it_says(
    stub: Any, status: int, headers: dict[str, str], after: timedelta | None
) -> None:
    stub.will_answer(status=status, headers=headers, body=b"slow down")
    with pytest.raises(ModelBusyError, match=f"{status}.*slow down") as caught:
        Remote(base_url=stub.url, api_key="k")("system", "user")
    assert caught.value.after == after


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_request_at_fault_is_not_sent_again(stub: Any, status: int) -> None:
    stub.will_answer(status=status)
    with pytest.raises(ModelRefusedError, match=str(status)):
        Remote(base_url=stub.url, api_key="k")("system", "user")


def test_the_key_never_follows_a_redirect(stub: Any) -> None:
    stub.will_answer(status=302, headers={"Location": stub.url + "/elsewhere"})
    with pytest.raises(ModelRefusedError, match="302"):
        Remote(base_url=stub.url, api_key="k")("system", "user")
    assert len(stub.asked) == 1


@pytest.mark.parametrize(
    "body", [b"", b"{", b"{}", b"[]", b'{"choices": []}', b'{"choices": [{"message": {"content": ""}}]}']
)
def test_a_reply_that_is_no_completion_counts_as_busy(stub: Any, body: bytes) -> None:
    stub.will_answer(body=body)
    with pytest.raises(ModelBusyError):
        Remote(base_url=stub.url, api_key="k")("system", "user")


def test_an_address_where_nobody_listens_counts_as_busy() -> None:
    with pytest.raises(ModelBusyError, match="no answer from"):
        Remote(base_url="http://127.0.0.1:9", api_key="k", timeout=2)("system", "user")


def test_the_model_is_used_only_when_address_and_key_are_set() -> None:
    assert from_environment({}) is None
    assert from_environment({"OPENAI_BASE_URL": "http://x"}) is None
    remote = from_environment({"OPENAI_BASE_URL": "http://x", "OPENAI_API_KEY": "secret", "OPENAI_MODEL": "m"})
    assert remote is not None
    assert (remote.name, "secret" in repr(remote)) == ("m", False)
    with pytest.raises(ModelRefusedError, match="http"):
        from_environment({"OPENAI_BASE_URL": "file:///etc/passwd", "OPENAI_API_KEY": "k"})
