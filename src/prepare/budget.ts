// How many bytes each source may take: as it is asked for, or by the context window of the target. How a source is cut to
// them is retain/.

import { type DecodeOptions, decodeLog, type LogSource } from '../decode/decode.ts'
import { isReadFailure } from '../errors.ts'
import { contextWindowOf, readSurface } from '../fold/surface.ts'
import { locateSession, sourceOf } from '../locate/locate.ts'
import type { Issue } from '../types.ts'
import type { PrepareRequest } from './request.ts'

/** Budget of a source when nothing is known about the target's context window, in bytes. */
export const DEFAULT_REFERENCE_BYTES = 65_536

/** Share of the target's context window that one source may take. */
export const DEFAULT_CONTEXT_FRACTION = 0.2

/** Bytes a token stands for when a window in tokens becomes a budget in bytes. */
const BYTES_PER_TOKEN = 4

/** Bytes each source may take (DESIGN.md section 3, "Budget"). */
export async function budgetOf(request: PrepareRequest): Promise<{ bytes: number; issues: readonly Issue[] }> {
  if (request.maxReferenceBytes !== undefined) return { bytes: request.maxReferenceBytes, issues: [] }
  const { contextWindow, issues } = await targetWindow(request)
  if (contextWindow === undefined) return { bytes: DEFAULT_REFERENCE_BYTES, issues }
  const fraction = request.referenceContextFraction ?? DEFAULT_CONTEXT_FRACTION
  return { bytes: Math.max(DEFAULT_REFERENCE_BYTES, Math.floor(contextWindow * BYTES_PER_TOKEN * fraction)), issues }
}

/** The target need not be on disk, and a damaged log of it is no reason to refuse the sources. */
async function targetWindow(
  request: PrepareRequest,
): Promise<{ contextWindow: number | undefined; issues: readonly Issue[] }> {
  if (request.contextWindow !== undefined) return { contextWindow: request.contextWindow, issues: [] }
  if (request.target === undefined) return { contextWindow: undefined, issues: [] }
  try {
    const log = await locateSession(request.target, request)
    request.onLocated?.(log)
    return { contextWindow: await readContextWindow(sourceOf(log), request), issues: [] }
  } catch (error) {
    if (!isReadFailure(error)) throw error
    if (error.reason === 'not-found') return { contextWindow: undefined, issues: [] }
    const message = `The target's context window is unknown, because its log cannot be read: ${error.message}`
    const kind =
      error.reason === 'unsupported' ? 'unsupported-log' : error.reason === 'corrupt' ? 'corrupt-log' : 'unreadable-log'
    return { contextWindow: undefined, issues: [{ kind, message, sessionId: request.target.toWellFormed() }] }
  }
}

async function readContextWindow(source: LogSource, options: DecodeOptions): Promise<number | undefined> {
  if (options.everyRow) return (await readSurface(source, { ...options, wants: () => false })).contextWindow
  const { result } = await decodeLog(
    source,
    () => {
      let newest: number | undefined
      return {
        logOnly: (event) => {
          if (event.type === 'request/context') newest = contextWindowOf(event.data()) ?? newest
        },
        finish: () => newest,
      }
    },
    options,
  )
  return result
}
