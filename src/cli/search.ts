// `dsh-ref search`: the sessions in which something was said, with the lines in which it was. What is found and in what order
// is search/search.ts, how it looks render/search.ts.

import { invalidConfig } from '../errors.ts'
import { cacheDirectory } from '../list/title-index.ts'
import { whyNothing } from '../locate/nothing-found.ts'
import { tsvField } from '../render/candidates.ts'
import type { FoundSession } from '../search/found.ts'
import { boundedLine, type MatchedLine } from '../search/lines.ts'
import { type QueryOptions, queryOf } from '../search/query.ts'
import { type SearchAnswer, searchSessions } from '../search/search.ts'
import { openTextCache } from '../search/text-cache.ts'
import { strictJson } from '../text/json-bytes.ts'
import { titleIndexOf } from './cache.ts'
import { filtersOf } from './filters.ts'
import { FORMATS, printLines, progressOf, RECORD_FORMATS, recordsOf, shownAs } from './list.ts'
import { type LeftOut, saysCut, saysLeftOut } from './list-notes.ts'
import { integer, oneOf, optionsOf } from './options.ts'
import type { CommandBody, CommandContext, CommandOptions } from './print.ts'
import { readingOptions, targetOf } from './sessions.ts'
import { hearSignals } from './signals.ts'

/** What grep says when it has found nothing. */
const NO_MATCH = 1

/** Matching lines shown of a session, and lines around each, when nothing else is said. */
const DEFAULT_LINES = 3
const DEFAULT_CONTEXT = 1

/** Formats that print what was said. */
const LINE_FORMATS: ReadonlySet<string> = new Set(['table', 'json', 'jsonl'])

/** UTF-16 units of a line that are printed at most: some texts are megabytes without a line feed. */
const TABLE_LINE_LENGTH = 1000
const JSON_LINE_LENGTH = 4096

/** Fields of a line of `tsv`. Part of the interface: only ever added to, at the end. */
const TSV_FIELDS = [
  'sessionId',
  'label',
  'cwd',
  'createdAt',
  'updatedAt',
  'matchingLines',
  'firstMessage',
  'uri',
  'path',
] as const satisfies readonly (keyof FoundSession)[]

/** Prints the sessions that hold all that is looked for; status 1 when there are none. */
export const search: CommandBody = async (context, patterns, options) => {
  const now = Date.now()
  const given = optionsOf(options, {
    format: oneOf(FORMATS),
    lines: integer({ min: 0 }),
    context: integer({ min: 0 }),
    role: oneOf(['user', 'assistant']),
  })
  const filters = filtersOf(context, options, now)
  const query = queryOf(patterns, queryOptions(options))
  const format = options.ids === true ? 'id' : (given.format ?? 'table')
  const isNull = options.null === true
  if (isNull && !RECORD_FORMATS.has(format)) {
    throw invalidConfig(`Option -0 goes with -l or --format id, uri, mention or path, not with ${format}`, {
      option: '-0',
    })
  }
  const reading = readingOptions(context, options)
  // Before anything is read: it refuses a place where nothing may be written.
  const index = options.cache === false ? undefined : titleIndexOf(filters.target, context, reading.roots)
  const { target, issues: targetIssues } = await targetOf(filters.target, context, reading)
  const answer = await searchSessions({
    ...reading,
    query,
    role: given.role,
    isCurrent: options.current === true,
    withTools: options.tools === true,
    target,
    ...filters.listed,
    index,
    texts: index && openTextCache(cacheDirectory(context.env, context.home), { undisturbed: hearSignals }),
    onProgress: context.stderr.isTerminal ? progressOf(context, now, 'what was said') : undefined,
    mask: context.secrets && ((text) => context.secrets?.scan.text(text) ?? text),
  })
  try {
    const printsLines = LINE_FORMATS.has(format) && options.count !== true
    const rows = (printsLines ? undefined : context.secrets?.rows(answer.found)) ?? answer.found
    const { records, unspelled, leftOut } = RECORD_FORMATS.has(format)
      ? recordsOf(rows, format, isNull)
      : { records: [], unspelled: [], leftOut: undefined }
    const issues = [...targetIssues, ...answer.issues]
    context.print.refuseIfStrict([...issues, ...unspelled])
    if (context.secrets?.rules.refuses) {
      // All that will be printed is looked through before the first of it is.
      if (printsLines) for (const session of answer.found) await rowOf(context, answer, session, 0)
      context.secrets.refuseIfFound()
    }
    if (options.count === true) await printCounts(context, answer.found)
    else if (RECORD_FORMATS.has(format)) await printLines(context, records, isNull ? '\0' : '\n')
    else if (format === 'tsv') await printTsv(context, rows)
    else if (format === 'table') await printTable(context, answer, given)
    else await printJson(context, answer, format === 'jsonl')
    await context.print.issues(issues)
    await printNotes(context, answer, leftOut, filters.hasLimit, reading.roots)
    await context.secrets?.tell(context.print)
    if (answer.total === 0) context.print.answer(NO_MATCH)
  } finally {
    await answer.close()
  }
}

