// Finds the sessions in which something was said: which sessions there are is candidates.ts, what is looked for query.ts, who
// has it judge.ts. The texts of a log are read once and kept by text-cache.ts; looks become strings in render/search.ts.

import { basename } from 'node:path'
import pLimit from 'p-limit'
import { DshRefError, throwIfCancelled } from '../errors.ts'
import { DEFAULT_LIST_LIMIT, listSessions } from '../list/candidates.ts'
import { hasGrown } from '../list/file-state.ts'
import type { ListOptions, ListProgress } from '../list/list-options.ts'
import { parseLogName } from '../locate/paths.ts'
import { issueOf } from '../locate/scan.ts'
import { makePause } from '../pause.ts'
import { firstLineOf } from '../project/title.ts'
import type { Issue } from '../types.ts'
import { type BlockSource, inMemory, isScattered, keptBlocks, messagesIn } from './block-sources.ts'
import { encodeBlocks, type MessageFilter } from './blocks.ts'
import { bestFirst, type FoundSession, foundSession, issuesOf, type Subject } from './found.ts'
import { Judge, type Names } from './judge.ts'
import { type MatchedLine, matchedLines, tallyOf } from './lines.ts'
import type { SearchMessage, SearchRole } from './messages.ts'
import { PackDamaged } from './packs.ts'
import type { Query } from './query.ts'
import { type LogTexts, readTexts, type TextMemo, type TextOptions } from './reading.ts'
import type { TextCache } from './text-cache.ts'
import type { StoredBlock, TextEntry, TextFacts } from './text-entry.ts'

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
  /** Masks the secrets of a whole first message, before its beginning is shown; names and lines are the caller's to mask. */
  readonly mask?: ((text: string) => string) | undefined
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
  /**
   * The matching lines of a session that was found, in log order, with some lines that are not blank around each. With
   * `mask` they are those lines of the masked messages that match.
   */
  linesOf(session: FoundSession, context: number, mask?: (text: string) => string): Promise<MatchedLine[]>
  /** Keeps what was learned. */
  close(): Promise<void>
}

/** Logs read at once: the work is the processor's, not the disk's. */
const CONCURRENCY = 2

/** Texts kept in memory for what is shown, when there is no cache to keep them, in characters. */
const HELD_LENGTH = 8 * 1024 * 1024

/** Time between two writings of what a long search has learned, in milliseconds. */
const KEEP_EVERY = 10_000

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

/** A session of which all texts are kept. */
interface Known {
  readonly subject: Subject
  readonly entry: TextEntry
  readonly blocks: readonly StoredBlock[]
}

class Search {
  readonly #options: SearchOptions
  readonly #filter: MessageFilter
  readonly #judge: Judge
  readonly #texts: TextCache | undefined
  readonly #pause = makePause()
  readonly #work = { logsRead: 0, bytesRead: 0 }
  readonly #subjects = new Map<string, Subject>()
  #heldLength = 0
  #keepAt = Date.now() + KEEP_EVERY

  constructor(options: SearchOptions) {
    const { query, role, isCurrent, withTools } = options
    this.#options = options
    this.#filter = { role, isCurrent }
    this.#judge = new Judge(query, this.#filter)
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
    if (this.#options.mask) for (const subject of shown) await this.#maskFirstMessage(subject, this.#options.mask)
    return {
      found: shown.map((subject) => foundSession(list.candidateOf(subject.session), subject)),
      total: found.length,
      sessions: list.sessions,
      readable: list.readable,
      issues: issuesOf(this.#subjects.values(), list.issues, new Set(shown)),
      work: this.#work,
      linesOf: (session, context, mask) => this.#linesOf(session, context, mask),
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
        subject.result = this.#judge.ofBlocks(this.#namesOf(subject), this.#stored(blocks))
      } catch (error) {
        if (!(error instanceof PackDamaged)) throw error
        this.#texts?.forget(subject.session.path)
        unread.push(subject)
      }
    }
  }

  #stored(blocks: readonly StoredBlock[]): BlockSource[] {
    return keptBlocks(this.#texts as TextCache, blocks)
  }

  #namesOf({ session: { id, cwd, title }, facts }: Subject): Names {
    return this.#judge.namesOf({ title: facts?.title ?? title, id, cwd })
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
        subject.result = this.#judge.ofBlocks(this.#namesOf(subject), added.map(inMemory))
        this.#texts.set(path, subject.facts, { earlier: [], added }, read.memo)
      } else {
        subject.result = this.#judge.ofMessages(this.#namesOf(subject), read.messages)
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
        added = encodeBlocks([...messagesIn(blocks)], [])
        kept = []
      }
      const blocks = [...this.#stored(kept), ...added.map(inMemory)]
      subject.result = this.#judge.ofBlocks(this.#namesOf(subject), blocks)
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
      // The first message is needed whole where it is to be masked.
      keeps: this.#texts || this.#options.mask ? undefined : (text) => this.#judge.termsIn(text) !== 0,
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
    subject.result = this.#judge.ofNames(this.#namesOf(subject))
    if (isFirm) this.#texts?.set(path, subject.facts, { earlier: [], added: [] }, undefined)
  }

  #hold(subject: Subject, messages: readonly SearchMessage[]): void {
    const length = messages.reduce((sum, { text }) => sum + text.length, 0)
    if (this.#heldLength + length > HELD_LENGTH) return
    this.#heldLength += length
    subject.held = messages
  }

  // Answering.

  async #linesOf(
    session: FoundSession,
    context: number,
    mask: ((text: string) => string) | undefined,
  ): Promise<MatchedLine[]> {
    throwIfCancelled(this.#options.signal)
    const subject = this.#subjects.get(session.path) as Subject
    const options = { ...this.#filter, context }
    const messages = await this.#messagesOf(subject)
    const lines = [...matchedLines(mask ? this.#masked(messages, mask) : messages, this.#options.query, options)]
    await this.#pause()
    return lines
  }

  /** Messages with matches, each masked as a whole. */
  *#masked(messages: Iterable<SearchMessage>, mask: (text: string) => string): Generator<SearchMessage> {
    for (const message of messages) {
      if (tallyOf([message], this.#options.query, this.#filter).lines > 0)
        yield { ...message, text: mask(message.text) }
    }
  }

  /** What is kept of the first message is a piece, which may hold half a secret: it is made anew of the masked whole. */
  async #maskFirstMessage(subject: Subject, mask: (text: string) => string): Promise<void> {
    if (subject.facts?.firstMessage === undefined) return
    let first: SearchMessage | undefined
    for (const message of await this.#messagesOf(subject)) {
      const isTurn = message.role === 'user' && !message.checkpoint
      if (isTurn && (first === undefined || message.seq < first.seq)) first = message
    }
    subject.facts = { ...subject.facts, firstMessage: first && firstLineOf(mask(first.text)) }
  }

  async #messagesOf({ session, held }: Subject): Promise<Iterable<SearchMessage>> {
    const { path } = session
    if (held) return held
    const entry = this.#texts?.get(path)
    try {
      if (entry) return [...messagesIn(this.#stored(entry.blocks))]
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
