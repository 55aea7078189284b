"""What people and logs are shown of what others wrote: without secrets, and without what drives a terminal.

Promise: whatever a stranger put into a name, a parameter, a result or an error, showing it gives away no value that looks
like a secret, moves no cursor and forges no line; what is shown twice is shown the same.  The store keeps the values, for
the job needs them.  Rule of the file: pure and bounded; what could be a secret is hidden, even where that hides more
than it must.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from noonmark.core.patterns import pattern

HIDDEN = "***"
DEPTH_LIMIT = 50
"""Values nested deeper than this are hidden whole: nobody reads them, and nobody can say what is in them."""


class Told(str):
    """Text of ours in which the words of others were looked over one by one: it is not searched again (``told.py``)."""

    __slots__ = ()


class Named(dict[str, Any]):
    """A map of ours by the names of jobs: a job called ``auth`` says nothing about what it is mapped to."""


# --- signs that say the same -----------------------------------------------------------------------


class _Plain(dict[int, str]):
    """Sign -> the plain one that it stands for, where that is one sign: places in a text stay the same places."""

    def __missing__(self, number: int) -> str:
        sign = chr(number)
        plain = unicodedata.normalize("NFKC", sign)
        found = plain if len(plain) == 1 else sign
        if number < 65536:
            self[number] = found
        return found


_PLAIN = _Plain({ord(sign): sign for sign in "（）"} | {ord(sign): '"' for sign in "“”„«»"} | {ord("∶"): ":"})
"""Full-width brackets stay: what stands in them behind a name is its value, in round ones it is a remark."""


def _plain(text: str) -> str:
    """Return a text of the same length with plain signs for full-width ones, in which secrets are looked for."""
    return text if text.isascii() else text.translate(_PLAIN)


def _small(text: str) -> str:
    """Return the text in small letters, sign for sign: a sign whose small form is two stays."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(s if len(s.lower()) != 1 else s.lower() for s in text)


# --- names of secrets ------------------------------------------------------------------------------

_WORDS = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[\u3400-\u9fff]+")
_SECRET_WORDS = (
    "password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "authorization",
    "auth", "credential", "cookie",
)  # fmt: skip
_CHINESE = (
    "密码", "密碼", "口令", "密钥", "密鑰", "密匙", "金钥", "金鑰", "令牌", "私钥", "私鑰", "凭证", "憑證", "凭据", "憑據",
    "授权码", "授權碼", "通行码", "通行碼", "秘钥", "秘鑰",
)  # fmt: skip
_CHINESE_NAME = pattern(rf"(?:{'|'.join(_CHINESE)})[是为為值串]?\Z")
"""The word itself, or what asks for its value; a name that goes on (令牌数, 密码错误) speaks of something else."""
_PLURALS = frozenset(f"{word}s" for word in _SECRET_WORDS)
_SECRET_KEYS = frozenset(["api", "access", "private", "secret", "signing", "encryption", "session", "account", "auth"])
"""``key`` alone is the key of an occurrence; behind one of these words it opens something."""


def is_secret_name(name: str) -> bool:
    """True where a value of this name should not be shown: password, api_key, accessToken, X-Auth-Token, …."""
    return _kind_of(name) != ""


def _kind_of(name: str) -> str:
    """Return "whole" where the name is that of a secret, "part" where it speaks of one (token_count), else ""."""
    return _kind_of_end(name[-200:])


@lru_cache(maxsize=512)
def _kind_of_end(name: str) -> str:
    words = [word.lower() for word in _WORDS.findall(_plain(name))]
    found = ""
    for index, word in enumerate(words):
        is_last = index == len(words) - 1
        is_key = word in ("key", "keys") and index > 0 and words[index - 1] in _SECRET_KEYS
        if (
            is_key
            or word in _SECRET_WORDS
            or word.endswith(("password", "passwd", "secret", "token", "apikey"))
            or (not word.isascii() and _CHINESE_NAME.search(word))
        ):
            found = "whole" if is_last else found or "part"
        elif word in _PLURALS:
            found = found or "part"
    return found


def _hides(name: str, value: object) -> bool:
    """A number called ``max_tokens`` or ``token_count`` is a measure; called ``token`` or ``password`` it is none."""
    kind = _kind_of(name)
    if not kind or value is None or isinstance(value, bool) or value == "":
        return False
    return kind == "whole" or not isinstance(value, (int, float))


