// Case 10 of issue 5: what a row can be beside an event. Every log is read quickly and row by row; both give the same.

import { once } from 'node:events'
import { createWriteStream, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkPath } from '../../src/check/check.ts'
import { DshRefError, prepare, project, readSurface } from '../../src/index.ts'
import { chosenOf } from '../support/exhaustive.ts'
import { PROGRAM } from '../support/program.ts'
import { assistant, logOf, logOnly, type MadeRow, replacing, toolResult4, user } from '../support/rows.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'dsh-ref-rows-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

let count = 0
function write(log: string | Uint8Array): string {
  const path = join(directory, `${count++}.jsonl`)
  writeFileSync(path, log)
  return path
}

/** What the two readings say of a log, which is the same. */
async function read(log: string | Uint8Array) {
  const path = write(log)
  const outcomes = []
  for (const everyRow of [false, true]) {
    try {
      const surface = await readSurface({ kind: 'file', path, encoding: 'raw' }, { everyRow })
      const { header, nodes, capturedThroughSeq, title } = surface
      const texts = project(surface.messages).messages.map(({ text }) => text)
      const issues = surface.issues.map(({ kind }) => kind)
      outcomes.push({ header, nodes, texts, capturedThroughSeq, title, issues })
    } catch (error) {
      if (!(error instanceof DshRefError)) throw error
      const { reason, rule, seq, line } = error.facts
      outcomes.push({ reason, rule, seq, line })
    }
  }
  expect(outcomes[1]).toEqual(outcomes[0])
  return outcomes[0]
}

const HEADER = logOf(4, [])
const LINES = logOf(4, [user('a'), assistant('b'), logOnly('turn/end', { turn: 1 })])
  .split('\n')
  .slice(1, 4) as [string, string, string]
const [A, B, END] = LINES
const join2 = (...lines: string[]) => HEADER + lines.map((line) => `${line}\n`).join('')
const textOf = (row: MadeRow, seq: number) =>
  (logOf(4, [row]).split('\n')[1] as string).replace('"seq":0', `"seq":${seq}`)

describe('a separator that is none', () => {
  test.each([
    ['U+2028 and U+2029', '\u2028x\u2029'],
    ['U+0085, vertical tab as an escape', '\u0085\\u000b'],
  ])('%s inside a string does not end a row', async (_what, inside) => {
    const text = JSON.parse(`"${inside}"`) as string
    expect(await read(join2(A.replace('"text":"a"', `"text":"${inside}"`), B, END))).toMatchObject({
      texts: [text, 'b'],
      capturedThroughSeq: 2,
      issues: [],
    })
  })

  test('CRLF ends every row as LF does', async () => {
    expect(await read(join2(A, B, END).replaceAll('\n', '\r\n'))).toEqual(await read(join2(A, B, END)))
  })

  test('a lone CR ends none', async () => {
    expect(await read(`${HEADER}${A}\r${B}\r`)).toMatchObject({ capturedThroughSeq: null, issues: ['torn-tail'] })
  })
})

describe('rows that are no events', () => {
  test.each([
    'null',
    '[]',
    '[{"type":"turn/end"}]',
    '7',
    '"turn/end"',
    'true',
    '{}',
    '',
    ' ',
    '\0'.repeat(4096),
    `\ufeff${B}`,
    '{"a":1}}',
    'NaN',
  ])('%j ends the log when no turn ends later, and refuses it when one does', async (row) => {
    expect(await read(join2(A, row))).toMatchObject({ texts: ['a'], capturedThroughSeq: 0, issues: ['discarded-rows'] })
    expect(await read(join2(A, row, END.replace('"seq":2', '"seq":1')))).toEqual({
      reason: 'corrupt',
      rule: 'malformed-row',
      seq: 1,
      line: 3,
    })
  })

  test('NULs that a power loss left at the end are a torn tail', async () => {
    expect(await read(`${join2(A, B)}${'\0'.repeat(10_000)}`)).toMatchObject({
      texts: ['a', 'b'],
      issues: ['torn-tail'],
    })
  })

  test('NULs in the middle, with a turn that ends behind them, refuse the log', async () => {
    expect(await read(`${join2(A)}${'\0'.repeat(512)}${B}\n${END}\n`)).toMatchObject({ rule: 'malformed-row', line: 3 })
  })
})

