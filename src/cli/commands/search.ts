// The words of `dsh-ref search`; what it does is ../search.ts.

import { SECRETS } from './common.ts'
import { CACHE_PLACES, COLOUR, ROOTS } from './environment.ts'
import type { CommandSpec } from './spec.ts'
import { FILTERS, LIMITS, NUL_AFTER_NAMES, READING_AND_KEEPING, SESSIONS_FORMAT } from './which-sessions.ts'

/** `dsh-ref search` as data. */
export const search: CommandSpec = {
  name: 'search',
  args: '<pattern...>',
  summary: 'Find the sessions in which something was said.',
  examples: [
    "dsh-ref search 'redirect loop'",
    'dsh-ref search --cwd . --since 30d --role user expired cookie',
    "dsh-ref search -l --limit 1 'redirect loop'",
    "dsh-ref search -e 'E[A-Z]{4,}' --format json | jq '.[].matches[] | {seq, role, text}'",
  ],
  notes: [
    'Searched are the messages of user and assistant and the checkpoints of compactions, also those that a compaction has replaced, which are marked; and title, id and directory. Every word must occur in a session, in any of these; case counts only when a word has a capital, the Unicode normalisation never. A match shows seq:line of its message and who said it; "dsh-ref surface --at" and "dsh-ref transcript --include-shadowed" lead to it; with -l the ids are for prepare --ref.',
    'Best first: sessions whose title, id and directory hold all the words; then those with the words one after another, as they were given, and those with all of them in one line; then by the number of lines with any of them, in steps of doubling (1, 2 to 3, 4 to 7, …); then those written to last. In a pipe a line is cut to 1000 characters around its first match, in JSON to 4096.',
    'What was said is kept in the directory of the title index, readable by its owner only, so that a log is read once and after that only what was added to it; at most 1 GiB, of the newest logs. Results of tools are read from the logs each time.',
  ],
  groups: [
    {
      heading: 'What to look for:',
      options: [
        { flags: '-e, --regex', summary: 'each pattern is a JavaScript regular expression; matches may cross lines' },
        { flags: '-p, --phrase', summary: 'each pattern is one phrase, white space included', conflicts: 'regex' },
        { flags: '-i, --ignore-case', summary: 'whatever the case, with capitals too' },
        { flags: '-w, --word', summary: 'whole words only' },
        { flags: '--role <role>', summary: 'only what was said by this one', choices: ['user', 'assistant'] },
        { flags: '--current', summary: 'leave out what compactions have replaced' },
        { flags: '--tools', summary: 'search results of tools as well', conflicts: 'role' },
      ],
    },
    { heading: 'Which sessions:', options: [...FILTERS, ...LIMITS] },
    {
      heading: 'Output:',
      options: [
        SESSIONS_FORMAT,
        { flags: '-l, --ids', summary: 'print ids only', conflicts: 'format' },
        { flags: '-c, --count', summary: 'print id:count of the matching lines of each session', conflicts: 'format' },
        NUL_AFTER_NAMES,
        { flags: '--lines <n>', summary: 'in a table, at most so many matching lines of a session (default: 3)' },
        { flags: '-C, --context <n>', summary: 'in a table, so many lines around each, blank ones apart (default: 1)' },
      ],
    },
    SECRETS,
    READING_AND_KEEPING,
  ],
  statuses: [2, 3, 4, 6],
  ownStatuses: { 1: 'nothing is found, or a bug in dsh-ref; the stack is shown' },
  environment: [...ROOTS, 'DSH_REF_REDACT', 'DSH_SESSION_JSONL', ...CACHE_PLACES, ...COLOUR],
  load: async () => (await import('../search.ts')).search,
}
