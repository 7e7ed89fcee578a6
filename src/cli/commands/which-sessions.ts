// The options of commands that answer with sessions: which ones they go through, how they print them, and what they keep of
// the logs they read.

import { format } from './common.ts'
import type { OptionGroup, OptionSpec } from './spec.ts'

/** Which sessions a list is made of, and a search goes through. */
export const FILTERS: readonly OptionSpec[] = [
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

/** How many of them. */
export const LIMITS: readonly OptionSpec[] = [
  { flags: '--limit <n>', summary: 'at most so many (default: 50, and a note when there are more)' },
  { flags: '--all', summary: 'no limit', conflicts: 'limit' },
]

/** `--format` of a command that prints sessions. */
export const SESSIONS_FORMAT = format(
  'what to print (default: table)',
  'table',
  'tsv',
  'json',
  'jsonl',
  'id',
  'uri',
  'mention',
  'path',
)

/** How what names a session ends. */
export const NUL_AFTER_NAMES: OptionSpec = {
  flags: '-0, --null',
  summary: 'end each id, uri, mention or path with NUL instead of a newline',
}

/** Options of a command that keeps what it reads. */
export const READING_AND_KEEPING: OptionGroup = {
  heading: 'Reading logs:',
  options: [
    { flags: '--allow-unknown-version', summary: 'read a format version this build does not know by its shape' },
    { flags: '--no-cache', summary: 'neither use nor keep what was read before' },
  ],
}
