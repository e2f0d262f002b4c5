
# post-commit, post-merge, post-checkout, post-rewrite: check the open loops that wait for a commit to the source code.
if [ "$event" = post-rewrite ]; then # store which commit replaced which, because records name commits
  input=$(cat)
  print_input | previous "$@"
  status=$?
  [ -d "$common/baton" ] || mkdir -p "$common/baton"
  rewritten=$common/baton/rewritten
  print_input >>"$rewritten"
  if [ "$(wc -c <"$rewritten")" -gt 2097152 ]; then
    tail -n 10000 "$rewritten" >"$rewritten.$$" && mv -f "$rewritten.$$" "$rewritten"
  fi
else
  previous "$@"
  status=$?
fi
case $event in
  post-commit) [ ! -d "$dir/rebase-merge" ] || exit "$status" ;; # post-rewrite runs when the rebase is finished
  post-checkout) [ "$1" != "$2" ] || exit "$status" ;; # a checkout of a new branch or of single files
esac
none_in "$common/baton/due" || later
exit "$status"
