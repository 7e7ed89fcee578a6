// The cited seqs of a row, read from their bytes (FORMAT.md section 3.4). What they may be is judged by the fold.

import { IntegerReader } from './json-walk.ts'
import { decodeUtf8 } from './records.ts'

const COMMA = 0x2c
const BRACKET_OPEN = 0x5b
const BRACKET_CLOSE = 0x5d

/** The list in the bytes `start` to `end`; `undefined` when they hold no JSON list. */
export function parseSources(bytes: Uint8Array, start: number, end: number): unknown[] | undefined {
  return listOfSeqs(bytes, start, end) ?? parseList(bytes, start, end)
}

/** A list of plain seqs and of pairs, as nearly all are. Half of all rows have one, mostly of one entry. */
function listOfSeqs(bytes: Uint8Array, start: number, end: number): Entry[] | undefined {
  if (bytes[start] !== BRACKET_OPEN) return undefined
  const first = entries.read(bytes, start + 1)
  if (first === undefined) return undefined
  // As large as it is: a list that grows has room for more, a lot of it.
  const list = [first]
  while (bytes[entries.end] === COMMA) {
    const entry = entries.read(bytes, entries.end + 1)
    if (entry === undefined) return undefined
    list.push(entry)
  }
  return bytes[entries.end] === BRACKET_CLOSE && entries.end === end - 1 ? list : undefined
}

type Entry = number | [number, number]

class EntryReader {
  /** The offset behind the last entry that was read. */
  end = 0
  readonly #integer = new IntegerReader()

  /** The seq or pair of seqs at `from`. */
  read(bytes: Uint8Array, from: number): Entry | undefined {
    const integer = this.#integer
    if (bytes[from] !== BRACKET_OPEN) {
      const seq = integer.read(bytes, from)
      this.end = integer.end
      return seq === -1 ? undefined : seq
    }
    const first = integer.read(bytes, from + 1)
    if (first === -1 || bytes[integer.end] !== COMMA) return undefined
    const last = integer.read(bytes, integer.end + 1)
    if (last === -1 || bytes[integer.end] !== BRACKET_CLOSE) return undefined
    this.end = integer.end + 1
    return [first, last]
  }
}

const entries = new EntryReader()

function parseList(bytes: Uint8Array, start: number, end: number): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(decodeUtf8(bytes, start, end))
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined // not a list after all; the row goes to parseRecord, which judges it whole
  }
}
