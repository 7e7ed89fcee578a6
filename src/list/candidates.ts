// Lists the sessions of the roots (DESIGN.md section 3, "Candidates"): scans directories, reads headers, filters, ranks,
// and reads whole logs only where a title, an update time or the health is asked for. Looks become strings in
// render/candidates.ts; what was read before is remembered by title-index.ts.

import { type BigIntStats, lstatSync, statSync } from 'node:fs'
import { basename, dirname, resolve, sep } from 'node:path'
import pLimit from 'p-limit'
import type { DecodeOptions } from '../decode/decode.ts'
import { assertNever, DshRefError, invalidReference, readFailed, throwIfCancelled, unreadable } from '../errors.ts'
import type { TitleReading } from '../fold/surface.ts'
import { pathIssue } from '../locate/due-place.ts'
import { generationIn } from '../locate/generations.ts'
import { checkVersion, peekGeneration, readHeader } from '../locate/opening.ts'
import { type LogName, parseLogName } from '../locate/paths.ts'
import { requireRoots, sessionDirectories } from '../locate/roots.ts'
import { isDirectoryOf } from '../locate/same-directory.ts'
import { issueOf } from '../locate/scan.ts'
import { archivedSessionIds } from '../locate/workspace.ts'
import { makePause } from '../pause.ts'
import { labelOf, shownTitle } from '../project/title.ts'
import { encodeSessionUri, formatMention } from '../reference/uri.ts'
import { holdsText } from '../text/folded-text.ts'
import type { Issue, SessionHeader } from '../types.ts'
import { directoryKeyOf, hasGrown, isSettled, logKeyOf } from './file-state.ts'
import {
  type IndexEntry,
  indexEntry,
  type LogBrief,
  type LogDetails,
  type LogReading,
  NO_DETAILS,
} from './index-entry.ts'
import { IndexDamaged } from './index-file.ts'
import type { TitleIndex } from './title-index.ts'

/**
 * How a log stands: `torn`, its end is damaged and the rest is read; `corrupt` and `unsupported`, it is refused; `unread`,
 * nobody has looked, or the system did not let us.
 */
export type Health = 'ok' | 'torn' | 'corrupt' | 'unsupported' | 'unread'

/** A session that could be referred to. Keys up to `mention` are those of the reference service. */
export interface Candidate {
  readonly sessionId: string
  /** The latest title, else the id. */
  readonly label: string
  readonly cwd?: string
  /** Whether it worked in the directory of the target. */
  readonly sameWorkspace: boolean
  /** Epoch milliseconds; absent when the header cannot be read. */
  readonly createdAt?: number
  readonly mention: string
  readonly uri: string
  /** The log. */
  readonly path: string
  /** Absent when there is none, it is blank, or nobody has looked. */
  readonly title?: string
  readonly formatVersion: number
  readonly origin?: string
  readonly parentSession?: string
  /** Time of the newest stored event, epoch milliseconds. */
  readonly updatedAt?: number
  readonly sizeBytes: number
  readonly health: Health
  /** Present when the session is archived. */
  readonly archived?: true
  readonly issues: readonly Issue[]
}

/** Filters, order and depth of a list. */
export interface ListOptions extends Pick<DecodeOptions, 'allowUnknownVersion' | 'limits' | 'signal' | 'decoder'> {
  /** Directories with session logs, in order. */
  readonly roots: readonly string[]
  /** The session that receives: left out, and its cwd ranks first. Its cwd is taken at the caller's word. */
  readonly target?: { readonly sessionId: string; readonly cwd?: string } | undefined
  /** Substring of id, cwd or title, whatever the case and the Unicode normalisation. */
  readonly query?: string | undefined
  /** Rows at most, from 1 on; default 50, `Infinity` for all. */
  readonly limit?: number | undefined
  /** Only sessions of this cwd, by whatever links they spell it; several spellings of one directory may be given. */
  readonly cwds?: readonly string[] | undefined
  /** Only sessions created then or later, epoch milliseconds. */
  readonly since?: number | undefined
  /** Only sessions created then or before, epoch milliseconds. */
  readonly until?: number | undefined
  /** Only sessions whose newest stored event is of then or later, epoch milliseconds. Reads logs. */
  readonly activeSince?: number | undefined
  /** Only sessions whose newest stored event is of then or before, epoch milliseconds. Reads logs. */
  readonly activeUntil?: number | undefined
  readonly origin?: 'all' | 'main' | 'subagent' | undefined
  readonly archived?: 'show' | 'hide' | 'only' | undefined
  readonly formatVersion?: number | undefined
  readonly health?: Health | undefined
  /** Default: the ranking of the service, by workspace of the target and then by creation. */
  readonly sort?: SortKey | undefined
  /** `headers` reads no log whole unless a filter or the order needs it. Default: `titles`. */
  readonly depth?: 'headers' | 'titles' | undefined
  /** Rows for logs without a readable header too, last. Their issues are reported in any case. */
  readonly includeUnreadable?: boolean | undefined
  /** Default: none. */
  readonly index?: TitleIndex | undefined
  /** Told after each log that was read whole. */
  readonly onProgress?: ((progress: ListProgress) => void) | undefined
}

