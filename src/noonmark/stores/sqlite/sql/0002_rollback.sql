-- Who proves that what was acknowledged is still here: the head of each writer's chain, and its newest links.
CREATE TABLE writer (
    id TEXT PRIMARY KEY,
    worker TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    blind INTEGER NOT NULL,
    proved_at INTEGER NOT NULL,
    proved_for TEXT NOT NULL
) WITHOUT ROWID;

-- A ring: the slot is the number modulo how many are kept.
CREATE TABLE link (
    writer TEXT NOT NULL,
    slot INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (writer, slot)
) WITHOUT ROWID;
