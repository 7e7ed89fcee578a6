// Finds the log a session argument names (FORMAT.md section 1, DESIGN.md section 4). Looks at names and headers only, and
// changes nothing: no file is opened for writing, no directory is made.

import { statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { LogEncoding, LogSource } from '../decode/decode.ts'
import { readFailed, throwIfCancelled, unreadable } from '../errors.ts'
import { MIN_PREFIX_LENGTH, type SessionArgument } from './argument.ts'
import { hasDuePlace } from './due-place.ts'
import { exists } from './exists.ts'
import { logsIn, mixtureIssues } from './generations.ts'
import type { LocatedLog, LocateOptions } from './located-log.ts'
import { notFound, only } from './one-session.ts'
import { locateDirectory, openGeneration, readHeader } from './opening.ts'
import { parseLogName, sessionSegment } from './paths.ts'
import { withRivalsOf } from './rivals.ts'
import { projectDirectories } from './roots.ts'
import { scanSessions } from './scan.ts'

/** Finds the log of an argument that names a file, a session directory or an id. */
export async function locate(
  argument: Exclude<SessionArgument, { kind: 'stdin' }>,
  options: LocateOptions,
): Promise<LocatedLog> {
  if (argument.kind === 'path') return locatePath(argument.path, options)
  return locateSession(argument.sessionId, { ...options, allowPrefix: argument.allowPrefix })
}

/**
 * The source decode reads for a located log.
 *
 * @example
 * const log = await locateSession('checkout-tests', { roots: [root] })
 * sourceOf(log).encoding // => 'zstd'
 */
export function sourceOf(log: LocatedLog): LogSource {
  const { path, encoding, mode, header, refusal } = log
  return { kind: 'file', path, encoding, mode, sessionId: header.id, ...(refusal && { refusal }) }
}

/**
 * Finds the log at a path: a log file, whatever it is called, or a session directory.
 *
 * @example
 * const log = await locatePath(`${root}/--work-shop--/login-fix`, { roots: [] })
 * log.header.id // => 'login-fix'
 */
export async function locatePath(path: string, options: LocateOptions): Promise<LocatedLog> {
  const log = await logAt(path, options)
  return options.everyRow ? withRivalsOf(log, options) : log
}

async function logAt(path: string, options: LocateOptions): Promise<LocatedLog> {
  let isDirectory: boolean
  try {
    isDirectory = statSync(path).isDirectory()
  } catch (cause) {
    throw unreadable(path, cause)
  }
  if (isDirectory) {
    const log = await locateDirectory(path, options)
    if (log) return log
    const names = 'session.jsonl, session.vN.jsonl, each also with .zstd'
    throw readFailed('not-found', `${path} holds no session log (${names})`, { file: path })
  }
  const name = basename(path)
  const parsed = parseLogName(name)
  if (parsed) {
    // A generation with a newer one beside it is history: its session lives on in the other file.
    const logs = logsIn(dirname(path))
    const newest = Math.max(parsed.version, ...logs.map((log) => log.version))
    const issues = hasDuePlace(path, options.roots) ? mixtureIssues(dirname(path), logs) : []
    return openGeneration(
      { path, name, ...parsed, isFile: false, issues },
      options,
      newest > parsed.version ? 'historical' : 'native',
    )
  }
  // Names that DSH does not give say nothing of the bytes.
  const { encodingOfFile } = await import('../decode/encoding.ts')
  const encoding: LogEncoding = encodingOfFile(path) ?? (/\.zstd?$/.test(path) ? 'zstd' : 'raw')
  const { header } = await readHeader({ path, encoding }, options)
  return { path, encoding, mode: 'native', header, issues: [] }
}

/**
 * Finds the session with this id. Throws `READ_FAILED`: `not-found`, `ambiguous`, or why the log it found cannot be read.
 *
 * @example
 * const log = await locateSession('login-fix', { roots: [root] })
 * log.header.cwd // => '/work/shop'
 */
export async function locateSession(
  sessionId: string,
  options: LocateOptions & { allowPrefix?: boolean },
): Promise<LocatedLog> {
  const segment = sessionId === '' ? undefined : sessionSegment(sessionId)
  const byName = segment === undefined ? [] : await logsNamed(segment, sessionId, options)
  if (byName.length > 0) {
    const log = only(byName, sessionId)
    return options.everyRow ? withRivalsOf(log, options) : log
  }
  const everything = await scanSessions(options)
  const exact = everything.logs.filter(({ header }) => header.id === sessionId)
  if (exact.length > 0) return only(exact, sessionId)
  if (options.allowPrefix && sessionId.length >= MIN_PREFIX_LENGTH) {
    const byPrefix = everything.logs.filter(({ header }) => header.id.startsWith(sessionId))
    if (byPrefix.length > 0) return only(byPrefix, sessionId)
  }
  throw notFound(sessionId, everything, options)
}

async function logsNamed(segment: string, sessionId: string, options: LocateOptions): Promise<LocatedLog[]> {
  const found: LocatedLog[] = []
  let refusal: unknown
  for (const project of projectDirectories(options.roots, [])) {
    throwIfCancelled(options.signal)
    const directory = join(project, segment)
    if (!exists(directory)) continue
    try {
      const log = await locateDirectory(directory, options)
      if (log?.header.id === sessionId) found.push(log)
    } catch (error) {
      refusal ??= error
    }
  }
  // The directory bears the name of this id: why its log cannot be read is the answer, not that there is none.
  if (found.length === 0 && refusal !== undefined) throw refusal
  return found
}
