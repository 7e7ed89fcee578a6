// Options that several commands have: those of every command, those of reading a log, and the ones that are written alike
// wherever they are. Which sessions a command goes through is which-sessions.ts.

import type { OptionGroup, OptionSpec } from './spec.ts'

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
export const READING: OptionGroup = {
  heading: 'Reading logs:',
  options: [
    { flags: '--salvage', summary: 'read the longest valid prefix of a corrupt log, and say so' },
    { flags: '--allow-unknown-version', summary: 'read a format version this build does not know by its shape' },
    { flags: '--max-row-bytes <n>', summary: 'refuse a longer row (default: 268435456)' },
    { flags: '--max-log-bytes <n>', summary: 'refuse a longer log, decompressed (default: 68719476736)' },
    { flags: '--max-window-bytes <n>', summary: 'refuse a larger zstd window (default: 134217728)' },
  ],
}

/** Masking, of every command that prints what a log says. */
export const REDACT: readonly OptionSpec[] = [
  { flags: '--redact', summary: 'mask secrets as [redacted:<kind>], best effort, before anything is cut or printed' },
  { flags: '--no-redact', summary: 'leave them, whatever $DSH_REF_REDACT and the configuration say' },
]

/** What is done about secrets, in every command that prints texts or titles of logs. */
export const SECRETS: OptionGroup = {
  heading: 'Secrets:',
  options: [
    ...REDACT,
    { flags: '--fail-on-secrets', summary: 'print and save nothing when one is found, and end with status 6' },
  ],
}

/** Makes the group of a command that has one. */
export function options(...listed: OptionSpec[]): OptionGroup {
  return { heading: 'Options:', options: listed }
}

/** Makes the option `--format` of its values. */
export function format(summary: string, ...choices: string[]): OptionSpec {
  return { flags: '--format <format>', summary, choices }
}

/** `--format` of a command that prints a table. */
export const TABLE_OR_JSON = format('what to print (default: table)', 'table', 'json')

/** Where full transcripts are. */
export const SPILL_DIR: OptionSpec = {
  flags: '--spill-dir <dir>',
  summary: 'where full transcripts are saved, or "auto" (default: $DSH_REF_SPILL_DIR)',
  takes: 'directory',
}

/** The session that receives. */
export const TARGET: OptionSpec = {
  flags: '--target <session>',
  summary: 'the session that receives; default: the one $DSH_SESSION_JSONL names',
  takes: 'session',
}
