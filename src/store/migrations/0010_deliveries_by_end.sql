-- What health counts of a day is when deliveries ended, not when they were created.
CREATE INDEX deliveries_delivered ON deliveries (monitor_id, delivered_at) WHERE delivered_at IS NOT NULL;
CREATE INDEX deliveries_lost ON deliveries (monitor_id, created_at) WHERE status IN ('dead', 'failed');
