// Lists the sessions of the roots (DESIGN.md section 3, "Candidates"): scans directories, filters, ranks, and reads whole
// logs only where a title, an update time or the health is asked for. Looks become strings in render/candidates.ts; what was
// read before is remembered by title-index.ts.

import { resolve } from 'node:path'
import { invalidReference, throwIfCancelled } from '../errors.ts'
import { requireRoots } from '../locate/roots.ts'
import { labelOf, shownTitle } from '../project/title.ts'
import { encodeSessionUri, formatMention } from '../reference/uri.ts'
import type { Redacted } from '../secrets/kinds.ts'
import type { Issue } from '../types.ts'
import { type ArchivedByRoot, archivedByRoot, isArchived } from './archived.ts'
import { withoutDuplicates } from './duplicates.ts'
import { headerFilter } from './header-filters.ts'
import { IndexDamaged } from './index-file.ts'
import type { ListOptions } from './list-options.ts'
import type { ListWork } from './list-work.ts'
import { LogReadings } from './log-readings.ts'
import { select } from './selection.ts'
import { formatVersionOf, type Health, healthOf, ownIssues, type Session } from './session.ts'
import { SessionScan } from './session-scan.ts'

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
  /** The beginning of the first message of the user, as one line; absent when there is none, or nobody has looked. */
  readonly firstMessage?: string
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
  /** What was masked in it; absent when nothing was asked for. */
  readonly redacted?: Redacted
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
  readonly work: Readonly<ListWork>
}

/** Rows of a list when nothing else is said. */
export const DEFAULT_LIST_LIMIT = 50

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
    return await makeList(options, limit)
  } catch (error) {
    if (!(error instanceof IndexDamaged)) throw error
    index?.clear()
    return await makeList(options, limit)
  } finally {
    // What was learned so far is kept even when the rest was cancelled.
    await index?.save()
  }
}

/** Issues of a log that may have hidden a title that was asked for. */
const HIDING_KINDS: ReadonlySet<string> = new Set(['corrupt-log', 'unsupported-log', 'unreadable-log'])

async function makeList(options: ListOptions, limit: number): Promise<SessionList> {
  const { target, includeUnreadable = false, depth } = options
  const issues: Issue[] = []
  const work: ListWork = { filesOpened: 0, bytesRead: 0 }
  // Limits and the reading of unknown versions change what a reading gives, so its memory is of no use then.
  const isPlain = !options.allowUnknownVersion && Object.keys(options.limits ?? {}).length === 0
  const index = isPlain ? options.index : undefined
  const readings = new LogReadings(options, index, work)
  const roots = options.roots.map((root) => resolve(root))
  const archived = archivedByRoot(roots, options, issues)
  const all = await new SessionScan(options, index, issues, work).scan(roots)
  const found = all.filter(({ id }) => id !== target?.sessionId)
  const readable = withoutDuplicates(
    found.filter(({ brief }) => brief),
    issues,
  )
  const unreadable = includeUnreadable ? found.filter(({ brief }) => !brief) : []
  const wanted = [...readable, ...unreadable].filter(headerFilter(options, archived))
  const { shown, omitted, undecided } = await select(wanted, limit, options, readings)
  if (depth !== 'headers') await readings.readAll(shown)
  const isShown = new Set(shown)
  const others = [...readings.consulted].filter((session) => session.brief && !isShown.has(session))
  // Of a session that is not shown only this is of any interest: that nobody knows whether it should have been.
  const hiding = others.flatMap(ownIssues).filter(({ kind }) => HIDING_KINDS.has(kind))
  const own = [...shown.filter(({ brief }) => brief).flatMap(ownIssues), ...hiding]
  // Now, while the file of the index is open.
  for (const session of shown) {
    const ofSession = ownIssues(session)
    if (ofSession.length + session.duplicates.length > 0) session.issues = [...session.duplicates, ...ofSession]
  }
  return {
    listed: shown,
    candidateOf: (session) => candidateFrom(session as Session, target?.cwd, archived),
    issues: [...issues, ...own],
    sessions: all.length,
    readable: all.filter(({ brief }) => brief).length,
    omitted,
    undecided,
    work,
  }
}

/** The row of a session. */
function candidateFrom(session: Session, targetCwd: string | undefined, archived: ArchivedByRoot): Candidate {
  const { id, path, sizeBytes, brief, entry } = session
  const title = shownTitle(entry.reading?.title)
  const { updatedAt, firstMessage } = entry.reading ?? {}
  const label = labelOf(title, id)
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
    ...(firstMessage !== undefined && { firstMessage }),
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
