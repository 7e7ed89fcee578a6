// Every command as data: its words, options, examples, exit statuses and environment. main.ts parses by it; the help, the
// man page and the completion are made of it. No command's module is loaded before it runs.

import type { CommandBody } from './print.ts'

/** The same as in package.json; a test compares them. */
export const VERSION = '0.1.0'

/** What a value or an argument is, for completion. */
export type Completed = 'session' | 'file' | 'directory' | 'command' | readonly string[]

/** One option, as it is written and shown. */
export interface OptionSpec {
  /** As commander spells it: `-q, --quiet`, `--root <dir>`. */
  readonly flags: string
  readonly summary: string
  /** The only values there are. */
  readonly choices?: readonly string[]
  readonly takes?: Completed
  readonly isRepeatable?: true
  /** Attribute name of an option that excludes this one. */
  readonly conflicts?: string
}

/** Options under one heading of the help. */
export interface OptionGroup {
  readonly heading: string
  readonly options: readonly OptionSpec[]
}

/** One command. */
export interface CommandSpec {
  readonly name: string
  /** Arguments as commander spells them: `<session>`, `[id...]`. */
  readonly args?: string
  /** What each argument is; the last one stands for all that follow. */
  readonly takes?: readonly (Completed | undefined)[]
  /** One sentence. */
  readonly summary: string
  /** Lines of a shell that run as they stand. */
  readonly examples?: readonly string[]
  /** Paragraphs after the examples. */
  readonly notes?: readonly string[]
  readonly groups?: readonly OptionGroup[]
  /** Statuses it ends with besides 0, 1, 130 and 143. */
  readonly statuses?: readonly (keyof typeof STATUSES)[]
  /** What a status means here, where it is something of its own. */
  readonly ownStatuses?: Readonly<Record<number, string>>
  readonly environment?: readonly (keyof typeof ENVIRONMENT)[]
  readonly commands?: readonly CommandSpec[]
  /** Imports the module; absent for a command that only holds others. */
  readonly load?: () => Promise<CommandBody>
}

/** Exit statuses and what they mean (errors.ts says which code has which). */
export const STATUSES = {
  0: 'done; also when the reader of a pipe stops reading',
  1: 'a bug in dsh-ref; the stack is shown',
  2: 'usage or configuration',
  3: 'a bad, self or surplus reference',
  4: 'a source cannot be read, the output cannot be written, or --strict met an issue',
  5: 'the budget is too small',
  130: 'ended by SIGINT',
  143: 'ended by SIGTERM',
} as const

/** Variables of the environment and what they do. */
export const ENVIRONMENT = {
  DSH_REF_ROOT: 'sessions roots when no --root is given, separated like PATH',
  DSH_HOME: 'home of DSH; its "sessions" is the root when DSH_REF_ROOT is not set (default: ~/.dsh)',
  DSH_SESSION_JSONL: 'log of the session that receives when no --target is given; DSH sets it for its agents',
  DSH_REF_SPILL_DIR: 'directory for full transcripts when no --spill-dir is given, or "auto"',
  DSH_REF_CACHE_DIR: 'directory of the title index and of texts (default: dsh-ref in XDG_CACHE_HOME or ~/.cache)',
  XDG_CONFIG_HOME: 'its dsh-ref.json is the configuration file (default: ~/.config)',
  XDG_STATE_HOME: 'where "--spill-dir auto" keeps transcripts (default: ~/.local/state)',
  XDG_CACHE_HOME: 'where the title index and texts are kept (default: ~/.cache)',
  NO_COLOR: 'no colour when set and not empty',
  FORCE_COLOR: 'colour even in a pipe when set; 0 or false for none',
  TERM: '"dumb" means no colour',
} as const

/** Options of every command. */
export const COMMON: OptionGroup = {
  heading: 'Common options:',
  options: [
    { flags: '--root <dir>', summary: 'read sessions under this directory', takes: 'directory', isRepeatable: true },
    {
      flags: '--strict',
      summary: 'refuse any issue, and read whole logs as check does, in two to three times the time',
    },
    { flags: '-q, --quiet', summary: 'do not report issues on stderr' },
    { flags: '--color <when>', summary: 'colour in tables', choices: ['auto', 'always', 'never'] },
    { flags: '--error-format <format>', summary: 'errors as text or as a line of JSON', choices: ['text', 'json'] },
  ],
}

