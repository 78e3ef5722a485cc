import { spawn, spawnSync } from 'node:child_process'
import { appendFileSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A server that runs until it is disposed; `pid` can be stopped and continued. */
export type LeaseServer = AsyncDisposable & { url: string; port: number; pid: number }

const START_MS = 20_000
const LOOPBACK = '127.0.0.1'

async function freePort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const server = createServer().listen(0, '127.0.0.1', () => {
    const at = server.address()
    server.close(() => resolve(at !== null && typeof at === 'object' ? at.port : 0))
  })
  return promise
}

const DEBIAN = '/usr/lib/postgresql'

/** The folder of PostgreSQL's own programs; null if it is not installed. */
function postgresPrograms(): string | null {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).toSorted() : []
  const folder = join(DEBIAN, versions.at(-1) ?? 'none', 'bin')
  return existsSync(join(folder, 'initdb')) ? folder : null
}

export const hasPostgres = (): boolean => postgresPrograms() !== null
export const hasEtcd = (): boolean => Bun.which('etcd') !== null

/** PostgreSQL refuses to run as root. */
const UNPRIVILEGED = 65_534
const user = () => (process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {})

/** Starts the PostgreSQL of this machine with an empty cluster, at one of its addresses, for all that reach it. */
export async function startPostgres(address = LOOPBACK): Promise<LeaseServer> {
  const programs = postgresPrograms()
  if (programs === null) throw new Error('PostgreSQL is not installed')
  const dir = mkdtempSync(join(tmpdir(), 'forumd-pg-'))
  const as = user()
  if (as.uid !== undefined) chownSync(dir, as.uid, as.gid)
  const data = join(dir, 'data')
  const made = spawnSync(
    join(programs, 'initdb'),
    ['-D', data, '-A', 'trust', '-U', 'forumd', '--no-sync'],
    { cwd: dir, ...as },
  )
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr.toString()}`)
  if (address !== LOOPBACK)
    appendFileSync(join(data, 'pg_hba.conf'), 'host all all 0.0.0.0/0 trust\n')
  const port = await freePort()
  const child = spawn(
    join(programs, 'postgres'),
    ['-D', data, '-p', String(port), '-k', dir, '-h', address, '-F'],
    { cwd: dir, stdio: 'ignore', ...as },
  )
  const url = `postgres://forumd@${address}:${port}/postgres`
  await answering(async () => {
    const sql = new Bun.SQL(url, { max: 1 })
    try {
      await sql`SELECT 1`
    } finally {
      await sql.close({ timeout: 0 })
    }
  })
  return serverOf(child, { url, port, dir })
}

/** Starts the etcd of this machine with an empty store, at one of its addresses. */
export async function startEtcd(address = LOOPBACK): Promise<LeaseServer> {
  const dir = mkdtempSync(join(tmpdir(), 'forumd-etcd-'))
  const [port, peer] = [await freePort(), await freePort()]
  const client = `http://${address}:${port}`
  const between = `http://127.0.0.1:${peer}`
  const child = spawn(
    'etcd',
    [
      `--data-dir=${join(dir, 'data')}`,
      '--name=one',
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${between}`,
      `--initial-advertise-peer-urls=${between}`,
      `--initial-cluster=one=${between}`,
    ],
    { stdio: 'ignore' },
  )
  await answering(async () => {
    const answer = await (await fetch(`${client}/health`)).text()
    if (!answer.includes('"true"')) throw new Error('etcd has no leader')
  })
  return serverOf(child, { url: `etcd://${address}:${port}/forumd/lease`, port, dir })
}

async function answering(attempt: () => Promise<void>): Promise<void> {
  for (const began = performance.now(); ; await Bun.sleep(50)) {
    try {
      return await attempt()
    } catch (error) {
      if (performance.now() - began > START_MS) throw error
    }
  }
}

function serverOf(
  child: ReturnType<typeof spawn>,
  { dir, ...at }: { url: string; port: number; dir: string },
): LeaseServer {
  return {
    ...at,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      if (child.exitCode === null) {
        child.kill('SIGKILL')
        await gone
      }
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

const etagOf = (text: string) => `"${Bun.MD5.hash(text, 'hex')}"`

/**
 * An object store with conditional writes, written from Amazon's documentation of them: none was found that runs here. It
 * checks neither signatures nor dates. `deaf`: it ignores the conditions, as older stores do.
 */
export function startObjectStore({ deaf = false } = {}): LeaseServer {
  const objects = new Map<string, string>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      if (searchParams.get('X-Amz-Signature') === null) return new Response('', { status: 403 })
      const object = objects.get(pathname)
      const etag = object === undefined ? null : etagOf(object)
      const headers = etag === null ? {} : { etag }
      if (request.method === 'GET')
        return new Response(object ?? '', { status: etag === null ? 404 : 200, headers })
      if (request.method === 'DELETE') {
        objects.delete(pathname)
        return new Response(null, { status: 204 })
      }
      const match = request.headers.get('if-match')
      const none = request.headers.get('if-none-match')
      const text = await request.text()
      const now = objects.get(pathname)
      if (!deaf && none === '*' && now !== undefined) return new Response('', { status: 412 })
      if (!deaf && match !== null && now === undefined) return new Response('', { status: 404 })
      if (!deaf && match !== null && etagOf(now ?? '') !== match)
        return new Response('', { status: 412 })
      objects.set(pathname, text)
      return new Response('', { headers: { etag: etagOf(text) } })
    },
  })
  const port = server.port ?? 0
  return {
    url: `s3://id:secret@bucket/forumd/lease.json?endpoint=http://127.0.0.1:${port}`,
    port,
    pid: process.pid,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
