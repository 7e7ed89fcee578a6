// The quick reading of a row: type, seq and time from its first bytes, surface metadata from its last, nothing parsed.
// It takes rows in the writer's own key order only and says no to every other row, which parseRecord then reads.
//
// What a row taken here still proves: it is complete (ends at a newline), it opens and closes as an object, its type is
// known, its seq is contiguous, and its last member is no surface metadata it may not have. That the bytes in between are
// JSON is proved by `check`, which walks or parses every row.

import { bytesOf, hasBytes, IntegerReader, skipInteger } from './json-walk.ts'
import { hasPackedRows, PACKED_PAYLOAD, type RowKind, vocabularyOf } from './vocabulary.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const ZERO = 0x30
const BACKSLASH = 0x5c
const BRACKET_OPEN = 0x5b
const BRACKET_CLOSE = 0x5d
const BRACE_OPEN = 0x7b
const BRACE_CLOSE = 0x7d
/** A replace surfaceOp is at most this long; a longer last member cannot be one. */
const MAX_SURFACE_OP_BYTES = 96

const TIME = bytesOf(',"time":')
const TIME0 = bytesOf(',"time0":')
const DATA = bytesOf(',"data":')
const APPEND_TAIL = bytesOf(',"surfaceOp":"append"}')
const SOURCES = bytesOf(',"sourceEventSeqs":')
const SURFACE_OP = bytesOf('"surfaceOp":')
const SOURCES_KEY = bytesOf('"sourceEventSeqs":')

/** A type the matcher knows, with the bytes a row of it starts with. */
interface KnownRow {
  readonly type: string
  readonly kind: RowKind | 'packed'
  readonly prefix: Uint8Array
  readonly payload: Uint8Array | undefined
}

/**
 * Reads heads of rows of one format version into its own fields, so that a million rows allocate nothing. The fields
 * hold the last match only.
 */
export class RowHead {
  type = ''
  kind: RowKind | 'packed' = 'skip'
  seq = 0
  time = 0
  /** Events in the row. */
  members = 1
  /** For a surface row: the JSON text range of `sourceEventSeqs`, or −1. */
  sourcesStart = -1
  sourcesEnd = -1
  /** First byte of the data. */
  dataStart = 0

  readonly #byHash: ReadonlyMap<number, KnownRow>
  readonly #integer = new IntegerReader()
  /** Rows come in runs of one type: what the last row was is tried first. */
  #known: KnownRow

  constructor(formatVersion: number) {
    this.#byHash = knownRowsOf(formatVersion)
    this.#known = this.#byHash.values().next().value as KnownRow
  }

  /** Whether the row `start` to `end` (its newline) was read; false sends it to `parseRecord`. */
  match(bytes: Uint8Array, start: number, end: number): boolean {
    let known = this.#known
    if (!hasBytes(bytes, start, known.prefix)) {
      const found = this.#lookUp(bytes, start, end)
      if (!found) return false
      known = found
      this.#known = found
    }
    let at = this.#readSeq(bytes, start + known.prefix.length)
    if (at === -1) return false
    const isPacked = known.kind === 'packed'
    const timeKey = isPacked ? TIME0 : TIME
    if (!hasBytes(bytes, at, timeKey)) return false
    at = this.#readTime(bytes, at + timeKey.length)
    if (at === -1 || !hasBytes(bytes, at, DATA)) return false
    at += DATA.length
    this.dataStart = at
    this.type = known.type
    this.kind = known.kind
    this.members = 1
    if (isPacked) return this.#readPacked(bytes, at, end, known.payload as Uint8Array)
    if (known.kind === 'parse') return false
    if (bytes[at] !== BRACE_OPEN || bytes[end - 1] !== BRACE_CLOSE) return false
    return known.kind === 'surface' ? this.#readAppendTail(bytes, at, end) : isPlainTail(bytes, at, end)
  }

