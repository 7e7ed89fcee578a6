// Decides row by row what belongs to the readable log (FORMAT.md section 7.1) and hands accepted events to a visitor.
// Where rows come from (raw bytes or frames) is log-decoding.ts; what a row says is row-head.ts and records.ts.

import { isUtf8 } from 'node:buffer'
import { type DshRefError, readFailed } from '../errors.ts'
import { briefText } from '../text/json-bytes.ts'
import type { Issue, LogOnlyEvent, SessionHeader, SurfaceEvent, SurfaceType } from '../types.ts'
import { IssueLog } from './issues.ts'
import { skipValue } from './json-walk.ts'
import type { KeptRows } from './kept-row.ts'
import { currentType } from './legacy.ts'
import { decodeUtf8, type EventRecord, type PackedRecord, parseRecord } from './records.ts'
import { RowHead } from './row-head.ts'
import type { RowStore } from './row-store.ts'
import { parseSources } from './sources.ts'
import { type EventContext, StoredEvent } from './stored-event.ts'
import { isSurfaceType, RETIRED_TYPES, vocabularyOf } from './vocabulary.ts'

/** What some stage does with the accepted events of one log. Throwing from it ends the read. */
export interface LogVisitor {
  /** Every event of a surface type, in seq order. Absent when nobody folds. */
  surface?(event: SurfaceEvent): void
  /** Titles, request headers and contexts, end-seed markers, and every row with surface metadata it may not have. */
  logOnly?(event: LogOnlyEvent): void
}

/** The row that ended the readable prefix. */
interface Offence {
  readonly line: number
  readonly frame: number | undefined
  readonly message: string
  readonly rule: 'malformed-row' | 'seq-gap'
  readonly expected: unknown
  readonly actual: unknown
}

/** What was accepted up to a place between two rows: all that a later reading from there must know. JSON. */
export interface AcceptanceState {
  readonly line: number
  readonly expectedSeq: number
  readonly lastTime: number | undefined
  readonly hasOpenTurn: boolean
  readonly inheritedMarkers: number
  readonly issues: readonly Issue[]
}

const TURN_END = Buffer.from('"turn/end"')

/** The acceptance state of one log, from its header on. */
export class RowAcceptance {
  readonly header: SessionHeader
  readonly issues = new IssueLog()
  /** 1-based number of the frame the current bytes come from; undefined for raw logs. */
  frame: number | undefined
  /** Rows seen, the header included. */
  line = 1
  /** Rows that went through JSON.parse. */
  parsedRows = 0
  /** Seq the next event must have: the number of events accepted. */
  expectedSeq = 0
  /** Time of the last accepted event, epoch milliseconds. */
  lastTime: number | undefined
  /** Whether the last turn was started and not ended. */
  hasOpenTurn = false

  readonly #version: number
  readonly #visitor: LogVisitor
  readonly #store: RowStore
  readonly #head: RowHead
  readonly #known: ReadonlyMap<string, unknown>
  readonly #everyRow: boolean
  readonly #untilSeq: number
  readonly #rows: KeptRows
  #offence: Offence | undefined
  #discardedRows = 0
  #isBlockUtf8 = true
  /** The row at hand, set only in a block that is not valid UTF-8. */
  #row: Uint8Array = new Uint8Array()
  #sharedContext: EventContext | undefined
  #inheritedMarkers = 0

  constructor(
    header: SessionHeader,
    visitor: LogVisitor,
    store: RowStore,
    options: { everyRow: boolean; untilSeq: number; rows: KeptRows },
  ) {
    this.header = header
    this.#version = header.version
    this.#visitor = visitor
    this.#store = store
    this.#head = new RowHead(header.version)
    this.#known = vocabularyOf(header.version)
    this.#everyRow = options.everyRow
    this.#untilSeq = options.untilSeq
    this.#rows = options.rows
  }