/** Options that commander answers by itself. */
export const ANSWERED = {
  help: { flags: '-h, --help', summary: 'show this help' },
  version: { flags: '-V, --version', summary: 'show the version and the formats read' },
} as const

/** Options of every command that reads whole logs. */
const READING: OptionGroup = {
  heading: 'Reading logs:',
  options: [
    { flags: '--salvage', summary: 'read the longest valid prefix of a corrupt log, and say so' },
    { flags: '--allow-unknown-version', summary: 'read a format version this build does not know by its shape' },
    { flags: '--max-row-bytes <n>', summary: 'refuse a longer row (default: 268435456)' },
    { flags: '--max-log-bytes <n>', summary: 'refuse a longer log, decompressed (default: 68719476736)' },
    { flags: '--max-window-bytes <n>', summary: 'refuse a larger zstd window (default: 134217728)' },
  ],
}

const ROOTS = ['DSH_REF_ROOT', 'DSH_HOME'] as const
const SPILL_PLACES = ['DSH_REF_SPILL_DIR', 'XDG_STATE_HOME'] as const
const COLOUR = ['NO_COLOR', 'FORCE_COLOR', 'TERM'] as const

const format = (summary: string, ...choices: string[]): OptionSpec => ({
  flags: '--format <format>',
  summary,
  choices,
})

const TABLE_OR_JSON = format('what to print (default: table)', 'table', 'json')

const SPILL_DIR: OptionSpec = {
  flags: '--spill-dir <dir>',
  summary: 'where full transcripts are saved, or "auto" (default: $DSH_REF_SPILL_DIR)',
  takes: 'directory',
}

const options = (...listed: OptionSpec[]): OptionGroup => ({ heading: 'Options:', options: listed })

const NUL: OptionSpec = { flags: '-0, --null', summary: 'records end with NUL, in and out, instead of a newline' }
const json = (shape: string): OptionSpec => ({
  flags: '--json',
  summary: `JSON, one value a line: ${shape}`,
  conflicts: 'null',
})

const URI_INPUT = [
  'Without arguments, or with "-", records are read from standard input. Arguments are plain text, with --json too. One bad record, and nothing is printed.',
]

/** Which sessions a list is made of, and a search goes through. */
const FILTERS: readonly OptionSpec[] = [
  {
    flags: '--target <session>',
    summary: 'leave out the session that receives and rank its directory first',
    takes: 'session',
  },
  {
    flags: '--cwd <dir>',
    summary: 'only those that worked in this directory, by any link ("." for the current one)',
    takes: 'directory',
  },
  {
    flags: '--since <when>',
    summary: 'only those created since an ISO date or time, or within an age (30m, 3h, 2d, 1w)',
  },
  { flags: '--until <when>', summary: 'only those created until then' },
  {
    flags: '--active-since <when>',
    summary: 'only those whose newest event is since then; reads every log once',
  },
  { flags: '--active-until <when>', summary: 'only those whose newest event is until then' },
  {
    flags: '--origin <origin>',
    summary: 'by who began them (default: all)',
    choices: ['all', 'main', 'subagent'],
  },
  { flags: '--archived <how>', summary: 'archived ones (default: show)', choices: ['show', 'hide', 'only'] },
  { flags: '--version <n>', summary: 'only those of this format version', takes: ['0', '1', '2', '3', '4'] },
  {
    flags: '--health <state>',
    summary: 'only those in this state',
    choices: ['ok', 'torn', 'corrupt', 'unsupported', 'unread'],
  },
]

const LIMITS: readonly OptionSpec[] = [
  { flags: '--limit <n>', summary: 'at most so many (default: 50, and a note when there are more)' },
  { flags: '--all', summary: 'no limit', conflicts: 'limit' },
]