# --- values ----------------------------------------------------------------------------------------


def redacted_value(value: Any, *, depth: int = 0) -> Any:
    """Return a JSON value with every secret in it replaced by ``***``, however deep; other values as they are."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, (int, float)) or value is None:
        return value
    if depth >= DEPTH_LIMIT and isinstance(value, (Mapping, list, tuple)):
        return HIDDEN
    if isinstance(value, Named):
        return {name: redacted_value(item, depth=depth + 1) for name, item in value.items()}
    if isinstance(value, Mapping):
        return {
            name: HIDDEN if isinstance(name, str) and _hides(name, item) else redacted_value(item, depth=depth + 1)
            for name, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return _redacted_items(value, depth)
    return value


def _redacted_items(items: list[Any] | tuple[Any, ...], depth: int) -> list[Any]:
    """A list may be a command: what follows ``--token`` is its value."""
    shown: list[Any] = []
    hides_next = False
    for item in items:
        is_option = isinstance(item, str) and item.startswith("-")
        shown.append(HIDDEN if hides_next and not is_option else redacted_value(item, depth=depth + 1))
        hides_next = is_option and "=" not in item and _kind_of(item) == "whole"
    return shown


# --- text ------------------------------------------------------------------------------------------

_ESCAPED = "|".join("".join(rf"\\{{1,4}}u{ord(sign):04x}" for sign in word) for word in _CHINESE)
"""As JSON writes it where only ASCII may stand."""
_SIGNS = "".join(sorted({word[0] for word in _CHINESE}))
_ROOT_WORDS = ("pass", "pwd", "secret", "token", "auth", "credential", "cookie")
_ROOT = pattern(
    rf"(?=[pstack{_SIGNS}\\])(?:{'|'.join(_ROOT_WORDS)}|(?<=[\w.-])key"
    rf"|(?=[{_SIGNS}])(?:{'|'.join(_CHINESE)})|(?=\\)(?:{_ESCAPED}))"
)
"""Every line of a log is searched with it: what it may begin with stands in front, which makes it ten times as quick."""
_NAME_LIMIT = 50
_OPENS, _CLOSES = "「『【〔（《〈", "」』】〕）》〉"
_NAME_BEFORE = pattern(r"[\w.-]{0,60}\Z")
_NAME_AFTER = pattern(
    r"""(?P<name>[\w.-]{0,50})\\{0,4}["'」』〕）》〉]?"""
    r"""(?P<sep>】?\s{0,3}(?:=>|[:=→])\s{0,3}|\s{0,3}(?=[「『【〔（《〈])|】\s{0,3}|[ ]{1,3})?"""
)
_VALUE = pattern(
    r"""(?P<quote>\\{1,4}")[^"\\]{0,4000}(?:\\{1,4}")?|(?P<q>["'])(?:(?!(?P=q))[^\\\n]|\\.){0,4000}(?P=q)?"""
    r"""|(?P<open>[「『【〔（《〈])[^\n」』】〕）》〉]{0,4000}(?P<close>[」』】〕）》〉]?)"""
    r"""|[\[{(][^\n]{0,4000}|(?:(?:bearer|basic|digest|token)\s{1,3})?[^\s,;&}\])"'<>。、」』】〕）》〉]{1,4000}""",
    re.IGNORECASE,
)
_CREDENTIALS_IN_URL = pattern(
    r"""://(?:[^\s/?#@:"'<>]{0,256}:[^\s"'<>]{0,1024}|[^\s/?#"'<>@]{16,1024})@""",
)
_SHAPES = pattern(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-(?=[\w-]{0,200}\d)[\w-]{16,200}"  # OpenAI, Anthropic and their kin
    r"|[sr]k_(?:live|test)_\w{10,200}"  # Stripe
    r"|A(?:KI|SI)A[0-9A-Z]{16}"  # AWS
    r"|gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255}|glpat-[\w-]{15,100}"
    r"|xox[abeprs]-[\w-]{10,255}"  # Slack
    r"|AIza[\w-]{30,50}"  # Google
    r"|hf_[A-Za-z0-9]{20,100}|npm_[A-Za-z0-9]{30,60}|pypi-[\w-]{40,255}"
    r"|eyJ[\w-]{8,4000}\.[\w-]{8,4000}(?:\.[\w-]{0,4000})?"  # JSON web tokens
    r")"
)
_SHAPE_MARKS = (
    "sk-", "sk_live_", "rk_live_", "sk_test_", "rk_test_", "AKIA", "ASIA", "ghp_", "gho_", "ghu_",
    "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "AIza", "hf_", "npm_", "pypi-", "eyJ",
)  # fmt: skip
_BEARER = pattern(r"\b(bearer\s{1,3})[\w.~+/=-]{8,4000}", re.IGNORECASE)
_PEM = pattern(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL)