/** Orders other than the ranking; times and sizes from the greatest down. */
export type SortKey = 'created' | 'updated' | 'title' | 'size'

/** How far the reading of logs has come. */
export interface ListProgress {
  readonly logsRead: number
  /** Logs that may have to be read at most. */
  readonly logs: number
}

/** A list, and what was met on the way. */
export interface CandidateList {
  readonly candidates: readonly Candidate[]
  readonly issues: readonly Issue[]
  /** Sessions there are, before filters and limit. */
  readonly sessions: number
  /** Of these, the ones with a header that can be read. */
  readonly readable: number
  /** Sessions that match and that the limit left out, as far as is known. */
  readonly omitted: number
  /** Sessions behind the limit that may match as well: nobody has read them. 0 makes `omitted` exact. */
  readonly undecided: number
  /** Work done, for tests and benchmarks; looking at directories and file states not counted. */
  readonly work: { readonly filesOpened: number; readonly bytesRead: number }
}

/** Rows of a list when nothing else is said. */
export const DEFAULT_LIST_LIMIT = 50

/** Logs read at a time: two keep decoder and disk busy, the others hide a slow one. */
const CONCURRENCY = 4

/** Issues of a log that may have hidden a title that was asked for. */
const HIDING_KINDS: ReadonlySet<string> = new Set(['corrupt-log', 'unsupported-log', 'unreadable-log'])

/** Logs looked at before it is asked again whether there are enough rows. */
const WINDOW = 64

/**
 * Lists the sessions of the roots. A log that cannot be read is an issue and never the end of the list. Throws
 * `INVALID_REFERENCE` for a limit that is none, `READ_FAILED` when none of the roots can be read, `CANCELLED`.
 *
 * @example
 * const { candidates } = await listCandidates({ roots: [root], query: 'login', limit: 10 })
 * candidates.map(({ sessionId, label }) => `${sessionId}: ${label}`) // => ['login-fix: Fix the login redirect']
 */
export async function listCandidates(options: ListOptions): Promise<CandidateList> {
  const { listed, candidateOf, ...list } = await listSessions(options)
  return { candidates: listed.map(candidateOf), ...list }
}

/** A session of a list, of which no more is made than somebody asks for. */
export interface ListedSession extends Pick<Candidate, 'path' | 'issues'> {
  readonly id: string
  readonly cwd: string | undefined
  /** Empty when there is none, or nobody has looked. */
  readonly title: string
  /** The state of the log, as in the title index. */
  readonly logKey: string
}

/** A list as it is found: for those who look into every session and show a few. */
export interface SessionList extends Omit<CandidateList, 'candidates'> {
  readonly listed: readonly ListedSession[]
  candidateOf(this: void, session: ListedSession): Candidate
}

/** Finds what `listCandidates` lists, and throws as it does. */
export async function listSessions(options: ListOptions): Promise<SessionList> {
  const { limit = DEFAULT_LIST_LIMIT } = options
  if (limit !== Number.POSITIVE_INFINITY && !(Number.isSafeInteger(limit) && limit >= 1)) {
    throw invalidReference(`The limit is ${limit}; it takes a whole number from 1 on`, {
      option: 'limit',
      value: limit,
    })
  }
  throwIfCancelled(options.signal)
  requireRoots(options.roots)
  const { index } = options
  try {
    return await new Listing(options).make(limit)
  } catch (error) {
    if (!(error instanceof IndexDamaged)) throw error
    index?.clear()
    return await new Listing(options).make(limit)
  } finally {
    // What was learned so far is kept even when the rest was cancelled.
    await index?.save()
  }
}

