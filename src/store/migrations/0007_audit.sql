-- Who may what, and whose money: one row for each change, written by the change itself and chained by the daemon. hash is
-- SHA-256 over prev_hash and the row; both are null until then. detail is JSON and holds no secret.
CREATE TABLE audit (
  seq             INTEGER PRIMARY KEY,
  at              INTEGER NOT NULL,
  kind            TEXT    NOT NULL,
  subject         TEXT    NOT NULL,
  detail          TEXT    NOT NULL,
  prev_hash       BLOB,
  hash            BLOB
) STRICT;
CREATE INDEX audit_unchained ON audit (seq) WHERE hash IS NULL;
CREATE TRIGGER audit_stays BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;
CREATE TRIGGER audit_is_not_edited BEFORE UPDATE ON audit WHEN OLD.hash IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;

CREATE TRIGGER audit_key_created AFTER INSERT ON api_keys BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'key.created', NEW.id,
    json_object('customer_id', NEW.customer_id, 'prefix', NEW.prefix, 'scopes', NEW.scopes, 'expires_at', NEW.expires_at));
END;
CREATE TRIGGER audit_key_changed AFTER UPDATE OF hash, scopes, expires_at, revoked_at, customer_id ON api_keys
WHEN (NEW.hash, NEW.scopes, NEW.expires_at, NEW.revoked_at, NEW.customer_id) IS NOT
     (OLD.hash, OLD.scopes, OLD.expires_at, OLD.revoked_at, OLD.customer_id) BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'key.changed', NEW.id,
    json_object('customer_id', NEW.customer_id, 'scopes', NEW.scopes, 'expires_at', NEW.expires_at, 'revoked_at', NEW.revoked_at));
END;

CREATE TRIGGER audit_customer_created AFTER INSERT ON customers BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'customer.created', NEW.id,
    json_object('name', NEW.name, 'plan', NEW.plan, 'unlimited', NEW.unlimited));
END;
CREATE TRIGGER audit_customer_changed AFTER UPDATE OF name, plan, unlimited, removed_at ON customers
WHEN (NEW.name, NEW.plan, NEW.unlimited, NEW.removed_at) IS NOT (OLD.name, OLD.plan, OLD.unlimited, OLD.removed_at) BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'customer.changed', NEW.id,
    json_object('name', NEW.name, 'plan', NEW.plan, 'unlimited', NEW.unlimited, 'removed_at', NEW.removed_at));
END;
CREATE TRIGGER audit_balance_changed AFTER INSERT ON payments BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'balance.changed', NEW.customer_id,
    json_object('payment_id', NEW.id, 'payment', NEW.kind, 'amount_micros', NEW.amount_micros));
END;

-- The address of a chat service's hook is its secret: it is not repeated here.
CREATE TRIGGER audit_webhook_created AFTER INSERT ON webhooks BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'webhook.created', NEW.id,
    json_object('customer_id', NEW.customer_id, 'target', NEW.kind));
END;
CREATE TRIGGER audit_webhook_changed AFTER UPDATE OF url, secret, active, paused_at, max_per_second, ordered, deleted_at ON webhooks
WHEN (NEW.url, NEW.secret, NEW.active, NEW.paused_at, NEW.max_per_second, NEW.ordered, NEW.deleted_at) IS NOT
     (OLD.url, OLD.secret, OLD.active, OLD.paused_at, OLD.max_per_second, OLD.ordered, OLD.deleted_at) BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'webhook.changed', NEW.id,
    json_object('new_secret', NEW.secret IS NOT OLD.secret, 'new_url', NEW.url IS NOT OLD.url, 'active', NEW.active,
      'paused_at', NEW.paused_at, 'max_per_second', NEW.max_per_second, 'ordered', NEW.ordered, 'deleted_at', NEW.deleted_at));
END;

CREATE TRIGGER audit_monitor_created AFTER INSERT ON monitors BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'monitor.created', NEW.id,
    json_object('customer_id', NEW.customer_id, 'webhook_ids', json(NEW.webhook_ids), 'active', NEW.active));
END;
CREATE TRIGGER audit_monitor_changed AFTER UPDATE OF filter_spec, cadence_s, webhook_ids, active, removed_at ON monitors
WHEN (NEW.filter_spec, NEW.cadence_s, NEW.webhook_ids, NEW.active, NEW.removed_at) IS NOT
     (OLD.filter_spec, OLD.cadence_s, OLD.webhook_ids, OLD.active, OLD.removed_at) BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'monitor.changed', NEW.id,
    json_object('new_filter', NEW.filter_spec IS NOT OLD.filter_spec, 'cadence_s', NEW.cadence_s,
      'webhook_ids', json(NEW.webhook_ids), 'active', NEW.active, 'removed_at', NEW.removed_at));
END;

CREATE TRIGGER audit_account_created AFTER INSERT ON accounts BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'account.created', NEW.id,
    json_object('name', NEW.name, 'account', NEW.kind, 'state', NEW.state, 'proxy_id', NEW.proxy_id));
END;
-- Cooling comes and goes with the platform's weather.
CREATE TRIGGER audit_account_changed AFTER UPDATE OF secrets, proxy_id, revision, state ON accounts
WHEN (NEW.secrets, NEW.proxy_id, NEW.revision) IS NOT (OLD.secrets, OLD.proxy_id, OLD.revision)
  OR (NEW.state IS NOT OLD.state AND NEW.state <> 'cooling' AND OLD.state <> 'cooling') BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'account.changed', NEW.id,
    json_object('new_secrets', NEW.secrets IS NOT OLD.secrets, 'state', NEW.state, 'reason', NEW.state_reason,
      'proxy_id', NEW.proxy_id, 'revision', NEW.revision));
END;
CREATE TRIGGER audit_account_removed AFTER DELETE ON accounts BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'account.removed', OLD.id,
    json_object('name', OLD.name));
END;
CREATE TRIGGER audit_proxy_created AFTER INSERT ON proxies BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'proxy.created', NEW.id,
    json_object('name', NEW.name));
END;
CREATE TRIGGER audit_proxy_removed AFTER DELETE ON proxies BEGIN
  INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), 'proxy.removed', OLD.id,
    json_object('name', OLD.name));
END;

-- How far the work on old bodies has come, as rowids of deliveries, which are never removed.
ALTER TABLE instance ADD COLUMN packed_to INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instance ADD COLUMN blanked_to INTEGER NOT NULL DEFAULT 0;
