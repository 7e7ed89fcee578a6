// Looks into every session directory of the roots.

import { isReadFailure, throwIfCancelled } from '../errors.ts'
import { makePause } from '../pause.ts'
import type { Issue } from '../types.ts'
import type { LocatedLog, LocateOptions } from './located-log.ts'
import { locateDirectory } from './opening.ts'
import { sessionDirectories } from './roots.ts'

/** All sessions of the roots with a readable header, and what was skipped. */
export async function scanSessions(options: LocateOptions): Promise<{ logs: LocatedLog[]; issues: Issue[] }> {
  const issues: Issue[] = []
  const found = await locateAll(options, issues, (directory, error) => {
    issues.push(issueOf(error, directory))
    return undefined
  })
  return { logs: found.filter((log) => log !== undefined), issues }
}

/** Locates the log of every session directory; `refused` makes something else of one that cannot be. */
export async function locateAll<Refused>(
  options: LocateOptions,
  issues: Issue[],
  refused: (directory: string, error: unknown) => Refused,
): Promise<(LocatedLog | Refused)[]> {
  const found: (LocatedLog | Refused)[] = []
  const pause = makePause()
  for (const directory of sessionDirectories(options.roots, issues)) {
    await pause()
    throwIfCancelled(options.signal)
    try {
      const log = await locateDirectory(directory, options)
      if (log) found.push(log)
    } catch (error) {
      found.push(refused(directory, error))
    }
  }
  return found
}

/** A refusal met on a log that is one of many. */
export function issueOf(error: unknown, directory: string): Issue {
  if (!isReadFailure(error)) throw error
  const { reason } = error
  const kind = reason === 'unsupported' ? 'unsupported-log' : reason === 'corrupt' ? 'corrupt-log' : 'unreadable-log'
  return { kind, message: error.message, file: typeof error.facts.file === 'string' ? error.facts.file : directory }
}
