// Reads the longest valid prefix of a corrupt log, and says so. Never the default: what a damaged log says behind its damage
// is lost, and may have changed what stands before it.

import type { LogFacts, LogSource } from '../decode/decode.ts'
import { DshRefError } from '../errors.ts'
import type { Degraded, Issue } from '../types.ts'
import { readSurface, type Surface, type SurfaceOptions } from './surface.ts'

/** A surface that may be that of a prefix. */
export interface SalvagedSurface extends Surface {
  readonly degraded?: Degraded
}

/** Options of a reading that may settle for a prefix. */
export interface SalvageOptions extends SurfaceOptions {
  readonly salvage?: boolean | undefined
}

/** Reads a surface; with `salvage` that of the longest valid prefix when the log is corrupt. */
export function readSurfaceOrPrefix(source: LogSource, options: SalvageOptions): Promise<SalvagedSurface> {
  return options.salvage ? readSalvaged(source, options) : readSurface(source, options)
}

/** Reads before giving up: each refusal moves the end of the prefix back, and an honest log needs one or two. */
const MAX_ATTEMPTS = 64

/**
 * Reads `source` as `readSurface` does; when it is corrupt behind its header, reads the longest prefix that is not. Throws
 * the first refusal when no prefix can be read.
 *
 * @example
 * const log = await locateSession('scratch', { roots: [root] })
 * const surface = await readSalvaged(sourceOf(log))
 * surface.degraded // => undefined
 */
export async function readSalvaged(source: LogSource, options: SurfaceOptions = {}): Promise<SalvagedSurface> {
  const again = source.kind === 'bytes' ? await gathered(source) : source
  return readLongestPrefix(again, (how) => readSurface(again, { ...options, ...how }))
}

/**
 * Reads `source` with `read`; when that finds it corrupt behind its header, again for the longest prefix that is not. Throws
 * the first refusal when no prefix can be read.
 */
export async function readLongestPrefix<Reading extends LogFacts>(
  source: LogSource,
  read: (how: Pick<SurfaceOptions, 'untilSeq' | 'allowFullHeaderFrame'>) => Promise<Reading>,
): Promise<Reading & { readonly degraded?: Degraded }> {
  let first = source.kind === 'file' ? source.refusal : undefined
  let allowFullHeaderFrame = false
  let untilSeq = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    try {
      const reading = await read(first ? { untilSeq, allowFullHeaderFrame } : {})
      return first ? degraded(reading, first, untilSeq === Number.POSITIVE_INFINITY) : reading
    } catch (error) {
      if (!(error instanceof DshRefError) || error.reason !== 'corrupt' || error.facts.throughSeq === undefined)
        throw first ?? error
      first ??= error
      if (error.facts.rule === 'header-frame' && !allowFullHeaderFrame) {
        // The container is wrong, and all that is in it may be right.
        allowFullHeaderFrame = true
        continue
      }
      const reached = (error.facts.throughSeq as number | null) ?? -1
      // A refusal that does not move back would come again for ever.
      untilSeq = Math.min(reached, untilSeq - 1)
      if (untilSeq < -1) throw first
    }
  }
  throw first
}

function degraded<Reading extends LogFacts>(reading: Reading, refusal: DshRefError, isWhole: boolean) {
  const { line, frame, file } = refusal.facts
  const reason = refusal.message.toWellFormed()
  const { capturedThroughSeq } = reading
  const place = {
    ...(typeof line === 'number' && { line }),
    ...(typeof frame === 'number' && { frame }),
  }
  const issue: Issue = {
    kind: 'salvaged',
    message: `The log is corrupt; ${isWhole ? 'all of it,' : 'only the prefix'} through ${capturedThroughSeq === null ? 'its header' : `seq ${capturedThroughSeq}`} is read: ${reason}`,
    ...place,
    ...(typeof file === 'string' && { file }),
  }
  return {
    ...reading,
    issues: [issue, ...reading.issues],
    degraded: { reason, throughSeq: capturedThroughSeq, ...place },
  }
}

/** A stream can be read once only, so a log that comes as one is gathered before. */
async function gathered(source: Extract<LogSource, { kind: 'bytes' }>): Promise<LogSource> {
  const pieces: Uint8Array[] = []
  for await (const piece of source.bytes) pieces.push(Uint8Array.prototype.slice.call(piece))
  return {
    ...source,
    bytes: {
      async *[Symbol.asyncIterator]() {
        yield* pieces
      },
    },
  }
}
