-- Instants `_at` are integer milliseconds since the epoch, UTC. Money is integer micro-dollars.

-- key_fingerprint: identifies the first key that sealed secrets, so that a backup can be matched to its key file.
-- packed_to, blanked_to: progress of the work on old bodies, as rows of messages, which are never removed.
-- poll_epoch: logical clock that orders the starts of individual polls and the ends of batch polls.
CREATE TABLE instance (
  one             INTEGER PRIMARY KEY CHECK (one = 1),
  id              TEXT    NOT NULL,
  key_fingerprint TEXT,
  packed_to       INTEGER NOT NULL DEFAULT 0,
  blanked_to      INTEGER NOT NULL DEFAULT 0,
  -- The newest tombstone at the last complete scrub of the file; below 0: content was erased without one since.
  scrubbed_to     INTEGER NOT NULL DEFAULT 0,
  -- Time of the last backup of this database; null before the first.
  backup_at       INTEGER,
  -- Inode numbers of data folder and database file at the last start; null before it and after a restore.
  inodes          TEXT,
  poll_epoch      INTEGER NOT NULL DEFAULT 0
) STRICT;
-- The id is set when the database is made.
INSERT INTO instance (one, id) VALUES (1, '');

CREATE TABLE customers (
  id              TEXT    PRIMARY KEY,
  name            TEXT    NOT NULL UNIQUE,
  plan            TEXT    NOT NULL,
  balance_micros  INTEGER NOT NULL CHECK (balance_micros >= 0),
  unlimited       INTEGER NOT NULL DEFAULT 0 CHECK (unlimited IN (0, 1)),
  created_at      INTEGER NOT NULL,
  removed_at      INTEGER
) STRICT;

-- Only the SHA-256 of a key is stored. customer_id is null for an operator's key.
CREATE TABLE api_keys (
  id              TEXT    PRIMARY KEY,
  customer_id     TEXT    REFERENCES customers (id),
  hash            BLOB    NOT NULL UNIQUE,
  prefix          TEXT    NOT NULL,
  name            TEXT,
  scopes          TEXT    NOT NULL,
  created_at      INTEGER NOT NULL,
  expires_at      INTEGER,
  last_used_at    INTEGER,
  revoked_at      INTEGER
) STRICT;
CREATE INDEX api_keys_customer ON api_keys (customer_id);

