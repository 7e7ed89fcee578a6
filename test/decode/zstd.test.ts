// The zstd reader with all decoders: javascript and wasm in this process, the native one under a newer Node.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createZstdReader, type ZstdDecoder } from '../../src/decode/zstd.ts'
import { DshRefError } from '../../src/errors.ts'
import { CONFORMANCE } from '../support/conformance.ts'
import { chosenOf } from '../support/exhaustive.ts'
import { newerNode, whyNoNewerNode } from '../support/newer-node.ts'
import { runZstdCase, runZstdCasesUnder, type ZstdCase, type ZstdOutcome, type ZstdRun } from '../support/zstd-cases.ts'
import {
  type Block,
  checksumOf,
  compressWithNewerNode,
  type FrameFields,
  rawBlock,
  rawBlocks,
  rleBlock,
  writeFrame,
} from '../support/zstd-writer.ts'

const ARTIFACTS = CONFORMANCE && join(CONFORMANCE, 'artifacts')
const LIMIT_BYTES = 2 * 1024 * 1024

const node = await newerNode()
const whyNot = await whyNoNewerNode()
const directory = await mkdtemp(join(tmpdir(), 'dsh-ref-zstd-'))
afterAll(() => rm(directory, { recursive: true, force: true }))

/** A file of frames, and what they hold. */
interface Log {
  readonly file: string
  readonly bytes: Buffer
  readonly content: Buffer
  /** Offsets behind each frame: in the file, and in the content. */
  readonly ends: readonly { readonly stored: number; readonly content: number }[]
}

let files = 0
async function logOf(frames: readonly { readonly stored: Buffer; readonly content: Buffer }[]): Promise<Log> {
  const file = join(directory, `${++files}.zstd`)
  const bytes = Buffer.concat(frames.map(({ stored }) => stored))
  const content = Buffer.concat(frames.map((frame) => frame.content))
  await writeFile(file, bytes)
  let stored = 0
  let contentBytes = 0
  const ends = frames.map((frame) => ({
    stored: (stored += frame.stored.length),
    content: (contentBytes += frame.content.length),
  }))
  return { file, bytes, content, ends }
}

function frameOf(blocks: readonly Block[], fields?: FrameFields): { stored: Buffer; content: Buffer } {
  return { stored: writeFrame(blocks, fields), content: contentOf(blocks) }
}

function contentOf(blocks: readonly Block[]): Buffer {
  return Buffer.concat(blocks.map(({ bytes, times }) => Buffer.alloc(bytes.length * times, bytes)))
}

const hashes = new Map<string, string>()

/** The hash of the first bytes of a log's content; the same are asked for by many cases. */
function hashOfContent({ file, content }: Log, length: number): string {
  const key = `${file} ${length}`
  const hash = hashes.get(key) ?? sha256(content.subarray(0, length))
  hashes.set(key, hash)
  return hash
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Text that compresses about as well as a log does, the same in every run. */
function rows(count: number, seed: number): Buffer {
  let state = seed
  const random = (below: number) => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) % below
  const words = Array.from({ length: 300 }, () => (random(2 ** 31) + 2 ** 31).toString(36).slice(0, 2 + random(6)))
  const text = () => Array.from({ length: 3 + random(60) }, () => words[random(words.length)]).join(' ')
  return Buffer.from(
    Array.from({ length: count }, (_, seq) => `{"type":"note","seq":${seq},"data":{"text":"${text()}"}}\n`).join(''),
  )
}

const HEADER_ROW = Buffer.from('{"type":"session","version":4,"id":"zstd-1"}\n')

async function compressedLog(contents: readonly Buffer[], shape?: 'sized'): Promise<Log> {
  const stored = await compressWithNewerNode(contents, shape)
  return logOf(stored.map((frame, index) => ({ stored: frame, content: contents[index] as Buffer })))
}

