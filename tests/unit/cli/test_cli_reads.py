"""The reading commands: what they print, as text and JSON, and how they end."""

from __future__ import annotations

from dataclasses import replace

from calling import Noonmark
from desk import DIGEST, TICK, Desk

from noonmark.core.model import MINUTE, SECOND, Cron
from noonmark.explain.render import width


def test_why_prints_the_sentence_and_exits_with_0(desk: Desk, noonmark: Noonmark) -> None:
    desk.signal("corpus:2026-11-27")
    answer = noonmark("why", "digest")
    assert answer.code == 0
    assert answer.out.startswith("It is not due yet: it is due 18:30 (in 6 h 30 min).\n")
    assert answer.err == ""


def test_why_takes_the_global_options_on_either_side(noonmark: Noonmark) -> None:
    before, after = noonmark("--json", "why", "digest"), noonmark("why", "digest", "--json")
    assert before.plain == after.plain
    assert before.plain["v"] == 1


def test_why_speaks_chinese_when_asked_or_when_the_environment_does(noonmark: Noonmark, monkeypatch) -> None:
    assert noonmark("why", "digest", "--lang", "zh").out.startswith("还没到时间")
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert noonmark("why", "digest").out.startswith("还没到时间")
    monkeypatch.setenv("NOONMARK_LANG", "en")
    assert noonmark("why", "digest").out.startswith("It is not due yet")


def test_why_tells_times_in_the_zone_asked_for(noonmark: Noonmark) -> None:
    assert "due 10:30" in noonmark("why", "digest", "--tz", "UTC").out
    wrong = noonmark("why", "digest", "--tz", "Asia/Shanghia")
    assert wrong.code == 2
    assert "Asia/Shanghai" in wrong.err


def test_why_accepts_an_occurrence_as_123_or_r123(noonmark: Noonmark) -> None:
    assert noonmark("why", "--occurrence", "r1").out == noonmark("why", "--occurrence", "1").out
    assert noonmark("why", "r1").out == noonmark("why", "--occurrence", "1").out
    assert noonmark("why", "--occurrence", "x1").code == 2


def test_what_is_not_there_ends_with_5_and_a_hint(noonmark: Noonmark) -> None:
    answer = noonmark("why", "digset")
    assert answer.code == 5
    assert answer.out == ""
    assert answer.err.splitlines()[-1].strip() == "did you mean digest?"
    assert noonmark("why", "--occurrence", "99").code == 5
    assert noonmark("show", "nothing").code == 5
    assert noonmark("next", "nothing").code == 5
    assert noonmark("history", "nothing").code == 5


def test_a_time_that_cannot_be_read_ends_with_2(noonmark: Noonmark) -> None:
    answer = noonmark("why", "digest", "--at", "yesterday")
    assert answer.code == 2
    assert "Traceback" not in answer.err
    assert "2026-11-28T18:30" in answer.err


def test_jobs_shows_schedule_next_last_and_the_strip(desk: Desk, noonmark: Noonmark) -> None:
    desk.later(5 * MINUTE)
    desk.beat()
    desk.finish(desk.look(), code="succeeded")
    answer = noonmark("jobs")
    assert answer.code == 0
    digest, tick = answer.out.splitlines()[1:]
    assert digest.split() == ["digest", "18:30", "daily", "18:30", "(in", "7", "h)", "-"]
    assert "times are Asia/Shanghai" in answer.err
    assert tick.startswith("tick    every 5 min  12:10 (in 5 min)")
    assert tick.endswith("12:05 on time  #")
    plain = noonmark("jobs", "--json").plain
    assert [job["job"] for job in plain["jobs"]] == ["digest", "tick"]
    assert plain["jobs"][1]["last"]["outcome"] == "on_time"


def test_jobs_of_several_zones_name_each_and_one_zone_is_named_once(desk: Desk, noonmark: Noonmark) -> None:
    desk.register(replace(TICK, name="london", trigger=Cron(expression="0 9 * * *", tz="Europe/London")))
    answer = noonmark("jobs")
    assert "09:00 daily Europe/London" in answer.out
    assert "18:30 daily Asia/Shanghai" in answer.out
    assert "each job's own zone" in answer.err
    one = noonmark("jobs", "--tz", "UTC")
    assert "10:30 (in 7 h)" in one.out
    assert one.err == "times are UTC\n"


