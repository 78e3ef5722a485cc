import { isObject } from '../../../core/base/object.ts'
import { fail, ok, type Outcome } from '../../../core/base/result.ts'
import type { Node } from '../../../core/forum/items.ts'
import type { NativeRow } from './fields.ts'
import { childrenOf, dataOf } from './items.ts'

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

const MEMBERS_ONLY: readonly unknown[] = ['private', 'gold_only', 'employees_only']

const isMembersOnly = (thing: unknown): boolean =>
  isObject(thing) &&
  isObject(thing['data']) &&
  MEMBERS_ONLY.includes(thing['data']['subreddit_type'])

/**
 * Removes from an answer everything that only members of a subforum see. Rows of other listings are
 * left out; the subforum itself, its listings and its posts are forbidden. `path` is that of the
 * request.
 */
export function withoutMembersOnly(path: string, value: unknown): Outcome<unknown> {
  const [head]: unknown[] = Array.isArray(value) ? value : []
  const rows = childrenOf(head ?? value)
  const hidden = rows?.filter(isMembersOnly).length ?? 0
  const of_one_place = head !== undefined || /^\/r\/[^/+]+\//.test(path)
  if (isMembersOnly(value) || (hidden > 0 && of_one_place)) return PRIVATE
  const listing = hidden > 0 ? dataOf(value, 'Listing') : null
  if (listing !== null) listing['children'] = rows?.filter((row) => !isMembersOnly(row))
  return ok(value)
}

const PRIVATE = fail({ kind: 'forbidden', reason: 'private' })
