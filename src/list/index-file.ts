// The file of the title index: a head of fixed length, a list with what every list needs of every log, and the details, of
// which only those are read that somebody asks for. What stands in them is index-layout.ts.

import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { isOurs } from '../files/ownership.ts'

/**
 * First words of the file. Raise the number whenever an entry changes its shape, or reading the same log would give
 * another header, title, first message, health or issue than before.
 */
const FORMAT = 'dsh-ref title index 6'

/** Entries kept, those seen last first; with some 700 bytes each a file of 14 MB. */
export const MAX_ENTRIES = 20_000

/** An entry longer than this, by a title, a name or a path out of proportion, is not kept, and its log is read each time. */
export const MAX_ENTRY_LENGTH = 16_384

/** A longer file was not written by us. */
const MAX_FILE_BYTES = 2 * MAX_ENTRIES * MAX_ENTRY_LENGTH

/** Bytes of the head; the list follows, and then the details. */
export const HEAD_BYTES = 64

/** Thrown when an entry turns out to be damaged, or its file replaced: to be met by `TitleIndex.clear`. */
export class IndexDamaged extends Error {
  override readonly name = 'IndexDamaged'
}

/** The file of an index. It stays open, so that its details are those of its list when another process replaces it. */
export class IndexFile {
  readonly list: string
  readonly #path: string
  readonly #head: string
  #descriptor: number | undefined

  constructor(path: string) {
    this.#path = path
    try {
      this.#descriptor = this.#open()
      this.#head = readAt(this.#descriptor, 0, HEAD_BYTES).toString('latin1')
      const list = readAt(this.#descriptor, HEAD_BYTES, listLengthOf(this.#head))
      if (headOf(list) !== this.#head) throw new IndexDamaged('The index is damaged, or of another format')
      this.list = list.toString('latin1')
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Details of an entry; throws `IndexDamaged` when they are not what was written. */
  detail(offset: number, length: number, checksum: number): string {
    this.#descriptor ??= this.#reopen()
    const detail = readAt(this.#descriptor, offset, length)
    if (checksumOf(detail) !== checksum) throw new IndexDamaged('An entry of the index is damaged')
    return detail.toString('latin1')
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  #open(): number {
    const descriptor = openSync(this.#path, 'r')
    const stat = fstatSync(descriptor)
    if (stat.isFile() && isOurs(stat) && stat.size <= MAX_FILE_BYTES) return descriptor
    closeSync(descriptor)
    throw new IndexDamaged('The file is not one of ours')
  }

  #reopen(): number {
    try {
      const descriptor = this.#open()
      if (readAt(descriptor, 0, HEAD_BYTES).toString('latin1') === this.#head) return descriptor
      closeSync(descriptor)
    } catch (cause) {
      throw new IndexDamaged('The index is gone', { cause })
    }
    throw new IndexDamaged('The index was replaced')
  }
}

/** The head of a file with this list. */
export function headOf(list: Uint8Array): string {
  return `${`${FORMAT} ${list.length} ${checksumOf(list)}`.padEnd(HEAD_BYTES - 1)}\n`
}

function listLengthOf(head: string): number {
  const length = Number(head.slice(FORMAT.length).trim().split(' ')[0])
  if (head.startsWith(FORMAT) && length <= MAX_FILE_BYTES) return length
  throw new IndexDamaged('The index has another format')
}

function readAt(descriptor: number, offset: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  if (readSync(descriptor, bytes, 0, length, offset) !== length) throw new IndexDamaged('The index is cut off')
  return bytes
}

/** FNV-1a over words. It has to find damage, not forgery, and node:crypto takes longer to load than this to run. */
export function checksumOf(bytes: Uint8Array): number {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes)
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.length >>> 2)
  let hash = 0x811c9dc5
  // Not for…of, which takes ten times as long here.
  for (let at = 0; at < words.length; at++) {
    hash = Math.imul(hash ^ (words[at] as number), 0x01000193)
    // Multiplying carries bits upwards only: without this two changes of highest bits undo each other.
    hash ^= hash >>> 15
  }
  for (let at = words.length * 4; at < bytes.length; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193)
  return hash >>> 0
}
