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
function listOfSeqs(bytes: Uint8Array, start: number, end: number): unknown[] | undefined {
  const list: (number | [number, number])[] = []
  let pair: number[] | undefined
  if (bytes[start] !== BRACKET_OPEN) return undefined
  for (let at = start + 1; at < end; at++) {
    if (bytes[at] === BRACKET_OPEN && !pair) {
      pair = []
      at++
    }
    const digits = at
    let value = 0
    for (let byte = bytes[at] as number; byte >= ZERO && byte <= NINE; byte = bytes[++at] as number) {
      value = value * 10 + byte - ZERO
    }
    const length = at - digits
    if (length === 0 || length > SAFE_DIGITS || (length > 1 && bytes[digits] === ZERO)) return undefined
    if (pair) pair.push(value)
    else list.push(value)
    if (pair && bytes[at] === BRACKET_CLOSE) {
      if (pair.length !== 2) return undefined
      list.push(pair as [number, number])
      pair = undefined
      at++
    }
    if (bytes[at] === BRACKET_CLOSE && !pair) return at === end - 1 ? list : undefined
    if (bytes[at] !== COMMA) return undefined
  }
  return undefined
}

function parseList(bytes: Uint8Array, start: number, end: number): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(decodeUtf8(bytes, start, end))
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined // not a list after all; the row goes to parseRecord, which judges it whole
  }
}
