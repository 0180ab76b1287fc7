"""`bethink completion`: print the completion of commands for a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import Commands, arg, make_parser, words_of

if TYPE_CHECKING:
    from argparse import Namespace

_EPILOG = """\
examples:
  source <(bethink completion bash)                                   in ~/.bashrc
  source <(bethink completion zsh)                                    in ~/.zshrc, behind compinit
  bethink completion fish > ~/.config/fish/completions/bethink.fish"""
COMMANDS = Commands(_EPILOG)

_BASH = """\
_bethink_words() {
    case "$1" in
CASES
    esac
}
_bethink() {
    local current="${COMP_WORDS[COMP_CWORD]}" path="" word place
    for ((place = 1; place < COMP_CWORD; place++)); do
        word="${COMP_WORDS[place]}"
        case " $(_bethink_words "$path") " in
            *" $word "*) [ "${word#-}" = "$word" ] && path="${path:+$path }$word" ;;
        esac
    done
    COMPREPLY=($(compgen -W "$(_bethink_words "$path")" -- "$current"))
}
complete -o default -F _bethink bethink
"""
_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"
_FISH = """\
function __bethink_words
    set -l path
    for word in (commandline -opc)[2..-1]
        if not string match -q -- '-*' $word; and contains -- $word (__bethink_below "$path")
            set path (string trim "$path $word")
        end
    end
    __bethink_below "$path"
end
function __bethink_below
    switch "$argv[1]"
CASES
    end
end
complete -c bethink -f -a '(__bethink_words)'
complete -c bethink -n 'not string match -q -- "-*" (commandline -ct)' -F
"""


@COMMANDS.add_alone("", arg("shell bash|zsh|fish", "the shell"))
def _completion(options: Namespace) -> int:
    """Print the completion of commands and options for a shell."""
    words = words_of(make_parser())
    if options.shell == "fish":
        cases = [
            f"        case '{path}'\n            string split ' ' '{' '.join(below)}'"
            for path, below in words
        ]
        print(_FISH.replace("CASES", "\n".join(cases)), end="")
        return 0
    cases = [f"        '{path}') echo '{' '.join(below)}' ;;" for path, below in words]
    print((_ZSH if options.shell == "zsh" else "") + _BASH.replace("CASES", "\n".join(cases)), end="")
    return 0
