// Reads one session log, raw or zstd, from a file or a stream, and hands its accepted events to a visitor (FORMAT.md
// sections 7 and 8). One pass, bounded memory; nothing on disk is changed.

import { isUtf8 } from 'node:buffer'
import { type BigIntStats, closeSync, fstatSync, openSync, read, readSync, type Stats, statSync } from 'node:fs'
import { promisify } from 'node:util'
import { cancelled, DshRefError, readFailed, throwIfCancelled, unreadable } from '../errors.ts'
import { makePause } from '../pause.ts'
import type { Issue, ReadingMode, SessionHeader } from '../types.ts'
import { type AcceptanceState, type LogVisitor, RowAcceptance } from './acceptance.ts'
import { decodeHeader } from './header.ts'
import { HEADER_PIECE_BYTES, READ_ONLY } from './header-peek.ts'
import { IssueLog } from './issues.ts'
import { KeptRows, type WantedTexts } from './kept-row.ts'
import { DEFAULT_LIMITS, type DecodeLimits, LARGEST_ROW_BYTES } from './limits.ts'
import { LineSplitter } from './lines.ts'
import { decodeUtf8 } from './records.ts'
import { FileRowStore, MemoryRowStore, ROOMY_BYTES, type RowStore } from './row-store.ts'
import { type Change, FileWatch } from './stability.ts'
import type { ZstdDecoder, ZstdReader } from './zstd.ts'

export type { LogVisitor } from './acceptance.ts'

/** How the bytes of a log are stored. */
export type LogEncoding = 'raw' | 'zstd'

/** A header holds a few names and paths; a file without newlines must not be read to its end to find none. */
const MAX_HEADER_BYTES = 1024 * 1024

/** A log to read. `name` is what messages call it: the path, or `<stdin>`. */
export type LogSource =
  | {
      readonly kind: 'file'
      readonly path: string
      readonly encoding: LogEncoding
      readonly mode?: ReadingMode
      /** Whose log it was when it was located; a header that names another session means that it was replaced since. */
      readonly sessionId?: string
      /** Why the log is refused unless it is salvaged, although its bytes can be read. */
      readonly refusal?: DshRefError
    }
  | {
      readonly kind: 'bytes'
      readonly name: string
      readonly bytes: AsyncIterable<Uint8Array>
      readonly encoding: LogEncoding
    }

/** Options of one read. */
export interface DecodeOptions {
  readonly allowUnknownVersion?: boolean
  readonly limits?: Partial<DecodeLimits>
  readonly signal?: AbortSignal | undefined
  /**
   * Read everything, as `check` does: parse every row, and, where there is a fold, read every message. By default rows that
   * cannot matter are read by their first and last bytes, and messages that nobody asks for not at all.
   */
  readonly everyRow?: boolean
  /** Take a first frame that holds more than the header, as packing a log anew makes it; for salvage. */
  readonly allowFullHeaderFrame?: boolean
  /** Accept events through this seq only and end the log there, as if it had no more; for salvage. */
  readonly untilSeq?: number
  /**
   * Whose texts somebody will ask for: with `conversation` those of user and assistant messages, which is all that
   * projection keeps; the others read as empty and take no memory. Default: all.
   */
  readonly texts?: WantedTexts
  /** Memory, in bytes, for the surface rows of a log that cannot be read again by place, above which they are made slim. */
  readonly roomyBytes?: number
  /** zstd decoder; the default is the best there is for each frame (zstd.ts). */
  readonly decoder?: ZstdDecoder
  /**
   * Go on where an earlier read of the same file ended; the visitor sees only what was added since. Refuses with
   * `unreadable` when the bytes before that point are not the ones that were read. Files only.
   */
  readonly resumeFrom?: { readonly header: SessionHeader; readonly point: ResumePoint }
}

/** A place between two rows (raw) or frames (zstd) up to which everything was accepted, and what is known there. JSON. */
export interface ResumePoint {
  /** Byte of the file. */
  readonly offset: number
  /** The last bytes before it, base64. */
  readonly tail: string
  readonly plaintextBytes: number
  readonly frames: number
  readonly acceptance: AcceptanceState
  /** Issues of the header; those of rows are in `acceptance`. */
  readonly issues: readonly Issue[]
}

