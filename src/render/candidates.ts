// The list of sessions as strings: a table for people, lines of tab-separated values for scripts. What is needed for few
// lists only is loaded for those: string-width alone takes as long to load as five thousand sessions to list.

import type { ChalkInstance } from 'chalk'
import { type NamedRow, untitledName } from './name.ts'
import { visible } from './visible.ts'

/** What the table shows of a session. */
export interface CandidateRow extends NamedRow {
  readonly sessionId: string
  readonly label: string
  readonly cwd?: string
  readonly createdAt?: number
  readonly updatedAt?: number
  readonly sizeBytes: number
  readonly formatVersion: number
  readonly origin?: string
  readonly parentSession?: string
  readonly health: string
}

/** How a table is to look. */
export interface TableOptions {
  /** All columns, not only those that tell sessions apart. */
  readonly isLong: boolean
  readonly hasHeader: boolean
  readonly hasColor: boolean
  /** Width of the terminal; `undefined`: nothing is cut but endless labels. */
  readonly columns: number | undefined
  /** Home directory, shown as `~`. */
  readonly home: string
}

/** Columns between two columns. */
const GAP = 2

/** A label longer than this says nothing more, and would push all other columns out of sight. */
const MAX_LABEL_COLUMNS = 120

const NOTHING = '-'

/** Stages of making a table narrower: titles and directories give way, then ids, whose beginning is a name as well. */
const STAGES = 3
const WHOLE = Number.POSITIVE_INFINITY

interface Column {
  readonly title: string
  readonly cell: (row: CandidateRow, options: TableOptions) => string
  /** Columns it keeps in each stage of making a table narrower; absent when it is never cut. */
  readonly least?: readonly number[]
  readonly isRight?: boolean
  /** The end tells more than the beginning. */
  readonly keepsEnd?: boolean
  /** Shown without `--long` too: always, or when a row has something to say there. */
  readonly short?: 'always' | 'when-odd'
}

const HEALTH: Column = { title: 'HEALTH', cell: ({ health }) => health, short: 'when-odd' }

const LABEL: Column = { title: 'LABEL', cell: labelCell, least: [24, 24, 8], short: 'always' }

const PARENT: Column = { title: 'PARENT', cell: parentCell, least: [16, 16, 8], short: 'when-odd' }

const COLUMNS: readonly Column[] = [
  HEALTH,
  LABEL,
  { title: 'ID', cell: ({ sessionId }) => visible(sessionId), least: [WHOLE, 14, 8], short: 'always' },
  {
    title: 'CWD',
    cell: ({ cwd }, { home }) => (cwd === undefined ? NOTHING : visible(fromHome(cwd, home))),
    least: [12, 12, 8],
    keepsEnd: true,
    short: 'always',
  },
  { title: 'CREATED', cell: ({ createdAt }) => localTime(createdAt), short: 'always' },
  { title: 'UPDATED', cell: ({ updatedAt }) => localTime(updatedAt) },
  { title: 'SIZE', cell: ({ sizeBytes }) => inUnits(sizeBytes), isRight: true },
  { title: 'VERSION', cell: ({ formatVersion }) => String(formatVersion), isRight: true },
  { title: 'ORIGIN', cell: ({ origin = NOTHING }) => visible(origin), least: [8] },
  PARENT,
]

