// The private cache of a search: the texts of logs that were read before, each good for exactly the file it came from. What-
// ever is wrong with the cache costs time, never correctness. Titles are kept by title-index.ts, bytes of texts by packs.ts;
// the file that says where they are is text-index.ts.

import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isOfSystem } from '../errors.ts'
import { type Undisturbed, writeFileAtomic } from '../files/atomic-file.ts'
import { isOurs } from '../files/ownership.ts'
import { TEXT_INDEX_NAME } from '../list/title-index.ts'
import type { BlockBytes } from './blocks.ts'
import { PackReader, PackWriter, type Piece, removePacks } from './packs.ts'
import type { TextMemo } from './reading.ts'
import { repack } from './repack.ts'
import { bytesOf, factsIn, packsOf, piecesOf, type StoredBlock, type TextEntry, type TextFacts } from './text-entry.ts'
import { encodeIndex, headIn, readIndex } from './text-index.ts'

/** Bytes of texts kept, in both forms, when nothing else is said. */
export const DEFAULT_MAX_BYTES = 1024 ** 3

/** The cache in memory; `openTextCache` fills it. */
export class TextCache {
  readonly #directory: string
  readonly #maxBytes: number
  readonly #undisturbed: Undisturbed
  readonly #reader: PackReader
  #entries = new Map<string, TextEntry>()
  /** What this process has learned: entries by the path of the log, `undefined` for one that is of no use any more. */
  readonly #learned = new Map<string, TextEntry | undefined>()
  #head = ''
  /** Bytes of all texts, once somebody has asked for them. */
  #keptBytes: number | undefined
  /** Logs not written to since then are left out, once there is no room for all. */
  #oldestKept: number | undefined
  #writer: PackWriter | undefined
  /** Set once the system has refused a write: from then on nothing is kept. */
  #isUnwritable = false

  constructor(directory: string, maxBytes: number, undisturbed: Undisturbed) {
    this.#directory = directory
    this.#undisturbed = undisturbed
    this.#maxBytes = maxBytes
    this.#reader = new PackReader(directory)
  }

