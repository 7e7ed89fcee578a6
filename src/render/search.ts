// Sessions in which something was said, as text for people: a line for each, and under it the lines that hold what was looked
// for. Strings only; what is found is search/search.ts.

import type { ChalkInstance } from 'chalk'
import { fromHome, localTime } from './candidates.ts'
import { type NamedRow, NO_TITLE, untitledName } from './name.ts'
import { cutStartToWidth, cutToWidth, displayWidth } from './text.ts'
import { visible } from './visible.ts'

/** A session, as far as it is shown. */
export interface FoundRow extends NamedRow {
  readonly sessionId: string
  readonly cwd?: string
  readonly createdAt?: number
  readonly updatedAt?: number
  readonly matchingLines: number
}

/** A line of it. */
export interface FoundLine {
  readonly seq: number
  readonly line: number
  readonly role: string
  readonly checkpoint: boolean
  readonly shadowedBySeq?: number
  readonly text: string
  /** UTF-16 offsets of what was looked for. */
  readonly ranges: readonly (readonly [start: number, end: number])[]
  readonly terms: number
  readonly isPhrase: boolean
  readonly before: readonly string[]
  readonly after: readonly string[]
}

/** How the answer is to look. */
export interface FoundOptions {
  /** Width of the terminal; `undefined`: lines are cut to no width. */
  readonly columns: number | undefined
  /** Home directory, shown as `~`. */
  readonly home: string
  /** Matching lines shown of a session. */
  readonly maxLines: number
}

const INDENT = '    '
const GAP = '  '

/** Lines of context say little; a longer one is cut. */
const CONTEXT_LENGTH = 400

/** The lines of a session that are shown, in log order: those with the phrase, and with most of the terms, before others. */
export function bestLines<Line extends Pick<FoundLine, 'terms' | 'isPhrase'>>(
  lines: readonly Line[],
  count: number,
): Line[] {
  const inOrder = [...lines.keys()].sort((one, other) => {
    const [a, b] = [lines[one] as Line, lines[other] as Line]
    return Number(b.isPhrase) - Number(a.isPhrase) || bits(b.terms) - bits(a.terms) || one - other
  })
  const kept = inOrder.slice(0, count).sort((one, other) => one - other)
  return kept.map((index) => lines[index] as Line)
}

/** How many bits are set. */
function bits(terms: number): number {
  let count = 0
  for (let rest = terms; rest !== 0; rest &= rest - 1) count++
  return count
}

/** One session and its best lines, each with its line feed. Control and bidi characters are shown as escapes. */
export function renderFound(
  row: FoundRow,
  lines: readonly FoundLine[],
  options: FoundOptions,
  chalk: ChalkInstance | undefined,
): string {
  const shown = bestLines(lines, options.maxLines)
  const places = shown.map(placeOf)
  const width = Math.max(0, ...places.map((place) => place.length))
  const room = options.columns === undefined ? undefined : options.columns - INDENT.length - width - GAP.length
  let text = `${headOf(row, options, chalk)}\n`
  for (const [index, line] of shown.entries()) {
    const around = (context: string) => {
      const margin = INDENT + ' '.repeat(width) + GAP
      const cut = cutTo(visible(context.slice(0, CONTEXT_LENGTH)), room)
      return `${margin}${chalk ? chalk.dim(cut) : cut}\n`
    }
    const place = (places[index] as string).padEnd(width)
    text += line.before.map(around).join('')
    text += `${INDENT}${chalk ? chalk.cyan(place) : place}${GAP}${renderLine(line, room, chalk)}\n`
    text += line.after.map(around).join('')
  }
  const rest = row.matchingLines - shown.length
  if (rest > 0) {
    const more = `${INDENT}and ${rest} more matching ${rest === 1 ? 'line' : 'lines'}`
    text += `${chalk ? chalk.dim(more) : more}\n`
  }
  return text
}

function headOf(row: FoundRow, { columns, home }: FoundOptions, chalk: ChalkInstance | undefined): string {
  const { sessionId, title, cwd, createdAt, updatedAt } = row
  const name = visible(title ?? untitledName(row) ?? NO_TITLE)
  const facts = [
    visible(sessionId),
    cwd === undefined ? '-' : visible(fromHome(cwd, home)),
    localTime(updatedAt ?? createdAt),
  ].join(GAP)
  const room =
    columns === undefined ? undefined : Math.max(MIN_LABEL_COLUMNS, columns - displayWidth(facts) - GAP.length)
  const cut = cutTo(name, room)
  if (columns !== undefined && displayWidth(cut + GAP + facts) > columns) return cutTo(cut + GAP + facts, columns)
  if (!chalk) return cut + GAP + facts
  return `${title === undefined ? chalk.dim(cut) : chalk.bold(cut)}${GAP}${facts}`
}

const MIN_LABEL_COLUMNS = 16

/** Where a line stands: the seq of its message, its number there, and who said it. */
function placeOf({ seq, line, role, checkpoint, shadowedBySeq }: FoundLine): string {
  const marks = [checkpoint ? 'checkpoint' : role, ...(shadowedBySeq === undefined ? [] : ['replaced'])]
  return `${seq}:${line} ${marks.join(', ')}`
}

/** The line, cut to so many columns around its first match. */
function renderLine({ text, ranges }: FoundLine, room: number | undefined, chalk: ChalkInstance | undefined): string {
  const first = ranges[0]?.[0] ?? 0
  // More units than columns are never shown, but for marks and joiners.
  const reach = room === undefined ? Number.POSITIVE_INFINITY : 8 * Math.max(room, 1)
  const lead = visible(text.slice(Math.max(0, first - reach), first))
  const pieces = piecesOf(text.slice(0, first + reach), first, ranges)
  const painted = (piece: Piece, shown: string) => (chalk && piece.isMatch ? chalk.bold.red(shown) : shown)
  if (room === undefined) return lead + pieces.map((piece) => painted(piece, piece.text)).join('')
  const width = pieces.reduce((sum, piece) => sum + displayWidth(piece.text), 0)
  const start = cutStartToWidth(lead, Math.max(Math.floor(room / 3), room - width))
  let left = room - displayWidth(start)
  let line = start
  for (const piece of pieces) {
    const shown = cutTo(piece.text, left)
    line += painted(piece, shown)
    left -= displayWidth(shown)
    if (shown !== piece.text || left <= 0) break
  }
  return line
}

interface Piece {
  readonly text: string
  readonly isMatch: boolean
}

/** A text from `from` on, in turns what matches and what does not. */
function piecesOf(text: string, from: number, ranges: FoundLine['ranges']): Piece[] {
  const pieces: Piece[] = []
  let at = from
  for (const [start, end] of ranges) {
    if (start >= text.length) break
    pieces.push({ text: visible(text.slice(at, start)), isMatch: false })
    pieces.push({ text: visible(text.slice(start, end)), isMatch: true })
    at = Math.max(at, end)
  }
  pieces.push({ text: visible(text.slice(at)), isMatch: false })
  return pieces.filter((piece) => piece.text !== '')
}

function cutTo(text: string, columns: number | undefined): string {
  return columns === undefined ? text : cutToWidth(text, Math.max(0, columns))
}
