"""Write the reference pages from the code itself, so that they cannot lie: ``python docs/generate.py [--check]``.

Pages: the command line (from click), the rules file (from its JSON Schema), the Python names (from their docstrings), the
reasons (from the catalogue), the picture of the life cycle in concepts.md (from the transition table), the limits in
security.md (from the constants) and the sums of seeds in proof.md (from seeds.jsonl).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from limits import with_limits
from python_page import python_page

DOCS = Path(__file__).resolve().parent


def main() -> int:
    """Write the pages, or with ``--check`` say which are out of date (exit 1)."""
    stale = []
    for path, text in pages().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.relative_to(DOCS.parent).as_posix())
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if "--check" in sys.argv and stale:
        print("out of date, run `python docs/generate.py`:", ", ".join(stale), file=sys.stderr)
        return 1
    return 0


def pages() -> dict[Path, str]:
    """Return every generated page, by path."""
    return {
        DOCS / "reference/cli.md": cli_page(),
        DOCS / "reference/rules.md": rules_page(),
        DOCS / "reference/python.md": python_page(),
        DOCS / "reference/reasons.md": reasons_page(),
        DOCS / "concepts.md": with_picture((DOCS / "concepts.md").read_text(encoding="utf-8")),
        DOCS / "security.md": with_limits((DOCS / "security.md").read_text(encoding="utf-8"), "en"),
        DOCS / "zh/security.md": with_limits((DOCS / "zh/security.md").read_text(encoding="utf-8"), "zh"),
        DOCS / "proof.md": with_seeds((DOCS / "proof.md").read_text(encoding="utf-8"), SEEDS_EN),
        DOCS / "zh/proof.md": with_seeds((DOCS / "zh/proof.md").read_text(encoding="utf-8"), SEEDS_ZH),
    }


# --- command line ----------------------------------------------------------------------------------


FAILURE = r"""
## When there is no answer

Without `--json` a failure is told on stderr: what is wrong, why, and what to do. With `--json` (or NOONMARK_JSON) every
command prints one object on stdout instead, and ends with the same exit code:

```json
{
  "v": 1,
  "error": {
    "code": "param_missing",
    "what": "close_unpaid needs order_id",
    "why": "its key is made of it: \"unpaid:{order_id}\"",
    "do": "add --param order_id=…",
    "exit": 2
  }
}
```

`code` is for programs and stays; `what`, `why` and `do` are told in the language of the call and may be empty. A no that
is an answer keeps the shape of its command (`verify` that found something, `run` that was refused, `rules check` with
its `problems`). The object stands on one line.
"""


def cli_page() -> str:
    """Return the reference of the command line."""
    import click

    from noonmark.faces.cli.__main__ import noonmark as cli

    out = ["# Command line", "", "Generated from the program by `python docs/generate.py`.", ""]
    context = click.Context(cli, info_name="noonmark")
    out += [
        "```",
        cli.get_help(context),
        "```",
        *FAILURE.splitlines(),
        "",
    ]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is None or command.hidden:
            continue
        inner = click.Context(command, info_name=name, parent=context)
        out += [f"## noonmark {name}", "", "```", command.get_help(inner), "```", ""]
    return "\n".join(out)


# --- rules file ------------------------------------------------------------------------------------


def rules_page() -> str:
    """Return the reference of noonmark.yaml, every field with its type, default and meaning."""
    from noonmark.rules.schema import schema

    root = schema()
    out = [
        "# Rules file: noonmark.yaml",
        "",
        "Generated from the JSON Schema (`noonmark schema`) by `python docs/generate.py`.",
        "",
    ]
    out += [
        "YAML 1.2. Times of day must be quoted. Unknown fields are errors; every error names file:line:column.",
        "",
    ]
    seen: set[str] = set()
    out += list(section("The file", root, root, seen))
    return "\n".join(out) + "\n"


def section(title: str, node: dict[str, Any], root: dict[str, Any], seen: set[str]) -> Iterator[str]:
    """Yield one object of the schema as a table, then the objects it refers to."""
    yield f"## {title}"
    yield ""
    if node.get("description"):
        yield str(node["description"]).replace("\n", " ")
        yield ""
    yield "| field | type | default | meaning |"
    yield "|---|---|---|---|"
    follow: list[str] = []
    for name, field in node.get("properties", {}).items():
        shown, refs = type_text(field)
        follow += refs
        default = f"`{field['default']}`" if field.get("default") not in (None, "", {}, []) else ""
        meaning = str(field.get("description", "")).replace("\n", " ").replace("|", "\\|")
        yield f"| `{name}` | {shown} | {default} | {meaning} |"
    yield ""
    for ref in follow:
        if ref not in seen:
            seen.add(ref)
            yield from section(ref, root["$defs"][ref], root, seen)


def type_text(field: dict[str, Any]) -> tuple[str, list[str]]:
    """Return how a field's type is written, and which definitions it refers to."""
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        return name, [name]
    for joiner in ("anyOf", "oneOf", "allOf"):
        if joiner in field:
            parts = [type_text(part) for part in field[joiner] if part.get("type") != "null"]
            return " or ".join(dict.fromkeys(text for text, _ in parts)), [ref for _, refs in parts for ref in refs]
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in field["enum"]), []
    if field.get("type") == "array":
        inner, refs = type_text(field.get("items", {}))
        return f"list of {inner}", refs
    if field.get("type") == "object" and isinstance(field.get("additionalProperties"), dict):
        inner, refs = type_text(field["additionalProperties"])
        return f"mapping to {inner}", refs
    return str(field.get("type", "any")), []


