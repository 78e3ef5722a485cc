CREATE TABLE accounts (
  id              TEXT    PRIMARY KEY,
  name            TEXT    NOT NULL UNIQUE,
  kind            TEXT    NOT NULL CHECK (kind IN ('session', 'oauth')),
  username        TEXT,
  secrets         BLOB    NOT NULL,
  jar             BLOB,
  jar_expires_at  INTEGER,
  proxy_id        TEXT    REFERENCES proxies (id),
  revision        INTEGER NOT NULL DEFAULT 1,
  state           TEXT    NOT NULL CHECK (state IN ('ready', 'cooling', 'needs_login', 'suspended', 'locked', 'paused')),
  state_reason    TEXT,
  state_since     INTEGER NOT NULL,
  cooling_until   INTEGER,
  strikes         INTEGER NOT NULL DEFAULT 0,
  probes          INTEGER NOT NULL DEFAULT 0,
  probe_at        INTEGER,
  login_failures  INTEGER NOT NULL DEFAULT 0,
  next_login_at   INTEGER,
  created_at      INTEGER NOT NULL,
  last_used_at    INTEGER,
  last_ok_at      INTEGER,
  CHECK ((state = 'cooling') = (cooling_until IS NOT NULL))
) STRICT;

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

CREATE TABLE attempts (
  delivery_id     TEXT    NOT NULL REFERENCES deliveries (id),
  n               INTEGER NOT NULL,
  boot            TEXT    NOT NULL,
  started_at      INTEGER NOT NULL,
  ended_at        INTEGER NOT NULL,
  http_status     INTEGER,
  error           TEXT, round INTEGER NOT NULL DEFAULT 1, headers TEXT, body_start TEXT,
  PRIMARY KEY (delivery_id, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE checks (
  id              INTEGER PRIMARY KEY,
  stream_id       INTEGER NOT NULL REFERENCES streams (id),
  started_at      INTEGER NOT NULL,
  ended_at        INTEGER NOT NULL,
  boot            TEXT    NOT NULL,
  cut_reason      TEXT,
  new_items       INTEGER NOT NULL,
  pages           INTEGER NOT NULL
) STRICT;

CREATE TABLE customers (
  id              TEXT    PRIMARY KEY,
  name            TEXT    NOT NULL UNIQUE,
  plan            TEXT    NOT NULL,
  balance_micros  INTEGER NOT NULL CHECK (balance_micros >= 0),
  unlimited       INTEGER NOT NULL DEFAULT 0 CHECK (unlimited IN (0, 1)),
  created_at      INTEGER NOT NULL,
  removed_at      INTEGER
) STRICT;

CREATE TABLE deliveries (
  id              TEXT    PRIMARY KEY,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  webhook_id      TEXT    REFERENCES webhooks (id),
  status          TEXT    NOT NULL CHECK (status IN ('pending', 'delivered', 'failed', 'dead', 'suppressed')),
  reason          TEXT,
  attempts        INTEGER NOT NULL DEFAULT 0,
  rung            INTEGER NOT NULL DEFAULT 0,
  round           INTEGER NOT NULL DEFAULT 1,
  interrupted     INTEGER NOT NULL DEFAULT 0,
  next_attempt_at INTEGER,
  lease           TEXT,
  body            BLOB    NOT NULL,
  body_sha256     BLOB    NOT NULL,
  last_error      TEXT,
  created_at      INTEGER NOT NULL,
  delivered_at    INTEGER,
  CHECK ((status = 'delivered') = (delivered_at IS NOT NULL)),
  CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL)),
  CHECK (lease IS NULL OR status = 'pending')
) STRICT;

CREATE TABLE events (
  id              INTEGER PRIMARY KEY,
  kind            TEXT    NOT NULL,
  stream_id       INTEGER,
  at              INTEGER NOT NULL,
  until_at        INTEGER
) STRICT;

CREATE TABLE feed_rounds (
  monitor_id      TEXT    PRIMARY KEY REFERENCES monitors (id),
  round           INTEGER NOT NULL
) STRICT;

CREATE TABLE gaps (
  id              INTEGER PRIMARY KEY,
  stream_id       INTEGER NOT NULL REFERENCES streams (id),
  check_id        INTEGER NOT NULL REFERENCES checks (id),
  reason          TEXT    NOT NULL,
  from_at         INTEGER,
  until_at        INTEGER,
  missed_estimate INTEGER,
  anchors         TEXT    NOT NULL DEFAULT '[]',
  recorded_at     INTEGER NOT NULL,
  healed_at       INTEGER
) STRICT;

