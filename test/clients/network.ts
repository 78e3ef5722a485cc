import { writeFileSync } from 'node:fs'

import { certificate } from '../support/certificate.ts'
import { tempFolder } from '../support/folder.ts'
import type { Report } from './report.ts'

const FIXTURE = Bun.fileURLToPath(import.meta.resolve('./fixture.ts'))

/** Ways to create network and mount namespaces: as the current user, then with a user namespace. */
const NAMESPACE_COMMANDS = [
  ['unshare', '--net', '--mount'],
  ['unshare', '--map-root-user', '--net', '--mount'],
]
// Only loopback, with host names that resolve to it.
const SETTLE = 'mount --bind "$1" /etc/hosts && ip link set lo up && shift && exec "$@"'

const runs = (command: string[]): boolean => {
  try {
    return Bun.spawnSync(command, { stdout: 'ignore', stderr: 'ignore' }).exitCode === 0
  } catch {
    return false
  }
}

/** The command that creates network namespaces here; null: impossible. */
export function findNamespaceCommand(): string[] | null {
  const possible = NAMESPACE_COMMANDS.find((prefix) =>
    runs([...prefix, 'ip', 'link', 'set', 'lo', 'up']),
  )
  return possible ?? null
}

/** Tests that a program exists and succeeds with the arguments. */
export const has = (...command: string[]): boolean => runs(command)

/**
 * Runs an unmodified client script against a platform at the client's built-in host names, with TLS on port 443 in its own
 * network namespace.
 *
 * @throws {Error} the fixture could not start
 */
export async function runClient(
  prefix: readonly string[],
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
    http_proxy: '',
    https_proxy: '',
  }
  const plan = { domain, ...files, command, env }
  writeFileSync(folder.file('plan.json'), JSON.stringify(plan))

  const fixture = [process.execPath, FIXTURE, folder.file('plan.json')]
  const child = Bun.spawn([...prefix, 'sh', '-c', SETTLE, 'sh', folder.file('hosts'), ...fixture], {
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) throw new Error(`the fixture did not start: ${stderr}`)
  return JSON.parse(stdout)
}
