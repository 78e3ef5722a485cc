// Texts for what a source can do, and how it proves completeness. Unknown codes are shown as words.

import { words } from './format.ts'
import type { Source } from './types.ts'

const CAPABILITIES: { [code: string]: string } = {
  posts: 'posts of a place',
  comments: 'newest comments',
  search: 'search',
  searchMedia: 'search of pictures and video',
  searchCommunities: 'search of places',
  searchUsers: 'search of users',
  userComments: "a user's comments",
  userItems: "a user's posts and comments",
  tree: 'comments of a post',
  more: 'further comments of a post',
  postsById: 'posts by id',
  nodesById: 'comments by id',
  liveness: 'whether comments still exist',
  rules: 'rules of a place',
  wiki: 'wiki',
  communities: 'list of places',
  achievements: 'achievements',
  visibility: 'whether a post is visible',
  user: 'user profiles',
  community: 'profile of a place',
  moderators: 'moderators',
  login: 'sign-in',
  comment: 'replies',
  vote: 'votes',
  message: 'messages',
  downvote: 'votes down',
  inbox: 'reading messages',
  profile: 'edits of the profile',
  authorize: 'a page that connects an account',
  home: 'home feed',
  monitor: 'monitors',
}

const PROOFS: { [code: string]: string } = {
  time_listing: 'polls that overlap, and audits of the listings',
  keyset: 'a walk by id back to the last known post',
  dense: 'an item for every id',
  overlap: 'each list of a feed has entries of the one before',
  sparse_walk: 'every id of the server was listed or requested',
}

export const capabilityText = (code: string): string => CAPABILITIES[code] ?? words(code)
export const proofText = (code: string): string => PROOFS[code] ?? words(code)

/** Names of the sources that a form selects, of those that exist; none selected: the first. */
export function selectedSources(value: string, sources: readonly Source[]): Source[] {
  const names = value.split(/[\s,]+/).filter((it) => it !== '')
  if (names.includes('all')) return [...sources]
  if (names.length === 0) return sources.slice(0, 1)
  return sources.filter((it) => names.includes(it.name))
}

/** Why a filter field, with the capabilities that it needs, cannot be used with these sources; null: it can. */
export function lackOf(needs: readonly string[], sources: readonly Source[]): string | null {
  for (const need of needs) {
    const lacking = sources.filter((it) => !it.capabilities.includes(need)).map(({ name }) => name)
    if (lacking.length > 0)
      return `Not supported by ${lacking.join(', ')}: it offers no ${capabilityText(need)}.`
  }
  return null
}

export function placeHint(sources: readonly Source[]): string {
  const examples = sources.map((it) => `${it.name}: ${it.place_examples.join(', ')}`)
  return `Separated by commas or spaces. Empty: all of each source. Examples of ${examples.join('; ')}.`
}
