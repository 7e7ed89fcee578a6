// The words of `dsh-ref prepare`; what it does is ../prepare.ts.

import { format, READING, SECRETS, SPILL_DIR, TARGET } from './common.ts'
import { ROOTS, SPILL_PLACES } from './environment.ts'
import type { CommandSpec } from './spec.ts'

/** `dsh-ref prepare` as data. */
export const prepare: CommandSpec = {
  name: 'prepare',
  args: '[message]',
  summary: 'Print a message and a snapshot of the sessions it refers to.',
  examples: [
    'dsh-ref prepare --target current "Do the same as in @[Login fix](dsh-session:ImxvZ2luLWZpeCI)."',
    'echo "Review this." | dsh-ref prepare --ref login-fix --format chat',
    'dsh-ref prepare --ref login-fix --format snapshot --output context.md',
    'dsh-ref prepare --ref login-fix --max-reference-bytes 400 --dry-run',
  ],
  notes: [
    'The message is the argument, or standard input ("-", or piped). A session is a dsh-session: URI, a mention, a path, "-" (a log on standard input), an id, or the beginning of one (6 characters or more); see "dsh-ref help sessions". All or nothing: when one session cannot be read, nothing is printed.',
    'Too many sessions, and the target among them, are told from their ids before any log is looked for; an id counts as it is spelled, and one that begins another that is given only when it is found. A session without any text is reported as an issue.',
  ],
  groups: [
    {
      heading: 'References:',
      options: [
        TARGET,
        {
          flags: '--ref <session>',
          summary: 'refer to this session as well (repeatable)',
          takes: 'session',
          isRepeatable: true,
        },
        { flags: '--max-references <n>', summary: 'refuse more sessions than this (1 to 3)', takes: ['1', '2', '3'] },
      ],
    },
    {
      heading: 'Budget of each session:',
      options: [
        { flags: '--max-reference-bytes <n>', summary: 'bytes of its data; goes before everything else' },
        {
          flags: '--context-window <tokens>',
          summary: "the target's context window; default: what its log says",
        },
        {
          flags: '--reference-context-fraction <n>',
          summary: 'share of that window, 0 to 1 (default: 0.2)',
        },
      ],
    },
    {
      heading: 'Output:',
      options: [
        format('what to print (default: text)', 'text', 'snapshot', 'json', 'jsonl', 'chat'),
        {
          flags: '--output <file>',
          summary:
            'write to this file, whole or not at all, readable by its owner only; a link is followed and stays, a session log or a device is refused',
          takes: 'file',
        },
        {
          flags: '-n, --dry-run',
          summary: 'print only what would be kept and what it costs, as a table or with --format json as JSON',
        },
        { flags: '--explain', summary: 'say the same on stderr beside the output' },
        SPILL_DIR,
      ],
    },
    SECRETS,
    READING,
  ],
  statuses: [2, 3, 4, 5, 6],
  environment: [...ROOTS, 'DSH_REF_REDACT', 'DSH_SESSION_JSONL', ...SPILL_PLACES],
  load: async () => (await import('../prepare.ts')).prepare,
}