describe('a file', () => {
  test.each([
    ['that is empty', '', 'corrupt'],
    ['of one newline', '\n', 'corrupt'],
    ['with a header that has no newline', HEADER.trimEnd(), 'corrupt'],
    ['with a byte order mark', `\ufeff${HEADER}`, 'corrupt'],
    ['of NULs', '\0'.repeat(5000), 'corrupt'],
    ['whose header is null', 'null\n', 'corrupt'],
    ['whose header is a list', `[${HEADER.trimEnd()}]\n`, 'corrupt'],
    ['of another program', '{"level":"info","msg":"started"}\n', 'corrupt'],
  ])('%s has no header, and says so', async (_what, log, reason) => {
    expect(await read(log)).toMatchObject({ reason, rule: 'header' })
  })

  test('of a header only is a log without events', async () => {
    expect(await read(HEADER)).toMatchObject({ texts: [], capturedThroughSeq: null, issues: [] })
    const prepared = await prepare({ message: '', references: [{ surface: await surfaceOf(HEADER) }], roots: [] })
    expect(prepared.sources[0]?.data).toMatchObject({ capturedThroughSeq: null, conversation: [] })
  })

  test('without any newline is not read to its end to find that out', async () => {
    const path = write(Buffer.alloc(8 * 1024 * 1024, 0x20))
    const refusal = readSurface({ kind: 'file', path, encoding: 'raw' })
    await expect(refusal).rejects.toMatchObject({ message: expect.stringMatching(/longer than 1048576 bytes/) })
  })
})

async function surfaceOf(log: string | Uint8Array) {
  return readSurface({ kind: 'file', path: write(log), encoding: 'raw' })
}

describe('a key that is given twice', () => {
  test.each([
    ['seq, the last one right', A.replace('"seq":0', '"seq":9,"seq":0'), { texts: ['a', 'b'], issues: [] }],
    [
      'seq, the last one wrong',
      A.replace('"seq":0', '"seq":0,"seq":9'),
      { capturedThroughSeq: null, issues: ['discarded-rows'] },
    ],
    ['surfaceOp', `${A.slice(0, -1)},"surfaceOp":null}`, { rule: 'surface-op-shape', seq: 0 }],
    ['text', A.replace('"text":"a"', '"text":"x","text":"a"'), { texts: ['a', 'b'], issues: [] }],
    ['type', A.replace('"type":"user/message"', '"type":"turn/start","type":"user/message"'), { texts: ['a', 'b'] }],
    ['data', A.replace('"data":', '"data":{},"data":'), { texts: ['a', 'b'] }],
  ])('%s, counts as JSON.parse counts it: the last', async (_what, row, outcome) => {
    expect(await read(join2(row, B))).toMatchObject(outcome)
  })
})

describe('keys that JavaScript knows', () => {
  test.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'])(
    '%s is a key like any other',
    async (key) => {
      const planted = `${JSON.stringify(key)}:{"type":"x","text":"planted","id":"planted","seq":0,"kind":"user","plugin":"compact"}`
      const inData = A.replace('"data":{', `"data":{${planted},`)
      const inBlock = inData.replace('{"type":"text"', `{${planted},"type":"text"`)
      const inSource = inBlock.replace('"source":{', `"source":{${planted},`)
      expect(await read(join2(inSource, B))).toMatchObject({ texts: ['a', 'b'], issues: [] })
      expect(await read(join2(`${A.slice(0, -1)},${planted}}`, B))).toMatchObject({
        texts: ['a', 'b'],
        issues: ['extra-key'],
      })
      expect(await read(join2(A, B).replace('{', `{${planted},`))).toMatchObject({
        texts: ['a', 'b'],
        issues: ['extra-key'],
      })
      expect(({} as Record<string, unknown>).text).toBeUndefined()
    },
  )

  test('__proto__ lends nothing to a row that lacks a key of its own', async () => {
    const row = '{"type":"user/message","seq":0,"time":1,"__proto__":{"data":{},"surfaceOp":"append"}}'
    expect(await read(join2(row))).toMatchObject({ capturedThroughSeq: null, issues: ['discarded-rows'] })
    const bare = A.replace('"role":"user"', '"__proto__":{"role":"user"}')
    expect(await read(join2(bare))).toMatchObject({ rule: 'message-shape', seq: 0 })
  })

  test('a tool rewrite is compared by its own keys only', async () => {
    const [first, second] = [toolResult4('out'), toolResult4('', replacing(4, 0, 0, [0]))]
    const log = logOf(4, [first, second]).replace('"data":{', '"data":{"__proto__":{"a":1},')
    expect(await read(log)).toMatchObject({ rule: 'tool-rewrite-changed', seq: 1 })
  })
})

