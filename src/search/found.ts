// What is found: the order of sessions, what is told of each, and the issues that a reader of the answer must know of.

import type { Candidate, ListedSession } from '../list/candidates.ts'
import { labelOf, shownTitle } from '../project/title.ts'
import { formatMention } from '../reference/uri.ts'
import type { Issue } from '../types.ts'
import type { NamedBy, Result } from './judge.ts'
import type { SearchMessage } from './messages.ts'
import type { TextFacts } from './text-entry.ts'

/** A session that holds what was looked for. */
export interface FoundSession extends Candidate {
  /** The beginning of the first message of the user, as one line. */
  readonly firstMessage?: string
  /** Which of its names hold any of the terms. */
  readonly namedBy: readonly NamedBy[]
  /** Lines of its conversation that hold any of the terms. */
  readonly matchingLines: number
}

/** A session that is looked into. */
export interface Subject {
  readonly session: ListedSession
  facts: TextFacts | undefined
  result: Result | undefined
  /** The messages with matches, when they are in memory. */
  held: readonly SearchMessage[] | undefined
}

/** Issues of a log that may have hidden what was looked for. */
const HIDING_KINDS: ReadonlySet<string> = new Set([
  'corrupt-log',
  'unsupported-log',
  'unreadable-log',
  'salvaged',
  'discarded-rows',
])

/** What is told of a session that was found. */
export function foundSession(candidate: Candidate, { facts, result }: Subject): FoundSession {
  const { sessionId } = candidate
  const title = shownTitle(facts?.title) ?? candidate.title
  const { updatedAt = candidate.updatedAt, firstMessage, health } = facts ?? {}
  const label = labelOf(title, sessionId)
  const { namedBy = [], lines = 0 } = result ?? {}
  const issues = new Map([...candidate.issues, ...(facts?.issues ?? [])].map((issue) => [JSON.stringify(issue), issue]))
  return {
    ...candidate,
    label,
    mention: formatMention({ sessionId, label }),
    ...(title !== undefined && { title }),
    ...(updatedAt !== undefined && { updatedAt }),
    health: health ?? candidate.health,
    issues: [...issues.values()],
    ...(firstMessage !== undefined && { firstMessage }),
    namedBy,
    matchingLines: lines,
  }
}

/**
 * Sessions whose names hold all terms first; then those with the phrase, those with all terms in one line, the others; among
 * them those with twice as many matching lines; then those written to last. What is equal in all of this goes by id.
 */
export function bestFirst(one: Subject, other: Subject): number {
  const [a, b] = [one.result as Result, other.result as Result]
  return (
    Number(b.isNamed) - Number(a.isNamed) ||
    b.closeness - a.closeness ||
    doublings(b.lines) - doublings(a.lines) ||
    lastTime(other) - lastTime(one) ||
    (one.session.id < other.session.id ? -1 : 1)
  )
}

function doublings(count: number): number {
  return Math.floor(Math.log2(count + 0.5))
}

function lastTime({ facts }: Subject): number {
  return facts?.updatedAt ?? 0
}

/**
 * The issues of an answer, each once. Of a session that is not shown only this is of any interest: that nobody knows whether
 * it should have been.
 */
export function issuesOf(subjects: Iterable<Subject>, ofList: readonly Issue[], shown: ReadonlySet<Subject>): Issue[] {
  const isOfOthers = new Set<string>()
  const issues = new Map<string, Issue>()
  const own: Issue[] = []
  for (const subject of subjects) {
    const ofSubject = [...subject.session.issues, ...(subject.facts?.issues ?? [])]
    if (shown.has(subject)) own.push(...ofSubject)
    else {
      own.push(...ofSubject.filter(({ kind }) => HIDING_KINDS.has(kind)))
      for (const issue of subject.session.issues) isOfOthers.add(JSON.stringify(issue))
    }
  }
  const ofAll = ofList.filter((issue) => !isOfOthers.has(JSON.stringify(issue)))
  for (const issue of [...ofAll, ...own]) issues.set(JSON.stringify(issue), issue)
  return [...issues.values()]
}
