import type { SeededRandom } from '../../../sandbox/world/random.ts'

/** A header or cookie that only a successful injection can produce. */
const EVIL_HEADER = 'x-evil'
const EVIL_COOKIE = 'evil'

const BREAKS = [
  '\r\n',
  '\n',
  '\r',
  '\n ',
  '\r\n\t',
  '%0d%0a',
  '%0a',
  '\u0000',
  '\u000b',
  '\u0085',
  '\u2028',
  '嘊嘍',
  '\\r\\n',
]
const MARKS = ['; ', ';', ', ', ',', '" ;', '";', '=', ' ', '\t', '\\', '%3b', '\u037e', '；']
const LOADS = [
  `${EVIL_HEADER}: 1`,
  `${EVIL_HEADER}:1\r\n\r\nGET /evil HTTP/1.1`,
  `${EVIL_COOKIE}=1`,
  `Cookie: ${EVIL_COOKIE}=1`,
  `Set-Cookie: ${EVIL_COOKIE}=1`,
  `$Version=1; ${EVIL_COOKIE}=1`,
  `${EVIL_COOKIE}=1; Path=/`,
  'Content-Length: 0\r\n\r\nPOST /evil HTTP/1.1',
  'Transfer-Encoding: chunked',
  'Host: evil.example',
]

/** A text that tries to become more than one value: a beginning, what ends it, and what should follow. */
export function evilText(chance: SeededRandom): string {
  const begin = chance.pick(['', 'a', 'abc.def', '"', 'x'.repeat(chance.whole(1, 200))])
  const ends = Array.from({ length: chance.whole(1, 3) }, () =>
    chance.pick(chance.odds(0.5) ? BREAKS : MARKS),
  ).join('')
  return begin + ends + chance.pick(LOADS) + chance.pick(['', '\r\n', ';', chance.pick(MARKS)])
}

/** Parts of a raw request that only an injection can have added. */
export function injectedInto(head: string): string[] {
  const [first = '', ...lines] = head.split('\r\n')
  const found: string[] = []
  if (!/^[A-Z]+ \/\S* HTTP\/1\.1$/.test(first) || first.includes(' /evil'))
    found.push(`first line ${first}`)
  const seen = new Map<string, number>()
  for (const line of lines) {
    const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]?(.*)$/.exec(line) ?? []
    // oxlint-disable-next-line no-control-regex -- these are what must not be there.
    if (name === '' || /[\x00-\x08\x0a-\x1f\x7f]/.test(value))
      found.push(`line ${JSON.stringify(line)}`)
    const lower = name.toLowerCase()
    seen.set(lower, (seen.get(lower) ?? 0) + 1)
    if (lower === EVIL_HEADER || lower === 'set-cookie') found.push(`header ${line}`)
    if (lower === 'host' && value.includes('evil')) found.push(`header ${line}`)
    if (lower !== 'cookie') continue
    const names = value.split(/[;,]/).map((pair) => pair.split('=')[0]?.trim() ?? '')
    if (names.includes(EVIL_COOKIE) || names.includes('$Version')) found.push(`cookie ${value}`)
  }
  for (const [name, count] of seen) if (count > 1) found.push(`${count} times ${name}`)
  return found
}
