// The structure of concatenated zstd frames (FORMAT.md section 8): where headers, blocks and frames begin and end, with
// the refusals structure alone can give. Decodes nothing; zstd.ts feeds what is found here to a decoder.

import { type DshRefError, readFailed } from '../errors.ts'

/** First bytes of a frame, as stored. */
export const FRAME_MAGIC: readonly number[] = [0x28, 0xb5, 0x2f, 0xfd]

/** The largest block any frame may hold, before and after compression. */
export const MAX_BLOCK_BYTES = 128 * 1024

/** Bytes in front of each block: last flag, type and size. */
export const BLOCK_HEADER_BYTES = 3

/** Bytes of the content checksum at the end of a frame that has one. */
export const CHECKSUM_BYTES = 4

/** How a block is stored; the numbers are the ones on disk. */
export const BLOCK_TYPE = { raw: 0, rle: 1, compressed: 2 } as const

/** What a frame header says. */
export interface FrameHeader {
  /** 1-based number of the frame. */
  readonly frame: number
  /** Offset of the magic number from the first byte scanned. */
  readonly offset: number
  readonly headerBytes: number
  /** Memory a decoder needs for back-references; the content size when the frame is a single segment. */
  readonly windowBytes: number
  /** Size of the content as declared; `undefined` when the frame does not say. */
  readonly contentBytes: number | undefined
  readonly hasChecksum: boolean
  /** Neither a stored block nor its content may be larger than this. */
  readonly blockMaxBytes: number
}

/** What `advance` completed: a frame header, one block, a whole frame, or nothing because the bytes ran out. */
export type FramePart = 'header' | 'block' | 'end' | 'more'

const MAGIC = 0
const DESCRIPTOR = 1
const REST_OF_HEADER = 2
const BLOCK_HEADER = 3
const BLOCK_BODY = 4
const CHECKSUM = 5
const END = 6

const HEADER_LIMIT_BYTES = 18
const CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const

/**
 * Finds the parts of consecutive frames in bytes that may be cut anywhere. Every part is reported exactly once, in file
 * order, however the bytes were cut. Throws `READ_FAILED` when the bytes are no frames DSH could have written.
 */
export class FrameScanner {
  /** What the last `advance` completed. */
  part: FramePart = 'more'
  /** Frames seen to their end. */
  frames = 0
  /** Bytes of the current frame scanned so far; of the last frame when the scanner stands between two. */
  frameBytes = 0
  /** Length of the current frame up to the end of its header or of its last complete block; 0 inside the header. */
  boundaryBytes = 0
  /** Type of the block that was completed, or that is under way. */
  blockType = 0
  /** Size of that block as stored in its header: for RLE the content, else the bytes on disk. */
  blockBytes = 0
  /** Whether that block is the last of its frame. */
  isLastBlock = false

  #state = MAGIC
  #offset = 0
  #header: FrameHeader | undefined
  /** Bytes of the body still to pass; fields of fixed size are collected in `#field` first. */
  #remaining = 0
  #needed = FRAME_MAGIC.length
  #held = 0
  readonly #field = new Uint8Array(HEADER_LIMIT_BYTES)
  readonly #view = new DataView(this.#field.buffer)

