// Blocks of texts, wherever they are: in the cache or in memory. What is in a block is blocks.ts, where the cache has them
// packs.ts.

import { Block, messagesOf } from './blocks.ts'
import type { SearchMessage } from './messages.ts'
import type { TextCache } from './text-cache.ts'
import type { StoredBlock } from './text-entry.ts'

/** Blocks a log may have come to by growing; with one more they are made anew. */
const MAX_BLOCKS = 8
const ROOMY_BLOCK_BYTES = 1024 * 1024

/** A block, wherever it is. */
export interface BlockSource {
  scanned(): Buffer
  originals(): Buffer
}

/** A block in the cache. */
class KeptBlock implements BlockSource {
  readonly #texts: TextCache
  readonly #block: StoredBlock

  constructor(texts: TextCache, block: StoredBlock) {
    this.#texts = texts
    this.#block = block
  }

  scanned(): Buffer {
    return this.#texts.read(this.#block.scanned, true)
  }

  originals(): Buffer {
    return this.#texts.read(this.#block.originals)
  }
}

const NO_SHADOWINGS: ReadonlyMap<number, number> = new Map()

/** Blocks in the cache; what is damaged throws `PackDamaged` when it is asked for. */
export function keptBlocks(texts: TextCache, blocks: readonly StoredBlock[]): BlockSource[] {
  return blocks.map((block) => new KeptBlock(texts, block))
}

/** A block in memory. */
export function inMemory({ scanned, originals }: { scanned: Buffer; originals: Buffer }): BlockSource {
  return { scanned: () => scanned, originals: () => originals }
}

/** Which messages have been replaced, and by which event. */
export function shadowingsIn(blocks: readonly BlockSource[]): ReadonlyMap<number, number> {
  // What is said of earlier blocks stands in later ones.
  if (blocks.length === 1) return NO_SHADOWINGS
  return new Map(blocks.flatMap((block) => new Block(block.scanned()).shadowings))
}

/** All messages of the blocks of a log. */
export function* messagesIn(blocks: readonly BlockSource[]): Generator<SearchMessage> {
  const shadowings = shadowingsIn(blocks)
  for (const block of blocks) {
    const rows = new Block(block.scanned()).rows(shadowings)
    yield* messagesOf(rows, block.originals())
  }
}

/** Whether a log has come to so many small blocks by growing that they are better made anew. */
export function isScattered(blocks: readonly StoredBlock[], added: number): boolean {
  const bytes = blocks.reduce((sum, { scanned }) => sum + scanned.length, 0)
  return blocks.length > 0 && blocks.length + added > MAX_BLOCKS + bytes / ROOMY_BLOCK_BYTES
}
