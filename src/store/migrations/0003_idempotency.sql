-- Writes that their callers named, with their first answers, so that a repeat changes nothing. answer is sealed. It is
-- null until there is one: where nobody is at it any more, nobody knows what became of the write.
CREATE TABLE named_writes (
  key_id          TEXT    NOT NULL REFERENCES api_keys (id),
  route           TEXT    NOT NULL,
  name            TEXT    NOT NULL,
  body_hash       BLOB    NOT NULL,
  answer          BLOB,
  created_at      INTEGER NOT NULL,
  PRIMARY KEY (key_id, route, name)
) STRICT;
CREATE INDEX named_writes_age ON named_writes (created_at);
