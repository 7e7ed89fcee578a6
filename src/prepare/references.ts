// Which sessions a message refers to, in order, and what is refused of them before any log is looked for. What is written
// in a text is reference/uri.ts.

import { DshRefError, invalidReference } from '../errors.ts'
import type { PrepareRequest, ReferenceInput } from './request.ts'

/** Hard maximum, and default, of distinct sessions in one message. */
export const MAX_REFERENCES = 3

/** First appearances only; the target itself and too many sessions are refused. */
export function distinct(inputs: readonly ReferenceInput[], request: PrepareRequest): ReferenceInput[] {
  const byId = new Map<string, ReferenceInput>()
  for (const input of inputs) {
    const id = idOf(input)
    if (!byId.has(id)) byId.set(id, input)
  }
  checkReferenceIds(byId.keys(), request)
  return [...byId.values()]
}

/**
 * Throws `SELF_REFERENCE` when the target is among the ids of the sessions to refer to, `TOO_MANY` when there are more
 * distinct ones than fit in one message. What is wrong with the ids needs no log to be located.
 */
export function checkReferenceIds(
  ids: Iterable<string>,
  { target, maxReferences: limit = MAX_REFERENCES }: Pick<PrepareRequest, 'target' | 'maxReferences'>,
): void {
  const distinctIds = new Set(ids)
  for (const id of distinctIds) {
    if (id === target) {
      throw new DshRefError(
        'SESSION_REFERENCE_SELF_REFERENCE',
        `Session ${JSON.stringify(id)} is the target itself; a session cannot refer to itself. Leave it out, or name another --target`,
        { sessionId: id },
      )
    }
  }
  if (distinctIds.size > limit) {
    throw new DshRefError(
      'SESSION_REFERENCE_TOO_MANY',
      `The message refers to ${distinctIds.size} sessions; at most ${limit} fit in one message. Leave some out`,
      { count: distinctIds.size, maxReferences: limit },
    )
  }
}

/** The exact id of a session to refer to. */
export function idOf(input: ReferenceInput): string {
  if ('sessionId' in input) return input.sessionId
  return 'log' in input ? input.log.header.id : input.surface.header.id
}

/** References come from untyped callers too: a wrong one is refused before anything is read. */
export function checkReferences(references: readonly ReferenceInput[]): readonly ReferenceInput[] {
  references.forEach((reference: unknown, index) => {
    const isObject = typeof reference === 'object' && reference !== null && !Array.isArray(reference)
    const { sessionId, log, surface, label } = (isObject ? reference : {}) as Record<string, unknown>
    const isNamed = typeof sessionId === 'string' || typeof log === 'object' || typeof surface === 'object'
    if (isNamed && (label === undefined || typeof label === 'string')) return
    throw invalidReference(`Reference ${index + 1} is not {sessionId: string, label?: string}`, { index })
  })
  return references
}
