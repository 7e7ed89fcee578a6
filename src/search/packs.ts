// Files of many blocks: written once under a name of their own, never changed, read by place, removed when most of what is in
// them is no longer of use. Which block belongs to which log is text-cache.ts.

import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { PRIVATE_FILE_MODE } from '../files/atomic-file.ts'
import { isOurs } from '../files/ownership.ts'
import { crc32 } from './checksum.ts'

/** First bytes of a pack. Raise the number whenever the bytes of a block mean something else than before. */
const MAGIC = Buffer.from('dsh-ref texts 1\n')

const NAME = /^texts-[0-9a-z]{12}\.pack$/

/** Bytes gathered before they are written, so that what is scanned together lies together. */
const BATCH_BYTES = 4 * 1024 * 1024

/** Bytes read at once: blocks are mostly scanned in the order in which they lie. */
const WINDOW_BYTES = 1024 * 1024

/** A pack nobody refers to may be one that another process is about to refer to. */
const ORPHAN_MILLISECONDS = 10 * 60_000

/** Thrown when bytes are not what was written, or are gone: to be met by reading the log again. */
export class PackDamaged extends Error {
  override readonly name = 'PackDamaged'
}

/** Where some bytes are. */
export interface Piece {
  readonly pack: string
  readonly offset: number
  readonly length: number
  readonly checksum: number
}

/** Reads packs of one directory. */
export class PackReader {
  readonly #directory: string
  readonly #descriptors = new Map<string, number>()
  readonly #window = { pack: '', start: 0, end: 0, bytes: Buffer.alloc(0) }

  constructor(directory: string) {
    this.#directory = directory
  }

  /** The bytes of a piece, valid until the next call; with `isNextNear` those behind it are read as well. */
  read({ pack, offset, length, checksum }: Piece, isNextNear: boolean): Buffer {
    const window = this.#window
    const isThere = window.pack === pack && offset >= window.start && offset + length <= window.end
    if (!isThere) this.#fill(pack, offset, length, isNextNear)
    const bytes = window.bytes.subarray(offset - window.start, offset - window.start + length)
    if (crc32(bytes) !== checksum) throw new PackDamaged('A block is damaged')
    return bytes
  }

  close(): void {
    for (const descriptor of this.#descriptors.values()) closeSync(descriptor)
    this.#descriptors.clear()
  }

  #fill(pack: string, offset: number, length: number, isNextNear: boolean): void {
    const window = this.#window
    const wanted = isNextNear ? Math.max(length, WINDOW_BYTES) : length
    if (window.bytes.length < wanted || window.bytes.length > 4 * Math.max(wanted, WINDOW_BYTES)) {
      window.bytes = Buffer.allocUnsafeSlow(Math.max(wanted, WINDOW_BYTES))
    }
    window.pack = ''
    const read = readSync(this.#descriptor(pack), window.bytes, 0, wanted, offset)
    if (read < length) throw new PackDamaged('A pack is cut off')
    Object.assign(window, { pack, start: offset, end: offset + read })
  }

  #descriptor(pack: string): number {
    const known = this.#descriptors.get(pack)
    if (known !== undefined) return known
    const descriptor = openPack(join(this.#directory, pack))
    this.#descriptors.set(pack, descriptor)
    return descriptor
  }
}

function openPack(path: string): number {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
    const stat = fstatSync(descriptor)
    const magic = Buffer.alloc(MAGIC.length)
    readSync(descriptor, magic, 0, MAGIC.length, 0)
    if (stat.isFile() && isOurs(stat) && magic.equals(MAGIC)) return descriptor
  } catch (cause) {
    if (descriptor !== undefined) closeSync(descriptor)
    throw new PackDamaged('A pack is gone', { cause })
  }
  closeSync(descriptor)
  throw new PackDamaged('A pack is not one of ours')
}

/** Writes one new pack, which is there once the first batch is. What cannot be written is thrown by the system. */
export class PackWriter {
  readonly name = `texts-${randomDigits()}.pack`
  readonly #directory: string
  #descriptor: number | undefined
  #length = MAGIC.length
  /** What is to be written: lists by kind, since what is scanned shall lie together. */
  #batch: [pieces: Writing[], pieces: Writing[], pieces: Writing[]] = [[], [], []]
  #batchBytes = 0

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Takes bytes; the place they will have is known once they are flushed. `kind`: 0 scanned, 1 shown, 2 for a later reading. */
  add(kind: 0 | 1 | 2, bytes: Buffer): Piece {
    const piece = { pack: this.name, offset: 0, length: bytes.length, checksum: crc32(bytes) }
    this.#batch[kind].push({ piece, bytes })
    this.#batchBytes += bytes.length
    return piece
  }

  /** Whether there is so much to be written that it should be. */
  get isFull(): boolean {
    return this.#batchBytes >= BATCH_BYTES
  }

  /** Bytes of the pack. */
  get size(): number {
    return this.#length + this.#batchBytes
  }

  flush(): void {
    const batch = this.#batch.flat()
    if (batch.length === 0) return
    if (this.#descriptor === undefined) {
      this.#descriptor = openSync(join(this.#directory, this.name), 'wx', PRIVATE_FILE_MODE)
      writeAll(this.#descriptor, MAGIC)
    }
    for (const { piece } of batch) {
      piece.offset = this.#length
      this.#length += piece.length
    }
    this.#batch = [[], [], []]
    this.#batchBytes = 0
    writeAll(this.#descriptor, Buffer.concat(batch.map(({ bytes }) => bytes)))
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  /** Removes what was written of it. */
  discard(): void {
    this.close()
    removePack(this.#directory, this.name)
  }
}

interface Writing {
  readonly piece: { offset: number; readonly length: number }
  readonly bytes: Buffer
}

function writeAll(descriptor: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written)
}

/** Removes the packs nobody refers to: those that `isReplaced` names at once, others when they have become old. */
export function removePacks(
  directory: string,
  inUse: ReadonlySet<string>,
  isReplaced: (name: string) => boolean,
): void {
  for (const name of readdirSync(directory)) {
    if (!NAME.test(name) || inUse.has(name)) continue
    const age = Date.now() - (statSync(join(directory, name), { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
    if (isReplaced(name) || age > ORPHAN_MILLISECONDS) removePack(directory, name)
  }
}

function removePack(directory: string, name: string): void {
  try {
    unlinkSync(join(directory, name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    // Never made, or removed by another process; what cannot be removed will be tried again.
  }
}

/** Whether a name is that of a pack. */
export function isPackName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name)
}

function randomDigits(): string {
  return Math.random().toString(36).slice(2, 14).padEnd(12, '0')
}
