// Case 14 of issue 5: small files that claim or yield gigabytes. Memory stays bounded, the refusal says which limit it was and
// how to raise it, and a signal ends it.

import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../src/decode/limits.ts'
import { chosenOf } from '../support/exhaustive.ts'
import { newerNode, whyNoNewerNode } from '../support/newer-node.ts'
import { PROGRAM } from '../support/program.ts'
import { logOf, user } from '../support/rows.ts'
import { type Block, rawBlocks, rleBlock, writeFrame } from '../support/zstd-writer.ts'

const MIB = 1024 * 1024
const GIB = 1024 * MIB
/** What Node and the program take by themselves, with room: a decoder is loaded, a window and a row are held. */
const BASE_BYTES = 220 * MIB

const [HEADER, ROW] = logOf(4, [user('a')]).split(/(?<=\n)/) as [string, string]
const header = writeFrame(rawBlocks(HEADER))

let directory: string
let nodes: readonly (readonly [string, string])[]
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'dsh-ref-bombs-'))
  const newer = await newerNode()
  if (!newer) throw new Error(await whyNoNewerNode())
  nodes = [
    ['this', process.execPath],
    ['a newer', newer],
  ]
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

let count = 0
function write(...frames: readonly Uint8Array[]): string {
  const path = join(directory, `${count++}.jsonl.zstd`)
  writeFileSync(path, Buffer.concat(frames))
  return path
}

/** A frame of a few hundred KB at most that stands for so many times one byte; of large ones the checksum is never reached. */
function bomb(character: string, bytes: number): Buffer {
  const blocks: Block[] = Array.from({ length: Math.ceil(bytes / (128 * 1024)) }, () =>
    rleBlock(character.charCodeAt(0), 128 * 1024),
  )
  return writeFrame(blocks, { checksum: bytes > 64 * MIB ? 1 : true })
}

const RSS = 'process.on("exit",()=>process.stderr.write("\\nRSS "+process.resourceUsage().maxRSS))'

const asImport = (script: string) => `data:text/javascript,${encodeURIComponent(script)}`

/** Reads a log in a process of its own, with either decoder: the refusal, and the most memory it took. */
async function refusalsOf(path: string, ...options: string[]) {
  const outcomes = []
  for (const [name, node] of nodes) {
    const { exitCode, stdout, stderr } = await execa(
      node,
      ['--import', asImport(RSS), PROGRAM, 'surface', `path:${path}`, '--error-format', 'json', ...options],
      { reject: false, input: '', timeout: 100_000 },
    )
    const [json, rss] = stderr.split('\nRSS ') as [string, string]
    expect({ name, exitCode, stdout }).toEqual({ name, exitCode: 4, stdout: '' })
    outcomes.push({ error: JSON.parse(json).error as Record<string, unknown>, rssBytes: Number(rss) * 1024 })
  }
  expect(outcomes[1]?.error).toEqual(outcomes[0]?.error)
  return outcomes
}

async function expectRefusal(path: string, options: readonly string[], facts: object, mostBytes = BASE_BYTES) {
  expect(statSync(path).size).toBeLessThan(4 * MIB)
  for (const { error, rssBytes } of await refusalsOf(path, ...options)) {
    expect(error).toMatchObject(facts)
    expect(rssBytes).toBeLessThan(mostBytes)
  }
}

test('the limits are 256 MiB for a row, 128 MiB for a window and 64 GiB for a log', () => {
  expect(DEFAULT_LIMITS).toEqual({ maxRowBytes: 256 * MIB, maxWindowBytes: 128 * MIB, maxLogBytes: 64 * GIB })
})

describe('a small log', () => {
  test('that claims a window of gigabytes is refused before memory is taken for it', async () => {
    const frame = writeFrame(rawBlocks(ROW), { windowDescriptor: 0xa8 })
    await expectRefusal(write(header, frame), [], {
      reason: 'unsupported',
      limit: 'maxWindowBytes',
      frame: 2,
      message: expect.stringMatching(
        /window of 2147483648 bytes, more than the limit of 134217728; raise --max-window-bytes/,
      ),
    })
  })

  test('that claims terabytes of content in one segment is refused as its window', async () => {
    const frame = writeFrame(rawBlocks(ROW), { isSingleSegment: true, contentSizeWidth: 8, contentSize: 2 ** 42 })
    await expectRefusal(write(header, frame), [], { reason: 'unsupported', limit: 'maxWindowBytes', frame: 2 })
  })

  test('that claims terabytes of content and has a row is corrupt', async () => {
    const frame = writeFrame(rawBlocks(ROW), { contentSizeWidth: 8, contentSize: 2 ** 42 })
    await expectRefusal(write(header, frame), [], {
      reason: 'corrupt',
      rule: 'zstd-content-size',
      expected: 2 ** 42,
      actual: ROW.length,
    })
  })

  test('that yields a row of 4 GiB is refused at the limit of rows', async () => {
    const path = write(header, bomb('x', 4 * GIB))
    const words = (bytes: number) => new RegExp(`row is longer than the limit of ${bytes} bytes; raise --max-row-bytes`)
    await expectRefusal(
      path,
      [],
      { reason: 'unsupported', limit: 'maxRowBytes', line: 2, message: expect.stringMatching(words(256 * MIB)) },
      BASE_BYTES + 256 * MIB,
    )
    await expectRefusal(path, ['--max-row-bytes', '1000000'], {
      limit: 'maxRowBytes',
      message: expect.stringMatching(words(1_000_000)),
    })
  })

  test('that yields a header of a gigabyte is no session log', async () => {
    await expectRefusal(write(bomb('x', GIB)), [], {
      reason: 'corrupt',
      rule: 'header',
      message: expect.stringMatching(/first row is longer than 1048576 bytes/),
    })
  })

  test('that yields a gigabyte of empty rows is refused at the limit of logs', async () => {
    const limit = chosenOf(4 * MIB, 16 * MIB)
    await expectRefusal(write(header, bomb('\n', GIB)), ['--max-log-bytes', String(limit)], {
      reason: 'unsupported',
      limit: 'maxLogBytes',
      message: expect.stringMatching(`log is longer than the limit of ${limit} bytes; raise --max-log-bytes`),
    })
  })

  test('of a thousand small bombs takes the memory of one', async () => {
    const small = bomb('\n', 7 * MIB)
    const path = write(header, ...Array.from({ length: 1000 }, () => small))
    await expectRefusal(path, ['--max-log-bytes', String(chosenOf(8, 20) * MIB)], { limit: 'maxLogBytes' })
  })
})

describe('a signal', () => {
  test.each([
    ['one frame of 32 GiB', () => write(header, bomb('\n', 32 * GIB))],
    ['thousands of frames', () => write(header, ...Array.from({ length: 4000 }, () => bombOf7MiB))],
  ])('ends the program while %s is decoded', async (_what, make) => {
    const path = make()
    for (const [, node] of nodes) {
      const child = execa(node, [PROGRAM, 'surface', `path:${path}`], { reject: false, input: '' })
      // Starting takes it some tenths of a second; decoding all of it would take longer than the test may.
      await setTimeout(1500)
      expect(child.exitCode).toBeNull()
      child.kill('SIGINT')
      const { signal, stdout, stderr } = await child
      expect({ signal, stdout, stderr }).toEqual({ signal: 'SIGINT', stdout: '', stderr: '' })
    }
  })
})

const bombOf7MiB = bomb('\n', 7 * MIB)
