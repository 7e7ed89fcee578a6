// Cases for the zstd reader that run on both decoders: in this process, or, as a program of its own, under a newer Node.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createZstdReader, type ZstdDecoder } from '../../src/decode/zstd.ts'
import { DshRefError } from '../../src/errors.ts'
import { answerAll, programUnder } from './answering-program.ts'

/** One read of a file, or of a changed copy of its bytes. */
export interface ZstdCase {
  readonly file: string
  /** Bytes to leave away at the end. */
  readonly cut?: number
  /** Places where a byte is changed: offset and mask. */
  readonly flips?: readonly (readonly [offset: number, mask: number])[]
  /** Sizes of the pieces, again from the start when all were used; default: one piece. */
  readonly pieces?: readonly number[]
  readonly maxWindowBytes?: number
  /** Content after which `onBytes` throws. */
  readonly stopAfterBytes?: number
}

/** What must be equal for both decoders. */
export interface ZstdOutcome {
  /** SHA-256 of all content delivered, and how much it was. */
  readonly content: string
  readonly contentBytes: number
  /** Content delivered when each frame ended. */
  readonly frameEnds: readonly number[]
  /** Where each frame ended in the file. */
  readonly storedEnds: readonly number[]
  readonly tornBytes: number
  readonly ending?: { frames: number; torn: boolean }
  readonly refusal?: { reason: unknown; frame: unknown; rule: unknown }
  readonly thrown?: string
}

/** An outcome with what may differ between decoders. */
export interface ZstdRun {
  readonly outcome: ZstdOutcome
  readonly largestChunkBytes: number
  /** Bytes pushed until the end, or until something was thrown. */
  readonly pushedBytes: number
  readonly facts: Readonly<Record<string, unknown>> | undefined
}

/** Runs one case in this process. */
export async function runZstdCase(zstdCase: ZstdCase, decoder: ZstdDecoder): Promise<ZstdRun> {
  const bytes = bytesOf(zstdCase)
  const hash = createHash('sha256')
  const frameEnds: number[] = []
  const storedEnds: number[] = []
  let contentBytes = 0
  let tornBytes = 0
  let largestChunkBytes = 0
  let pushedBytes = 0
  const reader = createZstdReader({
    decoder,
    maxWindowBytes: zstdCase.maxWindowBytes ?? 128 * 1024 * 1024,
    onBytes: (chunk, frame, torn) => {
      if (frame !== frameEnds.length + 1) throw new Error(`Bytes of frame ${frame} after ${frameEnds.length} frames`)
      hash.update(chunk)
      contentBytes += chunk.length
      if (torn) tornBytes += chunk.length
      largestChunkBytes = Math.max(largestChunkBytes, chunk.length)
      if (contentBytes > (zstdCase.stopAfterBytes ?? Number.POSITIVE_INFINITY)) throw new Error('enough')
    },
    onFrameEnd: (frame, end) => {
      if (frame !== frameEnds.length + 1) throw new Error(`Frame ${frame} ended after ${frameEnds.length} frames`)
      frameEnds.push(contentBytes)
      storedEnds.push(end)
    },
  })
  let ending: ZstdOutcome['ending']
  let error: unknown
  try {
    const sizes = zstdCase.pieces ?? [Math.max(1, bytes.length)]
    for (let at = 0, index = 0; at < bytes.length; index++) {
      // A copy that is spoilt afterwards: the reader must not look at a piece again.
      const piece = Uint8Array.from(bytes.subarray(at, at + (sizes[index % sizes.length] as number)))
      at += piece.length
      pushedBytes = at
      const wait = reader.push(piece)
      if (wait) await wait
      piece.fill(0xff)
    }
    ending = await reader.end()
  } catch (caught) {
    error = caught
  }
  const outcome: ZstdOutcome = {
    content: hash.digest('hex'),
    contentBytes,
    frameEnds,
    storedEnds,
    tornBytes,
    ...outcomeOf(error),
  }
  return {
    outcome: ending ? { ...outcome, ending } : outcome,
    largestChunkBytes,
    pushedBytes,
    facts: error instanceof DshRefError ? error.facts : undefined,
  }
}

/** Runs cases on the native decoder in a process of the given Node. */
export async function runZstdCasesUnder(node: string, cases: readonly ZstdCase[]): Promise<ZstdRun[]> {
  return (await programUnder(node, fileURLToPath(import.meta.url))(cases)) as ZstdRun[]
}

function outcomeOf(error: unknown): Pick<ZstdOutcome, 'refusal' | 'thrown'> {
  if (error === undefined) return {}
  if (!(error instanceof DshRefError)) return { thrown: String(error) }
  const { reason, frame, rule } = error.facts
  return { refusal: { reason, frame, rule } }
}

const filesRead = new Map<string, Buffer>()

function bytesOf({ file, cut = 0, flips = [] }: ZstdCase): Buffer {
  const stored = filesRead.get(file) ?? readFileSync(file)
  filesRead.set(file, stored)
  const bytes = Buffer.from(stored.subarray(0, stored.length - cut))
  for (const [offset, mask] of flips) bytes.writeUInt8(bytes.readUInt8(offset) ^ mask, offset)
  return bytes
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await answerAll(async (cases: readonly ZstdCase[]) => {
    const runs: ZstdRun[] = []
    for (const zstdCase of cases) runs.push(await runZstdCase(zstdCase, 'native'))
    return runs
  })
}
