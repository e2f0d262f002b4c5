
# pre-push: also push the state that no remote has yet. This must never make the user's push fail, and a broken baton
# prints nothing here; `baton hooks status` reports it. Baton is not started for its own pushes (BATON_HOOK is set)
# or for a push to a URL instead of a named remote. The other hooks run in any case, and may refuse the push.
read_input
print_input | previous "$@" || exit
print_input | run_lfs "$@" || exit
if [ -n "${BATON_HOOK-}" ] || [ "$1" = "$2" ] || none_in "$common/baton/unsent"; then
  exit 0
fi
# without its input, as when another script read it, the push may contain our branch, and would fail if ours were faster
[ -n "$input" ] || is_direct || exit 0
output=$(print_input | run_within 10 "$1") && [ -n "$output" ] && printf '%s\n' "$output" >&2
exit 0
