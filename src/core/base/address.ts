import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

import { once } from './lazy.ts'
import { peerUrl } from './url.ts'

// Rejected alternative: a library's definition of "private". Each one tried lets cloud-internal,
// transition or unallocated ranges through. Here IPv6 lists the public ranges, and IPv4 lists every
// special range.
const NOT_PUBLIC_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Azure's platform address, which lies in a public range.
  '168.63.129.16/32',
]
const GLOBAL_V6 = ['2000::/3']
const NOT_PUBLIC_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

// Suffixes of names that are valid only inside a private network, even if a resolver answers for
// them.
const INNER_SUFFIXES = new Set(
  `localhost local internal localdomain lan corp home intranet private test example invalid onion alt consul
   svc home.arpa metadata.goog metadata.tencentyun.com api.metadata.cloud.ibm.com`.split(/\s+/),
)

// The fetch standard's blocked ports: other protocols listen there and can misread HTTP as
// commands.
// @see https://fetch.spec.whatwg.org/#port-blocking
const BAD_PORTS = new Set(
  `1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123
   135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993
   995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080`.split(
    /\s+/,
  ),
)

const URL_LENGTH_MAX = 2048
const NAME_LENGTH_MAX = 253

/** Number of addresses of one name to try if nothing listens at the first. */
export const ADDRESSES_MAX = 3

/**
 * Reason of each refusal, as the rest of a sentence that begins with the field. No sentence repeats
 * a resolved address.
 */
export const REFUSALS = {
  malformed: `must be an absolute address of 1 to ${URL_LENGTH_MAX} characters without spaces, control characters or backslashes`,
  not_https: 'must begin with https://',
  userinfo: 'must not carry a user name or password',
  port: 'must not use port 0 or a port of another protocol',
  spelling: 'must write an IPv4 address as four plain decimal numbers',
  name: 'must name a host on the public internet, by a full domain name',
  not_public: 'must resolve to public addresses only',
  unresolved: 'must have a name that resolves',
} as const
export type AddressRefusal = keyof typeof REFUSALS

type Networks = { has(address: string): boolean }

/** Set of addresses given as CIDRs or single addresses. Throws for any other text. */
function createNetworks(cidrs: readonly string[]): Networks {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [base = '', prefix] = cidr.split('/')
    const family = isIPv6(base) ? 'ipv6' : 'ipv4'
    list.addSubnet(base, prefix === undefined ? (isIPv6(base) ? 128 : 32) : Number(prefix), family)
  }
  return {
    has: (address) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4'),
  }
}

const known_networks = once(() => ({
  not_public_v4: createNetworks(NOT_PUBLIC_V4),
  global_v6: createNetworks(GLOBAL_V6),
  not_public_v6: createNetworks(NOT_PUBLIC_V6),
}))

/** True for an address of the public internet. False for text that is not a plain IP address. */
export function isPublic(address: string): boolean {
  const { not_public_v4, global_v6, not_public_v6 } = known_networks()
  if (isIPv4(address)) return !not_public_v4.has(address)
  if (!isPlainAddress(address)) return false
  return global_v6.has(address) && !not_public_v6.has(address)
}

// A zone (fe80::1%eth0) names a local interface and is not valid in input from outside.
const isPlainAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes('%')

/** Exceptions that the operator allows although they are not public (`[guard]`). */
export type Allowed = {
  names: ReadonlySet<string>
  /** Null: no network is allowed. */
  networks: Networks | null
  http: boolean
}

const isNetwork = (target: string): boolean => isIP(target.split('/')[0] ?? '') !== 0

export function createAllowed({
  allow_targets,
  allow_http,
}: {
  allow_targets: readonly string[]
  allow_http: boolean
}): Allowed {
  const networks = allow_targets.filter(isNetwork)
  return {
    names: new Set(
      allow_targets.filter((it) => !isNetwork(it)).map((it) => it.toLowerCase().replace(/\.$/, '')),
    ),
    networks: networks.length === 0 ? null : createNetworks(networks),
    http: allow_http,
  }
}

/** Parsed target address. Only `host` may be resolved and dialled. */
export type AddressTarget = {
  url: URL
  /** Lower case, without brackets or final dot. */
  host: string
  /** Set if the host is an IP address, which needs no DNS. */
  literal: string | null
  /** True if the operator allows this host by name. */
  named: boolean
  /** Refusal that applies unless every address of the host is in an allowed network; null: none. */
  unless_allowed: AddressRefusal | null
}

