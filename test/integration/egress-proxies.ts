import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Certificate } from '../support/certificate.ts'
import { freePort } from '../support/port.ts'

/**
 * A real proxy on the loopback. Its outgoing connections come from `from`, an address of its own.
 */
export type RunningProxy = { port: number; from: string; [Symbol.asyncDispose](): Promise<void> }

export const USER = 'some user'
export const PASSWORD = 'p@ss:w/rd'

const START_MAX_MS = 15_000
/** Makes a program resolve names from a file, as if they were in its DNS. */
const NAMES = [
  '/usr/lib/x86_64-linux-gnu/libnss_wrapper.so',
  '/usr/lib/aarch64-linux-gnu/libnss_wrapper.so',
].find(existsSync)

const WANTED = {
  tinyproxy: 'tinyproxy',
  microsocks: 'microsocks',
  danted: 'dante-server',
  squid: 'squid',
}

/** Missing Debian packages for real proxies. */
export const missing = (): string[] => [
  ...Object.entries(WANTED).flatMap(([command, name]) =>
    Bun.which(command, { PATH: `${process.env['PATH']}:/usr/sbin` }) ? [] : [name],
  ),
  ...(NAMES ? [] : ['libnss-wrapper']),
]

const isOpen = (port: number): Promise<boolean> =>
  Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } }).then(
    (socket) => (socket.end(), true),
    () => false,
  )

/**
 * Starts a proxy in the foreground and waits until it listens; `write` creates its configuration in
 * a separate folder.
 */
async function start(
  from: string,
  names: Record<string, string>,
  plan: (port: number, dir: string) => { command: string[]; files: Record<string, string> },
): Promise<RunningProxy> {
  const dir = await mkdtemp(join(tmpdir(), 'forumd-proxy-'))
  // Some of them drop privileges before they read it.
  await chmod(dir, 0o777)
  const port = freePort()
  const { command, files } = plan(port, dir)
  for (const [name, text] of Object.entries(files)) await Bun.write(join(dir, name), text)
  const hosts = Object.entries(names).map(([name, address]) => `${address} ${name}\n`)
  await Bun.write(join(dir, 'hosts'), `127.0.0.1 localhost\n${hosts.join('')}`)
  const child = Bun.spawn(command, {
    cwd: dir,
    stdout: Bun.file(join(dir, 'out')),
    stderr: Bun.file(join(dir, 'err')),
    env: {
      ...process.env,
      PATH: `${process.env['PATH']}:/usr/sbin`,
      ...(hosts.length > 0 && { LD_PRELOAD: NAMES, NSS_WRAPPER_HOSTS: join(dir, 'hosts') }),
    },
  })
  const until = Date.now() + START_MAX_MS
  while (!(await isOpen(port))) {
    if (Date.now() > until || child.exitCode !== null) {
      child.kill('SIGKILL')
      const outputs = await Promise.all(
        ['out', 'err', 'cache.log'].map((it) =>
          Bun.file(join(dir, it))
            .text()
            .catch(() => ''),
        ),
      )
      throw new Error(`${command[0]} does not listen:\n${outputs.join('\n')}`)
    }
    await Bun.sleep(20)
  }
  return {
    port,
    from,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await Promise.race([child.exited, Bun.sleep(5_000)])
      child.kill('SIGKILL')
      await child.exited
      await rm(dir, { recursive: true })
    },
  }
}

/** An HTTP proxy with name and password. */
export const startTinyproxy = (names: Record<string, string> = {}) =>
  start('127.0.0.6', names, (port) => ({
    command: ['tinyproxy', '-d', '-c', 'tinyproxy.conf'],
    files: {
      'tinyproxy.conf': `Port ${port}\nListen 127.0.0.1\nBind 127.0.0.6\nTimeout 30\nMaxClients 20
Allow 127.0.0.1\nBasicAuth user ${PLAIN_PASSWORD}\nLogLevel Error\nDisableViaHeader Yes\n`,
    },
  }))

/** A password that tinyproxy's configuration can hold. */
export const PLAIN_PASSWORD = 'secret'

/** A SOCKS 5 proxy with name and password. */
export const startMicrosocks = (names: Record<string, string> = {}) =>
  start('127.0.0.9', names, (port) => ({
    command: 'microsocks -i 127.0.0.1 -b 127.0.0.9 -p'
      .split(' ')
      .concat(String(port), '-u', USER, '-P', PASSWORD),
    files: {},
  }))

/** A SOCKS 4 and 5 proxy without authentication. */
export const startDante = (names: Record<string, string> = {}) =>
  start('127.0.0.8', names, (port) => ({
    command: ['danted', '-f', 'danted.conf', '-p', 'danted.pid'],
    files: {
      'danted.conf': `logoutput: stderr\ninternal: 127.0.0.1 port = ${port}\nexternal: 127.0.0.8
clientmethod: none\nsocksmethod: none\nuser.unprivileged: ${process.env['USER'] ?? 'root'}
client pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }
socks pass { from: 127.0.0.0/8 to: 0.0.0.0/0 protocol: tcp }\n`,
    },
  }))

/** A proxy with http on `port` and TLS on `tls_port`, with name and password. */
export async function startSquid(
  names: Record<string, string>,
  { cert, key }: Certificate,
): Promise<RunningProxy & { tls_port: number }> {
  const tls_port = freePort()
  const hash = Bun.spawnSync(['openssl', 'passwd', '-apr1', PASSWORD]).stdout.toString().trim()
  const hosts = Object.entries(names).map(([name, address]) => `${address} ${name}\n`)
  const running = await start('127.0.0.7', {}, (port, dir) => ({
    // A unique name, which identifies its shared memory.
    command: ['squid', '-N', '-n', `forumd${port}`, '-f', join(dir, 'squid.conf')],
    files: {
      'cert.pem': cert,
      'key.pem': key,
      passwords: `${USER}:${hash}\n`,
      names: hosts.join(''),
      'squid.conf': `http_port 127.0.0.1:${port}
https_port 127.0.0.1:${tls_port} tls-cert=${dir}/cert.pem tls-key=${dir}/key.pem
tcp_outgoing_address 127.0.0.7
hosts_file ${dir}/names
dns_nameservers 127.0.0.1
auth_param basic program /usr/lib/squid/basic_ncsa_auth ${dir}/passwords
auth_param basic children 1
acl known proxy_auth REQUIRED
http_access allow known
http_access deny all
cache deny all
cache_mem 8 MB
pid_filename none
access_log none
cache_log ${dir}/cache.log
coredump_dir ${dir}
cache_effective_user proxy
shutdown_lifetime 0 seconds
pinger_enable off
netdb_filename none
`,
    },
  }))
  return {
    ...running,
    tls_port,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]()
      // Squid does not remove its shared memory.
      for (const part of ['metadata', 'queues', 'readers'])
        await rm(`/dev/shm/forumd${running.port}-cf__${part}.shm`, { force: true })
    },
  }
}
