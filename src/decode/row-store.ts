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
export const ROOMY_BYTES = 8 * 1024 * 1024

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
 * Copies rows into slabs; a slab whose rows are all released is used again. Above `roomyBytes` the rows are made slim, each
 * later one as soon as the next one comes, and packed anew; again whenever they have come to take twice what they took then:
 * a few survivors must not hold on to the slabs of all that was shadowed around them.
 */
export class MemoryRowStore implements RowStore {
  readonly #slim: (row: Uint8Array) => Uint8Array | undefined
  readonly #roomyBytes: number
  readonly #rows: (Row | undefined)[] = []
  readonly #freeHandles: number[] = []
  readonly #freeSlabs: Slab[] = []
  #current: Slab | undefined
  /** The row that came last, once rows are made slim as they come. */
  #fresh: Row | undefined
  #isCrowded = false
  /** Bytes of all slabs with rows in them, and how many there may be before the next packing. */
  #heldBytes = 0
  #limitBytes: number

  /**
   * `slim` gives what of a row anybody may still ask for; `undefined` when that is all of it. With 0 `roomyBytes` every
   * row is made slim when the next one comes.
   */
  constructor(slim: (row: Uint8Array) => Uint8Array | undefined, roomyBytes: number) {
    this.#slim = slim
    this.#roomyBytes = roomyBytes
    this.#limitBytes = roomyBytes
  }

  keep(bytes: Uint8Array, start: number, end: number): number {
    // Before the new row comes in: it is at hand, and may be asked for things that only a row at hand is asked for.
    if (this.#isCrowded) this.#slimFresh()
    if (this.#heldBytes > this.#limitBytes) this.#pack()
    const row = this.#put(bytes.subarray(start, end), false)
    this.#fresh = row
    const handle = this.#freeHandles.pop() ?? this.#rows.length
    this.#rows[handle] = row
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
    if (row === this.#fresh) this.#fresh = undefined
    this.#leave(row.slab)
  }

  #slimFresh(): void {
    const row = this.#fresh
    this.#fresh = undefined
    if (!row) return
    const { slab, start, end } = row
    row.isSlim = true
    const slim = this.#slim(slab.bytes.subarray(start, end))
    if (!slim) return
    if (slab.bytes.length === SLAB_BYTES && slab.used === end) {
      // Where it is: it stands last in its slab.
      slab.bytes.set(slim, start)
      row.end = start + slim.length
      slab.used = row.end
    } else {
      Object.assign(row, this.#put(slim, true))
      this.#leave(slab)
    }
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
    this.#current = this.#hold(SLAB_BYTES)
    return this.#current
  }

  #hold(length: number): Slab {
    this.#heldBytes += length
    const free = length === SLAB_BYTES ? this.#freeSlabs.pop() : undefined
    return free ?? { bytes: Buffer.allocUnsafeSlow(length), used: 0, live: 0 }
  }

  /** Slims the rows that are not slim yet, and moves all of them together. Slabs are used again as they become empty. */
  #pack(): void {
    this.#isCrowded = true
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
    this.#limitBytes = this.#roomyBytes === 0 ? 0 : Math.max(this.#roomyBytes, 2 * this.#heldBytes)
  }
}
