// What the table of commands is made of: the shapes of a command, of its options and of their groups. The commands are
// beside this file, the table is ../commands.ts.

import type { CommandBody } from '../print.ts'
import type { Variable } from './environment.ts'
import type { Status } from './statuses.ts'

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
  readonly statuses?: readonly Status[]
  /** What a status means here, where it is something of its own. */
  readonly ownStatuses?: Readonly<Record<number, string>>
  readonly environment?: readonly Variable[]
  readonly commands?: readonly CommandSpec[]
  /** Imports the module; absent for a command that only holds others. */
  readonly load?: () => Promise<CommandBody>
}
