-- What a receiver wishes, and the secret before the last rotation, which goes on signing until its time is over.
ALTER TABLE webhooks ADD COLUMN name TEXT;
ALTER TABLE webhooks ADD COLUMN max_per_second REAL CHECK (max_per_second > 0);
ALTER TABLE webhooks ADD COLUMN ordered INTEGER NOT NULL DEFAULT 0 CHECK (ordered IN (0, 1));
ALTER TABLE webhooks ADD COLUMN old_secret BLOB;
ALTER TABLE webhooks ADD COLUMN old_secret_until INTEGER CHECK ((old_secret IS NULL) = (old_secret_until IS NULL));

-- What a receiver answered: some of its headers as JSON, and how its body began, redacted.
ALTER TABLE attempts ADD COLUMN round INTEGER NOT NULL DEFAULT 1;
ALTER TABLE attempts ADD COLUMN headers TEXT;
ALTER TABLE attempts ADD COLUMN body_start TEXT;

-- Of each monitor the oldest that waits, for targets that want one after another.
CREATE INDEX deliveries_in_order ON deliveries (webhook_id, monitor_id, created_at, id) WHERE status = 'pending';

-- The first key that secrets were sealed with, so that a backup can tell whether a key file is its own.
ALTER TABLE instance ADD COLUMN key_fingerprint TEXT;
