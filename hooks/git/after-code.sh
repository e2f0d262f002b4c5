
# post-commit, post-merge, post-checkout, post-rewrite: open loops that the code has settled are verified.
previous "$@"
status=$?
case $event in
  post-commit) [ ! -d "$dir/rebase-merge" ] || exit "$status" ;; # post-rewrite comes when all is done
  post-checkout) [ "$1" != "$2" ] || exit "$status" ;; # a new branch, or single files
esac
none_in "$common/baton/due" || later
exit "$status"
