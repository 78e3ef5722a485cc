-- What a monitor matched, as a webhook gets it, for whoever comes to fetch it. seq counts from 1 within a monitor and is
-- never used twice: the newest row of each stays.
CREATE TABLE match_bodies (
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  seq             INTEGER NOT NULL,
  body            BLOB    NOT NULL,
  matched_at      INTEGER NOT NULL,
  PRIMARY KEY (monitor_id, seq)
) STRICT;
CREATE INDEX match_bodies_matched ON match_bodies (matched_at);

-- Which of its successive addresses a monitor's feed answers at; a monitor without a row is at its first.
CREATE TABLE feed_rounds (
  monitor_id      TEXT    PRIMARY KEY REFERENCES monitors (id),
  round           INTEGER NOT NULL
) STRICT;

-- Targets whose reader wants no more from a monitor.
CREATE TABLE unsubscribed (
  webhook_id      TEXT    NOT NULL REFERENCES webhooks (id),
  monitor_id      TEXT    NOT NULL REFERENCES monitors (id),
  unsubscribed_at INTEGER NOT NULL,
  PRIMARY KEY (webhook_id, monitor_id)
) STRICT, WITHOUT ROWID;

-- 1: nobody has followed the link in the confirmation mail yet, and nothing else is sent there.
ALTER TABLE webhooks ADD COLUMN awaits_confirmation INTEGER NOT NULL DEFAULT 0 CHECK (awaits_confirmation IN (0, 1));
