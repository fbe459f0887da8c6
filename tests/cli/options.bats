load helpers

@test "without a command the help goes to standard error and the exit code is 2" {
  gt
  [ "$status" -eq 2 ]
  [ -z "$output" ]
  complained "usage: gathertune COMMAND"
}

@test "--version prints name and version on one line" {
  gt --version
  works
  [[ $output =~ ^gathertune\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

commands() { gathertune --help | sed -n '/^commands:/,/^$/ s/^  \([a-z]*\) .*/\1/p'; }

@test "--help names every command" {
  gt --help
  works
  # A file of cli/ each, so that none can be forgotten.
  for command in $(sed -n 's/^int gt_command_\([a-z]*\)(.*/\1/p' "$ROOT/cli/command.h"); do said "  $command "; done
}

@test "no line of a help text is longer than 120 columns, and what options do stands in one column" {
  [ "$(commands | wc -l)" -ge 13 ]
  for command in $(commands); do
    gathertune "$command" --help | awk -v command="$command" 'length($0) > 120 { print command ": " $0; bad = 1 } END { exit bad }'
    # Further lines of an option's text stand below the first.
    gathertune "$command" --help | awk -v command="$command" '/^options:/ { options = 1; next } /^$/ { options = 0 }
      options && !/^ +-/ && (substr($0, 1, 30) ~ /[^ ]/ || substr($0, 31, 1) == " ") { print command ": " $0; bad = 1 } END { exit bad }'
  done
}

@test "the manual page has every command, and every key of a problem" {
  page=$ROOT/docs/man/gathertune.1
  for command in $(commands); do grep -qE "^\.BI? $command( |$)" "$page" || { echo "$command"; false; }; done
  keys=$(gathertune tune --help | sed -n '/^A problem is/,/^Operators:/p' | grep -oE '^  [a-z][a-z_, ]+' | sed 's/^  //; s/  .*//' | tr -d ',')
  [ "$(wc -w <<<"$keys")" -ge 15 ]
  for key in $keys; do sed -n '/^\.SH PROBLEMS/,/^\.SH FILES/p' "$page" | grep -qw "$key" || { echo "$key"; false; }; done
}

@test "every command explains itself with usage, options and an example" {
  for command in $(commands); do
    gt "$command" --help
    works
    [ -z "$stderr" ]
    said "usage: gathertune $command"
    said "--json"
    said "example:"
    said "  gathertune $command"
  done
}

@test "what help says of an option stands in one column" {
  local commands
  mapfile -t commands < <(gathertune --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
  [ "${#commands[@]}" -ge 13 ]
  for command in "${commands[@]}"; do
    gt "$command" --help
    works
    ! grep -E '^ {31}' <<<"$output" || { echo "of $command"; return 1; }
  done
}

@test "the commands that take a problem state its grammar and the operators" {
  for command in tune lookup generate list show explain; do
    gt "$command" --help
    said "OPERATOR:key=value"
    said "align_corners"
    said "$OP"
  done
}

@test "an unknown command is one line and exit code 2" {
  gt frobnicate
  fails_with 2 "unknown command 'frobnicate'"
}

@test "an unknown option is one line and exit code 2 in every command" {
  gt --frobnicate
  fails_with 2 "--frobnicate"
  for command in $(commands); do
    gt "$command" --frobnicate
    fails_with 2 "$command" "unknown option '--frobnicate'"
    gt "$command" -z
    fails_with 2 "unknown option '-z'"
  done
}

@test "an option with a value is refused a second time, of which one would be ignored; a flag is not" {
  gt tune --suite one.txt --suite two.txt
  fails_with 2 "tune: --suite is given twice"
  gt export -o one.json --output two.json
  fails_with 2 "export: --output is given twice"
  gt list --json --json
  works
}

@test "an option without its argument is one line and exit code 2" {
  gt tune "$P" --budget
  fails_with 2 "missing after '--budget'"
}

@test "an option that takes no argument refuses one" {
  gt list --json=yes
  fails_with 2 "--json=yes"
}

@test "a number that is none is one line and exit code 2" {
  for bad in x -1 1.5 99999999999999999999 ''; do
    gt tune "$P" --budget "$bad"
    fails_with 2 "--budget" "'$bad'"
  done
  for bad in x 0 -1 inf; do
    gt tune "$P" --launch-limit "$bad"
    fails_with 2 "--launch-limit" "'$bad'"
  done
}

@test "options that would be without effect beside others are refused" {
  gt tune "$P" --budget 0
  fails_with 2 "--budget" "1 or more"
  for option in "--budget 5" "--families direct" "--seed 0" "--retry" "--strategy random" "--cache x.db"; do
    gt tune "$P" --config direct:block=64,acc=float $option
    fails_with 2 "--config" "${option%% *}"
  done
  gt tune "$P" --skip-unknown
  fails_with 2 "--skip-unknown" "--suite"
  gt lookup "$P" --device "$DEVICE" --model gfx942
  fails_with 2 "--model and --device"
  [ ! -e cache.db ]
}

@test "arguments that a command does not take are refused" {
  gt devices there
  fails_with 2 "'there'"
  gt list there
  fails_with 2 "'there'"
  gt lookup
  fails_with 2 "one problem"
  gt lookup "$P" "$P"
  fails_with 2 "one problem"
  gt tune
  fails_with 2 "a problem or --suite"
}

@test "every command is in the manual page" {
  for command in $(commands); do
    grep -Eq "^\.(B|BI) \"?$command" "$ROOT/docs/man/gathertune.1" || { echo "no $command"; return 1; }
  done
}
