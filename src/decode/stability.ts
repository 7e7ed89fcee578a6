// Tells whether a log is still the one that was read: logs grow while they are read, and some are written anew. Reading
// takes no lock, so it looks at the file again afterwards; what follows from a change is stable-read.ts.

import { type BigIntStats, fstatSync, readSync } from 'node:fs'

/**
 * What happened to a file: `none`; `grown`, bytes were added behind those that were read; `touched`, its times say
 * changed, its size and what is remembered of it do not; `rewritten`, other bytes stand where some were read.
 */
export type Change = 'none' | 'grown' | 'touched' | 'rewritten'

/** The beginning of a log is remembered whole: most small logs are, and no rewrite leaves it all as it was. */
const HEAD_BYTES = 64 * 1024

/** Of what follows samples are remembered: 17 of them in a piece of 1 MiB, so 4 MiB for a log of a gigabyte. */
const SAMPLE_BYTES = 256
const SAMPLE_STEP_BYTES = 64 * 1024

/**
 * Times of a file are those of the last tick of the clock, 1 to 10 ms apart: a file written so shortly ago may be written
 * again without a trace in them.
 */
const SETTLED_AFTER_MILLISECONDS = 50

interface Sample {
  readonly offset: number
  readonly bytes: Uint8Array
}

/** Watches an open file from its first look on. */
export class FileWatch {
  readonly size: number
  /** Whether its times would show a change. */
  readonly isSettled: boolean
  readonly #descriptor: number
  readonly #state: BigIntStats
  readonly #samples: Sample[] = []
  #readTo = 0

  constructor(descriptor: number, state: BigIntStats) {
    this.#descriptor = descriptor
    this.#state = state
    this.size = Number(state.size)
    this.isSettled = Date.now() - Number(state.mtimeMs) > SETTLED_AFTER_MILLISECONDS
  }

  /** Remembers bytes as they were read. */
  remember(piece: Uint8Array, offset: number): void {
    const head = Math.max(0, Math.min(piece.length, HEAD_BYTES - offset))
    const count = Math.ceil((piece.length - head) / SAMPLE_STEP_BYTES) + 1
    // One copy for all of them: the caller reuses the piece, and memory taken bit by bit takes longer than the rest of this.
    const bytes = new Uint8Array(head + count * SAMPLE_BYTES)
    let used = 0
    const sample = (start: number, end: number) => {
      const part = piece.subarray(start, Math.min(end, piece.length))
      bytes.set(part, used)
      this.#samples.push({ offset: offset + start, bytes: bytes.subarray(used, used + part.length) })
      used += part.length
    }
    if (head > 0) sample(0, head)
    for (let at = head; at < piece.length; at += SAMPLE_STEP_BYTES) sample(at, at + SAMPLE_BYTES)
    sample(Math.max(head, piece.length - SAMPLE_BYTES), piece.length)
    this.#readTo = offset + piece.length
  }

  /** What happened to the file since it was opened. */
  change(): Change {
    const now = fstatSync(this.#descriptor, { bigint: true })
    if (this.isSettled && isSameState(this.#state, now)) return 'none'
    if (Number(now.size) < Math.max(this.#readTo, this.size) || !this.#isIn(this.#descriptor)) return 'rewritten'
    if (now.size > this.#state.size) return 'grown'
    return isSameState(this.#state, now) ? 'none' : 'touched'
  }

  /** What happened to the file between an earlier watch and the opening of this one. */
  changeSince(earlier: FileWatch): Change {
    const [before, now] = [earlier.#state, this.#state]
    if (isSameState(before, now)) return 'none'
    const isSameFile = before.dev === now.dev && before.ino === now.ino
    if (!isSameFile || now.size < before.size || !earlier.#isIn(this.#descriptor)) return 'rewritten'
    return now.size > before.size ? 'grown' : 'touched'
  }

  #isIn(descriptor: number): boolean {
    const buffer = Buffer.allocUnsafe(HEAD_BYTES)
    return this.#samples.every(({ offset, bytes }) => {
      const count = readSync(descriptor, buffer, 0, bytes.length, offset)
      return buffer.subarray(0, count).equals(bytes)
    })
  }
}

function isSameState(one: BigIntStats, other: BigIntStats): boolean {
  return (
    one.dev === other.dev &&
    one.ino === other.ino &&
    one.size === other.size &&
    one.mtimeNs === other.mtimeNs &&
    one.ctimeNs === other.ctimeNs
  )
}
