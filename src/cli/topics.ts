// The topics of `dsh-ref help`: what no single command explains. Loaded only where help is asked for.

import { FORMAT_VERSIONS } from '../types.ts'
import { ENVIRONMENT } from './commands/environment.ts'
import { STATUSES } from './commands/statuses.ts'

/** A page of the help. */
export interface Topic {
  readonly name: string
  readonly title: string
  /** A paragraph, or rows of a term and its text. */
  readonly paragraphs: readonly (string | readonly (readonly [string, string])[])[]
}

/** All topics. */
export const TOPICS: readonly Topic[] = [
  {
    name: 'sessions',
    title: 'How to name a session',
    paragraphs: [
      'An argument that takes a session is tried in this order:',
      [
        ['dsh-session:…', 'the URI of a session: its exact id'],
        ['@[label](dsh-session:…)', 'a mention: the exact id, under that label'],
        ['-', 'the rows of a log on standard input'],
        [
          './path, file.jsonl',
          'a log or a session directory, when it exists and has a / in it or ends in .jsonl, .jsonl.zstd or .jsonl.zst',
        ],
        ['an id', 'the session with exactly this id'],
        ['beginning of an id', '6 characters or more, when one session only begins so'],
        ['id:…  path:…', 'force one reading, for an id that looks like a path and the other way round'],
      ],
      'A name that fits several sessions, or none, is refused, and the error names the candidates. Ids may hold any character; "dsh-ref uri encode" spells every one of them in letters that pass through any shell.',
      'Sessions are looked for in the directories of --root (repeatable), else $DSH_REF_ROOT, else $DSH_HOME/sessions, else "roots" of the configuration file, else ~/.dsh/sessions.',
      'The target, the session that receives, is that of --target, else the one whose log $DSH_SESSION_JSONL names. It need not be on disk. It cannot refer to itself.',
    ],
  },
  {
    name: 'formats',
    title: 'Formats of logs and of output',
    paragraphs: [
      `Logs of format versions ${FORMAT_VERSIONS.join(', ')} are read, as rows of JSON (session.jsonl, session.vN.jsonl) and compressed with zstd (….jsonl.zstd); standard input and files with names of your own are told by their first bytes. When a session has logs of several versions, the newest counts. A version from the future is refused, unless --allow-unknown-version says to go by its shape.`,
      'Output of prepare, by --format:',
      [
        ['text', 'the readable message, a blank line, the snapshot (default)'],
        ['snapshot', 'the snapshot alone'],
        ['json', '{content, additionalContext}, as the reference service of DSH returns it'],
        ['jsonl', 'the two messages, one a line'],
        ['chat', '[{role, content}], for any chat API'],
      ],
      'JSON keeps the original strings, apart from half surrogate pairs in texts, which become U+FFFD. JSON Schemas are in the package, see docs/schemas.md there. Equal logs and options give equal bytes.',
    ],
  },
  {
    name: 'exit-status',
    title: 'Exit status',
    paragraphs: [
      Object.entries(STATUSES),
      'Of "transcript grep", 1 means that nothing is found.',
      'stdout carries the product and nothing else; what fails before the output itself leaves it empty. An error is one line on stderr, "dsh-ref: <what, which input, what to do> [CODE]", or with --error-format json one line of JSON, {"error": {code, reason?, message, …}}.',
      [
        ['SESSION_REFERENCE_INVALID_CONFIG', '2'],
        ['SESSION_REFERENCE_INVALID_REFERENCE', '3'],
        ['SESSION_REFERENCE_SELF_REFERENCE', '3'],
        ['SESSION_REFERENCE_TOO_MANY', '3'],
        ['SESSION_REFERENCE_READ_FAILED', '4; reason: not-found, ambiguous, unreadable, unsupported or corrupt'],
        ['SESSION_REFERENCE_BUDGET_EXCEEDED', '5'],
        ['SESSION_REFERENCE_SECRETS_FOUND', '6'],
        [
          'SESSION_REFERENCE_SCAN_FAILED',
          '6; the search for secrets failed, and what was not looked through is not printed',
        ],
        ['SESSION_REFERENCE_CANCELLED', '130, 143'],
      ],
    ],
  },
  {
    name: 'environment',
    title: 'Environment',
    paragraphs: [
      'An option goes before the environment, the environment before the configuration file; "dsh-ref config" prints what holds and why.',
      Object.entries(ENVIRONMENT),
    ],
  },
  {
    name: 'damaged-logs',
    title: 'Damaged logs',
    paragraphs: [
      'An agent that is stopped while it writes leaves a torn last row; that is no damage. The row is left out, the rest is read, and one line on stderr says so. --strict refuses it (status 4) and whatever else "dsh-ref check" calls an issue or worse, --quiet keeps silent.',
      'A log is corrupt when a row, a sequence number, a checksum or a fold rule is wrong: reading on would mean to guess what the model saw. It is refused, and the error names the file, the row or frame, and the rule. A log is unsupported when it is intact and this build does not understand it. The two are never mixed up.',
      [
        ['dsh-ref check <session>', 'says what is wrong, where, and whether DSH itself would refuse the log'],
        ['dsh-ref check --all', 'does so for every session'],
        [
          '--salvage',
          'reads the longest valid prefix, also of a log that was packed anew into one frame; the output says so, and where it ends',
        ],
      ],
      'What cannot change the messages, such as an unknown kind of event or an extra key, is read and reported as an issue. No command repairs, moves or changes a log.',
    ],
  },
  {
    name: 'agents',
    title: 'Connecting agents',
    paragraphs: [
      '"dsh-ref mcp" serves the sessions over the Model Context Protocol on stdio. The agent starts it; every tool only reads, and what a session said comes in a frame that says it is untrusted. Give it the bounds you want: --root, --cwd to show only the sessions of one directory, --target to leave out the session that asks.',
      [
        ['Claude Code', 'claude mcp add dsh-ref -- dsh-ref mcp'],
        ['Codex', 'codex mcp add dsh-ref -- dsh-ref mcp'],
        [
          'DSH, in cordis.yml',
          "- {id: mcp-dsh-ref, name: '@deepseek-ai/dsh-mcp-client', config: {serverName: dsh-ref, transport: stdio, command: dsh-ref, args: [mcp]}}",
        ],
        ['any other client', 'a server of type stdio, command "dsh-ref", arguments ["mcp"]'],
      ],
      'Tried with Claude Code 2.1 and Codex 0.171, which take the lines above as they stand; that of DSH follows the documentation of its plugin and is untried.',
      'An agent with a shell can do without: the folder skills/dsh-ref of the package teaches it the commands. Copy it to ~/.claude/skills for Claude Code, to ~/.dsh/skills or ~/.agents/skills for DSH. DSH sets $DSH_SESSION_JSONL in the shells of its agents, which leaves the session that asks out.',
    ],
  },
]
