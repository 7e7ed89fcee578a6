// Writes zstd frames for tests: by hand from raw and RLE blocks, which needs no compressor and can lie in every field, or
// compressed by a newer Node.

import { spawn } from 'node:child_process'
import { buffer } from 'node:stream/consumers'
import xxhash from 'xxhash-wasm'
import { newerNode, whyNoNewerNode } from './newer-node.ts'

const { create64 } = await xxhash()

const MAGIC = Buffer.of(0x28, 0xb5, 0x2f, 0xfd)

/** A block with the content it stands for. */
export interface Block {
  readonly type: 0 | 1 | 2 | 3
  /** Size field of the header; defaults to what the block really holds. */
  readonly size: number
  readonly stored: Uint8Array
  /** What it decodes to: `bytes`, `times` times. */
  readonly bytes: Uint8Array
  readonly times: number
}

/** Fields of a frame; the defaults are those of the frames DSH writes. */
export interface FrameFields {
  /** Default true. A number is stored instead of the right one. */
  readonly checksum?: boolean | number
  /** Width of the content size field in bytes; default 0, or 1 for a single segment. */
  readonly contentSizeWidth?: 0 | 1 | 2 | 4 | 8
  /** Content size to declare instead of the right one. */
  readonly contentSize?: number
  readonly isSingleSegment?: boolean
  /** Default 0x58: 2 MiB. */
  readonly windowDescriptor?: number
  /** More bits for the descriptor byte. */
  readonly extraBits?: number
}

/** A block that holds its bytes as they are. */
export function rawBlock(bytes: Uint8Array | string): Block {
  const content = typeof bytes === 'string' ? Buffer.from(bytes) : bytes
  return { type: 0, size: content.length, stored: content, bytes: content, times: 1 }
}

/** A block that stands for `count` times one byte. */
export function rleBlock(byte: number, count: number): Block {
  return { type: 1, size: count, stored: Uint8Array.of(byte), bytes: Uint8Array.of(byte), times: count }
}

/** `content` as raw blocks of `blockBytes`; one empty block when it is empty. */
export function rawBlocks(content: Uint8Array | string, blockBytes = 128 * 1024): Block[] {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const blocks: Block[] = []
  for (let at = 0; at < bytes.length || at === 0; at += blockBytes)
    blocks.push(rawBlock(bytes.subarray(at, at + blockBytes)))
  return blocks
}

/** One frame. Blocks are marked last by position. */
export function writeFrame(blocks: readonly Block[], fields: FrameFields = {}): Buffer {
  const { checksum = true, isSingleSegment = false, windowDescriptor = 0x58, extraBits = 0 } = fields
  const width = fields.contentSizeWidth ?? (isSingleSegment ? 1 : 0)
  if (isSingleSegment && width === 0) throw new Error('A single segment always has a content size')
  const contentSize = fields.contentSize ?? blocks.reduce((sum, block) => sum + block.bytes.length * block.times, 0)
  const flag = { 0: 0, 1: 0, 2: 1, 4: 2, 8: 3 }[width]
  const descriptor = (flag << 6) | (isSingleSegment ? 0x20 : 0) | (checksum === false ? 0 : 0x04) | extraBits
  const parts: Uint8Array[] = [MAGIC, Uint8Array.of(descriptor)]
  if (!isSingleSegment) parts.push(Uint8Array.of(windowDescriptor))
  parts.push(contentSizeField(contentSize, width))
  blocks.forEach((block, index) => {
    const header = (index === blocks.length - 1 ? 1 : 0) | (block.type << 1) | (block.size << 3)
    parts.push(littleEndian(header, 3), block.stored)
  })
  if (checksum !== false) parts.push(littleEndian(checksum === true ? checksumOf(blocks) : checksum, 4))
  return Buffer.concat(parts)
}

/** The low half of XXH64 of the content of some blocks. */
export function checksumOf(blocks: readonly Block[]): number {
  const hash = create64()
  for (const { bytes, times } of blocks) {
    hash.update(times === 1 ? bytes : Buffer.alloc(bytes.length * times, bytes))
  }
  return Number(BigInt.asUintN(32, hash.digest()))
}

function contentSizeField(size: number, width: number): Uint8Array {
  if (width === 2) return littleEndian(size - 256, 2)
  if (width === 8) return Buffer.concat([littleEndian(size % 2 ** 32, 4), littleEndian(Math.floor(size / 2 ** 32), 4)])
  return littleEndian(size, width)
}

function littleEndian(value: number, width: number): Uint8Array {
  return Uint8Array.from({ length: width }, (_, index) => Math.floor(value / 256 ** index) % 256)
}

// Buffers travel as length and bytes. A stream that does not know its size writes the header DSH's writer does: no content
// size, a window of 2 MiB.
const COMPRESSOR = `
import { constants, createZstdCompress, zstdCompressSync } from 'node:zlib'
import { readFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
const input = readFileSync(0), params = { [constants.ZSTD_c_checksumFlag]: 1 }
for (let at = 0; at < input.length; ) {
  const length = input.readUInt32LE(at)
  const content = input.subarray(at + 4, (at += 4 + length))
  const stream = process.argv[1] === 'streamed' ? createZstdCompress({ params }) : undefined
  stream?.write(content)
  stream?.end()
  const frame = stream ? await buffer(stream) : zstdCompressSync(content, { params })
  const size = Buffer.alloc(4)
  size.writeUInt32LE(frame.length)
  process.stdout.write(size)
  process.stdout.write(frame)
}
`

/**
 * Compresses each content into one frame with checksum. `streamed` frames look like those DSH writes; the others declare
 * their content size. Throws when there is no newer Node.
 */
export async function compressWithNewerNode(
  contents: readonly Buffer[],
  shape: 'streamed' | 'sized' = 'streamed',
): Promise<Buffer[]> {
  const node = await newerNode()
  if (!node) throw new Error(await whyNoNewerNode())
  const child = spawn(node, ['--input-type=module', '--eval', COMPRESSOR, shape], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  for (const content of contents) {
    child.stdin.write(littleEndian(content.length, 4))
    child.stdin.write(content)
  }
  child.stdin.end()
  const output = await buffer(child.stdout)
  const frames: Buffer[] = []
  for (let at = 0; at < output.length; ) {
    const length = output.readUInt32LE(at)
    frames.push(output.subarray(at + 4, (at += 4 + length)))
  }
  if (frames.length !== contents.length) throw new Error('The newer Node did not compress everything')
  return frames
}