const list: CommandSpec = {
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
    'The query matches id, directory or title, whatever the case and the Unicode normalisation. Without --sort the directory of the target comes first, then sessions without one; the newest first.',
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
        format('what to print (default: table)', 'table', 'tsv', 'json', 'jsonl', 'id', 'uri', 'mention', 'path'),
        { flags: '--long', summary: 'read every log that is listed, and show all columns' },
        { flags: '--fields <names>', summary: 'fields of json, jsonl or tsv, separated by commas' },
        { flags: '--header', summary: 'name the columns of tsv, and of a table that goes to no terminal' },
        { flags: '-0, --null', summary: 'end each id, uri, mention or path with NUL instead of a newline' },
      ],
    },
    {
      heading: 'Reading logs:',
      options: [
        { flags: '--allow-unknown-version', summary: 'read a format version this build does not know by its shape' },
        { flags: '--no-cache', summary: 'neither use nor keep what was read before' },
      ],
    },
  ],
  statuses: [2, 3, 4],
  environment: [...ROOTS, 'DSH_SESSION_JSONL', 'DSH_REF_CACHE_DIR', 'XDG_CACHE_HOME', ...COLOUR],
  load: async () => (await import('./list.ts')).list,
}

const search: CommandSpec = {
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
        format('what to print (default: table)', 'table', 'tsv', 'json', 'jsonl', 'id', 'uri', 'mention', 'path'),
        { flags: '-l, --ids', summary: 'print ids only', conflicts: 'format' },
        { flags: '-c, --count', summary: 'print id:count of the matching lines of each session', conflicts: 'format' },
        { flags: '-0, --null', summary: 'end each id, uri, mention or path with NUL instead of a newline' },
        { flags: '--lines <n>', summary: 'in a table, at most so many matching lines of a session (default: 3)' },
        { flags: '-C, --context <n>', summary: 'in a table, so many lines around each, blank ones apart (default: 1)' },
      ],
    },
    {
      heading: 'Reading logs:',
      options: [
        { flags: '--allow-unknown-version', summary: 'read a format version this build does not know by its shape' },
        { flags: '--no-cache', summary: 'neither use nor keep what was read before' },
      ],
    },
  ],
  statuses: [2, 3, 4],
  ownStatuses: { 1: 'nothing is found, or a bug in dsh-ref; the stack is shown' },
  environment: [...ROOTS, 'DSH_SESSION_JSONL', 'DSH_REF_CACHE_DIR', 'XDG_CACHE_HOME', ...COLOUR],
  load: async () => (await import('./search.ts')).search,
}

const uri: CommandSpec = {
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
      load: async () => (await import('./uri.ts')).encode,
    },
    {
      name: 'decode',
      args: '[uri...]',
      summary: 'Print the session ids of URIs.',
      examples: ['dsh-ref uri decode dsh-session:ImFiYyI'],
      notes: URI_INPUT,
      groups: [options(NUL, json('strings on standard input, strings out'))],
      statuses: [2, 3],
      load: async () => (await import('./uri.ts')).decode,
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
      load: async () => (await import('./uri.ts')).mention,
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
      load: async () => (await import('./uri.ts')).parse,
    },
  ],
}

const prepare: CommandSpec = {
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
        {
          flags: '--target <session>',
          summary: 'the session that receives; default: the one $DSH_SESSION_JSONL names',
          takes: 'session',
        },
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
    READING,
  ],
  statuses: [2, 3, 4, 5],
  environment: [...ROOTS, 'DSH_SESSION_JSONL', ...SPILL_PLACES],
  load: async () => (await import('./prepare.ts')).prepare,
}

const surface: CommandSpec = {
  name: 'surface',
  args: '<session>',
  takes: ['session'],
  summary: 'Show the fold of one session: what the model sees now.',
  examples: [
    'dsh-ref surface login-fix',
    'dsh-ref surface login-fix --format json | jq .nodes',
    'zstd -dc session.v4.jsonl.zstd | dsh-ref surface -',
  ],
  groups: [options({ flags: '--at <seq>', summary: 'fold the log only through this event' }, TABLE_OR_JSON), READING],
  statuses: [2, 3, 4],
  environment: ROOTS,
  load: async () => (await import('./surface.ts')).surface,
}

