// Reads kept surface rows again: whole, or as much of one as its message needs; and says which parts of a row nobody will ask
// for any more. Where rows are kept is row-store.ts.

import type { SurfaceType } from '../types.ts'
import { JsonPicker, merged, type Pick, pickMembers, pickOf, type Unread } from './json-pick.ts'
import { currentData, currentType, oldShapesOf } from './legacy.ts'
import { dataShape, decodeMessage, type TextUse } from './message.ts'
import { type EventRecord, parseRecord, recordOf } from './records.ts'
import { isSurfaceType } from './vocabulary.ts'

/** Whose texts somebody will ask for; the others read as empty. */
export type WantedTexts = 'all' | 'conversation'

/** Whether the text of a surface event of this type is read. */
export function isTextWanted(type: SurfaceType, texts: WantedTexts): boolean {
  return texts === 'all' || type === 'user/message' || type === 'assistant/message'
}

const TYPE = Buffer.from('{"type":"')
const QUOTE = 0x22
const ZERO = 0x30

/** The rows of one log. */
export class KeptRows {
  readonly texts: WantedTexts
  readonly #version: number
  readonly #picker = new JsonPicker()
  readonly #picks = new Map<SurfaceType, Pick>()
  #slimBytes = Buffer.alloc(0)

  constructor(formatVersion: number, texts: WantedTexts) {
    this.#version = formatVersion
    this.texts = texts
  }

  /** The event in a row; `undefined` when it is none. */
  whole(row: Uint8Array): EventRecord | undefined {
    const record = parseRecord(row, 0, row.length, this.#version)
    return record.kind === 'event' ? record : undefined
  }

  /** The event in a row with no more in its data than a message has; `undefined` when in doubt. */
  picked(row: Uint8Array, type: SurfaceType, use: TextUse, notesUnread = false): EventRecord | undefined {
    let pick = this.#picks.get(type)
    if (!pick) {
      pick = this.#pickOf(type)
      this.#picks.set(type, pick)
    }
    const value = this.#picker.read(row, pick, use, notesUnread)
    if (value === undefined) return undefined
    const record = recordOf(value, this.#version)
    return record.kind === 'event' && currentType(record.type) === type ? record : undefined
  }

  #pickOf(type: SurfaceType): Pick {
    const current = pickOf(dataShape(type, this.#version))
    const old = this.#version === 0 ? oldShapesOf(type).map(pickOf) : []
    return pickMembers({ type: {}, seq: {}, time: {}, data: old.reduce(merged, current) })
  }

  /**
   * A right row without what is asked for only while it is at hand: streams, usage, reasoning, arguments of calls, texts that
   * are not wanted. Valid until the next call; `undefined` when the row must stay as it is.
   */
  slim(row: Uint8Array): Uint8Array | undefined {
    const type = this.#typeOf(row)
    if (type === undefined) return undefined
    const record = this.picked(row, type, isTextWanted(type, this.texts) ? 'counted' : 'none', true)
    const { unread } = this.#picker
    if (!record || !this.#isRight(type, record)) return undefined
    // A later rewrite of a result is compared with all of it but its content.
    const parts = type === 'tool/result' ? unread.filter(({ kind }) => kind === 'blocks') : unread
    return parts.length === 0 ? undefined : this.#without(row, parts)
  }

  /** The row with the least JSON there is in the place of these parts. */
  #without(row: Uint8Array, parts: readonly Unread[]): Uint8Array {
    if (row.length > this.#slimBytes.length) this.#slimBytes = Buffer.allocUnsafeSlow(2 * row.length)
    const slim = this.#slimBytes
    let length = 0
    let from = 0
    for (const { start, end, kind } of parts) {
      // A list keeps its brackets, a value becomes 0.
      const keptEnd = kind === 'blocks' ? start + 1 : start
      slim.set(row.subarray(from, keptEnd), length)
      length += keptEnd - from
      if (kind === 'value') slim[length++] = ZERO
      from = kind === 'blocks' ? end - 1 : end
    }
    slim.set(row.subarray(from), length)
    return slim.subarray(0, length + row.length - from)
  }

  #typeOf(row: Uint8Array): SurfaceType | undefined {
    if (!TYPE.equals(row.subarray(0, TYPE.length))) return undefined
    const type = Buffer.from(row.subarray(TYPE.length, row.indexOf(QUOTE, TYPE.length))).toString('latin1')
    const current = currentType(type)
    return isSurfaceType(current, this.#version) ? current : undefined
  }

  #isRight(type: SurfaceType, { type: stored, seq, data }: EventRecord): boolean {
    const context = { sessionId: '', seq, replacedMessageId: () => undefined }
    try {
      decodeMessage(type, seq, this.#version === 0 ? currentData(stored, data, context) : data, this.#version, 'none')
      return true
    } catch {
      return false // refused when somebody asks for it, in the words for all of it
    }
  }
}
