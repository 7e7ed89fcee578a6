// What whoever starts the server lets agents see: which roots, which directory, and not the session that asks. Every tool
// and resource finds sessions through here.

import { DshRefError, readFailed } from '../errors.ts'
import { type Candidate, type CandidateList, listCandidates } from '../list/candidates.ts'
import type { ListOptions } from '../list/list-options.ts'
import type { TitleIndex } from '../list/title-index.ts'
import { locateSession } from '../locate/locate.ts'
import type { LocatedLog, LocateOptions } from '../locate/located-log.ts'
import { isDirectoryOf } from '../locate/same-directory.ts'
import { decodeSessionUri, parseReferenceText } from '../reference/uri.ts'
import { type SearchAnswer, type SearchOptions, searchSessions } from '../search/search.ts'
import type { TextCache } from '../search/text-cache.ts'
import type { SecretScan } from '../secrets/scan.ts'

/** The bounds of a server. */
export interface Scope {
  readonly reading: LocateOptions
  /** Only sessions of this directory, in all its spellings; absent: of every directory. */
  readonly cwds?: readonly string[] | undefined
  /** The session that asks: it is neither listed nor read. */
  readonly target?: ListOptions['target']
  /** Opens what was read before; asked for each list. */
  readonly openIndex: () => TitleIndex | undefined
  /** Opens the texts that were read before; asked for each search. */
  readonly openTexts: () => TextCache | undefined
  /** Masks the secrets of all that is answered; absent: they are left. */
  readonly scan?: SecretScan | undefined
}

/** What a request narrows a list to. */
export interface Narrowing {
  readonly cwd?: string | undefined
  readonly limit: number
  readonly signal: AbortSignal
  readonly onProgress?: ListOptions['onProgress']
}

/** Lists sessions of the scope; those of a directory outside it are none. */
export async function listInScope(
  scope: Scope,
  { cwd, ...narrowing }: Narrowing & Pick<ListOptions, 'query'>,
): Promise<CandidateList> {
  const index = scope.openIndex()
  const list = await listCandidates({ ...scope.reading, ...placeOf(scope, cwd), index, ...narrowing })
  return { ...list, candidates: await Promise.all(list.candidates.map((row) => rowInScope(scope, row))) }
}

/** A row as an agent may see it. */
export async function rowInScope<Row extends Candidate>({ scan }: Scope, row: Row): Promise<Row> {
  return scan ? (await import('../list/redact-candidate.ts')).redactCandidate(row, scan) : row
}

/** What masks a whole text of a log, where the scope masks. */
export function maskOf({ scan }: Scope): ((text: string) => string) | undefined {
  return scan && ((text) => scan.aside(text))
}

/** Which session, and which directories, a request may see. */
function placeOf({ target, cwds }: Scope, cwd: string | undefined): Pick<ListOptions, 'target' | 'cwds'> {
  if (cwd === undefined) return { target, cwds }
  return { target, cwds: !cwds || isDirectoryOf(cwds)(cwd) ? [cwd] : [] }
}

/** Searches what sessions of the scope said, as listed sessions are bounded. */
export function searchInScope(
  scope: Scope,
  { cwd, ...options }: Narrowing & Pick<SearchOptions, 'query' | 'role' | 'isCurrent'>,
): Promise<SearchAnswer> {
  const index = scope.openIndex()
  const texts = index && scope.openTexts()
  return searchSessions({ ...scope.reading, ...placeOf(scope, cwd), index, texts, mask: maskOf(scope), ...options })
}

/** The id that an id, a `dsh-session:` URI or a mention names. Throws `INVALID_REFERENCE` for a malformed one. */
export function sessionIdOf(argument: string): string {
  if (argument.startsWith('dsh-session:')) return decodeSessionUri(argument)
  if (!argument.startsWith('@[')) return argument
  const [reference] = parseReferenceText(argument).references
  return reference?.sessionId ?? argument
}

/**
 * Finds the log of a session of the scope. Throws `SELF_REFERENCE` for the session that asks, and `READ_FAILED` as
 * `locateSession` does; a session outside the scope is not found, whether or not it exists.
 */
export async function locateInScope(argument: string, scope: Scope, signal: AbortSignal): Promise<LocatedLog> {
  const sessionId = sessionIdOf(argument)
  if (sessionId === scope.target?.sessionId) {
    throw new DshRefError(
      'SESSION_REFERENCE_SELF_REFERENCE',
      `Session ${JSON.stringify(sessionId)} is the one that asks; it cannot refer to itself`,
      { sessionId },
    )
  }
  const log = await locateSession(sessionId, { ...scope.reading, signal })
  if (!scope.cwds || (log.header.cwd !== undefined && isDirectoryOf(scope.cwds)(log.header.cwd))) return log
  throw readFailed('not-found', `No session ${JSON.stringify(sessionId)} among those of ${scope.cwds[0]}`, {
    sessionId,
  })
}

/** What an agent is told of a session in a list. Times are ISO. */
export function listed({ sessionId, uri, label, cwd, createdAt, updatedAt, origin, parentSession, health }: Candidate) {
  return {
    sessionId,
    uri,
    label,
    ...(cwd !== undefined && { cwd }),
    ...(createdAt !== undefined && { createdAt: new Date(createdAt).toISOString() }),
    ...(updatedAt !== undefined && { updatedAt: new Date(updatedAt).toISOString() }),
    ...(origin !== undefined && { origin }),
    ...(parentSession !== undefined && { parentSession }),
    health,
  }
}
