#!/bin/sh
# Installs what tests skip without: bubblewrap, ripgrep and a server for ssh. Harmless where they are there,
# where nobody is root, or where there is no apt-get; the tests then run, or say why they do not.
wanted=""
command -v bwrap >/dev/null || wanted="bubblewrap"
command -v rg >/dev/null || wanted="$wanted ripgrep"
PATH="$PATH:/usr/sbin" command -v sshd >/dev/null || wanted="$wanted openssh-server"
[ -n "$wanted" ] || exit 0
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || exit 0
export DEBIAN_FRONTEND=noninteractive
(apt-get update -qq && apt-get install -y -qq --no-install-recommends $wanted) >/dev/null 2>&1 ||
  echo "could not be installed: $wanted; tests that need it are skipped" >&2
exit 0
