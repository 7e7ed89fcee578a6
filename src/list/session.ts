// A session of a list as it was found, and what is known of it by now.

import { basename, sep } from 'node:path'
import { type LogName, parseLogName } from '../locate/paths.ts'
import { shownTitle } from '../project/title.ts'
import type { Issue } from '../types.ts'
import { detailsOf, type IndexEntry, type LogBrief } from './index-entry.ts'

/**
 * How a log stands: `torn`, its end is damaged and the rest is read; `corrupt` and `unsupported`, it is refused; `unread`,
 * nobody has looked, or the system did not let us.
 */
export type Health = 'ok' | 'torn' | 'corrupt' | 'unsupported' | 'unread'

/** There may be thousands of sessions, so one keeps no more than it must. */
export class Session {
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

/** The id a session directory is named after (FORMAT.md section 1.2), for a log whose header does not tell. */
function idOfSegment(segment: string): string {
  return segment.replace(/~([0-9A-F]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** What the name of a log that was found by its name says. */
export function logNameOf(path: string): LogName {
  return parseLogName(basename(path)) as LogName
}

/** The format version that the name of the log says. */
export function formatVersionOf({ path }: Session): number {
  return logNameOf(path).version
}

/** Whether the log could be read whole, and has not been. */
export function isUnread({ entry, failure }: Session): boolean {
  return !entry.refusal && !failure && !entry.reading
}

/** How the log stands, as far as is known. */
export function healthOf({ entry: { reading, refusal }, failure }: Session): Health {
  if (failure || refusal === 'unreadable') return 'unread'
  return refusal ?? reading?.health ?? 'unread'
}

/** Issues of one log. */
export function ownIssues({ entry, failure }: Session): Issue[] {
  if (!entry.hasIssues && !failure) return []
  const { placeIssues, headerIssues, readingIssues } = detailsOf(entry)
  return [...placeIssues, ...(failure ? [failure] : (readingIssues ?? headerIssues))]
}

/** Device and inode of a log. */
export function fileOf({ entry }: Session): string {
  return entry.logKey.split(':', 2).join(':')
}
