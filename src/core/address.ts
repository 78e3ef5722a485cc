import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

// The alternative not taken is a library's idea of "private": each one tried lets cloud-internal, transition
// or unallocated ranges through. Here IPv6 says what is public, and IPv4 names every special range.
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
  // A cloud's own management address, public to look at.
  '168.63.129.16/32',
]
const GLOBAL_V6 = ['2000::/3']
const NOT_PUBLIC_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

// Names that mean something only inside somebody's network, whatever a resolver says about them.
const INNER_SUFFIXES = new Set(
  `localhost local internal localdomain lan corp home intranet private test example invalid onion alt consul
   svc home.arpa metadata.goog metadata.tencentyun.com api.metadata.cloud.ibm.com`.split(/\s+/),
)

// The ports that the fetch standard blocks: other protocols listen there and can be made to misread HTTP.
const BAD_PORTS = new Set(
  `1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123
   135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993
   995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080`.split(
    /\s+/,
  ),
)

const URL_LENGTH_MAX = 2048
const NAME_LENGTH_MAX = 253

/** Of several addresses of one name, how many are tried when nothing listens at the first. */
export const ADDRESSES_MAX = 3

/** Why an address is refused, as a sentence for whoever named it. None repeats what was resolved. */
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
export type Refusal = keyof typeof REFUSALS

type Networks = { has(address: string): boolean }

/** A set of addresses given as CIDRs or single addresses. Throws for what is neither. */
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

const not_public_v4 = createNetworks(NOT_PUBLIC_V4)
const global_v6 = createNetworks(GLOBAL_V6)
const not_public_v6 = createNetworks(NOT_PUBLIC_V6)

/** Whether an IP address belongs to the public internet. Anything that is no plain address does not. */
export function isPublic(address: string): boolean {
  if (isIPv4(address)) return !not_public_v4.has(address)
  if (!isPlainAddress(address)) return false
  return global_v6.has(address) && !not_public_v6.has(address)
}

// A zone (fe80::1%eth0) names one of our own interfaces and has no place in what comes from outside.
const isPlainAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes('%')

/** What the operator lets customers name although it is not public (`[guard]`). */
export type Allowed = {
  names: ReadonlySet<string>
  /** Null when no network is allowed. */
  networks: Networks | null
  http: boolean
}

const isNetwork = (target: string): boolean => isIP(target.split('/')[0] ?? '') !== 0

/** Sorts `allow_targets` into CIDRs and host names. */
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

/** An address somebody named, taken apart once. Only `host` may be resolved and dialled. */
export type Target = {
  url: URL
  /** Lower case, without brackets and final dot. */
  host: string
  /** Set when the host is an IP address and needs no DNS. */
  literal: string | null
  /** The operator allows this host by name. */
  named: boolean
  /** What is wrong with it unless every address it has is in an allowed network. */
  unless_allowed: Refusal | null
}

/** An address taken apart, or why nobody may be sent there. */
export type Parsed = { ok: true; target: Target } | { ok: false; refusal: Refusal }

const refuse = (refusal: Refusal): { ok: false; refusal: Refusal } => ({ ok: false, refusal })

/** Reads the address of a target. What needs the resolver's answers is left to {@link judgeAddresses}. */
export function parseTarget(text: string, allowed: Allowed): Parsed {
  // oxlint-disable-next-line no-control-regex -- these are the characters to keep out
  if (text.length > URL_LENGTH_MAX || !/^[^\x00-\x20\x7f\\]+$/.test(text))
    return refuse('malformed')
  const authority = /^(https?):\/\/([^/?#]+)/.exec(text)
  if (!authority || (authority[1] === 'http' && !allowed.http)) return refuse('not_https')
  if (!URL.canParse(text)) return refuse('malformed')

  const url = new URL(text)
  if (url.username !== '' || url.password !== '' || authority[2]?.includes('@'))
    return refuse('userinfo')
  if (url.port === '0') return refuse('port')

  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const literal = isIP(host) === 0 ? null : host
  // 0177.1, 2130706433 and their kind are read as IPv4 by some and as names by others.
  if (isIPv4(host) && authority[2]?.replace(/:\d*$/, '') !== host) return refuse('spelling')

  const named = allowed.names.has(host)
  const wrong: Refusal | null =
    literal === null && !isPublicName(host)
      ? 'name'
      : BAD_PORTS.has(url.port)
        ? 'port'
        : url.protocol === 'http:'
          ? 'not_https'
          : null
  // With no network allowed, the resolver need not hear of it.
  if (wrong && !named && allowed.networks === null) return refuse(wrong)
  return { ok: true, target: { url, host, literal, named, unless_allowed: named ? null : wrong } }
}

/** Whether a target may be dialled, given every address its name resolved to; null when it may. */
export function judgeAddresses(
  { named, unless_allowed }: Target,
  addresses: readonly string[],
  allowed: Allowed,
): Refusal | null {
  if (addresses.length === 0) return 'unresolved'
  if (!addresses.every(isPlainAddress)) return 'not_public'
  const isAllowed = (address: string) => allowed.networks?.has(address) ?? false
  if (named || addresses.every(isAllowed)) return null
  if (unless_allowed) return unless_allowed
  // One private answer among public ones is how a rebinding attack begins: refuse them all.
  return addresses.every((it) => isPublic(it) || isAllowed(it)) ? null : 'not_public'
}

/** A full domain name that the public DNS could know: its form, and no suffix of the inner kind. */
export function isPublicName(name: string): boolean {
  const labels = name.split('.')
  if (labels.length < 2 || name.length > NAME_LENGTH_MAX) return false
  if (!labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label))) return false
  if (/^(\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '')) return false
  return !labels.some((_, from) => INNER_SUFFIXES.has(labels.slice(from).join('.')))
}
