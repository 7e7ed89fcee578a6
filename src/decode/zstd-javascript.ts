// Frames decoded by fzstd, their checksums by xxhash-wasm: what every Node can do.

import type { Decompress } from 'fzstd'
import type { XXHashAPI } from 'xxhash-wasm'
import {
  ByteBuffer,
  checkContentSize,
  checksumOf,
  checksumText,
  type FrameDecoder,
  LAST_BLOCK,
  NO_BYTES,
  neededWindowBytes,
  type OpenFrame,
  rewrittenHeader,
  undecodable,
  wrongChecksum,
} from './frame-decoder.ts'
import { CHECKSUM_BYTES, type FrameHeader } from './frames.ts'

export class JavascriptDecoder implements FrameDecoder {
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
