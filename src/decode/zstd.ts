// Decodes a zstd log frame by frame as its bytes arrive (FORMAT.md sections 7.3 and 8): with wasm-zstd the many small frames,
// all others with the decoder of node:zlib, or with fzstd and xxhash-wasm. Where frames begin and end is found by frames.ts;
// what the bytes mean is not known here.

import type { Transform } from 'node:stream'
import type { Decompress } from 'fzstd'
import type { XXHashAPI } from 'xxhash-wasm'
import { type ErrorFacts, invalidConfig, readFailed } from '../errors.ts'
import {
  BLOCK_HEADER_BYTES,
  BLOCK_TYPE,
  CHECKSUM_BYTES,
  FRAME_MAGIC,
  type FrameHeader,
  FrameScanner,
  windowDescriptor,
  windowOf,
} from './frames.ts'

/**
 * The decoders there are: the platform's own (Node 22.15 and later), one in JavaScript, and one in WebAssembly, which leaves
 * frames too large to be decoded in one call to one of the others.
 */
export type ZstdDecoder = 'native' | 'javascript' | 'wasm'

/** What a reader is to do with the bytes it decodes. */
export interface ZstdReaderOptions {
  /**
   * Default: `native` where node:zlib has it, else `javascript`; small frames beyond the beginning are decoded by `wasm`.
   */
  readonly decoder?: ZstdDecoder | undefined
  /** A frame that needs a larger window is refused as `unsupported` before memory is taken for it. */
  readonly maxWindowBytes: number
  /**
   * Takes decoded bytes in order; `chunk` is valid during the call only and must not be written to. `torn` is true when
   * the frame is known to be cut off. That is not known yet while a large frame arrives: its bytes belong to a complete
   * frame only once `onFrameEnd` was called for it.
   */
  onBytes(chunk: Uint8Array, frame: number, torn: boolean): void
  /**
   * Says that a frame (1-based) was complete and verified, and all its bytes were delivered; `end` is the offset behind
   * it from the first byte pushed.
   */
  onFrameEnd(frame: number, end: number): void
}

/** A reader of one log. What it throws once, it throws again: there is no way on after a refusal. */
export interface ZstdReader {
  /**
   * Decodes the next bytes of the file. `piece` must not change until the returned promise is settled, and is not kept
   * longer; `undefined` when all was done at once. Throws (or rejects with) what the callbacks throw.
   */
  push(piece: Uint8Array): Promise<void> | undefined
  /** Ends the input and delivers what can be had of a torn last frame. `frames` counts complete frames. */
  end(): Promise<{ frames: number; torn: boolean }>
}

/** Starts reading a log. Nothing is loaded before the first bytes are pushed. */
export function createZstdReader(options: ZstdReaderOptions): ZstdReader {
  return new FrameReader(options)
}

/** Frames up to this size are held and decoded in one call, which is the faster way for the many small ones. */
const WHOLE_FRAME_BYTES = 256 * 1024

/** … unless their blocks could hold more than this: a bomb of a few KB must not be decoded in one call. */
const WHOLE_CONTENT_BYTES = 8 * 1024 * 1024

/** Blocks of a larger frame are handed on in runs of about this size, or when they could hold that much content. */
const RUN_BYTES = 512 * 1024
const RUN_CONTENT_BYTES = 4 * 1024 * 1024

/** Content after which the event loop has its turn, so that a signal is heard while a bomb is decoded: half a second. */
const TURN_CONTENT_BYTES = 4 * 1024 * 1024

/** Neither decoder can address more (1.875 GiB). */
const LARGEST_WINDOW_BYTES = windowOf((20 << 3) | 7)

/** A decoder as the reader sees it: one frame at a time, no bytes kept after a call or its promise is done. */
interface FrameDecoder {
  /** Decodes and verifies one frame held in memory, whose content is at most `contentLimit` bytes. */
  decode(frame: Uint8Array, header: FrameHeader, contentLimit: number): readonly Uint8Array[]
  /** Starts a frame that is decoded while it arrives. What `deliver` throws comes out of the calls below. */
  open(header: FrameHeader, deliver: (chunk: Uint8Array) => void): OpenFrame
}

