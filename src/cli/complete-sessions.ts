// The sessions that completion offers. As long as the title index knows every session there is, no log is looked at: a Tab
// must not take longer than a person notices. Otherwise the list is made, which brings the index up to date.

import { readdirSync } from 'node:fs'
import { resolve, sep } from 'node:path'
import { DshRefError } from '../errors.ts'
import type { Candidate } from '../list/candidates.ts'
import type { IndexEntry } from '../list/index-entry.ts'
import type { TitleIndex } from '../list/title-index.ts'
import { parseLogName } from '../locate/paths.ts'
import { shownTitle } from '../project/title.ts'
import { encodeSessionUri } from '../reference/uri.ts'
import { untitledName } from '../render/name.ts'
import { holdsText } from '../text/folded-text.ts'
import { titleIndexOf } from './cache.ts'
import { spellingsOf } from './directories.ts'
import type { CommandContext } from './print.ts'
import { resolveRoots } from './roots.ts'

/** What completion says of a session. */
export interface OfferedSession {
  readonly sessionId: string
  /** Its title, or what stands in for one; `undefined` when it said nothing. */
  readonly name: string | undefined
  /** Newest known time of the session, epoch milliseconds. */
  readonly time: number | undefined
  readonly cwd: string | undefined
}

/** Sessions to offer, and whether the word is only a part of what they are called. */
export interface OfferedSessions {
  readonly items: readonly { readonly value: string; readonly about: string }[]
  readonly isByTitle: boolean
}

/** How long titles that are not in the index may keep a shell waiting. What was read by then is kept for the next time. */
const PATIENCE_MILLISECONDS = 1000

/** Directories without an entry that are looked into before the list is made instead. */
const MAX_UNKNOWN = 20

const NAME_LENGTH = 60

/** Sessions whose argument begins with the word; when there is none, those with the word in name, directory or id. */
export async function offerSessions(word: string, context: CommandContext, isRaw: boolean): Promise<OfferedSessions> {
  const query = word.startsWith('dsh-session:') ? '' : word.replace(/^id:/, '')
  const roots = resolveRoots(context).paths
  const index = indexOf(context, roots)
  const sessions = (index && known(index, roots)) ?? (await listed(query, context, roots, index))
  const isOtherwiseRead = await otherReadings(sessions, context)
  const now = Date.now()
  const offered = (begun: string, wanted: readonly OfferedSession[]) =>
    wanted.flatMap((session) => {
      const { sessionId } = session
      const value = isRaw ? rawId(sessionId) : spelled(sessionId, begun, isOtherwiseRead)
      return value?.startsWith(begun) ? [{ value, session }] : []
    })
  const finish = (found: ReturnType<typeof offered>) =>
    ranked(found, new Set(spellingsOf('.', context))).map(({ value, session }) => ({
      value,
      about: about(session, now, context.secrets),
    }))
  const byId = offered(word, sessions)
  if (byId.length > 0 || query === '') return { items: finish(byId), isByTitle: false }
  const hasText = holdsText(query)
  const named = sessions.filter(({ sessionId, name, cwd }) => [sessionId, name, cwd].some(hasText))
  return { items: finish(offered('', named)), isByTitle: true }
}

/** The title index; `undefined` where it may not be written, which a Tab is no time to say. */
function indexOf(context: CommandContext, roots: readonly string[]): TitleIndex | undefined {
  try {
    return titleIndexOf(undefined, context, roots)
  } catch (error) {
    if (error instanceof DshRefError) return undefined
    throw error
  }
}

/** The sessions that the index knows; `undefined` when it does not know all there are. */
function known(index: TitleIndex, roots: readonly string[]): OfferedSession[] | undefined {
  const sessions = new Map<string, OfferedSession>()
  let unknown = 0
  for (const root of roots) {
    for (const project of namesIn(resolve(root))) {
      for (const name of namesIn(project)) {
        const entry = index.get(name)
        if (!entry) {
          unknown++
          if (unknown > MAX_UNKNOWN || namesIn(name).some(isLog)) return undefined
        } else if (entry.brief && !sessions.has(entry.brief.id)) {
          if (!entry.reading && !entry.refusal) return undefined
          sessions.set(entry.brief.id, offeredOf(entry.brief, entry.reading))
        }
      }
    }
  }
  return [...sessions.values()]
}

