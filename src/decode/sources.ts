// The cited seqs of a row, read from their bytes (FORMAT.md section 3.4). What they may be is judged by the fold.

import { SAFE_DIGITS } from './json-walk.ts'
import { decodeUtf8 } from './records.ts'

const COMMA = 0x2c
const ZERO = 0x30
const NINE = 0x39
const BRACKET_OPEN = 0x5b
const BRACKET_CLOSE = 0x5d

/** The list in the bytes `start` to `end`; `undefined` when they hold no JSON list. */
export function parseSources(bytes: Uint8Array, start: number, end: number): unknown[] | undefined {
  return listOfSeqs(bytes, start, end) ?? parseList(bytes, start, end)
}

/** A list of plain seqs and of pairs, as nearly all are. Half of all rows have one, mostly of one entry. */
function listOfSeqs(bytes: Uint8Array, start: number, end: number): SeqList | undefined {
  if (bytes[start] !== BRACKET_OPEN) return undefined
  const reader = new SeqReader(bytes)
  const first = reader.entry(start + 1)
  if (first === undefined) return undefined
  // As large as it is: a list that grows has room for more, a lot of it, and many lists are kept.
  if (bytes[reader.at] === BRACKET_CLOSE) return reader.at === end - 1 ? [first] : undefined
  const list: SeqList = [first]
  while (bytes[reader.at] === COMMA) {
    const entry = reader.entry(reader.at + 1)
    if (entry === undefined) return undefined
    list.push(entry)
  }
  return bytes[reader.at] === BRACKET_CLOSE && reader.at === end - 1 ? list : undefined
}

type SeqList = (number | [number, number])[]

/** Reads entries of a list and stands behind the last one it read. */
class SeqReader {
  at = 0
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** The seq or pair of seqs at `from`. */
  entry(from: number): number | [number, number] | undefined {
    const bytes = this.#bytes
    if (bytes[from] !== BRACKET_OPEN) return this.#seq(from)
    const first = this.#seq(from + 1)
    if (first === undefined || bytes[this.at] !== COMMA) return undefined
    const last = this.#seq(this.at + 1)
    if (last === undefined || bytes[this.at] !== BRACKET_CLOSE) return undefined
    this.at++
    return [first, last]
  }

  #seq(from: number): number | undefined {
    const bytes = this.#bytes
    let at = from
    let value = 0
    for (let byte = bytes[at] as number; byte >= ZERO && byte <= NINE; byte = bytes[++at] as number) {
      value = value * 10 + byte - ZERO
    }
    const length = at - from
    if (length === 0 || length > SAFE_DIGITS || (length > 1 && bytes[from] === ZERO)) return undefined
    this.at = at
    return value
  }
}

function parseList(bytes: Uint8Array, start: number, end: number): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(decodeUtf8(bytes, start, end))
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined // not a list after all; the row goes to parseRecord, which judges it whole
  }
}
