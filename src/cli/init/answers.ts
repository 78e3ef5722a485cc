import { isIP } from 'node:net'

import { stringify } from 'smol-toml'

import type { Kind } from '../../platforms/kind.ts'
import { KINDS } from '../../platforms/kinds.ts'
import { UsageError } from '../command.ts'

export type SetupAnswers = {
  /** Sources, separated by commas: `hn, discourse https://forum.example.org`. */
  sources: string
  /** Words of the first monitor, separated by commas; empty: none. */
  words: string
  /** Where alerts go: an address, or a kind and an address; empty: nowhere yet. */
  alert: string
  /** Mail or web address for the User-Agent; empty: none. */
  contact: string
  dir: string
  /** Port to listen on at 127.0.0.1. */
  port: number
  /** Public address of the TLS proxy before it; empty: none. */
  public_url: string
}

/** Words for a kind, the shortest first. */
const wordsOf = ({ words = [], kind }: Pick<Kind, 'words' | 'kind'>) => [...words, kind]

/** What a person types for a source of each kind: `lemmy ADDRESS`. */
export const SOURCE_FORMS: ReadonlyMap<string, string> = new Map(
  KINDS.map((it: Kind) => [
    [
      wordsOf(it)[0],
      ...(it.address === null ? [] : ['ADDRESS']),
      ...(it.asks ?? []).map((key) => key.replace(/^.*_/, '').toUpperCase()),
    ].join(' '),
    it.title,
  ]),
)

const SOURCES_MAX = 20
const NAME_MAX = 31

type Table = Record<string, string>

/**
 * Parses the list of sources. Addresses and names are checked by the loader of the configuration.
 * @throws {UsageError} A source has another form.
 */
function parseSources(text: string): Table[] {
  const tables: Table[] = []
  const entries = text
    .split(',')
    .map((it) => it.trim())
    .filter((it) => it !== '')
  if (entries.length === 0 || entries.length > SOURCES_MAX)
    throw new UsageError(
      `found ${entries.length} sources; allowed: 1 to ${SOURCES_MAX}, separated by commas`,
    )
  for (const entry of entries) {
    const [word = '', address, ...values] = entry.split(/\s+/)
    const kind: Kind | undefined = KINDS.find((it) => wordsOf(it).includes(word.toLowerCase()))
    const asks = kind?.asks ?? []
    if (kind === undefined || values.length !== asks.length)
      throw new UsageError(
        `${JSON.stringify(entry)} is not a source; allowed:\n    ${[...SOURCE_FORMS.keys()].join(', ')}`,
      )
    const base_url = withScheme(address)
    tables.push({
      name: nameFor(base_url, word.toLowerCase(), tables),
      kind: kind.kind,
      ...(base_url !== '' && { base_url }),
      ...Object.fromEntries(asks.map((key, at) => [key, values[at] ?? ''])),
    })
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

/** `ntfy https://…`, or an address whose kind is inferred. */
export function alertOf(text: string): { kind?: string; url: string } {
  const [first = '', second] = text.trim().split(/\s+/)
  return second === undefined ? { url: first } : { kind: first, url: second }
}

/** True for a host of a home or company network, which the guard of targets refuses unless it is named. */
const isNear = (host: string): boolean =>
  isIP(host.replace(/^\[|\]$/g, '')) !== 0 || /(^localhost|\.(lan|local|home|internal))$/.test(host)

/** @throws {UsageError} The sources are malformed. */
export function configText(answers: SetupAnswers): string {
  const { sources, contact, dir, port, public_url } = answers
  const { hostname = '', protocol = '' } = URL.parse(alertOf(answers.alert).url) ?? {}
  const source = parseSources(sources)
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
    ...(contact === ''
      ? []
      : [
          part('How forumd names itself to every source.', {
            requests: { user_agent: `forumd/1.0 (${contact})` },
          }),
        ]),
    ...(isNear(hostname) || protocol === 'http:'
      ? [
          part('A receiver in your own network.', {
            guard: { allow_targets: [hostname], ...(protocol === 'http:' && { allow_http: true }) },
          }),
        ]
      : []),
    part('Sources. The first is read when a call names none.', { source }),
    part('Nothing is charged; usage is recorded.', { billing: { enabled: false } }),
  ].join('\n')
}

const part = (comment: string, table: object): string => `# ${comment}\n${stringify(table)}`
