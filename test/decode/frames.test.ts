// The frame scanner alone: every part once, wherever the bytes are cut, and every refusal structure can give.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FrameScanner, windowDescriptor, windowOf } from '../../src/decode/frames.ts'
import { DshRefError } from '../../src/errors.ts'
import { type Block, rawBlock, rawBlocks, rleBlock, writeFrame } from '../support/zstd-writer.ts'

interface Scan {
  readonly parts: readonly string[]
  readonly frames: number
  readonly isInsideFrame: boolean
  readonly boundaryBytes: number
  readonly partialBlockBytes: number
  readonly hasAllBlocks: boolean
}

function scan(bytes: Uint8Array, pieces: readonly number[] = [Math.max(1, bytes.length)]): Scan {
  const scanner = new FrameScanner()
  const parts: string[] = []
  for (let start = 0, index = 0; start < bytes.length; index++) {
    const piece = bytes.subarray(start, start + (pieces[index % pieces.length] as number))
    let at = 0
    for (;;) {
      at = scanner.advance(piece, at)
      const offset = start + at
      if (scanner.part === 'more') break
      if (scanner.part === 'header') {
        const { frame, windowBytes, contentBytes, hasChecksum, blockMaxBytes } = scanner.header
        parts.push(`${offset} header ${frame} ${windowBytes} ${contentBytes} ${hasChecksum} ${blockMaxBytes}`)
      } else if (scanner.part === 'block') {
        parts.push(`${offset} block ${scanner.blockType} ${scanner.blockBytes} ${scanner.isLastBlock}`)
      } else {
        parts.push(`${offset} end ${scanner.frames} ${scanner.frameBytes}`)
      }
    }
    expect(at).toBe(piece.length)
    start += piece.length
  }
  const { frames, isInsideFrame, boundaryBytes, partialBlockBytes, hasAllBlocks } = scanner
  return { parts, frames, isInsideFrame, boundaryBytes, partialBlockBytes, hasAllBlocks }
}

function refusal(bytes: Uint8Array): Record<string, unknown> {
  try {
    scan(bytes, [1])
  } catch (error) {
    if (error instanceof DshRefError) return { message: error.message, ...error.facts }
    throw error
  }
  throw new Error('Nothing was refused')
}

const log = Buffer.concat([
  writeFrame([rawBlock('{"type":"session"}\n')]),
  writeFrame([rawBlock('abc'), rleBlock(65, 1000), rawBlock('')], { checksum: false }),
  writeFrame([rawBlock('')], { isSingleSegment: true }),
  writeFrame(rawBlocks('x'.repeat(700), 300), { isSingleSegment: true, contentSizeWidth: 2 }),
  writeFrame([rleBlock(0, 128 * 1024)], { contentSizeWidth: 4 }),
  writeFrame([rawBlock('end')], { contentSizeWidth: 8, windowDescriptor: 0 }),
])

describe('scanning frames', () => {
  test('reports headers, blocks and frame ends in file order', () => {
    expect(scan(log)).toEqual({
      parts: [
        '6 header 1 2097152 undefined true 131072',
        '28 block 0 19 true',
        '32 end 1 32',
        '38 header 2 2097152 undefined false 131072',
        '44 block 0 3 false',
        '48 block 1 1000 false',
        '51 block 0 0 true',
        '51 end 2 19',
        '57 header 3 0 0 true 0',
        '60 block 0 0 true',
        '64 end 3 13',
        '71 header 4 700 700 true 700',
        '374 block 0 300 false',
        '677 block 0 300 false',
        '780 block 0 100 true',
        '784 end 4 720',
        '794 header 5 2097152 131072 true 131072',
        '798 block 1 131072 true',
        '802 end 5 18',
        '816 header 6 1024 3 true 1024',
        '822 block 0 3 true',
        '826 end 6 24',
      ],
      frames: 6,
      isInsideFrame: false,
      boundaryBytes: 20,
      partialBlockBytes: 0,
      hasAllBlocks: false,
    })
  })

  test('reports the same parts for any split of the bytes', () => {
    const whole = scan(log)
    expect(scan(log, [1])).toEqual(whole)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 }), (pieces) => {
        expect(scan(log, pieces)).toEqual(whole)
      }),
      { numRuns: 200 },
    )
  })

  test('knows for every cut how many frames are complete and where the last complete block ends', () => {
    const whole = scan(log)
    const offsets = whole.parts.map((part) => ({ offset: Number.parseInt(part, 10), isEnd: part.includes(' end ') }))
    for (let length = 0; length <= log.length; length++) {
      const cut = scan(log.subarray(0, length), [5])
      const ends = offsets.filter(({ offset, isEnd }) => isEnd && offset <= length)
      const lastEnd = ends.at(-1)?.offset ?? 0
      expect(cut.frames).toBe(ends.length)
      expect(cut.isInsideFrame).toBe(length > lastEnd)
      if (!cut.isInsideFrame) continue
      const boundary = offsets.filter(({ offset }) => offset <= length && offset > lastEnd).at(-1)?.offset
      expect(cut.boundaryBytes).toBe(boundary === undefined ? 0 : boundary - lastEnd)
    }
  })

  test('tells how much of a torn block there is, and when only the checksum is torn', () => {
    const frame = writeFrame([rawBlock('abcdef'), rawBlock('ghijkl')])
    const cutBy = (bytes: number) => scan(frame.subarray(0, frame.length - bytes))
    expect(cutBy(1)).toMatchObject({ isInsideFrame: true, hasAllBlocks: true, partialBlockBytes: 0 })
    expect(cutBy(4)).toMatchObject({ isInsideFrame: true, hasAllBlocks: true, partialBlockBytes: 0 })
    expect(cutBy(6)).toMatchObject({ hasAllBlocks: false, partialBlockBytes: 4, boundaryBytes: 15 })
    expect(cutBy(10)).toMatchObject({ hasAllBlocks: false, partialBlockBytes: 0, boundaryBytes: 15 })
    expect(cutBy(11)).toMatchObject({ hasAllBlocks: false, partialBlockBytes: 0, boundaryBytes: 15 })
  })

  test('takes fewer than four odd bytes after the last frame for a torn append', () => {
    for (const tail of ['g', 'ga', 'gar', '\x28\xb5\x2f']) {
      const torn = scan(Buffer.concat([log, Buffer.from(tail, 'latin1')]))
      expect(torn).toMatchObject({ frames: 6, isInsideFrame: true, boundaryBytes: 0 })
    }
  })
})

