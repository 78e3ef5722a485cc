import { migrations } from '../../../../src/store/db/migrations.ts'
import { LATER } from './upgrade-later.ts'

/**
 * Rows as written at each step of the schema, at least one in every table that the step adds. A new table needs a row
 * here: the upgrade test checks that.
 */
const HASH = "x'00ff10'"

/** By the number of the first step that allows them; those of later, unreleased steps are in upgrade-later.ts. */
const ROWS: Readonly<Record<number, string>> = {
  1: `
    UPDATE instance SET id = 'inst-1';
    INSERT INTO customers VALUES ('cus_1', 'ann', 'entry', 123456, 0, 1000, NULL), ('cus_2', 'bob', 'gone', 0, 1, 1000, 5000);
    INSERT INTO api_keys VALUES
      ('key_1', 'cus_1', ${HASH}, 'fk_abcde', 'laptop', '["read","monitor"]', 1000, 9000, 2000, NULL),
      ('key_2', NULL, x'01', 'fo_abcde', NULL, '[]', 1000, NULL, NULL, 3000);
    INSERT INTO holds VALUES ('hold_1', 'cus_1', 'read', 2000, 1500);
    INSERT INTO payments VALUES ('pay_1', 'cus_1', 'signup_credit', 500000, NULL, 1000), ('pay_2', 'cus_1', 'top_up', -7, 'à propos', 1001);
    INSERT INTO usage_hours VALUES ('cus_1', 0, 'read', 10, 9, 18000, 1);
    INSERT INTO webhooks (id, customer_id, kind, url, secret, created_at, active, paused_at, pause_reason, failing_since, failing_days, failing_day)
      VALUES ('wh_1', 'cus_1', 'webhook', 'https://h.example.com/?a=1&b=''2''', x'0102', 1000, 1, NULL, NULL, NULL, 0, NULL),
             ('wh_2', 'cus_1', 'slack', 'https://hooks.slack.com/services/x', x'03', 1000, 0, 4000, 'failing', 1, 3, 2);
    INSERT INTO monitors (id, customer_id, name, filter_spec, cadence_s, requested_cadence_s, baseline_item_id, webhook_ids, active, active_since, created_at, updated_at, last_match_at, removed_at)
      VALUES ('mon_1', 'cus_1', 'cats', '{"subforum":["cats"],"kind":"post"}', 60, NULL, NULL, NULL, 1, 1000, 1000, 1000, 2000, NULL),
             ('mon_2', 'cus_1', NULL, '{"q":"bun","kind":"post"}', 120, 120, 't3_abc', '["wh_1"]', 0, 1000, 1000, 1001, NULL, NULL),
             ('mon_3', 'cus_2', 'old', '{"author":["a"],"kind":"both"}', 60, NULL, NULL, '[]', 0, 1000, 1000, 1002, NULL, 6000);
    INSERT INTO feeds (id, key, kind, place, requested_interval_s, interval_s, state, next_seq, next_check_at, last_check_at, last_fault, rate_per_s, created_at)
      VALUES (1, 'posts:cats', 'posts', 'cats', 60, 60, '{"checkpoint":{"anchor_ids":["t3_a","t3_b"],"checkpoint_at":900},"item_seen_at":2000,"newest_at":900,"covered_epoch":1,"audits":1,"audit_pages":1,"empties":0}', 7, 3000, 2000, NULL, 0.25, 1000),
             (2, 'search:bun', 'search', 'bun', 120, 120, NULL, 1, NULL, NULL, 'throttled', NULL, 1000);
    INSERT INTO monitor_feeds VALUES ('mon_1', 1, 1000, 3), ('mon_2', 2, 1000, -1);
    INSERT INTO feed_items VALUES (1, 't3_a', 1, 800, 1100, 'poll', NULL), (1, 't3_b', 2, 900, 1100, 'audit', 'd');
    INSERT INTO checks VALUES (1, 1, 1900, 2000, NULL, 2, 1), (2, 1, 2900, 3000, 'poll_overflow', 100, 10);
    INSERT INTO gaps (id, feed_id, reason, from_at, until_at, missed_estimate, anchor_ids, recorded_at, closed_at)
      VALUES (1, 1, 'poll_overflow', 2000, NULL, 5, '["t3_b"]', 3000, NULL), (2, 1, 'error', 1, 2, NULL, '[]', 3000, 3500);
    INSERT INTO observation_events VALUES (1, 'clock_jump', NULL, 1, 2), (2, 'process_down', 1, 3, NULL);
    INSERT INTO messages VALUES (1, 'mon_1', 1, NULL, CAST('{"items":[]}' AS BLOB), ${HASH}, 1200, NULL), (2, 'mon_1', 2, NULL, x'7b7d', ${HASH}, 1300, 1400),
      (3, 'mon_2', NULL, 'monitor.alarm', NULL, NULL, 1300, NULL);
    INSERT INTO message_items VALUES ('t3_b', 3);
    INSERT INTO matches VALUES ('t3_a', 'mon_1', 1, 1, 1200, 0), ('t3_b', 'mon_1', NULL, 1, 1300, 5);
    INSERT INTO deliveries (row, id, customer_id, monitor_id, webhook_id, status, reason, attempts, retry_index, round, interrupted, next_attempt_at, last_error, created_at, delivered_at)
      VALUES (1000, 'dlv_1', 'cus_1', 'mon_1', 'wh_1', 'delivered', NULL, 1, 0, 1, 0, NULL, NULL, 1200, 1250),
             (1001, 'dlv_2', 'cus_1', 'mon_1', 'wh_1', 'pending', NULL, 2, 2, 1, 1, 9000, 'http_503', 1300, NULL),
             (3000, 'dlv_3', 'cus_1', 'mon_2', 'wh_2', 'dead', NULL, 6, 6, 2, 0, NULL, 'timeout', 1300, NULL),
             (2000, 'dlv_4', 'cus_1', 'mon_1', NULL, 'suppressed', 'stale_item', 0, 0, 1, 0, NULL, NULL, 1300, NULL);
    INSERT INTO loop_state VALUES ('claims', 'boot-1', '[[1001,2]]');
    INSERT INTO attempts (delivery_row, n, started_at, ended_at, http_status, error)
      VALUES (1000, 1, 1240, 1250, 204, NULL), (1001, 1, 1310, 1320, 503, 'http_503');
    INSERT INTO monitor_days VALUES ('mon_1', 20000, 3, 1, NULL, NULL), ('mon_1', 19990, 0, 0, 1727222400000, '[]');
    INSERT INTO sources VALUES ('cats', 'discourse', 'https://cats.example', 1000);
    INSERT INTO source_accounts VALUES ('meta', x'ab', 1000);
    INSERT INTO loop_state VALUES ('pace', 'forum.example', '{"times":[1000],"reserved":2,"paused_until":null}');
    INSERT INTO proxies VALUES ('prx_1', 'home', x'aa', 1000, 2000, NULL);
    INSERT INTO accounts (id, name, kind, username, secrets, jar, jar_expires_at, proxy_id, revision, status, login_failures, next_login_at, created_at, last_used_at, last_ok_at)
      VALUES ('acc_1', 'main', 'session', 'ann_w', x'bb', x'cc', 99000, 'prx_1', 4, '{"state":"cooling","state_reason":"throttled","state_since":1000,"cooling_until":9000,"strikes":2,"probes":1,"probe_at":9500}', 0, NULL, 1000, 2000, 1900),
             ('acc_2', 'app', 'oauth', NULL, x'dd', NULL, NULL, NULL, 1, '{"state":"needs_login","state_reason":"token_refused","state_since":1000,"cooling_until":null,"strikes":0,"probes":0,"probe_at":null}', 3, 9000, 1000, NULL, NULL);
    INSERT INTO operator_events VALUES ('evt_1', 'account.needs_login', 'acc_2', x'7b7d', 1000, 'pending', 1, 5000);
    INSERT INTO idempotent_writes VALUES ('key_1', 'POST /x', 'once', x'ee', x'7b7d', 1000), ('key_1', 'POST /x', 'running', x'ee', NULL, 1000);
    UPDATE deliveries SET suppressed = '{"reason":"stale_item"}' WHERE id = 'dlv_4';
    INSERT INTO inbox_items VALUES (1, 'cus_1', 't3_a', 1200, '~', 'cats', 'ann', 'read', 1, 'bob', 1300, 'key_1', 1);
    INSERT INTO inbox_matches VALUES (1, 1, 'mon_1', 1200, 1200, 1);
    INSERT INTO inbox_actions VALUES (1, 'act_1', 'cus_1', 'key_1', 1300, 'update', '{"state":"read"}', 1, '["t3_a"]', '[["unread",0,null,["t3_a"]]]', NULL, NULL);
    INSERT INTO kept_items (item_id, source, thread, author, author_id, digest, first_kept_at, last_kept_at, next_check_at)
      VALUES ('t3_a', '~', NULL, 'ann', 't2_1', 'd', 1200, 1200, 4800), ('meta/t1_b', 'meta', 'meta/t3_1', NULL, NULL, 'd', 1, 2, 3);
    INSERT INTO item_tombstones VALUES (1, 't3_gone', '~', 'author', 2000);
    INSERT INTO confirmation_mails VALUES (1, 'cus_1', 'reader@example.com', 1000);
    UPDATE webhooks SET awaits_confirmation = 1, unsubscribed = '["mon_1"]' WHERE id = 'wh_2';
    UPDATE webhooks SET name = 'ops', max_per_second = 0.5, ordered = 1, old_secret = x'09', old_secret_until = 8000, credentials = x'0a' WHERE id = 'wh_1';
    UPDATE attempts SET round = 2, headers = '{}', body_start = 'no' WHERE delivery_row = 1001;
    UPDATE instance SET key_fingerprint = 'abc';
    INSERT INTO poll_batches (id, kind, anchor_ids, checkpoint_at, epoch) VALUES (1, 'posts', '["t3_a"]', 900, 2);
    UPDATE feeds SET poll_batch_id = 1, synced_epoch = 2 WHERE id = 1;
    INSERT INTO feed_hours VALUES (1, 400000, 12);
    INSERT INTO feeds (id, key, source, kind, place, requested_interval_s, interval_s, next_check_at, last_check_at, created_at, state)
      VALUES (3, 'all:hn', 'hn', 'all', 'hn', 60, 60, 3000, 2000, 1000, '{"state":"5","proof":"dense","verified_from":1000,"verified_until":2000}');
    INSERT INTO bundles VALUES (1, 'cus_1', 'mon_1', 'wh_1', 1000, 5000, 1, 2, 0);
    UPDATE webhooks SET public_key = x'0c' WHERE id = 'wh_1';
    INSERT INTO alarms VALUES (1, 'mon_1', 'silent', 1000, 2, 4000, NULL, NULL);
    INSERT INTO bundle_items VALUES (1, 't3_z', 1000, '{}');
    INSERT INTO judgements (monitor_id, item_id, customer_id, created_at, at, outcome, score, min_score, reason, model)
      VALUES ('mon_1', 't3_z', 'cus_1', 1000, 1500, 'relevant', 0.8, 0.5, 'on topic', 'small');
    INSERT INTO judgements (monitor_id, item_id, customer_id, created_at, body, at, next_attempt_at, fault)
      VALUES ('mon_1', 't3_w', 'cus_1', 1000, '{"id":"w"}', 1500, 2000, 'timeout');
    INSERT INTO candidates VALUES ('mon_2', 't3_y', 2, '{"id":"y"}', 10, NULL, 1000, 9000, 1000);
    INSERT INTO archive_queue VALUES (1, 't3_y', '{"id":"y"}', '["m:mon_2"]', 1000);
    INSERT INTO audit (at, kind, subject, detail) VALUES (1000, 'config.changed', 'config', '{}');
    UPDATE instance SET packed_to = 1, blanked_to = 0, backup_at = 3000;
    INSERT INTO webhook_hours VALUES ('wh_1', 472222, 3, 1, 1250);
    INSERT INTO web_sessions VALUES (x'0102', 'key_1', 1000, 2000, 'Firefox 128 on Linux', '127.0.0.1');
    INSERT INTO sign_in_links VALUES (x'0102', 'key_1', 9000);
    INSERT INTO feedback VALUES ('fb_1', 'cus_1', 'bug', 'a title', 'details', NULL, NULL, 'new', NULL, 1000, 1000);
    INSERT INTO drafts VALUES ('drf_1', 'cus_1', 'key_1', 'vote', '{"id":"t3_a","direction":"up"}', 'meta', 'done', 'main', '{"success":true}', 1000, 9000, 2000),
      ('drf_2', 'cus_1', 'key_1', 'comment', '{"text":"so"}', NULL, 'waiting', NULL, NULL, 1000, 9000, NULL);
    INSERT INTO operator_actions VALUES (1, 1000, 'key_1', 'ops', 'fo_12345', '127.0.0.1', 'credits.added', 'cus_1', 'a', '{"usd":5}');`,
}

/** SQL that fills a database at this step. */
export function rowsAt(step: number): string {
  const later = LATER.map(({ rows }, at) => [migrations.length + 1 + at, rows] as const)
  const all = [
    ...Object.entries(ROWS).map(([since, sql]) => [Number(since), sql] as const),
    ...later,
  ]
  return all.flatMap(([since, sql]) => (since <= step ? sql : [])).join('')
}