-- A price held before the platform is called. Holds of a dead run are released at the next start.
CREATE TABLE holds (
  id              TEXT    PRIMARY KEY,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  tier            TEXT    NOT NULL,
  amount_micros   INTEGER NOT NULL CHECK (amount_micros >= 0),
  created_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE payments (
  id              TEXT    PRIMARY KEY,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  kind            TEXT    NOT NULL CHECK (kind IN ('signup_credit', 'top_up', 'adjustment')),
  amount_micros   INTEGER NOT NULL,
  note            TEXT,
  created_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX payments_customer ON payments (customer_id, created_at DESC);

-- balance = sum(payments) - sum(cost_micros) - sum(holds), for every customer, at every commit.
CREATE TABLE usage_hours (
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  hour_at         INTEGER NOT NULL,
  tier            TEXT    NOT NULL,
  calls           INTEGER NOT NULL,
  billed_calls    INTEGER NOT NULL,
  cost_micros     INTEGER NOT NULL,
  errors          INTEGER NOT NULL,
  PRIMARY KEY (customer_id, hour_at, tier)
) STRICT, WITHOUT ROWID;

-- secret is sealed. Deleted targets keep their row, because old deliveries name them. awaits_confirmation 1: the
-- reader has not confirmed yet, and receives only the confirmation mail. max_per_second and ordered are settings of
-- the receiver. old_secret is the one before the last rotation, which signs too until old_secret_until. credentials:
-- sealed token or user and password at a push service or broker, whose url has none. refused_since: the first failed
-- attempt since the last success or test. last_failure_row, last_failure_n: the attempt that failed last.
-- public_key: of the Ed25519 key within secret; null: signed with HMAC only.
CREATE TABLE webhooks (
  id              TEXT    PRIMARY KEY,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  kind            TEXT    NOT NULL,
  url             TEXT    NOT NULL,
  secret          BLOB    NOT NULL,
  created_at      INTEGER NOT NULL,
  active          INTEGER NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
  paused_at       INTEGER,
  pause_reason    TEXT,
  failing_since   INTEGER,
  failing_days    INTEGER NOT NULL DEFAULT 0,
  failing_day     INTEGER,
  deleted_at      INTEGER,
  awaits_confirmation INTEGER NOT NULL DEFAULT 0 CHECK (awaits_confirmation IN (0, 1)),
  name            TEXT,
  max_per_second  REAL    CHECK (max_per_second > 0),
  ordered         INTEGER NOT NULL DEFAULT 0 CHECK (ordered IN (0, 1)),
  old_secret      BLOB,
  old_secret_until INTEGER CHECK ((old_secret IS NULL) = (old_secret_until IS NULL)),
  -- Time from which the secret signs; NULL: since the creation.
  secret_since    INTEGER,
  credentials     BLOB,
  refused_since   INTEGER,
  last_failure_at INTEGER,
  last_failure_row INTEGER,
  last_failure_n  INTEGER,
  public_key      BLOB,
  -- JSON list of what it receives: match, item.deleted, item.edited.
  events          TEXT    NOT NULL DEFAULT '["match"]',
  -- JSON list of the monitors from which its reader has unsubscribed.
  unsubscribed    TEXT    NOT NULL DEFAULT '[]',
  CHECK ((paused_at IS NULL) = (pause_reason IS NULL))
) STRICT;
CREATE INDEX webhooks_customer ON webhooks (customer_id) WHERE deleted_at IS NULL;

-- Attempts by their outcome. hour = floor(ms / 3600000). Counted as they end, because a day may have a million of them.
-- Hours that are over a day old are deleted, except the newest one with a success.
CREATE TABLE webhook_hours (
  webhook_id      TEXT    NOT NULL REFERENCES webhooks (id),
  hour            INTEGER NOT NULL,
  succeeded       INTEGER NOT NULL DEFAULT 0,
  failed          INTEGER NOT NULL DEFAULT 0,
  last_success_at INTEGER,
  PRIMARY KEY (webhook_id, hour)
) STRICT, WITHOUT ROWID;

-- The confirmation mails of the last day. address is compared: in lower case, without a tag. Each row counts toward the
-- daily limits of its address, its customer and the process.
CREATE TABLE confirmation_mails (
  id              INTEGER PRIMARY KEY,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  address         TEXT    NOT NULL,
  sent_at         INTEGER NOT NULL
) STRICT;
CREATE INDEX confirmation_mails_sent ON confirmation_mails (sent_at);

-- webhook_ids null: every active webhook of the customer. '[]': none. cadence_s is the promised cadence,
-- requested_cadence_s the requested one. baseline_item_id: the fullname after which the monitor begins, when one was
-- given. attention: JSON of quiet hours, digests and alarms; null: matches are sent at once. relevance: JSON of the
-- rules by which the operator's model judges matches; null: it does not. feed_revision counts the addresses of its Atom feed.
CREATE TABLE monitors (
  id              TEXT    PRIMARY KEY,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  name            TEXT,
  filter_spec     TEXT    NOT NULL,
  cadence_s       INTEGER NOT NULL,
  requested_cadence_s INTEGER,
  baseline_item_id TEXT,
  webhook_ids     TEXT,
  active          INTEGER NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
  pause_reason   TEXT    CHECK (pause_reason IN ('filter_too_slow')),
  active_since    INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  last_match_at   INTEGER,
  removed_at      INTEGER,
  attention       TEXT,
  relevance       TEXT,
  feed_revision   INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX monitors_relevance ON monitors (id) WHERE relevance IS NOT NULL;
CREATE INDEX monitors_attention ON monitors (id) WHERE attention IS NOT NULL AND removed_at IS NULL;
CREATE INDEX monitors_customer ON monitors (customer_id) WHERE removed_at IS NULL;

-- Feeds polled with one request. anchor_ids: the ids of the newest rows of its last complete poll; epoch: when that ended, in
-- the order of instance.poll_epoch.
CREATE TABLE poll_batches (
  id              INTEGER PRIMARY KEY,
  kind            TEXT    NOT NULL,
  anchor_ids      TEXT    NOT NULL DEFAULT '[]',
  checkpoint_at   INTEGER,
  epoch           INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What is polled of a source, shared by monitors: a listing of a place, or all that it has by its ids (kind all).
-- requested_interval_s: the fastest cadence of its monitors; interval_s: the present one; backoff_factor: its slow-down by throttling.
-- state: JSON of the position, `ListingState` or `Position`, from the first poll on. peak_rate_per_s: new items a second in the
-- busiest hours. synced_epoch: the poll of its batch that covered it last. audited_at: start of the last complete audit (our clock);
-- audited_from, audited_until: the unbroken range of creation times that is verified (clock of the items; of a feed by ids ours).
-- lateness_ms: largest recent delay between creation and first sight of a late item.
CREATE TABLE feeds (
  id                   INTEGER PRIMARY KEY,
  key                  TEXT    NOT NULL UNIQUE,
  source               TEXT    NOT NULL DEFAULT '~',
  kind                 TEXT    NOT NULL
                       CHECK (kind IN ('posts', 'comments', 'search', 'thread', 'user_posts', 'user_comments', 'all')),
  place                TEXT    NOT NULL,
  requested_interval_s INTEGER NOT NULL,
  interval_s           INTEGER NOT NULL,
  backoff_factor       REAL    NOT NULL DEFAULT 1,
  next_seq             INTEGER NOT NULL DEFAULT 1,
  next_check_at        INTEGER,
  last_check_at        INTEGER,
  -- The same by the clock of the items: ours may be set while the daemon is stopped.
  last_seen_at         INTEGER,
  last_fault           TEXT,
  rate_per_s           REAL,
  peak_rate_per_s      REAL,
  poll_batch_id        INTEGER REFERENCES poll_batches (id),
  synced_epoch         INTEGER NOT NULL DEFAULT 0,
  audit_due_at         INTEGER,
  audit_interval_s     INTEGER NOT NULL DEFAULT 60,
  audited_at           INTEGER,
  audited_from         INTEGER,
  audited_until        INTEGER,
  lateness_ms          INTEGER NOT NULL DEFAULT 0,
  created_at           INTEGER NOT NULL,
  state                TEXT
) STRICT;
CREATE INDEX feeds_due ON feeds (next_check_at) WHERE next_check_at IS NOT NULL;
CREATE INDEX feeds_audit ON feeds (audit_due_at) WHERE next_check_at IS NOT NULL;
CREATE INDEX feeds_batch ON feeds (poll_batch_id) WHERE poll_batch_id IS NOT NULL;

-- Items seen of a feed by the hour of their creation (hours since the epoch).
CREATE TABLE feed_hours (
  feed_id         INTEGER NOT NULL REFERENCES feeds (id),
  hour            INTEGER NOT NULL,
  items           INTEGER NOT NULL,
  PRIMARY KEY (feed_id, hour)
) STRICT, WITHOUT ROWID;

-- active_since, active_from_seq: where this monitor starts on this feed. -1: its first poll is still to come.
CREATE TABLE monitor_feeds (
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  feed_id         INTEGER NOT NULL REFERENCES feeds (id),
  active_since    INTEGER NOT NULL,
  active_from_seq INTEGER NOT NULL,
  PRIMARY KEY (monitor_id, feed_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX monitor_feeds_feed ON monitor_feeds (feed_id);
CREATE INDEX monitor_feeds_first ON monitor_feeds (feed_id) WHERE active_from_seq = -1;

-- item_id here and in the tables below: the fullname of an item of the first Reddit-style source; of another source its name, a slash, the fullname.
-- digest changes with the place and the text of the item; NULL: not kept.
CREATE TABLE feed_items (
  feed_id         INTEGER NOT NULL REFERENCES feeds (id),
  item_id         TEXT    NOT NULL,
  seq             INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  first_seen_at   INTEGER NOT NULL,
  found_by        TEXT    NOT NULL DEFAULT 'poll' CHECK (found_by IN ('poll', 'audit', 'other_feed')),
  digest          TEXT,
  PRIMARY KEY (feed_id, item_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX feed_items_created ON feed_items (feed_id, created_at);

-- One row per finished or truncated check. cut_reason null: it reached the checkpoint.
CREATE TABLE checks (
  id              INTEGER PRIMARY KEY,
  feed_id         INTEGER NOT NULL REFERENCES feeds (id),
  started_at      INTEGER NOT NULL,
  ended_at        INTEGER NOT NULL,
  cut_reason      TEXT,
  new_items       INTEGER NOT NULL,
  pages           INTEGER NOT NULL
) STRICT;
CREATE INDEX checks_feed ON checks (feed_id, ended_at DESC);

-- close_attempts: later polls or requests that searched for the lost ids. from_id, to_id: ids of a feed, both inclusive,
-- that had no item when they were requested (reason unanswered) or were passed without a request (skipped); missed_estimate
-- is then their number. retry_at: the ids are requested again; null: never, the gap is closed or its patience is over.
CREATE TABLE gaps (
  id              INTEGER PRIMARY KEY,
  feed_id         INTEGER NOT NULL REFERENCES feeds (id),
  reason          TEXT    NOT NULL,
  from_at         INTEGER,
  until_at        INTEGER,
  missed_estimate INTEGER,
  anchor_ids      TEXT    NOT NULL DEFAULT '[]',
  recorded_at     INTEGER NOT NULL,
  closed_at       INTEGER,
  close_attempts  INTEGER NOT NULL DEFAULT 0,
  from_id         INTEGER,
  to_id           INTEGER,
  retry_at        INTEGER
) STRICT;
CREATE INDEX gaps_feed ON gaps (feed_id, recorded_at DESC);
CREATE INDEX gaps_retry ON gaps (feed_id, retry_at) WHERE retry_at IS NOT NULL;
CREATE INDEX gaps_ids ON gaps (feed_id, from_id) WHERE closed_at IS NULL AND from_id IS NOT NULL;
CREATE INDEX gaps_open ON gaps (feed_id) WHERE closed_at IS NULL AND until_at IS NULL;

-- Causes on our side for which items may not have been observed: clock_jump, process_down, restore_detected, …
-- not_verified: creation times of a feed between two verified ranges, by the clock of these.
CREATE TABLE observation_events (
  id              INTEGER PRIMARY KEY,
  kind            TEXT    NOT NULL,
  feed_id         INTEGER,
  at              INTEGER NOT NULL,
  until_at        INTEGER
) STRICT;
CREATE INDEX observation_events_at ON observation_events (at);

-- The match ledger: an item is matched once per monitor, through any feed. message: the one with this item alone; null: there is
-- none, or see message_items. edition: creation, epoch s, of another item that was given the id of a matched one, as after a
-- restore of the source; 0: none was.
CREATE TABLE matches (
  item_id         TEXT    NOT NULL,
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  message         INTEGER,
  feed_id         INTEGER NOT NULL,
  matched_at      INTEGER NOT NULL,
  edition         INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (item_id, monitor_id)
) STRICT, WITHOUT ROWID;
-- For counts of recent matches, without reading all.
CREATE INDEX matches_at ON matches (matched_at);

-- Content of deliveries and of the pull API, once for all targets. seq: position in the pull API, which counts from 1 within a
-- monitor and is never reused; null: not there. event: null for matches. body: as the pull API has it; null: past its retention.
-- digest: SHA-256 of the body. erased_at: when content was last erased in it.
CREATE TABLE messages (
  row             INTEGER PRIMARY KEY,
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  seq             INTEGER,
  event           TEXT    CHECK (event IN ('monitor.alarm', 'monitor.alarm_ended', 'item.deleted', 'item.edited')),
  body            BLOB,
  digest          BLOB,
  matched_at      INTEGER NOT NULL,
  erased_at       INTEGER,
  UNIQUE (monitor_id, seq)
) STRICT;
CREATE INDEX messages_matched ON messages (matched_at) WHERE seq IS NOT NULL;

-- Messages that contain an item beside those that matches names: bundles, digests and events.
CREATE TABLE message_items (
  item_id         TEXT    NOT NULL,
  message         INTEGER NOT NULL,
  PRIMARY KEY (item_id, message)
) STRICT, WITHOUT ROWID;

-- Items that wait to be copied into the archive, a file of its own; a copy that was made is deleted here. item: JSON. scopes: JSON
-- list of the monitors that matched it (m:ID) and of the feeds that showed it (f:DIGEST).
CREATE TABLE archive_queue (
  seq             INTEGER PRIMARY KEY,
  item_id         TEXT    NOT NULL,
  item            TEXT    NOT NULL,
  scopes          TEXT    NOT NULL,
  seen_at         INTEGER NOT NULL
) STRICT;
CREATE INDEX archive_queue_item ON archive_queue (item_id);

-- Matches that wait to be sent together. webhook_id null: for the pull API. Made into a delivery at close_at. digest 1:
-- close_at is a time of the monitor's digest, not the end of a window.
CREATE TABLE bundles (
  id              INTEGER PRIMARY KEY,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  webhook_id      TEXT    REFERENCES webhooks (id),
  opened_at       INTEGER NOT NULL,
  close_at        INTEGER NOT NULL,
  items           INTEGER NOT NULL DEFAULT 0,
  bytes           INTEGER NOT NULL DEFAULT 0,
  digest          INTEGER NOT NULL DEFAULT 0 CHECK (digest IN (0, 1))
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

-- Matches of monitors with relevance rules. Waiting: body, the item as it is delivered, and outcome null; at: since when. Judged:
-- the result without the body; at: when. created_at: of the item. failures: calls for it that failed. calls: those of the UTC day
-- called_day, failed ones included, which count toward the limits. fault: why there is no verdict. reason: the model's words, which
-- may repeat the item's.
CREATE TABLE judgements (
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  item_id         TEXT    NOT NULL,
  customer_id     TEXT    NOT NULL,
  created_at      INTEGER NOT NULL,
  body            TEXT,
  at              INTEGER NOT NULL,
  next_attempt_at INTEGER,
  failures        INTEGER NOT NULL DEFAULT 0,
  calls           INTEGER NOT NULL DEFAULT 0,
  called_day      INTEGER,
  outcome         TEXT    CHECK (outcome IN ('relevant', 'irrelevant', 'unjudged', 'abandoned')),
  score           REAL    CHECK (score BETWEEN 0 AND 1),
  min_score       REAL,
  reason          TEXT,
  model           TEXT,
  fault           TEXT,
  PRIMARY KEY (monitor_id, item_id),
  CHECK ((body IS NULL) = (outcome IS NOT NULL)),
  CHECK ((next_attempt_at IS NULL) = (outcome IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX judgements_due ON judgements (customer_id, next_attempt_at, at, fault) WHERE outcome IS NULL;
CREATE INDEX judgements_since ON judgements (monitor_id, at) WHERE outcome IS NULL;
CREATE INDEX judgements_called ON judgements (called_day, customer_id, calls) WHERE called_day IS NOT NULL;
CREATE INDEX judgements_monitor ON judgements (monitor_id, at);
CREATE INDEX judgements_at ON judgements (at);
CREATE INDEX judgements_item ON judgements (item_id);

-- Alarms of monitors, open until ended_at; one of a kind at a time. next_repeat_at null: not repeated, or acknowledged.
CREATE TABLE alarms (
  id              INTEGER PRIMARY KEY,
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  kind            TEXT    NOT NULL CHECK (kind IN ('silent', 'degraded')),
  opened_at       INTEGER NOT NULL,
  repeats         INTEGER NOT NULL DEFAULT 0,
  next_repeat_at  INTEGER,
  acknowledged_at INTEGER,
  ended_at        INTEGER
) STRICT;
CREATE UNIQUE INDEX alarms_open ON alarms (monitor_id, kind) WHERE ended_at IS NULL;
CREATE INDEX alarms_ended ON alarms (ended_at) WHERE ended_at IS NOT NULL;

-- Items that match except for a threshold they may still reach. They are rechecked until until_at (platform clock).
-- rechecked_at: last recheck.
CREATE TABLE candidates (
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  item_id         TEXT    NOT NULL,
  feed_id         INTEGER NOT NULL,
  item            TEXT    NOT NULL,
  min_score       INTEGER,
  min_comments    INTEGER,
  first_seen_at   INTEGER NOT NULL,
  until_at        INTEGER NOT NULL,
  rechecked_at    INTEGER NOT NULL,
  PRIMARY KEY (monitor_id, item_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX candidates_rechecked ON candidates (rechecked_at);

-- Items of which content is stored, each until its content is erased or past its retention. thread: key of the post of a
-- comment. author_id: the platform's id of the account. digest: of author and text as they were last read. last_kept_at:
-- the newest copy. next_check_at: it is read again by its id. checks: reads that gave a clear answer. absent_at: the
-- first of the reads in a row in which the source had no such item, which is confirmed by a later one.
CREATE TABLE kept_items (
  item_id         TEXT    PRIMARY KEY,
  source          TEXT    NOT NULL,
  thread          TEXT,
  author          TEXT,
  author_id       TEXT,
  digest          TEXT    NOT NULL,
  first_kept_at   INTEGER NOT NULL,
  last_kept_at    INTEGER NOT NULL,
  next_check_at   INTEGER NOT NULL,
  checks          INTEGER NOT NULL DEFAULT 0,
  absent_at       INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX kept_items_due ON kept_items (source, next_check_at);
CREATE INDEX kept_items_thread ON kept_items (thread) WHERE thread IS NOT NULL;
CREATE INDEX kept_items_author ON kept_items (source, author) WHERE author IS NOT NULL;
CREATE INDEX kept_items_old ON kept_items (last_kept_at);

-- State of the daemon's loops by name. projection: a reader of the messages of matches, with the row up to which it has read: inbox,
-- with the kept items, and archive. claims: deliveries in flight of a run, as JSON list of [row, attempts before this one]; a delivery
-- with more attempts than that has an outcome, and is in flight no more: the list is written with a claim, not with each outcome.
-- pace: requests of the last minute to a host of sources, and its pause, as JSON: a restart keeps to both.
CREATE TABLE loop_state (
  loop            TEXT    NOT NULL CHECK (loop IN ('projection', 'claims', 'pace')),
  name            TEXT    NOT NULL,
  value           TEXT    NOT NULL,
  PRIMARY KEY (loop, name)
) STRICT, WITHOUT ROWID;
INSERT INTO loop_state VALUES ('projection', 'inbox', '0'), ('projection', 'archive', '0');

-- Erased items, without their text. seq grows with each erasure: a store of its own follows it. reason author_gone: its
-- text stays, and its author is erased.
CREATE TABLE item_tombstones (
  seq             INTEGER PRIMARY KEY,
  item_id         TEXT    NOT NULL UNIQUE,
  source          TEXT    NOT NULL,
  reason          TEXT    NOT NULL CHECK (reason IN ('author', 'platform', 'author_gone', 'request')),
  at              INTEGER NOT NULL
) STRICT;

-- row: 1000 times that of its message, and its number among the targets of it. suppressed: JSON of the reason and its figures,
-- which the body has beside the message. in_order 1: waits for a target with ordered deliveries. held_until: end of the quiet
-- hours for which it waits.
CREATE TABLE deliveries (
  row             INTEGER PRIMARY KEY,
  id              TEXT    NOT NULL UNIQUE,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  webhook_id      TEXT    REFERENCES webhooks (id),
  status          TEXT    NOT NULL CHECK (status IN ('pending', 'delivered', 'failed', 'dead', 'suppressed')),
  reason          TEXT,
  attempts        INTEGER NOT NULL DEFAULT 0,
  retry_index     INTEGER NOT NULL DEFAULT 0,
  round           INTEGER NOT NULL DEFAULT 1,
  interrupted     INTEGER NOT NULL DEFAULT 0,
  in_order        INTEGER NOT NULL DEFAULT 0 CHECK (in_order IN (0, 1)),
  next_attempt_at INTEGER,
  last_error      TEXT,
  created_at      INTEGER NOT NULL,
  delivered_at    INTEGER,
  held_until      INTEGER,
  suppressed      TEXT,
  CHECK ((status = 'delivered') = (delivered_at IS NOT NULL)),
  CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL))
) STRICT;
-- By target first, so that each target's next row is one step away, however many others wait.
CREATE INDEX deliveries_due ON deliveries (webhook_id, next_attempt_at) WHERE status = 'pending';
-- Deliveries that have failed and are tried again: what a failing receiver is recognised by.
CREATE INDEX deliveries_retrying ON deliveries (webhook_id, created_at) WHERE status = 'pending' AND retry_index > 0;
-- Listed newest first, but indexed oldest first: inserting at the front makes SQLite shift its pages again and again.
CREATE INDEX deliveries_customer ON deliveries (customer_id, created_at, id);
CREATE INDEX deliveries_monitor ON deliveries (monitor_id, created_at, id);
CREATE INDEX deliveries_webhook ON deliveries (webhook_id, created_at, id, monitor_id);
-- The oldest waiting delivery of each monitor, for targets with ordered deliveries.
CREATE INDEX deliveries_in_order ON deliveries (webhook_id, monitor_id, created_at, id) WHERE in_order = 1 AND status = 'pending';
-- Health counts deliveries by the day on which they ended, not on which they were created.
CREATE INDEX deliveries_delivered ON deliveries (monitor_id, delivered_at) WHERE delivered_at IS NOT NULL;
CREATE INDEX deliveries_undelivered ON deliveries (monitor_id, created_at) WHERE status IN ('dead', 'failed');

-- headers, body_start: some headers of the receiver's response as JSON, and the beginning of its body, redacted. Keyed
-- by row, so that attempts are stored in the order of their deliveries; ids would scatter them.
CREATE TABLE attempts (
  delivery_row    INTEGER NOT NULL REFERENCES deliveries (row),
  n               INTEGER NOT NULL,
  started_at      INTEGER NOT NULL,
  ended_at        INTEGER NOT NULL,
  http_status     INTEGER,
  error           TEXT,
  round           INTEGER NOT NULL DEFAULT 1,
  headers         TEXT,
  body_start      TEXT,
  PRIMARY KEY (delivery_row, n)
) STRICT, WITHOUT ROWID;

-- day = floor(ms / 86400000). delivered rows created that day, and ceiling suppressions (500 are stored, all are counted).
-- until_at, gaps: coverage of the day by the platform's clock, decided up to until_at, and JSON of what is not complete, with reasons;
-- null: not decided. The newest decided day of a monitor says where its feeds, gaps and events go on; it exists from its start.
CREATE TABLE monitor_days (
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  day             INTEGER NOT NULL,
  deliveries      INTEGER NOT NULL DEFAULT 0,
  ceiling_suppressed INTEGER NOT NULL DEFAULT 0,
  until_at        INTEGER,
  gaps            TEXT    CHECK ((gaps IS NULL) = (until_at IS NULL)),
  PRIMARY KEY (monitor_id, day)
) STRICT, WITHOUT ROWID;

-- The operator's proxies. url is sealed: it may hold credentials.
CREATE TABLE proxies (
  id              TEXT    PRIMARY KEY,
  name            TEXT    NOT NULL UNIQUE,
  url             BLOB    NOT NULL,
  created_at      INTEGER NOT NULL,
  last_ok_at      INTEGER,
  last_error      TEXT
) STRICT;

-- Sources that operators added beside those of the configuration file, which has precedence for a name.
CREATE TABLE sources (
  name            TEXT    PRIMARY KEY,
  kind            TEXT    NOT NULL,
  base_url        TEXT    NOT NULL,
  created_at      INTEGER NOT NULL
) STRICT;

-- The operator's account at a further source, one a source; the credential is sealed. Approved drafts act as it.
CREATE TABLE source_accounts (
  source          TEXT    PRIMARY KEY,
  credential      BLOB    NOT NULL,
  created_at      INTEGER NOT NULL
) STRICT;

-- The operator's accounts on the platform. secrets and jar are sealed; an oauth account's jar is its access token.
-- revision counts changes by the operator: a status observed under an older revision does not overwrite it. status: JSON of
-- `AccountStatus`.
CREATE TABLE accounts (
  id              TEXT    PRIMARY KEY,
  name            TEXT    NOT NULL UNIQUE,
  source          TEXT    NOT NULL DEFAULT '~',
  kind            TEXT    NOT NULL CHECK (kind IN ('session', 'oauth')),
  username        TEXT,
  secrets         BLOB    NOT NULL,
  jar             BLOB,
  jar_expires_at  INTEGER,
  proxy_id        TEXT    REFERENCES proxies (id),
  revision        INTEGER NOT NULL DEFAULT 1,
  status          TEXT    NOT NULL,
  login_failures  INTEGER NOT NULL DEFAULT 0,
  next_login_at   INTEGER,
  created_at      INTEGER NOT NULL,
  last_used_at    INTEGER,
  last_ok_at      INTEGER,
  CHECK (status ->> '$.state' IN ('ready', 'cooling', 'needs_login', 'suspended', 'locked', 'paused')),
  CHECK ((status ->> '$.state' = 'cooling') = (status ->> '$.cooling_until' IS NOT NULL))
) STRICT;

-- Operator events to be sent to [operator].webhook. body is written once: every attempt sends the same.
CREATE TABLE operator_events (
  id              TEXT    PRIMARY KEY,
  kind            TEXT    NOT NULL,
  subject         TEXT    NOT NULL,
  body            BLOB    NOT NULL,
  created_at      INTEGER NOT NULL,
  status          TEXT    NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'dead')),
  attempts        INTEGER NOT NULL DEFAULT 0,
  next_attempt_at INTEGER,
  CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL))
) STRICT;
CREATE INDEX operator_events_subject ON operator_events (kind, subject, created_at);
CREATE INDEX operator_events_due ON operator_events (next_attempt_at) WHERE status = 'pending';

-- Writes with an Idempotency-Key and their first answers, so that a repeat changes nothing. answer is sealed, and null
-- until the write ends. After a crash the outcome of a write without an answer is unknown.
CREATE TABLE idempotent_writes (
  key_id          TEXT    NOT NULL REFERENCES api_keys (id),
  route           TEXT    NOT NULL,
  name            TEXT    NOT NULL,
  body_hash       BLOB    NOT NULL,
  answer          BLOB,
  created_at      INTEGER NOT NULL,
  PRIMARY KEY (key_id, route, name)
) STRICT;
CREATE INDEX named_writes_age ON idempotent_writes (created_at);

-- The inbox: one row for each item that was delivered to a customer, however many monitors matched it. matched_at: of the first
-- match, which is the order of the list. place, author: in lower case. author: null if erased or unknown.
-- changed_by: key of the last change; action: seq of that change in inbox_actions.
CREATE TABLE inbox_items (
  row             INTEGER PRIMARY KEY,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  item_id         TEXT    NOT NULL,
  matched_at      INTEGER NOT NULL,
  source          TEXT    NOT NULL,
  place           TEXT    NOT NULL,
  author          TEXT,
  state           TEXT    NOT NULL DEFAULT 'unread' CHECK (state IN ('unread', 'read', 'answered', 'dismissed')),
  starred         INTEGER NOT NULL DEFAULT 0 CHECK (starred IN (0, 1)),
  label           TEXT,
  changed_at      INTEGER,
  changed_by      TEXT    REFERENCES api_keys (id),
  action          INTEGER,
  UNIQUE (item_id, customer_id)
) STRICT;
-- Each filter of the list reads one of these in the order of the list.
CREATE INDEX inbox_items_time ON inbox_items (customer_id, matched_at);
CREATE INDEX inbox_items_state ON inbox_items (customer_id, state, matched_at);
CREATE INDEX inbox_items_place ON inbox_items (customer_id, place, matched_at);
CREATE INDEX inbox_items_author ON inbox_items (customer_id, author, matched_at) WHERE author IS NOT NULL;
CREATE INDEX inbox_items_starred ON inbox_items (customer_id, matched_at) WHERE starred = 1;
CREATE INDEX inbox_items_label ON inbox_items (customer_id, label, matched_at) WHERE label IS NOT NULL;

-- Monitors that matched an item of the inbox. item: row of inbox_items, and matched_at the same as there. found_at: of this
-- monitor.
CREATE TABLE inbox_matches (
  row             INTEGER PRIMARY KEY,
  item            INTEGER NOT NULL REFERENCES inbox_items (row),
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  matched_at      INTEGER NOT NULL,
  found_at        INTEGER NOT NULL,
  message         INTEGER NOT NULL,
  UNIQUE (monitor_id, matched_at, item)
) STRICT;
CREATE INDEX inbox_matches_item ON inbox_matches (item);

-- Changes of states in the inbox. change: JSON of the fields that were set, or of the edit of a filter. sample: JSON of the ids
-- of the first items. previous: JSON of [state, starred, label, [item id, …]] before it; null once it cannot be undone any more.
CREATE TABLE inbox_actions (
  seq             INTEGER PRIMARY KEY,
  id              TEXT    NOT NULL UNIQUE,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  key_id          TEXT    NOT NULL REFERENCES api_keys (id),
  at              INTEGER NOT NULL,
  kind            TEXT    NOT NULL CHECK (kind IN ('update', 'undo', 'answered', 'mute')),
  change          TEXT    NOT NULL,
  items           INTEGER NOT NULL,
  sample          TEXT    NOT NULL,
  previous        TEXT,
  undoes          TEXT,
  undone_by       TEXT
) STRICT;
CREATE INDEX inbox_actions_customer ON inbox_actions (customer_id, seq);
CREATE INDEX inbox_actions_undoable ON inbox_actions (at) WHERE previous IS NOT NULL;

-- Dashboard sessions and the keys that opened them: a session has the permissions of its key and ends with it. Only
-- the SHA-256 of the cookie is stored.
CREATE TABLE web_sessions (
  hash            BLOB    PRIMARY KEY,
  key_id          TEXT    NOT NULL REFERENCES api_keys (id),
  created_at      INTEGER NOT NULL,
  last_used_at    INTEGER NOT NULL,
  -- Browser and system in a few words; NULL: not known.
  browser         TEXT,
  -- Address of the sign-in.
  address         TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX web_sessions_key ON web_sessions (key_id, last_used_at);
CREATE INDEX web_sessions_used ON web_sessions (last_used_at);

-- One-time links that sign a browser in as a key. A link is deleted by its use.
CREATE TABLE sign_in_links (
  hash            BLOB    PRIMARY KEY,
  key_id          TEXT    NOT NULL REFERENCES api_keys (id),
  expires_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_in_links_key ON sign_in_links (key_id, expires_at);
CREATE INDEX sign_in_links_end ON sign_in_links (expires_at);

-- Feedback of customers and the operator's answers. Ids are in creation order: they are the cursor of the list.
CREATE TABLE feedback (
  id              TEXT    PRIMARY KEY,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  type            TEXT    NOT NULL CHECK (type IN ('bug', 'idea', 'missing_capability')),
  title           TEXT    NOT NULL,
  details         TEXT    NOT NULL,
  area            TEXT,
  evidence        TEXT,
  status          TEXT    NOT NULL DEFAULT 'new' CHECK (status IN ('new', 'triaged', 'shipped', 'declined')),
  response        TEXT,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX feedback_customer ON feedback (customer_id, id DESC);

-- Writes proposed by programs, until a person decides. They contain no cookies: the approver brings a session or names
-- an account of the pool. Ids are in creation order.
CREATE TABLE drafts (
  id              TEXT    PRIMARY KEY,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  -- The key that it was made with: it pays where the operator approves.
  key_id          TEXT    NOT NULL REFERENCES api_keys (id),
  action          TEXT    NOT NULL,
  -- JSON: the write's own fields, as they were given.
  body            TEXT    NOT NULL,
  -- The further source that it is for; null: the source of the accounts.
  source          TEXT,
  state           TEXT    NOT NULL DEFAULT 'waiting'
                  CHECK (state IN ('waiting', 'running', 'done', 'failed', 'declined')),
  -- The name of the pool's account that it was approved for, where it was.
  account         TEXT,
  -- JSON: what the write was answered with, last.
  answer          TEXT,
  created_at      INTEGER NOT NULL,
  expires_at      INTEGER NOT NULL,
  decided_at      INTEGER
) STRICT;
CREATE INDEX drafts_customer ON drafts (customer_id, id DESC);
CREATE INDEX drafts_by_time ON drafts (created_at);

-- Changes of keys, customers, webhooks, balances and configuration: a trigger writes the row within the change. Rows are
-- append-only. detail is JSON and holds no secret.
CREATE TABLE audit (
  seq             INTEGER PRIMARY KEY,
  at              INTEGER NOT NULL,
  kind            TEXT    NOT NULL,
  subject         TEXT    NOT NULL,
  detail          TEXT    NOT NULL
) STRICT;
CREATE TRIGGER audit_stays BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;
CREATE TRIGGER audit_is_not_edited BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;

CREATE TRIGGER audit_key_created AFTER INSERT ON api_keys BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'key.created', NEW.id,
    json_object('customer_id', NEW.customer_id, 'prefix', NEW.prefix, 'scopes', NEW.scopes, 'expires_at', NEW.expires_at));
END;
CREATE TRIGGER audit_key_changed AFTER UPDATE OF hash, scopes, expires_at, revoked_at, customer_id ON api_keys
WHEN (NEW.hash, NEW.scopes, NEW.expires_at, NEW.revoked_at, NEW.customer_id) IS NOT
     (OLD.hash, OLD.scopes, OLD.expires_at, OLD.revoked_at, OLD.customer_id) BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'key.changed', NEW.id,
    json_object('customer_id', NEW.customer_id, 'scopes', NEW.scopes, 'expires_at', NEW.expires_at, 'revoked_at', NEW.revoked_at));
END;

CREATE TRIGGER audit_customer_created AFTER INSERT ON customers BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'customer.created', NEW.id,
    json_object('name', NEW.name, 'plan', NEW.plan, 'unlimited', NEW.unlimited));
END;
CREATE TRIGGER audit_customer_changed AFTER UPDATE OF name, plan, unlimited, removed_at ON customers
WHEN (NEW.name, NEW.plan, NEW.unlimited, NEW.removed_at) IS NOT (OLD.name, OLD.plan, OLD.unlimited, OLD.removed_at) BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'customer.changed', NEW.id,
    json_object('name', NEW.name, 'plan', NEW.plan, 'unlimited', NEW.unlimited, 'removed_at', NEW.removed_at));
END;
CREATE TRIGGER audit_balance_changed AFTER INSERT ON payments BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'balance.changed', NEW.customer_id,
    json_object('payment_id', NEW.id, 'payment', NEW.kind, 'amount_micros', NEW.amount_micros));
END;

-- The URL of a chat service's webhook is its secret, so it is not repeated here.
CREATE TRIGGER audit_webhook_created AFTER INSERT ON webhooks BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'webhook.created', NEW.id,
    json_object('customer_id', NEW.customer_id, 'target', NEW.kind));
END;
CREATE TRIGGER audit_webhook_changed AFTER UPDATE OF url, secret, credentials, active, paused_at, max_per_second, ordered, deleted_at ON webhooks
WHEN (NEW.url, NEW.secret, NEW.credentials, NEW.active, NEW.paused_at, NEW.max_per_second, NEW.ordered, NEW.deleted_at) IS NOT
     (OLD.url, OLD.secret, OLD.credentials, OLD.active, OLD.paused_at, OLD.max_per_second, OLD.ordered, OLD.deleted_at) BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'webhook.changed', NEW.id,
    json_object('new_secret', NEW.secret IS NOT OLD.secret OR NEW.credentials IS NOT OLD.credentials, 'new_url', NEW.url IS NOT OLD.url, 'active', NEW.active,
      'paused_at', NEW.paused_at, 'max_per_second', NEW.max_per_second, 'ordered', NEW.ordered, 'deleted_at', NEW.deleted_at));
END;

CREATE TRIGGER audit_monitor_created AFTER INSERT ON monitors BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'monitor.created', NEW.id,
    json_object('customer_id', NEW.customer_id, 'webhook_ids', json(NEW.webhook_ids), 'active', NEW.active));
END;
CREATE TRIGGER audit_monitor_changed AFTER UPDATE OF filter_spec, cadence_s, webhook_ids, active, removed_at ON monitors
WHEN (NEW.filter_spec, NEW.cadence_s, NEW.webhook_ids, NEW.active, NEW.removed_at) IS NOT
     (OLD.filter_spec, OLD.cadence_s, OLD.webhook_ids, OLD.active, OLD.removed_at) BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'monitor.changed', NEW.id,
    json_object('new_filter', NEW.filter_spec IS NOT OLD.filter_spec, 'cadence_s', NEW.cadence_s,
      'webhook_ids', json(NEW.webhook_ids), 'active', NEW.active, 'removed_at', NEW.removed_at));
END;

CREATE TRIGGER audit_account_created AFTER INSERT ON accounts BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'account.created', NEW.id,
    json_object('name', NEW.name, 'account', NEW.kind, 'state', NEW.status ->> '$.state', 'proxy_id', NEW.proxy_id));
END;
-- Cooling is temporary and is not audited.
CREATE TRIGGER audit_account_changed AFTER UPDATE OF secrets, proxy_id, revision, status ON accounts
WHEN (NEW.secrets, NEW.proxy_id, NEW.revision) IS NOT (OLD.secrets, OLD.proxy_id, OLD.revision)
  OR (NEW.status ->> '$.state' <> OLD.status ->> '$.state' AND 'cooling' NOT IN (NEW.status ->> '$.state', OLD.status ->> '$.state')) BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'account.changed', NEW.id,
    json_object('new_secrets', NEW.secrets IS NOT OLD.secrets, 'state', NEW.status ->> '$.state', 'reason', NEW.status ->> '$.state_reason',
      'proxy_id', NEW.proxy_id, 'revision', NEW.revision));
END;
CREATE TRIGGER audit_account_removed AFTER DELETE ON accounts BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'account.removed', OLD.id,
    json_object('name', OLD.name));