def test_jobs_names_what_needs_a_person_on_stderr(desk: Desk, noonmark: Noonmark) -> None:
    desk.act("end_job", job="tick")
    desk.until("2026-11-27T18:30:00")
    desk.look()
    desk.until("2026-11-27T20:00:00")
    desk.look()
    answer = noonmark("jobs")
    assert "MISSED" in answer.out
    assert "Try: noonmark why digest" in answer.err
    assert noonmark("jobs", "-q").err == ""


def test_show_prints_every_default(noonmark: Noonmark) -> None:
    out = "\n".join(" ".join(line.split()) for line in noonmark("show", "digest").out.splitlines())
    for wanted in (
        "“Ops reads it at 19:00.”",
        "when           18:30 daily Asia/Shanghai   (30 18 * * *)",
        "next           Fri 27 Nov 2026 18:30 Asia/Shanghai (in 6 h 30 min)",
        "window         18:30-20:00                                                   rule",
        "needs          flag corpus:{business_date}",
        "key            digest:{business_date}                                        rule",
        "catch-up       latest: of what was missed, only the newest runs              default",
        "at most late   until the window ends                                         default",
        "retry          4 times after 1 s, 2 s, 4 s, 8 s + up to 0.5 s, then a person",
        "timeout        30 min",
        "lease          30 s",
        "worker lost    another worker takes over, at most 3 times",
        "overlap        skip: not while another round is in progress                  default",
        "in force       since Fri 27 Nov 2026 12:00 Asia/Shanghai",
        "workers        0 of 0 awake run it",
    ):
        assert " ".join(wanted.split()) in out, wanted
    assert noonmark("show", "digest", "--json").plain["rule"]["name"] == "digest"


def test_show_tells_the_default_from_the_rule(noonmark: Noonmark) -> None:
    lines = {line.split()[0]: line.split()[-1] for line in noonmark("show", "tick").out.splitlines()[2:]}
    assert lines["guard"] == "default"
    assert lines["overlap"] == "rule"
    assert lines["catch-up"] == "rule"
    assert "at most late   5 min" in noonmark("show", "tick").out


def test_why_tells_about_what_has_an_outcome_and_names_the_next(desk: Desk, noonmark: Noonmark) -> None:
    desk.later(5 * MINUTE)
    desk.beat()
    done = desk.finish(desk.look(), code="succeeded")
    desk.later(5 * MINUTE)
    desk.beat()
    told = noonmark("why", "tick", "--json").plain
    assert (told["id"], told["outcome"]) == (done.id, "on_time")
    assert "Next: due 12:10 (in 0 s)." in told["lines"]
    desk.later(2 * MINUTE)
    desk.beat()
    assert noonmark("why", "tick", "--json").plain["outcome"] == "due"


def test_jobs_fits_a_hundred_columns_whatever_the_names(desk: Desk, noonmark: Noonmark) -> None:
    desk.register(
        replace(
            DIGEST,
            name="a-name-that-is-longer-than-anybody-would-want-to-read",
            trigger=Cron(expression="30 18 * * mon,tue,wed,thu,sat", tz="America/Argentina/Buenos_Aires"),
        )
    )
    for _ in range(30):
        desk.later(5 * MINUTE)
        desk.beat()
        desk.finish(desk.look(), code="succeeded")
    for lang in ("en", "zh"):
        for tz in ((), ("--tz", "America/Argentina/Buenos_Aires")):
            lines = noonmark("jobs", "--lang", lang, *tz).out.splitlines()
            assert max(width(line) for line in lines) <= 100
    assert "####" in noonmark("jobs").out


def test_next_of_one_job_and_of_all(noonmark: Noonmark) -> None:
    out = noonmark("next", "digest", "-n", "2").out
    assert out == (
        "18:30 daily Asia/Shanghai, window 18:30-20:00\n"
        "  Fri 2026-11-27 18:30 +08:00   10:30Z   in 6 h 30 min\n"
        "  Sat 2026-11-28 18:30 +08:00   10:30Z   in 1 d 7 h\n"
    )
    assert [one["job"] for one in noonmark("next", "-n", "2", "--json").plain["next"]] == ["tick", "tick"]


