// Case 8 of issue 5: several generations in one directory, an unknown newer one, a name that disagrees with the header, raw
// and zstd mixed (FORMAT.md section 1.3).

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkPath } from '../../src/check/check.ts'
import { locatePath, locateSession, project, readSurface, sourceOf } from '../../src/index.ts'
import { listCandidates } from '../../src/list/candidates.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { logOf, user } from '../support/rows.ts'
import { rawBlocks, writeFrame } from '../support/zstd-writer.ts'

const ID = 'many-lives'

let home: Home
beforeEach(() => {
  home = makeHome()
})
afterEach(() => home.remove())

const log = (version: number, text = `text of v${version}`) => logOf(version, [user(text)], { id: ID })
const zstd = (text: string) => Buffer.concat(text.split(/(?<=\n)/).map((line) => writeFrame(rawBlocks(line))))
const put = (content: string | Buffer, name: string) =>
  home.write(content, { name, session: ID, project: '--work-app--' })

const options = () => ({ roots: [home.root] })

/** What a reference to the session reads. */
async function read(allowUnknownVersion = false) {
  const located = await locateSession(ID, { ...options(), allowUnknownVersion })
  const surface = await readSurface(sourceOf(located), { allowUnknownVersion })
  return {
    file: located.path.split('/').at(-1),
    texts: project(surface.messages).messages.map(({ text }) => text),
    issues: [...located.issues, ...surface.issues].map(({ kind }) => kind),
  }
}

describe('several generations', () => {
  test('are one session, and the numerically highest is read', async () => {
    for (const version of [3, 0, 4, 2]) put(log(version), version === 0 ? 'session.jsonl' : `session.v${version}.jsonl`)
    expect(await read()).toEqual({ file: 'session.v4.jsonl', texts: ['text of v4'], issues: [] })
    const { candidates } = await listCandidates({ ...options(), includeUnreadable: true })
    expect(candidates).toMatchObject([{ sessionId: ID, formatVersion: 4, health: 'ok' }])
  })

  test('are compared as numbers, not as names', async () => {
    put(log(4), 'session.v4.jsonl')
    put(logOf(10, [user('text of v10')], { id: ID }), 'session.v10.jsonl')
    expect(await read(true)).toMatchObject({ file: 'session.v10.jsonl', texts: ['text of v10'] })
  })

  test.each([
    ['corrupt', logOf(4, [user('x')], { id: ID }).slice(1), { reason: 'corrupt', rule: 'header', line: 1 }],
    ['empty', '', { reason: 'corrupt', rule: 'header' }],
    [
      'of another version than its name says',
      log(3),
      { reason: 'corrupt', rule: 'version-mismatch', expected: 4, actual: 3 },
    ],
  ])('are no way out when the highest is %s', async (_what, content, facts) => {
    put(log(3, 'older and whole'), 'session.v3.jsonl')
    const file = put(content, 'session.v4.jsonl')
    await expect(read()).rejects.toMatchObject({ facts: { ...facts, file } })
    await expect(checkPath(file, options())).resolves.toMatchObject({ status: 'corrupt' })
  })

  test('with an unknown newer one are unsupported, and never fall back', async () => {
    put(log(4), 'session.v4.jsonl')
    put(logOf(77, [user('from the future')], { id: ID }), 'session.v77.jsonl')
    await expect(read()).rejects.toMatchObject({ facts: { reason: 'unsupported' } })
    expect(await read(true)).toEqual({
      file: 'session.v77.jsonl',
      texts: ['from the future'],
      issues: ['unknown-version'],
    })
    const { candidates } = await listCandidates({ ...options(), includeUnreadable: true })
    expect(candidates).toMatchObject([{ sessionId: ID, formatVersion: 77, health: 'unsupported' }])
  })

  test('are told from files that only look like one', async () => {
    put(log(4), 'session.v4.jsonl')
    for (const name of [
      'session.v5.jsonl.tmp',
      'session.v05.jsonl',
      'session.v0.jsonl',
      'session.V9.jsonl',
      'Session.v9.jsonl',
      'session.v9.jsonl.zst',
      'session.v9.json',
      'session.v9007199254740993.jsonl',
      'session.migration.0123456789ab.jsonl.tmp',
      'xsession.v9.jsonl',
    ])
      put('not a log', name)
    expect(await read()).toEqual({ file: 'session.v4.jsonl', texts: ['text of v4'], issues: [] })
  })

  test('that are older are read as history when they are named by their path', async () => {
    // A gap inside a complete frame refuses the log a session lives in, and ends one that is history (FORMAT.md section 7.3).
    const [, , , gap] = logOf(3, [user('a'), user('b'), user('c')]).split('\n')
    const gapped = zstd(`${log(3)}${gap}\n`)
    const path = put(gapped, 'session.v3.jsonl.zstd')
    const alone = await locatePath(path, options())
    await expect(readSurface(sourceOf(alone))).rejects.toMatchObject({ facts: { reason: 'corrupt', rule: 'seq-gap' } })
    put(log(4), 'session.v4.jsonl')
    const history = await locatePath(path, options())
    expect(history.mode).toBe('historical')
    await expect(readSurface(sourceOf(history))).resolves.toMatchObject({
      capturedThroughSeq: 0,
      issues: [{ kind: 'discarded-rows' }],
    })
  })
})

describe('raw and zstd logs in one directory', () => {
  test('are read by the highest generation, and are an issue', async () => {
    put(log(3), 'session.v3.jsonl')
    put(zstd(log(4)), 'session.v4.jsonl.zstd')
    expect(await read()).toEqual({
      file: 'session.v4.jsonl.zstd',
      texts: ['text of v4'],
      issues: ['encoding-mismatch'],
    })
  })

  test('are ambiguous when they are of the same version, and both are named', async () => {
    const raw = put(log(4), 'session.v4.jsonl')
    const compressed = put(zstd(log(4)), 'session.v4.jsonl.zstd')
    await expect(read()).rejects.toMatchObject({ facts: { reason: 'ambiguous' } })
    const refusal = await read().catch((error: unknown) => error)
    const { candidates } = (refusal as { facts: { candidates: string[] } }).facts
    expect([...candidates].sort()).toEqual([raw, compressed].sort())
    // Each is within reach by its own path.
    await expect(locatePath(raw, options())).resolves.toMatchObject({ encoding: 'raw', mode: 'native' })
    await expect(locatePath(compressed, options())).resolves.toMatchObject({ encoding: 'zstd', mode: 'native' })
  })

  test.each([
    ['zstd bytes under a raw name', zstd(log(4)), 'session.v4.jsonl'],
    ['raw rows under a zstd name', Buffer.from(log(4)), 'session.v4.jsonl.zstd'],
  ])('with %s are refused, with what they are', async (_what, content, name) => {
    // Not through home.write's own name, which would follow the header.
    put(content, name)
    await expect(read()).rejects.toMatchObject({ facts: { reason: 'corrupt', rule: 'encoding-mismatch' } })
  })
})
