
# pre-receive: check a push to one of baton's branches or lanes as a whole before it is accepted. If it cannot be
# checked, reject it with one line. Pushes of only other refs are accepted without a check.
input=$(cat)
print_input | previous "$@" || exit
case $input in
  '') # git always passes a line, but another script has read it
    echo "baton: refused, since baton's pre-receive hook got no input to check: baton hooks status" >&2
    exit 1
    ;;
  *" $prefix"* | *' refs/baton-lanes/'*) ;;
  *) exit 0 ;;
esac
output=$(print_input | run_within 300)
status=$?
case $status-$output in
  0-) ;;
  0-* | *-'baton: '*) printf '%s\n' "$output" >&2 ;;
  127-*) echo 'baton: refused, since baton is not found on this server to check it' >&2 ;;
  137-*) echo 'baton: refused, since baton on this server did not end within 300 seconds' >&2 ;;
  *) echo "baton: refused, since baton on this server is broken (exit status $status): baton hooks status" >&2 ;;
esac
[ "$status" = 0 ] || exit 1
