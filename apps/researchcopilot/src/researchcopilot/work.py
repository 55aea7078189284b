"""What each job does, without a word about when: plain functions over the data, the corpus and the model.

Rules of the file: everything may be run again (see ``data.py``), and whatever costs time or money is one named step,
so that a run that is taken over pays for nothing twice.  ``scheduler.py`` says when these are due and what a failure
costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from researchcopilot import clock, index
from researchcopilot.answer import PASSAGES, Answer, choose, compose, gist, retrieve
from researchcopilot.corpus import Corpus, Passage
from researchcopilot.data import Data, Run, end_of
from researchcopilot.model import Model
from researchcopilot.pages import digest_text, patrol_text, report_text
from researchcopilot.text import sentences, terms

MEMORY = timedelta(days=30)
"""How long the gist of a run is remembered."""
DEEP_DOCUMENTS = 4
"""How many documents a deep run reads."""
KINSHIP = 0.5
"""Share of words two questions have in common when one is a reminder of the other."""


class Steps(Protocol):
    """The part of a job's context that this file uses."""

    def step(self, name: str, fn: Callable[..., Any], *args: Any) -> Any:
        """Do it once; a later attempt gets the remembered result."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A worker that is alive: its name as the scheduler knows it, and since when."""

    name: str
    started_at: datetime


class Copilot:
    """The assistant: answers runs, makes digests and reports, keeps the index and itself in order."""

    def __init__(
        self, data: Data, corpus: Corpus, *, model: Model | None, worker: str, lang: str = "en", pause: float = 0.0
    ) -> None:
        """``pause`` is how many seconds each step of a deep run takes at least; the demo shows a slow model with it."""
        self.data = data
        self.corpus = corpus
        self.worker = worker
        self.lang = lang
        self.index: Path = data.folder / "index"
        self._model = model
        self._pause = pause

    # -- runs -------------------------------------------------------------------------------------

    def answer(self, steps: Steps, run_id: str, question: str, asked_at: datetime, *, deep: bool) -> Answer:
        """Execute a stored run: retrieve, answer, keep.

        Raises:
            ModelBusyError, ModelRefusedError: see ``model.py``.
            CorpusError: there is no index, and none can be built.
        """
        self.data.add_run(run_id, question, asked_at, deep=deep)  # if the desk died right after handing it over
        begun = clock.now()
        found = self._survey(steps, question) if deep else self._short(steps, question)
        taken = (clock.now() - begun).total_seconds()
        self.data.finish_run(run_id, found, clock.now(), worker=self.worker, seconds=taken)
        return found

    def give_up(self, run_id: str, why: str) -> None:
        """Tell whoever waits for the run that no answer will come by itself."""
        self.data.fail_run(run_id, why, clock.now(), worker=self.worker)

    def _short(self, steps: Steps, question: str) -> Answer:
        passages = steps.step("retrieve", self._retrieve, question, PASSAGES)
        return Answer.from_plain(steps.step("answer", self._compose, question, passages))

    def _survey(self, steps: Steps, question: str) -> Answer:
        """Read document by document, each as a step of its own, and answer from the best of all."""
        files = steps.step("load", self._load, question)
        kept: list[dict[str, Any]] = []
        for number, file in enumerate(files, start=1):
            kept += steps.step(f"read {number}", self._read_document, question, file)
        return Answer.from_plain(steps.step("write", self._compose, question, kept))

    def _retrieve(self, question: str, limit: int) -> list[dict[str, Any]]:
        index.ensure(self.corpus, self.index)
        return [asdict(passage) for passage in retrieve(self.index, question, limit=limit)]

    def _load(self, question: str) -> list[str]:
        self._wait()
        found = self._retrieve(question, 5 * PASSAGES)
        return list(dict.fromkeys(str(passage["file"]) for passage in found))[:DEEP_DOCUMENTS]

    def _read_document(self, question: str, file: str) -> list[dict[str, Any]]:
        self._wait()
        passages = index.passages_of(self.index, file)
        texts = [(number, text) for number, passage in enumerate(passages) for text in sentences(passage.text)]
        chosen = dict.fromkeys(number for number, _ in choose(question, texts, limit=3))
        return [asdict(passages[number]) for number in chosen]

    def _compose(self, question: str, passages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return compose(question, [Passage(**passage) for passage in passages], self._model).to_plain()

    def _wait(self) -> None:
        if self._pause:
            time.sleep(self._pause)

    # -- after a run ------------------------------------------------------------------------------

    def digest(self, run_id: str) -> str:
        """Write the digest of an answered run and remember its gist; return the text ("" if there is no answer)."""
        run = self.data.run(run_id)
        if run is None or run.answer is None:
            return ""
        now = clock.now()
        text = digest_text(run, run.answer, self._reminders(run, now))
        self.data.put_digest(run_id, text, now)
        self.data.remember(run_id, run.question, gist(run.answer), until=now + MEMORY)
        return text

    def _reminders(self, run: Run, now: datetime) -> list[str]:
        words = set(terms(run.question))
        alike = []
        for run_id, question, _ in self.data.memories(now):
            others = set(terms(question))
            if run_id != run.id and words & others and len(words & others) >= KINSHIP * min(len(words), len(others)):
                alike.append(run_id)
        return alike[:3]

    # -- the daily round --------------------------------------------------------------------------

    def rebuild_index(self) -> index.Built:
        """Build the index anew and swap it in."""
        return index.rebuild(self.corpus, self.index)

    def report(self, day: str, channel: str) -> str:
        """Write the report of a business date for a channel."""
        runs, parts = self.data.runs_of(day), self.data.parts(day)
        text = report_text(day, channel, runs, parts, index.summary(self.index), lang=self.lang)
        self.data.put_report(day, channel, text, clock.now())
        return text

    def expire_memories(self) -> int:
        """Delete what has been remembered long enough; return how many."""
        return self.data.expire_memories(clock.now())

    # -- metrics ----------------------------------------------------------------------------------

    def write_own_part(self, name: str, minute: datetime) -> int:
        """Write this worker's figures up to ``minute`` under its name; return how many runs it answered that day."""
        return self.data.put_parts(name, minute, worker=self.worker)[-1].answered

    def unfinished_parts(self, day: str, live: Sequence[Live]) -> list[str]:
        """Return the live workers that have not yet written their part of the date to its end."""
        end = end_of(day)
        complete = {part.name for part in self.data.parts(day) if part.until >= end}
        return sorted(each.name for each in live if each.started_at < end and each.name not in complete)

    # -- dead letters -----------------------------------------------------------------------------

    def patrol(self, dead: Sequence[tuple[str, str, str]], name: str) -> str:
        """Write down what waits for a person, (job, key, reason) each; return the text."""
        text = patrol_text(dead, lang=self.lang)
        self.data.put_patrol(name, text, clock.now())
        return text
