// The private cache of a search: the texts of logs that were read before, each good for exactly the file it came from. What-
// ever is wrong with the cache costs time, never correctness. Titles are kept by title-index.ts, bytes of texts by packs.ts.

import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DshRefError } from '../errors.ts'
import { type Undisturbed, writeFileAtomic } from '../files/atomic-file.ts'
import { isOurs } from '../files/ownership.ts'
import type { LogReading } from '../list/index-entry.ts'
import { TEXT_INDEX_NAME } from '../list/title-index.ts'
import { asciiOf } from '../text/json-bytes.ts'
import type { Issue } from '../types.ts'
import type { BlockBytes } from './blocks.ts'
import { crc32 } from './checksum.ts'
import { isPackName, PackDamaged, PackReader, PackWriter, type Piece, removePacks } from './packs.ts'
import type { TextMemo } from './reading.ts'

/**
 * First words of the file. Raise the number whenever an entry changes its shape, or reading the same log would give other
 * texts, title, health or issues than before.
 */
const FORMAT = 'dsh-ref text index 1'

/** A longer index was not written by us. */
const MAX_FILE_BYTES = 256 * 1024 * 1024

/** Bytes of texts kept, in both forms, when nothing else is said. */
export const DEFAULT_MAX_BYTES = 1024 ** 3

/** A pack smaller than this is put together with others like it, once there are more than so many. */
const SMALL_PACK_BYTES = 16 * 1024 * 1024
const MAX_SMALL_PACKS = 8

/** What is known of a log that was read. */
export interface TextFacts extends LogReading {
  /** The state of the log that the rest is true for. */
  readonly logKey: string
  readonly firstMessage: string | undefined
  readonly issues: readonly Issue[]
}

/** … and where its texts are. */
export interface TextEntry extends TextFacts {
  readonly blocks: readonly StoredBlock[]
  readonly memo: Piece | undefined
}