/** The table, a line a row. Control and bidi characters are shown as escapes. */
export async function renderTable(rows: readonly CandidateRow[], options: TableOptions): Promise<string> {
  if (rows.length === 0) return ''
  const texts = rows.flatMap((row) => {
    const { sessionId, cwd = '', origin = '', parentSession = '' } = row
    return [nameOf(row), sessionId, cwd, origin, parentSession]
  })
  if (!texts.every((text) => isSimple(visible(text)))) library ??= await import('./text.ts')
  const odd = new Set<Column>()
  if (rows.some(({ health }) => health !== 'ok')) odd.add(HEALTH)
  if (hasNamesakes(rows)) odd.add(PARENT)
  const columns = COLUMNS.filter((column) => options.isLong || column.short === 'always' || odd.has(column))
  const cells = rows.map((row) => columns.map((column) => column.cell(row, options)))
  const lines = options.hasHeader ? [columns.map(({ title }) => title), ...cells] : cells
  const natural = columns.map((_, index) =>
    lines.reduce((widest, line) => Math.max(widest, widthOf(line[index] as string)), 0),
  )
  const widths = fitted(columns, natural, options.columns)
  const chalk = options.hasColor ? new (await import('chalk')).Chalk({ level: 1 }) : undefined
  const gap = ' '.repeat(GAP)
  const rendered = lines.map((line, lineIndex) => {
    const isHeader = options.hasHeader && lineIndex === 0
    const padded = line.map((cell, index) => placed(cell, widths[index] as number, columns[index] as Column))
    padded.push((padded.pop() ?? '').trimEnd())
    const plain = padded.join(gap)
    // A terminal too narrow even for the least widths cuts the line, which colour codes would not survive.
    if (options.columns !== undefined && widthOf(plain) > options.columns) return cut(plain, options.columns)
    if (!chalk) return plain
    const colored = padded.map((cell, index) => {
      if (isHeader) return chalk.bold(cell)
      if (columns[index] === HEALTH) return coloredHealth(chalk, line[index] as string, cell)
      const row = rows[options.hasHeader ? lineIndex - 1 : lineIndex] as CandidateRow
      return columns[index] === LABEL && untitledName(row) !== undefined ? chalk.dim(cell) : cell
    })
    return colored.join(gap)
  })
  return rendered.map((line) => `${line}\n`).join('')
}

/** A value as a field of a tab-separated line: backslash, tab and line breaks are written `\\`, `\t`, `\n` and `\r`. */
export function tsvField(value: unknown): string {
  if (value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.replace(/[\\\t\n\r]/g, (character) => TSV_ESCAPES[character] as string)
}

const TSV_ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

/** A session that said nothing is known by its label, which is its id then. */
function nameOf(row: CandidateRow): string {
  return untitledName(row) ?? row.label
}

function labelCell(row: CandidateRow): string {
  const name = nameOf(row)
  const start = name.slice(0, 8 * MAX_LABEL_COLUMNS)
  return cut(visible(start.length < name.length ? `${start}…` : start), MAX_LABEL_COLUMNS)
}

/** Whether a fork, or a sub-agent, has the name of another row: by its name alone nobody could tell the two apart. */
function hasNamesakes(rows: readonly CandidateRow[]): boolean {
  const seen = new Map<string, boolean>()
  for (const row of rows) {
    const isChild = row.parentSession !== undefined
    const name = nameOf(row)
    const namesake = seen.get(name)
    if (namesake !== undefined && (namesake || isChild)) return true
    seen.set(name, isChild)
  }
  return false
}

/** The parent; beside a table with all columns, which has its heading and the origin, in a word what it is to it. */
function parentCell({ parentSession, origin }: CandidateRow, { isLong }: TableOptions): string {
  if (parentSession === undefined) return NOTHING
  const relation = isLong ? '' : `${origin === 'subagent' ? 'sub-agent' : 'fork'} of `
  return `${relation}${visible(parentSession)}`
}

/** A directory with the home as `~`. */
export function fromHome(cwd: string, home: string): string {
  if (cwd === home) return '~'
  return cwd.startsWith(`${home}/`) || cwd.startsWith(`${home}\\`) ? `~${cwd.slice(home.length)}` : cwd
}

/** To the minute, in the time zone of the reader. */
export function localTime(time: number | undefined): string {
  const date = new Date(time ?? Number.NaN)
  if (Number.isNaN(date.getTime())) return NOTHING
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
}

/** Three digits and a unit of 1024. */
function inUnits(bytes: number): string {
  let value = bytes
  let unit = 0
  while (Math.round(value) >= 1000 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  return unit === 0 || value >= 10 ? `${Math.round(value)}${UNITS[unit]}` : `${value.toFixed(1)}${UNITS[unit]}`
}

const UNITS = ['B', 'K', 'M', 'G', 'T', 'P']

/** Characters of one column: Latin, Greek, Cyrillic, Hebrew, Arabic and punctuation, without marks and joiners. */
const NARROW =
  ' -~\u00a1-\u00ac\u00ae-\u02af\u0391-\u03a1\u03a3-\u03c9\u0400-\u0481\u048a-\u052f\u05d0-\u05ea\u0620-\u064a\u0660-\u0669\u0671-\u06d3\u2013\u2014\u2018-\u201d\u2026'
/** Characters of two columns: kana, Chinese, Hangul syllables, full-width forms. */
const BROAD = '\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60'
/** Emoji of two columns; not the skin tones and flag letters, which join others. */
const EMOJI = '(?![\\u{1f3fb}-\\u{1f3ff}\\u{1f1e6}-\\u{1f1ff}])\\p{Emoji_Presentation}'

/** Texts in which every code point is a character with a width of its own. All others are up to the library. */
const SIMPLE = new RegExp(`^(?:[${NARROW}${BROAD}]|${EMOJI})*$`, 'u')
const WIDE = new RegExp(`[${BROAD}]|${EMOJI}`, 'gu')
const ASCII = /^[ -~]*$/

/** What measures and cuts the other texts, once it is loaded. */
let library: typeof import('./text.ts') | undefined

function isSimple(text: string): boolean {
  return ASCII.test(text) || SIMPLE.test(text)
}

function loaded(): typeof import('./text.ts') {
  if (!library) throw new Error('A text that is not simple was measured before the library was loaded')
  return library
}

function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length
  if (!isSimple(text)) return loaded().displayWidth(text)
  let width = text.length
  // A character outside the basic plane is two units long already.
  for (const [character] of text.matchAll(WIDE)) width += character.length === 1 ? 1 : 0
  return width
}

/** Cuts a text to a number of columns, with an ellipsis where something is missing. */
function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  if (!isSimple(text)) return loaded().cutToWidth(text, columns)
  return columns < 1 ? '' : `${fitting([...text], columns - 1).join('')}…`
}

