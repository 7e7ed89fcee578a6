// Reads one session log, raw or zstd, from a file or a stream, and hands its accepted events to a visitor (FORMAT.md
// sections 7 and 8). One pass, bounded memory; nothing on disk is touched.

import { isUtf8 } from 'node:buffer'
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { cancelled, DshRefError, readFailed, throwIfCancelled } from '../errors.ts'
import type { Issue, ReadingMode, SessionHeader } from '../types.ts'
import { type AcceptanceState, type LogVisitor, RowAcceptance } from './acceptance.ts'
import { decodeHeader } from './header.ts'
import { IssueLog } from './issues.ts'
import { LineSplitter } from './lines.ts'
import { decodeUtf8 } from './records.ts'
import { FileRowStore, MemoryRowStore, type RowStore } from './row-store.ts'

export type { LogVisitor } from './acceptance.ts'

/** How the bytes of a log are stored. */
export type LogEncoding = 'raw' | 'zstd'

/** A log to read. `name` is what messages call it: the path, or `<stdin>`. */
export type LogSource =
  | { readonly kind: 'file'; readonly path: string; readonly encoding: LogEncoding; readonly mode?: ReadingMode }
  | {
      readonly kind: 'bytes'
      readonly name: string
      readonly bytes: AsyncIterable<Uint8Array>
      readonly encoding: LogEncoding
    }

/** Limits that keep a hostile log from taking the machine. All in bytes. */
export interface DecodeLimits {
  /** Longest row, decompressed. */
  readonly maxRowBytes: number
  /** Largest zstd window. */
  readonly maxWindowBytes: number
  /** Largest log, decompressed. */
  readonly maxLogBytes: number
}

/** Limits no honest log comes near. */
export const DEFAULT_LIMITS: DecodeLimits = {
  maxRowBytes: 256 * 1024 * 1024,
  maxWindowBytes: 128 * 1024 * 1024,
  maxLogBytes: 64 * 1024 * 1024 * 1024,
}