/** What is known about a log once it was read to its end. */
export interface LogFacts {
  readonly header: SessionHeader
  readonly formatVersion: number
  /** Seq of the last event stored; `null` for a log without events. */
  readonly capturedThroughSeq: number | null
  /** Time of that event, epoch milliseconds; `createdAt` for a log without events. */
  readonly updatedAt: number
  readonly hasOpenTurn: boolean
  readonly isTorn: boolean
  readonly issues: readonly Issue[]
  /** Work done, for tests and benchmarks. */
  readonly work: {
    readonly bytesRead: number
    readonly rows: number
    readonly parsedRows: number
    readonly frames: number
  }
  /** Where a later read can go on; absent when nothing was accepted whole, or the visitor takes no `mark`. */
  readonly resumePoint?: ResumePoint
}

/** A visitor that says what it made of the log, while messages can still be read. */
export interface LogReader<T> extends LogVisitor {
  finish(): T
  /** Called at every place where a later read could go on; the last one becomes the `resumePoint`. */
  mark?(): void
}

const READ_BYTES = 1024 * 1024

/** A log no longer than this is read in one synchronous call, in a third of the time that asking for it and waiting takes. */
const SMALL_LOG_BYTES = 64 * 1024

/** Between reads: thousands of small logs may be read one after another, and not one of them waits for anything. */
const pause = makePause()

const readLater = promisify(read)

/**
 * Reads `source` and returns what the visitor made of it, with the facts of the log. A file that changed under the read is
 * read once more, with a visitor made anew. Throws `READ_FAILED` (`unreadable`, `unsupported`, `corrupt`) naming file, line
 * or frame, and seq; `CANCELLED` when the signal fires.
 */
export async function decodeLog<T>(
  source: LogSource,
  visit: (header: SessionHeader) => LogReader<T>,
  options: DecodeOptions = {},
): Promise<{ result: T; facts: LogFacts }> {
  const name = source.kind === 'file' ? source.path : source.name
  try {
    throwIfCancelled(options.signal)
    if (source.kind === 'bytes') {
      return await readBytes(source.bytes, new LogDecoding(name, source.encoding, 'native', visit, options))
    }
    return await readFile(source, visit, options)
  } catch (error) {
    throw named(error, name, options.signal)
  }
}

/** The options that matter for a header. */
export type HeaderOptions = Pick<
  DecodeOptions,
  'allowUnknownVersion' | 'limits' | 'signal' | 'decoder' | 'allowFullHeaderFrame'
>

/**
 * Reads the header of a log, and of a zstd log its first frame only. Throws as `decodeLog` does. File calls are
 * synchronous, which lists thousands of logs in half the time; callers that loop let the event loop have its turn.
 */
export async function readLogHeader(
  source: Extract<LogSource, { kind: 'file' }>,
  options: HeaderOptions = {},
): Promise<{ header: SessionHeader; issues: readonly Issue[]; bytesRead: number }> {
  try {
    return await stable(source.path, options.signal, (earlier) => readHeaderOnce(source, options, earlier))
  } catch (error) {
    throw named(error, source.path, options.signal)
  }
}

async function readHeaderOnce(
  { path, encoding }: Extract<LogSource, { kind: 'file' }>,
  options: HeaderOptions,
  earlier: FileWatch | undefined,
): Promise<Attempt<{ header: SessionHeader; issues: readonly Issue[]; bytesRead: number }>> {
  using file = openLog(path)
  const { descriptor, watch } = file
  const decoding = new LogDecoding(path, encoding, 'native', () => ({ finish: () => undefined }), options)
  const buffer = Buffer.allocUnsafe(HEADER_PIECE_BYTES)
  try {
    for (let position = 0; position < watch.size; ) {
      const bytesRead = readSync(descriptor, buffer, 0, HEADER_PIECE_BYTES, position)
      if (bytesRead === 0) throw changed(path)
      const piece = buffer.subarray(0, bytesRead)
      watch.remember(piece, position)
      position += bytesRead
      const decoded = await decoding.pushHeader(piece)
      // One row, mostly in one piece: that much is not worth a second look.
      if (decoded) return { value: { ...decoded, bytesRead: position }, change: 'none' }
    }
    await decoding.end()
    throw new Error('A log without a header was read to its end')
  } catch (error) {
    return failure(error, watch, earlier)
  }
}

