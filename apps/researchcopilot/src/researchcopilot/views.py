"""Runs and pages as JSON-ready values and as text for a terminal."""

from __future__ import annotations

from typing import Any

from researchcopilot.answer import Answer
from researchcopilot.data import ZONE, Page, Run


def run_to_plain(run: Run) -> dict[str, Any]:
    """Return a run as the API shows it; moments are ISO texts in UTC."""
    return {
        "id": run.id,
        "question": run.question,
        "deep": run.deep,
        "state": run.state,
        "asked_at": run.asked_at.isoformat(),
        "asked_on": run.asked_on,
        "answered_at": None if run.answered_at is None else run.answered_at.isoformat(),
        "answer": None if run.answer is None else run.answer.to_plain(),
        "error": run.error or None,
    }


def page_to_plain(page: Page) -> dict[str, Any]:
    """Return a digest or report as the API shows it."""
    return {"name": page.name, "made_at": page.made_at.isoformat(), "text": page.text}


def run_line(run: Run) -> str:
    """Return a run as one line of a list."""
    when = run.asked_at.astimezone(ZONE).strftime("%Y-%m-%d %H:%M")
    return f"{run.id}  {when}  {run.state:<8}  {' '.join(run.question.split())}"


def answer_text(answer: Answer) -> str:
    """Return an answer with its sources below it."""
    lines = [answer.text]
    if answer.sources:
        lines.append("")
    for source in answer.sources:
        heading = f"  ({source.heading})" if source.heading else ""
        lines.append(f"  [{source.number}] {source.place}{heading}")
    return "\n".join(lines)