const transcript: CommandSpec = {
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
    READING,
  ],
  statuses: [2, 3, 4],
  environment: ROOTS,
  load: async () => (await import('./transcript.ts')).transcript,
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
      ],
      statuses: [2, 4],
      load: async () => (await import('./transcript.ts')).decode,
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
        READING,
      ],
      statuses: [2, 3, 4],
      ownStatuses: { 1: 'nothing is found, or a bug in dsh-ref; the stack is shown' },
      environment: ROOTS,
      load: async () => (await import('./transcript.ts')).grep,
    },
  ],
}

const spill: CommandSpec = {
  name: 'spill',
  summary: 'Look after the transcripts that prepare saved.',
  examples: ['dsh-ref spill list --spill-dir auto', 'dsh-ref spill prune --older-than 7d --dry-run'],
  statuses: [2, 4],
  environment: [...ROOTS, ...SPILL_PLACES],
  commands: [
    {
      name: 'list',
      summary: 'List saved transcripts, oldest first.',
      examples: ['dsh-ref spill list --format json'],
      groups: [options(TABLE_OR_JSON, SPILL_DIR)],
      statuses: [2, 4],
      environment: SPILL_PLACES,
      load: async () => (await import('./spill.ts')).list,
    },
    {
      name: 'prune',
      summary: 'Remove old transcripts.',
      examples: ['dsh-ref spill prune --older-than 7d'],
      notes: [
        'Only files that dsh-ref itself named are removed. Their paths are printed. A directory in a sessions root is refused.',
      ],
      groups: [
        options(
          { flags: '--older-than <age>', summary: 'remove what was saved longer ago: 12h, 7d, 4w (needed)' },
          { flags: '-n, --dry-run', summary: 'print what would be removed, and remove nothing' },
          TABLE_OR_JSON,
          SPILL_DIR,
        ),
      ],
      statuses: [2, 4],
      environment: [...ROOTS, ...SPILL_PLACES],
      load: async () => (await import('./spill.ts')).prune,
    },
  ],
}

const check: CommandSpec = {
  name: 'check',
  args: '[session...]',
  takes: ['session'],
  summary: 'Verify logs completely.',
  examples: [
    'dsh-ref check login-fix',
    'dsh-ref check --all',
    'dsh-ref check --all --format json | jq \'.logs[] | select(.status != "ok")\'',
  ],
  notes: [
    'Every row is parsed, every checksum, fold rule and message checked, and whether another log has the same id. One line a log, one line a finding; see "dsh-ref help damaged-logs".',
    'With --all also what lies where a directory is due, what cannot be read and a root that is missing, each a line of its own. A severity of "issue" is what --strict refuses in every command; "refused-by-dsh" and "note" are of check alone.',
  ],
  groups: [options({ flags: '--all', summary: 'check every session of the roots' }, TABLE_OR_JSON), READING],
  statuses: [2, 3, 4],
  ownStatuses: {
    4: 'a log or place is corrupt, unsupported or unreadable; with --strict also when there is any issue',
  },
  environment: [...ROOTS, ...COLOUR],
  load: async () => (await import('./check.ts')).check,
}

const pick: CommandSpec = {
  name: 'pick',
  args: '[query]',
  summary: 'Choose up to three sessions in the terminal.',
  examples: [
    'dsh-ref pick',
    'dsh-ref pick login --prepare "Do the same for the admin page."',
    'dsh-ref pick --format snapshot > context.md',
  ],
  notes: [
    'Every word typed is looked for in title, directory and id. Tab marks the session under the cursor, Enter takes what is marked, or that one. The choice is printed as mentions, or prepared as by "dsh-ref prepare"; the screen is on stderr.',
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
      {
        flags: '--target <session>',
        summary: 'the session that receives; default: the one $DSH_SESSION_JSONL names',
        takes: 'session',
      },
      { flags: '--limit <n>', summary: 'offer at most so many (default: 500)' },
    ),
    READING,
  ],
  statuses: [2, 3, 4, 5],
  environment: [...ROOTS, 'DSH_SESSION_JSONL', 'DSH_REF_CACHE_DIR', 'XDG_CACHE_HOME'],
  load: async () => (await import('./pick.ts')).pick,
}

