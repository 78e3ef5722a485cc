-- The operator's ways out. url is sealed: it may hold credentials.
CREATE TABLE proxies (
  id              TEXT    PRIMARY KEY,
  name            TEXT    NOT NULL UNIQUE,
  url             BLOB    NOT NULL,
  created_at      INTEGER NOT NULL,
  last_ok_at      INTEGER,
  last_error      TEXT
) STRICT;

-- The operator's accounts on the platform. secrets and jar are sealed.
CREATE TABLE accounts (
  id              TEXT    PRIMARY KEY,
  name            TEXT    NOT NULL UNIQUE,
  kind            TEXT    NOT NULL CHECK (kind IN ('session', 'oauth')),
  secrets         BLOB    NOT NULL,
  jar             BLOB,
  proxy_id        TEXT    REFERENCES proxies (id),
  state           TEXT    NOT NULL CHECK (state IN ('ready', 'cooling', 'needs_login', 'suspended', 'locked', 'paused')),
  state_reason    TEXT,
  state_since     INTEGER NOT NULL,
  cooling_until   INTEGER,
  created_at      INTEGER NOT NULL,
  last_used_at    INTEGER,
  last_ok_at      INTEGER,
  CHECK ((state = 'cooling') = (cooling_until IS NOT NULL))
) STRICT;
