// Reads one session log, raw or zstd, from a file or a stream, and hands its accepted events to a visitor (FORMAT.md
// sections 7 and 8). One pass, bounded memory; nothing on disk is changed. The decoding itself is log-decoding.ts.

import { read, readSync } from 'node:fs'
import { promisify } from 'node:util'
import { cancelled, DshRefError, readFailed, throwIfCancelled, unreadable } from '../errors.ts'
import { makePause } from '../pause.ts'
import type { Issue, SessionHeader } from '../types.ts'
import { HEADER_PIECE_BYTES } from './header-peek.ts'
import type { DecodeOptions, LogFacts, LogReader, LogSource } from './log.ts'
import { LogDecoding } from './log-decoding.ts'
import { FileRowStore } from './row-store.ts'
import type { FileWatch } from './stability.ts'
import { type Attempt, changed, failure, type OpenLog, openLog, stable } from './stable-read.ts'

export type { LogVisitor } from './acceptance.ts'
export type { DecodeOptions, LogEncoding, LogFacts, LogReader, LogSource, ResumePoint } from './log.ts'

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