/** A frame of each kind a writer may choose; the magic number stands in a payload too. */
const handmade = await logOf([
  frameOf([rawBlock(HEADER_ROW)]),
  frameOf([rawBlock('abc'), rleBlock(0x62, 5000), rawBlock(''), rawBlock('\n')]),
  frameOf([rawBlock('no checksum\n')], { checksum: false }),
  frameOf([rawBlock('')], { isSingleSegment: true }),
  frameOf([rawBlock('')], { checksum: false }),
  frameOf(rawBlocks('one segment\n'.repeat(60), 300), { isSingleSegment: true, contentSizeWidth: 2 }),
  frameOf([rawBlock(Buffer.from('28b52ffd040100002a4d18', 'hex')), rawBlock('\n')]),
  frameOf([rleBlock(0x0a, 300)], { contentSizeWidth: 4, windowDescriptor: 0 }),
  frameOf([rawBlock('x'.repeat(250)), rawBlock('last\n')], { contentSizeWidth: 8 }),
])

/** One frame so large that it is streamed: 450 KiB of raw and RLE blocks, between two small ones. */
const noise = rows(5000, 7).subarray(0, 450 * 1024)
const streamedBlocks = [...rawBlocks(noise, 50_000), rleBlock(0x2e, 9999), rawBlock('done\n')]
const streamed = await logOf([frameOf([rawBlock(HEADER_ROW)]), frameOf(streamedBlocks), frameOf([rawBlock('after\n')])])

/** As DSH writes them: compressed, small frames; and one large body as a migration leaves it. */
const compressed = node
  ? {
      small: await compressedLog([
        HEADER_ROW,
        rows(3, 1),
        rows(400, 2),
        rows(1, 3),
        Buffer.alloc(0),
        rows(3000, 4),
        rows(5, 5),
      ]),
      sized: await compressedLog([HEADER_ROW, rows(3, 1), rows(400, 2), rows(1, 3), rows(5, 5)], 'sized'),
      large: await compressedLog([HEADER_ROW, rows(6500, 6), rows(5, 8)]),
    }
  : undefined

let made64MiB: Promise<Log> | undefined

/** A header and one frame of 64 MiB, made once for all decoders. */
function logOf64MiB(): Promise<Log> {
  made64MiB ??= logOf([frameOf([rawBlock(HEADER_ROW)]), frameOf(rawBlocks(Buffer.alloc(64 * 1024 * 1024, noise)))])
  return made64MiB
}

let madeTinyFrames: Promise<Log> | undefined

/** 4,000 frames of a row each, made once for all decoders. */
function tinyFrames(): Promise<Log> {
  madeTinyFrames ??= logOf(Array.from({ length: 4000 }, (_, seq) => frameOf([rawBlock(rows(1, seq))])))
  return madeTinyFrames
}

/** A compressed block no decoder can take: its literals use the Huffman table of an earlier block, and there is none. */
const undecodable = compressedBlock(0x53, 0x00, 0x01, 1, 2, 3, 4, 0)

/** A compressed block that makes no sense, which libzstd refuses and fzstd "decodes". */
const nonsense = compressedBlock(...Buffer.from('this is no compressed block'))

function compressedBlock(...stored: number[]): Block {
  return { ...rawBlock(Uint8Array.from(stored)), type: 2 }
}

