
# Git LFS installs its hooks only where there are none, and `git lfs track` does not say so. Without its pre-push hook a
# push succeeds and uploads none of the large files. So where this script is in the place of a hook of Git LFS, it runs
# that hook, unless another script here does.
run_lfs() {
  lfs_is_missing || return 0
  git lfs "$event" "$@"
}

lfs_is_missing() {
  settings=$(git config --get-regexp '^(filter\.lfs\.(process|clean)|lfs\.storage)$') || return 1
  case $settings in *filter.lfs.*) ;; *) return 1 ;; esac
  if [ ! -d "$common/lfs" ]; then # the files of Git LFS are elsewhere, or there are none
    case $settings in *lfs.storage*) ;; *) return 1 ;; esac
    git grep -q 'filter=lfs' -- .gitattributes '*/.gitattributes' || return 1
  fi
  if [ -n "$caller" ]; then
    ! mentions_lfs "$caller"
    return
  fi
  case $0 in
    */baton/hooks/"$event") [ ! -d "${0%/*}/../../objects" ] || return 1 ;; # in git's settings: the place is free
  esac
  [ ! -x "$old" ] || ! mentions_lfs "$old" || return 1
  case $0 in
    */"$event") return 0 ;;
  esac
  # another tool, such as pre-commit, renamed this script and runs it
  ! mentions_lfs "${0%/*}/$event" && ! grep -Eqs "git[- ]lfs $event" .pre-commit-config.yaml
}

# Whether a script runs the hook of Git LFS; lefthook does that without naming it in its script.
mentions_lfs() {
  grep -Eqs '^[^#]*(git[- ]lfs|lefthook)' "$1"
}
