// Issues as a person reads them: the gravest first, in one line; and what a log with such an issue is to --strict. A string
// only; where it goes is up to the caller.

import type { ReadFailedReason } from '../errors.ts'
import type { Issue, IssueKind } from '../types.ts'

/** Issues named in one line, and the longest path in it. */
const NAMED_ISSUES = 3
const PATH_LENGTH = 60

/**
 * Kinds of issues from the gravest down, and what `--strict` says a log is for each: damaged, intact but not understood, or
 * out of reach.
 */
const REASON_OF_ISSUE: Readonly<Record<IssueKind, ReadFailedReason>> = {
  'corrupt-log': 'corrupt',
  'unreadable-log': 'unreadable',
  'unsupported-log': 'unsupported',
  'missing-root': 'not-found',
  'unreadable-entry': 'unreadable',
  'duplicate-id': 'ambiguous',
  'path-mismatch': 'corrupt',
  'encoding-mismatch': 'corrupt',
  salvaged: 'corrupt',
  'discarded-rows': 'corrupt',
  'invalid-utf8': 'corrupt',
  'header-field': 'corrupt',
  'envelope-field': 'corrupt',
  'message-id': 'corrupt',
  'seed-marker': 'corrupt',
  'empty-conversation': 'not-found',
  'spill-failed': 'unreadable',
  'unknown-version': 'unsupported',
  'unknown-event-type': 'unsupported',
  'extra-key': 'unsupported',
  'retired-key': 'unsupported',
  'legacy-flat-file': 'unsupported',
  'dangling-link': 'unreadable',
  'torn-tail': 'corrupt',
  'stray-file': 'unsupported',
}

const GRAVITY = Object.keys(REASON_OF_ISSUE)

/** The gravest first; equal ones in the order in which they were met. */
function byGravity(issues: readonly Issue[]): Issue[] {
  return [...issues].sort((one, other) => GRAVITY.indexOf(one.kind) - GRAVITY.indexOf(other.kind))
}

/** What the gravest of some issues is to `--strict`; `undefined` for none. */
export function reasonOfIssues(issues: readonly Issue[]): ReadFailedReason | undefined {
  const [first] = byGravity(issues)
  return first && REASON_OF_ISSUE[first.kind]
}

/** Says in one line how many issues there are, and where the gravest few kinds of them are. */
export function describeIssues(issues: readonly Issue[]): string {
  const places = new Map<string, { first: Issue; count: number }>()
  let total = 0
  for (const issue of byGravity(issues)) {
    const count = issue.count ?? 1
    total += count
    const key = JSON.stringify([issue.kind, issue.file ?? issue.sessionId])
    const place = places.get(key)
    if (place === undefined) places.set(key, { first: issue, count })
    else place.count += count
  }
  const named = [...places.values()].slice(0, NAMED_ISSUES)
  const unnamed = total - named.reduce((sum, { count }) => sum + count, 0)
  const parts = named.map(({ first, count }) => describePlace(first, count))
  if (unnamed > 0) parts.push(`and ${unnamed} more`)
  return `${total} ${total === 1 ? 'issue' : 'issues'}: ${parts.join('; ')}`
}

function describePlace(issue: Issue, count: number): string {
  const source = issue.file === undefined ? issue.sessionId : shortPath(issue.file)
  const details = [positionOf(issue), count > 1 ? `${count - 1} more` : undefined].filter(
    (detail) => detail !== undefined,
  )
  const kind = issue.kind.replaceAll('-', ' ')
  return (
    kind + (source === undefined ? '' : ` in ${source}`) + (details.length === 0 ? '' : ` (${details.join(' and ')})`)
  )
}

function positionOf({ line, frame, seq }: Issue): string | undefined {
  if (line !== undefined) return `line ${line}`
  if (frame !== undefined) return `frame ${frame}`
  return seq === undefined ? undefined : `seq ${seq}`
}

/** The end of a long path: the session's directory and the file. */
function shortPath(path: string): string {
  if (path.length <= PATH_LENGTH) return path
  return `…/${path.split(/[/\\]/).slice(-2).join('/')}`
}
