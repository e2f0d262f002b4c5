# Runs baton for at most $1 seconds and prints its whole output, of both streams, once it has ended. The status is
# baton's, 127 without a baton, 137 after the time. Only what baton itself started is killed then.
run_within() {
  seconds=$1
  shift
  {
    sleep "$seconds" 3<&- >/dev/null &
    timer=$!
    {
      said=$(run_baton "$@" <&3 3<&- 2>&1)
      status=$?
      [ -z "$said" ] || printf '%s\n' "$said"
      kill -9 "$timer" # not TERM, which whoever started us may have had ignored
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

