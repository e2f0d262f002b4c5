
# pre-push: what no remote has yet of the state goes along. Nothing of it may fail the user's push.
# BATON_HOOK: it is a push of baton itself. A remote without a name is nobody's to keep.
if [ -n "${BATON_HOOK-}" ] || [ "$1" = "$2" ] || none_in "$common/baton/unsent"; then
  previous "$@"
  exit
fi
input=$(cat)
given | previous "$@" || exit
given | run_baton "$1" >&2
exit 0
