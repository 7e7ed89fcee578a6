// What a run does about secrets: `--redact`, `--no-redact` and `--fail-on-secrets`, the environment and the configuration. Loaded
// only when a run is to mask or to refuse; what a secret is, is ../secrets/.

import { DshRefError } from '../errors.ts'
import type { Candidate } from '../list/candidates.ts'
import { maskedPiece, redactCandidate } from '../list/redact-candidate.ts'
import { maskedAside } from '../redact.ts'
import type { Redacted } from '../secrets/kinds.ts'
import { describeRedacted, refuseIfFound, SecretScan, sumOf } from '../secrets/scan.ts'
import type { SecretRules } from './redact-option.ts'

/** Where one line for a person goes. */
interface Notes {
  note(message: string): Promise<void>
}

/** The secrets of one run. */
export class RunSecrets {
  readonly rules: SecretRules
  /** Masks and counts what the run prints. */
  readonly scan = new SecretScan()

  constructor(rules: SecretRules) {
    this.rules = rules
  }

  /** Masks what is told on stderr; as it is without `--redact`. */
  readonly mask = (text: string): string => (this.rules.redacts ? this.scan.aside(text) : text)

  /** Masks the beginning of a text, whose end may be half a secret; as it is without `--redact`. */
  maskPiece(piece: string): string {
    return this.rules.redacts ? maskedPiece(piece, (text) => this.scan.aside(text)) : piece
  }

  /** Refuses with `--fail-on-secrets` when there is a find. To be called before the first byte is printed. */
  refuseIfFound(redacted: Redacted = this.scan.redacted): void {
    if (this.rules.refuses) refuseIfFound(redacted)
  }

  /** What JSON says was masked; `undefined` without `--redact`. */
  redacted(redacted: Redacted = this.scan.redacted): Redacted | undefined {
    return this.rules.redacts ? redacted : undefined
  }

  /** Rows of a list as they are printed: masked with `--redact`, and looked through with `--fail-on-secrets`. */
  rows<Row extends Candidate>(rows: readonly Row[]): readonly Row[] {
    const masked = rows.map((row) => redactCandidate(row, this.scan))
    return this.rules.redacts ? masked : rows
  }

  /** What rows hold, apart from what the run has printed so far. */
  foundIn(rows: readonly Candidate[]): Redacted {
    const own = this.scan.fork()
    for (const row of rows) redactCandidate(row, own)
    return own.redacted
  }

  /** A row of a search and its lines; `linesOf` is given what masks the whole messages that they are lines of. */
  async found<Row extends Candidate, Line>(
    row: Row,
    linesOf: (mask: (text: string) => string) => Promise<Line[]>,
  ): Promise<{ row: Row & { readonly redacted?: Redacted }; lines: Line[] }> {
    const own = this.scan.fork()
    const lines = await linesOf((text) => own.text(text))
    this.scan.add(own.redacted)
    const masked = redactCandidate(row, this.scan)
    return {
      row: this.rules.redacts ? { ...masked, redacted: sumOf([masked.redacted, own.redacted]) } : row,
      lines,
    }
  }

  /** Says on stderr what was found: nothing, too. */
  async tell(print: Notes, redacted: Redacted = this.scan.redacted): Promise<void> {
    await print.note(
      redacted.total === 0
        ? 'No secrets found; best effort, and no proof that there are none'
        : `Masked ${describeRedacted(redacted)}; best effort, and no proof that there are no others`,
    )
  }

  /** A refusal with everything in it masked that is no id; as it is without `--redact`. */
  masked(error: DshRefError): DshRefError {
    if (!this.rules.redacts) return error
    const { code, message, facts, cause } = error
    try {
      return new DshRefError(code, this.scan.aside(message), maskedAside(facts, this.scan), { cause })
    } catch (failure) {
      if (failure instanceof DshRefError) return failure
      throw failure
    }
  }

  /** The stack of a bug, which may quote what was being read. */
  maskedBug(error: unknown): unknown {
    if (!this.rules.redacts) return error
    const masked = new Error()
    masked.message = this.mask(error instanceof Error ? error.message : String(error))
    masked.stack = this.mask(error instanceof Error ? (error.stack ?? error.message) : String(error))
    return masked
  }
}
