#!/bin/sh
# Installs forumd on this machine: the program, its user, configuration, unit, manual and completions.
#
#   sudo scripts/install.sh                 from a checkout after `bun run build`
#   sudo scripts/install.sh --from FOLDER   from a folder of downloads: the archive for this machine, after checking SHA256SUMS
#   sudo scripts/install.sh --remove        removes it; configuration, data and user stay
#
# BINARY=FILE names the program; PREFIX=/usr/local is the destination; DESTDIR=/folder installs into a folder
# and changes nothing else. Running it again updates everything except the configuration.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefix=${PREFIX:-/usr/local}
dest=${DESTDIR:-}

say() { printf 'forumd: %s\n' "$*"; }
fail() {
  printf 'forumd: %s\n' "$*" >&2
  exit 1
}

# Prints the first of these files that exists.
first_of() {
  for file in "$@"; do
    if [ -f "$file" ]; then
      printf '%s\n' "$file"
      return
    fi
  done
  fail "none of these is there: $*"
}

# Succeeds if systemd runs here and the installation is not into another folder.
manager() { [ -z "$dest" ] && [ -d /run/systemd/system ]; }

from=
case ${1:-} in
  '' | --remove) ;;
  --from)
    from=${2:-}
    [ -d "$from" ] || fail "--from takes a folder, and ${from:-nothing} is none"
    [ -z "${BINARY:-}" ] || fail 'it is --from or BINARY, not both'
    ;;
  *) fail "it takes nothing, --from FOLDER or --remove, not $1" ;;
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
  say "removed. $config, /var/lib/forumd and /var/lib/forumd-instance are left where they are"
  exit 0
fi

# Prints the target of the release for this machine.
machine() {
  case $(uname -m) in
    x86_64 | amd64) arch=x64 glibc=/lib64/ld-linux-x86-64.so.2 ;;
    aarch64 | arm64) arch=arm64 glibc=/lib/ld-linux-aarch64.so.1 ;;
    *) fail "there is no release for $(uname -m): build one from source" ;;
  esac
  # Alpine may have a substitute for glibc's loader.
  if [ -e "$glibc" ] && [ ! -e /etc/alpine-release ]; then libc=''; else libc=-musl; fi
  printf 'linux-%s%s\n' "$arch" "$libc"
}

if [ -n "$from" ]; then
  wanted=$(machine)
  set -- "$from"/forumd-[0-9]*-"$wanted".tar.gz
  [ -f "$1" ] || fail "$from has no forumd-VERSION-$wanted.tar.gz, which is the one for this machine"
  [ $# = 1 ] || fail "$from has more than one for this machine: $*"
  archive=$1
  name=$(basename "$archive")
  [ -f "$from/SHA256SUMS" ] || fail "$from has no SHA256SUMS to hold $name to"
  # The copy is hashed and unpacked: other users may be able to write the folder of downloads, but only root
  # this one. A program runs from there: if /tmp forbids that, TMPDIR names another folder.
  unpacked=$(mktemp -d)
  trap 'rm -rf "$unpacked"' EXIT
  copy=$unpacked/archive.tar.gz
  cp "$archive" "$copy"
  listed=$(awk -v name="$name" '$2 == name { print $1 }' "$from/SHA256SUMS")
  [ -n "$listed" ] || fail "SHA256SUMS does not tell of $name"
  found=$(sha256sum <"$copy" | cut -d ' ' -f 1)
  [ "$listed" = "$found" ] || fail "$name is not what was released: its SHA-256 is $found, and SHA256SUMS says $listed"
  tar -xzof "$copy" -C "$unpacked"
  here=$unpacked/${name%.tar.gz}
  say "$name is what SHA256SUMS says"
fi

binary=${BINARY:-$(first_of "$here/bin/forumd" "$here/../dist/forumd")}
example=$(first_of "$here/share/doc/forumd/config.example.toml" "$here/../config.example.toml")
"$binary" version >/dev/null || fail "$binary does not run here"

# put MODE FILE COMMAND...: writes the output of the command to the file, atomically, without changing a running
# program.
put() {
  mode=$1 file=$dest$2
  shift 2
  mkdir -p "$(dirname "$file")"
  "$@" >"$file.new" || {
    rm -f "$file.new"
    fail "$file could not be made: $* failed"
  }
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
  # It may hold secrets: readable by root and the daemon only. Written to a second file first: a partial one
  # would count as the operator's own at the next run.
  (umask 027 && sed -e 's|^dir = "\./data"$|dir = "/var/lib/forumd"|' \
    -e 's|^instance_file = ""$|instance_file = "/var/lib/forumd-instance/id"|' "$example" >"$dest$config.new") || {
    rm -f "$dest$config.new"
    fail "$dest$config could not be made"
  }
  chmod 750 "$dest/etc/forumd"
  chmod 640 "$dest$config.new"
  if [ -z "$dest" ]; then chown root:forumd /etc/forumd "$config.new"; fi
  mv "$dest$config.new" "$dest$config"
  say "edit $config, its [[source]] tables first, then: systemctl enable --now forumd"
fi

if manager; then
  systemctl daemon-reload
  systemctl try-restart forumd.service
fi
say "installed as $program"
