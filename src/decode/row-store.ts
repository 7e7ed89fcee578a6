// Keeps the bytes of surface rows until somebody needs them or they are shadowed: by place for a log that can be read
// again, in memory for one that cannot.

import { readSync } from 'node:fs'
import { readFailed } from '../errors.ts'

/** Keeps rows by a handle. */
export interface RowStore {
  /** Keeps the row `start` to `end` of `bytes`, which stands at `offset` of the plaintext. */
  keep(bytes: Uint8Array, start: number, end: number, offset: number): number
  /** The bytes of a kept row. Valid until the next call. */
  read(handle: number): Uint8Array
  /** Forgets a row. To be called once for each: its handle is given to another row. */
  release(handle: number): void
}

/**
 * Bytes read at once when rows are read again. Most that survive stand close together behind the last compaction, and a
 * call for each of them takes three times as long as all the rest that is done with them.
 */
const WINDOW_BYTES = 256 * 1024

/** Bytes read for a row that does not stand near the one before. */
const FIRST_BYTES = 32 * 1024

/** Keeps only offsets and reads rows again from the open file. */
export class FileRowStore implements RowStore {
  readonly #descriptor: number
  readonly #file: string
  readonly #offsets: number[] = []
  readonly #lengths: number[] = []
  readonly #freeHandles: number[] = []
  #buffer: Buffer | undefined
  /** What of the file is in the buffer. */
  #windowStart = 0
  #windowEnd = 0

  constructor(descriptor: number, file: string) {
    this.#descriptor = descriptor
    this.#file = file
  }

  keep(_bytes: Uint8Array, start: number, end: number, offset: number): number {
    const handle = this.#freeHandles.pop() ?? this.#offsets.length
    this.#lengths[handle] = end - start
    this.#offsets[handle] = offset
    return handle
  }

  read(handle: number): Uint8Array {
    const length = this.#lengths[handle] as number
    const offset = this.#offsets[handle] as number
    const isInWindow = offset >= this.#windowStart && offset + length <= this.#windowEnd
    const buffer = isInWindow && this.#buffer ? this.#buffer : this.#fill(offset, length)
    return buffer.subarray(offset - this.#windowStart, offset - this.#windowStart + length)
  }

  /** Reads a window that begins with `length` bytes at `offset`. */
  #fill(offset: number, length: number): Buffer {
    const isNear = offset >= this.#windowStart && offset <= this.#windowEnd + WINDOW_BYTES && this.#windowEnd > 0
    const wanted = Math.max(length, isNear ? WINDOW_BYTES : FIRST_BYTES)
    let buffer = this.#buffer
    if (!buffer || wanted > buffer.length) buffer = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(wanted)))
    this.#buffer = buffer
    this.#windowEnd = 0
    let done = 0
    while (done < length) {
      const count = readSync(this.#descriptor, buffer, done, wanted - done, offset + done)
      if (count === 0) {
        throw readFailed('unreadable', `${this.#file} became shorter while it was read; try again`, {
          file: this.#file,
          rule: 'changed-while-reading',
        })
      }
      done += count
    }
    this.#windowStart = offset
    this.#windowEnd = offset + done
    return buffer
  }

  release(handle: number): void {
    this.#freeHandles.push(handle)
  }
}

const SLAB_BYTES = 1024 * 1024

/** Rows longer than this have a slab of their own: what is left of a shared one would be too much to lose. */
const LARGE_ROW_BYTES = SLAB_BYTES / 4

/** Memory for rows up to which they are left as they are: a whole read is to stay below 150 MiB, Node itself included. */
export const ROOMY_BYTES = 24 * 1024 * 1024

interface Slab {
  readonly bytes: Buffer
  used: number
  live: number
}

interface Row {
  slab: Slab
  start: number
  end: number
  isSlim: boolean
}

/**
 * Copies rows into slabs; a slab whose rows are all released is used again. Whenever the slabs have grown by `roomyBytes`,
 * or by a quarter, since they were last looked at, the rows in them are made slim and packed anew: a few survivors must not
 * hold on to the slabs of all that was shadowed around them.
 */