/** Where a block is kept. */
export interface StoredBlock {
  readonly scanned: Piece
  readonly originals: Piece
}

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
    if (isLast) this.#repack(kept)
    const bytes = encodeIndex(kept)
    // Its checksum tells a file that the disk never got whole.
    await this.#undisturbed(() => writeFileAtomic(path, bytes, { isSynced: false }))
    this.#head = bytes.toString('latin1', 0, HEAD_BYTES)
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

  /** Copies what is of use out of packs that mostly are not, and small packs together. */
  #repack(entries: Map<string, TextEntry>): void {
    const live = new Map<string, number>()
    for (const piece of piecesOf(entries.values())) live.set(piece.pack, (live.get(piece.pack) ?? 0) + piece.length)
    const small = [...live].filter(([, bytes]) => bytes < SMALL_PACK_BYTES).map(([pack]) => pack)
    const replaced = new Set(small.length > MAX_SMALL_PACKS ? small : [])
    for (const [pack, bytes] of live) if (2 * bytes < this.#sizeOf(pack)) replaced.add(pack)
    if (replaced.size === 0) return
    const writer = new PackWriter(this.#directory)
    try {
      for (const [log, entry] of entries) {
        const isMoved = [...piecesOf([entry])].some(({ pack }) => replaced.has(pack))
        if (!isMoved) continue
        // A log that is gone will not be asked for again.
        const moved = existsSync(log) ? this.#moved(entry, replaced, writer) : undefined
        if (moved) entries.set(log, moved)
        else entries.delete(log)
        if (writer.isFull) writer.flush()
      }
      writer.flush()
    } catch (error) {
      writer.discard()
      throw error
    }
    writer.close()
  }

  /** An entry with its pieces in another pack; `undefined` when one of them is damaged. */
  #moved(entry: TextEntry, from: ReadonlySet<string>, to: PackWriter): TextEntry | undefined {
    const move = (piece: Piece, kind: 0 | 1 | 2) =>
      from.has(piece.pack) ? to.add(kind, Buffer.from(this.#reader.read(piece, false))) : piece
    try {
      return {
        ...factsIn(entry),
        blocks: entry.blocks.map(({ scanned, originals }) => ({
          scanned: move(scanned, 0),
          originals: move(originals, 1),
        })),
        memo: entry.memo && move(entry.memo, 2),
      }
    } catch (error) {
      if (error instanceof PackDamaged) return undefined
      throw error
    }
  }

  #sizeOf(pack: string): number {
    return statSync(join(this.#directory, pack), { throwIfNoEntry: false })?.size ?? 0
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

function isOfSystem(error: unknown): boolean {
  return error instanceof DshRefError || (error as NodeJS.ErrnoException).code !== undefined
}

/** Not a spread: the entries of the file compute their members. */
function factsIn({ logKey, health, title, updatedAt, firstMessage, issues }: TextFacts): TextFacts {
  return { logKey, health, title, updatedAt, firstMessage, issues }
}

function ageOf({ updatedAt = 0 }: TextFacts): number {
  return updatedAt
}

function* piecesOf(entries: Iterable<TextEntry>): Generator<Piece> {
  for (const { blocks, memo } of entries) {
    for (const { scanned, originals } of blocks) {
      yield scanned
      yield originals
    }
    if (memo) yield memo
  }
}

function bytesOf(entry: TextEntry): number {
  let bytes = 0
  for (const { length } of piecesOf([entry])) bytes += length
  return bytes
}

function packsOf(entries: ReadonlyMap<string, TextEntry>): Set<string> {
  return new Set(Array.from(piecesOf(entries.values()), ({ pack }) => pack))
}

// --- the file ---
//
// A head of fixed length with a checksum of the rest, and a flat JSON list: of five thousand entries as objects nobody would
// ask for more than a few values.

const HEAD_BYTES = 64

type Value = string | number | null | readonly string[] | readonly Issue[]

/** Where the values of an entry stand in its part of the list; what is behind them are its blocks. */
const FIELD = {
  path: 0,
  logKey: 1,
  health: 2,
  title: 3,
  updatedAt: 4,
  firstMessage: 5,
  issues: 6,
  memo: 7,
  blocks: 11,
}
const FIELDS = 12

/** A piece is four numbers, the first being the place of its pack in the list of packs, or −1 for none. */
const PIECE_FIELDS = 4
const NO_PIECE = [-1, 0, 0, 0]

function encodeIndex(entries: ReadonlyMap<string, TextEntry>): Buffer {
  const packs = [...packsOf(entries)]
  const placeOf = new Map(packs.map((pack, index) => [pack, index]))
  const numbers = ({ pack, offset, length, checksum }: Piece) => [placeOf.get(pack) ?? -1, offset, length, checksum]
  const values: Value[] = [packs, entries.size]
  for (const [path, entry] of entries) {
    const { logKey, health, title = null, updatedAt = null, firstMessage = null, issues, memo, blocks } = entry
    values.push(path, logKey, health, title, updatedAt, firstMessage, issues.length === 0 ? 0 : issues)
    values.push(...(memo ? numbers(memo) : NO_PIECE), blocks.length)
    for (const { scanned, originals } of blocks) values.push(...numbers(scanned), ...numbers(originals))
  }
  const list = Buffer.from(asciiOf(JSON.stringify(values)), 'latin1')
  return Buffer.concat([Buffer.from(headOf(list)), list])
}

function headOf(list: Uint8Array): string {
  return `${`${FORMAT} ${list.length} ${crc32(list)}`.padEnd(HEAD_BYTES - 1)}\n`
}

function headIn(path: string): string {
  try {
    return readFileSync(path).toString('latin1', 0, HEAD_BYTES)
  } catch {
    return '' // no file: nothing another process has written
  }
}

/** `undefined` when it is missing, unreadable, damaged or not ours: then there is nothing to go by. */
function readIndex(path: string): { head: string; entries: Map<string, TextEntry> } | undefined {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, 'r')
    const stat = fstatSync(descriptor)
    if (!stat.isFile() || !isOurs(stat) || stat.size > MAX_FILE_BYTES) return undefined
    const bytes = readFileSync(descriptor)
    const list = bytes.subarray(HEAD_BYTES)
    const head = bytes.toString('latin1', 0, HEAD_BYTES)
    if (head !== headOf(list)) return undefined
    const values = JSON.parse(list.toString('latin1')) as Value[]
    const [packs, count] = values as unknown as [string[], number]
    if (!packs.every(isPackName)) return undefined
    const entries = new Map<string, TextEntry>()
    for (let at = 2; entries.size < count; ) {
      const entry = new KeptEntry(packs, values, at)
      entries.set(values[at + FIELD.path] as string, entry)
      at = entry.end
    }
    return { head, entries }
  } catch (error) {
    // A file of this checksum is whole; one that is no JSON all the same was made by somebody else.
    if (isOfSystem(error) || error instanceof SyntaxError) return undefined
    throw error
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** An entry as it stands in the file; what nobody asks for is never made. */
class KeptEntry implements TextEntry {
  readonly #packs: readonly string[]
  readonly #values: readonly Value[]
  readonly #at: number

  constructor(packs: readonly string[], values: readonly Value[], at: number) {
    this.#packs = packs
    this.#values = values
    this.#at = at
  }

  /** Where the next entry begins. */
  get end(): number {
    return this.#at + FIELDS + 2 * PIECE_FIELDS * (this.#value(FIELD.blocks) as number)
  }

  get logKey(): string {
    return this.#value(FIELD.logKey) as string
  }

  get health(): LogReading['health'] {
    return this.#value(FIELD.health) as LogReading['health']
  }

  get title(): string | undefined {
    return (this.#value(FIELD.title) as string | null) ?? undefined
  }

  get updatedAt(): number | undefined {
    return (this.#value(FIELD.updatedAt) as number | null) ?? undefined
  }

  get firstMessage(): string | undefined {
    return (this.#value(FIELD.firstMessage) as string | null) ?? undefined
  }

  get issues(): readonly Issue[] {
    const issues = this.#value(FIELD.issues)
    return issues === 0 ? [] : (issues as readonly Issue[])
  }

  get memo(): Piece | undefined {
    return this.#pieceAt(FIELD.memo)
  }

  get blocks(): readonly StoredBlock[] {
    const blocks: StoredBlock[] = []
    const end = this.end - this.#at
    for (let field = FIELDS; field < end; field += 2 * PIECE_FIELDS) {
      const scanned = this.#pieceAt(field)
      const originals = this.#pieceAt(field + PIECE_FIELDS)
      if (scanned && originals) blocks.push({ scanned, originals })
    }
    return blocks
  }

  #pieceAt(field: number): Piece | undefined {
    const pack = this.#packs[this.#value(field) as number]
    if (pack === undefined) return undefined
    const [offset, length, checksum] = this.#values.slice(this.#at + field + 1, this.#at + field + PIECE_FIELDS)
    return { pack, offset: offset as number, length: length as number, checksum: checksum as number }
  }

  #value(field: number): Value {
    return this.#values[this.#at + field] as Value
  }
}
