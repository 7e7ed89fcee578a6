// `dsh-ref search`: the sessions in which something was said, with the lines in which it was. What is found and in what order
// is search/search.ts, how it looks render/search.ts.

import { invalidConfig } from '../errors.ts'
import { strictJson } from '../json-bytes.ts'
import { tsvField } from '../render/candidates.ts'
import { boundedLine, type MatchedLine } from '../search/lines.ts'
import { type QueryOptions, queryOf } from '../search/query.ts'
import { type FoundSession, type SearchAnswer, searchSessions } from '../search/search.ts'
import { openTextCache } from '../search/text-cache.ts'
import { cacheDirectory, openTitleIndex } from '../title-index.ts'
import type { Issue } from '../types.ts'
import {
  counted,
  FORMATS,
  moment,
  printLines,
  progressOf,
  RECORD_FORMATS,
  recordsOf,
  shownAs,
  spellingsOf,
} from './list.ts'
import { integer, oneOf, optionsOf, text } from './options.ts'
import type { CommandBody, CommandContext, CommandOptions } from './print.ts'
import { readingOptions, targetOf } from './sessions.ts'

/** What grep says when it has found nothing. */
const NO_MATCH = 1

/** Matching lines shown of a session, and lines around each, when nothing else is said. */
const DEFAULT_LINES = 3
const DEFAULT_CONTEXT = 1

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
    limit: integer({ min: 1 }),
    lines: integer({ min: 0 }),
    context: integer({ min: 0 }),
    role: oneOf(['user', 'assistant']),
    target: text(),
    cwd: text(),
    since: moment(now, 'start'),
    until: moment(now, 'end'),
    origin: oneOf(['all', 'main', 'subagent']),
    archived: oneOf(['show', 'hide', 'only']),
    version: integer({ min: 0 }),
    health: oneOf(['ok', 'torn', 'corrupt', 'unsupported', 'unread']),
  })
  const query = queryOf(patterns, queryOptions(options))
  const format = options.ids === true ? 'id' : (given.format ?? 'table')
  const isNull = options.null === true
  if (isNull && !RECORD_FORMATS.has(format)) {
    throw invalidConfig(`Option -0 goes with -l or --format id, uri, mention or path, not with ${format}`, {
      option: '-0',
    })
  }
  const reading = readingOptions(context, options)
  const { target, issues: targetIssues } = await targetOf(given.target, context, reading)
  const directory = cacheDirectory(context.env, context.home)
  const index = options.cache === false ? undefined : openTitleIndex(directory, reading.roots)
  const answer = await searchSessions({
    ...reading,
    query,
    role: given.role,
    isCurrent: options.current === true,
    withTools: options.tools === true,
    target,
    limit: options.all === true ? Number.POSITIVE_INFINITY : given.limit,
    cwds: given.cwd === undefined ? undefined : spellingsOf(given.cwd, context),
    since: given.since,
    until: given.until,
    origin: given.origin,
    archived: given.archived,
    formatVersion: given.version,
    health: given.health,
    index,
    texts: index && openTextCache(directory),
    onProgress: context.stderr.isTerminal ? progressOf(context, now) : undefined,
  })
  try {
    const { records, issues: unprintable } = RECORD_FORMATS.has(format)
      ? recordsOf(answer.found, format, isNull)
      : { records: [], issues: [] }
    const issues = [...targetIssues, ...answer.issues, ...unprintable]
    context.print.refuseIfStrict(issues)
    if (options.count === true) await printCounts(context, answer.found)
    else if (RECORD_FORMATS.has(format)) await printLines(context, records, isNull ? '\0' : '\n')
    else if (format === 'tsv') await printTsv(context, answer.found)
    else if (format === 'table') await printTable(context, answer, given)
    else await printJson(context, answer, format === 'jsonl')
    await context.print.issues(issues)
    await printNotes(context, answer, reading.roots)
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
    const lines = printable(maxLines === 0 ? [] : await answer.linesOf(session, around), TABLE_LINE_LENGTH)
    await context.print.out(renderFound(session, lines, options, chalk))
  }
}

/** Session by session: one may have very many matches. */
async function printJson(context: CommandContext, answer: SearchAnswer, isLines: boolean): Promise<void> {
  if (!isLines && answer.found.length === 0) return context.print.out('[]\n')
  let isFirst = true
  for (const session of answer.found) {
    const matches = printable(await answer.linesOf(session, 0), JSON_LINE_LENGTH).map(matchRow)
    const [row = ''] = await shownAs(context, [strictJson({ ...session, matches })])
    await context.print.out(isLines ? `${row}\n` : `${isFirst ? '[\n' : ',\n'}${row}`)
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

/** What a person at a terminal wants to know of an answer that is not all there is. */
async function printNotes(
  { print, stdout, stderr }: CommandContext,
  {
    found,
    total,
    sessions,
    issues,
  }: { found: readonly unknown[]; total: number; sessions: number; issues: readonly Issue[] },
  roots: readonly string[],
): Promise<void> {
  if (sessions === 0 && issues.length === 0) {
    await print.note(`There are no sessions in ${roots.join(', ')}; name another place with --root`)
  } else if (stdout.isTerminal && stderr.isTerminal && total > found.length) {
    await print.note(`${counted(total - found.length, 'more session')} found; see all with --all`)
  }
}
