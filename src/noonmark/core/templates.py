"""Templates over named values: from names and values to a text that no other values give.

Promise: for one template, two different inputs never give the same text, no key is longer than ``KEY_LIMIT``, and
a template can reach nothing but the closed set of names.  Rule of the file: values are looked up by name in a flat
mapping; no attribute, index, conversion or nested field is ever followed.

How two inputs stay apart: a value ends where the literal behind it begins, so the first character of that literal, the
separator ``:`` and the escape character ``%`` are written ``%XX`` inside values.  Dates and instants have a fixed shape
that no other reading fits, so they stay readable.  A value is known by its text: order 42 and order "42" are one order;
other JSON values are marked ``%!`` so that ``true`` and "true" are two.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from string import Formatter

from noonmark.core.model import KEY_LIMIT, Micros
from noonmark.core.values import dataclass

CORE_NAMES = ("job", "business_date", "scheduled_for", "occurrence", "subject", "worker")
NAMESPACES = ("subject", "params", "event")
"""A bare name that is no core name is looked up in these, in this order."""
ALIASES = {"task": "job", "date": "business_date"}
"""Source spellings of the second source document."""
TIME_NAMES = frozenset({"business_date", "scheduled_for", "occurrence"})

_DATE_SHAPE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INSTANT_SHAPE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?Z")
_ESCAPED = re.compile(r"(?:%[0-9A-F]{2})+")
_DIRECTIVE = re.compile(r"%(.)", re.DOTALL)
_DIGEST_MARK = "%~"
_VALUE_MARK = "%!"
_END_MARK = "%;"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TemplateProblem(ValueError):
    """A template that cannot be read or rendered; the text says what, why and what to do.

    ``name`` is the name at fault ("" when it is the syntax).
    """

    def __init__(self, message: str, *, name: str = "") -> None:
        super().__init__(message)
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One field of a template: the literal before it, its canonical name, its date format, what ends its value."""

    literal: str
    name: str
    spec: str
    end: str  # first character of the literal that follows, "" = the next field or the end of the template


def render(template: str, names: Mapping[str, object], *, default: str | None = None, escape: bool = True) -> str:
    """Render a template over named values.

    Args:
        template: text with ``{name}`` fields; dates take a format of fixed-width numbers, ``{business_date:%Y%m}``.
        names: values by dotted name (``event.id``, ``params.channel``, ``job``); ``scheduled_for`` in UTC microseconds.
        default: text for a name that nothing binds; None refuses it.
        escape: False for names of flags, which must be exactly what the upstream announces; nothing is shortened then,
            and whoever asks measures it.

    Raises:
        TemplateProblem: unreadable template, unknown name, or a value that cannot stand in a key.
    """
    parts, tail = _parse(template)
    pieces: list[str] = []
    for index, part in enumerate(parts):
        pieces.append(part.literal)
        found, value = _look_up(part.name, names)
        if not found:
            if default is None:
                raise unknown_name(template, part.name, names)
            text = _escaped(default, part.end) if escape else default
        elif part.name in TIME_NAMES:
            text = _time_text(part, value, escape=escape)
        else:
            text = _value_text(part, value, escape=escape)
        pieces.append(text)
        touches = part.end == "%" or (index + 1 < len(parts) and not parts[index + 1].literal)
        has_own_end = part.name in TIME_NAMES and not text.startswith(_VALUE_MARK)
        if escape and touches and not has_own_end:
            pieces.append(_END_MARK)
    pieces.append(tail)
    key = "".join(pieces)
    return _bounded(key) if escape else key


def names_in(template: str) -> tuple[str, ...]:
    """Return the names a template uses, canonical (``date`` is ``business_date``), in order, each once."""
    return tuple(dict.fromkeys(part.name for part in _parse(template)[0]))


def has_time_part(template: str) -> bool:
    """Return True when the key differs from day to day for ever: a date or instant, with its year."""
    return any(
        part.name in TIME_NAMES and (not part.spec or any(year in part.spec for year in ("%Y", "%G")))
        for part in _parse(template)[0]
    )


