// `dsh-ref check`: verifies logs completely and says what is wrong, where, and by which rule.

import pLimit from 'p-limit'
import { checkLog, checkPath, isRefusedByDsh, refusedLog } from '../check.ts'
import { invalidConfig } from '../errors.ts'
import { generationIn, locate, parseSessionArgument, requireRoots, sessionDirectories } from '../locate.ts'
import { renderCheckedLog } from '../render/check.ts'
import type { CheckedLog, Issue } from '../types.ts'
import { oneOf, optionsOf } from './options.ts'
import type { CommandBody, CommandContext } from './print.ts'
import { type ReadingOptions, readingOptions } from './sessions.ts'

/** Exit status when any log is corrupt, unsupported or unreadable. */
const REFUSED_STATUS = 4

/** Logs verified at once: the work is the processor's, not the disk's. */
const CONCURRENCY = 2

/** Prints one line a log and one line a finding. */
export const check: CommandBody = async (context, args, options) => {
  const { format = 'table' } = optionsOf(options, { format: oneOf(['table', 'json']) })
  const reading = readingOptions(context, options)
  const isAll = options.all === true
  if (isAll === args.length > 0) {
    throw invalidConfig('Name the sessions to check, or all of them with --all; see "dsh-ref check --help"')
  }
  const issues: Issue[] = []
  const checked = isAll ? await checkAll(context, reading, issues) : await checkSome(args, context, reading)
  const isStrict = context.globals.strict
  if (format === 'json') {
    const logs = checked.map((log) => ({ ...log, refusedByDsh: isRefusedByDsh(log) }))
    await context.print.json({ schemaVersion: 1, logs, issues })
  } else {
    const paint = await painter(context)
    for (const log of checked) await context.print.out(`${renderCheckedLog(log, paint)}\n`)
  }
  const counted = counts(checked)
  await context.print.note(`${checked.length} ${checked.length === 1 ? 'log' : 'logs'} checked: ${counted}`)
  await context.print.issues(issues)
  const isRefused = ({ status }: CheckedLog) => status !== 'ok' && (status !== 'issues' || isStrict)
  if (checked.some(isRefused)) context.print.answer(REFUSED_STATUS)
}

async function checkSome(
  args: readonly string[],
  context: CommandContext,
  reading: ReadingOptions,
): Promise<CheckedLog[]> {
  const limit = pLimit(CONCURRENCY)
  return Promise.all(
    args.map((argument) =>
      limit(async () => {
        const parsed = parseSessionArgument(argument, context.cwd)
        if (parsed.kind === 'stdin') throw invalidConfig('check reads logs by path or id, not from standard input')
        if (parsed.kind === 'path') return checkPath(parsed.path, reading)
        return checkLog(await locate(parsed, reading), reading)
      }),
    ),
  )
}

async function checkAll(context: CommandContext, reading: ReadingOptions, issues: Issue[]): Promise<CheckedLog[]> {
  requireRoots(reading.roots)
  const limit = pLimit(CONCURRENCY)
  const directories = [...sessionDirectories(reading.roots, issues)]
  const checked = await Promise.all(
    directories.map((directory) =>
      limit(async () => {
        context.signal.throwIfAborted()
        try {
          const generation = generationIn(directory)
          return generation && (await checkPath(generation.path, reading))
        } catch (error) {
          return refusedLog(directory, error)
        }
      }),
    ),
  )
  return checked.filter((log) => log !== undefined)
}

function counts(checked: readonly CheckedLog[]): string {
  const word = (status: CheckedLog['status']) => (status === 'issues' ? 'with issues' : status)
  return [...byStatus(checked)].map(([status, logs]) => `${logs.length} ${word(status)}`).join(', ') || 'nothing there'
}

function byStatus(checked: readonly CheckedLog[]): Map<CheckedLog['status'], CheckedLog[]> {
  const groups = new Map<CheckedLog['status'], CheckedLog[]>()
  for (const log of checked) groups.set(log.status, [...(groups.get(log.status) ?? []), log])
  return groups
}

async function painter({ stdout }: CommandContext): Promise<(status: CheckedLog['status'], text: string) => string> {
  if (!stdout.hasColor) return (_status, text) => text
  const { Chalk } = await import('chalk')
  const chalk = new Chalk({ level: 1 })
  return (status, text) =>
    status === 'ok' ? chalk.green(text) : status === 'issues' ? chalk.yellow(text) : chalk.red(text)
}