  #lookUp(bytes: Uint8Array, start: number, end: number): KnownRow | undefined {
    const known = this.#byHash.get(hashType(bytes, start + 9, end))
    return known && hasBytes(bytes, start, known.prefix) ? known : undefined
  }

  /** Reads the seq; returns the offset behind it, or −1. */
  #readSeq(bytes: Uint8Array, from: number): number {
    this.seq = this.#integer.read(bytes, from)
    return this.seq === -1 ? -1 : this.#integer.end
  }

  /** Reads the time; returns the offset behind it, or −1. */
  #readTime(bytes: Uint8Array, from: number): number {
    const isNegative = bytes[from] === MINUS
    const value = this.#integer.read(bytes, isNegative ? from + 1 : from)
    if (value === -1) return -1
    this.time = isNegative ? 0 - value : value
    return this.#integer.end
  }

  /** A surface row as nearly all are written: plain append, with or without cited sources in front. */
  #readAppendTail(bytes: Uint8Array, dataStart: number, end: number): boolean {
    const tail = end - APPEND_TAIL.length
    if (tail <= dataStart || !hasBytes(bytes, tail, APPEND_TAIL)) return false
    this.sourcesStart = -1
    this.sourcesEnd = -1
    const before = bytes[tail - 1]
    if (before === BRACE_CLOSE) return !endsWithMember(bytes, dataStart, tail, SOURCES_KEY)
    if (before !== BRACKET_CLOSE) return false
    // Back over the list: seqs, pairs of them and commas. The parser has whatever else may stand in one.
    let at = tail - 1
    while (isOfSeqs(bytes[at] as number)) at--
    const key = at + 1 - SOURCES.length
    if (key <= dataStart || !hasBytes(bytes, key, SOURCES) || bytes[key - 1] !== BRACE_CLOSE) return false
    this.sourcesStart = at + 1
    this.sourcesEnd = tail
    return true
  }

  /** Counts the members of a packed row and the deltas of its times; everything else about it sends it to the parser. */
  #readPacked(bytes: Uint8Array, from: number, end: number, payload: Uint8Array): boolean {
    let at = from
    for (const key of PACKED_HEAD) {
      if (!hasBytes(bytes, at, key)) return false
      at = skipInteger(bytes, at + key.length)
      if (at === -1) return false
    }
    if (bytes[at] !== COMMA) return false
    at++
    let deltas = -1
    const isToolCall = payload[1] === LETTER_A
    let hasId = false
    let hasName = false
    while (!hasBytes(bytes, at, payload)) {
      if (hasBytes(bytes, at, DT) && deltas === -1) {
        at = this.#addDeltas(bytes, at + DT.length)
        deltas = this.members
      } else if (isToolCall && !hasId && hasBytes(bytes, at, ID)) {
        hasId = true
        at = skipPlainString(bytes, at + ID.length - 1)
      } else if (isToolCall && !hasName && hasBytes(bytes, at, NAME)) {
        hasName = true
        at = skipPlainString(bytes, at + NAME.length - 1)
      } else return false
      if (at === -1) return false
      if (bytes[at++] !== COMMA) return false
    }
    if (hasId !== isToolCall) return false
    at = this.#countStrings(bytes, at + payload.length)
    return (
      at !== -1 &&
      this.members === deltas + 1 &&
      at + 2 === end &&
      bytes[at] === BRACE_CLOSE &&
      bytes[at + 1] === BRACE_CLOSE
    )
  }

  // The next two see most of the bytes of a packed log, and count in locals: a large number in a field is stored anew each time.

  /** Adds a list of deltas, behind its bracket, to the time and counts them as members; returns the offset behind it, or −1. */
  #addDeltas(bytes: Uint8Array, from: number): number {
    let at = from
    let members = 0
    let time = this.time
    if (bytes[at] === BRACKET_CLOSE) at++
    else {
      do {
        const isNegative = bytes[at] === MINUS
        const delta = this.#integer.read(bytes, isNegative ? at + 1 : at)
        if (delta === -1) return -1
        at = this.#integer.end
        time += isNegative ? 0 - delta : delta
        if (time > Number.MAX_SAFE_INTEGER || time < Number.MIN_SAFE_INTEGER) return -1
        members++
      } while (bytes[at++] === COMMA)
      if (bytes[at - 1] !== BRACKET_CLOSE) return -1
    }
    this.time = time
    this.members = members
    return at
  }

  /** Counts a list of strings, behind its bracket, as members; returns the offset behind it, or −1. */
  #countStrings(bytes: Uint8Array, from: number): number {
    let at = from
    let members = 0
    do {
      if (bytes[at] !== QUOTE) return -1
      // The newline behind the row ends the walk at the latest.
      for (let byte = bytes[++at] as number; byte !== QUOTE; byte = bytes[++at] as number) {
        if (byte < 0x20 || (byte === BACKSLASH && (bytes[++at] as number) < 0x20)) return -1
      }
      at++
      members++
    } while (bytes[at++] === COMMA)
    this.members = members
    return bytes[at - 1] === BRACKET_CLOSE ? at : -1
  }
}

