// The one log an id stands for, or why it stands for none: ambiguous and not found name the candidates.

import { type DshRefError, readFailed } from '../errors.ts'
import { holdsText } from '../text/folded-text.ts'
import type { Issue } from '../types.ts'
import { MIN_PREFIX_LENGTH } from './argument.ts'
import type { LocatedLog, LocateOptions } from './located-log.ts'
import { unopenedLogs, whyNothing } from './nothing-found.ts'

/** How many names an error lists. */
const MAX_SUGGESTIONS = 5

/** The only one of these logs; throws `READ_FAILED`/`ambiguous` when there are more. */
export function only(logs: readonly LocatedLog[], sessionId: string): LocatedLog {
  const [log, ...others] = logs
  if (!log) throw new Error('No log to choose from')
  if (others.length === 0) return log
  const ids = new Set(logs.map(({ header }) => header.id))
  const paths = logs.map(({ path }) => path)
  throw readFailed(
    'ambiguous',
    ids.size === 1
      ? `Session ${JSON.stringify(sessionId)} has ${logs.length} logs: ${listed(paths)}; name one by its path`
      : `${JSON.stringify(sessionId)} is the beginning of ${ids.size} session ids: ${listed([...ids])}; write more of it`,
    { sessionId, candidates: ids.size === 1 ? paths : [...ids] },
  )
}

/** Says that no session has this id, after looking at all there are. */
export function notFound(
  sessionId: string,
  { logs, issues }: { readonly logs: readonly LocatedLog[]; readonly issues: readonly Issue[] },
  options: LocateOptions,
): DshRefError {
  const isNear = holdsText(sessionId.slice(0, MIN_PREFIX_LENGTH))
  const similar = logs.map(({ header }) => header.id).filter((id) => sessionId.length >= 3 && isNear(id))
  const named = `No session ${JSON.stringify(sessionId)}`
  const facts = { sessionId, roots: options.roots, candidates: similar }
  const why = whyNothing(options.roots, logs.length, issues)
  if (why !== undefined) return readFailed('not-found', `${named}: ${why}`, facts)
  const unopened = unopenedLogs(issues)
  const butFor = unopened === 0 ? '' : `, ${unopened} of whose logs cannot be read`
  const advice =
    similar.length > 0
      ? `near are ${listed(similar)}`
      : 'a session is named by its id, which "dsh-ref list" finds by title'
  return readFailed('not-found', `${named} in ${options.roots.join(', ')}${butFor}; ${advice}`, facts)
}

/** Names in a sentence, as many as it has room for. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_SUGGESTIONS).join(', ')
  return names.length > MAX_SUGGESTIONS ? `${shown} and ${names.length - MAX_SUGGESTIONS} more` : shown
}