describe('numbers', () => {
  test.each([
    ['-0', 3, { capturedThroughSeq: null, issues: ['discarded-rows'] }],
    ['-0', 2, { texts: ['a'], issues: [] }],
    ['0.0', 4, { texts: ['a'], issues: [] }],
    ['0e5', 4, { texts: ['a'], issues: [] }],
    ['1e400', 4, { capturedThroughSeq: null, issues: ['discarded-rows'] }],
    ['9007199254740992', 4, { capturedThroughSeq: null, issues: ['discarded-rows'] }],
    ['00', 4, { capturedThroughSeq: null, issues: ['discarded-rows'] }],
    ['"0"', 4, { capturedThroughSeq: null, issues: ['discarded-rows'] }],
  ])('a seq of %s in version %i', async (seq, version, outcome) => {
    expect(await read(logOf(version, [user('a')]).replace('"seq":0', `"seq":${seq}`))).toMatchObject(outcome)
  })

  test.each([
    ['1e400', { capturedThroughSeq: null }],
    ['9007199254740992', { capturedThroughSeq: null }],
    ['-9007199254740991', { texts: ['a'] }],
    ['1.5', { capturedThroughSeq: null }],
    ['-0', { texts: ['a'] }],
  ])('a time of %s', async (time, outcome) => {
    expect(await read(join2(A.replace('"time":2000', `"time":${time}`)))).toMatchObject(outcome)
  })

  test.each([
    ['version', '1e400', 'corrupt'],
    ['version', '-0', 'corrupt'],
    ['version', '9007199254740992', 'corrupt'],
    ['version', '9007199254740991', 'unsupported'],
    ['createdAt', '1e400', 'corrupt'],
    ['createdAt', '-1', 'corrupt'],
    ['createdAt', '-0', 'corrupt'],
  ])('a header %s of %s is %s', async (key, value, reason) => {
    expect(await read(HEADER.replace(new RegExp(`"${key}":\\d+`), `"${key}":${value}`))).toMatchObject({ reason })
  })

  test.each(['-0', '1e400', '9007199254740992', '0.5', '-1'])(
    'an endpoint or a source of %s is refused',
    async (value) => {
      const replace = (op: string, sources: string) =>
        join2(
          A,
          textOf(user('S', { surfaceOp: 'OP', sourceEventSeqs: 'SOURCES' }), 1)
            .replace('"OP"', op)
            .replace('"SOURCES"', sources),
        )
      expect(await read(replace(`{"op":"replace","startSeq":${value},"endSeq":0}`, '[0]'))).toMatchObject({
        rule: 'replace-endpoint-shape',
      })
      expect(await read(replace('{"op":"replace","startSeq":0,"endSeq":0}', `[${value}]`))).toMatchObject({
        rule: 'sources-shape',
      })
    },
  )
})

