// Finds the sessions in which something was said: which sessions there are is candidates.ts, what is looked for query.ts. The
// texts of a log are read once and kept by text-cache.ts; looks become strings in render/search.ts.

import { basename } from 'node:path'
import pLimit from 'p-limit'
import { DshRefError, throwIfCancelled } from '../errors.ts'
import { type Candidate, DEFAULT_LIST_LIMIT, type ListedSession, listSessions } from '../list/candidates.ts'
import { hasGrown } from '../list/file-state.ts'
import type { ListOptions, ListProgress } from '../list/list-options.ts'
import { parseLogName } from '../locate/paths.ts'
import { issueOf } from '../locate/scan.ts'
import { makePause } from '../pause.ts'
import { labelOf, shownTitle } from '../project/title.ts'
import { formatMention } from '../reference/uri.ts'
import type { Issue } from '../types.ts'
import { Block, encodeBlocks, type MessageFilter, messagesOf } from './blocks.ts'
import { isScannable, type MatchedLine, matchedLines, Scan, Tally, tallyOf } from './lines.ts'
import type { SearchMessage, SearchRole } from './messages.ts'
import { PackDamaged } from './packs.ts'
import { isFound, type Query, searchedForm } from './query.ts'
import { type LogTexts, readTexts, type TextMemo, type TextOptions } from './reading.ts'
import type { StoredBlock, TextCache, TextEntry, TextFacts } from './text-cache.ts'

/** Filters of a list, and what is looked for in the sessions that pass them. */
export interface SearchOptions extends Omit<ListOptions, 'query' | 'sort' | 'depth' | 'includeUnreadable'> {
  readonly query: Query
  /** Only what was said by this one; titles, ids and directories do not count then. */
  readonly role?: SearchRole | undefined
  /** Leave out what a compaction has replaced. */
  readonly isCurrent?: boolean | undefined
  /** Search the results of tools as well. They are read from the logs each time. */
  readonly withTools?: boolean | undefined
  /** Read logs completely, and so every log, whatever is kept of it. */
  readonly everyRow?: boolean
  /** Default: none, and every log is read. */
  readonly texts?: TextCache | undefined
}

/** What of a session can be named by a query besides what was said. */
export type NamedBy = 'title' | 'id' | 'cwd'

/** A session that holds what was looked for. */
export interface FoundSession extends Candidate {
  /** The beginning of the first message of the user, as one line. */
  readonly firstMessage?: string
  /** Which of its names hold any of the terms. */
  readonly namedBy: readonly NamedBy[]
  /** Lines of its conversation that hold any of the terms. */
  readonly matchingLines: number
}

/** An answer; `close` is to be called when nothing is asked of it any more. */
export interface SearchAnswer {
  /** Best first, no more than the limit. */
  readonly found: readonly FoundSession[]
  /** Sessions that were found, before the limit. */
  readonly total: number
  /** Sessions there are, before filters. */
  readonly sessions: number
  /** Of these, the ones with a header that can be read. */
  readonly readable: number
  readonly issues: readonly Issue[]
  /** Work done, for tests and benchmarks. */
  readonly work: { readonly logsRead: number; readonly bytesRead: number }
  /** The matching lines of a session that was found, in log order, with some lines that are not blank around each. */
  linesOf(session: FoundSession, context: number): Promise<MatchedLine[]>
  /** Keeps what was learned. */
  close(): Promise<void>
}

/** Logs read at once: the work is the processor's, not the disk's. */
const CONCURRENCY = 2

/** Blocks a log may have come to by growing; with one more they are made anew. */
const MAX_BLOCKS = 8
const ROOMY_BLOCK_BYTES = 1024 * 1024

/** Texts kept in memory for what is shown, when there is no cache to keep them, in characters. */
const HELD_LENGTH = 8 * 1024 * 1024

/** Time between two writings of what a long search has learned, in milliseconds. */
const KEEP_EVERY = 10_000

