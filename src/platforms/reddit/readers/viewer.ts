import { isObject } from '../../../core/base/object.ts'
import type { Node } from '../../../core/forum/items.ts'
import { type NativeRow, wordAt } from './fields.ts'

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

/**
 * True for an item that is held or removed, and that the platform shows whole to the moderators of its place.
 * `banned_by` is a name, or true for the platform itself.
 */
const isHeld = (row: NativeRow): boolean =>
  row['banned_by'] === true ||
  wordAt(row, 'banned_by') !== null ||
  row['removed'] === true ||
  row['spam'] === true

const REMOVED_TEXT = '[removed]'

/** A held item as an anonymous visitor receives it. */
function maskHeld(kind: string, row: NativeRow): void {
  row['can_mod_post'] = false
  for (const field of ['author_fullname', 'removed', 'spam', 'url_overridden_by_dest', 'preview'])
    delete row[field]
  if (kind === 't1') {
    Object.assign(row, { author: '[deleted]', body: REMOVED_TEXT, body_html: REMOVED_TEXT })
    return
  }
  row['removed_by_category'] ??= 'moderator'
  Object.assign(row, { selftext: REMOVED_TEXT, selftext_html: REMOVED_TEXT })
  if (row['is_self'] !== true) row['url'] = row['permalink']
}

/** Answers that show the posts of places, also from an index that lags behind. */
const OF_PLACES: ReadonlySet<string> = new Set(['posts', 'search'])

/** Items that a listing of a place leaves out for readers without a role in it. */
const isUnlisted = (path_kind: string, row: NativeRow): boolean =>
  isHeld(row) || (OF_PLACES.has(path_kind) && wordAt(row, 'removed_by_category') !== null)

/** Answers that contain items which no listing shows, in the form that their text is masked. */
const BY_ID: ReadonlySet<string> = new Set(['info', 'tree', 'more'])

/**
 * Takes from an answer what the account receives as a moderator or author: a listing loses these items, an answer by id masks
 * them. It is changed in place.
 */
export function withoutHeld(path_kind: string, value: unknown): void {
  const waiting: unknown[] = [value]
  const is_by_id = BY_ID.has(path_kind)
  while (waiting.length > 0) {
    const at = waiting.pop()
    if (Array.isArray(at)) {
      waiting.push(...at)
      continue
    }
    if (!isObject(at)) continue
    const { kind, data, json } = at
    if (isObject(json)) waiting.push(json['data'])
    if (Array.isArray(at['things'])) waiting.push(...at['things'])
    if (!isObject(data)) continue
    if (kind === 't1' || kind === 't3') {
      if (isHeld(data)) maskHeld(kind, data)
      waiting.push(data['replies'])
    } else if (Array.isArray(data['children'])) {
      const children: unknown[] = data['children']
      if (!is_by_id)
        data['children'] = children.filter(
          (it) => !(isObject(it) && isObject(it['data']) && isUnlisted(path_kind, it['data'])),
        )
      waiting.push(...(is_by_id ? children : []))
    }
  }
}
