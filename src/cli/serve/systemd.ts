import { basename, isAbsolute } from 'node:path'

import type { Log } from '../../runtime/runtime.ts'
import type { Notifier } from '../../runtime/systemd.ts'
import { command, EXIT, type RunningDaemon, UsageError } from '../command.ts'

/** Interval of status updates without a watchdog, in ms. */
const STATUS_INTERVAL_MS = 10_000
/** Watchdog periods that a loop may be late before the signals stop: a slow disk or site is no frozen process. */
const STUCK_PERIODS = 8
/** Three watchdog signals per timeout: a busy machine may delay one of them. */
const SIGNS = 3

/**
 * Sends status and watchdog signals to the service manager, until `signal` aborts. While a loop is stuck no watchdog signal
 * is sent, so that systemd restarts the daemon: one that answers calls but delivers nothing is not alive.
 */
export async function reportStatus(
  { notify, watchdog_ms, listens }: Notifier,
  daemon: Pick<RunningDaemon, 'stuck' | 'statusLine'>,
  { sleep, log, signal }: { sleep: Sleep; log: Log; signal: AbortSignal },
): Promise<void> {
  if (!listens) return
  let last_status = ''
  let is_stuck = false
  const every_ms = Math.min(STATUS_INTERVAL_MS, (watchdog_ms ?? Infinity) / SIGNS)
  while (!signal.aborted) {
    const stuck = watchdog_ms === null ? null : daemon.stuck(watchdog_ms * STUCK_PERIODS)
    if (stuck !== null && !is_stuck) log('error', 'serve.stuck', { ...stuck })
    if (stuck === null && watchdog_ms !== null) notify('WATCHDOG=1')
    is_stuck = stuck !== null
    const status = `STATUS=${stuck === null ? statusLineOf(daemon) : `the ${stuck.loop} loop is stuck`}`
    if (status !== last_status) notify(status)
    last_status = status
    await sleep(every_ms, signal)
  }
}

type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

/** The status line; a failing database is reported by the code that uses it. */
function statusLineOf({ statusLine }: Pick<RunningDaemon, 'statusLine'>): string {
  try {
    return statusLine()
  } catch {
    return 'the database does not answer'
  }
}

export type UnitOptions = {
  /** Absolute path of the program. */
  binary: string
  /** Absolute path of the configuration. */
  config: string
  /** Allows Chromium, whose sandbox needs more permissions than the daemon. */
  with_browser: boolean
}

/** Restrictions for a daemon that uses the network and writes to its own folders. */
const ALWAYS = `
# Access limited to its own folders and the network.
User=forumd
Group=forumd
UMask=0077
# The second holds the record of which instance belongs in the first ([storage].instance_file).
StateDirectory=forumd forumd-instance
StateDirectoryMode=0700
WorkingDirectory=%S/forumd
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
DevicePolicy=closed
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
PrivateIPC=yes
RemoveIPC=yes
KeyringMode=private
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
# Not MemoryDenyWriteExecute: it disables the JIT, and the daemon is ten times slower without it.`

const ALONE = `
PrivateUsers=yes
ProtectProc=invisible
ProcSubset=pid
RestrictNamespaces=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM`

const BESIDE_A_BROWSER = `
# Chromium's sandbox uses namespaces and a chroot, and reads other processes in /proc.
ProtectProc=default
RestrictNamespaces=user pid net
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
SystemCallFilter=@system-service chroot seccomp
SystemCallFilter=~@clock @cpu-emulation @debug @module @obsolete @raw-io @reboot @swap
SystemCallErrorNumber=EPERM
# Shared memory of browser pages.
TemporaryFileSystem=/dev/shm:mode=1777,nosuid,nodev,size=512M`

// The kernel also counts page cache and socket buffers, which are reclaimed first.
const MEMORY_ALONE = `# The daemon needs 60 to 120 MiB and what limits.in_flight_mib allows. Beyond MemoryHigh it is throttled and its page
# cache is reclaimed; beyond MemoryMax it is killed and restarted.
MemoryHigh=512M
MemoryMax=768M
OOMPolicy=stop`

const MEMORY_BESIDE_A_BROWSER = `# The daemon needs 60 to 120 MiB and what limits.in_flight_mib allows, each page of [browser].max_pages about 350. Beyond
# MemoryMax the largest process is killed: a browser page, which does not affect the daemon.
MemoryHigh=1536M
MemoryMax=2G
OOMPolicy=continue`

