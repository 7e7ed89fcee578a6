// Lines that hold what is looked for: counted in folded bytes, which is quick, or found in texts with the places of all
// matches, which is for what is shown. What is looked for is query.ts.

import { foldedText } from '../text/folded-text.ts'
import { type Block, type MessageFilter, passes, type Range, TEXT_END } from './blocks.ts'
import type { SearchMessage } from './messages.ts'
import { isWordAt, type Query, rangesOf, searchedForm } from './query.ts'

const LINE_FEED = 0x0a

/** How a conversation answers a query. */
export class Tally {
  /** Terms that occur, as bits. */
  found = 0
  hasPhrase = false
  /** Whether one line holds all terms. */
  hasWholeLine = false
  /** Lines with any of the terms. */
  lines = 0

  add(lines: ReadonlyMap<unknown, number>, allTerms: number): void {
    this.lines += lines.size
    for (const terms of lines.values()) {
      this.found |= terms
      if (terms === allTerms) this.hasWholeLine = true
    }
  }
}

/** Whether all lines of a query can be found in folded bytes; of the others these only tell where nothing is. */
export function isScannable({ isRegex, ignoresCase, terms }: Query): boolean {
  return !isRegex && ignoresCase && !terms.some((term) => term.includes('\n'))
}

/** A literal query made ready for the scanning of folded bytes. */
export class Scan {
  readonly #query: Query
  readonly #needles: readonly Needle[]
  readonly #phrase: Needle | undefined

  constructor(query: Query) {
    this.#query = query
    // Whatever a literal looks for with case is there without it as well.
    this.#needles = query.terms.map((term) => new Needle(foldedText(term)))
    this.#phrase = query.phrase && new Needle(foldedText(query.phrase.text))
  }

  /**
   * The terms that may occur in a block, as bits, `known` ones included; what is missing does not occur. With `isOnly` no
   * term is looked for once one is missing.
   */
  mayHold({ folded }: Block, known: number, isOnly: boolean): number {
    let terms = known
    for (const [index, needle] of this.#needles.entries()) {
      if ((terms & (1 << index)) !== 0) continue
      if (needle.indexIn(folded, 0) !== -1) terms |= 1 << index
      else if (isOnly) break
    }
    return terms
  }

