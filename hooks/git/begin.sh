# Where the repository is. git's own variables say it, so that no program has to start for that. Nothing is
# written into this file about where it stood when it was installed: repositories are moved and copied.
dir=${GIT_DIR:-.git}
common=$dir
if [ -f "$dir/commondir" ]; then # a linked work tree
  IFS= read -r common <"$dir/commondir"
  case $common in /*) ;; *) common=$dir/$common ;; esac
fi
if [ ! -d "$common/objects" ]; then # .git is a file, or we stand somewhere else
  dir=$(git rev-parse --git-dir 2>/dev/null)
  common=$(git rev-parse --git-common-dir 2>/dev/null)
fi

# baton, without git's variables for this one command: they would bind it to this index and this author.
run_baton() (
  unset GIT_DIR GIT_WORK_TREE GIT_IMPLICIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE GIT_PREFIX GIT_NAMESPACE
  unset GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE
  unset GIT_CONFIG GIT_CONFIG_PARAMETERS GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_REFLOG_ACTION GIT_SHALLOW_FILE
  unset GIT_GRAFT_FILE GIT_NO_REPLACE_OBJECTS GIT_REPLACE_REF_BASE GIT_INTERNAL_SUPER_PREFIX GIT_QUARANTINE_PATH
  [ "$event" = pre-receive ] || unset GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
  if [ -x "$program" ]; then
    exec_baton hooks run "$event" --repo "$dir" "$@"
  elif command -v baton >/dev/null 2>&1; then
    exec baton hooks run "$event" --repo "$dir" "$@"
  fi
  exit 127
)

# The hook that stood here when baton came: yours, or that of another tool. One that asks for its own name ($0)
# is read by its own shell under that name, so that basename and dirname say what they said before.
old=${0%/*}/$event.pre-baton
previous() {
  [ -f "$old" ] && [ -x "$old" ] || return 0
  IFS= read -r first 2>/dev/null <"$old"
  case $first in
    '#!'*[/\ ]sh | '#!'*[/\ ]dash | '#!'*[/\ ]bash | '#!'*[/\ ]sh\ -* | '#!'*[/\ ]bash\ -*)
      if grep -q '\$[{]*0' "$old" && ! grep -q BASH_SOURCE "$old"; then
        ${first#??} -c '. "$0.pre-baton"' "${0%/*}/$event" "$@"
        return
      fi
      ;;
  esac
  "$old" "$@"
}

# What git gave on standard input, once more.
given() {
  [ -z "$input" ] || printf '%s\n' "$input" 2>/dev/null
}

# Whether a folder of marks is empty.
none_in() {
  for mark in "$1"/*; do
    [ ! -e "$mark" ] || return 1
  done
}