/** A session as found, and how much is known of it by now. There may be thousands of them, so it keeps no more than it must. */
class Session implements ListedSession {
  readonly directory: string
  readonly sizeBytes: number
  readonly id: string
  /** Absent when the header cannot be read. */
  readonly brief: LogBrief | undefined
  entry: IndexEntry
  /** Why the log could not be read this time; the index keeps no such thing. */
  failure: Issue | undefined
  /** The other files that claim its id. */
  duplicates: readonly Issue[] = []
  /** All that is wrong with it, once it is chosen. */
  issues: readonly Issue[] = []

  constructor(directory: string, sizeBytes: number, entry: IndexEntry) {
    this.directory = directory
    this.sizeBytes = sizeBytes
    this.entry = entry
    this.brief = entry.brief
    this.id = this.brief?.id ?? idOfSegment(basename(directory))
  }

  get path(): string {
    return this.directory + sep + this.entry.name
  }

  get title(): string {
    return shownTitle(this.entry.reading?.title) ?? ''
  }

  get cwd(): string | undefined {
    return this.brief?.cwd
  }

  get logKey(): string {
    return this.entry.logKey
  }
}

class Listing {
  readonly #options: ListOptions
  readonly #index: TitleIndex | undefined
  readonly #issues: Issue[] = []
  /** Sessions somebody had to look into. */
  readonly #consulted = new Set<Session>()
  readonly #limited = pLimit(CONCURRENCY)
  readonly #pause = makePause()
  readonly #work = { filesOpened: 0, bytesRead: 0 }
  readonly #isOfCwd: (cwd: string) => boolean
  #logsRead = 0
  #logsToRead = 0

  constructor(options: ListOptions) {
    this.#options = options
    this.#isOfCwd = isDirectoryOf(options.cwds ?? [])
    // Limits and the reading of unknown versions change what a reading gives, so its memory is of no use then.
    const isPlain = !options.allowUnknownVersion && Object.keys(options.limits ?? {}).length === 0
    this.#index = isPlain ? options.index : undefined
  }

