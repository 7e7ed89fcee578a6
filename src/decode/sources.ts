// The cited seqs of a row, read from their bytes (FORMAT.md section 3.4). What they may be is judged by the fold.

import { decodeUtf8 } from './records.ts'

/** The list in the bytes `start` to `end`; `undefined` when they hold no JSON list. */
export function parseSources(bytes: Uint8Array, start: number, end: number): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(decodeUtf8(bytes, start, end))
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined // not a list after all; the row goes to parseRecord, which judges it whole
  }
}
