
# post-commit, post-merge, post-checkout, post-rewrite: check the open loops that wait for a commit to the source code.
blind=
if [ "$event" = post-rewrite ]; then # store which commit replaced which, because records name commits
  read_input
  print_input | previous "$@"
  status=$?
  [ -d "$common/baton" ] || mkdir -p "$common/baton"
  rewritten=$common/baton/rewritten
  unread=$common/baton/hook-input/post-rewrite
  if [ -n "$input" ]; then
    print_input >>"$rewritten"
    [ ! -e "$unread" ] || rm -f "$unread"
    if [ "$(wc -c <"$rewritten")" -gt 2097152 ]; then
      tail -n 10000 "$rewritten" >"$rewritten.$$" && mv -f "$rewritten.$$" "$rewritten"
    fi
  else # git always passes a line, but the tool that runs this script did not: baton reads the reflog instead
    blind=1
    [ -d "${unread%/*}" ] || mkdir -p "${unread%/*}"
    echo 1 >"$unread"
  fi
else
  previous "$@"
  status=$?
  run_kept_out "$@" || status=$?
fi
case $event in
  post-commit) [ ! -d "$dir/rebase-merge" ] || exit "$status" ;; # post-rewrite runs when the rebase is finished
  post-rewrite) [ "$1" != amend ] || [ ! -d "$dir/rebase-merge" ] || exit "$status" ;; # of a step, as in a fixup
  post-checkout) [ "$1" != "$2" ] || exit "$status" ;; # a checkout of a new branch or of single files
esac
[ -z "$blind" ] && none_in "$common/baton/due" || later
exit "$status"
