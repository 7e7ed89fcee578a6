// The decoding of one log: bytes in, accepted events out, and what is known at the end (FORMAT.md section 7). Where the bytes
// come from is decode.ts; what rows are accepted is acceptance.ts.

import { isUtf8 } from 'node:buffer'
import { DshRefError, readFailed, throwIfCancelled } from '../errors.ts'
import type { Issue, ReadingMode, SessionHeader } from '../types.ts'
import { RowAcceptance } from './acceptance.ts'
import { decodeHeader } from './header.ts'
import { IssueLog } from './issues.ts'
import { KeptRows } from './kept-row.ts'
import { DEFAULT_LIMITS, type DecodeLimits, LARGEST_ROW_BYTES } from './limits.ts'
import { LineSplitter } from './lines.ts'
import type { DecodeOptions, LogEncoding, LogFacts, LogReader, ResumePoint } from './log.ts'
import { decodeUtf8 } from './records.ts'
import { MemoryRowStore, ROOMY_BYTES, type RowStore } from './row-store.ts'
import type { ZstdReader } from './zstd.ts'

/** A header holds a few names and paths; a file without newlines must not be read to its end to find none. */
const MAX_HEADER_BYTES = 1024 * 1024

/** Thrown inside a header-only read to leave the rest of a piece alone; never leaves this file. */
const HEADER_IS_KNOWN = new Error('The header is known')

/** Thrown when the last wanted event is verified, to leave the frames behind it alone; never leaves this file. */
const LOG_IS_DONE = new Error('The wanted events are read')

/** The decoding of one log: bytes in, events out. */
export class LogDecoding<T> {
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
