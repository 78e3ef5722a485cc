# Runs inside the Debian and prints one line per observation: "NAME: result". `systemd.ts` compares them with
# the expected lines.
property() { systemctl show forumd --property="$1" --value; }
status() { curl --silent --output /dev/null --write-out '%{http_code}' http://127.0.0.1:8099/health/ready; }
# Runs a command until it succeeds, for as many seconds at most.
within() {
  local until=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $until ] || return 1
    sleep 0.2
  done
}
serves() { [ "$(status)" = 200 ]; }
waits() { systemctl show forumd --property=StatusText --value | grep --quiet 'waiting for the disk'; }
failed() { [ "$(property ActiveState)" = failed ]; }
id() { head -n 1 /var/lib/forumd/instance.id; }
# Log entries of this unit at priority warning or above since the mark: a second that begins then. A cursor
# would not work: with a filter, journalctl 252 omits the first entry after it.
mark() { sleep 1.1 && since=$(date +%s); }
warned() {
  journalctl --sync
  journalctl --since "@$since" --unit forumd --priority warning --output cat
}

mount -t tmpfs -o size=120m,nr_inodes=2000 volume /volume
until [ -S /run/systemd/journal/stdout ]; do sleep 0.1; done

# The volume of the data is mounted because the unit wants it.
systemctl start forumd
within 20 serves && echo "first start: $(property ActiveState), volume $(systemctl is-active var-lib-forumd.mount)"
first=$(id)

# A failed mount keeps the daemon stopped, and no data folder is created in its place.
systemctl stop forumd && systemctl stop var-lib-forumd.mount
sed -i 's|What=/volume|What=/not-there|' /etc/systemd/system/var-lib-forumd.mount && systemctl daemon-reload
systemctl start forumd 2>/dev/null || echo "mount fails: not started, $(ls /var/lib/forumd 2>/dev/null | wc -l) files in its place"
sed -i 's|What=/not-there|What=/volume|' /etc/systemd/system/var-lib-forumd.mount
systemctl daemon-reload && systemctl reset-failed var-lib-forumd.mount

# A volume without a unit that was not mounted.
mv /etc/systemd/system/var-lib-forumd.mount /root/ && systemctl daemon-reload
mark
systemctl start forumd 2>/dev/null || echo "not mounted: $(property ExecMainStatus), $(property Result), restarts $(property NRestarts), files $(ls /var/lib/forumd | wc -l)"
warned | grep --quiet 'mount the volume that belongs at /var/lib/forumd' && echo 'not mounted: the journal says so at priority warning'
mount --bind /volume /var/lib/forumd
systemctl start forumd && within 20 serves && [ "$(id)" = "$first" ] && echo 'mounted again: it serves the same instance'
systemctl stop forumd

# Disk failures at the start.
trouble() {
  local name=$1 harm=$2 repair=$3
  rm -f /volume/ballast
  $harm
  mark
  systemctl start forumd 2>/dev/null
  within 20 waits
  # Longer than the twenty restarts after which systemd once gave up.
  sleep "${WAIT_S:-5}"
  echo "$name: $(property ActiveState), restarts $(property NRestarts), ready $(status)"
  echo "$name: $(property StatusText)"
  echo "$name: the journal says $(warned | grep storage.waiting | grep --only-matching '"reason":"[a-z_]*"' | tr '\n' ' ')"
  $repair
  within 60 serves && echo "$name: it serves again, restarts $(property NRestarts), same instance $([ "$(id)" = "$first" ] && echo yes)"
  systemctl stop forumd
}
fill() { cat /dev/zero >/volume/fill 2>/dev/null; }
empty() { rm /volume/fill; }
fill_inodes() { mkdir /volume/files; local n=0; while : >"/volume/files/$((n++))"; do :; done 2>/dev/null; }
empty_inodes() { rm -r /volume/files; }
read_only() { mount -o remount,ro /volume; }
read_write() { mount -o remount,rw /volume; }
trouble 'full disk' fill empty
trouble 'no inodes' fill_inodes empty_inodes
trouble 'read-only' read_only read_write

# Other failures exit repeatedly, and systemd does not give up either.
chown root: /var/lib/forumd/secrets.key
mark
systemctl start forumd 2>/dev/null
within 30 test "$(property NRestarts)" -ge 1 || sleep 12
warned | grep --quiet 'secrets.key.*check its owner' && echo 'key file: the journal names the remedy'
chown forumd: /var/lib/forumd/secrets.key
within 30 serves && echo "key file: it serves, after $([ "$(property NRestarts)" -ge 1 ] && echo restarts)"
systemctl stop forumd

# The only command that creates an empty database.
umount /var/lib/forumd
runuser -u forumd -- timeout --preserve-status 5 forumd serve --new --config /etc/forumd/forumd.toml >/dev/null
systemctl start forumd && within 20 serves && [ "$(id)" != "$first" ] && echo 'serve --new: another instance serves'
