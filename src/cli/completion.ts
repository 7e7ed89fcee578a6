// `dsh-ref completion`: the scripts that make a shell ask `dsh-ref __complete` (complete.ts). They know no command
// themselves, so that they stay right when dsh-ref changes.

import { invalidConfig } from '../errors.ts'
import type { CommandBody } from './print.ts'

const BASH = `# Completion of dsh-ref for bash. In ~/.bashrc:  eval "$(dsh-ref completion bash)"
_dsh_ref() {
  local line directive=
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ -z $directive ]]; then directive=$line; else COMPREPLY+=("$line"); fi
  done < <(dsh-ref __complete bash "\${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" "\${COMP_TYPE-}" 2>/dev/null)
  case $directive in
    files) compopt -o default 2>/dev/null ;;
    directories) compopt -o dirnames 2>/dev/null ;;
  esac
}
complete -o nosort -F _dsh_ref dsh-ref 2>/dev/null || complete -F _dsh_ref dsh-ref
`

const ZSH = `#compdef dsh-ref
# Completion of dsh-ref for zsh. In ~/.zshrc, after compinit:  eval "$(dsh-ref completion zsh)"
# or as a file _dsh-ref in a directory of $fpath.
_dsh_ref() {
  local -a lines values shown
  local line directive
  lines=("\${(@f)$(dsh-ref __complete zsh "\${(@Q)words[1,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}")
  directive=$lines[1]
  for line in "\${(@)lines[2,-1]}"; do
    [[ -n $line ]] || continue
    values+=("\${line%%$'\\t'*}")
    shown+=("\${line/$'\\t'/  -- }")
  done
  local -a how=(-V dsh-ref -l -d shown)
  if [[ $directive == titles ]]; then
    # What was typed is part of a title, and no beginning of what it stands for.
    how+=(-U)
    (( $#values > 1 )) && compstate[insert]=menu compstate[list]='list force'
  fi
  (( $#values )) && compadd $how -a values
  case $directive in
    files) _files ;;
    directories) _files -/ ;;
    *) (( $#values )) ;;
  esac
}
if [[ $funcstack[1] == _dsh-ref ]]; then _dsh_ref "$@"; else compdef _dsh_ref dsh-ref; fi
`

const FISH = `# Completion of dsh-ref for fish. In ~/.config/fish/config.fish:  dsh-ref completion fish | source
function __dsh_ref_complete
  set -l words (commandline -opc)
  set -l word (string unescape -- (commandline -ct | string collect))
  set -q word[1]; or set word ''
  set -l lines (dsh-ref __complete fish $words $word[1] 2>/dev/null)
  switch "$lines[1]"
    case files
      __fish_complete_path (commandline -ct)
    case directories
      __fish_complete_directories (commandline -ct)
  end
  set -e lines[1]
  test (count $lines) -gt 0; and printf '%s\\n' $lines
end
complete -c dsh-ref -f -k -a '(__dsh_ref_complete)'
`

const SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH }

/** Prints the script of a shell. */
export const completion: CommandBody = async (context, [shell = '']) => {
  const script = SCRIPTS[shell]
  if (script === undefined) {
    throw invalidConfig(`There is no completion for ${JSON.stringify(shell)}; name bash, zsh or fish`, { shell })
  }
  await context.print.out(script)
}
