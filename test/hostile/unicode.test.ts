// Case 3 of issue 5: half a surrogate pair in text, label, cwd, id and title. What leaves the tool is valid Unicode and JSON
// that strict parsers take; the exact id stays within reach by its URI.

import { isUtf8 } from 'node:buffer'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { locateSession, type Prepared, prepare } from '../../src/index.ts'
import { encodeSessionUri } from '../../src/reference/uri.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { runBytes } from '../support/program.ts'
import { assistant, logOf, logOnly, replacing, user } from '../support/rows.ts'

const [HIGH, LOW] = ['\ud83d', '\ude80']
const ID = `id-${HIGH}-${LOW}x`
const CWD = `/w/${LOW}/${HIGH}`
const TITLE = `title ${HIGH}`
const URI = encodeSessionUri(ID)

let home: Home

beforeAll(() => {
  home = makeHome()
  const rows = [
    user(`one ${HIGH}`, {}, { kind: 'user', [`key ${LOW}`]: HIGH }),
    assistant(`two ${LOW}${HIGH}`),
    user(`summary ${HIGH}`, replacing(3, 0, 1, [0, 1]), { kind: 'plugin', plugin: 'compact', compactionId: HIGH }),
    assistant(`<three ${LOW}>`.repeat(2000)),
    logOnly(`odd/${HIGH}`, { [LOW]: HIGH }, { [`extra ${HIGH}`]: 1 }),
    logOnly('session/title', { title: TITLE, messageSeqs: [], source: { kind: 'user' } }),
  ]
  home.write(logOf(3, rows, { id: ID, cwd: CWD, parentSession: HIGH, agentPreset: LOW, [`header ${HIGH}`]: 1 }))
  home.write(logOf(3, [user('x', { surfaceOp: { op: 'replace', [HIGH]: LOW, c: 1 } })], { id: `broken ${HIGH}` }))
})

afterAll(() => home.remove())

/** Runs the program; both outputs come back as bytes that were seen to be UTF-8, then as text. */
async function run(args: readonly string[], input = ''): Promise<{ status: number; stdout: string; stderr: string }> {
  const env = { DSH_REF_CACHE_DIR: join(home.root, '..', 'none'), HOME: home.root }
  const { status, stdout, stderr } = await runBytes([...args, '--root', home.root], { input, env })
  expect(isUtf8(stdout) && isUtf8(stderr)).toBe(true)
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()
  return { status: status as number, stdout: text(stdout), stderr: text(stderr) }
}

/** Every string in a value, keys included, that is not valid Unicode. */
function halves(value: unknown): string[] {
  if (typeof value === 'string') return value.isWellFormed() ? [] : [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) => [...halves(key), ...halves(member)])
}

/** Parses lines of JSON, each of which a strict parser takes. */
function strict(lines: string): unknown[] {
  const values = lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
  expect(values.flatMap(halves)).toEqual([])
  return values
}

describe.each([
  ['prepare --format json', ['prepare', 'go', '--ref', URI, '--format', 'json']],
  ['prepare --format jsonl', ['prepare', 'go', '--ref', URI, '--format', 'jsonl']],
  [
    'prepare --format chat, with omissions',
    ['prepare', 'go', '--ref', URI, '--format', 'chat', '--max-reference-bytes', '500'],
  ],
  ['surface', ['surface', URI, '--format', 'json']],
  ['check', ['check', URI, '--format', 'json']],
  ['check --all', ['check', '--all', '--format', 'json']],
  ['transcript', ['transcript', URI, '--format', 'json', '--include-shadowed']],
  ['list --format jsonl', ['list', '--format', 'jsonl', '--no-cache']],
])('%s', (_name, args) => {
  test('prints JSON that a strict parser takes, with U+FFFD for each half of a pair', async () => {
    const { stdout, stderr } = await run(args)
    expect(JSON.stringify(strict(stdout))).toContain('\ufffd')
    expect(stderr).not.toContain('bug')
  })
})