  async make(limit: number): Promise<SessionList> {
    const { target, includeUnreadable = false, depth } = this.#options
    const roots = this.#options.roots.map((root) => resolve(root))
    const archived = this.#archivedByRoot(roots)
    const all = await this.#scan(roots)
    const found = all.filter(({ id }) => id !== target?.sessionId)
    const readable = this.#withoutDuplicates(found.filter(({ brief }) => brief))
    const unreadable = includeUnreadable ? found.filter(({ brief }) => !brief) : []
    const wanted = [...readable, ...unreadable].filter((session) => this.#passesFilters(session, archived))
    const { shown, omitted, undecided } = await this.#select(wanted, limit)
    if (depth !== 'headers') await this.#readAll(shown)
    const isShown = new Set(shown)
    const others = [...this.#consulted].filter((session) => session.brief && !isShown.has(session))
    // Of a session that is not shown only this is of any interest: that nobody knows whether it should have been.
    const hiding = others.flatMap(ownIssues).filter(({ kind }) => HIDING_KINDS.has(kind))
    const own = [...shown.filter(({ brief }) => brief).flatMap(ownIssues), ...hiding]
    // Now, while the file of the index is open.
    for (const session of shown) {
      const issues = ownIssues(session)
      if (issues.length + session.duplicates.length > 0) session.issues = [...session.duplicates, ...issues]
    }
    return {
      listed: shown,
      candidateOf: (session) => this.#candidate(session as Session, archived),
      issues: [...this.#issues, ...own],
      sessions: all.length,
      readable: all.filter(({ brief }) => brief).length,
      omitted,
      undecided,
      work: this.#work,
    }
  }

  // Scanning.

  async #scan(roots: readonly string[]): Promise<Session[]> {
    const directories = [...sessionDirectories(roots, this.#issues)]
    const sessions: Session[] = []
    for (let at = 0; at < directories.length; at++) {
      const turn = this.#pause()
      if (turn) await turn
      throwIfCancelled(this.#options.signal)
      const directory = directories[at] as string
      try {
        // Not awaited when it is there at once: of five thousand sessions nearly all are.
        const opened = this.#open(directory)
        const session = opened instanceof Promise ? await opened : opened
        if (session) sessions.push(session)
      } catch (error) {
        this.#issues.push(issueOf(error, directory))
      }
    }
    return sessions
  }

  #archivedByRoot(roots: readonly string[]): ArchivedByRoot {
    const { archived = 'show' } = this.#options
    const byRoot = new Map<string, ReadonlySet<string>>()
    for (const root of roots) {
      const { ids, issue } = archivedSessionIds(root)
      if (ids.size > 0) byRoot.set(root, ids)
      // Only a list that goes by it is any worse for a file that cannot be read.
      if (issue && archived !== 'show') this.#issues.push(issue)
    }
    return byRoot
  }

  /** Opens the session of a directory as far as its header; `undefined` when there is no log in it. */
  #open(directory: string): Session | undefined | Promise<Session> {
    const known = this.#index?.get(directory)
    const directoryStat = stateOf(directory)
    const directoryKey = directoryKeyOf(directoryStat)
    const isListed = known !== undefined && known.directoryKey === directoryKey
    const generation = isListed ? undefined : generationIn(directory)
    const name = isListed ? known.name : generation?.name
    if (name === undefined) return undefined
    const path = directory + sep + name
    const peek = generation && peekGeneration(generation, this.#options)
    const stat = peek?.state ?? logState(path, this.#issues)
    if (!stat) return undefined
    const logKey = logKeyOf(stat)
    if (isListed && known.logKey === logKey) return this.#session(directory, Number(stat.size), known)
    const place = { directoryKey: isSettled(directoryStat) ? directoryKey : '', name, logKey }
    // Of a directory that was not listed again the same holds as when it was.
    const directoryIssues =
      generation?.issues ?? known?.details?.placeIssues.filter((issue) => !isAboutLog(issue)) ?? []
    const found: Found = { directory, path, stat, place, directoryIssues, known }
    if (known?.name === place.name && known.logKey === logKey) return this.#kept(found, this.#placed(found, known))
    if (!peek) return this.#readHeader(path, stat).then((opened) => this.#kept(found, this.#entry(found, opened)))
    this.#work.filesOpened++
    this.#work.bytesRead += peek.bytesRead
    const { header, issues: headerIssues } = peek
    return this.#kept(found, this.#entry(found, { header, refusal: undefined, headerIssues }))
  }

  /** Remembers the entry of a log and makes its session. */
  #kept({ directory, stat, known }: Found, entry: IndexEntry): Session {
    if (entry !== known && entry.refusal !== 'unreadable') this.#index?.set(directory, entry)
    return this.#session(directory, Number(stat.size), entry)
  }

  #session(directory: string, sizeBytes: number, entry: IndexEntry): Session {
    if (!entry.brief) this.#issues.push(...detailsOf(entry).headerIssues)
    return new Session(directory, sizeBytes, entry)
  }

  /** The entry of a log that has not changed, though its directory was listed again and has these issues. */
  #placed({ place, directoryIssues }: Found, known: IndexEntry): IndexEntry {
    const details = detailsOf(known)
    const knownIssues = details.placeIssues
    const placeIssues = [...directoryIssues, ...knownIssues.filter(isAboutLog)]
    // A directory that has not settled would be listed next time all the same: nothing worth writing was learned.
    if (place.directoryKey === '' && placeIssues.length === knownIssues.length) return known
    const { brief, refusal, reading } = known
    return indexEntry({ ...place, brief, refusal, reading, details: { ...details, placeIssues } })
  }

  /** Makes the entry of a log that is new or has changed. */
  #entry({ path, place, directoryIssues, known }: Found, { header, refusal, headerIssues }: Opened): IndexEntry {
    const mismatch = header && pathIssue({ path, header })
    const isGrown = known?.name === place.name && hasGrown(known.logKey, place.logKey)
    const resume = isGrown ? known.details?.resume : undefined
    const isResumable = resume && JSON.stringify(resume.header) === JSON.stringify(header)
    const placeIssues = mismatch ? [...directoryIssues, mismatch] : directoryIssues
    return indexEntry({
      directoryKey: place.directoryKey,
      name: place.name,
      logKey: place.logKey,
      brief: header && briefOf(header, mismatch !== undefined),
      refusal,
      reading: undefined,
      details: { placeIssues, headerIssues, resume: isResumable ? resume : undefined },
    })
  }

  async #readHeader(path: string, stat: BigIntStats): Promise<Opened> {
    const { allowUnknownVersion = false } = this.#options
    try {
      return await this.#openHeader(path, stat, allowUnknownVersion)
    } catch (error) {
      const headerIssues = [issueOf(error, path)]
      const refusal = refusalOf(error)
      if (refusal !== 'unsupported') return { header: undefined, refusal, headerIssues }
      // What cannot be read may still be listed: the header of an unknown version mostly says what it always said.
      const opened = await this.#openHeader(path, stat, true).catch(() => undefined)
      return { header: opened?.header, refusal, headerIssues }
    }
  }

