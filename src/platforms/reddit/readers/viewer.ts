import { isObject } from '../../../core/base/object.ts'
import type { Node } from '../../../core/forum/items.ts'
import type { NativeRow } from './fields.ts'

/**
 * Fields of native objects that depend on the requesting account, with the value that an anonymous
 * visitor receives. They are its votes and saved items, its write token, its rights as author or
 * moderator, and the fields for moderators only.
 */
const ANONYMOUS_VALUES: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['modhash', ''],
  ['geo_filter', ''],
  ['likes', null],
  ['saved', false],
  ['hidden', false],
  ['clicked', false],
  ['visited', false],
  ['send_replies', true],
  ['author_is_blocked', false],
  ['can_gild', false],
  ['can_mod_post', false],
  ['unrepliable_reason', null],
  ['approved_at_utc', null],
  ['approved_by', null],
  ['banned_at_utc', null],
  ['banned_by', null],
  ['mod_note', null],
  ['mod_reason_by', null],
  ['mod_reason_title', null],
  ['mod_reports', []],
  ['num_reports', null],
  ['removal_reason', null],
  ['report_reasons', null],
  ['user_reports', []],
])

/** Fields that an anonymous visitor does not receive at all. */
const ABSENT_FIELDS: readonly string[] = [
  'approved',
  'ban_note',
  'ignore_reports',
  'is_friend',
  'mod_reports_dismissed',
  'removed',
  'rte_mode',
  'spam',
  'user_reports_dismissed',
  'user_is_banned',
  'user_is_contributor',
  'user_is_moderator',
  'user_is_muted',
  'user_is_subscriber',
]

/**
 * Gives native nodes the values that an anonymous visitor receives, in them and in the replies below them. They are
 * changed in place: they were parsed for this answer alone.
 */
export function clearViewer(nodes: readonly Node[]): void {
  const waiting: NativeRow[] = nodes.map(({ data }) => data)
  for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
    for (const [field, value] of ANONYMOUS_VALUES) if (field in row) row[field] = value
    for (const field of ABSENT_FIELDS) delete row[field]
    const { replies, children } = row
    if (isObject(replies) && isObject(replies['data'])) waiting.push(replies['data'])
    if (!Array.isArray(children)) continue
    for (const child of children)
      if (isObject(child) && isObject(child['data'])) waiting.push(child['data'])
  }
}
