// One source: located, decoded, folded and projected. retain/ cuts what comes of it, transcript/ saves it whole.

import { readSurfaceOrPrefix, type SalvagedSurface } from '../fold/salvage.ts'
import type { SurfaceOptions } from '../fold/surface.ts'
import { locateSession, sourceOf } from '../locate/locate.ts'
import { project, turnsWithoutText } from '../project/project.ts'
import { labelOf } from '../project/title.ts'
import type { Degraded, Issue, ProjectedMessage } from '../types.ts'
import type { PrepareRequest, ReferenceInput, SpillCapture } from './request.ts'

/** One source as captured: what retain cuts and spill saves. */
export interface Capture {
  readonly sessionId: string
  readonly label: string
  readonly cwd: string | null
  readonly capturedThroughSeq: number | null
  readonly formatVersion: number
  readonly messages: readonly ProjectedMessage[]
  readonly issues: readonly Issue[]
  readonly degraded?: Degraded
  /** Turns of the person that projection drops because they are images or files only; absent for none. */
  readonly turnsWithoutText?: number
}

/** How a source is read. */
export type CaptureOptions = Pick<
  PrepareRequest,
  'roots' | 'allowUnknownVersion' | 'limits' | 'signal' | 'decoder' | 'everyRow' | 'salvage' | 'onLocated'
> &
  Pick<SurfaceOptions, 'enoughBytes'>

/** Reads one source whole and projects it. */
export async function capture(input: ReferenceInput, options: CaptureOptions): Promise<Capture> {
  const { surface, issues } = await surfaceOf(input, options)
  const { header } = surface
  const { messages } = project(surface.messages)
  const textless = turnsWithoutText(surface.messages)
  return {
    sessionId: header.id,
    label: input.label ?? labelOf(surface.title, header.id),
    cwd: header.cwd ?? null,
    capturedThroughSeq: surface.capturedThroughSeq,
    formatVersion: surface.formatVersion,
    messages,
    issues: [...issues, ...surface.issues, ...(messages.some(hasText) ? [] : [emptyConversation(header.id)])],
    ...(surface.degraded && { degraded: surface.degraded }),
    ...(textless > 0 && { turnsWithoutText: textless }),
  }
}

/** White space refers to nothing either. */
function hasText({ text }: ProjectedMessage): boolean {
  return /\S/.test(text)
}

function emptyConversation(sessionId: string): Issue {
  const message = 'The session has no text of a user or an assistant, so there is nothing to refer to'
  return { kind: 'empty-conversation', message, sessionId: sessionId.toWellFormed() }
}

async function surfaceOf(
  input: ReferenceInput,
  options: CaptureOptions,
): Promise<{ surface: SalvagedSurface; issues: readonly Issue[] }> {
  if ('surface' in input) return { surface: input.surface, issues: [] }
  const log = 'log' in input ? input.log : await locateSession(input.sessionId, options)
  options.onLocated?.(log)
  return {
    surface: await readSurfaceOrPrefix(sourceOf(log), { ...options, texts: 'conversation' }),
    issues: log.issues,
  }
}

/** The capture record of a transcript. */
export function captureFacts(source: Capture): SpillCapture {
  return {
    sessionId: source.sessionId.toWellFormed(),
    label: source.label.toWellFormed(),
    cwd: source.cwd?.toWellFormed() ?? null,
    capturedThroughSeq: source.capturedThroughSeq,
    ...(source.formatVersion !== 0 && { capturedFormatVersion: source.formatVersion }),
  }
}
