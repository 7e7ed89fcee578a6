// The words of `dsh-ref transcript` and its subcommands; what it does is ../transcript.ts.

import { format, options, READING, SECRETS } from './common.ts'
import { ROOTS } from './environment.ts'
import type { CommandSpec } from './spec.ts'

/** `dsh-ref transcript` as data. */
export const transcript: CommandSpec = {
  name: 'transcript',
  args: '<session>',
  takes: ['session'],
  summary: 'Print everything one session said, without any budget.',
  examples: [
    'dsh-ref transcript login-fix',
    'dsh-ref transcript --format markdown --include-shadowed login-fix',
    'dsh-ref transcript id:decode',
  ],
  notes: ['A session is named as for prepare --ref; "decode" and "grep" are subcommands.'],
  groups: [
    options(format('what to print (default: spill)', 'spill', 'markdown', 'text', 'json'), {
      flags: '--include-shadowed',
      summary: 'add, marked as such, the messages that compaction replaced',
    }),
    SECRETS,
    READING,
  ],
  statuses: [2, 3, 4, 6],
  environment: [...ROOTS, 'DSH_REF_REDACT'],
  load: async () => (await import('../transcript.ts')).transcript,
  commands: [
    {
      name: 'decode',
      args: '[file]',
      takes: ['file'],
      summary: 'Print the exact message texts of a saved transcript.',
      examples: ['dsh-ref transcript decode --message 3 --format text saved.txt'],
      notes: ['Without a file, or with "-", the transcript is read from standard input.'],
      groups: [
        options(format('what to print (default: json)', 'json', 'text'), {
          flags: '--message <n>',
          summary: 'only the message with this number; as text, exactly that and no more',
        }),
        SECRETS,
      ],
      statuses: [2, 4, 6],
      environment: ['DSH_REF_REDACT'],
      load: async () => (await import('../transcript.ts')).decode,
    },
    {
      name: 'grep',
      args: '<pattern> [source...]',
      takes: [undefined, 'session'],
      summary: 'Search saved transcripts and sessions.',
      examples: ['dsh-ref transcript grep "expired\\s+cookie" login-fix'],
      notes: [
        'The pattern is a JavaScript regular expression; texts are searched whole, so that a match may cross lines, and whichever way Unicode spells a letter with its marks (NFC, NFD); only a pattern that names marks by themselves, as \\p{M}, \\u0301 or in a class, is taken to the letter. Output is message:role:line, after the source when there are several. A source is a saved transcript, a session (id: forces one) or "-", standard input, which is also read without any.',
      ],
      groups: [
        options(
          { flags: '-F, --fixed-strings', summary: 'the pattern is plain text' },
          { flags: '-i, --ignore-case', summary: 'ignore case' },
          { flags: '-c, --count', summary: 'print only how many lines match, for each source' },
          { flags: '-C, --context <n>', summary: 'print this many lines around each match' },
        ),
        SECRETS,
        READING,
      ],
      statuses: [2, 3, 4, 6],
      ownStatuses: { 1: 'nothing is found, or a bug in dsh-ref; the stack is shown' },
      environment: [...ROOTS, 'DSH_REF_REDACT'],
      load: async () => (await import('../transcript.ts')).grep,
    },
  ],
}