  async #openHeader(path: string, stat: BigIntStats, allowUnknownVersion: boolean): Promise<Opened> {
    if (!stat.isFile()) {
      throw readFailed('unreadable', `${path} is no regular file, so no session log`, { file: path })
    }
    const { encoding, version } = logNameOf(path)
    this.#work.filesOpened++
    const options = { ...this.#options, allowUnknownVersion }
    const { header, issues, bytesRead } = await readHeader({ path, encoding }, options)
    this.#work.bytesRead += bytesRead
    checkVersion({ path, version }, header)
    return { header, refusal: undefined, headerIssues: issues }
  }

  // Choosing.

  /** One session for each id: the one that lies where DSH would look for it. The others are issues (FORMAT.md section 1.2). */
  #withoutDuplicates(sessions: readonly Session[]): Session[] {
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
      this.#issues.push(...session.duplicates)
    }
    return [...byId.values()]
  }

  #passesFilters(session: Session, archived: ArchivedByRoot): boolean {
    const options = this.#options
    const { brief } = session
    if (options.formatVersion !== undefined && formatVersionOf(session) !== options.formatVersion) return false
    const wantsArchived = options.archived ?? 'show'
    if (wantsArchived !== 'show' && isArchived(session, archived) !== (wantsArchived === 'only')) return false
    // Of a log without a header nothing is known that these could go by.
    if (options.cwds && !(brief?.cwd !== undefined && this.#isOfCwd(brief.cwd))) return false
    if (options.since !== undefined && !(brief && brief.createdAt >= options.since)) return false
    if (options.until !== undefined && !(brief && brief.createdAt <= options.until)) return false
    const origin = options.origin ?? 'all'
    return origin === 'all' || (brief !== undefined && brief.isSubagent === (origin === 'subagent'))
  }

  /** Whether filters can do without reading logs. */
  get #looksOnlyAtHeaders(): boolean {
    const { query = '', health, activeSince, activeUntil } = this.#options
    return query === '' && health === undefined && activeSince === undefined && activeUntil === undefined
  }

  /** The first sessions that match. Logs are read in the order of the list, and no more of them than it takes. */
  async #select(found: Session[], limit: number): Promise<Selection> {
    const { query = '', health, activeSince, activeUntil, sort, target } = this.#options
    if (sort === 'updated' || sort === 'title') await this.#readAll(found)
    const inOrder = comparator(sort, target)
    if (this.#looksOnlyAtHeaders) {
      const first = firstInOrder(found, limit, inOrder)
      return { shown: first, omitted: found.length - first.length, undecided: 0 }
    }
    const sessions = found.sort(inOrder)
    const hasText = holdsText(query)
    const isNamed = ({ id, brief }: Session) => hasText(id) || hasText(brief?.cwd)
    const asksLogs = health !== undefined || activeSince !== undefined || activeUntil !== undefined
    const needsReading = (session: Session) => asksLogs || !isNamed(session)
    /** Of a session that was read, or need not be. */
    const matches = (session: Session) => {
      if (health !== undefined && healthOf(session) !== health) return false
      const { title, updatedAt = Number.NaN } = session.entry.reading ?? {}
      if (activeSince !== undefined && !(updatedAt >= activeSince)) return false
      if (activeUntil !== undefined && !(updatedAt <= activeUntil)) return false
      return isNamed(session) || hasText(shownTitle(title))
    }
    this.#logsToRead = sessions.filter((session) => needsReading(session) && isUnread(session)).length
    const matching: Session[] = []
    let start = 0
    for (; start < sessions.length && matching.length < limit; start += WINDOW) {
      const window = sessions.slice(start, start + WINDOW)
      await this.#readAll(window.filter(needsReading))
      matching.push(...window.filter(matches))
    }
    // Of the rest nothing is read: what is known of it costs no more than a look.
    const undecided = sessions.slice(start).filter((session) => needsReading(session) && isUnread(session))
    const decided = sessions.slice(start).filter((session) => !(needsReading(session) && isUnread(session)))
    const known = matching.length + decided.filter(matches).length
    const shown = matching.slice(0, limit)
    return { shown, omitted: known - shown.length, undecided: undecided.length }
  }

  // Reading.

  async #readAll(sessions: readonly Session[]): Promise<void> {
    const unread = sessions.filter(isUnread)
    this.#logsToRead = Math.max(this.#logsToRead, this.#logsRead + unread.length)
    for (const session of sessions) this.#consulted.add(session)
    await Promise.all(unread.map((session) => this.#limited(() => this.#read(session))))
  }

  /** Reads a log whole, or what was added to it. */
  async #read(session: Session): Promise<void> {
    const { directory, path, entry } = session
    const { resume, placeIssues, headerIssues } = detailsOf(entry)
    const details = { placeIssues, headerIssues }
    this.#work.filesOpened++
    try {
      // Loaded when the first log is read: of a list that knows them all none is.
      const { readTitle } = await import('../fold/surface.ts')
      const source = { kind: 'file', path, encoding: logNameOf(path).encoding } as const
      // What is remembered of a log must not depend on how strict the list was that read it.
      const options = { ...this.#options, everyRow: false }
      const read = await readTitle(source, options, resume && { header: resume.header, resume })
      this.#work.bytesRead += read.work.bytesRead
      const { header, issues: readingIssues, resume: reached } = read
      session.entry = indexEntry({
        ...placeOf(entry),
        reading: readingOf(read),
        details: { ...details, readingIssues, resume: reached && { ...reached, header } },
      })
    } catch (error) {
      const issue = issueOf(error, path)
      const health = refusalOf(error)
      if (health === 'unreadable') {
        session.failure = issue
        return
      }
      const reading = { health, title: undefined, updatedAt: undefined }
      session.entry = indexEntry({ ...placeOf(entry), reading, details: { ...details, readingIssues: [issue] } })
    } finally {
      this.#logsRead++
    }
    this.#index?.set(directory, session.entry)
    this.#options.onProgress?.({ logsRead: this.#logsRead, logs: this.#logsToRead })
  }

  #candidate(session: Session, archived: ArchivedByRoot): Candidate {
    const { id, path, sizeBytes, brief, entry } = session
    const title = shownTitle(entry.reading?.title)
    const updatedAt = entry.reading?.updatedAt
    const label = labelOf(title, id)
    const targetCwd = this.#options.target?.cwd
    return {
      sessionId: id,
      label,
      ...(brief?.cwd !== undefined && { cwd: brief.cwd }),
      sameWorkspace: targetCwd !== undefined && brief?.cwd === targetCwd,
      ...(brief && { createdAt: brief.createdAt }),
      mention: formatMention({ sessionId: id, label }),
      uri: encodeSessionUri(id),
      path,
      ...(title !== undefined && { title }),
      formatVersion: formatVersionOf(session),
      ...(brief?.origin !== undefined && { origin: brief.origin }),
      ...(brief?.parentSession !== undefined && { parentSession: brief.parentSession }),
      ...(updatedAt !== undefined && { updatedAt }),
      sizeBytes,
      health: healthOf(session),
      ...(isArchived(session, archived) && { archived: true }),
      issues: session.issues,
    }
  }
}

