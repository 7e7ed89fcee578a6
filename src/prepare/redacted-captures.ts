// Masks or refuses the secrets of what was captured, before anything is cut, saved or rendered. The masking is ../redact.ts.

import { redact } from '../redact.ts'
import type { Redacted } from '../secrets/kinds.ts'
import type { Capture } from './capture.ts'
import type { PrepareRequest, ReferenceInput } from './request.ts'

/** Whether a request looks for secrets at all. */
export function looksForSecrets(request: Pick<PrepareRequest, 'redact' | 'failOnSecrets'>): boolean {
  return request.redact === true || request.failOnSecrets === true
}

/** The captures with their secrets masked, and what was found; with `failOnSecrets` throws `SECRETS_FOUND` for any find. */
export async function redactedCaptures(
  read: readonly Capture[],
  inputs: readonly ReferenceInput[],
  { failOnSecrets, scanner, signal }: Pick<PrepareRequest, 'failOnSecrets' | 'scanner' | 'signal'>,
): Promise<{ captures: Capture[]; redacted: Redacted }> {
  const { refuseIfFound, sumOf } = await import('../secrets/scan.ts')
  const captures: Capture[] = []
  const found: Redacted[] = []
  for (const [index, source] of read.entries()) {
    const keepLabel = inputs[index]?.label !== undefined
    const { capture, redacted } = await redact(source, { keepLabel, scanner, signal })
    captures.push(capture)
    found.push(redacted)
  }
  const redacted = sumOf(found)
  if (failOnSecrets) refuseIfFound(redacted)
  return { captures, redacted }
}
