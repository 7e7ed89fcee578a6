// Frames decoded by node:zlib, which has zstd from Node 22.15 on.

import type { Transform } from 'node:stream'
import {
  checkContentSize,
  type FrameDecoder,
  NO_BYTES,
  type OpenFrame,
  rewrittenHeader,
  undecodable,
  wholeFrameOf,
  wrongChecksum,
} from './frame-decoder.ts'
import { CHECKSUM_BYTES, type FrameHeader } from './frames.ts'

/** What is used of node:zlib from 22.15 on; the types of Node 20 do not know it. */
export interface NativeZstd {
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

export class NativeDecoder implements FrameDecoder {
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
