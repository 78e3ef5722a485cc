import { existsSync } from 'node:fs'

/** Address of everything that is not a node, as the nodes see it. */
export const OUTSIDE = '10.80.0.1'

/** The network of one node: a namespace of its own, with a link that can be cut for single ports. */
export type NodeNetwork = {
  /** Address of the node. */
  address: string
  /** A command that runs within the namespace, under the same process id. */
  inside(command: readonly string[]): string[]
  /** Drops every packet from and to these ports of the outside, without either end learning of it. */
  cut(ports: readonly number[]): void
  /** Passes packets again; each kernel sends what it still holds. */
  heal(): void
}

const MARK = 'FORUMD_FAILOVER_NETWORK'
/** A namespace whose run was killed ends after this time. */
const HOLD_S = 7200

/** True where namespaces can be made: Linux, as root, with iproute2 and nftables. */
export const hasNamespaces = (): boolean =>
  process.getuid?.() === 0 &&
  existsSync('/proc/self/ns/net') &&
  ['unshare', 'nsenter', 'ip', 'nft'].every((it) => Bun.which(it) !== null)

/** Continues in a network namespace of its own, so that runs side by side cannot meet. Ends the process with the code of that one. */
export async function enterNetwork(): Promise<void> {
  if (process.env[MARK] === undefined) {
    const child = Bun.spawn(['unshare', '--net', process.execPath, ...process.argv.slice(1)], {
      env: { ...process.env, [MARK]: 'inside' },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.on(signal, () => child.kill(signal))
    process.exit(await child.exited)
  }
  run('ip', 'link', 'set', 'lo', 'up')
  run('ip', 'address', 'add', `${OUTSIDE}/32`, 'dev', 'lo')
  run('nft', 'add', 'table', 'inet', 'cuts')
  const chain = (name: string) =>
    run(
      'nft',
      `add chain inet cuts ${name} { type filter hook ${name} priority 0; policy accept; }`,
    )
  chain('input')
  chain('output')
}

function run(...command: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(command)
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr.toString().trim()}`)
}

/** Makes the network of the node with this number. */
export async function openNetwork(number: number): Promise<NodeNetwork & Disposable> {
  const holder = Bun.spawn(['unshare', '--net', 'sleep', String(HOLD_S)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const inside = (command: readonly string[]) => [
    'nsenter',
    `--target=${holder.pid}`,
    '--net',
    ...command,
  ]
  const own = namespaceOf('self')
  while (namespaceOf(holder.pid) === own) await Bun.sleep(5)
  const near = `node${number}`
  const [router, address] = [`10.80.${number}.1`, `10.80.${number}.2`]
  run(
    'ip',
    'link',
    'add',
    near,
    'type',
    'veth',
    'peer',
    'name',
    'eth0',
    'netns',
    String(holder.pid),
  )
  run('ip', 'address', 'add', `${router}/24`, 'dev', near)
  run('ip', 'link', 'set', near, 'up')
  run(...inside(['ip', 'link', 'set', 'lo', 'up']))
  run(...inside(['ip', 'address', 'add', `${address}/24`, 'dev', 'eth0']))
  run(...inside(['ip', 'link', 'set', 'eth0', 'up']))
  run(...inside(['ip', 'route', 'add', 'default', 'via', router]))
  run('nft', `add set inet cuts ${near} { type inet_service; }`)
  run('nft', `add rule inet cuts input iifname ${near} tcp dport @${near} drop`)
  run('nft', `add rule inet cuts output oifname ${near} tcp sport @${near} drop`)
  return {
    address,
    inside,
    cut: (ports) => run('nft', `add element inet cuts ${near} { ${ports.join(', ')} }`),
    heal: () => run('nft', 'flush', 'set', 'inet', 'cuts', near),
    [Symbol.dispose]: () => holder.kill('SIGKILL'),
  }
}

const namespaceOf = (pid: number | 'self'): string => {
  const { stdout } = Bun.spawnSync(['readlink', `/proc/${pid}/ns/net`])
  return stdout.toString().trim()
}