/** What was chosen, and what is known of what was not. */
interface Selection extends Pick<CandidateList, 'omitted' | 'undecided'> {
  readonly shown: Session[]
}

type ArchivedByRoot = ReadonlyMap<string, ReadonlySet<string>>
type Place = Pick<IndexEntry, 'directoryKey' | 'name' | 'logKey'>

/** A log as it was found on disk, and what the index knew of it. */
interface Found {
  readonly directory: string
  readonly path: string
  readonly stat: BigIntStats
  readonly place: Place
  readonly directoryIssues: readonly Issue[]
  readonly known: IndexEntry | undefined
}

type Opened = Pick<IndexEntry, 'refusal'> & {
  readonly header: SessionHeader | undefined
  readonly headerIssues: readonly Issue[]
}

/** What the name of a log that was found by its name says. */
function logNameOf(path: string): LogName {
  return parseLogName(basename(path)) as LogName
}

// As integers like that of the log: Node takes a third longer when both kinds are asked for in turns.
function stateOf(directory: string): BigIntStats {
  try {
    return statSync(directory, { bigint: true })
  } catch (cause) {
    throw unreadable(directory, cause)
  }
}

/** The state of a log; `undefined` when it has just been removed, or is a link that leads nowhere. */
function logState(path: string, issues: Issue[]): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw unreadable(path, cause)
  }
  const isLink = lstatSync(path, { throwIfNoEntry: false }) !== undefined
  if (isLink) issues.push({ kind: 'dangling-link', message: 'A link leads nowhere', file: path })
  return undefined
}

