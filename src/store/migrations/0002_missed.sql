-- What did not arrive is asked for by its status, and may be a handful among a million that did.
CREATE INDEX deliveries_missed ON deliveries (customer_id, status, created_at, id, monitor_id)
  WHERE status IN ('failed', 'dead', 'suppressed');
