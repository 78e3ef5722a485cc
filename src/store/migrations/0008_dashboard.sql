-- Who is signed in to the dashboard, and by which key: a session opens what its key opens, and ends with it. Only the
-- SHA-256 of the cookie is stored.
CREATE TABLE web_sessions (
  hash            BLOB    PRIMARY KEY,
  key_id          TEXT    NOT NULL REFERENCES api_keys (id),
  created_at      INTEGER NOT NULL,
  last_used_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX web_sessions_key ON web_sessions (key_id, last_used_at);
CREATE INDEX web_sessions_used ON web_sessions (last_used_at);

-- What customers tell the operator, and the answer. Ids are in the order of their making: they are the cursor of the list.
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
