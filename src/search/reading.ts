// Reads the texts of one log that a search looks at: what was said on the surface and what replacements have taken off it.
// A log that has grown is read on from where it ended. How texts are kept is blocks.ts and text-cache.ts.

import {
  type DecodeOptions,
  decodeLog,
  type LogFacts,
  type LogReader,
  type LogSource,
  type ResumePoint,
} from '../decode/decode.ts'
import { DshRefError, readFailed } from '../errors.ts'
import { isViolation, SurfaceFold } from '../fold/fold.ts'
import { readLongestPrefix } from '../fold/salvage.ts'
import { foldRefusal } from '../fold/surface.ts'
import { type LogReading, readingOf } from '../list/index-entry.ts'
import { project } from '../project/project.ts'
import { openingOf, titleOf } from '../project/title.ts'
import type { Issue, LogOnlyEvent, SessionHeader, SurfaceEvent, SurfaceMessage, SurfaceType } from '../types.ts'
import type { SearchMessage, Shadowing } from './messages.ts'

/** Options of reading texts. */
export interface TextOptions extends Omit<DecodeOptions, 'texts' | 'resumeFrom' | 'untilSeq'> {
  /** Read the results of tools as well. */
  readonly withTools?: boolean
  /** Texts of no interest need not be kept. Default: all are kept. */
  readonly keeps?: ((text: string) => boolean) | undefined
}

/** What reading a log gave: all of it, or what was added to it; the first message is of those that were read. */
export interface LogTexts extends LogReading {
  /** In log order; with `isResumed` only those that were added. */
  readonly messages: readonly SearchMessage[]
  readonly isResumed: boolean
  /** Messages read earlier that were replaced since. */
  readonly shadowings: readonly Shadowing[]
  readonly issues: readonly Issue[]
  /** Where to go on when the log has grown; absent when it will have to be read from its beginning. */
  readonly memo: TextMemo | undefined
  readonly bytesRead: number
}

/** Where the reading of a log ended, and its surface there. JSON. */
export interface TextMemo {
  readonly header: SessionHeader
  readonly point: ResumePoint
  readonly title?: string
  /** Seqs on the surface, in surface order, and a letter for the type of each. */
  readonly seqs: readonly number[]
  readonly types: string
}

/**
 * Reads the texts of a log; of a corrupt one those of its longest valid prefix, which is an issue. With `memo` only what
 * was added since is read; when that does not fit, the whole log. Throws `READ_FAILED` when nothing can be read, `CANCELLED`.
 */
export async function readTexts(
  source: Extract<LogSource, { kind: 'file' }>,
  options: TextOptions,
  memo?: TextMemo,
): Promise<LogTexts> {
  if (memo) {
    try {
      return textsOf(
        await readOnce(source, options, { resumeFrom: { header: memo.header, point: memo.point } }, memo),
        true,
      )
    } catch (error) {
      // The rest alone cannot always be judged: a replacement may look into a result that is not at hand. The whole log decides.
      if (!(error instanceof DshRefError) || error.code !== 'SESSION_REFERENCE_READ_FAILED') throw error
    }
  }
  return textsOf(await readLongestPrefix(source, (how) => readOnce(source, options, how)), false)
}

type Read = LogFacts & { readonly reader: TextReader }

async function readOnce(
  source: LogSource,
  { withTools = false, keeps, ...options }: TextOptions,
  how: Pick<DecodeOptions, 'untilSeq' | 'allowFullHeaderFrame' | 'resumeFrom'>,
  memo?: TextMemo,
): Promise<Read> {
  const texts = withTools ? 'all' : 'conversation'
  const { result, facts } = await decodeLog(source, (header) => new TextReader(header, { withTools, keeps, memo }), {
    ...options,
    ...how,
    texts,
  })
  return { ...facts, reader: result }
}

function textsOf(read: Read & { readonly degraded?: unknown }, isResumed: boolean): LogTexts {
  const { reader, issues, header, resumePoint, work } = read
  const { title, firstMessage } = reader
  const reading = readingOf({ ...read, title, firstMessage })
  return {
    ...reading,
    health: read.degraded === undefined ? reading.health : 'corrupt',
    messages: reader.messages,
    isResumed,
    shadowings: reader.shadowings,
    issues,
    memo: read.degraded === undefined && resumePoint ? reader.memoAt(header, resumePoint) : undefined,
    bytesRead: work.bytesRead,
  }
}

const TYPE_LETTERS: Readonly<Record<SurfaceType, string>> = {
  'user/message': 'u',
  'assistant/message': 'a',
  'tool/result': 't',
  'system/message': 's',
  'developer/message': 'd',
}
const TYPE_OF_LETTER = new Map(Object.entries(TYPE_LETTERS).map(([type, letter]) => [letter, type as SurfaceType]))

interface ReaderOptions extends Pick<TextOptions, 'keeps'> {
  readonly withTools: boolean
  readonly memo: TextMemo | undefined
}

