-- What a program wants to write on the platform, until a person has decided. No cookie is ever among it: whoever approves
-- brings the session, or names an account of the pool. Ids are in the order of their making.
CREATE TABLE drafts (
  id              TEXT    PRIMARY KEY,
  customer_id     TEXT    NOT NULL REFERENCES customers (id),
  -- The key that it was made with: it pays where the operator approves.
  key_id          TEXT    NOT NULL REFERENCES api_keys (id),
  action          TEXT    NOT NULL,
  -- JSON: the write's own fields, as they were given.
  body            TEXT    NOT NULL,
  state           TEXT    NOT NULL DEFAULT 'waiting'
                  CHECK (state IN ('waiting', 'queued', 'running', 'done', 'failed', 'declined')),
  -- The name of the pool's account that it was approved for, where it was.
  account         TEXT,
  -- JSON: what the write was answered with, last.
  answer          TEXT,
  created_at      INTEGER NOT NULL,
  expires_at      INTEGER NOT NULL,
  decided_at      INTEGER
) STRICT;
CREATE INDEX drafts_customer ON drafts (customer_id, id DESC);
CREATE INDEX drafts_open ON drafts (state, expires_at) WHERE state IN ('waiting', 'queued', 'running');
CREATE INDEX drafts_by_time ON drafts (created_at);
