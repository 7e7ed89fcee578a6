// One surface event whose payload stays in its stored row until somebody asks for it. How the row is read then is kept-row.ts,
// what the message must be message.ts.

import { DshRefError, readFailed } from '../errors.ts'
import type { SessionHeader, SurfaceEvent, SurfaceMessage, SurfaceType } from '../types.ts'
import type { IssueLog } from './issues.ts'
import { isTextWanted, type KeptRows } from './kept-row.ts'
import { currentData, currentType } from './legacy.ts'
import { decodeMessage, type TextUse } from './message.ts'
import type { EventRecord } from './records.ts'
import type { RowStore } from './row-store.ts'

/** What the events of one log share. */
export interface EventContext {
  readonly header: SessionHeader
  readonly store: RowStore
  readonly issues: IssueLog
  readonly rows: KeptRows
  /** Tool results on the surface of a log old enough to hold rewrites without an id of their own. */
  readonly toolResults: Map<number, StoredEvent> | undefined
}

/** A surface event whose payload is still in its stored row. */
export class StoredEvent implements SurfaceEvent {
  readonly seq: number
  readonly time: number
  readonly type: SurfaceType
  readonly surfaceOp: unknown
  sourceEventSeqs: unknown
  /** The row as parsed, while it is at hand. */
  parsed: { readonly type: string; readonly data: unknown } | undefined
  /** Where the row stands. */
  line = 0
  frame: number | undefined
  readonly #context: EventContext
  readonly #handle: number
  /** Id of the message an old rewrite takes over; kept, because what it replaced is soon forgotten. */
  #takenOverId: string | undefined
  #isChecked = false
  #hasReportedId = false
  #isReleased = false

  constructor(
    context: EventContext,
    seq: number,
    time: number,
    type: SurfaceType,
    surfaceOp: unknown,
    sourceEventSeqs: unknown,
    handle: number,
  ) {
    this.#context = context
    this.seq = seq
    this.time = time
    this.type = type
    this.surfaceOp = surfaceOp
    this.sourceEventSeqs = sourceEventSeqs
    this.#handle = handle
    if (type === 'tool/result') context.toolResults?.set(seq, this)
  }

  message(): SurfaceMessage {
    const use = this.#useOf('read')
    try {
      return this.#pickedMessage(use) ?? this.#checked(this.#currentData(this.#wholeRecord()), use)
    } catch (error) {
      throw this.placed(error)
    }
  }

  counted(): SurfaceMessage | undefined {
    return this.#pickedMessage(this.#useOf('counted'))
  }

  #useOf(use: TextUse): TextUse {
    return isTextWanted(this.type, this.#context.rows.texts) ? use : 'none'
  }

  data(): unknown {
    try {
      const data = this.#currentData(this.#wholeRecord())
      if (!this.#isChecked) this.#checked(data, 'none')
      return data
    } catch (error) {
      throw this.placed(error)
    }
  }

  /** `undefined` for a row that is at hand already, that is in doubt, or that has no id, which is reported below. */
  #pickedMessage(use: TextUse): SurfaceMessage | undefined {
    if (this.parsed) return undefined
    const { rows, store, header } = this.#context
    const record = rows.picked(store.read(this.#handle), this.type, use)
    if (record?.seq !== this.seq) return undefined
    try {
      const message = decodeMessage(this.type, this.seq, this.#currentData(record), header.version, use)
      return message.id === undefined ? undefined : message
    } catch {
      return undefined // refused in the words for the whole row
    }
  }

  /** A refusal that is about this event, with the place of its row. */
  placed(error: unknown): unknown {
    if (!(error instanceof DshRefError) || error.facts.seq !== this.seq || error.facts.line !== undefined) return error
    const { code, message, facts, cause } = error
    const { line, frame } = this
    return new DshRefError(code, message, { ...facts, line, ...(frame !== undefined && { frame }) }, { cause })
  }

  #checked(data: unknown, use: TextUse): SurfaceMessage {
    const { header, issues } = this.#context
    const message = decodeMessage(this.type, this.seq, data, header.version, use)
    this.#isChecked = true
    if (message.id === undefined && !this.#hasReportedId) {
      this.#hasReportedId = true
      issues.add({ kind: 'message-id', message: 'A message has no id', line: this.line, seq: this.seq })
    }
    return message
  }

  #currentData({ type, data }: Pick<EventRecord, 'type' | 'data'>): unknown {
    const { header } = this.#context
    if (header.version !== 0) return data
    return currentData(type, data, {
      sessionId: header.id,
      seq: this.seq,
      replacedMessageId: () => {
        this.#takenOverId ??= this.#replacedResult()?.message().id
        return this.#takenOverId
      },
    })
  }

  #wholeRecord(): Pick<EventRecord, 'type' | 'data'> {
    if (this.parsed) return this.parsed
    const { rows, store } = this.#context
    const record = rows.whole(store.read(this.#handle))
    if (!record) {
      throw readFailed('corrupt', `The ${this.type} at seq ${this.seq} is not JSON`, {
        rule: 'malformed-row',
        seq: this.seq,
      })
    }
    if (record.seq !== this.seq || currentType(record.type) !== this.type) {
      throw readFailed('unreadable', `The row of seq ${this.seq} changed while the log was read; try again`, {
        rule: 'changed-while-reading',
        seq: this.seq,
      })
    }
    return record
  }

  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#context.toolResults?.delete(this.seq)
    this.#context.store.release(this.#handle)
  }

  #replacedResult(): StoredEvent | undefined {
    const start = (this.surfaceOp as { start?: unknown } | null)?.start
    return typeof start === 'number' && start < this.seq ? this.#context.toolResults?.get(start) : undefined
  }
}
