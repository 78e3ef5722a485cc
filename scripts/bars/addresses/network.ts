/**
 * A network within one machine: every packet that leaves a program is counted, and no relevant packet leaves
 * the machine.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'

// Repeated here on purpose: the counters must not share a mistake with the code they check.
const HOSTILE_V4 = `0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.0.0.0/24,
  192.0.2.0/24, 192.88.99.0/24, 192.168.0.0/16, 198.18.0.0/15, 198.51.100.0/24, 203.0.113.0/24, 224.0.0.0/4,
  240.0.0.0/4, 168.63.129.16/32`
const HOSTILE_V6 = '2001::/23, 2001:db8::/32, 2002::/16, 3fff::/20'

/** Addresses of the name server and of the parties that the daemon may connect to. */
export const PLACES = { dns: '9.9.9.9', daemon: '8.8.4.1', platform: '8.8.4.2' } as const

/** A private address that one daemon may reach, to prove that the counters count. */
export const ALLOWED_PRIVATE = '10.11.12.13'

const run = (...command: string[]): string => {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command)
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr.toString().trim()}`)
  return stdout.toString()
}

/** Creates a namespace that resolves names at `PLACES.dns`; disposing of it removes the namespace. */
export function makeNamespace(
  name: string,
): Disposable & { inNamespace: (command: string[]) => string[] } {
  const etc = `/etc/netns/${name}`
  run('ip', 'netns', 'add', name)
  mkdirSync(etc, { recursive: true })
  writeFileSync(`${etc}/resolv.conf`, `nameserver ${PLACES.dns}\noptions timeout:1 attempts:1\n`)
  writeFileSync(`${etc}/nsswitch.conf`, 'hosts: files dns\n')
  return {
    inNamespace: (command) => ['ip', 'netns', 'exec', name, ...command],
    [Symbol.dispose]() {
      run('ip', 'netns', 'delete', name)
      rmSync(etc, { recursive: true, force: true })
    },
  }
}

/**
 * Sets up the namespace from inside: an interface, a route for every packet, and counters of new connections.
 */
export function raiseNetwork(): void {
  run('ip', 'link', 'set', 'lo', 'up')
  for (const address of [...Object.values(PLACES), ALLOWED_PRIVATE]) giveAddress(address)
  run('ip', 'route', 'add', 'default', 'dev', 'lo')
  run('ip', '-6', 'route', 'add', 'default', 'dev', 'lo')
  const syn = 'tcp flags & (syn | ack) == syn'
  const refused = 'reject with tcp reset'
  const rules = `table inet bar {
  counter hostile {}
  counter hostile_datagrams {}
  counter begun {}
  set v4 { type ipv4_addr; flags interval; elements = { ${HOSTILE_V4} } }
  set v6 { type ipv6_addr; flags interval; elements = { ${HOSTILE_V6} } }
  chain leaving {
    type filter hook output priority 0; policy accept;
    ${syn} counter name begun
    ip daddr ${ALLOWED_PRIVATE} ${syn} counter name hostile accept
    ip daddr @v4 ${syn} counter name hostile ${refused}
    ip6 daddr @v6 ${syn} counter name hostile ${refused}
    ip6 daddr != 2000::/3 ${syn} counter name hostile ${refused}
    ip daddr @v4 meta l4proto udp counter name hostile_datagrams drop
    ip6 daddr @v6 meta l4proto udp counter name hostile_datagrams drop
    ip6 daddr != 2000::/3 meta l4proto udp counter name hostile_datagrams drop
  }
}`
  const { exitCode, stderr } = Bun.spawnSync(['nft', '-f', '-'], { stdin: Buffer.from(rules) })
  if (exitCode !== 0) throw new Error(`nft: ${stderr.toString()}`)
}

/** Assigns an address to this machine, so that connections to it reach a local receiver. */
export function giveAddress(address: string): void {
  const six = address.includes(':')
  const { exitCode, stderr } = Bun.spawnSync([
    'ip',
    ...(six ? ['-6'] : []),
    'addr',
    'add',
    `${address}/${six ? 128 : 32}`,
    'dev',
    'lo',
    ...(six ? ['nodad'] : []),
  ])
  if (exitCode !== 0 && !/File exists|already assigned/.test(stderr.toString()))
    throw new Error(`ip addr add ${address}: ${stderr.toString()}`)
}

/** New connections to non-public addresses, datagrams to them, and all new connections. */
export function readCounters(): { hostile: number; hostile_datagrams: number; begun: number } {
  const counters = run('nft', 'list', 'counters', 'table', 'inet', 'bar')
  const of = (name: string) =>
    Number(new RegExp(`counter ${name} \\{\\s+packets (\\d+)`).exec(counters)?.[1] ?? Number.NaN)
  return { hostile: of('hostile'), hostile_datagrams: of('hostile_datagrams'), begun: of('begun') }
}