CREATE TABLE holds (
  id              TEXT    PRIMARY KEY,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  tier            TEXT    NOT NULL,
  amount_micros   INTEGER NOT NULL CHECK (amount_micros >= 0),
  created_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE instance (
  one             INTEGER PRIMARY KEY CHECK (one = 1),
  id              TEXT    NOT NULL,
  created_at      INTEGER NOT NULL,
  boot_count      INTEGER NOT NULL DEFAULT 0,
  last_seen_at    INTEGER NOT NULL
, key_fingerprint TEXT) STRICT;

CREATE TABLE match_bodies (
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  seq             INTEGER NOT NULL,
  body            BLOB    NOT NULL,
  matched_at      INTEGER NOT NULL,
  PRIMARY KEY (monitor_id, seq)
) STRICT;

CREATE TABLE matches (
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  item_id         TEXT    NOT NULL,
  stream_id       INTEGER NOT NULL,
  matched_at      INTEGER NOT NULL,
  PRIMARY KEY (monitor_id, item_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE monitor_days (
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  day             INTEGER NOT NULL,
  deliveries      INTEGER NOT NULL DEFAULT 0,
  ceiling_suppressed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (monitor_id, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE monitor_streams (
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  stream_id       INTEGER NOT NULL REFERENCES streams (id),
  active_since    INTEGER NOT NULL,
  active_from_seq INTEGER NOT NULL,
  PRIMARY KEY (monitor_id, stream_id)
) STRICT, WITHOUT ROWID;

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
  active_since    INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  last_match_at   INTEGER,
  removed_at      INTEGER
) STRICT;

CREATE TABLE named_writes (
  key_id          TEXT    NOT NULL REFERENCES api_keys (id),
  route           TEXT    NOT NULL,
  name            TEXT    NOT NULL,
  body_hash       BLOB    NOT NULL,
  answer          BLOB,
  created_at      INTEGER NOT NULL,
  PRIMARY KEY (key_id, route, name)
) STRICT;

CREATE TABLE operator_events (
  id              TEXT    PRIMARY KEY,
  kind            TEXT    NOT NULL,
  subject         TEXT    NOT NULL,
  body            BLOB    NOT NULL,
  created_at      INTEGER NOT NULL,
  status          TEXT    NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'dead')),
  attempts        INTEGER NOT NULL DEFAULT 0,
  next_attempt_at INTEGER,
  last_error      TEXT,
  CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL))
) STRICT;

CREATE TABLE payments (
  id              TEXT    PRIMARY KEY,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  kind            TEXT    NOT NULL CHECK (kind IN ('signup_credit', 'top_up', 'adjustment')),
  amount_micros   INTEGER NOT NULL,
  note            TEXT,
  created_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE proxies (
  id              TEXT    PRIMARY KEY,
  name            TEXT    NOT NULL UNIQUE,
  way             BLOB    NOT NULL,
  created_at      INTEGER NOT NULL,
  last_ok_at      INTEGER,
  last_error      TEXT
) STRICT;

CREATE TABLE stream_items (
  stream_id       INTEGER NOT NULL REFERENCES streams (id),
  item_id         TEXT    NOT NULL,
  seq             INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  first_seen_at   INTEGER NOT NULL,
  PRIMARY KEY (stream_id, item_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE streams (
  id              INTEGER PRIMARY KEY,
  key             TEXT    NOT NULL UNIQUE,
  kind            TEXT    NOT NULL CHECK (kind IN ('posts', 'comments', 'search')),
  place           TEXT    NOT NULL,
  interval_s      INTEGER NOT NULL,
  anchors         TEXT    NOT NULL DEFAULT '[]',
  head_created_at INTEGER,
  next_seq        INTEGER NOT NULL DEFAULT 1,
  next_check_at   INTEGER,
  last_check_at   INTEGER,
  last_fault      TEXT,
  rate_per_s      REAL,
  created_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE unsubscribed (
  webhook_id      TEXT    NOT NULL REFERENCES webhooks (id),
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  unsubscribed_at INTEGER NOT NULL,
  PRIMARY KEY (webhook_id, monitor_id)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE webhooks (
  id              TEXT    PRIMARY KEY,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  kind            TEXT    NOT NULL CHECK (kind IN ('webhook', 'slack', 'discord', 'email')),
  url             TEXT    NOT NULL,
  secret          BLOB    NOT NULL,
  created_at      INTEGER NOT NULL,
  active          INTEGER NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
  paused_at       INTEGER,
  pause_reason    TEXT,
  failing_since   INTEGER,
  failing_days    INTEGER NOT NULL DEFAULT 0,
  failing_day     INTEGER,
  deleted_at      INTEGER, awaits_confirmation INTEGER NOT NULL DEFAULT 0 CHECK (awaits_confirmation IN (0, 1)), name TEXT, max_per_second REAL CHECK (max_per_second > 0), ordered INTEGER NOT NULL DEFAULT 0 CHECK (ordered IN (0, 1)), old_secret BLOB, old_secret_until INTEGER CHECK ((old_secret IS NULL) = (old_secret_until IS NULL)),
  CHECK ((paused_at IS NULL) = (pause_reason IS NULL))
) STRICT;

CREATE INDEX api_keys_customer ON api_keys (customer_id);

CREATE INDEX checks_stream ON checks (stream_id, ended_at DESC);

CREATE INDEX deliveries_customer ON deliveries (customer_id, created_at DESC, id DESC);

CREATE INDEX deliveries_due ON deliveries (webhook_id, next_attempt_at) WHERE status = 'pending' AND lease IS NULL;

CREATE INDEX deliveries_in_order ON deliveries (webhook_id, monitor_id, created_at, id) WHERE status = 'pending';

CREATE INDEX deliveries_leased ON deliveries (lease) WHERE lease IS NOT NULL;

CREATE INDEX deliveries_monitor ON deliveries (monitor_id, created_at DESC, id DESC);

CREATE INDEX events_at ON events (at);

CREATE INDEX gaps_stream ON gaps (stream_id, recorded_at DESC);

CREATE INDEX match_bodies_matched ON match_bodies (matched_at);

CREATE INDEX monitor_streams_stream ON monitor_streams (stream_id);

CREATE INDEX monitors_customer ON monitors (customer_id) WHERE removed_at IS NULL;

CREATE INDEX named_writes_age ON named_writes (created_at);

CREATE INDEX operator_events_due ON operator_events (next_attempt_at) WHERE status = 'pending';

CREATE INDEX operator_events_subject ON operator_events (kind, subject, created_at);

CREATE INDEX payments_customer ON payments (customer_id, created_at DESC);

CREATE INDEX stream_items_created ON stream_items (stream_id, created_at);

CREATE INDEX streams_due ON streams (next_check_at) WHERE next_check_at IS NOT NULL;

CREATE INDEX webhooks_customer ON webhooks (customer_id) WHERE deleted_at IS NULL;