  /** Whether every event the reader asked for was accepted; what follows is not looked at. */
  get isDone(): boolean {
    return this.expectedSeq > this.#untilSeq
  }

  /** Whether a row was met that is not part of the log. */
  get hasOffence(): boolean {
    return this.#offence !== undefined
  }

  /** The state between two rows; a bug to ask for after an offence, which cannot be resumed. */
  save(): AcceptanceState {
    const { line, expectedSeq, lastTime, hasOpenTurn } = this
    const inheritedMarkers = this.#inheritedMarkers
    return { line, expectedSeq, lastTime, hasOpenTurn, inheritedMarkers, issues: this.issues.list(undefined) }
  }

  /** Puts a new acceptance where an earlier one of the same log was. */
  restore(state: AcceptanceState): void {
    this.line = state.line
    this.expectedSeq = state.expectedSeq
    this.lastTime = state.lastTime
    this.hasOpenTurn = state.hasOpenTurn
    this.#inheritedMarkers = state.inheritedMarkers
    for (const issue of state.issues) this.issues.add(issue)
  }

  /** Looks at a block of rows as a whole: nearly all are valid UTF-8, and one look at all of them costs next to nothing. */
  block(bytes: Uint8Array, start: number, end: number): void {
    this.#isBlockUtf8 = isUtf8(bytes.subarray(start, end))
  }

  /** Takes the next complete row. Throws `READ_FAILED`/`corrupt` when the log is refused. */
  row(bytes: Uint8Array, start: number, end: number, offset: number): void {
    if (this.isDone) return
    this.line++
    if (!this.#isBlockUtf8) this.#row = bytes.subarray(start, end)
    if (this.#offence) {
      this.#discard(bytes, start, end, this.#offence)
      return
    }
    const head = this.#head
    const isKnown = head.match(bytes, start, end) && head.seq === this.expectedSeq
    if (!isKnown || (this.#everyRow && !isProven(head, bytes, end))) {
      this.#parsedRow(bytes, start, end, offset)
      return
    }
    if (head.kind === 'surface') {
      if (!this.#visitor.surface) {
        this.#accept(1, head.time)
        return
      }
      const hasSources = head.sourcesStart !== -1
      const sources = hasSources ? parseSources(bytes, head.sourcesStart, head.sourcesEnd) : undefined
      if (hasSources && !sources) {
        this.#parsedRow(bytes, start, end, offset)
        return
      }
      const type = currentType(head.type) as SurfaceType
      const handle = this.#store.keep(bytes, start, end, offset)
      this.#visit(new StoredEvent(this.#context, head.seq, head.time, type, 'append', sources, handle))
    } else {
      if (head.kind === 'turn-start') this.hasOpenTurn = true
      else if (head.kind === 'turn-end') this.hasOpenTurn = false
      if (this.#everyRow && head.kind !== 'packed') this.#visitor.logOnly?.(logOnlyEvent(head, bytes, end))
    }
    this.#accept(head.members, head.time)
  }

  /** Ends the log: reports what was left out. The refusal for rows that a complete frame must not hold is decode's. */
  finish(): void {
    const offence = this.#offence
    if (offence) {
      this.issues.add({
        kind: 'discarded-rows',
        message: `${offence.message}; the log ends before that row`,
        line: offence.line,
        ...(offence.frame !== undefined && { frame: offence.frame }),
        seq: this.expectedSeq,
        ...(this.#discardedRows > 1 && { count: this.#discardedRows }),
      })
    }
    this.#checkSeed()
  }

  /** The refusal for the row that is not part of the log. */
  refusal(because: string): DshRefError {
    const { line, frame, message, rule, expected, actual } = this.#offence as Offence
    return readFailed('corrupt', `${message}, ${because}`, {
      rule,
      line,
      ...(frame !== undefined && { frame }),
      seq: this.expectedSeq,
      expected,
      actual,
    })
  }

  get #context(): EventContext {
    this.#sharedContext ??= {
      header: this.header,
      store: this.#store,
      issues: this.issues,
      rows: this.#rows,
      toolResults: this.#version === 0 ? new Map() : undefined,
    }
    return this.#sharedContext
  }

  #accept(members: number, time: number): void {
    if (!this.#isBlockUtf8 && !isUtf8(this.#row)) {
      const message = 'A row holds invalid UTF-8, read as U+FFFD'
      this.issues.add({ kind: 'invalid-utf8', message, line: this.line, seq: this.expectedSeq })
    }
    this.expectedSeq += members
    this.lastTime = time
  }

  #parsedRow(bytes: Uint8Array, start: number, end: number, offset: number): void {
    this.parsedRows++
    const record = parseRecord(bytes, start, end, this.#version)
    if (record.kind === 'malformed') {
      this.#offend('malformed-row', `Row ${this.line} ${record.reason}`, 'a record', record.reason)
      return
    }
    if (record.seq !== this.expectedSeq) {
      this.#offend(
        'seq-gap',
        `Row ${this.line} has seq ${record.seq} where ${this.expectedSeq} is due`,
        this.expectedSeq,
        record.seq,
      )
      if (isTurnEnd(record)) throw this.refusal('and it ends a turn, so the log is damaged before its end')
      return
    }
    if (record.kind === 'packed') {
      this.#accept(record.members, record.time)
      return
    }
    this.#event(record, bytes, start, end, offset)
    this.#accept(1, record.time)
  }

