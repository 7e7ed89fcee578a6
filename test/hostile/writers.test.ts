// Case 13 of issue 5: logs that are written to while they are read. What is read is always a prefix of one log, or the refusal
// says that the log changed while it was read.

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LogEncoding, locatePath, project, readSurface, sourceOf } from '../../src/index.ts'
import { startWriter, type Way } from '../support/log-writer.ts'
import { newerNode, whyNoNewerNode } from '../support/newer-node.ts'

const LOOPS = 200

let directory: string
let node: string
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'dsh-ref-writers-'))
  const found = await newerNode()
  if (!found) throw new Error(await whyNoNewerNode())
  node = found
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** One read of the log, from its header on as a command does it; texts are `<generation>:<seq>`. */
async function readOnce(path: string) {
  const log = await locatePath(path, { roots: [] })
  const surface = await readSurface(sourceOf(log))
  const texts = project(surface.messages).messages.map(({ text }) => text)
  const generations = new Set(texts.map((text) => text.split(':')[0]))
  // One generation, from its first message on, without a gap.
  expect(generations.size).toBeLessThanOrEqual(1)
  expect(texts.map((text) => Number(text.split(':')[1]))).toEqual(texts.map((_, seq) => seq))
  expect(surface.capturedThroughSeq).toBe(texts.length === 0 ? null : texts.length - 1)
  return { messages: texts.length, issues: surface.issues.map(({ kind }) => kind) }
}

async function whileWriting<T>(way: Way, encoding: LogEncoding, read: (path: string) => Promise<T>): Promise<T> {
  const path = join(directory, `${way}.jsonl${encoding === 'zstd' ? '.zstd' : ''}`)
  const writer = await startWriter(node, way, path)
  try {
    return await read(path)
  } finally {
    await writer.stop()
    rmSync(path)
  }
}

describe.each(['raw', 'zstd'] as const)('a %s log that grows every few milliseconds', (encoding) => {
  test(`gives a longer prefix or the same each of ${LOOPS} times, and never a refusal`, async () => {
    const way = encoding === 'raw' ? 'append' : 'append-zstd'
    const met = await whileWriting(way, encoding, async (path) => {
      const lengths: number[] = []
      const issues = new Set<string>()
      for (let loop = 0; loop < LOOPS; loop++) {
        const read = await readOnce(path)
        lengths.push(read.messages)
        for (const issue of read.issues) issues.add(issue)
      }
      return { lengths, issues }
    })
    expect(met.lengths).toEqual([...met.lengths].sort((one, other) => one - other))
    expect(new Set(met.lengths).size).toBeGreaterThan(10)
    // A row that is half written when it is read is a torn end, and nothing else is ever odd.
    expect([...met.issues].filter((kind) => kind !== 'torn-tail')).toEqual([])
  }, 120_000)
})

describe.each<[string, Way, LogEncoding]>([
  ['is truncated and written anew', 'truncate', 'raw'],
  ['is truncated and written anew', 'truncate-zstd', 'zstd'],
  ['is overwritten in its place', 'overwrite', 'raw'],
  ['is replaced by another file of its name', 'rename', 'raw'],
])('a log that %s (%s, %s)', (_what, way, encoding) => {
  test(`gives messages of one writing, or says that it changed, each of ${LOOPS} times`, async () => {
    const met = await whileWriting(way, encoding, async (path) => {
      let [read, refused] = [0, 0]
      for (let loop = 0; loop < LOOPS; loop++) {
        try {
          await readOnce(path)
          read++
        } catch (error) {
          expect(error).toMatchObject({
            code: 'SESSION_REFERENCE_READ_FAILED',
            facts: { reason: 'unreadable', rule: 'changed-while-reading' },
            message: expect.stringMatching(/changed while/),
          })
          refused++
        }
      }
      return { read, refused }
    })
    expect(met.read + met.refused).toBe(LOOPS)
    // A file that a rename replaces is whole under the hand of whoever has it open.
    if (way === 'rename') expect(met.refused).toBe(0)
    else expect(met.refused).toBeGreaterThan(0)
  }, 120_000)
})

test('a log that was damaged once and stays so is corrupt, not changing', async () => {
  const path = join(directory, 'still.jsonl')
  const writer = await startWriter(node, 'append', path)
  await new Promise((resolve) => setTimeout(resolve, 50))
  await writer.stop()
  const { appendFileSync } = await import('node:fs')
  appendFileSync(path, 'null\n{"type":"turn/end","seq":0,"time":1,"data":{}}\n')
  for (let loop = 0; loop < 3; loop++) {
    await expect(readOnce(path)).rejects.toMatchObject({ facts: { reason: 'corrupt', rule: 'malformed-row' } })
  }
})

test('reading changes no time of the log, though it was just written', async () => {
  const path = join(directory, 'times.jsonl')
  const writer = await startWriter(node, 'append', path)
  await writer.stop()
  const before = statSync(path, { bigint: true })
  for (let loop = 0; loop < 5; loop++) await readOnce(path)
  const after = statSync(path, { bigint: true })
  expect([after.mtimeNs, after.ctimeNs, after.size]).toEqual([before.mtimeNs, before.ctimeNs, before.size])
})
