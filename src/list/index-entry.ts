// What is known of the log of one session directory, and is worth remembering. Where it is kept is title-index.ts.

import { DshRefError } from '../errors.ts'
import type { TitleReading, TitleResume } from '../fold/surface.ts'
import type { Issue, SessionHeader } from '../types.ts'

/** What is known about the log of one session directory. */
export interface IndexEntry {
  /** The state of the directory in which this log was found the newest; `''` when it may have changed unnoticed. */
  readonly directoryKey: string
  /** Name of the log in its directory. */
  readonly name: string
  /** The state of the log that the rest is true for. */
  readonly logKey: string
  /** Absent when the log was refused by its header. */
  readonly brief: LogBrief | undefined
  /** Why the log cannot be read, as far as its header tells. One of an unknown version may have a header all the same. */
  readonly refusal: 'corrupt' | 'unsupported' | 'unreadable' | undefined
  readonly reading: LogReading | undefined
  /** Whether there are any issues in the details. */
  readonly hasIssues: boolean
  /** Absent when there is nothing in them, which of a log nobody has read is the rule. */
  readonly details: LogDetails | undefined
}

/** What a list asks of a header. */
export interface LogBrief {
  readonly id: string
  readonly createdAt: number
  readonly cwd: string | undefined
  readonly origin: string | undefined
  readonly parentSession: string | undefined
  readonly isSubagent: boolean
  /** Whether the log lies elsewhere than its header leads. */
  readonly isMisplaced: boolean
}

/** What a reading of a whole log gave. */
export interface LogReading {
  readonly health: 'ok' | 'torn' | 'corrupt' | 'unsupported'
  readonly title: string | undefined
  /** The beginning of the first message of the user, as one line. */
  readonly firstMessage: string | undefined
  /** Time of the newest stored event, epoch milliseconds; absent when the log was refused. */
  readonly updatedAt: number | undefined
}

/** What is asked of few logs only, and so is read out of the file one by one. */
export interface LogDetails {
  /** Issues of its place. */
  readonly placeIssues: readonly Issue[]
  /** Issues of its header; with a refusal the one that says why. */
  readonly headerIssues: readonly Issue[]
  /** Issues of the whole log, those of the header included. */
  readonly readingIssues?: readonly Issue[]
  /** Where to go on when the log has grown, and the header it has then. The reading may be gone by then. */
  readonly resume?: (TitleResume & { readonly header: SessionHeader }) | undefined
}

/** What absent details stand for. */
const NO_DETAILS: LogDetails = { placeIssues: [], headerIssues: [] }

/** Makes an entry. */
export function indexEntry(known: Omit<IndexEntry, 'hasIssues'>): IndexEntry {
  const { directoryKey, name, logKey, brief, refusal, reading } = known
  const { placeIssues, headerIssues, readingIssues = headerIssues, resume } = detailsOf(known)
  const hasIssues = placeIssues.length > 0 || readingIssues.length > 0
  const details = hasIssues || headerIssues.length > 0 || resume ? known.details : undefined
  return { directoryKey, name, logKey, brief, refusal, reading, hasIssues, details }
}

/** The details of an entry, absent ones included. */
export function detailsOf({ details }: Pick<IndexEntry, 'details'>): LogDetails {
  return details ?? NO_DETAILS
}

/** What a list keeps of a reading. */
export function readingOf({
  title,
  firstMessage,
  updatedAt,
  isTorn,
  issues,
}: Pick<TitleReading, 'title' | 'firstMessage' | 'updatedAt' | 'isTorn' | 'issues'>): LogReading {
  // Rows left out at the end are a damaged end as well.
  const isDamaged = isTorn || issues.some(({ kind }) => kind === 'discarded-rows')
  return { health: isDamaged ? 'torn' : 'ok', title, firstMessage, updatedAt }
}

/** Why a log that could not be read is refused, in the words of an entry. */
export function refusalOf(error: unknown): NonNullable<IndexEntry['refusal']> {
  const reason = error instanceof DshRefError ? error.reason : undefined
  return reason === 'corrupt' || reason === 'unsupported' ? reason : 'unreadable'
}
