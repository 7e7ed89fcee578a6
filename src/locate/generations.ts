// The logs of one session directory, and which of them holds the session now (FORMAT.md section 1.3).

import { type Dirent, readdirSync } from 'node:fs'
import { basename, dirname, sep } from 'node:path'
import type { LogEncoding } from '../decode/decode.ts'
import { readFailed, unreadable } from '../errors.ts'
import type { Issue } from '../types.ts'
import { parseLogName } from './paths.ts'

/** A log of a session directory. */
export interface Generation {
  readonly path: string
  /** Name of the file. */
  readonly name: string
  readonly version: number
  readonly encoding: LogEncoding
  /** Whether the directory lists it as a regular file; a link to one it does not. */
  readonly isFile: boolean
  readonly issues: readonly Issue[]
}

/** The generation a session directory holds now: the numerically highest, never an older one (FORMAT.md section 1.3). */
export function generationIn(directory: string): Generation | undefined {
  const logs = logsIn(directory)
  const [only] = logs
  // Nearly all sessions have one log.
  if (logs.length <= 1) return only
  const newest = Math.max(...logs.map((log) => log.version))
  const [generation, rival] = logs.filter((log) => log.version === newest)
  if (!generation) return undefined
  if (rival) {
    throw readFailed(
      'ambiguous',
      `${directory} holds version ${newest} both raw and compressed; name one of the two files by its path`,
      { file: directory, candidates: [generation.path, rival.path] },
    )
  }
  const issues = mixtureIssues(directory, logs)
  return issues.length === 0 ? generation : { ...generation, issues }
}

/** What DSH says of a directory with these logs. */
export function mixtureIssues(directory: string, logs: readonly Generation[]): Issue[] {
  const isMixed = logs.some((log) => log.encoding !== logs[0]?.encoding)
  const message = 'The directory mixes raw and compressed logs, which DSH refuses'
  return isMixed ? [{ kind: 'encoding-mismatch', message, file: directory }] : []
}

/** Paths of the generations beside a log that are older than it; none for a log without a canonical name. */
export function olderGenerations(path: string): string[] {
  const name = parseLogName(basename(path))
  if (!name) return []
  return logsIn(dirname(path))
    .filter(({ version }) => version < name.version)
    .map((log) => log.path)
}

/** The logs of a session directory, each as if it were the only one. */
export function logsIn(directory: string): Generation[] {
  let entries: Dirent[]
  try {
    entries = readdirSync(directory, { withFileTypes: true })
  } catch (cause) {
    throw unreadable(directory, cause)
  }
  const logs: Generation[] = []
  for (const entry of entries) {
    const { name } = entry
    const parsed = parseLogName(name)
    if (!parsed) continue
    const { version, encoding } = parsed
    logs.push({ path: directory + sep + name, name, version, encoding, isFile: entry.isFile(), issues: [] })
  }
  return logs
}
