// The quick look at a header (peekLogHeader) against the careful one: whenever it gives an answer, it is the same.

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DecodeOptions, readLogHeader } from '../../src/decode/decode.ts'
import { peekLogHeader } from '../../src/decode/header-peek.ts'
import { CONFORMANCE } from '../support/conformance.ts'

type Options = Pick<DecodeOptions, 'allowUnknownVersion' | 'limits'>

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'dsh-ref-peek-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** Whether the quick look gave an answer, after holding it against the careful one. */
async function peeks(path: string, options: Options = {}): Promise<boolean> {
  const peek = peekLogHeader(path, options)
  if (!peek) return false
  const { header, issues, bytesRead } = await readLogHeader({ kind: 'file', path, encoding: 'raw' }, options)
  expect({ header: peek.header, issues: peek.issues, bytesRead: peek.bytesRead }).toEqual({ header, issues, bytesRead })
  return true
}

function fileOf(bytes: string | Uint8Array): string {
  const path = join(directory, 'session.jsonl')
  writeFileSync(path, bytes)
  return path
}

const HEADER = { type: 'session', version: 4, id: 'peek', createdAt: 1, cwd: '/w', isSeeded: false, delegationDepth: 0 }
const row = (change: object = {}) => JSON.stringify({ ...HEADER, ...change })

describe('a quick look at a header', () => {
  test.each<[string, string, Options?]>([
    ['a header alone', `${row()}\n`],
    ['a header with rows', `${row()}\n{"type":"turn/start"}\n`],
    ['an odd header', `${row({ origin: 7, sandboxMode: 'x', 'new key': 1, cwd: 'relative' })}\n`],
    ['a header of an unknown version that is allowed', `${row({ version: 99 })}\n`, { allowUnknownVersion: true }],
    ['a header with spaces around and a carriage return', ` ${row()} \r\n`],
    ['a header exactly as long as rows may be', `${row()}\n`, { limits: { maxRowBytes: row().length } }],
  ])('gives %s as the careful one does', async (_what, log, options) => {
    expect(await peeks(fileOf(log), options)).toBe(true)
  })

  test.each<[string, string | Uint8Array, Options?]>([
    ['an empty file', ''],
    ['a header without its newline', row()],
    ['an empty first row', `\n${row()}\n`],
    ['a byte order mark', `\ufeff${row()}\n`],
    ['no JSON', 'session\n'],
    ['something else than a header', '{"type":"turn/start","seq":0,"time":0,"data":{}}\n'],
    ['a wrong field', `${row({ createdAt: -1 })}\n`],
    ['an unknown version', `${row({ version: 99 })}\n`],
    ['invalid UTF-8', Buffer.concat([Buffer.from(row().slice(0, -2)), Buffer.of(0xff), Buffer.from('"}\n')])],
    ['a header longer than one piece', `${row({ cwd: `/${'x'.repeat(3000)}` })}\n`],
    ['a header longer than rows may be', `${row()}\n`, { limits: { maxRowBytes: row().length - 1 } }],
    ['a log longer than logs may be', `${row()}\n`, { limits: { maxLogBytes: 40 } }],
  ])('leaves %s to the careful one', async (_what, log, options) => {
    expect(await peeks(fileOf(log), options)).toBe(false)
  })

  test('leaves what is no file to the careful one', () => {
    const path = join(directory, 'folder.jsonl')
    mkdirSync(path)
    expect(peekLogHeader(path)).toBeUndefined()
    expect(peekLogHeader(join(directory, 'missing.jsonl'))).toBeUndefined()
  })

  test('gives the same or nothing whatever a header holds', async () => {
    const value = fc.oneof(fc.jsonValue(), fc.integer(), fc.string(), fc.constantFrom('subagent', '/w', 0, 4, true))
    const key = fc.constantFrom(...Object.keys(HEADER), 'origin', 'parentSession', 'agentPreset', 'seedLength', 'other')
    let answers = 0
    const property = fc.asyncProperty(fc.dictionary(key, value, { maxKeys: 3 }), fc.boolean(), async (change, any) => {
      if (await peeks(fileOf(`${row(change)}\n`), { allowUnknownVersion: any })) answers++
    })
    await fc.assert(property, { numRuns: 500 })
    expect(answers).toBeGreaterThan(50)
  })
})

describe.skipIf(CONFORMANCE === undefined)('over the conformance logs (skipped without ../shared)', () => {
  test('gives what the careful one gives, for nearly all of them', async () => {
    const logs = readdirSync(CONFORMANCE as string, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.jsonl'))
      .map((path) => join(CONFORMANCE as string, path))
    let answers = 0
    for (const path of logs) if (await peeks(path)) answers++
    expect(logs.length).toBeGreaterThan(50)
    expect(answers).toBeGreaterThan(logs.length / 2)
  })
})
