// The words of `dsh-ref pick`; what it does is ../pick.ts.

import { format, options, READING, SECRETS, TARGET } from './common.ts'
import { CACHE_PLACES, ROOTS } from './environment.ts'
import type { CommandSpec } from './spec.ts'

/** `dsh-ref pick` as data. */
export const pick: CommandSpec = {
  name: 'pick',
  args: '[query]',
  summary: 'Choose up to three sessions in the terminal.',
  examples: [
    'dsh-ref pick',
    'dsh-ref pick login --prepare "Do the same for the admin page."',
    'dsh-ref pick --format snapshot > context.md',
  ],
  notes: [
    'Every word typed is looked for in title, directory and id, and in the first message of a session without a title. Ctrl-F searches what was said for the words, as "dsh-ref search" does, and shows the lines; typing on goes back to titles. Tab marks the session under the cursor, Enter takes what is marked, or that one. The choice is printed as mentions, or prepared as by "dsh-ref prepare"; the screen is on stderr.',
  ],
  groups: [
    options(
      { flags: '--prepare <message>', summary: 'print this message and the snapshot of the sessions' },
      format(
        'what to print, the last five prepared (default: mention, with --prepare text)',
        'mention',
        'id',
        'uri',
        'text',
        'snapshot',
        'json',
        'jsonl',
        'chat',
      ),
      { flags: '-0, --null', summary: 'end each mention, id or URI with NUL instead of a newline' },
      TARGET,
      { flags: '--limit <n>', summary: 'offer at most so many (default: 500)' },
    ),
    SECRETS,
    READING,
  ],
  statuses: [2, 3, 4, 5, 6],
  environment: [...ROOTS, 'DSH_REF_REDACT', 'DSH_SESSION_JSONL', ...CACHE_PLACES],
  load: async () => (await import('../pick.ts')).pick,
}
