
# post-receive: check the open loops that wait for the pushed commits. A pushed branch of baton may contain such loops.
input=$(cat)
print_input | previous "$@"
status=$?
print_input | run_kept_out || status=$?
while read -r _ _ ref; do
  case $ref in
    "$prefix"*/*) ;;
    "$prefix"*)
      [ -d "$common/baton/due" ] || mkdir -p "$common/baton/due"
      : >"$common/baton/due/${ref#"$prefix"}"
      ;;
  esac
done <<END
$input
END
none_in "$common/baton/due" || later
exit "$status"
