// Why no session was found: a root that does not exist, an empty one, one that may not be looked into, and one whose logs
// cannot be read are different answers, and every command gives the same.

import { readdirSync } from 'node:fs'
import { unreadable } from '../errors.ts'
import type { Issue, IssueKind } from '../types.ts'

/** Issues that stand for one log that could not be opened. */
const OF_LOGS: ReadonlySet<IssueKind> = new Set(['corrupt-log', 'unsupported-log', 'unreadable-log'])

/** How many logs could not be opened, by the issues that were met. */
export function unopenedLogs(issues: readonly Issue[]): number {
  return issues.filter(({ kind }) => OF_LOGS.has(kind)).length
}

/**
 * Why the roots hold no session that can be read, as the end of a sentence; `undefined` when they hold some. `issues` are
 * those that were met while the roots were looked through.
 */
export function whyNothing(roots: readonly string[], readable: number, issues: readonly Issue[]): string | undefined {
  if (readable > 0) return undefined
  if (roots.length === 0) return 'no sessions root is given; use --root'
  const places = roots.join(', ')
  const logs = unopenedLogs(issues)
  if (logs > 0) {
    const none =
      logs === 1 ? `the one session log in ${places} cannot` : `none of the ${logs} session logs in ${places} can`
    return `${none} be read; "dsh-ref check --all" says why`
  }
  const refusals = new Map(roots.flatMap((root) => refusalOf(root)))
  const missing = roots.filter((root) => refusals.get(root)?.reason === 'not-found')
  if (missing.length === roots.length) {
    const subject =
      roots.length === 1 ? `the sessions root ${places} does not exist` : `the sessions roots ${places} do not exist`
    return `${subject}; name another with --root or $DSH_REF_ROOT`
  }
  const [forbidden] = [...refusals.values()].filter(({ reason }) => reason !== 'not-found')
  if (forbidden) return `the sessions root ${forbidden.message}`
  const closed = issues.filter(({ kind, file = '' }) => kind === 'unreadable-entry' && !refusals.has(file)).length
  if (closed > 0) {
    const directories = closed === 1 ? 'one directory' : `${closed} directories`
    return `no session can be found in ${places}: ${directories} there cannot be read`
  }
  const gone =
    missing.length === 0 ? '' : `, and ${missing.join(', ')} ${missing.length === 1 ? 'does' : 'do'} not exist`
  const empty = roots.filter((root) => !missing.includes(root)).join(', ')
  return `there are no sessions in ${empty}${gone}; name another place with --root`
}

function refusalOf(root: string): [string, ReturnType<typeof unreadable>][] {
  try {
    readdirSync(root)
    return []
  } catch (cause) {
    return [[root, unreadable(root, cause)]]
  }
}