/** A service unit for systemd 252 and later. */
export function serviceUnit({ binary, config, with_browser }: UnitOptions): string {
  return `# forumd.service, as \`forumd service-unit${with_browser ? ' --with-browser' : ''}\` wrote it.
# Install it as /etc/systemd/system/forumd.service, then: systemctl daemon-reload && systemctl enable --now forumd

[Unit]
Description=forumd, a forum platform by API, monitors and webhooks
Documentation=man:forumd(1)
Wants=network-online.target
After=network-online.target nss-lookup.target time-sync.target
# Requires the volumes of these folders: an unmounted one looks like an empty folder.
RequiresMountsFor=%S/forumd %S/forumd-instance ${quotedPath(config)}
# No limit on restarts: a long failure may end without intervention, and the daemon must then start.
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart=${quoted(binary)} serve --config ${quoted(config)}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=1s
# 2: the configuration is wrong. 78: the database is missing, damaged or another one. A restart fixes neither; 75 requests one.
RestartPreventExitStatus=2 78
# A migration may take long on a large database; a stop finishes work in progress, for at most 15 s.
TimeoutStartSec=30min
TimeoutStopSec=30s
# A frozen process is restarted within 10 s, a loop of polls or deliveries that does not advance after a minute. Commits
# survive a kill at any moment.
WatchdogSec=8s
WatchdogSignal=SIGKILL
# Secrets named "file:NAME" in the configuration, and the key file, readable by root only:
#LoadCredential=secrets.key:/etc/forumd/secrets.key
#LoadCredential=smtp-url:/etc/forumd/smtp-url
LimitNOFILE=65536
# A core dump holds the key of the secrets.
LimitCORE=0
# The metadata services of clouds.
IPAddressDeny=169.254.0.0/16 fe80::/10
${with_browser ? MEMORY_BESIDE_A_BROWSER : MEMORY_ALONE}
SyslogIdentifier=forumd
${ALWAYS}${with_browser ? BESIDE_A_BROWSER : ALONE}

[Install]
WantedBy=multi-user.target
`
}

/** A unit for the service manager of a user, whose files it uses. */
export const userUnit = ({ binary, config }: Pick<UnitOptions, 'binary' | 'config'>): string =>
  `# forumd.service, as \`forumd init\` wrote it: systemctl --user enable --now PATH
# \`loginctl enable-linger\` keeps it running while its user is not logged in.

[Unit]
Description=forumd, a forum platform by API, monitors and webhooks
Documentation=man:forumd(1)
# No limit on restarts: a long failure may end without intervention, and the daemon must then start.
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart=${quoted(binary)} serve --config ${quoted(config)}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=1s
# As in the unit of \`forumd service-unit\`: a restart does not help.
RestartPreventExitStatus=2 78
TimeoutStartSec=30min
TimeoutStopSec=30s
WatchdogSec=8s
WatchdogSignal=SIGKILL
UMask=0077
NoNewPrivileges=yes
LimitNOFILE=65536
LimitCORE=0
SyslogIdentifier=forumd

[Install]
WantedBy=default.target
`

/** Quotes one word of a command line for systemd: no expansion, no splitting. */
const quoted = (path: string): string => quotedPath(path.replace(/\$/g, '$$$$'))

/** One path of a list, where variables are not expanded. */
const quotedPath = (path: string): string => {
  const safe = path.replace(/%/g, '%%')
  return /^[\w./@:+,=%$-]+$/.test(safe) ? safe : `"${safe.replace(/["\\]/g, '\\$&')}"`
}

const BINARY = '/usr/bin/forumd'
const CONFIG = '/etc/forumd/forumd.toml'

export const serviceUnitCommand = command({
  name: 'service-unit',
  summary: 'prints a hardened systemd unit',
  options: {
    'with-browser': {
      type: 'boolean',
      help: 'allow Chromium, for logins and comments by browser',
    },
    binary: {
      type: 'string',
      value: 'PATH',
      help: 'path of the program (default: this one)',
    },
  },
  examples: [
    'forumd service-unit | sudo tee /etc/systemd/system/forumd.service',
    'forumd service-unit --with-browser --config /etc/forumd/forumd.toml',
  ],
  notes: `The unit runs as user forumd (useradd --system forumd), stores its data in /var/lib/forumd (set [storage].dir to it) and its instance record in /var/lib/forumd-instance (for [storage].instance_file), and reads ${CONFIG} unless --config names another file. systemd restarts it after exit code 75 or a crash, not after 2 or 78.`,
  run({ values, stdout }) {
    stdout.write(
      serviceUnit({
        binary: absolute('binary', values.binary ?? ownBinary()),
        config: absolute('config', values.config ?? CONFIG),
        with_browser: values['with-browser'],
      }),
    )
    return Promise.resolve(EXIT.done)
  },
})

export const ownBinary = (): string =>
  basename(process.execPath).startsWith('bun') ? BINARY : process.execPath

function absolute(option: string, path: string): string {
  // A line break would end the setting.
  if (isAbsolute(path) && !/[\n\r\0]/.test(path)) return path
  throw new UsageError(`--${option} is "${path}": a unit needs a path that begins with /`)
}
