/** A network of one machine on which every packet that leaves a program is seen, and none that matters goes anywhere. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'

// Written down a second time on purpose: what counts must not share a mistake with what is counted.
const HOSTILE_V4 = `0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.0.0.0/24,
  192.0.2.0/24, 192.88.99.0/24, 192.168.0.0/16, 198.18.0.0/15, 198.51.100.0/24, 203.0.113.0/24, 224.0.0.0/4,
  240.0.0.0/4, 168.63.129.16/32`
const HOSTILE_V6 = '2001::/23, 2001:db8::/32, 2002::/16, 3fff::/20'

/** Where names are asked for, and where the parties live that the daemon may talk to. */
export const PLACES = { dns: '9.9.9.9', daemon: '8.8.4.1', platform: '8.8.4.2' } as const

/** Somewhere private that one daemon is allowed to reach, to show that what counts does count. */
export const ALLOWED_PRIVATE = '10.11.12.13'

const run = (...command: string[]): string => {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command)
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr.toString().trim()}`)
  return stdout.toString()
}

/** Makes a namespace whose names come from `PLACES.dns`; gone when it is disposed of. */
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

/** Inside of it: an interface, a way for every packet, and counters that look at each connection that is begun. */
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

/** Makes an address one of this machine's own, so that whoever dials it reaches a receiver here. */
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

/** Connections begun to addresses that are not public, datagrams sent to such, and connections begun at all. */
export function readCounters(): { hostile: number; hostile_datagrams: number; begun: number } {
  const counters = run('nft', 'list', 'counters', 'table', 'inet', 'bar')
  const of = (name: string) =>
    Number(new RegExp(`counter ${name} \\{\\s+packets (\\d+)`).exec(counters)?.[1] ?? Number.NaN)
  return { hostile: of('hostile'), hostile_datagrams: of('hostile_datagrams'), begun: of('begun') }
}