  /** Adds the lines of a block to a tally; `wanted` are the texts that count, all by default. */
  count(block: Block, tally: Tally, wanted?: readonly Range[]): void {
    const { folded } = block
    const lines = new Map<number, number>()
    for (const [index, needle] of this.#needles.entries()) {
      for (const line of this.#lines(folded, needle, wanted)) lines.set(line, (lines.get(line) ?? 0) | (1 << index))
    }
    tally.add(lines, 2 ** this.#needles.length - 1)
    if (!this.#phrase || tally.hasPhrase) return
    tally.hasPhrase = this.#lines(folded, this.#phrase, wanted).next().done === false
  }

  /** The ends of the lines that hold a needle. */
  *#lines(folded: Buffer, needle: Needle, wanted: readonly Range[] | undefined): Generator<number> {
    const { isWord } = this.#query
    const ends = new LineEnds(folded)
    let next = 0
    for (let at = needle.indexIn(folded, 0); at !== -1; ) {
      if (wanted) {
        while (next < wanted.length && (wanted[next] as Range)[1] <= at) next++
        const range = wanted[next]
        if (!range) return
        if (at < range[0]) {
          at = needle.indexIn(folded, range[0])
          continue
        }
      }
      if (isWord && !isWordAt(folded, at, at + needle.length)) {
        at = needle.indexIn(folded, at + 1)
        continue
      }
      const end = ends.behind(at)
      yield end
      at = needle.indexIn(folded, end)
    }
  }
}

/** Finds the ends of lines at growing places. */
class LineEnds {
  readonly #bytes: Buffer
  #feed = -1
  #textEnd = -1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  behind(at: number): number {
    if (this.#feed < at) this.#feed = this.#next(LINE_FEED, at)
    if (this.#textEnd < at) this.#textEnd = this.#next(TEXT_END, at)
    return Math.min(this.#feed, this.#textEnd)
  }

  #next(byte: number, from: number): number {
    const found = this.#bytes.indexOf(byte, from)
    return found === -1 ? this.#bytes.length : found
  }
}

/** Bytes to look for. */
class Needle {
  readonly length: number
  readonly #bytes: Buffer

  constructor(text: string) {
    this.#bytes = Buffer.from(text)
    this.length = this.#bytes.length
  }

  indexIn(bytes: Buffer, from: number): number {
    return bytes.indexOf(this.#bytes, from)
  }
}

/** A line with matches, in the text as it was said. */
export interface MatchedLine extends Omit<SearchMessage, 'text'> {
  /** 1-based, in its message. */
  readonly line: number
  readonly text: string
  /** UTF-16 offsets into the line, in order, without overlap. */
  readonly ranges: readonly Range[]
  /** Terms the line holds, as bits. */
  readonly terms: number
  /** Whether it holds, or has a part of, the phrase. */
  readonly isPhrase: boolean
  readonly before: readonly string[]
  readonly after: readonly string[]
}

/** Counts the lines of messages. */
export function tallyOf(messages: Iterable<SearchMessage>, query: Query, filter: MessageFilter): Tally {
  const tally = new Tally()
  const all = 2 ** query.terms.length - 1
  for (const message of messages) {
    if (!passes(message, filter)) continue
    const { terms, isPhrase } = foundIn(message.text, query)
    tally.add(terms, all)
    if (isPhrase.size > 0) tally.hasPhrase = true
  }
  return tally
}

/** The lines of messages with their matches, and some lines around each. */
export function* matchedLines(
  messages: Iterable<SearchMessage>,
  query: Query,
  filter: MessageFilter & { readonly context?: number },
): Generator<MatchedLine> {
  const { context = 0 } = filter
  for (const message of messages) {
    if (!passes(message, filter)) continue
    const { terms, ranges, isPhrase } = foundIn(message.text, query)
    if (terms.size === 0) continue
    const lines = linesOf(message.text)
    for (const index of [...terms.keys()].sort((one, other) => one - other)) {
      const line = lines[index] as string
      const found = ranges.get(index) ?? []
      yield {
        ...message,
        line: index + 1,
        text: line,
        ranges: merged(found.map((range) => originalRange(line, range, query))),
        terms: terms.get(index) as number,
        isPhrase: isPhrase.has(index),
        before: aroundLines(lines.slice(0, index).reverse(), context).reverse(),
        after: aroundLines(lines.slice(index + 1), context),
      }
    }
  }
}

/** A line of which no more than so many UTF-16 units are kept, around its first match. */
export function boundedLine<Line extends Pick<MatchedLine, 'text' | 'ranges'>>(
  line: Line,
  length: number,
): Line & { readonly textOffset?: number } {
  const { text, ranges } = line
  if (text.length <= length) return line
  const first = ranges[0]?.[0] ?? 0
  let start = Math.max(0, Math.min(first - (length >> 2), text.length - length))
  let end = start + length
  if (isLowSurrogate(text, start)) start++
  if (isLowSurrogate(text, end)) end--
  return {
    ...line,
    text: text.slice(start, end),
    ranges: ranges
      .filter((range) => range[0] < end)
      .map((range): Range => [range[0] - start, Math.min(range[1], end) - start]),
    textOffset: start,
  }
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff
}

interface Found {
  /** Terms by the index of a line. */
  readonly terms: Map<number, number>
  readonly ranges: Map<number, Range[]>
  readonly isPhrase: Set<number>
}

/** Finds all terms in a text; places are in its lines as they are searched. */
function foundIn(text: string, query: Query): Found {
  const found: Found = { terms: new Map(), ranges: new Map(), isPhrase: new Set() }
  const searched = searchedForm(text, query)
  let starts: number[] | undefined
  const touched = function* (range: Range): Generator<readonly [line: number, range: Range]> {
    starts ??= lineStarts(searched)
    let line = lineAt(starts, range[0])
    for (; line < starts.length && (starts[line] as number) < range[1]; line++) {
      const start = starts[line] as number
      const end = (starts[line + 1] ?? searched.length + 1) - 1
      yield [line, [Math.max(range[0], start) - start, Math.min(range[1], end) - start]]
    }
  }
  for (const [index, expression] of query.expressions.entries()) {
    for (const range of rangesOf(expression, searched, query)) {
      for (const [line, part] of touched(range)) {
        found.terms.set(line, (found.terms.get(line) ?? 0) | (1 << index))
        const parts = found.ranges.get(line)
        if (parts) parts.push(part)
        else found.ranges.set(line, [part])
      }
    }
  }
  if (query.phrase && found.terms.size > 0) {
    for (const range of rangesOf(query.phrase.expression, searched, query)) {
      for (const [line] of touched(range)) found.isPhrase.add(line)
    }
  }
  return found
}

function linesOf(text: string): string[] {
  return text.split('\n')
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let feed = text.indexOf('\n'); feed !== -1; feed = text.indexOf('\n', feed + 1)) starts.push(feed + 1)
  return starts
}

/** The index of the line that holds an offset. */
function lineAt(starts: readonly number[], offset: number): number {
  let low = 0
  for (let high = starts.length; low < high; ) {
    const middle = (low + high) >>> 1
    if ((starts[middle] as number) <= offset) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** The nearest lines that are not blank. */
function aroundLines(lines: readonly string[], count: number): string[] {
  const near: string[] = []
  for (const line of lines) {
    if (near.length === count) break
    if (line.trim() !== '') near.push(line)
  }
  return near
}

/** Letters with what composes with them, as in folded-text.ts. */
const LETTER = /.[\p{M}\u1160-\u11ff]*/gsu
const ASCII = /^[\u0000-\u007f]*$/

/** A place in a line as it is searched, brought to the line as it was said. */
function originalRange(line: string, [start, end]: Range, query: Query): Range {
  if (query.isRegex || ASCII.test(line)) return [start, end]
  let searchedAt = 0
  let originalStart = 0
  let originalEnd = line.length
  for (const { 0: letter, index } of line.matchAll(LETTER)) {
    const next = searchedAt + searchedForm(letter, query).length
    if (searchedAt <= start && start < next) originalStart = index
    if (searchedAt < end && end <= next) {
      originalEnd = index + letter.length
      break
    }
    searchedAt = next
  }
  return [originalStart, originalEnd]
}

function merged(ranges: readonly Range[]): Range[] {
  const sorted = ranges.filter(([start, end]) => start < end).sort((one, other) => one[0] - other[0])
  const joined: [number, number][] = []
  for (const [start, end] of sorted) {
    const last = joined.at(-1)
    if (last && start <= last[1]) last[1] = Math.max(last[1], end)
    else joined.push([start, end])
  }
  return joined
}
