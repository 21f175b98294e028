#!/usr/bin/env bash
# A throw-away cluster of "hosts" on one Linux machine, with real shared file systems mounted on each of them.
# A host is a set of namespaces (network, mount, pid, uts) with a name, boot id, /run and /var/log of its own;
# the rest of the disk is that of the machine. Hosts meet over a bridge that has no route to anywhere else.
#
#   cluster.sh up [gluster] [sshfs] [sshfs-nocache]
#   cluster.sh down | status
#   cluster.sh exec HOST CMD [ARG...]        HOST is s (server), a, b (clients)
#   cluster.sh cut HOST | heal HOST          drop / restore all its packets
#   cluster.sh mnt FS                        print the mount point of FS
#
# Variables: SHAREDFS_STATE (where it keeps its state), SHAREDFS_TTL (seconds after which hosts end by themselves).
# Exit codes: 0 done, 1 failed, 2 usage, 77 this kernel cannot do it (skip).
set -u
export LC_ALL=C
export PATH="$PATH:/usr/sbin:/sbin"

STATE=${SHAREDFS_STATE:-/tmp/leadhand-sharedfs}
NET=10.231.77                        # /24 that exists only inside the cluster
TTL=${SHAREDFS_TTL:-1800}            # hosts end by themselves after this many s
HOSTS="s a b"
CLIENTS="a b"
declare -A IP=([s]="$NET.1" [a]="$NET.11" [b]="$NET.12")

say()  { echo "cluster: $*" >&2; }
die()  { say "$*"; exit 1; }
skip() { say "SKIP: $*"; exit 77; }

# ---------------------------------------------------------------- preconditions
need_root() { [ "$(id -u)" = 0 ] || skip "must be root (namespaces, mounts)"; }

check_kernel() {
    need_root
    [ -c /dev/fuse ] || skip "no /dev/fuse"
    grep -qw fuse /proc/filesystems || skip "kernel without FUSE"
    command -v unshare >/dev/null && command -v nsenter >/dev/null ||
        skip "util-linux unshare/nsenter missing"
    unshare --net --mount --uts --pid --fork true 2>/dev/null ||
        skip "kernel refuses net/mount/uts/pid namespaces"
    command -v ip >/dev/null || install_pkgs iproute2
    unshare --net bash -c 'ip link add x0 type veth peer name x1 &&
                           ip link add br0 type bridge' 2>/dev/null ||
        skip "kernel without veth or bridge"
}