# --- a quick look first ----------------------------------------------------------------------------

_LOOK_LIMIT = 400
"""Longer texts are searched at once: what is remembered of texts stays small."""
_NO_MARK = b"0123456789bcdefqvBCDEFQV"
"""What tells the line of one run from that of the next, a number or an id in hex, and no mark of a secret needs."""


def _look(text: str) -> bytes:
    """Return what of a text decides whether it can hold a secret: the same for all lines that differ in numbers only."""
    return text.encode("utf-8", "surrogatepass").translate(None, _NO_MARK)


_NO_MARK_SIGNS = dict.fromkeys(_NO_MARK)


@cache
def _marks() -> Callable[[str], re.Match[str] | None]:
    """What begins every secret that is found, as it reads in a look; a mark of nothing but such signs is everywhere."""
    roots, shapes = (
        "|".join(re.escape(mark.translate(_NO_MARK_SIGNS)) for mark in marks)
        for marks in ((*_ROOT_WORDS, *_CHINESE, "bearer", "-----begin"), _SHAPE_MARKS)
    )
    return re.compile(rf"{roots}|[\w.-]ky|\\u|://[^@]*@|(?<![A-Za-z0-9])(?:{shapes})").search


@lru_cache(maxsize=512)
def _is_harmless(word: bytes) -> bool:
    """True where a word of a look has no mark of a secret in it; no mark has a space."""
    plain = _plain(word.decode("utf-8", "surrogatepass")).translate(_NO_MARK_SIGNS)
    return _marks()(f"{_small(plain)} {plain}") is None


@lru_cache(maxsize=512)
def _is_plain(look: bytes) -> bool:
    return all(map(_is_harmless, look.split()))


@lru_cache(maxsize=512)
def _is_plain_line(look: bytes) -> bool:
    """Say of a look that one line, nothing hidden in it and nothing written out, is what may be shown."""
    return _is_plain(look) and look.decode("utf-8", "surrogatepass").isprintable()


def redacted(text: str) -> str:
    """Return the text with credentials, keys of well-known shapes and the values of secret names replaced by ``***``."""
    if isinstance(text, Told):
        return text
    if text[:1] not in ("{", "[") and len(text) <= _LOOK_LIMIT and _is_plain(_look(text)):
        return text
    return _searched(text)


def _searched(text: str) -> str:
    """Return the text redacted, by searching all of it."""
    if text[:1] in ("{", "["):
        try:
            plain = json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            kept = redacted_value(plain)
            return text if kept == plain else json.dumps(kept, ensure_ascii=False)
    plain = _plain(text)
    if "-----BEGIN" in plain:
        text, plain = _hidden(_PEM, text, plain)
    if "://" in plain:
        text, plain = _hidden(_CREDENTIALS_IN_URL, text, plain, lambda _: f"://{HIDDEN}@")
    text, plain = _without_named(text, plain)
    # Looking for plain parts first: a table of a million rows is shown, too.
    if "bearer" in plain.lower():
        text, plain = _hidden(_BEARER, text, plain, lambda found: f"{found[1]}{HIDDEN}")
    return _hidden(_SHAPES, text, plain)[0] if any(mark in plain for mark in _SHAPE_MARKS) else text


def _hidden(
    wanted: re.Pattern[str], text: str, plain: str, says: Callable[[re.Match[str]], str] = lambda _: HIDDEN
) -> tuple[str, str]:
    """Look for the pattern in the plain form of a text, and hide what it finds in both; their places are the same."""
    if text == plain:
        told = wanted.sub(says, plain)
        return told, told
    return _pieced([(found.start(), found.end(), says(found)) for found in wanted.finditer(plain)], text, plain)