for (const decoder of ['javascript', 'wasm', 'native'] satisfies ZstdDecoder[]) {
  const skipped = decoder === 'native' && !node
  describe.skipIf(skipped)(`reading with the ${decoder} decoder${skipped ? ` (skipped: ${whyNot})` : ''}`, () => {
    async function run(...cases: readonly ZstdCase[]): Promise<ZstdRun[]> {
      if (decoder === 'native') return runZstdCasesUnder(node as string, cases)
      const runs: ZstdRun[] = []
      for (const zstdCase of cases) runs.push(await runZstdCase(zstdCase, decoder))
      return runs
    }

    async function outcomes(...cases: readonly ZstdCase[]): Promise<ZstdOutcome[]> {
      return (await run(...cases)).map(({ outcome }) => outcome)
    }

    /** One outcome for each log given as its frames, all from one run. */
    async function outcomesOf(logs: readonly (readonly Buffer[])[], options: Partial<ZstdCase> = {}) {
      const cases: ZstdCase[] = []
      for (const frames of logs) {
        const { file } = await logOf(frames.map((stored) => ({ stored, content: Buffer.alloc(0) })))
        cases.push({ file, ...options })
      }
      return outcomes(...cases)
    }

    async function outcomeOf(frames: readonly Buffer[], options?: Partial<ZstdCase>): Promise<ZstdOutcome> {
      const [outcome] = await outcomesOf([frames], options)
      return outcome as ZstdOutcome
    }

    /** What a log must give when `cut` bytes are missing and `recovered` bytes of the torn frame are had. */
    function expected(
      log: Log,
      cut = 0,
      recovered = 0,
    ): Pick<ZstdOutcome, 'content' | 'contentBytes' | 'frameEnds' | 'storedEnds' | 'ending'> {
      const length = log.bytes.length - cut
      const complete = log.ends.filter(({ stored }) => stored <= length)
      const contentBytes = (complete.at(-1)?.content ?? 0) + recovered
      return {
        content: hashOfContent(log, contentBytes),
        contentBytes,
        frameEnds: complete.map(({ content }) => content),
        storedEnds: complete.map(({ stored }) => stored),
        ending: { frames: complete.length, torn: length > (complete.at(-1)?.stored ?? 0) },
      }
    }

    const splits = [[1], [2], [3], [7, 1, 1], [4096], [65_536], [1, 100_000, 13], [262_144, 3], [1_000_000]]

    test('any split of the bytes gives the same content and the same frame ends', async () => {
      const logs = [handmade, ...(compressed ? [compressed.small, compressed.sized] : [])]
      for (const log of logs) {
        // Hundreds of thousands of pieces show no more than the thousands of the shorter logs.
        const chosen = chosenOf(log.bytes.length > 50_000 ? splits.slice(3) : splits, splits)
        const all = await outcomes({ file: log.file }, ...chosen.map((pieces) => ({ file: log.file, pieces })))
        for (const outcome of all) expect(outcome).toEqual({ ...expected(log), tornBytes: 0 })
      }
    })

    test('any split of a streamed frame gives the same content', async () => {
      for (const log of compressed ? [streamed, compressed.large] : [streamed]) {
        expect((log.ends[1]?.stored ?? 0) - (log.ends[0]?.stored ?? 0)).toBeGreaterThan(256 * 1024)
      }
      for (const log of [streamed, ...(compressed ? [compressed.large] : [])]) {
        const all = await outcomes(
          { file: log.file },
          ...splits.slice(3).map((pieces) => ({ file: log.file, pieces })),
          { file: log.file, pieces: [997, 10_000] },
        )
        for (const outcome of all) expect(outcome).toEqual({ ...expected(log), tornBytes: 0 })
      }
    })

    /**
     * Every cut of the short logs; of the long ones, which are decoded anew each time, fewer. In a plain run those near the
     * end of a frame, where checksum, last block and header of the next meet, and some between.
     */
    function cutsOf({ bytes, content, ends }: Log): number[] {
      const step = content.length > 100_000 ? 7 : 1
      const all = Array.from({ length: 300 }, (_, cut) => cut)
      const isNearEnd = (cut: number) => ends.some(({ stored }) => Math.abs(bytes.length - cut - stored) <= 5)
      return all.filter((cut) =>
        chosenOf(step === 1 && isNearEnd(cut) ? true : cut % (step * 11) === step, cut % step === 0),
      )
    }

    test('a log cut at any of its last 300 bytes keeps every earlier frame and is torn inside a frame', async () => {
      for (const log of [handmade, streamed, ...(compressed ? Object.values(compressed) : [])]) {
        const cuts = cutsOf(log)
        const all = await outcomes(...cuts.map((cut) => ({ file: log.file, cut, pieces: [100_000] })))
        all.forEach((outcome, index) => {
          const cut = cuts[index] as number
          const recovered = outcome.contentBytes - expected(log, cut).contentBytes
          expect(recovered).toBeGreaterThanOrEqual(0)
          expect(outcome).toMatchObject(expected(log, cut, recovered))
        })
      }
    })

    test('a torn frame gives its complete blocks and the start of a raw block, not of an RLE block', async () => {
      const blocks = [rawBlock('first '), rleBlock(0x2d, 20), rawBlock(' third')]
      const log = await logOf([frameOf([rawBlock(HEADER_ROW)]), frameOf(blocks)])
      // Bytes on disk from the end: checksum 4, raw 3 + 6, RLE 3 + 1, raw 3 + 6, frame header 6.
      const recovered = (cut: number) => {
        if (cut <= 4) return 32
        if (cut <= 10) return 36 - cut
        if (cut <= 13) return 26
        if (cut <= 17) return 6
        if (cut <= 23) return 23 - cut
        return 0
      }
      const cuts = Array.from({ length: 31 }, (_, index) => index + 1)
      const all = await outcomes(...cuts.map((cut) => ({ file: log.file, cut, pieces: [3] })))
      all.forEach((outcome, index) => {
        const cut = cuts[index] as number
        expect(outcome).toEqual({ ...expected(log, cut, recovered(cut)), tornBytes: recovered(cut) })
      })
    })

    test('a torn streamed frame gives its complete blocks and the start of a raw block', async () => {
      const tail = 7 + writeFrame([rawBlock('after\n')]).length
      const cuts = [tail, tail + 5, tail + 6, tail + 12, tail + 13, tail + 50_000, tail + 123_456, tail + 300_000]
      const all = await outcomes(
        ...cuts.flatMap((cut) =>
          [1_000_000, 70_000, 999].map((size) => ({ file: streamed.file, cut, pieces: [size] })),
        ),
      )
      const stored = writeFrame(streamedBlocks)
      all.forEach((outcome, index) => {
        const cut = cuts[Math.floor(index / 3)] as number
        const length = stored.length - (cut - writeFrame([rawBlock('after\n')]).length)
        expect(outcome).toMatchObject(expected(streamed, cut, recoverable(streamedBlocks, length - 6)))
      })
    })

    test.skipIf(!compressed)('a torn frame of compressed blocks gives the content of the complete ones', async () => {
      for (const log of compressed ? [compressed.small, compressed.large] : []) {
        const last = writeFrame([]).length // the shortest frame there is
        const cuts = [log.bytes.length - (log.ends.at(-2)?.stored ?? 0) + last, 5000, 20_000, 40_000].filter(
          (cut) => cut < log.bytes.length,
        )
        const all = await outcomes(...cuts.map((cut) => ({ file: log.file, cut, pieces: [65_536] })))
        all.forEach((outcome, index) => {
          const cut = cuts[index] as number
          const recovered = outcome.contentBytes - expected(log, cut).contentBytes
          expect(outcome).toMatchObject(expected(log, cut, recovered))
          // Blocks of a compressor hold 128 KiB each, but for the last.
          const isWhole = expected(log, cut).contentBytes + recovered === log.ends.at(-2)?.content
          if (!isWhole) expect(recovered % (128 * 1024)).toBe(0)
        })
      }
    })

    test('a torn frame that does not decode gives nothing and is no error', async () => {
      const torn = writeFrame([rawBlock('fine'), undecodable, rawBlock('more')]).subarray(0, -2)
      const outcome = await outcomeOf([writeFrame([rawBlock(HEADER_ROW)]), torn])
      expect(outcome).toMatchObject({ frameEnds: [HEADER_ROW.length], tornBytes: 0, ending: { frames: 1, torn: true } })
      expect(outcome.contentBytes).toBe(HEADER_ROW.length)
    })

    test('a torn streamed frame that does not decode gives no more and is no error', async () => {
      const torn = writeFrame([...rawBlocks(noise), undecodable, ...rawBlocks(noise)]).subarray(0, -70_000)
      const outcome = await outcomeOf([torn], { pieces: [100_000] })
      expect(outcome).toMatchObject({ frameEnds: [], tornBytes: 0, ending: { frames: 0, torn: true } })
      expect(outcome.contentBytes).toBeLessThanOrEqual(noise.length)
      expect(noise.subarray(0, outcome.contentBytes)).toHaveLength(outcome.contentBytes)
      expect(outcome.content).toBe(sha256(noise.subarray(0, outcome.contentBytes)))
    })

    test('an empty file holds no frames and is not torn', async () => {
      expect(await outcomeOf([])).toMatchObject({ contentBytes: 0, ending: { frames: 0, torn: false } })
    })

    test('a wrong checksum in the first, a middle or the last frame refuses the log', async () => {
      const frames = [1, 2, 9].map((frame) => ({ frame, offset: (handmade.ends[frame - 1]?.stored ?? 0) - 1 }))
      const all = await outcomes(
        ...frames.map(({ offset }) => ({ file: handmade.file, flips: [[offset, 0x40] as const], pieces: [11] })),
      )
      all.forEach((outcome, index) => {
        const frame = frames[index]?.frame as number
        expect(outcome.refusal).toEqual({ reason: 'corrupt', frame, rule: 'zstd-checksum' })
        // Small frames are verified before any of their content is delivered.
        expect(outcome.contentBytes).toBe(handmade.ends[frame - 2]?.content ?? 0)
        expect(outcome.frameEnds).toHaveLength(frame - 1)
      })
    })

    test('a wrong checksum of a streamed frame refuses the log', async () => {
      const offset = (streamed.ends[1]?.stored ?? 0) - 2
      const [outcome] = await outcomes({ file: streamed.file, flips: [[offset, 1]], pieces: [100_000] })
      expect(outcome?.refusal).toEqual({ reason: 'corrupt', frame: 2, rule: 'zstd-checksum' })
      expect(outcome?.frameEnds).toEqual([HEADER_ROW.length])
    })

    test('a refused checksum says what the frame has, and all but native what it should have', async () => {
      const blocks = [rawBlock('abc')]
      const log = await logOf([{ stored: writeFrame(blocks, { checksum: 0x0102 }), content: Buffer.from('abc') }])
      const [only] = await run({ file: log.file })
      const actual = checksumOf(blocks).toString(16).padStart(8, '0')
      expect(only?.facts).toMatchObject({ expected: '00000102', ...(decoder !== 'native' && { actual }) })
    })

    test('changed content refuses the log', async () => {
      const uncompressed = [handmade, streamed].map(({ file, ends }) => ({
        file,
        flips: [[(ends[0]?.stored ?? 0) + 10, 4] as const],
      }))
      for (const { refusal } of await outcomes(...uncompressed)) {
        expect(refusal).toEqual({ reason: 'corrupt', frame: 2, rule: 'zstd-checksum' })
      }
      const cases = Object.values(compressed ?? {}).flatMap(({ file, ends }) =>
        [20, 25, 30, 35, 40, 45].map((back) => ({ file, flips: [[(ends[1]?.stored ?? 0) - back, 0x10] as const] })),
      )
      for (const { refusal } of await outcomes(...cases)) expect(refusal).toMatchObject({ reason: 'corrupt', frame: 2 })
    })

    test('a block that does not decode refuses the log, in small and in streamed frames', async () => {
      const first = writeFrame([rawBlock(HEADER_ROW)])
      const refusal = { reason: 'corrupt', frame: 2, rule: 'zstd-block' }
      const large = writeFrame([...rawBlocks(noise), undecodable, rawBlock('end')])
      const logs = [
        [first, writeFrame([undecodable])],
        [first, large],
      ]
      for (const pieces of [[1_000_000], [50_000]]) {
        for (const outcome of await outcomesOf(logs, { pieces })) expect(outcome.refusal).toEqual(refusal)
      }
    })

    test('a block only the checksum shows to be wrong refuses the log', async () => {
      const logs = [[nonsense], [...rawBlocks(noise), nonsense]].map((blocks) => [writeFrame(blocks)])
      for (const { refusal } of await outcomesOf(logs)) expect(refusal).toMatchObject({ reason: 'corrupt', frame: 1 })
    })

    test('a wrong content size refuses the log, with and without checksum, in small and in streamed frames', async () => {
      const first = writeFrame([rawBlock(HEADER_ROW)])
      const logs: Buffer[][] = []
      for (const blocks of [[rawBlock('abc'), rleBlock(1, 100)], streamedBlocks]) {
        const size = contentOf(blocks).length
        for (const contentSize of [size - 1, size + 1]) {
          for (const checksum of [true, false]) {
            logs.push([first, writeFrame(blocks, { contentSize, contentSizeWidth: 4, checksum })])
          }
        }
      }
      for (const { refusal } of await outcomesOf(logs)) {
        expect(refusal).toEqual({ reason: 'corrupt', frame: 2, rule: 'zstd-content-size' })
      }
    })

    test('a torn frame is read whatever content size it declares', async () => {
      const torn = writeFrame([rawBlock('abc'), rawBlock('def')], { contentSize: 5, contentSizeWidth: 4 }).subarray(
        0,
        -1,
      )
      expect(await outcomeOf([torn])).toMatchObject({
        contentBytes: 6,
        tornBytes: 6,
        ending: { frames: 0, torn: true },
      })
    })

    test('reserved bits, skippable frames, trailing garbage and dictionaries refuse the log', async () => {
      const first = writeFrame([rawBlock(HEADER_ROW)])
      const cases: [Buffer, string, string][] = [
        [writeFrame([rawBlock('a')], { extraBits: 0x08 }), 'corrupt', 'zstd-descriptor'],
        [writeFrame([rawBlock('a')], { extraBits: 0x10 }), 'corrupt', 'zstd-descriptor'],
        [Buffer.of(0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 0), 'corrupt', 'zstd-magic'],
        [Buffer.from('garbage!'), 'corrupt', 'zstd-magic'],
        [writeFrame([rawBlock('a')], { extraBits: 0x01 }), 'unsupported', 'zstd-dictionary'],
        [writeFrame([{ ...rawBlock('a'), type: 3 }]), 'corrupt', 'zstd-block-type'],
        [writeFrame([rleBlock(1, 200_000)]), 'corrupt', 'zstd-block-size'],
      ]
      const all = await outcomesOf(cases.map(([frame]) => [first, frame]))
      all.forEach((outcome, index) => {
        const [, reason, rule] = cases[index] ?? []
        expect(outcome.refusal).toEqual({ reason, frame: 2, rule })
        expect(outcome.frameEnds).toEqual([HEADER_ROW.length])
      })
    })

    test('a window above the limit is unsupported, declared or as a single segment', async () => {
      const refusal = { reason: 'unsupported', frame: 1, rule: 'zstd-window' }
      const frames = [
        writeFrame([rawBlock('abc')], { windowDescriptor: 0x59 }),
        writeFrame([rawBlock('abc')], { isSingleSegment: true, contentSizeWidth: 8, contentSize: 2 ** 50 }),
        writeFrame([rawBlock('abc')]),
      ].map((frame) => [frame])
      const [wide, single, allowed] = await outcomesOf(frames, { maxWindowBytes: LIMIT_BYTES })
      expect([wide?.refusal, single?.refusal, allowed?.refusal]).toEqual([refusal, refusal, undefined])
      const exabytes = writeFrame([rawBlock('abc')], { windowDescriptor: 0xff })
      expect((await outcomeOf([exabytes], { maxWindowBytes: Number.MAX_SAFE_INTEGER })).refusal).toEqual(refusal)
    })

    test('a window above 128 MiB is read when the limit allows it', async () => {
      const wide = { windowDescriptor: 0x88 + 0x08 } // 256 MiB
      for (const blocks of [[rawBlock('abc')], streamedBlocks]) {
        const outcome = await outcomeOf([writeFrame(blocks, wide)], { maxWindowBytes: 2 ** 29 })
        expect(outcome).toMatchObject({ content: sha256(contentOf(blocks)), ending: { frames: 1, torn: false } })
      }
    })

    test('one frame of 64 MiB comes in small chunks while it is read', async () => {
      const log = await logOf64MiB()
      const [only] = await run({ file: log.file, pieces: [1024 * 1024] })
      expect(only?.outcome).toEqual({ ...expected(log), tornBytes: 0 })
      expect(only?.largestChunkBytes).toBeLessThanOrEqual(256 * 1024)
      const [start] = await run({ file: log.file, pieces: [1024 * 1024], stopAfterBytes: HEADER_ROW.length })
      expect(start?.outcome.thrown).toBe('Error: enough')
      expect(start?.pushedBytes).toBe(1024 * 1024)
    })

    test('a bomb of a few KB comes in small chunks, and the callback can stop it', async () => {
      const count = chosenOf(400, 2048)
      const blocks = Array.from({ length: count }, () => rleBlock(0x78, 128 * 1024))
      const bomb = writeFrame(blocks, { checksum: false })
      const contentBytes = count * 128 * 1024
      expect(bomb.length).toBeLessThan(8300)
      const log = await logOf([{ stored: bomb, content: Buffer.alloc(0) }])
      const [stopped, whole, torn] = await run(
        { file: log.file, stopAfterBytes: 10_000_000 },
        { file: log.file },
        { file: log.file, cut: 1 },
      )
      expect(stopped?.outcome).toMatchObject({ thrown: 'Error: enough', frameEnds: [] })
      expect(stopped?.outcome.contentBytes).toBeLessThan(10_300_000)
      expect(whole?.outcome).toMatchObject({ contentBytes, frameEnds: [contentBytes] })
      expect(whole?.largestChunkBytes).toBeLessThanOrEqual(256 * 1024)
      expect(torn?.outcome).toMatchObject({
        contentBytes: contentBytes - 128 * 1024,
        ending: { frames: 0, torn: true },
      })
    })

    test('4,000 tiny frames are read, and a callback that throws ends the reading', async () => {
      const log = await tinyFrames()
      const [whole, stopped] = await outcomes(
        { file: log.file, pieces: [65_536] },
        { file: log.file, stopAfterBytes: 1000 },
      )
      expect(whole).toEqual({ ...expected(log), tornBytes: 0 })
      expect(stopped).toMatchObject({ thrown: 'Error: enough' })
    })

    test.skipIf(ARTIFACTS === undefined)(
      'the logs of the conformance data are read or refused as expected (skipped when ../shared/conformance is not there)',
      async () => {
        const artifacts = ARTIFACTS ?? ''
        const known = JSON.parse(readFileSync(join(artifacts, 'expected.json'), 'utf8'))
        const sessions = ['zstd', 'zstd-damaged'].flatMap((tree) =>
          known[tree].sessions.map((session: { path: string; refused?: string }) => ({
            file: join(artifacts, tree, session.path),
            refused: session.refused,
          })),
        )
        const all = await outcomes(...sessions.map(({ file }) => ({ file, pieces: [8192] })))
        all.forEach((outcome, index) => {
          const { file, refused } = sessions[index]
          if (refused === 'corrupt') expect(outcome.refusal, file).toMatchObject({ reason: 'corrupt' })
          else expect(outcome.ending, file).toBeDefined()
          if (/torn-(?!to-)/.test(file)) expect(outcome.ending?.torn, file).toBe(true)
        })
      },
    )
  })
}

