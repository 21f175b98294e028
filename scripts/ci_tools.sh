#!/bin/sh
# Installs what tests skip without: bubblewrap. Harmless where it is there, where nobody is root, or where
# there is no apt-get; the tests then run, or say why they do not.
command -v bwrap >/dev/null && exit 0
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || exit 0
export DEBIAN_FRONTEND=noninteractive
(apt-get update -qq && apt-get install -y -qq --no-install-recommends bubblewrap) >/dev/null 2>&1 ||
  echo "bubblewrap could not be installed; the tests of the sandbox are skipped" >&2
exit 0