test('list --format json is one value that a strict parser takes, and its uri leads to the exact id', async () => {
  const { stdout } = await run(['list', '--format', 'json', '--no-cache'])
  const rows = JSON.parse(stdout) as { sessionId: string; label: string; uri: string; mention: string }[]
  expect(halves(rows)).toEqual([])
  const row = rows.find(({ sessionId }) => sessionId === ID.toWellFormed())
  expect(row).toMatchObject({ uri: URI, label: TITLE.toWellFormed(), cwd: CWD.toWellFormed() })
  expect(JSON.parse((await run(['uri', 'decode', '--json'], `${JSON.stringify(row?.uri)}\n`)).stdout)).toBe(ID)
  const prepared = await run(['prepare', `see ${row?.mention}`, '--format', 'snapshot'])
  expect(prepared).toMatchObject({ status: 0 })
  expect(prepared.stdout).toContain(`"sessionId":"${ID.toWellFormed()}"`)
})

test('uri --json stays exact both ways', async () => {
  const json = `${JSON.stringify(ID)}\n`
  const encoded = await run(['uri', 'encode', '--json'], json)
  expect(encoded.stdout).toBe(`"${URI}"\n`)
  expect((await run(['uri', 'decode', '--json'], encoded.stdout)).stdout).toBe(json)
})

test.each([
  ['of a log that is refused', ['surface', encodeSessionUri(`broken ${HIGH}`)]],
  ['of a session that does not exist', ['surface', encodeSessionUri(`none ${HIGH}`)]],
  ['of a strict reading', ['surface', URI, '--strict']],
  ['of a budget that is too small', ['prepare', '--ref', URI, 'x', '--max-reference-bytes', '1']],
  ['of a session that refers to itself', ['prepare', '--ref', URI, 'x', '--target', URI]],
])('the error %s is a line of JSON that a strict parser takes', async (_what, args) => {
  const { status, stderr } = await run([...args, '--error-format', 'json'])
  expect(status).toBeGreaterThan(2)
  expect(strict(stderr)).toMatchObject([{ error: { code: expect.stringMatching(/^SESSION_REFERENCE_/) } }])
})

describe('the library', () => {
  let prepared: Prepared
  beforeAll(async () => {
    prepared = await prepare({
      message: `take @[label ${HIGH}](${URI})`,
      target: `target ${HIGH}`,
      roots: [home.root],
      maxReferenceBytes: 600,
    })
  })

  test('gives message, snapshot, facts and omissions without half a pair', () => {
    const { content, additionalContext, sources, omissions, issues } = prepared
    expect(halves({ content, additionalContext, sources, omissions, issues })).toEqual([])
    const { data, facts } = prepared.sources[0] as Prepared['sources'][number]
    const sessionId = ID.toWellFormed()
    expect(data).toMatchObject({ sessionId, label: 'label \ufffd', cwd: CWD.toWellFormed() })
    expect(facts).toMatchObject({ sessionId, label: 'label \ufffd', truncated: true })
    expect(omissions).toMatchObject([{ sessionId }])
  })

  test('counts the bytes of what it prints', () => {
    const { data, usedBytes } = prepared.sources[0] as Prepared['sources'][number]
    expect(usedBytes).toBe(Buffer.byteLength(JSON.stringify(data).replaceAll('<', '\\u003c')))
    expect(usedBytes).toBeLessThanOrEqual(600)
  })

  test('finds the session by its exact id only', async () => {
    expect((await locateSession(ID, { roots: [home.root] })).header.id).toBe(ID)
    await expect(locateSession(ID.toWellFormed(), { roots: [home.root] })).rejects.toMatchObject({
      facts: { reason: 'not-found' },
    })
  })
})

test('a saved transcript is valid Unicode and reads back as what was printed', async () => {
  const file = join(home.root, '..', `dsh-ref-unicode-${process.pid}.txt`)
  const { stdout } = await run(['transcript', URI])
  writeFileSync(file, stdout)
  const { stdout: decoded } = await run(['transcript', 'decode', file])
  const [{ capture, messages }] = strict(decoded) as [{ capture: object; messages: { text: string }[] }]
  expect(capture).toMatchObject({ sessionId: ID.toWellFormed(), label: TITLE.toWellFormed(), cwd: CWD.toWellFormed() })
  expect(messages[0]?.text).toBe(`summary \ufffd`)
})
