import { isIP } from 'node:net'

import { stringify } from 'smol-toml'

import { UsageError } from '../command.ts'

export type SetupAnswers = {
  /** Sources, separated by commas: `hn, discourse https://forum.example.org`. */
  sources: string
  /** Mail or web address for the User-Agent; empty: none. */
  contact: string
  dir: string
  /** Port to listen on at 127.0.0.1. */
  port: number
  /** Public address of the TLS proxy before it; empty: none. */
  public_url: string
}

/** Kinds of `[[source]]` by the words for them. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ['hn', 'hackernews'],
  ['hackernews', 'hackernews'],
  ['discourse', 'discourse'],
  ['lemmy', 'lemmy'],
  ['piefed', 'piefed'],
])
/** Word for the platform of `[platform]`. */
const PLATFORM = 'platform'

export const SOURCE_FORMS: ReadonlyMap<string, string> = new Map([
  ['hn', 'Hacker News'],
  ['discourse ADDRESS', 'a Discourse forum'],
  ['lemmy ADDRESS', 'a Lemmy instance'],
  ['piefed ADDRESS', 'a PieFed instance'],
  [`${PLATFORM} ADDRESS COOKIE`, 'the forum platform; COOKIE: its session cookie'],
])

const SOURCES_MAX = 20
const NAME_MAX = 31

type Table = Record<string, string>
type Tables = { platform: Table; source: Table[] }

/**
 * Parses the list of sources. Addresses and names are checked by the loader of the configuration.
 * @throws {UsageError} A source has another form.
 */
function parseSources(text: string): Tables {
  const tables: Tables = { platform: {}, source: [] }
  const entries = text
    .split(',')
    .map((it) => it.trim())
    .filter((it) => it !== '')
  if (entries.length === 0 || entries.length > SOURCES_MAX)
    throw new UsageError(
      `found ${entries.length} sources; allowed: 1 to ${SOURCES_MAX}, separated by commas`,
    )
  for (const entry of entries) {
    const [word = '', address, cookie, ...more] = entry.split(/\s+/)
    const kind = KINDS.get(word.toLowerCase())
    const is_platform = word.toLowerCase() === PLATFORM
    const is_complete = is_platform ? cookie !== undefined : cookie === undefined
    if ((kind === undefined && !is_platform) || !is_complete || more.length > 0)
      throw new UsageError(
        `${JSON.stringify(entry)} is not a source; allowed: ${[...SOURCE_FORMS.keys()].join(', ')}`,
      )
    if (is_platform) {
      if ('base_url' in tables.platform)
        throw new UsageError(`found ${PLATFORM} twice; allowed: once`)
      tables.platform = { base_url: withScheme(address), session_cookie: cookie ?? '' }
    } else {
      const base_url = withScheme(address)
      tables.source.push({
        name: nameFor(base_url, word.toLowerCase(), tables.source),
        kind: kind ?? '',
        ...(base_url !== '' && { base_url }),
      })
    }
  }
  return tables
}

/** People type the host alone. */
const withScheme = (address = ''): string =>
  address === '' || /^[a-z]+:\/\//i.test(address) ? address : `https://${address}`

/** A free name: that of the host, or the word for the kind where the host has no name. */
function nameFor(base_url: string, word: string, taken: readonly Table[]): string {
  const host = URL.parse(base_url)?.hostname.replace(/^www\./, '') ?? ''
  const base =
    (isIP(host.replace(/^\[|\]$/g, '')) === 0 && host !== '' ? host : word)
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .slice(0, NAME_MAX - 3) || word
  const isFree = (name: string) => !taken.some((it) => it['name'] === name)
  let name = base
  for (let count = 2; !isFree(name); count++) name = `${base}-${count}`
  return name
}

/** @throws {UsageError} The sources are malformed. */
export function configText({ sources, contact, dir, port, public_url }: SetupAnswers): string {
  const { platform, source } = parseSources(sources)
  const user_agent = contact === '' ? {} : { user_agent: `forumd/1.0 (${contact})` }
  const described = { ...platform, ...user_agent }
  return [
    '# Written by `forumd init`. `forumd config example` prints every key with its default.\n',
    part(
      public_url === ''
        ? 'On this machine only. For others: a TLS proxy, public_url and trusted_proxies.'
        : 'The proxy at public_url forwards to this port; trusted_proxies names its addresses.',
      {
        server: {
          port,
          ...(public_url !== '' && { public_url }),
          // TLS means a proxy, on this machine as in the examples.
          ...(public_url.startsWith('https:') && { trusted_proxies: ['127.0.0.1'] }),
        },
      },
    ),
    part('Database and keys.', { storage: { dir } }),
    ...(Object.keys(described).length === 0
      ? []
      : [
          part(
            'base_url' in platform
              ? 'The platform that is read without naming a source.'
              : 'How forumd names itself to every source.',
            { platform: described },
          ),
        ]),
    ...(source.length === 0
      ? []
      : [part('Sources. The first is read when a call names none.', { source })]),
    part('Nothing is charged; usage is recorded.', { billing: { enabled: false } }),
  ].join('\n')
}

const part = (comment: string, table: object): string => `# ${comment}\n${stringify(table)}`