/** Cuts a text at its beginning, between two graphemes. */
function cutStart(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  const graphemes = isSimple(text)
    ? [...text]
    : Array.from(new Intl.Segmenter('en').segment(text), ({ segment }) => segment)
  return columns < 1
    ? ''
    : `…${fitting(graphemes.reverse(), columns - 1)
        .reverse()
        .join('')}`
}

/** The first graphemes that fit into so many columns. */
function fitting(graphemes: readonly string[], columns: number): string[] {
  let width = 0
  const end = graphemes.findIndex((grapheme) => {
    width += widthOf(grapheme)
    return width > columns
  })
  return graphemes.slice(0, end === -1 ? undefined : end)
}

/** Widths that fit the terminal: the column with most to spare gives way first. */
function fitted(columns: readonly Column[], natural: readonly number[], available: number | undefined): number[] {
  const widths = [...natural]
  if (available === undefined) return widths
  let excess = widths.reduce((sum, width) => sum + width, GAP * (widths.length - 1)) - available
  for (let stage = 0; stage < STAGES; stage++) {
    while (excess > 0) {
      const spare = columns.map(({ least }, index) => (least ? (widths[index] as number) - (least[stage] ?? WHOLE) : 0))
      const widest = spare.indexOf(Math.max(...spare))
      if ((spare[widest] as number) <= 0) break
      widths[widest] = (widths[widest] as number) - 1
      excess--
    }
  }
  return widths
}

/** A cell brought to its width. */
function placed(cell: string, width: number, { isRight, keepsEnd }: Column): string {
  const shown = keepsEnd ? cutStart(cell, width) : cut(cell, width)
  const filling = ' '.repeat(Math.max(0, width - widthOf(shown)))
  return isRight ? filling + shown : shown + filling
}

function coloredHealth(chalk: ChalkInstance, health: string, padded: string): string {
  if (health === 'ok') return chalk.green(padded)
  return health === 'torn' || health === 'unread' ? chalk.yellow(padded) : chalk.red(padded)
}
