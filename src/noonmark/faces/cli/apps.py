"""From ``module:sched``, ``path.py``, ``path.py:sched`` or ``noonmark.yaml`` to a Scheduler.

Rule of the file: an app that cannot be loaded is the person's to mend, so it is told in their words: the file and line
in which it broke, never our own frames.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from noonmark.faces.cli import problems

if TYPE_CHECKING:
    from noonmark.core.model import Job
    from noonmark.core.params import Signature
    from noonmark.door.declared import Rules
    from noonmark.door.scheduler import Scheduler
    from noonmark.explain.find import NotFound

RULES_SUFFIXES = (".yaml", ".yml")


def load_app(app: str, *, url: str | None = None) -> Scheduler:
    """Return the Scheduler that ``app`` names; ``url`` overrides where its store is.

    Raises:
        Trouble: there is no such file, module or attribute, or loading it failed.
    """
    from noonmark.door.scheduler import Scheduler

    if _are_rules(app):
        path = _existing(app)
        sys.path.insert(0, str(path.resolve().parent))  # `run: jobs:hello` means the jobs.py beside the rules
        return Scheduler(url, rules=path)
    place, _, attribute = app.partition(":")
    module = _from_path(place) if place.endswith(".py") else _from_name(_module_name(place))
    found = _scheduler(module, attribute, app, Scheduler)
    if url:
        found.url = url  # nothing is opened yet: loading an app touches no store
    return found


def jobs_of(app: str) -> Sequence[Job]:
    """Return the jobs an app declares, without opening its store."""
    if _are_rules(app):
        from noonmark.rules.loader import load

        return load(_existing(app)).jobs
    return tuple(load_app(app).rules.jobs.values())


def signature_of(app: str, name: str, rules: Rules | None = None) -> Signature:
    """Return which params a job's function takes, as ``app`` has it; its ``rules`` where they are loaded already.

    Raises:
        NotFound: the app declares no such job.
        Trouble: the app, or the function that it names, cannot be loaded.
    """
    from noonmark.core.params import Signature
    from noonmark.door.declared import NoSuchJobError, named, takes_of
    from noonmark.engine.registry import resolve

    rules = rules or load_app(app).rules
    try:
        job = named(rules.jobs, name)
    except NoSuchJobError:
        raise no_such_job(app, name, rules.jobs) from None
    function = rules.functions.get(job.name)
    if function is not None or not job.run:
        return takes_of(function) if function is not None else Signature()
    try:
        return takes_of(resolve(job.run))
    except (Exception, SystemExit) as fault:
        raise _broken(app, fault) from None


def no_such_job(app: str, name: str, there: Iterable[str]) -> NotFound:
    """Return what is said where an app does not declare a job."""
    from noonmark.core.told import Told
    from noonmark.explain.find import NotFound

    return NotFound("no_job_declared", "do_declared", app=app, name=Told(name), names=", ".join(sorted(there)) or "-")


def files_of(app: str) -> list[Path]:
    """Return the folder roots whose files decide what the app is, for reloading."""
    place = app.partition(":")[0]
    if place.endswith((".py", *RULES_SUFFIXES)):
        return [_existing(place).resolve().parent]
    _module_name(place)
    sys.path.insert(0, str(Path.cwd()))
    try:
        spec = importlib.util.find_spec(place)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        raise _no_module(place)
    return [Path(spec.origin).resolve().parent]


def _are_rules(app: str) -> bool:
    """Return True for a rules file; so is Python that does nothing but give names to values, TASK_RULES among them."""
    if app.endswith(RULES_SUFFIXES):
        return True
    if not app.endswith(".py") or not Path(app).is_file():
        return False
    import ast

    try:
        body = ast.parse(Path(app).read_bytes()).body
    except (SyntaxError, ValueError, OSError, RecursionError, MemoryError):
        return False  # told where it is loaded
    given = {getattr(target, "id", "") for node in body for target in _targets(node)}
    return "TASK_RULES" in given and all(isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr)) for node in body)


def _targets(node: object) -> list[object]:
    return [*getattr(node, "targets", ()), getattr(node, "target", None)]


def _existing(text: str) -> Path:
    path = Path(text)
    if path.is_dir():
        raise problems.Trouble("is_folder", path=str(path))
    if not path.is_file():
        raise problems.Trouble("no_file", path=str(path), folder=str(Path.cwd()), code=problems.NOT_FOUND)
    return path


def _from_path(text: str) -> ModuleType:
    path = _existing(text)
    name = path.stem
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise problems.Trouble("no_python", path=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as fault:
        raise _broken(text, fault) from None
    return module


def _module_name(place: str) -> str:
    """Return a name that can be imported; what names a file or a folder is told to be one."""
    if all(part.isidentifier() for part in place.split(".")):
        return place
    if not place or ("/" not in place and not Path(place).exists()):
        raise _no_module(place)
    raise problems.Trouble("no_python", path=str(_existing(place)))


def _from_name(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name is not None and (name == missing.name or name.startswith(f"{missing.name}.")):
            raise _no_module(name) from None
        raise _broken(name, missing) from None
    except (Exception, SystemExit) as fault:
        raise _broken(name, fault) from None
    if found.__file__ is None and Path(name).is_dir():  # any folder can be imported, and is empty
        raise problems.Trouble("is_folder", path=name)
    return found


def _no_module(name: str) -> problems.Trouble:
    if name and Path(name).exists():
        return problems.Trouble("is_folder" if Path(name).is_dir() else "no_python", path=name)
    return problems.Trouble("no_module", name=name, folder=str(Path.cwd()), code=problems.NOT_FOUND)


def _scheduler(module: ModuleType, attribute: str, app: str, kind: type[Scheduler]) -> Scheduler:
    if attribute:
        found = getattr(module, attribute, None)
        if isinstance(found, kind):
            return found
        if found is not None:
            kind_there = type(found).__name__
            raise problems.Trouble("wrong_attribute", app=app, kind=kind_there, code=problems.NOT_FOUND)
        there = [name for name, value in vars(module).items() if isinstance(value, kind)]
        near = f"{app.partition(':')[0]}:{there[0]}" if there else "sched = Scheduler()"
        raise problems.Trouble("no_attribute", app=app, near=near, code=problems.NOT_FOUND)
    named = {name: value for name, value in vars(module).items() if isinstance(value, kind)}
    if "sched" in named:
        return named["sched"]
    if len({id(value) for value in named.values()}) == 1:
        return next(iter(named.values()))
    if named:
        raise problems.Trouble("several_schedulers", app=app, names=", ".join(named), first=next(iter(named)))
    raise problems.Trouble("no_scheduler", app=app, code=problems.NOT_FOUND)


def _broken(app: str, fault: BaseException) -> Exception:
    """Say where in the person's code it broke; refused rules speak for themselves."""
    from noonmark.rules.problems import ProblemList

    if isinstance(fault, ProblemList):
        return fault
    frames = [f for f in traceback.extract_tb(fault.__traceback__) if not _is_ours(f.filename)]
    if isinstance(fault, SyntaxError) and not fault.lineno:  # not text at all
        return problems.Trouble("no_python", path=app)
    if isinstance(fault, SyntaxError):
        where = f"{fault.filename}:{fault.lineno}"
    else:
        where = f"{frames[-1].filename}:{frames[-1].lineno}  {frames[-1].line or ''}" if frames else ""
    return problems.Trouble("app_broken", app=app, error=f"{type(fault).__name__}: {fault}", where=where.strip())


def _is_ours(filename: str) -> bool:
    return filename.startswith(("<frozen", str(Path(__file__).parents[2])))
