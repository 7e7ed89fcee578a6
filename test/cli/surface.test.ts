// `dsh-ref surface` and `dsh-ref check` as a person runs them.

import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Home, makeHome } from '../support/homes.ts'
import { run } from '../support/program.ts'
import { assistant, logOf, logOnly, replacing, toolResult, user } from '../support/rows.ts'

let home: Home
const on = (...args: string[]) => run([...args, '--root', home.root])
const checkpoint = { kind: 'plugin', plugin: 'compact', compactionId: 'k' }

/** Two compactions; the second takes the place of the first summary and of what came between. */
const TWICE = logOf(
  0,
  [
    user('one'),
    assistant('two'),
    user('summary 1', replacing(0, 0, 1, [0, 1]), checkpoint),
    user('three'),
    user('summary 2', replacing(0, 2, 3, [2, 3]), checkpoint),
    toolResult('out'),
    logOnly('turn/end', { turn: 1 }),
  ],
  { id: 'compacted-twice' },
)

beforeAll(() => {
  home = makeHome()
  home.write(TWICE)
})

afterAll(() => home.remove())

describe('surface', () => {
  const json = async (...args: string[]) => JSON.parse((await on('surface', '--format', 'json', ...args)).stdout)

  test('gives nodes, replacements and items as data', async () => {
    expect(await json('compacted-twice')).toMatchObject({
      header: { id: 'compacted-twice', version: 0 },
      formatVersion: 0,
      capturedThroughSeq: 6,
      nodes: [4, 5],
      replacements: [
        { seq: 2, start: 0, end: 1, shadowedSeqs: [0, 1] },
        { seq: 4, start: 2, end: 3, shadowedSeqs: [2, 3] },
      ],
      items: [
        {
          seq: 4,
          type: 'user/message',
          role: 'user',
          sourceKind: 'plugin:compact',
          projected: true,
          checkpoint: true,
          textBytes: 9,
        },
        {
          seq: 5,
          type: 'tool/result',
          role: 'user',
          sourceKind: 'tool',
          projected: false,
          checkpoint: false,
          textBytes: 3,
        },
      ],
      issues: [],
    })
  })

  test.each([
    [1, [0, 1]],
    [2, [2]],
    [3, [2, 3]],
    [4, [4]],
    [6, [4, 5]],
  ])('--at %i shows the surface at that event', async (at, nodes) => {
    expect(await json('compacted-twice', '--at', String(at))).toMatchObject({ capturedThroughSeq: at, nodes })
  })

  test('--at behind the end of the log is a usage error', async () => {
    expect(await on('surface', 'compacted-twice', '--at', '7')).toMatchObject({ status: 2, stdout: '' })
  })

  test('is a table for people', async () => {
    const { stdout } = await on('surface', 'compacted-twice')
    expect(stdout).toMatch(/^compacted-twice {2}version 0, through seq 6, 2 on the surface\n/)
    expect(stdout).toMatch(/\n4 +user\/message +plugin:compact +checkpoint +9 +summary 2\n/)
    expect(stdout).toMatch(/\n {2}seq 4 took the place of 2 to 3: 2 shadowed \(2, 3\)\n/)
  })

  test('reads raw rows from standard input', async () => {
    const { stdout } = await run(['surface', '-', '--format', 'json'], { input: TWICE })
    expect(JSON.parse(stdout).nodes).toEqual([4, 5])
  })

  test('--salvage reads the prefix of a corrupt log and says where it ends', async () => {
    home.write(logOf(0, [user('a'), user('b', { surfaceOp: 'sideways' }), user('c')], { id: 'damaged' }))
    expect(await on('surface', 'damaged')).toMatchObject({ status: 4, stdout: '' })
    expect(await json('damaged', '--salvage')).toMatchObject({
      nodes: [0],
      capturedThroughSeq: 0,
      degraded: { throughSeq: 0 },
    })
  })
})

