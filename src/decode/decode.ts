// Reads one session log, raw or zstd, from a file or a stream, and hands its accepted events to a visitor (FORMAT.md
// sections 7 and 8). One pass, bounded memory; nothing on disk is touched.

import { isUtf8 } from 'node:buffer'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { cancelled, DshRefError, readFailed, throwIfCancelled } from '../errors.ts'
import type { Issue, ReadingMode, SessionHeader } from '../types.ts'
import { type LogVisitor, RowAcceptance } from './acceptance.ts'
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
  /** zstd decoder; the default is the platform's own where it has one. */
  readonly decoder?: 'native' | 'javascript'
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
}

/** A visitor that says what it made of the log, while messages can still be read. */
export interface LogReader<T> extends LogVisitor {
  finish(): T
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

/** Bytes read at a time when only the header is wanted (FORMAT.md section 8). */
const HEADER_PIECE_BYTES = 8192

/** Reads the header of a log, and of a zstd log its first frame only. Throws as `decodeLog` does. */
export async function readLogHeader(
  source: Extract<LogSource, { kind: 'file' }>,
  options: Pick<DecodeOptions, 'allowUnknownVersion' | 'limits' | 'signal' | 'decoder'> = {},
): Promise<{ header: SessionHeader; issues: readonly Issue[] }> {
  const { path, encoding } = source
  try {
    await using file = await openLog(path)
    const decoding = new LogDecoding(
      path,
      encoding,
      'native',
      () => ({ finish: () => undefined }),
      options,
      () => new MemoryRowStore(),
    )
    const buffer = Buffer.allocUnsafe(HEADER_PIECE_BYTES)
    for (let position = 0; position < file.size; ) {
      const { bytesRead } = await file.handle.read(buffer, 0, HEADER_PIECE_BYTES, position)
      if (bytesRead === 0) throw changed(path)
      position += bytesRead
      const decoded = await decoding.pushHeader(buffer.subarray(0, bytesRead))
      if (decoded) return decoded
    }
    await decoding.end()
    throw new Error('A log without a header was read to its end')
  } catch (error) {
    throw named(error, path, options.signal)
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
  const store = () => (encoding === 'raw' ? new FileRowStore(file.handle.fd, path) : new MemoryRowStore())
  const decoding = new LogDecoding(path, encoding, mode, visit, options, store)
  // Two buffers: the next piece is read while this one is decoded.
  const buffers = [Buffer.allocUnsafeSlow(READ_BYTES), Buffer.allocUnsafeSlow(READ_BYTES)] as const
  const readPiece = async (index: number, position: number) => {
    const buffer = buffers[index % 2] as Buffer
    const { bytesRead } = await file.handle.read(buffer, 0, Math.min(READ_BYTES, size - position), position)
    return buffer.subarray(0, bytesRead)
  }
  let position = 0
  let next = size > 0 ? readPiece(0, 0) : undefined
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
      throw error
    }
  }
  const outcome = await decoding.end()
  const after = await file.handle.stat()
  if (after.size < size) throw changed(path)
  return outcome
}

async function readBytes<T>(
  bytes: AsyncIterable<Uint8Array>,
  decoding: LogDecoding<T>,
): Promise<{ result: T; facts: LogFacts }> {
  for await (const piece of bytes) await decoding.push(piece)
  return decoding.end()
}

async function openLog(
  path: string,
): Promise<{ handle: FileHandle; size: number; [Symbol.asyncDispose](): Promise<void> }> {
  let handle: FileHandle
  try {
    // Not blocking: opening a FIFO would wait for a writer that may never come.
    handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (cause) {
    throw unreadable(path, cause)
  }
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) {
      throw readFailed(
        'unreadable',
        `${path} is ${stat.isDirectory() ? 'a directory' : 'no regular file'}, not a session log`,
        {
          file: path,
        },
      )
    }
    return { handle, size: stat.size, [Symbol.asyncDispose]: () => handle.close() }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Thrown inside a header-only read to leave the rest of a piece alone; never leaves this file. */
const HEADER_IS_KNOWN = new Error('The header is known')

/** The decoding of one log: bytes in, events out. */
class LogDecoding<T> {
  readonly #name: string
  readonly #encoding: LogEncoding
  readonly #mode: ReadingMode
  readonly #visit: (header: SessionHeader) => LogReader<T>
  readonly #options: DecodeOptions
  readonly #limits: DecodeLimits
  readonly #makeStore: () => RowStore
  readonly #issues = new IssueLog()
  readonly #lines: LineSplitter
  #acceptance: RowAcceptance | undefined
  #reader: LogReader<T> | undefined
  #zstd: Awaited<ReturnType<typeof createReader>> | undefined
  #bytesRead = 0
  #plaintextBytes = 0
  #frames = 0
  /** How the plaintext stood where the last complete frame ended. */
  #atFrameEnd = { isInsideRow: false, hasOffence: false }
  #isHeaderOnly = false
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
    )
  }

  async push(piece: Uint8Array): Promise<void> {
    this.#bytesRead += piece.length
    if (this.#encoding === 'raw') {
      this.#plaintext(piece)
      return
    }
    this.#zstd ??= await createReader({
      ...(this.#options.decoder && { decoder: this.#options.decoder }),
      maxWindowBytes: this.#limits.maxWindowBytes,
      onBytes: (chunk, frame) => this.#frameBytes(chunk, frame),
      onFrameEnd: (frame) => this.#frameEnd(frame),
    })
    await this.#zstd.push(piece)
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
    if (this.#bytesRead === 0)
      throw readFailed('corrupt', 'The file is empty, so this is no session log', { rule: 'header' })
    let isTornFrame = false
    if (this.#encoding === 'zstd') {
      const ending = await this.#zstd?.end()
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
    const isTorn = isTornFrame || this.#lines.pendingBytes > 0
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

  #frameEnd(frame: number): void {
    this.#frames = frame
    const isInsideRow = this.#lines.pendingBytes > 0
    if (frame === 1 && (!this.#acceptance || isInsideRow)) throw crowdedHeaderFrame()
    if (this.#isHeaderOnly) throw HEADER_IS_KNOWN
    this.#atFrameEnd = { isInsideRow, hasOffence: this.#acceptance?.hasOffence ?? false }
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
    const reader = this.#visit(header)
    this.#reader = reader
    this.#acceptance = new RowAcceptance(header, reader, this.#makeStore(), {
      everyRow: this.#options.everyRow ?? false,
    })
    // The block was announced before anybody could look at it.
    this.#acceptance.block(bytes, this.#blockStart, this.#blockEnd)
    if (this.#isHeaderOnly && this.#encoding === 'raw') throw HEADER_IS_KNOWN
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
