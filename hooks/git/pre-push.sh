
# pre-push: what no remote has yet of the state goes along. Nothing of it may fail the user's push, nor may a broken baton
# say anything there: `baton hooks status` does.
# BATON_HOOK: it is a push of baton itself. A remote without a name is nobody's to keep.
if [ -n "${BATON_HOOK-}" ] || [ "$1" = "$2" ] || none_in "$common/baton/unsent"; then
  previous "$@"
  exit
fi
input=$(cat)
given | previous "$@" || exit
said=$(given | run_within 10 "$1") && [ -n "$said" ] && printf '%s\n' "$said" >&2
exit 0
