// One row as a record: the complete reading of a row by JSON.parse (FORMAT.md sections 3.1 and 3.3). The quick reading
// from the row's first bytes is in row-head.ts; both must agree on every row the quick one takes.

import { isObject } from './shape.ts'
import { hasPackedRows, PACKED_PAYLOAD } from './vocabulary.ts'

/** A row that holds one event. */
export interface EventRecord {
  readonly kind: 'event'
  readonly type: string
  readonly seq: number
  readonly time: number
  readonly data: unknown
  readonly surfaceOp: unknown
  readonly sourceEventSeqs: unknown
  readonly isIgnorable: boolean
  /** Keys no version admits, and an `ignorable` that is not `true`. */
  readonly oddKeys: readonly string[]
}

/** A row that holds a run of chunk events: only their number matters here. */
export interface PackedRecord {
  readonly kind: 'packed'
  readonly seq: number
  readonly members: number
  /** Time of the last member. */
  readonly time: number
}

/** A row that is no record. `reason` completes the sentence "The row …". */
export interface MalformedRow {
  readonly kind: 'malformed'
  readonly reason: string
}

const ENVELOPE_KEYS = new Set(['type', 'seq', 'time', 'data', 'ignorable', 'surfaceOp', 'sourceEventSeqs'])

/** Reads the bytes `start` to `end` of `bytes` as one record of a log of `formatVersion`. */
export function parseRecord(
  bytes: Uint8Array,
  start: number,
  end: number,
  formatVersion: number,
): EventRecord | PackedRecord | MalformedRow {
  let row: unknown
  try {
    row = JSON.parse(decodeUtf8(bytes, start, end))
  } catch {
    // The parser's own words quote the row, which may be megabytes or secrets; the place says enough.
    return malformed('is not JSON')
  }
  return recordOf(row, formatVersion)
}

/** Reads a JSON value as one record. */
export function recordOf(row: unknown, formatVersion: number): EventRecord | PackedRecord | MalformedRow {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return malformed('is not an object')
  const record = row as Record<string, unknown>
  const { type } = record
  if (typeof type !== 'string') return malformed('has no type')
  if (hasPackedRows(formatVersion) && Object.hasOwn(PACKED_PAYLOAD, type)) return parsePacked(record, type)
  const { seq, time } = record
  if (!isCount(seq) || (Object.is(seq, -0) && formatVersion >= 3)) return malformed('has no valid seq')
  if (!Number.isSafeInteger(time)) return malformed('has no valid time')
  if (!Object.hasOwn(record, 'data')) return malformed('has no data')
  return {
    kind: 'event',
    type,
    seq: seq + 0,
    time: (time as number) + 0,
    data: record.data,
    surfaceOp: record.surfaceOp,
    sourceEventSeqs: record.sourceEventSeqs,
    isIgnorable: record.ignorable === true,
    oddKeys: oddKeysOf(record),
  }
}

const NONE: readonly string[] = []

function oddKeysOf(record: Record<string, unknown>): readonly string[] {
  // JSON.parse gives own properties only. A list for each of a million rows would be more than the rest of this file.
  let odd: string[] | undefined
  for (const key in record) {
    if (ENVELOPE_KEYS.has(key) && !(key === 'ignorable' && record.ignorable !== true)) continue
    odd ??= []
    odd.push(key)
  }
  return odd ?? NONE
}

/** Decodes UTF-8 as the service does: invalid bytes become U+FFFD, a byte order mark stays. */
export function decodeUtf8(bytes: Uint8Array, start: number, end: number): string {
  const view = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return view.toString('utf8', start, end)
}

function parsePacked(record: Record<string, unknown>, type: string): PackedRecord | MalformedRow {
  const { seq0, time0, data } = record
  if (Object.keys(record).length !== 4 || !isCount(seq0) || !Number.isSafeInteger(time0) || !isObject(data)) {
    return malformed('is not a packed chunk row')
  }
  const payloadKey = PACKED_PAYLOAD[type] as 'texts' | 'args'
  const isToolCall = payloadKey === 'args'
  const keys = Object.keys(data).length
  const hasName = isToolCall && Object.hasOwn(data, 'name')
  if (keys !== (isToolCall ? 6 : 5) + (hasName ? 1 : 0)) return malformed('has the wrong packed keys')
  if (![data.turn, data.step, data.index].every((value) => typeof value === 'number'))
    return malformed('has a wrong packed turn, step or index')
  if (isToolCall && (typeof data.id !== 'string' || (hasName && typeof data.name !== 'string'))) {
    return malformed('has a wrong packed id or name')
  }
  const payload = data[payloadKey]
  const { dt } = data
  if (!Array.isArray(payload) || payload.length === 0 || !payload.every((part) => typeof part === 'string')) {
    return malformed('has a wrong packed payload')
  }
  if (!Array.isArray(dt) || dt.length !== payload.length - 1) return malformed('has a wrong packed dt')
  let time = time0 as number
  for (const delta of dt) {
    if (!Number.isSafeInteger(delta)) return malformed('has a wrong packed dt')
    time += delta
    if (!Number.isSafeInteger(time)) return malformed('has a packed time out of range')
  }
  if (!Number.isSafeInteger(seq0 + payload.length - 1)) return malformed('has a packed seq out of range')
  return { kind: 'packed', seq: seq0 + 0, members: payload.length, time: time + 0 }
}

function malformed(reason: string): MalformedRow {
  return { kind: 'malformed', reason }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
