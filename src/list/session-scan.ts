// Finds the sessions of the roots and opens them as far as their headers; a log in the state that the index knows is not opened.

import { type BigIntStats, lstatSync, statSync } from 'node:fs'
import { sep } from 'node:path'
import { readFailed, throwIfCancelled, unreadable } from '../errors.ts'
import { pathIssue } from '../locate/due-place.ts'
import { generationIn } from '../locate/generations.ts'
import { checkVersion, peekGeneration, readHeader } from '../locate/opening.ts'
import { sessionDirectories } from '../locate/roots.ts'
import { issueOf } from '../locate/scan.ts'
import { makePause } from '../pause.ts'
import type { Issue, SessionHeader } from '../types.ts'
import { directoryKeyOf, hasGrown, isSettled, logKeyOf } from './file-state.ts'
import { detailsOf, type IndexEntry, indexEntry, type LogBrief, refusalOf } from './index-entry.ts'
import type { ListOptions } from './list-options.ts'
import type { ListWork } from './list-work.ts'
import { logNameOf, Session } from './session.ts'
import type { TitleIndex } from './title-index.ts'

/** Looks through the roots once. What it meets on the way is added to `issues`, what it does to `work`. */
export class SessionScan {
  readonly #options: ListOptions
  readonly #index: TitleIndex | undefined
  readonly #issues: Issue[]
  readonly #work: ListWork
  readonly #pause = makePause()

  constructor(options: ListOptions, index: TitleIndex | undefined, issues: Issue[], work: ListWork) {
    this.#options = options
    this.#index = index
    this.#issues = issues
    this.#work = work
  }

  /** Opens the sessions of the roots as far as their headers. */
  async scan(roots: readonly string[]): Promise<Session[]> {
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
}

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

function briefOf(header: SessionHeader, isMisplaced: boolean): LogBrief {
  const { id, createdAt, cwd, origin, parentSession, delegationDepth = 0 } = header
  const isSubagent = origin === 'subagent' || delegationDepth > 0
  return { id, createdAt, cwd, origin, parentSession, isSubagent, isMisplaced }
}

/** Of the issues of a place: whether it comes from where the log lies, not from what else lies beside it. */
function isAboutLog({ kind }: Issue): boolean {
  return kind === 'path-mismatch'
}
