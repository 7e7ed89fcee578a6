// `dsh-ref list`: the sessions there are to refer to, as a table, lines or JSON. Which and in what order is candidates.ts.

import { invalidConfig } from '../errors.ts'
import { type Candidate, listCandidates } from '../list/candidates.ts'
import type { ListOptions, ListProgress } from '../list/list-options.ts'
import { encodeSessionUri, formatMention } from '../reference/uri.ts'
import { strictJson } from '../text/json-bytes.ts'
import type { Issue } from '../types.ts'
import { titleIndexOf } from './cache.ts'
import { filtersOf } from './filters.ts'
import { type LeftOut, printNotes } from './list-notes.ts'
import { oneOf, optionsOf, text } from './options.ts'
import type { CommandBody, CommandContext } from './print.ts'
import { readingOptions, targetOf } from './sessions.ts'

/** Values of `--format`. */
export const FORMATS = ['table', 'tsv', 'json', 'jsonl', 'id', 'uri', 'mention', 'path'] as const
type Format = (typeof FORMATS)[number]

/** Formats that are one text a row, and so may end it with NUL. */
export const RECORD_FORMATS: ReadonlySet<Format> = new Set(['id', 'uri', 'mention', 'path'])

/** Formats with fields to pick. */
const FIELD_FORMATS: ReadonlySet<Format> = new Set(['tsv', 'json', 'jsonl'])

/** Every field of a row, in the order of its JSON. */
const FIELDS = [
  'sessionId',
  'label',
  'cwd',
  'sameWorkspace',
  'createdAt',
  'mention',
  'uri',
  'path',
  'title',
  'firstMessage',
  'formatVersion',
  'origin',
  'parentSession',
  'updatedAt',
  'sizeBytes',
  'health',
  'archived',
  'issues',
] as const satisfies readonly (keyof Candidate)[]
type Field = (typeof FIELDS)[number]

/** Fields of a line of `tsv` when none are picked. Part of the interface: only ever added to, at the end. */
const TSV_FIELDS: readonly Field[] = [
  'sessionId',
  'label',
  'cwd',
  'createdAt',
  'updatedAt',
  'sizeBytes',
  'formatVersion',
  'origin',
  'parentSession',
  'health',
  'uri',
  'path',
]

/** Fields that are known only once a log was read whole. */
const READ_FIELDS: ReadonlySet<Field> = new Set([
  'label',
  'mention',
  'title',
  'firstMessage',
  'updatedAt',
  'health',
  'issues',
])

/** Time before the first word about progress, and between two, in milliseconds. */
const PROGRESS_AFTER = 2000
const PROGRESS_EVERY = 5000

/** Prints the sessions that match. */
export const list: CommandBody = async (context, args, options) => {
  const now = Date.now()
  const given = optionsOf(options, {
    format: oneOf(FORMATS),
    sort: oneOf(['created', 'updated', 'title', 'size']),
    fields: text(),
  })
  const filters = filtersOf(context, options, now)
  const { format = 'table' } = given
  const query = args.length === 0 ? undefined : args.join(' ')
  const isNull = options.null === true
  if (isNull && !RECORD_FORMATS.has(format)) {
    throw invalidConfig(`Option -0 goes with --format id, uri, mention or path, not with ${format}`, { option: '-0' })
  }
  const fields = fieldsOf(given.fields, format)
  const reading = readingOptions(context, options)
  // Before anything is read: it refuses a place where nothing may be written.
  const index = options.cache === false ? undefined : titleIndexOf(filters.target, context, reading.roots)
  const { target, issues: targetIssues } = await targetOf(filters.target, context, reading)
  const found = await listCandidates({
    ...reading,
    target,
    query,
    ...filters.listed,
    sort: given.sort,
    depth: options.long === true || needsReading(format, fields) ? 'titles' : 'headers',
    includeUnreadable: true,
    index,
    onProgress: context.stderr.isTerminal ? progressOf(context, now, 'their titles') : undefined,
  } satisfies ListOptions)

  const rows = context.secrets?.rows(found.candidates) ?? found.candidates
  const { records, unspelled, leftOut } = RECORD_FORMATS.has(format)
    ? recordsOf(rows, format, isNull)
    : { records: [], unspelled: [], leftOut: undefined }
  const issues = [...targetIssues, ...found.issues]
  context.print.refuseIfStrict([...issues, ...unspelled])
  context.secrets?.refuseIfFound()
  if (RECORD_FORMATS.has(format)) await printLines(context, records, isNull ? '\0' : '\n')
  else await printRows(context, rows, format, fields, options)
  await context.print.issues(issues)
  await printNotes(context, found, leftOut, {
    roots: reading.roots,
    hasLimit: filters.hasLimit,
    isFiltered: query !== undefined || filters.isFiltered,
    origin: filters.listed.origin,
  })
  await context.secrets?.tell(context.print)
}

// Options.

function fieldsOf(list: string | undefined, format: Format): readonly Field[] | undefined {
  if (list === undefined) return undefined
  if (!FIELD_FORMATS.has(format)) {
    throw invalidConfig(`Option --fields goes with --format json, jsonl or tsv, not with ${format}`, {
      option: '--fields',
    })
  }
  return list.split(',').map((name) => {
    const field = FIELDS.find((known) => known === name.trim())
    if (field) return field
    const allowed = FIELDS.join(', ')
    throw invalidConfig(`Option --fields names ${JSON.stringify(name)}; there are ${allowed}`, {
      option: '--fields',
      value: name,
      allowed,
    })
  })
}

