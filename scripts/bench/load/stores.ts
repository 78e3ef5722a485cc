import { chownSync } from 'node:fs'
import { join } from 'node:path'

import { freePort } from '../../../test/support/port.ts'
import { type Child, flags, program, start, temporaryFolder } from './children.ts'

/** Durability: up to one second of writes is lost on a power failure, or none. */
type Sync = 'everysec' | 'always'

/** Starts a Redis with an append-only file. */
export async function startRedis(folder: string, sync: Sync): Promise<Child & { port: number }> {
  const port = freePort()
  const child = start(
    [
      program('redis-server', 'redis-server'),
      ...flags({
        '--port': String(port),
        '--bind': '127.0.0.1',
        '--dir': folder,
        '--save': '',
        '--appendonly': 'yes',
        '--appendfsync': sync,
        '--maxmemory-policy': 'noeviction',
      }),
    ],
    { cwd: folder },
  )
  for (;;) if ((await child.line()).includes('Ready to accept connections')) break
  void drain(child)
  return Object.assign(child, { port })
}

// Further output is not needed, but a full pipe would block the process.
async function drain(child: Child): Promise<void> {
  try {
    for (;;) await child.line()
  } catch {
    // The process has exited.
  }
}

const POSTGRES = ['15', '16', '17', '18'].map((it) => `/usr/lib/postgresql/${it}/bin`)

/** Starts a PostgreSQL with default settings: every commit waits for the disk. */
export async function startPostgres() {
  await using stack = new AsyncDisposableStack()
  const folder = stack.use(temporaryFolder()).path
  const initdb = program('initdb', 'postgresql', POSTGRES)
  const server = program('postgres', 'postgresql', POSTGRES)
  // PostgreSQL refuses to run as root.
  const as: string[] = []
  if (process.getuid?.() === 0) {
    const [uid, gid] = idsOf('postgres')
    chownSync(folder, uid, gid)
    as.push('setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups')
  }
  const data = join(folder, 'data')
  const created = Bun.spawnSync(
    [...as, initdb, '-D', data, '-A', 'trust', '-U', 'bench', '-E', 'UTF8', '--no-sync'],
    { cwd: folder, stdout: 'ignore', stderr: 'pipe' },
  )
  if (created.exitCode !== 0) throw new Error(`initdb: ${created.stderr.toString()}`)
  const port = freePort()
  const settings = [
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'logging_collector=off',
  ]
  stack.use(
    start(
      [...as, server, '-D', data, '-p', String(port), ...settings.flatMap((it) => ['-c', it])],
      {
        cwd: folder,
        stop: 'SIGINT',
        loud: false,
      },
    ),
  )
  await accepting(port)
  const owned = stack.move()
  return {
    url: `postgres://bench@127.0.0.1:${port}/postgres`,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function idsOf(user: string): [number, number] {
  const of = (flag: string) => Number(Bun.spawnSync(['id', flag, user]).stdout.toString())
  return [of('-u'), of('-g')]
}

async function accepting(port: number): Promise<void> {
  const ready = program('pg_isready', 'postgresql-client', POSTGRES)
  for (let tries = 0; tries < 600; tries++) {
    const { exitCode } = Bun.spawnSync([ready, '-q', '-h', '127.0.0.1', '-p', String(port)])
    if (exitCode === 0) return
    await Bun.sleep(50)
  }
  throw new Error('PostgreSQL did not begin')
}
