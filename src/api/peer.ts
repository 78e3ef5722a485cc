import { BlockList, isIP } from 'node:net'

/** Where a call comes from, as far as the daemon can believe it. */
type Peer = {
  /** The caller's address; `unknown` when the socket is gone already. */
  address: string
  /** On this machine, and nobody in between said that he speaks for another. */
  local: boolean
  /** It speaks TLS to a proxy that is believed. */
  tls: boolean
}

/** Tells who is at the other end of a request; `socket` is the address that the connection came from. */
export type PeerOf = (request: Request, socket: string | undefined) => Peer

const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

/** Reads X-Forwarded-For from its trustworthy end: each hop is believed while the one after it is in `trusted_proxies` (CIDRs). */
export function createPeerOf(trusted_proxies: readonly string[]): PeerOf {
  const trusted = new BlockList()
  for (const cidr of trusted_proxies) addNetwork(trusted, cidr)
  const loopback = new BlockList()
  loopback.addSubnet('127.0.0.0', 8, 'ipv4')
  loopback.addAddress('::1', 'ipv6')

  return ({ headers }, socket) => {
    let address = plain(socket ?? '')
    const local = holds(loopback, address) && !FORWARDING.some((name) => headers.has(name))
    const tls = holds(trusted, address) && headers.get('x-forwarded-proto') === 'https'
    const hops = (headers.get('x-forwarded-for') ?? '').split(',').map((hop) => plain(hop.trim()))
    while (holds(trusted, address)) {
      const hop = hops.pop()
      if (hop === undefined || isIP(hop) === 0) break
      address = hop
    }
    return { address: address || 'unknown', local, tls }
  }
}

function addNetwork(list: BlockList, cidr: string) {
  const [address = '', bits] = cidr.split('/')
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family)
}

function holds(list: BlockList, address: string): boolean {
  const family = isIP(address)
  return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/** An IPv4 address that came in through an IPv6 socket is itself again. */
const plain = (address: string) => address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')
