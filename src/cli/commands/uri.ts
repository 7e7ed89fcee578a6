// The words of `dsh-ref uri` and its subcommands; what it does is ../uri.ts.

import { options } from './common.ts'
import type { CommandSpec, OptionSpec } from './spec.ts'

const NUL: OptionSpec = { flags: '-0, --null', summary: 'records end with NUL, in and out, instead of a newline' }
const json = (shape: string): OptionSpec => ({
  flags: '--json',
  summary: `JSON, one value a line: ${shape}`,
  conflicts: 'null',
})

const URI_INPUT = [
  'Without arguments, or with "-", records are read from standard input. Arguments are plain text, with --json too. One bad record, and nothing is printed.',
]

/** `dsh-ref uri` as data. */
export const uri: CommandSpec = {
  name: 'uri',
  summary: 'Write and read session URIs and mentions.',
  examples: [
    'dsh-ref uri encode login-fix',
    'dsh-ref uri decode dsh-session:ImxvZ2luLWZpeCI',
    'dsh-ref uri mention --label "Login fix" login-fix',
  ],
  statuses: [2, 3],
  commands: [
    {
      name: 'encode',
      args: '[id...]',
      takes: ['session'],
      summary: 'Write session ids as dsh-session: URIs.',
      examples: [
        'dsh-ref uri encode 550e8400-e29b-41d4-a716-446655440000',
        "printf 'login-fix\\0scratch\\0' | dsh-ref uri encode -0 | xargs -0 -n 1 echo",
      ],
      notes: URI_INPUT,
      groups: [options(NUL, json('strings on standard input, strings out'))],
      statuses: [2, 3],
      load: async () => (await import('../uri.ts')).encode,
    },
    {
      name: 'decode',
      args: '[uri...]',
      summary: 'Print the session ids of URIs.',
      examples: ['dsh-ref uri decode dsh-session:ImFiYyI'],
      notes: URI_INPUT,
      groups: [options(NUL, json('strings on standard input, strings out'))],
      statuses: [2, 3],
      load: async () => (await import('../uri.ts')).decode,
    },
    {
      name: 'mention',
      args: '[id...]',
      takes: ['session'],
      summary: 'Write mentions, as they go into a message.',
      examples: ['dsh-ref uri mention --label "Parser work" 550e8400-e29b-41d4-a716-446655440000'],
      notes: URI_INPUT,
      groups: [
        options(
          { flags: '--label <text>', summary: 'label of the one session given; without it the id is the label' },
          NUL,
          json('{sessionId, label?} on standard input, strings out'),
        ),
      ],
      statuses: [2, 3],
      load: async () => (await import('../uri.ts')).mention,
    },
    {
      name: 'parse',
      args: '[text...]',
      summary: 'Find the references in messages.',
      examples: ['dsh-ref uri parse "go on from @[Notes](dsh-session:ImFiYyI)"'],
      notes: [
        'Each text gives one line of JSON, {text, references}. Without arguments, or with "-", texts are read from standard input, one a line; a message of several lines needs -0. Arguments are plain text, with --json too. One bad mention, and nothing is printed.',
      ],
      groups: [options(NUL, json('strings on standard input, {text, references} out'))],
      statuses: [2, 3],
      load: async () => (await import('../uri.ts')).parse,
    },
  ],
}
