// The orders of a list: the ranking of the service, and those a person asks for.

import { assertNever } from '../errors.ts'
import { labelOf } from '../project/title.ts'
import type { ListOptions, SortKey } from './list-options.ts'
import type { Session } from './session.ts'

/** Negative when `one` comes first. */
export type Comparator = (one: Session, other: Session) => number

/** Orders sessions; equal ones by id, as the service does, and those without a header last. */
export function comparator(sort: SortKey | undefined, target: ListOptions['target']): Comparator {
  const byKey = comparatorOf(sort, target)
  return (one, other) => {
    if (!one.brief !== !other.brief) return one.brief ? -1 : 1
    return byKey(one, other) || one.id.localeCompare(other.id)
  }
}

function comparatorOf(sort: SortKey | undefined, target: ListOptions['target']): Comparator {
  const newestFirst: Comparator = (one, other) => createdAt(other) - createdAt(one)
  switch (sort) {
    case undefined:
      // Without somebody who receives, no workspace is nearer than another.
      if (!target) return newestFirst
      return (one, other) =>
        workspaceRank(one, target.cwd) - workspaceRank(other, target.cwd) || newestFirst(one, other)
    case 'created':
      return newestFirst
    case 'updated':
      return (one, other) => (other.entry.reading?.updatedAt ?? 0) - (one.entry.reading?.updatedAt ?? 0)
    case 'title':
      return (one, other) => labelOfSession(one).localeCompare(labelOfSession(other))
    case 'size':
      return (one, other) => other.sizeBytes - one.sizeBytes
    default:
      return assertNever(sort)
  }
}

/** As sorting and cutting to `count` would do, in one pass when few of many are wanted. */
export function firstInOrder(sessions: Session[], count: number, inOrder: Comparator): Session[] {
  if (count > sessions.length / 4) return sessions.sort(inOrder).slice(0, count)
  const first: Session[] = []
  for (const session of sessions) {
    if (first.length === count && inOrder(session, first[count - 1] as Session) >= 0) continue
    let low = 0
    for (let high = first.length; low < high; ) {
      const middle = (low + high) >>> 1
      if (inOrder(session, first[middle] as Session) < 0) high = middle
      else low = middle + 1
    }
    if (first.length === count) first.pop()
    first.splice(low, 0, session)
  }
  return first
}

function workspaceRank({ brief }: Session, targetCwd: string | undefined): number {
  if (brief?.cwd === undefined) return 1
  return brief.cwd === targetCwd ? 0 : 2
}

function createdAt({ brief }: Session): number {
  return brief?.createdAt ?? 0
}

function labelOfSession({ id, entry }: Session): string {
  return labelOf(entry.reading?.title, id)
}