async function listed(
  query: string,
  context: CommandContext,
  roots: readonly string[],
  index: TitleIndex | undefined,
): Promise<OfferedSession[]> {
  const { listCandidates } = await import('../list/candidates.ts')
  const options = { roots, index, limit: Number.POSITIVE_INFINITY } as const
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(PATIENCE_MILLISECONDS)])
  try {
    const { candidates } = await listCandidates({ ...options, depth: 'titles', signal })
    return candidates.map(offeredCandidate)
  } catch (error) {
    if (!(error instanceof DshRefError) || error.code !== 'SESSION_REFERENCE_CANCELLED') throw error
    // Titles of so many logs take longer; ids are known from the headers.
    const { candidates } = await listCandidates({ ...options, depth: 'headers', signal: context.signal })
    const hasText = holdsText(query)
    return candidates.filter(({ sessionId, title, cwd }) => [sessionId, title, cwd].some(hasText)).map(offeredCandidate)
  }
}

function offeredCandidate(candidate: Candidate): OfferedSession {
  const { sessionId, title, updatedAt, createdAt, cwd } = candidate
  return { sessionId, name: title ?? untitledName(candidate), time: updatedAt ?? createdAt, cwd }
}

function offeredOf(brief: NonNullable<IndexEntry['brief']>, reading: IndexEntry['reading']): OfferedSession {
  const { id, createdAt, cwd } = brief
  const title = shownTitle(reading?.title)
  const name = title ?? (reading && untitledName({ ...reading, title }))
  return { sessionId: id, name, time: reading?.updatedAt ?? createdAt, cwd }
}

/** Full paths of what is in a directory; nothing when it cannot be read, which the command itself will say. */
function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).map((name) => directory + sep + name)
  } catch {
    return []
  }
}

function isLog(path: string): boolean {
  return parseLogName(path.slice(path.lastIndexOf('session'))) !== undefined
}

/** Those of the current directory first, then the newest. */
function ranked<Found extends { readonly session: OfferedSession }>(
  found: readonly Found[],
  here: ReadonlySet<string | undefined>,
): Found[] {
  const rank = ({ session }: Found) => (here.has(session.cwd) ? 0 : 1)
  return [...found].sort((one, other) => rank(one) - rank(other) || (other.session.time ?? 0) - (one.session.time ?? 0))
}

/** The argument that names exactly this session, in the spelling that was begun. */
function spelled(id: string, begun: string, isOtherwiseRead: (id: string) => boolean): string {
  // No shell takes every control character, and none half a surrogate pair: a URI spells both in letters.
  if (begun.startsWith('dsh-session:') || !isPrintable(id)) return encodeSessionUri(id)
  return begun.startsWith('id:') || isOtherwiseRead(id) ? `id:${id}` : id
}

function rawId(id: string): string | undefined {
  return isPrintable(id) && !id.startsWith('-') ? id : undefined
}

function isPrintable(id: string): boolean {
  return id !== '' && id.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(id)
}

/** Ids that nothing but an id looks like; the reader of arguments is not loaded for them. */
function isOrdinary(id: string): boolean {
  return /^\w[\w.-]*$/.test(id) && !id.includes('.jsonl')
}

/** Makes the question whether an id alone would be read as something else: a path, a URI, an option. */
async function otherReadings(
  sessions: readonly OfferedSession[],
  { cwd }: CommandContext,
): Promise<(id: string) => boolean> {
  if (sessions.every(({ sessionId }) => isOrdinary(sessionId))) return () => false
  const { parseSessionArgument } = await import('../locate/argument.ts')
  return (id) => {
    if (isOrdinary(id)) return false
    if (id.startsWith('-')) return true
    try {
      const parsed = parseSessionArgument(id, cwd)
      return !(parsed.kind === 'id' && parsed.sessionId === id)
    } catch {
      return true // it begins like a URI and is none
    }
  }
}

function about({ name: stored = '', time }: OfferedSession, now: number, secrets: CommandContext['secrets']): string {
  const name = secrets?.maskPiece(stored) ?? stored
  // One line without anything that would drive a terminal.
  const text = name.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
  const short = text.length > NAME_LENGTH ? `${[...text].slice(0, NAME_LENGTH - 1).join('')}…` : text
  const age = time === undefined ? '' : ageOf(now - time)
  return [short, age].filter((part) => part !== '').join(', ') || 'session'
}

/** How long ago, in the largest unit that gives a whole number. */
function ageOf(milliseconds: number): string {
  const minutes = Math.max(0, Math.floor(milliseconds / 60_000))
  if (minutes < 60) return `${minutes} min ago`
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ago`
  return `${Math.floor(minutes / (24 * 60))} d ago`
}
