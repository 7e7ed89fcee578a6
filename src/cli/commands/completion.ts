// The words of `dsh-ref completion`; what it does is ../completion.ts.

import type { CommandSpec } from './spec.ts'

/** `dsh-ref completion` as data. */
export const completion: CommandSpec = {
  name: 'completion',
  args: '<shell>',
  takes: [['bash', 'zsh', 'fish']],
  summary: 'Print the completion script of a shell.',
  examples: [
    'eval "$(dsh-ref completion bash)"',
    'eval "$(dsh-ref completion zsh)"',
    'dsh-ref completion fish | source',
  ],
  notes: [
    'Put the line of your shell into its start-up file; that of zsh after compinit. Commands, options, their values and sessions are completed, sessions by the beginning of their id or, in bash and zsh, by any part of their title.',
  ],
  statuses: [2],
  load: async () => (await import('../completion.ts')).completion,
}
