// What to do about a log that was refused, in the words of the command line: the option that would read what stands, and the
// command that tells more. The messages of the library know of neither.

import { DshRefError, isReadFailure } from '../errors.ts'
import type { Issue } from '../types.ts'
import type { CommandOptions } from './print.ts'
import { shellWord } from './shell-words.ts'

/** The command that refused: the names of its options, and what was given for them. */
export interface RefusedCommand {
  readonly optionNames: ReadonlySet<string>
  readonly options: CommandOptions
  readonly isStrict: boolean
}

/** The refusal with its advice, if there is any to give; every other error as it is. */
export function advised(error: unknown, command: RefusedCommand): unknown {
  if (!isReadFailure(error)) return error
  const advice = [salvageAdvice(error, command), checkAdvice(error, command)].filter((part) => part !== undefined)
  if (advice.length === 0) return error
  const { code, message, facts, cause } = error
  return new DshRefError(code, `${message}; ${advice.join(', or ')}`, facts, { cause })
}

/** Of use where a prefix with events stands, and not with `--strict`, which refuses a prefix. */
function salvageAdvice({ reason, facts }: DshRefError, { optionNames, options, isStrict }: RefusedCommand) {
  const isOfUse = reason === 'corrupt' && typeof facts.throughSeq === 'number'
  if (!isOfUse || !optionNames.has('salvage') || options.salvage === true || isStrict) return undefined
  return `--salvage reads the log through seq ${facts.throughSeq}`
}

/** Of use for a log on disk that was looked into; a limit or a version names its own option. */
function checkAdvice({ reason, facts }: DshRefError, { optionNames }: RefusedCommand): string | undefined {
  const readsLogs = optionNames.has('salvage') || optionNames.has('health')
  if (!readsLogs) return undefined
  const { rule, file, issues } = facts
  if (Array.isArray(issues)) return checkAdviceOfIssues(issues as readonly Issue[])
  if (reason !== 'corrupt' && reason !== 'unsupported') return undefined
  if (typeof rule !== 'string' || rule === 'unknown-version') return undefined
  return typeof file === 'string' && file !== '<stdin>' ? checkOf(file) : undefined
}

/** One log is checked by itself, several are found among all. */
function checkAdviceOfIssues(issues: readonly Issue[]): string | undefined {
  const files = new Set(issues.map(({ file }) => file))
  const [file] = files
  if (files.size > 1) return '"dsh-ref check --all" tells more'
  return file === undefined || file === '<stdin>' ? undefined : checkOf(file)
}

function checkOf(file: string): string {
  return `"dsh-ref check ${shellWord(file)}" tells more`
}
