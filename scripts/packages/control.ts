import { GLIBC_LEAST } from '../release/targets.ts'

const MAINTAINER = 'forumd maintainers <forumd@packages.invalid>'

/** The bundle is appended to the executable, which stripping would remove; the runtime has a decoder of pictures. */
export const OVERRIDES = ['unstripped-binary-or-object', 'embedded-library']
  .map((tag) => `forumd: ${tag} *\n`)
  .join('')

/** The configuration of a new installation: valid as it is, and short, so that no release changes it. */
export const CONFFILE = `# Every key with its default: /usr/share/doc/forumd/config.example.toml
# After a change: forumd check-config && systemctl restart forumd
[storage]
dir = "/var/lib/forumd"
instance_file = "/var/lib/forumd-instance/id"

# Needs no account. Others: forumd source add ADDRESS, or the dashboard.
[[source]]
name = "hn"
kind = "hackernews"

[billing]
enabled = false
`

/** The changelog in Debian's format (deb-changelog(5)); the list of changes is CHANGELOG.md beside it. */
export function changelog(version: string, text: string): string {
  const [, date = '2026-01-01'] = /^## \d\S* \((\d{4}-\d\d-\d\d)\)$/m.exec(text) ?? []
  const signed = new Date(`${date}T12:00:00Z`).toUTCString().replace('GMT', '+0000')
  return `forumd (${version}) stable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- ${MAINTAINER}  ${signed}\n`
}

/** Control file and maintainer scripts of the package (deb-control(5), deb-postinst(5)). */
export const control = (about: {
  version: string
  arch: string
  size_kib: number
}): string => `Package: forumd
Version: ${about.version}
Architecture: ${about.arch}
Maintainer: ${MAINTAINER}
Installed-Size: ${about.size_kib}
Depends: libc6 (>= ${GLIBC_LEAST}), systemd | systemd-sysusers
Recommends: ca-certificates
Suggests: chromium
Section: net
Priority: optional
Description: watch forums and send an alert for each post that matches
 One daemon that reads forums, link aggregators, RSS and Atom feeds, and sends
 each post or comment that matches a filter to ntfy, Discord, Slack, Telegram,
 e-mail or a webhook. The same forums are readable through an HTTP API, and a
 dashboard shows all of it.
`

/** Only the configuration is the operator's to change. */
export const CONFFILES = '/etc/forumd/forumd.toml\n'

/** The user that the daemon runs as (sysusers.d(5)). */
export const SYSUSERS = 'u forumd - "forumd daemon" /var/lib/forumd /usr/sbin/nologin\n'

// With DPKG_ROOT the package is installed into another root, where no systemd runs.
const POSTINST = `#!/bin/sh
set -e
if [ "$1" = configure ]; then
  systemd-sysusers \${DPKG_ROOT:+--root="$DPKG_ROOT"} forumd.conf
  # It may hold secrets: readable by the daemon and root only. The operator's own choice is kept.
  if [ -z "$2" ]; then
    group=$(sed -n 's/^forumd:[^:]*:\\([0-9]*\\):.*/\\1/p' "$DPKG_ROOT/etc/group")
    chown "0:$group" "$DPKG_ROOT/etc/forumd" "$DPKG_ROOT/etc/forumd/forumd.toml"
    chmod 750 "$DPKG_ROOT/etc/forumd"
    chmod 640 "$DPKG_ROOT/etc/forumd/forumd.toml"
  fi
  if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    # Not started after a first installation: its sources are the operator's choice. An upgrade restarts it.
    # An invalid configuration is fixed by the operator; repeating dpkg would not help.
    if [ -n "$2" ]; then
      systemctl try-restart forumd.service || echo "forumd: restart failed: forumd check-config; journalctl --unit forumd" >&2
    fi
  fi
  if [ -z "$2" ]; then
    echo "forumd: its sources are in /etc/forumd/forumd.toml. Start it, and sign in:"
    echo "  systemctl enable --now forumd"
    echo "  sudo -u forumd forumd key create --customer me --scopes read,write,monitor,webhook,operator"
    echo "  sudo -u forumd forumd key sign-in-link"
  fi
fi
`
const PRERM = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl --no-reload disable --now forumd.service
fi
`
const POSTRM = `#!/bin/sh
set -e
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
if [ "$1" = purge ]; then
  rmdir "$DPKG_ROOT/etc/forumd" 2>/dev/null || true
  # Credits, deliveries and encrypted secrets are never removed automatically.
  if [ -d "$DPKG_ROOT/var/lib/forumd" ]; then
    echo "forumd: /var/lib/forumd is kept; remove it and /var/lib/forumd-instance if the data is not needed"
  fi
fi
`
export const SCRIPTS = { postinst: POSTINST, prerm: PRERM, postrm: POSTRM }

/** The copyright file of the package (machine-readable debian/copyright, 1.0). */
export const copyright = (
  license: string,
): string => `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: forumd

Files: *
Copyright: The forumd authors
License: Expat
${license
  .trim()
  .split('\n')
  .map((line) => (line.trim() === '' ? ' .' : ` ${line}`))
  .join('\n')}
`
