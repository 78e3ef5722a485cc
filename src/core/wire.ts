/**
 * The words that stand for the platform and for a community in our own interface (contract 2, `[wire]`).
 * Computed once; paths, headers, parameters, fields, codes and the OpenAPI document read them from here.
 */
export type Words = {
  /** `forum`: the path segment of `/api/forum/…`. */
  platform: string
  /** `subforum`: parameters, row fields and filter fields. */
  community: string
  /** `subforums`. */
  communities: string
  /** `exclude_subforums`. */
  exclude_communities: string
  /** `/api/forum`. */
  api: string
  /** `/forum/monitor`. */
  monitor: string
  /** `forum_session`: the session's field in bodies and queries. */
  session: string
  /** `x-forum-`: what session and proxy headers begin with. */
  header: string
  /** `FORUM_RATELIMIT`, `FORUM_REJECTED`. */
  code(suffix: 'RATELIMIT' | 'REJECTED'): string
}

/** The words of the interface, from what the configuration calls the platform and a community. */
export function createWords({
  platform,
  community,
}: {
  platform: string
  community: string
}): Words {
  return {
    platform,
    community,
    communities: `${community}s`,
    exclude_communities: `exclude_${community}s`,
    api: `/api/${platform}`,
    monitor: `/${platform}/monitor`,
    session: `${platform}_session`,
    header: `x-${platform}-`,
    code: (suffix) => `${platform.toUpperCase()}_${suffix}`,
  }
}

/** The same row with our inner names `subforum`, `subforums` replaced by the configured words, order kept. */
export function worded<T extends object>(words: Words, row: T): T
// The type checker knows the row by its inner names; what the names become is configuration.
export function worded(words: Words, row: object): object {
  if (words.community === 'subforum') return row
  const names: Record<string, string> = {
    subforum: words.community,
    subforums: words.communities,
    exclude_subforums: words.exclude_communities,
    subforum_not_found: `${words.community}_not_found`,
  }
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [names[name] ?? name, value]),
  )
}

/** A code or its sentence, where our own words for the platform and for a community stand for those of the wire. */
export const wireCode = (words: Words, code: string): string =>
  code
    .replace(/^subforum_/, `${words.community}_`)
    .replace(/_SUBFORUM$/, `_${words.community.toUpperCase()}`)
    .replace(/^FORUM_(RATELIMIT|REJECTED)$/, (_, suffix) =>
      suffix === 'RATELIMIT' ? words.code('RATELIMIT') : words.code('REJECTED'),
    )
