// One look through texts for secrets: each text is masked, what was masked is counted, and a scanner that fails refuses. What
// a secret is, is find.ts's work; which texts there are, is redact.ts's.

import { DshRefError } from '../errors.ts'
import type { Redacted, SecretCounts, SecretKind } from './kinds.ts'
import { addCounts, countedKinds, type RedactedText, redactText, totalOf } from './redact.ts'

/** Masks the secrets of one whole text; throws when it cannot. */
export type SecretScanner = (text: string) => RedactedText

/** Masks whole texts one after another, and sums up. */
export class SecretScan {
  readonly #scanner: SecretScanner
  readonly #counts: Partial<Record<SecretKind, number>> = {}

  constructor(scanner: SecretScanner = redactText) {
    this.#scanner = scanner
  }

  /** The masked text; counts what was masked. Throws `SCAN_FAILED`, and never lets a text pass that was not looked through. */
  text(text: string): string {
    const { text: masked, counts } = scanned(text, this.#scanner)
    addCounts(this.#counts, counts)
    return masked
  }

  /** The masked text of something told beside the conversation, an error or an issue, which is not counted. */
  aside(text: string): string {
    return scanned(text, this.#scanner).text
  }

  /** How many secrets of each kind a text holds, which is not counted. */
  countsIn(text: string): SecretCounts {
    return scanned(text, this.#scanner).counts
  }

  /** A scan of the same kind with counts of its own. */
  fork(): SecretScan {
    return new SecretScan(this.#scanner)
  }

  /** Adds what another scan has masked. */
  add({ byKind }: Redacted): void {
    addCounts(this.#counts, byKind)
  }

  get redacted(): Redacted {
    return redactedOf(this.#counts)
  }
}

/** The sum of what was masked in several captures. */
export function sumOf(parts: readonly Redacted[]): Redacted {
  const counts: Partial<Record<SecretKind, number>> = {}
  for (const { byKind } of parts) addCounts(counts, byKind)
  return redactedOf(counts)
}

/** Counts as outputs say them. */
export function redactedOf(counts: SecretCounts): Redacted {
  const byKind = Object.fromEntries(countedKinds(counts).map((kind) => [kind, counts[kind] ?? 0])) as SecretCounts
  return { total: totalOf(counts), byKind }
}

/** Counts as a person reads them: `3 secrets (2 github-token, 1 url-password)`. */
export function describeRedacted({ total, byKind }: Redacted): string {
  const kinds = countedKinds(byKind).map((kind) => `${byKind[kind]} ${kind}`)
  return `${total} ${total === 1 ? 'secret' : 'secrets'} (${kinds.join(', ')})`
}

/** Refuses with `SECRETS_FOUND` when there is any. To be called before anything leaves. */
export function refuseIfFound(redacted: Redacted): void {
  if (redacted.total === 0) return
  throw new DshRefError(
    'SESSION_REFERENCE_SECRETS_FOUND',
    `Nothing is printed, for ${describeRedacted(redacted)} would be in it; "dsh-ref check --secrets" says in which events, and --redact masks them where --fail-on-secrets is not given`,
    { ...redacted },
  )
}

function scanned(text: string, scanner: SecretScanner): RedactedText {
  if (text === '') return { text, counts: {} }
  try {
    return scanner(text)
  } catch (cause) {
    // What the scanner says may quote the text, so that it goes no further than the cause.
    throw new DshRefError(
      'SESSION_REFERENCE_SCAN_FAILED',
      'The search for secrets failed, so nothing is printed; --no-redact without --fail-on-secrets does without it. Please report it',
      {},
      { cause },
    )
  }
}
