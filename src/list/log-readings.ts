// Reads logs whole for their titles, times and health, a few at a time, and remembers what was read in the index.

import pLimit from 'p-limit'
import { issueOf } from '../locate/scan.ts'
import { detailsOf, type IndexEntry, indexEntry, readingOf, refusalOf } from './index-entry.ts'
import type { ListOptions } from './list-options.ts'
import type { ListWork } from './list-work.ts'
import { isUnread, logNameOf, type Session } from './session.ts'
import type { TitleIndex } from './title-index.ts'

/** Logs read at a time: two keep decoder and disk busy, the others hide a slow one. */
const CONCURRENCY = 4

/** The readings of one list; what they do is added to `work`. */
export class LogReadings {
  /** Sessions somebody had to look into. */
  readonly consulted = new Set<Session>()
  readonly #options: ListOptions
  readonly #index: TitleIndex | undefined
  readonly #work: ListWork
  readonly #limited = pLimit(CONCURRENCY)
  #logsRead = 0
  #logsToRead = 0

  constructor(options: ListOptions, index: TitleIndex | undefined, work: ListWork) {
    this.#options = options
    this.#index = index
    this.#work = work
  }

  /** Says how many logs may have to be read at most, before the first of them is. */
  expect(logs: number): void {
    this.#logsToRead = logs
  }

  /** Reads those of the logs that have not been read, each whole, or what was added to it. */
  async readAll(sessions: readonly Session[]): Promise<void> {
    const unread = sessions.filter(isUnread)
    this.#logsToRead = Math.max(this.#logsToRead, this.#logsRead + unread.length)
    for (const session of sessions) this.consulted.add(session)
    await Promise.all(unread.map((session) => this.#limited(() => this.#read(session))))
  }

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
      const reading = { health, title: undefined, firstMessage: undefined, updatedAt: undefined }
      session.entry = indexEntry({ ...placeOf(entry), reading, details: { ...details, readingIssues: [issue] } })
    } finally {
      this.#logsRead++
    }
    this.#index?.set(directory, session.entry)
    this.#options.onProgress?.({ logsRead: this.#logsRead, logs: this.#logsToRead })
  }
}

/** An entry without its reading. Not a spread: the entries of the file compute their members. */
function placeOf({ directoryKey, name, logKey, brief, refusal }: IndexEntry) {
  return { directoryKey, name, logKey, brief, refusal }
}
