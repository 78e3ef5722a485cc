import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import type { LeaseServer } from './lease-servers.ts'
import { litestreamCommands } from './litestream.ts'
import { PROGRAM } from './process.ts'

const WAIT_MS = 60_000

/** A line of a daemon's log. */
type Line = { event: string; [field: string]: unknown }

/** A node that runs as a process of its own. */
export type NodeProcess = {
  pid: number
  lines: Line[]
  /** Waits for the next line with this event, past those that an earlier call has returned. */
  next(event: string): Promise<Line>
  /** Ends it with a signal; its exit code, null if the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>
  exited: Promise<number>
}

type PairOptions = {
  dir: string
  lease: string
  platform: { url: string; session_cookie: string }
  /** The executable of Litestream. */
  litestream: string
}

/** Nodes of one lease in folders of `dir`, which replicate by Litestream to a folder. They end with `stopAll`. */
function nodePair({ dir, lease, platform, litestream }: PairOptions) {
  const running = new Set<NodeProcess>()
  const folderOf = (name: string) => join(dir, name)
  const configOf = (name: string) => join(dir, `${name}.toml`)
  /** While there is this file, the node cannot restore. */
  const brokenOf = (name: string) => join(dir, `broken-${name}`)
  /** While this file exists, SIGTERM does not end the node's replication. */
  const heldOf = (name: string) => join(dir, `held-${name}`)
  const replicas = join(dir, 'replicas')
  const prepared = new Set<string>()

  /** Writes the configuration of a node; `more` is added to [standby]. The first node's key is given to the others. */
  function prepare(name: string, { key_of, more = '' }: { key_of?: string; more?: string } = {}) {
    const commands = litestreamCommands(litestream, {
      dir,
      database: join(folderOf(name), 'forumd.sqlite'),
      name,
      replicas,
    })
    const [shell = '', option = '', script = '', ...rest] = commands.restore
    const restore = [shell, option, `test ! -e ${brokenOf(name)} || exit 3; ${script}`, ...rest]
    // Litestream dies with the shell, so that killing the one is killing both.
    const replicate = [
      'sh',
      '-c',
      `setpriv --pdeathsig KILL "$@" & trap 'while test -e ${heldOf(name)}; do sleep 0.05; done; kill $!' TERM; wait $!; wait $!`,
      'sh',
      ...commands.replicate,
    ]
    writeFileSync(
      configOf(name),
      `[server]
port = 0
[storage]
dir = "${folderOf(name)}"
[platform]
base_url = "${platform.url}"
session_cookie = "${platform.session_cookie}"
timeout_s = 0.5
[delivery]
timeout_s = 0.5
[guard]
allow_targets = ["127.0.0.0/8"]
allow_http = true
[log]
json = true
level = "debug"
[standby]
lease = "${lease}"
name = "${name}"
ttl_s = 6
skew_s = 0.2
replicate = ${JSON.stringify(replicate)}
restore = ${JSON.stringify(restore)}
restore_every_s = 1
${more}`,
    )
    prepared.add(name)
    if (key_of === undefined || existsSync(folderOf(name))) return
    mkdirSync(folderOf(name))
    cpSync(join(folderOf(key_of), 'secrets.key'), join(folderOf(name), 'secrets.key'))
  }

  /** The process that replicates a node's database; null: none runs. */
  function replicatorOf(name: string): number | null {
    try {
      const pid = Number(readFileSync(join(folderOf(name), 'replicate.pid'), 'utf8'))
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('litestream') ? pid : null
    } catch {
      return null
    }
  }

  /** Litestream itself, a child of the process that replicates. */
  function litestreamOf(name: string): number | null {
    const pid = replicatorOf(name)
    if (pid === null) return null
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
    return child ? Number(child) : null
  }

  function start(name: string): NodeProcess {
    const child = Bun.spawn([...PROGRAM, 'serve', '--config', configOf(name)], {
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const lines: Line[] = []
    let read = 0
    let rest = ''
    void (async () => {
      const decoder = new TextDecoder()
      for await (const chunk of child.stdout) {
        rest += decoder.decode(chunk, { stream: true })
        const whole = rest.split('\n')
        rest = whole.pop() ?? ''
        for (const line of whole) if (line.startsWith('{')) lines.push(JSON.parse(line))
      }
    })()
    const node: NodeProcess = {
      pid: child.pid,
      lines,
      exited: child.exited,
      async next(event) {
        for (const began = performance.now(); ; await Bun.sleep(20)) {
          for (; read < lines.length; read++) {
            const line = lines[read]
            if (line?.event === event) {
              read++
              return line
            }
          }
          const is_over = child.exitCode !== null || child.signalCode !== null
          if (is_over || performance.now() - began > WAIT_MS)
            throw new Error(
              `${name}, ${child.exitCode ?? 'running'}: no ${event} in ${lines.map((it) => JSON.stringify(it)).join('\n')}`,
            )
        }
      },
      async end(signal) {
        if (child.exitCode === null && child.signalCode === null) child.kill(signal)
        await child.exited
        running.delete(node)
        return child.exitCode
      },
    }
    running.add(node)
    return node
  }

  return {
    folderOf,
    configOf,
    brokenOf,
    heldOf,
    prepare,
    replicatorOf,
    litestreamOf,
    start,
    async stopAll() {
      // A stopped process takes no other signal.
      await Promise.all([...running].map((it) => it.end('SIGKILL')))
      // The processes that replicate outlive them.
      for (const name of prepared) {
        const pid = replicatorOf(name)
        if (pid !== null) process.kill(pid, 'SIGKILL')
      }
    },
  }
}

/** A lease, an empty platform, and a pair of nodes that have them; disposing of it ends all of them. */
export async function startPair({
  dir,
  startLease,
  litestream,
}: Pick<PairOptions, 'dir' | 'litestream'> & { startLease: () => Promise<LeaseServer> }) {
  await using stack = new AsyncDisposableStack()
  const lease = stack.use(await startLease())
  const platform = stack.use(
    await startSandbox({ port: 0, seed: 1, speed: 0, world: 'empty', now: Date.now }),
  )
  const pair = nodePair({ dir, lease: lease.url, platform, litestream })
  stack.defer(pair.stopAll)
  const owned = stack.move()
  return { ...pair, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Calls `look` until it returns a value other than null; `every_ms` is longer where a look starts a process. */
export async function until<T>(
  look: () => Promise<T | null> | T | null,
  every_ms = 100,
): Promise<T> {
  for (const began = performance.now(); ; await Bun.sleep(every_ms)) {
    const found = await look()
    if (found !== null) return found
    if (performance.now() - began > WAIT_MS) throw new Error('it did not happen in time')
  }
}
