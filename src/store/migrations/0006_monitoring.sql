-- Streams that travel together: one request reads several places. anchors: the ids of the first page of its last finished
-- round. turn: when that was, in the order of `turns`.
CREATE TABLE convoys (
  id              INTEGER PRIMARY KEY,
  kind            TEXT    NOT NULL,
  anchors         TEXT    NOT NULL DEFAULT '[]',
  head_created_at INTEGER,
  turn            INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Counts the beginnings of looks at single streams and the ends of rounds, so that it is known which came first.
CREATE TABLE turns (
  one             INTEGER PRIMARY KEY CHECK (one = 1),
  n               INTEGER NOT NULL
) STRICT;
INSERT INTO turns (one, n) VALUES (1, 0);

-- streams, made anew: it watches threads and people too. asked_s: the fastest cadence asked; interval_s is what it is
-- looked at, slowed how far the platform has slowed it. busy_per_s: new items a second in its busiest hours. shown_at: when
-- a row of it was last seen. top_at: when the newest of those was created. alone_at: when it was last looked at alone. in_turn: the round it was last whole in. covered_turn: when its last finished look alone began.
PRAGMA defer_foreign_keys = ON;
CREATE TABLE streams_before AS SELECT * FROM streams;
DROP TABLE streams;
CREATE TABLE streams (
  id              INTEGER PRIMARY KEY,
  key             TEXT    NOT NULL UNIQUE,
  kind            TEXT    NOT NULL
                  CHECK (kind IN ('posts', 'comments', 'search', 'thread', 'user_posts', 'user_comments')),
  place           TEXT    NOT NULL,
  asked_s         INTEGER NOT NULL,
  interval_s      INTEGER NOT NULL,
  slowed          REAL    NOT NULL DEFAULT 1,
  anchors         TEXT    NOT NULL DEFAULT '[]',
  head_created_at INTEGER,
  next_seq        INTEGER NOT NULL DEFAULT 1,
  next_check_at   INTEGER,
  last_check_at   INTEGER,
  last_fault      TEXT,
  rate_per_s      REAL,
  busy_per_s      REAL,
  shown_at        INTEGER,
  top_at          INTEGER,
  alone_at        INTEGER,
  convoy_id       INTEGER REFERENCES convoys (id),
  in_turn         INTEGER NOT NULL DEFAULT 0,
  covered_turn    INTEGER NOT NULL DEFAULT 0,
  created_at      INTEGER NOT NULL
) STRICT;
INSERT INTO streams (id, key, kind, place, asked_s, interval_s, anchors, head_created_at, next_seq, next_check_at,
                     last_check_at, last_fault, rate_per_s, created_at)
  SELECT id, key, kind, place, interval_s, interval_s, anchors, head_created_at, next_seq, next_check_at,
         last_check_at, last_fault, rate_per_s, created_at FROM streams_before;
DROP TABLE streams_before;
CREATE INDEX streams_due ON streams (next_check_at) WHERE next_check_at IS NOT NULL;
CREATE INDEX streams_convoy ON streams (convoy_id) WHERE convoy_id IS NOT NULL;
CREATE INDEX monitor_streams_first ON monitor_streams (stream_id) WHERE active_from_seq = -1;

-- How many items of a stream were created in each hour since the epoch, of those that were seen.
CREATE TABLE stream_hours (
  stream_id       INTEGER NOT NULL REFERENCES streams (id),
  hour            INTEGER NOT NULL,
  items           INTEGER NOT NULL,
  PRIMARY KEY (stream_id, hour)
) STRICT, WITHOUT ROWID;

-- How often later checks have looked for what this one lost.
ALTER TABLE gaps ADD COLUMN heal_tries INTEGER NOT NULL DEFAULT 0;
CREATE INDEX gaps_lost ON gaps (recorded_at) WHERE healed_at IS NULL;
CREATE INDEX gaps_open ON gaps (stream_id) WHERE healed_at IS NULL AND until_at IS NULL;

-- Matches that wait for company. webhook_id null: for who fetches them. Frozen into a delivery at close_at.
CREATE TABLE bundles (
  id              INTEGER PRIMARY KEY,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  webhook_id      TEXT    REFERENCES webhooks (id),
  opened_at       INTEGER NOT NULL,
  close_at        INTEGER NOT NULL,
  items           INTEGER NOT NULL DEFAULT 0,
  bytes           INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX bundles_close ON bundles (close_at);
CREATE INDEX bundles_monitor ON bundles (monitor_id, webhook_id);

-- body: the item as it is delivered, with its enrichment.
CREATE TABLE bundle_items (
  bundle_id       INTEGER NOT NULL REFERENCES bundles (id),
  item_id         TEXT    NOT NULL,
  created_at      INTEGER NOT NULL,
  body            TEXT    NOT NULL,
  PRIMARY KEY (bundle_id, item_id)
) STRICT, WITHOUT ROWID;

-- Items that match but for a score or a number of comments they may still reach. They are asked about again until
-- until_at (platform clock). asked_at: when that was last.
CREATE TABLE candidates (
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  item_id         TEXT    NOT NULL,
  stream_id       INTEGER NOT NULL,
  item            TEXT    NOT NULL,
  min_score       INTEGER,
  min_comments    INTEGER,
  first_seen_at   INTEGER NOT NULL,
  until_at        INTEGER NOT NULL,
  asked_at        INTEGER NOT NULL,
  PRIMARY KEY (monitor_id, item_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX candidates_asked ON candidates (asked_at);
