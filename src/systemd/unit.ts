/** What a unit is written for. */
export type UnitOptions = {
  /** Where the program lies, absolute. */
  binary: string
  /** The configuration, absolute. */
  config: string
  /** Chromium runs inside: its own sandbox needs what a daemon alone does not. */
  with_browser: boolean
}

/** What a daemon that speaks to the network and writes to one folder does without. */
const ALWAYS = `
# What the daemon may touch: its own folder, and the network.
User=forumd
Group=forumd
UMask=0077
StateDirectory=forumd
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
# Not MemoryDenyWriteExecute: it takes the JIT away, and the daemon runs ten times slower without it.`

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
# Chromium's sandbox is made of namespaces and a chroot, and it looks at its neighbours in /proc.
ProtectProc=default
RestrictNamespaces=user pid net
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
SystemCallFilter=@system-service chroot seccomp
SystemCallFilter=~@clock @cpu-emulation @debug @module @obsolete @raw-io @reboot @swap
SystemCallErrorNumber=EPERM
# Fonts and shared memory of a browser's pages.
TemporaryFileSystem=/dev/shm:mode=1777,nosuid,nodev,size=512M`

/** A service unit for systemd 252 and later. */
export function serviceUnit({ binary, config, with_browser }: UnitOptions): string {
  return `# forumd.service, as \`forumd service-unit${with_browser ? ' --with-browser' : ''}\` printed it.
# Put it at /etc/systemd/system/forumd.service, then: systemctl daemon-reload && systemctl enable --now forumd

[Unit]
Description=forumd, a forum platform by API, monitors and webhooks
Documentation=man:forumd(1)
Wants=network-online.target
After=network-online.target nss-lookup.target time-sync.target
# A daemon that keeps failing is left alone after a while, for somebody to look at it.
StartLimitIntervalSec=10min
StartLimitBurst=20

[Service]
Type=notify
NotifyAccess=main
ExecStart=${quoted(binary)} serve --config ${quoted(config)}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=2s
# 2: the configuration is wrong. 78: the database is missing or damaged. No restart mends these; 75 asks for one.
RestartPreventExitStatus=2 78
# A step of an upgrade may take its time on a large database; an end finishes what is under way, for 15 s at most.
TimeoutStartSec=30min
TimeoutStopSec=30s
# A sign of life is given only while polls and deliveries advance. Every commit is safe from a kill at any moment.
WatchdogSec=60s
WatchdogSignal=SIGKILL
# Secrets that the configuration names as "file:NAME", and the key file, owned by root and read by nobody else:
#LoadCredential=secrets.key:/etc/forumd/secrets.key
#LoadCredential=smtp-url:/etc/forumd/smtp-url
LimitNOFILE=65536
OOMPolicy=continue
SyslogIdentifier=forumd
${ALWAYS}${with_browser ? BESIDE_A_BROWSER : ALONE}

[Install]
WantedBy=multi-user.target
`
}

/** One word of a command line, as systemd reads it: no expansion, no second word. */
const quoted = (path: string): string => {
  const safe = path.replace(/%/g, '%%').replace(/\$/g, '$$$$')
  return /^[\w./@:+,=%$-]+$/.test(safe) ? safe : `"${safe.replace(/["\\]/g, '\\$&')}"`
}
