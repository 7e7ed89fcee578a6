// Masks the secrets of a row of a list: title, label, directory, and what is told of the log. Which rows there are is
// candidates.ts.

import { redactIssues } from '../redact.ts'
import { formatMention } from '../reference/uri.ts'
import type { Redacted } from '../secrets/kinds.ts'
import type { SecretScan } from '../secrets/scan.ts'
import type { Candidate } from './candidates.ts'

/** A row with its secrets masked; id and URI stay exact. Counts them in `scan`, and says in the row which were its own. */
export function redactCandidate<Row extends Candidate>(
  row: Row,
  scan: SecretScan,
): Row & { readonly redacted: Redacted } {
  const own = scan.fork()
  const { sessionId, title, firstMessage, cwd, path, origin, issues } = row
  const maskedTitle = title === undefined ? undefined : own.text(title)
  // The label is the title in most rows, and one secret there.
  const label = row.label === title && maskedTitle !== undefined ? maskedTitle : own.text(row.label)
  const masked = {
    ...row,
    label,
    mention: formatMention({ sessionId, label }),
    ...(maskedTitle !== undefined && { title: maskedTitle }),
    ...(firstMessage !== undefined && { firstMessage: maskedPiece(firstMessage, (text) => own.text(text)) }),
    ...(cwd !== undefined && { cwd: own.text(cwd) }),
    ...(origin !== undefined && { origin: own.aside(origin) }),
    // A directory in it spells the one in which the session worked.
    path: own.aside(path),
    issues: redactIssues(issues, own),
  }
  scan.add(own.redacted)
  return { ...masked, redacted: own.redacted }
}

/**
 * The beginning of a text with its secrets masked. Where it was cut its last word is left out: it may be half a secret, which
 * nobody would know for one.
 */
export function maskedPiece(piece: string, mask: (text: string) => string): string {
  const masked = mask(piece)
  return masked.endsWith('…') ? masked.replace(/\S*…$/, '…') : masked
}