END;
CREATE TRIGGER audit_source_account_set AFTER INSERT ON source_accounts BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'source_account.set', NEW.source, '{}');
END;
CREATE TRIGGER audit_source_account_removed AFTER DELETE ON source_accounts BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'source_account.removed', OLD.source, '{}');
END;
CREATE TRIGGER audit_proxy_created AFTER INSERT ON proxies BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'proxy.created', NEW.id,
    json_object('name', NEW.name));
END;
CREATE TRIGGER audit_proxy_removed AFTER DELETE ON proxies BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'proxy.removed', OLD.id,
    json_object('name', OLD.name));
END;

-- Actions of operators through the API and the dashboard, each with its key and address; subject is the id of the changed object.
-- Rows are append-only for 400 days, then they are deleted. detail is JSON and holds no secret.
CREATE TABLE operator_actions (
  seq             INTEGER PRIMARY KEY,
  at              INTEGER NOT NULL,
  key_id          TEXT    NOT NULL,
  key_name        TEXT,
  key_prefix      TEXT    NOT NULL,
  address         TEXT    NOT NULL,
  action          TEXT    NOT NULL,
  subject         TEXT    NOT NULL,
  subject_name    TEXT,
  detail          TEXT    NOT NULL
) STRICT;
CREATE INDEX operator_actions_at ON operator_actions (at);
CREATE TRIGGER operator_actions_stay BEFORE DELETE ON operator_actions
WHEN OLD.at >= CAST(unixepoch('subsec') * 1000 AS INTEGER) - 400 * 86400000
BEGIN SELECT RAISE(ABORT, 'operator_actions is append-only'); END;
CREATE TRIGGER operator_actions_are_not_edited BEFORE UPDATE ON operator_actions
BEGIN SELECT RAISE(ABORT, 'operator_actions is append-only'); END;

-- Missed deliveries are queried by status, and may be a handful among a million delivered ones.
CREATE INDEX deliveries_missed ON deliveries (customer_id, status, created_at, id, monitor_id, webhook_id)
  WHERE status IN ('failed', 'dead', 'suppressed');
-- The same over all customers, newest first by row, for the operator.
CREATE INDEX deliveries_missed_newest ON deliveries (status) WHERE status IN ('failed', 'dead', 'suppressed');
