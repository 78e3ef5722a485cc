import type { Community, Moderator, User } from '../core/items.ts'
import {
  addressAt,
  flagAt,
  isoOfSeconds,
  listAt,
  type Row,
  rowAt,
  secondsAt,
  textAt,
  wholeAt,
  wordAt,
} from './read.ts'

/** What a person's row must hold. A suspended person has a name and little else. */
export const USER_NEEDS = { name: 'string' } as const
/** What a community's row must hold. A private one is told in outline only. */
export const COMMUNITY_NEEDS = { display_name: 'string' } as const
/** What a moderator's row must hold. */
export const MODERATOR_NEEDS = { id: 'string', name: 'string' } as const

/**
 * A person's row in our own shape. Of a suspended one only the name counts: the zeros and blanks beside it are a
 * mask, not figures.
 */
export function toUser(base: string, row: Row): User {
  const name = textAt(row, 'name') ?? ''
  const is_suspended = row['is_suspended'] === true
  const told = is_suspended ? {} : row
  const profile = rowAt(told, 'subreddit') ?? {}
  const created_utc = secondsAt(told, 'created_utc')
  return {
    id: wordAt(row, 'id'),
    name,
    url: `${base}/user/${encodeURIComponent(name.toWellFormed())}/`,
    created: created_utc === null ? null : isoOfSeconds(created_utc),
    created_utc,
    link_karma: wholeAt(told, 'link_karma'),
    comment_karma: wholeAt(told, 'comment_karma'),
    total_karma: wholeAt(told, 'total_karma'),
    verified: flagAt(told, 'verified'),
    is_employee: flagAt(told, 'is_employee'),
    is_mod: flagAt(told, 'is_mod'),
    is_suspended,
    over_18: flagAt(profile, 'over_18') ?? flagAt(told, 'over_18'),
    display_name: textAt(profile, 'title'),
    description: textAt(profile, 'public_description'),
    avatar_url:
      addressAt(told, 'icon_img') ??
      addressAt(told, 'snoovatar_img') ??
      addressAt(profile, 'icon_img'),
    banner_url: addressAt(profile, 'banner_img'),
  }
}

/** A community's row in our own shape. */
export function toCommunity(base: string, row: Row): Community {
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

/** A moderator's row in our own shape; `added` is ISO 8601. */
export function toModerator(row: Row): Moderator {
  const date = secondsAt(row, 'date')
  return {
    id: textAt(row, 'id') ?? '',
    name: textAt(row, 'name') ?? '',
    mod_permissions: listAt(row, 'mod_permissions').filter((it) => typeof it === 'string'),
    flair_text: wordAt(row, 'author_flair_text'),
    added: date === null ? null : isoOfSeconds(date),
  }
}