def instant_text(us: Micros) -> str:
    """Return an instant as keys spell it: UTC with seconds, a fraction only where there is one."""
    moment = _EPOCH + timedelta(microseconds=us)
    fraction = f".{moment.microsecond:06d}" if moment.microsecond else ""
    return (
        f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
        f"T{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}{fraction}Z"
    )


def escaped(text: str) -> str:
    """Return the text with the separator, the escape character and control characters written ``%XX``."""
    return _escaped(text, "")


def unescaped(text: str) -> str:
    """Return the text that ``escaped`` was given."""

    def plain(match: re.Match[str]) -> str:
        return bytes.fromhex(match.group().replace("%", "")).decode("utf-8", "surrogatepass")

    return _ESCAPED.sub(plain, text)


# --- reading a template ----------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _parse(template: str) -> tuple[tuple[Part, ...], str]:
    """Split a template into its fields and the literal behind the last one."""
    try:
        raw = [(literal, name, spec, conversion) for literal, name, spec, conversion in Formatter().parse(template)]
    except ValueError as error:
        raise TemplateProblem(
            f'template "{template}" cannot be read: {error}; a brace as such is written {{{{ or }}}}'
        ) from None
    fields: list[tuple[str, str, str]] = []
    literal = ""
    for before, name, spec, conversion in raw:
        # The standard parser hands out an escaped brace as a literal of its own.
        literal += before
        if name is None:
            continue
        if conversion:
            raise TemplateProblem(
                f'template "{template}": conversions such as !{conversion} are not allowed', name=name
            )
        fields.append((literal, _checked_name(template, name), _checked_spec(template, name, spec or "")))
        literal = ""
    parts = tuple(
        Part(
            literal=before, name=name, spec=spec, end=(fields[index + 1][0] if index + 1 < len(fields) else literal)[:1]
        )
        for index, (before, name, spec) in enumerate(fields)
    )
    return parts, literal


def _checked_name(template: str, name: str) -> str:
    name = ALIASES.get(name, name)
    head, dot, field = name.partition(".")
    plain = head.isidentifier() and not head.startswith("__")
    if plain and not dot:
        return name
    if plain and head in NAMESPACES and field.isidentifier() and not field.startswith("__"):
        return name
    raise TemplateProblem(
        f'template "{template}": {{{name}}} is not a name; allowed are '
        f"{', '.join(f'{{{known}}}' for known in CORE_NAMES)}, {{event.*}}, {{params.*}}, {{subject.*}} "
        "and bare names of subject, params and event",
        name=name,
    )


_FIXED_WIDTH: dict[str, Callable[[datetime], str]] = {
    "Y": lambda moment: f"{moment.year:04d}",
    "m": lambda moment: f"{moment.month:02d}",
    "d": lambda moment: f"{moment.day:02d}",
    "j": lambda moment: f"{moment.timetuple().tm_yday:03d}",
    "G": lambda moment: f"{moment.isocalendar().year:04d}",
    "V": lambda moment: f"{moment.isocalendar().week:02d}",
    "u": lambda moment: f"{moment.isoweekday()}",
    "H": lambda moment: f"{moment.hour:02d}",
    "M": lambda moment: f"{moment.minute:02d}",
    "S": lambda moment: f"{moment.second:02d}",
    "f": lambda moment: f"{moment.microsecond:06d}",
}
"""Formats of one width whatever the moment, so that a formatted date can be followed by anything."""
_DATE_ONLY = frozenset("YmdjGVu")


