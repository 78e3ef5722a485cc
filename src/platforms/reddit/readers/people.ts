import { isObject } from '../../../core/base/object.ts'
import { ok, type Outcome } from '../../../core/base/result.ts'
import type { Achievement, Community, Me, Moderator, User } from '../../../core/forum/items.ts'
import { textAt } from '../../values.ts'
import {
  addressAt,
  flagAt,
  isoOfSeconds,
  listAt,
  type NativeRow,
  rowAt,
  secondsAt,
  unreadable,
  wholeAt,
  wordAt,
} from './fields.ts'
import { dataOf } from './items.ts'

/** Required fields of a user's row. A suspended user has a name and little else. */
export const USER_NEEDS = { name: 'string' } as const
/** Required fields of a community's row. A private one has few details. */
export const COMMUNITY_NEEDS = { display_name: 'string' } as const
export const MODERATOR_NEEDS = { id: 'string', name: 'string' } as const

/** For a suspended user only the name is real: the zeros and blanks are placeholders. */
export function toUser(base: string, row: NativeRow): User {
  const name = textAt(row, 'name') ?? ''
  const is_suspended = row['is_suspended'] === true
  const public_row = is_suspended ? {} : row
  const profile = rowAt(public_row, 'subreddit') ?? {}
  const created_utc = secondsAt(public_row, 'created_utc')
  return {
    id: wordAt(row, 'id'),
    name,
    url: `${base}/user/${encodeURIComponent(name.toWellFormed())}/`,
    created: created_utc === null ? null : isoOfSeconds(created_utc),
    created_utc,
    link_karma: wholeAt(public_row, 'link_karma'),
    comment_karma: wholeAt(public_row, 'comment_karma'),
    total_karma: wholeAt(public_row, 'total_karma'),
    verified: flagAt(public_row, 'verified'),
    is_employee: flagAt(public_row, 'is_employee'),
    is_mod: flagAt(public_row, 'is_mod'),
    is_suspended,
    // The field of the same name outside the profile is a setting that only the account itself
    // receives.
    over_18: flagAt(profile, 'over_18'),
    display_name: textAt(profile, 'title'),
    description: textAt(profile, 'public_description'),
    avatar_url:
      addressAt(public_row, 'icon_img') ??
      addressAt(public_row, 'snoovatar_img') ??
      addressAt(profile, 'icon_img'),
    banner_url: addressAt(profile, 'banner_img'),
  }
}

export function toCommunity(base: string, row: NativeRow): Community {
  const name = textAt(row, 'display_name') ?? ''
  const created_utc = secondsAt(row, 'created_utc')
  const path = wordAt(row, 'url')
  return {
    id: wordAt(row, 'id'),
    name,
    display_name_prefixed: wordAt(row, 'display_name_prefixed'),
    title: textAt(row, 'title'),
    description: textAt(row, 'public_description'),
    subscribers: wholeAt(row, 'subscribers'),
    active_users: wholeAt(row, 'active_user_count') ?? wholeAt(row, 'accounts_active'),
    created: created_utc === null ? null : isoOfSeconds(created_utc),
    created_utc,
    type: wordAt(row, 'subreddit_type'),
    over_18: flagAt(row, 'over18'),
    quarantined: flagAt(row, 'quarantine'),
    url: path?.startsWith('/') ? base + path : path,
    icon_url: addressAt(row, 'community_icon') ?? addressAt(row, 'icon_img'),
    banner_url: addressAt(row, 'banner_img'),
    language: wordAt(row, 'lang'),
  }
}

/** Converts a moderator's row to the port's shape; `added` is ISO 8601. */
export function toModerator(row: NativeRow): Moderator {
  const date = secondsAt(row, 'date')
  return {
    id: textAt(row, 'id') ?? '',
    name: textAt(row, 'name') ?? '',
    mod_permissions: listAt(row, 'mod_permissions').filter((it) => typeof it === 'string'),
    flair_text: wordAt(row, 'author_flair_text'),
    added: date === null ? null : isoOfSeconds(date),
  }
}

/** The call that returns the signed-in account; bearers use an address of their own. */
export const ME = { path_kind: 'me', path: '/api/me.json', bearer_path: '/api/v1/me' } as const

/** A dead session gets a success without a name, and bearers get the account without a wrapper. */
export function readMe(value: unknown): Outcome<Me | null> {
  if (value === '{}') return ok(null)
  if (!isObject(value)) return unreadable('')
  const person = rowAt(value, 'data') ?? value
  const name = wordAt(person, 'name')
  if (name === null) return ok(null)
  const id = textAt(person, 'id')
  if (id === null) return unreadable('data.id')
  return ok({
    id,
    name,
    is_suspended: person['is_suspended'] === true,
    is_locked: person['force_password_reset'] === true,
  })
}

/** Achievements of a user. `base` is the platform's address without a trailing slash. */
export function readAchievements(base: string, value: unknown): Outcome<Achievement[]> {
  const list = dataOf(value, 'TrophyList')
  if (!list) return unreadable('kind')
  const native = list['trophies']
  if (!Array.isArray(native)) return unreadable('data.trophies')
  const achievements: Achievement[] = []
  for (const [index, each] of native.entries()) {
    const row = dataOf(each, 't6')
    const name = row && textAt(row, 'name')
    if (!row || name === null) return unreadable(`data.trophies[${index}].data.name`)
    achievements.push(toAchievement(base, row, name))
  }
  return ok(achievements)
}

function toAchievement(base: string, row: NativeRow, name: string): Achievement {
  const granted = secondsAt(row, 'granted_at')
  const link = wordAt(row, 'url')
  return {
    id: wordAt(row, 'award_id') ?? wordAt(row, 'id'),
    name,
    description: wordAt(row, 'description'),
    icon_url: addressAt(row, 'icon_70') ?? addressAt(row, 'icon_40'),
    url: link?.startsWith('/') ? base + link : link,
    granted: granted === null ? null : isoOfSeconds(granted),
  }
}