def _pieced(spans: list[tuple[int, int, str]], text: str, plain: str) -> tuple[str, str]:
    """Put what is said into the places of both texts."""
    if not spans:
        return text, plain
    told: list[list[str]] = [[], []]
    done = 0
    for start, end, says in spans:
        told[0] += [text[done:start], says]
        told[1] += [plain[done:start], says]
        done = end
    return "".join([*told[0], text[done:]]), "".join([*told[1], plain[done:]])


def _without_named(text: str, plain: str) -> tuple[str, str]:
    """Hide what follows the name of a secret: ``password=x``, ``"token": "x"``, ``--api-key x``, ``密码：x``."""
    small = _small(plain)
    spans: list[tuple[int, int, str]] = []
    done = at = 0
    while found := _ROOT.search(small, at):
        escaped = found[0].startswith("\\")
        before = _NAME_BEFORE.search("" if escaped else plain[max(done, found.start() - 60) : found.start()])
        after = _NAME_AFTER.match(plain, found.end() if escaped else found.start())
        assert before is not None and after is not None, "both match nothing as well"  # noqa: PT018
        name, sep = before[0] + after["name"], after["sep"]
        at = after.end()
        kind = ("part" if name else "whole") if escaped else _kind_of(name)
        is_said = sep is not None and (sep.strip() or name.startswith("--") or plain[at : at + 1] in _OPENS)
        if not kind or not is_said:  # "the token expired" names no value
            # a name as long as this may be cut in the midst of a word
            is_cut = len(after["name"]) == _NAME_LIMIT
            at = max(found.end(), after.end("name") - 20) if is_cut else max(found.end(), after.end("name"))
            continue
        value = _VALUE.match(plain, at)
        if value is None:
            continue
        bare = value[0].strip("\\\"'" + _OPENS + _CLOSES)
        is_measure = kind == "part" and bare.replace(".", "", 1).isdigit()
        if not is_measure and bare not in ("", "…", "null", "None", "true", "false", "True", "False", HIDDEN):
            quote = value["quote"] or value["q"] or ""
            says = f"{value['open']}{HIDDEN}{value['close']}" if value["open"] else f"{quote}{HIDDEN}{quote}"
            spans.append((at, value.end(), says))
            done = value.end()
        at = value.end()
    return _pieced(spans, text, plain)


# --- terminals -------------------------------------------------------------------------------------

_DRIVES = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""Control characters of either kind, what turns the direction of writing, and what is read but not seen."""


def printable(text: str) -> str:
    """Return the text with what would drive a terminal written out (``\\x1b``); lines and tabs stay."""
    return _DRIVES.sub(lambda match: written_out(match[0]), text)


def one_line(text: str) -> str:
    """Return the text as one line that a reader can trust to be one."""
    return printable(text).replace("\n", "\\n").replace("\t", " ")


def shown(text: str) -> str:
    """Return the text as people and logs may see it: no secrets, no control characters; lines stay lines."""
    return printable(redacted(text))


def shown_line(text: str) -> str:
    """Return the text as one line that people and logs may see."""
    if isinstance(text, Told):
        return Told(one_line(text))
    if text[:1] not in ("{", "[") and len(text) <= _LOOK_LIMIT and _is_plain_line(_look(text)):
        return text
    return one_line(redacted(text))


_ENCODERS = [json.JSONEncoder(ensure_ascii=ascii_only, default=str) for ascii_only in (False, True)]


def json_text(value: Any, *, ascii_only: bool = False) -> str:
    """Return JSON for people and programs: secrets hidden, and no character in it drives the terminal it lands on."""
    text = _ENCODERS[ascii_only].encode(redacted_value(value))
    if text.isascii() and "\x7f" not in text:  # JSON writes the others out itself
        return text
    return _DRIVES.sub(lambda match: json.dumps(match[0])[1:-1], text)


def written_out(sign: str) -> str:
    """Return what is written for a sign that is not to be shown as it is: ``\\x1b``."""
    number = ord(sign)
    if sign == "\r":
        return "\\r"
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 65536 else f"\\U{number:08x}"
