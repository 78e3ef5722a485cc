import { createSeededRandom } from '../../../sandbox/world/random.ts'
import type { AddressCase } from '../../../test/support/address-cases.ts'

// The policy written independently: addresses in these ranges are never dialled, all others are allowed.
const RANGES_V4 =
  `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
  168.63.129.16/32`.split(/\s+/)
const HOSTILE_V6 =
  `:: ::1 ::ffff:10.0.0.1 ::10.0.0.1 64:ff9b::a00:1 64:ff9b:1::a00:1 100::1 fc00::1 fd00::1 fe80::1
  fec0::1 ff02::1 2001::1 2001:1ff::1 2001:db8::1 2002:a00:1::1 3fff::1 4000::1 5f00::1 1fff::1`.split(
    /\s+/,
  )
const SUFFIXES =
  `localhost local internal localdomain lan corp home intranet private test example invalid onion alt
  consul svc home.arpa`.split(/\s+/)
const NAMES = 'metadata.goog metadata.tencentyun.com api.metadata.cloud.ibm.com'.split(' ')
const PORTS = [22, 25, 53, 110, 139, 143, 389, 465, 587, 993, 2049, 6000, 6667]
/** Inside 2000::/3 and in none of its special ranges. */
const PUBLIC_V6 = ['2600:1f18::1', '2a01:4f8::1', '2800:3f0::1', '2404:6800::1']
const PUBLIC = '93.184.215.14'

/** Cases derived from the policy, drawn by a seed: the edges of each range and some addresses in between. */
export function policyCases(seed: number, draws: number): AddressCase[] {
  const chance = createSeededRandom(seed)
  let count = 0
  const byName = (answers: string[], why: string) =>
    hostile(`https://drawn${++count}.example.net/hook`, answers, `[dns] ${why}`)

  const special = [
    ...RANGES_V4.flatMap((range) => {
      const [first, last] = edgesOf(range)
      const between = Array.from({ length: draws }, () => chance.whole(first, last))
      return [first, last, ...between].map((it) => [textOf(it), range] as const)
    }),
    ...HOSTILE_V6.map((address) => [address, 'IPv6'] as const),
  ]
  return [
    ...special.flatMap(([address, range]) => [
      hostile(`https://${bracketed(address)}/hook`, null, `[literal] of ${range}`),
      byName([address], `alone, of ${range}`),
      byName(
        chance.fraction() < 0.5 ? [PUBLIC, address] : [address, PUBLIC],
        `among public ones, of ${range}`,
      ),
    ]),
    ...SUFFIXES.map((suffix) => hostile(`https://hooks.${suffix}/`, [PUBLIC], '[internal-name]')),
    ...NAMES.map((name) => hostile(`https://${name}/`, [PUBLIC], '[internal-name]')),
    ...PORTS.map((port) => hostile(`https://hooks.example.com:${port}/`, [PUBLIC], '[port]')),
    ...[...drawPublic(chance, draws * 4), ...PUBLIC_V6].flatMap((address): AddressCase[] => [
      {
        url: `https://${bracketed(address)}/hook`,
        resolves_to: null,
        expect: 'accept',
        why: '[literal] public',
      },
      {
        url: `https://drawn${++count}.example.net/hook`,
        resolves_to: [address],
        expect: 'accept',
        why: '[dns] public',
      },
    ]),
  ]
}

function drawPublic(chance: ReturnType<typeof createSeededRandom>, count: number): string[] {
  const special = RANGES_V4.map(edgesOf)
  const found: string[] = []
  while (found.length < count) {
    const it = chance.whole(2 ** 24, 224 * 2 ** 24 - 1)
    if (special.every(([first, last]) => it < first || it > last)) found.push(textOf(it))
  }
  return found
}

function edgesOf(range: string): [number, number] {
  const [base = '', prefix = ''] = range.split('/')
  const first = base.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  return [first, first + 2 ** (32 - Number(prefix)) - 1]
}

const textOf = (address: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.')

const bracketed = (address: string): string => (address.includes(':') ? `[${address}]` : address)

const hostile = (url: string, resolves_to: string[] | null, why: string): AddressCase => ({
  url,
  resolves_to,
  expect: 'reject',
  why,
})
