// What is kept of a log whose texts were read before: its state, its facts and where its blocks are. The cache of them is
// text-cache.ts, their file text-index.ts.

import type { LogReading } from '../list/index-entry.ts'
import type { Issue } from '../types.ts'
import type { Piece } from './packs.ts'

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

/** The facts of an entry alone. Not a spread: the entries of the file compute their members. */
export function factsIn({ logKey, health, title, updatedAt, firstMessage, issues }: TextFacts): TextFacts {
  return { logKey, health, title, updatedAt, firstMessage, issues }
}

/** All pieces of some entries. */
export function* piecesOf(entries: Iterable<TextEntry>): Generator<Piece> {
  for (const { blocks, memo } of entries) {
    for (const { scanned, originals } of blocks) {
      yield scanned
      yield originals
    }
    if (memo) yield memo
  }
}

/** Bytes of the texts of an entry. */
export function bytesOf(entry: TextEntry): number {
  let bytes = 0
  for (const { length } of piecesOf([entry])) bytes += length
  return bytes
}

/** Names of the packs that hold something of some entries. */
export function packsOf(entries: ReadonlyMap<string, TextEntry>): Set<string> {
  return new Set(Array.from(piecesOf(entries.values()), ({ pack }) => pack))
}
