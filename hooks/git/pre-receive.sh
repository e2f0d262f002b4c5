
# pre-receive: a push to a branch of baton is checked as a whole before any of it is taken.
input=$(cat)
given | previous "$@" || exit
case $input in *" $prefix"*) ;; *) exit 0 ;; esac
given | run_baton >&2
status=$?
[ "$status" != 127 ] || echo 'baton: refused, since baton is not found on this server to check it' >&2
[ "$status" = 0 ] || exit 1