const config: CommandSpec = {
  name: 'config',
  summary: 'Print the settings that hold and where each comes from.',
  examples: ['dsh-ref config', 'dsh-ref config --format json | jq .settings.roots'],
  notes: [
    'An option goes before the environment, the environment before the file dsh-ref.json in $XDG_CONFIG_HOME, else ~/.config. Its keys are the settings that are printed; paths in it are relative to its directory. A key that is unknown or wrong is refused by every command.',
  ],
  groups: [options(TABLE_OR_JSON)],
  statuses: [2],
  environment: [...ROOTS, 'DSH_REF_SPILL_DIR', 'DSH_REF_CACHE_DIR', 'XDG_CACHE_HOME'],
  load: async () => (await import('./config.ts')).config,
}

const completion: CommandSpec = {
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
  load: async () => (await import('./completion.ts')).completion,
}

const help: CommandSpec = {
  name: 'help',
  args: '[topic...]',
  takes: ['command'],
  summary: 'Show the help of a command, or of a topic.',
  examples: ['dsh-ref help prepare', 'dsh-ref help sessions'],
  notes: ['Topics: sessions, formats, exit-status, environment, damaged-logs.'],
  statuses: [2],
}

/** The program itself. */
export const PROGRAM: CommandSpec = {
  name: 'dsh-ref',
  summary: 'Carry what one coding-agent session worked out into another agent, a script or a CI job.',
  examples: ['dsh-ref list login', 'dsh-ref prepare --ref login-fix "Do the same for the admin page."'],
  notes: [
    'It reads the session logs of DeepSeek Harness and never changes them. "dsh-ref help <command>" tells more of each command; "dsh-ref help <topic>" of sessions, formats, exit-status, environment and damaged-logs.',
  ],
  commands: [list, search, pick, prepare, surface, transcript, check, spill, uri, config, completion, help],
  statuses: [2, 3, 4, 5],
  environment: Object.keys(ENVIRONMENT) as (keyof typeof ENVIRONMENT)[],
}

/** Finds the command of a path of names: the deepest one, and how many of the names lead there. */
export function commandAt(names: readonly string[]): { path: readonly CommandSpec[]; depth: number } {
  const path = [PROGRAM]
  for (const name of names) {
    const next = path.at(-1)?.commands?.find((command) => command.name === name)
    if (!next) break
    path.push(next)
  }
  return { path, depth: path.length - 1 }
}

/** The options of a command in the order of the help, the common ones last. */
export function groupsOf(command: CommandSpec): readonly OptionGroup[] {
  const own = command.groups ?? []
  const hasVersion = own.some(({ options }) => options.some(({ flags }) => flags.startsWith('--version')))
  const version = hasVersion ? { ...ANSWERED.version, flags: '-V' } : ANSWERED.version
  return [...own, { ...COMMON, options: [...COMMON.options, version, ANSWERED.help] }]
}

/** The variables a command reads; that of the configuration file is read by every command that does something. */
export function environmentOf({ load, environment = [] }: CommandSpec): readonly (keyof typeof ENVIRONMENT)[] {
  return load ? [...environment, 'XDG_CONFIG_HOME'] : environment
}

/** The statuses of a command and what they mean. */
export function statusesOf({ statuses = [], ownStatuses = {} }: CommandSpec): readonly (readonly [number, string])[] {
  const numbers = [...new Set([0, 1, ...statuses, ...Object.keys(ownStatuses).map(Number), 130, 143])]
  return numbers
    .sort((one, other) => one - other)
    .map((status) => [status, ownStatuses[status] ?? STATUSES[status as keyof typeof STATUSES]] as const)
}
