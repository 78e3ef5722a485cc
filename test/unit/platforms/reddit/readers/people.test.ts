import { expect, test } from 'bun:test'

import { livenessOf } from '../../../../../src/platforms/reddit/readers/items.ts'
import {
  toCommunity,
  toModerator,
  toUser,
} from '../../../../../src/platforms/reddit/readers/people.ts'

const BASE = 'https://forum.example'

test('a complete user is mapped', () => {
  const row = {
    id: '1a',
    name: 'some_body',
    created_utc: 1_500_000_000.0,
    link_karma: 1,
    comment_karma: 2,
    total_karma: 3,
    verified: true,
    is_employee: false,
    is_mod: true,
    icon_img: 'https://pictures.example/i?a=1&amp;b=2',
    subreddit: {
      title: 'Some Body',
      public_description: 'hello',
      over_18: false,
      banner_img: 'https://pictures.example/b',
    },
  }

  expect(toUser(BASE, row)).toEqual({
    id: '1a',
    name: 'some_body',
    url: 'https://forum.example/user/some_body/',
    created: '2017-07-14T02:40:00.000Z',
    created_utc: 1_500_000_000,
    link_karma: 1,
    comment_karma: 2,
    total_karma: 3,
    verified: true,
    is_employee: false,
    is_mod: true,
    is_suspended: false,
    over_18: false,
    display_name: 'Some Body',
    description: 'hello',
    avatar_url: 'https://pictures.example/i?a=1&b=2',
    banner_url: 'https://pictures.example/b',
  })
})

test('a suspended user has a name only, and no karma', () => {
  const row = { name: 'gone', is_suspended: true, is_blocked: false, link_karma: 0, total_karma: 0 }

  expect(toUser(BASE, row)).toEqual({
    id: null,
    name: 'gone',
    url: 'https://forum.example/user/gone/',
    created: null,
    created_utc: null,
    link_karma: null,
    comment_karma: null,
    total_karma: null,
    verified: null,
    is_employee: null,
    is_mod: null,
    is_suspended: true,
    over_18: null,
    display_name: null,
    description: null,
    avatar_url: null,
    banner_url: null,
  })
})

test('a user without a picture has the avatar', () => {
  const row = { id: '1', name: 'drawn', icon_img: '', snoovatar_img: 'https://pictures.example/s' }

  expect(toUser(BASE, row).avatar_url).toBe('https://pictures.example/s')
})

test('a user without a profile has none, and account settings are not exposed', () => {
  expect(toUser(BASE, { id: '1', name: 'old', subreddit: null, over_18: true })).toMatchObject({
    over_18: null,
    display_name: null,
    banner_url: null,
  })
})

test('a malformed name is kept, and its link works', () => {
  expect(toUser(BASE, { id: '1', name: 'a\ud800' })).toMatchObject({
    name: 'a\ud800',
    url: 'https://forum.example/user/a%EF%BF%BD/',
  })
})

test('a complete community is mapped', () => {
  const row = {
    id: '2x',
    name: 't5_2x',
    display_name: 'cats',
    display_name_prefixed: 'r/cats',
    title: 'Cats',
    public_description: 'about cats',
    description: 'the long page beside them',
    subscribers: 9,
    active_user_count: null,
    accounts_active: 4,
    created_utc: 1_500_000_000.0,
    subreddit_type: 'public',
    over18: true,
    quarantine: false,
    url: '/r/cats/',
    community_icon: 'https://pictures.example/c?a=1&amp;b=2',
    icon_img: '',
    banner_img: 'https://pictures.example/b',
    lang: 'en',
  }

  expect(toCommunity(BASE, row)).toEqual({
    id: '2x',
    name: 'cats',
    display_name_prefixed: 'r/cats',
    title: 'Cats',
    description: 'about cats',
    subscribers: 9,
    active_users: 4,
    created: '2017-07-14T02:40:00.000Z',
    created_utc: 1_500_000_000,
    type: 'public',
    over_18: true,
    quarantined: false,
    url: 'https://forum.example/r/cats/',
    icon_url: 'https://pictures.example/c?a=1&b=2',
    banner_url: 'https://pictures.example/b',
    language: 'en',
  })
})

test('a private community has nulls for missing details', () => {
  const row = { display_name: 'club', public_description: 'ours', subreddit_type: 'private' }

  expect(toCommunity(BASE, row)).toMatchObject({
    name: 'club',
    type: 'private',
    id: null,
    subscribers: null,
    created: null,
    url: null,
  })
})

test('an old moderator has no list of permissions', () => {
  expect(toModerator({ id: 't2_1', name: 'mod' })).toEqual({
    id: 't2_1',
    name: 'mod',
    mod_permissions: [],
    flair_text: null,
    added: null,
  })
})

const masked = { author: '[deleted]' }
const named = { author: 'writer', author_fullname: 't2_1' }

test.each([
  ['a comment', { ...named, body: 'words' }, 'live'],
  ['the text of a deleted account', { ...masked, body: 'words' }, 'live'],
  ['a comment deleted by its author', { ...masked, body: '[deleted]' }, 'deleted'],
  ['a comment removed by a moderator', { ...masked, body: '[removed]' }, 'removed'],
  ['a comment removed by the platform', { ...masked, body: '[ Removed by Reddit ]' }, 'removed'],
  [
    'a removal with a code',
    { ...masked, body: '[removed]', collapsed_reason_code: 'DELETED' },
    'removed',
  ],
  ['the text "[removed]" by its author', { ...named, body: '[removed]' }, 'live'],
  ['the text "[deleted]" by its author', { ...named, body: '[deleted]' }, 'live'],
  ['a row without an author', { body: '[removed]' }, 'removed'],
] as const)('%s: %j is %s', (_what, row, verdict) => {
  expect(livenessOf(row)).toBe(verdict)
})
