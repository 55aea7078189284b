"""An interruption that somebody has answered, and the exit code that stands.

CPython notes when a KeyboardInterrupt leaves code that was made of a text (a dataclass that is being declared, the
constructor of a value), and at its end kills a program that was begun with ``-m`` by the signal, although the
interruption was caught further out (``run_eval_code_obj`` in its ``Python/pythonrun.c``).

Rule of the file: nothing but that.
"""

from __future__ import annotations


def answered() -> None:
    """Let this process end with the code that it returns: running any other text takes the note back."""
    exec("")