function refusalOf(error: unknown): 'corrupt' | 'unsupported' | 'unreadable' {
  const reason = error instanceof DshRefError ? error.reason : undefined
  return reason === 'corrupt' || reason === 'unsupported' ? reason : 'unreadable'
}

/** What a list keeps of a reading. */
export function readingOf({
  title,
  updatedAt,
  isTorn,
  issues,
}: Pick<TitleReading, 'title' | 'updatedAt' | 'isTorn' | 'issues'>): LogReading {
  // Rows left out at the end are a damaged end as well.
  const isDamaged = isTorn || issues.some(({ kind }) => kind === 'discarded-rows')
  return { health: isDamaged ? 'torn' : 'ok', title, updatedAt }
}

/** An entry without its reading. Not a spread: the entries of the file compute their members. */
function placeOf({ directoryKey, name, logKey, brief, refusal }: IndexEntry) {
  return { directoryKey, name, logKey, brief, refusal }
}

function briefOf(header: SessionHeader, isMisplaced: boolean): LogBrief {
  const { id, createdAt, cwd, origin, parentSession, delegationDepth = 0 } = header
  const isSubagent = origin === 'subagent' || delegationDepth > 0
  return { id, createdAt, cwd, origin, parentSession, isSubagent, isMisplaced }
}

function detailsOf({ details }: IndexEntry): LogDetails {
  return details ?? NO_DETAILS
}

function formatVersionOf({ path }: Session): number {
  return logNameOf(path).version
}

function isArchived({ id, directory }: Session, archived: ArchivedByRoot): boolean {
  return archived.size > 0 && (archived.get(dirname(dirname(directory)))?.has(id) ?? false)
}

function isUnread({ entry, failure }: Session): boolean {
  return !entry.refusal && !failure && !entry.reading
}

function healthOf({ entry: { reading, refusal }, failure }: Session): Health {
  if (failure || refusal === 'unreadable') return 'unread'
  return refusal ?? reading?.health ?? 'unread'
}

/** Issues of one log. */
function ownIssues({ entry, failure }: Session): Issue[] {
  if (!entry.hasIssues && !failure) return []
  const { placeIssues, headerIssues, readingIssues } = detailsOf(entry)
  return [...placeIssues, ...(failure ? [failure] : (readingIssues ?? headerIssues))]
}

/** Of the issues of a place: whether it comes from where the log lies, not from what else lies beside it. */
function isAboutLog({ kind }: Issue): boolean {
  return kind === 'path-mismatch'
}

/** Device and inode of a log. */
function fileOf({ entry }: Session): string {
  return entry.logKey.split(':', 2).join(':')
}

/** The id a session directory is named after (FORMAT.md section 1.2), for a log whose header does not tell. */
function idOfSegment(segment: string): string {
  return segment.replace(/~([0-9A-F]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

type Comparator = (one: Session, other: Session) => number

/** Orders sessions; equal ones by id, as the service does, and those without a header last. */
function comparator(sort: SortKey | undefined, target: ListOptions['target']): Comparator {
  const byKey = comparatorOf(sort, target)
  return (one, other) => {
    if (!one.brief !== !other.brief) return one.brief ? -1 : 1
    return byKey(one, other) || one.id.localeCompare(other.id)
  }
}

/** As sorting and cutting to `count` would do, in one pass when few of many are wanted. */
function firstInOrder(sessions: Session[], count: number, inOrder: Comparator): Session[] {
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
