#!/bin/sh
# Puts forumd on this machine: the program, its user, its configuration, its unit, its manual and completions.
#
#   sudo scripts/install.sh            from a checkout after `bun run build`, or from an unpacked release
#   sudo scripts/install.sh --remove   takes it away again; configuration, data and user stay
#
# BINARY=FILE names the program; PREFIX=/usr/local is where it goes; DESTDIR=/folder builds into a folder and touches
# nothing else. A second time it brings all up to date but the configuration, which is the operator's.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefix=${PREFIX:-/usr/local}
dest=${DESTDIR:-}

say() { printf 'forumd: %s\n' "$*"; }
fail() {
  printf 'forumd: %s\n' "$*" >&2
  exit 1
}

# The first of these files that is there.
first_of() {
  for file in "$@"; do
    if [ -f "$file" ]; then
      printf '%s\n' "$file"
      return
    fi
  done
  fail "none of these is there: $*"
}

# Whether there is a systemd to speak to: not when all goes to another folder.
manager() { [ -z "$dest" ] && [ -d /run/systemd/system ]; }

case ${1:-} in
  '' | --remove) ;;
  *) fail "it takes nothing or --remove, not $1" ;;
esac
case $prefix in
  /*) ;;
  *) fail "PREFIX has to begin with /, and is $prefix" ;;
esac
if [ -z "$dest" ] && [ "$(id -u)" != 0 ]; then fail 'run it as root, or with DESTDIR=/folder to build into a folder'; fi

program=$prefix/bin/forumd
config=/etc/forumd/forumd.toml
unit=/etc/systemd/system/forumd.service
sysusers=/usr/local/lib/sysusers.d/forumd.conf
man=$prefix/share/man/man1/forumd.1
bash_completion=$prefix/share/bash-completion/completions/forumd
zsh_completion=$prefix/share/zsh/site-functions/_forumd
fish_completion=$prefix/share/fish/vendor_completions.d/forumd.fish

if [ "${1:-}" = --remove ]; then
  if manager; then systemctl --no-reload disable --now forumd.service || true; fi
  rm -f "$dest$program" "$dest$unit" "$dest$sysusers" "$dest$man" \
    "$dest$bash_completion" "$dest$zsh_completion" "$dest$fish_completion"
  if manager; then systemctl daemon-reload; fi
  say "removed. $config and /var/lib/forumd are left where they are"
  exit 0
fi

binary=${BINARY:-$(first_of "$here/../dist/forumd" "$here/../forumd" "$here/forumd")}
example=$(first_of "$here/../config.example.toml" "$here/config.example.toml")
"$binary" version >/dev/null || fail "$binary does not run here"

# put MODE FILE COMMAND...: what the command prints becomes the file, whole or not at all, and never within a program that
# runs.
put() {
  mode=$1 file=$dest$2
  shift 2
  mkdir -p "$(dirname "$file")"
  "$@" >"$file.new" || fail "$file could not be made: $* failed"
  chmod "$mode" "$file.new"
  mv -f "$file.new" "$file"
}

put 755 "$program" cat "$binary"
put 644 "$unit" "$binary" service-unit --binary "$program" --config "$config"
put 644 "$man" "$binary" man
put 644 "$bash_completion" "$binary" completion bash
put 644 "$zsh_completion" "$binary" completion zsh
put 644 "$fish_completion" "$binary" completion fish
put 644 "$sysusers" echo 'u forumd - "forumd daemon" /var/lib/forumd /usr/sbin/nologin'

if [ -z "$dest" ] && ! id forumd >/dev/null 2>&1; then
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers "$sysusers"
  else
    useradd --system --home-dir /var/lib/forumd --shell /usr/sbin/nologin forumd
  fi
fi

if [ -e "$dest$config" ]; then
  say "$config is there already, and stays as it is"
else
  mkdir -p "$dest/etc/forumd"
  # It may hold secrets: for root and the daemon alone.
  (umask 027 && sed 's|^dir = "\./data"$|dir = "/var/lib/forumd"|' "$example" >"$dest$config")
  chmod 750 "$dest/etc/forumd"
  chmod 640 "$dest$config"
  if [ -z "$dest" ]; then chown root:forumd /etc/forumd "$config"; fi
  say "edit $config, [platform] first, then: systemctl enable --now forumd"
fi

if manager; then
  systemctl daemon-reload
  systemctl try-restart forumd.service
fi
say "installed as $program"
