"""TASK_RULES: rules as a Python dict literal, or as the same names in YAML.

Rule of the file: the literal is parsed and read, never executed.  The dialect knows no reasons and lets a key stand
without a time part; such jobs load with ``source="task_rules"`` and ``findings`` names what a person should add.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection
from typing import Any

from noonmark.rules import source
from noonmark.rules.assemble import Loaded, assemble
from noonmark.rules.build import Reporter
from noonmark.rules.problems import ProblemList
from noonmark.rules.source import DEPTH_LIMIT, check_size, got, joined, refusal, wanted
from noonmark.rules.tree import Map, Mark, Seq, join

NAME = "TASK_RULES"


def loads_literal(
    text: str, *, name: str = "task_rules.py", keep_good: bool = False, known: Collection[str] = ()
) -> Loaded:
    """Read the literal assigned to TASK_RULES in Python text (or a text that is only the dict).

    Raises:
        ProblemList: everything that is wrong.
    """
    check_size(text, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about code that is never run
            tree = ast.parse(text, filename=name)
    except SyntaxError as error:
        raise refusal("py_syntax", name, line=error.lineno or 0, column=error.offset or 1, error=error.msg) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise refusal("py_syntax", name, error=str(error) or "nested too deep") from None
    node = _find(tree)
    if node is None:
        raise refusal("py_not_found", name)
    reporter = Reporter(name)
    value = _Reader(reporter, text).value(node, Mark(node.lineno, node.col_offset + 1, NAME), 0)
    return jobs_of_task_rules(
        value, Mark(node.lineno, node.col_offset + 1, NAME), reporter, keep_good=keep_good, known=known
    )


def jobs_of_task_rules(
    value: Any, mark: Mark, reporter: Reporter, *, keep_good: bool, known: Collection[str]
) -> Loaded:
    """Build the jobs of a TASK_RULES mapping, from whichever text it was read.

    Raises:
        ProblemList: everything that is wrong.
    """
    if not isinstance(value, Map):
        if not reporter.problems:
            detail = {**wanted("mapping"), **got(value), "hint": "write jobs by name", "hint_zh": "请按任务名书写"}
            reporter.at("", "wrong_type", mark, detail)
        raise ProblemList(reporter.in_order())
    return assemble(value, None, "task_rules", reporter, keep_good=keep_good, known=known)


def _find(tree: ast.Module) -> ast.expr | None:
    """Return the expression assigned to TASK_RULES at the top of the module, if there is exactly one."""
    found: list[ast.expr] = []
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            if any(map(_is_named, statement.targets)):
                found.append(statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None and _is_named(statement.target):
            found.append(statement.value)
    if (
        not found
        and len(tree.body) == 1
        and isinstance(tree.body[0], ast.Expr)
        and isinstance(tree.body[0].value, ast.Dict)
    ):
        return tree.body[0].value
    return found[0] if len(found) == 1 else None


def _is_named(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id == NAME


class _Reader:
    """Turns a literal into marked values; what is no literal is a problem, not a call."""

    def __init__(self, reporter: Reporter, text: str) -> None:
        self.reporter = reporter
        self.lines = [line.encode("utf-8", "surrogatepass") for line in text.splitlines()]
        self.left = source.VALUE_LIMIT
        self.known = (0, 0, 0)  # a line, a byte of it, and the characters before that byte

    def value(self, node: ast.expr, mark: Mark, depth: int) -> Any:
        if self.left == 0:
            place = {"line": mark.line, "column": mark.column}
            raise refusal("yaml_value_limit", self.reporter.name, limit=source.VALUE_LIMIT, **place)
        self.left -= 1
        if depth > DEPTH_LIMIT:
            raise refusal("yaml_depth", self.reporter.name, line=mark.line, column=mark.column, limit=DEPTH_LIMIT)
        if isinstance(node, ast.Dict):
            return self.mapping(node, mark, depth)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            items = Seq(mark)
            for index, item in enumerate(node.elts):
                here = self.mark(item, item, join(mark.path, index))
                items.put(self.value(item, here, depth + 1), here)
            return items
        try:
            scalar = ast.literal_eval(node)
        except (ValueError, TypeError, RecursionError, MemoryError):
            scalar = ...
        if isinstance(scalar, str):
            return self.text(scalar, mark)
        if scalar is None or isinstance(scalar, (bool, int, float)):
            return scalar
        self.reporter.at("", "py_not_literal", mark, {})
        return None

    def mapping(self, node: ast.Dict, mark: Mark, depth: int) -> Map:
        result = Map(mark)
        for key, item in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                where = key if key is not None else item
                shown = repr(key.value) if isinstance(key, ast.Constant) else "**" if key is None else "(an expression)"
                self.reporter.at("", "key_not_text", self.mark(where, where, mark.path), {"value": shown})
                continue
            name = self.text(key.value, self.mark(key, key, mark.path))
            here = self.mark(item, key, join(mark.path, name))
            if name in result:
                at_name = Mark(here.name_line, here.name_column, here.path)
                first = result.marks[name].name_line
                self.reporter.at("", "yaml_duplicate_key", at_name, {"key": name, "first": first})
                continue
            result.put(name, self.value(item, here, depth + 1), here)
        return result

    def text(self, scalar: str, mark: Mark) -> str:
        try:
            return joined(scalar)
        except ValueError as error:
            self.reporter.at("", "bad_value", mark, {"error": str(error)})
            return ""

    def mark(self, node: ast.expr, key: ast.expr, path: str) -> Mark:
        return Mark(node.lineno, self.column(node), path, key.lineno, self.column(key))

    def column(self, node: ast.expr) -> int:
        """``ast`` counts bytes of UTF-8; people count characters: from the last place on, for a line may be the file."""
        line, byte, before = self.known if self.known[0] == node.lineno else (node.lineno, 0, 0)
        content = self.lines[line - 1] if line <= len(self.lines) else b""
        first, last = sorted((byte, node.col_offset))
        between = len(content[first:last].decode("utf-8", "ignore"))
        before += between if byte <= node.col_offset else -between
        self.known = (line, node.col_offset, before)
        return before + 1
