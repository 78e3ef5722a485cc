import { ok } from '../../core/base/result.ts'
import { linkHosts, parseCommunityName, parsePermalink } from '../../core/forum/permalink.ts'
import { ANONYMOUS } from '../port.ts'
import { readCapabilities, type Source, type SourceOptions, withUnsupported } from '../source.ts'
import { createListings } from './adapter.ts'
import { createClient, createSessionCheck } from './client.ts'
import { createAbout, createById } from './lookups.ts'
import { toComment } from './readers/items.ts'
import { createReaders } from './readers/listing.ts'

const RETRIES = 3

/** A further platform of this kind, read anonymously: with a rate budget of its own, without accounts, acts and monitors. */
export function createFurtherForum(options: SourceOptions): Source {
  const { clock, base_url } = options
  const client = createClient({
    ...options,
    // Requests leave by the egress.
    fetch: () => Promise.reject(new Error('there is an egress')),
    retries: RETRIES,
  })
  const check = createSessionCheck(client, clock)
  const read = createReaders(client.base, options.left_out)
  // Moderators are shown to accounts only.
  const { moderators: _, ...about } = createAbout(check, read)
  const { feed: __, ...listings } = createListings(check, read)
  const { states, ...by_id } = createById(check, read, clock)
  const reads = { ...listings, ...by_id, ...about }
  const hosts = linkHosts({ base_url, link_hosts: [], short_link_hosts: [] })
  return {
    kind: 'reddit',
    url: base_url,
    capabilities: new Set(readCapabilities(reads)),
    reads: withUnsupported(reads),
    watch: null,
    states,
    acts: {},
    authorization: null,
    has_names_of_home: true,
    place_examples: ['coffee', 'gardening'],
    isPlace: (place) => parseCommunityName(place) !== null,
    targetOf: ({ href }) => parsePermalink(href, hosts),
    commentOf: ({ data }) => toComment(client.base, data),
    clock_offset_ms: client.clock_measured_ms,
    isDown: client.isDown,
    async probe({ deadline_at, signal }) {
      const call = { identity: ANONYMOUS, deadline_at, ...(signal && { signal }) }
      const query = { which: 'popular', limit: 1, after: null } as const
      const answer = await listings.communities(query, call)
      return answer.ok ? ok({ title: null, version: null, notes: [] }) : answer
    },
  }
}
