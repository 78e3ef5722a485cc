import { writeFileSync } from 'node:fs'

import { certificate } from '../support/certificate.ts'
import { tempFolder } from '../support/folder.ts'
import type { Report } from './report.ts'

const STAGE = Bun.fileURLToPath(import.meta.resolve('./stage.ts'))

/** With a network and mounts of its own, first as who we are, then as a root of its own. */
const WAYS = [
  ['unshare', '--net', '--mount'],
  ['unshare', '--map-root-user', '--net', '--mount'],
]
// Only loopback, and names that lead there and nowhere else.
const SETTLE = 'mount --bind "$1" /etc/hosts && ip link set lo up && shift && exec "$@"'

const runs = (command: string[]): boolean => {
  try {
    return Bun.spawnSync(command, { stdout: 'ignore', stderr: 'ignore' }).exitCode === 0
  } catch {
    return false
  }
}

/** How a network of its own is made here; null where it cannot be. */
export function findWay(): string[] | null {
  const possible = WAYS.find((way) => runs([...way, 'ip', 'link', 'set', 'lo', 'up']))
  return possible ?? null
}

/** Whether a program is there, and does what is asked of it. */
export const has = (...command: string[]): boolean => runs(command)

/**
 * Lets a client, unchanged, tell its story to a platform that answers to the names it has built in: TLS on 443,
 * in a network of its own. Throws when the story could not begin.
 */
export async function tell(
  way: readonly string[],
  domain: string,
  command: string[],
): Promise<Report> {
  using folder = tempFolder()
  const names = ['www', 'oauth', 'old', 'chat'].map((name) => `${name}.${domain}`)
  const { cert, key } = await certificate([domain, `*.${domain}`])
  const files = { cert: folder.file('cert.pem'), key: folder.file('key.pem') }
  writeFileSync(files.cert, cert)
  writeFileSync(files.key, key)
  writeFileSync(folder.file('hosts'), `127.0.0.1 localhost ${domain} ${names.join(' ')}\n`)
  const env = {
    HOME: folder.path,
    REQUESTS_CA_BUNDLE: files.cert,
    NODE_EXTRA_CA_CERTS: files.cert,
    http_proxy: '',
    https_proxy: '',
  }
  const plan = { domain, ...files, command, env }
  writeFileSync(folder.file('plan.json'), JSON.stringify(plan))

  const stage = [process.execPath, STAGE, folder.file('plan.json')]
  const child = Bun.spawn([...way, 'sh', '-c', SETTLE, 'sh', folder.file('hosts'), ...stage], {
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) throw new Error(`the stage was not set: ${stderr}`)
  return JSON.parse(stdout)
}
