import { ok } from '../../core/base/result.ts'
import {
  type LinkHosts,
  linkHosts,
  parseCommunityName,
  parsePermalink,
} from '../../core/forum/permalink.ts'
import { ANONYMOUS } from '../port.ts'
import {
  ACT_CAPABILITIES,
  READ_CAPABILITIES,
  type Source,
  type SourceOptions,
  unsupported,
} from '../source.ts'
import { createForum, type Forum } from './adapter.ts'

const RETRIES = 3
/** Moderators are shown to accounts only. */
const ANONYMOUS_READS = READ_CAPABILITIES.filter((it) => it !== 'moderators')

/** Capabilities that need an account, beside the anonymous reads. */
export const ACCOUNT_CAPABILITIES = ['moderators', ...ACT_CAPABILITIES, 'home'] as const

/** A platform as a source. `has_accounts`: requests may be made as the accounts of a pool. */
export const sourceOf = (
  forum: Forum,
  { base_url, hosts, has_accounts }: { base_url: string; hosts: LinkHosts; has_accounts: boolean },
): Source => ({
  kind: 'reddit',
  url: base_url,
  capabilities: new Set(
    has_accounts ? [...ANONYMOUS_READS, ...ACCOUNT_CAPABILITIES] : ANONYMOUS_READS,
  ),
  reads: has_accounts ? forum : { ...forum, moderators: async () => unsupported('moderators') },
  watch: null,
  has_listings: true,
  states: forum.states,
  acts: {},
  authorization: null,
  has_names_of_home: true,
  place_examples: ['coffee', 'gardening'],
  isPlace: (place) => parseCommunityName(place) !== null,
  targetOf: ({ href }) => parsePermalink(href, hosts),
  clock_offset_ms: forum.clock_offset_ms,
  copy_ms: forum.copy_ms,
  left_out: forum.left_out,
  isDown: forum.isDown,
  async probe({ deadline_at, signal }) {
    const call = { identity: ANONYMOUS, deadline_at, ...(signal && { signal }) }
    const query = { which: 'popular', limit: 1, after: null } as const
    const answer = await forum.communities(query, call)
    return answer.ok ? ok({ title: null, version: null, notes: [] }) : answer
  },
})

/** A platform that is read anonymously. */
export const openAnonymous = (options: SourceOptions): Source => {
  const { base_url, left_out } = options
  const forum = createForum({
    ...options,
    name: 'reddit',
    rows_left_out: left_out && { add: left_out, now: () => null },
    // Acts alone need the rest of it.
    random: { ...options.random, bytes: () => new Uint8Array(0), uuid: () => '' },
    // Requests leave by the egress.
    fetch: () => Promise.reject(new Error('there is an egress')),
    retries: RETRIES,
  })
  const hosts = linkHosts({ base_url, link_hosts: [], short_link_hosts: [] })
  return sourceOf(forum, { base_url, hosts, has_accounts: false })
}
