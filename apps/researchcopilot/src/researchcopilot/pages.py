"""The texts ResearchCopilot writes: digest, daily report, patrol; in English and Chinese.

Rule of the file: pure functions from what happened to text.
"""

from __future__ import annotations

from collections.abc import Sequence

from researchcopilot.answer import Answer, gist
from researchcopilot.data import Part, Run
from researchcopilot.index import Summary
from researchcopilot.text import is_chinese, shorten

PATROL_LIMIT = 200
"""How many dead letters a patrol lists; a list that nobody can read helps nobody."""
_WORDS = {
    "en": {
        "digest": "Digest",
        "sources": "Sources",
        "alike": "Asked before, much alike",
        "report": "Report of {day} for {channel}",
        "runs": "Runs: {asked} asked, {answered} answered, {failed} failed, {open} open",
        "work": "Work: {workers} workers wrote their part, {answered} answers in {seconds:.1f} s",
        "corpus": "Corpus: {documents} documents, {passages} passages",
        "none": "No question was asked on that date.",
        "dead": "{count} occurrences wait for a person",
        "many": "More than {count} occurrences wait for a person; the newest",
        "calm": "No occurrence waits for a person.",
    },
    "zh": {
        "digest": "摘要",
        "sources": "出处",
        "alike": "以前问过类似的问题",
        "report": "{day} 日报（{channel}）",
        "runs": "提问：{asked} 个，已回答 {answered} 个，失败 {failed} 个，未完成 {open} 个",
        "work": "工作量：{workers} 个 worker 写入了各自的部分，{answered} 个回答，共 {seconds:.1f} 秒",
        "corpus": "语料库：{documents} 篇文档，{passages} 个段落",
        "none": "当天没有人提问。",
        "dead": "有 {count} 个任务等待人工处理",
        "many": "等待人工处理的任务超过 {count} 个，最新的有",
        "calm": "没有任务等待人工处理。",
    },
}


def languages() -> tuple[str, ...]:
    """Return the languages there are texts for."""
    return tuple(_WORDS)


def digest_text(run: Run, answer: Answer, alike: Sequence[str]) -> str:
    """Return the digest of a run, in the language of its question."""
    words = _WORDS["zh" if is_chinese(run.question) else "en"]
    lines = [f"# {words['digest']}: {' '.join(run.question.split())}", "", gist(answer)]
    if answer.sources:
        lines += ["", f"{words['sources']}: " + ", ".join(source.place for source in answer.sources)]
    if alike:
        lines += ["", f"{words['alike']}: " + ", ".join(alike)]
    return "\n".join(lines) + "\n"


def report_text(
    day: str,
    channel: str,
    runs: Sequence[Run],
    parts: Sequence[Part],
    holds: Summary,
    *,
    lang: str,
) -> str:
    """Return the report of a business date."""
    words = _WORDS[lang]
    states = [run.state for run in runs]
    counts = {"asked": len(runs), "answered": states.count("answered"), "failed": states.count("failed")}
    counts["open"] = counts["asked"] - counts["answered"] - counts["failed"]
    lines = [f"# {words['report'].format(day=day, channel=channel)}", "", words["runs"].format(**counts)]
    lines.append(
        words["work"].format(
            workers=len(parts),
            answered=sum(part.answered for part in parts),
            seconds=sum(part.seconds for part in parts),
        )
    )
    lines += [words["corpus"].format(documents=holds.documents, passages=holds.passages), ""]
    for run in runs:
        lines.append(f"- {' '.join(run.question.split())} ({run.id}, {run.state})")
        if run.answer is not None:
            lines.append(f"  {gist(run.answer)}")
    if not runs:
        lines.append(words["none"])
    return "\n".join(lines) + "\n"


def patrol_text(dead: Sequence[tuple[str, str, str]], *, lang: str) -> str:
    """Return what a patrol found: (job, key, reason) of each occurrence in FAILED_MANUAL, the newest first."""
    words, listed = _WORDS[lang], dead[:PATROL_LIMIT]
    if not dead:
        return words["calm"] + "\n"
    lines = [words["dead" if len(dead) == len(listed) else "many"].format(count=len(listed)) + ":"]
    lines += [f"- {job}  {key}  {shorten(' '.join(reason.split()), 200)}" for job, key, reason in listed]
    return "\n".join(lines) + "\n"
