// The words of `dsh-ref help`; main.ts answers it.

import type { CommandSpec } from './spec.ts'

/** `dsh-ref help` as data. */
export const help: CommandSpec = {
  name: 'help',
  args: '[topic...]',
  takes: ['command'],
  summary: 'Show the help of a command, or of a topic.',
  examples: ['dsh-ref help prepare', 'dsh-ref help sessions'],
  notes: ['Topics: sessions, formats, exit-status, environment, damaged-logs, agents.'],
  statuses: [2],
}