/** Content of the complete blocks, and of a torn raw block, in the first `length` bytes of some blocks. */
function recoverable(blocks: readonly Block[], length: number): number {
  let at = 0
  let content = 0
  for (const { type, stored, bytes, times } of blocks) {
    at += 3
    const available = Math.min(stored.length, length - at)
    if (available < stored.length) return content + (type === 0 ? Math.max(0, available) : 0)
    at += stored.length
    content += bytes.length * times
  }
  return content
}

describe('all decoders', () => {
  test.skipIf(!node || !compressed)(
    'agree on logs damaged anywhere, or the damage is found by another rule',
    async () => {
      let state = 4711
      const random = (below: number) => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) % below
      for (const log of compressed ? [handmade, compressed.small, compressed.sized] : []) {
        const cases = Array.from({ length: chosenOf(40, 120) }, (_, index) => {
          const cut = index % 3 === 0 ? random(200) : 0
          const flips = [[random(log.bytes.length - cut), 1 << random(8)] as const]
          return { file: log.file, cut, flips, pieces: [1 + random(5000)] }
        })
        const native = await runZstdCasesUnder(node as string, cases)
        for (const [index, zstdCase] of cases.entries()) {
          const javascript = await runZstdCase(zstdCase, 'javascript')
          const [one, other] = [javascript.outcome, native[index]?.outcome as ZstdOutcome]
          const place = JSON.stringify(zstdCase)
          const wasm = await runZstdCase(zstdCase, 'wasm')
          if (one.ending?.torn) expect({ ...wasm.outcome, content: '' }, place).toEqual({ ...one, content: '' })
          else expect(wasm.outcome, place).toEqual(one)
          expect(one.refusal?.reason, place).toBe(other.refusal?.reason)
          expect(one.refusal?.frame, place).toBe(other.refusal?.frame)
          expect(one.frameEnds, place).toEqual(other.frameEnds)
          expect(one.ending, place).toEqual(other.ending)
          // Only the checksum tells fzstd that a block is wrong, and a torn frame has none.
          if (!one.ending?.torn) expect(one.content, place).toBe(other.content)
        }
      }
    },
  )

  test.skipIf(!node || !compressed)('recover the same bytes of a frame torn anywhere', async () => {
    for (const log of compressed ? [handmade, streamed, compressed.small, compressed.large] : []) {
      const count = chosenOf(15, 60)
      const cases = Array.from({ length: count }, (_, index) => ({
        file: log.file,
        cut: Math.floor((index * log.bytes.length) / count),
        pieces: [100_000],
      }))
      const native = await runZstdCasesUnder(node as string, cases)
      for (const [index, zstdCase] of cases.entries()) {
        const javascript = await runZstdCase(zstdCase, 'javascript')
        const wasm = await runZstdCase(zstdCase, 'wasm')
        expect(native[index]?.outcome, JSON.stringify(zstdCase)).toEqual(javascript.outcome)
        expect(wasm.outcome, JSON.stringify(zstdCase)).toEqual(javascript.outcome)
      }
    }
  })
})