def test_next_from_a_time_reads_it_in_the_zone_of_the_job(noonmark: Noonmark) -> None:
    plain = noonmark("next", "digest", "-n", "1", "--from", "2027-01-01T18:30", "--json").plain
    assert plain["next"][0]["occurrence"] == "2027-01-01T18:30:00+08:00"


def test_history_is_newest_first_and_can_be_narrowed(desk: Desk, noonmark: Noonmark) -> None:
    for _ in range(3):
        desk.later(5 * MINUTE)
        desk.beat()
        desk.finish(desk.look(), code="succeeded")
    lines = noonmark("history", "tick").out.splitlines()
    assert [line.split()[2] for line in lines[1:]] == ["12:15", "12:10", "12:05"]
    assert len(noonmark("history", "tick", "--limit", "2").out.splitlines()) == 3
    assert len(noonmark("history", "tick", "--since", "7m", "--json").plain["occurrences"]) == 2
    assert noonmark("history", "--state", "missed").out.count("\n") == 1
    assert len(noonmark("history", "--state", "SUCCESS", "--json").plain["occurrences"]) == 3
    assert noonmark("history", "--state", "sucess").code == 2


def test_backlog_says_what_each_is_blocked_on(desk: Desk, noonmark: Noonmark) -> None:
    desk.act("end_job", job="tick")
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    desk.look()
    plain = noonmark("backlog", "--json").plain
    assert plain["waiting"] == 1
    waiting = plain["occurrences"][0]
    assert waiting["outcome"] == "waiting"
    assert "corpus:2026-11-27" in waiting["blocked_on"]
    desk.later(10 * MINUTE)
    assert "no worker is awake" in noonmark("backlog").out


def test_leases_shows_who_holds_what_and_who_is_gone(desk: Desk, noonmark: Noonmark) -> None:
    desk.later(5 * MINUTE)
    desk.beat("w1", pid=4101)
    desk.look()
    out = noonmark("leases").out
    assert "w1      tick  r2" in out
    desk.later(MINUTE)
    lines = noonmark("leases").out.splitlines()
    assert any(line.startswith("w1") and "gone" in line for line in lines)


def test_flags_lists_what_jobs_wait_for(desk: Desk, noonmark: Noonmark) -> None:
    assert noonmark("flags").out.splitlines()[1].split()[:3] == ["corpus:2026-11-27", "not", "set"]
    desk.signal("corpus:2026-11-27")
    plain = noonmark("flags", "--json").plain["flags"]
    assert plain[0]["set"] is True


def test_verify_ends_with_0_when_all_is_well_and_with_1_when_not(desk: Desk, noonmark: Noonmark) -> None:
    desk.later(5 * MINUTE)
    desk.beat()
    desk.finish(desk.look(), code="succeeded")
    good = noonmark("verify", "--since", "1h")
    assert good.code == 0
    assert good.out.splitlines()[-1] == "OK"
    desk.later(5 * MINUTE)
    for _ in range(5):
        desk.later(29 * SECOND)
        desk.beat()
    bad = noonmark("verify", "--since", "1h", "--json")
    assert bad.code == 1
    assert bad.plain["ok"] is False
    assert noonmark("verify", "--since", "sometime").code == 2
    assert noonmark("verify", "--job", "nothing").code == 5


def test_a_pretended_now_changes_what_is_shown(noonmark: Noonmark) -> None:
    assert "(in 30 min)" in noonmark("why", "digest", "--now", "2026-11-27T10:00:00Z").out


def test_version_prints_what_is_in_use(noonmark: Noonmark) -> None:
    assert set(noonmark("version", "--json").plain) >= {"v", "noonmark", "python", "tzdata", "apsw", "cronsim", "click"}


def test_an_unknown_command_names_the_nearest_and_ends_with_2(noonmark: Noonmark) -> None:
    answer = noonmark("wy", "digest")
    assert answer.code == 2
    assert "why" in answer.err


def test_the_rule_is_what_the_store_has(noonmark: Noonmark) -> None:
    assert noonmark("show", "digest", "--json").plain["rule"]["key"] == DIGEST.key


def test_verify_tells_both_ends_of_its_span_with_their_day(noonmark: Noonmark) -> None:
    since, until = noonmark("verify").out.splitlines()[0].split(" between ")[1].split(" (")[0].split(" and ")
    assert since.split()[0] != until.split()[0]
    assert len(since.split()) == 5
    assert until.split()[:5][3] == since.split()[3], "both name the year"
