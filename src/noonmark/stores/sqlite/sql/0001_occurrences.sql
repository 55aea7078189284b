-- The first shape of a noonmark file.  Instants and durations are microseconds, UTC.
-- A row is open exactly while due_at is not null: the partial indexes below rest on that.
-- WITHOUT ROWID only where rows are short: a search among long ones reads their overflow pages.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value
) WITHOUT ROWID;

-- The store's clock: a wall instant and the boot-time reading that belongs to it, and the latest instant ever written.
CREATE TABLE clock (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    boot_id TEXT NOT NULL,
    boot INTEGER NOT NULL,
    wall INTEGER NOT NULL,
    mark INTEGER NOT NULL
);

-- Counts kept as the rows change (state:PENDING, stale_refused, ...), so that an overview scans nothing.
CREATE TABLE counter (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE occurrence (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    job TEXT NOT NULL,
    subject TEXT NOT NULL,
    identity TEXT NOT NULL,
    key TEXT NOT NULL,
    generation INTEGER NOT NULL,
    claimed INTEGER NOT NULL,
    state TEXT NOT NULL,
    due_at INTEGER,
    scheduled_for INTEGER NOT NULL,
    nominal TEXT NOT NULL,
    business_date TEXT NOT NULL,
    not_before INTEGER,
    not_after INTEGER,
    expires_at INTEGER,
    origin TEXT NOT NULL,
    frontier INTEGER NOT NULL,
    gated INTEGER NOT NULL,
    params TEXT NOT NULL,
    revision INTEGER NOT NULL,
    worker TEXT NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    takeovers INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0,
    holder TEXT NOT NULL DEFAULT '',
    looking INTEGER NOT NULL DEFAULT 0,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    verdict TEXT NOT NULL DEFAULT '',
    code TEXT NOT NULL DEFAULT '',
    detail TEXT NOT NULL DEFAULT '{}',
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    first_started_at INTEGER,
    ended_at INTEGER,
    duplicate_of INTEGER,
    range_until INTEGER,
    range_count INTEGER NOT NULL DEFAULT 0,
    result TEXT,
    error TEXT,
    actor TEXT NOT NULL DEFAULT '',
    note TEXT NOT NULL DEFAULT '',
    queue TEXT NOT NULL DEFAULT 'default',
    priority INTEGER NOT NULL DEFAULT 0,
    -- what only this store needs:
    slot TEXT NOT NULL DEFAULT '',           -- overlap slot it occupies
    waits INTEGER NOT NULL DEFAULT 0,        -- has rows in waiter
    run_fence INTEGER NOT NULL DEFAULT 0,    -- fence of the attempt that is told by this row, 0 = all told by attempt
    run_worker TEXT NOT NULL DEFAULT '',     -- who ran it
    answered INTEGER NOT NULL DEFAULT 0,     -- last fence that had its outcome
    UNIQUE (job, subject, identity)
);

CREATE INDEX occurrence_due ON occurrence (due_at) WHERE due_at IS NOT NULL AND worker = '';
CREATE INDEX occurrence_own ON occurrence (worker, due_at) WHERE due_at IS NOT NULL AND worker <> '';
CREATE INDEX occurrence_series ON occurrence (job, scheduled_for) WHERE due_at IS NOT NULL AND origin = 'schedule';
CREATE INDEX occurrence_key ON occurrence (key) WHERE key <> '';
CREATE INDEX occurrence_job ON occurrence (job, scheduled_for);
CREATE INDEX occurrence_scheduled ON occurrence (scheduled_for);
CREATE INDEX occurrence_failed ON occurrence (scheduled_for) WHERE state = 'FAILED_MANUAL';
CREATE INDEX occurrence_range ON occurrence (range_until) WHERE range_until IS NOT NULL;

-- Keys that are taken.  Never pruned, and apart from the history of runs, so that no clean-up frees a key.
CREATE TABLE claim (
    key TEXT PRIMARY KEY,
    generation INTEGER NOT NULL,
    occurrence_id INTEGER NOT NULL
) WITHOUT ROWID;

-- Attempts that ended other than by success; the last successful or running one is told by its occurrence.
CREATE TABLE attempt (
    occurrence_id INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    number INTEGER NOT NULL,
    worker TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    outcome TEXT NOT NULL,
    error TEXT,
    PRIMARY KEY (occurrence_id, fence)
);

-- Looks that ended their row: whoever repeats such an outcome is told that it was applied.
CREATE TABLE outcome (
    occurrence_id INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    PRIMARY KEY (occurrence_id, fence)
) WITHOUT ROWID;

CREATE TABLE note (
    occurrence_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    fence INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (occurrence_id, kind, name)
);

CREATE TABLE slot (
    name TEXT PRIMARY KEY,
    occurrence_id INTEGER NOT NULL,
    since INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE fact (
    name TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    value TEXT,
    set_at INTEGER NOT NULL,
    actor TEXT NOT NULL
);

CREATE TABLE waiter (
    fact TEXT NOT NULL,
    version INTEGER NOT NULL,                -- the one it saw
    occurrence_id INTEGER NOT NULL,
    PRIMARY KEY (fact, version, occurrence_id)
) WITHOUT ROWID;
CREATE INDEX waiter_occurrence ON waiter (occurrence_id);

-- Facts that moved while somebody waited for them; the next take wakes the waiting.
CREATE TABLE wake (fact TEXT PRIMARY KEY) WITHOUT ROWID;

CREATE TABLE job (
    name TEXT PRIMARY KEY,
    rule TEXT NOT NULL,
    digest TEXT NOT NULL,
    revision INTEGER NOT NULL,
    effective_at INTEGER NOT NULL,
    paused INTEGER NOT NULL DEFAULT 0,
    pause_version INTEGER NOT NULL DEFAULT 0,
    paused_at INTEGER,
    resumed_at INTEGER,
    pause_reason TEXT NOT NULL DEFAULT '',
    event TEXT NOT NULL DEFAULT ''
);
CREATE INDEX job_event ON job (event) WHERE event <> '';

CREATE TABLE job_revision (
    seq INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    rule TEXT NOT NULL,
    digest TEXT NOT NULL,
    revision INTEGER NOT NULL,
    effective_at INTEGER NOT NULL,
    event TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL
);
CREATE UNIQUE INDEX job_revision_name ON job_revision (name, revision);

CREATE TABLE worker (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    process_started TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    until INTEGER NOT NULL,
    ended_at INTEGER,
    tzdata TEXT NOT NULL,
    version TEXT NOT NULL,
    wall_offset INTEGER NOT NULL,
    jobs TEXT NOT NULL,
    gone_at INTEGER NOT NULL,                -- when it ended, else when it counts as dead
    reaped INTEGER NOT NULL DEFAULT 0        -- long gone, and nothing of its own is left
);
CREATE INDEX worker_gone ON worker (gone_at) WHERE reaped = 0;

CREATE TABLE ledger (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    occurrence_id INTEGER NOT NULL,
    job TEXT NOT NULL,
    at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    count INTEGER NOT NULL,
    event TEXT NOT NULL,
    verdict TEXT NOT NULL,
    code TEXT NOT NULL,
    detail TEXT NOT NULL,
    checks TEXT NOT NULL,
    worker TEXT NOT NULL,
    fence INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    actor TEXT NOT NULL
);
CREATE INDEX ledger_occurrence ON ledger (occurrence_id, seq);

CREATE TABLE alert (
    id INTEGER PRIMARY KEY,
    job TEXT NOT NULL,
    kind TEXT NOT NULL,
    level INTEGER NOT NULL,
    code TEXT NOT NULL,
    detail TEXT NOT NULL,
    occurrence_id INTEGER,
    opened_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    count INTEGER NOT NULL,
    closed_at INTEGER
);
CREATE UNIQUE INDEX alert_open ON alert (job, kind) WHERE closed_at IS NULL;
CREATE INDEX alert_occurrence ON alert (occurrence_id) WHERE occurrence_id IS NOT NULL;

-- First answers by request id, kept for an hour.
CREATE TABLE request (
    id TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    answer TEXT NOT NULL
);
CREATE INDEX request_at ON request (at);