  #event(record: EventRecord, bytes: Uint8Array, start: number, end: number, offset: number): void {
    const { type, seq, time } = record
    this.#checkEnvelope(record)
    const current = this.#version === 0 ? currentType(type) : type
    if (isSurfaceType(current, this.#version)) {
      if (!this.#visitor.surface) return
      const handle = this.#store.keep(bytes, start, end, offset)
      const { surfaceOp, sourceEventSeqs, data } = record
      const event = new StoredEvent(this.#context, seq, time, current, surfaceOp, sourceEventSeqs, handle)
      // While the row is at hand nobody needs to parse it again; afterwards its objects would only fill the memory.
      event.parsed = { type, data }
      this.#visit(event)
      event.parsed = undefined
      return
    }
    if (type === 'turn/start') this.hasOpenTurn = true
    else if (type === 'turn/end') this.hasOpenTurn = false
    else if (type === 'session/end-seed') this.#noteEndSeed(record.data)
    else if (this.#version === 0) this.#checkRetired(record)
    else if (this.#version >= 3 && type === 'request/header') this.#checkRequestHeader(record)
    const isKnown = this.#known.has(type)
    if (!isKnown && !record.isIgnorable) {
      this.issues.add({
        kind: 'unknown-event-type',
        message: `Unknown event type ${briefText(type)}`,
        line: this.line,
        seq,
      })
    }
    const { data } = record
    this.#visitor.logOnly?.({
      seq,
      time,
      type,
      data: () => data,
      hasSurfaceMetadata: record.surfaceOp !== undefined || record.sourceEventSeqs !== undefined,
      isKnown,
      isOpaque: !isKnown && record.isIgnorable,
    })
  }

  /** Hands on a surface event. A refusal learns where the row stands, when it is asked for and when it is read again. */
  #visit(event: StoredEvent): void {
    event.line = this.line
    event.frame = this.frame
    try {
      this.#visitor.surface?.(event)
    } catch (error) {
      throw event.placed(error)
    }
    // Long lists some of them, and nobody looks at them again.
    event.sourceEventSeqs = undefined
  }

  #checkEnvelope(record: EventRecord): void {
    for (const key of record.oddKeys) {
      const isKnownKey = key === 'ignorable'
      this.issues.add({
        kind: isKnownKey ? 'envelope-field' : 'extra-key',
        message: isKnownKey
          ? 'A row has an ignorable that is not true'
          : `A row has an unknown key ${JSON.stringify(briefText(key))}`,
        line: this.line,
        seq: record.seq,
      })
    }
  }