/** Folds a log and collects texts: when they are replaced, or at the end. */
class TextReader implements LogReader<TextReader> {
  readonly messages: SearchMessage[] = []
  readonly shadowings: Shadowing[] = []
  title: string | undefined
  #firstSeq = Number.POSITIVE_INFINITY
  #firstMessage: string | undefined
  readonly #fold: SurfaceFold
  readonly #options: ReaderOptions
  /** Results of tools, which are read as they come: a log may hold more of them than memory does. */
  readonly #results = new Map<number, SearchMessage>()
  #isBehindMark = false

  constructor(header: SessionHeader, options: ReaderOptions) {
    this.#options = options
    this.#fold = new SurfaceFold(header.version)
    const { memo } = options
    if (!memo) return
    this.title = memo.title
    this.#fold.seed(memo.seqs.map((seq, at) => new EarlierEvent(seq, TYPE_OF_LETTER.get(memo.types[at] as string))))
  }

  get firstMessage(): string | undefined {
    return this.#firstMessage
  }

  surface(event: SurfaceEvent): void {
    this.#isBehindMark = true
    const plan = this.#fold.plan(event)
    if (isViolation(plan)) throw foldRefusal(plan)
    // Applying releases the bytes of what is shadowed, so its text is read before.
    if (plan.kind === 'replace') for (const node of plan.shadowed) this.#shadow(node.event, event.seq)
    this.#fold.apply(plan)
    if (this.#options.withTools && event.type === 'tool/result') this.#keepResult(event.message())
  }

  logOnly(event: LogOnlyEvent): void {
    const violation = this.#fold.checkLogOnly(event)
    if (violation) throw foldRefusal(violation, event.isKnown ? 'corrupt' : 'unsupported')
    if (event.type === 'session/title') {
      this.#isBehindMark = true
      this.title = titleOf(event.data()) ?? this.title
    } else if (event.type === 'request/header') this.#fold.noteRequestHeader(event.seq, () => event.data())
  }

  mark(): void {
    this.#isBehindMark = false
  }

  finish(): TextReader {
    for (const event of this.#fold.events()) {
      if (event instanceof EarlierEvent) continue
      // Read whatever it is, so that a log is refused for the messages a transcript is refused for.
      this.#keep(event.message(), undefined)
    }
    this.messages.push(...this.#results.values())
    this.messages.sort((one, other) => one.seq - other.seq)
    return this
  }

  /** The memo of this reading; `undefined` when rows behind the point are part of it. */
  memoAt(header: SessionHeader, point: ResumePoint): TextMemo | undefined {
    if (this.#isBehindMark) return undefined
    const seqs: number[] = []
    let types = ''
    for (const { seq, type } of this.#fold.events()) {
      seqs.push(seq)
      types += TYPE_LETTERS[type]
    }
    return { header, point, ...(this.title !== undefined && { title: this.title }), seqs, types }
  }

  #shadow(event: SurfaceEvent, bySeq: number): void {
    const { seq, type } = event
    const result = this.#results.get(seq)
    if (result) this.#results.set(seq, { ...result, shadowedBySeq: bySeq })
    if (type !== 'user/message' && type !== 'assistant/message') return
    if (event instanceof EarlierEvent) this.shadowings.push([seq, bySeq])
    else this.#keep(event.message(), bySeq)
  }

  #keep(message: SurfaceMessage, shadowedBySeq: number | undefined): void {
    const [projected] = project([message]).messages
    if (!projected) return
    const { seq, role, checkpoint } = projected
    const text = projected.text.toWellFormed()
    const opening = seq < this.#firstSeq ? openingOf(message) : undefined
    if (opening !== undefined) {
      this.#firstSeq = seq
      this.#firstMessage = opening
    }
    if (this.#options.keeps?.(text) === false) return
    this.messages.push({ seq, role, checkpoint, text, ...(shadowedBySeq !== undefined && { shadowedBySeq }) })
  }

  #keepResult({ seq, text: stored }: SurfaceMessage): void {
    const text = stored.toWellFormed()
    if (text === '' || this.#options.keeps?.(text) === false) return
    this.#results.set(seq, { seq, role: 'tool', checkpoint: false, text })
  }
}

/** An event on the surface as an earlier reading left it, of which nothing else is known. */
class EarlierEvent implements SurfaceEvent {
  readonly seq: number
  readonly type: SurfaceType
  readonly time = 0
  readonly surfaceOp = 'append'
  readonly sourceEventSeqs = undefined

  constructor(seq: number, type: SurfaceType | undefined) {
    if (!type) throw notAtHand(seq)
    this.seq = seq
    this.type = type
  }

  message(): never {
    throw notAtHand(this.seq)
  }

  counted(): undefined {}

  data(): never {
    throw notAtHand(this.seq)
  }

  release(): void {}
}

function notAtHand(seq: number): DshRefError {
  return readFailed('unreadable', `The event at seq ${seq} was read earlier, and is needed again`, {
    rule: 'resume',
    seq,
  })
}
