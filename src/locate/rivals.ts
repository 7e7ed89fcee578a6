// Logs that claim the same session id, which DSH refuses (FORMAT.md section 1.2).

import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { unreadable } from '../errors.ts'
import type { Issue } from '../types.ts'
import { isBelowOneOf } from './due-place.ts'
import type { LocatedLog, LocateOptions } from './located-log.ts'
import { listed } from './one-session.ts'
import { scanSessions } from './scan.ts'

/**
 * Adds to each log that others among them claim its id, which DSH refuses (FORMAT.md section 1.2). The same file by two
 * ways is no rival.
 */
export function withRivals(logs: readonly LocatedLog[]): LocatedLog[] {
  const byId = new Map<string, LocatedLog[]>()
  for (const log of logs) {
    const known = byId.get(log.header.id)
    if (known) known.push(log)
    else byId.set(log.header.id, [log])
  }
  return logs.map((log) => {
    const namesakes = byId.get(log.header.id) ?? []
    if (namesakes.length <= 1) return log
    const rivals = namesakes.filter((other) => fileOf(other.path) !== fileOf(log.path))
    if (rivals.length === 0) return log
    const message = `Another log has the same session id: ${listed(rivals.map(({ path }) => path))}`
    const issue: Issue = { kind: 'duplicate-id', message, file: log.path, sessionId: log.header.id }
    return { ...log, issues: [...log.issues, issue] }
  })
}

/** Does so for logs of any place with all the sessions of the roots; one outside the roots is nobody's rival. */
export async function withRivalsInRoots(
  logs: readonly LocatedLog[],
  options: LocateOptions,
): Promise<readonly LocatedLog[]> {
  if (!logs.some(({ path }) => isBelowOneOf(options.roots, path))) return logs
  const all = (await scanSessions(options)).logs
  return logs.map((log) => {
    if (!isBelowOneOf(options.roots, log.path)) return log
    const directory = fileOf(dirname(log.path))
    // Of its own directory a log is no rival, whichever generation it is.
    const others = all.filter(({ path, header }) => header.id === log.header.id && fileOf(dirname(path)) !== directory)
    return withRivals([log, ...others])[0] ?? log
  })
}

export async function withRivalsOf(log: LocatedLog, options: LocateOptions): Promise<LocatedLog> {
  return (await withRivalsInRoots([log], options))[0] ?? log
}

/** What tells a file from every other, whatever its path. */
function fileOf(path: string): string {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch (cause) {
    throw unreadable(path, cause)
  }
}