# --- reasons ---------------------------------------------------------------------------------------


def reasons_page() -> str:
    """Return the catalogue of reasons, in both languages, with remedies."""
    from noonmark.core.reasons import REASONS

    out = [
        "# Reasons",
        "",
        "Every outcome carries one of these codes; they are permanent. Generated by `python docs/generate.py`.",
        "",
        "Words in *italics* stand for values; a part whose value is not known is left out.",
        "",
    ]
    for code in sorted(REASONS):
        reason = REASONS[code]
        out += [f"## {code}", "", spelled(reason.en), "", spelled(reason.zh), ""]
        if reason.remedy_en:
            out += [f"*What to do:* {reason.remedy_en}", "", f"*怎么办：*{reason.remedy_zh}", ""]
    return "\n".join(out)


def spelled(template: str) -> str:
    """Return a sentence of the catalogue as a reader sees it, with every part, and names in italics for values."""
    whole = re.sub(r"\[([^\[\]]*)\](?:\|\[[^\[\]]*\])*", r"\1", template)
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda name: f"*{name[1].replace('_', ' ')}*", whole)


# --- the picture -----------------------------------------------------------------------------------


def with_picture(text: str) -> str:
    """Return concepts.md with the life cycle drawn from the table between its two marks."""
    from noonmark.core.lifecycle import TRANSITIONS

    begin, end = "<!-- lifecycle:begin -->", "<!-- lifecycle:end -->"
    head, rest = text.split(begin)
    tail = rest.split(end)[1]
    edges: dict[tuple[str, str], list[str]] = {}
    for (state, event), target in TRANSITIONS.items():
        edges.setdefault((str(state), str(target)), []).append(str(event))
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> PENDING"]
    lines += [f"    {state} --> {target}: {', '.join(events)}" for (state, target), events in edges.items()]
    lines += ["    SUCCESS --> [*]", "    SKIPPED --> [*]", "    CANCELLED --> [*]", "```"]
    return head + begin + "\n" + "\n".join(lines) + "\n" + end + tail


# --- the seeds so far --------------------------------------------------------------------------------

SHOWN = 10
GOAL = 1_000_000
SEEDS_EN = (
    "| commit | seeds | hours each | scheduler-hours | faults | found wrong |",
    "all runs",
    "{clean:,.0f} scheduler-hours since the last finding, of {goal:,} wanted",
    ": at most {bound:,.0f} findings per million (95 %).",
)
SEEDS_ZH = (
    "| 提交 | 种子 | 每个世界小时 | 调度器小时 | 故障 | 发现 |",
    "全部运行",
    "自上次发现以来 {clean:,.0f} 调度器小时，目标 {goal:,}",
    "：每百万小时至多 {bound:,.0f} 个发现（95 %）。",
)


def with_seeds(text: str, words: tuple[str, str, str, str]) -> str:
    """Return proof.md with the newest runs and the sum of all; a run that was repeated as it was counts once."""
    path = DOCS / "seeds.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    runs = list({(run["commit"], run["asked"], run["world_hours"]): run for run in map(json.loads, lines)}.values())
    clean = 0.0
    for run in runs:
        clean = 0.0 if run["violations"] or run["unlike"] else clean + run["scheduler_hours"]
    head, all_runs, since, bound = words
    table = [head, "|---|---|---|---|---|---|"]
    for run in runs[-SHOWN:]:
        found = run["violations"] + len(run["unlike"])
        table.append(
            f"| {run['commit']} | {run['asked']} | {run['world_hours']:g} | {run['scheduler_hours']:,.0f} | "
            f"{run['faults']:,} | {found} |"
        )
    hours, faults = sum(run["scheduler_hours"] for run in runs), sum(run["faults"] for run in runs)
    found = sum(run["violations"] + len(run["unlike"]) for run in runs)
    seeds = sum(run["seeds"] for run in runs)
    table.append(f"| {all_runs} | {seeds:,} | | {hours:,.0f} | {faults:,} | {found} |")
    said = since.format(clean=clean, goal=GOAL) + (bound.format(bound=3e6 / clean) if clean else "")
    begin, end = "<!-- seeds:begin -->", "<!-- seeds:end -->"
    before, rest = text.split(begin)
    return before + begin + "\n" + "\n".join(table) + "\n\n" + said + "\n" + end + rest.split(end)[1]


if __name__ == "__main__":
    sys.exit(main())