describe('JSON nested 100,000 deep', () => {
  const DEPTH = 100_000
  const list = `${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`
  const object = `${'{"a":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}`
  const deepIn = (row: MadeRow, seq: number, value: string) => textOf(row, seq).replace('"DEEP"', value)
  // Sources that are no list at all are for check to find: an appended message does not depend on them (row-head.ts).
  const asList = (value: string) => `[${value}]`
  const tool = (text: string, extra = {}) => toolResult4(text, extra, { meta: 'DEEP' })
  const rewrite = replacing(4, 0, 0, [0])

  const LOGS: readonly (readonly [string, (value: string) => string, object])[] = [
    [
      'a row that is skipped',
      (value) => join2(deepIn(logOnly('todo/write', { todos: 'DEEP' }), 0, value), A.replace('"seq":0', '"seq":1')),
      { texts: ['a'] },
    ],
    [
      'a row of an unknown type',
      (value) => join2(deepIn(logOnly('x/y', { z: 'DEEP' }), 0, value)),
      { issues: ['unknown-event-type'] },
    ],
    [
      'a message beside its text',
      (value) => join2(deepIn(user('a', {}, { kind: 'user', more: 'DEEP' }), 0, value), B),
      { texts: ['a', 'b'] },
    ],
    [
      'a block of a message',
      (value) => join2(A.replace('{"type":"text"', `{"type":"image","x":${value}},{"type":"text"`)),
      { texts: ['a'] },
    ],
    [
      'a message in the place of its blocks',
      (value) => join2(A.replace('{"type":"text","text":"a"}', value)),
      { rule: 'message-shape' },
    ],
    ['a tool result', (value) => join2(deepIn(tool('out'), 0, value)), { nodes: [0] }],
    [
      'a tool result and its rewrite',
      (value) => join2(deepIn(tool('out'), 0, value), deepIn(tool('', rewrite), 1, value)),
      { nodes: [1] },
    ],
    [
      'a tool result that its rewrite changes far down',
      (value) => join2(deepIn(tool('out'), 0, value), deepIn(tool('', rewrite), 1, value.replace(/\[\]|1/, '2'))),
      { rule: 'tool-rewrite-changed' },
    ],
    ['a surfaceOp', (value) => join2(deepIn(user('a', { surfaceOp: 'DEEP' }), 0, value)), { rule: 'surface-op-shape' }],
    [
      'the sources',
      (value) => join2(A, deepIn(user('b', { sourceEventSeqs: 'DEEP' }), 1, asList(value))),
      { rule: 'sources-shape' },
    ],
    [
      'an endpoint',
      (value) =>
        join2(
          A,
          deepIn(user('b', { ...rewrite, surfaceOp: { op: 'replace', startSeq: 'DEEP', endSeq: 0 } }), 1, value),
        ),
      { rule: 'replace-endpoint-shape' },
    ],
    ['a title', (value) => join2(deepIn(logOnly('session/title', { title: 'DEEP' }), 0, value)), { title: undefined }],
    [
      'the tools of a request header',
      (value) => join2(deepIn(logOnly('request/header', { header: { tools: ['DEEP'] } }), 0, value)),
      { capturedThroughSeq: 0 },
    ],
    [
      'an extra key of the header',
      (value) => HEADER.replace('{', `{"deep":${value},`) + join2(A).slice(HEADER.length),
      { texts: ['a'], issues: ['extra-key'] },
    ],
    ['the id', (value) => HEADER.replace('"id":"made"', `"id":${value}`), { reason: 'corrupt', rule: 'header' }],
  ]

  test.each(LOGS)('in %s is read or refused, never a crash', async (_where, make, outcome) => {
    for (const value of [list, object]) expect(await read(make(value))).toMatchObject(outcome)
  })

  test('is no crash for check either, whose findings are JSON', async () => {
    for (const [where, make] of LOGS) {
      const checked = await checkPath(write(make(object)), { roots: [] })
      expect(JSON.parse(JSON.stringify(checked)), where).toMatchObject({ findings: expect.any(Array) })
    }
  })

  test('of a developer message with a tool name that is no name is refused', async () => {
    for (const name of [list, object, '{"toString":1}', '7']) {
      const content = [{ type: 'tool-addition', toolName: 'DEEP' }]
      const message = { id: 'd', role: 'developer', content, source: { kind: 'tool-registry' } }
      const row = { type: 'developer/message', data: { turn: 1, step: 1, message, headerSeq: 0 }, surfaceOp: 'append' }
      const header = textOf(logOnly('request/header', { header: { tools: [{ name: 'x' }] } }), 0)
      expect(await read(join2(header, deepIn(row, 1, name)))).toMatchObject({ rule: 'developer-binding', seq: 1 })
    }
  })
})

const MIB = 1024 * 1024
const LONG_MIB = chosenOf(16, 64)

