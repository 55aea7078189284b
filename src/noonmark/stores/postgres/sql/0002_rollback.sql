-- Who proves that what was acknowledged is still here: the head of each writer's chain, and its newest links.
-- min_reader: 1

CREATE TABLE ~writer (
    id text COLLATE "C" PRIMARY KEY,
    worker text NOT NULL,
    seq bigint NOT NULL,
    hash text NOT NULL,
    at bigint NOT NULL,
    epoch bigint NOT NULL,
    blind boolean NOT NULL,
    proved_at bigint NOT NULL,
    proved_for text NOT NULL
) WITH (fillfactor = 50);

-- A ring: the slot is the number modulo how many are kept.
CREATE TABLE ~link (
    writer text COLLATE "C" NOT NULL,
    slot integer NOT NULL,
    seq bigint NOT NULL,
    hash text NOT NULL,
    PRIMARY KEY (writer, slot)
) WITH (fillfactor = 70);
