// Finds the log a session argument names (FORMAT.md section 1, DESIGN.md section 4). Looks at names and headers only, and
// changes nothing: no file is opened for writing, no directory is made.

import { type Dirent, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import type { DecodeOptions, LogEncoding, LogSource } from '../decode/decode.ts'
import { type HeaderPeek, peekLogHeader } from '../decode/header-peek.ts'
import { DshRefError, invalidReference, readFailed, throwIfCancelled, unreadable } from '../errors.ts'
import { makePause } from '../pause.ts'
import { decodeSessionUri, parseReferenceText } from '../reference/uri.ts'
import { holdsText } from '../text/folded-text.ts'
import type { Issue, ReadingMode, SessionHeader } from '../types.ts'
import { unopenedLogs, whyNothing } from './nothing-found.ts'
import { parseLogName, projectSegment, sessionSegment } from './paths.ts'

/** A log on disk. */
export interface LocatedLog {
  readonly path: string
  readonly encoding: LogEncoding
  readonly mode: ReadingMode
  readonly header: SessionHeader
  /** What is odd about where it lies. */
  readonly issues: readonly Issue[]
  /** Why it is refused unless it is salvaged, although its header can be read. */
  readonly refusal?: DshRefError
}

/** The file of a session directory that holds the session now. */
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

/** What a session argument is, before anything is looked up. */
export type SessionArgument =
  | { readonly kind: 'stdin' }
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'id'; readonly sessionId: string; readonly label?: string; readonly allowPrefix: boolean }

/** Shortest prefix of an id that may stand for it. */
export const MIN_PREFIX_LENGTH = 6

/** The end of a name that a path may have without a separator. */
export const LOG_NAME = /\.jsonl(?:\.zstd?)?$/

/** How many names an error lists. */
const MAX_SUGGESTIONS = 5

/** Where to look, and how. With `everyRow` other logs that claim the id are looked for as well, in all headers of the roots. */
export interface LocateOptions
  extends Pick<DecodeOptions, 'allowUnknownVersion' | 'limits' | 'signal' | 'decoder' | 'everyRow'> {
  readonly roots: readonly string[]
  /** Find logs in a container that DSH refuses, too: they are marked when they are read. */
  readonly salvage?: boolean | undefined
}

/**
 * Reads a session argument (DESIGN.md section 4): URI, mention, `-`, existing path, id. `id:` and `path:` force a reading.
 * Throws `INVALID_REFERENCE` for a malformed URI or mention.
 */
export function parseSessionArgument(argument: string, cwd: string): SessionArgument {
  if (argument.startsWith('id:')) return { kind: 'id', sessionId: argument.slice(3), allowPrefix: true }
  if (argument.startsWith('path:')) return { kind: 'path', path: resolve(cwd, argument.slice(5)) }
  if (argument.startsWith('dsh-session:')) {
    return { kind: 'id', sessionId: decodeSessionUri(argument), allowPrefix: false }
  }
  const mention = wholeMention(argument)
  if (mention) return { kind: 'id', ...mention, allowPrefix: false }
  if (argument === '-') return { kind: 'stdin' }
  const looksLikePath = argument.includes('/') || argument.includes(sep) || LOG_NAME.test(argument)
  const path = resolve(cwd, argument)
  if (looksLikePath && exists(path)) return { kind: 'path', path }
  return { kind: 'id', sessionId: argument, allowPrefix: true }
}

function wholeMention(argument: string): { sessionId: string; label: string } | undefined {
  if (!argument.startsWith('@[') || !argument.endsWith(')')) return undefined
  const { text, references } = parseReferenceText(argument)
  const [reference, ...others] = references
  return reference && others.length === 0 && text === `@${reference.label}` ? reference : undefined
}

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

/** All sessions of the roots with a readable header, and what was skipped. */
export async function scanSessions(options: LocateOptions): Promise<{ logs: LocatedLog[]; issues: Issue[] }> {
  const logs: LocatedLog[] = []
  const issues: Issue[] = []
  const pause = makePause()
  for (const directory of sessionDirectories(options.roots, issues)) {
    await pause()
    throwIfCancelled(options.signal)
    try {
      const log = await locateDirectory(directory, options)
      if (log) logs.push(log)
    } catch (error) {
      issues.push(issueOf(error, directory))
    }
  }
  return { logs, issues }
}