/** Issues of a log that may have hidden what was looked for. */
const HIDING_KINDS: ReadonlySet<string> = new Set([
  'corrupt-log',
  'unsupported-log',
  'unreadable-log',
  'salvaged',
  'discarded-rows',
])

/**
 * Finds the sessions in which all terms of a query occur. A log that cannot be read is an issue and never the end of the
 * search; of a corrupt one its longest valid prefix is searched. Throws as `listCandidates` does.
 */
export async function searchSessions(options: SearchOptions): Promise<SearchAnswer> {
  const search = new Search(options)
  try {
    return await search.answer()
  } catch (error) {
    // What was learned so far is kept even when the rest was cancelled.
    await options.texts?.save()
    throw error
  }
}

/** A session that is looked into. */
interface Subject {
  readonly session: ListedSession
  facts: TextFacts | undefined
  result: Result | undefined
  /** The messages with matches, when they are in memory. */
  held: readonly SearchMessage[] | undefined
}

/** What a session has of what is looked for. */
interface Result {
  readonly namedBy: readonly NamedBy[]
  readonly isNamed: boolean
  readonly closeness: number
  readonly lines: number
}

/** A session of which all texts are kept. */
interface Known {
  readonly subject: Subject
  readonly entry: TextEntry
  readonly blocks: readonly StoredBlock[]
}

/** A block, wherever it is. */
interface BlockSource {
  scanned(): Buffer
  originals(): Buffer
}

/** A block in the cache. */
class KeptBlock implements BlockSource {
  readonly #texts: TextCache
  readonly #block: StoredBlock

  constructor(texts: TextCache, block: StoredBlock) {
    this.#texts = texts
    this.#block = block
  }

  scanned(): Buffer {
    return this.#texts.read(this.#block.scanned, true)
  }

  originals(): Buffer {
    return this.#texts.read(this.#block.originals)
  }
}

const NO_SHADOWINGS: ReadonlyMap<number, number> = new Map()

class Search {
  readonly #options: SearchOptions
  readonly #query: Query
  readonly #filter: MessageFilter
  readonly #allTerms: number
  /** For literal queries. */
  readonly #scan: Scan | undefined
  readonly #isScannable: boolean
  readonly #texts: TextCache | undefined
  readonly #pause = makePause()
  readonly #work = { logsRead: 0, bytesRead: 0 }
  readonly #subjects = new Map<string, Subject>()
  #heldLength = 0
  #keepAt = Date.now() + KEEP_EVERY

  constructor(options: SearchOptions) {
    const { query, role, isCurrent, withTools } = options
    this.#options = options
    this.#query = query
    this.#filter = { role, isCurrent }
    this.#allTerms = 2 ** query.terms.length - 1
    this.#isScannable = isScannable(query)
    this.#scan = query.isRegex ? undefined : new Scan(query)
    // Limits and the reading of unknown versions change what a reading gives, so its memory is of no use then.
    const isPlain = !options.allowUnknownVersion && !options.everyRow && Object.keys(options.limits ?? {}).length === 0
    this.#texts = isPlain && !withTools ? options.texts : undefined
  }

