import { GLIBC_LEAST } from '../release/targets.ts'

/** Control file and maintainer scripts of the package (deb-control(5), deb-postinst(5)). */
export const control = (about: {
  version: string
  arch: string
  size_kib: number
}): string => `Package: forumd
Version: ${about.version}
Architecture: ${about.arch}
Maintainer: The forumd authors <root@localhost>
Installed-Size: ${about.size_kib}
Depends: libc6 (>= ${GLIBC_LEAST}), systemd | systemd-sysusers
Recommends: ca-certificates
Suggests: chromium
Section: net
Priority: optional
Description: read, act on and watch a forum platform by API
 One daemon with an HTTP API, live monitors and signed webhooks, which works
 through the forum accounts of its operator. Everything it keeps is in one
 database file.
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
    # Not started after a first installation: its platform has to be configured. An upgrade restarts it.
    # An invalid configuration is fixed by the operator; repeating dpkg would not help.
    if [ -n "$2" ]; then
      systemctl try-restart forumd.service || echo "forumd: restart failed: forumd check-config; journalctl --unit forumd" >&2
    fi
  fi
  if [ -z "$2" ]; then
    echo "forumd: edit /etc/forumd/forumd.toml, then: systemctl enable --now forumd"
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