/** A frame that is decoded while it arrives. Once a call has failed there must be no other but `destroy`. */
interface OpenFrame {
  /** Decodes complete blocks, the first ones without the frame header. */
  write(blocks: Uint8Array): Promise<void> | undefined
  /** Verifies the frame after its last block. */
  end(checksum: Uint8Array): Promise<void> | undefined
  /** Gives up the frame once all content of its blocks was delivered; `isLast` when no block is missing. */
  cut(isLast: boolean): Promise<void> | undefined
  destroy(): void
}

type Steps = Generator<Promise<void>, void, void>

class FrameReader implements ZstdReader {
  readonly #options: ZstdReaderOptions
  readonly #scanner = new FrameScanner()
  /** Bytes of the current frame that were not handed on yet and do not lie in the piece at hand. */
  readonly #carry = new ByteBuffer()
  #decoder: FrameDecoder | undefined
  #chosen: DecoderChoice | undefined
  #pushedBytes = 0
  /** The current frame while it is streamed; small frames never are. */
  #open: OpenFrame | undefined
  /** Upper bound of the content of the current frame's complete blocks. */
  #contentLimit = 0
  /** … of those that were handed on, and of all since the event loop had its turn. */
  #writtenLimit = 0
  #sinceTurn = 0
  /** Why the streamed frame does not decode; a refusal only if the frame turns out to be complete. */
  #defect: { readonly error: unknown } | undefined
  #thrownByCallback: { readonly error: unknown } | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(options: ZstdReaderOptions) {
    this.#options = options
  }

  push(piece: Uint8Array): Promise<void> | undefined {
    if (this.#failure) throw this.#failure.error
    this.#pushedBytes += piece.length
    const choice = this.#options.decoder ?? (this.#pushedBytes < MANY_BYTES ? 'few' : 'many')
    if (choice !== this.#chosen) {
      const decoder = loadedDecoders.get(choice)
      if (!decoder) return this.#loadAndDecode(choice, piece)
      this.#decoder = decoder
      this.#chosen = choice
    }
    return this.#decodePiece(piece)
  }

  #decodePiece(piece: Uint8Array): Promise<void> | undefined {
    try {
      const steps = this.#consume(piece)
      const first = steps.next()
      return first.done ? undefined : this.#settle(steps, first.value)
    } catch (error) {
      throw this.#fail(error)
    }
  }

  async end(): Promise<{ frames: number; torn: boolean }> {
    if (this.#failure) throw this.#failure.error
    const torn = this.#scanner.isInsideFrame
    if (torn) {
      const steps = this.#recover()
      try {
        const first = steps.next()
        if (!first.done) await this.#settle(steps, first.value)
      } catch (error) {
        throw this.#fail(error)
      }
    }
    return { frames: this.#scanner.frames, torn }
  }

  async #loadAndDecode(choice: DecoderChoice, piece: Uint8Array): Promise<void> {
    try {
      this.#decoder = await loadDecoder(choice)
      this.#chosen = choice
    } catch (error) {
      throw this.#fail(error)
    }
    await this.#decodePiece(piece)
  }

  // The steps are a generator, not an async function, so that thousands of small frames cost no await.
  async #settle(steps: Steps, waiting: Promise<void>): Promise<void> {
    try {
      for (let wait: Promise<void> | undefined = waiting; wait; ) {
        const step: IteratorResult<Promise<void>, void> = await wait.then(
          () => steps.next(),
          (error) => steps.throw(error),
        )
        wait = step.done ? undefined : step.value
      }
    } catch (error) {
      throw this.#fail(error)
    }
  }

  #fail(error: unknown): unknown {
    this.#failure ??= { error }
    this.#open?.destroy()
    this.#open = undefined
    return error
  }

  *#consume(piece: Uint8Array): Steps {
    const scanner = this.#scanner
    let at = 0
    /** First byte of the piece that was not handed on. */
    let start = 0
    /** End of the last complete block in the piece. */
    let boundary = 0
    for (;;) {
      at = scanner.advance(piece, at)
      switch (scanner.part) {
        case 'header':
          this.#checkWindow(scanner.header)
          this.#contentLimit = 0
          this.#writtenLimit = 0
          break
        case 'block':
          boundary = at
          this.#contentLimit +=
            scanner.blockType === BLOCK_TYPE.compressed ? scanner.header.blockMaxBytes : scanner.blockBytes
          if (this.#open) {
            const content = this.#contentLimit - this.#writtenLimit
            if (this.#carry.length + at - start < RUN_BYTES && content < RUN_CONTENT_BYTES) break
            yield* this.#write(this.#take(piece, start, at))
          } else {
            // Decided at block ends, so that it does not depend on where the file was cut into pieces.
            if (scanner.boundaryBytes <= WHOLE_FRAME_BYTES && this.#contentLimit <= WHOLE_CONTENT_BYTES) break
            this.#openFrame(scanner.header)
            yield* this.#write(this.#take(piece, start, at).subarray(scanner.header.headerBytes))
          }
          start = at
          break
        case 'end':
          yield* this.#endFrame(this.#take(piece, start, at))
          start = at
          break
        case 'more':
          if (this.#open && boundary > start) {
            yield* this.#write(this.#take(piece, start, boundary))
            start = boundary
          }
          this.#carry.add(piece, start, at)
          return
      }
    }
  }

  #checkWindow({ frame, windowBytes }: FrameHeader): void {
    const limit = Math.min(this.#options.maxWindowBytes, LARGEST_WINDOW_BYTES)
    if (windowBytes <= limit) return
    const advice = limit < LARGEST_WINDOW_BYTES ? '; raise --max-window-bytes if the log is to be trusted' : ''
    throw readFailed(
      'unsupported',
      `Frame ${frame} needs a window of ${windowBytes} bytes, more than the limit of ${limit}${advice}`,
      { rule: 'zstd-window', frame, limit: 'maxWindowBytes', expected: limit, actual: windowBytes },
    )
  }

  /** Joins what was carried over with a part of the piece; valid until bytes are carried over again. */
  #take(piece: Uint8Array, start: number, end: number): Uint8Array {
    if (this.#carry.length === 0) return piece.subarray(start, end)
    this.#carry.add(piece, start, end)
    return this.#carry.takeAll()
  }

  #openFrame(header: FrameHeader): void {
    const { frame } = header
    this.#open = this.#decoderInUse.open(header, (chunk) => this.#deliver(chunk, frame, false))
  }

  *#write(blocks: Uint8Array): Steps {
    if (blocks.length > 0) yield* this.#try((open) => open.write(blocks))
    yield* this.#turn()
  }

  /** Lets the event loop have its turn now and then. */
  *#turn(): Steps {
    this.#sinceTurn += this.#contentLimit - this.#writtenLimit
    this.#writtenLimit = this.#contentLimit
    if (this.#sinceTurn < TURN_CONTENT_BYTES) return
    this.#sinceTurn = 0
    yield new Promise((resolve) => {
      setImmediate(resolve)
    })
  }

  /** Runs one call of the open frame; after a defect its blocks are only scanned. */
  *#try(call: (open: OpenFrame) => Promise<void> | undefined): Steps {
    if (!this.#open || this.#defect) return
    try {
      const wait = call(this.#open)
      if (wait) yield wait
    } catch (error) {
      if (this.#thrownByCallback) throw this.#thrownByCallback.error
      this.#defect = { error }
      this.#open.destroy()
    }
  }

  *#endFrame(bytes: Uint8Array): Steps {
    const { header } = this.#scanner
    if (this.#open) {
      const blocksEnd = bytes.length - (header.hasChecksum ? CHECKSUM_BYTES : 0)
      yield* this.#write(bytes.subarray(0, blocksEnd))
      yield* this.#try((open) => open.end(bytes.subarray(blocksEnd)))
      if (this.#defect) throw this.#defect.error
      this.#open = undefined
    } else {
      for (const chunk of this.#decoderInUse.decode(bytes, header, this.#contentLimit)) {
        this.#deliver(chunk, header.frame, false)
      }
      yield* this.#turn()
    }
    this.#options.onFrameEnd(header.frame, header.offset + this.#scanner.frameBytes)
  }

  /** Delivers what is whole of the torn frame: its complete blocks, and the start of a raw block. */
  *#recover(): Steps {
    const scanner = this.#scanner
    if (scanner.boundaryBytes === 0) return // cut off inside the frame header
    const { header, hasAllBlocks } = scanner
    const rest = this.#carry.takeAll()
    let blocksEnd = 0
    if (this.#open) {
      yield* this.#try((open) => open.cut(hasAllBlocks))
      if (this.#defect) return
    } else {
      blocksEnd = scanner.boundaryBytes
      const blocks = rest.subarray(header.headerBytes, blocksEnd)
      if (blocks.length > 0) {
        const whole = wholeFrameOf(blocks, header, this.#contentLimit, hasAllBlocks)
        let chunks: readonly Uint8Array[]
        try {
          chunks = this.#decoderInUse.decode(whole.frame, whole.header, this.#contentLimit)
        } catch {
          return // FORMAT.md section 7.3: a torn frame that does not decode holds nothing
        }
        for (const chunk of chunks) this.#deliver(chunk, header.frame, true)
      }
    }
    if (scanner.blockType === BLOCK_TYPE.raw && scanner.partialBlockBytes > 0) {
      this.#deliver(rest.subarray(blocksEnd + BLOCK_HEADER_BYTES), header.frame, true)
    }
  }

  #deliver(chunk: Uint8Array, frame: number, torn: boolean): void {
    if (chunk.length === 0) return
    try {
      this.#options.onBytes(chunk, frame, torn)
    } catch (error) {
      this.#thrownByCallback = { error }
      throw error
    }
  }

  get #decoderInUse(): FrameDecoder {
    if (!this.#decoder) throw new Error('Bytes were scanned before a decoder was loaded')
    return this.#decoder
  }
}

/** Bytes kept from one piece to the next. */
class ByteBuffer {
  #bytes = new Uint8Array(0)
  length = 0

  add(bytes: Uint8Array, start: number, end: number): void {
    const length = this.length + end - start
    if (length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(length, 2 * this.#bytes.length))
      grown.set(this.#bytes.subarray(0, this.length))
      this.#bytes = grown
    }
    this.#bytes.set(bytes.subarray(start, end), this.length)
    this.length = length
  }

  /** Everything held, as a view that is valid until the next `add`. */
  takeAll(): Uint8Array {
    const all = this.#bytes.subarray(0, this.length)
    this.length = 0
    return all
  }
}

const NO_BYTES = new Uint8Array(0)

/** An empty raw block that is the last of its frame. */
const LAST_BLOCK = Uint8Array.of(1, 0, 0)

const REWRITTEN_HEADER_BYTES = FRAME_MAGIC.length + 2

/** A frame header without content size: a declared one may be wrong, and is compared by the reader instead. */
function rewrittenHeader(windowBytes: number, hasChecksum: boolean): Uint8Array {
  return Uint8Array.of(...FRAME_MAGIC, hasChecksum ? 0x04 : 0, windowDescriptor(windowBytes))
}

/** The complete blocks of a torn frame as a frame of their own, so that both decoders see the same. */
function wholeFrameOf(
  blocks: Uint8Array,
  header: FrameHeader,
  contentLimit: number,
  hasAllBlocks: boolean,
): { frame: Uint8Array; header: FrameHeader } {
  const frame = new Uint8Array(REWRITTEN_HEADER_BYTES + blocks.length + (hasAllBlocks ? 0 : LAST_BLOCK.length))
  frame.set(rewrittenHeader(neededWindowBytes(header, contentLimit), false))
  frame.set(blocks, REWRITTEN_HEADER_BYTES)
  if (!hasAllBlocks) frame.set(LAST_BLOCK, REWRITTEN_HEADER_BYTES + blocks.length)
  return {
    frame,
    header: { ...header, headerBytes: REWRITTEN_HEADER_BYTES, contentBytes: undefined, hasChecksum: false },
  }
}

/**
 * The window a frame of known content needs: no more than its content, no less than its largest block. DSH declares 2 MiB
 * for every frame, which fzstd would allocate and clear each time.
 */
function neededWindowBytes({ windowBytes, blockMaxBytes }: FrameHeader, contentLimit: number): number {
  return Math.max(blockMaxBytes, Math.min(windowBytes, contentLimit))
}

function corrupt({ frame, offset }: FrameHeader, rule: string, what: string, facts: ErrorFacts, cause?: unknown) {
  return readFailed('corrupt', `Frame ${frame} ${what}`, { rule, frame, offset, ...facts }, { cause })
}

function undecodable(header: FrameHeader, cause: unknown) {
  return corrupt(header, 'zstd-block', 'holds a block that does not decode', {}, cause)
}

function wrongChecksum(header: FrameHeader, stored: Uint8Array, facts: ErrorFacts, cause?: unknown) {
  const expected = checksumText(checksumOf(stored))
  return corrupt(header, 'zstd-checksum', 'does not match its checksum', { expected, ...facts }, cause)
}

function checksumOf(stored: Uint8Array): number {
  return new DataView(stored.buffer, stored.byteOffset).getUint32(0, true)
}

function checksumText(checksum: number): string {
  return checksum.toString(16).padStart(8, '0')
}

function checkContentSize(header: FrameHeader, actual: number): void {
  const { contentBytes } = header
  if (contentBytes === undefined || contentBytes === actual) return
  throw corrupt(header, 'zstd-content-size', 'does not have the content size it declares', {
    expected: contentBytes,
    actual,
  })
}

// --- node:zlib ---

/** What is used of node:zlib from 22.15 on; the types of Node 20 do not know it. */
interface NativeZstd {
  zstdDecompressSync(bytes: Uint8Array, options: NativeOptions): Uint8Array
  createZstdDecompress(options: NativeOptions): Transform
  readonly constants: { readonly ZSTD_d_windowLogMax: number }
}

interface NativeOptions {
  chunkSize?: number
  maxOutputLength?: number
  params?: Record<number, number>
}

/** Output buffers for frames in one call: the fastest size for 10–60 KB of content. zlib takes no less than 64 bytes. */
const NATIVE_CHUNK_BYTES = 64 * 1024
const LEAST_NATIVE_CHUNK_BYTES = 64

/** Output buffers for streamed frames; each is one trip to the thread pool (64 KiB: 1.4 times the time). */
const NATIVE_STREAM_CHUNK_BYTES = 256 * 1024

/** Window size from which libzstd wants to be told that it is welcome. */
const NATIVE_WINDOW_BYTES = 2 ** 27

class NativeDecoder implements FrameDecoder {
  readonly #zlib: NativeZstd

  constructor(zlib: NativeZstd) {
    this.#zlib = zlib
  }

  decode(frame: Uint8Array, header: FrameHeader, contentLimit: number): readonly Uint8Array[] {
    try {
      return [this.#decodeAll(frame, header, contentLimit)]
    } catch (cause) {
      if (isChecksumError(cause)) throw wrongChecksum(header, frame.subarray(-CHECKSUM_BYTES), {}, cause)
      if (header.contentBytes !== undefined) this.#blameContentSize(frame, header, contentLimit)
      throw undecodable(header, cause)
    }
  }

  open(header: FrameHeader, deliver: (chunk: Uint8Array) => void): OpenFrame {
    return new NativeFrame(header, deliver, (options) =>
      this.#zlib.createZstdDecompress({ ...options, ...this.#windowOptions(header) }),
    )
  }

  #decodeAll(frame: Uint8Array, header: FrameHeader, contentLimit: number): Uint8Array {
    // One byte more than the content, else the whole chunk is full and a second one is allocated to find nothing.
    const expected = Math.min(header.contentBytes ?? contentLimit, contentLimit) + 1
    return this.#zlib.zstdDecompressSync(frame, {
      chunkSize: Math.max(LEAST_NATIVE_CHUNK_BYTES, Math.min(expected, NATIVE_CHUNK_BYTES)),
      maxOutputLength: contentLimit + 1,
      ...this.#windowOptions(header),
    })
  }

  #windowOptions({ windowBytes }: FrameHeader): NativeOptions {
    return windowBytes > NATIVE_WINDOW_BYTES ? { params: { [this.#zlib.constants.ZSTD_d_windowLogMax]: 31 } } : {}
  }

  /** libzstd has one error for wrong blocks and a wrong size: decode again without the size and compare. */
  #blameContentSize(frame: Uint8Array, header: FrameHeader, contentLimit: number): void {
    const end = frame.length - (header.hasChecksum ? CHECKSUM_BYTES : 0)
    const whole = wholeFrameOf(frame.subarray(header.headerBytes, end), header, contentLimit, true)
    let content: Uint8Array
    try {
      content = this.#decodeAll(whole.frame, whole.header, contentLimit)
    } catch {
      return // the blocks are wrong as well
    }
    checkContentSize(header, content.length)
  }
}

function isChecksumError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ZSTD_error_checksum_wrong'
}

/** One frame on a stream of node:zlib. Every call waits for its output, so that no more than one run is under way. */
class NativeFrame implements OpenFrame {
  readonly #header: FrameHeader
  readonly #stream: Transform
  #contentBytes = 0
  #checksum: Uint8Array = NO_BYTES
  #failure: { readonly error: unknown } | undefined
  #wake: () => void = () => undefined

  constructor(
    header: FrameHeader,
    deliver: (chunk: Uint8Array) => void,
    createStream: (options: NativeOptions) => Transform,
  ) {
    this.#header = header
    this.#stream = createStream({ chunkSize: NATIVE_STREAM_CHUNK_BYTES })
    this.#stream
      .on('data', (chunk: Uint8Array) => {
        if (this.#failure) return
        this.#contentBytes += chunk.length
        try {
          deliver(chunk)
        } catch (error) {
          this.#failure = { error }
          this.#stream.destroy()
        }
      })
      .on('error', (cause: unknown) => {
        this.#failure ??= {
          error: isChecksumError(cause) ? wrongChecksum(header, this.#checksum, {}, cause) : undecodable(header, cause),
        }
      })
      // A write that fails never calls back; a destroyed stream always closes.
      .on('close', () => this.#wake())
    this.#stream.write(rewrittenHeader(header.windowBytes, header.hasChecksum))
  }

  write(blocks: Uint8Array): Promise<void> {
    return this.#run((done) => this.#stream.write(blocks, () => done()))
  }

  async end(checksum: Uint8Array): Promise<void> {
    this.#checksum = checksum
    await this.#run(() => this.#stream.end(checksum))
    checkContentSize(this.#header, this.#contentBytes)
  }

  async cut(): Promise<void> {
    // In flowing mode read() hands what is left to the listener.
    while (this.#stream.read() !== null);
    this.destroy()
    if (this.#failure) throw this.#failure.error
  }

  destroy(): void {
    this.#stream.destroy()
  }

  async #run(start: (done: () => void) => void): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      start(resolve)
    })
    if (this.#failure) throw this.#failure.error
  }
}

// --- fzstd and xxhash-wasm ---

class JavascriptDecoder implements FrameDecoder {
  readonly #fzstd: typeof Decompress
  readonly #xxhash: XXHashAPI
  /** What fzstd is fed from: it keeps views of its input, which must not hold on to the memory of every piece. */
  readonly #input = new ByteBuffer()

  constructor(fzstd: typeof Decompress, xxhash: XXHashAPI) {
    this.#fzstd = fzstd
    this.#xxhash = xxhash
  }

  // Not with fzstd's decompress(): given a buffer, it compares that buffer with 1 and so makes a string of it; given
  // none, it fills a wrong content size up with zeros.
  decode(frame: Uint8Array, header: FrameHeader, contentLimit: number): readonly Uint8Array[] {
    const chunks: Uint8Array[] = []
    let contentBytes = 0
    const decompress = new this.#fzstd((chunk) => {
      if (chunk.length === 0) return
      chunks.push(chunk)
      contentBytes += chunk.length
    })
    const blocksEnd = frame.length - (header.hasChecksum ? CHECKSUM_BYTES : 0)
    const start = rewrittenHeader(neededWindowBytes(header, contentLimit), false)
    this.#input.add(start, 0, start.length)
    this.#input.add(frame, header.headerBytes, blocksEnd)
    try {
      decompress.push(this.#input.takeAll(), true)
    } catch (cause) {
      throw undecodable(header, cause)
    }
    checkContentSize(header, contentBytes)
    if (header.hasChecksum) checkChecksum(header, frame.subarray(blocksEnd), this.#hash(chunks))
    return chunks
  }

  open(header: FrameHeader, deliver: (chunk: Uint8Array) => void): OpenFrame {
    const hash = header.hasChecksum ? this.#xxhash.create64() : undefined
    let contentBytes = 0
    const decompress = new this.#fzstd((chunk) => {
      contentBytes += chunk.length
      hash?.update(chunk)
      deliver(chunk)
    })
    let isStarted = false
    const push = (blocks: Uint8Array, isLast: boolean): undefined => {
      if (!isStarted) {
        const start = rewrittenHeader(header.windowBytes, false)
        this.#input.add(start, 0, start.length)
        isStarted = true
      }
      this.#input.add(blocks, 0, blocks.length)
      try {
        decompress.push(this.#input.takeAll(), isLast)
      } catch (cause) {
        throw undecodable(header, cause)
      }
    }
    return {
      write: (blocks) => push(blocks, false),
      end: (checksum) => {
        push(NO_BYTES, true)
        checkContentSize(header, contentBytes)
        if (hash) checkChecksum(header, checksum, hash.digest())
        return undefined
      },
      cut: (isLast) => push(isLast ? NO_BYTES : LAST_BLOCK, true),
      destroy: () => undefined,
    }
  }

  #hash(chunks: readonly Uint8Array[]): bigint {
    const [only] = chunks
    if (only && chunks.length === 1) return this.#xxhash.h64Raw(only)
    const hash = this.#xxhash.create64()
    for (const chunk of chunks) hash.update(chunk)
    return hash.digest()
  }
}

/** The checksum of a frame is the low half of its content's XXH64, little-endian. */
function checkChecksum(header: FrameHeader, stored: Uint8Array, xxh64: bigint): void {
  const actual = Number(BigInt.asUintN(32, xxh64))
  if (actual !== checksumOf(stored)) throw wrongChecksum(header, stored, { actual: checksumText(actual) })
}

// --- wasm-zstd ---

/** What is used of the module inside @foxglove/wasm-zstd: its own wrapper copies each content into memory of its own. */
interface WasmZstd {
  readonly ready: Promise<unknown>
  /** Another buffer whenever the memory has grown. */
  readonly HEAPU8: Uint8Array<ArrayBuffer>
  _malloc(size: number): number
  _free(pointer: number): void
  /** Size of the content, or −1. */
  _decompress(content: number, contentLimit: number, frame: number, frameSize: number): number
}

/** A piece of the memory of the module, made larger when that is needed. */
class WasmBytes {
  readonly #wasm: WasmZstd
  #pointer = 0
  #size = 0

  constructor(wasm: WasmZstd) {
    this.#wasm = wasm
  }

  /** Where at least `size` bytes are. What was there is lost. */
  pointerTo(size: number): number {
    if (size <= this.#size) return this.#pointer
    if (this.#size > 0) this.#wasm._free(this.#pointer)
    this.#size = 0
    this.#pointer = this.#wasm._malloc(size)
    if (this.#pointer === 0) throw new Error(`No memory for ${size} bytes in wasm-zstd`)
    this.#size = size
    return this.#pointer
  }
}

/**
 * libzstd in WebAssembly: a fifth of the time of fzstd and less, checksums included, and half of what Node 22 takes for small
 * frames, which leaves a context of libzstd to the garbage collector for each. It has one error for everything and takes
 * whole frames only, so another decoder says what is wrong, and streams what is large.
 */
class WasmDecoder implements FrameDecoder {
  readonly #wasm: WasmZstd
  readonly #plain: FrameDecoder
  readonly #frame: WasmBytes
  readonly #content: WasmBytes

  constructor(wasm: WasmZstd, plain: FrameDecoder) {
    this.#wasm = wasm
    this.#plain = plain
    this.#frame = new WasmBytes(wasm)
    this.#content = new WasmBytes(wasm)
  }

  decode(frame: Uint8Array, header: FrameHeader, contentLimit: number): readonly Uint8Array[] {
    const limit = Math.min(header.contentBytes ?? contentLimit, contentLimit)
    const from = this.#frame.pointerTo(frame.length)
    const to = this.#content.pointerTo(Math.max(limit, 1))
    this.#wasm.HEAPU8.set(frame, from)
    const size = this.#wasm._decompress(to, limit, from, frame.length)
    if (size === -1) return this.#plain.decode(frame, header, contentLimit)
    return [Buffer.from(this.#wasm.HEAPU8.buffer, to, size)]
  }

  open(header: FrameHeader, deliver: (chunk: Uint8Array) => void): OpenFrame {
    return this.#plain.open(header, deliver)
  }
}

// --- loading ---

/** A decoder by name, or the best for few or for many bytes. */
type DecoderChoice = ZstdDecoder | 'few' | 'many'

/** Stored bytes from which wasm-zstd wins back the time it takes to load (10 ms, fzstd 3 ms). */
const MANY_BYTES = 512 * 1024

const loadedDecoders = new Map<DecoderChoice, FrameDecoder>()

/** Loads a decoder when the first zstd bytes turn up, so that raw logs do not pay for it. */
async function loadDecoder(choice: DecoderChoice): Promise<FrameDecoder> {
  const isNativeGood = choice !== 'javascript' && choice !== 'wasm'
  const native = isNativeGood ? await loadNative() : undefined
  if (choice === 'native' && !native) {
    throw invalidConfig('This Node has no zstd in node:zlib; use Node 22.15 or later, or another decoder', {
      option: 'decoder',
    })
  }
  const plain = native ?? (await loadJavascript())
  const decoder = choice === 'wasm' || choice === 'many' ? await withWasm(plain) : plain
  loadedDecoders.set(choice, decoder)
  return decoder
}

async function loadNative(): Promise<FrameDecoder | undefined> {
  const zlib = (await import('node:zlib')) as unknown as NativeZstd
  return 'zstdDecompressSync' in zlib ? new NativeDecoder(zlib) : undefined
}

async function loadJavascript(): Promise<FrameDecoder> {
  const loaded = loadedDecoders.get('javascript')
  if (loaded) return loaded
  const [{ Decompress }, { default: xxhash }] = await Promise.all([import('fzstd'), import('xxhash-wasm')])
  const decoder = new JavascriptDecoder(Decompress, await xxhash())
  loadedDecoders.set('javascript', decoder)
  return decoder
}

/** Named in a variable, because it finds its .wasm file beside itself and so must stay outside of bundles. */
const WASM_MODULE = '@foxglove/wasm-zstd/dist/wasm-zstd.js'

/** Leaves to `plain` what wasm-zstd cannot do. */
async function withWasm(plain: FrameDecoder): Promise<FrameDecoder> {
  try {
    const { default: load } = (await import(WASM_MODULE)) as { default: () => Promise<WasmZstd> }
    const wasm = await load()
    await wasm.ready
    return new WasmDecoder(wasm, plain)
  } catch {
    return plain // not installed, or a system without WebAssembly: it takes longer
  }
}
