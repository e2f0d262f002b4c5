
# Run the hooks of tools that install theirs only where there are none: Git LFS, whose `git lfs track` does not say so, and
# git-annex. Without its pre-push hook, Git LFS uploads nothing, and the push succeeds. This script runs such a hook if it
# has its place (or had it, before it became a setting of git) and no other script does it.
run_kept_out() {
  settings=$(git config --get-regexp '^(filter\.lfs\.(process|clean)|lfs\.storage|annex\.uuid)$') || return 0
  case $settings in *filter.lfs.*) run_lfs "$@" || return ;; esac
  case $settings in *annex.uuid*) run_annex ;; esac
}

run_lfs() {
  [ "$event" != post-receive ] || return 0
  if [ ! -d "$common/lfs" ]; then # the files of Git LFS are elsewhere, or there are none
    case $settings in *lfs.storage*) ;; *) return 0 ;; esac
    git grep -q 'filter=lfs' -- .gitattributes '*/.gitattributes' || return 0
  fi
  ! is_run_elsewhere 'git[- ]lfs|lefthook' || return 0 # lefthook runs these hooks without naming them in its script
  git lfs "$event" "$@"
}

run_annex() {
  case $event in
    post-checkout | post-merge) ! is_run_elsewhere 'git[- ]annex' || return 0 && git annex smudge --update ;;
    post-receive) ! is_run_elsewhere 'git[- ]annex' || return 0 && git annex post-receive ;;
  esac
}

# Whether another script for this event has a command that matches a pattern.
is_run_elsewhere() { # PATTERN
  if [ -n "$caller" ]; then
    mentions "$1" "$caller"
    return
  fi
  case $0 in
    */baton/hooks/"$event") # in git's settings, beside those of others and the hook in git's folder
      if [ -d "${0%/*}/../../objects" ]; then
        mentions "$1" "$(git rev-parse --git-path hooks)/$event" && return
        git config --get-regexp '^hook\..*\.command$' | grep -Eq "$1"
        return
      fi
      ;;
  esac
  [ -x "$old" ] && mentions "$1" "$old" && return
  case $0 in
    */"$event") return 1 ;;
  esac
  # another tool, such as pre-commit, renamed this script and runs it
  mentions "$1" "${0%/*}/$event" || grep -Eqs "git[- ](lfs|annex) $event" .pre-commit-config.yaml
}

mentions() { # PATTERN FILE
  grep -Eqs "^[^#]*($1)" "$2"
}
