// The tidying of packs when a search ends: what is of use is copied together, and packs that nothing refers to can go.

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { PackDamaged, type PackReader, PackWriter, type Piece } from './packs.ts'
import { factsIn, piecesOf, type TextEntry } from './text-entry.ts'

/** A pack smaller than this is put together with others like it, once there are more than so many. */
const SMALL_PACK_BYTES = 16 * 1024 * 1024
const MAX_SMALL_PACKS = 8

/** Copies what is of use out of packs that mostly are not, and small packs together; changes `entries` accordingly. */
export function repack(entries: Map<string, TextEntry>, directory: string, reader: PackReader): void {
  const live = new Map<string, number>()
  for (const piece of piecesOf(entries.values())) live.set(piece.pack, (live.get(piece.pack) ?? 0) + piece.length)
  const small = [...live].filter(([, bytes]) => bytes < SMALL_PACK_BYTES).map(([pack]) => pack)
  const replaced = new Set(small.length > MAX_SMALL_PACKS ? small : [])
  for (const [pack, bytes] of live) if (2 * bytes < sizeOf(join(directory, pack))) replaced.add(pack)
  if (replaced.size === 0) return
  const writer = new PackWriter(directory)
  try {
    for (const [log, entry] of entries) {
      const isMoved = [...piecesOf([entry])].some(({ pack }) => replaced.has(pack))
      if (!isMoved) continue
      // A log that is gone will not be asked for again.
      const moved = existsSync(log) ? movedEntry(entry, replaced, { reader, writer }) : undefined
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
function movedEntry(
  entry: TextEntry,
  from: ReadonlySet<string>,
  { reader, writer }: { readonly reader: PackReader; readonly writer: PackWriter },
): TextEntry | undefined {
  const move = (piece: Piece, kind: 0 | 1 | 2) =>
    from.has(piece.pack) ? writer.add(kind, Buffer.from(reader.read(piece, false))) : piece
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

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
