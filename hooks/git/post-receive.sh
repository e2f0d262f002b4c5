
# post-receive: loops that the pushed commits settle are verified. A pushed branch of baton may have such loops.
input=$(cat)
given | previous "$@"
status=$?
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