describe('refusing what structure shows', () => {
  const first = writeFrame([rawBlock('{}\n')])
  const second = (frame: Uint8Array) => refusal(Buffer.concat([first, frame]))
  const broken = (block: Partial<Block>) => writeFrame([{ ...rawBlock('abc'), ...block }])

  test('refuses a wrong magic number and names frame and offset', () => {
    expect(second(Buffer.from('garbage!'))).toEqual({
      message: 'Frame 2 does not start with the zstd magic number',
      reason: 'corrupt',
      rule: 'zstd-magic',
      frame: 2,
      offset: first.length,
      expected: '28 b5 2f fd',
      actual: '67 61 72 62',
    })
  })

  test('refuses every kind of skippable frame', () => {
    for (let kind = 0x50; kind <= 0x5f; kind++) {
      expect(second(Buffer.of(kind, 0x2a, 0x4d, 0x18, 0, 0, 0, 0))).toMatchObject({
        reason: 'corrupt',
        rule: 'zstd-magic',
        message: 'Frame 2 is a skippable frame, which DSH never writes',
      })
    }
  })

  test('refuses both bits of the descriptor that DSH holds for reserved', () => {
    for (const extraBits of [0x08, 0x10, 0x18]) {
      const frame = writeFrame([rawBlock('abc')], { extraBits })
      expect(second(frame)).toMatchObject({ reason: 'corrupt', rule: 'zstd-descriptor', frame: 2 })
    }
  })

  test('refuses a dictionary as unsupported, whatever the width of its id', () => {
    for (const extraBits of [1, 2, 3]) {
      const frame = writeFrame([rawBlock('abc')], { extraBits })
      expect(second(frame)).toMatchObject({ reason: 'unsupported', rule: 'zstd-dictionary', frame: 2 })
    }
  })

  test('refuses the reserved block type', () => {
    expect(second(broken({ type: 3 }))).toMatchObject({ reason: 'corrupt', rule: 'zstd-block-type', block: 6 })
  })

  test('refuses a block larger than the window or 128 KiB, RLE blocks included', () => {
    const tooLarge = { reason: 'corrupt', rule: 'zstd-block-size', frame: 2 }
    expect(second(broken({ size: 128 * 1024 + 1 }))).toMatchObject({ ...tooLarge, expected: 131072, actual: 131073 })
    expect(second(writeFrame([rleBlock(1, 128 * 1024 + 1)]))).toMatchObject(tooLarge)
    expect(second(writeFrame([rleBlock(1, 1025)], { windowDescriptor: 0 }))).toMatchObject({
      ...tooLarge,
      expected: 1024,
    })
    const single = writeFrame([rawBlock('abcd')], { isSingleSegment: true, contentSize: 3 })
    expect(second(single)).toMatchObject({ ...tooLarge, expected: 3, actual: 4 })
    expect(() => scan(writeFrame([rleBlock(1, 128 * 1024)]))).not.toThrow()
  })
})

describe('window descriptors', () => {
  test('windowDescriptor() gives the smallest window that holds the bytes', () => {
    expect(windowOf(0)).toBe(1024)
    expect(windowOf(0x58)).toBe(2 * 1024 * 1024)
    for (let descriptor = 0; descriptor < 256; descriptor++) {
      expect(windowDescriptor(windowOf(descriptor))).toBe(descriptor)
      if (descriptor > 0) expect(windowDescriptor(windowOf(descriptor - 1) + 1)).toBe(descriptor)
    }
    expect(windowDescriptor(0)).toBe(0)
  })
})