describe('the reader', () => {
  test('finds wasm-zstd, without which it would quietly take much longer', async () => {
    const name = '@foxglove/wasm-zstd'
    await expect(import(name)).resolves.toHaveProperty('decompress')
  })

  const ignore = { onBytes: () => undefined, onFrameEnd: () => undefined }

  test('runs at once, without a promise, as soon as its decoder is loaded', async () => {
    let frames = 0
    const reader = createZstdReader({
      ...ignore,
      decoder: 'javascript',
      maxWindowBytes: LIMIT_BYTES,
      onFrameEnd: () => frames++,
    })
    await reader.push(handmade.bytes.subarray(0, 1))
    expect(reader.push(handmade.bytes.subarray(1, 500))).toBeUndefined()
    expect(reader.push(handmade.bytes.subarray(500))).toBeUndefined()
    expect(frames).toBe(9)
    expect(await reader.end()).toEqual({ frames: 9, torn: false })

    const next = createZstdReader({ ...ignore, decoder: 'javascript', maxWindowBytes: LIMIT_BYTES })
    expect(next.push(handmade.bytes)).toBeUndefined()
  })

  test('lets through what the callbacks throw, and throws it again', async () => {
    const enough = new Error('enough')
    const stop = () => {
      throw enough
    }
    for (const [log, callbacks] of [
      [handmade, { onBytes: stop }],
      [handmade, { onFrameEnd: stop }],
      [streamed, { onBytes: (_: Uint8Array, frame: number) => (frame === 2 ? stop() : undefined) }],
    ] as const) {
      const reader = createZstdReader({ ...ignore, ...callbacks, decoder: 'javascript', maxWindowBytes: LIMIT_BYTES })
      const push = async () => reader.push(log.bytes)
      await expect(push()).rejects.toBe(enough)
      await expect(push()).rejects.toBe(enough)
      await expect(reader.end()).rejects.toBe(enough)
    }
  })

  test('lets through what the callback throws for a torn frame', async () => {
    const enough = new Error('enough')
    const reader = createZstdReader({
      ...ignore,
      decoder: 'javascript',
      maxWindowBytes: LIMIT_BYTES,
      onBytes: (_chunk, _frame, torn) => {
        if (torn) throw enough
      },
    })
    await reader.push(handmade.bytes.subarray(0, -2))
    await expect(reader.end()).rejects.toBe(enough)
  })

  test.skipIf(process.versions.zstd)('refuses the native decoder where there is none', async () => {
    const reader = createZstdReader({ ...ignore, decoder: 'native', maxWindowBytes: LIMIT_BYTES })
    const refusal = await Promise.resolve(reader.push(handmade.bytes)).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(DshRefError)
    expect(refusal).toMatchObject({ code: 'SESSION_REFERENCE_INVALID_CONFIG' })
  })

  test('takes the decoder of the platform when none is named', async () => {
    let contentBytes = 0
    const reader = createZstdReader({
      ...ignore,
      maxWindowBytes: LIMIT_BYTES,
      onBytes: (chunk) => {
        contentBytes += chunk.length
      },
    })
    await reader.push(streamed.bytes)
    expect(await reader.end()).toEqual({ frames: 3, torn: false })
    expect(contentBytes).toBe(streamed.content.length)
  })
})
