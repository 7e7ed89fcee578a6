// Keeps surface rows of a zstd log by their place: the frame they lie in is decoded again when somebody asks for them, since
// most are shadowed before anybody does. Rows of frames too large for that, and rows that lie in two, stay in memory.

import { readSync } from 'node:fs'
import { readFailed } from '../errors.ts'
import type { RowStore } from './row-store.ts'

interface Frame {
  /** First byte and the one behind the last, in the file; the latter 0 until the frame has ended. */
  readonly start: number
  end: number
  /** Offset of its content in the plaintext. */
  readonly plaintextStart: number
}

/** A kept row: in a frame by its offset in the content, or in memory by the handle it has there. */
interface Row {
  readonly frame: Frame | undefined
  readonly at: number
  readonly length: number
}

/** Keeps rows by place where it can, and in `memory` where it cannot. */
export class FrameRowStore implements RowStore {
  readonly #descriptor: number
  readonly #file: string
  readonly #memory: RowStore
  readonly #decode: (frame: Uint8Array) => Uint8Array
  readonly #rows: (Row | undefined)[] = []
  readonly #freeHandles: number[] = []
  /** Where the next frame begins; unknown before the first one has ended. */
  #nextStart: number | undefined
  /** The frame at hand, if it can be decoded again, and its content. */
  #current: { readonly frame: Frame; readonly content: Uint8Array } | undefined
  /** The frame that was decoded again last: rows are asked for in the order in which they stand, mostly. */
  #again: { readonly frame: Frame; readonly content: Uint8Array } | undefined

  /** `decode` decodes a frame in one call; `start` is the first byte of the file that is read, unless that is its header. */
  constructor(
    descriptor: number,
    file: string,
    memory: RowStore,
    decode: (frame: Uint8Array) => Uint8Array,
    start: number | undefined,
  ) {
    this.#descriptor = descriptor
    this.#file = file
    this.#memory = memory
    this.#decode = decode
    this.#nextStart = start
  }

  /** Says that `content`, valid until the next call of this kind, is all of a frame, and where in the plaintext it begins. */
  beginWhole(content: Uint8Array, plaintextStart: number): void {
    const start = this.#nextStart
    this.#current = start === undefined ? undefined : { frame: { start, end: 0, plaintextStart }, content }
  }

  /** Says that what comes now is a part of a frame, which cannot be decoded again. */
  beginPart(): void {
    this.#current = undefined
  }

  /** Says that the frame has ended, and where in the file. */
  endFrame(end: number): void {
    // A frame without content was never announced: the one before it stays as it is.
    if (this.#current?.frame.end === 0) this.#current.frame.end = end
    this.#nextStart = end
  }

  keep(bytes: Uint8Array, start: number, end: number, offset: number): number {
    const handle = this.#freeHandles.pop() ?? this.#rows.length
    const frame = this.#current?.frame
    const length = end - start
    this.#rows[handle] =
      frame && offset >= frame.plaintextStart
        ? { frame, at: offset - frame.plaintextStart, length }
        : { frame: undefined, at: this.#memory.keep(bytes, start, end, offset), length }
    return handle
  }

  read(handle: number): Uint8Array {
    const row = this.#rows[handle]
    if (!row) throw new Error('A released row was read')
    const { frame, at, length } = row
    return frame ? this.#contentOf(frame).subarray(at, at + length) : this.#memory.read(at)
  }

  release(handle: number): void {
    const row = this.#rows[handle]
    if (!row) throw new Error('A row was released twice')
    this.#rows[handle] = undefined
    this.#freeHandles.push(handle)
    if (!row.frame) this.#memory.release(row.at)
  }

  #contentOf(frame: Frame): Uint8Array {
    for (const held of [this.#current, this.#again]) if (held?.frame === frame) return held.content
    const bytes = Buffer.allocUnsafe(frame.end - frame.start)
    let content: Uint8Array
    try {
      if (readSync(this.#descriptor, bytes, 0, bytes.length, frame.start) < bytes.length) throw new Error('Cut off')
      content = this.#decode(bytes)
    } catch (cause) {
      // It was decoded and verified before.
      throw readFailed(
        'unreadable',
        `${this.#file} changed while it was read; try again`,
        { file: this.#file, rule: 'changed-while-reading' },
        { cause },
      )
    }
    this.#again = { frame, content }
    return content
  }
}
