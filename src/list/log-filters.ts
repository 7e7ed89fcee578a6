// The filters that may take a reading of the whole log: what stands in its texts, its health and its times.

import { shownTitle } from '../project/title.ts'
import { holdsText } from '../text/folded-text.ts'
import type { ListOptions } from './list-options.ts'
import { healthOf, type Session } from './session.ts'

/** What these filters ask of a session. */
export interface LogFilter {
  /** Whether the log has to be read before it is known whether it passes. */
  needsReading(this: void, session: Session): boolean
  /** Whether a session passes that was read, or need not be. */
  passes(this: void, session: Session): boolean
}

/** Makes the filter; `undefined` when there is nothing to ask. */
export function logFilter({ query = '', health, activeSince, activeUntil }: ListOptions): LogFilter | undefined {
  const asksLogs = health !== undefined || activeSince !== undefined || activeUntil !== undefined
  if (query === '' && !asksLogs) return undefined
  const hasText = holdsText(query)
  const isNamed = ({ id, brief }: Session) => hasText(id) || hasText(brief?.cwd)
  return {
    needsReading: (session) => asksLogs || !isNamed(session),
    passes: (session) => {
      if (health !== undefined && healthOf(session) !== health) return false
      const { title, updatedAt = Number.NaN } = session.entry.reading ?? {}
      if (activeSince !== undefined && !(updatedAt >= activeSince)) return false
      if (activeUntil !== undefined && !(updatedAt <= activeUntil)) return false
      return isNamed(session) || hasText(shownTitle(title))
    },
  }
}
