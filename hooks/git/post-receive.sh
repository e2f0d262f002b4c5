
# post-receive: check the open loops that wait for the pushed commits. A pushed branch of baton may contain such loops.
input=$(cat)
print_input | previous "$@"
status=$?
print_input | run_kept_out || status=$?
while read -r _ new ref; do
  case $ref in
    "$prefix"*/*) ;;
    "$prefix"*)
      # 1 means that no loop waits for a commit, so that no program has to be started to find that out
      git grep -qF git_commit "$new" -- open_loops 2>/dev/null
      [ $? -ne 1 ] || continue
      [ -d "$common/baton/due" ] || mkdir -p "$common/baton/due"
      : >"$common/baton/due/${ref#"$prefix"}"
      ;;
  esac
done <<END
$input
END
none_in "$common/baton/due" || later
exit "$status"
