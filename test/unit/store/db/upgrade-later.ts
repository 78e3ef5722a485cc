/**
 * Migrations of a hypothetical later release, each of another kind, with the rows that they allow. They follow the
 * released ones, so that upgrades are tested beyond what has been released.
 */
export const LATER: readonly { sql: string; rows: string }[] = [
  {
    // Added columns: a nullable one, one with a default and a check, and an index over it.
    sql: `
      ALTER TABLE webhooks ADD COLUMN region TEXT;
      ALTER TABLE monitors ADD COLUMN weight INTEGER NOT NULL DEFAULT 1 CHECK (weight > 0);
      CREATE INDEX monitors_weight ON monitors (weight) WHERE removed_at IS NULL;`,
    rows: `
      UPDATE webhooks SET region = 'north' WHERE id = 'wh_1';
      UPDATE monitors SET weight = 3 WHERE id = 'mon_2';`,
  },
  {
    // A referenced table, rebuilt with stricter checks.
    sql: `
      PRAGMA defer_foreign_keys = ON;
      CREATE TABLE batches_before AS SELECT * FROM poll_batches;
      DROP TABLE poll_batches;
      CREATE TABLE poll_batches (
        id              INTEGER PRIMARY KEY,
        kind            TEXT    NOT NULL CHECK (kind IN ('posts', 'comments')),
        anchor_ids      TEXT    NOT NULL DEFAULT '[]' CHECK (json_valid(anchor_ids)),
        checkpoint_at   INTEGER,
        epoch           INTEGER NOT NULL DEFAULT 0,
        places          INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      INSERT INTO poll_batches (id, kind, anchor_ids, checkpoint_at, epoch)
        SELECT id, kind, anchor_ids, checkpoint_at, epoch FROM batches_before;
      UPDATE poll_batches SET places = (SELECT count(*) FROM feeds WHERE poll_batch_id = poll_batches.id);
      DROP TABLE batches_before;`,
    rows: '',
  },
  {
    // A table filled from existing rows, and maintained by a trigger from then on.
    sql: `
      CREATE TABLE names (
        customer_id     TEXT    NOT NULL REFERENCES customers (id),
        name            TEXT    NOT NULL,
        PRIMARY KEY (customer_id, name)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO names SELECT id, name FROM customers;
      CREATE TRIGGER names_kept AFTER UPDATE OF name ON customers WHEN NEW.name <> OLD.name BEGIN
        INSERT OR IGNORE INTO names VALUES (NEW.id, NEW.name);
      END;`,
    rows: `
      UPDATE customers SET name = 'anna' WHERE id = 'cus_1';`,
  },
]
