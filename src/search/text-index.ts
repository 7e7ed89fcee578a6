// The file of the text cache. A head of fixed length with a checksum of the rest, and a flat JSON list: of five thousand
// entries as objects nobody would ask for more than a few values.

import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { isOfSystem } from '../errors.ts'
import { isOurs } from '../files/ownership.ts'
import type { LogReading } from '../list/index-entry.ts'
import { asciiOf } from '../text/json-bytes.ts'
import type { Issue } from '../types.ts'
import { crc32 } from './checksum.ts'
import { isPackName, type Piece } from './packs.ts'
import { packsOf, type StoredBlock, type TextEntry } from './text-entry.ts'

/**
 * First words of the file. Raise the number whenever an entry changes its shape, or reading the same log would give other
 * texts, title, health or issues than before.
 */
const FORMAT = 'dsh-ref text index 1'

/** A longer index was not written by us. */
const MAX_FILE_BYTES = 256 * 1024 * 1024

/** Length of the head, which says what follows and has its checksum. */
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

/** The bytes of the file, and their head. */
export function encodeIndex(entries: ReadonlyMap<string, TextEntry>): { head: string; bytes: Buffer } {
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
  const head = headOf(list)
  return { head, bytes: Buffer.concat([Buffer.from(head), list]) }
}

function headOf(list: Uint8Array): string {
  return `${`${FORMAT} ${list.length} ${crc32(list)}`.padEnd(HEAD_BYTES - 1)}\n`
}

/** The head of the file at `path`, by which a process knows that another one has written. */
export function headIn(path: string): string {
  try {
    return readFileSync(path).toString('latin1', 0, HEAD_BYTES)
  } catch {
    return '' // no file: nothing another process has written
  }
}

/** What the file at `path` holds; `undefined` when it is missing, unreadable, damaged or not ours. */
export function readIndex(path: string): { head: string; entries: Map<string, TextEntry> } | undefined {
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
