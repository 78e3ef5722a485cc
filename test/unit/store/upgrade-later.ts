/**
 * Steps of a forumd to come, each of another kind, with the rows that they make possible. They stand after the released
 * ones, so that upgrades are tried on more than what has been released.
 */
export const LATER: readonly { sql: string; rows: string }[] = [
  {
    // Columns: one that may be missing, one that has a default and is held to it, and an index over it.
    sql: `
      ALTER TABLE webhooks ADD COLUMN region TEXT;
      ALTER TABLE monitors ADD COLUMN weight INTEGER NOT NULL DEFAULT 1 CHECK (weight > 0);
      CREATE INDEX monitors_weight ON monitors (weight) WHERE removed_at IS NULL;`,
    rows: `
      UPDATE webhooks SET region = 'north' WHERE id = 'wh_1';
      UPDATE monitors SET weight = 3 WHERE id = 'mon_2';`,
  },
  {
    // A table that others refer to, made anew to be held to more.
    sql: `
      PRAGMA defer_foreign_keys = ON;
      CREATE TABLE convoys_before AS SELECT * FROM convoys;
      DROP TABLE convoys;
      CREATE TABLE convoys (
        id              INTEGER PRIMARY KEY,
        kind            TEXT    NOT NULL CHECK (kind IN ('posts', 'comments')),
        anchors         TEXT    NOT NULL DEFAULT '[]' CHECK (json_valid(anchors)),
        head_created_at INTEGER,
        turn            INTEGER NOT NULL DEFAULT 0,
        places          INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      INSERT INTO convoys (id, kind, anchors, head_created_at, turn)
        SELECT id, kind, anchors, head_created_at, turn FROM convoys_before;
      UPDATE convoys SET places = (SELECT count(*) FROM streams WHERE convoy_id = convoys.id);
      DROP TABLE convoys_before;`,
    rows: '',
  },
  {
    // A table that is filled from what is there, and is written to by a trigger from then on.
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