describe(`a row of ${LONG_MIB} MiB`, () => {
  const LENGTH = LONG_MIB * MIB

  test.each([
    ['that is skipped', textOf(logOnly('todo/write', { text: 'LONG' }), 1), ['a', 'c']],
    ['of a tool', textOf(toolResult4('LONG'), 1), ['a', 'c']],
    ['of a person', textOf(user('LONG', {}), 1).replace('"u-LONG"', '"u1"'), ['a', 'x'.repeat(LENGTH), 'c']],
  ])('%s just works', async (_what, row, texts) => {
    const [before, after] = row.split('LONG') as [string, string]
    const path = join(directory, `${count++}.jsonl`)
    const out = createWriteStream(path)
    out.write(`${join2(A)}${before}`)
    for (let written = 0; written < LENGTH; written += 1024 * 1024) out.write('x'.repeat(1024 * 1024))
    out.end(`${after}\n${textOf(user('c'), 2)}\n`)
    await once(out, 'close')
    expect(statSync(path).size).toBeGreaterThan(LENGTH)
    const surface = await readSurface({ kind: 'file', path, encoding: 'raw' }, { texts: 'conversation' })
    const read = project(surface.messages).messages.map(({ text }) => text)
    // Not toEqual of the texts themselves, whose difference nobody could print.
    expect(read.map((text) => text.length)).toEqual(texts.map((text) => text.length))
    expect(read.every((text, at) => text === texts[at])).toBe(true)
    rmSync(path)
  })
})

describe('a million rows', () => {
  /** Writes a log of a million rows, made one by one. */
  async function million(header: string, row: (index: number) => string): Promise<string> {
    const path = join(directory, `million-${count++}.jsonl`)
    const out = createWriteStream(path)
    out.write(header)
    let lines = ''
    for (let index = 0; index < 1_000_000; index++) {
      lines += row(index)
      if (lines.length < 1_000_000) continue
      if (!out.write(lines)) await once(out, 'drain')
      lines = ''
    }
    out.end(lines)
    await once(out, 'close')
    return path
  }

  let ofChunks: Promise<string> | undefined

  const chunk = (seq: number, type = 'assistant/chunk') => `{"type":"${type}","seq":${seq},"time":1,"data":{}}\n`
  const chunks = (seq: number) => chunk(seq)
  const message = (seq: number) =>
    `{"type":"user/message","seq":${seq},"time":1,"data":{"id":"m","role":"user","content":[{"type":"text","text":"t"}],"source":{"kind":"user"}},"surfaceOp":"append"}\n`
  const summary = (seq: number, start: number) =>
    `{"type":"user/message","seq":${seq},"time":1,"data":{"id":"m","role":"user","content":[{"type":"text","text":"S"}],"source":{"kind":"plugin","plugin":"compact"}},"sourceEventSeqs":[[${start},${seq - 1}]],"surfaceOp":{"op":"replace","start":${start},"end":${seq - 1}}}\n`

  // A million of the smallest objects alone take 40 MB. What is kept of a shadowed message is its seq, 8 bytes.
  test.each<[string, (seq: number) => string, string[]]>([
    // Those of unknown types are read by the same way, and noted besides.
    ...chosenOf<[string, (seq: number) => string, string[]][]>(
      [],
      [['that are skipped', chunks, ['surface', '--format', 'json']]],
    ),
    ['that are skipped, each looked at by check', chunks, ['check', '--format', 'json']],
    ['of as many unknown types', (seq) => chunk(seq, `odd/${seq}`), ['surface', '--format', 'json']],
    [
      'of messages, compacted by the thousand',
      (seq) => (seq % 1000 === 999 ? summary(seq, seq - 999 || 0) : message(seq)),
      ['prepare', '--format', 'snapshot', '--ref'],
    ],
  ])(
    '%s does not keep a million objects',
    async (_what, row, [command, ...options]) => {
      // Two of the tests read the same log.
      const path = await (row === chunks ? (ofChunks ??= million(logOf(0, []), row)) : million(logOf(0, []), row))
      const args = [command as string, ...options, `path:${path}`]
      const { exitCode, stdout, stderr } = await execa(
        process.execPath,
        ['--max-old-space-size=64', PROGRAM, ...args],
        {
          reject: false,
          input: '',
          env: { DSH_SESSION_JSONL: '' },
        },
      )
      expect({ exitCode, stderr: stderr.slice(0, 300) }).toEqual({
        exitCode: 0,
        stderr: expect.not.stringMatching(/heap|bug/),
      })
      expect(stdout).toMatch(/"capturedThroughSeq":999999|"events":1000000/)
      // However many ways there are to be odd, a person reads some of them.
      expect(stdout.length).toBeLessThan(200_000)
      if (row !== chunks) rmSync(path)
    },
    120_000,
  )
})
