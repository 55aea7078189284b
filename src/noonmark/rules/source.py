"""From a file or a text to plain values with marks.

Rule of the file: nothing that is read is executed, expanded without bound, or guessed; YAML is read as YAML 1.2, where
``18:30`` and ``on`` are text.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

from noonmark.rules.problems import Place, Problem, ProblemList
from noonmark.rules.tree import Map, Mark, Plain, Seq, join

SIZE_LIMIT = 2 * 1024 * 1024
"""Largest rules file, in bytes."""
ALIAS_LIMIT = 100_000
"""Most values that aliases may add to what is written (a "billion laughs" file expands without bound)."""
VALUE_LIMIT = 200_000
"""Most values and names in a file: the YAML reader needs some 40 µs for each, so a file is read in ten seconds at most."""
DEPTH_LIMIT = 32
"""Deepest nesting; real rules need eight."""

_TAG = "tag:yaml.org,2002:"
_VERSION = re.compile(r"^%YAML[ \t]+(\S+)", re.MULTILINE)


def read_text(path: Path, name: str) -> str:
    """Return the text of a rules file.

    Raises:
        ProblemList: missing, unreadable, too large, not UTF-8 or empty.
    """
    try:
        with path.open("rb") as file:
            content = file.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        raise refusal("file_missing", name) from None
    except OSError as error:
        raise refusal("file_unreadable", name, error=error.strerror or str(error)) from None
    if len(content) > SIZE_LIMIT:
        raise refusal("file_too_large", name, size=path.stat().st_size, limit=SIZE_LIMIT)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise refusal("file_not_utf8", name, line=line, column=1, offset=error.start) from None
    check_size(text, name)
    return text


def check_size(text: str, name: str) -> None:
    """Refuse a text that is empty or too large (for texts that came from no file)."""
    if not text.strip():
        raise refusal("file_empty", name)
    if len(text.encode("utf-8", "surrogatepass")) > SIZE_LIMIT:
        raise refusal("file_too_large", name, size=len(text), limit=SIZE_LIMIT)


def refusal(code: str, name: str, *, line: int = 0, column: int = 0, **detail: Any) -> ProblemList:
    """Return the error for a file that cannot be read any further."""
    return ProblemList([Problem(code=code, place=Place(file=name, line=line, column=column), detail=detail)])


def read_yaml(text: str, name: str) -> tuple[Any, list[Problem]]:
    """Return the value of a YAML text with its marks, and what is wrong with it besides its syntax.

    Raises:
        ProblemList: not YAML, several documents, nested too deep, or too many aliases.
    """
    version = _VERSION.search(text)
    if version and version[1] != "1.2":
        raise refusal("yaml_version", name, line=text.count("\n", 0, version.start()) + 1, column=1, version=version[1])
    if line := _line_of_brackets(text):
        raise refusal("yaml_depth", name, line=line, column=1, limit=DEPTH_LIMIT)
    from ruamel.yaml import YAML
    from ruamel.yaml.composer import Composer, ComposerError
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an anchor used twice is legal and says nothing about the rules
            reader = YAML(typ="safe", pure=True)
            reader.Composer = _counting(Composer, name)
            node = reader.compose(text)
    except RecursionError:
        raise refusal("yaml_depth", name, limit=DEPTH_LIMIT) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        code = "yaml_syntax"
        if isinstance(error, ComposerError) and "single document" in (error.context or ""):
            code = "yaml_many_documents"
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        if sign := _unquoted(error):
            raise refusal("yaml_unquoted", name, line=line, column=column, sign=sign) from None
        raise refusal(code, name, line=line, column=column, error=_first_line(error)) from None
    except YAMLError as error:
        offset = int(getattr(error, "position", 0) or 0)
        line = text.count("\n", 0, offset) + 1
        column = offset - (text.rfind("\n", 0, offset) + 1) + 1
        message = "a control character" if hasattr(error, "character") else str(error).splitlines()[0]
        raise refusal("yaml_syntax", name, line=line, column=column, error=message) from None
    if node is None:
        raise refusal("file_empty", name)
    builder = _Builder(name)
    return builder.value(node, Mark(1, 1, ""), 0), builder.problems


def _counting(composer: Any, name: str) -> Any:
    """Return the kind of composer that gives up when there are too many values."""

    class Counting(composer):  # type: ignore[misc]
        left = VALUE_LIMIT

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.left == 0:
                mark = self.parser.peek_event().start_mark
                raise refusal("yaml_value_limit", name, line=mark.line + 1, column=mark.column + 1, limit=VALUE_LIMIT)
            self.left -= 1
            return super().compose_node(parent, index)

    return Counting


def _line_of_brackets(text: str) -> int:
    """Return the number of a line that opens more brackets than any value needs, 0 where there is none.

    The YAML reader looks ahead from each open bracket of a line for the end of a key: a few thousand would keep it busy
    for minutes before it says that this is too deep.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if line.count("[") + line.count("{") <= 2 * DEPTH_LIMIT:
            continue
        depth = 0
        for sign in line:
            depth += (sign in "[{") - (sign in "]}")
            if depth > 2 * DEPTH_LIMIT:
                return number
    return 0