  /** Shapes that v0 readers refuse because nothing tells what they mean today (FORMAT.md section 4.1). */
  #checkRetired({ type, seq, data }: EventRecord): void {
    const reason = typeof data === 'object' && data !== null ? (data as { reason?: unknown }).reason : undefined
    if (!RETIRED_TYPES.has(type) && !(type === 'request/header' && reason === 'fallback')) return
    throw readFailed('unsupported', `The log holds a retired ${type} event, whose meaning is not known any more`, {
      rule: 'retired-event',
      line: this.line,
      seq,
      actual: type,
    })
  }

  /** From v3 on the system prompt is a message of its own; one in the header is retired (FORMAT.md section 5). */
  #checkRequestHeader({ seq, data }: EventRecord): void {
    const header = typeof data === 'object' && data !== null ? (data as { header?: unknown }).header : undefined
    if (typeof header !== 'object' || header === null || !Object.hasOwn(header, 'system')) return
    this.issues.add({
      kind: 'retired-key',
      message: 'A request/header has the retired key system',
      line: this.line,
      seq,
    })
  }

  #noteEndSeed(data: unknown): void {
    if (typeof data === 'object' && data !== null && (data as { inherited?: unknown }).inherited === true) {
      this.#inheritedMarkers++
    }
  }

  /** Where the inherited part ends changes neither surface nor text, so a wrong mark is an issue (FORMAT.md section 3.5). */
  #checkSeed(): void {
    const { version, isSeeded, seedLength } = this.header
    const odd = (message: string) => this.issues.add({ kind: 'seed-marker', message, line: 1 })
    if (version < 2) {
      if (seedLength !== undefined && seedLength > this.expectedSeq) {
        odd(`The header counts ${seedLength} inherited events, the log has ${this.expectedSeq}`)
      }
    } else if (isSeeded && this.#inheritedMarkers === 0)
      odd('The header says seeded, but no marker ends the inherited part')
    else if (isSeeded === false && this.#inheritedMarkers > 0)
      odd('A marker ends an inherited part in a log that has none')
  }

  #offend(rule: Offence['rule'], message: string, expected: unknown, actual: unknown): void {
    this.#discardedRows = 1
    this.#offence = { line: this.line, frame: this.frame, message, rule, expected, actual }
  }

  /** After an offence only one thing matters: does a turn end later? Then the damage is not at the tail. */
  #discard(bytes: Uint8Array, start: number, end: number, offence: Offence): void {
    this.#discardedRows++
    if (Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).indexOf(TURN_END) === -1) return
    this.parsedRows++
    const record = parseRecord(bytes, start, end, this.#version)
    if (record.kind === 'malformed' || !isTurnEnd(record)) return
    throw this.refusal(
      `and row ${this.line} ends a turn after row ${offence.line}, so the log is damaged before its end`,
    )
  }
}

/**
 * Whether a row read by its head is a record through and through, whatever its bytes: the head leaves nothing open but the
 * data, and that is JSON. It takes half the time of parsing the row, and says the same.
 */
function isProven({ kind, dataStart }: RowHead, bytes: Uint8Array, end: number): boolean {
  // What the others hold is asked for at once, and strings are decoded fastest by JSON.parse.
  if (kind === 'surface' || kind === 'parse') return false
  return skipValue(bytes, dataStart, end) === end - 1
}

/** An event that stands on no surface, its data to be parsed while the row is at hand. */
function logOnlyEvent({ seq, time, type, dataStart }: RowHead, bytes: Uint8Array, end: number): LogOnlyEvent {
  const data = () => JSON.parse(decodeUtf8(bytes, dataStart, end - 1))
  return { seq, time, type, data, hasSurfaceMetadata: false, isKnown: true, isOpaque: false }
}

function isTurnEnd(record: EventRecord | PackedRecord): boolean {
  return record.kind === 'event' && record.type === 'turn/end'
}
