load helpers

# No command may change the file $1, and each must fail with exit code 1 and one line that names it.
refused_by_all() {
  plain_script gpu.json
  cp "$1" before
  gt tune "$P" --device recorded:gpu.json --budget 2 --cache "$1"
  fails_with 1 "$1"
  gt lookup "$P" --model gfx942 --cache "$1"
  fails_with 1 "$1"
  gt list --cache "$1"
  fails_with 1 "$1"
  gt explain "$P" --cache "$1"
  fails_with 1 "$1"
  gt export --cache "$1"
  fails_with 1 "$1"
  gt gc --cache "$1"
  fails_with 1 "$1"
  gathertune tune "$P" --device recorded:gpu.json --budget 2 --cache good.db >/dev/null 2>&1
  gt merge good.db "$1" --into made.db
  fails_with 1 "$1"
  [ ! -e made.db ]
  gt merge good.db --into "$1"
  fails_with 1 "$1"
  cmp "$1" before
  [ ! -e "$1-journal" ]
  [ ! -e "$1-wal" ]
}

@test "a file that is no database is refused and left as it is" {
  printf 'these are not the bytes you are looking for\n' >text.db
  refused_by_all text.db
}

@test "a database of something else is refused and left as it is" {
  sqlite3 foreign.db 'create table songs(title); insert into songs values ("Gather"); pragma user_version=3;'
  refused_by_all foreign.db
}

@test "a database of a newer schema is refused and left as it is" {
  plain_script gpu.json
  gathertune tune "$P" --device recorded:gpu.json --budget 2 --cache newer.db >/dev/null 2>&1
  sqlite3 newer.db 'pragma user_version=9999'
  refused_by_all newer.db
  complained "newer"
}

@test "a damaged database is refused in one line, and is not made anew" {
  plain_script gpu.json
  gathertune tune "$P" --device recorded:gpu.json --budget 8 --cache damaged.db >/dev/null 2>&1
  size=$(stat -c %s damaged.db)
  dd if=/dev/urandom of=damaged.db bs=1 seek=4096 count=$((size - 4096)) conv=notrunc status=none
  cp damaged.db before
  gt list --cache damaged.db
  fails_with 1 "damaged.db"
  cmp damaged.db before
  gt tune "$P" --device recorded:gpu.json --budget 2 --cache damaged.db
  [ "$status" -eq 1 ]
  complained "damaged.db"
  cmp damaged.db before
}

@test "a cache that cannot be written is one line and exit code 1" {
  plain_script gpu.json
  gt tune "$P" --device recorded:gpu.json --budget 2 --cache /proc/nowhere/cache.db
  fails_with 1 "/proc/nowhere"
  mkdir folder.db
  gt tune "$P" --device recorded:gpu.json --budget 2 --cache folder.db
  fails_with 1 "folder.db"
}

@test "a cache that is only readable is one line and exit code 1 for tune, and can be listed" {
  [ "$(id -u)" -ne 0 ] || skip "root may write everything"
  plain_script gpu.json
  gathertune tune "$P" --device recorded:gpu.json --budget 2 >/dev/null 2>&1
  chmod 400 cache.db
  gt tune "${P/f32/f64}" --device recorded:gpu.json --budget 2
  fails_with 1 "cache.db"
  gt list
  works
}

@test "--cache comes before GATHERTUNE_CACHE, and both before XDG_CACHE_HOME" {
  plain_script gpu.json
  export XDG_CACHE_HOME=$PWD/xdg
  GATHERTUNE_CACHE=$PWD/env.db gt tune "$P" --device recorded:gpu.json --budget 2 --cache option.db
  works
  [ -s option.db ]
  [ ! -e env.db ]
  [ ! -e xdg ]
  GATHERTUNE_CACHE=$PWD/env.db gt tune "$P" --device recorded:gpu.json --budget 2
  works
  [ -s env.db ]
  [ ! -e xdg ]
  unset GATHERTUNE_CACHE
  gt tune "$P" --device recorded:gpu.json --budget 2
  works
  [ -s xdg/gathertune/cache.db ]
}

@test "reading commands make no file" {
  gt list
  works
  said "nothing is tuned yet"
  gt lookup "$P" --model gfx942
  works
  [ ! -e cache.db ]
}

# Runs the program as somebody who owns nothing.
gt_as_nobody() {
  if [ "$(id -u)" -eq 0 ]; then
    run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups "$GATHERTUNE" "$@"
  else
    run --separate-stderr "$GATHERTUNE" "$@"
  fi
}

@test "what permissions stop is told with the reason" {
  command -v setpriv >/dev/null || [ "$(id -u)" -ne 0 ] || skip "no setpriv to leave root with"
  plain_script gpu.json
  gathertune tune "$P" --device recorded:gpu.json --budget 2 >/dev/null 2>&1
  open=$(mktemp -d) # bats' own folders are for their owner alone
  cp cache.db "$open/secret.db"
  cp cache.db "$open/read.db"
  chmod 0 "$open/secret.db"
  chmod 444 "$open/read.db"
  chmod 555 "$open"
  gt_as_nobody list --cache "$open/secret.db"
  fails_with 1 "secret.db: cannot be read: Permission denied"
  gt_as_nobody list --cache "$open/read.db"
  works
  gt_as_nobody gc --cache "$open/read.db"
  fails_with 1 "read.db: the folder cannot be written: Permission denied"
  gt_as_nobody merge "$open/read.db" --into "$open/new.db"
  fails_with 1 "new.db: the folder cannot be written: Permission denied"
  gt_as_nobody doctor --cache "$open/secret.db" --json
  [ "$status" -eq 1 ]
  json '.findings[] | select(.level == "failure") | .found | contains("cannot be read: Permission denied")'
  chmod 755 "$open"
  rm -rf "$open"
}