async function readFile<T>(
  source: Extract<LogSource, { kind: 'file' }>,
  visit: (header: SessionHeader) => LogReader<T>,
  options: DecodeOptions,
): Promise<{ result: T; facts: LogFacts }> {
  await pause()
  throwIfCancelled(options.signal)
  return stable<{ result: T; facts: LogFacts }>(source.path, options.signal, async (earlier) => {
    using file = openLog(source.path)
    const { watch } = file
    try {
      const value = await readFileOnce(source, file, visit, options)
      return { value, change: watch.change() }
    } catch (error) {
      return failure(error, watch, earlier)
    }
  })
}

/** One read of a file, and what happened to the file meanwhile. */
type Attempt<T> =
  | { readonly value: T; readonly change: Change }
  | { readonly error: unknown; readonly watch: FileWatch; readonly change: Change; readonly sinceEarlier: Change }

function failure(error: unknown, watch: FileWatch, earlier: FileWatch | undefined): Attempt<never> {
  return { error, watch, change: watch.change(), sinceEarlier: earlier ? watch.changeSince(earlier) : 'none' }
}

/** Time before a log that changed under the reader is read again, in milliseconds: whoever rewrites it may be done then. */
const RETRY_AFTER_MILLISECONDS = 30

/**
 * Reads a file that may be written to meanwhile. What was added behind the bytes read does no harm. After any other change
 * the file is read once more; if it changes again, the refusal says so. A log is called damaged only when it stayed the
 * same, or grew, and twice gave the same reason.
 */
async function stable<T>(
  path: string,
  signal: AbortSignal | undefined,
  attempt: (earlier?: FileWatch) => Promise<Attempt<T>>,
): Promise<T> {
  const first = await attempt()
  if ('value' in first) {
    if (isHarmless(first.change)) return first.value
  } else if (!isAboutContent(first.error) || (first.change === 'none' && first.watch.isSettled)) throw first.error
  // Loaded when it is needed, which is seldom.
  const { setTimeout } = await import('node:timers/promises')
  await setTimeout(RETRY_AFTER_MILLISECONDS, undefined, { ...(signal && { signal }) })

  const second = await attempt('watch' in first ? first.watch : undefined)
  if ('value' in second) {
    if (second.change !== 'rewritten') return second.value
    throw changed(path)
  }
  const { error, watch, change, sinceEarlier } = second
  if (!isAboutContent(error)) throw error
  const isSame = 'error' in first && (first.error as Error).message === (error as Error).message
  const isFirm = isSame ? isHarmless(change) && isHarmless(sinceEarlier) : change === 'none' && watch.isSettled
  throw isFirm ? error : changed(path, error)
}

function isHarmless(change: Change): boolean {
  return change === 'none' || change === 'grown'
}

/** Whether a refusal may come from bytes that were written while they were read. */
function isAboutContent(error: unknown): boolean {
  if (!(error instanceof DshRefError)) return false
  const { reason, facts } = error
  return reason === 'corrupt' || reason === 'unsupported' || facts.rule === CHANGED
}

async function readFileOnce<T>(
  { path, encoding, mode = 'native', sessionId }: Extract<LogSource, { kind: 'file' }>,
  file: OpenLog,
  visit: (header: SessionHeader) => LogReader<T>,
  options: DecodeOptions,
): Promise<{ result: T; facts: LogFacts }> {
  const { descriptor, watch } = file
  const { size } = watch
  const resumed = options.resumeFrom?.point
  if (resumed && tailOf(descriptor, resumed.offset) !== resumed.tail) throw rewritten(path)
  const visitSame = (header: SessionHeader) => {
    if (sessionId !== undefined && header.id !== sessionId) throw changed(path)
    return visit(header)
  }
  const store = encoding === 'raw' ? new FileRowStore(descriptor, path) : undefined
  const decoding = new LogDecoding(path, encoding, mode, visitSame, options, store)
  let position = resumed?.offset ?? 0
  // Two buffers: the next piece is read while this one is decoded. No larger than the log, for there are many small ones.
  const bufferBytes = Math.min(READ_BYTES, size - position)
  const buffers: (Buffer | undefined)[] = [undefined, undefined]
  const readPiece = async (index: number, from: number) => {
    const buffer = (buffers[index % 2] ??= Buffer.allocUnsafeSlow(bufferBytes))
    const length = Math.min(bufferBytes, size - from)
    if (size <= SMALL_LOG_BYTES) return buffer.subarray(0, readSync(descriptor, buffer, 0, length, from))
    const { bytesRead } = await readLater(descriptor, buffer, 0, length, from)
    return buffer.subarray(0, bytesRead)
  }
  let next = size > position ? readPiece(0, position) : undefined
  for (let index = 1; next; index++) {
    const piece = await next
    throwIfCancelled(options.signal)
    if (piece.length === 0) throw changed(path)
    watch.remember(piece, position)
    position += piece.length
    next = position < size ? readPiece(index, position) : undefined
    try {
      await decoding.push(piece)
    } catch (error) {
      await next?.catch(() => undefined) // the refusal stands; the read under way only must not outlive the file
      throw decoding.withReach(error)
    }
    if (decoding.isDone) {
      await next
      break
    }
  }
  const outcome = await decoding.endWithReach()
  const { resumePoint } = outcome.facts
  const tail = resumePoint && tailOf(descriptor, resumePoint.offset)
  if (!resumePoint || tail === undefined) return outcome
  return { ...outcome, facts: { ...outcome.facts, resumePoint: { ...resumePoint, tail } } }
}