export type Parsed = { ok: true; target: AddressTarget } | { ok: false; refusal: AddressRefusal }

const refuse = (refusal: AddressRefusal): { ok: false; refusal: AddressRefusal } => ({
  ok: false,
  refusal,
})

/** Parses the address of a target. {@link judgeAddresses} checks the resolver's answers. */
export function parseTarget(text: string, allowed: Allowed): Parsed {
  // oxlint-disable-next-line no-control-regex -- these are the characters to refuse
  if (text.length > URL_LENGTH_MAX || !/^[^\x00-\x20\x7f\\]+$/.test(text))
    return refuse('malformed')
  const authority = /^(https?):\/\/([^/?#]+)/i.exec(text)
  if (!authority || (authority[1]?.toLowerCase() === 'http' && !allowed.http))
    return refuse('not_https')
  const url = peerUrl(text)
  if (url === null) return refuse('malformed')
  if (url.username !== '' || url.password !== '' || authority[2]?.includes('@'))
    return refuse('userinfo')
  if (url.port === '0') return refuse('port')

  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const literal = isIP(host) === 0 ? null : host
  // 0177.1 and 2130706433 are IPv4 addresses for some parsers and names for others.
  if (isIPv4(host) && authority[2]?.replace(/:\d*$/, '') !== host) return refuse('spelling')

  const named = allowed.names.has(host)
  const wrong: AddressRefusal | null =
    literal === null && !isPublicName(host)
      ? 'name'
      : BAD_PORTS.has(url.port)
        ? 'port'
        : url.protocol === 'http:'
          ? 'not_https'
          : null
  // With no network allowed, the refusal stands without a DNS lookup.
  if (wrong && !named && allowed.networks === null) return refuse(wrong)
  return { ok: true, target: { url, host, literal, named, unless_allowed: named ? null : wrong } }
}

/** Checks every address that a target's name resolved to; null if the target may be dialled. */
export function judgeAddresses(
  { named, unless_allowed }: AddressTarget,
  addresses: readonly string[],
  allowed: Allowed,
): AddressRefusal | null {
  if (addresses.length === 0) return 'unresolved'
  if (!addresses.every(isPlainAddress)) return 'not_public'
  const isAllowed = (address: string) => allowed.networks?.has(address) ?? false
  if (named || addresses.every(isAllowed)) return null
  if (unless_allowed) return unless_allowed
  // A private address among public ones is a sign of DNS rebinding, so one refuses the target.
  return addresses.every((it) => isPublic(it) || isAllowed(it)) ? null : 'not_public'
}

/** True for a full domain name in the public DNS: valid form, and no internal suffix. */
export function isPublicName(name: string): boolean {
  const labels = name.split('.')
  if (labels.length < 2 || name.length > NAME_LENGTH_MAX) return false
  if (!labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label))) return false
  if (/^(\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '')) return false
  return !labels.some((_, from) => INNER_SUFFIXES.has(labels.slice(from).join('.')))
}

// Not link-local addresses: clouds give credentials away there.
const OWN_NETWORKS = ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '172.16.0.0/12']
const own_networks = createNetworks([...OWN_NETWORKS, '192.168.0.0/16', '::1/128', 'fc00::/7'])

/** Refusals that `[guard]` can lift. */
const LIFTABLE: ReadonlySet<AddressRefusal> = new Set(['not_https', 'name', 'port', 'not_public'])

/**
 * Lines of the configuration that allow a refused address, to be added to what is there; null if no
 * configuration allows it, or none should.
 */
export function guardLines(text: string, refusal: AddressRefusal): string[] | null {
  const url = peerUrl(text)
  if (!LIFTABLE.has(refusal) || url === null) return null
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const entry = { allow_targets: [host], allow_http: url.protocol === 'http:' }
  const allowed = createAllowed(entry)
  const parsed = parseTarget(text, allowed)
  if (!parsed.ok) return null
  const { literal } = parsed.target
  if (literal !== null && !isPublic(literal) && !own_networks.has(literal)) return null
  return [
    '[guard]',
    `allow_targets = [${JSON.stringify(host)}]`,
    ...(entry.allow_http ? ['allow_http = true'] : []),
  ]
}
