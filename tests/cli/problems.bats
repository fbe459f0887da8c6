load helpers

@test "an unknown operator is named with exit code 2" {
  for command in tune lookup "generate --family direct"; do
    gt $command bogus_backward:n=1,c=1,in=2x2,out=4x4,dtype=f32
    fails_with 2 "bogus_backward"
  done
}

@test "an unknown key is named with exit code 2" {
  gt tune "$P,bogus=1"
  fails_with 2 "bogus"
}

@test "an unknown type is named with exit code 2" {
  gt lookup "$OP:n=1,c=1,in=2x2,out=4x4,dtype=f17"
  fails_with 2 "dtype" "f17"
}

@test "a missing key is named with exit code 2" {
  gt tune "$OP:n=1,c=1,in=2x2,out=4x4"
  fails_with 2 "dtype"
}

@test "sizes of zero and below are refused" {
  gt tune "$OP:n=1,c=1,in=0x2,out=4x4,dtype=f32"
  fails_with 2 "in"
  gt tune "$OP:n=-1,c=1,in=2x2,out=4x4,dtype=f32"
  fails_with 2 "n"
}

@test "every bad problem of a command line is told, and nothing is tuned" {
  gt tune "$P" bad:1 bad:2
  [ "$status" -eq 2 ]
  [ "${#stderr_lines[@]}" -eq 2 ]
  [ ! -e cache.db ]
}

@test "a malformed suite line is told with file and line number, and nothing is tuned" {
  printf '# a comment\n\n%s  # first\n%s,bogus=1\nrubbish\n' "$P" "$P" >suite.txt
  gt tune --suite suite.txt --device "$DEVICE"
  [ "$status" -eq 2 ]
  [[ ${stderr_lines[0]} == "gathertune: suite.txt:4: "*bogus* ]] || { show; false; }
  [[ ${stderr_lines[1]} == "gathertune: suite.txt:5: "* ]] || { show; false; }
  [ ! -e cache.db ]
}

@test "an operator of another version is an error in a suite, and is left out when asked" {
  plain_script gpu.json
  printf '%s\nupsample_sinc9d_backward:n=1,c=1,in=2,out=4,dtype=f32\n' "$P" >suite.txt
  gt tune --suite suite.txt --device recorded:gpu.json --budget 2
  fails_with 2 "suite.txt:2: " "upsample_sinc9d_backward"
  gt tune --suite suite.txt --device recorded:gpu.json --budget 2 --skip-unknown --json
  works
  complained "suite.txt:2: left out"
  json '.left_out == 1 and (.problems | length) == 1'
}

@test "--skip-unknown leaves a malformed line an error" {
  printf 'rubbish\n' >suite.txt
  gt tune --suite suite.txt --skip-unknown
  fails_with 2 "suite.txt:1: "
}

@test "a suite that cannot be read, is empty or is no text is refused" {
  gt tune --suite nowhere.txt
  fails_with 2 "nowhere.txt"
  printf '# nothing\n' >empty.txt
  gt tune --suite empty.txt
  fails_with 2 "empty.txt"
  printf '%s\0%s\n' "$P" "$P" >binary.txt
  gt tune --suite binary.txt
  fails_with 2 "binary.txt"
}

@test "a problem that is named twice is tuned once" {
  plain_script gpu.json
  printf '%s\n%s\n' "$P" "$P_CANONICAL" >suite.txt
  gt tune "$P" --suite suite.txt --device recorded:gpu.json --budget 2 --json
  works
  json '.problems | length == 1'
}

@test "an unknown family is named with those that there are" {
  gt tune "$P" --families direct,bogus
  fails_with 2 "bogus" "direct" "taps"
  gt tune "$P" --families taps,stream
  fails_with 2 "stream computes nothing"
  gt tune "$P" --families ,
  fails_with 2 "names no family"
  gt generate "$P" --family bogus
  fails_with 2 "bogus" "direct"
  gt verify --cases "$ROOT/tests/oracle/open.jsonl" --family bogus
  fails_with 2 "bogus" "direct"
}

@test "a name that is no device name is exit code 2, a device that is not there exit code 1" {
  gt tune "$P" --device bogus
  fails_with 2 "bogus" "opencl:0"
  gt tune "$P" --device recorded:nowhere.json
  fails_with 1 "nowhere.json"
  gt tune "$P" --device opencl:77
  fails_with 1 "opencl"
  [ ! -e cache.db ]
}

@test "without any device tune explains what it looked for" {
  OCL_ICD_VENDORS=$BATS_TEST_TMPDIR/none POCL_DEVICES= gt tune "${P/n=2/n=0}" --device auto
  [ "$status" -ne 0 ] || skip "there is a GPU here"
  fails_with 1 "hip" "cuda" "opencl"
  [ ! -e cache.db ]
}
