# shellcheck shell=bash
# Sourced: need PROGRAM PACKAGE… makes sure that a program is there. As root on Debian it installs the packages; elsewhere
# it only tells, by its exit status, that the program is missing.
need() {
  local program=$1
  shift
  command -v "$program" >/dev/null 2>&1 && return 0
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing $* (for $program)" >&2
    apt-get update -qq >&2 </dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2 </dev/null
  fi
  command -v "$program" >/dev/null 2>&1
}

# need_postgres makes sure that PostgreSQL's server programs are there, which Debian keeps off the path, and PgBouncer.
need_postgres() {
  PATH=$PATH:/usr/sbin need pgbouncer pgbouncer || return 1
  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || need initdb postgresql || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

# race_flags sets the variable race to the flags of go test: -race needs a C compiler.
race_flags() {
  race=()
  if need gcc gcc libc6-dev; then
    race=(-race)
  else
    echo "no C compiler here: the tests run without the race detector" >&2
  fi
}
