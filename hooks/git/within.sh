# Run baton for at most $1 seconds, and print its stdout and stderr after it has ended. The exit status is baton's,
# 127 if baton was not found, or 137 after a timeout, which kills baton and its descendants and no other process.
run_within() {
  seconds=$1
  shift
  {
    sleep "$seconds" 3<&- >/dev/null &
    timer=$!
    {
      output=$(run_baton "$@" <&3 3<&- 2>&1)
      status=$?
      [ -z "$output" ] || printf '%s\n' "$output"
      kill -9 "$timer" # not TERM, which may be ignored, as inherited from the caller
      exit "$status"
    } &
    worker=$!
    wait "$timer" && ps -A -o ppid= -o pid= | {
      tree=$worker
      while read -r parent child; do
        case " $tree " in *" $parent "*) tree="$tree $child" ;; esac
      done
      kill -9 $tree
    }
    wait "$worker"
  } 3<&0 2>/dev/null
}

