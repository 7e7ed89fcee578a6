// The filters that a header answers.

import { isDirectoryOf } from '../locate/same-directory.ts'
import { type ArchivedByRoot, isArchived } from './archived.ts'
import type { ListOptions } from './list-options.ts'
import { formatVersionOf, type Session } from './session.ts'

/** Makes the question whether a session passes all of them. */
export function headerFilter(
  { cwds, since, until, origin = 'all', archived: wantsArchived = 'show', formatVersion }: ListOptions,
  archived: ArchivedByRoot,
): (session: Session) => boolean {
  const isOfCwd = isDirectoryOf(cwds ?? [])
  return (session) => {
    const { brief } = session
    if (formatVersion !== undefined && formatVersionOf(session) !== formatVersion) return false
    if (wantsArchived !== 'show' && isArchived(session, archived) !== (wantsArchived === 'only')) return false
    // Of a log without a header nothing is known that these could go by.
    if (cwds && !(brief?.cwd !== undefined && isOfCwd(brief.cwd))) return false
    if (since !== undefined && !(brief && brief.createdAt >= since)) return false
    if (until !== undefined && !(brief && brief.createdAt <= until)) return false
    return origin === 'all' || (brief !== undefined && brief.isSubagent === (origin === 'subagent'))
  }
}