/** Options of one read. */
export interface DecodeOptions {
  readonly allowUnknownVersion?: boolean
  readonly limits?: Partial<DecodeLimits>
  readonly signal?: AbortSignal | undefined
  /** Parse every row, as `check` does; by default rows that cannot matter are read by their first and last bytes. */
  readonly everyRow?: boolean
  /** Accept events through this seq only and end the log there, as if it had no more; for salvage. */
  readonly untilSeq?: number
  /** zstd decoder; the default is the platform's own where it has one. */
  readonly decoder?: 'native' | 'javascript'
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

/**
 * Reads `source` and returns what the visitor made of it, with the facts of the log. Throws `READ_FAILED` (`unreadable`,
 * `unsupported`, `corrupt`) naming file, line or frame, and seq; `CANCELLED` when the signal fires.
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
      return await readBytes(
        source.bytes,
        new LogDecoding(name, source.encoding, 'native', visit, options, () => new MemoryRowStore()),
      )
    }
    return await readFile(source, visit, options)
  } catch (error) {
    throw named(error, name, options.signal)
  }
}

/** Bytes read at a time when only the header is wanted. No more, because Node takes small buffers from a pool. */
const HEADER_PIECE_BYTES = 2048

/**
 * Reads the header of a log, and of a zstd log its first frame only. Throws as `decodeLog` does. File calls are
 * synchronous, which lists thousands of logs in half the time; callers that loop let the event loop have its turn.
 */
export async function readLogHeader(
  source: Extract<LogSource, { kind: 'file' }>,
  options: Pick<DecodeOptions, 'allowUnknownVersion' | 'limits' | 'signal' | 'decoder'> = {},
): Promise<{ header: SessionHeader; issues: readonly Issue[]; bytesRead: number }> {
  const { path, encoding } = source
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, READ_ONLY)
    const stat = fstatSync(descriptor)
    checkRegular(path, stat)
    const decoding = new LogDecoding(
      path,
      encoding,
      'native',
      () => ({ finish: () => undefined }),
      options,
      () => new MemoryRowStore(),
    )
    const buffer = Buffer.allocUnsafe(HEADER_PIECE_BYTES)
    for (let position = 0; position < stat.size; ) {
      const bytesRead = readSync(descriptor, buffer, 0, HEADER_PIECE_BYTES, position)
      if (bytesRead === 0) throw changed(path)
      position += bytesRead
      const decoded = await decoding.pushHeader(buffer.subarray(0, bytesRead))
      if (decoded) return { ...decoded, bytesRead: position }
    }
    await decoding.end()
    throw new Error('A log without a header was read to its end')
  } catch (error) {
    throw named(error, path, options.signal)
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

async function readFile<T>(
  source: Extract<LogSource, { kind: 'file' }>,
  visit: (header: SessionHeader) => LogReader<T>,
  options: DecodeOptions,
): Promise<{ result: T; facts: LogFacts }> {
  const { path, encoding, mode = 'native' } = source
  await using file = await openLog(path)
  const { size } = file
  const resumed = options.resumeFrom?.point
  if (resumed && (await tailOf(file, resumed.offset)) !== resumed.tail) throw rewritten(path)
  const store = () => (encoding === 'raw' ? new FileRowStore(file.handle.fd, path) : new MemoryRowStore())
  const decoding = new LogDecoding(path, encoding, mode, visit, options, store)
  let position = resumed?.offset ?? 0
  // Two buffers: the next piece is read while this one is decoded. No larger than the log, for there are many small ones.
  const bufferBytes = Math.min(READ_BYTES, size - position)
  const buffers: (Buffer | undefined)[] = [undefined, undefined]
  const readPiece = async (index: number, from: number) => {
    const buffer = (buffers[index % 2] ??= Buffer.allocUnsafeSlow(bufferBytes))
    const { bytesRead } = await file.handle.read(buffer, 0, Math.min(bufferBytes, size - from), from)
    return buffer.subarray(0, bytesRead)
  }
  let next = size > position ? readPiece(0, position) : undefined
  for (let index = 1; next; index++) {
    const piece = await next
    throwIfCancelled(options.signal)
    if (piece.length === 0) throw changed(path)
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
  const tail = resumePoint && (await tailOf(file, resumePoint.offset))
  const after = await file.handle.stat()
  if (after.size < size) throw changed(path)
  if (!resumePoint || tail === undefined) return outcome
  return { ...outcome, facts: { ...outcome.facts, resumePoint: { ...resumePoint, tail } } }
}

/** Bytes by which a place in a log is known again: the end of a row with its time, or of a frame with its checksum. */
const TAIL_BYTES = 64

async function tailOf(file: { handle: FileHandle }, offset: number): Promise<string> {
  const start = Math.max(0, offset - TAIL_BYTES)
  const { buffer, bytesRead } = await file.handle.read(Buffer.alloc(TAIL_BYTES), 0, offset - start, start)
  return buffer.toString('base64', 0, bytesRead)
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

// Not blocking: opening a FIFO would wait for a writer that may never come.
const READ_ONLY = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

function checkRegular(path: string, stat: Stats): void {
  if (stat.isFile()) return
  throw readFailed(
    'unreadable',
    `${path} is ${stat.isDirectory() ? 'a directory' : 'no regular file'}, not a session log`,
    { file: path },
  )
}

async function openLog(
  path: string,
): Promise<{ handle: FileHandle; size: number; [Symbol.asyncDispose](): Promise<void> }> {
  let handle: FileHandle
  try {
    handle = await open(path, READ_ONLY)
  } catch (cause) {
    throw unreadable(path, cause)
  }
  try {
    const stat = await handle.stat()
    checkRegular(path, stat)
    return { handle, size: stat.size, [Symbol.asyncDispose]: () => handle.close() }
  } catch (error) {
    await handle.close()
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
  readonly #makeStore: () => RowStore
  readonly #issues: IssueLog
  readonly #lines: LineSplitter
  readonly #resumed: ResumePoint | undefined
  #acceptance: RowAcceptance | undefined
  #reader: LogReader<T> | undefined
  #zstd: Awaited<ReturnType<typeof createReader>> | undefined
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
    makeStore: () => RowStore,
  ) {
    this.#name = name
    this.#encoding = encoding
    this.#mode = mode
    this.#visit = visit
    this.#options = options
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#makeStore = makeStore
    this.#lines = new LineSplitter(
      {
        block: (bytes, start, end) => this.#block(bytes, start, end),
        row: (bytes, start, end, offset) => this.#row(bytes, start, end, offset),
      },
      this.#limits.maxRowBytes,
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
    if (!header || (this.#encoding === 'zstd' && this.#frames === 0)) return undefined
    return { header, issues: this.#issues.list(this.#name) }
  }

  async end(): Promise<{ result: T; facts: LogFacts }> {
    if (this.#bytesRead === 0 && !this.#resumed)
      throw readFailed('corrupt', 'The file is empty, so this is no session log', { rule: 'header' })
    let isTornFrame = false
    if (this.#encoding === 'zstd') {
      const ending = this.isDone ? undefined : await this.#zstd?.end()
      isTornFrame = ending?.torn ?? false
      if (this.#frames === 0) {
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
    if (this.#acceptance) this.#acceptance.frame = frame
    this.#plaintext(chunk)
    const isCrowded = this.#acceptance && (this.#acceptance.line > 1 || this.#lines.pendingBytes > 0)
    if (frame === 1 && isCrowded) throw crowdedHeaderFrame()
  }

  #frameEnd(frame: number, end: number): void {
    this.#frames = frame
    const isInsideRow = this.#lines.pendingBytes > 0
    if (frame === 1 && (!this.#acceptance || isInsideRow)) throw crowdedHeaderFrame()
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
    if (this.#isHeaderOnly && this.#encoding === 'raw') throw HEADER_IS_KNOWN
  }

  #accept(header: SessionHeader): RowAcceptance {
    this.#reader = this.#visit(header)
    this.#acceptance = new RowAcceptance(header, this.#reader, this.#makeStore(), {
      everyRow: this.#options.everyRow ?? false,
      untilSeq: this.#options.untilSeq ?? Number.POSITIVE_INFINITY,
    })
    return this.#acceptance
  }
}

async function createReader(options: Parameters<typeof import('./zstd.ts')['createZstdReader']>[0]) {
  const { createZstdReader } = await import('./zstd.ts')
  return createZstdReader(options)
}

function crowdedHeaderFrame(): DshRefError {
  return readFailed('corrupt', 'The first frame must hold the header row and nothing else', {
    rule: 'header-frame',
    frame: 1,
  })
}

function changed(path: string): DshRefError {
  return readFailed('unreadable', `${path} became shorter while it was read; try again`, {
    file: path,
    rule: 'changed-while-reading',
  })
}

function rewritten(path: string): DshRefError {
  return readFailed('unreadable', `${path} has other contents than when it was read before`, {
    file: path,
    rule: 'resume',
  })
}

/** A file the system does not let us read. */
export function unreadable(path: string, cause: unknown): DshRefError {
  const errno = (cause as NodeJS.ErrnoException).code ?? 'unknown'
  const words = ERRNO_WORDS[errno] ?? `cannot be read (${errno})`
  return readFailed(
    errno === 'ENOENT' ? 'not-found' : 'unreadable',
    `${path} ${words}`,
    { file: path, errno },
    { cause },
  )
}

const ERRNO_WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'may not be read by this user (EACCES)',
  EPERM: 'may not be read by this user (EPERM)',
  EISDIR: 'is a directory, not a session log',
  ELOOP: 'is a link that leads in a circle (ELOOP)',
  ENOTDIR: 'lies below something that is no directory (ENOTDIR)',
  ENAMETOOLONG: 'has too long a name (ENAMETOOLONG)',
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
  if (typeof (error as NodeJS.ErrnoException).errno === 'number') return unreadable(name, error)
  return error
}
