// Replacements in zstd logs whose targets stand in earlier frames, in the orders and sizes in which frames are decoded in
// different ways: in one call, in pieces, torn.

import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readFramesWith, readWith } from '../support/compare-readings.ts'
import { assistant, logOf, replacing, toolResult4, user } from '../support/rows.ts'
import { rawBlocks, writeFrame } from '../support/zstd-writer.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'dsh-ref-rewrites-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** A log in frames that end behind these rows, the header not counted, and the same log raw; `cut` bytes are missing. */
function bothOf(log: string, frameEnds: readonly number[], cut = 0) {
  const rows = log.split(/(?<=\n)/)
  const starts = [0, ...frameEnds.map((end) => end + 1), rows.length]
  const frames = [
    rows.slice(0, 1),
    ...starts.slice(1).map((end, at) => rows.slice(Math.max(1, starts[at] as number), end)),
  ]
  const stored = frames.filter((frame) => frame.length > 0).map((frame) => writeFrame(rawBlocks(frame.join(''))))
  const bytes = Buffer.concat(stored)
  const path = join(directory, 'session.v4.jsonl.zstd')
  writeFileSync(path, bytes.subarray(0, bytes.length - cut))
  utimesSync(path, 1, 1)
  return { path, raw: Buffer.from(log) }
}

/** More than is decoded in one call. */
const LARGE = Array.from({ length: 10 }, (_, at) => assistant(`${at} ${'long answer '.repeat(4000)}`))

describe.each(['javascript', 'wasm'] as const)('the %s decoder', (decoder) => {
  test('reads a large frame that replaces a row of an earlier frame', async () => {
    const rewrite = toolResult4('cleared', replacing(4, 0, 0, [0]))
    const log = logOf(4, [toolResult4('long result'), user('x'.repeat(200_000)), rewrite, ...LARGE])
    const { path, raw } = bothOf(log, [2])
    const reading = await readWith(raw, { everyRow: false })
    expect(reading).toMatchObject({ ok: true, nodes: [2, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] })
    expect(await readFramesWith(path, { everyRow: false, decoder })).toEqual(reading)
    expect(await readFramesWith(path, { everyRow: true, decoder })).toEqual(reading)
  })

  test('reads all whole rows of such a frame when it is torn at its end', async () => {
    const rewrite = toolResult4('cleared', replacing(4, 0, 0, [0]))
    const log = logOf(4, [toolResult4('long result'), user('x'.repeat(200_000)), rewrite, ...LARGE])
    const { path } = bothOf(log, [2], 7)
    const reading = await readFramesWith(path, { everyRow: false, decoder })
    expect(reading).toMatchObject({ ok: true, nodes: [2, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11], issues: ['torn-tail'] })
  })

  test('reads a surface on which rows of several frames stand in turns', async () => {
    const count = 300
    const rows = Array.from({ length: count }, (_, at) => [
      assistant(`answer ${at}`),
      toolResult4(`result ${at}`),
    ]).flat()
    const cleared = Array.from({ length: count }, (_, at) =>
      toolResult4(`cleared ${at}`, replacing(4, 2 * at + 1, 2 * at + 1, [2 * at + 1])),
    )
    const log = logOf(4, [...rows, ...cleared, user('thanks')])
    const { path, raw } = bothOf(log, [2 * count, 3 * count])
    const reading = await readWith(raw, { everyRow: false })
    expect(reading).toMatchObject({ ok: true, capturedThroughSeq: 3 * count })
    expect(await readFramesWith(path, { everyRow: false, decoder })).toEqual(reading)
  })
})