  /** Fills the cache from its file, if there is one to be trusted. */
  load(): void {
    const file = readIndex(join(this.#directory, TEXT_INDEX_NAME))
    this.#head = file?.head ?? ''
    this.#entries = file?.entries ?? new Map()
    this.#keptBytes = undefined
  }

  /** What is known of the log at `path`, in whatever state it was. */
  get(path: string): TextEntry | undefined {
    return this.#learned.has(path) ? this.#learned.get(path) : this.#entries.get(path)
  }

  /** The bytes of a piece, valid until the next call. Throws `PackDamaged`. */
  read(piece: Piece, isNextNear = false): Buffer {
    if (piece.pack === this.#writer?.name) this.flush()
    return this.#reader.read(piece, isNextNear)
  }

  /** Where the reading of a log can go on. Throws `PackDamaged`. */
  memo({ memo }: TextEntry): TextMemo | undefined {
    return memo && (JSON.parse(this.read(memo).toString('utf8')) as TextMemo)
  }

  /** Keeps what was read of a log: `earlier` blocks that still hold, and new ones. */
  set(
    path: string,
    facts: TextFacts,
    texts: { readonly earlier: readonly StoredBlock[]; readonly added: readonly BlockBytes[] },
    memo: TextMemo | undefined,
  ): void {
    const before = this.get(path)
    this.forget(path)
    if (this.#isUnwritable || !this.#hasRoomFor(facts, texts.added, before)) return
    this.#writer ??= new PackWriter(this.#directory)
    const writer = this.#writer
    const added = texts.added.map(({ scanned, originals }) => ({
      scanned: writer.add(0, scanned),
      originals: writer.add(1, originals),
    }))
    const entry = {
      ...factsIn(facts),
      blocks: [...texts.earlier, ...added],
      memo: memo && writer.add(2, Buffer.from(JSON.stringify(memo))),
    }
    this.#learned.set(path, entry)
    this.#keptBytes = this.#bytes + bytesOf(entry)
    if (writer.isFull) this.flush()
  }

  /** Forgets a log whose entry turned out to be damaged. */
  forget(path: string): void {
    const entry = this.get(path)
    if (!entry) return
    this.#keptBytes = this.#bytes - bytesOf(entry)
    this.#learned.set(path, undefined)
  }

  /** Puts all texts where they can be read. When the system refuses, what this process has learned is let go of. */
  flush(): void {
    this.#trying(() => {
      if (!this.#writer) return
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
      if (!isOurs(statSync(this.#directory))) throw new DirectoryNotOurs()
      this.#writer.flush()
    })
  }

  /**
   * Writes the index when there is anything new, and lets go of all files. What another process has written meanwhile is
   * kept. A cache that cannot be written is none.
   */
  async save(): Promise<void> {
    try {
      if (this.#learned.size > 0) await this.#write(true)
    } finally {
      this.#writer?.close()
      this.#reader.close()
    }
  }

  /** Writes the index and goes on. */
  async keep(): Promise<void> {
    if (this.#learned.size > 0) await this.#write(false)
  }

  get #bytes(): number {
    this.#keptBytes ??= [...this.#entries.values()].reduce((sum, entry) => sum + bytesOf(entry), 0)
    return this.#keptBytes
  }

  async #write(isLast: boolean): Promise<void> {
    this.flush()
    if (this.#isUnwritable) return
    try {
      await this.#writeIndex(isLast)
    } catch (error) {
      if (!isOfSystem(error)) throw error
      this.#giveUp()
    }
  }

  async #writeIndex(isLast: boolean): Promise<void> {
    const path = join(this.#directory, TEXT_INDEX_NAME)
    if (headIn(path) !== this.#head) this.load()
    const before = packsOf(this.#entries)
    for (const [log, entry] of this.#learned) {
      if (entry) this.#entries.set(log, entry)
      else this.#entries.delete(log)
    }
    const kept = this.#withoutOldest()
    if (isLast) repack(kept, this.#directory, this.#reader)
    const { head, bytes } = encodeIndex(kept)
    // Its checksum tells a file that the disk never got whole.
    await this.#undisturbed(() => writeFileAtomic(path, bytes, { isSynced: false }))
    this.#head = head
    if (isLast) removePacks(this.#directory, packsOf(kept), (name) => before.has(name))
  }

  /** Entries up to the bytes there is room for, those of the newest logs. */
  #withoutOldest(): Map<string, TextEntry> {
    let room = this.#maxBytes
    const total = [...this.#entries.values()].reduce((sum, entry) => sum + bytesOf(entry), 0)
    if (total <= room) return this.#entries
    const newestFirst = [...this.#entries].sort(([, one], [, other]) => ageOf(other) - ageOf(one))
    return new Map(newestFirst.filter(([, entry]) => (room -= bytesOf(entry)) >= 0))
  }

  /** When there is no room for all, the logs written to last are kept. */
  #hasRoomFor(facts: TextFacts, added: readonly BlockBytes[], before: TextEntry | undefined): boolean {
    const bytes = added.reduce((sum, { scanned, originals }) => sum + scanned.length + originals.length, 0)
    if (bytes > this.#maxBytes) return false
    if (this.#bytes + bytes <= this.#maxBytes) return true
    if ((this.#writer?.size ?? 0) + bytes > this.#maxBytes) return false
    this.#oldestKept ??= [...this.#entries.values()].reduce(
      (oldest, entry) => Math.min(oldest, ageOf(entry)),
      Number.POSITIVE_INFINITY,
    )
    return before !== undefined || ageOf(facts) > this.#oldestKept
  }

  #trying(write: () => void): void {
    if (this.#isUnwritable) return
    try {
      write()
    } catch (error) {
      if (!isOfSystem(error)) throw error
      this.#giveUp()
    }
  }

  /** Keeps nothing from now on, and forgets what is in a pack that is not whole. */
  #giveUp(): void {
    this.#isUnwritable = true
    this.#writer?.discard()
    const pack = this.#writer?.name
    for (const [path, entry] of this.#learned) {
      if (entry && [...piecesOf([entry])].some((piece) => piece.pack === pack)) this.#learned.set(path, undefined)
    }
  }
}

/** How a cache is kept. */
export interface TextCacheOptions {
  readonly maxBytes?: number
  /** Writes the index. */
  readonly undisturbed?: Undisturbed
}

/**
 * Opens the cache in `directory`; one that is missing, damaged, of another format or writable for others is empty. Whether
 * it may be there at all, and not below a root, is for `openTitleIndex` to say.
 */
export function openTextCache(
  directory: string,
  { maxBytes = DEFAULT_MAX_BYTES, undisturbed = (work) => work() }: TextCacheOptions = {},
): TextCache {
  const cache = new TextCache(directory, maxBytes, undisturbed)
  cache.load()
  return cache
}

/** Others could put into it what they like. */
class DirectoryNotOurs extends Error {
  readonly code = 'EPERM'
}

function ageOf({ updatedAt = 0 }: TextFacts): number {
  return updatedAt
}
