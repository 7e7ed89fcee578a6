// Case 13 of issue 5: logs that are written to while they are read. What is read is always a prefix of one log, or the refusal
// says that the log changed while it was read.

import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkPath } from '../../src/check/check.ts'
import { decodeLog } from '../../src/decode/decode.ts'
import { type LogEncoding, locatePath, project, readSurface, sourceOf } from '../../src/index.ts'
import type { SurfaceEvent } from '../../src/types.ts'
import { chosenOf } from '../support/exhaustive.ts'
import { startWriter, type Way } from '../support/log-writer.ts'
import { newerNode, whyNoNewerNode } from '../support/newer-node.ts'
import { logOf, logOnly, user } from '../support/rows.ts'

const LOOPS = chosenOf(60, 200)

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
    expect(new Set(met.lengths).size).toBeGreaterThan(1)
    // A row that is half written when it is read is a torn end, and nothing else is ever odd.
    expect([...met.issues].filter((kind) => kind !== 'torn-tail')).toEqual([])
  }, 240_000)
})

describe.each<[string, Way, LogEncoding]>([
  ['is truncated and written anew', 'truncate', 'raw'],
  ['is truncated and written anew', 'truncate-zstd', 'zstd'],
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
  }, 240_000)
})

describe('a log that is changed by the hand of the test in the middle of a read', () => {
  const rows = (generation: string, count: number) =>
    logOf(
      4,
      Array.from({ length: count }, (_, seq) => user(`${generation}:${seq}`)),
    )

  /** Reads a log; `change` is called when its third message is there, in the first `times` readings. */
  async function readChanging(log: string, times: number, change: (path: string, reading: number) => void) {
    const path = join(directory, `changing-${Math.random()}.jsonl`)
    writeFileSync(path, log)
    utimesSync(path, 1, 1)
    const surfaces: string[][] = []
    const source = { kind: 'file', path, encoding: 'raw' } as const
    const reading = decodeLog(source, () => {
      const events: SurfaceEvent[] = []
      surfaces.push([])
      const texts = surfaces.at(-1) as string[]
      return {
        surface: (event) => {
          events.push(event)
          if (event.seq === 2 && surfaces.length <= times) change(path, surfaces.length)
        },
        // As the fold does: messages are read when all events are known.
        finish: () => {
          for (const event of events) texts.push(event.message().text)
          return texts
        },
      }
    })
    const outcome = await reading.then(
      ({ result }) => result,
      (error: unknown) => error,
    )
    return { outcome, readings: surfaces.length }
  }

  const texts = (generation: string, count: number) => Array.from({ length: count }, (_, seq) => `${generation}:${seq}`)

  test('is read once when it only grows', async () => {
    const more = (path: string) => appendFileSync(path, '{"type":"turn/end"')
    expect(await readChanging(rows('a', 5), 9, more)).toEqual({ outcome: texts('a', 5), readings: 1 })
  })

  test.each([
    ['longer than it was', rows('b', 8), texts('b', 8)],
    ['as long as it was', rows('b', 5), texts('b', 5)],
    ['shorter than it was', rows('b', 3), texts('b', 3)],
  ])('is read again when it is written anew, %s', async (_how, log, read) => {
    const rewrite = (path: string) => writeFileSync(path, log)
    expect(await readChanging(rows('a', 5), 1, rewrite)).toEqual({ outcome: read, readings: 2 })
  })

  test('is read again when a single message far from both ends is changed in its place', async () => {
    const change = (path: string) => {
      const log = readFileSync(path, 'utf8').replace('"text":"a:1000"', '"text":"b:1000"')
      writeFileSync(path, log)
    }
    const { outcome, readings } = await readChanging(rows('a', 2000), 1, change)
    expect(readings).toBe(2)
    expect((outcome as string[])[1000]).toBe('b:1000')
  })

  test('is refused as changing, not as damaged, when it changes every time', async () => {
    const rewrite = (path: string, reading: number) => writeFileSync(path, rows(`${reading}`.repeat(reading), 5))
    const { outcome, readings } = await readChanging(rows('a', 5), 9, rewrite)
    expect(outcome).toMatchObject({ facts: { reason: 'unreadable', rule: 'changed-while-reading' } })
    expect(readings).toBe(2)
  })

  test('is no damaged log when it is cut off under the reader', async () => {
    const cut = (path: string) => {
      truncateSync(path, 40)
      // As if it had been written this moment, however slow the machine: a log that lies still is believed.
      const soon = Date.now() / 1000 + 60
      utimesSync(path, soon, soon)
    }
    const { outcome, readings } = await readChanging(rows('a', 5), 9, cut)
    expect(outcome).toMatchObject({ facts: { reason: 'unreadable', rule: 'changed-while-reading' } })
    // The second reading finds no whole header, so that no visitor is made for it.
    expect(readings).toBe(1)
  })

  test('is read once more, and then believed, when only its times change', async () => {
    let time = 10
    const touch = (path: string) => utimesSync(path, ++time, time)
    expect(await readChanging(rows('a', 5), 9, touch)).toEqual({ outcome: texts('a', 5), readings: 2 })
  })
})

test.each([
  ['is empty', ''],
  ['ends inside its header', logOf(4, []).slice(0, 20)],
])('a log that %s is read again a moment later, when its writer has gone on', async (_what, begun) => {
  const path = join(directory, 'begun.jsonl')
  writeFileSync(path, begun)
  const reading = locatePath(path, { roots: [] })
  await setTimeout(10)
  writeFileSync(path, logOf(4, [user('a')], { id: 'begun' }))
  await expect(reading).resolves.toMatchObject({ header: { id: 'begun' } })
})

test('a log that another session takes the place of, between its header and its rows, says so', async () => {
  const path = join(directory, 'replaced.jsonl')
  writeFileSync(path, logOf(4, [user('mine')], { id: 'mine' }))
  const log = await locatePath(path, { roots: [] })
  writeFileSync(path, logOf(4, [user('theirs')], { id: 'theirs' }))
  await expect(readSurface(sourceOf(log))).rejects.toMatchObject({ facts: { rule: 'changed-while-reading' } })
})

test('check tells the findings of a log that it had to read twice once', async () => {
  const path = join(directory, 'checked.jsonl')
  const title = logOnly('session/title', { title: '\ud800' })
  writeFileSync(path, logOf(4, [title, user('a'), user('b')]))
  const before = await checkPath(path, { roots: [] })
  // Whenever the reader asks whether it is to stop, the times of the log change under it.
  const { signal } = new AbortController()
  let touches = 0
  Object.defineProperty(signal, 'aborted', {
    get() {
      utimesSync(path, ++touches, touches)
      return false
    },
  })
  const { findings } = await checkPath(path, { roots: [], signal })
  expect(touches).toBeGreaterThan(2)
  expect(findings).toEqual(before.findings)
  expect(findings.filter(({ rule }) => rule === 'lone-surrogate')).toMatchObject([{ message: expect.any(String) }])
  expect(findings[0]?.count).toBeUndefined()
})

test('a log that was damaged once and stays so is corrupt, not changing', async () => {
  const path = join(directory, 'still.jsonl')
  const writer = await startWriter(node, 'append', path)
  await setTimeout(50)
  await writer.stop()
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