  async answer(): Promise<SearchAnswer> {
    const { limit = DEFAULT_LIST_LIMIT, query: _, onProgress: __, ...filters } = this.#options
    const list = await listSessions({ ...filters, limit: Number.POSITIVE_INFINITY, depth: 'headers' })
    const unread: Subject[] = []
    const known: Known[] = []
    for (const session of list.listed) {
      const { path, logKey } = session
      const subject = { session, facts: undefined, result: undefined, held: undefined }
      this.#subjects.set(path, subject)
      const entry = this.#texts?.get(path)
      if (entry?.logKey === logKey) known.push({ subject, entry, blocks: entry.blocks })
      else unread.push(subject)
    }
    await this.#searchKnown(known, unread)
    await this.#searchUnread(unread)
    const found = [...this.#subjects.values()].filter(({ result }) => result !== undefined).sort(bestFirst)
    const shown = found.slice(0, limit)
    return {
      found: shown.map((subject) => foundSession(list.candidateOf(subject.session), subject)),
      total: found.length,
      sessions: list.sessions,
      readable: list.readable,
      issues: this.#issues(list.issues, new Set(shown)),
      work: this.#work,
      linesOf: (session, context) => this.#linesOf(session, context),
      close: async () => this.#texts?.save(),
    }
  }

  // Looking into texts that are kept.

  async #searchKnown(known: Known[], unread: Subject[]): Promise<void> {
    for (const { subject, entry, blocks } of known.sort(inOrderOfPlace)) {
      const turn = this.#pause()
      if (turn) await turn
      throwIfCancelled(this.#options.signal)
      try {
        subject.facts = entry
        subject.result = this.#resultOf(subject, this.#stored(blocks))
      } catch (error) {
        if (!(error instanceof PackDamaged)) throw error
        this.#texts?.forget(subject.session.path)
        unread.push(subject)
      }
    }
  }

  #stored(blocks: readonly StoredBlock[]): BlockSource[] {
    const texts = this.#texts as TextCache
    return blocks.map((block) => new KeptBlock(texts, block))
  }

  #resultOf(subject: Subject, blocks: readonly BlockSource[]): Result | undefined {
    const names = this.#namesOf(subject)
    if (this.#scan) {
      let terms = names.terms
      // Every block, also when no more is missing: none is trusted before its checksum.
      for (const block of blocks) terms = this.#scan.mayHold(new Block(block.scanned()), terms, blocks.length === 1)
      if (terms !== this.#allTerms) return undefined
    }
    if (!this.#isScannable) return this.#judged(names, tallyOf(this.#messagesIn(blocks), this.#query, this.#filter))
    const tally = new Tally()
    const isFiltered = this.#filter.role !== undefined || this.#filter.isCurrent === true
    const shadowings = isFiltered ? shadowingsIn(blocks) : NO_SHADOWINGS
    for (const source of blocks) {
      const block = new Block(source.scanned())
      this.#scan?.count(block, tally, isFiltered ? block.wanted(this.#filter, shadowings) : undefined)
    }
    return this.#judged(names, tally)
  }

  *#messagesIn(blocks: readonly BlockSource[]): Generator<SearchMessage> {
    const shadowings = shadowingsIn(blocks)
    for (const block of blocks) {
      const rows = new Block(block.scanned()).rows(shadowings)
      yield* messagesOf(rows, block.originals())
    }
  }

