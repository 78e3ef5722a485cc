import { HOME } from './items.ts'

/**
 * Configured words for the platform and for a community (`[wire]`). Computed once; paths, headers,
 * parameters, fields, codes and the OpenAPI document use them.
 */
export type Naming = {
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
  /** `forum_session`: the session field in bodies and queries. */
  session: string
  /** `x-forum-`: prefix of session and proxy headers. */
  header: string
  /** The words are those of another service, whose clients expect some of its answers too. */
  renamed: boolean
  /** Name of the source of reads and monitors that name none: the first. */
  default_source: string
  /** Name of the first source of a Reddit-style platform; null: there is none. */
  home: string | null
  /** `FORUM_RATELIMIT`, `FORUM_REJECTED`. */
  code(suffix: 'RATELIMIT' | 'REJECTED'): string
}

const DEFAULT_PLATFORM = 'forum'
const FORUM_ALONE = { default_source: 'forum', home: 'forum' }

export function createNaming(
  { platform, community }: { platform: string; community: string },
  { default_source, home }: Pick<Naming, 'default_source' | 'home'> = FORUM_ALONE,
): Naming {
  return {
    platform,
    community,
    communities: `${community}s`,
    exclude_communities: `exclude_${community}s`,
    api: `/api/${platform}`,
    monitor: `/${platform}/monitor`,
    session: `${platform}_session`,
    header: `x-${platform}-`,
    renamed: platform !== DEFAULT_PLATFORM,
    default_source,
    home,
    code: (suffix) => `${platform.toUpperCase()}_${suffix}`,
  }
}

/** Name of a source for a caller, by its name inside. */
export const nameOfSource = ({ home }: Pick<Naming, 'home'>, source: string): string =>
  source === HOME ? (home ?? source) : source

/** Name inside of a source that a caller names. */
export const sourceOfName = ({ home }: Pick<Naming, 'home'>, name: string): string =>
  name === home ? HOME : name

/** The names of the sources as a sentence lists them. `further`: all but `home`. */
export const sourceNames = ({ home }: Naming, further: readonly string[]): string =>
  (home === null ? further : [home, ...further]).join(', ')

/**
 * Replaces the keys `subforum` and `subforums` of a row by the configured words; keeps the order.
 */
export function toWire<T extends object>(words: Naming, row: T): T
// Types use the internal names; the configured ones are known only at run time.
export function toWire(words: Naming, row: object): object {
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

/** Replaces the internal words for the platform and for a community in a code or its sentence. */
export const wireCode = (words: Naming, code: string): string =>
  code
    .replace(/^subforum_/, `${words.community}_`)
    .replace(/_SUBFORUM$/, `_${words.community.toUpperCase()}`)
    .replace(/^FORUM_(RATELIMIT|REJECTED)$/, (_, suffix) =>
      suffix === 'RATELIMIT' ? words.code('RATELIMIT') : words.code('REJECTED'),
    )
