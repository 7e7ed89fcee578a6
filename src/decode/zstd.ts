// Decodes a zstd log frame by frame as its bytes arrive (FORMAT.md sections 7.3 and 8). Where frames begin and end is found by
// frames.ts, what is in one by a decoder (zstd-decoders.ts); what the bytes mean is not known here.

import { readFailed } from '../errors.ts'
import { ByteBuffer, type FrameDecoder, type OpenFrame, wholeFrameOf } from './frame-decoder.ts'
import { BLOCK_HEADER_BYTES, BLOCK_TYPE, CHECKSUM_BYTES, type FrameHeader, FrameScanner, windowOf } from './frames.ts'
import { type DecoderChoice, loadDecoder, loadedDecoders, MANY_BYTES, type ZstdDecoder } from './zstd-decoders.ts'

export type { ZstdDecoder } from './zstd-decoders.ts'

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
