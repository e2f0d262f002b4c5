
# pre-push: also push the state that no remote has yet. This must never make the user's push fail, and a broken baton
# prints nothing here; `baton hooks status` reports it. Baton is not started for its own pushes (BATON_HOOK is set)
# or for a push to a URL instead of a named remote. The other hooks run in any case, and may refuse the push.

# Note that git has pushed, or pushes now, a namespace that baton never synced: it counts as shared with that remote.
note_published() { # NAMESPACE REMOTE
  [ ! -e "$common/baton/synced/$1" ] || return 1
  [ -d "$common/baton/published" ] || mkdir -p "$common/baton/published"
  echo "1 $2" >"$common/baton/published/$1"
}

# Look for our branches in what the user pushes, because a clone of a single branch has no other trace of them.
note_pushed() { # REMOTE
  while read -r source _ ref _; do
    case $source-$ref in
      '(delete)'-* | *-"$prefix"*/*) ;;
      *-"$prefix"*) note_published "${ref#"$prefix"}" "$1" ;;
    esac
  done <<END
$input
END
}

# Whether git's refs show that the remote has a namespace that baton never synced, in another state than here.
find_published() { # REMOTE
  none_in "$common/baton/published" || return 0
  case $prefix in refs/heads/*) folder=refs/remotes/$1/${prefix#refs/heads/} ;; *) return 1 ;; esac
  theirs=$(git for-each-ref --format='%(objectname) %(refname)' "$folder" 2>/dev/null)
  [ -n "$theirs" ] || return 1
  ours=$(git for-each-ref --format='%(objectname) %(refname).' "$prefix")
  while read -r tip ref; do
    name=${ref#"$folder"}
    case $ours in
      *"$tip $prefix$name."*) ;;
      *" $prefix$name."*) note_published "$name" "$1" && return ;;
    esac
  done <<END
$theirs
END
  return 1
}

read_input
print_input | previous "$@" || exit
print_input | run_kept_out "$@" || exit
[ -z "${BATON_HOOK-}" ] && [ "$1" != "$2" ] || exit 0
case $input in *" $prefix"*) note_pushed "$1" ;; esac
none_in "$common/baton/unsent" && ! find_published "$1" && exit 0
# without its input, as when another script read it, the push may contain our branch, and would fail if ours were faster
[ -n "$input" ] || is_direct || exit 0
output=$(print_input | run_within 10 "$1") && [ -n "$output" ] && printf '%s\n' "$output" >&2
exit 0
