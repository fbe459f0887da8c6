load helpers

# A file system that cannot lock, as NFS without a lock daemon: every request for a lock fails with ENOLCK.
without_locks() {
  [ -z "${SANITIZE:-}" ] || skip "a sanitizer's library wants to be the first that is loaded"
  cat >locks.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>
static int control(int file, int command, long argument) {
  if (command == F_SETLK || command == F_SETLKW || command == F_GETLK || command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK) {
    errno = ENOLCK;
    return -1;
  }
  return (int)syscall(SYS_fcntl, file, command, argument);
}
#define CONTROL(name) \
  int name(int file, int command, ...) { va_list list; va_start(list, command); long argument = va_arg(list, long); va_end(list); return control(file, command, argument); }
CONTROL(fcntl)
CONTROL(fcntl64)
int flock(int file, int operation) { (void)file, (void)operation; errno = ENOLCK; return -1; }
C
  cc -shared -fPIC -o locks.so locks.c
  export LD_PRELOAD=$PWD/locks.so
}

tuned() {
  plain_script gpu.json
  gathertune tune "$P" --device recorded:gpu.json --families taps --budget 3 >/dev/null 2>&1
}

@test "64 processes look up at a time where nothing can be locked" {
  tuned
  sha256sum cache.db >before
  expected=$(gathertune lookup "$P" --model gfx942 --json | jq -r .configuration)
  without_locks
  for i in $(seq 64); do
    gathertune lookup "$P" --model gfx942 --json >"$i.json" 2>"$i.err" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid"; done
  unset LD_PRELOAD
  for i in $(seq 64); do
    [ "$(jq -r '.plan + " " + .configuration' "$i.json")" = "exact $expected" ] || { cat "$i.err"; return 1; }
    [ ! -s "$i.err" ]
  done
  sha256sum --check --quiet before
  [ ! -e cache.db-journal ]
}

@test "tuning says in one line that the cache cannot be locked, before it measures, and leaves it as it is" {
  tuned
  sha256sum cache.db >before
  without_locks
  gt tune "${P/f32/f16}" --device recorded:gpu.json --families taps --budget 3
  fails_with 1 "cache.db" "No locks available" "file system"
  gt tune "$P" --device recorded:gpu.json --families taps --budget 3 --cache new.db
  fails_with 1 "new.db" "No locks available"
  [ ! -e new.db ]
  unset LD_PRELOAD
  sha256sum --check --quiet before
}
