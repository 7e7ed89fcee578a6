// What is said of a source that was cut, and the saving of its full transcript. Where transcripts go is the caller's to say.

import { cancelled, DshRefError, throwIfCancelled } from '../errors.ts'
import type { Retained } from '../retain/retain.ts'
import type { FullSnapshot, Issue, Omission } from '../types.ts'
import { type Capture, captureFacts } from './capture.ts'
import type { PrepareRequest } from './request.ts'

/** What the omissions of a message say of a source that was cut. */
export function omissionOf({ data, facts }: Retained, fullSnapshot: FullSnapshot): Omission {
  return {
    sessionId: data.sessionId,
    capturedThroughSeq: data.capturedThroughSeq,
    omittedMessages: facts.omittedMessages,
    omittedBytes: facts.omittedBytes,
    fullSnapshot,
  }
}

/** Saves the full transcript of a source, where the caller has a place for it; a failure becomes an issue. */
export async function spillOf(
  source: Capture,
  position: number,
  request: PrepareRequest,
  issues: Issue[],
): Promise<FullSnapshot> {
  if (!request.spill) return { status: 'unavailable', reason: 'storage-not-configured' }
  throwIfCancelled(request.signal)
  try {
    return await request.spill({
      targetId: request.target ?? '',
      position,
      capture: captureFacts(source),
      messages: source.messages,
    })
  } catch (error) {
    if (request.signal?.aborted) throw cancelled(error)
    // A failed save never fails the message (DESIGN.md section 3); a bug in saving is not dressed as one.
    if (!(error instanceof DshRefError)) throw error
    issues.push({ kind: 'spill-failed', message: error.message, sessionId: source.sessionId.toWellFormed() })
    return { status: 'unavailable', reason: 'save-failed' }
  }
}
