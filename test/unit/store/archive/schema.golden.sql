CREATE TABLE items (
  row             INTEGER PRIMARY KEY,
  key             TEXT    NOT NULL UNIQUE,
  digest          TEXT    NOT NULL,
  first_seen_at   INTEGER NOT NULL,
  seen_at         INTEGER NOT NULL,
  item            TEXT    NOT NULL
) STRICT;

CREATE TABLE meta (
  name            TEXT    PRIMARY KEY,
  value           TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE scopes (
  id              INTEGER PRIMARY KEY,
  name            TEXT    NOT NULL UNIQUE
) STRICT;

CREATE TABLE sightings (
  row             INTEGER NOT NULL,
  scope           INTEGER NOT NULL,
  PRIMARY KEY (row, scope)
) STRICT, WITHOUT ROWID;

CREATE TABLE spans (
  span            INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE tombstones (
  key             TEXT    PRIMARY KEY,
  reason          TEXT    NOT NULL,
  at              INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE versions (
  row             INTEGER NOT NULL,
  n               INTEGER NOT NULL,
  seen_at         INTEGER NOT NULL,
  title           TEXT,
  text            TEXT    NOT NULL,
  PRIMARY KEY (row, n)
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE words_5105 USING fts5(words, content = '', detail = none, columnsize = 0, tokenize = 'ascii');

CREATE INDEX sightings_scope ON sightings (scope, row);
