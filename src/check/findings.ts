// Findings of a check: how they are made of issues and refusals, counted, and summed up in a status.

import { CountedList } from '../decode/issues.ts'
import { isReadFailure } from '../errors.ts'
import type { CheckStatus, Finding, Issue, Severity } from '../types.ts'

/** One finding for each rule and message, with a count: a million odd rows are one line. */
export class Findings {
  readonly #file: string
  readonly #findings = new CountedList<Finding>(({ severity, rule }) => `${severity} ${rule}`)

  constructor(file: string) {
    this.#file = file
  }

  add(finding: Omit<Finding, 'file'>): void {
    this.#findings.add({ ...finding, file: this.#file })
  }

  list(): Finding[] {
    return this.#findings.list()
  }
}

/** An issue as a finding. */
export function findingOf({ kind, message, line, frame, seq, count }: Issue): Omit<Finding, 'file'> {
  return {
    severity: 'issue',
    rule: kind,
    message,
    ...(line !== undefined && { line }),
    ...(frame !== undefined && { frame }),
    ...(seq !== undefined && { seq }),
    ...(count !== undefined && { count }),
  }
}

/** A refusal as a finding; throws every other error. */
export function refusalFinding(error: unknown): Omit<Finding, 'file'> {
  if (!isReadFailure(error)) throw error
  const { reason } = error
  const { rule, file, line, frame, seq, expected, actual } = error.facts
  const prefix = `${file}: `
  return {
    severity: reason === 'corrupt' || reason === 'unsupported' ? reason : 'unreadable',
    rule: typeof rule === 'string' ? rule : (reason ?? 'unreadable'),
    // The finding names its file beside the message.
    message: error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message,
    ...(typeof line === 'number' && { line }),
    ...(typeof frame === 'number' && { frame }),
    ...(typeof seq === 'number' && { seq }),
    ...(expected !== undefined && { expected }),
    ...(actual !== undefined && { actual }),
  }
}

/** What the findings of a log come to. */
export function statusOf(findings: readonly Pick<Finding, 'severity'>[]): CheckStatus {
  const has = (severity: Severity) => findings.some((finding) => finding.severity === severity)
  if (has('corrupt')) return 'corrupt'
  if (has('unsupported')) return 'unsupported'
  if (has('unreadable')) return 'unreadable'
  return has('issue') || has('refused-by-dsh') ? 'issues' : 'ok'
}
