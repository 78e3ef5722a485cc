#!/bin/bash
# Boots the Debian in ROOT with its own systemd as pid 1, over a copy-on-write view of it, and exits with it.
# FOLDER is mounted at /probe and holds forumd, forumd.service, forumd.toml and probe.sh; the output of the
# probe goes to FOLDER/log.
#
# usage: unshare --kill-child --mount --cgroup --pid --ipc --uts --net --fork boot.sh ROOT FOLDER
set -eu
debian=$1 folder=$2
mount --make-rprivate /
mkdir -p "$folder/disk"
mount -t tmpfs none "$folder/disk"
mkdir "$folder/disk/upper" "$folder/disk/work" "$folder/disk/root"
mount -t overlay overlay -o "lowerdir=$debian,upperdir=$folder/disk/upper,workdir=$folder/disk/work" "$folder/disk/root"
cd "$folder/disk/root"

mkdir -p probe old etc/forumd volume
mount --bind "$folder" probe
cp "$folder/forumd" usr/bin/forumd
echo 'forumd:x:990:990::/var/lib/forumd:/usr/sbin/nologin' >>etc/passwd
echo 'forumd:x:990:' >>etc/group
cp "$folder/forumd.toml" etc/forumd/
rm -rf etc/systemd/system/*.wants
cp "$folder/forumd.service" etc/systemd/system/
# Equivalent of a line in fstab: the data folder is a volume of its own.
cat >etc/systemd/system/var-lib-forumd.mount <<'UNIT'
[Mount]
What=/volume
Where=/var/lib/forumd
Type=none
Options=bind
UNIT
cat >etc/systemd/system/probe.service <<'UNIT'
[Service]
Type=oneshot
StandardOutput=file:/probe/log
StandardError=file:/probe/log
TimeoutStartSec=infinity
ExecStart=/bin/bash /probe/probe.sh
ExecStopPost=/bin/systemctl --no-block exit
UNIT
printf '[Unit]\nWants=probe.service systemd-journald.service\n' >etc/systemd/system/try.target

mount -t proc proc proc
mount -t tmpfs none run
mount -t tmpfs none tmp
mount --rbind /sys sys
mount --rbind /dev dev
umount -R sys/fs/cgroup
mount -t cgroup2 none sys/fs/cgroup
ip link set lo up
# Not chroot: the kernel allows no user namespace inside a chroot, which the unit needs.
pivot_root . old
cd /
umount -l /old
# As on a real machine: later mounts are visible to the units.
mount --make-rshared /
exec env -i container=podman PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=try.target --log-target=null