export class MemoryRowStore implements RowStore {
  readonly #slim: (row: Uint8Array) => Uint8Array | undefined
  readonly #roomyBytes: number
  readonly #rows: (Row | undefined)[] = []
  readonly #freeHandles: number[] = []
  readonly #freeSlabs: Slab[] = []
  #current: Slab | undefined
  /** Bytes of all slabs with rows in them, and how many there may be before the next packing. */
  #heldBytes = 0
  #limitBytes: number

  /**
   * `slim` gives what of a row anybody may still ask for; `undefined` when that is all of it. With 0 `roomyBytes` all rows
   * are made slim whenever one comes.
   */
  constructor(slim: (row: Uint8Array) => Uint8Array | undefined, roomyBytes: number) {
    this.#slim = slim
    this.#roomyBytes = roomyBytes
    this.#limitBytes = roomyBytes
  }

  keep(bytes: Uint8Array, start: number, end: number): number {
    // Before the new row comes in: it is at hand, and may be asked for things that only a row at hand is asked for.
    if (this.#heldBytes > this.#limitBytes) this.#pack()
    const handle = this.#freeHandles.pop() ?? this.#rows.length
    this.#rows[handle] = this.#put(bytes.subarray(start, end), false)
    return handle
  }

  read(handle: number): Uint8Array {
    const row = this.#rows[handle]
    if (!row) throw new Error('A released row was read')
    return row.slab.bytes.subarray(row.start, row.end)
  }

  release(handle: number): void {
    const row = this.#rows[handle]
    if (!row) throw new Error('A row was released twice')
    this.#rows[handle] = undefined
    this.#freeHandles.push(handle)
    this.#leave(row.slab)
  }

  #put(row: Uint8Array, isSlim: boolean): Row {
    const slab = this.#slabFor(row.length)
    slab.bytes.set(row, slab.used)
    const start = slab.used
    slab.used += row.length
    slab.live++
    return { slab, start, end: slab.used, isSlim }
  }

  #leave(slab: Slab): void {
    slab.live--
    if (slab.live > 0) return
    slab.used = 0
    if (slab === this.#current) return
    this.#heldBytes -= slab.bytes.length
    if (slab.bytes.length === SLAB_BYTES) this.#freeSlabs.push(slab)
  }

  #slabFor(length: number): Slab {
    const current = this.#current
    if (current && current.used + length <= current.bytes.length) return current
    if (length > LARGE_ROW_BYTES) return this.#hold(length)
    if (current?.live === 0) this.#heldBytes -= current.bytes.length
    this.#current = this.#hold(SLAB_BYTES)
    return this.#current
  }

  #hold(length: number): Slab {
    this.#heldBytes += length
    const free = length === SLAB_BYTES ? this.#freeSlabs.pop() : undefined
    return free ?? { bytes: Buffer.allocUnsafeSlow(length), used: 0, live: 0 }
  }

  /** Moves all rows together, as slim as they can be. Slabs are used again as they become empty. */
  #pack(): void {
    if (this.#current?.live === 0) this.#heldBytes -= this.#current.bytes.length
    this.#current = undefined
    const bySlab = new Map<Slab, Row[]>()
    for (const row of this.#rows) {
      if (!row) continue
      const rows = bySlab.get(row.slab)
      if (rows) rows.push(row)
      else bySlab.set(row.slab, [row])
    }
    for (const [slab, rows] of bySlab) {
      for (const row of rows) {
        const bytes = slab.bytes.subarray(row.start, row.end)
        const slim = row.isSlim ? undefined : this.#slim(bytes)
        row.isSlim = true
        // A large row has no slab to share.
        if (!slim && slab.bytes.length !== SLAB_BYTES) continue
        Object.assign(row, this.#put(slim ?? bytes, true))
        this.#leave(slab)
      }
    }
    this.#limitBytes = this.#roomyBytes === 0 ? 0 : this.#heldBytes + Math.max(this.#roomyBytes, this.#heldBytes / 4)
  }
}
