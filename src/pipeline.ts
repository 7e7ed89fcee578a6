// The sentence of the product: locate -> decode -> fold -> project -> retain -> render. The only file that knows all
// stages; it prints nothing and knows no terminal. Its parts are in prepare/.

import { throwIfCancelled } from './errors.ts'
import { allOrFirstFailure } from './prepare/all-or-first-failure.ts'
import { budgetOf } from './prepare/budget.ts'
import { type Capture, capture } from './prepare/capture.ts'
import { checkConfig } from './prepare/config.ts'
import { omissionOf, spillOf } from './prepare/omission.ts'
import { looksForSecrets, redactedCaptures } from './prepare/redacted-captures.ts'
import { checkReferences, distinct } from './prepare/references.ts'
import type { Prepared, PreparedSource, PrepareRequest } from './prepare/request.ts'
import { parseReferenceText } from './reference/uri.ts'
import { renderSnapshot } from './render/snapshot.ts'
import { type Retained, retain } from './retain/retain.ts'
import type { Issue, Omission, ReferenceFacts, ReferenceMessage, SnapshotData, TextBlock } from './types.ts'

/**
 * Prepares a message and the snapshot of the sessions it refers to. All or nothing: throws `INVALID_CONFIG`,
 * `INVALID_REFERENCE`, `SELF_REFERENCE`, `TOO_MANY`, `READ_FAILED`, `BUDGET_EXCEEDED`, `SECRETS_FOUND`, `SCAN_FAILED` or
 * `CANCELLED`.
 *
 * @example
 * const { content, additionalContext } = await prepare({
 *   message: 'Do the same as in @[the login fix](dsh-session:ImxvZ2luLWZpeCI).',
 *   target: 'current',
 *   roots: [root],
 * })
 * content // => [{ type: 'text', text: 'Do the same as in @the login fix.' }]
 * additionalContext[0].source.references[0].retainedMessages // => 3
 */
export async function prepare(request: PrepareRequest): Promise<Prepared> {
  checkConfig(request)
  throwIfCancelled(request.signal)
  const { text, references: mentioned } = parseReferenceText(request.message)
  const inputs = distinct([...mentioned, ...checkReferences(request.references ?? [])], request)
  const content: TextBlock[] = [{ type: 'text', text: text.toWellFormed() }]
  const isScanned = looksForSecrets(request)
  if (inputs.length === 0) {
    const nothing = isScanned ? { redacted: { total: 0, byKind: {} } } : undefined
    return { content, additionalContext: [], sources: [], omissions: [], issues: [], ...nothing }
  }

  const budget = await budgetOf(request)
  // A transcript to be saved needs all texts, and so does a search for secrets.
  const enoughBytes = request.spill || isScanned ? undefined : budget.bytes
  const read = await allOrFirstFailure(
    request.signal,
    inputs.map((input) => (signal: AbortSignal) => capture(input, { ...request, enoughBytes, signal })),
  )
  const { captures, redacted } = isScanned
    ? await redactedCaptures(read, inputs, request)
    : { captures: read, redacted: undefined }
  const issues: Issue[] = [...budget.issues, ...captures.flatMap((source) => source.issues)]
  const cut = captures.map((source) => ({ source, retained: retain(source, budget.bytes) }))
  const omissions: Omission[] = []
  for (const [index, { source, retained }] of cut.entries()) {
    if (!retained.facts.truncated) continue
    const fullSnapshot = await spillOf(source, index + 1, request, issues)
    omissions.push(omissionOf(retained, fullSnapshot))
  }
  // A cancellation after a save still prints nothing.
  throwIfCancelled(request.signal)
  const sources = cut.map(({ source, retained }, inputIndex): PreparedSource => {
    const { data, facts, bytes } = retained
    return {
      data,
      facts: referenceFacts(source, data, facts, inputIndex),
      budgetBytes: budget.bytes,
      usedBytes: bytes,
      ...(source.degraded && { degraded: source.degraded }),
      ...(source.turnsWithoutText !== undefined && { turnsWithoutText: source.turnsWithoutText }),
    }
  })
  const message: ReferenceMessage = {
    role: 'user',
    content: [
      {
        type: 'text',
        text: renderSnapshot(
          sources.map((source) => source.data),
          omissions,
          sources.flatMap(({ data, degraded }) =>
            degraded ? [{ label: data.label, throughSeq: degraded.throughSeq }] : [],
          ),
          redacted?.total,
        ),
      },
    ],
    source: {
      kind: 'session-reference',
      form: 'recall',
      version: 1,
      references: sources.map((source) => source.facts),
    },
  }
  return { content, additionalContext: [message], sources, omissions, issues, ...(redacted && { redacted }) }
}

function referenceFacts(
  source: Capture,
  data: SnapshotData,
  facts: Retained['facts'],
  inputIndex: number,
): ReferenceFacts {
  return {
    sessionId: data.sessionId,
    label: data.label,
    ...(source.formatVersion !== 0 && { capturedFormatVersion: source.formatVersion }),
    capturedThroughSeq: data.capturedThroughSeq,
    compacted: facts.compacted,
    originalMessages: facts.originalMessages,
    retainedMessages: facts.retainedMessages,
    omittedMessages: facts.omittedMessages,
    omittedBytes: facts.omittedBytes,
    truncated: facts.truncated,
    inputIndex,
  }
}