/** A refusal met on a log that is one of many. */
export function issueOf(error: unknown, directory: string): Issue {
  if (!(error instanceof DshRefError) || error.code !== 'SESSION_REFERENCE_READ_FAILED') throw error
  const { reason } = error
  const kind = reason === 'unsupported' ? 'unsupported-log' : reason === 'corrupt' ? 'corrupt-log' : 'unreadable-log'
  return { kind, message: error.message, file: typeof error.facts.file === 'string' ? error.facts.file : directory }
}

/** The session directories below the roots, in name order; a root given twice counts once, one that is missing is an issue. */
export function* sessionDirectories(roots: readonly string[], issues: Issue[]): Generator<string> {
  const seen = new Set<string>()
  for (const root of roots) {
    const real = realRoot(root, issues)
    if (real === undefined || seen.has(real)) continue
    seen.add(real)
    for (const project of directoriesIn(root, issues)) yield* directoriesIn(project, issues)
  }
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

function mixtureIssues(directory: string, logs: readonly Generation[]): Issue[] {
  const isMixed = logs.some((log) => log.encoding !== logs[0]?.encoding)
  const message = 'The directory mixes raw and compressed logs, which DSH refuses'
  return isMixed ? [{ kind: 'encoding-mismatch', message, file: directory }] : []
}

/** The log a session directory holds now; `undefined` when there is none in it. */
export async function locateDirectory(directory: string, options: LocateOptions): Promise<LocatedLog | undefined> {
  const generation = generationIn(directory)
  return generation && openGeneration(generation, options)
}

/** Paths of the generations beside a log that are older than it; none for a log without a canonical name. */
export function olderGenerations(path: string): string[] {
  const name = parseLogName(basename(path))
  if (!name) return []
  return logsIn(dirname(path))
    .filter(({ version }) => version < name.version)
    .map((log) => log.path)
}

/** Opens the header of a generation and holds it against the name and the place of the file. */
async function openGeneration(
  generation: Generation,
  options: LocateOptions,
  mode: ReadingMode = 'native',
): Promise<LocatedLog> {
  const { path, encoding } = generation
  const locatedAs = (as: LogEncoding, header: SessionHeader): LocatedLog => {
    checkVersion(generation, header)
    const misplaced = hasDuePlace(path, options.roots) ? pathIssue({ path, header }) : undefined
    const issues = misplaced ? [...generation.issues, misplaced] : generation.issues
    return { path, encoding: as, mode, header, issues }
  }
  try {
    const { header } = peekGeneration(generation, options) ?? (await readHeader({ path, encoding }, options))
    return locatedAs(encoding, header)
  } catch (error) {
    if (!options.salvage || !(error instanceof DshRefError) || error.facts.rule !== MISNAMED) throw error
    const actual = encoding === 'raw' ? 'zstd' : 'raw'
    const { header } = await readHeader({ path, encoding: actual }, options)
    return { ...locatedAs(actual, header), refusal: error }
  }
}

/** Rule of a refusal of bytes that are not stored as the name of their file says. */
const MISNAMED = 'encoding-mismatch'

/** The header of a log, read the careful way. */
export async function readHeader(log: Pick<Generation, 'path' | 'encoding'>, options: Omit<LocateOptions, 'roots'>) {
  // Loaded when it is needed: of thousands of logs nearly none needs it.
  const { readLogHeader } = await import('../decode/decode.ts')
  try {
    return await readLogHeader({ kind: 'file', ...log }, { ...options, allowFullHeaderFrame: options.salvage === true })
  } catch (error) {
    throw (await misnamed(log, error)) ?? error
  }
}

/** What a corrupt log is that is stored in the other way than its name says. */
async function misnamed(
  { path, encoding }: Pick<Generation, 'path' | 'encoding'>,
  error: unknown,
): Promise<DshRefError | undefined> {
  if (!(error instanceof DshRefError) || error.reason !== 'corrupt') return undefined
  const { encodingOfFile } = await import('../decode/encoding.ts')
  const actual = encodingOfFile(path)
  if (actual === undefined || actual === encoding) return undefined
  const [held, due] = actual === 'zstd' ? ['zstd frames', 'plain rows'] : ['plain rows', 'zstd frames']
  return readFailed(
    'corrupt',
    `${path} holds ${held}, but its name stands for ${due}, so DSH refuses it; --salvage reads it`,
    { file: path, rule: MISNAMED, expected: encoding, actual },
    { cause: error },
  )
}

/** The header of a generation, if one look is enough to have it; the careful way is `readHeader`. */
export function peekGeneration(
  { path, version, encoding, isFile }: Generation,
  options: Pick<LocateOptions, 'allowUnknownVersion' | 'limits'>,
): HeaderPeek | undefined {
  if (!isFile || encoding !== 'raw') return undefined
  const peek = peekLogHeader(path, options)
  return peek?.header.version === version ? peek : undefined
}

/** Refuses a log whose name says another format version than its header (FORMAT.md section 1.3). */
export function checkVersion({ path, version }: Pick<Generation, 'path' | 'version'>, header: SessionHeader): void {
  if (header.version === version) return
  throw readFailed('corrupt', `${path} is named as format version ${version}, its header says ${header.version}`, {
    file: path,
    rule: 'version-mismatch',
    expected: version,
    actual: header.version,
  })
}

/** The project of the session before is mostly that of the next: of 5,000 it saves 10 ms. */
let lastProject: { readonly cwd: string | undefined; readonly segment: string } | undefined

function projectOf(cwd: string | undefined): string {
  if (!lastProject || lastProject.cwd !== cwd) lastProject = { cwd, segment: projectSegment(cwd) }
  return lastProject.segment
}

/** Whether the directories of a log are the ones its header leads to (FORMAT.md section 1.2). */
export function pathIssue({ path, header }: Pick<LocatedLog, 'path' | 'header'>): Issue | undefined {
  const directory = dirname(path)
  const project = projectOf(header.cwd)
  const session = header.id === '' ? '' : sessionSegment(header.id)
  if (session !== '' && directory.endsWith(sep + project + sep + session)) return undefined
  const expected = join(project, session)
  const actual = join(basename(dirname(directory)), basename(directory))
  if (actual === expected) return undefined
  return {
    kind: 'path-mismatch',
    message: `The log lies in ${actual}, its header leads to ${expected}; DSH refuses it there`,
    file: path,
  }
}

/** Whether a log lies in the layout of a root, and so has a place it must be in; a copy on somebody's desk has none. */
function hasDuePlace(path: string, roots: readonly string[]): boolean {
  const project = dirname(dirname(path))
  return /^(?:--.*--|_no-cwd)$/.test(basename(project)) || isBelowOneOf(roots, path)
}

/** Whether a log lies three levels below one of these roots, as a session does. */
function isBelowOneOf(roots: readonly string[], path: string): boolean {
  const root = realRoot(dirname(dirname(dirname(path))))
  return root !== undefined && roots.some((known) => realRoot(known) === root)
}

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

async function withRivalsOf(log: LocatedLog, options: LocateOptions): Promise<LocatedLog> {
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

async function logsNamed(segment: string, sessionId: string, options: LocateOptions): Promise<LocatedLog[]> {
  const found: LocatedLog[] = []
  let refusal: unknown
  const seen = new Set<string>()
  for (const root of options.roots) {
    const real = realRoot(root)
    if (real === undefined || seen.has(real)) continue
    seen.add(real)
    for (const project of directoriesIn(root, [])) {
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
  }
  // The directory bears the name of this id: why its log cannot be read is the answer, not that there is none.
  if (found.length === 0 && refusal !== undefined) throw refusal
  return found
}

function only(logs: readonly LocatedLog[], sessionId: string): LocatedLog {
  const [log, ...others] = logs
  if (!log) throw new Error('No log to choose from')
  if (others.length === 0) return log
  const ids = new Set(logs.map(({ header }) => header.id))
  const paths = logs.map(({ path }) => path)
  throw readFailed(
    'ambiguous',
    ids.size === 1
      ? `Session ${JSON.stringify(sessionId)} has ${logs.length} logs: ${listed(paths)}; name one by its path`
      : `${JSON.stringify(sessionId)} is the beginning of ${ids.size} session ids: ${listed([...ids])}; write more of it`,
    { sessionId, candidates: ids.size === 1 ? paths : [...ids] },
  )
}

function notFound(
  sessionId: string,
  { logs, issues }: { readonly logs: readonly LocatedLog[]; readonly issues: readonly Issue[] },
  options: LocateOptions,
): DshRefError {
  const isNear = holdsText(sessionId.slice(0, MIN_PREFIX_LENGTH))
  const similar = logs.map(({ header }) => header.id).filter((id) => sessionId.length >= 3 && isNear(id))
  const named = `No session ${JSON.stringify(sessionId)}`
  const facts = { sessionId, roots: options.roots, candidates: similar }
  const why = whyNothing(options.roots, logs.length, issues)
  if (why !== undefined) return readFailed('not-found', `${named}: ${why}`, facts)
  const unopened = unopenedLogs(issues)
  const butFor = unopened === 0 ? '' : `, ${unopened} of whose logs cannot be read`
  const advice =
    similar.length > 0
      ? `near are ${listed(similar)}`
      : 'a session is named by its id, which "dsh-ref list" finds by title'
  return readFailed('not-found', `${named} in ${options.roots.join(', ')}${butFor}; ${advice}`, facts)
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_SUGGESTIONS).join(', ')
  return names.length > MAX_SUGGESTIONS ? `${shown} and ${names.length - MAX_SUGGESTIONS} more` : shown
}

/** The logs of a session directory, each as if it were the only one. */
function logsIn(directory: string): Generation[] {
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

/** Directories and links to directories, by name; everything else is an issue of its kind or no business of ours. */
function directoriesIn(directory: string, issues: Issue[]): string[] {
  let entries: Dirent[]
  try {
    entries = readdirSync(directory, { withFileTypes: true })
  } catch (cause) {
    issues.push({ kind: 'unreadable-entry', message: unreadable(directory, cause).message, file: directory })
    return []
  }
  const found: string[] = []
  // Not join() for each: with thousands of them it takes as long as reading the directory.
  const prefix = join(directory, sep)
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = prefix + entry.name
    if (entry.isDirectory()) found.push(path)
    else if (entry.isSymbolicLink()) {
      if (isDirectory(path)) found.push(path)
      else if (!exists(path)) issues.push({ kind: 'dangling-link', message: 'A link leads nowhere', file: path })
      else issues.push({ kind: 'stray-file', message: 'A file lies where a directory is due', file: path })
    } else if (/\.jsonl(?:\.zstd)?$/.test(entry.name)) {
      issues.push({
        kind: 'legacy-flat-file',
        message: 'A log of the retired flat layout, which DSH refuses',
        file: path,
      })
    } else issues.push({ kind: 'stray-file', message: 'A file lies where a directory is due', file: path })
  }
  return found
}

/** The real path of a root; `undefined`, and an issue, when there is none. */
function realRoot(root: string, issues: Issue[] = []): string | undefined {
  try {
    return realpathSync(root)
  } catch (cause) {
    const { reason, message } = unreadable(root, cause)
    const isMissing = reason === 'not-found'
    issues.push({
      kind: isMissing ? 'missing-root' : 'unreadable-entry',
      message: isMissing ? 'The sessions root does not exist' : message,
      file: root,
    })
    return undefined
  }
}

/** Throws when not one of the roots can be read: missing and unreadable are two different answers (DESIGN.md section 4). */
export function requireRoots(roots: readonly string[]): void {
  let refusal: DshRefError | undefined
  for (const root of roots) {
    try {
      readdirSync(root)
      return
    } catch (cause) {
      refusal ??= unreadable(root, cause)
    }
  }
  const [root] = roots
  if (!refusal) throw invalidReference('No sessions root is given; use --root')
  if (refusal.reason === 'not-found') {
    throw readFailed(
      'not-found',
      `The sessions root ${root} does not exist; name another with --root or $DSH_REF_ROOT`,
      {
        ...refusal.facts,
      },
    )
  }
  throw readFailed('unreadable', `The sessions root ${refusal.message}`, { ...refusal.facts })
}

function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false // a name too long, a loop of links, a forbidden directory: nothing there that could be opened
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false // dangling or circular links are told apart by the caller
  }
}
