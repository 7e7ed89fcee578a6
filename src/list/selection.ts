// Chooses the first sessions of a list. Logs are read in its order, and no more of them than it takes.

import type { ListOptions } from './list-options.ts'
import { logFilter } from './log-filters.ts'
import type { LogReadings } from './log-readings.ts'
import { comparator, firstInOrder } from './order.ts'
import { isUnread, type Session } from './session.ts'

/** What was chosen, and what is known of what was not. */
export interface Selection {
  readonly shown: Session[]
  /** Sessions that match and that the limit left out, as far as is known. */
  readonly omitted: number
  /** Sessions behind the limit that may match as well: nobody has read them. */
  readonly undecided: number
}

/** Logs looked at before it is asked again whether there are enough rows. */
const WINDOW = 64

/** The first sessions that match, in order; `found` may be put in another one. */
export async function select(
  found: Session[],
  limit: number,
  options: ListOptions,
  readings: LogReadings,
): Promise<Selection> {
  const { sort, target } = options
  if (sort === 'updated' || sort === 'title') await readings.readAll(found)
  const inOrder = comparator(sort, target)
  const filter = logFilter(options)
  if (!filter) {
    const first = firstInOrder(found, limit, inOrder)
    return { shown: first, omitted: found.length - first.length, undecided: 0 }
  }
  const { needsReading, passes } = filter
  const isUndecided = (session: Session) => needsReading(session) && isUnread(session)
  const sessions = found.sort(inOrder)
  readings.expect(sessions.filter(isUndecided).length)
  const matching: Session[] = []
  let start = 0
  for (; start < sessions.length && matching.length < limit; start += WINDOW) {
    const window = sessions.slice(start, start + WINDOW)
    await readings.readAll(window.filter(needsReading))
    matching.push(...window.filter(passes))
  }
  // Of the rest nothing is read: what is known of it costs no more than a look.
  const rest = sessions.slice(start)
  const decided = rest.filter((session) => !isUndecided(session))
  const known = matching.length + decided.filter(passes).length
  const shown = matching.slice(0, limit)
  return { shown, omitted: known - shown.length, undecided: rest.length - decided.length }
}