def joined(text: str) -> str:
    r"""Return the text with ``\ud83d\ude80`` (how JSON writes signs beyond the first plane) as the one sign it is.

    Raises:
        ValueError: half a sign, which no file, store or terminal could write down.
    """
    if text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text):
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise ValueError("the text has half a sign (a lone surrogate)") from None


def _unquoted(error: Any) -> str:
    """Return the sign with which a value begins that YAML does not take for text, empty when that is not the mistake."""
    problem = error.problem or ""
    if re.search(r"undefined alias '[^'\w]", problem) or "an alias" in (error.context or ""):
        return "*"
    found = re.search(r"found character '([@`%])' that cannot start", problem)
    return found[1] if found else ""


def _first_line(error: Any) -> str:
    parts = [part for part in (error.context, error.problem) if part]
    return " ".join(", ".join(parts).split()) or "cannot be read"


class _Builder:
    """Turns composed nodes into marked values, counting what aliases add."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[Problem] = []
        self.seen: set[int] = set()
        self.repeated = 0

    def report(self, code: str, mark: Mark, **detail: Any) -> None:
        place = Place(file=self.name, line=mark.line, column=mark.column)
        self.problems.append(Problem(code=code, place=place, path=mark.path, detail=detail))

    def value(self, node: Any, mark: Mark, depth: int) -> Any:
        if id(node) in self.seen:
            self.repeated += 1
        self.seen.add(id(node))
        if self.repeated > ALIAS_LIMIT:
            raise refusal("yaml_alias_limit", self.name, line=mark.line, column=mark.column, limit=ALIAS_LIMIT)
        if depth > DEPTH_LIMIT:
            raise refusal("yaml_depth", self.name, line=mark.line, column=mark.column, limit=DEPTH_LIMIT)
        if node.id == "mapping":
            return self.mapping(node, mark, depth)
        if node.id == "sequence":
            return self.sequence(node, mark, depth)
        return self.scalar(node, mark)

    def sequence(self, node: Any, mark: Mark, depth: int) -> Seq:
        self.check_tag(node, "seq", mark)
        items = Seq(mark)
        for index, item in enumerate(node.value):
            here = _mark(item, item, join(mark.path, index))
            items.put(self.value(item, here, depth + 1), here)
        return items

    def mapping(self, node: Any, mark: Mark, depth: int) -> Map:
        self.check_tag(node, "map", mark)
        result, merged = Map(mark), []
        for key, item in node.value:
            if str(key.tag) == f"{_TAG}merge":
                merged.append(item)
                continue
            if key.id != "scalar" or str(key.tag) != f"{_TAG}str":
                shown = key.value if key.id == "scalar" else "[…]"
                self.report("key_not_text", _mark(key, key, mark.path), value=shown)
                continue
            try:
                name = joined(key.value)
            except ValueError as error:
                self.report("bad_value", _mark(key, key, mark.path), error=str(error))
                continue
            here = _mark(item, key, join(mark.path, name))
            if name in result:
                at_name = Mark(here.name_line, here.name_column, here.path)
                self.report("yaml_duplicate_key", at_name, key=name, first=result.marks[name].name_line)
                continue
            result.put(name, self.value(item, here, depth + 1), here)
        for item in merged:
            self.merge(result, item, mark, depth)
        return result

    def merge(self, into: Map, node: Any, mark: Mark, depth: int) -> None:
        """Add what ``<<`` brings; what is written here stands."""
        for source in node.value if node.id == "sequence" else [node]:
            here = _mark(source, source, mark.path)
            values = self.value(source, here, depth + 1)
            if not isinstance(values, Map):
                self.report("wrong_type", here, **wanted("mapping"), **got(values), hint="", hint_zh="")
                continue
            for name, value in values.items():
                if name not in into:
                    into.put(name, value, values.marks[name])

    def scalar(self, node: Any, mark: Mark) -> Any:
        tag, text = str(node.tag).removeprefix(_TAG), node.value
        try:
            if tag == "str":
                return joined(text) if node.style else Plain(joined(text))
            if tag == "timestamp":  # a date is text here: zones and impossible days are judged by the rules
                return Plain(text)
            if tag == "null":
                return None
            if tag == "bool":
                return text.lower() == "true"
            if tag == "int":
                digits = text.replace("_", "")
                return int(digits, 0) if digits.lstrip("+-").lower().startswith(("0o", "0x", "0b")) else int(digits)
            if tag == "float":
                return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
        except ValueError as error:
            self.report("bad_value", mark, error=str(error))
            return None
        self.report("yaml_tag", mark, tag=f"!!{tag}" if str(node.tag).startswith(_TAG) else tag)
        return None

    def check_tag(self, node: Any, wanted_tag: str, mark: Mark) -> None:
        if str(node.tag) != f"{_TAG}{wanted_tag}":
            self.report("yaml_tag", mark, tag=str(node.tag).replace(_TAG, "!!"))


def _mark(node: Any, key: Any, path: str) -> Mark:
    at, name = node.start_mark, key.start_mark
    return Mark(at.line + 1, at.column + 1, path, name.line + 1, name.column + 1)


_TYPES: dict[str, tuple[str, str]] = {
    "mapping": ("a mapping", "映射"),
    "list": ("a list", "列表"),
    "text": ("text", "文本"),
    "number": ("a number", "数字"),
    "whole number": ("a whole number", "整数"),
    "boolean": ("true or false", "true 或 false"),
    "nothing": ("nothing", "空值"),
    "text or mapping": ("text or a mapping", "文本或映射"),
    "list of text": ("a list of text", "文本列表"),
}


def wanted(kind: str) -> dict[str, str]:
    """Return the words for a wanted type."""
    en, zh = _TYPES[kind]
    return {"wanted": en, "wanted_zh": zh}


def got(value: Any) -> dict[str, str]:
    """Return the words for the value that was found instead."""
    if isinstance(value, bool):
        return {"got": str(value).lower(), "got_zh": str(value).lower()}
    if isinstance(value, (int, float)):
        return {"got": f"the number {value}", "got_zh": f"数字 {value}"}
    if isinstance(value, str):
        shown = value if len(value) <= 60 else value[:57] + "..."
        return {"got": f'the text "{shown}"', "got_zh": f"文本“{shown}”"}
    kind = "nothing" if value is None else "mapping" if isinstance(value, dict) else "list"
    en, zh = _TYPES[kind]
    return {"got": en, "got_zh": zh}
