"""``noonmark init``: two commented files to start from."""

from __future__ import annotations

from pathlib import Path

import click

from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Command, Session, settings_of

RULES = """\
# Rules as a file; jobs.py has the same in code.  Check: noonmark rules check noonmark.yaml
version: 1
jobs:
  tidy:
    # Weekdays are best written as names (mon-fri); as numbers 0 and 7 are Sunday.  A cron rule names its zone.
    schedule: {cron: "0 9 * * mon-fri", tz: Asia/Shanghai}
    command: ["echo", "tidied up"] # or  run: jobs:some_function
    window: {start: "09:00", end: "12:00"} # no start outside of it
    dedupe_key: "tidy:{business_date}" # one success per date, however often it is tried
    catch_up: {missed: latest, max_delay: 3h} # asleep at 09:00?  The latest missed one still runs
    reason: Start the working day with a clean desk.
"""

JOBS = '''\
"""Jobs of this project.  Run: noonmark dev jobs.py"""

from noonmark import Context, Scheduler, every

sched = Scheduler()  # keeps its records at NOONMARK_URL, else in .noonmark/noonmark.db


# A cron rule names its zone: cron("0 9 * * mon-fri", tz="Asia/Shanghai"); as numbers 0 and 7 are Sunday.
@sched.job(every("1m"), key="hello:{scheduled_for}", reason="Show that it works.")
async def hello(ctx: Context) -> str:
    print("hello, key", ctx.key)
    return "done"
'''


@click.command(cls=Command, acts=True)
@click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))
@click.pass_context
def init(ctx: click.Context, folder: Path) -> int:
    """Write noonmark.yaml and jobs.py into FOLDER; a file that is there is never overwritten."""
    here = Session(settings_of(ctx))
    files = {folder / "noonmark.yaml": RULES, folder / "jobs.py": JOBS}
    there = [str(path) for path in files if path.exists()]
    if there:
        raise problems.Trouble("there_already", files=", ".join(there), code=problems.REFUSED)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise problems.Trouble("cannot_write", folder=str(folder), error=error.strerror, code=problems.NO) from None
    here.emit({"v": 1, "written": [str(path) for path in files]}, lambda: "\n".join(str(path) for path in files))
    into = "" if folder == Path() else f"cd {folder} && "
    here.remark(here.word("init_next", into=into))
    return problems.OK