  #judged(names: Names, tally: Tally): Result | undefined {
    const { namedBy, terms } = names
    if ((terms | tally.found) !== this.#allTerms) return undefined
    const isSingle = this.#query.terms.length === 1
    const closeness = tally.hasPhrase || (isSingle && tally.lines > 0) ? 2 : tally.hasWholeLine ? 1 : 0
    return { namedBy, isNamed: terms === this.#allTerms, closeness, lines: tally.lines }
  }

  #namesOf({ session, facts }: Subject): Names {
    if (this.#filter.role !== undefined) return NO_NAMES
    const { id, cwd } = session
    const title = facts?.title ?? session.title
    let terms = 0
    const namedBy: NamedBy[] = []
    for (const [name, text] of [
      ['title', title],
      ['id', id],
      ['cwd', cwd],
    ] as const) {
      const held = text === undefined ? 0 : this.#termsIn(text.toWellFormed())
      if (held !== 0) namedBy.push(name)
      terms |= held
    }
    return { namedBy, terms }
  }

  #termsIn(text: string): number {
    const searched = searchedForm(text, this.#query)
    let terms = 0
    for (const [index, expression] of this.#query.expressions.entries()) {
      if (isFound(expression, searched, this.#query)) terms |= 1 << index
    }
    return terms
  }

  // Reading logs.

  async #searchUnread(unread: readonly Subject[]): Promise<void> {
    const limited = pLimit(CONCURRENCY)
    const logs = unread.length
    const progress = (): ListProgress => ({ logsRead: this.#work.logsRead, logs })
    try {
      await Promise.all(
        unread.map((subject) =>
          limited(async () => {
            await this.#searchLog(subject)
            this.#work.logsRead++
            await this.#keep()
            this.#options.onProgress?.(progress())
          }),
        ),
      )
    } catch (error) {
      limited.clearQueue()
      throw error
    }
  }

  /** Keeps what was learned so far, now and then: whoever ends a long search shall not have to begin it again. */
  async #keep(): Promise<void> {
    if (Date.now() < this.#keepAt) return
    this.#keepAt = Number.POSITIVE_INFINITY
    await this.#texts?.keep()
    this.#keepAt = Date.now() + KEEP_EVERY
  }

  async #searchLog(subject: Subject): Promise<void> {
    const { path } = subject.session
    throwIfCancelled(this.#options.signal)
    try {
      const earlier = this.#texts?.get(path)
      const memo = earlier && hasGrown(earlier.logKey, subject.session.logKey) ? this.#memo(path, earlier) : undefined
      if (earlier && memo && (await this.#searchGrown(subject, earlier, memo))) return
      const read = await this.#read(path)
      subject.facts = factsOf(subject, read, undefined)
      if (this.#texts) {
        const added = encodeBlocks(read.messages, read.shadowings)
        subject.result = this.#resultOf(subject, added.map(inMemory))
        this.#texts.set(path, subject.facts, { earlier: [], added }, read.memo)
      } else {
        subject.result = this.#judged(this.#namesOf(subject), tallyOf(read.messages, this.#query, this.#filter))
        if (subject.result) this.#hold(subject, read.messages)
      }
    } catch (error) {
      this.#refused(subject, error)
    }
  }

  /** Searches a log of which only the end is new. `false` when what is kept of it is damaged. */
  async #searchGrown(subject: Subject, earlier: TextEntry, memo: TextMemo): Promise<boolean> {
    const { path } = subject.session
    const texts = this.#texts as TextCache
    const read = await this.#read(path, memo)
    const facts = factsOf(subject, read, read.isResumed ? earlier.firstMessage : undefined)
    subject.facts = facts
    let kept = read.isResumed ? earlier.blocks : []
    let added = encodeBlocks(read.messages, read.shadowings)
    try {
      if (isScattered(kept, added.length)) {
        const blocks = [...this.#stored(kept), ...added.map(inMemory)]
        added = encodeBlocks([...this.#messagesIn(blocks)], [])
        kept = []
      }
      subject.result = this.#resultOf(subject, [...this.#stored(kept), ...added.map(inMemory)])
    } catch (error) {
      if (!(error instanceof PackDamaged)) throw error
      texts.forget(path)
      return false
    }
    texts.set(path, facts, { earlier: kept, added }, read.memo)
    return true
  }

  #memo(path: string, entry: TextEntry): TextMemo | undefined {
    try {
      return this.#texts?.memo(entry)
    } catch (error) {
      if (!(error instanceof PackDamaged)) throw error
      this.#texts?.forget(path)
      return undefined
    }
  }

  async #read(path: string, memo?: TextMemo): Promise<LogTexts> {
    const { allowUnknownVersion, everyRow, limits, signal, decoder, withTools = false } = this.#options
    const options: TextOptions = {
      ...(allowUnknownVersion !== undefined && { allowUnknownVersion }),
      ...(everyRow !== undefined && { everyRow }),
      ...(limits && { limits }),
      ...(decoder && { decoder }),
      signal,
      withTools,
      keeps: this.#texts ? undefined : (text) => this.#termsIn(text) !== 0,
    }
    const encoding = parseLogName(basename(path))?.encoding ?? 'raw'
    const read = await readTexts({ kind: 'file', path, encoding }, options, memo)
    this.#work.bytesRead += read.bytesRead
    return read
  }

  /** A log that cannot be read has no texts; its names may be what was looked for. */
  #refused(subject: Subject, error: unknown): void {
    if (!(error instanceof DshRefError) || error.code !== 'SESSION_REFERENCE_READ_FAILED') throw error
    const { path, logKey, title } = subject.session
    const { reason } = error
    const isFirm = reason === 'corrupt' || reason === 'unsupported'
    const health = isFirm ? reason : 'corrupt'
    const issues = [issueOf(error, path)]
    subject.facts = { logKey, health, title, updatedAt: undefined, firstMessage: undefined, issues }
    subject.result = this.#judged(this.#namesOf(subject), new Tally())
    if (isFirm) this.#texts?.set(path, subject.facts, { earlier: [], added: [] }, undefined)
  }

  #hold(subject: Subject, messages: readonly SearchMessage[]): void {
    const length = messages.reduce((sum, { text }) => sum + text.length, 0)
    if (this.#heldLength + length > HELD_LENGTH) return
    this.#heldLength += length
    subject.held = messages
  }

  // Answering.

  async #linesOf(session: FoundSession, context: number): Promise<MatchedLine[]> {
    throwIfCancelled(this.#options.signal)
    const subject = this.#subjects.get(session.path) as Subject
    const options = { ...this.#filter, context }
    const lines = [...matchedLines(await this.#messagesOf(subject), this.#query, options)]
    await this.#pause()
    return lines
  }

  async #messagesOf({ session, held }: Subject): Promise<Iterable<SearchMessage>> {
    const { path } = session
    if (held) return held
    const entry = this.#texts?.get(path)
    try {
      if (entry) return [...this.#messagesIn(this.#stored(entry.blocks))]
    } catch (error) {
      if (!(error instanceof PackDamaged)) throw error
      this.#texts?.forget(path)
    }
    try {
      return (await this.#read(path)).messages
    } catch (error) {
      // It was read a moment ago, and its lines were counted; it is gone now, or of those that cannot be read at all.
      if (!(error instanceof DshRefError) || error.code !== 'SESSION_REFERENCE_READ_FAILED') throw error
      return []
    }
  }

  /** Of a session that is not shown only this is of any interest: that nobody knows whether it should have been. */
  #issues(ofList: readonly Issue[], shown: ReadonlySet<Subject>): Issue[] {
    const isOfOthers = new Set<string>()
    const issues = new Map<string, Issue>()
    const own: Issue[] = []
    for (const subject of this.#subjects.values()) {
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
}

interface Names {
  readonly namedBy: readonly NamedBy[]
  /** Terms that occur in any of them, as bits. */
  readonly terms: number
}

const NO_NAMES: Names = { namedBy: [], terms: 0 }

function inMemory({ scanned, originals }: { scanned: Buffer; originals: Buffer }): BlockSource {
  return { scanned: () => scanned, originals: () => originals }
}

function shadowingsIn(blocks: readonly BlockSource[]): ReadonlyMap<number, number> {
  // What is said of earlier blocks stands in later ones.
  if (blocks.length === 1) return NO_SHADOWINGS
  return new Map(blocks.flatMap((block) => new Block(block.scanned()).shadowings))
}

function isScattered(blocks: readonly StoredBlock[], added: number): boolean {
  const bytes = blocks.reduce((sum, { scanned }) => sum + scanned.length, 0)
  return blocks.length > 0 && blocks.length + added > MAX_BLOCKS + bytes / ROOMY_BLOCK_BYTES
}

function inOrderOfPlace({ blocks: [one] }: Known, { blocks: [other] }: Known): number {
  if (!one || !other) return (one ? 1 : 0) - (other ? 1 : 0)
  if (one.scanned.pack !== other.scanned.pack) return one.scanned.pack < other.scanned.pack ? -1 : 1
  return one.scanned.offset - other.scanned.offset
}

function factsOf({ session: { logKey } }: Subject, read: LogTexts, firstMessage: string | undefined): TextFacts {
  const { health, title, updatedAt, issues } = read
  return { logKey, health, title, updatedAt, firstMessage: firstMessage ?? read.firstMessage, issues }
}

function foundSession(candidate: Candidate, { facts, result }: Subject): FoundSession {
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
function bestFirst(one: Subject, other: Subject): number {
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