install_pkgs() {
    local miss=()
    for p in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null)" = installed ] ||
            miss+=("$p")
    done
    [ ${#miss[@]} = 0 ] && return 0
    command -v apt-get >/dev/null || skip "no apt-get, and ${miss[*]} missing"
    say "installing ${miss[*]}"
    # Debian starts services on installation: forbid it unless already forbidden.
    local made=""
    if [ ! -e /usr/sbin/policy-rc.d ]; then
        printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
        chmod 755 /usr/sbin/policy-rc.d; made=1
    fi
    local rc=0
    export DEBIAN_FRONTEND=noninteractive
    local get="apt-get -o DPkg::Lock::Timeout=300 -y --no-install-recommends install"
    $get "${miss[@]}" >"$STATE/apt.log" 2>&1 ||
        { apt-get update >>"$STATE/apt.log" 2>&1 &&
          $get "${miss[@]}" >>"$STATE/apt.log" 2>&1; } || rc=1
    [ -n "$made" ] && rm -f /usr/sbin/policy-rc.d
    [ $rc = 0 ] || skip "cannot install ${miss[*]}: $(tail -1 "$STATE/apt.log")"
}

# ------------------------------------------------------------------------ hosts
starttime() { awk '{sub(/^.*\) /,""); print $20}' "/proc/$1/stat" 2>/dev/null; }

pid_of() {   # pid of the init process of a host, if it is still that process
    local pid st
    read -r pid st 2>/dev/null <"$STATE/pid.$1" || return 1
    [ -n "$st" ] && [ "$(starttime "$pid")" = "$st" ] && echo "$pid"
}

in_host() {  # in_host HOST CMD... : run inside every namespace of the host
    local h=$1 p; shift
    p=$(pid_of "$h") || die "host $h is not up"
    nsenter -t "$p" -m -u -n -p -- "$@"
}

start_host() {   # a host = net + uts + mount + pid namespace under one init
    local h=$1 dir="$STATE/host/$1"
    mkdir -p "$dir/log" "$dir/glusterd"
    printf '%s\n' "$(echo "sharedfs-$h" | md5sum | cut -c1-32)" >"$dir/machine-id"
    cat /proc/sys/kernel/random/uuid >"$dir/boot_id"
    { echo "127.0.0.1 localhost"
      for x in "${!IP[@]}"; do echo "${IP[$x]} host-$x"; done; } >"$dir/hosts"
    cat >"$dir/init" <<INIT
mount --make-rprivate /
mount -t proc proc /proc
mkdir -p "$dir/proc" && mount -t proc proc "$dir/proc"  # a whole one: only then a sandbox here may mount its own
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/sshd /run/gluster /run/lock
hostname host-$h
for m in hosts:/etc/hosts machine-id:/etc/machine-id log:/var/log \\
         glusterd:/var/lib/glusterd \\
         boot_id:/proc/sys/kernel/random/boot_id; do
    [ -e "\${m#*:}" ] && mount --bind "$dir/\${m%%:*}" "\${m#*:}"
done
ip link set lo up
touch "$dir/ready"
end=\$((SECONDS + $TTL))
while [ \$SECONDS -lt \$end ]; do sleep 3; done   # bash reaps orphans here
INIT
    rm -f "$dir/ready"
    setsid nohup unshare --net --uts --mount --pid --fork --kill-child \
        bash "$dir/init" >"$dir/init.log" 2>&1 </dev/null &
    local outer=$! i pid=""
    for i in $(seq 100); do
        [ -e "$dir/ready" ] && break; sleep 0.05
    done
    pid=$(ps -o pid= --ppid "$outer" | tr -d ' ')
    [ -n "$pid" ] && [ -e "$dir/ready" ] || { cat "$dir/init.log" >&2; die "host $h did not start"; }
    echo "$pid $(starttime "$pid")" >"$STATE/pid.$h"
}

start_switch() {  # the bridge lives in a namespace of its own: no route outside
    setsid nohup unshare --net --mount --pid --fork --kill-child bash -c \
        "ip link add br0 type bridge && ip link set br0 up && touch $STATE/sw.ready
         end=\$((SECONDS + $TTL)); while [ \$SECONDS -lt \$end ]; do sleep 3; done" \
        >"$STATE/sw.log" 2>&1 </dev/null &
    local outer=$! i pid
    for i in $(seq 100); do [ -e "$STATE/sw.ready" ] && break; sleep 0.05; done
    pid=$(ps -o pid= --ppid "$outer" | tr -d ' ')
    [ -n "$pid" ] || die "switch did not start"
    echo "$pid $(starttime "$pid")" >"$STATE/pid.sw"
}

plug() {   # cable between host and switch
    local h=$1 hp sp; hp=$(pid_of "$h"); sp=$(pid_of sw)
    nsenter -t "$sp" -n ip link add "p-$h" type veth peer name eth0 netns "$hp" &&
    nsenter -t "$sp" -n ip link set "p-$h" master br0 up &&
    nsenter -t "$hp" -n ip addr add "${IP[$h]}/24" dev eth0 &&
    nsenter -t "$hp" -n ip link set eth0 up || die "cannot wire host $h"
}

wait_for() {  # wait_for SECONDS CMD...
    local n=$(( $1 * 10 )) i; shift
    for i in $(seq "$n"); do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done
    return 1
}

is_mounted() { in_host "$1" mountpoint -q "$2"; }

each_client_mount() {   # each_client_mount FS CMD... (run in each client)
    local fs=$1 h m="$STATE/mnt/$1"; shift
    for h in $CLIENTS; do
        is_mounted "$h" "$m" && continue
        in_host "$h" "$@" >>"$STATE/host/$h/log/$fs-mount.log" 2>&1
        wait_for 15 is_mounted "$h" "$m" ||
            { tail -5 "$STATE/host/$h/log/$fs-mount.log" >&2; die "$fs: no mount on $h"; }
    done
}

# -------------------------------------------------------------------- GlusterFS
gluster_server() {
    in_host s glusterd -p /run/glusterd.pid || return 1
    wait_for 30 in_host s gluster --mode=script volume list || return 1
}
up_gluster() {
    install_pkgs glusterfs-server glusterfs-client
    is_mounted b "$STATE/mnt/gluster" && return 0
    mkdir -p "$STATE/brick" "$STATE/host/s/log/glusterfs/bricks"
    local h; for h in $CLIENTS; do mkdir -p "$STATE/host/$h/log/glusterfs"; done
    in_host s pidof glusterd >/dev/null || gluster_server || die "glusterd does not start"
    if ! in_host s gluster --mode=script volume info team >/dev/null 2>&1; then
        in_host s gluster --mode=script volume create team \
            "host-s:$STATE/brick" force >/dev/null || die "gluster volume create"
        in_host s gluster --mode=script volume start team >/dev/null || die "gluster volume start"
    fi
    each_client_mount gluster glusterfs --volfile-server=host-s --volfile-id=team \
        "$STATE/mnt/gluster"
}

# ------------------------------------------------------------------------ SSHFS
keys() {
    mkdir -p "$STATE/ssh"; chmod 700 "$STATE/ssh"
    [ -e "$STATE/ssh/id" ] || ssh-keygen -q -t ed25519 -N '' -f "$STATE/ssh/id"
    [ -e "$STATE/ssh/hostkey" ] || ssh-keygen -q -t ed25519 -N '' -f "$STATE/ssh/hostkey"
    cp "$STATE/ssh/id.pub" "$STATE/ssh/authorized"; chmod 600 "$STATE/ssh/authorized"
    cat >"$STATE/ssh/sshd_config" <<CFG
HostKey $STATE/ssh/hostkey
AuthorizedKeysFile $STATE/ssh/authorized
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
MaxStartups 100
Subsystem sftp internal-sftp
PidFile /run/sshd.pid
CFG
    cat >"$STATE/ssh/config" <<CFG
Host host-*
  User root
  IdentityFile $STATE/ssh/id
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
  BatchMode yes
  ConnectTimeout 5
CFG
}
up_sshd() {   # an sshd with key authentication on every host
    install_pkgs openssh-server openssh-client; keys
    local h; for h in $HOSTS; do
        in_host "$h" test -e /run/sshd.pid ||
            in_host "$h" /usr/sbin/sshd -f "$STATE/ssh/sshd_config" || die "sshd on $h"
    done
}
SSHFS_KEEP="reconnect,ServerAliveInterval=5,ServerAliveCountMax=3"
up_sshfs() {
    install_pkgs sshfs; up_sshd; mkdir -p "$STATE/sshfs-export"
    each_client_mount sshfs sshfs -F "$STATE/ssh/config" -o "$SSHFS_KEEP" \
        "root@host-s:$STATE/sshfs-export" "$STATE/mnt/sshfs"
}
up_sshfs-nocache() {   # the only sane setting for coordination: no caches
    install_pkgs sshfs; up_sshd; mkdir -p "$STATE/sshfs-export"
    each_client_mount sshfs-nocache sshfs -F "$STATE/ssh/config" \
        -o "$SSHFS_KEEP,dir_cache=no,attr_timeout=0,entry_timeout=0,negative_timeout=0,direct_io" \
        "root@host-s:$STATE/sshfs-export" "$STATE/mnt/sshfs-nocache"
}

# ------------------------------------------------------------------------ verbs
cmd_up() {
    check_kernel
    mkdir -p "$STATE"
    local fs h; [ $# -gt 0 ] || set -- gluster sshfs
    for fs in "$@"; do declare -F "up_$fs" >/dev/null || { say "unknown filesystem $fs"; exit 2; }; done
    mkdir -p "$STATE"/mnt/{gluster,sshfs,sshfs-nocache}
    if ! pid_of sw >/dev/null; then start_switch; fi
    for h in $HOSTS; do
        pid_of "$h" >/dev/null || { start_host "$h"; plug "$h"; }
    done
    for fs in "$@"; do
        "up_$fs"
        say "$fs: $STATE/mnt/$fs on hosts $CLIENTS"
    done
}

cmd_down() {
    need_root
    local h p i
    for h in $CLIENTS s sw; do
        p=$(pid_of "$h") || continue
        kill -9 "$p" 2>/dev/null          # the kernel ends the whole pid namespace
        for i in $(seq 100); do [ -d "/proc/$p" ] || break; sleep 0.05; done
        [ -d "/proc/$p" ] && say "host $h (pid $p) is slow to die"
        rm -f "$STATE/pid.$h"
    done
    rm -rf --one-file-system "$STATE"
}

cmd_exec() {
    need_root
    [ $# -ge 2 ] || { say "usage: exec HOST CMD..."; exit 2; }
    local h=$1 p; shift
    p=$(pid_of "$h") || die "host $h is not up"
    # nsenter leaves us at /: go back to the caller's directory where it exists
    exec nsenter -t "$p" -m -u -n -p -- bash -c 'cd "$0" 2>/dev/null; exec "$@"' "$PWD" "$@"
}

cmd_status() {
    local h p
    for h in sw $HOSTS; do
        if p=$(pid_of "$h"); then
            echo "$h up pid=$p ${IP[$h]:-} $(nsenter -t "$p" -m -p awk -v s="$STATE/mnt" 'index($2,s)==1{printf "%s(%s) ",$2,$3}' /proc/mounts)"
        else echo "$h down"; fi
    done
}

case "${1:-}" in
    up)           shift; cmd_up "$@" ;;
    down)         cmd_down ;;
    exec)         shift; cmd_exec "$@" ;;
    status)       cmd_status ;;
    cut)          nsenter -t "$(pid_of sw)" -n ip link set "p-$2" nomaster ;;
    heal)         nsenter -t "$(pid_of sw)" -n ip link set "p-$2" master br0 ;;
    mnt)          echo "$STATE/mnt/$2" ;;
    *)            sed -n '2,14p' "$0" >&2; exit 2 ;;
esac
