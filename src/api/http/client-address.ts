import { BlockList, isIP } from 'node:net'

/** Origin of a call, as far as the configuration trusts the forwarding headers. */
type Peer = {
  /** Address of the caller; `unknown` if the socket is already closed. */
  address: string
  /**
   * Unit for counting calls without a key: the IPv4 address, or the /64 of an IPv6 address, which
   * one subscriber has.
   */
  network: string
  /** True if the caller is on this machine and no proxy forwards it. */
  local: boolean
  /** True if the caller uses TLS to a trusted proxy. */
  tls: boolean
}

/** Finds the caller of a request; `socket` is the remote address of the connection. */
export type PeerOf = (request: Request, socket: string | undefined) => Peer

const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

/**
 * Creates the lookup. Reads X-Forwarded-For from its last hop: a hop is trusted while the one after
 * it is in `trusted_proxies` (CIDRs).
 */
export function createPeerOf(trusted_proxies: readonly string[]): PeerOf {
  const trusted = new BlockList()
  for (const cidr of trusted_proxies) addNetwork(trusted, cidr)
  const loopback = new BlockList()
  loopback.addSubnet('127.0.0.0', 8, 'ipv4')
  loopback.addAddress('::1', 'ipv6')

  return ({ headers }, socket) => {
    let address = unmapIpv4(socket ?? '')
    const is_forwarded = FORWARDING.some((name) => headers.has(name))
    const local = isListed(loopback, address) && !is_forwarded
    const tls = isListed(trusted, address) && headers.get('x-forwarded-proto') === 'https'
    const hops = (headers.get('x-forwarded-for') ?? '')
      .split(',')
      .map((hop) => unmapIpv4(hop.trim()))
    while (isListed(trusted, address)) {
      const hop = hops.pop()
      if (hop === undefined || isIP(hop) === 0) break
      address = hop
    }
    address ||= 'unknown'
    // Callers behind an untrusted local proxy share one count, which must differ from that of this
    // machine's own probes.
    const behind_proxy = isListed(loopback, address) && is_forwarded
    const network = behind_proxy ? `behind ${address}` : networkOf(address)
    return { address, network, local, tls }
  }
}

function addNetwork(list: BlockList, cidr: string) {
  const [address = '', bits] = cidr.split('/')
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family)
}

function isListed(list: BlockList, address: string): boolean {
  const family = isIP(address)
  return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

const NETWORK_GROUPS = 4

/**
 * Normalised /64 of an IPv6 address; other addresses unchanged, including those that begin with 64
 * zero bits.
 */
function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.replace(/%.*$/, '').split('::')
  const left = head.split(':').filter(Boolean)
  // The groups after `::` count only if they reach into the first half; a dotted tail is two
  // groups.
  const right = (tail ?? '').split(':').filter(Boolean)
  const dotted = [...left, ...right].some((group) => group.includes('.')) ? 1 : 0
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length - dotted
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right].slice(0, NETWORK_GROUPS)
  const numbers = groups.map((group) => parseInt(group, 16))
  if (numbers.every((number) => number === 0)) return address
  return `${numbers.map((number) => number.toString(16)).join(':')}::/64`
}

/** Unmaps the IPv4 address of a caller on an IPv6 socket. */
const unmapIpv4 = (address: string) => address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')
