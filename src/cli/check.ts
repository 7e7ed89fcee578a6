// `dsh-ref check`: verifies logs completely and says what is wrong, where, and by which rule.

import {
  type CheckOptions,
  checkFound,
  checkRoots,
  type FoundLog,
  isRefusedByDsh,
  refusedLog,
  withRivalsAmong,
} from '../check/check.ts'
import { DshRefError, invalidConfig } from '../errors.ts'
import { parseSessionArgument } from '../locate/argument.ts'
import { locate } from '../locate/locate.ts'
import { withRivalsInRoots } from '../locate/rivals.ts'
import { renderCheckedLog, renderCheckedPlace } from '../render/check.ts'
import type { CheckedLog, CheckedPlace, CheckStatus } from '../types.ts'
import { oneOf, optionsOf } from './options.ts'
import type { CommandBody, CommandContext } from './print.ts'
import { type ReadingOptions, readingOptions } from './sessions.ts'

/** Exit status when any log or place is corrupt, unsupported or unreadable. */
const REFUSED_STATUS = 4

/** Prints one line a log or place and one line a finding. */
export const check: CommandBody = async (context, args, options) => {
  const { format = 'table' } = optionsOf(options, { format: oneOf(['table', 'json']) })
  const reading = readingOptions(context, options)
  const isAll = options.all === true
  if (isAll === args.length > 0) {
    throw invalidConfig('Name the sessions to check, or all of them with --all; see "dsh-ref check --help"')
  }
  const how = { ...reading, secrets: options.secrets === true }
  const { logs, places } = await redacted(
    isAll ? await checkRoots(how) : { logs: await checkSome(args, context, how), places: [] },
    context,
  )
  const isStrict = context.globals.strict
  if (format === 'json') await context.print.json(dataOf(logs, places))
  else {
    const paint = await painter(context)
    for (const log of logs) await context.print.out(`${renderCheckedLog(log, paint)}\n`)
    for (const place of places) await context.print.out(`${renderCheckedPlace(place, paint)}\n`)
  }
  const counted = [`${logs.length} ${logs.length === 1 ? 'log' : 'logs'} checked: ${counts(logs)}`]
  if (places.length > 0)
    counted.push(`${places.length} odd ${places.length === 1 ? 'place' : 'places'}: ${counts(places)}`)
  await context.print.note(counted.join('; '))
  if (how.secrets) await context.print.note(saysSecrets(logs))
  const isRefused = ({ status }: CheckedPlace) => status !== 'ok' && (status !== 'issues' || isStrict)
  if ([...logs, ...places].some(isRefused)) context.print.answer(REFUSED_STATUS)
}

interface Checked {
  readonly logs: readonly CheckedLog[]
  readonly places: readonly CheckedPlace[]
}

/** Findings may quote what a log says, and name paths that spell its directory: masked, where the run masks. */
async function redacted(checked: Checked, { secrets }: CommandContext): Promise<Checked> {
  if (!secrets?.rules.redacts) return checked
  const { maskedAside } = await import('../redact.ts')
  return maskedAside(checked, secrets.scan)
}

function dataOf(logs: readonly CheckedLog[], places: readonly CheckedPlace[]) {
  const judged = <Checked extends CheckedPlace>(checked: Checked) => ({
    ...checked,
    refusedByDsh: isRefusedByDsh(checked),
  })
  // The places once more as the issues that listing reports, in the shape issues have everywhere.
  const issues = places.flatMap(({ path, findings }) =>
    findings.map(({ rule, message }) => ({ kind: rule, message, file: path })),
  )
  return { schemaVersion: 1, logs: logs.map(judged), places: places.map(judged), issues }
}

async function checkSome(
  args: readonly string[],
  context: CommandContext,
  reading: ReadingOptions & CheckOptions,
): Promise<CheckedLog[]> {
  const found: FoundLog[] = []
  // Rivals are looked for once, for all the sessions together.
  for (const argument of args) found.push(await foundLog(argument, context, { ...reading, everyRow: false }))
  return checkFound(await withRivalsAmong(found, (logs) => withRivalsInRoots(logs, reading)), reading)
}

/** What is wrong at a place is a line like any other; that there is no such session is an error. */
async function foundLog(argument: string, context: CommandContext, reading: ReadingOptions): Promise<FoundLog> {
  const parsed = parseSessionArgument(argument, context.cwd)
  if (parsed.kind === 'stdin') throw invalidConfig('check reads logs by path or id, not from standard input')
  try {
    return await locate(parsed, reading)
  } catch (error) {
    const isNowhere = !(error instanceof DshRefError) || error.facts.file === undefined
    if (isNowhere) throw error
    return refusedLog(argument, error)
  }
}

function saysSecrets(logs: readonly CheckedLog[]): string {
  const found = logs.map(({ findings }) => findings.filter(({ rule }) => rule === 'secret'))
  const total = found.flat().reduce((sum, { count = 1 }) => sum + count, 0)
  if (total === 0) return 'No secrets found; best effort, and no proof that there are none'
  const holding = found.filter((findings) => findings.length > 0).length
  return `${total} ${total === 1 ? 'secret' : 'secrets'} found in ${holding} ${holding === 1 ? 'log' : 'logs'}; best effort, and no proof that there are no others`
}

function counts(checked: readonly CheckedPlace[]): string {
  const word = (status: CheckStatus) => (status === 'issues' ? 'with issues' : status)
  const numbers = new Map<CheckStatus, number>()
  for (const { status } of checked) numbers.set(status, (numbers.get(status) ?? 0) + 1)
  return [...numbers].map(([status, number]) => `${number} ${word(status)}`).join(', ') || 'nothing there'
}

async function painter({ stdout }: CommandContext): Promise<(status: CheckStatus, text: string) => string> {
  if (!stdout.hasColor) return (_status, text) => text
  const { Chalk } = await import('chalk')
  const chalk = new Chalk({ level: 1 })
  return (status, text) =>
    status === 'ok' ? chalk.green(text) : status === 'issues' ? chalk.yellow(text) : chalk.red(text)
}
