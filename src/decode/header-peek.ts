// The quick look at a log of which only the header is wanted, as a list wants it of thousands. Whatever it is not sure of is
// left to readLogHeader (decode.ts), which a list then loads.

import { isUtf8 } from 'node:buffer'
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { isAscii } from '../text/json-bytes.ts'
import type { Issue, SessionHeader } from '../types.ts'
import { decodeHeader } from './header.ts'
import { decodeUtf8 } from './records.ts'

// Not blocking: opening a FIFO would wait for a writer that may never come.
export const READ_ONLY = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

/** Bytes read at a time when only the header is wanted. No more, because Node takes small buffers from a pool. */
export const HEADER_PIECE_BYTES = 2048

const NEWLINE = 0x0a

/** The header of a log as one look at its file gave it. */
export interface HeaderPeek {
  readonly header: SessionHeader
  readonly issues: readonly Issue[]
  readonly bytesRead: number
  /** Of the file that was read. */
  readonly state: BigIntStats
}

/** Those options of a reading that matter for its header. */
export interface PeekOptions {
  readonly allowUnknownVersion?: boolean | undefined
  readonly limits?: { readonly maxRowBytes?: number; readonly maxLogBytes?: number } | undefined
}

const peekedBytes = Buffer.allocUnsafeSlow(HEADER_PIECE_BYTES)

/**
 * Reads the header of a raw log in a third of the time of `readLogHeader`, which must be called when this gives
 * `undefined`: the header is not all in the first piece, or anything at all is wrong. Only for a path known to be a regular
 * file, since opening is not harmless for everything (a FIFO lets the writer at its other end go on).
 */
export function peekLogHeader(
  path: string,
  { allowUnknownVersion = false, limits = {} }: PeekOptions = {},
): HeaderPeek | undefined {
  const { maxRowBytes = Number.POSITIVE_INFINITY, maxLogBytes = Number.POSITIVE_INFINITY } = limits
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, READ_ONLY)
    const state = fstatSync(descriptor, { bigint: true })
    if (!state.isFile()) return undefined
    const bytesRead = readSync(descriptor, peekedBytes, 0, HEADER_PIECE_BYTES, 0)
    const end = peekedBytes.indexOf(NEWLINE)
    // Behind the bytes read stand those of a log before.
    if (end === -1 || end >= bytesRead || end > maxRowBytes || bytesRead > maxLogBytes) return undefined
    const row = decodeUtf8(peekedBytes, 0, end)
    if (!isAscii(row) && !isUtf8(peekedBytes.subarray(0, end))) return undefined
    const { header, issues } = decodeHeader(row, { allowUnknownVersion })
    const ownIssues = issues.length === 0 ? issues : issues.map((issue) => ({ ...issue, file: path }))
    return { header, issues: ownIssues, bytesRead, state }
  } catch {
    return undefined // what is wrong is said by the careful way
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
