#!/bin/sh
# Installs what tests skip without: bubblewrap, ripgrep, tmux and a server for ssh. Harmless where they are
# there, where nobody is root, or where there is no apt-get; the tests then run, or say why they do not.
wanted=""
command -v bwrap >/dev/null || wanted="bubblewrap"
command -v rg >/dev/null || wanted="$wanted ripgrep"
command -v tmux >/dev/null || wanted="$wanted tmux"
PATH="$PATH:/usr/sbin" command -v sshd >/dev/null || wanted="$wanted openssh-server"
[ -n "$wanted" ] || exit 0
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >/dev/null 2>&1
for program in $wanted; do
  apt-get install -y -qq --no-install-recommends "$program" >/dev/null 2>&1 ||
    echo "could not be installed: $program; tests that need it are skipped" >&2
done
exit 0
