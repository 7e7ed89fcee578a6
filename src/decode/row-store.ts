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
  /** Forgets a row. */
  release(handle: number): void
}

/** Keeps only offsets and reads rows again from the open file. */
export class FileRowStore implements RowStore {
  readonly #descriptor: number
  readonly #file: string
  readonly #offsets: number[] = []
  readonly #lengths: number[] = []
  #buffer = Buffer.allocUnsafe(64 * 1024)

  constructor(descriptor: number, file: string) {
    this.#descriptor = descriptor
    this.#file = file
  }

  keep(_bytes: Uint8Array, start: number, end: number, offset: number): number {
    this.#lengths.push(end - start)
    return this.#offsets.push(offset) - 1
  }

  read(handle: number): Uint8Array {
    const length = this.#lengths[handle] as number
    const offset = this.#offsets[handle] as number
    if (length > this.#buffer.length) this.#buffer = Buffer.allocUnsafe(2 ** Math.ceil(Math.log2(length)))
    let done = 0
    while (done < length) {
      const count = readSync(this.#descriptor, this.#buffer, done, length - done, offset + done)
      if (count === 0) {
        throw readFailed('unreadable', `${this.#file} became shorter while it was read; try again`, {
          file: this.#file,
          rule: 'changed-while-reading',
        })
      }
      done += count
    }
    return this.#buffer.subarray(0, length)
  }

  release(): void {}
}

const SLAB_BYTES = 1024 * 1024

interface Slab {
  readonly bytes: Buffer
  used: number
  live: number
}

/** Copies rows into slabs; a slab whose rows are all released is used again. */
export class MemoryRowStore implements RowStore {
  readonly #rows: ({ slab: Slab; start: number; end: number } | undefined)[] = []
  readonly #freeHandles: number[] = []
  readonly #freeSlabs: Slab[] = []
  #current: Slab | undefined

  keep(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start
    const slab = this.#slabFor(length)
    slab.bytes.set(bytes.subarray(start, end), slab.used)
    const row = { slab, start: slab.used, end: slab.used + length }
    slab.used += length
    slab.live++
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
    if (!row) return
    this.#rows[handle] = undefined
    this.#freeHandles.push(handle)
    const { slab } = row
    slab.live--
    if (slab.live > 0) return
    slab.used = 0
    if (slab !== this.#current && slab.bytes.length === SLAB_BYTES) this.#freeSlabs.push(slab)
  }

  #slabFor(length: number): Slab {
    const current = this.#current
    if (current && current.used + length <= current.bytes.length) return current
    if (length > SLAB_BYTES / 4) return { bytes: Buffer.allocUnsafeSlow(length), used: 0, live: 0 }
    if (current?.live === 0 && current.used === 0) return current
    this.#current = this.#freeSlabs.pop() ?? { bytes: Buffer.allocUnsafeSlow(SLAB_BYTES), used: 0, live: 0 }
    return this.#current
  }
}
