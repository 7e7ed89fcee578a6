// What the decoders of frames have in common: how the reader (zstd.ts) sees them, frames written anew for them, and refusals.

import { type ErrorFacts, readFailed } from '../errors.ts'
import { FRAME_MAGIC, type FrameHeader, windowDescriptor } from './frames.ts'

/** A decoder as the reader sees it: one frame at a time, no bytes kept after a call or its promise is done. */
export interface FrameDecoder {
  /** Decodes and verifies one frame held in memory, whose content is at most `contentLimit` bytes. */
  decode(frame: Uint8Array, header: FrameHeader, contentLimit: number): readonly Uint8Array[]
  /** Starts a frame that is decoded while it arrives. What `deliver` throws comes out of the calls below. */
  open(header: FrameHeader, deliver: (chunk: Uint8Array) => void): OpenFrame
}

/** A frame that is decoded while it arrives. Once a call has failed there must be no other but `destroy`. */
export interface OpenFrame {
  /** Decodes complete blocks, the first ones without the frame header. */
  write(blocks: Uint8Array): Promise<void> | undefined
  /** Verifies the frame after its last block. */
  end(checksum: Uint8Array): Promise<void> | undefined
  /** Gives up the frame once all content of its blocks was delivered; `isLast` when no block is missing. */
  cut(isLast: boolean): Promise<void> | undefined
  destroy(): void
}

/** Bytes kept from one piece to the next. */
export class ByteBuffer {
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

export const NO_BYTES = new Uint8Array(0)

/** An empty raw block that is the last of its frame. */
export const LAST_BLOCK = Uint8Array.of(1, 0, 0)

const REWRITTEN_HEADER_BYTES = FRAME_MAGIC.length + 2

/** A frame header without content size: a declared one may be wrong, and is compared by the reader instead. */
export function rewrittenHeader(windowBytes: number, hasChecksum: boolean): Uint8Array {
  return Uint8Array.of(...FRAME_MAGIC, hasChecksum ? 0x04 : 0, windowDescriptor(windowBytes))
}

/** The complete blocks of a torn frame as a frame of their own, so that both decoders see the same. */
export function wholeFrameOf(
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
export function neededWindowBytes({ windowBytes, blockMaxBytes }: FrameHeader, contentLimit: number): number {
  return Math.max(blockMaxBytes, Math.min(windowBytes, contentLimit))
}

function corrupt({ frame, offset }: FrameHeader, rule: string, what: string, facts: ErrorFacts, cause?: unknown) {
  return readFailed('corrupt', `Frame ${frame} ${what}`, { rule, frame, offset, ...facts }, { cause })
}

export function undecodable(header: FrameHeader, cause: unknown) {
  return corrupt(header, 'zstd-block', 'holds a block that does not decode', {}, cause)
}

export function wrongChecksum(header: FrameHeader, stored: Uint8Array, facts: ErrorFacts, cause?: unknown) {
  const expected = checksumText(checksumOf(stored))
  return corrupt(header, 'zstd-checksum', 'does not match its checksum', { expected, ...facts }, cause)
}

export function checksumOf(stored: Uint8Array): number {
  return new DataView(stored.buffer, stored.byteOffset).getUint32(0, true)
}

export function checksumText(checksum: number): string {
  return checksum.toString(16).padStart(8, '0')
}

export function checkContentSize(header: FrameHeader, actual: number): void {
  const { contentBytes } = header
  if (contentBytes === undefined || contentBytes === actual) return
  throw corrupt(header, 'zstd-content-size', 'does not have the content size it declares', {
    expected: contentBytes,
    actual,
  })
}