describe('check', () => {
  let damaged: Home
  beforeAll(() => {
    damaged = makeHome()
    damaged.write(logOf(0, [user('fine')], { id: 'fine' }))
    damaged.write(logOf(0, [logOnly('future/thing')], { id: 'odd' }))
    damaged.write(
      logOf(0, [user('a'), user('b', replacing(0, 0, 0, [0])), user('c', replacing(0, 0, 0, [0]))], { id: 'bad-fold' }),
    )
    damaged.write(logOf(7, [], { id: 'foreign' }))
    damaged.write(logOf(0, [logOnly('turn/start', { turn: 1 }), user('\ud800')], { id: 'open' }))
    // A row the quick reading takes by its ends, which is no JSON in between.
    const torn = logOf(0, [logOnly('turn/start', { turn: 1 }), logOnly('turn/end', { turn: 1 })], { id: 'inside' })
    damaged.write(torn.replace('"data":{"turn":1}}\n{"type":"turn/end"', '"data":{"turn":,}}\n{"type":"turn/end"'))
    // Shadowed, so nothing but check ever reads it.
    const wrong = { ...user('x'), data: { id: 'x', role: 'user', content: 'x', source: { kind: 'user' } } }
    damaged.write(logOf(0, [wrong, user('S', replacing(0, 0, 0, [0]))], { id: 'shadowed' }))
    const path = damaged.write(logOf(4, [user('new')], { id: 'generations' }))
    writeFileSync(join(dirname(path), 'session.v3.jsonl'), logOf(3, [user('old')], { id: 'generations' }))
    damaged.write(logOf(0, [user('lost')], { id: 'lost' }), { project: '--somewhere-else--' })
  })
  afterAll(() => damaged.remove())

  const check = async (...args: string[]) => {
    const { stdout, status } = await run(['check', '--format', 'json', '--root', damaged.root, ...args])
    return { status, logs: JSON.parse(stdout).logs as Record<string, unknown>[] }
  }

  test('a sound log is clean and status 0', async () => {
    const { status, logs } = await check('id:fine')
    expect(status).toBe(0)
    expect(logs).toMatchObject([
      { status: 'ok', sessionId: 'fine', formatVersion: 0, events: 1, rows: 2, findings: [], refusedByDsh: false },
    ])
  })

  test('an issue is no refusal, but DSH would refuse it; with --strict it is status 4', async () => {
    const { status, logs } = await check('id:odd')
    expect(status).toBe(0)
    expect(logs).toMatchObject([
      {
        status: 'issues',
        refusedByDsh: true,
        findings: [{ severity: 'issue', rule: 'unknown-event-type', line: 2, seq: 0 }],
      },
    ])
    expect((await check('id:odd', '--strict')).status).toBe(4)
  })

  test('a broken fold rule names the rule and the seq', async () => {
    const { status, logs } = await check('id:bad-fold')
    expect(status).toBe(4)
    expect(logs).toMatchObject([
      {
        status: 'corrupt',
        findings: [{ severity: 'corrupt', rule: 'replace-endpoint-not-on-surface', seq: 2, actual: 0 }],
      },
    ])
  })

  test('finds what reading alone does not look at: skipped rows and shadowed messages', async () => {
    const sizes = await Promise.all(
      ['inside', 'shadowed'].map((id) => run(['surface', `id:${id}`, '--root', damaged.root])),
    )
    expect(sizes.map(({ status }) => status)).toEqual([0, 0])
    expect(await check('id:inside')).toMatchObject({
      status: 4,
      logs: [{ findings: [{ rule: 'malformed-row', line: 2 }] }],
    })
    expect(await check('id:shadowed')).toMatchObject({
      status: 4,
      logs: [{ findings: [{ rule: 'message-shape', seq: 0 }] }],
    })
  })

  test('notes open turns, lone surrogates and older generations', async () => {
    const rules = async (id: string) =>
      ((await check(id)).logs[0] as { findings: { rule: string; severity: string }[] }).findings.map(
        ({ rule, severity }) => `${severity} ${rule}`,
      )
    expect((await rules('id:open')).sort()).toEqual(['note lone-surrogate', 'note open-turn'])
    expect(await rules('id:generations')).toContain('note older-generation')
  })

  test('--all checks every log, the sound ones beside the damaged ones', async () => {
    const { status, logs } = await check('--all')
    expect(status).toBe(4)
    const byStatus = logs.map((log) => [log.sessionId, log.status]).sort()
    expect(byStatus).toEqual([
      [null, 'unsupported'],
      ['bad-fold', 'corrupt'],
      ['fine', 'ok'],
      ['generations', 'ok'],
      ['inside', 'corrupt'],
      ['lost', 'issues'],
      ['odd', 'issues'],
      ['open', 'ok'],
      ['shadowed', 'corrupt'],
    ])
  })

  test('prints one line a log and one line a finding', async () => {
    const { stdout, stderr } = await run(['check', 'id:bad-fold', 'id:fine', '--root', damaged.root])
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(3)
    expect(lines[0]).toMatch(/^corrupt +bad-fold {2}version 0 {2}2 events {2}\//)
    expect(lines[1]).toMatch(/^ {4}corrupt replace-endpoint-not-on-surface \(line 4, seq 2\): /)
    expect(lines[2]).toMatch(/^ok +fine /)
    expect(stderr).toBe('dsh-ref: 2 logs checked: 1 corrupt, 1 ok\n')
  })

  test('needs sessions or --all', async () => {
    expect(await run(['check', '--root', damaged.root])).toMatchObject({ status: 2, stdout: '' })
    expect(await run(['check', '--all', 'id:fine', '--root', damaged.root])).toMatchObject({ status: 2, stdout: '' })
  })
})