def _checked_spec(template: str, name: str, spec: str) -> str:
    if not spec:
        return ""
    if ALIASES.get(name, name) not in TIME_NAMES:
        raise TemplateProblem(f'template "{template}": only dates take a format, {{{name}}} does not', name=name)
    allowed = _DATE_ONLY if ALIASES.get(name, name) == "business_date" else frozenset(_FIXED_WIDTH)
    rest = _DIRECTIVE.sub("", spec)
    unknown = [letter for letter in _DIRECTIVE.findall(spec) if letter not in allowed]
    if unknown or set(rest) & set("%{}") or rest == spec:
        raise TemplateProblem(
            f'template "{template}": the format "{spec}" of {{{name}}} is not understood; '
            f"allowed are {' '.join('%' + letter for letter in _FIXED_WIDTH if letter in allowed)}",
            name=name,
        )
    return spec


# --- from values to text ---------------------------------------------------------------------------


def binds(name: str, names: Mapping[str, object]) -> bool:
    """Say whether ``render`` would find this name among ``names``."""
    return _look_up(name, names)[0]


def _look_up(name: str, names: Mapping[str, object]) -> tuple[bool, object]:
    if name in names:
        return True, names[name]
    if "." not in name and name not in CORE_NAMES:
        for space in NAMESPACES:
            dotted = f"{space}.{name}"
            if dotted in names:
                return True, names[dotted]
    return False, None


def _time_text(part: Part, value: object, *, escape: bool) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise TemplateProblem(
            f"{{{part.name}}} must be a date or an instant, not {type(value).__name__}", name=part.name
        )
    text = instant_text(value) if isinstance(value, int) else value
    if part.spec:
        moment = _moment(part, text)
        return _DIRECTIVE.sub(lambda match: _FIXED_WIDTH[match.group(1)](moment), part.spec)
    shape = _DATE_SHAPE if part.name == "business_date" else _INSTANT_SHAPE
    if not escape or shape.fullmatch(text):
        return text
    # Without the mark a value of another shape could read like the beginning of a date.
    return _VALUE_MARK + _escaped(text, part.end)


def _moment(part: Part, text: str) -> datetime:
    try:
        if _DATE_SHAPE.fullmatch(text):
            return datetime.combine(date.fromisoformat(text), datetime.min.time(), tzinfo=UTC)
        return datetime.fromisoformat(text)
    except ValueError:
        raise TemplateProblem(
            f'"{text}" of {{{part.name}}} is no date, so it takes no format', name=part.name
        ) from None


def _value_text(part: Part, value: object, *, escape: bool) -> str:
    if isinstance(value, str):
        text, mark = value, ""
    elif isinstance(value, int) and not isinstance(value, bool):
        text, mark = str(value), ""
    else:
        try:
            text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise TemplateProblem(
                f"{{{part.name}}} is a {type(value).__name__}, which cannot stand in a key; pass text or a number",
                name=part.name,
            ) from None
        mark = _VALUE_MARK
    return mark + _escaped(text, part.end) if escape else text


def _escaped(text: str, end: str) -> str:
    if text.isalnum() and (not end or end not in text):
        return text
    return "".join(
        "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
        if character in "%:" or character == end or not (character.isprintable() or character == " ")
        else character
        for character in text
    )


def _bounded(key: str) -> str:
    # Shortened keys are exactly KEY_LIMIT long and all others are shorter, so the two kinds never meet.
    if len(key) < KEY_LIMIT:
        return key
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    head = KEY_LIMIT - len(_DIGEST_MARK) - len(digest)
    return key[:head] + _DIGEST_MARK + digest


def unknown_name(template: str, name: str, names: Mapping[str, object]) -> TemplateProblem:
    """Return the problem of a name that nothing binds, with the nearest one that is known."""
    from difflib import get_close_matches  # only on the way out: its import is not free

    bare = {known.partition(".")[2] or known for known in names}
    close = get_close_matches(name, sorted({*names, *bare, *ALIASES} - {name}), n=1, cutoff=0.6)
    hint = f"; did you mean {{{close[0]}}}?" if close else f"; known here: {', '.join(sorted(names))}"
    return TemplateProblem(f'template "{template}" uses {{{name}}}, which nothing binds{hint}', name=name)
