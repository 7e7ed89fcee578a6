// Masks the secrets of a text, and counts them. Which they are is find.ts's work.

import { findSecrets } from './find.ts'
import { type Find, SECRET_KINDS, type SecretCounts, type SecretKind } from './kinds.ts'
import { placeholderOf } from './placeholder.ts'

/** A masked text, and how many secrets of which kind were masked in it. */
export interface RedactedText {
  readonly text: string
  readonly counts: SecretCounts
}

/**
 * Masks every secret of a text by its placeholder; the same text gives the same one. Masking a masked text changes nothing.
 * Takes the whole text of a message, never a piece of it.
 */
export function redactText(text: string): RedactedText {
  const counts: Partial<Record<SecretKind, number>> = {}
  let redacted = text
  // What stands beside a placeholder may show only then. Each turn leaves fewer characters that are no placeholder.
  for (let finds = findSecrets(redacted); finds.length > 0; finds = findSecrets(redacted)) {
    redacted = masked(redacted, finds)
    addCounts(counts, countSecrets(finds))
  }
  return { text: redacted, counts }
}

/** How many of these finds are of which kind. */
export function countSecrets(finds: readonly Find[]): SecretCounts {
  const counts: Partial<Record<SecretKind, number>> = {}
  for (const { kind } of finds) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

/** Adds counts to a sum, whose keys stay in the order of the list of kinds once it is read with `countedKinds`. */
export function addCounts(sum: Partial<Record<SecretKind, number>>, counts: SecretCounts): void {
  for (const kind of countedKinds(counts)) sum[kind] = (sum[kind] ?? 0) + (counts[kind] ?? 0)
}

/** The kinds that are counted, in the order of the list of kinds, so that equal counts read equal. */
export function countedKinds(counts: SecretCounts): SecretKind[] {
  return SECRET_KINDS.filter((kind) => (counts[kind] ?? 0) > 0)
}

/** The sum of counts. */
export function totalOf(counts: SecretCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

function masked(text: string, finds: readonly Find[]): string {
  const parts: string[] = []
  let at = 0
  for (const { kind, start, end } of finds) {
    parts.push(text.slice(at, start), placeholderOf(kind))
    at = end
  }
  parts.push(text.slice(at))
  return parts.join('')
}
