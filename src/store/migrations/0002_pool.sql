-- The operator's ways out. way is sealed: it may hold credentials.
CREATE TABLE proxies (
  id              TEXT    PRIMARY KEY,
  name            TEXT    NOT NULL UNIQUE,
  way             BLOB    NOT NULL,
  created_at      INTEGER NOT NULL,
  last_ok_at      INTEGER,
  last_error      TEXT
) STRICT;

-- The operator's accounts on the platform. secrets and jar are sealed; an oauth account's jar is its access token.
-- revision counts what the operator changed: what a daemon learned of an older one is not written over it.
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

-- What the operator should hear of, on its way to [operator].webhook. body is frozen: every attempt sends the same.
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
CREATE INDEX operator_events_subject ON operator_events (kind, subject, created_at);
CREATE INDEX operator_events_due ON operator_events (next_attempt_at) WHERE status = 'pending';
