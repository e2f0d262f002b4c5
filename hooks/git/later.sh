
# Run baton in the background, detached from the terminal, unless another process was started for this and has not
# begun its checks yet. The file `asked` contains the id of that process; baton removes it before it begins the checks,
# and runs them in one process at a time. The file is ignored after 2 minutes, or when no process has that id: the
# process may have been killed, and its id may have been reused.
later() {
  asked=$dir/baton/asked
  if [ -f "$asked" ] && IFS= read -r pid <"$asked" && kill -0 "$pid" && [ "$(find "$asked" -mmin -2)" ]; then
    return
  fi 2>/dev/null
  (
    trap '' HUP INT
    [ -d "$dir/baton" ] || mkdir -p "$dir/baton"
    pid=$(exec sh -c 'echo "$PPID"')
    echo "$pid" >"$asked"
    [ "$(wc -c <"$common/baton/hooks.log")" -lt 1048576 ] || : >"$common/baton/hooks.log" # a working baton shortens the log itself
    run_within 120 && exit
    IFS= read -r last <"$asked" && [ "$last" != "$pid" ] || rm -f "$asked"
  ) </dev/null 2>/dev/null >>"$common/baton/hooks.log" 2>&1 &
}
