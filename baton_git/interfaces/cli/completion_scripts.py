"""The completion scripts for shells: click's, fixed for values with a colon and for `--option=value`."""

from __future__ import annotations

from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

BASH = r"""%(complete_func)s() {
    local IFS=$'\n' rest=$COMP_LINE word last part type value
    local -a words=()
    COMPREPLY=()

    # bash splits words at the characters of COMP_WORDBREAKS, such as ":" and "=": join parts that no space separates
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if (( ${#words[@]} )) && [[ -n $word && $rest == "$word"* ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
            rest=${rest#"${rest%%%%[![:space:]]*}"}
        fi
        rest=${rest#"$word"}
    done

    # the beginning of the last word that bash keeps, without "--option=": it is removed from each completion
    last=${words[${#words[@]}-1]}
    part=${COMP_WORDS[COMP_CWORD]}
    [[ $part == *[!:=]* ]] || part=
    last=${last%%"$part"}
    [[ $last == -*=* ]] && last=${last#*=}

    while IFS=',' read -r type value; do
        if [[ $type == 'dir' ]]; then
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=("${value#"$last"}")
        fi
    done < <(env COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1)) %(complete_var)s=bash_complete "$1")
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class BashCompletion(BashComplete):
    """Completion for bash, with a script that joins the words that bash splits at `:` and `=`."""

    source_template = BASH


class ZshCompletion(ZshComplete):
    """Completion for zsh, with a script that keeps `--option=` before a value."""

    source_template = ZshComplete.source_template.replace(
        "    for type", "    [[ ${words[CURRENT]} == -*=* ]] && compset -P 1 '*='\n\n    for type", 1
    ).replace(" -U", "")  # with -U, compadd ignores the prefix that compset split off


class FishCompletion(FishComplete):
    """Completion for fish, with a script that keeps `--option=` before a value."""

    source_template = FishComplete.source_template.replace(
        "echo $metadata[2]", "echo (string match -r -- '^-[^=]*=' (commandline -t); or echo)$metadata[2]", 1
    )


COMPLETIONS: dict[str, type[ShellComplete]] = {"bash": BashCompletion, "zsh": ZshCompletion, "fish": FishCompletion}
"""The class that generates the script of each shell."""
