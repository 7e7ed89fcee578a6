// Which sessions a person archived (FORMAT.md section 4.5). The log does not know; a file of the web interface beside the
// sessions root does.

import { readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Issue } from '../types.ts'

/** A longer file is not a list of sessions. */
const MAX_BYTES = 64 * 1024 * 1024

/**
 * Ids archived in the home that a sessions root belongs to. A missing file marks nothing; neither does one of unknown
 * shape, which is an issue.
 */
export function archivedSessionIds(root: string): { ids: ReadonlySet<string>; issue?: Issue } {
  const file = join(dirname(root), 'storages', 'workspace.json')
  try {
    if (statSync(file).size > MAX_BYTES) throw new Error('Too long')
    return { ids: idsIn(JSON.parse(readFileSync(file, 'utf8'))) }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return { ids: new Set() }
    const message = 'The file that says which sessions are archived cannot be read; none is marked'
    return { ids: new Set(), issue: { kind: 'unreadable-entry', message, file } }
  }
}

/** Matches by shape: the version of the unit is no guide, and later ones only added members. */
function idsIn(stored: unknown): Set<string> {
  const { global } = stored as { global?: { archivedSessionIds?: unknown } }
  const ids = global?.archivedSessionIds ?? []
  if (!Array.isArray(ids)) throw new Error('archivedSessionIds is no list')
  return new Set(ids.filter((id) => typeof id === 'string'))
}
