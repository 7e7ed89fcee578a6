// A broken rule of the fold, by its name and with its facts. The rules themselves are in the files that are named after them.

import { brief } from '../text/json-bytes.ts'

/** Every rule of the fold that a log can break. */
export type FoldRule =
  | 'surface-op-missing'
  | 'surface-op-shape'
  | 'surface-metadata-on-log-only-event'
  | 'replace-endpoint-shape'
  | 'replace-endpoint-not-earlier'
  | 'replace-endpoint-not-on-surface'
  | 'replace-order'
  | 'sources-shape'
  | 'sources-empty'
  | 'sources-not-earlier'
  | 'sources-duplicate'
  | 'sources-forbidden'
  | 'provenance-missing'
  | 'tool-rewrite-span'
  | 'tool-rewrite-changed'
  | 'system-head'
  | 'developer-binding'

/** A broken rule, as facts. */

/** A broken rule, as facts. */
export interface FoldViolation {
  readonly rule: FoldRule
  readonly seq: number
  readonly message: string
  readonly expected: unknown
  readonly actual: unknown
}

/** States a broken rule; of what a log wrote, as much as a message has room for. */
export function violation(
  rule: FoldRule,
  seq: number,
  message: string,
  expected: unknown,
  actual: unknown,
): FoldViolation {
  return { rule, seq, message, expected: brief(expected), actual: brief(actual) }
}