/** Bytes by which a place in a log is known again: the end of a row with its time, or of a frame with its checksum. */
const TAIL_BYTES = 64

function tailOf(descriptor: number, offset: number): string {
  const start = Math.max(0, offset - TAIL_BYTES)
  const buffer = Buffer.alloc(TAIL_BYTES)
  return buffer.toString('base64', 0, readSync(descriptor, buffer, 0, offset - start, start))
}

async function readBytes<T>(
  bytes: AsyncIterable<Uint8Array>,
  decoding: LogDecoding<T>,
): Promise<{ result: T; facts: LogFacts }> {
  try {
    for await (const piece of bytes) await decoding.push(piece)
  } catch (error) {
    throw decoding.withReach(error)
  }
  return decoding.endWithReach()
}

function checkRegular(path: string, state: Stats | BigIntStats): void {
  if (state.isFile()) return
  throw readFailed(
    'unreadable',
    `${path} is ${state.isDirectory() ? 'a directory' : 'no regular file'}, not a session log`,
    { file: path },
  )
}

/** A log that is open for reading. */
interface OpenLog {
  readonly descriptor: number
  readonly watch: FileWatch
  [Symbol.dispose](): void
}

function openLog(path: string): OpenLog {
  // Looked at before it is opened: opening a FIFO lets the writer at its other end go on, opening a tape winds it back.
  checkRegular(path, statSync(path))
  const descriptor = openSync(path, READ_ONLY)
  try {
    const state = fstatSync(descriptor, { bigint: true })
    checkRegular(path, state)
    return { descriptor, watch: new FileWatch(descriptor, state), [Symbol.dispose]: () => closeSync(descriptor) }
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

/** Thrown inside a header-only read to leave the rest of a piece alone; never leaves this file. */
const HEADER_IS_KNOWN = new Error('The header is known')

/** Thrown when the last wanted event is verified, to leave the frames behind it alone; never leaves this file. */
const LOG_IS_DONE = new Error('The wanted events are read')

/** The decoding of one log: bytes in, events out. */
class LogDecoding<T> {
  readonly #name: string
  readonly #encoding: LogEncoding
  readonly #mode: ReadingMode
  readonly #visit: (header: SessionHeader) => LogReader<T>
  readonly #options: DecodeOptions
  readonly #limits: DecodeLimits
  readonly #store: RowStore | undefined
  readonly #issues: IssueLog
  readonly #lines: LineSplitter
  readonly #resumed: ResumePoint | undefined
  #acceptance: RowAcceptance | undefined
  #reader: LogReader<T> | undefined
  #zstd: ZstdReader | undefined
  #bytesRead = 0
  #plaintextBytes = 0
  #frames = 0
  #verifiedEvents = 0
  /** How the plaintext stood where the last complete frame ended. */
  #atFrameEnd = { isInsideRow: false, hasOffence: false }
  #isHeaderOnly = false
  #resumePoint: ResumePoint | undefined
  #blockStart = 0
  #blockEnd = 0

  constructor(
    name: string,
    encoding: LogEncoding,
    mode: ReadingMode,
    visit: (header: SessionHeader) => LogReader<T>,
    options: DecodeOptions,
    store?: RowStore,
  ) {
    this.#name = name
    this.#encoding = encoding
    this.#mode = mode
    this.#visit = visit
    this.#options = options
    const limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#limits = { ...limits, maxRowBytes: Math.min(limits.maxRowBytes, LARGEST_ROW_BYTES) }
    this.#store = store
    this.#lines = new LineSplitter(
      {
        block: (bytes, start, end) => this.#block(bytes, start, end),
        row: (bytes, start, end, offset) => this.#row(bytes, start, end, offset),
        refuseRow: (limitBytes, offset) => this.#refuseRow(limitBytes, offset),
      },
      Math.min(MAX_HEADER_BYTES, this.#limits.maxRowBytes),
      options.resumeFrom?.point.plaintextBytes,
    )
    this.#resumed = options.resumeFrom?.point
    this.#issues = new IssueLog(this.#resumed?.issues)
    if (options.resumeFrom) this.#resume(options.resumeFrom)
  }

  /** Whether the rest of the bytes need not be read: all wanted events are accepted and their frame is verified. */
  get isDone(): boolean {
    if (!this.#acceptance?.isDone) return false
    return this.#encoding === 'raw' || this.#verifiedEvents === this.#acceptance.expectedSeq
  }

  /** Puts into a refusal how far the log could be read: the seq of the last event that stands firm. */
  withReach(error: unknown): unknown {
    const isCorrupt = error instanceof DshRefError && error.reason === 'corrupt'
    if (!isCorrupt || !this.#acceptance) return error
    const { seq, frame } = error.facts
    const accepted = this.#acceptance.expectedSeq
    const firm =
      typeof seq === 'number' ? Math.min(seq, accepted) : frame === undefined ? accepted : this.#verifiedEvents
    return new DshRefError(
      error.code,
      error.message,
      { ...error.facts, throughSeq: firm === 0 ? null : firm - 1 },
      { cause: error.cause },
    )
  }

  /** Ends the log as `end` does; a refusal then says how far the log could be read. */
  async endWithReach(): Promise<{ result: T; facts: LogFacts }> {
    try {
      return await this.end()
    } catch (error) {
      throw this.withReach(error)
    }
  }

  /** Whether the header must stand in a frame of its own. */
  get #isHeaderFrameChecked(): boolean {
    return this.#encoding === 'zstd' && this.#options.allowFullHeaderFrame !== true
  }

  async push(piece: Uint8Array): Promise<void> {
    if (this.isDone) return
    this.#bytesRead += piece.length
    if (this.#encoding === 'raw') {
      this.#plaintext(piece)
      return
    }
    this.#zstd ??= await createReader({
      ...(this.#options.decoder && { decoder: this.#options.decoder }),
      maxWindowBytes: this.#limits.maxWindowBytes,
      onBytes: (chunk, frame) => this.#frameBytes(chunk, frame + (this.#resumed?.frames ?? 0)),
      onFrameEnd: (frame, end) =>
        this.#frameEnd(frame + (this.#resumed?.frames ?? 0), end + (this.#resumed?.offset ?? 0)),
    })
    try {
      await this.#zstd.push(piece)
    } catch (error) {
      if (error !== LOG_IS_DONE) throw error
    }
    throwIfCancelled(this.#options.signal)
  }

  /** Takes the next bytes until the header is known; of a zstd log until its whole frame was checked. */
  async pushHeader(piece: Uint8Array): Promise<{ header: SessionHeader; issues: readonly Issue[] } | undefined> {
    this.#isHeaderOnly = true
    try {
      await this.push(piece)
    } catch (error) {
      if (error !== HEADER_IS_KNOWN) throw error
    }
    const header = this.#acceptance?.header
    if (!header || (this.#isHeaderFrameChecked && this.#frames === 0)) return undefined
    return { header, issues: this.#issues.list(this.#name) }
  }

  async end(): Promise<{ result: T; facts: LogFacts }> {
    if (this.#bytesRead === 0 && !this.#resumed)
      throw readFailed('corrupt', 'The file is empty, so this is no session log', { rule: 'header' })
    let isTornFrame = false
    if (this.#encoding === 'zstd') {
      const ending = this.isDone ? undefined : await this.#zstd?.end()
      isTornFrame = ending?.torn ?? false
      if (this.#frames === 0 && (this.#isHeaderFrameChecked || !this.#acceptance)) {
        throw readFailed('corrupt', 'The first frame is cut off, so there is no header', { rule: 'header', frame: 1 })
      }
      this.#checkCompleteFrames()
    }
    const acceptance = this.#acceptance
    const reader = this.#reader
    if (!acceptance || !reader) {
      throw readFailed('corrupt', 'The file has no complete first row, so there is no header', {
        rule: 'header',
        line: 1,
      })
    }
    if (this.#encoding === 'raw') this.#mark(this.#lines.completeBytes)
    const isTorn = isTornFrame || (this.#lines.pendingBytes > 0 && !acceptance.isDone)
    if (isTorn) {
      this.#issues.add({
        kind: 'torn-tail',
        message: isTornFrame
          ? 'The last frame is cut off; its complete rows are kept'
          : 'The last row is cut off and ignored',
        ...(isTornFrame ? { frame: this.#frames + 1 } : { line: acceptance.line + 1 }),
      })
    }
    acceptance.finish()
    const result = reader.finish()
    const { header, expectedSeq, lastTime, hasOpenTurn, line, parsedRows } = acceptance
    return {
      result,
      facts: {
        header,
        formatVersion: header.version,
        capturedThroughSeq: expectedSeq === 0 ? null : expectedSeq - 1,
        updatedAt: lastTime ?? header.createdAt,
        hasOpenTurn,
        isTorn,
        issues: [...this.#issues.list(this.#name), ...acceptance.issues.list(this.#name)],
        work: { bytesRead: this.#bytesRead, rows: line, parsedRows, frames: this.#frames },
        ...(this.#resumePoint && { resumePoint: this.#resumePoint }),
      },
    }
  }

  #plaintext(piece: Uint8Array): void {
    this.#plaintextBytes += piece.length
    if (this.#plaintextBytes > this.#limits.maxLogBytes) {
      throw readFailed(
        'unsupported',
        `The log is longer than the limit of ${this.#limits.maxLogBytes} bytes; raise --max-log-bytes if it is to be trusted`,
        { limit: 'maxLogBytes', maxLogBytes: this.#limits.maxLogBytes },
      )
    }
    this.#lines.push(piece)
  }

  #frameBytes(chunk: Uint8Array, frame: number): void {
    throwIfCancelled(this.#options.signal)
    if (this.#acceptance) this.#acceptance.frame = frame
    this.#plaintext(chunk)
    const isCrowded = this.#acceptance && (this.#acceptance.line > 1 || this.#lines.pendingBytes > 0)
    if (frame === 1 && isCrowded && this.#isHeaderFrameChecked) throw crowdedHeaderFrame()
  }

  #frameEnd(frame: number, end: number): void {
    this.#frames = frame
    const isInsideRow = this.#lines.pendingBytes > 0
    if (frame === 1 && (!this.#acceptance || (isInsideRow && this.#isHeaderFrameChecked))) throw crowdedHeaderFrame()
    if (this.#isHeaderOnly) throw HEADER_IS_KNOWN
    this.#verifiedEvents = this.#acceptance?.expectedSeq ?? 0
    this.#atFrameEnd = { isInsideRow, hasOffence: this.#acceptance?.hasOffence ?? false }
    if (!isInsideRow) this.#mark(end)
    if (this.isDone) throw LOG_IS_DONE
  }

  /** Notes that a later read could go on at this byte of the file. */
  #mark(offset: number): void {
    if (!this.#reader?.mark || !this.#acceptance || this.#acceptance.hasOffence) return
    this.#resumePoint = {
      offset,
      tail: '',
      plaintextBytes: this.#lines.completeBytes,
      frames: this.#frames,
      acceptance: this.#acceptance.save(),
      issues: this.#issues.list(undefined),
    }
    this.#reader.mark()
  }

  #resume({ header, point }: NonNullable<DecodeOptions['resumeFrom']>): void {
    this.#plaintextBytes = point.plaintextBytes
    this.#frames = point.frames
    this.#accept(header)
    this.#acceptance?.restore(point.acceptance)
    this.#verifiedEvents = point.acceptance.expectedSeq
  }

  /** Section 7.3, rule 4: what complete frames hold must be rows, and for a native reading accepted rows. */
  #checkCompleteFrames(): void {
    const acceptance = this.#acceptance
    if (!acceptance) return
    if (this.#atFrameEnd.isInsideRow) {
      throw readFailed('corrupt', 'The complete frames end inside a row', {
        rule: 'row-across-the-end',
        frame: this.#frames,
        line: acceptance.line + 1,
        seq: acceptance.expectedSeq,
      })
    }
    if (this.#mode === 'native' && this.#atFrameEnd.hasOffence) {
      throw acceptance.refusal('inside a complete frame, which holds accepted rows only')
    }
  }

  #block(bytes: Uint8Array, start: number, end: number): void {
    this.#blockStart = start
    this.#blockEnd = end
    this.#acceptance?.block(bytes, start, end)
  }

  #row(bytes: Uint8Array, start: number, end: number, offset: number): void {
    if (this.#acceptance) {
      this.#acceptance.row(bytes, start, end, offset)
      return
    }
    const { header, issues } = decodeHeader(decodeUtf8(bytes, start, end), {
      allowUnknownVersion: this.#options.allowUnknownVersion ?? false,
    })
    for (const issue of issues) this.#issues.add(issue)
    if (!isUtf8(bytes.subarray(start, end))) {
      this.#issues.add({ kind: 'invalid-utf8', message: 'The header holds invalid UTF-8, read as U+FFFD', line: 1 })
    }
    // The block was announced before anybody could look at it.
    this.#accept(header).block(bytes, this.#blockStart, this.#blockEnd)
    if (this.#isHeaderOnly && !this.#isHeaderFrameChecked) throw HEADER_IS_KNOWN
  }

  #refuseRow(limitBytes: number, offset: number): never {
    if (!this.#acceptance && limitBytes === MAX_HEADER_BYTES) {
      throw readFailed('corrupt', `The first row is longer than ${limitBytes} bytes, so this is no session log`, {
        rule: 'header',
        line: 1,
      })
    }
    const advice = limitBytes === LARGEST_ROW_BYTES ? '' : '; raise --max-row-bytes if the log is to be trusted'
    throw readFailed('unsupported', `A row is longer than the limit of ${limitBytes} bytes${advice}`, {
      limit: 'maxRowBytes',
      maxRowBytes: limitBytes,
      line: (this.#acceptance?.line ?? 0) + 1,
      offset,
    })
  }

  #accept(header: SessionHeader): RowAcceptance {
    this.#lines.maxRowBytes = this.#limits.maxRowBytes
    const { everyRow = false, untilSeq = Number.POSITIVE_INFINITY, texts = 'all', roomyBytes } = this.#options
    const rows = new KeptRows(header.version, texts)
    const store = this.#store ?? new MemoryRowStore((row) => rows.slim(row), roomyBytes ?? ROOMY_BYTES)
    this.#reader = this.#visit(header)
    this.#acceptance = new RowAcceptance(header, this.#reader, store, { everyRow, untilSeq, rows })
    return this.#acceptance
  }
}

async function createReader(options: Parameters<typeof import('./zstd.ts')['createZstdReader']>[0]) {
  const { createZstdReader } = await import('./zstd.ts')
  return createZstdReader(options)
}

function crowdedHeaderFrame(): DshRefError {
  return readFailed('corrupt', 'The first frame must hold the header row and nothing else; --salvage reads it', {
    rule: 'header-frame',
    frame: 1,
  })
}

/** Rule of a refusal that says nothing of the log but that it would not keep still. */
const CHANGED = 'changed-while-reading'

function changed(path: string, cause?: unknown): DshRefError {
  return readFailed(
    'unreadable',
    `${path} changed while it was read, and not only by growing; try again`,
    { file: path, rule: CHANGED },
    { cause },
  )
}

function rewritten(path: string): DshRefError {
  return readFailed('unreadable', `${path} has other contents than when it was read before`, {
    file: path,
    rule: 'resume',
  })
}

/** Puts the name of the log into a refusal, and tells system errors and cancellation from bugs. */
function named(error: unknown, name: string, signal: AbortSignal | undefined): unknown {
  if (error instanceof DshRefError) {
    if (error.code !== 'SESSION_REFERENCE_READ_FAILED' || error.facts.file !== undefined) return error
    return new DshRefError(
      error.code,
      `${name}: ${error.message}`,
      { ...error.facts, file: name },
      { cause: error.cause },
    )
  }
  if (signal?.aborted) return cancelled(error)
  // A path with a NUL never reaches the system, which would say that there is no such file.
  const isOfSystem = typeof (error as NodeJS.ErrnoException).errno === 'number' || name.includes('\0')
  if (isOfSystem) return unreadable(name, error)
  return error
}
