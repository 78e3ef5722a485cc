import { once } from '../../core/base/lazy.ts'
import { decoded } from './decode.ts'
import { nameOf, pasted } from './discovery.ts'

const library = once((): typeof import('htmlparser2') => require('htmlparser2'))

/** A feed of a list, in the folder that it stood in; '' for none. */
export type Outline = { name: string; url: string; folder: string }

const BYTES_MAX = 1024 * 1024
const FEEDS_MAX = 200
const DEPTH_MAX = 50
const TEXT_MAX = 2000
const OTHER_KINDS = /(?:^|\.)(?:reddit\.com|redd\.it|news\.ycombinator\.com)$/

/** A name as sources have them: lower-case letters, digits and hyphens, and none of those that are taken. */
function freeName(title: string, url: URL, taken: ReadonlySet<string>): string {
  const plain = title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 27)
  const base = plain.replace(/^-+|-+$/g, '') || nameOf(url)
  for (let count = 1; ; count++) {
    const name = count === 1 ? base : `${base}-${count}`
    if (!taken.has(name) && name !== 'main' && name !== 'all') return name
  }
}

/** The feeds of an OPML document, each address once; nothing is requested. `rejected`: those that are left out, and why. */
export function readOpml(text: string): { feeds: Outline[]; rejected: string[] } {
  const feeds: Outline[] = []
  const rejected: string[] = []
  if (Buffer.byteLength(text) > BYTES_MAX)
    return { feeds, rejected: ['the file is larger than 1 MiB'] }
  const names = new Set<string>()
  const known = new Set<string>()
  const folders: string[] = []
  let [tag, attribute, value] = ['', '', '']
  let attributes = new Map<string, string>()

  function add(): void {
    const title = attributes.get('title') || attributes.get('text') || ''
    const given = attributes.get('xmlurl') ?? ''
    const url = pasted(given)
    if (url === null) return void rejected.push(`${title || given}: no address with http or https`)
    if (OTHER_KINDS.test(url.hostname))
      return void rejected.push(
        `${title || url.host}: a site with a kind of its own; forumd source add ${url.origin}`,
      )
    if (known.has(url.href)) return
    if (feeds.length >= FEEDS_MAX)
      return void rejected.push(`${title || url.host}: a source has at most ${FEEDS_MAX} feeds`)
    known.add(url.href)
    const name = freeName(title, url, names)
    names.add(name)
    feeds.push({ name, url: url.href, folder: folders.filter((it) => it !== '').join(' / ') })
  }

  function open(is_closed: boolean): void {
    if (tag !== 'outline') return
    if (attributes.has('xmlurl')) add()
    if (!is_closed && folders.length < DEPTH_MAX)
      folders.push(
        attributes.has('xmlurl') ? '' : (attributes.get('text') ?? attributes.get('title') ?? ''),
      )
  }

  const { Tokenizer } = library()
  const part = (from: number, to: number) => text.slice(from, Math.min(to, from + TEXT_MAX))
  const tokens = new Tokenizer({ xmlMode: true, decodeEntities: false }, {
    ontext() {},
    ontextentity() {},
    oncdata() {},
    onopentagname(from, to) {
      tag = part(from, to).toLowerCase()
      attributes = new Map()
    },
    onattribname(from, to) {
      attribute = part(from, to).toLowerCase()
      value = ''
    },
    onattribdata: (from, to) => void (value += part(from, to)),
    onattribentity() {},
    onattribend: () => void attributes.set(attribute, decoded(value).replace(/\s+/g, ' ').trim()),
    onopentagend: () => open(false),
    onselfclosingtag: () => open(true),
    onclosetag: (from, to) => void (part(from, to).toLowerCase() === 'outline' && folders.pop()),
    oncomment() {},
    ondeclaration() {},
    onprocessinginstruction() {},
    onend() {},
  } satisfies ConstructorParameters<typeof Tokenizer>[1])
  tokens.write(text)
  tokens.end()
  return { feeds, rejected }
}

const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')

/** True for an address that may hold a secret: a user, or a query with a long or telling value. */
const isSecret = ({ url: address, user }: { url: string; user: string }): boolean => {
  const url = URL.parse(address)
  if (url === null || user !== '' || url.username !== '') return true
  return [...url.searchParams].some(
    ([key, value]) => /key|token|secret|auth|pass|sig/i.test(key) || value.length >= 20,
  )
}

/** Feeds without those whose addresses may hold a secret, and the number of these. */
export function withoutSecrets(feeds: readonly { name: string; url: string; user: string }[]) {
  const open = feeds.filter((it) => !isSecret(it)).map(({ name, url }) => ({ name, url }))
  return { feeds: open, left_out: feeds.length - open.length }
}

/** An OPML document of feeds. */
export function writeOpml(
  title: string,
  { feeds, left_out }: ReturnType<typeof withoutSecrets>,
): string {
  const lines = feeds.map(
    ({ name, url }) =>
      `    <outline type="rss" text="${escaped(name)}" xmlUrl="${escaped(url)}"/>\n`,
  )
  const comment =
    left_out === 0 ? '' : `    <!-- left out, as they may hold a secret: ${left_out} -->\n`
  const head = `<?xml version="1.0" encoding="UTF-8"?>\n<opml version="2.0">\n`
  return `${head}  <head><title>${escaped(title)}</title></head>\n  <body>\n${lines.join('')}${comment}  </body>\n</opml>\n`
}
