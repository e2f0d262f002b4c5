
# pre-receive: a push to a branch of baton is checked as a whole before any of it is taken. What cannot be checked is
# refused in one line; pushes of other refs do not come here.
input=$(cat)
given | previous "$@" || exit
case $input in *" $prefix"*) ;; *) exit 0 ;; esac
said=$(given | run_within 300)
status=$?
case $status-$said in
  0-) ;;
  0-* | *-'baton: '*) printf '%s\n' "$said" >&2 ;;
  127-*) echo 'baton: refused, since baton is not found on this server to check it' >&2 ;;
  137-*) echo 'baton: refused, since baton on this server did not end within 300 seconds' >&2 ;;
  *) echo "baton: refused, since baton on this server is broken (exit status $status): baton hooks status" >&2 ;;
esac
[ "$status" = 0 ] || exit 1
