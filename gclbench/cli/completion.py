"""`gclbench completion`: what the Tab key offers in bash, zsh and fish."""

from __future__ import annotations

import contextlib
import shlex

from gclbench.cli.parser import Parser
from gclbench.component.own_components import use
from gclbench.component.own_files import OPTION, taken_out

SCRIPTS = {
    "bash": r"""_gclbench() {
  local line=${COMP_LINE:0:COMP_POINT} IFS=$'\n'
  COMPREPLY=($(gclbench completion answer "$line" 2>/dev/null))
  # bash takes what stands behind = for a word of its own.
  local word=${line##* }
  local before=${word%"${word##*[=:]}"}
  case $COMP_WORDBREAKS in *=*) COMPREPLY=("${COMPREPLY[@]#"$before"}") ;; esac
  case ${COMPREPLY[0]} in *[=.]) compopt -o nospace 2>/dev/null ;; esac
}
complete -o default -F _gclbench gclbench
""",
    "zsh": r"""#compdef gclbench
_gclbench() {
  local -a found open closed
  found=("${(@f)$(gclbench completion answer "$LBUFFER" 2>/dev/null)}")
  open=(${(M)found:#*[=.]})
  closed=(${found:#*[=.]})
  compadd -Q -S '' -a open
  compadd -Q -a closed
  (( $#found )) && [[ -n $found[1] ]] || _files
}
compdef _gclbench gclbench
""",
    "fish": r"""complete -c gclbench -a '(gclbench completion answer (commandline -cp) 2>/dev/null)'
""",
}

EXAMPLES = """examples:
  gclbench completion bash > ~/.local/share/bash-completion/completions/gclbench
  eval "$(gclbench completion zsh)"                     in ~/.zshrc, after compinit
  gclbench completion fish > ~/.config/fish/completions/gclbench.fish
"""


def main(argv: list[str]) -> int:
    """Exit code 0, or 2 for a command that is wrong."""
    if argv[:1] == ["answer"]:
        # Called by the scripts at every Tab: (the line up to the cursor).
        from gclbench.cli.candidates import candidates

        words = _words(" ".join(argv[1:]))
        if words[-2:-1] == [OPTION]:
            return 0  # a file, which the shell completes
        known, places = taken_out(words)
        for place in places:
            with contextlib.suppress(ValueError):  # of a file that cannot be used; its run says so
                use(place)
        print("\n".join(candidates(known)))
        return 0
    parser = Parser("completion", "Prints a shell's script for completion.", EXAMPLES)
    parser.add_argument("shell", choices=[*SCRIPTS])
    print(SCRIPTS[parser.parse_args(argv).shell], end="")
    return 0


def _words(line: str) -> list[str]:
    """The words after `gclbench`, the last one as far as it is typed."""
    try:
        words = shlex.split(line)
    except ValueError:  # a quote that is still open
        words = line.split()
    if not line or line[-1].isspace():
        words.append("")
    return words[1:] or [""]
