// The table of commands: its words, options, examples, exit statuses and environment are all data, a file a command beside
// this one. main.ts parses by it; the help, the man page and the completion are made of it. No command's module is loaded
// before it runs.

import { check } from './commands/check.ts'
import { ANSWERED, COMMON } from './commands/common.ts'
import { completion } from './commands/completion.ts'
import { config } from './commands/config.ts'
import { ENVIRONMENT, type Variable } from './commands/environment.ts'
import { help } from './commands/help.ts'
import { list } from './commands/list.ts'
import { mcp } from './commands/mcp.ts'
import { pick } from './commands/pick.ts'
import { prepare } from './commands/prepare.ts'
import { search } from './commands/search.ts'
import type { CommandSpec, OptionGroup } from './commands/spec.ts'
import { spill } from './commands/spill.ts'
import { STATUSES, type Status } from './commands/statuses.ts'
import { surface } from './commands/surface.ts'
import { transcript } from './commands/transcript.ts'
import { uri } from './commands/uri.ts'

/** The program itself. */
export const PROGRAM: CommandSpec = {
  name: 'dsh-ref',
  summary: 'Carry what one coding-agent session worked out into another agent, a script or a CI job.',
  examples: ['dsh-ref list login', 'dsh-ref prepare --ref login-fix "Do the same for the admin page."'],
  notes: [
    'It reads the session logs of DeepSeek Harness and never changes them. "dsh-ref help <command>" tells more of each command; "dsh-ref help <topic>" of sessions, formats, exit-status, environment, damaged-logs and agents.',
  ],
  commands: [list, search, pick, prepare, surface, transcript, check, spill, mcp, uri, config, completion, help],
  statuses: [2, 3, 4, 5, 6],
  environment: Object.keys(ENVIRONMENT) as Variable[],
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
export function environmentOf({ load, environment = [] }: CommandSpec): readonly Variable[] {
  return load ? [...environment, 'XDG_CONFIG_HOME'] : environment
}

/** The statuses of a command and what they mean. */
export function statusesOf({ statuses = [], ownStatuses = {} }: CommandSpec): readonly (readonly [number, string])[] {
  const numbers = [...new Set([0, 1, ...statuses, ...Object.keys(ownStatuses).map(Number), 130, 143])]
  return numbers
    .sort((one, other) => one - other)
    .map((status) => [status, ownStatuses[status] ?? STATUSES[status as Status]] as const)
}
