// Which sessions of the roots are archived.

import { dirname } from 'node:path'
import { archivedSessionIds } from '../locate/workspace.ts'
import type { Issue } from '../types.ts'
import type { ListOptions } from './list-options.ts'
import type { Session } from './session.ts'

/** Ids of archived sessions by root; roots without any are left out. */
export type ArchivedByRoot = ReadonlyMap<string, ReadonlySet<string>>

/** Reads them; what is wrong is added to the issues. */
export function archivedByRoot(
  roots: readonly string[],
  { archived = 'show' }: Pick<ListOptions, 'archived'>,
  issues: Issue[],
): ArchivedByRoot {
  const byRoot = new Map<string, ReadonlySet<string>>()
  for (const root of roots) {
    const { ids, issue } = archivedSessionIds(root)
    if (ids.size > 0) byRoot.set(root, ids)
    // Only a list that goes by it is any worse for a file that cannot be read.
    if (issue && archived !== 'show') issues.push(issue)
  }
  return byRoot
}

/** Whether this one is. */
export function isArchived({ id, directory }: Session, archived: ArchivedByRoot): boolean {
  return archived.size > 0 && (archived.get(dirname(dirname(directory)))?.has(id) ?? false)
}