  /** Header of the current frame; a bug to ask before the first `'header'`. */
  get header(): FrameHeader {
    if (!this.#header) throw new Error('No frame header was scanned yet')
    return this.#header
  }

  /** True when the bytes end inside a frame, be it inside its magic number. */
  get isInsideFrame(): boolean {
    return this.#state !== MAGIC || this.#held > 0
  }

  /** True when all blocks of the current frame are complete and only (some of) its checksum is missing. */
  get hasAllBlocks(): boolean {
    return this.#state === CHECKSUM
  }

  /** Bytes of the block under way that were scanned, its header not counted; 0 when that header is incomplete. */
  get partialBlockBytes(): number {
    return this.#state === BLOCK_BODY ? this.frameBytes - this.boundaryBytes - BLOCK_HEADER_BYTES : 0
  }

  /** Continues at `bytes[from]`, writes what was completed to `part`, and returns where it stopped. */
  advance(bytes: Uint8Array, from: number): number {
    let at = from
    for (;;) {
      if (this.#state === END) {
        this.#expect(MAGIC, FRAME_MAGIC.length)
        this.frames++
        return this.#complete('end', at)
      }
      if (this.#state === BLOCK_BODY) {
        const taken = Math.min(this.#remaining, bytes.length - at)
        at += taken
        this.frameBytes += taken
        this.#remaining -= taken
        if (this.#remaining > 0) return this.#complete('more', at)
        return this.#endBlock(at)
      }
      while (this.#held < this.#needed) {
        if (at === bytes.length) return this.#complete('more', at)
        if (this.#state === MAGIC && this.#held === 0) this.#beginFrame()
        this.#field[this.#held++] = bytes[at++] as number
        this.frameBytes++
      }
      switch (this.#state) {
        case MAGIC:
          this.#checkMagic()
          this.#state = DESCRIPTOR
          this.#needed = FRAME_MAGIC.length + 1
          break
        case DESCRIPTOR:
          this.#checkDescriptor()
          this.#state = REST_OF_HEADER
          break
        case REST_OF_HEADER:
          this.#header = this.#readHeader()
          this.boundaryBytes = this.frameBytes
          this.#expect(BLOCK_HEADER, BLOCK_HEADER_BYTES)
          return this.#complete('header', at)
        case BLOCK_HEADER:
          this.#readBlockHeader()
          this.#state = BLOCK_BODY
          break
        default:
          this.#state = END
      }
    }
  }

  #complete(part: FramePart, at: number): number {
    this.part = part
    return at
  }

  #expect(state: number, bytes: number): void {
    this.#state = state
    this.#needed = bytes
    this.#held = 0
  }

  #beginFrame(): void {
    this.#offset += this.frameBytes
    this.frameBytes = 0
    this.boundaryBytes = 0
  }

  // Fewer than four bytes after the last frame are the beginning of an append that was cut off, whatever they are
  // (FORMAT.md section 7.3): only a whole magic number can be wrong.
  #checkMagic(): void {
    if (FRAME_MAGIC.every((byte, index) => this.#field[index] === byte)) return
    const magic = this.#view.getUint32(0, true)
    const isSkippable = magic >>> 4 === 0x184d2a5
    throw this.#refusal(
      'zstd-magic',
      isSkippable ? 'is a skippable frame, which DSH never writes' : 'does not start with the zstd magic number',
      { expected: hex(FRAME_MAGIC), actual: hex(this.#field.subarray(0, FRAME_MAGIC.length)) },
    )
  }

  #checkDescriptor(): void {
    const descriptor = this.#field[4] as number
    // 0x08 is reserved by zstd; 0x10 it calls unused, and DSH refuses both.
    if (descriptor & 0x18)
      throw this.#refusal('zstd-descriptor', 'sets reserved bits of its descriptor', { actual: hex([descriptor]) })
    if (descriptor & 0x03) {
      throw readFailed('unsupported', `Frame ${this.frames + 1} needs a dictionary, which DSH never uses`, {
        rule: 'zstd-dictionary',
        frame: this.frames + 1,
        offset: this.#offset,
      })
    }
    const isSingleSegment = (descriptor & 0x20) !== 0
    this.#needed += (isSingleSegment ? 0 : 1) + contentSizeBytes(descriptor)
  }

  #readHeader(): FrameHeader {
    const descriptor = this.#field[4] as number
    const isSingleSegment = (descriptor & 0x20) !== 0
    const at = isSingleSegment ? 5 : 6
    let contentBytes: number | undefined
    switch (contentSizeBytes(descriptor)) {
      case 1:
        contentBytes = this.#view.getUint8(at)
        break
      case 2:
        contentBytes = this.#view.getUint16(at, true) + 256
        break
      case 4:
        contentBytes = this.#view.getUint32(at, true)
        break
      case 8:
        // Sizes beyond 2^53 lose their low bits, which no real content could equal anyway.
        contentBytes = this.#view.getUint32(at, true) + this.#view.getUint32(at + 4, true) * 2 ** 32
        break
    }
    const windowBytes =
      isSingleSegment && contentBytes !== undefined ? contentBytes : windowOf(this.#field[5] as number)
    return {
      frame: this.frames + 1,
      offset: this.#offset,
      headerBytes: this.frameBytes,
      windowBytes,
      contentBytes,
      hasChecksum: (descriptor & 0x04) !== 0,
      blockMaxBytes: Math.min(windowBytes, MAX_BLOCK_BYTES),
    }
  }

  #readBlockHeader(): void {
    const header = this.#view.getUint16(0, true) | (this.#view.getUint8(2) << 16)
    this.isLastBlock = (header & 1) === 1
    this.blockType = (header >> 1) & 3
    this.blockBytes = header >> 3
    if (this.blockType === 3)
      throw this.#refusal('zstd-block-type', 'holds a block of the reserved type', { block: this.boundaryBytes })
    const { blockMaxBytes } = this.header
    if (this.blockBytes > blockMaxBytes) {
      throw this.#refusal('zstd-block-size', 'holds a block larger than the frame allows', {
        block: this.boundaryBytes,
        expected: blockMaxBytes,
        actual: this.blockBytes,
      })
    }
    this.#remaining = this.blockType === BLOCK_TYPE.rle ? 1 : this.blockBytes
  }

  #endBlock(at: number): number {
    this.boundaryBytes = this.frameBytes
    if (!this.isLastBlock) this.#expect(BLOCK_HEADER, BLOCK_HEADER_BYTES)
    else if (this.header.hasChecksum) this.#expect(CHECKSUM, CHECKSUM_BYTES)
    else this.#state = END
    return this.#complete('block', at)
  }

  #refusal(rule: string, what: string, facts: Record<string, unknown>): DshRefError {
    const frame = this.frames + 1
    return readFailed('corrupt', `Frame ${frame} ${what}`, { rule, frame, offset: this.#offset, ...facts })
  }
}

/** Window descriptor byte of the smallest window that holds `bytes`. */
export function windowDescriptor(bytes: number): number {
  let descriptor = 0
  while (windowOf(descriptor) < bytes) descriptor++
  return descriptor
}

/** Window size a window descriptor byte stands for: eight steps to each power of two, from 1 KiB. */
export function windowOf(descriptor: number): number {
  return 2 ** (10 + (descriptor >> 3)) * (1 + (descriptor & 7) / 8)
}

function contentSizeBytes(descriptor: number): number {
  const flag = (descriptor >> 6) as 0 | 1 | 2 | 3
  return flag === 0 && descriptor & 0x20 ? 1 : CONTENT_SIZE_BYTES[flag]
}

function hex(bytes: ArrayLike<number>): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ')
}