function queryOptions(options: CommandOptions): QueryOptions {
  return {
    isRegex: options.regex === true,
    isPhrase: options.phrase === true,
    isWord: options.word === true,
    ignoresCase: options.ignoreCase === true,
  }
}

/** A session as it is printed, and its matching lines with some around each; without `around` none. */
async function rowOf(
  { secrets }: CommandContext,
  answer: SearchAnswer,
  session: FoundSession,
  around: number | undefined,
): Promise<{ row: FoundSession; lines: MatchedLine[] }> {
  const linesOf = async (mask?: (text: string) => string) =>
    around === undefined ? [] : answer.linesOf(session, around, mask)
  return secrets ? secrets.found(session, linesOf) : { row: session, lines: await linesOf() }
}

/** All that is printed of what was said goes through here. */
function printable(lines: readonly MatchedLine[], length: number) {
  return lines.map((line) => boundedLine(line, length))
}

async function printTable(
  context: CommandContext,
  answer: SearchAnswer,
  given: { readonly lines?: number | undefined; readonly context?: number | undefined },
): Promise<void> {
  const { renderFound } = await import('../render/search.ts')
  const { columns, hasColor } = context.stdout
  const { lines: maxLines = DEFAULT_LINES, context: around = DEFAULT_CONTEXT } = given
  const options = { columns, home: context.home, maxLines }
  const chalk = hasColor ? new (await import('chalk')).Chalk({ level: 1 }) : undefined
  for (const session of answer.found) {
    const { row, lines } = await rowOf(context, answer, session, maxLines === 0 ? undefined : around)
    await context.print.out(renderFound(row, printable(lines, TABLE_LINE_LENGTH), options, chalk))
  }
}

/** Session by session: one may have very many matches. */
async function printJson(context: CommandContext, answer: SearchAnswer, isLines: boolean): Promise<void> {
  if (!isLines && answer.found.length === 0) return context.print.out('[]\n')
  let isFirst = true
  for (const session of answer.found) {
    const { row, lines } = await rowOf(context, answer, session, 0)
    const matches = printable(lines, JSON_LINE_LENGTH).map(matchRow)
    const [shown = ''] = await shownAs(context, [strictJson({ ...row, matches })])
    await context.print.out(isLines ? `${shown}\n` : `${isFirst ? '[\n' : ',\n'}${shown}`)
    isFirst = false
  }
  if (!isLines) await context.print.out('\n]\n')
}

function matchRow({ seq, role, checkpoint, shadowedBySeq, line, text, ranges, textOffset }: Match) {
  return { seq, role, checkpoint, shadowedBySeq, line, text, ranges, textOffset }
}

type Match = MatchedLine & { readonly textOffset?: number }

async function printTsv(context: CommandContext, found: readonly FoundSession[]): Promise<void> {
  const lines = found.map((session) => TSV_FIELDS.map((name) => tsvField(session[name])))
  // Field by field: the tabs between them are to stay tabs.
  const shown = await Promise.all(lines.map((fields) => shownAs(context, fields)))
  await context.print.out(shown.map((fields) => `${fields.join('\t')}\n`).join(''))
}

async function printCounts(context: CommandContext, found: readonly FoundSession[]): Promise<void> {
  const lines = found.map(({ sessionId, matchingLines }) => `${tsvField(sessionId.toWellFormed())}:${matchingLines}`)
  await printLines(context, lines, '\n')
}

/** Says what a reader of the rows would not know from them. */
async function printNotes(
  { print }: CommandContext,
  { found, total, readable, issues }: SearchAnswer,
  leftOut: LeftOut | undefined,
  hasLimit: boolean,
  roots: readonly string[],
): Promise<void> {
  if (found.length === 0) {
    const why = whyNothing(roots, readable, issues)
    if (why !== undefined) await print.note(why.charAt(0).toUpperCase() + why.slice(1))
    return
  }
  if (leftOut) await print.note(saysLeftOut(leftOut, found.length))
  const cut = hasLimit ? undefined : saysCut(found.length, { omitted: total - found.length, undecided: 0 })
  if (cut !== undefined) await print.note(cut)
}
