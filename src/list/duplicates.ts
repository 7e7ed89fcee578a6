// Sessions that claim the same id.

import type { Issue } from '../types.ts'
import { fileOf, type Session } from './session.ts'

/** One session for each id: the one that lies where DSH would look for it (FORMAT.md section 1.2). The others become issues. */
export function withoutDuplicates(sessions: readonly Session[], issues: Issue[]): Session[] {
  const byId = new Map<string, Session>()
  const duplicates = new Map<string, Session[]>()
  for (const session of sessions) {
    const rival = byId.get(session.id)
    if (!rival) {
      byId.set(session.id, session)
      continue
    }
    // The same file by two ways is no duplicate.
    if (fileOf(rival) === fileOf(session)) continue
    const isBetter = rival.brief?.isMisplaced === true && session.brief?.isMisplaced === false
    if (isBetter) byId.set(session.id, session)
    duplicates.set(session.id, [...(duplicates.get(session.id) ?? []), isBetter ? rival : session])
  }
  for (const [id, others] of duplicates) {
    const session = byId.get(id) as Session
    const message = `Another log has the same session id and is left out; ${session.path} is listed`
    session.duplicates = others.map(({ path }) => ({ kind: 'duplicate-id', message, file: path, sessionId: id }))
    issues.push(...session.duplicates)
  }
  return [...byId.values()]
}
