
# post-commit, post-merge, post-checkout, post-rewrite: open loops that the code has settled are verified.
if [ "$event" = post-rewrite ]; then # which commit took the place of which: records name commits
  input=$(cat)
  given | previous "$@"
  status=$?
  [ -d "$common/baton" ] || mkdir -p "$common/baton"
  rewritten=$common/baton/rewritten
  given >>"$rewritten"
  if [ "$(wc -c <"$rewritten")" -gt 2097152 ]; then
    tail -n 10000 "$rewritten" >"$rewritten.$$" && mv -f "$rewritten.$$" "$rewritten"
  fi
else
  previous "$@"
  status=$?
fi
case $event in
  post-commit) [ ! -d "$dir/rebase-merge" ] || exit "$status" ;; # post-rewrite comes when all is done
  post-checkout) [ "$1" != "$2" ] || exit "$status" ;; # a new branch, or single files
esac
none_in "$common/baton/due" || later
exit "$status"