/** Whether what is to be printed is known only once the logs were read whole. */
function needsReading(format: Format, fields: readonly Field[] | undefined): boolean {
  if (fields) return fields.some((field) => READ_FIELDS.has(field))
  return format !== 'id' && format !== 'uri' && format !== 'path'
}

// Printing.

async function printRows(
  context: CommandContext,
  candidates: readonly Candidate[],
  format: Format,
  fields: readonly Field[] | undefined,
  options: Readonly<Record<string, unknown>>,
): Promise<void> {
  const rows = fields ? candidates.map((candidate) => picked(candidate, fields)) : candidates
  if (format === 'jsonl') return printLines(context, rows.map(strictJson), '\n')
  if (format === 'json') {
    const lines = await shownAs(context, rows.map(strictJson))
    return context.print.out(lines.length === 0 ? '[]\n' : `[\n${lines.join(',\n')}\n]\n`)
  }
  const { renderTable, tsvField } = await import('../render/candidates.ts')
  if (format === 'tsv') {
    const names = fields ?? TSV_FIELDS
    const lines = candidates.map((candidate) => names.map((name) => tsvField(candidate[name])))
    if (options.header === true) lines.unshift([...names])
    // Field by field: the tabs between them are to stay tabs.
    const shown = await Promise.all(lines.map((fields) => shownAs(context, fields)))
    return context.print.out(shown.map((fields) => `${fields.join('\t')}\n`).join(''))
  }
  const { isTerminal, hasColor, columns } = context.stdout
  const table = await renderTable(candidates, {
    isLong: options.long === true,
    // In a pipe the first line is the first session.
    hasHeader: isTerminal || options.header === true,
    hasColor,
    columns,
    home: context.home,
  })
  await context.print.out(table)
}

function picked(candidate: Candidate, fields: readonly Field[]): Partial<Candidate> {
  return Object.fromEntries(
    fields.filter((name) => candidate[name] !== undefined).map((name) => [name, candidate[name]]),
  )
}

export async function printLines(context: CommandContext, lines: readonly string[], end: string): Promise<void> {
  await context.print.out((await shownAs(context, lines)).map((line) => line + end).join(''))
}

/** On a terminal control and bidi characters are shown as escapes; inside JSON these mean the same. */
export async function shownAs(context: CommandContext, lines: readonly string[]): Promise<readonly string[]> {
  if (!context.stdout.isTerminal) return lines
  const { visible } = await import('../render/visible.ts')
  return lines.map(visible)
}

/**
 * One text a row. A row whose text a reader would not get back is left out with a word, which `--strict` refuses: refusing
 * the whole list always, as `uri decode` refuses its input, would let one odd id hide all the others. A log whose header
 * cannot be read is a row like any other: it has a path, and its directory spells its id.
 */
export function recordsOf(
  candidates: readonly Candidate[],
  format: Format,
  isNull: boolean,
): { records: string[]; unspelled: Issue[]; leftOut: LeftOut | undefined } {
  const records: string[] = []
  const unspelled: Issue[] = []
  const reasons = new Map<string, number>()
  const elsewhere = format === 'id' ? '--format uri or json' : '--format json'
  for (const candidate of candidates) {
    const record = recordOf(candidate, format, isNull)
    const problem = problemOf(record, isNull)
    if (problem === undefined) {
      records.push(record)
      continue
    }
    reasons.set(problem, (reasons.get(problem) ?? 0) + 1)
    const message = `The ${format} holds ${problem}, so it is left out; ${elsewhere} has it`
    unspelled.push({ kind: 'header-field', message, file: candidate.path, sessionId: candidate.sessionId })
  }
  const count = unspelled.length
  return { records, unspelled, leftOut: count === 0 ? undefined : { count, reasons, elsewhere } }
}

function recordOf({ sessionId, label, path }: Candidate, format: Format, isNull: boolean): string {
  switch (format) {
    case 'id':
      return sessionId
    case 'uri':
      return encodeSessionUri(sessionId)
    case 'mention':
      // A label is for reading: a line break in it may become a space where it would end the record.
      return formatMention({
        sessionId,
        label: (isNull ? label.replaceAll('\0', ' ') : label.replace(/[\r\n]+/g, ' ')).toWellFormed(),
      })
    default:
      return path
  }
}

function problemOf(record: string, isNull: boolean): string | undefined {
  if (!record.isWellFormed()) return 'half a surrogate pair'
  if (isNull) return record.includes('\0') ? 'a NUL' : undefined
  return record.includes('\n') || record.endsWith('\r') ? 'a line break' : undefined
}

/** Says now and then how far a long reading has come. */
export function progressOf(context: CommandContext, start: number, what: string): (progress: ListProgress) => void {
  let nextAt = start + PROGRESS_AFTER
  return ({ logsRead, logs }) => {
    if (Date.now() < nextAt || logsRead === logs) return
    nextAt = Date.now() + PROGRESS_EVERY
    void context.print.note(`Read ${logsRead} of ${logs} logs for ${what}`)
  }
}
