// The words of `dsh-ref list`; what it does is ../list.ts.

import { SECRETS } from './common.ts'
import { CACHE_PLACES, COLOUR, ROOTS } from './environment.ts'
import type { CommandSpec } from './spec.ts'
import { FILTERS, LIMITS, NUL_AFTER_NAMES, READING_AND_KEEPING, SESSIONS_FORMAT } from './which-sessions.ts'

/** `dsh-ref list` as data. */
export const list: CommandSpec = {
  name: 'list',
  args: '[query]',
  summary: 'List the sessions there are to refer to.',
  examples: [
    'dsh-ref list login',
    'dsh-ref list --cwd . --since 2d',
    'dsh-ref list --format json | jq -r \'.[] | select(.health != "ok") | .path\'',
    'dsh-ref list -0 --format id | dsh-ref uri encode -0 | xargs -0 -n 1 echo',
  ],
  notes: [
    'The query matches id, directory or title, whatever the case and the Unicode normalisation. Without --sort the directory of the target comes first, then sessions without one; the newest first. A session without a title is shown by the beginning of its first message, marked as no title; its label stays the id, and JSON has firstMessage.',
    'Fields of tsv are sessionId, label, cwd, createdAt, updatedAt, sizeBytes, formatVersion, origin, parentSession, health, uri and path, times in milliseconds; in values \\\\ is a backslash, \\t a tab, \\n and \\r line breaks. With --strict a list still reads logs for their titles only; "dsh-ref check --all" verifies them. A log whose header cannot be read is listed last, with the id that its directory spells. What was read of a log is kept in $DSH_REF_CACHE_DIR, else $XDG_CACHE_HOME/dsh-ref, else ~/.cache/dsh-ref; a place in a sessions root is refused.',
  ],
  groups: [
    {
      heading: 'Which sessions:',
      options: [
        ...FILTERS,
        ...LIMITS,
        {
          flags: '--sort <key>',
          summary: 'order by this key alone; "updated" is the time of the newest event',
          choices: ['created', 'updated', 'title', 'size'],
        },
      ],
    },
    {
      heading: 'Output:',
      options: [
        SESSIONS_FORMAT,
        { flags: '--long', summary: 'read every log that is listed, and show all columns' },
        { flags: '--fields <names>', summary: 'fields of json, jsonl or tsv, separated by commas' },
        { flags: '--header', summary: 'name the columns of tsv, and of a table that goes to no terminal' },
        NUL_AFTER_NAMES,
      ],
    },
    SECRETS,
    READING_AND_KEEPING,
  ],
  statuses: [2, 3, 4, 6],
  environment: [...ROOTS, 'DSH_REF_REDACT', 'DSH_SESSION_JSONL', ...CACHE_PLACES, ...COLOUR],
  load: async () => (await import('../list.ts')).list,
}
