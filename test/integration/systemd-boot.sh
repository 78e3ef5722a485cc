#!/bin/bash
# Boots a systemd of its own over a copy-on-write view of this machine, with forumd.service from $1 and what else $1 has
# to offer, and lets it run $1/probe.sh beside the daemon. Nothing that happens inside stays.
#
# usage: systemd-boot.sh FOLDER SOURCE BUN, in namespaces of its own:
#        unshare --kill-child --mount --cgroup --pid --ipc --uts --fork systemd-boot.sh FOLDER SOURCE BUN
# FOLDER holds forumd.service, forumd.toml and probe.sh; standard output of the probe goes to FOLDER/log.
set -eu
folder=$1 source=$2 bun=$3
mount --make-rprivate /
mkdir -p "$folder/disk"
mount -t tmpfs none "$folder/disk"
mkdir "$folder/disk/upper" "$folder/disk/work" "$folder/disk/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/disk/upper,workdir=$folder/disk/work" "$folder/disk/root"
cd "$folder/disk/root"

mkdir -p opt/source opt/bun probe old
mount --bind "$folder" probe
mount --bind "$source" opt/source
mount --bind "$(dirname "$bun")" opt/bun
printf '#!/bin/sh\nexec /opt/bun/%s /opt/source/src/main.ts "$@"\n' "$(basename "$bun")" >usr/bin/forumd
chmod +x usr/bin/forumd
echo 'forumd:x:990:990::/var/lib/forumd:/usr/sbin/nologin' >>etc/passwd
echo 'forumd:x:990:' >>etc/group
mkdir -p etc/forumd
cp "$folder/forumd.toml" etc/forumd/
rm -rf etc/systemd/system/*.wants
cp "$folder/forumd.service" etc/systemd/system/
cat >etc/systemd/system/probe.service <<UNIT
[Unit]
After=forumd.service
[Service]
Type=oneshot
StandardOutput=file:/probe/log
StandardError=file:/probe/log
TimeoutStartSec=60
ExecStart=/bin/bash /probe/probe.sh
ExecStopPost=/bin/systemctl --no-block exit
UNIT
printf '[Unit]\nWants=forumd.service probe.service systemd-journald.service\n' >etc/systemd/system/try.target

mount -t proc proc proc
mount -t tmpfs none run
mount -t tmpfs none tmp
mount --rbind /sys sys
mount --rbind /dev dev
umount -R sys/fs/cgroup
mount -t cgroup2 none sys/fs/cgroup
# Not chroot: the kernel allows no user namespace inside a chroot, which the unit needs.
pivot_root . old
cd /
umount -l /old
# As a machine boots: what a unit's credentials are mounted on has to be seen by the unit.
mount --make-rshared /
exec env -i container=podman PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=try.target --log-target=null