/** By vocabulary, which is one map for each version; made once, for a list opens thousands of logs. */
const knownRows = new WeakMap<ReadonlyMap<string, RowKind>, ReadonlyMap<number, KnownRow>>()

/** The rows a version knows, by the hash of their type. */
function knownRowsOf(formatVersion: number): ReadonlyMap<number, KnownRow> {
  const vocabulary = vocabularyOf(formatVersion)
  const made = knownRows.get(vocabulary)
  if (made) return made
  const byHash = new Map<number, KnownRow>()
  const add = (known: KnownRow) => {
    const hash = hashType(known.prefix, 9, known.prefix.length)
    if (byHash.has(hash)) throw new Error(`Two row types share the hash of ${known.type}`)
    byHash.set(hash, known)
  }
  for (const [type, kind] of vocabulary) {
    add({ type, kind, prefix: bytesOf(`{"type":${JSON.stringify(type)},"seq":`), payload: undefined })
  }
  if (hasPackedRows(formatVersion)) {
    for (const [type, payload] of Object.entries(PACKED_PAYLOAD)) {
      add({ type, kind: 'packed', prefix: bytesOf(`{"type":"${type}","seq0":`), payload: bytesOf(`"${payload}":[`) })
    }
  }
  knownRows.set(vocabulary, byHash)
  return byHash
}

const PACKED_HEAD = [bytesOf('{"turn":'), bytesOf(',"step":'), bytesOf(',"index":')]
const DT = bytesOf('"dt":[')
const ID = bytesOf('"id":"')
const NAME = bytesOf('"name":"')
const LETTER_A = 0x61

function isOfSeqs(byte: number): boolean {
  return (byte >= ZERO && byte <= ZERO + 9) || byte === COMMA || byte === BRACKET_OPEN || byte === BRACKET_CLOSE
}

/** Hash of the characters up to the closing quote. */
function hashType(bytes: Uint8Array, from: number, end: number): number {
  let hash = 0
  for (let at = from; at < end && bytes[at] !== QUOTE; at++) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0
  return hash
}

/** Whether a log-only row ends with its data: an object, and not a surfaceOp that stands where data should end. */
function isPlainTail(bytes: Uint8Array, dataStart: number, end: number): boolean {
  if (bytes[end - 2] !== BRACE_CLOSE) return false
  return bytes[end - 3] === BRACE_CLOSE || !endsWithMember(bytes, dataStart, end - 1, SURFACE_OP)
}

/** Whether the short object that ends before `end` is the value of `key`; an object without objects in it. */
function endsWithMember(bytes: Uint8Array, dataStart: number, end: number, key: Uint8Array): boolean {
  const limit = Math.max(dataStart, end - MAX_SURFACE_OP_BYTES)
  let at = end - 2
  while (at > limit && bytes[at] !== BRACE_OPEN) at--
  return bytes[at] === BRACE_OPEN && at > dataStart && hasBytes(bytes, at - key.length, key)
}

/** Skips a string without escapes or control characters; −1 when it has any. */
function skipPlainString(bytes: Uint8Array, from: number): number {
  let at = from + 1
  while (bytes[at] !== QUOTE) {
    if ((bytes[at] as number) < 0x20 || bytes[at] === BACKSLASH || bytes[at] === undefined) return -1
    at++
  }
  return at + 1
}
